//! Runs that somebody on another host asked for: an id from the order, no store, a common start, and an order that is
//! called off.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use assay_engine::CommonStart;
use assay_record::{Phase, RunEvent, StepId};
use assay_runner::{Follower, RunnerError, Sinks, Stage};

use crate::{Notes, order, plan};

const TWO: &str = "[[test]]\nname = \"a\"\nrun = \"200ms\"\n[[test]]\nname = \"b\"\nrun = \"200ms\"\n";

#[test]
fn without_a_store_the_follower_has_every_event_and_the_id_is_that_of_the_order() {
    let mut notes = Notes::default();
    let order = assay_runner::Order { run: Some("r-7".into()), ..order(plan(TWO), &["null:"]) };
    let sinks = Sinks { store: None, follower: &mut notes };
    let done = assay_runner::run(order, &assay_target::open, sinks).unwrap();
    assert_eq!((done.header.run.as_str(), done.is_stored, done.failures.len()), ("r-7", false, 0));
    assert_eq!(notes.of(|event| matches!(event, RunEvent::StepEnded(_))), 2);
    assert_eq!(notes.of(|event| matches!(event, RunEvent::Ended(_))), 1);
    assert_eq!(notes.kept, 0, "nothing is said to be kept");
}

#[test]
fn a_run_with_neither_an_id_nor_a_store_is_an_error() {
    let mut notes = Notes::default();
    let sinks = Sinks { store: None, follower: &mut notes };
    let done = assay_runner::run(order(plan(TWO), &["null:"]), &assay_target::open, sinks);
    assert!(matches!(done, Err(RunnerError::NoId)), "{done:?}");
}

/// Calls every run off.
struct No(Vec<Stage>);

impl Follower for No {
    fn stage(&mut self, stage: Stage) {
        self.0.push(stage);
    }

    fn may_open(&mut self) -> bool {
        false
    }
}

#[test]
fn a_run_that_is_called_off_after_the_inspection_has_created_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.dat");
    let mut no = No(Vec::new());
    let order = assay_runner::Order { run: Some("r".into()), ..order(plan(TWO), &[path.to_str().unwrap()]) };
    let sinks = Sinks { store: None, follower: &mut no };
    let error = assay_runner::run(order, &assay_target::open, sinks).unwrap_err();
    assert_eq!(error.consequence(), assay_runner::Consequence::Refused, "{error}");
    assert!(error.to_string().contains("called off"), "{error}");
    assert_eq!(no.0, [Stage::Inspecting]);
    assert!(!path.exists(), "nothing was created");
}

#[test]
fn no_load_begins_before_the_common_start_of_its_step() {
    let asked: Arc<Mutex<Vec<(StepId, Instant)>>> = Arc::default();
    let moments = Arc::clone(&asked);
    let start = CommonStart::new(move |step, _| {
        let moment = Instant::now() + Duration::from_millis(300);
        moments.lock().unwrap().push((step, moment));
        Some(moment)
    });
    let mut notes = Notes::default();
    let order = assay_runner::Order { run: Some("r".into()), start, ..order(plan(TWO), &["null:"]) };
    let sinks = Sinks { store: None, follower: &mut notes };
    assay_runner::run(order, &assay_target::open, sinks).unwrap();
    let asked = asked.lock().unwrap();
    assert_eq!(asked.iter().map(|(step, _)| step.test).collect::<Vec<_>>(), [0, 1]);
    // The first load waited for its moment, and the second for its own, after the window of the first.
    let measured = |step: u32| {
        let is_phase = |event: &&assay_record::Event| match event.what {
            RunEvent::PhaseStarted { step: of, phase } => (of.test, phase) == (step, Phase::Measure),
            _ => false,
        };
        notes.events.iter().find(is_phase).unwrap().at_ns
    };
    let ended = |event: &&assay_record::Event| matches!(event.what, RunEvent::StepEnded(_));
    let first_ended = notes.events.iter().find(ended).unwrap().at_ns;
    assert!(measured(0) >= 300_000_000, "{}", measured(0));
    assert!(measured(1) >= first_ended + 300_000_000, "{first_ended} {}", measured(1));
}
