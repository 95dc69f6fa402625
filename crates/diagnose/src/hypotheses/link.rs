//! The link.

use assay_record::Experiment as E;

use crate::cause::Cause;
use crate::hypothesis::Hypothesis;
use crate::quantity::Quantity as Q;
use crate::range::{Range, range};
use crate::setting::Setting;
use crate::unchanged;

use super::throttle::behind;

pub(super) const HYPOTHESIS: Hypothesis = Hypothesis {
    cause: Cause::Link,
    name: "the link",
    physics: "A link transfers a fixed number of bytes per second in each direction; the rate times the size is \
        constant, and everything behind it is idle part of the time. Reads and writes together get more than either \
        alone.",
    source: "Frame arithmetic of `assay check` (docs/design/040-model.md, Ethernet and iSCSI).",
    applies: |s| s.is_remote() && s.paths > 0,
    forms: &[expects, expects_shaped],
    unchanged: &unchanged::ALL,
    helps: "A faster link, or another path over a link of its own.",
    gain: None,
    look: "Nothing: the ceiling follows from the facts of the link.",
};

fn expects(quantity: Q, s: &Setting) -> Option<Range> {
    match quantity {
        // Links carry as much one way as the other at the same time.
        Q::Rate(E::Mixed) => range(1.2, 2.05),
        Q::LinkShare => range(0.92, 1.03),
        Q::Rate(E::LargerIo) => range(0.12, 0.131),
        Q::Rate(E::SmallerIo) => range(4.0, 8.3),
        Q::Rate(E::OneOutstanding) => range(0.1, 1.0),
        Q::Rate(E::OnePath) => range(0.92 / s.links.max(1) as f64, 1.06 / s.links.max(1) as f64),
        Q::PacedLatency => range(0.012, 0.4),
        Q::MedianToMean => range(0.88, 1.08),
        Q::Rate(E::ReadsOnly) | Q::Rate(E::WritesOnly) => range(0.5, 1.1),
        Q::Rate(E::Random) => range(0.7, 1.05),
        Q::PingWait => range(0.3, 1.1),
        _ => None,
    }
}

/// A link that is shaped (tc, a virtual switch, a cloud's network) hands out tokens: after a pause some I/Os pass at
/// once, so that a load at half the rate waits less than one I/O at a time.
fn expects_shaped(quantity: Q, s: &Setting) -> Option<Range> {
    match quantity {
        Q::PacedToOne => behind::<false>(quantity),
        Q::PacedLatency => range(0.002, 0.4),
        _ => expects(quantity, s),
    }
}
