//! What happened to the paths, each with its time.

use std::collections::VecDeque;
use std::time::Instant;

use crate::scsi::AccessState;

/// Events kept until they are taken; older ones are dropped and counted.
const EVENTS_MAX: usize = 4096;

/// Something that happened.
#[derive(Debug, Clone)]
pub struct Event {
    /// When.
    pub at: Instant,
    /// Path it happened to, counted from 0.
    pub path: Option<u8>,
    /// What.
    pub kind: EventKind,
}

/// What happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EventKind {
    /// The path serves I/O.
    PathUp {
        /// Portal it is connected to.
        portal: String,
    },
    /// The path stopped serving; its commands went back to be sent elsewhere.
    PathDown {
        /// Why.
        cause: String,
        /// Commands handed over.
        commands: u32,
        /// Of these, writes that wait until the target is known to have dropped them.
        fenced_writes: u32,
    },
    /// An attempt to bring the path up failed.
    RetryFailed {
        /// Why.
        cause: String,
    },
    /// Writes of the failed path may be sent again.
    Fenced {
        /// What made sure.
        by: FencedBy,
        /// Number of writes.
        writes: u32,
    },
    /// Access state of the path changed.
    AccessState(AccessState),
    /// The target reports a change, in words.
    UnitAttention(String),
    /// A command took too long and was aborted.
    CommandAborted {
        /// How long it was in the air, ms.
        after_ms: u128,
    },
    /// A control PDU was refused, or the target said something, in words.
    TargetSays(String),
    /// No path is left; commands wait.
    AllPathsDown,
    /// Events were dropped because nobody took them.
    Dropped {
        /// How many.
        count: u64,
    },
}

/// What made sure that old writes cannot arrive any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FencedBy {
    /// The session was reinstated through its own portal.
    Reinstatement,
    /// The session was reinstated through another portal of the same group.
    ReinstatementElsewhere,
    /// The logical unit was reset through another path.
    LogicalUnitReset,
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
        if let (Some(first), dropped @ 1..) = (events.first(), std::mem::take(&mut self.dropped)) {
            events.insert(0, Event { at: first.at, path: None, kind: EventKind::Dropped { count: dropped } });
        }
        events
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_log_is_bounded_and_says_what_it_dropped() {
        let mut log = EventLog::default();
        for _ in 0..EVENTS_MAX + 5 {
            log.push(Instant::now(), None, EventKind::AllPathsDown);
        }
        let events = log.take();
        assert_eq!(events.len(), EVENTS_MAX + 1);
        assert_eq!(events[0].kind, EventKind::Dropped { count: 5 });
        assert!(log.take().is_empty());
    }
}
