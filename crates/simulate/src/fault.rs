//! The kinds of fault that a run can have, and how often each was injected.

/// A kind of fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fault {
    /// A portal is unreachable for a while: what is on the way arrives later, or never.
    Cut,
    /// A portal refuses connections for a while.
    PortalClosed,
    /// The target ends a connection.
    HangUp,
    /// The thread of a connection stalls, and handles afterwards what has arrived.
    ThreadStall,
    /// The disk stalls, for all connections.
    DiskStall,
    /// A command is never answered, whether or not it was executed.
    LostCommand,
    /// A command is answered long after it was executed.
    LateAnswer,
    /// BUSY.
    Busy,
    /// TASK SET FULL.
    TaskSetFull,
    /// NOT READY.
    NotReady,
    /// A unit attention.
    UnitAttention,
    /// The command window of a connection closes for a while.
    WindowClosed,
    /// Aborts and resets are refused.
    ManagementRefused,
    /// Aborts and resets take long.
    ManagementLate,
    /// Aborts and resets are not answered.
    ManagementUnanswered,
    /// Aborts are overtaken by the command, which completes.
    AbortOvertaken,
    /// A portal moves to another portal group.
    GroupMoved,
    /// A login is redirected to another portal.
    Redirected,
    /// Logins are refused for a while: no such target.
    LoginRefused,
    /// The target requests a logout.
    LogoutRequested,
    /// The target rejects a request for an abort or reset as a PDU.
    ManagementRejected,
    /// The access state of a port group changes.
    AccessChanged,
    /// Another unit takes the number, and the target reports it.
    UnitSwapped,
    /// The process is not scheduled for a while.
    ClockPaused,
    /// Another unit takes the number, and the target reports nothing.
    UnitReplaced,
}

impl Fault {
    /// Returns true for what makes a command wait for its answer.
    pub(crate) fn is_delay(self) -> bool {
        matches!(self, Self::LostCommand | Self::LateAnswer | Self::DiskStall)
    }

    /// Returns true for faults of task management.
    pub(crate) fn is_management(self) -> bool {
        matches!(
            self,
            Self::ManagementRefused
                | Self::ManagementLate
                | Self::ManagementUnanswered
                | Self::ManagementRejected
                | Self::AbortOvertaken
        )
    }
}

/// What seeds with an unreported swap have besides: nothing that delays the checks which find it.
pub(crate) const BESIDE_REPLACED: [Fault; 4] =
    [Fault::UnitReplaced, Fault::HangUp, Fault::PortalClosed, Fault::AccessChanged];

/// Kinds that leave writes in a target, to be executed late.
pub(crate) const OF_STALLS: [Fault; 6] =
    [Fault::Cut, Fault::PortalClosed, Fault::HangUp, Fault::ThreadStall, Fault::DiskStall, Fault::GroupMoved];

/// Kinds after which a path is up while writes of its last connection wait for a LUN reset.
pub(crate) const OF_RESETS: [Fault; 6] = [
    Fault::ThreadStall,
    Fault::ThreadStall,
    Fault::ThreadStall,
    Fault::GroupMoved,
    Fault::HangUp,
    Fault::Cut,
];

/// Kinds that end a path by what it receives, together with answers to earlier commands.
pub(crate) const OF_BATCHES: [Fault; 2] = [Fault::UnitSwapped, Fault::ClockPaused];

/// Every kind.
pub const FAULTS: [Fault; 25] = [
    Fault::Cut,
    Fault::PortalClosed,
    Fault::HangUp,
    Fault::ThreadStall,
    Fault::DiskStall,
    Fault::LostCommand,
    Fault::LateAnswer,
    Fault::Busy,
    Fault::TaskSetFull,
    Fault::NotReady,
    Fault::UnitAttention,
    Fault::WindowClosed,
    Fault::ManagementRefused,
    Fault::ManagementLate,
    Fault::ManagementUnanswered,
    Fault::AbortOvertaken,
    Fault::GroupMoved,
    Fault::Redirected,
    Fault::LoginRefused,
    Fault::LogoutRequested,
    Fault::ManagementRejected,
    Fault::AccessChanged,
    Fault::UnitSwapped,
    Fault::ClockPaused,
    Fault::UnitReplaced,
];

/// Number of times that each kind was injected.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FaultCounts([u64; FAULTS.len()]);

impl FaultCounts {
    pub(crate) fn count(&mut self, fault: Fault) {
        self.0[fault as usize] += 1;
    }

    pub(crate) fn of(&self, fault: Fault) -> u64 {
        self.0[fault as usize]
    }

    /// Adds the counts of another run.
    pub fn add(&mut self, other: &Self) {
        self.0.iter_mut().zip(other.0).for_each(|(own, more)| *own += more);
    }

    /// Returns the kinds with their counts.
    pub fn all(&self) -> impl Iterator<Item = (Fault, u64)> {
        FAULTS.into_iter().zip(self.0)
    }
}
