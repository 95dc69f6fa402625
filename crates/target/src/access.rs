//! Use of files and devices: permitted operations, caching, durability, I/O engine.

use assay_spec::Engine;

/// Whether a member may be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AccessMode {
    /// Reads only; the kernel refuses writes.
    ReadOnly,
    /// Reads and writes.
    ReadWrite,
}

/// Whether I/O uses the page cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Caching {
    /// O_DIRECT: the performance of the storage.
    Direct,
    /// Through the page cache: the performance that an application sees.
    Cached,
}

/// When a write counts as complete.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Durability {
    /// When the device acknowledges it; its own cache may still hold it.
    Device,
    /// O_DSYNC: when it survives a power failure.
    Sync,
}

/// How I/O is issued to files and block devices.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IoEngine {
    /// io_uring.
    Uring,
    /// Blocking calls by the worker thread, one at a time: for files in memory.
    Inline,
    /// pread and pwrite on helper threads.
    Psync,
}

impl IoEngine {
    /// Returns its name in the record.
    pub const fn recorded(self) -> Engine {
        match self {
            Self::Uring => Engine::IoUring,
            Self::Inline => Engine::Inline,
            Self::Psync => Engine::Psync,
        }
    }
}
