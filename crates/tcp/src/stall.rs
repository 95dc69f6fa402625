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

#[cfg(test)]
mod tests {
    use super::*;

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
