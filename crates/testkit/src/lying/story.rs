//! Runs every lie of a table as a separate story, all in parallel, as most of them wait for time limits.

use std::time::{Duration, Instant};

use super::Kept;

/// Longest duration of a story, on a machine with other load.
pub const LIMIT: Duration = Duration::from_secs(20);
/// Largest peak memory of the process after all stories at once, KiB.
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
    pub run: Box<dyn FnOnce() -> Ending + Send>,
}

impl std::fmt::Debug for Story {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Story({})", self.name)
    }
}

/// Runs all stories except those in `open`, which are known to fail; with `ASSAY_LIE=WORDS` those whose name contains
/// the words, including the open ones.
///
/// # Panics
/// If a story fails, or the process needs too much memory.
#[expect(clippy::print_stdout, reason = "what a test prints is shown when it fails")]
pub fn all(stories: Vec<Story>, open: &[&str]) {
    let wanted = std::env::var("ASSAY_LIE").unwrap_or_default();
    assert!(stories.len() >= 60, "{} lies", stories.len());
    let running: Vec<_> = stories
        .into_iter()
        .filter(|story| story.name.contains(&wanted) && (!wanted.is_empty() || !open.contains(&story.name)))
        .map(|Story { name, kept, run }| {
            let timed = move || {
                let began = Instant::now();
                let ending = run();
                (ending, began.elapsed())
            };
            (name, kept, std::thread::Builder::new().name(name.into()).spawn(timed).unwrap())
        })
        .collect();
    let mut broken = Vec::new();
    for (name, kept, thread) in running {
        match thread.join() {
            Ok((ending, took)) => {
                println!("{:6.2} s  {name}: {ending:?}", took.as_secs_f64());
                let is_kept = is_kept(kept, &ending);
                broken.extend((!is_kept).then(|| format!("{name}: {kept:?} was to be kept\n    {ending:?}")));
                broken.extend((took > LIMIT).then(|| format!("{name}: took {took:?}")));
            }
            Err(_) => broken.push(format!("{name}: the story panicked")),
        }
    }
    assert!(broken.is_empty(), "{} lies:\n{}", broken.len(), broken.join("\n"));
    let peak_kib = peak_kib();
    assert!(peak_kib < MEMORY_KIB_MAX, "{peak_kib} KiB of memory at the peak");
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
