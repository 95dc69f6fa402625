//! Detects that the storage has stopped answering, long before a time limit ends an I/O.

use std::time::{Duration, Instant};

/// Age from which an outstanding I/O counts as stalled.
pub(crate) const STALL: Duration = Duration::from_secs(2);

/// The beginning or the end of a stall.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StallNews {
    /// At least one I/O is stalled.
    Began {
        /// Age of the oldest I/O.
        waited: Duration,
        /// Number of outstanding I/Os.
        ios: u32,
    },
    /// The last stalled I/O has completed.
    Ended {
        /// Age of the oldest I/O when it was last observed.
        waited: Duration,
    },
}

/// Tracks the age of the oldest I/O. It has no clock: the caller passes the time.
#[derive(Debug, Default)]
pub struct StallWatch {
    /// Age of the oldest I/O at the last check, while it is stalled.
    waited: Option<Duration>,
}

impl StallWatch {
    /// Checks the outstanding I/Os, each given by its time of submission. Returns a stall that began or ended since the
    /// last check; each is reported once.
    pub fn look(&mut self, submitted_at: impl Iterator<Item = Instant>, now: Instant) -> Option<StallNews> {
        let (mut oldest, mut ios) = (now, 0_u32);
        for at in submitted_at {
            oldest = oldest.min(at);
            ios += 1;
        }
        let age = Some(now.saturating_duration_since(oldest)).filter(|age| *age >= STALL);
        match (std::mem::replace(&mut self.waited, age), age) {
            (None, Some(waited)) => Some(StallNews::Began { waited, ios }),
            (Some(waited), None) => Some(StallNews::Ended { waited }),
            _ => None,
        }
    }
}

/// Returns true once storage that has been unavailable for `away` counts as lost: after the limit, or shortly before it
/// if an I/O is overdue. Without this rule that I/O would fail alone and others would follow in the remaining moments,
/// so that the number of failed I/Os would depend on chance; with it all fail together.
pub fn is_lost(away: Duration, limit: Duration, has_overdue: impl FnOnce() -> bool) -> bool {
    away >= limit || (away * 4 >= limit * 3 && has_overdue())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn storage_is_lost_after_the_limit_or_when_an_io_is_overdue_just_before_it() {
        let (limit, ms) = (Duration::from_secs(1), Duration::from_millis);
        for (away_ms, has_overdue, expected) in
            [(1000, false, true), (999, false, false), (750, true, true), (749, true, false)]
        {
            assert_eq!(is_lost(ms(away_ms), limit, || has_overdue), expected, "{away_ms} ms, {has_overdue}");
        }
    }

    #[test]
    fn a_stall_is_reported_when_it_begins_and_when_it_ends() {
        let (start, second) = (Instant::now(), Duration::from_secs(1));
        let mut watch = StallWatch::default();
        // I/Os submitted at these seconds, observed at this second.
        let mut look = |submitted: &[u32], seen: u32| {
            watch.look(submitted.iter().map(|s| start + *s * second), start + seen * second)
        };
        assert_eq!(look(&[], 0), None);
        assert_eq!(look(&[0], 1), None);
        assert_eq!(look(&[1, 0], 2), Some(StallNews::Began { waited: 2 * second, ios: 2 }));
        assert_eq!(look(&[0], 5), None, "once");
        assert_eq!(look(&[5], 6), Some(StallNews::Ended { waited: 5 * second }));
        assert_eq!(look(&[], 9), None);
    }
}
