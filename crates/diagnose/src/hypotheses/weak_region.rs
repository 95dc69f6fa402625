//! A part of the addresses that is slower than the rest.

use assay_record::Experiment as E;

use crate::cause::Cause;
use crate::hypothesis::Hypothesis;
use crate::quantity::Quantity as Q;
use crate::range::{Range, range};
use crate::setting::Setting;

pub(super) const HYPOTHESIS: Hypothesis = Hypothesis {
    cause: Cause::WeakRegion,
    name: "a slow region of the target",
    physics: "A share f of random I/Os falls on the slow part and takes k times as long, so the mean latency is \
        (1 + f (k - 1)) times that of the rest, and nearly all I/Os that are outstanding are there. The offsets \
        of the load's own I/Os show it; whether more of them help depends on how many the slow part serves at \
        once.",
    source: "Latencies of the load by offset; assay map (worn flash, weak sectors, a slower tier, a part of a \
        volume on other disks).",
    applies: |s| s.has_medium() && s.is_random(),
    forms: &[expects, expects_waiting],
    unchanged: &[],
    helps: "See what lies there before anything is replaced: a cache or a faster tier may hold only the rest, or the \
        part may be worn or on another disk. Then move the data, or replace what is worn.",
    gain: None,
    look: "Check what lies at these addresses: media errors (smartctl -a), the layout of the volume (lvs --segments, \
        dmsetup table), a tier. assay map reads the target place by place.",
};

/// It serves few at a time: they wait there.
fn expects_waiting(quantity: Q, s: &Setting) -> Option<Range> {
    match quantity {
        Q::Rate(E::MoreOutstanding) => range(0.95, 1.6),
        Q::MedianToMean => range(0.005, 0.8),
        _ => expects(quantity, s),
    }
}

fn expects(quantity: Q, s: &Setting) -> Option<Range> {
    match quantity {
        Q::SlowRegion => range(1.6, 3000.0),
        Q::MedianToMean => range(0.005, 1.0),
        Q::LowToMean => range(0.003, 1.0),
        Q::Rate(E::MoreOutstanding) => range(1.3, 4.3),
        Q::Rate(E::OneOutstanding) => range(0.6 / s.outstanding, 1.1),
        Q::PacedLatency => range(0.03, 1.2),
        Q::PacedToOne => range(0.5, 2.5),
        Q::Rate(E::LargerIo) => range(0.12, 1.1),
        Q::Rate(E::SmallerIo) => range(0.9, 4.0),
        // They may lie in the slow part, or outside of it.
        Q::Rate(E::HotSpan) => range(0.02, 100.0),
        Q::Rate(E::TenthSpan) => range(0.05, 30.0),
        Q::Rate(E::WholeSpan) => range(0.2, 5.0),
        Q::Rate(E::Sequential) => range(0.2, 60.0),
        Q::Rate(E::ReadsOnly) | Q::Rate(E::WritesOnly) => range(0.3, 3.0),
        Q::Trend => range(0.6, 1.6),
        // A busy host changes rates, and no offsets.
        Q::Rate(E::HalfRate | E::WithSync) => None,
        Q::Rate(_) => range(0.65, 1.6),
        Q::PingWait => range(0.001, 0.1),
        _ => None,
    }
}
