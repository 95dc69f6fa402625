//! About the tester's own time: gaps in which it did not run, and a wall clock that was set.

use assay_record::{Gap, GapKind, GapPlace, Warning, covered_ns};

use super::{Fired, StepCase};
use crate::finding::{Evidence, Severity};
use crate::summary::StepSummary;

/// Most changes of clocks that are named.
const NAMED_MAX: usize = 4;

/// The tester did not run for a part of what was measured.
pub(super) fn in_window(case: StepCase<'_>) -> Option<Fired> {
    let gaps: Vec<&Gap> = standstills(case.step).filter(|gap| gap.place.is_measured()).collect();
    let longest = gaps.iter().max_by_key(|gap| gap.length_ns)?;
    let seconds = seconds(&gaps);
    Some(Fired {
        severity: Severity::Warning,
        says: format!(
            "{}. Rates count the gap as time without I/O{}, and the latency of the I/Os in flight includes it. {}.",
            words(&gaps, longest, case.step),
            if case.step.hosts.len() > 1 { " of the host that had it" } else { "" },
            what(longest.kind)
        ),
        evidence: vec![
            Evidence::new("gap", seconds, "s"),
            Evidence::new("measured window", case.step.seconds, "s"),
        ],
        next: next(longest.kind),
        weight: seconds,
    })
}

/// The tester did not run for a time before the measured window.
pub(super) fn beside_window(case: StepCase<'_>) -> Option<Fired> {
    let gaps: Vec<&Gap> = standstills(case.step).filter(|gap| !gap.place.is_measured()).collect();
    let longest = gaps.iter().max_by_key(|gap| gap.length_ns)?;
    let seconds = seconds(&gaps);
    let means = if longest.place == GapPlace::Warmup {
        "The gap shortened the warm-up; the measured window does not contain it"
    } else {
        "Nothing was measured at that time"
    };
    Some(Fired {
        severity: Severity::Info,
        says: format!("{}. {}. {means}.", words(&gaps, longest, case.step), what(longest.kind)),
        evidence: vec![Evidence::new("gap", seconds, "s")],
        next: "",
        weight: seconds,
    })
}

/// The wall clock was set while the step ran.
pub(super) fn clock_set(case: StepCase<'_>) -> Option<Fired> {
    let mut set: Vec<&Gap> = case.step.gaps.iter().filter(|gap| !gap.kind.is_standstill()).collect();
    set.sort_by_key(|gap| std::cmp::Reverse(gap.length_ns));
    let seconds = set.first()?.length_ns as f64 / 1e9;
    let each: Vec<String> = set.iter().take(NAMED_MAX).map(|gap| set_words(gap, case.step)).collect();
    let more = match set.len().saturating_sub(NAMED_MAX) {
        0 => String::new(),
        more => format!(", and {more} more times"),
    };
    Some(Fired {
        severity: Severity::Info,
        says: format!(
            "The wall clock {}{more}. Rates, latencies and the common window use clocks that cannot be set; times of \
             day in logs before and after the change are not comparable.",
            each.join(", ")
        ),
        evidence: vec![Evidence::new("set by", seconds, "s")],
        next: "",
        weight: seconds,
    })
}

/// `of host b was set forward by 3.0 s at second 2.1 of the measured window`.
fn set_words(gap: &Gap, step: &StepSummary) -> String {
    let way = if gap.kind == GapKind::ClockForward { "forward" } else { "back" };
    let place = match (gap.place, gap.since_window_ns) {
        (GapPlace::Window, Some(since)) => {
            format!("at second {:.1} of the measured window", since.max(0) as f64 / 1e9)
        }
        _ => place(gap),
    };
    let whose = host(gap, step).map_or_else(String::new, |host| format!("of host {host} "));
    format!("{whose}was set {way} by {:.1} s {place}", gap.length_ns as f64 / 1e9)
}

/// Returns the host that had it, where there are several.
fn host<'s>(gap: &Gap, step: &'s StepSummary) -> Option<&'s str> {
    Some(step.hosts.get(gap.host? as usize)?.host.as_str())
}

fn standstills(step: &StepSummary) -> impl Iterator<Item = &Gap> {
    step.gaps.iter().filter(|gap| gap.kind.is_standstill())
}

fn seconds(gaps: &[&Gap]) -> f64 {
    covered_ns(gaps.iter().copied()) as f64 / 1e9
}

/// `Assay did not run for 2.1 s, from second 3.9 of the measured window: it was stopped by a signal and continued`.
fn words(gaps: &[&Gap], longest: &Gap, step: &StepSummary) -> String {
    let length_s = longest.length_ns as f64 / 1e9;
    let (place, how) = (place(longest), how(longest.kind));
    match gaps.len() {
        1 => {
            let on = host(longest, step).map_or_else(String::new, |host| format!(" on host {host}"));
            format!("Assay did not run{on} for {length_s:.1} s, {place}: {how}")
        }
        n if step.hosts.len() > 1 => format!(
            "On its {} hosts Assay did not run {n} times, {:.1} s on one or more of them, at most {length_s:.1} s at \
             once{}, {place}: {how}",
            step.hosts.len(),
            seconds(gaps),
            host(longest, step).map_or_else(String::new, |host| format!(" on {host}"))
        ),
        n => format!(
            "Assay did not run {n} times, {:.1} s in all, at most {length_s:.1} s, {place}: {how}",
            seconds(gaps)
        ),
    }
}

fn place(gap: &Gap) -> String {
    match (gap.place, gap.since_window_ns) {
        (GapPlace::Before, _) => "before the load of this step".to_owned(),
        (GapPlace::Warmup, _) => "in the warm-up".to_owned(),
        (GapPlace::Drain, _) => "while the last I/Os of the window were awaited".to_owned(),
        (GapPlace::Window, Some(since)) if since < 0 => {
            format!("from {:.1} s before the measured window", -since as f64 / 1e9)
        }
        (GapPlace::Window, since) => {
            format!("from second {:.1} of the measured window", since.unwrap_or(0) as f64 / 1e9)
        }
    }
}

fn how(kind: GapKind) -> &'static str {
    match kind {
        GapKind::Stopped => "it was stopped by a signal and continued",
        GapKind::Suspended => "the machine was suspended",
        GapKind::Starved => "it got no CPU",
        GapKind::Paused => "the machine was paused, or the control group of the program was frozen",
        GapKind::ClockForward | GapKind::ClockBack => "the clock was set",
    }
}

fn what(kind: GapKind) -> &'static str {
    match kind {
        GapKind::Stopped => "SIGCONT came at its end, as after SIGSTOP or Ctrl-Z",
        GapKind::Suspended => "The clock that counts suspended time went ahead of the one that does not",
        GapKind::Starved => "The scheduler counted the time as waiting for a CPU",
        GapKind::Paused => "No signal stopped the program, and it did not wait for a CPU",
        GapKind::ClockForward | GapKind::ClockBack => "The wall clock and the others disagree",
    }
}

fn next(kind: GapKind) -> &'static str {
    match kind {
        GapKind::Stopped => "Run the step again without stopping it.",
        GapKind::Suspended => {
            "Run it again with sleep inhibited: systemd-inhibit --what=sleep:idle assay run … keeps the machine awake."
        }
        GapKind::Starved => {
            "Stop the other programs (top shows them), or lift the CPU limit of the control group."
        }
        GapKind::Paused => {
            "Run it again while the virtual machine is neither migrated, backed up nor paused; the log of the \
             hypervisor has the time."
        }
        GapKind::ClockForward | GapKind::ClockBack => "",
    }
}

/// Returns what to say of gaps while targets were filled, which is part of no step; `None` if nothing stood still.
pub fn gap_in_fill(gaps: &[Gap]) -> Option<Warning> {
    let gaps: Vec<&Gap> = gaps.iter().filter(|gap| gap.kind.is_standstill()).collect();
    let longest = gaps.iter().max_by_key(|gap| gap.length_ns)?;
    Some(Warning {
        rule: "gap-in-fill".to_owned(),
        says: format!(
            "Assay did not run for {:.1} s while it filled the targets: {}. Nothing was measured at that time.",
            seconds(&gaps),
            how(longest.kind)
        ),
        next: String::new(),
    })
}
