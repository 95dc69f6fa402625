//! The end of a run: targets are closed, and files of Assay's own are removed where that was asked for.

use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use assay_engine::StopSignal;
use assay_prepare::{Closed, KeptFile, PreparedTargets};
use assay_record::Warning;
use assay_target::StopPatience;

use crate::error::RunnerError;

/// How often a stop is looked for while targets are closed.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// The state of the targets after a run.
#[derive(Debug, Default)]
pub struct Left {
    /// Whether closing was given up, as a target did not answer after somebody had asked to stop.
    pub is_unanswered: bool,
    /// Targets that are not as the run left them.
    pub warnings: Vec<Warning>,
    /// Files that were to be removed, and are kept.
    pub kept: Vec<KeptFile>,
}

/// Closes the targets, and removes what Assay created if `remove` says so. Failures are added to `failures`.
pub(crate) fn close(
    targets: PreparedTargets,
    stop: &StopSignal,
    remove: bool,
    failures: &mut Vec<RunnerError>,
) -> Left {
    let mut left = Left::default();
    match closed(targets, stop) {
        Ok(Some(mut closed)) => {
            left.warnings = std::mem::take(&mut closed.warnings);
            if remove {
                match closed.remove() {
                    Ok(kept) => left.kept = kept,
                    Err(source) => failures.push(RunnerError::Remove { source }),
                }
            }
        }
        Ok(None) => left.is_unanswered = true,
        Err(error) => failures.push(error),
    }
    left
}

/// Returns `None` if somebody asked to stop and a target does not answer; it is left as it is then.
fn closed(targets: PreparedTargets, stop: &StopSignal) -> Result<Option<Closed>, RunnerError> {
    let (sender, closed) = channel();
    let closing = std::thread::Builder::new().name("close".into());
    let began = closing.spawn(move || sender.send(targets.close()));
    let began = began.map_err(|source| RunnerError::CloseThread { source })?;
    let patience = StopPatience::default();
    loop {
        match closed.recv_timeout(LOOK_EVERY) {
            Ok(closed) => return closed.map(Some).map_err(|source| RunnerError::Close { source }),
            Err(RecvTimeoutError::Timeout) if !patience.is_over(stop.is_set()) => {}
            Err(RecvTimeoutError::Timeout) => return Ok(None),
            // It panicked, and so does this thread.
            Err(RecvTimeoutError::Disconnected) => match began.join() {
                Err(panic) => std::panic::resume_unwind(panic),
                Ok(_) => unreachable!("a thread that ends has sent its result"),
            },
        }
    }
}
