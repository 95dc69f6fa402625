//! The intervals of a step's figures: how often they hold, and when there are none.

use assay_analysis::{Point, RunSummary, precision};

use crate::run;

const TRUE_IOPS: f64 = 1000.0;

fn clean() -> RunSummary {
    run("[[test]]\nname = \"t\"\naccess = [{ size = \"8KiB\", random = 100 }]\noutstanding = 16\nrun = \"4s\"\n").1
}

/// A minute whose rate scatters by 5 %, each second with half of the deviation of the one before it.
fn minute(seed: u64) -> Vec<f64> {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut uniform = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 11) as f64 / (1_u64 << 52) as f64 - 1.0
    };
    // The first seconds forget where the recursion began.
    let mut last = 0.0;
    let all = (0..80).map(|_| {
        last = 0.5 * last + 0.05 * uniform();
        TRUE_IOPS * (1.0 + last)
    });
    all.collect::<Vec<f64>>().split_off(20)
}

fn with_seconds(rates: &[f64]) -> RunSummary {
    let mut summary = clean();
    let step = &mut summary.steps[0];
    let plain = step.series[0].clone();
    let seconds = rates.iter().zip(1_u32..);
    step.series =
        seconds.map(|(iops, s)| Point { t_s: f64::from(s), iops: *iops, ..plain.clone() }).collect();
    step.total.iops = rates.iter().sum::<f64>() / rates.len() as f64;
    summary
}

#[test]
fn an_interval_of_95_percent_holds_about_that_often() {
    let holds = (1..=400).filter(|seed| {
        let of = precision(&with_seconds(&minute(*seed)).steps[0]).unwrap();
        let (lo, hi) = of.iops.ends().unwrap();
        (lo..=hi).contains(&TRUE_IOPS)
    });
    let share = holds.count() as f64 / 400.0;
    assert!((0.90..=0.99).contains(&share), "{share}");
}

#[test]
fn too_few_seconds_have_no_interval_and_no_result_has_no_estimate() {
    let few = with_seconds(&[900.0, 1000.0, 1100.0]);
    let of = precision(&few.steps[0]).unwrap();
    assert_eq!((of.iops.value, of.iops.ends()), (1000.0, None));
    let mut none = clean();
    none.steps[0].unmeasured = Some("interrupted before measuring".into());
    assert_eq!(precision(&none.steps[0]), None);
}

/// Order statistics take all I/Os as one population; where its percentile moves from second to second, they are far
/// too sure of it.
#[test]
fn a_percentile_is_no_surer_than_its_seconds_are() {
    let mut moving = with_seconds(&minute(7));
    for (index, point) in moving.steps[0].series.iter_mut().enumerate() {
        point.p99_us = Some(if index % 2 == 0 { 500.0 } else { 4000.0 });
    }
    let mut still = moving.clone();
    still.steps[0].series.iter_mut().for_each(|point| point.p99_us = Some(1000.0));
    let width = |summary: &RunSummary| {
        let p99 = precision(&summary.steps[0]).unwrap().p99_us.unwrap();
        p99.ends().map_or(f64::NAN, |(lo, hi)| (hi - lo) / p99.value)
    };
    assert!(width(&moving) > 0.3 && width(&still) < 0.2, "{} {}", width(&moving), width(&still));
}
