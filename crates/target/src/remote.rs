//! Types shared by targets over a network: paths, and completions between the client and the engine.

use std::collections::VecDeque;
use std::fmt::Display;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use assay_iscsi::login::Negotiated;
use assay_iscsi::scsi::AccessState;

use crate::{AccessMode, BATCH_MAX, Completion, IoBuf, IoFailure, Op, TargetLost, Wait};

pub use assay_iscsi::{PathStats, TcpFacts};
pub use assay_nfs::WriteStats;

/// Moment at which a remote target is asked for its report.
#[derive(Clone, Copy)]
pub enum Moment<'m> {
    /// The measured window is about to begin: the target only reports.
    Begin,
    /// The measured window is over: the target first makes writes in the server's memory durable.
    End {
        /// Called at intervals during the COMMIT; if it returns true, writes that are not durable yet are reported as
        /// such.
        give_up: &'m dyn Fn() -> bool,
    },
}

/// Facts that a remote target knows beyond the I/Os themselves.
#[derive(Debug, Clone, Default)]
pub struct RemoteReport {
    /// Every path to the storage, and its traffic since the target was opened.
    pub paths: Vec<PathReport>,
    /// Events of the paths since the last report.
    pub events: Vec<PathEvent>,
    /// Durability of the writes since the target was opened; `None` if every write was as durable as requested when it
    /// completed.
    pub writes: Option<WriteReport>,
    /// Messages of the other side about the first failed I/Os since the target was opened, in order of completion. They
    /// say more than an errno value.
    pub failures: Vec<String>,
}

/// Durability of writes that a server may acknowledge before they are on stable storage.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WriteReport {
    /// Counts since the target was opened.
    pub stats: WriteStats,
    /// Reason why the last COMMIT did not make everything durable, if so.
    pub failure: Option<String>,
}

/// Present state of a path of a target: a session to a LUN, a connection to an NFS server.
#[derive(Debug, Clone)]
pub struct PathReport {
    /// Number of the path, from 0.
    pub path: u8,
    /// Portal or server, as configured.
    pub portal: String,
    /// True if the path is up.
    pub is_up: bool,
    /// Access state of a path to a LUN; NFS has no access states.
    pub access: Option<AccessState>,
    /// Number of I/Os in flight on or assigned to this path.
    pub outstanding: u32,
    /// Parameters that an iSCSI login negotiated, while connected.
    pub agreed: Option<Negotiated>,
    /// Number of commands that an iSCSI target allows in flight on this path, while connected.
    pub command_window: Option<u32>,
    /// Local and remote address, while connected.
    pub addresses: Option<(SocketAddr, SocketAddr)>,
    /// TCP facts, while connected and if the kernel reports them.
    pub tcp: Option<TcpFacts>,
    /// Counters and distributions.
    pub stats: PathStats,
}

impl From<assay_iscsi::PathStatus> for PathReport {
    fn from(of: assay_iscsi::PathStatus) -> Self {
        Self {
            path: of.path,
            portal: of.portal,
            is_up: of.is_up,
            access: Some(of.access),
            outstanding: of.outstanding,
            agreed: of.agreed,
            command_window: of.command_window,
            addresses: of.addresses,
            tcp: of.tcp,
            stats: of.stats,
        }
    }
}

/// An event of a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PathEvent {
    /// Time of the event.
    pub at: Instant,
    /// Whether the path came up.
    pub change: PathChange,
    /// Description, a clause: `path 1 (10.0.1.1) is up`.
    pub says: String,
}

/// Change of a path's state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PathChange {
    /// The path came up.
    Up,
    /// Anything else.
    Other,
}

/// Number of failed I/Os whose messages are kept.
const WORDS_MAX: usize = 32;

/// Completed I/Os until the engine takes them, and the messages of the first failures, which an errno value does not
/// contain.
#[derive(Debug)]
pub(crate) struct CompletionQueue {
    ready: VecDeque<Completion>,
    first_failure: Option<PathEvent>,
    failures: Vec<String>,
}

impl CompletionQueue {
    pub(crate) fn new(depth: u32) -> Self {
        Self { ready: VecDeque::with_capacity(depth as usize), first_failure: None, failures: Vec::new() }
    }

    /// Fails a write to a target that was opened for reading: whatever went wrong in the caller, nothing is written
    /// without permission.
    #[inline]
    pub(crate) fn fence(&mut self, access: AccessMode, op: Op) -> Option<Op> {
        if op.kind.changes() && access == AccessMode::ReadOnly {
            self.failed(&"the target was opened for reading only");
            let outcome = Err(IoFailure { errno: libc::EROFS });
            self.ready.push_back(Completion::new(op.tag, outcome, op.buf));
            return None;
        }
        Some(op)
    }

    /// Fails an operation that the target does not support. Plans that contain one are refused before the run.
    pub(crate) fn unsupported(&mut self, why: &'static str, tag: u32, buf: IoBuf) {
        self.failed(&why);
        self.ready.push_back(Completion::new(tag, Err(IoFailure { errno: libc::EOPNOTSUPP }), buf));
    }

    /// Returns the longest wait of the client for a completion.
    pub(crate) fn patience(&self, wait: Wait) -> Option<Duration> {
        match wait {
            // Operations submitted meanwhile must be sent although nobody waits for them.
            _ if !self.ready.is_empty() => Some(Duration::ZERO),
            Wait::No => Some(Duration::ZERO),
            Wait::One => None,
            Wait::AtMost(time) => Some(time),
        }
    }

    /// Takes a completion from the client; `is_moved` if the server may execute another copy of the write later.
    pub(crate) fn settle(&mut self, tag: u64, outcome: Result<u32, IoFailure>, buf: IoBuf, is_moved: bool) {
        self.ready.push_back(Completion { is_moved, ..Completion::new(own_tag(tag), outcome, buf) });
    }

    /// Keeps the message of a failure. Called for each, in order of completion.
    pub(crate) fn failed(&mut self, error: &dyn Display) {
        if self.failures.is_empty() {
            let says = format!("the first I/O failed: {error}");
            self.first_failure = Some(PathEvent { at: Instant::now(), change: PathChange::Other, says });
        }
        if self.failures.len() < WORDS_MAX {
            self.failures.push(error.to_string());
        }
    }

    /// Returns the messages of the first failures.
    pub(crate) fn failures(&self) -> Vec<String> {
        self.failures.clone()
    }

    /// Passes a batch to the engine. Completions come before the report of a loss, or they would not be counted.
    pub(crate) fn hand_out<E: Display>(
        &mut self,
        polled: Result<(), E>,
        done: &mut Vec<Completion>,
    ) -> Result<(), TargetLost> {
        let count = self.ready.len().min(BATCH_MAX);
        done.extend(self.ready.drain(..count));
        match polled {
            Err(lost) if count == 0 => Err(TargetLost::Paths(lost.to_string())),
            _ => Ok(()),
        }
    }

    /// Returns the first failure, once.
    pub(crate) fn first_failure(&mut self) -> Option<PathEvent> {
        self.first_failure.take()
    }
}

fn own_tag(tag: u64) -> u32 {
    u32::try_from(tag).expect("it was made from a 32-bit tag")
}
