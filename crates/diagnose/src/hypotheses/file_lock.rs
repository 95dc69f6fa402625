//! The lock of a file that is written.

use assay_record::Experiment as E;

use crate::cause::Cause;
use crate::hypothesis::Hypothesis;
use crate::quantity::Quantity as Q;
use crate::range::{Range, range};
use crate::setting::Setting;
use crate::unchanged;

pub(super) const HYPOTHESIS: Hypothesis = Hypothesis {
    cause: Cause::FileLock,
    name: "the lock of the file, which serialises writes",
    physics: "A file system lets one write at a time into a file where it cannot prove that two do not meet: \
        each waits for the one before, one outstanding write is as fast as many, reads are not held back, and \
        two files are twice as fast as one.",
    source: "inode->i_rwsem of Linux: exclusive for buffered writes, for writes that extend or allocate, and in \
        some file systems for all.",
    applies: |s| s.is_local() && s.is_file && s.writes() && s.outstanding > 2.0,
    forms: &[expects, expects_of_small, expects_of_a_part, expects_of_mix, expects_of_mix_on_flash],
    unchanged: &[&unchanged::REST],
    helps: "Spread the writes over several files, or use a file system that writes one in parallel (XFS, ext4 \
        on blocks that are allocated, without --cached).",
    gain: None,
    look: "Time in the lock: perf trace, or offcputime on down_write.",
};

fn expects(quantity: Q, s: &Setting) -> Option<Range> {
    match quantity {
        Q::Rate(E::ReadsOnly) => range(1.5, 300.0),
        // Half of them pass the lock.
        Q::Rate(E::Mixed) => range(1.5, 2.15),
        Q::Rate(E::WritesOnly) => range(0.9, 1.06),
        Q::Rate(E::OneOutstanding) => range(0.6, 1.07),
        Q::Rate(E::MoreOutstanding) | Q::Rate(E::MoreWorkers) => range(0.9, 1.08),
        Q::Rate(E::LargerIo) => range(0.13, 1.03),
        Q::Rate(E::SmallerIo) => range(0.97, 4.0),
        Q::Rate(E::HotSpan) | Q::Rate(E::TenthSpan) => range(0.94, 1.2),
        Q::Rate(E::Sequential) => range(0.93, 1.5),
        Q::Rate(E::WithSync) => range(0.02, 1.05),
        Q::LatencyOne => range(8.0, 8000.0),
        Q::PacedLatency => range(0.8 / s.outstanding, 2.6 / s.outstanding),
        Q::PacedToOne => range(0.8, 2.0),
        Q::MedianToMean => range(0.9, 1.1),
        _ => None,
    }
}

/// Writes so small that only their number counts.
fn expects_of_small(quantity: Q, s: &Setting) -> Option<Range> {
    match quantity {
        Q::Rate(E::LargerIo) => range(0.88, 1.04),
        Q::Rate(E::SmallerIo) => range(0.97, 1.07),
        Q::Rate(E::HotSpan) | Q::Rate(E::TenthSpan) => range(0.95, 1.06),
        _ => expects(quantity, s),
    }
}

/// The lock is held until a write is handed to the device, which carries several out at once.
fn expects_of_a_part(quantity: Q, s: &Setting) -> Option<Range> {
    match quantity {
        Q::Rate(E::OneOutstanding) => range(0.08, 0.7),
        Q::Rate(E::Mixed) => range(1.2, 2.15),
        Q::LatencyOne => range(20.0, 8000.0),
        Q::PacedLatency => range(0.8 / s.outstanding, 0.8),
        Q::MedianToMean => range(0.9, 1.2),
        _ => expects(quantity, s),
    }
}

fn expects_of_mix(quantity: Q, s: &Setting) -> Option<Range> {
    match quantity {
        // Reads pass, and were held back only by the writes of the same load.
        Q::Rate(E::ReadsOnly) => range(1.2, 200.0),
        Q::Rate(E::WritesOnly) => range((1.0 - s.reads).max(0.1) * 0.9, (1.0 - s.reads).max(0.1) * 1.3),
        Q::Rate(E::OneOutstanding) => range(0.3, 1.1),
        Q::MedianToMean => range(0.03, 1.1),
        Q::LowToMean => range(0.001, 1.0),
        Q::PacedLatency => range(0.01, 0.5),
        Q::PacedToOne => range(0.6, 2.0),
        _ => expects(quantity, s),
    }
}

/// Reads of flash take no longer than the writes that hold the lock, and one I/O at a time as long as several of these.
fn expects_of_mix_on_flash(quantity: Q, s: &Setting) -> Option<Range> {
    if s.reads == 0.0 {
        return expects_of_a_part(quantity, s);
    }
    let writes = (1.0 - s.reads).max(0.1);
    match quantity {
        Q::Rate(E::ReadsOnly) => range(1.1, 7.0),
        Q::Rate(E::WritesOnly) => range(writes * 0.9, writes * 1.5),
        Q::Rate(E::OneOutstanding) => range(0.12, 0.5),
        Q::Rate(E::LargerIo) => range(0.2, 0.97),
        Q::LatencyOne => range(40.0, 200.0),
        // The reads pass at once; where the mean is made by the writes, most I/Os are faster than it.
        Q::MedianToMean => range(0.15, 1.1),
        Q::LowToMean => range(0.05, 0.6),
        Q::PacedLatency => range(0.05, 0.45),
        Q::PacedToOne => range(0.9, 1.2),
        _ => expects_of_mix(quantity, s),
    }
}
