//! Limits of the wait for unresponsive storage after a stop.

use std::cell::Cell;
use std::time::{Duration, Instant};

/// Time that I/O in flight is awaited after a stop was requested; I/O that has not completed by then is abandoned.
pub const STOP_LIMIT: Duration = Duration::from_secs(5);

/// Time that a dropped target waits for I/O in flight. A caller that drops it with I/O in flight has waited before.
pub(crate) const DROP_LIMIT: Duration = Duration::from_secs(1);

/// A wait that ends [`STOP_LIMIT`] after a stop was first observed.
#[derive(Debug, Default)]
pub struct StopPatience {
    seen_at: Cell<Option<Instant>>,
}

impl StopPatience {
    /// Returns true once a stop lasts longer than the limit. Must be called at least every few seconds.
    pub fn is_over(&self, is_stopping: bool) -> bool {
        if !is_stopping {
            return false;
        }
        let seen_at = self.seen_at.get().unwrap_or_else(Instant::now);
        self.seen_at.set(Some(seen_at));
        seen_at.elapsed() >= STOP_LIMIT
    }
}
