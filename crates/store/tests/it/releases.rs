//! Stores of earlier releases: what was written once is read for ever.

use std::path::{Path, PathBuf};

use assay_record::{EVENT_VERSION, Event, RunEvent};
use assay_store::{ListedRun, RunFilter, RunOrder, RunSlice, Store};
use tempfile::TempDir;

use crate::{header, message, write};

/// The stores that are kept, one folder for each release: `tests/data/RELEASE/store.sqlite`.
fn kept() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data");
    let mut kept: Vec<PathBuf> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path().join("store.sqlite")).collect();
    kept.retain(|store| store.exists());
    kept.sort();
    kept
}

/// A copy that may be migrated.
fn copy_of(store: &Path) -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.sqlite");
    std::fs::copy(store, &path).unwrap();
    (folder, path)
}

#[test]
fn every_event_of_every_release_is_read_and_says_the_same_when_written_again() {
    assert!(!kept().is_empty());
    for original in kept() {
        let (_folder, path) = copy_of(&original);
        let raw = rusqlite::Connection::open(&path).unwrap();
        let before: Vec<String> = raw
            .prepare("SELECT body FROM event ORDER BY run_id, sequence")
            .unwrap()
            .query_map([], |row| row.get(0))
            .unwrap()
            .collect::<Result<_, _>>()
            .unwrap();
        drop(raw);
        let store = Store::open(&path).unwrap();
        let runs = store.runs().unwrap();
        assert!(runs.len() > 5, "{}", original.display());
        let mut events: Vec<Event> = Vec::new();
        for row in runs.iter().rev() {
            events.extend(store.load(&row.run).unwrap());
            assert_eq!(row.lost, None);
        }
        assert_eq!(events.len(), before.len());
        for (event, before) in events.iter().zip(&before) {
            assert_eq!(&serde_json::from_str::<Event>(before).unwrap(), event);
            let again = serde_json::to_string(event).unwrap();
            assert_eq!(&serde_json::from_str::<Event>(&again).unwrap(), event);
        }
        // And new runs go beside the old ones.
        write(&store, &header("991231-aaaa"), None);
        assert_eq!(store.runs().unwrap().len(), runs.len() + 1);
    }
}

/// The format of a store, as SQLite keeps it.
fn format_of(path: &Path) -> i64 {
    let raw =
        rusqlite::Connection::open_with_flags(path, rusqlite::OpenFlags::SQLITE_OPEN_READ_ONLY).unwrap();
    raw.query_row("PRAGMA user_version", [], |row| row.get(0)).unwrap()
}

#[test]
fn a_store_of_every_format_is_brought_to_the_present_one_with_its_lists() {
    let folder = tempfile::tempdir().unwrap();
    let fresh = folder.path().join("fresh.sqlite");
    drop(Store::open(&fresh).unwrap());
    let present = format_of(&fresh);
    let mut formats: Vec<i64> = Vec::new();
    let mut by_p99 = 0;
    for original in kept() {
        let (_folder, path) = copy_of(&original);
        formats.push(format_of(&path));
        let raw = rusqlite::Connection::open(&path).unwrap();
        let count: i64 = raw.query_row("SELECT count(*) FROM run", [], |row| row.get(0)).unwrap();
        let arrays: i64 = raw.query_row("SELECT count(*) FROM target", [], |row| row.get(0)).unwrap();
        let store = Store::open(&path).unwrap();
        assert_eq!(format_of(&path), present, "{}", original.display());
        // What the older format did not have was made from what it had: hosts, targets and the text for the search.
        let all = store.list(&RunFilter::default(), RunSlice::ALL).unwrap();
        assert_eq!(i64::try_from(all.matching).unwrap(), count);
        assert_eq!(store.target_arrays().unwrap().len(), usize::try_from(arrays).unwrap());
        for listed in &all.runs {
            let host = listed.row.host.clone().unwrap();
            // From format 5 on a file is known by its whole path.
            let of_run = "SELECT address FROM run_target WHERE run_id = (SELECT id FROM run WHERE run = ?1)";
            let on: String = raw.query_row(of_run, [&listed.row.run], |row| row.get(0)).unwrap();
            assert!(on.ends_with(listed.row.targets[0].trim_start_matches(".")), "{on}");
            let text = format!("{} {}", listed.row.run, listed.row.name);
            for filter in [
                RunFilter { text, ..RunFilter::default() },
                RunFilter { host: Some(host), ..RunFilter::default() },
                RunFilter { on_target: Some(on), ..RunFilter::default() },
            ] {
                let found = store.list(&filter, RunSlice::ALL).unwrap().runs;
                assert!(found.iter().any(|run| run.row.run == listed.row.run), "{filter:?}");
            }
        }
        // What lists are sorted by was made of the digests that it had.
        let sorted = store.list_by(&RunFilter::default(), RunSlice::ALL, RunOrder::P99).unwrap().runs;
        let p99_us = |run: &ListedRun| Some(run.digest.as_ref()?.tests.first()?.p99_us?.value);
        let figures: Vec<f64> = sorted.iter().map(|run| p99_us(run).unwrap_or(0.0)).collect();
        assert!(figures.is_sorted_by(|a, b| a >= b), "{}: {figures:?}", original.display());
        by_p99 += figures.iter().filter(|figure| **figure > 0.0).count();
        let without = store.without_digest().unwrap().len();
        assert!(without >= all.runs.iter().filter(|run| run.digest.is_none()).count() && without > 0);
    }
    assert!(by_p99 > 5, "{by_p99}");
    formats.sort_unstable();
    formats.dedup();
    let before: Vec<i64> = (2..present).collect();
    assert_eq!(formats, before, "a store of every format since the first release is kept");
}

#[test]
fn a_run_that_an_older_program_goes_on_writing_during_the_migration_stays_readable() {
    let (_folder, path) = copy_of(&kept()[0]);
    assert_eq!(format_of(&path), 2);
    let old = rusqlite::Connection::open(&path).unwrap();
    let id: i64 = old.query_row("SELECT id FROM run WHERE outcome IS NULL", [], |row| row.get(0)).unwrap();
    let (run, next): (String, i64) = old
        .query_row(
            "SELECT run, (SELECT max(sequence) + 1 FROM event WHERE run_id = ?1) FROM run WHERE id = ?1",
            [id],
            |row| Ok((row.get(0)?, row.get(1)?)),
        )
        .unwrap();
    let store = Store::open(&path).unwrap();
    let body = r#"{"at_ns":1,"what":{"event":"ended","body":"interrupted"}}"#;
    let insert = "INSERT INTO event (run_id, sequence, body) VALUES (?1, ?2, ?3)";
    old.execute(insert, rusqlite::params![id, next, body]).unwrap();
    old.execute("UPDATE run SET outcome = '\"interrupted\"' WHERE id = ?1", [id]).unwrap();
    let events = store.load(&run).unwrap();
    assert!(matches!(events.last().unwrap().what, RunEvent::Ended(_)), "without version and checksum");
}

#[test]
fn events_carry_their_version_and_one_of_a_later_program_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("runs.sqlite");
    let store = Store::open(&path).unwrap();
    write(&store, &header("261121-aaaa"), None);
    let raw = rusqlite::Connection::open(&path).unwrap();
    let versions = "SELECT min(body ->> 'version'), max(body ->> 'version') FROM event";
    let found: (u32, u32) = raw.query_row(versions, [], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
    assert_eq!(found, (EVENT_VERSION, EVENT_VERSION));
    let later = r#"{"version":9,"at_ns":1,"what":{"event":"of a kind that is not known yet"}}"#;
    let update = "UPDATE event SET body = ?1, crc32c = NULL WHERE sequence = 2";
    raw.execute(update, [later]).unwrap();
    let error = message(&store.load("261121-aaaa").unwrap_err());
    assert!(error.contains("has version 9") && error.contains("the newer one that wrote it"), "{error}");
}
