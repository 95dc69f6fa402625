//! Which steps run: those of the plan, without the rounds after a steady state, or experiments that are chosen.

use assay_record::{DiagnosisFacts, Experiment, StepId};
use assay_runner::{Experiments, Steps};

use crate::{Notes, Place, order, plan};

/// Two load points in rounds, and a test behind them.
const ROUNDS: &str = "\
[[test]]
name = \"t\"
run = \"20ms\"
steady = { size = \"4KiB\" }
sweep = { size = [\"4KiB\", \"8KiB\"] }
[[test]]
name = \"u\"
run = \"20ms\"
";

fn step(test: u32, step: u32) -> StepId {
    StepId { test, step }
}

#[test]
fn rounds_after_a_steady_state_are_left_out() {
    let place = Place::new();
    let plan = plan(ROUNDS);
    let all: u32 = plan.tests.iter().map(|test| u32::try_from(test.steps.len()).unwrap()).sum();
    let mut notes = Notes::default();
    place.run(order(plan.clone(), &["null:"]), &mut notes).unwrap();
    assert_eq!(notes.begun().len(), all as usize);
    let mut notes = Notes { steady: vec![0], ..Notes::default() };
    place.run(order(plan, &["null:"]), &mut notes).unwrap();
    assert_eq!(notes.begun(), [step(0, 0), step(0, 1), step(1, 0)], "one round, and the test behind it");
}

#[test]
fn a_diagnosis_has_its_experiments_in_the_header_and_runs_those_that_are_chosen() {
    let place = Place::new();
    let load = plan("[[test]]\nname = \"load\"\nrun = \"20ms\"\n");
    let experiments = plan(
        "[[test]]\nname = \"load\"\nrun = \"20ms\"\n[[test]]\nname = \"deeper\"\nrun = \"20ms\"\noutstanding = 8\n\
         [[test]]\nname = \"wider\"\nrun = \"20ms\"\nworkers = 2\n",
    );
    let planned = experiments.clone();
    let mut notes = Notes {
        experiments: Some(Box::new(move |load, targets| {
            assert_eq!(load.tests[0].name, "load");
            assert_eq!(targets.members.len(), 1);
            let facts = DiagnosisFacts {
                load: "load".to_owned(),
                budget_s: 10.0,
                others_busy: None,
                busy_before: None,
                kept_awake: false,
                experiments: vec![Experiment::Base; 3],
            };
            Experiments { plan: planned.clone(), facts, targets: targets.clone() }
        })),
        // The last is chosen first.
        next: vec![step(1, 0), step(2, 0), step(0, 0)],
        ..Notes::default()
    };
    let mut order = order(load, &["null:"]);
    order.steps = Steps::Diagnosis;
    let done = place.run(order, &mut notes).unwrap();
    assert_eq!(notes.begun(), [step(0, 0), step(2, 0), step(1, 0)]);
    assert_eq!(done.header.plan, experiments);
    assert!(done.header.diagnosis.is_some());
    assert_eq!(notes.header, Some(done.header));
}
