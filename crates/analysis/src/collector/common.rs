//! The window that the hosts of a step have in common: rates are over it, so that no host counts for a time in which
//! another one did not load the target yet, or no more.

use std::collections::BTreeMap;

use assay_record::{AccessStats, Interval, StepEnd};
use serde::{Deserialize, Serialize};

use crate::summary::{JobSummary, OpSummary};

/// An interval in short.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(super) struct Slice {
    /// Start and end, ns since the stated start of the window.
    start_ns: u64,
    end_ns: u64,
    ops: u64,
}

impl Slice {
    pub(super) fn of(interval: &Interval, sum: &AccessStats) -> Self {
        let ops = sum.read.ops() + sum.write.ops();
        Self { start_ns: interval.start_ns, end_ns: interval.end_ns, ops }
    }

    /// Returns how many of its I/Os fall into a window, evenly over its time.
    fn within(&self, from_ns: u64, to_ns: u64) -> f64 {
        let (start_ns, end_ns) = (self.start_ns.max(from_ns), self.end_ns.min(to_ns));
        let (part_ns, length_ns) =
            (end_ns.saturating_sub(start_ns), self.end_ns.saturating_sub(self.start_ns));
        if length_ns == 0 { 0.0 } else { self.ops as f64 * part_ns as f64 / length_ns as f64 }
    }
}

/// Changes the rates of jobs to those over the window that all have in common. Counts and distributions stay those of
/// all I/Os. Jobs that ended with their host lost do not shorten it. Returns whether there is such a window.
pub(super) fn window(
    end: Option<&StepEnd>,
    slices: &BTreeMap<usize, Vec<Slice>>,
    jobs: &mut [JobSummary],
) -> bool {
    let (Some(end), false) = (end, slices.is_empty()) else { return false };
    let is_whole = |index: &usize| end.jobs.get(*index).is_some_and(|job| job.measured_ns > 0);
    let start_of = |of: &[Slice]| of.iter().map(|slice| slice.start_ns).min();
    let last_of = |of: &[Slice]| of.iter().map(|slice| slice.end_ns).max();
    let windows = slices.iter().filter(|(index, _)| is_whole(index)).filter_map(|(index, of)| {
        let (start_ns, last_ns) = (start_of(of)?, last_of(of)?);
        let end_ns = start_ns.saturating_add(end.jobs[*index].measured_ns);
        // A host that was lost has no end of its own, and its last interval is far from that of the others.
        (last_ns.saturating_add(LOST_NS) >= end_ns).then_some((start_ns, end_ns))
    });
    let common = windows.reduce(|a, b| (a.0.max(b.0), a.1.min(b.1)));
    let Some((from_ns, to_ns)) = common.filter(|(from, to)| from < to) else { return false };
    let seconds = (to_ns - from_ns) as f64 / 1e9;
    for (index, of) in slices {
        let Some(job) = jobs.get_mut(*index) else { continue };
        let rate = of.iter().map(|slice| slice.within(from_ns, to_ns)).sum::<f64>() / seconds;
        let factor = if job.total.iops > 0.0 { rate / job.total.iops } else { 1.0 };
        [&mut job.total, &mut job.read, &mut job.write].into_iter().for_each(|part| scale(part, factor));
        job.outstanding_effective *= factor;
    }
    true
}

/// An interval that ends so long before the window is not its last one, ns.
const LOST_NS: u64 = 1_500_000_000;

fn scale(part: &mut OpSummary, factor: f64) {
    part.iops *= factor;
    part.mib_per_s *= factor;
    part.mb_per_s *= factor;
}

/// Nanoseconds of a second.
const SECOND_NS: u64 = 1_000_000_000;

/// A last second that is cut shorter than this has no rate, ns.
const SHORTEST_NS: u64 = 200_000_000;

/// Seconds that all intervals of a job may cover beyond two each, which is what intervals of a second do: a month. One
/// that would cover more is damaged or forged, and must cost neither memory nor time.
const SECONDS_MAX: u64 = 31 * 86_400;

/// Returns the I/Os per second of a job over its window: the end of each second in which it had an interval, s, and its
/// rate.
pub(super) fn rates(of: &[Slice]) -> Vec<(f64, f64)> {
    let (mut ops, mut end_ns, mut seconds_left) = (BTreeMap::<u64, f64>::new(), 0, SECONDS_MAX);
    for slice in of.iter().filter(|slice| slice.end_ns > slice.start_ns) {
        let (first, last) = (slice.start_ns / SECOND_NS, (slice.end_ns - 1) / SECOND_NS);
        let Some(left) = seconds_left.checked_sub((last - first).saturating_sub(1)) else { continue };
        (seconds_left, end_ns) = (left, slice.end_ns.max(end_ns));
        for second in first..=last {
            let from_ns = second * SECOND_NS;
            let to_ns = from_ns.saturating_add(SECOND_NS);
            *ops.entry(second).or_default() += slice.within(from_ns, to_ns);
        }
    }
    let rate = |(second, ops): (u64, f64)| {
        let from_ns = second * SECOND_NS;
        let to_ns = from_ns.saturating_add(SECOND_NS).min(end_ns);
        let length_s = (to_ns - from_ns) as f64 / 1e9;
        (to_ns - from_ns >= SHORTEST_NS).then_some((to_ns as f64 / 1e9, ops / length_s))
    };
    ops.into_iter().filter_map(rate).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interval_counts_for_the_part_of_it_that_is_in_the_window() {
        let slice = Slice { start_ns: 1000, end_ns: 2000, ops: 100 };
        for (from, to, ops) in [(0, 5000, 100.0), (1500, 5000, 50.0), (1250, 1500, 25.0), (2000, 3000, 0.0)] {
            assert!((slice.within(from, to) - ops).abs() < 1e-9, "{from} {to}");
        }
    }
    #[test]
    fn the_rates_of_a_job_are_those_of_its_seconds() {
        let slice = |start_ms: u64, end_ms: u64, ops| Slice {
            start_ns: start_ms * 1_000_000,
            end_ns: end_ms * 1_000_000,
            ops,
        };
        // It began late, one interval covers two seconds, and the last tenth of a second is too short for a rate.
        let of =
            [slice(500, 1000, 50), slice(1000, 3000, 400), slice(3000, 3500, 100), slice(3500, 4100, 60)];
        let rates = super::rates(&of);
        let rounded: Vec<(f64, f64)> = rates.iter().map(|(at, rate)| (*at, rate.round())).collect();
        assert_eq!(rounded, [(1.0, 50.0), (2.0, 200.0), (3.0, 200.0), (4.0, 150.0)]);
        assert!(super::rates(&[]).is_empty());
    }

    /// A record may be damaged, and an agent may say anything: one interval took all memory.
    #[test]
    fn an_interval_without_measure_costs_neither_memory_nor_the_rates_of_the_others() {
        let second = Slice { start_ns: 0, end_ns: SECOND_NS, ops: 70 };
        let endless = Slice { start_ns: 0, end_ns: u64::MAX, ops: 5 };
        assert_eq!(super::rates(&[endless, second, endless]), [(1.0, 70.0)]);
        // Far away it is one second, and those before it did not occur.
        let far = Slice { start_ns: u64::MAX - 5, end_ns: u64::MAX, ops: 5 };
        assert_eq!(super::rates(&[second, far])[0], (1.0, 70.0));
        assert!(super::rates(&[second, far]).len() <= 2);
    }
}
