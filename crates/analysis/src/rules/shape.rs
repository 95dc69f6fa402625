//! About the rate over the window: a mean of several levels is no result. The levels are found by [`crate::shape`].

use assay_spec::units::{GIB, MIB};

use super::neighbour::{changes_of_others, others_at};
use super::{Fired, StepCase, foreign_share};
use crate::figures::{time, whole};
use crate::finding::{Evidence, Severity};
use crate::summary::Load;
use assay_statistics::shape::{Change, Modes, Shape, modes, shape_with};

/// Levels that scatter less than this share are held by a limiter rather than by a device.
const CAP_SPREAD: f64 = 0.01;
/// Other programs that move more than this share explain a change.
const NEIGHBOUR_SHARE: f64 = 0.1;
/// Most changes that a finding spells out.
const CHANGES_MAX: usize = 3;

/// What is followed over the window.
struct Track {
    /// As a sentence begins with it.
    name: &'static str,
    unit: &'static str,
    values: Vec<f64>,
    /// The shape of a load that is offered at a rate shows in its latency only.
    is_latency: bool,
}

/// Whole seconds of the window: IOPS where the target decides on them, else the median latency.
fn track(case: StepCase<'_>) -> Option<Track> {
    // A gap of the tester looks like a level of the storage; `gap-in-window` says what it is.
    if case.step.gap_s() > 0.0 {
        return None;
    }
    let points = || case.step.series.iter().filter(|point| point.t_s.fract() < 1e-6);
    if matches!(case.step.load, Load::Closed | Load::Mixed) {
        let values = points().map(|point| point.iops).collect();
        return Some(Track { name: "IOPS", unit: "IOPS", values, is_latency: false });
    }
    let values: Option<Vec<f64>> = points().map(|point| point.p50_us).collect();
    Some(Track { name: "The median latency", unit: "µs", values: values?, is_latency: true })
}

fn tracked(case: StepCase<'_>) -> Option<(Track, Shape)> {
    let track = track(case)?;
    // What others do to the same disks is evidence that the values do not have to give.
    let hints: Vec<usize> = changes_of_others(case).iter().map(|change| change.at).collect();
    let shape = shape_with(&track.values, &hints)?;
    Some((track, shape))
}

/// A reason why a longer window gives no better mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Pattern {
    /// It approaches its level.
    Ramp,
    /// It goes one way.
    Drift,
    /// Several levels, or two in turn.
    Levels,
    /// Two modes in no order.
    Modes,
}

/// Returns the pattern of a step; `None` where it has one level, or is too short to tell.
pub(super) fn pattern(case: StepCase<'_>) -> Option<Pattern> {
    let (track, shape) = tracked(case)?;
    match shape {
        Shape::Ramp(_) => Some(Pattern::Ramp),
        Shape::Drift { .. } => Some(Pattern::Drift),
        Shape::SawTooth { .. } | Shape::Steps(_) => Some(Pattern::Levels),
        Shape::Steady => modes(&track.values).map(|_| Pattern::Modes),
    }
}

/// The seconds are of two kinds, in no order.
pub(super) fn two_modes(case: StepCase<'_>) -> Option<Fired> {
    let (track, Shape::Steady) = tracked(case)? else { return None };
    let Modes { low, high, high_share } = modes(&track.values)?;
    Some(Fired {
        severity: Severity::Warning,
        says: format!(
            "{} has two modes: {} in {:.0} % of the seconds and {} in the others, in no particular order. The mean \
            describes neither.",
            track.name,
            with_unit(&track, high),
            high_share * 100.0,
            with_unit(&track, low)
        ),
        evidence: vec![
            Evidence::new("higher mode", high, track.unit),
            Evidence::new("lower mode", low, track.unit),
            Evidence::new("seconds in the higher mode", high_share * 100.0, "%"),
        ],
        next: "Look for a periodic task, a second load or a cache that is hit in some of the seconds.",
        weight: relative(low, high),
    })
}

/// The window began before the load had reached its level.
pub(super) fn ramp_up(case: StepCase<'_>) -> Option<Fired> {
    let (track, Shape::Ramp(change)) = tracked(case)? else { return None };
    let Change { at, before, after } = change;
    Some(Fired {
        severity: Severity::Warning,
        says: format!(
            "{} went from {} to {} during the first {at} s of the window and then kept its level: the means include \
             the ramp.",
            track.name,
            with_unit(&track, before),
            with_unit(&track, after)
        ),
        evidence: vec![
            Evidence::new("at the start", before, track.unit),
            Evidence::new("level", after, track.unit),
            Evidence::new("reached after", at as f64, "s"),
        ],
        next: "Warm up longer: --set warmup=60s.",
        weight: relative(before, after),
    })
}

/// The rate goes one way all the time.
pub(super) fn drift(case: StepCase<'_>) -> Option<Fired> {
    let (track, Shape::Drift { from, to }) = tracked(case)? else { return None };
    let seconds = track.values.len();
    Some(Fired {
        severity: Severity::Warning,
        says: format!(
            "{} drifted from {} to {} over the {seconds} s of the window and reached no level: a longer run would \
             give a different mean.",
            track.name,
            with_unit(&track, from),
            with_unit(&track, to)
        ),
        evidence: vec![
            Evidence::new("at the start", from, track.unit),
            Evidence::new("at the end", to, track.unit),
        ],
        next: "Measure until it keeps its level: a longer --set warmup, or fill the target and write to it first.",
        weight: relative(from, to),
    })
}

/// The rate went from one level to another.
pub(super) fn level_change(case: StepCase<'_>) -> Option<Fired> {
    let (track, Shape::Steps(changes)) = tracked(case)? else { return None };
    let largest = largest(&changes)?;
    let said: Vec<String> = changes
        .iter()
        .take(CHANGES_MAX)
        .map(|c| {
            format!(
                "from {} to {} at second {}",
                with_unit(&track, c.before),
                with_unit(&track, c.after),
                c.at
            )
        })
        .collect();
    let more = changes.len().saturating_sub(CHANGES_MAX);
    let more = if more > 0 { format!(", and {more} more times") } else { String::new() };
    let after = level_after(&changes, largest, &track.values);
    let (why, next) = causes(behind(case, &track, largest, after));
    Some(Fired {
        severity: Severity::Warning,
        says: format!(
            "{} changed its level: {}{more}. The means mix these levels.{why}",
            track.name,
            said.join(", ")
        ),
        evidence: vec![
            Evidence::new("changed at", largest.at as f64, "s"),
            Evidence::new("before", largest.before, track.unit),
            Evidence::new("after", largest.after, track.unit),
        ],
        next,
        weight: relative(largest.before, largest.after),
    })
}

/// The rate alternates between two levels.
pub(super) fn saw_tooth(case: StepCase<'_>) -> Option<Fired> {
    let (track, Shape::SawTooth { period, high, low }) = tracked(case)? else { return None };
    Some(Fired {
        severity: Severity::Warning,
        says: format!(
            "{} alternated between {} and {}, every {period:.0} s on average: something fills and drains, such as a \
             write cache or the journal of a file system, or a periodic task competes.",
            track.name,
            with_unit(&track, high),
            with_unit(&track, low)
        ),
        evidence: vec![
            Evidence::new("high", high, track.unit),
            Evidence::new("low", low, track.unit),
            Evidence::new("period", period, "s"),
        ],
        next: "Measure several whole periods, and read the percentiles of latency rather than its mean.",
        weight: relative(high, low),
    })
}

/// The values at the level that follows a change.
fn level_after<'v>(changes: &[Change], change: &Change, values: &'v [f64]) -> &'v [f64] {
    let end = changes.iter().map(|c| c.at).find(|at| *at > change.at).unwrap_or(values.len());
    values.get(change.at..end).unwrap_or_default()
}

/// What lies behind a change of level, as far as its direction, the kind of I/O and the new level tell.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Behind {
    /// Other programs began or ended at the same second; their I/O, MiB/s.
    Others(Change),
    /// It became faster by itself.
    Faster,
    /// The new level varies by no more than this share.
    Limit(f64),
    /// Other programs have this share of the disk traffic.
    Foreign(f64),
    /// It became slower after so many GiB, mostly written.
    Written(f64),
    /// It became slower.
    Slower,
}

/// Returns the largest change of the rate between levels, and what lies behind it; `None` where the rate has one
/// level, or where the load and not the target decides on it.
pub(crate) fn level_of_rate(case: StepCase<'_>) -> Option<(Change, Behind)> {
    let (track, Shape::Steps(changes)) = tracked(case).filter(|(track, _)| !track.is_latency)? else {
        return None;
    };
    let change = largest(&changes)?;
    Some((*change, behind(case, &track, change, level_after(&changes, change, &track.values))))
}

fn largest(changes: &[Change]) -> Option<&Change> {
    let size = |change: &Change| relative(change.before, change.after);
    changes.iter().max_by(|a, b| size(a).total_cmp(&size(b)))
}

fn behind(case: StepCase<'_>, track: &Track, change: &Change, after: &[f64]) -> Behind {
    let is_slower = (change.after < change.before) != track.is_latency;
    let of_others = others_at(case, change.at).filter(|others| is_slower == (others.after > others.before));
    if let Some(others) = of_others {
        return Behind::Others(others);
    }
    if !is_slower {
        return Behind::Faster;
    }
    // The second of the change itself is of both levels.
    let after = after.get(1..).unwrap_or_default();
    let spread = assay_statistics::deviation(after) / assay_statistics::mean(after).max(f64::MIN_POSITIVE);
    if !track.is_latency && after.len() >= 5 && spread < CAP_SPREAD {
        return Behind::Limit(spread);
    }
    if let Some(share) = foreign_share(case).filter(|share| *share > NEIGHBOUR_SHARE) {
        return Behind::Foreign(share);
    }
    if case.step.write.bytes as f64 * 2.0 > case.step.total.bytes as f64 {
        let until: f64 = case.step.series.iter().take(change.at).map(|point| point.mib_per_s).sum();
        return Behind::Written(until * MIB as f64 / GIB as f64);
    }
    Behind::Slower
}

/// In words, and what to do next.
fn causes(behind: Behind) -> (String, &'static str) {
    let stop = "Find and stop the other program (iotop, pidstat -d), then run again.";
    match behind {
        Behind::Others(others) => (others_words(&others), stop),
        Behind::Faster => (
            " Typical causes are a cache that has warmed up and a competing load that ended.".into(),
            "Warm up longer, and see the report for other I/O on the same disks at that time.",
        ),
        Behind::Limit(spread) => (
            format!(
                " The new level varies by only {:.1} %: a limit probably holds it, such as a cap after burst credit \
                 is used up, a quota or a link that fell back to a lower speed.",
                spread * 100.0
            ),
            "Compare the new level with the limits of the volume, the hypervisor and the link.",
        ),
        Behind::Foreign(share) => (
            format!(
                " Other programs caused {:.0} % of the disk traffic in this window: a competing load is the likely \
                cause.",
                share * 100.0
            ),
            stop,
        ),
        Behind::Written(gib) => (
            format!(
                " Before it, {gib:.1} GiB had been transferred: typical causes are a full write cache or SLC cache, \
                 garbage collection, thermal throttling and a competing load."
            ),
            "To measure the level after it, write more than that before the window begins. Let the target rest and \
             repeat, to see whether the change comes after the same amount.",
        ),
        Behind::Slower => (
            " Typical causes are a competing load, throttling and a lost path.".into(),
            "See the report for other I/O on the same disks and for path events at that time; repeat the run.",
        ),
    }
}

/// That other programs began or ended at the same moment.
fn others_words(others: &Change) -> String {
    let (before, after) = (figure(others.before.max(0.0)), figure(others.after.max(0.0)));
    let effect =
        if others.after > others.before { "slowed this load down" } else { "had slowed this load down" };
    format!(
        " At second {} the I/O of other programs on the same disks went from {before} to {after} MiB/s: it {effect}.",
        others.at
    )
}

/// How large a change is, as a share of its higher level.
fn relative(a: f64, b: f64) -> f64 {
    (a - b).abs() / a.max(b).max(f64::MIN_POSITIVE)
}

fn with_unit(track: &Track, value: f64) -> String {
    if track.is_latency { time(value) } else { figure(value) }
}

/// Three significant digits, thousands separated.
pub(crate) fn figure(value: f64) -> String {
    let unit = 10_f64.powf((value.max(1.0).log10().floor() - 2.0).max(0.0));
    whole((value / unit).round() * unit)
}
