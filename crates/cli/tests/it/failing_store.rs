//! The disk under the store fails from the n-th operation on, for n from the first to the last: whatever the store
//! holds is sound, and the run is in it or in the file that the program names.
//!
//! The disk is a library between the program and the system, which fails what is done to files in one folder: writes,
//! syncs, cuts and renames of SQLite and of the program alike, or reads.

use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use assay_testkit::need;

use crate::story::{BAD_INPUT, DONE, ERRORS, ProgramOutput, Story, run};

const PLAN: &str = "[[test]]\nname = \"t\"\nrun = \"1s\"\naccess = [{ size = \"4KiB\", random = 100 }]\n";
/// Number of places at which the disk begins to fail, for a new store and for one that holds a run.
const PLACES: usize = 14;
const EIO: i32 = 5;
const ENOSPC: i32 = 28;

/// A store on a disk of its own.
struct Disk {
    story: Story,
    shim: PathBuf,
}

impl Disk {
    /// Returns one with a new store, or with one that holds a run; `None` without a compiler.
    fn new(has_run: bool) -> Option<Self> {
        if !need::programs(&["gcc", "sqlite3"]) {
            return None;
        }
        let story = Story::new();
        let (source, shim) =
            (story.write("shim.c", include_str!("failing_store/shim.c")), story.path("shim.so"));
        run(&["gcc", "-shared", "-fPIC", "-o", shim.to_str().unwrap(), &source, "-ldl"]);
        std::fs::create_dir(story.path("disk")).unwrap();
        story.write("plan.toml", PLAN);
        let disk = Self { story, shim };
        if has_run {
            disk.assay(&["run", "vmware", "null:", "--set", "ops=10", "--label", "before"]).ends(DONE);
        }
        Some(disk)
    }

    fn store(&self) -> PathBuf {
        self.story.path("disk/runs.sqlite")
    }

    fn assay(&self, words: &[&str]) -> ProgramOutput {
        crate::story::printed(self.story.command(words).env("ASSAY_STORE", self.store()).output().unwrap())
    }

    /// Runs the program while the disk fails from the operation `from` on. Returns also how many there were.
    fn failing(&self, words: &[&str], what: &str, from: usize, errno: i32) -> (ProgramOutput, usize) {
        let count = self.story.path("count");
        let mut command = self.story.command(words);
        let folder = std::fs::canonicalize(self.story.path("disk")).unwrap();
        command
            .env("ASSAY_STORE", folder.join("runs.sqlite"))
            .env("LD_PRELOAD", &self.shim)
            .env("FAILING_FOLDER", format!("{}/", folder.display()))
            .env("FAILING_WHAT", what)
            .env("FAILING_FROM", from.to_string())
            .env("FAILING_ERRNO", errno.to_string())
            .env("FAILING_COUNT", &count);
        let printed = crate::story::printed(command.output().unwrap());
        assert!(!printed.err.contains("panicked"), "from {from}: {}", printed.err);
        let count = std::fs::read_to_string(count).expect("the program ends by itself");
        (printed, count.parse().unwrap())
    }

    /// Checks the database with the program's own opening, and then by itself.
    fn is_sound(&self, what: &str) {
        if !self.store().exists() {
            return;
        }
        self.assay(&["runs", "--json"]).ends(DONE);
        let said = run(&["sqlite3", self.store().to_str().unwrap(), "PRAGMA integrity_check"]);
        assert_eq!(said.trim(), "ok", "{what}");
    }
}

/// Plays one place, and returns where the run is.
fn play(has_run: bool, from: usize, errno: i32) -> &'static str {
    let disk = Disk::new(has_run).expect("looked for before");
    let words = ["run", "plan.toml", "null:", "--label", "kept"];
    let (printed, _) = disk.failing(&words, "writes", from, errno);
    let what =
        format!("from {from}, errno {errno}, a run before: {has_run}:\n{}\n{}", printed.out, printed.err);
    disk.is_sound(&what);
    let fate = match printed.code {
        Some(DONE) => {
            assert!(printed.err.contains("stored as run") || printed.out.contains("stored as run"), "{what}");
            "stored"
        }
        Some(ERRORS) => {
            let named = printed.err.split("all of it is in ").nth(1).unwrap_or_else(|| panic!("{what}"));
            let file = named.split(": assay import").next().unwrap();
            disk.assay(&["show", file, "--json"]).ends(DONE);
            // A part of it may be in the store, which the whole replaces; or all of it, if its last sync failed.
            let imported = disk.assay(&["import", file]);
            assert!(imported.code == Some(DONE) || imported.err.contains("already contains run"), "{what}");
            "kept beside"
        }
        Some(BAD_INPUT) => {
            assert!(printed.err.contains("store"), "{what}");
            "refused"
        }
        code => panic!("{code:?}: {what}"),
    };
    if fate != "refused" {
        let shown = disk.assay(&["show", "kept", "--json"]).ends(DONE).json();
        assert_eq!(shown["status"], "done", "{what}");
    }
    if has_run {
        disk.assay(&["show", "before", "--json"]).ends(DONE);
    }
    disk.is_sound(&what);
    fate
}

/// Returns some of the numbers from 1 to `count`: the first ones, and then ever fewer.
fn spread(count: usize) -> Vec<usize> {
    let last = PLACES - 1;
    let mut places: Vec<usize> = (0..PLACES).map(|at| 1 + (count - 1) * at * at / (last * last)).collect();
    places.dedup();
    places
}

#[test]
fn a_disk_that_fails_from_any_operation_on_costs_no_run_and_no_store() {
    let Some(whole) = Disk::new(false) else { return };
    let words = ["run", "plan.toml", "null:"];
    let (_, of_new) = whole.failing(&words, "writes", usize::MAX >> 1, EIO);
    let (_, of_old) = whole.failing(&words, "writes", usize::MAX >> 1, EIO);
    assert!(of_new > PLACES && of_old > PLACES, "{of_new} {of_old}");
    let places = |has_run: bool, count| {
        (0..)
            .zip(spread(count))
            .map(move |(at, from)| (has_run, from, if at % 2 == 0 { EIO } else { ENOSPC }))
    };
    let all: Vec<(bool, usize, i32)> = places(false, of_new).chain(places(true, of_old)).collect();
    let (next, fates) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                while let Some((has_run, from, errno)) =
                    all.get(next.fetch_add(1, Ordering::Relaxed)).copied()
                {
                    let fate = play(has_run, from, errno);
                    fates.lock().unwrap().push((has_run, from, errno, fate));
                }
            });
        }
    });
    let fates = fates.into_inner().unwrap();
    println!("{of_new} operations of a new store, {of_old} of one with a run: {fates:?}");
    assert!(fates.iter().any(|(.., fate)| *fate == "kept beside"), "{fates:?}");
}

/// The log of the store could not be read, and was said to be another program's: the advice was to move it away.
#[test]
fn a_disk_that_fails_all_reads_is_named_and_no_file_of_the_store_is_called_foreign() {
    let Some(disk) = Disk::new(true) else { return };
    // A log remains when the last user of a store is killed.
    let log = disk.story.path("disk/runs.sqlite-wal");
    std::fs::write(&log, [0x37, 0x7F, 0x06, 0x82].repeat(8)).unwrap();
    let (printed, _) = disk.failing(&["runs"], "reads", 1, EIO);
    let printed = printed.says(&["Input/output error"]);
    assert!(!printed.err.contains("another program"), "{}", printed.err);
    assert_ne!(printed.code, Some(DONE));
}
