//! The store is deleted, replaced or full while a run goes on: it is said at once, the run goes on, nothing is lost.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use assay_testkit::need;

use crate::story::{DONE, ERRORS, INTERRUPTED, Story, count, run};

const PLAN: &str = "[[test]]\nname = \"t\"\nrun = \"10min\"\naccess = [{ size = \"4KiB\", random = 100 }]\n";

/// Runs on `null:` until the store was lost and that was said, then stops; returns what was printed.
fn lose(story: &Story, store: &Path, lose: impl FnOnce()) -> crate::story::ProgramOutput {
    story.write("plan.toml", PLAN);
    let mut command = story.command(&["run", "plan.toml", "null:", "--label", "kept", "--store"]);
    command.arg(store).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut running = crate::story::Running::of(command);
    let look = || story.assay(&["show", "--json", "--store", store.to_str().unwrap()]);
    while !look().out.contains("\"iops\"") {
        std::thread::sleep(Duration::from_millis(50));
    }
    lose();
    let heard = running.hear("can no longer use the store");
    std::thread::sleep(Duration::from_millis(1500));
    running.signal("INT");
    let mut printed = running.end();
    printed.err = heard + &printed.err;
    printed
}

/// The file that has the run, as the program names it.
fn kept(printed: &crate::story::ProgramOutput) -> String {
    let says = printed.err.split("all of it is in ").nth(1).unwrap_or_else(|| panic!("{}", printed.err));
    says.split(": assay import").next().unwrap().to_owned()
}

/// Checks that the file has all of the run, and that the store takes it.
fn check_kept(story: &Story, store: &Path, printed: crate::story::ProgramOutput) {
    let printed = printed.ends(ERRORS);
    assert!(!printed.err.contains("stored as run"), "{}", printed.err);
    let file = kept(&printed);
    let shown = story.assay(&["show", &file, "--json"]).ends(DONE).json();
    assert_eq!((&shown["status"], &shown["label"]), (&"interrupted".into(), &"kept".into()));
    assert!(count(&shown, "/tests/0/total/ops") > 0);
    assert!(shown["tests"][0]["series"].as_array().unwrap().len() >= 2, "from before and after");
    use std::os::unix::fs::PermissionsExt as _;
    let mode = std::fs::metadata(&file)
        .or_else(|_| std::fs::metadata(story.path(&file)))
        .unwrap()
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o600);
    let store = store.to_str().unwrap();
    story.assay(&["import", &file, "--store", store]).ends(DONE);
    let stored = story.assay(&["show", "kept", "--json", "--store", store]).ends(DONE).json();
    assert_eq!(stored, shown);
}

#[test]
fn a_store_that_is_deleted_during_a_run_costs_nothing() {
    let story = Story::new();
    let store = story.path("store.sqlite");
    let printed = lose(&story, &store, || {
        for end in ["", "-wal", "-shm", "-live"] {
            std::fs::remove_file(story.path(&format!("store.sqlite{end}"))).unwrap();
        }
    });
    check_kept(&story, &store, printed.says(&["was deleted or moved", "the run goes on, and is kept in"]));
}

/// Nothing was said of a test file that somebody deleted while it was measured.
#[test]
fn a_target_that_is_deleted_during_a_run_is_named() {
    let story = Story::new();
    story.write("plan.toml", PLAN);
    let mut running = story.start(&["run", "plan.toml", "t.dat", "--size", "1MiB"]);
    story.wait_for(|run| run["tests"][0]["total"]["ops"].as_u64() > Some(0));
    std::fs::remove_file(story.path("t.dat")).unwrap();
    running.signal("INT");
    let printed = running.end().ends(INTERRUPTED);
    assert!(printed.err.contains("t.dat was moved, deleted or replaced during the run"), "{}", printed.err);
}

#[test]
fn a_store_that_is_replaced_during_a_run_costs_nothing() {
    let story = Story::new();
    let (store, other) = (story.path("store.sqlite"), story.path("other.sqlite"));
    story
        .assay(&["run", "vmware", "null:", "--set", "ops=10", "--store", other.to_str().unwrap()])
        .ends(DONE);
    let printed = lose(&story, &store, || std::fs::rename(&other, &store).unwrap());
    for end in ["-wal", "-shm", "-live"] {
        let _ = std::fs::remove_file(story.path(&format!("store.sqlite{end}")));
    }
    check_kept(&story, &store, printed.says(&["was replaced by another file"]));
}

#[test]
fn a_full_file_system_under_the_store_costs_nothing() {
    if !need::root() {
        return;
    }
    let story = Story::new();
    let folder = story.path("small");
    std::fs::create_dir(&folder).unwrap();
    let text = folder.to_str().unwrap();
    run(&["mount", "-t", "tmpfs", "-o", "size=2m", "assay", text]);
    let store = folder.join("runs.sqlite");
    let printed = lose(&story, &store, || {
        assert!(std::fs::write(folder.join("more"), vec![1; 4 << 20]).is_err(), "now it is full");
    });
    let printed = printed.ends(ERRORS).says(&["no space left", "the run goes on"]);
    // What is there can be read while it is full, and says what it lacks.
    let part = story.assay(&["show", "--json", "--store", store.to_str().unwrap()]).ends(DONE).json();
    assert_eq!(part["status"], "partial");
    std::fs::remove_file(folder.join("more")).unwrap();
    check_kept(&story, &store, printed);
    run(&["umount", text]);
}

/// What a store could not keep was a note on the terminal, and an exported run looked whole.
#[test]
fn what_a_run_lacks_is_said_in_json_and_survives_export_and_import() {
    let story = Story::new();
    story.assay(&["run", "vmware", "null:", "--set", "ops=10", "--json"]).ends(DONE);
    // Without a checksum, as rows of earlier versions: this one would say that the row was changed.
    let lost = "UPDATE run SET lost = 'disk gone', row_crc32c = NULL";
    run(&["sqlite3", story.path("store.sqlite").to_str().unwrap(), lost]);
    let check = |story: &Story| {
        let shown =
            story.assay(&["show", "--json"]).ends(DONE).says(&["its last events could not be stored"]);
        assert_eq!(shown.json()["lost"], "disk gone");
        assert_eq!(story.assay(&["runs", "--json"]).ends(DONE).json()[0]["lost"], "disk gone");
    };
    check(&story);
    story.assay(&["export", "-o", "r.assay"]).ends(DONE);
    assert_eq!(story.assay(&["show", "r.assay", "--json"]).ends(DONE).json()["lost"], "disk gone");
    let other = Story::new();
    other.write("r.assay", story.read("r.assay"));
    other.assay(&["import", "r.assay"]).ends(DONE);
    check(&other);
}

#[test]
fn a_run_that_goes_well_says_so() {
    let story = Story::new();
    story.write("plan.toml", PLAN);
    let mut running = story.start(&["run", "plan.toml", "null:"]);
    story.wait_for(|run| run["tests"][0]["series"].as_array().is_some_and(|series| !series.is_empty()));
    running.signal("INT");
    running.end().ends(INTERRUPTED).says(&["stored as run"]);
}
