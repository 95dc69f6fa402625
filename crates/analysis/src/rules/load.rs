//! About the load: data that changed, I/Os that failed, and loads that the storage did not sustain.

use assay_record::{MemberKind, Mismatch, Stamp, StepReason};
use assay_spec::limits::OPEN_OUTSTANDING;
use assay_spec::{Job, Pacing};

use super::host::{busy_host_of, cpu_seconds, late_timers, near_null_ceiling, steal_of, tester_bound};
use super::{Fired, StepCase, gaps};
use crate::episodes::longest_without_path;
use crate::figures::{capitalised, three_digits, time, whole};
use crate::finding::{Evidence, Severity};
use crate::summary::{JobSummary, WINDOW_MIN_S};

/// A target that completes less than this share of the I/Os that were due does not sustain the rate.
const ACHIEVED_MIN: f64 = 0.99;

/// From this share of the window on, I/Os that were due waited for the plan's own queue depth.
const FULL_MIN: f64 = 0.01;
const SWEEP_LOWER: &str = "Read its latency as that of an overloaded target; sweep lower rates to find the highest one \
                           it sustains.";

/// A closed loop that has less than this share of its depth in flight is not held back by that depth alone.
const BARELY_USED: f64 = 0.5;
/// Seconds without I/O at the end of a window with failed I/Os after which a target counts as lost: a flush may pause
/// for shorter.
const LOST_S: usize = 3;

/// A stall must have cost this many I/Os at the mean rate.
const MISSED_MIN: f64 = 20.0;
/// A second with less than this share of the mean rate counts as stalled.
const STILL_SHARE: f64 = 0.01;
/// A silence of which a gap of the tester explains this share is not the storage's.
const GAP_SHARE: f64 = 0.5;

/// The window ended by itself, before a second was over.
pub(super) fn short_window(case: StepCase<'_>) -> Option<Fired> {
    let StepCase { run, plan, step } = case;
    // The rate of a target that costs nothing is as steady as the tester. A pass over the span is no load to measure.
    let is_measured = step.total.ops > 0 && step.unmeasured.is_none() && plan.stop.spans.is_none();
    if !is_measured || step.seconds >= WINDOW_MIN_S || run.storage().next().is_none() {
        return None;
    }
    Some(Fired {
        severity: Severity::Warning,
        says: format!(
            "The measured window lasted {} and had {} I/Os: over less than a second a rate is a sample of caches and \
             chance, without an interval.",
            time(step.seconds * 1e6),
            whole(step.total.ops as f64)
        ),
        evidence: vec![
            Evidence::new("window", step.seconds, "s"),
            Evidence::new("I/Os", step.total.ops as f64, ""),
        ],
        next: match run.has_own_plan() {
            true => "Take a larger --size, which makes the windows longer.",
            false => "Measure longer: --set run=30s.",
        },
        weight: WINDOW_MIN_S - step.seconds,
    })
}

/// Blocks did not contain what was written to them.
pub(super) fn mismatch(case: StepCase<'_>) -> Option<Fired> {
    let count = case.step.mismatch_count.max(case.step.mismatches.len() as u64);
    if count == 0 {
        return None;
    }
    let first = case.step.mismatches.first();
    let where_to = first.map(|m| {
        let says = m.says.trim_end_matches('.');
        let stamp = |s: &Stamp| {
            format!(
                "offset {}, run {:016x}, write {}, checksum {:08x}",
                s.offset_bytes, s.run, s.sequence, s.checksum
            )
        };
        let found = m.found.as_ref().map_or("no stamp".to_owned(), stamp);
        let expected = match m.expected {
            // Nothing is known of a block that this run did not write and that carries no stamp.
            Stamp { run: 0, sequence: 0, offset_bytes, .. } => format!("offset {offset_bytes}, of any run"),
            known => stamp(&known),
        };
        format!(
            " The first: {} at offset {}: {says}. Expected: {expected}. Found: {found}.",
            m.member, m.offset_bytes
        )
    });
    Some(Fired {
        severity: Severity::Critical,
        says: format!(
            "{count} {} not contain what Assay wrote there.{}{}",
            if count == 1 { "block of 512 bytes did" } else { "blocks of 512 bytes did" },
            where_to.unwrap_or_default(),
            late_copies(case.step.late_blocks),
        ),
        evidence: vec![Evidence::new("wrong blocks", count as f64, "")],
        next: if first.is_none()
            || !case.step.mismatches.iter().all(|m| may_be_anothers(m, &case.step.mismatches))
        {
            "Do not store data on this system. Check its log, memory, controller and cables, then verify again."
        } else {
            "Find out whether anything else wrote to, trimmed, shortened or replaced the target during the run. If \
             nothing did, do not store data on this system: check its log, memory, controller and cables, then \
             verify again."
        },
        weight: count as f64,
    })
}

/// True where what was found may have been written by another program or another run since: no stamp at all; the right
/// stamp before damaged data, where other blocks of the target have none, as a write that begins within a block leaves
/// them; or the stamp of another run at its right place, but for a fill, which was before this run.
fn may_be_anothers(wrong: &Mismatch, all: &[Mismatch]) -> bool {
    let Some(found) = wrong.found else { return true };
    if found.offset_bytes != wrong.offset_bytes {
        return false;
    }
    if (found.run, found.sequence) == (wrong.expected.run, wrong.expected.sequence) {
        return all.iter().any(|m| m.found.is_none() && m.member == wrong.member);
    }
    found.run != wrong.expected.run && found.sequence != Stamp::FILL
}

fn late_copies(blocks: u64) -> String {
    match blocks {
        0 => String::new(),
        blocks => format!(
            " Not among them: {blocks} with an older write of which Assay had sent two copies (see moved-writes)."
        ),
    }
}

/// I/Os failed.
pub(super) fn errors(case: StepCase<'_>) -> Option<Fired> {
    let step = case.step;
    // A limit of this host, as of open files, ends a step before its first I/O as well as a target that is gone: which
    // of the two it was only the message says.
    let without_ios = step.total.ops == 0 && step.errors == 0;
    let how = match &step.reason {
        Some(StepReason::ErrorLimit) => Some("More I/Os failed than the plan allows".to_owned()),
        Some(StepReason::TargetLost(how)) => {
            let what = if without_ios { "The step ended without an I/O" } else { "The target was lost" };
            Some(format!("{what}: {}", how.trim_end_matches('.')))
        }
        _ => None,
    };
    if step.errors == 0 && how.is_none() {
        return None;
    }
    let mut says = match (how, step.outside_errors) {
        (Some(how), _) if step.errors == 0 => format!("{how}."),
        (Some(how), _) => format!("{how}; {} I/Os failed.", step.errors),
        (None, 0) => format!(
            "{} of {} I/Os failed; rates and latencies do not include them.",
            step.errors,
            step.total.ops + step.errors
        ),
        (None, outside) => {
            let part = if outside == step.errors { "all".to_owned() } else { outside.to_string() };
            format!(
                "{} I/Os failed, {part} of them outside the measured window; rates and latencies do not include them.",
                step.errors
            )
        }
    };
    if let Some(first) = step.failures.first() {
        let kind = if first.is_write { "write" } else { "read" };
        let what = first.says.trim_end_matches('.');
        says.push_str(&format!(
            " The first: a {kind} of {} bytes at offset {} of {}: {what}.",
            first.size_bytes, first.offset_bytes, first.member
        ));
    }
    Some(Fired {
        severity: Severity::Critical,
        says,
        evidence: vec![
            Evidence::new("failed", step.errors as f64, "I/Os"),
            Evidence::new("succeeded", step.total.ops as f64, "I/Os"),
        ],
        next: if without_ios {
            "Put right what this says, then run again; it can be a limit of this host (ulimit -a) as well as the \
             storage."
        } else {
            "Check this host's kernel log (dmesg) and the storage's log for that time."
        },
        weight: step.errors as f64,
    })
}

/// For a time, next to no I/O completed.
pub(crate) fn stalled(case: StepCase<'_>) -> Option<Fired> {
    let step = case.step;
    let (first, seconds) = longest_silence(case)?;
    // Where a second has hardly an I/O anyway, one without any is nothing.
    if step.total.iops * (seconds as f64) < MISSED_MIN {
        return None;
    }
    // A load that is meant to rest has no I/O that takes as long as the silence. Those that wait at the end of the
    // window are not counted; one that never rests has them.
    let slowest_s = step.total.service.max_ns()? as f64 / 1e9;
    let lasts = step.complete && never_rests(case) && first + seconds >= whole_seconds(case);
    if slowest_s < (seconds as f64).min(1.0) && !lasts {
        return None;
    }
    // A tester that does not run reaps no I/O: `gap-in-window` says so.
    if step.gap_s() >= seconds as f64 * GAP_SHARE {
        return None;
    }
    let (from, to) = (first, first + seconds);
    // An I/O that took as long as the silence is one of those that waited: it was seen to its end.
    let outcome = if lasts && slowest_s < seconds as f64 {
        "it had not ended with the window: the rates include it, the latencies lack the I/Os that waited"
            .to_owned()
    } else {
        let end = if lasts { "it had not ended with the window, and " } else { "" };
        format!("{end}the slowest I/O took {slowest_s:.1} s. Rates and means include the stall")
    };
    Some(Fired {
        severity: Severity::Warning,
        says: format!(
            "I/O stalled from second {from} to second {to} of the measured window (less than {:.0} % of the mean \
             rate); {outcome}.",
            STILL_SHARE * 100.0
        ),
        evidence: vec![
            Evidence::new("stalled", seconds as f64, "s"),
            Evidence::new("slowest I/O", slowest_s, "s"),
        ],
        next: "Check the path events of the run and the log of the storage for that time.",
        weight: seconds as f64,
    })
}

/// Whether I/Os failed, and none completed in the last seconds of the window.
pub(crate) fn failed_to_the_end(case: StepCase<'_>) -> bool {
    let ends = |(first, seconds): (usize, usize)| seconds >= LOST_S && first + seconds >= whole_seconds(case);
    case.step.errors > 0 && stalled(case).is_some() && longest_silence(case).is_some_and(ends)
}

/// Whether I/Os are always in flight: nothing paces the load, and it has no delays.
fn never_rests(case: StepCase<'_>) -> bool {
    case.plan.jobs.iter().all(|job| {
        matches!(job.pacing, Pacing::Closed)
            && job.start_delay.0 == 0
            && job.flow == 0
            && job.mix.iter().all(|access| access.delay.0 == 0)
    })
}

/// Number of whole seconds of the planned window.
fn whole_seconds(case: StepCase<'_>) -> usize {
    let planned_s = case.plan.stop.time.0 as f64 / 1e9;
    case.step.series.iter().take_while(|point| point.t_s <= planned_s + 0.01).count()
}

/// The most seconds in a row with next to no I/O: the first of them, and their number. The last I/Os may end after the
/// window, when no others are issued.
fn longest_silence(case: StepCase<'_>) -> Option<(usize, usize)> {
    let step = case.step;
    let still = step.total.iops * STILL_SHARE;
    let planned_s = case.plan.stop.time.0 as f64 / 1e9;
    let mut longest: Option<(usize, usize)> = None;
    let mut start = 0;
    let in_window = step.series.iter().take_while(|point| point.t_s <= planned_s + 0.01);
    for (second, point) in in_window.enumerate() {
        if point.iops >= still {
            start = second + 1;
        } else if longest.is_none_or(|(_, most)| second + 1 - start > most) {
            longest = Some((start, second + 1 - start));
        }
    }
    longest
}

/// The jobs that wait for nothing but the target: one with a `flow` may not issue what is due while others are behind.
fn own_pace(case: StepCase<'_>) -> impl Iterator<Item = (&Job, &JobSummary)> {
    case.jobs().filter(|(plan, _)| plan.flow == 0)
}

/// A job that did less than its plan has due.
struct Missed<'c> {
    plan: &'c Job,
    job: &'c JobSummary,
    due: u64,
    /// What was done of it, failed I/Os too.
    share: f64,
}

/// Returns the job that missed most of its rate.
fn missed(case: StepCase<'_>) -> Option<Missed<'_>> {
    let shares = own_pace(case).filter_map(|(plan, job)| {
        let due = job.due.filter(|due| *due > 0)?;
        // What failed was issued in time: that it failed is another finding.
        let done = job.total.ops + job.total.errors;
        // One of each worker may be due as the window ends.
        let is_missed = due.saturating_sub(done) > u64::from(plan.workers);
        is_missed.then_some(Missed { plan, job, due, share: done as f64 / due as f64 })
    });
    let most = shares.min_by(|a, b| a.share.total_cmp(&b.share));
    most.filter(|missed| case.step.complete && missed.share < ACHIEVED_MIN)
}

/// The rate of the plan was missed: by the target, or by a queue depth of the plan that was too small for the rate.
pub(super) fn missed_rate(case: StepCase<'_>) -> Option<Fired> {
    let Missed { plan, job, due, share } = missed(case)?;
    let whose = if case.plan.jobs.len() > 1 { format!(" of {}", job.name) } else { String::new() };
    let done = format!(
        "{:.1} % of the {due} I/Os{whose} that were due in the window were completed ({:.0} per second)",
        job.total.ops as f64 / due as f64 * 100.0,
        job.total.iops
    );
    let mut evidence =
        vec![Evidence::new("due", due as f64, "I/Os"), Evidence::new("done", job.total.ops as f64, "I/Os")];
    let fired = |says, evidence, next| {
        Some(Fired { severity: Severity::Warning, says, evidence, next, weight: 1.0 - share })
    };
    if let Some((member, down_s)) = without_path(case, plan, 1.0 - share) {
        evidence.push(Evidence::new("no path up", down_s, "s"));
        let says = format!(
            "{done}: no path to {member} was up for {down_s:.1} of {:.1} s, so whether the target sustains this rate \
             is not known.",
            case.step.seconds
        );
        let next = "Find what took the paths down (the report marks the times), then run again.";
        return fired(says, evidence, next);
    }
    let full = job.full.filter(|full| *full >= FULL_MIN);
    evidence.extend(full.map(|full| Evidence::new("depth limit full", full * 100.0, "%")));
    let (says, next) = blamed(case, plan, job, full, &done);
    fired(says, evidence, next)
}

/// Says whose fault a missed rate is, and what to do. `full`: the share of the window in which the depth was used up.
fn blamed(
    case: StepCase<'_>,
    plan: &Job,
    job: &JobSummary,
    full: Option<f64>,
    done: &str,
) -> (String, &'static str) {
    match full {
        None if let Some(words) = throttled_words(plan, job)
            && !(is_barely_used(job) && own_fault(case, plan).is_some()) =>
        {
            let next = if is_barely_used(job) {
                "See which target or worker fell behind (--explain), and whether this host was busy then."
            } else {
                "Raise `outstanding`, or add `arrivals` to the pace: an open loop has a depth that is no limit."
            };
            (format!("{done}: {words}"), next)
        }
        Some(full) if plan.outstanding < OPEN_OUTSTANDING => (
            format!(
                "{done}: {}, and that limit, not the target, may have set this rate.",
                limit_words(plan, full)
            ),
            "Raise `outstanding`, or leave it out: an open loop then has a depth that is no limit.",
        ),
        _ if let Some((whose, rule)) = own_fault(case, plan) => (
            format!(
                "{done}: {whose} disturbed the test ({rule}), so whether the target sustains this rate is not known."
            ),
            "Mend what that finding names, then run again.",
        ),
        _ if costs_nothing(case) => (
            format!("{done}: the target costs nothing, so this host does not sustain this rate."),
            "Lower the rate, or use more workers or a host with faster CPUs.",
        ),
        _ if case.step.cpu.used.and(cpu_seconds(case)).is_none() => (
            format!(
                "{done}: nothing shows whether this host kept up, so whether the target sustains this rate is not \
                 known."
            ),
            "Run the step to its end, over a second or more.",
        ),
        Some(full) => (
            format!(
                "{done}: {}, and the target does not sustain this rate at that depth.",
                limit_words(plan, full)
            ),
            SWEEP_LOWER,
        ),
        None => (format!("{done}: the target does not sustain this rate."), SWEEP_LOWER),
    }
}

/// Returns the target of a job that had no path for a share of the window that explains most of the share of I/Os that
/// are missing, and for how long. I/Os wait before a path is known to be down, so that it need not explain all of it.
fn without_path<'c>(case: StepCase<'c>, plan: &Job, missing: f64) -> Option<(&'c str, f64)> {
    let of_job = |member: &str| {
        plan.hosts.is_empty() || plan.hosts.iter().any(|host| member.starts_with(&format!("{host}:")))
    };
    let found = longest_without_path(case.step, of_job);
    found.filter(|(_, down_s)| down_s / case.step.seconds >= missing / 2.0)
}

/// Returns who, and not the target, may have kept a job from its rate, and the finding that says so. Of several hosts
/// the CPUs of the job's own count: what others had of another host's did not hold it up.
fn own_fault<'c>(case: StepCase<'c>, plan: &'c Job) -> Option<(&'c str, &'static str)> {
    let host = plan.hosts.first().filter(|_| !case.run.header.setting.hosts.is_empty());
    let host = host.map(String::as_str);
    let of_host =
        [("busy-host", busy_host_of as fn(StepCase<'_>, Option<&str>) -> Option<Fired>), ("steal", steal_of)];
    let of_any = [
        ("tester-bound", tester_bound as fn(StepCase<'_>) -> Option<Fired>),
        ("near-null-ceiling", near_null_ceiling),
        ("late-timers", late_timers),
    ];
    let any = if case.run.header.setting.hosts.is_empty() { "this host" } else { "a host" };
    let gap = || gaps::in_window(case).map(|_| (any, "gap-in-window"));
    let own = || {
        let mut rules = of_host.into_iter();
        rules.find_map(|(rule, fires)| fires(case, host).map(|_| (host.unwrap_or(any), rule)))
    };
    let other = || of_any.into_iter().find_map(|(rule, fires)| fires(case).map(|_| (any, rule)));
    gap().or_else(own).or_else(other)
}

/// Whether no target does anything with an I/O: the tester is what is measured.
fn costs_nothing(case: StepCase<'_>) -> bool {
    let targets = &case.run.header.targets;
    !targets.is_empty() && targets.iter().all(|target| target.member.kind == MemberKind::Null)
}

/// The rate was reached, but I/Os waited for the queue depth of the plan.
pub(super) fn full_depth(case: StepCase<'_>) -> Option<Fired> {
    let jobs =
        own_pace(case).filter_map(|(plan, job)| Some((job.full.filter(|full| *full >= FULL_MIN)?, plan)));
    let (full, plan) = jobs.max_by(|a, b| a.0.total_cmp(&b.0))?;
    // A missed rate says the same, and more.
    if missed_rate(case).is_some() {
        return None;
    }
    Some(Fired {
        severity: Severity::Warning,
        says: format!("{}: response times include waits for it.", capitalised(&limit_words(plan, full))),
        evidence: vec![Evidence::new("depth limit full", full * 100.0, "%")],
        next: "Raise `outstanding`, or leave it out: an open loop then has a depth that is no limit.",
        weight: full,
    })
}

/// What held a closed loop below the rate that was to be its upper limit: it never has more in flight than the plan
/// allows. `None` for an open loop, and for a depth that is no limit.
fn throttled_words(plan: &Job, job: &JobSummary) -> Option<String> {
    if !matches!(plan.pacing, Pacing::Throttled { .. }) || plan.outstanding >= OPEN_OUTSTANDING {
        return None;
    }
    let asked = job.outstanding_asked as f64;
    let flown = three_digits(job.outstanding_effective);
    let flown = format!("on average {flown} of the {asked:.0} I/Os that the plan allows were in flight");
    Some(match is_barely_used(job) {
        // One slow target among several keeps its own workers busy, and the others rest.
        true => format!("{flown}, so that depth alone did not set this rate; what did is not known."),
        false => format!("{flown}, and that depth, not the target, may have set this rate."),
    })
}

/// Whether a job had far less in flight than its plan allows.
fn is_barely_used(job: &JobSummary) -> bool {
    job.outstanding_effective < job.outstanding_asked as f64 * BARELY_USED
}

fn limit_words(plan: &Job, full: f64) -> String {
    let workers = if plan.workers == 1 { "" } else { " per worker" };
    format!(
        "the limit of {} in flight{workers} was full for {:.0} % of the time",
        plan.outstanding,
        full * 100.0
    )
}
