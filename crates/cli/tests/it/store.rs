//! Where runs are kept.

use std::os::unix::fs::FileExt as _;

use crate::story::{BAD_INPUT, DONE, ProgramOutput, Story};

const RUN: [&str; 6] = ["run", "vmware", "null:", "--set", "ops=100", "--json"];

fn assay(story: &Story, more: &[&str]) -> ProgramOutput {
    story.assay(&[&RUN[..], more].concat())
}

fn runs(story: &Story, more: &[&str]) -> usize {
    story.assay(&[&["runs", "--json"], more].concat()).ends(DONE).json().as_array().unwrap().len()
}

#[test]
fn a_store_is_named_by_option_or_environment_or_lies_in_the_data_folder() {
    let story = Story::new();
    assay(&story, &[]).ends(DONE);
    assert_eq!(runs(&story, &[]), 1, "ASSAY_STORE");
    let other = story.path("deep/er/other.sqlite");
    let other = ["--store", other.to_str().unwrap()];
    assay(&story, &other).ends(DONE);
    assay(&story, &other).ends(DONE);
    assert_eq!((runs(&story, &[]), runs(&story, &other)), (1, 2), "--store goes before ASSAY_STORE");
    let mut command = story.command(&RUN);
    command.env_remove("ASSAY_STORE").env("XDG_DATA_HOME", story.path("data"));
    assert!(command.output().unwrap().status.success());
    assert!(story.path("data/assay/runs.sqlite").exists());
    let mut command = story.command(&RUN);
    command.env_remove("ASSAY_STORE").env_remove("XDG_DATA_HOME").env("HOME", story.path("home"));
    assert!(command.output().unwrap().status.success());
    assert!(story.path("home/.local/share/assay/runs.sqlite").exists());
}

#[test]
fn a_store_that_cannot_be_used_is_reported_before_anything_is_measured() {
    let story = Story::new();
    story.write(
        "text",
        "this is no database at all, but long enough to have a header of one hundred bytes or more, \
         so that it is looked at",
    );
    let check = |store: &str, words: &[&str]| {
        let args = ["run", "vmware", "t.dat", "--size", "1MiB", "--set", "run=100ms", "--store", store];
        story.assay(&args).refused(&[words, &[store]].concat());
        assert!(!story.path("t.dat").exists(), "{store}");
        story.assay(&["runs", "--store", store]).ends(BAD_INPUT);
    };
    check("/dev/null/store.sqlite", &["--store"]);
    check("/proc/store.sqlite", &["--store"]);
    check("/", &["--store"]);
    check("text", &["--store"]);
    // SQLite would follow the first to the device, whatever file was checked.
    check("file:/dev/null", &["looks like an address", "write ./file:/dev/null"]);
    check("mysql://db/runs", &["looks like an address"]);
    check("postgres://nobody@127.0.0.1:1/runs", &["cannot open the store", "choose another with --store"]);
    check(":memory:", &["looks like an address"]);
    assert!(!story.path("file:").exists() && !story.path("postgres:").exists());
}

#[test]
fn looking_for_runs_makes_no_store() {
    let story = Story::new();
    for verb in ["runs", "show", "report", "rm last", "label last x"] {
        let args: Vec<&str> = verb.split(' ').chain(["--store", "none.sqlite"]).collect();
        story.assay(&args).refused(&["there is no store none.sqlite yet", "creates it"]);
        assert!(!story.path("none.sqlite").exists(), "{verb}");
    }
    let mut command = story.command(&["runs", "--json"]);
    let reported =
        command.env_remove("ASSAY_STORE").env("XDG_DATA_HOME", story.path("data")).output().unwrap();
    assert_eq!(
        (reported.status.code(), reported.stdout.as_slice()),
        (Some(DONE), b"[]\n".as_slice()),
        "a first use"
    );
    assert!(!story.path("data").exists());
}

#[test]
fn looking_for_arrays_of_targets_makes_no_store() {
    let story = Story::new();
    let store = ["--store", "none.sqlite"];
    let listed = story.assay(&[&["target", "list"], &store[..]].concat()).ends(DONE);
    listed.says(&["No target has an array yet"]);
    story.assay(&[&["target", "set", "t.dat", "--array", "none"], &store[..]].concat()).ends(DONE);
    assert!(!story.path("none.sqlite").exists());
    story.assay(&[&["target", "set", "t.dat", "--array", "ssd-sata"], &store[..]].concat()).ends(DONE);
    story.assay(&[&["target"], &store[..], &["list"]].concat()).ends(DONE).says(&["t.dat", "SSD"]);
}

#[test]
fn a_store_of_a_newer_version_is_refused_and_left_alone() {
    let story = Story::new();
    assay(&story, &[]).ends(DONE);
    // SQLite's header has the format of the store ("user version") at byte 60, big-endian.
    let file = std::fs::File::options().write(true).open(story.path("store.sqlite")).unwrap();
    file.write_all_at(&99_u32.to_be_bytes(), 60).unwrap();
    drop(file);
    let before = story.read("store.sqlite");
    assay(&story, &[]).refused(&["store.sqlite", "format 99", "newer version"]);
    story.assay(&["runs"]).refused(&["format 99"]);
    assert!(story.read("store.sqlite") == before);
}

#[test]
fn another_program_s_database_is_refused() {
    let story = Story::new();
    assay(&story, &[]).ends(DONE);
    // The mark of whose database it is ("application id") is at byte 68.
    let file = std::fs::File::options().write(true).open(story.path("store.sqlite")).unwrap();
    file.write_all_at(&0x1234_5678_u32.to_be_bytes(), 68).unwrap();
    drop(file);
    assay(&story, &[]).refused(&["store.sqlite", "not a store of Assay"]);
}

#[test]
fn several_runs_at_once_share_a_store() {
    let story = Story::new();
    let running: Vec<_> =
        (0..4).map(|_| story.start(&["run", "vmware", "null:", "--set", "run=300ms", "--json"])).collect();
    let mut ids: Vec<String> = running
        .into_iter()
        .map(|run| run.end().ends(DONE).json()["run"].as_str().unwrap().to_owned())
        .collect();
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), 4, "every run has an id of its own");
    assert_eq!(runs(&story, &[]), 4);
    for id in ids {
        assert_eq!(story.assay(&["show", &id, "--json"]).ends(DONE).json()["status"], "done");
    }
}

#[test]
fn a_run_is_shown_as_it_was_printed() {
    let story = Story::new();
    let printed = assay(&story, &["--label", "first", "--note", "new cable"]).ends(DONE);
    let shown = story.assay(&["show", "first", "--json"]).ends(DONE);
    assert_eq!(printed.json(), shown.json());
    let table = story.assay(&["run", "vmware", "null:", "--set", "ops=100"]).ends(DONE);
    assert_eq!(table.out, story.assay(&["show"]).ends(DONE).out);
}

#[test]
fn runs_are_labelled_noted_found_and_removed() {
    let story = Story::new();
    story.assay(&["show"]).refused(&["there is no store"]);
    let ids: Vec<String> =
        (0..3).map(|_| assay(&story, &[]).json()["run"].as_str().unwrap().to_owned()).collect();
    story.assay(&["label", &ids[0], "before", "--note", "old cable"]).ends(DONE);
    let shown = story.assay(&["show", "before", "--json"]).ends(DONE).json();
    assert_eq!((&shown["run"], &shown["note"]), (&ids[0].as_str().into(), &"old cable".into()));
    story.assay(&["label", "before", ""]).ends(DONE);
    story.assay(&["show", "before"]).refused(&["before", &ids[0]]);
    for (name, expected) in [("last", 2), ("last~1", 1), ("last~2", 0)] {
        assert_eq!(story.assay(&["show", name, "--json"]).json()["run"], ids[expected].as_str());
    }
    story.assay(&["show", "last~3"]).refused(&["last~3", "last~2"]);
    story.assay(&["label", "last"]).refused(&["--note"]);
    story.assay(&["rm", &ids[1], "nonesuch"]).refused(&["nonesuch"]);
    assert_eq!(runs(&story, &[]), 3, "all names are understood before anything is removed");
    story.assay(&["rm", &ids[1], &ids[2]]).ends(DONE);
    assert_eq!(story.assay(&["show", "--json"]).json()["run"], ids[0].as_str());
}
