//! A write-back cache that is full.

use assay_record::Experiment as E;

use crate::cause::Cause;
use crate::hypothesis::Hypothesis;
use crate::quantity::Quantity as Q;
use crate::range::{Range, range};
use crate::setting::Setting;

pub(super) const HYPOTHESIS: Hypothesis = Hypothesis {
    cause: Cause::WriteCacheFull,
    name: "a write-back cache that is full",
    physics: "A full cache accepts writes only as fast as the media store them. After a pause it has room again, and \
        the same load is fast for a while.",
    source: "As for the cache that is not full; a pause empties it.",
    applies: |s| s.writes() && s.has_medium() && !s.is_sync,
    forms: &[expects, expects_otherwise],
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
