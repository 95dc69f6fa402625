//! One path of several that is slower than the others.

use assay_record::Experiment as E;

use crate::cause::Cause;
use crate::hypothesis::Hypothesis;
use crate::quantity::Quantity as Q;
use crate::range::{Range, range};
use crate::setting::Setting;
use crate::unchanged;

pub(super) const HYPOTHESIS: Hypothesis = Hypothesis {
    cause: Cause::SlowPath,
    name: "one path that is slower than the others",
    physics: "Round robin gives every path the same number of I/Os, so all of them wait for the slowest: n paths \
        sustain n times what the slowest does, and nearly all outstanding I/Os queue on it. Latencies fall into two \
        groups, and one of the other paths alone may sustain more than all together.",
    source: "A closed loop over n stations that are visited in turn (docs/design/040-model.md, round robin); round \
        trips of the kernel's connections (tcp_info).",
    applies: |s| s.is_remote() && s.paths > 1,
    forms: &[expects],
    unchanged: &[
        &unchanged::WAYS,
        &unchanged::PLACES,
        &unchanged::ALIGNMENT,
        &unchanged::DATA,
        &unchanged::DURABILITY,
        &unchanged::WORKERS,
        &unchanged::REST,
    ],
    helps: "Repair the slow path (port speed, cable, duplex), remove it, or use a policy that counts outstanding \
        I/Os.",
    gain: Some(E::OnePath),
    look: "Negotiated speed and error counters of the ports of the path with the longest round trip.",
};

fn expects(quantity: Q, s: &Setting) -> Option<Range> {
    let paths = s.paths.max(1) as f64;
    match quantity {
        Q::PathDelays => range(3.0, 3000.0),
        // Links carry as much one way as the other at the same time.
        Q::Rate(E::Mixed) => range(0.9, 2.1),
        // The median is that of the other paths, or of the slow one where it has more than half.
        Q::MedianToMean => range(0.004, 1.9),
        Q::LinkShare => range(0.02, 0.8),
        Q::Rate(E::OnePath) => range(0.9 / paths, 25.0),
        Q::Rate(E::EvenPaths) => range(0.9, 1.12),
        Q::Rate(E::MoreOutstanding) => range(0.9, 1.15),
        Q::Rate(E::OneOutstanding) => range(0.1, 1.6),
        Q::Rate(E::LargerIo) => range(0.11, 0.2),
        Q::Rate(E::SmallerIo) => range(3.0, 8.6),
        Q::PacedLatency => range(0.01, 0.8),
        Q::Rate(E::ReadsOnly) | Q::Rate(E::WritesOnly) => range(0.5, 1.3),
        _ => None,
    }
}
