//! The one clock of a run: nanoseconds since its epoch.

use std::time::Instant;

use rustix::time::{ClockId, clock_gettime};

/// Reads nanoseconds since the run's epoch; monotonic, about 25 ns per read with the TSC as clock source.
#[derive(Debug, Clone, Copy)]
pub struct Clock {
    epoch: Instant,
    /// The epoch on the kernel's monotonic clock, ns.
    epoch_ns: u64,
}

impl Clock {
    /// Returns a clock whose epoch is now.
    pub fn start() -> Self {
        Self { epoch: Instant::now(), epoch_ns: monotonic_ns() }
    }

    /// Returns the time since the epoch, ns.
    // Not `Instant::elapsed`, which takes as long for the difference as for the time.
    #[inline]
    pub fn now_ns(&self) -> u64 {
        monotonic_ns() - self.epoch_ns
    }

    /// Returns the epoch.
    pub fn epoch(&self) -> Instant {
        self.epoch
    }
}

/// Returns the time of the clock that `Instant` reads too, ns.
#[inline]
fn monotonic_ns() -> u64 {
    let time = clock_gettime(ClockId::Monotonic);
    time.tv_sec.cast_unsigned() * 1_000_000_000 + time.tv_nsec.cast_unsigned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_is_that_since_the_epoch() {
        let clock = Clock::start();
        std::thread::sleep(std::time::Duration::from_millis(2));
        let least = clock.now_ns();
        let elapsed_ns = clock.epoch().elapsed().as_nanos();
        let most = clock.now_ns();
        // Both epochs were read one after the other, the Instant first.
        assert!(least >= 2_000_000 && u128::from(least) <= elapsed_ns, "{least} {elapsed_ns}");
        assert!(most >= least);
    }
}
