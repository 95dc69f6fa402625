//! A read cache or the memory of the target.

use assay_record::Experiment as E;

use crate::cause::Cause;
use crate::hypothesis::Hypothesis;
use crate::quantity::Quantity as Q;
use crate::range::{Range, range};
use crate::setting::Setting;
use crate::unchanged;

pub(super) const HYPOTHESIS: Hypothesis = Hypothesis {
    cause: Cause::ReadCache,
    name: "a read cache or the memory of the target",
    physics: "Blocks that are in memory come at the speed of memory and network; only misses wait for the medium. \
        Latencies fall into two groups, and a smaller span has more hits.",
    source: "rate = misses' rate / (1 - hit share); hit share = cache / span for random reads \
        (docs/design/040-model.md).",
    applies: |s| s.has_medium() && s.reads > 0.0,
    forms: &[expects, expects_otherwise, expects_copies],
    unchanged: &[
        &unchanged::WAYS,
        &unchanged::PLACES,
        &unchanged::ALIGNMENT,
        &unchanged::DATA,
        &unchanged::DURABILITY,
        &unchanged::WORKERS,
        &unchanged::REST,
    ],
    helps: "Repeat on a span of several times the target's memory to measure its media.",
    gain: None,
    look: "Size and use of the target's cache.",
};

fn expects(quantity: Q, _: &Setting) -> Option<Range> {
    match quantity {
        // More than the memory holds.
        Q::Rate(E::WholeSpan) => range(0.003, 0.9),
        Q::Rate(E::HotSpan) | Q::Rate(E::TenthSpan) => range(1.5, 300.0),
        Q::MedianToMean => range(0.001, 0.75),
        // Hits are answered without the medium.
        Q::LowToMean => range(0.0005, 0.15),
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
        // What is cached may lie together.
        Q::SlowRegion => range(0.97, 300.0),
        _ => None,
    }
}

fn expects_otherwise(quantity: Q, _: &Setting) -> Option<Range> {
    match quantity {
        Q::Rate(E::WholeSpan) => range(0.003, 1.05),
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

/// The memory is this host's own, as behind a loop device: copying it takes the CPU that the tester needs too. A
/// smaller span stays in the CPU's cache, and rates vary with the CPU on which each thread runs.
fn expects_copies(quantity: Q, s: &Setting) -> Option<Range> {
    // Behind a network it is another machine's.
    if !s.is_local() {
        return expects_otherwise(quantity, s);
    }
    match quantity {
        Q::Rate(E::WholeSpan) => range(0.3, 1.1),
        Q::Rate(E::HotSpan) | Q::Rate(E::TenthSpan) => range(0.9, 2.2),
        Q::Rate(E::Base) | Q::Rate(E::AfterIdle) | Q::Rate(E::MoreWorkers) => range(0.65, 1.5),
        Q::Rate(E::MoreOutstanding) => range(0.85, 1.6),
        Q::Rate(E::Sequential) | Q::Rate(E::Random) => range(0.8, 1.7),
        Q::PacedLatency => range(0.05, 2.0),
        Q::Trend => range(0.75, 1.3),
        Q::MedianToMean => range(0.6, 1.08),
        _ => expects_otherwise(quantity, s),
    }
}
