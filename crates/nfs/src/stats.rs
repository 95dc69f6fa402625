//! State of the connections, and durability of the writes.

use assay_tcp::{PathStats, TcpFacts};

use crate::nfs3::Stable;

/// Present state of a connection.
#[derive(Debug, Clone)]
pub struct ConnectionStatus {
    /// Number of the connection, from 0.
    pub path: u8,
    /// True if the connection is up.
    pub is_up: bool,
    /// Number of calls in flight on or assigned to it.
    pub outstanding: u32,
    /// Local and remote address, while connected.
    pub addresses: Option<(std::net::SocketAddr, std::net::SocketAddr)>,
    /// TCP facts, while connected and if the kernel reports them.
    pub tcp: Option<TcpFacts>,
    /// Counters and distributions.
    pub stats: PathStats,
}

/// Durability of writes when they were answered and when they were committed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct WriteStats {
    /// Number of WRITE calls answered UNSTABLE.
    pub unstable: u64,
    /// Number of WRITE calls answered DATA_SYNC.
    pub data_sync: u64,
    /// Number of WRITE calls answered FILE_SYNC.
    pub file_sync: u64,
    /// Number of COMMITs answered.
    pub commits: u64,
    /// Total time of these COMMITs, ns.
    pub commit_ns: u64,
    /// Number of bytes that they made durable.
    pub committed_bytes: u64,
    /// Number of changes of the verifier: the server restarted.
    pub restarts: u64,
    /// Number of unstable writes that were not committed when the server restarted, and may be lost.
    pub uncertain: u64,
    /// Number of bytes in these writes.
    pub uncertain_bytes: u64,
    /// Number of writes that were sent over a connection which was lost before their answer: the server may still
    /// execute that copy, even after newer writes.
    pub moved: u64,
    /// Number of bytes answered UNSTABLE and not committed now.
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
