//! Says so where a target takes long to be examined: nothing that waits is silent.

use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

use super::progress::note_above;

/// An examination takes a moment. A server that is away has limits of its own, beyond this; a device whose driver waits
/// for it has none.
const QUIET: Duration = Duration::from_secs(5);

/// While it is held, something is examined. What takes the time is not known: the target, the way to it, this host, or
/// that there are many.
pub(crate) struct Patience {
    _held: mpsc::Sender<()>,
}

impl Patience {
    /// `name` is what is examined, as people shall read it.
    pub(crate) fn with(name: String) -> Self {
        let (held, ended) = mpsc::channel();
        let wait = move || {
            if ended.recv_timeout(QUIET) == Err(RecvTimeoutError::Timeout) {
                let s = QUIET.as_secs();
                note_above(&format!(
                    "note: {name} is still being examined after {s} s; an answer may be late, or never come. Ctrl-C \
                     stops, and nothing has changed."
                ));
            }
        };
        // Without a thread the examination goes on all the same.
        let _ = std::thread::Builder::new().name("patience".into()).spawn(wait);
        Self { _held: held }
    }
}
