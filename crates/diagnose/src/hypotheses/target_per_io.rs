//! The target's software, which costs time for each I/O.

use assay_record::Experiment as E;

use crate::cause::Cause;
use crate::hypothesis::Hypothesis;
use crate::quantity::Quantity as Q;
use crate::range::{Range, range};
use crate::setting::Setting;
use crate::unchanged;

pub(super) const HYPOTHESIS: Hypothesis = Hypothesis {
    cause: Cause::TargetPerIo,
    name: "the target's software, which costs time for each I/O",
    physics: "A command passes through the target's CPU at a cost of its own, whatever its size. The rate stays the \
        same when I/Os grow, until their bytes matter; neither span nor order matters.",
    source: "T = a + b x size, fitted to 15 sizes within 3 % (docs/design/040-model.md, target CPU).",
    applies: |s| s.is_remote() || s.is_local(),
    forms: &[expects, expects_otherwise, expects_throttled],
    unchanged: &unchanged::ALL,
    helps: "Larger I/Os, more threads in the target's software, or a faster CPU in the target.",
    gain: Some(E::LargerIo),
    look: "CPU use of the target, core by core, while the load runs.",
};

fn expects(quantity: Q, _: &Setting) -> Option<Range> {
    match quantity {
        // Up to a third of an I/O's time goes with its bytes, and eight times that at eight times the size.
        Q::Rate(E::LargerIo) => range(0.3, 0.97),
        // The same work for each, one after another.
        Q::LowToMean => range(0.6, 1.06),
        Q::PacedToOne => range(0.9, 2.0),
        Q::Rate(E::OneOutstanding) => range(0.08, 0.75),
        Q::Rate(E::SmallerIo) => range(1.0, 1.25),
        Q::PacedLatency => range(0.04, 0.9),
        Q::LatencyOne => range(25.0, 1500.0),
        Q::LinkShare => range(0.003, 0.4),
        Q::MedianToMean => range(0.88, 1.07),
        Q::Rate(E::ReadsOnly) | Q::Rate(E::WritesOnly) => range(0.94, 1.06),
        Q::PingWait => range(0.05, 1.1),
        _ => None,
    }
}

fn expects_otherwise(quantity: Q, s: &Setting) -> Option<Range> {
    match quantity {
        Q::Rate(E::ReadsOnly) | Q::Rate(E::WritesOnly) => range(0.7, 1.5),
        Q::Rate(E::MoreConnections) => range(0.95, 1.8),
        _ => expects(quantity, s),
    }
}

/// The target's CPU time is limited, as a container's or a virtual machine's is: it answers for a part of each period.
fn expects_throttled(quantity: Q, s: &Setting) -> Option<Range> {
    match quantity {
        Q::MedianToMean => range(0.02, 0.9),
        Q::LowToMean => range(0.01, 0.95),
        Q::PacedToOne => range(0.2, 4.0),
        // Most pings arrive while the target is stopped.
        Q::PingWait => range(0.2, 15.0),
        // TCP takes a target that stands still for tens of ms for a loss, and sends the end of what waits again.
        Q::Resent => range(0.001, 20.0),
        Q::Rate(E::Base) | Q::Trend => range(0.65, 1.55),
        Q::Rate(E::MoreWorkers) | Q::Rate(E::MoreConnections) | Q::Rate(E::AfterIdle) => range(0.75, 1.3),
        Q::LatencyOne => range(25.0, 15_000.0),
        Q::PacedLatency => range(0.01, 1.0),
        Q::Rate(E::OneOutstanding) => range(0.05, 1.0),
        Q::Rate(E::LargerIo) => range(0.3, 1.0),
        Q::Rate(E::MoreOutstanding)
        | Q::Rate(E::HotSpan)
        | Q::Rate(E::TenthSpan)
        | Q::Rate(E::Sequential) => range(0.85, 1.2),
        _ => expects(quantity, s),
    }
}
