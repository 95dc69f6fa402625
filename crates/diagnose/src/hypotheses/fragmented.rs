//! A file in many pieces.

use assay_record::Experiment as E;

use crate::cause::Cause;
use crate::hypothesis::Hypothesis;
use crate::quantity::Quantity as Q;
use crate::range::{Range, range};
use crate::setting::Setting;
use crate::unchanged;

pub(super) const HYPOTHESIS: Hypothesis = Hypothesis {
    cause: Cause::Fragmented,
    name: "fragmentation of the file",
    physics: "Between two pieces a disk has to seek: a sequential load has a seek for each piece, and is hardly \
        faster than a random one.",
    source: "FIEMAP: number of extents of the file in the span.",
    applies: |s| s.shows(Cause::Fragmented) && s.random < 0.5,
    forms: &[expects, expects_of_flash],
    unchanged: &[&unchanged::WORKERS, &unchanged::REST],
    helps: "Write the file anew into free space, or defragment it (e4defrag, xfs_fsr, btrfs filesystem \
        defragment).",
    gain: None,
    look: "The pieces: filefrag -v FILE.",
};

fn expects(quantity: Q, s: &Setting) -> Option<Range> {
    match quantity {
        Q::Shown(Cause::Fragmented) => range(0.9, 1.1),
        Q::Rate(E::Random) => range(0.4, 1.2),
        Q::Rate(E::MoreOutstanding) => range(0.95, 2.0),
        Q::Rate(E::OneOutstanding) => range(0.4 / s.outstanding, 1.05),
        Q::Rate(E::LargerIo) => range(0.12, 1.0),
        Q::Rate(E::SmallerIo) => range(1.0, 8.0),
        Q::Rate(E::HotSpan) => range(0.9, 100.0),
        Q::Rate(E::TenthSpan) => range(0.95, 1.6),
        Q::Rate(E::ReadsOnly) | Q::Rate(E::WritesOnly) => range(0.6, 1.6),
        Q::LatencyOne => range(1500.0, 25_000.0),
        Q::PacedLatency => range(0.03, 0.9),
        Q::MedianToMean => range(0.2, 1.1),
        Q::LowToMean => range(0.01, 1.05),
        _ => None,
    }
}

/// The device splits I/Os at the ends of pieces.
fn expects_of_flash(quantity: Q, s: &Setting) -> Option<Range> {
    match quantity {
        Q::Rate(E::Random) => range(0.85, 1.1),
        Q::LatencyOne => range(30.0, 1500.0),
        Q::Rate(E::LargerIo) => range(0.12, 0.8),
        _ => expects(quantity, s),
    }
}
