//! Whether diagnoses are right on planted set-ups, and honest about it.

use assay_record::Experiment;

use super::belief::Belief;
use super::hypotheses::ALL;
use super::observed::{Measurement, Observed};
use super::planted::CAUSES;
use super::setting::Reach;
use super::*;

mod measured;

fn setting() -> Setting {
    let case = planted_case(1);
    Setting { reach: Reach::Remote, outstanding: 32.0, reads: 1.0, random: 1.0, paths: 1, ..case.setting }
}

fn measured(experiment: Experiment, iops: f64) -> Measurement {
    Measurement {
        experiment,
        iops,
        error: 0.03,
        ios: 10_000.0,
        stolen: 0.0,
        stolen_error: 0.0,
        others_error: 0.0,
        facts: Vec::new(),
    }
}

#[test]
fn every_cause_has_one_hypothesis_with_its_physics_and_source() {
    for cause in CAUSES {
        let of: Vec<_> = ALL.iter().filter(|hypothesis| hypothesis.cause == cause).collect();
        assert_eq!(of.len(), 1, "{}", cause.name());
        assert!(of[0].physics.len() > 80 && !of[0].source.is_empty() && !of[0].helps.is_empty());
    }
    assert_eq!(ALL.len(), CAUSES.len());
}

#[test]
fn every_range_is_a_range() {
    for seed in 1..40 {
        let setting = planted_case(seed).setting;
        for hypothesis in ALL.iter().filter(|hypothesis| (hypothesis.applies)(&setting)) {
            for experiment in Experiment::ALL {
                for form in 0..hypothesis.forms.len() {
                    let range = hypothesis.expected(form, Quantity::Rate(experiment), &setting);
                    let is_one = range.is_none_or(|r| r.lo > 0.0 && r.lo < r.hi && r.hi.is_finite());
                    assert!(is_one, "{} {experiment:?} {range:?} {setting:?}", hypothesis.name);
                }
            }
        }
    }
}

#[test]
fn odds_add_up_to_one_and_follow_what_was_measured() {
    let setting = setting();
    let mut seen = Observed::default();
    for (experiment, iops) in [
        (Experiment::Base, 800.0),
        (Experiment::LargerIo, 801.0),
        (Experiment::MoreOutstanding, 799.0),
        (Experiment::Sequential, 800.0),
        (Experiment::HotSpan, 800.0),
    ] {
        seen.made.push(measured(experiment, iops));
        let mut belief = Belief::new(&setting);
        seen.observations().iter().for_each(|observation| belief.add(observation));
        let sum: f64 = belief.odds().iter().map(|odds| odds.probability).sum();
        assert!((sum - 1.0).abs() < 1e-9, "{sum}");
    }
    let of = says::diagnosis(&setting, &seen);
    assert_eq!(of.odds[0].cause, Cause::IopsCap, "{:?}", of.odds);
    assert!(
        of.series.len() == 5 && of.says.contains(" is a limit on operations per second, with"),
        "{}",
        of.says
    );
}

#[test]
fn a_load_that_changes_by_itself_is_said_and_widens_every_ratio() {
    let setting = setting();
    let base = |rates: [f64; 3]| {
        let made = [
            measured(Experiment::Base, rates[0]),
            measured(Experiment::MoreOutstanding, 1000.0),
            measured(Experiment::Base, rates[1]),
            measured(Experiment::Base, rates[2]),
        ];
        Observed { made: made.to_vec() }
    };
    let (still, moved) = (base([1000.0, 1010.0, 990.0]), base([1000.0, 600.0, 1500.0]));
    let error = |seen: &Observed| {
        let all = seen.observations();
        all.iter().find(|o| o.experiment == Experiment::MoreOutstanding).unwrap().error
    };
    assert!(error(&moved) > error(&still) * 3.0);
    assert!(says::diagnosis(&setting, &still).changed.is_empty());
    assert!(says::diagnosis(&setting, &moved).changed.contains("1,000, then 600, then 1,500 IOPS"));
}

#[test]
fn planted_causes_are_found() {
    // A sample of the validation, small because tests are built without optimisation.
    let of = validate(1_000_000, 40);
    assert!(of.first >= 0.75 && of.first_or_second >= 0.85, "{of:?}");
}

#[test]
fn a_set_up_is_the_same_for_the_same_seed() {
    let (a, b) = (validation::observe(&planted_case(7)), validation::observe(&planted_case(7)));
    assert_eq!(a, b);
}
