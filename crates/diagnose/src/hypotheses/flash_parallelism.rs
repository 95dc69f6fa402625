//! The dies of the flash.

use assay_record::Experiment as E;

use crate::cause::Cause;
use crate::experiments::SIZE_TIMES;
use crate::hypothesis::Hypothesis;
use crate::quantity::Quantity as Q;
use crate::range::{Range, range};
use crate::setting::Setting;
use crate::unchanged;

pub(super) const HYPOTHESIS: Hypothesis = Hypothesis {
    cause: Cause::FlashParallelism,
    name: "SSD parallelism",
    physics: "Flash reads in 50 to 120 us, as many at once as dies are free: X(Q) = D/t x (1 - (1 - 1/D)^Q). Distance \
        does not matter, so span and order change little; larger I/Os occupy more dies.",
    source: "docs/design/040-model.md (SSD); MQSim, FAST 2018.",
    applies: |s| s.may_have_drive(),
    forms: &[expects, expects_whole_pages, expects_planes],
    unchanged: &[&unchanged::WAYS, &unchanged::PLACES, &unchanged::WORKERS, &unchanged::REST],
    helps: "More drives, or drives with more dies.",
    gain: None,
    look: "Number of drives and their data sheets.",
};

/// Bytes of a page of flash: an I/O occupies a die for each that it touches.
const PAGE: f64 = 16_384.0;
/// Planes of a die.
const PLANES: f64 = 4.0;

fn expects(quantity: Q, s: &Setting) -> Option<Range> {
    match quantity {
        // A controller without memory for its whole table reads parts of it from the flash.
        Q::Rate(E::WholeSpan) => range(0.75, 1.06),
        Q::LatencyOne => range(45.0, 320.0),
        Q::Rate(E::MoreOutstanding) => range(1.0, 1.25),
        Q::Rate(E::OneOutstanding) => range((0.7 / s.outstanding).min(0.25), 0.3),
        Q::Rate(E::SmallerIo) => range(1.0, 3.0),
        Q::Rate(E::ReadsOnly) => range(0.7, 2.5),
        Q::Rate(E::WritesOnly) => range(0.6, 2.6),
        Q::MedianToMean => range(0.64, 0.98),
        Q::PacedLatency => range(0.08, 0.5),
        Q::Rate(E::LargerIo) => range(0.114, 0.6),
        // Neighbours lie in the same page, which is read once.
        Q::Rate(E::Sequential) => range(0.94, (1.1 * PAGE / s.size_bytes).max(1.3)),
        Q::PingWait => range(0.001, 0.3),
        _ => None,
    }
}

/// An I/O takes as many accesses as it has pages, without a saving for larger ones.
fn expects_whole_pages(quantity: Q, s: &Setting) -> Option<Range> {
    let pages = |size: f64| (size / PAGE).ceil().max(1.0);
    let times = pages(s.size_bytes * SIZE_TIMES as f64) / pages(s.size_bytes);
    match quantity {
        Q::Rate(E::LargerIo) => range(0.92 / times, 1.15 / times),
        _ => expects(quantity, s),
    }
}

/// The planes of a die read a page each at once: an I/O of a few pages takes hardly longer than one of a page.
fn expects_planes(quantity: Q, s: &Setting) -> Option<Range> {
    match quantity {
        Q::Rate(E::LargerIo) if s.size_bytes * SIZE_TIMES as f64 <= PLANES * PAGE => range(0.5, 1.02),
        _ => expects(quantity, s),
    }
}
