//! Counters and distributions per path.

use std::time::Duration;

use hdrhistogram::Histogram;

use crate::login::Negotiated;
use crate::scsi::AccessState;
use crate::transport::TcpFacts;

/// What one path has done since the initiator was made.
#[derive(Debug, Clone)]
pub struct PathStats {
    /// Reads that ended well.
    pub reads: u64,
    /// Writes that ended well.
    pub writes: u64,
    /// Bytes read.
    pub read_bytes: u64,
    /// Bytes written.
    pub write_bytes: u64,
    /// Commands that had to be sent again, for whatever reason.
    pub retries: u64,
    /// Commands that failed.
    pub errors: u64,
    /// Times the path went down.
    pub failures: u64,
    /// From handing a command to the socket to its status, ns, in [1 µs, 1 h]. Commands that ended well only.
    pub latency_ns: Histogram<u64>,
    /// Round trip of pings (NOP), ns.
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

/// Nanoseconds, up to 584 years.
pub(crate) fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

/// A path as it is now.
#[derive(Debug, Clone)]
pub struct PathReport {
    /// Number of the path, from 0.
    pub path: u8,
    /// Portal as configured.
    pub portal: String,
    /// True if it serves I/O.
    pub is_up: bool,
    /// Access state.
    pub access: AccessState,
    /// Commands in the air or bound to this path.
    pub outstanding: u32,
    /// What login agreed on, while connected.
    pub agreed: Option<Negotiated>,
    /// Commands the target lets us have in the air over this path, while connected.
    pub command_window: Option<u32>,
    /// Our and the target's address, while connected.
    pub addresses: Option<(std::net::SocketAddr, std::net::SocketAddr)>,
    /// TCP facts, while connected and where the kernel tells.
    pub tcp: Option<TcpFacts>,
    /// Counters and distributions.
    pub stats: PathStats,
}
