//! The one clock of a run: nanoseconds since its epoch.

use std::time::Instant;

/// Reads nanoseconds since the run's epoch; monotonic, about 25 ns per read with the TSC as clock source.
#[derive(Debug, Clone, Copy)]
pub struct Clock {
    epoch: Instant,
}

impl Clock {
    /// Returns a clock whose epoch is now.
    #[must_use]
    pub fn start() -> Self {
        Self { epoch: Instant::now() }
    }

    /// Returns the time since the epoch, ns.
    #[inline]
    #[must_use]
    pub fn now_ns(&self) -> u64 {
        let elapsed = self.epoch.elapsed();
        elapsed.as_secs() * 1_000_000_000 + u64::from(elapsed.subsec_nanos())
    }

    /// Returns the epoch.
    #[must_use]
    pub fn epoch(&self) -> Instant {
        self.epoch
    }
}
