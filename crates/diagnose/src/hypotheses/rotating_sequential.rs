//! The transfer rate of rotating media.

use assay_record::Experiment as E;

use crate::cause::Cause;
use crate::hypothesis::Hypothesis;
use crate::quantity::Quantity as Q;
use crate::range::{Range, range};
use crate::setting::Setting;
use crate::unchanged;

pub(super) const HYPOTHESIS: Hypothesis = Hypothesis {
    cause: Cause::RotatingSequential,
    name: "the transfer rate of rotating media",
    physics: "Without seeks a disk delivers what passes under its heads: 30 to 280 MB/s each, twice as much at the \
        outer edge as at the inner one. Random I/O on the same disks is a hundred times slower in bytes.",
    source: "Zoned recording (docs/design/040-model.md).",
    applies: |s| s.may_have_drive() && s.random < 0.05,
    forms: &[expects, expects_otherwise, expects_bytes_only, expects_of_many],
    unchanged: &[
        &unchanged::WAYS,
        &unchanged::PLACES,
        &unchanged::WORKERS,
        &unchanged::DEPTH,
        &unchanged::REST,
    ],
    helps: "More disks to stripe over; the outer tracks are the fastest.",
    gain: None,
    look: "Number of disks and the RAID level.",
};

fn expects(quantity: Q, _: &Setting) -> Option<Range> {
    match quantity {
        Q::Rate(E::Random) => range(0.003, 0.36),
        Q::LatencyOne => range(150.0, 3000.0),
        Q::PacedLatency => range(0.03, 1.0),
        Q::Rate(E::OneOutstanding) => range(0.09, 1.05),
        Q::Rate(E::LargerIo) => range(0.118, 0.135),
        Q::Rate(E::SmallerIo) => range(1.5, 8.4),
        Q::Rate(E::ReadsOnly) | Q::Rate(E::WritesOnly) => range(0.95, 1.06),
        Q::PingWait => range(0.001, 0.3),
        _ => None,
    }
}

fn expects_otherwise(quantity: Q, s: &Setting) -> Option<Range> {
    match quantity {
        // Several streams are spread over the span; the inner tracks have half of the rate of the outer ones.
        Q::Rate(E::WholeSpan) => range(0.5, 1.05),
        // A larger I/O comes nearer to the transfer rate of the medium.
        Q::Rate(E::LargerIo) => range(0.03, 0.165),
        Q::Rate(E::SmallerIo) => range(1.5, 16.0),
        Q::Rate(E::HotSpan) => range(1.05, 10.0),
        Q::Rate(E::TenthSpan) => range(0.97, 1.4),
        Q::Rate(E::MoreOutstanding) => range(0.97, 1.4),
        Q::Rate(E::ReadsOnly) | Q::Rate(E::WritesOnly) => range(0.6, 1.7),
        _ => expects(quantity, s),
    }
}

/// Nothing but bytes counts: the disk reads ahead, or the queue is deep.
fn expects_bytes_only(quantity: Q, s: &Setting) -> Option<Range> {
    match quantity {
        Q::Rate(E::LargerIo) => range(0.121, 0.129),
        Q::Rate(E::SmallerIo) => range(7.0, 8.4),
        Q::Rate(E::OneOutstanding) => range(0.1, 1.05),
        Q::PacedLatency => range(0.008, 0.65),
        _ => expects(quantity, s),
    }
}

/// More disks than the I/Os in flight reach: what is outstanding covers that many chunks of a stripe, and a deeper
/// queue or larger I/Os cover more.
fn expects_of_many(quantity: Q, s: &Setting) -> Option<Range> {
    match quantity {
        Q::Rate(E::MoreOutstanding) => range(1.1, 3.6),
        Q::Rate(E::LargerIo) => range(0.13, 0.45),
        Q::Rate(E::SmallerIo) => range(1.0, 8.4),
        Q::Rate(E::OneOutstanding) => range(0.8 / s.outstanding, 0.9),
        Q::PacedLatency => range(0.1, 1.05),
        _ => expects(quantity, s),
    }
}
