//! The target's software, which costs time for each byte.

use assay_record::Experiment as E;

use crate::cause::Cause;
use crate::hypothesis::Hypothesis;
use crate::quantity::Quantity as Q;
use crate::range::{Range, range};
use crate::setting::Setting;
use crate::unchanged;

pub(super) const HYPOTHESIS: Hypothesis = Hypothesis {
    cause: Cause::TargetPerByte,
    name: "the target's software, which costs time for each byte",
    physics: "Copies and checksums cost the target CPU time for each byte. Throughput stays the same when I/Os grow, \
        below what link and media sustain; neither span nor order matters.",
    source: "T = a + b x size with b above the time on the wire (rule `software-cost`).",
    applies: |s| s.is_remote(),
    forms: &[expects, expects_alike],
    unchanged: &unchanged::ALL,
    helps: "Switch off digests and checksums that are not needed, use jumbo frames, or a faster CPU in the target.",
    gain: None,
    look: "CPU use of the target, core by core, while the load runs.",
};

fn expects(quantity: Q, _: &Setting) -> Option<Range> {
    match quantity {
        Q::Rate(E::LargerIo) => range(0.127, 0.2),
        Q::Rate(E::SmallerIo) => range(2.5, 6.6),
        Q::Rate(E::OneOutstanding) => range(0.2, 0.9),
        Q::PacedLatency => range(0.015, 0.35),
        Q::LinkShare => range(0.01, 0.75),
        Q::Rate(E::ReadsOnly) | Q::Rate(E::WritesOnly) => range(0.7, 1.5),
        Q::MedianToMean => range(0.88, 1.07),
        Q::Rate(E::MoreConnections) => range(0.93, 1.3),
        Q::PingWait => range(0.05, 1.1),
        _ => None,
    }
}

/// Copies take as long in either direction.
fn expects_alike(quantity: Q, s: &Setting) -> Option<Range> {
    match quantity {
        Q::Rate(E::ReadsOnly) | Q::Rate(E::WritesOnly) => range(0.94, 1.06),
        _ => expects(quantity, s),
    }
}
