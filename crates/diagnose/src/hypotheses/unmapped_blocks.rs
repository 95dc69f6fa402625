//! Blocks that were never written.

use assay_record::Experiment as E;

use crate::cause::Cause;
use crate::hypothesis::Hypothesis;
use crate::quantity::Quantity as Q;
use crate::range::{Range, range};
use crate::setting::Setting;
use crate::unchanged;

pub(super) const HYPOTHESIS: Hypothesis = Hypothesis {
    cause: Cause::UnmappedBlocks,
    name: "unmapped blocks",
    physics: "A read of an unmapped block returns zeros without access to the media: it runs at the speed of the \
        software alone, and does not measure storage.",
    source: "FIEMAP, GET LBA STATUS, blocks read before the run; files that Assay creates are written in full first.",
    applies: |s| s.reads > 0.0 && s.has_medium(),
    forms: &[expects, expects_otherwise, expects_of_a_part],
    unchanged: &[
        &unchanged::WAYS,
        &unchanged::PLACES,
        &unchanged::ALIGNMENT,
        &unchanged::DATA,
        &unchanged::WORKERS,
        &unchanged::DEPTH,
        &unchanged::REST,
    ],
    helps: "Write the whole span before it is measured (--overwrite, or a file that Assay creates).",
    gain: None,
    look: "Which blocks the target has mapped.",
};

fn expects(quantity: Q, _: &Setting) -> Option<Range> {
    match quantity {
        // More or less of the rest may have been written.
        Q::Rate(E::WholeSpan) => range(0.05, 2.0),
        Q::Unwritten => range(0.2, 1.05),
        Q::UnknownContent => range(0.3, 1.1),
        Q::OnlyZeros => range(0.3, 1.1),
        Q::LatencyOne => range(5.0, 150.0),
        Q::Rate(E::SmallerIo) => range(1.0, 1.3),
        Q::PacedLatency => range(0.04, 0.9),
        Q::MedianToMean => range(0.85, 1.07),
        Q::DeviceBytes => range(0.001, 1.05),
        Q::Rate(E::OneOutstanding) => range(0.06, 0.8),
        // Nothing is read, whatever the size; only what is sent has a size.
        Q::Rate(E::LargerIo) => range(0.35, 1.04),
        _ => None,
    }
}

fn expects_otherwise(quantity: Q, s: &Setting) -> Option<Range> {
    match quantity {
        Q::TesterBusy => range(0.7, 1.05),
        Q::Rate(E::MoreWorkers) => range(1.1, 2.1),
        Q::Rate(E::LargerIo) => range(0.15, 1.0),
        Q::Rate(E::WholeSpan) => None,
        _ => expects(quantity, s),
    }
}

/// What was never written lies together, and the rest is the slower part of the addresses.
fn expects_of_a_part(quantity: Q, s: &Setting) -> Option<Range> {
    match quantity {
        Q::SlowRegion => range(1.5, 300.0),
        Q::MedianToMean => range(0.02, 1.07),
        Q::LowToMean => range(0.005, 1.0),
        _ => expects(quantity, s),
    }
}
