//! Flash that moves data to make room.

use assay_record::Experiment as E;

use crate::cause::Cause;
use crate::hypothesis::Hypothesis;
use crate::quantity::Quantity as Q;
use crate::range::{Range, range};
use crate::setting::Setting;
use crate::unchanged;

pub(super) const HYPOTHESIS: Hypothesis = Hypothesis {
    cause: Cause::GarbageCollection,
    name: "SSD garbage collection",
    physics: "A drive without free blocks copies live data before it can erase; each random write costs several. \
        Sequential writes free whole blocks, and stalls of milliseconds alternate with writes of microseconds.",
    source: "Write amplification by over-provisioning (docs/design/040-model.md, SSD).",
    applies: |s| s.writes() && s.may_have_drive() && s.is_random(),
    forms: &[expects],
    unchanged: &[&unchanged::WAYS],
    helps: "Leave more of the drives unused (over-provisioning), trim free space, or write sequentially.",
    gain: Some(E::Sequential),
    look: "Wear, free space and over-provisioning of the drives.",
};

fn expects(quantity: Q, _: &Setting) -> Option<Range> {
    match quantity {
        // A few wait for a collection.
        Q::LowToMean => range(0.01, 1.06),
        Q::Rate(E::Sequential) => range(1.8, 25.0),
        Q::Rate(E::ReadsOnly) => range(1.7, 20.0),
        Q::MedianToMean => range(0.02, 1.05),
        Q::LatencyOne => range(60.0, 1500.0),
        Q::Rate(E::MoreOutstanding) => range(1.05, 2.2),
        Q::Rate(E::OneOutstanding) => range(0.06, 0.4),
        Q::Rate(E::LargerIo) => range(0.17, 0.62),
        Q::Rate(E::WritesOnly) => range(0.65, 0.97),
        Q::Rate(E::SmallerIo) => range(1.4, 4.0),
        Q::PacedLatency => range(0.3, 1.15),
        Q::Rate(E::Base) => range(0.75, 1.3),
        Q::Rate(E::HotSpan)
        | Q::Rate(E::TenthSpan)
        | Q::Rate(E::Misaligned)
        | Q::Rate(E::MoreWorkers)
        | Q::Rate(E::MoreConnections)
        | Q::Rate(E::EvenPaths)
        | Q::Rate(E::RepeatingData)
        | Q::Rate(E::AfterIdle) => range(0.83, 1.22),
        Q::PingWait => range(0.001, 0.3),
        _ => None,
    }
}
