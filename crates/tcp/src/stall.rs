//! Notices when the storage stops answering, long before any limit ends an I/O.

use std::time::{Duration, Instant};

/// From how old an I/O on the storage counts as stalled.
pub const STALL: Duration = Duration::from_secs(2);

/// A stall that began or ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StallNews {
    /// The oldest I/O has waited so long.
    Began {
        /// Age of the oldest I/O.
        waited: Duration,
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
    /// Looks at the oldest I/O that has not ended; returns what is new. Each stall is reported once.
    pub fn look(&mut self, oldest: Option<Instant>, now: Instant) -> Option<StallNews> {
        let age = oldest.map(|since| now.saturating_duration_since(since)).filter(|age| *age >= STALL);
        match (std::mem::replace(&mut self.waited, age), age) {
            (None, Some(waited)) => Some(StallNews::Began { waited }),
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
        assert_eq!(watch.look(None, start), None);
        assert_eq!(watch.look(Some(start), start + second), None);
        let waited = 2 * second;
        assert_eq!(watch.look(Some(start), start + 2 * second), Some(StallNews::Began { waited }));
        assert_eq!(watch.look(Some(start), start + 5 * second), None, "once");
        let waited = 5 * second;
        assert_eq!(
            watch.look(Some(start + 5 * second), start + 6 * second),
            Some(StallNews::Ended { waited })
        );
        assert_eq!(watch.look(None, start + 9 * second), None);
    }
}
