//! A writer is killed by SIGKILL in the middle: everything it had appended is there.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::time::Duration;

use assay_record::RunEvent;
use assay_store::{Namesake, RunFilter, RunSlice, Store, WholeEvents, WholeRun};

use crate::{header, synthetic};

/// Where the child finds its store.
const STORE: &str = "ASSAY_TEST_KILLED_STORE";

/// The child: appends intervals for ever and says how many are appended.
#[test]
#[ignore = "run by kill_minus_nine_loses_nothing_that_was_appended"]
fn child_that_writes_until_it_is_killed() {
    let path = std::env::var_os(STORE).unwrap();
    let store = Store::open(path).unwrap();
    let header = header("261121-kill");
    let events = synthetic::events(&header, synthetic::Target::default());
    let interval = events.iter().find(|e| matches!(e.what, RunEvent::Interval(_))).unwrap();
    let mut writer = store.begin_run(&header, None, None).unwrap();
    for appended in 1..1_000_000 {
        writer.append(interval).unwrap();
        println!("appended {appended}");
    }
}

#[test]
fn kill_minus_nine_loses_nothing_that_was_appended() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("runs.sqlite");
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "killed::child_that_writes_until_it_is_killed", "--nocapture", "--ignored"])
        .env(STORE, &path)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
    let count =
        |line: &String| line.split_once("appended ").and_then(|(_, n)| n.trim().parse::<usize>().ok());
    let reached = lines.by_ref().find(|l| count(l).is_some_and(|n| n >= 300));
    assert!(reached.is_some(), "the child must get as far as 300 events");
    let store = Store::open(&path).unwrap();
    assert!(store.row("261121-kill").unwrap().is_running);
    let refused = store.remove("261121-kill").unwrap_err().to_string();
    assert!(refused.contains("261121-kill is still in progress"), "{refused}");
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(!store.row("261121-kill").unwrap().is_running, "a process that is gone runs nothing");
    // What it said until it died was appended before it was said. The very last line may be cut in two.
    let said = lines.filter(|l| l.starts_with("appended ")).filter_map(|l| count(&l)).max().unwrap_or(300);

    let events = store.load("261121-kill").unwrap();
    assert!(events.len() > said, "{} events, of which one is the start; {said} were appended", events.len());
    assert!(events.len() <= said + 3, "nothing but what was appended: {} of {said}", events.len());
    assert_eq!(store.row("261121-kill").unwrap().status, None, "it has no end");
    let integrity: String = rusqlite::Connection::open(&path)
        .unwrap()
        .pragma_query_value(None, "integrity_check", |row| row.get(0))
        .unwrap();
    assert_eq!(integrity, "ok");
    store.remove("261121-kill").unwrap();
}

/// Number of kills of an import (and where tests are to be quick), of events of an imported run, and of those of a part
/// that it replaces.
const KILLS: u64 = 50;
const KILLS_QUICK: u64 = 12;
const WHOLE: usize = 80;
const PART: usize = 3;

/// The child: imports run after run, every second one in the place of a part that lost the rest.
#[test]
#[ignore = "run by kill_minus_nine_leaves_all_of_an_import_or_nothing"]
fn child_that_imports_until_it_is_killed() {
    let store = Store::open(std::env::var_os(STORE).unwrap()).unwrap();
    let all = synthetic::events(&header("261121-all"), synthetic::Target::default());
    let interval = all.iter().find(|e| matches!(e.what, RunEvent::Interval(_))).unwrap();
    let mut events = vec![all[0].clone()];
    events.resize_with(WHOLE, || interval.clone());
    for number in 0..1000 {
        let header = header(&format!("261121-{:x}{number:03x}", std::process::id()));
        if number % 2 == 1 {
            let mut part = store.begin_run(&header, None, None).unwrap();
            events[1..PART].iter().for_each(|event| part.append(event).unwrap());
        }
        println!("importing {number}");
        let events = WholeEvents::Decoded(&events);
        let whole = WholeRun { header: &header, label: Some("l"), note: None, lost: None, events };
        store.add_run(whole, Namesake::Replace).unwrap();
    }
}

#[test]
fn kill_minus_nine_leaves_all_of_an_import_or_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("runs.sqlite");
    let (mut whole, mut parts) = (0, 0);
    let kills = if std::env::var_os("SLOW_TESTS").is_some() { KILLS } else { KILLS_QUICK };
    for kill in 0..kills {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "killed::child_that_imports_until_it_is_killed", "--nocapture", "--ignored"])
            .env(STORE, &path)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
        assert!(lines.any(|line| line.contains("importing 1")), "the child must get as far as an import");
        std::thread::sleep(Duration::from_micros(kill * 7919 % 20_000));
        child.kill().unwrap();
        child.wait().unwrap();
        let store = Store::open(&path).unwrap();
        for run in store.list(&RunFilter::default(), RunSlice::ALL).unwrap().runs {
            match store.load(&run.row.run).unwrap().len() {
                WHOLE => whole += 1,
                PART => parts += 1,
                // The part may have been killed too.
                few if few < PART => parts += 1,
                count => panic!("{} of {WHOLE} events of {} are there", count, run.row.run),
            }
            store.remove(&run.row.run).unwrap();
        }
    }
    println!("{whole} whole runs, {parts} parts that an import was about to replace");
    assert!(whole >= kills && parts > 0, "{whole} whole runs, {parts} parts");
}
