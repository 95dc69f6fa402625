//! A read cache or the memory of the target.

use assay_record::Experiment as E;

use super::super::hypothesis::Hypothesis;
use super::super::range::{Range, range};
use super::super::{Cause, Quantity as Q, Setting};

pub(super) const HYPOTHESIS: Hypothesis = Hypothesis {
    cause: Cause::ReadCache,
    name: "a read cache or the memory of the target",
    physics: "Blocks that are in memory come at the speed of memory and network; only misses wait for the medium. \
        Latencies fall into two groups, and a smaller span has more hits.",
    source: "rate = misses' rate / (1 - hit share); hit share = cache / span for random reads \
        (docs/design/040-model.md).",
    applies: |s| s.has_medium() && s.reads > 0.0,
    forms: &[expects, expects_otherwise],
    helps: "Repeat on a span of several times the target's memory to measure its media.",
    gain: Some(E::TenthSpan),
    look: "Size and use of the target's cache.",
};

fn expects(quantity: Q, _: &Setting) -> Option<Range> {
    match quantity {
        Q::Rate(E::HotSpan) | Q::Rate(E::TenthSpan) => range(1.5, 300.0),
        Q::MedianToMean => range(0.001, 0.35),
        Q::Rate(E::MoreOutstanding) => range(1.05, 16.0),
        Q::Rate(E::LargerIo) => range(0.3, 1.1),
        Q::Rate(E::Sequential) => range(1.5, 200.0),
        Q::Rate(E::OneOutstanding) => range(0.05, 0.5),
        Q::PacedLatency => range(0.15, 0.9),
        Q::Rate(E::SmallerIo) => range(0.85, 1.2),
        Q::Rate(E::MoreWorkers)
        | Q::Rate(E::MoreConnections)
        | Q::Rate(E::EvenPaths)
        | Q::Rate(E::AfterIdle)
        | Q::Rate(E::Base) => range(0.8, 1.25),
        Q::Trend => range(0.4, 1.2),
        _ => None,
    }
}

fn expects_otherwise(quantity: Q, _: &Setting) -> Option<Range> {
    match quantity {
        Q::LatencyOne => range(2.0, 50.0),
        Q::Rate(E::MoreOutstanding) => range(0.9, 1.2),
        Q::Rate(E::OneOutstanding) => range(0.1, 0.9),
        Q::Rate(E::LargerIo) => range(0.15, 0.9),
        Q::Rate(E::SmallerIo) => range(1.0, 3.0),
        Q::Rate(E::Sequential) | Q::Rate(E::Random) => range(0.9, 1.2),
        Q::MedianToMean => range(0.75, 1.08),
        Q::PacedLatency => range(0.05, 0.9),
        _ => None,
    }
}
