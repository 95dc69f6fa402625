//! The targets of I/O.
//!
//! A [`Target`] transfers bytes and reports outcomes; it never reads a clock and never decides what to do next. An
//! [`Op`] carries its buffer in and the [`Completion`] returns it, so no buffer can be freed or reused while the kernel
//! still writes to it. [`open`] opens the target for the given members: files and block devices by io_uring (or `psync`
//! if that is refused, or `inline` in memory), a LUN by Assay's iSCSI initiator, a file on an NFS server by Assay's
//! NFSv3 client, or the null target, which measures the tester itself. [`file`] contains operations on a file before
//! a run: creating, allocating, finding holes. [`input`] reads files named by a user, within their limits. Whose a
//! target is, the room `claim` knows: its guards ([`FileGuard`], [`lun::LunGuard`]) check what a worker opens.
//!
//! Architecture invariant: this is the only room with `unsafe` code; each block states why it is sound.
#![expect(unsafe_code, reason = "this room talks to the kernel; see the SAFETY notes")]

mod access;
mod buffer;
mod clock;
mod fiemap;
pub mod file;
mod file_member;
mod inline;
pub mod input;
pub mod lun;
mod member;
pub mod nfs;
mod null;
mod open;
mod open_error;
mod psync;
pub mod remote;
pub mod rng;
pub mod stamp;
mod stop;
mod trim;
mod uring;

use std::time::Duration;

use assay_spec::{Engine, Flush};
use thiserror::Error;

pub use access::{AccessMode, Caching, Durability, IoEngine};
pub use buffer::IoBuf;
pub use clock::{KernelClock, kernel_clock};
pub use file::FileIdentity;
pub use file_member::{Binding, FileGuard, FileMember};
pub use inline::{InlineTarget, is_in_memory};
pub use member::{Member, SimulatedMember};
pub use null::NullTarget;
pub use open::{AnyTarget, OpenRequest, Opener, open, uring_refused};
pub use open_error::OpenError;
pub use psync::PsyncTarget;
use remote::{Moment, RemoteReport};
pub use stop::{STOP_LIMIT, StopPatience};
pub use uring::UringTarget;

/// Largest number of completions that one [`Target::poll`] reports: a turn of the engine's loop stays short, so that
/// their common time stamp is accurate for each.
pub const BATCH_MAX: usize = 32;

/// A target of I/O: one or several members, driven by one thread.
///
/// The worker that drives a target also opens it; a target is never shared or sent while I/O is in flight. Dropping it
/// waits up to a second for I/O in flight; the buffers of I/O that has not completed by then are never freed.
pub trait Target {
    /// Returns its geometry, which is constant for its lifetime.
    fn geometry(&self) -> &Geometry;

    /// Accepts an operation, which is started by the next [`Target::poll`] at the latest. Called by the worker thread
    /// once per operation. A full queue returns the operation; nothing is lost. Tags in flight must be unique and below
    /// [`Geometry::depth`].
    fn submit(&mut self, op: Op) -> Result<(), Op>;

    /// Starts submitted operations and appends up to [`BATCH_MAX`] completions to `done`, waiting for the first
    /// according to `wait`. Returns early and empty when a signal arrives. After an error every later call returns the
    /// same error.
    fn poll(&mut self, wait: Wait, done: &mut Vec<Completion>) -> Result<(), TargetLost>;

    /// Closes a member and opens it again. Called only while none of its operations is in flight.
    fn reopen(&mut self, member: u32) -> Result<(), TargetLost>;

    /// Returns what a remote target knows beyond the I/Os themselves; `None` for a local one. Called once before the
    /// measured window and once after it while nothing is in flight; in the latter case ([`Moment::End`]) the target
    /// first makes its writes durable. Allocates, so it must not be called while measuring.
    fn remote_report(&mut self, _moment: Moment<'_>) -> Option<RemoteReport> {
        None
    }
}

/// Geometry and limits of a target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Geometry {
    /// Each member's usable bytes, from its start.
    pub members: Vec<u64>,
    /// Offsets and sizes must be multiples of this, bytes. In [1, 64 KiB].
    pub block_bytes: u32,
    /// Largest number of operations in flight.
    pub depth: u32,
    /// I/O engine.
    pub engine: Engine,
}

/// Kind of an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OpKind {
    /// Read from the target into the buffer.
    Read,
    /// Write from the buffer to the target.
    Write,
    /// Trim: the blocks hold no data afterwards; the buffer is not used.
    Trim,
    /// Makes completed writes durable; size and offset are 0, and the buffer is not used.
    Flush(Flush),
}

impl OpKind {
    /// Returns true if it changes the content of the target.
    pub fn changes(self) -> bool {
        matches!(self, Self::Write | Self::Trim)
    }
}

/// One operation.
#[derive(Debug)]
pub struct Op {
    /// Number chosen by the engine, below the target's depth.
    pub tag: u32,
    /// Index of the member.
    pub member: u32,
    /// Kind of operation.
    pub kind: OpKind,
    /// Length, bytes; at most the buffer's capacity.
    pub size_bytes: u32,
    /// Offset from the start of the member, bytes.
    pub offset_bytes: u64,
    /// Data to write, or space for the data read. Moves with the operation.
    pub buf: IoBuf,
}

/// Completion of an operation.
#[derive(Debug)]
pub struct Completion {
    /// The operation's tag.
    pub tag: u32,
    /// Number of bytes transferred (which may be fewer than requested), or the error.
    pub outcome: Result<u32, IoFailure>,
    /// The operation's buffer.
    pub buf: IoBuf,
    /// True for a write of which the other side may execute another copy later, even after newer writes.
    pub is_moved: bool,
}

impl Completion {
    /// Returns the completion of an operation that was sent once.
    pub fn new(tag: u32, outcome: Result<u32, IoFailure>, buf: IoBuf) -> Self {
        Self { tag, outcome, buf, is_moved: false }
    }
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
    /// Until the first completion.
    One,
    /// Until the first completion, but not longer than this.
    AtMost(Duration),
}

/// The target is lost, or the interface to it failed; no operation can be started any more.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum TargetLost {
    /// The kernel refused to start or wait for I/O.
    #[error("io_uring_enter failed: {0}")]
    Ring(String),
    /// A member could not be opened again.
    #[error("cannot reopen {path}: {why}")]
    Reopen {
        /// Path of the member.
        path: String,
        /// Error of the system.
        why: String,
    },
    /// The time of the simulated array has ended.
    #[error("{0}")]
    Simulated(String),
    /// No path to a LUN, or connection to a server, came up again in time.
    #[error("{0}")]
    Paths(String),
    /// A helper thread of the psync engine has ended.
    #[error("a helper thread of the psync engine ended unexpectedly")]
    Helper,
}
