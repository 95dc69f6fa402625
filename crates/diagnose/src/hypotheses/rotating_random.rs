//! Seek time and rotation of the disks.

use assay_record::Experiment as E;

use crate::cause::Cause;
use crate::hypothesis::Hypothesis;
use crate::quantity::Quantity as Q;
use crate::range::{Range, range};
use crate::setting::Setting;
use crate::unchanged;

pub(super) const HYPOTHESIS: Hypothesis = Hypothesis {
    cause: Cause::RotatingRandom,
    name: "seek time and rotation of the disks",
    physics: "Each random I/O moves an arm and waits half a revolution: 4 to 20 ms, hardly more for a larger one. \
        A queue lets disks choose the nearest (about n^-0.26), m disks work on m I/Os, a short span saves \
        seeks, and sequential I/O needs none.",
    source: "Ruemmler and Wilkes 1994; Lee and Katz; docs/design/040-model.md (X = N/(N+m-1) x m/S).",
    applies: |s| s.may_have_drive() && s.is_random(),
    forms: &[
        expects,
        expects_otherwise,
        expects_with_a_full_queue,
        expects_of_one_disk,
        expects_of_uneven_disks,
        expects_behind_a_cache,
    ],
    unchanged: &[&unchanged::WAYS, &unchanged::WORKERS, &unchanged::REST],
    helps: "More disks, a shorter span, or flash; a RAID level with a smaller write penalty for writes.",
    gain: None,
    look: "How many disks work on it, and the RAID level.",
};

fn expects(quantity: Q, s: &Setting) -> Option<Range> {
    match quantity {
        // Seeks are longer.
        Q::Rate(E::WholeSpan) => range(0.55, 1.03),
        Q::LatencyOne => range(2500.0, 20000.0),
        // With a queue to choose from an access still takes a millisecond; a cache may take writes in.
        Q::LatencyOfLoad => range(if s.writes() { 150.0 } else { 1500.0 }, 1e6),
        Q::Rate(E::LargerIo) => range(0.42, 1.0),
        Q::Rate(E::SmallerIo) => range(1.0, 1.12),
        Q::Rate(E::HotSpan) => range(1.05, 60.0),
        Q::Rate(E::TenthSpan) => range(1.0, 1.6),
        Q::Rate(E::Sequential) => range(4.0, 300.0),
        Q::MedianToMean => range(0.72, 1.05),
        // At half the rate hardly anything queues: what remains is one access of all that were outstanding.
        Q::PacedLatency => range((0.8 / s.outstanding).min(0.06), 0.9),
        Q::Rate(E::Base) => range(0.92, 1.09),
        Q::Rate(E::OneOutstanding) => range((0.5 / s.outstanding).max(0.04), 0.8),
        Q::Rate(E::MoreOutstanding) => range(0.98, 1.9),
        Q::Rate(E::ReadsOnly) | Q::Rate(E::WritesOnly) => range(0.95, 1.06),
        Q::PingWait => range(0.001, 0.3),
        Q::LowToMean if !s.writes() => range(0.12, 0.95),
        _ => None,
    }
}

fn expects_otherwise(quantity: Q, s: &Setting) -> Option<Range> {
    match quantity {
        Q::Rate(E::ReadsOnly) => range(1.05, accesses_most(s) * 1.3),
        Q::Rate(E::WritesOnly) => range(0.15, 1.0),
        Q::Rate(E::Misaligned) => range(0.6, 1.05),
        _ => expects(quantity, s),
    }
}

/// Accesses of an I/O of the load at most, a read being one: a write to RAID 6 is six.
fn accesses_most(s: &Setting) -> f64 {
    s.reads + (1.0 - s.reads) * 6.0
}

/// The disks sort no more than is outstanding already (32 commands each), or do not sort: more I/Os only wait.
fn expects_with_a_full_queue(quantity: Q, s: &Setting) -> Option<Range> {
    match quantity {
        Q::Rate(E::MoreOutstanding) => range(0.95, 1.06),
        Q::Rate(E::TenthSpan) => range(0.97, 1.3),
        Q::Rate(E::OneOutstanding) => range((0.8 / s.outstanding).max(0.04), 0.85),
        _ if s.writes() && s.reads > 0.0 => expects_otherwise(quantity, s),
        _ => expects(quantity, s),
    }
}

/// One disk on a span so short that its rotation takes nearly all of the time: choosing the nearest gains little, and
/// shows in some I/Os that overtake the others.
fn expects_of_one_disk(quantity: Q, s: &Setting) -> Option<Range> {
    if s.writes() {
        return expects_with_a_full_queue(quantity, s);
    }
    match quantity {
        Q::Rate(E::OneOutstanding) => range(0.4, 1.0),
        Q::PacedLatency => range(0.6 / s.outstanding, 3.0 / s.outstanding),
        Q::LowToMean => range(0.12, 0.7),
        Q::MedianToMean => range(0.6, 1.0),
        Q::Rate(E::LargerIo) => range(0.8, 1.0),
        Q::Rate(E::MoreOutstanding) => range(0.95, 1.3),
        Q::Rate(E::TenthSpan) => range(0.97, 1.4),
        Q::Rate(E::HotSpan) => range(1.05, 4.0),
        _ => expects(quantity, s),
    }
}

/// One disk has more to do than the others, as the one that is left of a mirror: most of what is outstanding waits
/// there.
fn expects_of_uneven_disks(quantity: Q, s: &Setting) -> Option<Range> {
    match quantity {
        Q::MedianToMean => range(0.2, 0.8),
        Q::LowToMean => range(0.05, 0.6),
        Q::Rate(E::HotSpan) => range(0.9, 4.0),
        _ => expects_with_a_full_queue(quantity, s),
    }
}

/// A cache answers less than half of the reads: the disks are what the rest waits for, though a few MiB and a tenth of
/// the span, which fit into the cache, are many times as fast. Where it answers more, its hits are the load.
fn expects_behind_a_cache(quantity: Q, s: &Setting) -> Option<Range> {
    if s.reads == 0.0 || !s.is_remote() {
        return expects_otherwise(quantity, s);
    }
    match quantity {
        Q::Rate(E::HotSpan) => range(1.5, 300.0),
        Q::Rate(E::TenthSpan) => range(1.0, 100.0),
        Q::Rate(E::Sequential) => range(1.5, 300.0),
        Q::Rate(E::WholeSpan) => range(0.2, 1.03),
        Q::LatencyOne => range(1500.0, 20_000.0),
        Q::LatencyOfLoad => range(1000.0, 1e6),
        // It fills meanwhile.
        Q::Rate(E::Base) => range(0.9, 1.7),
        Q::Trend => range(0.8, 1.6),
        Q::MedianToMean => range(0.4, 1.05),
        Q::LowToMean => range(0.0005, 0.5),
        // What is cached may lie together.
        Q::SlowRegion => range(0.97, 300.0),
        _ => expects(quantity, s),
    }
}

/// What disks with a queue do, for what drains to them.
pub(super) fn of_disks(quantity: Q, s: &Setting) -> Option<Range> {
    expects(quantity, s)
}
