//! Counters and distributions for each connection, and what became of writes.

use std::time::Duration;

use hdrhistogram::Histogram;

use crate::nfs3::Stable;

/// What one connection has done since the file was opened.
#[derive(Debug, Clone)]
pub struct PathStats {
    /// Reads that ended well. An I/O that is split into several calls counts once.
    pub reads: u64,
    /// Writes that ended well.
    pub writes: u64,
    /// Bytes read.
    pub read_bytes: u64,
    /// Bytes written.
    pub write_bytes: u64,
    /// Calls that had to be sent again, for whatever reason.
    pub retries: u64,
    /// I/Os that failed.
    pub errors: u64,
    /// Times the connection went down.
    pub failures: u64,
    /// From handing an I/O's first call to the socket to its last answer, ns, in [1 µs, 1 h]. Those that ended well.
    pub latency_ns: Histogram<u64>,
    /// Round trip of pings (NULL), ns.
    pub ping_ns: Histogram<u64>,
}

impl PathStats {
    pub(crate) fn new() -> Self {
        // Two digits: 1 % wide buckets, about 60 KiB per histogram.
        let histogram =
            || Histogram::new_with_bounds(1_000, 3_600_000_000_000, 2).expect("the bounds are constant");
        Self {
            reads: 0,
            writes: 0,
            read_bytes: 0,
            write_bytes: 0,
            retries: 0,
            errors: 0,
            failures: 0,
            latency_ns: histogram(),
            ping_ns: histogram(),
        }
    }
}

/// A connection as it is now.
#[derive(Debug, Clone)]
pub struct PathReport {
    /// Number of the connection, from 0.
    pub path: u8,
    /// True if it serves I/O.
    pub is_up: bool,
    /// Calls in the air or bound to it.
    pub outstanding: u32,
    /// Our and the server's address, while connected.
    pub addresses: Option<(std::net::SocketAddr, std::net::SocketAddr)>,
    /// Counters and distributions.
    pub stats: PathStats,
}

/// What became of writes: how durable they were when they were answered, and when they were committed.
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

/// Nanoseconds, up to 584 years.
pub(crate) fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}
