//! How files and devices are used: what is allowed, through which cache, when a write counts, by which calls.

use assay_spec::Engine;

/// Whether a member may be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AccessMode {
    /// Reads only; the kernel refuses writes.
    ReadOnly,
    /// Reads and writes.
    ReadWrite,
}

/// Past the page cache or through it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Caching {
    /// O_DIRECT: what the storage does.
    Direct,
    /// Through the page cache: what an application sees.
    Cached,
}

/// When a write counts as done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Durability {
    /// When the device says so; its own cache may still hold it.
    Device,
    /// O_DSYNC: when it survives a power loss.
    Sync,
}

/// How I/O is issued to files and block devices.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IoEngine {
    /// io_uring.
    Uring,
    /// Blocking calls by the thread that drives the target, one at a time: for files in memory.
    Inline,
    /// pread and pwrite on helper threads.
    Psync,
}

impl IoEngine {
    /// Returns its name in the record.
    #[must_use]
    pub const fn recorded(self) -> Engine {
        match self {
            Self::Uring => Engine::IoUring,
            Self::Inline => Engine::Inline,
            Self::Psync => Engine::Psync,
        }
    }
}
