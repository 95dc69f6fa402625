//! A run is kept on a file system that refuses to write from some byte of each file on, from some event to another:
//! hundreds of seeds, each checked with a model of what must be kept.
//!
//! The backend is a limit on the size of files, which the kernel applies to every write of SQLite (the file, its log,
//! the index of that) and of the spool alike, and which cuts the write that reaches it. It is one of the process, so
//! the seeds are played in a process of their own.

use std::path::{Path, PathBuf};
use std::process::Command;

use assay_record::{Event, ExportCover, RunDigest, RunEvent, RunHeader, Warning};
use assay_store::Store;
use assay_testkit::synthetic;
use nix::sys::resource::{RLIM_INFINITY, Resource, setrlimit};
use nix::sys::signal::{SigSet, Signal};

use super::Keeper;
use crate::error::NotStored;

/// Seeds to play, `FROM..TO`; set in the process that plays them, and by whoever replays one or plays thousands.
const SEEDS: &str = "ASSAY_FAILING_SEEDS";
const THIS: &str = "keep::failing::what_was_kept_stays_kept_wherever_writing_fails";

#[test]
fn what_was_kept_stays_kept_wherever_writing_fails() {
    if let Ok(seeds) = std::env::var(SEEDS) {
        let (from, to) = seeds.split_once("..").unwrap();
        return play(from.parse().unwrap()..to.parse().unwrap());
    }
    let folder = tempfile::tempdir().unwrap();
    let mut child = Command::new(std::env::current_exe().unwrap());
    child.args(["--exact", THIS, "--nocapture"]).env(SEEDS, "0..200");
    // The places in which the spool is tried after the folder of the store.
    let child = child.current_dir(folder.path()).env("TMPDIR", folder.path()).output().unwrap();
    let said = String::from_utf8_lossy(&child.stderr);
    assert!(child.status.success(), "{said}");
    println!("{}", String::from_utf8_lossy(&child.stdout));
}

/// Numbers that follow from a seed.
struct Dice(u64);

impl Dice {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ mixed >> 31) % end
    }

    fn index(&mut self, end: usize) -> usize {
        usize::try_from(self.below(end as u64)).unwrap()
    }
}

/// What is done to the backend, and to what.
#[derive(Debug)]
struct Attack {
    /// Byte of each file from which on nothing can be written.
    limit_bytes: u64,
    /// Number of the event before which that begins, and of the one before which it ends; the last number is that of
    /// the end of the run.
    from: usize,
    until: Option<usize>,
}

fn play(seeds: std::ops::Range<u64>) {
    // As in the program: the write fails instead of ending the process.
    let mut signals = SigSet::empty();
    signals.add(Signal::SIGXFSZ);
    signals.thread_block().unwrap();
    let memory = Path::new("/dev/shm");
    let place = if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() }.unwrap();
    let pattern = place.path().join("pattern.sqlite");
    let [earlier, run] = ["261121-aaaa", "261122-bbbb"].map(made_up);
    keep(&mut Keeper::begin(&Store::open(&pattern).unwrap(), header(&earlier), (None, None)), &earlier);
    let mut counts = [0_u32; 4];
    for seed in seeds {
        let folder = place.path().join(seed.to_string());
        std::fs::create_dir(&folder).unwrap();
        std::fs::copy(&pattern, folder.join("runs.sqlite")).unwrap();
        counts[story(seed, &folder, &earlier, &run)] += 1;
        std::fs::remove_dir_all(&folder).unwrap();
    }
    let [stored, whole, part, none] = counts;
    println!("stored {stored}, whole in a file {whole}, in part {part}, nowhere {none}");
}

fn limit(bytes: u64) {
    setrlimit(Resource::RLIMIT_FSIZE, bytes, RLIM_INFINITY).unwrap();
}

pub(super) fn header(events: &[Event]) -> &RunHeader {
    let RunEvent::Started(header) = &events[0].what else { panic!("a run begins with its header") };
    header
}

/// Returns the events of a made-up run.
pub(super) fn made_up(run: &str) -> Vec<Event> {
    let test =
        |name| format!("[[test]]\nname = \"{name}\"\nrun = \"2s\"\naccess = [{{ size = \"8KiB\" }}]\n");
    let plan = synthetic::plan(&(test("a") + &test("b")));
    let header = RunHeader { run: run.to_owned(), ..synthetic::header(plan) };
    synthetic::events(&header, synthetic::Target::default())
}

/// Returns the events of a run with warnings of any length between them.
fn with_warnings(run: &[Event], dice: &mut Dice) -> Vec<Event> {
    let mut events = run.to_vec();
    for _ in 0..dice.index(6) {
        let at = 1 + dice.index(events.len() - 1);
        let longest = if dice.below(6) == 0 { 30_000 } else { 2000 };
        let says = "x".repeat(dice.index(longest));
        let warning = Warning { rule: "unwritten".into(), says, next: String::new() };
        events.insert(at, Event { at_ns: events[at - 1].at_ns, what: RunEvent::Warning(warning) });
    }
    events
}

/// Keeps all events but the first; expects that nothing fails.
fn keep(keeper: &mut Keeper, events: &[Event]) {
    events.iter().for_each(|event| keeper.append(event));
    keeper.finish().unwrap();
}

/// Plays a seed. Returns where the run is: 0 in the store, 1 as a whole in a file, 2 in part, 3 nowhere.
fn story(seed: u64, folder: &Path, earlier: &[Event], run: &[Event]) -> usize {
    let dice = &mut Dice(seed);
    let events = with_warnings(run, dice);
    let range = [600_000, 200_000, 40_000][dice.index(3)];
    let from = dice.index(events.len() + 1);
    let until =
        (from < events.len() && dice.below(2) == 0).then(|| from + 1 + dice.index(events.len() - from));
    let attack = Attack { limit_bytes: dice.below(range), from, until };
    let path = folder.join("runs.sqlite");
    let store = Store::open(&path).unwrap();
    let apply = |at: usize| {
        if attack.until == Some(at) {
            limit(RLIM_INFINITY);
        } else if attack.from == at {
            limit(attack.limit_bytes);
        }
    };
    apply(0);
    let mut keeper = Keeper::begin(&store, header(&events), (Some("l"), None));
    let mut acknowledged = usize::from(keeper.news().is_none());
    for (at, event) in events.iter().enumerate().skip(1) {
        apply(at);
        keeper.append(event);
        if acknowledged == at && keeper.news().is_none() {
            acknowledged += 1;
        }
        if matches!(event.what, RunEvent::StepEnded(_)) {
            keeper.keep_digest(&RunDigest::default());
        }
    }
    apply(events.len());
    let finished = keeper.finish();
    drop(keeper);
    drop(store);
    limit(RLIM_INFINITY);
    let checked = Checked { folder, events: &events, earlier, attack: &attack, acknowledged };
    std::panic::catch_unwind(|| checked.check(finished.as_ref().err()))
        .unwrap_or_else(|_| panic!("seed {seed}: {attack:?}, {} events, {finished:?}", events.len()))
}

/// A run that was kept as far as that went.
struct Checked<'c> {
    folder: &'c Path,
    events: &'c [Event],
    earlier: &'c [Event],
    attack: &'c Attack,
    acknowledged: usize,
}

impl Checked<'_> {
    fn check(&self, failed: Option<&NotStored>) -> usize {
        let stored = self.stored();
        assert!(stored >= self.acknowledged, "{stored} of {} events are stored", self.acknowledged);
        let Some(failed) = failed else {
            assert_eq!(stored, self.events.len(), "a run that counts as stored is stored");
            assert_eq!(self.spools(), Vec::<PathBuf>::new());
            return 0;
        };
        let in_file = failed.file.as_deref().map_or(0, |file| self.in_file(file));
        assert_eq!(self.spools(), failed.file.clone().into_iter().collect::<Vec<_>>());
        assert_eq!(failed.is_whole, in_file == self.events.len(), "{in_file} events are in the file");
        // A backend that takes writes again before the end of the run costs nothing.
        let bytes: usize = self.events.iter().map(|event| serde_json::to_string(event).unwrap().len()).sum();
        let is_mended = self.attack.until.is_some() && bytes < crate::lines::KEPT_BYTES_MAX;
        assert!(!is_mended || failed.is_whole, "{in_file} of {} events are in the file", self.events.len());
        match failed {
            NotStored { is_whole: true, .. } => 1,
            NotStored { file: Some(_), .. } => 2,
            NotStored { file: None, .. } => 3,
        }
    }

    /// Returns the number of events in the store, which are the first ones, and say what they are.
    fn stored(&self) -> usize {
        let store = Store::open(self.folder.join("runs.sqlite")).unwrap();
        assert!(store.load(&header(self.earlier).run).unwrap() == self.earlier, "an earlier run is touched");
        let rows = store.runs().unwrap();
        let run = &header(self.events).run;
        let Some(row) = rows.iter().find(|row| row.run == *run) else { return 0 };
        let stored = store.load(run).unwrap();
        assert!(stored == self.events[..stored.len()], "the store has something else");
        assert_eq!(row.unreadable, None);
        assert_eq!(row.status.is_some(), stored.len() == self.events.len(), "{row:?}");
        let is_taken_again = self.attack.until.is_some();
        assert!(
            row.status.is_some() || row.lost.is_some() || !is_taken_again,
            "nothing says that it was cut"
        );
        stored.len()
    }

    /// Returns the number of events in a file that stands in for the store, which are the first ones.
    fn in_file(&self, file: &Path) -> usize {
        let text = std::fs::read_to_string(file).unwrap();
        assert!(text.ends_with('\n'), "the last line is torn");
        let mut lines = text.lines();
        let cover: ExportCover = serde_json::from_str(lines.next().unwrap()).unwrap();
        assert_eq!((&cover.run, cover.label.as_deref()), (&header(self.events).run, Some("l")));
        let kept: Vec<Event> = lines.map(|line| serde_json::from_str(line).unwrap()).collect();
        assert!(kept == self.events[..kept.len()], "the file has something else");
        kept.len()
    }

    fn spools(&self) -> Vec<PathBuf> {
        let places = [self.folder.to_owned(), PathBuf::from("."), std::env::temp_dir()];
        let name = format!("{}.assay", header(self.events).run);
        let mut found: Vec<PathBuf> =
            places.map(|place| place.join(&name)).into_iter().filter(|p| p.exists()).collect();
        found.dedup_by_key(|path| std::fs::canonicalize(path).unwrap());
        found
    }
}
