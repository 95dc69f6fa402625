//! Events of paths, each with its time.

use std::collections::VecDeque;
use std::time::Instant;

/// Number of events kept until they are taken; older ones are dropped and counted.
const EVENTS_MAX: usize = 4096;

/// An event, with a kind defined by the protocol.
#[derive(Debug, Clone)]
pub struct Event<K> {
    /// Time of the event.
    pub at: Instant,
    /// Path, counted from 0; `None` for all paths.
    pub path: Option<u8>,
    /// Kind of event.
    pub kind: K,
}

/// A bounded list of events.
#[derive(Debug)]
pub struct EventLog<K> {
    events: VecDeque<Event<K>>,
    dropped: u64,
}

impl<K> Default for EventLog<K> {
    fn default() -> Self {
        Self { events: VecDeque::new(), dropped: 0 }
    }
}

impl<K> EventLog<K> {
    /// Appends an event, and drops the oldest if the log is full.
    pub fn push(&mut self, at: Instant, path: Option<u8>, kind: K) {
        if self.events.len() == EVENTS_MAX {
            self.events.pop_front();
            self.dropped += 1;
        }
        self.events.push_back(Event { at, path, kind });
    }

    /// Returns all events since the last call. If some were dropped, the first event is the one that `dropped` makes
    /// from their number.
    pub fn take(&mut self, dropped: impl FnOnce(u64) -> K) -> Vec<Event<K>> {
        let mut events: Vec<Event<K>> = self.events.drain(..).collect();
        if let (Some(first), count @ 1..) = (events.first(), std::mem::take(&mut self.dropped)) {
            events.insert(0, Event { at: first.at, path: None, kind: dropped(count) });
        }
        events
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, PartialEq)]
    enum Kind {
        Something,
        Dropped(u64),
    }

    #[test]
    fn the_log_is_bounded_and_reports_dropped_events() {
        let mut log = EventLog::default();
        for _ in 0..EVENTS_MAX + 5 {
            log.push(Instant::now(), None, Kind::Something);
        }
        let events = log.take(Kind::Dropped);
        assert_eq!(events.len(), EVENTS_MAX + 1);
        assert_eq!(events[0].kind, Kind::Dropped(5));
        assert_eq!(events[1].kind, Kind::Something);
        assert!(log.take(Kind::Dropped).is_empty());
    }
}
