//! Trends: a figure of one test over many runs, and the runs from which on it is another one.
//!
//! Points of one trend are runs of one load: the same plan, test and step, over the same span, by the same way, with
//! the same settings. Runs of the same test that were made otherwise are its [`OtherPoint`]s.
//!
//! Changes are searched for in the logarithms of the values, by halving: at the place that leaves the least scatter,
//! then in each part. Each that is found must be larger than chance explains, by the scatter of the runs between its
//! neighbours. The interval of a single run says how well its own seconds agree and nothing of what differs between
//! runs, so that it is drawn and never used for this. docs/method.md has the rule in full.

mod condensed;
mod events;

use assay_record::{FigureDigest, RunDigest, TestDigest};
use assay_statistics::changes::{CHANGES_MIN, Change, changes};
use assay_statistics::level;
use serde::Serialize;

pub use events::{TrendEvent, events};

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
    /// What somebody wrote about it.
    pub note: Option<&'r str>,
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
    /// What was run, by name, where it is known: conditions of the run, then the load of the test.
    #[serde(skip)]
    setting: Vec<(String, String)>,
    /// The runs that completed it, the oldest first.
    pub points: Vec<TrendPoint>,
    /// Runs of the same test with another load or under other conditions; those of the load that was run last have
    /// them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub others: Vec<OtherPoint>,
    /// Where the IOPS changed.
    pub iops_changes: Vec<ChangePoint>,
    /// Where the 99th percentile of the latency changed.
    pub p99_changes: Vec<ChangePoint>,
}

/// A run of the same test that is no point of the trend.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct OtherPoint {
    /// What it measured.
    pub point: TrendPoint,
    /// What was otherwise: `with --quick`, `span 4GiB, not 16GiB`.
    pub says: String,
}

/// The level of some repetitions in a test: a baseline.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Level {
    /// Successful operations per second.
    pub iops: FigureDigest,
    /// 99th percentile of the latency, µs.
    pub p99_us: Option<FigureDigest>,
    /// Number of repetitions.
    pub runs: usize,
}

impl Level {
    fn of(iops: &[f64], p99_us: &[f64]) -> Option<Self> {
        let figure = |values: &[f64]| {
            let level = level(values);
            (!values.is_empty()).then_some(FigureDigest { value: level.value, lo: level.lo, hi: level.hi })
        };
        Some(Self { iops: figure(iops)?, p99_us: figure(p99_us), runs: iops.len() })
    }

    /// Returns the level of repetitions in short in a test; `None` where none of them completed it with the same load.
    pub fn of_digests(repetitions: &[RunDigest], test: &TestDigest) -> Option<Self> {
        let is_it = |of: &&TestDigest| {
            of.complete && of.test == test.test && of.step == test.step && of.load == test.load
        };
        let of: Vec<&TestDigest> =
            repetitions.iter().filter_map(|digest| digest.tests.iter().find(is_it)).collect();
        let iops: Vec<f64> = of.iter().map(|test| test.iops.value).collect();
        let p99: Vec<f64> = of.iter().filter_map(|test| test.p99_us).map(|p99| p99.value).collect();
        Self::of(&iops, &p99)
    }
}

impl Trend {
    /// Returns the level of these runs: the geometric mean of their values and its interval, as a comparison has it for
    /// a side; `None` where none of them completed the test.
    pub fn level(&self, runs: &[String]) -> Option<Level> {
        let all = self.points.iter().chain(self.others.iter().map(|other| &other.point));
        let of: Vec<&TrendPoint> = all.filter(|point| runs.contains(&point.run)).collect();
        let iops: Vec<f64> = of.iter().map(|point| point.iops.value).collect();
        let p99: Vec<f64> = of.iter().filter_map(|point| point.p99_us).map(|p99| p99.value).collect();
        Level::of(&iops, &p99)
    }

    /// Whether there are enough runs for a change to be found.
    pub fn can_show_changes(&self) -> bool {
        self.points.len() >= CHANGES_MIN
    }

    /// Returns the part of the trend from a moment on, ms since 1970 UTC.
    pub fn since(&self, from_unix_ms: u64) -> Self {
        let mut part = self.clone();
        part.points.retain(|point| point.started_unix_ms >= from_unix_ms);
        part.others.retain(|other| other.point.started_unix_ms >= from_unix_ms);
        for changes in [&mut part.iops_changes, &mut part.p99_changes] {
            changes.retain(|change| change.at_unix_ms >= from_unix_ms);
        }
        part
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
    /// Number of runs that it stands for: of several, the values are medians, from the lowest to the highest.
    #[serde(skip)]
    pub runs: usize,
}

/// From a run on, a figure is another one.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ChangePoint {
    /// Index of the first run after the change among the points.
    pub index: usize,
    /// Its id.
    pub run: String,
    /// Its start, ms since 1970 UTC.
    pub at_unix_ms: u64,
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
pub fn trends(runs: &[TrendRun<'_>]) -> Vec<Trend> {
    let mut runs: Vec<&TrendRun<'_>> = runs.iter().collect();
    runs.sort_by_key(|run| (run.started_unix_ms, run.run));
    let mut found: Vec<Trend> = Vec::new();
    for run in runs {
        for test in run.digest.tests.iter().filter(|test| test.complete && test.iops.value > 0.0) {
            add(&mut found, run, test);
        }
    }
    hold_others(&mut found);
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
        runs: 1,
    };
    let setting = || run.digest.under.iter().chain(&test.load);
    // Digests from before the load was kept are of the load that the plan has had since.
    let is_alike = |trend: &Trend| {
        trend.setting.is_empty() || run.digest.under.is_empty() || setting().eq(&trend.setting)
    };
    let is_of = |trend: &&mut Trend| {
        trend.test == test.test
            && trend.step == test.step
            && trend.plan == run.plan
            && trend.changed == run.digest.changed
            && is_alike(trend)
    };
    match found.iter_mut().find(is_of) {
        Some(trend) => {
            trend.points.push(point);
            if trend.setting.is_empty() && !run.digest.under.is_empty() {
                trend.setting = setting().cloned().collect();
            }
        }
        None => found.push(Trend {
            plan: run.plan.to_owned(),
            test: test.test.clone(),
            step: test.step.clone(),
            changed: run.digest.changed.clone(),
            setting: setting().cloned().collect(),
            points: vec![point],
            others: Vec::new(),
            iops_changes: Vec::new(),
            p99_changes: Vec::new(),
        }),
    }
}

/// Gives the load of each test that was run last, the plan's own before a changed one, the runs of its other loads.
fn hold_others(found: &mut [Trend]) {
    let last =
        |trend: &Trend| (trend.changed.is_empty(), trend.points.last().map(|point| point.started_unix_ms));
    let is_same_test = |a: &Trend, b: &Trend| (&a.plan, &a.test, &a.step) == (&b.plan, &b.test, &b.step);
    for index in 0..found.len() {
        let rivals = || found.iter().filter(|other| is_same_test(other, &found[index]));
        if rivals().any(|other| last(other) > last(&found[index])) {
            continue;
        }
        let main = &found[index];
        let of = |other: &Trend| {
            let says = otherwise(main, other);
            other.points.iter().map(|point| OtherPoint { point: point.clone(), says: says.clone() }).collect()
        };
        let others: Vec<Vec<OtherPoint>> =
            rivals().filter(|other| !std::ptr::eq(*other, main)).map(of).collect();
        found[index].others = others.concat();
    }
}

/// Returns what is otherwise in another trend of the same test.
fn otherwise(main: &Trend, other: &Trend) -> String {
    if main.changed != other.changed {
        return match other.changed.as_str() {
            "" => format!("without {}", main.changed),
            changed => format!("with {changed}"),
        };
    }
    let value = |name: &str| main.setting.iter().find(|(known, _)| known == name).map(|(_, value)| value);
    let differs = other.setting.iter().filter_map(|(name, value_there)| {
        let here = value(name).filter(|here| *here != value_there)?;
        Some(format!("{name} {value_there}, not {here}"))
    });
    differs.collect::<Vec<_>>().join("; ")
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
            at_unix_ms: points[index].started_unix_ms,
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
