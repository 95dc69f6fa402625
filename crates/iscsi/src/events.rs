//! What happened to the paths, each with its time.

use crate::scsi::AccessState;

/// Something that happened to a path.
pub type Event = assay_tcp::Event<EventKind>;

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
    /// The path owes answers and gives none while another path does: it gets no new commands.
    PathSilent {
        /// For how long nothing came, ms.
        silent_ms: u128,
        /// Commands that wait for its answers.
        commands: u32,
    },
    /// Something came over a path that was silent: it gets commands again.
    PathAnswers {
        /// For how long nothing had come, ms.
        silent_ms: u128,
    },
    /// A silent path gets commands all the same, for there is no other one.
    PathNeeded,
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
    /// After a change that the target reported, the path proved that it leads to the same unit as before.
    SameUnit,
    /// A command took too long and was aborted.
    CommandAborted {
        /// How long it was in flight, ms.
        after_ms: u128,
    },
    /// The oldest command waits for long.
    Stalled {
        /// How long, ms.
        waited_ms: u128,
        /// Commands that have not ended.
        commands: u32,
        /// After how long each fails, seconds.
        limit_s: u64,
    },
    /// No command waits for long any more.
    Resumed {
        /// How long the oldest had waited, ms.
        waited_ms: u128,
    },
    /// A control PDU was refused, or the target said something, in words.
    TargetSays(String),
    /// The target departs from the standard in something that can be dealt with, in words.
    Deviation(String),
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
