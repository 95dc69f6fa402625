//! Events of the paths, each with its time.

use crate::scsi::AccessState;

/// An event of a path.
pub type Event = assay_tcp::Event<EventKind>;

/// Kind of event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EventKind {
    /// The path is up.
    PathUp {
        /// Portal to which the path is connected.
        portal: String,
    },
    /// The path went down; its commands are sent again over other paths.
    PathDown {
        /// Cause.
        cause: String,
        /// Number of commands moved.
        commands: u32,
        /// Number of writes among them that wait until the target is known to have dropped them.
        fenced_writes: u32,
    },
    /// The path has outstanding commands and is silent while another path answers: it gets no new commands.
    PathSilent {
        /// Duration of the silence, ms.
        silent_ms: u128,
        /// Number of commands outstanding on the path.
        commands: u32,
    },
    /// Data arrived on a silent path: it gets commands again.
    PathAnswers {
        /// Duration of the silence, ms.
        silent_ms: u128,
    },
    /// The path refuses commands again and again: they go to the other paths, and one after each pause to this one.
    PathBusy {
        /// What it answers.
        answer: String,
    },
    /// The path executes commands again.
    PathTakes {
        /// Number of commands that it refused in between.
        refusals: u32,
    },
    /// A silent path gets commands because no other path is up.
    PathNeeded,
    /// An attempt to bring the path up failed.
    RetryFailed {
        /// Cause.
        cause: String,
    },
    /// Writes of a failed path can be sent again.
    Fenced {
        /// The operation that ended the old tasks.
        by: FencedBy,
        /// Number of writes.
        writes: u32,
    },
    /// Access state of the path changed.
    AccessState(AccessState),
    /// The target reported a change, in words.
    UnitAttention(String),
    /// After a change reported by the target, the path was verified to lead to the same unit.
    SameUnit,
    /// A command took too long and was aborted.
    CommandAborted {
        /// Time in flight, ms.
        after_ms: u128,
    },
    /// The oldest command is stalled.
    Stalled {
        /// Age of the oldest command, ms.
        waited_ms: u128,
        /// Number of outstanding commands.
        commands: u32,
        /// Time limit of each command, seconds.
        limit_s: u64,
    },
    /// No command is stalled any more.
    Resumed {
        /// Age that the oldest command reached, ms.
        waited_ms: u128,
    },
    /// The target refused a control PDU or sent a message, in words.
    TargetSays(String),
    /// The target deviates from the standard in a way that Assay tolerates, in words.
    Deviation(String),
    /// No path is up; commands wait.
    AllPathsDown,
    /// Events were dropped because nobody took them.
    Dropped {
        /// Number of events.
        count: u64,
    },
}

/// The operation that guarantees that old writes cannot be executed any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FencedBy {
    /// The session was reinstated through its own portal.
    Reinstatement,
    /// The session was reinstated through another portal of the same group.
    ReinstatementElsewhere,
    /// The logical unit was reset through another path.
    LogicalUnitReset,
}
