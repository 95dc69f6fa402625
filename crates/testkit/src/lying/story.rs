//! Runs every lie of a table as a separate story, many in parallel, as most of them wait for time limits.

use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::Kept;
use crate::pauses::Watch;

/// Longest duration of a story, on a machine with other load.
pub const LIMIT: Duration = Duration::from_secs(20);
/// Stories at a time: those of a whole table took up to 430 MB together, so that one that takes more was not seen.
const TOGETHER: usize = 32;
/// Largest peak memory of the process after all stories, KiB.
const MEMORY_KIB_MAX: u64 = 400 << 10;

/// Result of a story: failures and reports.
#[derive(Debug, Default)]
pub struct Ending {
    /// Errors of the connect and of commands.
    pub errors: Vec<String>,
    /// Events of paths and connections.
    pub events: Vec<String>,
}

/// A story to be run.
pub struct Story {
    /// Name of the lie.
    pub name: &'static str,
    /// What must hold.
    pub kept: Kept,
    /// The story.
    pub run: Arc<dyn Fn() -> Ending + Send + Sync>,
}

impl std::fmt::Debug for Story {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Story({})", self.name)
    }
}

/// Runs all stories except those in `open`, which are known to fail; with `ASSAY_LIE=WORDS` those whose name contains
/// the words, including the open ones.
///
/// The time limits that the stories set are short, and many stories run at once: where the machine kept this process
/// waiting for a CPU, what failed runs again alone.
///
/// # Panics
/// If a story fails, or the process needs too much memory.
#[expect(clippy::print_stdout, reason = "what a test prints is shown when it fails")]
pub fn all(stories: &[Story], open: &[&str]) {
    let wanted = std::env::var("ASSAY_LIE").unwrap_or_default();
    assert!(stories.len() >= 60, "{} lies", stories.len());
    let watch = Watch::begin();
    let is_wanted =
        |story: &&Story| story.name.contains(&wanted) && (!wanted.is_empty() || !open.contains(&story.name));
    let wanted: Vec<&Story> = stories.iter().filter(is_wanted).collect();
    let mut broken: Vec<(String, &Story)> = Vec::new();
    for together in wanted.chunks(TOGETHER) {
        let running: Vec<_> = together.iter().map(|story| (story.started(), *story)).collect();
        broken.extend(running.into_iter().filter_map(|(thread, story)| Some((story.fault(thread)?, story))));
    }
    let pauses = watch.end();
    if pauses.is_busy() {
        println!("{pauses:?}: {} lies run again", broken.len());
        broken = broken
            .into_iter()
            .filter_map(|(_, story)| Some((story.fault(story.started())?, story)))
            .collect();
    }
    let faults: Vec<String> = broken.into_iter().map(|(fault, _)| fault).collect();
    assert!(faults.is_empty(), "{} lies:\n{}\n{pauses:?}", faults.len(), faults.join("\n"));
    let peak_kib = peak_kib();
    assert!(peak_kib < MEMORY_KIB_MAX, "{peak_kib} KiB of memory at the peak");
}

impl Story {
    /// Runs the story in a thread of its own.
    fn started(&self) -> JoinHandle<(Ending, Duration)> {
        let run = Arc::clone(&self.run);
        let timed = move || {
            let began = Instant::now();
            let ending = run();
            (ending, began.elapsed())
        };
        std::thread::Builder::new().name(self.name.into()).spawn(timed).unwrap()
    }

    /// Waits for the end of the story, and returns what was wrong with it.
    #[expect(clippy::print_stdout, reason = "what a test prints is shown when it fails")]
    fn fault(&self, thread: JoinHandle<(Ending, Duration)>) -> Option<String> {
        let name = self.name;
        let Ok((ending, took)) = thread.join() else { return Some(format!("{name}: the story panicked")) };
        println!("{:6.2} s  {name}: {ending:?}", took.as_secs_f64());
        if !is_kept(self.kept, &ending) {
            return Some(format!("{name}: {:?} was to be kept\n    {ending:?}", self.kept));
        }
        (took > LIMIT).then(|| format!("{name}: took {took:?}"))
    }
}

fn is_kept(kept: Kept, ending: &Ending) -> bool {
    let says = |words: &[&str], lines: &[String]| {
        words.iter().any(|word| lines.iter().any(|line| line.contains(word)))
    };
    match kept {
        Kept::Either => true,
        Kept::Right => ending.errors.is_empty(),
        Kept::RightAndSaid(words) => ending.errors.is_empty() && says(words, &ending.events),
        Kept::Fails(words) => {
            !ending.errors.is_empty() && (says(words, &ending.errors) || says(words, &ending.events))
        }
    }
}

/// Returns the most memory that this process had so far, KiB.
fn peak_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")?.trim().strip_suffix(" kB"));
    peak.unwrap().parse().unwrap()
}
