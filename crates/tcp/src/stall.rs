//! Notices when the storage stops answering, long before any limit ends an I/O.

use std::time::{Duration, Instant};

/// From how old an I/O on the storage counts as stalled.
pub const STALL: Duration = Duration::from_secs(2);

/// A stall that began or ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StallNews {
    /// I/Os wait, the oldest of them since so long.
    Began {
        /// Age of the oldest I/O.
        waited: Duration,
        /// Number of I/Os that have not ended.
        ios: u32,
    },
    /// The last stalled I/O has ended.
    Ended {
        /// Age of the oldest I/O when it was last seen.
        waited: Duration,
    },
}

/// The age of the oldest I/O over time, as states and no clock: the caller says what time it is.
#[derive(Debug, Default)]
pub struct StallWatch {
    /// Age of the oldest I/O at the last look, while it is stalled.
    waited: Option<Duration>,
}

impl StallWatch {
    /// Looks at the I/Os that have not ended, each given by its time of submission. Returns a stall that began or ended
    /// since the last look; each is reported once.
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

/// Returns true once storage that has been away for `away` is lost: after the limit, or shortly before it where the
/// time of an I/O is over. That I/O alone would be followed by others for the moments that are left, and their number
/// would be a matter of luck; so all end together.
#[must_use]
pub fn is_lost(away: Duration, limit: Duration, has_overdue: impl FnOnce() -> bool) -> bool {
    away >= limit || (away * 4 >= limit * 3 && has_overdue())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn storage_is_lost_after_the_limit_or_with_an_io_whose_time_ends_just_before() {
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
        // I/Os submitted this many seconds after the start, seen after this many.
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
