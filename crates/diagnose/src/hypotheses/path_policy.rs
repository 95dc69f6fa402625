//! A path policy that does not spread I/O.

use assay_record::Experiment as E;

use crate::cause::Cause;
use crate::hypothesis::Hypothesis;
use crate::quantity::Quantity as Q;
use crate::range::{Range, range};
use crate::setting::Setting;
use crate::unchanged;

pub(super) const HYPOTHESIS: Hypothesis = Hypothesis {
    cause: Cause::PathPolicy,
    name: "a path policy that does not spread I/O",
    physics: "A policy that stays on a path for k I/Os leaves the others idle: with N outstanding the gain over \
        one path is 1/(1 - N/k) for N < k/2, and nothing for a fixed path.",
    source: "docs/design/040-model.md (round robin); VMware KB on the IOPS limit of round robin.",
    applies: |s| s.is_remote() && s.paths > 1,
    forms: &[expects],
    unchanged: &[
        &unchanged::PLACES,
        &unchanged::ALIGNMENT,
        &unchanged::DATA,
        &unchanged::DURABILITY,
        &unchanged::WORKERS,
        &unchanged::REST,
    ],
    helps: "Set the policy to change the path with every I/O (rr_ios=1; VMware: --iops=1).",
    gain: Some(E::EvenPaths),
    look: "Nothing: the policy is one of the initiator.",
};

fn expects(quantity: Q, s: &Setting) -> Option<Range> {
    match quantity {
        // Links carry as much one way as the other at the same time.
        Q::Rate(E::Mixed) => range(1.2, 2.05),
        Q::Rate(E::EvenPaths) => range(1.25, s.paths as f64 * 1.05),
        Q::Rate(E::OnePath) => range(0.85, 1.05),
        Q::LinkShare => range(0.85 / s.paths as f64, 0.88),
        Q::Rate(E::LargerIo) => range(0.12, 0.131),
        Q::Rate(E::SmallerIo) => range(4.0, 8.3),
        Q::Rate(E::MoreOutstanding) => range(0.95, 1.4),
        Q::Rate(E::OneOutstanding) => range(0.3, 0.95),
        Q::PathShare => range(0.98, s.paths as f64),
        Q::PacedLatency => range(0.015, 0.2),
        Q::MedianToMean => range(0.85, 1.12),
        Q::PingWait => range(0.2, 1.1),
        _ => None,
    }
}
