//! Stores that cannot take an event, and stores that lost what they had taken: a part of a run never looks whole.
//!
//! The file systems are real. A full one is a tmpfs of its own; a torn page is a page of the file of which only a part
//! was written, for every page in turn. A wrapper around SQLite's file layer could fail as well, but only in ways that
//! somebody thought of.

use std::path::Path;

use assay_record::Event;
use assay_store::{RunFilter, RunSlice, Store, StoreError};
use assay_testkit::{need, story};
use tempfile::TempDir;

use crate::{Begun, begin, header, message, write};

/// Bytes of a page of SQLite.
const PAGE: usize = 16_384;

/// A story of what a run without a latch looked like: an append failed, the next ones did not, and the run was `done`.
#[test]
fn after_an_event_that_could_not_be_stored_nothing_is() {
    let folder = tempfile::tempdir().unwrap();
    let Begun { path, store, events, mut writer } = begin(folder.path(), 4);

    let other = rusqlite::Connection::open(&path).unwrap();
    let refuse = "CREATE TRIGGER refuse BEFORE INSERT ON event BEGIN SELECT RAISE(ABORT, 'no room'); END";
    other.execute_batch(refuse).unwrap();
    let first = message(&writer.append(&events[4]).unwrap_err());
    assert!(first.contains("no room"), "{first}");
    assert!(store.row("261121-aaaa").unwrap().lost.unwrap().contains("no room"), "marked at once");
    other.execute_batch("DROP TRIGGER refuse").unwrap();

    for event in &events[5..] {
        let error = writer.append(event).unwrap_err();
        assert!(matches!(error, StoreError::AlreadyLost { .. }), "{error}");
        assert!(
            error.to_string().contains("already lost") && error.to_string().contains("no room"),
            "{error}"
        );
    }
    drop(writer);
    let row = store.row("261121-aaaa").unwrap();
    assert_eq!((row.status, row.is_running), (None, false), "it has no end");
    assert_eq!(store.load("261121-aaaa").unwrap(), events[..4]);
}

/// A tmpfs that is unmounted when dropped.
pub(crate) struct SmallFilesystem(TempDir);

impl SmallFilesystem {
    pub(crate) fn new(options: &str) -> Option<Self> {
        if !need::root() {
            return None;
        }
        let folder = tempfile::tempdir().unwrap();
        story::run(&["mount", "-t", "tmpfs", "-o", options, "assay", folder.path().to_str().unwrap()]);
        Some(Self(folder))
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }
}

impl Drop for SmallFilesystem {
    fn drop(&mut self) {
        // This process keeps its stores open to its end.
        let _ = std::process::Command::new("umount").arg("--lazy").arg(self.0.path()).status();
    }
}

#[test]
fn a_full_file_system_is_named_and_what_was_stored_before_stays() {
    let Some(filesystem) = SmallFilesystem::new("size=1m") else { return };
    let Begun { path, store, events, mut writer } = begin(filesystem.path(), 1);
    let mut stored = 1;
    let error = loop {
        match writer.append(&events[1 + stored % 3]) {
            Ok(()) => stored += 1,
            Err(error) => break error,
        }
        assert!(stored < 10_000, "a file system of 1 MiB must fill");
    };
    let text = message(&error);
    assert!(matches!(error, StoreError::Full { .. }), "{text}");
    assert!(text.contains("no space left") && text.contains(path.to_str().unwrap()), "{text}");
    assert_eq!(
        store.load("261121-aaaa").unwrap().len(),
        stored,
        "what was stored can be read on a full disk"
    );

    // Somebody makes room: the run stays as it was, and now says so.
    story::run(&["mount", "-o", "remount,size=8m", filesystem.path().to_str().unwrap()]);
    assert!(matches!(writer.append(events.last().unwrap()), Err(StoreError::AlreadyLost { .. })));
    drop(writer);
    let row = store.row("261121-aaaa").unwrap();
    assert!(row.status.is_none() && row.lost.unwrap().contains("no space left"));
    assert_eq!(store.load("261121-aaaa").unwrap().len(), stored);
    write(&store, &crate::header("261121-bbbb"), None);
    assert_eq!(Store::open(&path).unwrap().runs().unwrap().len(), 2, "the store goes on");
}

/// The runs of a store, or why it does not give them. `Ok` must be right.
fn read(path: &Path, runs: &[String]) -> Result<Vec<Vec<Event>>, StoreError> {
    let store = Store::open(path)?;
    store.runs()?;
    let load = |run: &String| {
        let loaded = store.load(run);
        // What only checks sees the same.
        assert_eq!(store.check_events(run).is_ok(), loaded.is_ok(), "{run}: {loaded:?}");
        loaded
    };
    runs.iter().map(load).collect()
}

#[test]
fn a_torn_page_is_an_error_and_never_another_result() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("runs.sqlite");
    // So many that most pages are of events, and not of the index of the search, which no result is read from.
    let letters = "abcdefghijkmnpqrstuvwxyz".chars().map(|letter| letter.to_string().repeat(4));
    let names: Vec<String> = letters.map(|letters| format!("261121-{letters}")).collect();
    let written: Vec<Vec<Event>> = {
        let store = Store::open(&path).unwrap();
        names.iter().map(|name| write(&store, &header(name), None)).collect()
    };
    let whole = std::fs::read(&path).unwrap();
    assert!(whole.len() > 4 * PAGE && !path.with_extension("sqlite-wal").exists(), "all is in one file");
    let (mut noticed, mut harmless) = (0, 0);
    for page in 0..whole.len() / PAGE {
        // The first part was written and the rest was not, or the other way round.
        for torn in [page * PAGE + 512..(page + 1) * PAGE, page * PAGE..page * PAGE + 3584] {
            for filler in [0, 0x37] {
                let mut bytes = whole.clone();
                bytes[torn.clone()].fill(filler);
                std::fs::write(&path, &bytes).unwrap();
                match read(&path, &names) {
                    Ok(events) => {
                        assert_eq!(events, written, "page {page}, bytes {torn:?} of {filler:#x}");
                        harmless += 1;
                    }
                    Err(error) => {
                        assert!(message(&error).contains("runs.sqlite"), "{error}");
                        noticed += 1;
                    }
                }
            }
        }
    }
    assert!(2 * noticed > harmless, "{noticed} noticed, {harmless} in bytes that nothing uses");
}

#[test]
fn a_log_whose_last_record_is_torn_loses_that_event_and_no_other() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("runs.sqlite-wal");
    // The writer stays, or closing it would empty the log.
    let Begun { path, events, store: _store, writer: _writer } = begin(folder.path(), 4);
    // What a machine leaves that loses power now.
    let crashed = tempfile::tempdir().unwrap();
    let copy = crashed.path().join("runs.sqlite");
    std::fs::copy(&path, &copy).unwrap();
    let mut bytes = std::fs::read(&log).unwrap();
    let torn = bytes.len() - PAGE / 2;
    bytes[torn..].fill(0);
    std::fs::write(crashed.path().join("runs.sqlite-wal"), bytes).unwrap();
    let found = Store::open(&copy).unwrap().load("261121-aaaa").unwrap();
    assert_eq!(found, events[..3], "the last commit is gone as a whole");
}

#[test]
fn a_gap_a_missing_end_and_a_changed_byte_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("runs.sqlite");
    let store = Store::open(&path).unwrap();
    for (run, change, says) in [
        ("261121-aaaa", "DELETE FROM event WHERE sequence = 2 AND run_id = ?1", "event 2 is missing"),
        (
            "261121-bbbb",
            "DELETE FROM event WHERE run_id = ?1 AND sequence > 2",
            "its last events, after event 2, are missing",
        ),
        ("261121-cccc", "DELETE FROM event WHERE sequence = 0 AND run_id = ?1", "event 0 is missing"),
        (
            "261121-dddd",
            "UPDATE event SET body = replace(body, '1', '2') WHERE sequence = 2 AND run_id = ?1",
            "event 2 does not match its checksum",
        ),
    ] {
        write(&store, &header(run), None);
        let raw = rusqlite::Connection::open(&path).unwrap();
        let id: i64 = raw.query_row("SELECT id FROM run WHERE run = ?1", [run], |row| row.get(0)).unwrap();
        assert!(raw.execute(change, [id]).unwrap() > 0);
        let error = store.load(run).unwrap_err().to_string();
        for part in [says, run, "is damaged", "assay rm"] {
            assert!(error.contains(part), "{part}: {error}");
        }
    }
}

/// Writes to the columns of a run behind the store's back, as a failing disk does.
fn break_row(path: &Path, run: &str, set: &str) {
    let other = rusqlite::Connection::open(path).unwrap();
    let changed = other.execute(&format!("UPDATE run SET {set} WHERE run = '{run}'"), []).unwrap();
    assert_eq!(changed, 1, "{set}");
}

/// A story of one row that could not be decoded: the whole store was unreadable, and the run could not be removed.
#[test]
fn a_row_that_cannot_be_read_costs_that_row_and_no_other() {
    for (set, says) in [
        ("outcome = '{'", "its outcome cannot be decoded"),
        ("targets = 'x'", "its list of targets cannot be decoded"),
        ("label = CAST(x'ff61' AS TEXT)", "`label` is not text"),
        ("name = 'another'", "does not match its checksum"),
        ("started_unix_ms = started_unix_ms + 1", "does not match its checksum"),
        ("outcome = '\"failed\"'", "does not match its checksum"),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("store.sqlite");
        let store = Store::open(&path).unwrap();
        write(&store, &header("261121-aaaa"), None);
        write(&store, &header("261121-bbbb"), None);
        break_row(&path, "261121-aaaa", set);

        let rows = store.runs().unwrap();
        let broken = rows.iter().find(|row| row.run == "261121-aaaa").unwrap();
        assert!(broken.unreadable.as_ref().unwrap().contains(says), "{set}: {broken:?}");
        assert!(rows.iter().any(|row| row.run == "261121-bbbb" && row.unreadable.is_none()), "{set}");
        let filter = RunFilter { target: Some("t.dat".into()), ..RunFilter::default() };
        assert!(store.list(&filter, RunSlice::ALL).is_ok(), "{set}");
        assert_eq!(store.list(&RunFilter::default(), RunSlice::ALL).unwrap().runs.len(), 2, "{set}");
        assert!(store.load("261121-bbbb").is_ok() && store.row("261121-bbbb").is_ok(), "{set}");

        let error = message(&store.row("261121-aaaa").unwrap_err());
        assert!(error.contains(says) && error.contains("assay rm 261121-aaaa removes it"), "{error}");
        assert!(
            store.set_label("261121-aaaa", Some("x")).is_err(),
            "a change must not hide the damage: {set}"
        );
        let mut pieces = 0;
        store.each_raw("261121-aaaa", |_, _| pieces += 1).unwrap();
        assert!(pieces > 8, "{set}: {pieces}");

        store.remove("261121-aaaa").unwrap();
        assert_eq!(store.runs().unwrap().len(), 1, "{set}");
    }
}

/// A list is read in parts, and the next one begins behind the last row of the one before: where its time was no number
/// any more, the list ended with an error.
#[test]
fn a_list_goes_on_behind_a_row_whose_time_is_damaged() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.sqlite");
    let store = Store::open(&path).unwrap();
    let runs = ["261121-aaaa", "261121-bbbb", "261121-cccc"];
    for run in runs {
        write(&store, &header(run), None);
    }
    // No statement puts a text there, but a bit that flips does: the table says so for one, as a failing disk would.
    let strict = |to: &str| {
        let other = rusqlite::Connection::open(&path).unwrap();
        let set = "PRAGMA writable_schema = ON; UPDATE sqlite_schema SET sql = ";
        other.execute_batch(&format!("{set}{to} WHERE name = 'run' AND type = 'table'")).unwrap();
    };
    strict("replace(sql, ') STRICT', ')')");
    break_row(&path, "261121-bbbb", "started_unix_ms = x'07'");
    strict("sql || ' STRICT'");
    let store = Store::open(&path).unwrap();
    for part in 1..4 {
        let mut seen = Vec::new();
        let visited = store.visit_rows(&RunFilter::default(), RunSlice::ALL, part, &mut |rows| {
            seen.extend(rows.into_iter().map(|row| row.run));
            true
        });
        visited.unwrap();
        assert_eq!(seen, ["261121-bbbb", "261121-cccc", "261121-aaaa"], "{part} rows at a time");
    }
}

#[test]
fn a_run_whose_id_is_no_text_any_more_can_be_removed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.sqlite");
    let store = Store::open(&path).unwrap();
    write(&store, &header("261121-aaaa"), None);
    break_row(&path, "261121-aaaa", "run = CAST(x'323631ff' AS TEXT)");
    let rows = store.runs().unwrap();
    assert!(rows[0].unreadable.as_ref().unwrap().contains("`run` is not text"), "{rows:?}");
    store.remove(&rows[0].run).unwrap();
    assert_eq!(store.runs().unwrap(), []);
}

#[test]
fn labels_notes_and_ends_renew_the_checksum_of_a_row() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path().join("store.sqlite")).unwrap();
    write(&store, &header("261121-aaaa"), None);
    store.set_label("261121-aaaa", Some("Täglich")).unwrap();
    store.set_note("261121-aaaa", Some("cable 7")).unwrap();
    store.set_lost("261121-aaaa", Some("disk gone")).unwrap();
    assert_eq!(store.row("261121-aaaa").unwrap().label.as_deref(), Some("Täglich"));
    store.set_label("261121-aaaa", None).unwrap();
    assert_eq!(store.row("261121-aaaa").unwrap().unreadable, None);
}
