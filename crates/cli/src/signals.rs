//! Signals that ask the program to stop: Ctrl-C, SIGTERM, and SIGHUP when the terminal is closed. The first one asks a
//! run to end, so that everything measured is kept; the second one ends the program.

use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::Context as _;
use assay_engine::StopSignal;
use nix::sys::signal::{SigSet, Signal};

use crate::exit::Exit;
use crate::progress::note_above;
use crate::terminal::note;

/// Set by SIGHUP.
static TERMINAL_IS_CLOSED: AtomicBool = AtomicBool::new(false);

/// Returns true once the terminal was closed.
pub(crate) fn terminal_is_closed() -> bool {
    TERMINAL_IS_CLOSED.load(Ordering::Relaxed)
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
    signals.thread_block().context("cannot listen for Ctrl-C")?;
    let stop = StopSignal::default();
    let asked = stop.clone();
    let listen = move || {
        while let Ok(signal) = signals.wait() {
            hear(signal, &asked);
        }
    };
    std::thread::Builder::new().name("signals".into()).spawn(listen).context("cannot listen for Ctrl-C")?;
    Ok(stop)
}

fn hear(signal: Signal, stop: &StopSignal) {
    if signal == Signal::SIGHUP {
        TERMINAL_IS_CLOSED.store(true, Ordering::Relaxed);
        // The kernel and the shell may both send one, and nobody is there to mean anything by it.
        stop.stop();
        return;
    }
    if stop.is_set() {
        note!("\nstopped; the stored run is marked partial");
        std::process::exit(Exit::Interrupted as i32);
    }
    stop.stop();
    note_above("stopping: what was measured is kept; Ctrl-C again stops at once");
}

/// Whether whoever started the program wants a signal ignored.
fn is_ignored(signal: Signal) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask =
        status.lines().find_map(|line| u64::from_str_radix(line.strip_prefix("SigIgn:")?.trim(), 16).ok());
    mask.is_some_and(|mask| mask >> (signal as i32 - 1) & 1 == 1)
}
