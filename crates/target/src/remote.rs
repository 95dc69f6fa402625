//! What targets over a network share: paths, and completions on their way from the client to the engine.

use std::collections::VecDeque;
use std::fmt::Display;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use assay_iscsi::login::Negotiated;
use assay_iscsi::scsi::AccessState;

use crate::{AccessMode, BATCH_MAX, Completion, IoBuf, IoFailure, Op, TargetLost, Wait};

pub use assay_iscsi::{PathStats, TcpFacts};
pub use assay_nfs::WriteStats;

/// When a target on another machine is asked for its report.
#[derive(Clone, Copy)]
pub enum Moment<'m> {
    /// The measured window is about to begin: the target reports and does nothing.
    Begin,
    /// It is over: writes that the server may still hold in memory are made durable first.
    End {
        /// Called now and then while the COMMIT takes; true: what is not durable yet is reported as such.
        give_up: &'m dyn Fn() -> bool,
    },
}

/// What a target on another machine knows beyond the I/Os themselves.
#[derive(Debug, Clone, Default)]
pub struct RemoteReport {
    /// Every path to the storage, and what went over it since the target was opened.
    pub paths: Vec<PathReport>,
    /// What happened to the paths since the last report.
    pub events: Vec<PathEvent>,
    /// Durability of the writes since the target was opened; `None` where every write was as durable as asked when it
    /// completed.
    pub writes: Option<WriteReport>,
    /// What the other side said of the first I/Os that failed since the target was opened, in the order in which they
    /// completed. An error number of the operating system says less.
    pub failures: Vec<String>,
}

/// Durability of writes that a server may acknowledge before they are on stable storage.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WriteReport {
    /// Counts since the target was opened.
    pub stats: WriteStats,
    /// Why the last COMMIT did not make everything durable, where it did not.
    pub failure: Option<String>,
}

/// One path of a target as it is now: a session to a LUN, a connection to an NFS server.
#[derive(Debug, Clone)]
pub struct PathReport {
    /// Number of the path, from 0.
    pub path: u8,
    /// Where it leads, as configured.
    pub portal: String,
    /// True if it serves I/O.
    pub is_up: bool,
    /// Access state of a path to a LUN; NFS knows no better and worse ones.
    pub access: Option<AccessState>,
    /// Number of I/Os in flight on this path or bound to it.
    pub outstanding: u32,
    /// Parameters that an iSCSI login negotiated, while connected.
    pub agreed: Option<Negotiated>,
    /// Number of commands that an iSCSI target allows in flight on this path, while connected.
    pub command_window: Option<u32>,
    /// Local and remote address, while connected.
    pub addresses: Option<(SocketAddr, SocketAddr)>,
    /// TCP facts, while connected and where the kernel reports them.
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

/// Something that happened to the paths.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PathEvent {
    /// When.
    pub at: Instant,
    /// Whether it is the good news that a path serves I/O.
    pub change: PathChange,
    /// What, a clause: `path 1 (10.0.1.1) is up`.
    pub says: String,
}

/// Whether an event of a path is good news.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PathChange {
    /// The path serves I/O.
    Up,
    /// Anything else.
    Other,
}

/// Failed I/Os whose words are kept.
const WORDS_MAX: usize = 32;

/// I/Os that ended, until the engine takes them, and the first failures in words, which an error number does not hold.
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

    /// Fails a write to a target that was opened for reading: whatever went wrong above, nothing is written that was
    /// not allowed.
    #[inline]
    pub(crate) fn fence(&mut self, access: AccessMode, op: Op) -> Option<Op> {
        if op.kind.changes() && access == AccessMode::ReadOnly {
            self.failed(&"the target was opened for reading only");
            let outcome = Err(IoFailure { errno: libc::EROFS });
            self.ready.push_back(Completion { tag: op.tag, outcome, buf: op.buf });
            return None;
        }
        Some(op)
    }

    /// Fails an operation that the target cannot do. Plans that ask for one are refused before the run.
    pub(crate) fn unsupported(&mut self, why: &'static str, tag: u32, buf: IoBuf) {
        self.failed(&why);
        self.ready.push_back(Completion { tag, outcome: Err(IoFailure { errno: libc::EOPNOTSUPP }), buf });
    }

    /// Returns how long the client may wait for a completion.
    pub(crate) fn patience(&self, wait: Wait) -> Option<Duration> {
        match wait {
            // What was submitted since must leave although nobody waits for it.
            _ if !self.ready.is_empty() => Some(Duration::ZERO),
            Wait::No => Some(Duration::ZERO),
            Wait::One => None,
            Wait::AtMost(time) => Some(time),
        }
    }

    /// Takes what the client gave back.
    pub(crate) fn settle(&mut self, tag: u64, outcome: Result<u32, IoFailure>, buf: IoBuf) {
        let tag = u32::try_from(tag).expect("it was made from a 32-bit tag");
        self.ready.push_back(Completion { tag, outcome, buf });
    }

    /// Keeps the words of a failure. To be called for each, in the order of their completions.
    pub(crate) fn failed(&mut self, error: &dyn Display) {
        if self.failures.is_empty() {
            let says = format!("the first I/O failed: {error}");
            self.first_failure = Some(PathEvent { at: Instant::now(), change: PathChange::Other, says });
        }
        if self.failures.len() < WORDS_MAX {
            self.failures.push(error.to_string());
        }
    }

    /// The words of the first failures.
    pub(crate) fn failures(&self) -> Vec<String> {
        self.failures.clone()
    }

    /// Hands a batch to the engine. Completions come before the report of a loss, or they would be counted nowhere.
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

    /// The first failure, once.
    pub(crate) fn first_failure(&mut self) -> Option<PathEvent> {
        self.first_failure.take()
    }
}
