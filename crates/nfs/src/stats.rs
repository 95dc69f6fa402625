//! State of the connections, and durability of the writes.

use assay_tcp::{PathStats, TcpFacts};

use crate::nfs3::Stable;

/// A connection as it is now.
#[derive(Debug, Clone)]
pub struct ConnectionStatus {
    /// Number of the connection, from 0.
    pub path: u8,
    /// True if it serves I/O.
    pub is_up: bool,
    /// Calls in flight or bound to it.
    pub outstanding: u32,
    /// Our and the server's address, while connected.
    pub addresses: Option<(std::net::SocketAddr, std::net::SocketAddr)>,
    /// TCP facts, while connected and where the kernel reports them.
    pub tcp: Option<TcpFacts>,
    /// Counters and distributions.
    pub stats: PathStats,
}

/// The fate of writes: how durable they were when they were answered, and when they were committed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct WriteStats {
    /// WRITE calls answered UNSTABLE.
    pub unstable: u64,
    /// WRITE calls answered DATA_SYNC.
    pub data_sync: u64,
    /// WRITE calls answered FILE_SYNC.
    pub file_sync: u64,
    /// COMMITs that were answered.
    pub commits: u64,
    /// Time they took together, ns.
    pub commit_ns: u64,
    /// Bytes they made durable.
    pub committed_bytes: u64,
    /// Times the verifier changed: the server restarted.
    pub restarts: u64,
    /// Unstable writes that were not committed when the server restarted, and may be lost.
    pub uncertain: u64,
    /// Their bytes.
    pub uncertain_bytes: u64,
    /// Bytes that are answered UNSTABLE and not committed now.
    pub uncommitted_bytes: u64,
}

impl WriteStats {
    pub(crate) fn count(&mut self, stable: Stable) {
        match stable {
            Stable::Unstable => self.unstable += 1,
            Stable::DataSync => self.data_sync += 1,
            Stable::FileSync => self.file_sync += 1,
        }
    }
}
