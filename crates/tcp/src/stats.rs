//! Counters and distributions of a path.

use std::time::Duration;

use hdrhistogram::Histogram;

/// Counters of one path since it was created.
#[derive(Debug, Clone)]
pub struct PathStats {
    /// Number of successful reads. An I/O that is split into several calls counts once.
    pub reads: u64,
    /// Number of successful writes.
    pub writes: u64,
    /// Number of bytes read.
    pub read_bytes: u64,
    /// Number of bytes written.
    pub write_bytes: u64,
    /// Number of commands that were sent again, for any reason.
    pub retries: u64,
    /// Number of commands that failed.
    pub errors: u64,
    /// Number of times that the path went down.
    pub failures: u64,
    /// Number of commands that the other side refused because it was busy or not ready.
    pub refused: u64,
    /// Number of commands that went to another path because this one refused them or had no room for them.
    pub moved: u64,
    /// Time for which the path was up and took next to nothing: its last answer was a refusal, or it had no room for a
    /// command although none was in flight. ns, in steps of a tick.
    pub unable_ns: u64,
    /// Time from writing a command to the socket to its answer, ns, in [1 µs, 1 h]. Successful commands only.
    pub latency_ns: Histogram<u64>,
    /// Round-trip time of pings (iSCSI NOP, NFS NULL), ns.
    pub ping_ns: Histogram<u64>,
}

impl Default for PathStats {
    fn default() -> Self {
        // Two significant digits: buckets 1 % wide, about 60 KiB per histogram.
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
            refused: 0,
            moved: 0,
            unable_ns: 0,
            latency_ns: histogram(),
            ping_ns: histogram(),
        }
    }
}

/// Returns the duration in nanoseconds, up to 584 years.
pub fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}
