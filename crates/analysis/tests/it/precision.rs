//! The intervals of a step's figures: how often they hold, and when there are none.

use assay_analysis::compare::ResultSet;

use assay_analysis::{Answer, Point, RunSummary, Times, judge_thresholds, precision};
use assay_record::{Gap, GapKind, GapPlace};
use assay_spec::{Figure, Overrides, PlanFile};
use assay_statistics::NoInterval;

use crate::run;

const TRUE_IOPS: f64 = 1000.0;

const PLAN: &str =
    "[[test]]\nname = \"t\"\naccess = [{ size = \"8KiB\", random = 100 }]\noutstanding = 16\nrun = \"4s\"\n";

fn clean() -> RunSummary {
    run(PLAN).1
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
    // Order statistics had given percentiles an interval as if all I/Os were independent of each other.
    for figure in [Figure::Mean, Figure::P50, Figure::P90, Figure::P99] {
        let estimate = of.of(figure).unwrap();
        assert_eq!((estimate.ends(), estimate.why), (None, Some(NoInterval::TooShort)), "{figure:?}");
    }
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

/// What a report prints and what a comparison rests on are the same numbers.
#[test]
fn a_comparison_has_the_intervals_of_the_report() {
    let (header, _) = run(PLAN);
    for seed in 1..=200 {
        let mut summary = with_seconds(&minute(seed));
        for (point, scatter) in summary.steps[0].series.iter_mut().zip(minute(seed + 1000)) {
            point.p99_us = Some(2.0 * scatter);
        }
        let of = precision(&summary.steps[0]).unwrap();
        let row = &ResultSet::of_run(&header, &summary, &[], None).rows[0];
        for (report, compared) in [(of.p50_us, row.p50_ms), (of.p99_us, row.p99_ms)] {
            let ends =
                |of: assay_analysis::Estimate, unit: f64| of.ends().map(|(lo, hi)| (lo * unit, hi * unit));
            let (report, compared) =
                (ends(report.unwrap(), 1.0).unwrap(), ends(compared.unwrap(), 1e3).unwrap());
            let is_same = |a: f64, b: f64| (a - b).abs() <= 1e-9 * a.abs().max(1.0);
            assert!(
                is_same(report.0, compared.0) && is_same(report.1, compared.1),
                "{report:?} {compared:?}"
            );
        }
    }
}

/// At the top of a load curve the storage serves each I/O in the same time, and what waits for it grows and shrinks.
#[test]
fn an_open_loop_is_judged_by_the_scatter_of_its_response_times() {
    let mut open = with_seconds(&minute(3));
    let step = &mut open.steps[0];
    step.total.response = Some(step.total.service.clone());
    for (index, point) in step.series.iter_mut().enumerate() {
        (point.mean_us, point.p50_us, point.p99_us) = (Some(100.0), Some(100.0), Some(100.0));
        let waited = if index % 2 == 0 { 500.0 } else { 4000.0 };
        point.waited = Some(Times { mean: waited, p50: waited, p99: waited });
    }
    let of = precision(&open.steps[0]).unwrap();
    for figure in [Figure::Mean, Figure::P50, Figure::P99] {
        let width = of.of(figure).unwrap().half_width().unwrap();
        assert!(width > 0.15, "{figure:?}: {width}");
    }
    // Records of earlier versions do not have them.
    open.steps[0].series.iter_mut().for_each(|point| point.waited = None);
    let of = precision(&open.steps[0]).unwrap();
    assert_eq!(of.p99_us.unwrap().why, Some(NoInterval::SecondsUnknown));
    assert!(of.iops.ends().is_some());
}

/// A nightly test whose rate fell from 10,000 to 9,000 was "undecided" about a limit of one I/O per second.
#[test]
fn a_drift_decides_a_limit_that_all_its_seconds_are_on_one_side_of() {
    let falling: Vec<f64> = (0..20).map(|s| 10_000.0 - 50.0 * f64::from(s)).collect();
    let answer_of = |summary: &RunSummary, limit: &str| {
        let judged = judge_thresholds(&[], summary, &[limit.parse().unwrap()]);
        (judged[0].answer, judged[0].says.clone())
    };
    let falls = with_seconds(&falling);
    assert_eq!(precision(&falls.steps[0]).unwrap().iops.why, Some(NoInterval::Wanders));
    let (answer, says) = answer_of(&falls, "iops < 1");
    assert_eq!(answer, Answer::Within);
    assert!(says.contains("9,050") && says.contains("in its seconds: the rate wanders"), "{says}");
    assert_eq!(answer_of(&falls, "iops < 20000").0, Answer::Exceeded);
    assert_eq!(answer_of(&falls, "iops < 9500").0, Answer::Undecided);
    // A window of three seconds never decided anything.
    let short = with_seconds(&falling[..3]);
    let (answer, says) = answer_of(&short, "iops < 1");
    assert_eq!(answer, Answer::Within);
    assert!(says.starts_with("probably ") && says.ends_with("--set run=10s decides"), "{says}");
    assert_eq!(answer_of(&short, "iops < 30000").0, Answer::Exceeded);
    assert_eq!(answer_of(&short, "iops < 6000").0, Answer::Undecided);
    assert_eq!(answer_of(&with_seconds(&falling[..1]), "iops < 1").0, Answer::Undecided);
}

/// A run that was killed before the test of its limit was judged by another test, with that name as a part.
#[test]
fn a_limit_on_a_test_that_a_run_did_not_reach_is_undecided() {
    let mut reached = with_seconds(&[10_000.0; 20]);
    reached.steps[0].test = "Random 8k".to_owned();
    let test = |name: &str| format!("[[test]]\nname = \"{name}\"\naccess = [{{ size = \"8KiB\" }}]\n");
    let plan = PlanFile::parse("p", &(test("Random") + &test("Random 8k"))).unwrap();
    let plan = plan.resolve(&Overrides::default()).unwrap();
    let answer_of = |limit: &str| {
        let judged = judge_thresholds(&plan.tests, &reached, &[limit.parse().unwrap()]);
        judged.iter().map(|judged| judged.answer).collect::<Vec<_>>()
    };
    assert_eq!(answer_of("Random: iops < 1"), [Answer::Undecided]);
    assert_eq!(answer_of("Random 8k: iops < 1"), [Answer::Within]);
    assert_eq!(answer_of("ran: iops < 1"), [Answer::Within]);
}

/// Four seconds of which Assay ran for none had "±0.0 %": what was counted after the gap is spread over its seconds.
#[test]
fn a_window_with_a_gap_of_a_second_has_no_interval() {
    let mut held = with_seconds(&[238.0; 8]);
    let gap = |length_ns: u64| Gap {
        kind: GapKind::Starved,
        length_ns,
        start_ns: 0,
        end_ns: length_ns,
        place: GapPlace::Window,
        since_window_ns: Some(0),
        host: None,
    };
    held.steps[0].gaps = vec![gap(600_000_000)];
    assert!(precision(&held.steps[0]).unwrap().iops.ends().is_some());
    held.steps[0].gaps = vec![gap(4_600_000_000)];
    assert_eq!(precision(&held.steps[0]).unwrap().iops.why, Some(NoInterval::Gap));
}
