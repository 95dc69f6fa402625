//! Stores that others read, delete, replace, fill or forbid while a run writes to them.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use assay_record::Event;
use assay_store::{Store, StoreError};
use assay_testkit::story;

use crate::damage::SmallFilesystem;
use crate::{begin, header, message, write};

/// Where the child finds its store.
const STORE: &str = "ASSAY_TEST_READ_STORE";

/// The child: opens a store, reads it, and closes it.
#[test]
#[ignore = "run by a_reader_that_closes_the_store_leaves_the_log_of_a_run_alone"]
fn child_that_reads_a_store() {
    let Some(path) = std::env::var_os(STORE) else { return };
    Store::open_existing(path).unwrap().unwrap().runs().unwrap();
}

/// Number of events that the runs of these tests have stored.
const STORED: usize = 3;

fn beside(path: &Path, end: &str) -> PathBuf {
    format!("{}{end}", path.display()).into()
}

/// A look at the first bytes of the store closed a descriptor of it, and with that the process lost its locks: the
/// next reader took itself for the last user of the store and removed the log that the run appended to.
#[test]
fn a_reader_that_closes_the_store_leaves_the_log_of_a_run_alone() {
    let folder = tempfile::tempdir().unwrap();
    let mut run = begin(folder.path(), STORED);
    let child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "hold::child_that_reads_a_store", "--ignored"])
        .env(STORE, &run.path)
        .output()
        .unwrap();
    assert!(child.status.success(), "{child:?}");
    assert!(beside(&run.path, "-wal").exists(), "the log is in use");
    run.events[STORED..].iter().for_each(|event| run.writer.append(event).unwrap());
    run.writer.finish().unwrap();
}

#[test]
fn a_store_that_is_deleted_or_replaced_under_a_run_is_reported_at_the_next_event() {
    for (end, is_replaced) in [("", false), ("", true), ("-wal", false), ("-shm", false)] {
        let folder = tempfile::tempdir().unwrap();
        let mut run = begin(folder.path(), STORED);
        let file = beside(&run.path, end);
        std::fs::remove_file(&file).unwrap();
        if is_replaced {
            std::fs::write(&file, "").unwrap();
        }
        let says = if is_replaced { "was replaced" } else { "was deleted" };
        let error = run.writer.append(&run.events[STORED]).unwrap_err();
        assert!(matches!(error, StoreError::Gone { .. }) && error.to_string().contains(says), "{error}");
        assert!(run.writer.finish().is_err());
        let mut stored = Vec::new();
        run.writer.each_stored(|line| stored.push(serde_json::from_str::<Event>(line).unwrap())).unwrap();
        assert_eq!(stored, run.events[..4], "this process can still read it");
    }
}

#[test]
fn a_store_that_was_overwritten_in_place_is_found_out_at_the_end() {
    let folder = tempfile::tempdir().unwrap();
    let mut run = begin(folder.path(), STORED);
    run.events[STORED..].iter().for_each(|event| run.writer.append(event).unwrap());
    run.writer.finish().unwrap();
    let raw = rusqlite::Connection::open(&run.path).unwrap();
    raw.execute_batch("DELETE FROM event WHERE sequence > 3").unwrap();
    let error = run.writer.finish().unwrap_err();
    assert!(message(&error).contains("it has 4 of"), "{error}");
}

#[test]
fn only_its_owner_can_read_a_store() {
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let folder = tempfile::tempdir().unwrap();
    let run = begin(folder.path(), STORED);
    for end in ["", "-wal", "-shm", "-live"] {
        assert_eq!(mode(&beside(&run.path, end)), 0o600, "{end}");
    }
    assert_eq!(run.store.tightened_from(), None);
    std::fs::set_permissions(&run.path, std::fs::Permissions::from_mode(0o644)).unwrap();
    assert_eq!(Store::open(&run.path).unwrap().tightened_from(), Some(0o644));
    assert_eq!(mode(&run.path), 0o600);
    assert_eq!(Store::open(&run.path).unwrap().tightened_from(), None, "once");
}

/// Somebody who may write to the folder of a store put links there: a store of root in `/tmp` took the rights from any
/// file of the system.
#[test]
fn links_beside_a_store_are_not_followed() {
    for end in BESIDE {
        let folder = tempfile::tempdir().unwrap();
        let (path, victim) = (folder.path().join("runs.sqlite"), folder.path().join("victim"));
        std::fs::write(&victim, "of somebody else").unwrap();
        std::fs::set_permissions(&victim, std::fs::Permissions::from_mode(0o644)).unwrap();
        std::os::unix::fs::symlink(&victim, beside(&path, end)).unwrap();
        let refused = message(&Store::open(&path).unwrap_err());
        assert!(refused.contains(&format!("{end} next to it is not a regular file")), "{refused}");
        assert_eq!(std::fs::read_to_string(&victim).unwrap(), "of somebody else", "{end}");
        let mode = std::fs::metadata(&victim).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode, 0o644, "{end}");
    }
}

/// What lies beside a link to nothing was not looked at, as that is where the link leads: a pipe there was removed, and
/// an empty store made beside the log of another database.
#[test]
fn a_store_that_is_a_link_to_nothing_is_refused() {
    for end in ["", "-wal", "-journal"] {
        let folder = tempfile::tempdir().unwrap();
        let (path, nowhere) = (folder.path().join("runs.sqlite"), folder.path().join("nowhere.sqlite"));
        std::os::unix::fs::symlink(&nowhere, &path).unwrap();
        if !end.is_empty() {
            story::run(&["mkfifo", beside(&nowhere, end).to_str().unwrap()]);
        }
        let names = || {
            let entries = std::fs::read_dir(folder.path()).unwrap();
            entries.map(|entry| entry.unwrap().file_name()).collect::<std::collections::BTreeSet<_>>()
        };
        let before = names();
        let opened = [Store::open(&path).map(drop), Store::open_existing(&path).map(drop)];
        for refused in opened.map(|opened| message(&opened.expect_err("it was opened"))) {
            assert!(refused.contains("it is a symbolic link to nothing"), "{end}: {refused}");
        }
        assert_eq!(names(), before, "{end}");
    }
}

/// SQLite refuses a name that leaves no room for the names beside it only once the file is there: an empty one stayed.
#[test]
fn a_store_whose_name_is_too_long_is_refused_and_not_created() {
    let folder = tempfile::tempdir().unwrap();
    let deep = folder.path().join("d".repeat(200)).join("e".repeat(200));
    std::fs::create_dir_all(&deep).unwrap();
    let deep_name = |bytes: usize| deep.join("s".repeat(bytes - deep.as_os_str().len() - 1));
    for (path, says) in [
        (folder.path().join("s".repeat(248)), Some("its name has 248 bytes, and SQLite takes at most 247")),
        (deep_name(505), Some("its path has 505 bytes, and SQLite takes at most 504")),
        (folder.path().join("s".repeat(247)), None),
        (deep_name(504), None),
    ] {
        match (Store::open(&path), says) {
            (Err(error), Some(says)) => {
                assert!(message(&error).contains(says), "{}", message(&error));
                assert!(!path.exists(), "{}", path.display());
            }
            (opened, says) => assert_eq!((opened.is_ok(), says), (true, None), "{}", path.display()),
        }
    }
}

/// What SQLite and Assay keep beside a store.
const BESIDE: [&str; 4] = ["-live", "-wal", "-shm", "-journal"];

/// A pipe under the name of the journal, or of the file of live runs, made `assay runs` wait for ever.
#[test]
fn pipes_beside_a_store_are_not_waited_for() {
    for end in BESIDE {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("runs.sqlite");
        write(&Store::open(&path).unwrap(), &header("261121-aaaa"), None);
        let pipe = beside(&path, end);
        let _ = std::fs::remove_file(&pipe);
        story::run(&["mkfifo", pipe.to_str().unwrap()]);
        let refused = message(&Store::open_existing(&path).unwrap_err());
        assert!(refused.contains("is not a regular file"), "{end}: {refused}");
    }
}

/// By a link to its store a run that was going on looked like one that was killed, and could be removed.
#[test]
fn a_run_is_live_by_every_name_of_its_store() {
    let folder = tempfile::tempdir().unwrap();
    let run = begin(folder.path(), STORED);
    let link = folder.path().join("link.sqlite");
    std::os::unix::fs::symlink(&run.path, &link).unwrap();
    let store = Store::open(&link).unwrap();
    assert!(store.runs().unwrap()[0].is_running);
    assert!(matches!(store.remove("261121-aaaa").unwrap_err(), StoreError::Running { .. }));
}

/// The child: opens a store by the name that it was given, whatever comes of it.
#[test]
#[ignore = "run by names_that_mean_something_to_sqlite_are_names_of_files"]
fn child_that_opens_a_store() {
    let Some(path) = std::env::var_os(STORE) else { return };
    drop(Store::open(path));
}

/// `assay run … --store file:/dev/sdX` destroyed what was on the disk: the name that was checked is a file in a folder
/// `file:`, and SQLite followed it as a URI to the device.
#[test]
fn names_that_mean_something_to_sqlite_are_names_of_files() {
    let folder = tempfile::tempdir().unwrap();
    let device = assay_testkit::loop_device::LoopDevice::over_empty(1 << 20);
    let of_device = device.as_ref().map(|device| format!("file:{}", device.text()));
    let of_file = format!("file:{}/other", folder.path().display());
    for name in [Some(of_file), of_device, Some(":memory:".to_owned())].into_iter().flatten() {
        let child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "hold::child_that_opens_a_store", "--ignored"])
            .env(STORE, &name)
            .current_dir(folder.path())
            .output()
            .unwrap();
        assert!(child.status.success(), "{child:?}");
        let made = std::fs::read(folder.path().join(&name)).unwrap();
        assert!(made.starts_with(b"SQLite format 3\0"), "{name}");
    }
    assert!(!folder.path().join("other").exists(), "a file that was never checked");
    let bytes = device.map(|device| std::fs::read(device.text()).unwrap()).unwrap_or_default();
    assert!(bytes.iter().all(|byte| *byte == 0), "the device was written to");
}

/// SQLite itself moved the log of another program's database into it, and removed the log, before Assay refused it.
#[test]
fn another_program_s_database_is_left_as_it_is_with_its_log() {
    let folder = tempfile::tempdir().unwrap();
    let (used, left) = (folder.path().join("used.sqlite"), folder.path().join("mail.sqlite"));
    let other = rusqlite::Connection::open(&used).unwrap();
    other.execute_batch("PRAGMA journal_mode = WAL; CREATE TABLE mail (body TEXT)").unwrap();
    // As that program leaves it when it is killed.
    for end in ["", "-wal", "-shm"] {
        std::fs::copy(beside(&used, end), beside(&left, end)).unwrap();
    }
    let bytes = |end: &str| std::fs::read(beside(&left, end)).unwrap();
    let before = ["", "-wal", "-shm"].map(bytes);
    assert!(!before[1].is_empty());
    assert!(matches!(Store::open(&left), Err(StoreError::Foreign { .. })));
    assert!(matches!(Store::open_existing(&left), Err(StoreError::Foreign { .. })));
    assert!(["", "-wal", "-shm"].map(bytes) == before, "it was changed");
}

/// SQLite removes the log of a database without a page: where another program's database had been deleted or cut to
/// nothing, a store under its name cost the transactions that could still be recovered from the log.
#[test]
fn the_log_of_a_database_that_is_gone_is_left_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let (used, app) = (folder.path().join("used.sqlite"), folder.path().join("app.db"));
    let other = rusqlite::Connection::open(&used).unwrap();
    other.execute_batch("PRAGMA journal_mode = WAL; CREATE TABLE mail (body TEXT)").unwrap();
    let log = std::fs::read(beside(&used, "-wal")).unwrap();
    std::fs::write(beside(&app, "-wal"), &log).unwrap();
    let refuse = |is_there: bool| {
        for refused in [Store::open(&app).map(drop), Store::open_existing(&app).map(drop)] {
            if let Err(error) = refused {
                let says = message(&error);
                assert!(
                    says.contains("app.db-wal next to it belongs to a database that is no longer"),
                    "{says}"
                );
            } else {
                assert!(!is_there, "an empty file was taken for a store");
            }
        }
        assert!(std::fs::read(beside(&app, "-wal")).unwrap() == log, "the log was changed");
        assert_eq!(app.exists(), is_there, "a refusal creates nothing");
    };
    refuse(false);
    std::fs::write(&app, "").unwrap();
    refuse(true);
}

/// A file of somebody else's that happened to have the name of a journal was removed.
#[test]
fn files_beside_a_store_that_another_program_wrote_are_left_as_they_are() {
    for end in BESIDE {
        for has_store in [false, true] {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("bench");
            if has_store {
                write(&Store::open(&path).unwrap(), &header("261121-aaaa"), None);
            }
            let file = beside(&path, end);
            std::fs::write(&file, "my notes about the benchmark").unwrap();
            std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o644)).unwrap();
            let says = message(&Store::open(&path).unwrap_err());
            assert!(says.contains(&format!("bench{end} next to it")), "{says}");
            assert_eq!(std::fs::read_to_string(&file).unwrap(), "my notes about the benchmark", "{end}");
            assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o644, "{end}");
            assert_eq!(path.exists(), has_store, "{end}");
            std::fs::remove_file(file).unwrap();
            assert!(Store::open(&path).unwrap().runs().unwrap().len() == usize::from(has_store), "{end}");
        }
    }
}

/// What a process leaves that is killed while it creates or changes a store is taken up by the next one.
#[test]
fn the_journal_of_an_interrupted_creation_is_no_obstacle() {
    let folder = tempfile::tempdir().unwrap();
    let (path, made) = (folder.path().join("runs.sqlite"), folder.path().join("made.sqlite"));
    std::fs::write(&path, "").unwrap();
    let other = rusqlite::Connection::open(&made).unwrap();
    other.execute_batch("BEGIN IMMEDIATE; CREATE TABLE run (id INTEGER)").unwrap();
    let journal = std::fs::read(beside(&made, "-journal")).unwrap();
    assert!(!journal.is_empty());
    std::fs::write(beside(&path, "-journal"), &journal).unwrap();
    write(&Store::open(&path).unwrap(), &header("261121-aaaa"), None);
    assert!(!beside(&path, "-journal").exists());
    // One that would give back pages belongs to a database that had some.
    let (app, mut pages) = (folder.path().join("app.db"), journal);
    pages[16..20].copy_from_slice(&7_u32.to_be_bytes());
    std::fs::write(beside(&app, "-journal"), &pages).unwrap();
    let says = message(&Store::open(&app).unwrap_err());
    assert!(says.contains("app.db-journal next to it belongs to a database"), "{says}");
    assert!(std::fs::read(beside(&app, "-journal")).unwrap() == pages);
}

#[test]
fn a_store_on_a_full_file_system_can_be_read() {
    let Some(filesystem) = SmallFilesystem::new("size=2m") else { return };
    let path = filesystem.path().join("runs.sqlite");
    let events = write(&Store::open(&path).unwrap(), &header("261121-aaaa"), None);
    assert!(!beside(&path, "-wal").exists(), "a closed store has no log");
    assert!(std::fs::write(filesystem.path().join("more"), vec![1; 4 << 20]).is_err(), "now it is full");
    let store = Store::open_existing(&path).unwrap().unwrap();
    assert_eq!(store.load("261121-aaaa").unwrap(), events);
    assert_eq!(store.runs().unwrap().len(), 1);
    assert!(store.read_only().is_some());
}

#[test]
fn a_store_on_a_read_only_file_system_can_be_read_and_says_that_it_cannot_be_written() {
    let Some(filesystem) = SmallFilesystem::new("size=2m") else { return };
    let folder = filesystem.path().join("store");
    std::fs::create_dir(&folder).unwrap();
    let path = folder.join("runs.sqlite");
    let events = write(&Store::open(&path).unwrap(), &header("261121-aaaa"), None);
    std::fs::write(folder.join("begun.sqlite"), "").unwrap();
    let folder = folder.to_str().unwrap();
    story::run(&["mount", "--bind", folder, folder]);
    story::run(&["mount", "-o", "remount,bind,ro", folder]);
    let store = Store::open_existing(&path).unwrap().unwrap();
    assert_eq!(store.load("261121-aaaa").unwrap(), events);
    assert!(store.read_only().unwrap().contains("mounted read-only"), "{:?}", store.read_only());
    let refused = message(&store.set_label("261121-aaaa", Some("x")).unwrap_err());
    assert!(refused.contains("can only be read"), "{refused}");
    let refused = message(&Store::open(&path).unwrap_err());
    assert!(refused.contains("mounted read-only"), "{refused}");
    let begun = Store::open_existing(Path::new(folder).join("begun.sqlite")).unwrap();
    assert!(begun.is_none(), "a store whose file system failed before its first run has no runs");
    story::run(&["umount", "--lazy", folder]);
}
