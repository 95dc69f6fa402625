//! Writes that make the storage read first.

use assay_record::Experiment as E;

use crate::cause::Cause;
use crate::hypothesis::Hypothesis;
use crate::quantity::Quantity as Q;
use crate::range::{Range, range};
use crate::setting::Setting;
use crate::unchanged;

pub(super) const HYPOTHESIS: Hypothesis = Hypothesis {
    cause: Cause::ReadModifyWrite,
    name: "read-modify-write",
    physics: "A write that covers a part of a physical block, or of a parity stripe, makes the storage read the \
        rest, wait a revolution, and write the whole: two to six accesses in place of one. Aligned writes of \
        whole blocks need one.",
    source: "RAID write penalties; 512e disks and 4 KiB pages (docs/design/040-model.md, RAID).",
    applies: |s| s.writes() && s.has_medium(),
    forms: &[expects, expects_otherwise, expects_third, expects_of_flash, expects_of_memory],
    unchanged: &[
        &unchanged::WAYS,
        &unchanged::PLACES,
        &unchanged::ALIGNMENT,
        &unchanged::WORKERS,
        &unchanged::DEPTH,
        &unchanged::REST,
    ],
    helps: "Align partitions and file systems to 4 KiB or the stripe, and write whole blocks or stripes.",
    gain: Some(E::Aligned),
    look: "Physical block size, start of the partition, and stripe of the array.",
};

fn expects(quantity: Q, _: &Setting) -> Option<Range> {
    match quantity {
        // Reads beside such writes are faster.
        Q::LowToMean => range(0.01, 1.06),
        Q::Rate(E::Aligned) => range(1.5, 8.0),
        Q::PartialBlocks => range(0.5, 1.1),
        // It is misaligned already.
        Q::Rate(E::Misaligned) => range(0.9, 1.25),
        Q::Rate(E::LargerIo) => range(0.25, 1.0),
        Q::Rate(E::ReadsOnly) => range(0.95, 6.0),
        Q::Rate(E::WritesOnly) => range(0.65, 1.05),
        Q::Rate(E::HotSpan) => range(0.95, 4.0),
        Q::Rate(E::TenthSpan) => range(0.95, 1.5),
        Q::Rate(E::Sequential) => range(1.0, 650.0),
        Q::Rate(E::MoreOutstanding) => range(0.98, 1.7),
        Q::Rate(E::OneOutstanding) => range(0.06, 1.02),
        Q::LatencyOne => range(60.0, 60000.0),
        Q::MedianToMean => range(0.6, 1.04),
        Q::PacedLatency => range(0.05, 0.9),
        Q::Rate(E::SmallerIo) => range(0.95, 1.15),
        Q::PingWait => range(0.001, 0.3),
        _ => None,
    }
}

fn expects_otherwise(quantity: Q, s: &Setting) -> Option<Range> {
    match quantity {
        Q::Rate(E::LargerIo) => range(0.85, 8.0),
        Q::Rate(E::ReadsOnly) => range(1.2, 6.0),
        Q::Rate(E::Sequential) => range(1.5, 650.0),
        Q::Rate(E::OneOutstanding) => range(0.06, 0.9),
        Q::Rate(E::Misaligned) => range(0.9, 1.06),
        Q::PacedLatency => range(0.1, 0.9),
        Q::PartialBlocks => range(0.001, 0.01),
        Q::Rate(E::Aligned) => None,
        _ => expects(quantity, s),
    }
}

fn expects_third(quantity: Q, s: &Setting) -> Option<Range> {
    match quantity {
        Q::Rate(E::LargerIo) => range(0.85, 5.0),
        Q::Rate(E::ReadsOnly) => range(1.0, 6.0),
        Q::Rate(E::Sequential) => range(1.4, 60.0),
        Q::Rate(E::OneOutstanding) => range(0.06, 0.4),
        Q::LatencyOne => range(60.0, 900.0),
        Q::Rate(E::Misaligned) => range(0.93, 1.06),
        Q::Rate(E::HotSpan) | Q::Rate(E::TenthSpan) | Q::Rate(E::MoreOutstanding) => None,
        _ => expects_otherwise(quantity, s),
    }
}

/// Members that are so fast that the bytes of larger writes count, while a sequence still fills whole stripes.
fn expects_of_flash(quantity: Q, s: &Setting) -> Option<Range> {
    match quantity {
        Q::Rate(E::LargerIo) => range(0.2, 0.9),
        Q::Rate(E::ReadsOnly) => range(0.75, 6.0),
        Q::Rate(E::WritesOnly) => range(0.65, 1.25),
        Q::Rate(E::MoreOutstanding) => range(0.97, 1.3),
        Q::Rate(E::OneOutstanding) => range(0.02, 0.4),
        _ => expects_third(quantity, s),
    }
}

/// The blocks lie in memory or on flash: reading the rest costs work, not a seek, so neither order nor span matters.
fn expects_of_memory(quantity: Q, _: &Setting) -> Option<Range> {
    match quantity {
        // Reads beside such writes are faster.
        Q::LowToMean => range(0.01, 1.06),
        Q::Rate(E::Aligned) => range(1.3, 8.0),
        Q::PartialBlocks => range(0.5, 1.1),
        Q::Rate(E::Misaligned) => range(0.9, 1.1),
        Q::Rate(E::LargerIo) => range(0.3, 1.0),
        Q::Rate(E::ReadsOnly) => range(1.3, 6.0),
        Q::Rate(E::WritesOnly) => range(0.65, 1.05),
        Q::Rate(E::Sequential) => range(0.9, 1.5),
        Q::Rate(E::HotSpan) | Q::Rate(E::TenthSpan) | Q::Rate(E::RepeatingData) => range(0.85, 1.15),
        Q::Rate(E::MoreOutstanding) => range(0.9, 1.3),
        Q::Rate(E::OneOutstanding) => range(0.25, 1.02),
        Q::LatencyOne => range(60.0, 3000.0),
        Q::PacedLatency => range(0.05, 0.9),
        Q::PingWait => range(0.001, 0.3),
        _ => None,
    }
}
