//! The number of outstanding I/Os.

use assay_record::Experiment as E;

use crate::cause::Cause;
use crate::hypothesis::Hypothesis;
use crate::quantity::Quantity as Q;
use crate::range::{Range, range};
use crate::setting::Setting;
use crate::unchanged;

pub(super) const HYPOTHESIS: Hypothesis = Hypothesis {
    cause: Cause::FewOutstanding,
    name: "a queue depth that is too low",
    physics: "Little's law: rate = outstanding / latency. While nothing is saturated, latency does not change with the \
        number of I/Os in flight, so twice as many give twice the rate.",
    source: "Little 1961; docs/design/040-model.md, bounds.",
    applies: |s| !s.is_paced,
    forms: &[
        expects,
        expects_otherwise,
        expects_slow,
        expects_near_the_end,
        expects_of_awake_cpus,
        expects_beside_a_slow_member,
    ],
    unchanged: &[
        &unchanged::WAYS,
        &unchanged::PLACES,
        &unchanged::DATA,
        &unchanged::DURABILITY,
        &unchanged::WORKERS,
        &unchanged::REST,
    ],
    helps: "Issue more I/Os at the same time: more outstanding I/Os, more threads in the application, a larger queue.",
    gain: Some(E::MoreOutstanding),
    look: "Latency is the sum of all that an I/O passes; a single number does not show which part is the largest.",
};

fn expects(quantity: Q, s: &Setting) -> Option<Range> {
    match quantity {
        Q::Rate(E::MoreOutstanding) => range(2.4, 4.1),
        Q::Rate(E::OneOutstanding) => range(0.85 / s.outstanding, 2.1 / s.outstanding),
        Q::Rate(E::LargerIo) => range(0.3, 0.98),
        Q::Rate(E::SmallerIo) => range(1.0, 1.5),
        Q::PacedLatency => range(0.9, 1.08),
        Q::RoundTripShare => range(0.001, 0.62),
        Q::TesterBusy => range(0.005, 0.5),
        Q::LatencyOne => range(20.0, 2000.0),
        // Flash takes half or twice as long to read as to write.
        Q::Rate(E::ReadsOnly) | Q::Rate(E::WritesOnly) => range(0.4, 2.7),
        Q::Rate(E::Mixed) => range(0.6, 1.6),
        Q::PingWait => range(0.001, 0.3),
        _ => None,
    }
}

fn expects_otherwise(quantity: Q, s: &Setting) -> Option<Range> {
    match quantity {
        Q::Rate(E::WholeSpan) => range(0.4, 1.05),
        Q::Rate(E::ReadsOnly) => range(0.4, 4.0),
        Q::Rate(E::WritesOnly) => range(0.3, 2.0),
        Q::Rate(E::HotSpan) => range(1.0, 40.0),
        Q::Rate(E::TenthSpan) => range(0.97, 1.6),
        Q::Rate(E::Sequential) => range(1.0, 60.0),
        Q::Rate(E::Random) => range(0.02, 1.05),
        Q::LatencyOne => range(100.0, 20000.0),
        Q::Rate(E::Mixed) => None,
        _ => expects(quantity, s),
    }
}

/// Each waits for something that takes long, wherever it goes, and that serves many at once.
fn expects_slow(quantity: Q, s: &Setting) -> Option<Range> {
    match quantity {
        Q::LatencyOne => range(2000.0, 300_000.0),
        Q::Rate(E::LargerIo) => range(0.8, 1.04),
        Q::Rate(E::SmallerIo) => range(0.97, 1.1),
        Q::Rate(E::ReadsOnly) | Q::Rate(E::WritesOnly) => range(0.7, 1.4),
        Q::PacedToOne => range(0.8, 1.2),
        _ => expects(quantity, s),
    }
}

/// So few that one or two more still help, until the next limit is reached.
fn expects_near_the_end(quantity: Q, s: &Setting) -> Option<Range> {
    match quantity {
        Q::Rate(E::MoreOutstanding) if s.outstanding <= 4.0 => range(1.3, 2.7),
        Q::Rate(E::OneOutstanding) if s.outstanding <= 4.0 => {
            range(0.8 / s.outstanding, (1.6 / s.outstanding).min(1.1))
        }
        Q::TesterBusy => range(0.02, 0.6),
        _ => expects(quantity, s),
    }
}

/// One that waits for no other: the rate follows the depth, whatever member of a stripe is slow.
fn expects_beside_a_slow_member(quantity: Q, s: &Setting) -> Option<Range> {
    if s.outstanding >= 2.0 {
        return expects(quantity, s);
    }
    match quantity {
        Q::SlowMember => range(1.25, 300.0),
        Q::MedianToMean => range(0.3, 1.08),
        Q::LowToMean => range(0.2, 1.05),
        Q::Rate(E::MoreOutstanding) => range(1.3, 4.1),
        Q::PacedToOne => range(0.8, 1.6),
        Q::LatencyOne => range(20.0, 300_000.0),
        _ => expects(quantity, s),
    }
}

/// At a few tens of microseconds, waking CPUs is a part of each latency: it depends on whether the experiment leaves
/// them time to fall asleep.
fn expects_of_awake_cpus(quantity: Q, s: &Setting) -> Option<Range> {
    match quantity {
        Q::LatencyOne => range(8.0, 150.0),
        Q::Rate(E::HotSpan)
        | Q::Rate(E::TenthSpan)
        | Q::Rate(E::WholeSpan)
        | Q::Rate(E::Sequential)
        | Q::Rate(E::Random)
        | Q::Rate(E::AfterIdle)
        | Q::Rate(E::MoreWorkers)
        | Q::Rate(E::MoreConnections)
        | Q::Rate(E::Base) => range(0.72, 1.38),
        Q::PacedLatency => range(0.9, 2.2),
        Q::MedianToMean => range(0.65, 1.05),
        Q::PingWait => range(0.001, 0.6),
        _ => expects_near_the_end(quantity, s),
    }
}
