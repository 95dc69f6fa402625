//! Where I/O goes.
//!
//! A [`Target`] moves bytes and reports outcomes; it never reads a clock and never decides what to do next. An
//! [`Op`] carries its buffer in and the [`Completion`] carries it back, so no buffer can be freed or reused while
//! the kernel still writes to it. [`open`] makes the right target for the members it is given: files and block
//! devices by io_uring (or `psync` where that is refused, or `inline` in memory), a LUN by our own iSCSI initiator, a
//! file on an NFS server by our own NFSv3 client, or the null target, which measures the tester itself.
//! [`file`] holds what is done with a file before and after: creating, marking as ours, looking for holes. [`input`]
//! reads the files that a user names as input, within their limits.
//!
//! Architecture invariant: the only room with `unsafe` in it; each block says why it is sound.
#![expect(unsafe_code, reason = "this room talks to the kernel; see the SAFETY notes")]

mod access;
mod buffer;
mod fiemap;
pub mod file;
mod file_member;
mod fingerprint;
mod inline;
pub mod input;
pub mod lun;
mod mark;
mod member;
pub mod nfs;
mod null;
mod open;
mod open_error;
pub mod own_data;
mod psync;
pub mod remote;
pub mod rng;
pub mod stamp;
mod stop;
mod uring;

use std::time::Duration;

use assay_spec::{Engine, Flush};
use thiserror::Error;

pub use access::{AccessMode, Caching, Durability, IoEngine};
pub use buffer::{ALIGNMENT, IoBuf};
pub use file::FileIdentity;
pub use file_member::{Binding, FileMember};
pub use fingerprint::{END_BYTES, Fingerprint, HeadCheck};
pub use inline::{InlineTarget, is_in_memory};
pub use member::{Member, SimulatedMember};
pub use null::NullTarget;
pub use open::{AnyTarget, OpenRequest, open, uring_refused};
pub use open_error::OpenError;
pub use psync::PsyncTarget;
use remote::{Moment, RemoteReport};
pub use stop::{STOP_LIMIT, StopPatience};
pub use uring::UringTarget;

/// The most completions one [`Target::poll`] reports: a turn of the engine's loop stays short, so that the time
/// stamp all of them share is true for each.
pub const BATCH_MAX: usize = 32;

/// Where I/O goes: one or several members, driven by one thread.
///
/// The worker that drives a target also opens it; a target is never shared or sent while I/O is in flight. Dropping
/// it waits up to a second for whatever is in flight; the buffers of what has not ended then are never freed.
pub trait Target {
    /// Returns what can be done with it. Constant for its life.
    fn geometry(&self) -> &Geometry;

    /// Accepts an operation, to be started by the next [`Target::poll`] at the latest. Called once an operation by
    /// the worker thread. A full queue hands the operation back; nothing is lost. Tags in flight must be unique and
    /// below [`Geometry::depth`].
    fn submit(&mut self, op: Op) -> Result<(), Op>;

    /// Starts what was submitted and appends up to [`BATCH_MAX`] completions to `done`, waiting for the first as
    /// `wait` says. Returns early, with nothing, when a signal arrives. After an error every later call answers the
    /// same error.
    fn poll(&mut self, wait: Wait, done: &mut Vec<Completion>) -> Result<(), TargetLost>;

    /// Closes a member and opens it again. Called only while none of its operations is in flight.
    fn reopen(&mut self, member: u32) -> Result<(), TargetLost>;

    /// Returns what a target on another machine knows beyond the I/Os themselves; `None` for a local one. Called once
    /// before the measured window, and once after it while nothing is in flight: then ([`Moment::End`]) the target
    /// first makes durable what was written. Allocates: not to be called while measuring.
    fn remote_report(&mut self, _moment: Moment<'_>) -> Option<RemoteReport> {
        None
    }
}

/// What can be done with a target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Geometry {
    /// Each member's usable bytes, from its start.
    pub members: Vec<u64>,
    /// Offsets and sizes must be multiples of this, bytes. In [1, 64 KiB].
    pub block_bytes: u32,
    /// The most operations in flight.
    pub depth: u32,
    /// How I/O is issued.
    pub engine: Engine,
}

/// What kind of operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OpKind {
    /// From the target into the buffer.
    Read,
    /// From the buffer to the target.
    Write,
    /// The blocks hold nothing afterwards; the buffer is not used.
    Trim,
    /// Makes completed writes durable; size and offset are 0, and the buffer is not used.
    Flush(Flush),
}

impl OpKind {
    /// Returns true if it changes what the target holds.
    #[must_use]
    pub fn changes(self) -> bool {
        matches!(self, Self::Write | Self::Trim)
    }
}

/// One operation.
#[derive(Debug)]
pub struct Op {
    /// The engine's name for it, below the target's depth.
    pub tag: u32,
    /// Index of the member.
    pub member: u32,
    /// What it does.
    pub kind: OpKind,
    /// How much, bytes; at most the buffer's capacity.
    pub size_bytes: u32,
    /// Where, bytes from the start of the member.
    pub offset_bytes: u64,
    /// What is written, or room for what is read. Moves with the operation.
    pub buf: IoBuf,
}

/// The end of an operation.
#[derive(Debug)]
pub struct Completion {
    /// The operation's tag.
    pub tag: u32,
    /// Bytes moved (which may be fewer than asked for), or why it failed.
    pub outcome: Result<u32, IoFailure>,
    /// The operation's buffer.
    pub buf: IoBuf,
}

/// Why an operation failed: an error number of the operating system.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("{}", std::io::Error::from_raw_os_error(*errno))]
pub struct IoFailure {
    /// As in `errno(3)`.
    pub errno: i32,
}

/// How long [`Target::poll`] waits for a first completion.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wait {
    /// Not at all.
    No,
    /// Until there is one.
    One,
    /// Until there is one, but not longer than this.
    AtMost(Duration),
}

/// The target went away, or the interface to it broke; no operation can be started any more.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum TargetLost {
    /// The kernel refused to start or wait for I/O.
    #[error("io_uring_enter failed: {0}")]
    Ring(String),
    /// A member could not be opened again.
    #[error("cannot reopen {path}: {why}")]
    Reopen {
        /// Which one.
        path: String,
        /// The system's words.
        why: String,
    },
    /// The simulated array's time is used up.
    #[error("{0}")]
    Simulated(String),
    /// No path to a LUN, or connection to a server, came back in time.
    #[error("{0}")]
    Paths(String),
    /// A helper thread of the psync engine is gone.
    #[error("a helper thread of the psync engine ended unexpectedly")]
    Helper,
}
