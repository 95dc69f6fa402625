//! The life of a store, as people and crashes make it.
#![expect(clippy::unwrap_used, reason = "a panic in a test is a failed test")]

mod damage;
mod extract;
mod floats;
mod forms;
mod hold;
mod killed;
mod lists;
mod postgres;
mod releases;
mod written_once;

use std::path::{Path, PathBuf};

use assay_record::{Event, Outcome, RunEvent, RunHeader};
use assay_store::{RunFilter, RunSlice, RunWriter, Store, StoreError};
use assay_testkit::synthetic;

const PLAN: &str = "name = \"mixed\"\n[[test]]\nname = \"t\"\nrun = \"3s\"\n\
    access = [{ size = \"8KiB\", read = 65, random = 60 }]\noutstanding = 16\n";

fn header(run: &str) -> RunHeader {
    let mut header = synthetic::header(synthetic::plan(PLAN));
    header.run = run.into();
    header
}

/// The run of most tests.
const RUN: &str = "261121-aaaa";

/// A store with a run that has begun.
struct Begun {
    path: PathBuf,
    store: Store,
    events: Vec<Event>,
    writer: RunWriter,
}

/// A store in a folder, with the first events of a run; the writer would append the one after them.
fn begin(folder: &Path, stored: usize) -> Begun {
    let path = folder.join("runs.sqlite");
    let store = Store::open(&path).unwrap();
    let header = header(RUN);
    let events = synthetic::events(&header, synthetic::Target::default());
    let mut writer = store.begin_run(&header, None, None).unwrap();
    // The start is stored with the header.
    events[1..stored].iter().for_each(|event| writer.append(event).unwrap());
    Begun { path, store, events, writer }
}

fn write(store: &Store, header: &RunHeader, label: Option<&str>) -> Vec<Event> {
    let events = synthetic::events(header, synthetic::Target::default());
    let mut writer = store.begin_run(header, label, None).unwrap();
    events.iter().for_each(|e| writer.append(e).unwrap());
    events
}

/// `assay runs --store /dev/loop1` destroyed the file system on it: SQLite takes a device for an empty database.
#[test]
fn what_is_no_regular_file_and_no_database_is_never_written() {
    let folder = tempfile::tempdir().unwrap();
    let text = folder.path().join("letter.txt");
    std::fs::write(&text, "dear reader, this is no database").unwrap();
    let pipe = folder.path().join("pipe");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let mut paths = vec![text, pipe, "/dev/null".into(), folder.path().to_owned()];
    let device = assay_testkit::loop_device::LoopDevice::over_empty(8 << 20);
    let before = device.as_ref().map(|device| std::fs::read(device.text()).unwrap());
    paths.extend(device.as_ref().map(|device| device.text().into()));
    for path in &paths {
        let error = Store::open(path).unwrap_err();
        assert!(matches!(error, StoreError::NotAllowed { .. }), "{}: {error}", path.display());
    }
    let after = device.as_ref().map(|device| std::fs::read(device.text()).unwrap());
    assert!(after == before, "the device was written to");
    assert_eq!(std::fs::read_to_string(&paths[0]).unwrap(), "dear reader, this is no database");
}

/// The message with its chain, as the program prints it.
fn message(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text.push_str(": ");
        text.push_str(&cause.to_string());
        source = cause.source();
    }
    text
}

#[test]
fn runs_are_written_listed_found_labelled_and_removed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a/b/runs.sqlite");
    let store = Store::open(&path).unwrap();
    let mut early = header("261120-aaaa");
    early.started_unix_ms -= 86_400_000;
    let late = header("261121-bbbb");
    let written = write(&store, &late, Some("after"));
    write(&store, &early, None);

    assert_eq!(store.load("261121-bbbb").unwrap(), written, "events read back the same, in order");
    assert_eq!(store.header("261120-aaaa").unwrap(), early);
    let rows = Store::open(&path).unwrap().runs().unwrap();
    let listed: Vec<(&str, Option<&str>)> =
        rows.iter().map(|r| (r.run.as_str(), r.label.as_deref())).collect();
    assert_eq!(listed, [("261121-bbbb", Some("after")), ("261120-aaaa", None)], "newest first");
    assert_eq!((rows[0].status, rows[0].name.as_str()), (Some(Outcome::Done), "mixed"));
    assert_eq!(rows[0].targets, ["/srv/t.dat"]);

    assert_eq!(store.find("last").unwrap(), "261121-bbbb");
    assert_eq!(store.find("aaaa").unwrap(), "261120-aaaa");
    store.set_label("261120-aaaa", Some("before")).unwrap();
    store.set_note("261120-aaaa", Some("old firmware")).unwrap();
    let row = store.row(&store.find("before").unwrap()).unwrap();
    assert_eq!((row.run.as_str(), row.note.as_deref()), ("261120-aaaa", Some("old firmware")));
    store.set_label("261120-aaaa", None).unwrap();
    assert!(store.find("before").is_err());

    store.remove("261121-bbbb").unwrap();
    assert_eq!(store.runs().unwrap().len(), 1);
    assert!(matches!(store.load("261121-bbbb"), Err(StoreError::Find { .. })));
    assert!(matches!(store.remove("261121-bbbb"), Err(StoreError::Find { .. })));
}

#[test]
fn a_removed_run_leaves_no_event_behind() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("runs.sqlite");
    let store = Store::open(&path).unwrap();
    write(&store, &header("261121-aaaa"), None);
    store.remove("261121-aaaa").unwrap();
    let raw = rusqlite::Connection::open(&path).unwrap();
    let left: i64 = raw.query_row("SELECT count(*) FROM event", [], |row| row.get(0)).unwrap();
    assert_eq!(left, 0);
    let mode: String = raw.pragma_query_value(None, "journal_mode", |row| row.get(0)).unwrap();
    assert_eq!(mode, "wal", "what lib.rs promises about kill -9 rests on it");
}

#[test]
fn ids_are_unique_in_the_store_even_when_the_random_numbers_are_not() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path().join("runs.sqlite")).unwrap();
    let mut seen = std::collections::BTreeSet::new();
    for _ in 0..40 {
        let run = store.new_run_id(1_795_231_800_000, 7).unwrap();
        assert!(run.starts_with("261121-") && run.len() == 11, "{run}");
        drop(store.begin_run(&header(&run), None, None).unwrap());
        assert!(seen.insert(run));
    }
    let taken = seen.first().unwrap();
    let refused = store.begin_run(&header(taken), None, None).unwrap_err();
    assert!(matches!(refused, StoreError::RunExists { .. }), "{refused}");
}

#[test]
fn a_store_of_a_later_version_is_refused_and_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("runs.sqlite");
    drop(Store::open(&path).unwrap());
    let raw = rusqlite::Connection::open(&path).unwrap();
    raw.pragma_update(None, "user_version", 99).unwrap();
    drop(raw);
    let text = Store::open(&path).unwrap_err().to_string();
    assert!(text.contains("has format 99, but this version of Assay reads formats up to 9"), "{text}");
    assert!(text.contains(&path.display().to_string()), "{text}");
}

/// A store from somebody else deleted all runs but the one that was stored there next.
#[test]
fn triggers_and_views_that_assay_did_not_make_are_refused() {
    for (kind, name, sql) in [
        (
            "trigger",
            "evil",
            "CREATE TRIGGER evil AFTER INSERT ON run BEGIN DELETE FROM run WHERE id <> NEW.id; END",
        ),
        (
            "trigger",
            "run_text_insert",
            "DROP TRIGGER run_text_insert;
            CREATE TRIGGER run_text_insert AFTER INSERT ON run BEGIN DELETE FROM event; END",
        ),
        ("view", "event", "DROP TABLE event; CREATE VIEW event AS SELECT 1 AS run_id"),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("theirs.sqlite");
        drop(Store::open(&path).unwrap());
        assert!(Store::open(&path).is_ok(), "those of Assay are known");
        rusqlite::Connection::open(&path).unwrap().execute_batch(sql).unwrap();
        let before = std::fs::read(&path).unwrap();
        let error = Store::open(&path).unwrap_err().to_string();
        assert!(error.contains(&format!("a {kind} {name:?} that Assay did not make")), "{error}");
        assert!(Store::open_existing(&path).is_err());
        assert_eq!(std::fs::read(&path).unwrap(), before, "it is left as it is");
    }
}

#[test]
fn other_peoples_databases_and_files_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let database = folder.path().join("mail.sqlite");
    let raw = rusqlite::Connection::open(&database).unwrap();
    raw.execute_batch("CREATE TABLE mail (body TEXT)").unwrap();
    drop(raw);
    assert!(matches!(Store::open(&database), Err(StoreError::Foreign { .. })));
    let text = folder.path().join("notes.txt");
    std::fs::write(&text, "not a database, but long enough to be read as the header of one: ".repeat(20))
        .unwrap();
    let refused = message(&Store::open(&text).unwrap_err());
    assert!(refused.contains("notes.txt") && refused.contains("not a database"), "{refused}");
}

#[test]
fn a_store_that_cannot_be_made_names_its_path_and_the_way_out() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("file"), "").unwrap();
    let refused = message(&Store::open(folder.path().join("file/runs.sqlite")).unwrap_err());
    assert!(refused.contains("file/runs.sqlite") && refused.contains("--store PATH"), "{refused}");
    let refused = message(&Store::open(folder.path()).unwrap_err());
    assert!(refused.contains("is not a regular file"), "{refused}");
}

#[test]
fn several_writers_and_readers_at_once_lose_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("runs.sqlite");
    // Also the creation of the store is a race.
    let write_one = |n: usize| {
        let store = Store::open(&path).unwrap();
        let header = header(&format!("261121-aaa{n}"));
        let written = write(&store, &header, None);
        assert_eq!(store.load(&header.run).unwrap(), written);
    };
    std::thread::scope(|scope| (0..6).for_each(|n| drop(scope.spawn(move || write_one(n)))));
    assert_eq!(Store::open(&path).unwrap().runs().unwrap().len(), 6);
}

#[test]
fn a_run_that_is_still_being_written_can_be_read() {
    let folder = tempfile::tempdir().unwrap();
    let Begun { store, events, mut writer, .. } = begin(folder.path(), 1);
    for (count, event) in events.iter().enumerate() {
        writer.append(event).unwrap();
        assert_eq!(store.load(RUN).unwrap().len(), count + 1);
    }
    assert!(matches!(store.load(RUN).unwrap()[0].what, RunEvent::Started(_)));
}

#[test]
fn targets_remember_their_array_also_in_a_store_of_the_first_format() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("runs.sqlite");
    let written = write(&Store::open(&path).unwrap(), &header("261121-bbbb"), None);
    // A store as the first format left it: no checksums, and no tables beside the runs.
    let old = rusqlite::Connection::open(&path).unwrap();
    let undo = "DROP VIEW run_searched; DROP TABLE run_text; DROP TRIGGER run_text_insert; \
                DROP TRIGGER run_text_update; DROP TRIGGER run_text_delete; DROP INDEX run_unended; \
                DROP INDEX run_label; DROP TABLE run_target; DROP TABLE digest; DROP TABLE run_finding; \
                DROP TABLE baseline; DROP TABLE checked; DROP TABLE map; DROP TABLE extract; \
                ALTER TABLE run DROP COLUMN host; ALTER TABLE run DROP COLUMN process; \
                ALTER TABLE run DROP COLUMN words; \
                DROP INDEX run_part; ALTER TABLE run DROP COLUMN row_crc32c; \
                DROP INDEX run_p99; DROP INDEX run_verdict; \
                ALTER TABLE run DROP COLUMN p99_us; ALTER TABLE run DROP COLUMN verdict; \
                ALTER TABLE run DROP COLUMN first_load; ALTER TABLE run DROP COLUMN first_iops; \
                DROP TABLE target; DROP TABLE price; DROP TABLE null_ceiling; DROP TABLE journal; \
                ALTER TABLE event DROP COLUMN crc32c; ALTER TABLE run DROP COLUMN lost;";
    old.execute_batch(&format!("{undo} PRAGMA user_version = 1;")).unwrap();
    drop(old);
    let store = Store::open(&path).unwrap();
    assert_eq!(store.load("261121-bbbb").unwrap(), written, "the runs are kept");
    let host = store.row("261121-bbbb").unwrap().host;
    assert_eq!(host.as_deref(), Some("bench1"), "from the header, for the list");
    let filter = RunFilter { text: "bench1 t.dat".into(), ..RunFilter::default() };
    assert_eq!(store.list(&filter, RunSlice::ALL).unwrap().matching, 1, "and for the search");
    let filter = RunFilter { on_target: Some("/srv/t.dat".into()), ..RunFilter::default() };
    assert_eq!(store.list(&filter, RunSlice::ALL).unwrap().matching, 1);
    assert_eq!(store.target_array("/srv/t.dat").unwrap(), None);
    store.set_target_array("/srv/t.dat", Some("one")).unwrap();
    store.set_target_array("/srv/t.dat", Some("two")).unwrap();
    assert_eq!(store.target_arrays().unwrap(), [("/srv/t.dat".to_owned(), "two".to_owned())]);
    store.set_target_array("/srv/t.dat", None).unwrap();
    assert_eq!(store.target_array("/srv/t.dat").unwrap(), None);
}
