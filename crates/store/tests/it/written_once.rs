//! How often the row of a run is written: each time, a server writes it anew, with its lines in most indexes, and a
//! file the text of its search.

use assay_record::{RunHeader, Severity};
use assay_store::{
    Completed, Namesake, PackedExtract, RunFilter, RunSlice, Store, StoreAddress, StoreError, WholeEvents,
    WholeRun,
};
use assay_testkit::{postgres, synthetic};

use crate::header;
use crate::lists::digest;

const FINDINGS: [(&str, Severity); 2] = [("outlier", Severity::Warning), ("errors", Severity::Critical)];

/// Adds a run as it ends, event by event, and the same run whole under another id. Returns both headers.
fn both(store: &Store) -> [RunHeader; 2] {
    let [by_event, whole] = ["261120-aaaa", "261120-bbbb"].map(header);
    let digest = digest("RealLife", 7.0, &FINDINGS);
    let events = |header| synthetic::events(header, synthetic::Target::default());
    let mut writer = store.begin_run(&by_event, Some("week"), Some("note")).unwrap();
    events(&by_event).iter().for_each(|event| writer.append(event).unwrap());
    writer.keep_digest(&digest).unwrap();
    writer.keep_extract(3, &7).unwrap();
    drop(writer);
    store.set_lost(&by_event.run, Some("a disk")).unwrap();
    let run = WholeRun {
        header: &whole,
        label: Some("week"),
        note: Some("note"),
        lost: Some("a disk"),
        events: WholeEvents::Decoded(&events(&whole)),
    };
    let completed = Completed { digest, extract: PackedExtract::of(3, &7).unwrap() };
    store.importer().unwrap().add(run, Namesake::Keep, Some(&completed)).unwrap();
    [by_event, whole]
}

/// What the store has of a run, but its number and its id, and what is made of them.
fn kept(store: &Store, run: &str) -> Vec<(String, String)> {
    let mut all = Vec::new();
    store
        .each_raw(run, |name, bytes| {
            if !["run.id", "run.run", "run.row_crc32c"].contains(&name) {
                all.push((name.to_owned(), String::from_utf8_lossy(bytes).replace(run, "ID")));
            }
        })
        .unwrap();
    all
}

fn is_the_same_whole_or_by_event(store: &Store) {
    let [by_event, whole] = both(store);
    assert_eq!(kept(store, &whole.run), kept(store, &by_event.run));
    assert_eq!(store.digest(&whole.run).unwrap(), store.digest(&by_event.run).unwrap());
    for run in [&by_event.run, &whole.run] {
        // Its row matches its checksum, and all its events are there.
        store.row(run).unwrap();
        store.check_events(run).unwrap();
    }
    for filter in [
        RunFilter { text: "reallife outlier week".into(), ..RunFilter::default() },
        RunFilter { rule: Some("errors".into()), ..RunFilter::default() },
    ] {
        let found = store.list(&filter, RunSlice::ALL).unwrap();
        assert_eq!(found.matching, 2, "{filter:?}");
    }
    for order in [assay_store::RunOrder::P99, assay_store::RunOrder::Limit] {
        assert_eq!(store.list_by(&RunFilter::default(), RunSlice::ALL, order).unwrap().runs.len(), 2);
    }
    assert_eq!(store.without_digest().unwrap(), Vec::<String>::new());
}

#[test]
fn a_run_that_is_added_whole_has_all_that_one_gets_event_by_event() {
    let folder = tempfile::tempdir().unwrap();
    is_the_same_whole_or_by_event(&Store::open(folder.path().join("s.sqlite")).unwrap());
    let Some(server) = postgres::database() else { return };
    is_the_same_whole_or_by_event(&Store::open(StoreAddress::parse(server.url()).unwrap()).unwrap());
}

/// Each version of a row has a place of its own, counted from 1.
#[test]
fn a_server_writes_a_row_once_for_a_whole_run_and_once_for_each_change() {
    let Some(server) = postgres::database() else { return };
    let store = Store::open(StoreAddress::parse(server.url()).unwrap()).unwrap();
    let [by_event, whole] = both(&store);
    let versions =
        |run: &str| server.sql(&format!("SELECT ctid FROM assay.run WHERE run = '{run}'")).trim().to_owned();
    // Begun, ended, with its digest, and with what was lost.
    assert_eq!([&by_event, &whole].map(|header| versions(&header.run)), ["(0,4)", "(0,5)"]);
    store.set_digest(&whole.run, &digest("RealLife", 7.0, &FINDINGS)).unwrap();
    assert_eq!(versions(&whole.run), "(0,5)", "it has it already");
    store.set_label(&whole.run, Some("another")).unwrap();
    assert_eq!(versions(&whole.run), "(0,6)");
}

/// The checksum of a row is that of all its columns, also where another session has just changed one of them.
#[test]
fn two_who_change_a_row_at_once_leave_it_with_its_checksum() {
    let Some(server) = postgres::database() else { return };
    let open = || Store::open(StoreAddress::parse(server.url()).unwrap()).unwrap();
    let run = both(&open())[0].run.clone();
    std::thread::scope(|scope| {
        let change = |set: fn(&Store, &str, Option<&str>) -> Result<(), StoreError>| {
            let (store, run) = (open(), &run);
            scope.spawn(move || {
                (0..60).for_each(|turn| set(&store, run, Some(&format!("turn {turn}"))).unwrap())
            });
        };
        change(Store::set_label);
        change(Store::set_note);
    });
    let row = open().row(&run).unwrap();
    assert_eq!((row.label.as_deref(), row.note.as_deref()), (Some("turn 59"), Some("turn 59")));
}

fn are_added_together_or_not_at_all(store: &Store) {
    let importer = store.importer().unwrap();
    let add = |run: &str| {
        let header = header(run);
        let events = synthetic::events(&header, synthetic::Target::default());
        let events = WholeEvents::Decoded(&events);
        let whole = WholeRun { header: &header, label: None, note: None, lost: None, events };
        importer.add(whole, Namesake::Keep, None)
    };
    importer.together(|| ["261120-aaaa", "261120-bbbb"].into_iter().try_for_each(add)).unwrap();
    let refused = importer.together(|| ["261120-cccc", "261120-aaaa"].into_iter().try_for_each(add));
    assert!(matches!(refused, Err(StoreError::RunExists { .. })), "{refused:?}");
    assert_eq!(store.count().unwrap(), 2);
    // One by one again, each for itself.
    add("261120-cccc").unwrap();
    assert!(matches!(add("261120-aaaa"), Err(StoreError::RunExists { .. })));
    assert_eq!(store.count().unwrap(), 3);
    for row in store.runs().unwrap() {
        assert_eq!(row.unreadable, None);
        store.check_events(&row.run).unwrap();
    }
}

#[test]
fn several_runs_are_added_in_one_transaction_or_none_of_them() {
    let folder = tempfile::tempdir().unwrap();
    are_added_together_or_not_at_all(&Store::open(folder.path().join("s.sqlite")).unwrap());
    let Some(server) = postgres::database() else { return };
    are_added_together_or_not_at_all(&Store::open(StoreAddress::parse(server.url()).unwrap()).unwrap());
}
