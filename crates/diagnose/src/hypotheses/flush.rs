//! The flush of each write.

use assay_record::Experiment as E;

use crate::cause::Cause;
use crate::hypothesis::Hypothesis;
use crate::quantity::Quantity as Q;
use crate::range::{Range, range};
use crate::setting::Setting;
use crate::unchanged;

pub(super) const HYPOTHESIS: Hypothesis = Hypothesis {
    cause: Cause::Flush,
    name: "the flush of each write",
    physics: "A durable write waits until it is on stable storage: a revolution of a disk, or the program time of \
        flash. Without that wait, the same writes are many times faster.",
    source: "O_DSYNC, FUA, FILE_SYNC; docs/method.md (durability).",
    applies: |s| s.writes() && s.is_sync,
    forms: &[expects, expects_otherwise, expects_together, expects_protected],
    unchanged: &[
        &unchanged::WAYS,
        &unchanged::PLACES,
        &unchanged::ALIGNMENT,
        &unchanged::DATA,
        &unchanged::WORKERS,
        &unchanged::REST,
    ],
    helps: "Storage with a protected write cache, fewer and larger commits, or writes that need not be durable \
        one by one.",
    gain: Some(E::WithoutSync),
    look: "Check whether the target has a write cache that survives a power loss.",
};

fn expects(quantity: Q, _: &Setting) -> Option<Range> {
    match quantity {
        // Reads beside such writes are faster.
        Q::LowToMean => range(0.003, 1.06),
        Q::Rate(E::WithoutSync) => range(1.8, 400.0),
        Q::Rate(E::ReadsOnly) => range(1.5, 300.0),
        Q::LatencyOne => range(100.0, 20000.0),
        Q::Rate(E::WritesOnly) => range(0.45, 1.05),
        Q::PacedLatency => range(0.04, 1.05),
        Q::Rate(E::LargerIo) => range(0.8, 1.03),
        Q::Rate(E::SmallerIo) => range(0.97, 1.06),
        Q::Rate(E::OneOutstanding) => range(0.72, 1.03),
        // Two flushes now and then go together.
        Q::Rate(E::MoreOutstanding) => range(0.95, 1.2),
        Q::MedianToMean => range(0.9, 1.45),
        Q::PingWait => range(0.001, 0.3),
        _ => None,
    }
}

fn expects_otherwise(quantity: Q, _: &Setting) -> Option<Range> {
    match quantity {
        // Reads beside such writes are faster.
        Q::LowToMean => range(0.003, 1.06),
        Q::Rate(E::WithoutSync) => range(1.8, 400.0),
        Q::Rate(E::ReadsOnly) => range(1.5, 300.0),
        Q::LatencyOne => range(100.0, 20000.0),
        Q::Rate(E::WritesOnly) => range(0.45, 1.05),
        Q::PacedLatency => range(0.04, 1.05),
        Q::Rate(E::LargerIo) => range(0.15, 1.05),
        Q::Rate(E::SmallerIo) => range(0.96, 2.0),
        Q::Rate(E::OneOutstanding) => range(0.02, 0.8),
        Q::Rate(E::MoreOutstanding) => range(0.94, 2.5),
        Q::Rate(E::HotSpan) | Q::Rate(E::TenthSpan) => range(0.9, 1.4),
        Q::Rate(E::Sequential) => range(0.9, 2.0),
        Q::MedianToMean => range(0.5, 1.1),
        Q::PingWait => range(0.001, 0.3),
        _ => None,
    }
}

/// One flush is for all writes before it: those that come meanwhile wait for the next one together (the kernel's block
/// layer, group commit), so that the rate grows with their number and each takes one to two flushes.
fn expects_together(quantity: Q, s: &Setting) -> Option<Range> {
    match quantity {
        Q::Rate(E::OneOutstanding) => range(0.8 / s.outstanding, (2.2 / s.outstanding).min(1.03)),
        Q::Rate(E::MoreOutstanding) => range(2.0, 4.3),
        Q::PacedLatency => range(0.5, 1.8),
        Q::PacedToOne => range(0.85, 2.1),
        Q::MedianToMean => range(0.6, 1.3),
        _ => expects(quantity, s),
    }
}

/// Storage with a protected cache acknowledges a flush at once; what remains is a command more for each write.
fn expects_protected(quantity: Q, _: &Setting) -> Option<Range> {
    match quantity {
        // Reads beside such writes are faster.
        Q::LowToMean => range(0.003, 1.06),
        Q::Rate(E::WithoutSync) => range(1.15, 3.0),
        Q::Rate(E::ReadsOnly) => range(1.1, 10.0),
        Q::LatencyOne => range(20.0, 500.0),
        Q::Rate(E::WritesOnly) => range(0.45, 1.05),
        Q::PacedLatency => range(0.04, 1.05),
        Q::Rate(E::LargerIo) => range(0.15, 1.05),
        Q::Rate(E::SmallerIo) => range(0.96, 3.0),
        Q::Rate(E::OneOutstanding) => range(0.05, 0.8),
        Q::Rate(E::MoreOutstanding) => range(0.94, 1.6),
        Q::Rate(E::HotSpan) | Q::Rate(E::TenthSpan) => range(0.9, 1.7),
        Q::Rate(E::Sequential) => range(0.9, 2.0),
        Q::Rate(E::Misaligned) => range(0.7, 1.06),
        Q::MedianToMean => range(0.5, 1.1),
        Q::PingWait => range(0.001, 0.3),
        _ => None,
    }
}
