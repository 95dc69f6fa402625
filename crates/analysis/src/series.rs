//! A measured window second by second.
//!
//! Intervals of several jobs and workers do not end at the same moment, and a busy channel makes some longer than a
//! second. Counts are spread evenly over the seconds an interval covers; its distribution goes to every second of
//! which it covers most.

use std::collections::BTreeMap;

use assay_record::{Interval, Latency, OpStats};
use assay_spec::units::MIB;
use serde::{Deserialize, Serialize};

use crate::rungs::Rungs;
use crate::timeline::HeatMap;

const SECOND_NS: u64 = 1_000_000_000;
/// Distributions of this many latest seconds are kept whole (36 KiB each); of older ones mean and two percentiles are.
const WHOLE_SECONDS: u64 = 16;
/// A last slice shorter than this is too short for a rate, s.
const SHORTEST_S: f64 = 0.2;

/// One second of a measured window.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Point {
    /// End of the second, s since the window began.
    pub t_s: f64,
    /// Successful operations per second.
    pub iops: f64,
    /// 2^20 bytes per second.
    pub mib_per_s: f64,
    /// Mean service time, µs.
    pub mean_us: Option<f64>,
    /// Median service time, µs.
    pub p50_us: Option<f64>,
    /// 99th percentile of the service time, µs.
    pub p99_us: Option<f64>,
    /// The same of the time that was waited for an I/O: from when it was due, of an open loop. `None` for a closed loop
    /// and in records of earlier versions.
    #[serde(skip)]
    pub waited: Option<Times>,
    /// Operations that failed.
    pub errors: u64,
}

/// Collects intervals into seconds.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Series {
    seconds: BTreeMap<u64, Second>,
    end_ns: u64,
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct Second {
    ops: f64,
    bytes: f64,
    errors: u64,
    service: Option<Box<Latency>>,
    /// What was waited for, where that differs from the service time.
    response: Option<Box<Latency>>,
    /// Of a second whose distributions are no longer kept.
    heat: Rungs,
    settled: Option<Times>,
    /// The response times of such a second, where they differ from its service times.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    settled_response: Option<Times>,
}

/// Times of the I/Os of a second, µs.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Times {
    /// Their mean.
    pub mean: f64,
    /// Their median.
    pub p50: f64,
    /// Their 99th percentile.
    pub p99: f64,
}

impl Times {
    fn of(times: &Latency) -> Option<Self> {
        let quantile = |q: f64| times.quantile_ns(q).map(|ns| ns / 1e3);
        Some(Self { mean: times.mean_ns()? / 1e3, p50: quantile(0.5)?, p99: quantile(0.99)? })
    }
}

impl Series {
    /// Adds a slice, of whichever job.
    pub(crate) fn add(&mut self, interval: &Interval, total: &OpStats) {
        let (start, end) = (interval.start_ns, interval.end_ns);
        if end <= start {
            return;
        }
        self.end_ns = self.end_ns.max(end);
        let length = (end - start) as f64;
        let settled = (self.end_ns / SECOND_NS).saturating_sub(WHOLE_SECONDS);
        let mut alike: Option<Second> = None;
        for second in start / SECOND_NS..=(end - 1) / SECOND_NS {
            let from = start.max(second * SECOND_NS);
            let to = end.min((second + 1) * SECOND_NS);
            let share = (to - from) as f64 / length;
            let is_most = (to - from) * 2 >= (end - start).min(SECOND_NS);
            let slice = self.seconds.entry(second).or_default();
            if second >= settled || !is_most || slice.service.is_some() || slice.settled.is_some() {
                slice.add(total, share, is_most);
                continue;
            }
            // Of a slice of hours, as other tools have them, every second would keep the same distribution.
            let same = alike.get_or_insert_with(|| Second::settled(total));
            *slice = Second { ops: slice.ops, bytes: slice.bytes, errors: slice.errors, ..same.clone() };
            slice.add(total, share, false);
        }
        self.seconds.entry(end.saturating_sub(1) / SECOND_NS).or_default().errors += total.errors;
        self.settle();
    }

    /// Lets go of the distributions of seconds that no slice will reach any more.
    fn settle(&mut self) {
        let newest = self.end_ns / SECOND_NS;
        let old = self.seconds.range_mut(..newest.saturating_sub(WHOLE_SECONDS));
        old.rev().take_while(|(_, s)| s.service.is_some()).for_each(|(_, second)| second.settle());
    }

    /// Returns the same without the distributions of seconds: no slice comes after it.
    pub(crate) fn settled(&self) -> Self {
        let mut settled = self.clone();
        settled.seconds.values_mut().filter(|s| s.service.is_some()).for_each(Second::settle);
        settled
    }

    /// Bytes moved between two moments, ns since the window began; seconds that are cut count in proportion.
    pub(crate) fn bytes_between(&self, from_ns: u64, to_ns: u64) -> f64 {
        let mut sum = 0.0;
        for (second, slice) in &self.seconds {
            let start = second * SECOND_NS;
            let end = (start + SECOND_NS).min(self.end_ns);
            let overlap = end.min(to_ns).saturating_sub(start.max(from_ns));
            sum += slice.bytes * overlap as f64 / (end - start).max(1) as f64;
        }
        sum
    }

    pub(crate) fn heat(&self) -> HeatMap {
        HeatMap { seconds: self.seconds.values().map(Second::rungs).collect() }
    }

    pub(crate) fn points(&self) -> Vec<Point> {
        self.seconds.iter().filter_map(|(second, slice)| self.point(*second, slice)).collect()
    }

    fn point(&self, second: u64, slice: &Second) -> Option<Point> {
        let start = second * SECOND_NS;
        let end = (start + SECOND_NS).min(self.end_ns);
        let length_s = end.saturating_sub(start) as f64 / 1e9;
        if length_s < SHORTEST_S {
            return None;
        }
        let times = slice.times();
        Some(Point {
            t_s: end as f64 / 1e9,
            iops: slice.ops / length_s,
            mib_per_s: slice.bytes / length_s / MIB as f64,
            mean_us: times.map(|t| t.mean),
            p50_us: times.map(|t| t.p50),
            p99_us: times.map(|t| t.p99),
            waited: slice.response_times(),
            errors: slice.errors,
        })
    }
}

impl Second {
    fn add(&mut self, total: &OpStats, share: f64, is_most: bool) {
        self.ops += total.ops() as f64 * share;
        self.bytes += total.bytes as f64 * share;
        if is_most && self.settled.is_none() {
            self.service.get_or_insert_default().merge(&total.service);
            if let Some(response) = &total.response {
                self.response.get_or_insert_default().merge(response);
            }
        }
    }

    /// A second of nothing, with the times of these I/Os.
    fn settled(total: &OpStats) -> Self {
        let mut second = Self::default();
        second.add(total, 0.0, true);
        second.settle();
        second
    }

    fn settle(&mut self) {
        self.settled = self.service.as_deref().and_then(Times::of);
        self.settled_response = self.response.as_deref().and_then(Times::of);
        self.heat = self.rungs().into();
        (self.service, self.response) = (None, None);
    }

    /// How many I/Os took about how long, by the rungs of a heat map.
    fn rungs(&self) -> Vec<(i32, u64)> {
        let Some(waited) = self.response.as_ref().or(self.service.as_ref()) else { return self.heat.pairs() };
        let mut rungs: Vec<(i32, u64)> = Vec::new();
        for (ns, count) in waited.buckets() {
            let rung = HeatMap::rung(ns as f64);
            match rungs.last_mut().filter(|(last, _)| *last == rung) {
                Some((_, sum)) => *sum += count,
                None => rungs.push((rung, count)),
            }
        }
        rungs
    }

    fn times(&self) -> Option<Times> {
        self.settled.or_else(|| Times::of(self.service.as_deref()?))
    }

    fn response_times(&self) -> Option<Times> {
        self.settled_response.or_else(|| Times::of(self.response.as_deref()?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_record::{AccessStats, TurnStats};

    fn interval(start_ms: u64, end_ms: u64, ops: u64) -> Interval {
        let mut access = AccessStats::default();
        (0..ops).for_each(|_| access.read.completed(1 << 20, 1_000_000, 1_000_000));
        Interval {
            test: 0,
            step: 0,
            job: 0,
            start_ns: start_ms * 1_000_000,
            end_ns: end_ms * 1_000_000,
            by_access: vec![access],
            reconnects: 0,
            turns: TurnStats::default(),
        }
    }

    fn series(slices: &[(u64, u64, u64)]) -> Series {
        let mut series = Series::default();
        for (start, end, ops) in slices {
            let slice = interval(*start, *end, *ops);
            series.add(&slice, &slice.sum().total());
        }
        series
    }

    fn rates(series: &Series) -> Vec<(f64, f64)> {
        series.points().iter().map(|p| (p.t_s, p.iops.round())).collect()
    }

    #[test]
    fn a_long_slice_is_spread_over_its_seconds() {
        assert_eq!(
            rates(&series(&[(0, 2000, 200), (2000, 3000, 50)])),
            [(1.0, 100.0), (2.0, 100.0), (3.0, 50.0)]
        );
    }

    #[test]
    fn workers_that_end_at_different_moments_add_up() {
        let two = series(&[(0, 1001, 1001), (0, 999, 999), (1001, 2000, 999), (999, 2000, 1001)]);
        assert_eq!(rates(&two), [(1.0, 2000.0), (2.0, 2000.0)]);
        assert!(two.points().iter().all(|p| p.p50_us.is_some_and(|us| (us - 1000.0).abs() < 4.0)));
    }

    #[test]
    fn a_tail_too_short_for_a_rate_is_left_out() {
        assert_eq!(rates(&series(&[(0, 1000, 10), (1000, 1100, 5)])), [(1.0, 10.0)]);
        assert_eq!(rates(&series(&[(0, 1000, 10), (1000, 1500, 5)])), [(1.0, 10.0), (1.5, 10.0)]);
    }

    #[test]
    fn old_seconds_keep_their_percentiles_without_their_distributions() {
        let slices: Vec<_> = (0..40).map(|s| (s * 1000, s * 1000 + 1000, 10)).collect();
        let long = series(&slices);
        assert!(long.seconds[&0].service.is_none() && long.seconds[&39].service.is_some());
        assert!(long.points().iter().all(|p| p.p99_us.is_some()));
    }

    #[test]
    fn the_seconds_of_a_slice_of_hours_are_alike() {
        let points = series(&[(0, 1000, 2), (1000, 3_601_000, 7200)]).points();
        assert_eq!(points.len(), 3601);
        assert!(points[1..].iter().all(|p| p.p99_us == points[0].p99_us && (p.iops - 2.0).abs() < 1e-6));
    }

    #[test]
    fn bytes_of_a_part_of_the_window_are_in_proportion() {
        let bytes = series(&[(0, 2000, 200)]).bytes_between(500_000_000, 1_500_000_000);
        assert!((bytes / MIB as f64 - 100.0).abs() < 1e-6, "{bytes}");
    }
}
