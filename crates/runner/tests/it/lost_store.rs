//! The store goes away while a run goes on.

use assay_record::{Event, ExportCover, RunEvent};
use assay_runner::{Consequence, LostStore, NotStored, RunnerError, StoreNews};

use crate::{Notes, Place, order, plan};

#[test]
fn a_store_that_is_lost_costs_no_event_and_is_reported_at_once() {
    let place = Place::new();
    let store = place.path("runs.sqlite");
    let removed = store.clone();
    let remove = move || {
        for end in ["", "-wal", "-shm", "-live"] {
            std::fs::remove_file(format!("{}{end}", removed.display())).unwrap();
        }
    };
    let mut notes = Notes { at_interval: Some(Box::new(remove)), ..Notes::default() };
    let plan = plan("[[test]]\nname = \"t\"\nrun = \"2s\"\n");
    let done = place.run(order(plan, &["null:"]), &mut notes).unwrap();
    assert!(!done.is_stored);
    let [error @ RunnerError::NotStored(NotStored { run, file: Some(file), is_whole: true, .. })] =
        done.failures.as_slice()
    else {
        panic!("{:?}", done.failures)
    };
    assert_eq!(error.consequence(), Consequence::Failed);
    assert_eq!(run, &done.header.run);
    let [StoreNews::Lost(lost)] = notes.store.as_slice() else { panic!("{:?}", notes.store) };
    let LostStore { store: lost, why, instead: Some(instead), is_asked_again: false } = lost else {
        panic!("{lost:?}")
    };
    assert_eq!((lost.file(), instead), (Some(store.as_path()), file));
    assert!(why.contains("was deleted or moved"), "{why}");
    let text = std::fs::read_to_string(file).unwrap();
    let mut lines = text.lines();
    let cover: ExportCover = serde_json::from_str(lines.next().unwrap()).unwrap();
    assert_eq!((cover.run, cover.label.as_deref()), (done.header.run, Some("l")));
    let events: Vec<Event> = lines.map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(events.len(), notes.events.len());
    // The first was written before the load began. Events are too long for a message.
    assert!(events[1..] == notes.events[1..]);
    assert!(matches!(events[0].what, RunEvent::Started(_)));
    assert!(notes.of(|event| matches!(event, RunEvent::Interval(_))) >= 2, "the run goes on");
}
