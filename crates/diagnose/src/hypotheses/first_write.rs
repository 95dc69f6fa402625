//! The first write to blocks that have to be allocated.

use assay_record::Experiment as E;

use crate::cause::Cause;
use crate::hypothesis::Hypothesis;
use crate::quantity::Quantity as Q;
use crate::range::{Range, range};
use crate::setting::Setting;
use crate::unchanged;

pub(super) const HYPOTHESIS: Hypothesis = Hypothesis {
    cause: Cause::FirstWrite,
    name: "the first write to blocks that are not allocated yet",
    physics: "A thin volume allocates a block when it is written for the first time: it searches, zeroes or \
        copies, and commits its tables, one after another. The second write to the same place is as fast as on \
        a thick volume, so a few MiB that are written again and again soon are.",
    source: "dm-thin (thin-provisioning.txt: block_size, skip_block_zeroing); LBPME of SCSI; holes of files.",
    applies: |s| s.writes() && s.has_medium() && (!s.is_file || s.shows(Cause::FirstWrite)),
    forms: &[expects, expects_of_each, expects_as_it_fills],
    unchanged: &[&unchanged::DATA, &unchanged::WORKERS],
    helps: "Write the whole span once before it is measured, or use a thick volume.",
    gain: Some(E::HotSpan),
    look: "How much of the volume is allocated (lvs -o+data_percent, GET LBA STATUS), and whether it zeroes \
        blocks.",
};

fn expects(quantity: Q, s: &Setting) -> Option<Range> {
    match quantity {
        Q::Shown(Cause::FirstWrite) => range(0.9, 1.1),
        Q::Rate(E::HotSpan) => range(1.7, 300.0),
        Q::Rate(E::TenthSpan) => range(0.9, 5.0),
        Q::Rate(E::ReadsOnly) => range(1.4, 300.0),
        // Half of them allocate nothing.
        Q::Rate(E::Mixed) => range(1.2, 2.2),
        Q::Rate(E::WritesOnly) => range(0.3, 1.06),
        Q::Rate(E::Base) | Q::Rate(E::AfterIdle) => range(0.94, 1.15),
        Q::Trend => range(0.88, 1.15),
        Q::Rate(E::MoreOutstanding) => range(0.93, 1.12),
        Q::Rate(E::OneOutstanding) => range(0.5 / s.outstanding, 1.1),
        Q::Rate(E::LargerIo) => range(0.12, 1.05),
        Q::Rate(E::SmallerIo) => range(0.95, 4.0),
        Q::Rate(E::Sequential) => range(0.8, 30.0),
        Q::Rate(E::WithSync) => range(0.02, 1.05),
        Q::PacedLatency => range(0.02, 1.0),
        // Where most allocate, the others make the mean shorter.
        Q::MedianToMean => range(0.05, 1.5),
        Q::LowToMean => range(0.01, 1.05),
        _ => None,
    }
}

/// Each write allocates a block, whatever its size and order, and nothing else takes as long.
fn expects_of_each(quantity: Q, s: &Setting) -> Option<Range> {
    match quantity {
        Q::Rate(E::LargerIo) => range(0.85, 1.05),
        Q::Rate(E::SmallerIo) => range(0.96, 1.1),
        Q::Rate(E::Sequential) | Q::Rate(E::TenthSpan) => range(0.93, 1.12),
        Q::Rate(E::OneOutstanding) => range(0.3, 1.05),
        Q::MedianToMean => range(0.9, 1.15),
        Q::LowToMean => range(0.5, 1.06),
        Q::Rate(E::Mixed) => range(1.5, 2.2),
        _ => expects(quantity, s),
    }
}

/// What was written is allocated: the same load is faster each time.
fn expects_as_it_fills(quantity: Q, s: &Setting) -> Option<Range> {
    match quantity {
        Q::Rate(E::Base) | Q::Rate(E::AfterIdle) => range(1.02, 20.0),
        Q::Trend => range(1.0, 5.0),
        Q::Rate(E::MoreOutstanding)
        | Q::Rate(E::MoreWorkers)
        | Q::Rate(E::MoreConnections)
        | Q::Rate(E::TenthSpan) => range(0.7, 4.0),
        _ => expects(quantity, s),
    }
}
