//! What happened to the connections and to what was written, each with its time.

use std::collections::VecDeque;
use std::time::Instant;

/// Events kept until they are taken; older ones are dropped and counted.
const EVENTS_MAX: usize = 4096;

/// Something that happened.
#[derive(Debug, Clone)]
pub struct Event {
    /// When.
    pub at: Instant,
    /// Connection it happened to, counted from 0.
    pub path: Option<u8>,
    /// What.
    pub kind: EventKind,
}

/// What happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EventKind {
    /// The connection serves I/O.
    Up,
    /// The connection ended; its calls wait to be sent again.
    Down {
        /// Why.
        cause: String,
        /// Calls in the air.
        calls: u32,
    },
    /// An attempt to connect again failed.
    RetryFailed {
        /// Why.
        cause: String,
    },
    /// No connection is left; I/O waits.
    AllDown,
    /// The server asks to be asked again later; told once for each stretch.
    Jukebox,
    /// The server has another write verifier: it restarted, and unstable writes may be lost.
    Restarted {
        /// Writes that were answered and not committed.
        writes: u64,
        /// Their bytes.
        bytes: u64,
    },
    /// Events were dropped because nobody took them.
    Dropped {
        /// How many.
        count: u64,
    },
}

/// A bounded list of events.
#[derive(Debug, Default)]
pub(crate) struct EventLog {
    events: VecDeque<Event>,
    dropped: u64,
}

impl EventLog {
    pub(crate) fn push(&mut self, at: Instant, path: Option<u8>, kind: EventKind) {
        if self.events.len() == EVENTS_MAX {
            self.events.pop_front();
            self.dropped += 1;
        }
        self.events.push_back(Event { at, path, kind });
    }

    pub(crate) fn take(&mut self) -> Vec<Event> {
        let mut events: Vec<Event> = self.events.drain(..).collect();
        if let (Some(first), count @ 1..) = (events.first(), std::mem::take(&mut self.dropped)) {
            events.insert(0, Event { at: first.at, path: None, kind: EventKind::Dropped { count } });
        }
        events
    }
}
