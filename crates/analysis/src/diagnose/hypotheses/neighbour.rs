//! Other load on the target.

use assay_record::Experiment as E;

use super::super::hypothesis::Hypothesis;
use super::super::range::{Range, range};
use super::super::{Cause, Quantity as Q, Setting};

pub(super) const HYPOTHESIS: Hypothesis = Hypothesis {
    cause: Cause::Neighbour,
    name: "other load on the target",
    physics: "Somebody else uses the same disks, links or CPU. The rate of an unchanged load changes from minute \
        to minute, and the devices of this host may move more bytes than the tester asked for.",
    source: "Repetitions of the load itself during the diagnosis; block counters of the kernel.",
    applies: |s| s.has_medium(),
    forms: &[expects, expects_otherwise, expects_third, expects_fourth],
    helps: "Repeat when the others rest, or separate them.",
    gain: None,
    look: "Who else uses the target, and how much.",
};

fn expects(quantity: Q, _: &Setting) -> Option<Range> {
    match quantity {
        Q::DeviceBytes => range(1.15, 20.0),
        Q::Rate(E::Base) => range(0.6, 1.6),
        Q::Rate(E::HotSpan)
        | Q::Rate(E::TenthSpan)
        | Q::Rate(E::Misaligned)
        | Q::Rate(E::MoreWorkers)
        | Q::Rate(E::MoreConnections)
        | Q::Rate(E::EvenPaths)
        | Q::Rate(E::OnePath)
        | Q::Rate(E::RepeatingData)
        | Q::Rate(E::AfterIdle)
        | Q::Rate(E::ReadsOnly)
        | Q::Rate(E::WritesOnly) => range(0.5, 1.9),
        Q::Rate(E::Sequential) => range(0.6, 30.0),
        Q::Rate(E::Random) => range(0.02, 1.3),
        Q::Rate(E::MoreOutstanding) => range(0.7, 2.3),
        Q::Rate(E::OneOutstanding) => range(0.04, 0.9),
        Q::Rate(E::LargerIo) => range(0.08, 1.1),
        Q::Rate(E::SmallerIo) => range(0.7, 4.0),
        Q::PacedLatency => range(0.07, 1.4),
        Q::MedianToMean => range(0.3, 1.06),
        Q::Trend => range(0.5, 2.0),
        _ => None,
    }
}

fn expects_otherwise(quantity: Q, _: &Setting) -> Option<Range> {
    match quantity {
        Q::Rate(E::Base) => range(0.35, 0.82),
        Q::Rate(E::HotSpan)
        | Q::Rate(E::TenthSpan)
        | Q::Rate(E::Misaligned)
        | Q::Rate(E::MoreWorkers)
        | Q::Rate(E::MoreConnections)
        | Q::Rate(E::EvenPaths)
        | Q::Rate(E::OnePath)
        | Q::Rate(E::RepeatingData)
        | Q::Rate(E::AfterIdle)
        | Q::Rate(E::ReadsOnly)
        | Q::Rate(E::WritesOnly) => range(0.5, 1.9),
        Q::Rate(E::Sequential) => range(0.6, 30.0),
        Q::Rate(E::Random) => range(0.02, 1.3),
        Q::Rate(E::MoreOutstanding) => range(0.7, 2.3),
        Q::Rate(E::OneOutstanding) => range(0.04, 0.9),
        Q::Rate(E::LargerIo) => range(0.08, 1.1),
        Q::Rate(E::SmallerIo) => range(0.7, 4.0),
        Q::PacedLatency => range(0.07, 1.4),
        Q::MedianToMean => range(0.3, 1.06),
        Q::Trend => range(0.5, 2.0),
        _ => None,
    }
}

fn expects_third(quantity: Q, _: &Setting) -> Option<Range> {
    match quantity {
        Q::Rate(E::Base) => range(1.22, 3.0),
        Q::Rate(E::HotSpan)
        | Q::Rate(E::TenthSpan)
        | Q::Rate(E::Misaligned)
        | Q::Rate(E::MoreWorkers)
        | Q::Rate(E::MoreConnections)
        | Q::Rate(E::EvenPaths)
        | Q::Rate(E::OnePath)
        | Q::Rate(E::RepeatingData)
        | Q::Rate(E::AfterIdle)
        | Q::Rate(E::ReadsOnly)
        | Q::Rate(E::WritesOnly) => range(0.5, 1.9),
        Q::Rate(E::Sequential) => range(0.6, 30.0),
        Q::Rate(E::Random) => range(0.02, 1.3),
        Q::Rate(E::MoreOutstanding) => range(0.7, 2.3),
        Q::Rate(E::OneOutstanding) => range(0.04, 0.9),
        Q::Rate(E::LargerIo) => range(0.08, 1.1),
        Q::Rate(E::SmallerIo) => range(0.7, 4.0),
        Q::PacedLatency => range(0.07, 1.4),
        Q::MedianToMean => range(0.3, 1.06),
        Q::Trend => range(0.5, 2.0),
        _ => None,
    }
}

/// A steady one, which the block counters of this host show: with more outstanding I/Os the tester gets a larger share,
/// with one it gets little, and the rest is as without a neighbour.
fn expects_fourth(quantity: Q, s: &Setting) -> Option<Range> {
    if !s.is_local() {
        return expects(quantity, s);
    }
    match quantity {
        Q::DeviceBytes => range(1.3, 100.0),
        Q::Rate(E::MoreOutstanding) => range(1.1, 4.0),
        Q::Rate(E::OneOutstanding) => range(0.02, 0.5),
        Q::Rate(E::LargerIo) => range(0.12, 1.0),
        Q::Rate(E::SmallerIo) => range(0.95, 4.0),
        Q::PacedLatency => range(0.2, 1.1),
        Q::MedianToMean => range(0.5, 1.08),
        Q::Rate(E::HotSpan)
        | Q::Rate(E::TenthSpan)
        | Q::Rate(E::Sequential)
        | Q::Rate(E::Random)
        | Q::Rate(E::MoreWorkers)
        | Q::Rate(E::AfterIdle) => range(0.85, 1.3),
        _ => None,
    }
}
