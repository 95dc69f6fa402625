//! Counters and distributions of a path.

use std::time::Duration;

use hdrhistogram::Histogram;

/// What one path has done since it was made.
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
    /// Commands that had to be sent again, for whatever reason.
    pub retries: u64,
    /// Commands that failed.
    pub errors: u64,
    /// Times the path went down.
    pub failures: u64,
    /// From handing a command to the socket to its answer, ns, in [1 µs, 1 h]. Commands that ended well only.
    pub latency_ns: Histogram<u64>,
    /// Round trip of pings (iSCSI NOP, NFS NULL), ns.
    pub ping_ns: Histogram<u64>,
}

impl Default for PathStats {
    fn default() -> Self {
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
#[must_use]
pub fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}
