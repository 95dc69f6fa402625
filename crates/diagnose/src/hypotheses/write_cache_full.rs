//! A write-back cache that is full.

use assay_record::Experiment as E;

use crate::cause::Cause;
use crate::hypothesis::Hypothesis;
use crate::quantity::Quantity as Q;
use crate::range::{Range, range};
use crate::setting::Setting;
use crate::unchanged;

use super::rotating_random;

pub(super) const HYPOTHESIS: Hypothesis = Hypothesis {
    cause: Cause::WriteCacheFull,
    name: "a write-back cache that is full",
    physics: "A full cache accepts writes only as fast as the media store them. After a pause it has room again, and \
        the same load is fast for a while.",
    source: "As for the cache that is not full; a pause empties it.",
    applies: |s| s.writes() && s.has_medium() && !s.is_sync,
    forms: &[expects, expects_otherwise, expects_of_disks, expects_of_bytes],
    unchanged: &[&unchanged::WAYS, &unchanged::WORKERS, &unchanged::DEPTH],
    helps: "More or faster media; a larger cache only delays the limit.",
    gain: None,
    look: "Fill level and destage rate of the cache.",
};

fn expects(quantity: Q, _: &Setting) -> Option<Range> {
    match quantity {
        Q::Rate(E::AfterIdle) => range(1.8, 4000.0),
        Q::LatencyOne => range(30.0, 16000.0),
        Q::PacedLatency => range(0.03, 0.9),
        Q::Trend => range(0.3, 1.1),
        Q::Rate(E::ReadsOnly) => range(0.4, 6.0),
        Q::Rate(E::Base) => range(0.6, 1.3),
        Q::Rate(E::HotSpan) => range(1.3, 3.0),
        Q::Rate(E::TenthSpan) => range(1.2, 1.5),
        Q::Rate(E::Sequential) => range(8.0, 250.0),
        Q::Rate(E::LargerIo) => range(0.5, 1.02),
        Q::Rate(E::OneOutstanding) => range(0.07, 0.5),
        Q::Rate(E::MoreOutstanding) => range(0.97, 1.75),
        Q::Rate(E::SmallerIo) => range(1.0, 1.12),
        Q::MedianToMean => range(0.85, 1.06),
        Q::PingWait => range(0.001, 0.3),
        _ => None,
    }
}

fn expects_otherwise(quantity: Q, _: &Setting) -> Option<Range> {
    match quantity {
        Q::Rate(E::AfterIdle) => range(1.8, 4000.0),
        Q::LatencyOne => range(30.0, 16000.0),
        Q::PacedLatency => range(0.03, 0.9),
        Q::Trend => range(0.3, 1.1),
        Q::Rate(E::ReadsOnly) => range(0.4, 6.0),
        Q::Rate(E::Base) => range(0.6, 1.3),
        Q::Rate(E::HotSpan) => range(0.95, 30.0),
        Q::Rate(E::TenthSpan) => range(0.95, 1.6),
        Q::Rate(E::Sequential) => range(0.95, 250.0),
        Q::Rate(E::LargerIo) => range(0.12, 1.02),
        Q::Rate(E::OneOutstanding) => range(0.3, 1.1),
        Q::Rate(E::SmallerIo) => range(1.0, 8.0),
        Q::MedianToMean => range(0.02, 1.05),
        Q::PingWait => range(0.001, 0.3),
        _ => None,
    }
}

/// A cache that is full is as fast as the disks behind it, in everything but after a pause.
fn expects_of_disks(quantity: Q, s: &Setting) -> Option<Range> {
    match quantity {
        Q::Rate(E::AfterIdle) => range(1.8, 4000.0),
        Q::Trend | Q::Rate(E::Base) => expects(quantity, s),
        _ => rotating_random::of_disks(quantity, s),
    }
}

/// It drains at a rate in bytes, as to one device that takes large pieces in order. A load below that rate is taken in
/// at once, and reads do not pass it.
fn expects_of_bytes(quantity: Q, _: &Setting) -> Option<Range> {
    match quantity {
        Q::Rate(E::AfterIdle) => range(1.8, 4000.0),
        Q::Rate(E::LargerIo) => range(0.115, 0.135),
        Q::Rate(E::SmallerIo) => range(6.5, 8.6),
        Q::Rate(E::OneOutstanding) => range(0.85, 1.05),
        Q::Rate(E::ReadsOnly) => range(0.4, 300.0),
        Q::Rate(E::WritesOnly) => range(0.3, 1.06),
        Q::Rate(E::Mixed) => range(1.2, 2.5),
        Q::Rate(E::Base) => range(0.6, 1.3),
        Q::PacedLatency => range(0.003, 0.9),
        Q::PacedToOne => range(0.004, 1.3),
        Q::MedianToMean => range(0.5, 1.08),
        Q::LowToMean => range(0.01, 1.06),
        Q::PingWait => range(0.001, 0.3),
        _ => None,
    }
}
