//! I/O of other programs on the disks of a step: how much it was, second by second, and when it began and ended.

use std::collections::BTreeSet;

use assay_record::{MemberFacts, MemberKind};
use assay_spec::units::MIB;

use super::{Fired, StepCase};
use crate::finding::{Evidence, Severity};
use crate::series::Point;
use crate::timeline::TimelineSample;
use assay_statistics::mean;
use assay_statistics::shape::{Change, HINT_REACH, levels};

/// Foreign I/O counts from both this share of the tester's own and this many bytes per second.
const FOREIGN_SHARE: f64 = 0.10;
const FOREIGN_BYTES_PER_S: f64 = MIB as f64;

/// In a shorter window the first and the last I/Os, which the kernel counts at other moments, decide.
const WINDOW_MIN_S: f64 = 2.0;

/// Another program used the disks.
pub(super) fn foreign_io(case: StepCase<'_>) -> Option<Fired> {
    let ForeignIo { devices, moved, own, seconds, foreign } = foreign(case)?;
    if seconds < WINDOW_MIN_S || foreign <= own * FOREIGN_SHARE || foreign / seconds <= FOREIGN_BYTES_PER_S {
        return None;
    }
    let rate = |bytes: f64| bytes / seconds / MIB as f64;
    Some(Fired {
        severity: Severity::Warning,
        says: format!(
            "{} moved {:.1} MiB/s while the tester moved {:.1} MiB/s: another program used it during the test{}.",
            devices.iter().copied().collect::<Vec<_>>().join(", "),
            rate(moved),
            rate(own),
            when(case)
        ),
        evidence: vec![
            Evidence::new("device", rate(moved), "MiB/s"),
            Evidence::new("tester", rate(own), "MiB/s"),
        ],
        next: "Find and stop the other program (iotop, pidstat -d), then run again.",
        weight: foreign / own.max(1.0),
    })
}

/// What the disks of a step moved, and how much of it was not the tester's.
struct ForeignIo<'r> {
    devices: BTreeSet<&'r str>,
    moved: f64,
    own: f64,
    seconds: f64,
    /// Bytes; below zero where the tester's count runs ahead.
    foreign: f64,
}

impl ForeignIo<'_> {
    /// Share of what the disks moved; in [0, 1].
    fn share(&self) -> f64 {
        if self.moved > 0.0 { (self.foreign / self.moved).max(0.0) } else { 0.0 }
    }
}

/// Returns the share of other programs in what the disks of a step moved. In [0, 1].
pub(crate) fn foreign_share(case: StepCase<'_>) -> Option<f64> {
    foreign(case).map(|of| of.share())
}

/// Returns it; `None` unless all of the step is direct I/O to known devices.
fn foreign(case: StepCase<'_>) -> Option<ForeignIo<'_>> {
    let devices = devices(case)?;
    let host = &case.step.host;
    let (own, seconds) = (host.tester_bytes?, host.seconds);
    let mut moved = 0.0;
    for device in &devices {
        moved += host.disks.iter().find(|d| d.device == *device)?.bytes as f64;
    }
    // The kernel counts the parts of a large I/O as they end, the tester counts it whole at its end.
    let foreign = moved - own - in_flight_bytes(case);
    Some(ForeignIo { devices, moved, own, seconds, foreign })
}

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
    // A window of hours has thousands of samples, and this is asked of each of its seconds.
    let first = samples.partition_point(|sample| sample.t_s <= end_s - 1.0);
    for (index, sample) in samples.iter().enumerate().skip(first) {
        let start_s = index.checked_sub(1).map_or(sample.t_s - 1.0, |before| samples[before].t_s);
        if start_s >= end_s {
            break;
        }
        let overlap = sample.t_s.min(end_s) - start_s.max(end_s - 1.0);
        if overlap <= 0.0 {
            continue;
        }
        let of =
            |device: &&str| sample.disks.iter().find(|(name, _)| **name == **device).map(|(_, rate)| *rate);
        let rates: Option<Vec<f64>> = devices.iter().map(of).collect();
        bytes += rates?.iter().sum::<f64>() * overlap;
        covered += overlap;
    }
    // The last second may end after the last sample.
    (covered > 0.5).then(|| bytes / covered)
}

/// Returns in words when others began and ended; nothing where that does not show.
fn when(case: StepCase<'_>) -> String {
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

/// The devices directly under the step's members; `None` unless all of it is direct I/O to known devices.
fn devices(case: StepCase<'_>) -> Option<BTreeSet<&str>> {
    let device = |member: &'_ MemberFacts| -> bool { member.direct && member.kind != MemberKind::Null };
    let mut devices = BTreeSet::new();
    for member in case.plan.jobs.iter().flat_map(|j| case.members(j)) {
        if !device(member) {
            return None;
        }
        devices.insert(member.device.as_ref()?.name.as_str());
    }
    (!devices.is_empty()).then_some(devices)
}

fn in_flight_bytes(case: StepCase<'_>) -> f64 {
    case.jobs().map(|(plan, job)| job.outstanding_asked as f64 * plan.size_max().0 as f64).sum()
}
