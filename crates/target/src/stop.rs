//! How long a stop waits for storage that does not answer.

use std::cell::Cell;
use std::time::{Duration, Instant};

/// So long I/O in flight is waited for after somebody asked to stop; what has not ended then is abandoned.
pub const STOP_LIMIT: Duration = Duration::from_secs(5);

/// So long a target that is dropped waits for what is in flight. Whoever drops it with I/O in flight has waited before.
pub(crate) const DROP_LIMIT: Duration = Duration::from_secs(1);

/// Waiting that ends [`STOP_LIMIT`] after a stop was first seen.
#[derive(Debug, Default)]
pub struct StopPatience {
    seen_at: Cell<Option<Instant>>,
}

impl StopPatience {
    /// Returns true once a stop lasts longer than the limit. To be asked at least every few seconds.
    pub fn is_over(&self, is_stopping: bool) -> bool {
        if !is_stopping {
            return false;
        }
        let seen_at = self.seen_at.get().unwrap_or_else(Instant::now);
        self.seen_at.set(Some(seen_at));
        seen_at.elapsed() >= STOP_LIMIT
    }
}
