//! The distance to the target.

use assay_record::Experiment as E;

use crate::cause::Cause;
use crate::hypothesis::Hypothesis;
use crate::quantity::Quantity as Q;
use crate::range::{Range, range};
use crate::setting::Setting;
use crate::unchanged;

pub(super) const HYPOTHESIS: Hypothesis = Hypothesis {
    cause: Cause::RoundTrip,
    name: "the distance to the target (round-trip time)",
    physics: "A connection moves at most its window, and a load at most what it has outstanding, in each round \
        trip: rate = outstanding / RTT, or throughput = connections x window / RTT. Nothing is full; more under \
        way is faster, by depth where that is the smaller of the two, by connections where it is the window.",
    source: "Bandwidth-delay product (RFC 1323, RFC 7323); pings (NOP-Out, NULL) to the idle target.",
    applies: |s| s.is_remote() && s.paths > 0,
    forms: &[expects_of_depth, expects_of_window, expects_of_any_window],
    unchanged: &[
        &unchanged::WAYS,
        &unchanged::PLACES,
        &unchanged::ALIGNMENT,
        &unchanged::DATA,
        &unchanged::DURABILITY,
        &unchanged::WORKERS,
        &unchanged::REST,
    ],
    helps: "More under way: a greater queue depth, more connections (sessions=, connections=), larger TCP \
        buffers (net.ipv4.tcp_rmem and tcp_wmem at both ends), or a shorter way.",
    gain: Some(E::MoreOutstanding),
    look: "The round trip (ping), and window and buffers of the connection (ss -ti).",
};

fn expects_of_depth(quantity: Q, s: &Setting) -> Option<Range> {
    match quantity {
        Q::RoundTripShare => range(0.62, 1.08),
        Q::Rate(E::MoreOutstanding) => range(2.5, 4.3),
        Q::Rate(E::MoreConnections) => range(0.93, 1.1),
        Q::Rate(E::OneOutstanding) => range(0.85 / s.outstanding, 1.5 / s.outstanding),
        Q::PacedLatency => range(0.85, 1.1),
        Q::PacedToOne => range(0.85, 1.2),
        Q::LatencyOne => range(100.0, 600_000.0),
        Q::Rate(E::LargerIo) => range(0.3, 1.03),
        Q::Rate(E::SmallerIo) => range(0.97, 1.3),
        Q::Rate(E::ReadsOnly) | Q::Rate(E::WritesOnly) => range(0.5, 1.6),
        Q::LinkShare => range(0.002, 0.7),
        Q::PingWait => range(0.001, 0.2),
        _ => None,
    }
}

/// Both directions have the same window, and nothing but bytes counts.
fn expects_of_window(quantity: Q, s: &Setting) -> Option<Range> {
    match quantity {
        Q::Rate(E::LargerIo) => range(0.12, 0.14),
        Q::Rate(E::SmallerIo) => range(6.0, 8.4),
        Q::Rate(E::ReadsOnly) | Q::Rate(E::WritesOnly) => range(0.94, 1.06),
        Q::Rate(E::Mixed) => range(0.95, 1.06),
        Q::Rate(E::MoreOutstanding) => range(0.95, 1.06),
        Q::MedianToMean => range(0.88, 1.07),
        _ => expects_of_any_window(quantity, s),
    }
}

fn expects_of_any_window(quantity: Q, _: &Setting) -> Option<Range> {
    match quantity {
        Q::RoundTripShare => range(0.004, 0.9),
        Q::Rate(E::MoreOutstanding) => range(0.95, 1.3),
        Q::Rate(E::MoreConnections) => range(1.5, 4.4),
        Q::Rate(E::OneOutstanding) => range(0.02, 1.0),
        Q::PacedLatency => range(0.005, 1.0),
        Q::PacedToOne => range(0.8, 1.5),
        Q::LatencyOne => range(500.0, 600_000.0),
        Q::Rate(E::LargerIo) => range(0.115, 0.3),
        Q::Rate(E::SmallerIo) => range(1.5, 8.5),
        Q::Rate(E::Mixed) => range(0.9, 2.1),
        Q::Rate(E::ReadsOnly) | Q::Rate(E::WritesOnly) => range(0.4, 2.2),
        Q::LinkShare => range(0.002, 0.8),
        Q::PingWait => range(0.001, 1.1),
        Q::MedianToMean => range(0.6, 1.1),
        _ => None,
    }
}
