//! Stops, refusals, and targets that are closed.

use assay_record::{Outcome, RunEvent};
use assay_runner::{Consequence, RunnerError, Stage};

use crate::{Notes, Place, order, plan, sized};

#[test]
fn a_run_goes_through_its_stages_and_is_stored_as_it_was_heard() {
    let place = Place::new();
    let (mut notes, file) = (Notes::default(), place.path("t.dat"));
    let plan = plan("[[test]]\nname = \"t\"\nrun = \"500ms\"\n");
    let done = place.run(order(plan, &[file.to_str().unwrap()]), &mut notes).unwrap();
    assert!(done.failures.is_empty(), "{:?}", done.failures);
    assert!(done.is_stored);
    let stages =
        [Stage::Inspecting, Stage::Opening, Stage::Filling, Stage::Measuring, Stage::Closing, Stage::Over];
    assert_eq!(notes.stages, stages);
    assert_eq!(notes.kept, notes.events.len());
    let stored = place.store.load(&done.header.run).unwrap();
    assert_eq!(stored.len(), notes.events.len());
    // The first was stored before the load began. Events are too long for a message.
    assert!(stored[1..] == notes.events[1..]);
    assert_eq!(notes.header.as_ref().map(|header| &header.run), Some(&done.header.run));
    assert!(file.is_file());
}

#[test]
fn a_stop_keeps_what_was_measured_and_closes_the_targets() {
    let place = Place::new();
    let file = place.path("t.dat");
    let plan = plan("[[test]]\nname = \"t\"\nrun = \"10min\"\n[[test]]\nname = \"u\"\nrun = \"10min\"\n");
    let mut order = order(plan, &[file.to_str().unwrap()]);
    order.remove = true;
    let stop = order.stop.clone();
    let mut notes = Notes { at_interval: Some(Box::new(move || stop.stop())), ..Notes::default() };
    let done = place.run(order, &mut notes).unwrap();
    assert!(done.failures.is_empty(), "{:?}", done.failures);
    assert!(done.is_stored);
    assert_eq!(notes.begun().len(), 1, "no step begins after a stop");
    assert!(notes.of(|event| matches!(event, RunEvent::Interval(_))) > 0);
    assert!(matches!(notes.events.last().unwrap().what, RunEvent::Ended(Outcome::Interrupted)));
    assert_eq!(place.store.row(&done.header.run).unwrap().status, Some(Outcome::Interrupted));
    assert!(!file.exists(), "a file of Assay's own is removed where that was asked for");
    assert!(done.left.kept.is_empty());
}

#[test]
fn a_stop_while_a_target_is_filled_ends_before_there_is_a_run() {
    let place = Place::new();
    let file = place.path("t.dat");
    let plan = sized("1GiB", "[[test]]\nname = \"t\"\nrun = \"1s\"\n");
    let order = order(plan, &[file.to_str().unwrap()]);
    let stop = order.stop.clone();
    let mut notes = Notes { at_fill: Some(Box::new(move || stop.stop())), ..Notes::default() };
    let error = place.run(order, &mut notes).unwrap_err();
    assert!(matches!(error, RunnerError::Fill { .. }), "{error}");
    assert_eq!(error.consequence(), Consequence::Interrupted);
    assert!(notes.header.is_none());
    assert!(place.store.runs().unwrap().is_empty());
}

#[test]
fn what_is_refused_leaves_nothing_behind() {
    let place = Place::new();
    let (own, foreign) = (place.path("t.dat"), place.path("letter.txt"));
    std::fs::write(&foreign, vec![7; 1 << 20]).unwrap();
    let plan = plan("[[test]]\nname = \"t\"\nrun = \"1s\"\naccess = [{ size = \"4KiB\", read = 0 }]\n");
    let mut notes = Notes::default();
    let targets = [own.to_str().unwrap(), foreign.to_str().unwrap()];
    let error = place.run(order(plan, &targets), &mut notes).unwrap_err();
    assert_eq!(error.consequence(), Consequence::Refused, "{error}");
    assert_eq!(notes.stages, [Stage::Inspecting]);
    assert!(!own.exists());
    assert_eq!(std::fs::read(&foreign).unwrap(), vec![7; 1 << 20]);
    assert!(place.store.runs().unwrap().is_empty());
}

/// A file that another program replaces while targets are about to be closed is not Assay's any more.
#[test]
fn a_target_that_changed_hands_is_left_and_named() {
    let place = Place::new();
    let (file, other) = (place.path("t.dat"), place.path("other.dat"));
    std::fs::write(&other, b"another program's").unwrap();
    let plan = plan("[[test]]\nname = \"t\"\nrun = \"300ms\"\n");
    let mut order = order(plan, &[file.to_str().unwrap()]);
    order.remove = true;
    let (from, to) = (other, file.clone());
    let at_close = Box::new(move || std::fs::rename(&from, &to).unwrap());
    let mut notes = Notes { at_close: Some(at_close), ..Notes::default() };
    let done = place.run(order, &mut notes).unwrap();
    assert!(done.is_stored);
    assert_eq!(std::fs::read(&file).unwrap(), b"another program's");
    let kept: Vec<&str> = done.left.kept.iter().map(|kept| kept.name.as_str()).collect();
    assert_eq!(kept, [file.to_str().unwrap()]);
}
