//! Repetitions of a plan together: the level of each figure, as comparisons and trends have it, and how far a
//! repetition may be from it.
//!
//! The seconds of a run show how well its own mean is known. How far the next run would be from it shows only in
//! repetitions, so each repetition gets the wider of both intervals.

use assay_statistics::{Estimate, Spread, deviation, level, mean, student_95};
use serde::Serialize;

use crate::compare::{ResultSet, Row, Side};

/// A test over all repetitions of a side.
#[derive(Debug, Clone, PartialEq)]
pub struct Pooled {
    /// Name of the test.
    pub test: String,
    /// Swept values; may be empty.
    pub step: String,
    /// I/Os per second: the geometric mean of the repetitions, as all figures here.
    pub iops: Estimate,
    /// 2^20 bytes per second.
    pub mib_per_s: Estimate,
    /// Mean latency, ms.
    pub mean_ms: Option<Estimate>,
    /// Median latency, ms.
    pub p50_ms: Option<Estimate>,
    /// 99th percentile, ms.
    pub p99_ms: Option<Estimate>,
    /// Standard deviation of the repetitions' IOPS over their mean; `None` for one.
    pub cv: Option<f64>,
    /// The repetitions, in order.
    pub runs: Vec<Repeat>,
}

/// A repetition of a test.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Repeat {
    /// Id of the run.
    pub run: String,
    /// I/Os per second, with the interval in which the mean of many repetitions is expected.
    pub iops: Estimate,
}

impl Pooled {
    /// Returns the number of repetitions whose interval contains the level of all.
    pub fn holding(&self) -> usize {
        let holds =
            |run: &&Repeat| run.iops.ends().is_some_and(|(lo, hi)| (lo..=hi).contains(&self.iops.value));
        self.runs.iter().filter(holds).count()
    }
}

/// Returns every test of the repetitions of a side, in the order of the first that has it.
pub fn pooled(side: &Side) -> Vec<Pooled> {
    let mut tests: Vec<(String, String)> = Vec::new();
    for row in side.readings.iter().flat_map(|reading| &reading.rows) {
        let name = (row.test.clone(), row.step.clone());
        if !tests.contains(&name) {
            tests.push(name);
        }
    }
    tests.into_iter().map(|(test, step)| pool(side, test, step)).collect()
}

fn pool(side: &Side, test: String, step: String) -> Pooled {
    let rows: Vec<(&ResultSet, &Row)> = (side.readings.iter())
        .filter_map(|set| Some((set, set.rows.iter().find(|row| row.test == test && row.step == step)?)))
        .collect();
    let of = |value: &dyn Fn(&Row) -> Option<f64>| {
        let values: Vec<f64> = rows.iter().filter_map(|(_, row)| value(row)).collect();
        (!values.is_empty()).then(|| level(&values))
    };
    let rates: Vec<f64> = rows.iter().map(|(_, row)| row.iops).collect();
    let between = Spread::of_repeats(&rates);
    let runs = rows.iter().map(|(set, row)| Repeat { run: set.id.clone(), iops: repeat(row, between) });
    Pooled {
        iops: level(&rates),
        mib_per_s: level(&rows.iter().map(|(_, row)| row.mib_per_s).collect::<Vec<_>>()),
        mean_ms: of(&|row| row.mean_ms),
        p50_ms: of(&|row| row.p50_ms.map(|of| of.value)),
        p99_ms: of(&|row| row.p99_ms.map(|of| of.value)),
        cv: (rates.len() > 1).then(|| deviation(&rates) / mean(&rates)),
        runs: runs.collect(),
        test,
        step,
    }
}

/// One repetition with the wider of two intervals: by its own seconds, and by the spread of all repetitions.
fn repeat(row: &Row, between: Option<Spread>) -> Estimate {
    let own = Spread::widest_of_seconds(&row.seconds).map(Spread::half_width);
    // The error of one repetition is that of their mean times the root of their number.
    let spread = between.map(|of| student_95(of.n - 1.0) * of.error * of.n.sqrt());
    let (lo, hi) = match (own, spread) {
        (None, None) => return Estimate::bare(row.iops),
        (own, spread) => {
            let width = own.unwrap_or(0.0).max(spread.unwrap_or(0.0));
            (row.iops * (-width).exp(), row.iops * width.exp())
        }
    };
    let n_effective = between.map_or(1.0, |of| of.n);
    Estimate { lo: Some(lo), hi: Some(hi), n_effective, ..Estimate::bare(row.iops) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn side(rates: &[f64]) -> Side {
        let row = |iops: f64| Row {
            test: "t".into(),
            step: String::new(),
            facets: Vec::new(),
            is_paced: false,
            iops,
            mib_per_s: iops / 256.0,
            mean_ms: Some(1.0),
            p50_ms: None,
            p99_ms: None,
            curve_ms: Vec::new(),
            seconds: vec![iops; 10],
            expected: None,
            is_bound: false,
            heat: std::sync::Arc::default(),
        };
        let set = |(iops, n): (&f64, i32)| ResultSet {
            id: format!("r{n}"),
            rows: vec![row(*iops)],
            ..ResultSet::default()
        };
        Side { name: "s".into(), readings: rates.iter().zip(1..).map(set).collect() }
    }

    #[test]
    fn repetitions_have_a_level_and_each_an_interval_as_wide_as_they_scatter() {
        let rates = [90.0, 95.0, 99.0, 100.0, 101.0, 105.0, 110.0];
        let pooled = pooled(&side(&rates));
        let [one] = &pooled[..] else { panic!("{pooled:?}") };
        assert_eq!(one.iops, level(&rates));
        assert_eq!((one.holding(), one.runs.len()), (7, 7));
        // t of 6 degrees, 2.447, times the deviation of the logarithms, 0.066.
        let width = one.runs[0].iops.half_width().unwrap();
        assert!((width - 0.175).abs() < 0.01, "{width}");
    }

    #[test]
    fn one_run_has_the_interval_of_its_seconds_and_no_level_of_others() {
        let one = &pooled(&side(&[100.0]))[0];
        assert_eq!((one.iops.value, one.iops.ends(), one.cv), (100.0, None, None));
    }
}
