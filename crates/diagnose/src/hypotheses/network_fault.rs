//! Frames that are lost on the network.

use assay_record::Experiment as E;

use crate::cause::Cause;
use crate::hypothesis::Hypothesis;
use crate::quantity::Quantity as Q;
use crate::range::{Range, range};
use crate::setting::Setting;
use crate::unchanged;

pub(super) const HYPOTHESIS: Hypothesis = Hypothesis {
    cause: Cause::NetworkFault,
    name: "packet loss",
    physics: "TCP sends a lost segment again after a round trip at best and 200 ms at worst, and halves its window. A \
        port with a smaller MTU loses every full frame. Latencies fall into two groups, and the links are mostly \
        idle.",
    source: "RFC 5681; the frames that `assay check` sends (do not fragment).",
    applies: |s| s.is_remote() && s.paths > 0,
    forms: &[
        expects,
        expects_otherwise,
        expects_of_small_segments,
        expects_third,
        expects_third_evenly,
        expects_of_large,
    ],
    unchanged: &[&unchanged::DATA],
    helps: "Repair cables and ports, and set the same MTU on every port along the path.",
    gain: None,
    look: "Error counters of the switch ports and of the target's interfaces.",
};

/// Segments were sent again.
fn expects(quantity: Q, _: &Setting) -> Option<Range> {
    match quantity {
        Q::Resent => range(1.5, 600.0),
        // Whoever loses segments one way mostly does the other way.
        Q::OutOfOrder => range(0.001, 200_000.0),
        Q::MedianToMean => range(0.03, 1.0),
        _ => with_loss(quantity),
    }
}

/// Frames of the full size do not arrive: either TCP waits for each, or it has noticed and sends small segments, which
/// cost both ends several times the work for each byte.
fn expects_otherwise(quantity: Q, _: &Setting) -> Option<Range> {
    match quantity {
        Q::LostFrames => range(0.9, 1.1),
        Q::MedianToMean => range(0.02, 1.06),
        Q::Rate(E::OneOutstanding) => range(0.005, 0.8),
        Q::Rate(E::MoreOutstanding) => range(0.95, 28.0),
        Q::LatencyOne => range(60.0, 8000.0),
        Q::PingWait => range(0.001, 1.2),
        _ => with_loss(quantity),
    }
}

/// The same once TCP has noticed: nothing is lost any more, and the many small segments limit both ends like any cost
/// for each byte.
fn expects_of_small_segments(quantity: Q, _: &Setting) -> Option<Range> {
    match quantity {
        Q::LostFrames => range(0.9, 1.1),
        Q::MedianToMean => range(0.85, 1.07),
        Q::Rate(E::MoreOutstanding) => range(0.93, 1.4),
        Q::Rate(E::OneOutstanding) => range(0.15, 0.95),
        Q::Rate(E::LargerIo) => range(0.125, 0.4),
        Q::Rate(E::SmallerIo) => range(1.5, 7.5),
        Q::Rate(E::MoreConnections) => range(0.9, 1.4),
        Q::Rate(E::Sequential) | Q::Rate(E::Random) => range(0.9, 1.15),
        Q::Rate(E::ReadsOnly) | Q::Rate(E::WritesOnly) => range(0.7, 1.4),
        Q::Rate(E::Base) => range(0.88, 1.15),
        Q::PacedLatency => range(0.05, 0.8),
        Q::LatencyOne => range(40.0, 1000.0),
        Q::LinkShare => range(0.02, 0.75),
        Q::PingWait => range(0.05, 1.2),
        _ => None,
    }
}

/// What the target sends again is not counted here. The two kinds of latencies show it, and segments that arrive out of
/// order: those behind the lost one, until it is there.
fn expects_third(quantity: Q, _: &Setting) -> Option<Range> {
    match quantity {
        Q::OutOfOrder => range(5.0, 200_000.0),
        Q::MedianToMean => range(0.01, 0.35),
        _ => with_loss(quantity),
    }
}

/// So many I/Os of a window wait for a lost segment that the windows differ little.
fn expects_third_evenly(quantity: Q, s: &Setting) -> Option<Range> {
    match quantity {
        Q::Rate(
            E::HotSpan
            | E::TenthSpan
            | E::WholeSpan
            | E::Misaligned
            | E::MoreWorkers
            | E::MoreConnections
            | E::RepeatingData
            | E::AfterIdle
            | E::Sequential
            | E::ReadsOnly
            | E::WritesOnly
            | E::Random
            | E::Base,
        )
        | Q::Trend => range(0.84, 1.2),
        _ => expects_third(quantity, s),
    }
}

/// An I/O of many frames loses one nearly always: what a connection carries is what its window allows (Mathis 1997:
/// segment / (round trip x sqrt(loss))), in bytes per second, and only further connections carry more.
fn expects_of_large(quantity: Q, _: &Setting) -> Option<Range> {
    match quantity {
        Q::OutOfOrder => range(5.0, 200_000.0),
        Q::MedianToMean => range(0.02, 0.75),
        Q::Rate(E::LargerIo) => range(0.1, 0.4),
        Q::Rate(E::SmallerIo) => range(1.5, 8.5),
        Q::Rate(E::MoreOutstanding) => range(0.5, 1.4),
        Q::Rate(E::OneOutstanding) => range(0.05, 0.9),
        Q::Rate(E::MoreConnections) => range(1.1, 5.0),
        Q::Rate(E::HotSpan) | Q::Rate(E::Random) => range(0.35, 2.5),
        Q::LatencyOne => range(200.0, 80_000.0),
        _ => with_loss(quantity),
    }
}

fn with_loss(quantity: Q) -> Option<Range> {
    match quantity {
        // Most I/Os lose nothing, and some wait for a timer.
        Q::LowToMean => range(0.005, 1.06),
        Q::PacedToOne => range(0.3, 3.0),
        Q::Rate(E::HotSpan)
        | Q::Rate(E::TenthSpan)
        | Q::Rate(E::WholeSpan)
        | Q::Rate(E::Misaligned)
        | Q::Rate(E::MoreWorkers)
        | Q::Rate(E::MoreConnections)
        | Q::Rate(E::EvenPaths)
        | Q::Rate(E::OnePath)
        | Q::Rate(E::RepeatingData)
        | Q::Rate(E::AfterIdle)
        | Q::Rate(E::Sequential)
        | Q::Rate(E::ReadsOnly)
        | Q::Rate(E::WritesOnly)
        | Q::Rate(E::Random) => range(0.5, 2.0),
        Q::Rate(E::Base) => range(0.4, 3.0),
        Q::Rate(E::MoreOutstanding) => range(1.2, 28.0),
        Q::Rate(E::OneOutstanding) => range(0.005, 0.35),
        Q::Rate(E::LargerIo) => range(0.15, 1.2),
        Q::Rate(E::SmallerIo) => range(0.5, 2.0),
        Q::PacedLatency => range(0.4, 2.5),
        Q::Trend => range(0.03, 4.0),
        Q::LatencyOne => range(200.0, 8000.0),
        Q::LinkShare => range(0.002, 0.75),
        _ => None,
    }
}
