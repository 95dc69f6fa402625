//! The fault matrix: faults of a run by phase and kind of target, and the guarantees that must hold.
//!
//! A [`Cell`] is one fault in one phase on one kind of target. [`run`] executes it with the real program on a real
//! file, device, LUN or NFS server ([`place`]): it starts a run, waits for the phase, causes the fault, waits for the
//! end, and checks what must hold in every cell: the run ends in bounded time with a message and no panic; nothing is
//! written outside of the target; the store is readable and contains every interval that was visible before; exit code
//! 0 means that the run is stored completely, and exit code 2 that nothing was written; and a later run works or states
//! why not.

mod phase;
pub mod place;

use std::time::{Duration, Instant};

use crate::story::{DONE, ProgramOutput, Running, Story};
use place::{Place, Played};

/// Longest duration of a run after a fault.
const END_MAX: Duration = Duration::from_secs(100);

/// Kind of fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// `kill -9`.
    Kill,
    /// `kill -STOP`, and `-CONT` a while later, like a suspended laptop.
    Stop,
    /// The network is cut for a while.
    Cut,
    /// The server crashes and restarts.
    Restart,
    /// The file system of the store, and of a file that is the target, is full.
    Full,
    /// The target becomes read-only.
    ReadOnly,
    /// Another disk takes over the number of the LUN.
    Remap,
    /// Another file or device takes over the name.
    Replace,
}

/// Phase of the fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// While targets are inspected and opened.
    Prepare,
    /// While the target is filled.
    Fill,
    /// Before the measured window.
    WarmUp,
    /// In the measured window.
    Measure,
    /// While workers drain and reconnect, as they do all the time in this plan.
    Drain,
    /// After the last step has ended.
    Close,
}

/// Kind of target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A file.
    File,
    /// A block device: a loop device, named by a link.
    Device,
    /// A LUN of tgt.
    Lun,
    /// A file on nfs-ganesha.
    Nfs,
}

/// All faults, in the order of tables.
pub const FAULTS: [Fault; 8] = [
    Fault::Kill,
    Fault::Stop,
    Fault::Cut,
    Fault::Restart,
    Fault::Full,
    Fault::ReadOnly,
    Fault::Remap,
    Fault::Replace,
];
/// What a fill has in flight, MiB. Writes that a target has received when it gives the number to another disk cannot be
/// recalled.
const IN_FLIGHT_MIB: usize = 16;
/// All phases.
pub const PHASES: [Phase; 6] =
    [Phase::Prepare, Phase::Fill, Phase::WarmUp, Phase::Measure, Phase::Drain, Phase::Close];
/// All kinds.
pub const KINDS: [Kind; 4] = [Kind::File, Kind::Device, Kind::Lun, Kind::Nfs];

/// One fault in one phase on one kind of target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cell {
    /// Kind of fault.
    pub fault: Fault,
    /// Phase.
    pub phase: Phase,
    /// Kind of target.
    pub kind: Kind,
}

/// Result of a cell.
#[derive(Debug)]
pub struct Ending {
    /// Exit code of the run; `None` if it was killed.
    pub code: Option<i32>,
    /// Exit code of the later run.
    pub code_afterwards: Option<i32>,
    /// Time from the fault to the end of the program.
    pub took: Duration,
    /// Guarantees that did not hold.
    pub broken: Vec<String>,
}

/// Returns all cells of the matrix.
pub fn cells() -> Vec<Cell> {
    let mut cells = Vec::new();
    for fault in FAULTS {
        for kind in KINDS {
            cells.extend(PHASES.map(|phase| Cell { fault, phase, kind }));
        }
    }
    cells
}

impl Cell {
    /// Returns why there is no such case; `None` if there is one.
    pub fn why_not(self) -> Option<&'static str> {
        match (self.fault, self.kind, self.phase) {
            (Fault::Cut | Fault::Restart, Kind::File | Kind::Device, _) => Some("no network, no server"),
            (Fault::Remap, Kind::File | Kind::Device | Kind::Nfs, _) => Some("no number: see replace"),
            (Fault::Replace, Kind::Lun, _) => Some("no name: see remap"),
            (Fault::ReadOnly, Kind::Device, Phase::Prepare) => None,
            (Fault::ReadOnly, Kind::Device, _) => Some("an open descriptor writes on"),
            (Fault::ReadOnly, Kind::Nfs, _) => Some("the lying server does it"),
            _ => None,
        }
    }

    /// Returns its name: `kill/fill/lun`.
    pub fn name(self) -> String {
        format!("{:?}/{:?}/{:?}", self.fault, self.phase, self.kind).to_lowercase()
    }
}

/// Executes a cell with that program; `jitter` moves the fault within its phase. `None` if its servers cannot be
/// started.
pub fn run(cell: Cell, program: &str, jitter: Duration) -> Option<Ending> {
    let mut place = Place::new(cell, program)?;
    let before = place.digests();
    let mut running = place.start();
    let seen = phase::wait_for(cell.phase, &mut place, &mut running, jitter);
    let began = Instant::now();
    place.fault(cell.fault, &mut running);
    let (output, took) = end(running, began);
    let mut broken = Vec::new();
    if took > END_MAX {
        broken.push(format!("it did not end within {} s", END_MAX.as_secs()));
    }
    check_words(cell, &output, &mut broken);
    let after = place.digests();
    let is_filling = cell.fault == Fault::Remap && cell.phase == Phase::Fill;
    let tolerated_mib = |name: &str| if is_filling && name == place::OTHER_DISK { IN_FLIGHT_MIB } else { 0 };
    broken.extend(after.changed_guards(&before, tolerated_mib));
    if !place.newcomer_is_kept() {
        broken.push("the file that took the target's place changed".into());
    }
    if cell.fault != Fault::Replace && output.code == Some(2) && before.target != after.target {
        let message = output.err.lines().last().unwrap_or_default();
        broken.push(format!("exit code 2, and the target changed: {message}"));
    }
    place.undo();
    check_store(&place.story, &output, &seen, &mut broken);
    let again = place.again();
    if again.code.is_none() || again.err.contains("panicked") {
        broken.push(format!("the run afterwards ended with {:?}: {}", again.code, again.err.trim()));
    }
    Some(Ending { code: output.code, code_afterwards: again.code, took, broken })
}

/// Waits for the end of a run, and ends it after the limit.
fn end(mut running: Running, began: Instant) -> (ProgramOutput, Duration) {
    while began.elapsed() <= END_MAX {
        if running.child().try_wait().unwrap().is_some() {
            let took = began.elapsed();
            return (running.end(), took);
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    running.signal("KILL");
    (running.end(), began.elapsed())
}

fn check_words(cell: Cell, output: &ProgramOutput, broken: &mut Vec<String>) {
    if output.err.contains("panicked") {
        broken.push(format!("it panicked: {}", output.err.trim()));
    }
    let is_killed = cell.fault == Fault::Kill;
    match output.code {
        None if !is_killed => broken.push("it died of a signal".into()),
        Some(code) if code > 2 => broken.push(format!("exit code {code}")),
        Some(1 | 2) if output.err.trim().is_empty() && output.out.trim().is_empty() => {
            broken.push("an exit code without a message".into());
        }
        _ => {}
    }
}

/// Checks that the store is readable and contains what was visible of the run before the fault.
fn check_store(story: &Story, output: &ProgramOutput, seen: &Played, broken: &mut Vec<String>) {
    if seen.intervals == 0 && output.code != Some(DONE) && !story.path("store.sqlite").exists() {
        // It ended before there was anything to store.
        return;
    }
    let listed = story.assay(&["runs", "--json"]);
    // A file system that fails while the store is created leaves a file without a byte.
    let is_empty = std::fs::metadata(story.path("store.sqlite")).is_ok_and(|file| file.len() == 0);
    if is_empty && seen.intervals == 0 && listed.err.contains("there is no store") {
        return;
    }
    if listed.code != Some(DONE) {
        broken.push(format!("the store cannot be listed: {}", listed.err.trim()));
        return;
    }
    let kept = place::played(story);
    if kept.intervals < seen.intervals {
        broken.push(format!("{} of {} intervals are kept", kept.intervals, seen.intervals));
    }
    if output.code == Some(DONE) && kept.status.as_deref() != Some("done") {
        broken.push(format!("exit code 0, and the stored run is {:?}", kept.status));
    }
}
