//! Signals that ask the program to stop: Ctrl-C, SIGTERM, and SIGHUP when the terminal is closed. The first one asks a
//! run to end, so that everything measured is kept; the second one ends the program. Ctrl-Z pauses a run where no load
//! runs, between two steps, so that no window has a hole; the second one does so at once.
//!
//! A stop does not wait for ever for a server or a disk that does not answer: once its time is over the program ends
//! itself, whatever its threads wait for. What was measured is in the store by then.

use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::time::{Duration, Instant};

use anyhow::Context as _;
use assay_engine::StopSignal;
use assay_runner::Stage;
use assay_target::STOP_LIMIT;
use nix::sys::signal::{SigSet, Signal};

use crate::exit::Exit;
use crate::output::progress::{note_above, note_interrupt};
use crate::output::terminal::note;

/// Set by Ctrl-Z until the present step ends.
static IS_PAUSE_ASKED: AtomicBool = AtomicBool::new(false);

/// Set by SIGHUP.
static TERMINAL_IS_CLOSED: AtomicBool = AtomicBool::new(false);

/// A stop that was seen takes effect within this; what it has to wait for has a limit of its own.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// A second signal within this is the first one again: timeout(1) and `docker stop` behind a shell send one to the
/// program and one to its group, and nobody asks twice in so short a time.
const SAME_REQUEST: Duration = Duration::from_millis(500);

static STAGE: AtomicU8 = AtomicU8::new(Stage::Inspecting as u8);

/// Leaves the session of whoever started the run, where that is asked for, so that it outlives them.
pub(crate) fn leave_session(is_asked: bool) -> anyhow::Result<()> {
    if is_asked {
        // Only the leader of a process group cannot, and nobody started it as one.
        nix::unistd::setsid().context("cannot leave the session of whoever started the run")?;
    }
    Ok(())
}

/// Notes what the program is at; it decides how long a stop may take.
pub(crate) fn enter(stage: Stage) {
    STAGE.store(stage as u8, Ordering::Relaxed);
}

/// Returns how long a stop may take, and what to say where it takes longer; `None`: as long as it takes.
fn limit(stage: u8) -> Option<(Duration, &'static str)> {
    const INSPECTING: u8 = Stage::Inspecting as u8;
    const OPENING: u8 = Stage::Opening as u8;
    const FILLING: u8 = Stage::Filling as u8;
    const MEASURING: u8 = Stage::Measuring as u8;
    const CLOSING: u8 = Stage::Closing as u8;
    match stage {
        INSPECTING => {
            let says = "the target has not answered since; nothing was measured, and nothing was written";
            Some((STOP_LIMIT, says))
        }
        OPENING => Some((
            STOP_LIMIT + Duration::from_secs(2),
            "the target that was being opened has not answered since; nothing was measured, but files may have been \
             created or marked: the next run reuses them, or removes them with --remove",
        )),
        FILLING => Some((
            STOP_LIMIT + Duration::from_secs(2),
            "the target that was being filled has not answered since",
        )),
        MEASURING | CLOSING => Some((
            STOP_LIMIT * 3,
            "the target has not answered since; assay show last prints what was measured",
        )),
        // The result is printed, for as long as its reader takes: no target is waited for any more.
        _ => None,
    }
}

/// Ends the program where a stop takes too long.
fn end_in_time() {
    let began = Instant::now();
    loop {
        std::thread::sleep(LOOK_EVERY);
        // A run may follow in which a target is waited for again.
        if let Some((most, says)) = limit(STAGE.load(Ordering::Relaxed))
            && began.elapsed() >= most
        {
            note!("\nstopped {} s after the signal: {says}", most.as_secs());
            std::process::exit(Exit::Interrupted as i32);
        }
    }
}

/// Returns true once the terminal was closed.
pub(crate) fn terminal_is_closed() -> bool {
    TERMINAL_IS_CLOSED.load(Ordering::Relaxed)
}

/// Makes a limit on the size of files (`ulimit -f`) an error of the write that exceeds it: by default the signal ends
/// the program without a word. Threads inherit what is blocked, so this comes before any is started.
pub(crate) fn survive_file_limits() {
    let mut signals = SigSet::empty();
    signals.add(Signal::SIGXFSZ);
    // If it cannot be blocked, the limit ends the program as before.
    let _ = signals.thread_block();
}

/// Listens for signals from now on. Threads inherit what is blocked, so this comes before any is started.
pub(crate) fn stop_on_signals() -> anyhow::Result<StopSignal> {
    let mut signals = SigSet::empty();
    signals.add(Signal::SIGINT);
    signals.add(Signal::SIGTERM);
    // Under nohup a run outlives its terminal.
    if !is_ignored(Signal::SIGHUP) {
        signals.add(Signal::SIGHUP);
    }
    // A shell without job control ignores it for its children.
    if !is_ignored(Signal::SIGTSTP) {
        signals.add(Signal::SIGTSTP);
    }
    signals.thread_block().context("cannot listen for Ctrl-C")?;
    let stop = StopSignal::default();
    let asked = stop.clone();
    let listen = move || {
        let mut first = None;
        while let Ok(signal) = signals.wait() {
            if signal == Signal::SIGTSTP {
                ask_for_pause();
                continue;
            }
            let since = first.get_or_insert_with(Instant::now).elapsed();
            hear(signal, since, &asked);
        }
    };
    std::thread::Builder::new().name("signals".into()).spawn(listen).context("cannot listen for Ctrl-C")?;
    Ok(stop)
}

/// Takes a signal that came so long after the first one.
fn hear(signal: Signal, since: Duration, stop: &StopSignal) {
    if signal == Signal::SIGHUP {
        TERMINAL_IS_CLOSED.store(true, Ordering::Relaxed);
        // The kernel and the shell may both send one, and nobody is there to mean anything by it.
        begin_stop(stop);
        return;
    }
    if stop.is_set() && since < SAME_REQUEST {
        return;
    }
    if stop.is_set() {
        note!("\nstopped; the stored run is marked partial");
        std::process::exit(Exit::Interrupted as i32);
    }
    begin_stop(stop);
    let says = "stopping: what was measured is kept; Ctrl-C again stops at once";
    if signal == Signal::SIGINT { note_interrupt(says) } else { note_above(says) }
}

/// Takes Ctrl-Z: the program pauses when the present step ends, or at once where none is measured, or if it was asked
/// before.
fn ask_for_pause() {
    let is_measuring = STAGE.load(Ordering::Relaxed) == Stage::Measuring as u8;
    if !is_measuring || IS_PAUSE_ASKED.swap(true, Ordering::Relaxed) {
        IS_PAUSE_ASKED.store(false, Ordering::Relaxed);
        suspend();
        return;
    }
    note_interrupt("pausing when this step ends; Ctrl-Z again pauses at once, with a gap in its window");
}

/// Pauses between two steps, if Ctrl-Z asked for it.
pub(crate) fn pause_if_asked() {
    if IS_PAUSE_ASKED.swap(false, Ordering::Relaxed) {
        note_above("paused between two steps; to go on: fg");
        suspend();
    }
}

/// Stops the whole process, as the terminal does, until it is continued.
fn suspend() {
    // No process may refuse it, so a failure leaves nothing to say: the run goes on.
    let _ = nix::sys::signal::raise(Signal::SIGSTOP);
}

fn begin_stop(stop: &StopSignal) {
    if !stop.is_set() {
        stop.stop();
        // Without a thread a stop has no limit, and a second signal still ends the program.
        let _ = std::thread::Builder::new().name("stop limit".into()).spawn(end_in_time);
    }
}

/// Whether whoever started the program wants a signal ignored.
fn is_ignored(signal: Signal) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask =
        status.lines().find_map(|line| u64::from_str_radix(line.strip_prefix("SigIgn:")?.trim(), 16).ok());
    mask.is_some_and(|mask| mask >> (signal as i32 - 1) & 1 == 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `timeout N assay run …` ended without a result: it sends SIGTERM to the program and to its group.
    #[test]
    fn a_signal_that_comes_twice_at_once_is_one() {
        // The limit of a stop is for the whole process, in which other tests may take longer than it.
        STAGE.store(Stage::Over as u8, Ordering::Relaxed);
        let stop = StopSignal::default();
        hear(Signal::SIGTERM, Duration::ZERO, &stop);
        assert!(stop.is_set());
        // A second request would end this process.
        hear(Signal::SIGTERM, Duration::from_millis(1), &stop);
    }

    /// While files were created and marked, a stop that took too long said that nothing was written. While the result
    /// was printed to somebody who read slowly, it ended the program and blamed the target.
    #[test]
    fn every_stage_says_what_may_have_been_written() {
        let says = |stage: Stage| limit(stage as u8).map(|(_, says)| says);
        assert!(says(Stage::Inspecting).is_some_and(|says| says.contains("nothing was written")));
        assert!(says(Stage::Opening).is_some_and(|says| says.contains("may have been created or marked")));
        assert!(says(Stage::Filling).is_some_and(|says| !says.contains("nothing was written")));
        assert!(says(Stage::Measuring).is_some_and(|says| says.contains("assay show last")));
        assert_eq!(says(Stage::Over), None);
    }
}
