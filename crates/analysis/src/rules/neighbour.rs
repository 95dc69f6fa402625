//! I/O of other programs on the disks of a step, second by second, and when it began and ended.

use std::collections::BTreeSet;

use super::StepCase;
use super::host::{FOREIGN_BYTES_PER_S, FOREIGN_SHARE, devices};
use crate::estimate::mean;
use crate::series::Point;
use crate::shape::{Change, HINT_REACH, levels};
use crate::timeline::TimelineSample;
use assay_spec::units::MIB;

/// Returns the moments at which the I/O of other programs on the same disks changed its level, with the levels in
/// MiB/s; none where the record does not say, or the levels are too small to matter.
pub(super) fn changes_of_others(case: StepCase<'_>) -> Vec<Change> {
    let Some(seconds) = others(case) else { return Vec::new() };
    let own: Vec<f64> = case.step.series.iter().map(|point| point.mib_per_s).collect();
    let least = (mean(&own) * FOREIGN_SHARE).max(FOREIGN_BYTES_PER_S / MIB as f64);
    let mut changes = levels(&seconds);
    changes.retain(|change| (change.after - change.before).abs() >= least);
    changes
}

/// The change of the others' I/O at about this second.
pub(super) fn others_at(case: StepCase<'_>, second: usize) -> Option<Change> {
    let near = |change: &Change| change.at.abs_diff(second) <= HINT_REACH;
    changes_of_others(case).into_iter().find(near)
}

/// What the disks moved beyond the tester's own I/O in each whole second of the window, MiB/s.
fn others(case: StepCase<'_>) -> Option<Vec<f64>> {
    let devices = devices(case)?;
    let points = case.step.series.iter().filter(|point| point.t_s.fract() < 1e-6);
    let samples = &case.step.timeline.samples;
    let beyond = |point: &Point| Some((moved(samples, &devices, point.t_s)? - point.mib_per_s).max(0.0));
    Some(points.map_while(beyond).collect())
}

/// What the disks moved in the second that ends at `end_s`, MiB/s, from the samples that overlap it.
fn moved(samples: &[TimelineSample], devices: &BTreeSet<&str>, end_s: f64) -> Option<f64> {
    let (mut bytes, mut covered) = (0.0, 0.0);
    for (index, sample) in samples.iter().enumerate() {
        let start_s = index.checked_sub(1).map_or(sample.t_s - 1.0, |before| samples[before].t_s);
        let overlap = sample.t_s.min(end_s) - start_s.max(end_s - 1.0);
        if overlap <= 0.0 {
            continue;
        }
        let of = |device: &&str| sample.disks.iter().find(|(name, _)| name == device).map(|(_, rate)| *rate);
        let rates: Option<Vec<f64>> = devices.iter().map(of).collect();
        bytes += rates?.iter().sum::<f64>() * overlap;
        covered += overlap;
    }
    // The last second may end after the last sample.
    (covered > 0.5).then(|| bytes / covered)
}

/// Returns in words when others began and ended; nothing where that does not show.
pub(super) fn when(case: StepCase<'_>) -> String {
    let is_rise = |change: &Change| change.after > change.before;
    match changes_of_others(case).as_slice() {
        [] => String::new(),
        [one] if is_rise(one) => format!(", from second {} on", one.at),
        [one] => format!(", until second {}", one.at),
        [first, last] if is_rise(first) && !is_rise(last) => {
            format!(", from second {} to second {}", first.at, last.at)
        }
        [first, ..] => format!(", and changed its rate at second {} and later", first.at),
    }
}
