//! A target that carries out one I/O at a time.

use assay_record::Experiment as E;

use crate::cause::Cause;
use crate::hypothesis::Hypothesis;
use crate::quantity::Quantity as Q;
use crate::range::{Range, range};
use crate::setting::Setting;
use crate::unchanged;

pub(super) const HYPOTHESIS: Hypothesis = Hypothesis {
    cause: Cause::TargetSerial,
    name: "a target that serialises I/O",
    physics: "A lock or a single thread that waits for its medium lets one I/O pass at a time. One outstanding I/O \
        is as fast as many, and all the disks together work like one; if only writes are serialised, reads \
        alone are much faster.",
    source: "Rules `serialised-io` and `serialised-writes`; docs/design/040-model.md.",
    applies: |s| s.has_medium() && s.outstanding > 2.0,
    forms: &[
        expects,
        expects_slow,
        expects_constant,
        expects_otherwise,
        expects_of_writes,
        expects_of_writes_to_disks,
        expects_of_flash,
        expects_of_writes_to_flash,
    ],
    unchanged: &[
        &unchanged::WAYS,
        &unchanged::PLACES,
        &unchanged::DATA,
        &unchanged::WORKERS,
        &unchanged::DEPTH,
        &unchanged::REST,
    ],
    helps: "More threads in the target's software, or several LUNs or files, if each is serialised separately.",
    gain: None,
    look: "Number of threads of the target's software, and locks of its file system.",
};

fn expects(quantity: Q, s: &Setting) -> Option<Range> {
    match quantity {
        Q::Rate(E::OneOutstanding) => range(0.84, 1.06),
        Q::PacedLatency => range(0.6 / s.outstanding, 0.35),
        Q::Rate(E::ReadsOnly) | Q::Rate(E::WritesOnly) => range(0.85, 1.2),
        Q::MedianToMean => range(0.85, 1.1),
        // Each waits for all that came before it: what a disk picks from its queue overtakes others, here nothing does.
        Q::LowToMean if !s.writes() => range(in_turn(s), 1.07),
        Q::Rate(E::LargerIo) => range(0.3, 1.0),
        Q::Rate(E::SmallerIo) => range(0.98, 1.6),
        Q::LatencyOne => range(40.0, 2000.0),
        Q::PacedToOne => range(0.85, 2.0),
        Q::PingWait => range(0.001, 0.3),
        _ => None,
    }
}

/// The fastest fifth of the I/Os over the mean, where each waits for as many others as are in flight: their times add
/// up, which leaves of the scatter of one (as much as it takes itself) the root of their number.
fn in_turn(s: &Setting) -> f64 {
    (1.0 - 1.7 / s.outstanding.sqrt()).max(0.15)
}

/// The thread waits for something that takes long, wherever the I/O goes.
fn expects_slow(quantity: Q, s: &Setting) -> Option<Range> {
    match quantity {
        Q::LatencyOne => range(1500.0, 100_000.0),
        Q::Rate(E::LargerIo) => range(0.6, 1.04),
        Q::Rate(E::SmallerIo) => range(0.97, 1.2),
        Q::Rate(E::ReadsOnly) | Q::Rate(E::WritesOnly) => range(0.7, 1.4),
        _ => expects(quantity, s),
    }
}

/// What the thread waits for takes the same time for every I/O. The way there takes some more, which goes on meanwhile.
fn expects_constant(quantity: Q, s: &Setting) -> Option<Range> {
    match quantity {
        Q::LatencyOne => range(150.0, 100_000.0),
        Q::Rate(E::OneOutstanding) => range(0.72, 1.02),
        Q::PacedToOne => range(0.9, 1.6),
        Q::LowToMean => range(0.5, 1.05),
        Q::Rate(E::LargerIo) => range(0.92, 1.03),
        Q::Rate(E::SmallerIo) => range(0.97, 1.05),
        Q::Rate(E::ReadsOnly) | Q::Rate(E::WritesOnly) => range(0.95, 1.05),
        _ => expects(quantity, s),
    }
}

fn expects_otherwise(quantity: Q, s: &Setting) -> Option<Range> {
    match quantity {
        Q::Rate(E::WholeSpan) => range(0.55, 1.03),
        Q::Rate(E::LargerIo) => range(0.6, 1.0),
        Q::Rate(E::SmallerIo) => range(0.98, 1.1),
        Q::Rate(E::HotSpan) => range(1.3, 100.0),
        Q::Rate(E::TenthSpan) => range(1.15, 1.5),
        Q::Rate(E::Sequential) => range(8.0, 400.0),
        Q::LatencyOne => range(2500.0, 20000.0),
        Q::PacedToOne => range(0.7, 2.2),
        _ => expects(quantity, s),
    }
}

/// Only writes are serialised, which a load without writes cannot show.
fn expects_of_writes(quantity: Q, s: &Setting) -> Option<Range> {
    // On a file of this host that is the lock of the file.
    if !s.writes() || (s.is_file && s.is_local()) {
        return expects_otherwise(quantity, s);
    }
    match quantity {
        Q::Rate(E::ReadsOnly) => range(1.6, 25.0),
        Q::Rate(E::WritesOnly) => range((1.0 - s.reads).max(0.1) * 0.9, (1.0 - s.reads).max(0.1) * 1.3),
        Q::Rate(E::OneOutstanding) => range(0.3, 1.1),
        Q::Rate(E::LargerIo) => range(0.35, 1.02),
        Q::Rate(E::HotSpan) => range(0.95, 60.0),
        Q::Rate(E::TenthSpan) => range(0.97, 1.45),
        Q::Rate(E::Sequential) => range(0.95, 300.0),
        Q::Rate(E::Random) => range(0.01, 1.03),
        Q::Rate(E::SmallerIo) => range(0.98, 1.35),
        // A mix whose writes are serialised on a parity RAID of slow disks has 20 to 30 ms.
        Q::LatencyOne => range(40.0, 100_000.0),
        Q::PacedLatency => range(0.01, 0.5),
        Q::MedianToMean => range(0.03, 1.1),
        Q::PingWait => range(0.001, 0.3),
        _ => None,
    }
}

/// The same where a write waits for seeks: it takes as long as on the disk alone, and the queue before the lock holds
/// nearly all that is outstanding.
fn expects_of_writes_to_disks(quantity: Q, s: &Setting) -> Option<Range> {
    match quantity {
        Q::LatencyOne if s.writes() => range(2500.0, 40_000.0),
        Q::MedianToMean if s.writes() => range(0.6, 1.25),
        Q::PacedLatency if s.writes() => range(0.08, 0.6),
        _ => expects_of_writes(quantity, s),
    }
}

/// One thread waits for a fast medium. What else an I/O passes, the network and the software before the thread, takes
/// as long as the medium, and goes on meanwhile.
fn expects_of_flash(quantity: Q, s: &Setting) -> Option<Range> {
    match quantity {
        Q::Rate(E::OneOutstanding) => range(0.25, 0.9),
        Q::PacedLatency => range(0.6 / s.outstanding, 0.5),
        Q::LatencyOne => range(40.0, 400.0),
        Q::Rate(E::LargerIo) => range(0.15, 0.8),
        Q::Rate(E::SmallerIo) => range(1.0, 3.0),
        Q::Rate(E::MoreWorkers) | Q::Rate(E::MoreConnections) => range(0.85, 1.1),
        Q::Rate(E::Sequential) | Q::Rate(E::AfterIdle) => range(0.9, 1.3),
        Q::Rate(E::Base) => range(0.8, 1.25),
        _ => expects(quantity, s),
    }
}

/// Writes wait for each other and end on flash behind a network: the way there and back takes several times as long as
/// the lock is held, and reads pass.
fn expects_of_writes_to_flash(quantity: Q, s: &Setting) -> Option<Range> {
    if !s.writes() || s.reads == 0.0 {
        return expects_of_flash(quantity, s);
    }
    match quantity {
        Q::Rate(E::ReadsOnly) => range(1.6, 7.0),
        Q::Rate(E::WritesOnly) => range((1.0 - s.reads) * 0.9, (1.0 - s.reads) * 1.4),
        Q::Rate(E::OneOutstanding) => range(0.04, 0.3),
        Q::Rate(E::LargerIo) => range(0.2, 0.95),
        Q::Rate(E::SmallerIo) => range(0.98, 1.4),
        Q::Rate(E::HotSpan) | Q::Rate(E::TenthSpan) | Q::Rate(E::Sequential) => range(0.95, 1.2),
        Q::LatencyOne => range(100.0, 1500.0),
        Q::MedianToMean => range(0.1, 0.6),
        Q::LowToMean => range(0.05, 0.5),
        Q::PacedLatency => range(0.03, 0.4),
        Q::PacedToOne => range(0.9, 1.3),
        _ => expects_of_writes(quantity, s),
    }
}
