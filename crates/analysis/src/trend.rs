//! Trends: a figure of one test over many runs, and the runs from which on it is another one.
//!
//! Changes are searched for in the logarithms of the values, by halving: at the place that leaves the least scatter,
//! then in each part. Each that is found must be larger than chance explains, by the scatter of the runs between its
//! neighbours. The interval of a single run says how well its own seconds agree and nothing of what differs between
//! runs, so that it is drawn and never used for this. docs/method.md has the rule in full.

use assay_record::{FigureDigest, RunDigest, TestDigest};
use assay_statistics::changes::{Change, changes};
use assay_statistics::median;
use serde::Serialize;

/// A run as a trend needs it.
#[derive(Debug, Clone, Copy)]
pub struct TrendRun<'r> {
    /// Its id.
    pub run: &'r str,
    /// Name of its plan.
    pub plan: &'r str,
    /// Start, ms since 1970 UTC.
    pub started_unix_ms: u64,
    /// What it measured.
    pub digest: &'r RunDigest,
}

/// One test of one plan over the runs on a target.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Trend {
    /// Name of the plan.
    pub plan: String,
    /// Name of the test.
    pub test: String,
    /// The swept values; may be empty.
    pub step: String,
    /// What the command line changed of the load ([`RunDigest::changed`]): other loads are other trends.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub changed: String,
    /// The runs that completed it, the oldest first.
    pub points: Vec<TrendPoint>,
    /// Where the IOPS changed.
    pub iops_changes: Vec<ChangePoint>,
    /// Where the 99th percentile of the latency changed.
    pub p99_changes: Vec<ChangePoint>,
}

impl Trend {
    /// Returns the trend with as many points as a drawing has room for, and how many runs in a row each of them stands
    /// for: the median of their values, from the lowest to the highest. No run is left out, and no change.
    #[must_use]
    pub fn condensed(&self, count: usize) -> (Self, usize) {
        let each = self.points.len().div_ceil(count.max(1)).max(1);
        if each == 1 {
            return (self.clone(), 1);
        }
        let changes = |changes: &[ChangePoint]| {
            changes
                .iter()
                .map(|change| ChangePoint { index: change.index / each, ..change.clone() })
                .collect()
        };
        let condensed = Self {
            points: self.points.chunks(each).map(as_one).collect(),
            iops_changes: changes(&self.iops_changes),
            p99_changes: changes(&self.p99_changes),
            ..self.clone()
        };
        (condensed, each)
    }
}

/// Returns some runs in a row as a point: that of the first of them, with the medians and the ranges of all.
fn as_one(points: &[TrendPoint]) -> TrendPoint {
    let over = |figure: &dyn Fn(&TrendPoint) -> Option<FigureDigest>| {
        let values: Vec<f64> = points.iter().filter_map(figure).map(|figure| figure.value).collect();
        let (lo, hi) = (values.iter().copied().reduce(f64::min)?, values.iter().copied().reduce(f64::max)?);
        Some(FigureDigest { value: median(&values), lo: Some(lo), hi: Some(hi) })
    };
    let first = &points[0];
    TrendPoint {
        iops: over(&|point| Some(point.iops)).unwrap_or_default(),
        mib_per_s: over(&|point| Some(point.mib_per_s)).unwrap_or_default(),
        p99_us: over(&|point| point.p99_us),
        ..first.clone()
    }
}

/// One run in a trend.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TrendPoint {
    /// Its id.
    pub run: String,
    /// Start, ms since 1970 UTC.
    pub started_unix_ms: u64,
    /// Successful operations per second.
    pub iops: FigureDigest,
    /// 2^20 bytes per second.
    pub mib_per_s: FigureDigest,
    /// 99th percentile of the latency, µs.
    pub p99_us: Option<FigureDigest>,
}

/// From a run on, a figure is another one.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ChangePoint {
    /// Index of the first run after the change among the points.
    pub index: usize,
    /// Its id.
    pub run: String,
    /// The last run before the change.
    pub before: String,
    /// Level after the change over the level before.
    pub ratio: f64,
    /// Lower end of the 95 % interval of the ratio.
    pub ratio_lo: f64,
    /// Upper end.
    pub ratio_hi: f64,
}

/// Returns the trend of every test that at least two runs completed, in the order in which the runs have them. The
/// runs are in any order.
#[must_use]
pub fn trends(runs: &[TrendRun<'_>]) -> Vec<Trend> {
    let mut runs: Vec<&TrendRun<'_>> = runs.iter().collect();
    runs.sort_by_key(|run| (run.started_unix_ms, run.run));
    let mut found: Vec<Trend> = Vec::new();
    for run in runs {
        for test in run.digest.tests.iter().filter(|test| test.complete && test.iops.value > 0.0) {
            add(&mut found, run, test);
        }
    }
    found.retain(|trend| trend.points.len() > 1);
    for trend in &mut found {
        let points = &trend.points;
        trend.iops_changes = changes_of(points, &|point| Some(point.iops.value));
        trend.p99_changes = changes_of(points, &|point| point.p99_us.map(|p99| p99.value));
    }
    found
}

fn add(found: &mut Vec<Trend>, run: &TrendRun<'_>, test: &TestDigest) {
    let point = TrendPoint {
        run: run.run.to_owned(),
        started_unix_ms: run.started_unix_ms,
        iops: test.iops,
        mib_per_s: test.mib_per_s,
        p99_us: test.p99_us,
    };
    let is_of = |trend: &&mut Trend| {
        trend.plan == run.plan
            && trend.changed == run.digest.changed
            && trend.test == test.test
            && trend.step == test.step
    };
    match found.iter_mut().find(is_of) {
        Some(trend) => trend.points.push(point),
        None => found.push(Trend {
            plan: run.plan.to_owned(),
            test: test.test.clone(),
            step: test.step.clone(),
            changed: run.digest.changed.clone(),
            points: vec![point],
            iops_changes: Vec::new(),
            p99_changes: Vec::new(),
        }),
    }
}

fn changes_of(points: &[TrendPoint], figure: &dyn Fn(&TrendPoint) -> Option<f64>) -> Vec<ChangePoint> {
    // Runs without the figure are no part of its series.
    let known: Vec<(usize, f64)> = points
        .iter()
        .enumerate()
        .filter_map(|(index, point)| figure(point).filter(|value| *value > 0.0).map(|value| (index, value)))
        .collect();
    let values: Vec<f64> = known.iter().map(|(_, value)| *value).collect();
    let change = |change: Change| {
        let (index, before) = (known[change.index].0, known[change.index - 1].0);
        ChangePoint {
            index,
            run: points[index].run.clone(),
            before: points[before].run.clone(),
            ratio: change.shift.exp(),
            ratio_lo: (change.shift - change.half_width).exp(),
            ratio_hi: (change.shift + change.half_width).exp(),
        }
    };
    changes(&values).into_iter().map(change).collect()
}

#[cfg(test)]
mod tests;
