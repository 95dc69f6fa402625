//! The page cache of this host.

use assay_record::Experiment as E;

use crate::cause::Cause;
use crate::hypothesis::Hypothesis;
use crate::quantity::Quantity as Q;
use crate::range::{Range, range};
use crate::setting::Reach;
use crate::setting::Setting;
use crate::unchanged;

pub(super) const HYPOTHESIS: Hypothesis = Hypothesis {
    cause: Cause::PageCache,
    name: "the page cache of this host",
    physics: "Cached I/O of a span that fits in memory is a copy from memory. The devices below see a fraction of \
        the bytes.",
    source: "Block counters of the kernel (/proc/diskstats) against the tester's own bytes.",
    applies: |s| s.reach == Reach::Cached,
    forms: &[expects, expects_while_it_fills],
    unchanged: &[
        &unchanged::WAYS,
        &unchanged::ALIGNMENT,
        &unchanged::DATA,
        &unchanged::DEPTH,
        &unchanged::REST,
    ],
    helps: "Leave out --cached to measure the storage.",
    gain: None,
    look: "The storage served hardly any I/O; nothing is known about it.",
};

fn expects(quantity: Q, _: &Setting) -> Option<Range> {
    match quantity {
        // More than memory holds, or not read yet.
        Q::Rate(E::WholeSpan) => range(0.002, 1.05),
        Q::Rate(E::WithSync) => range(0.0005, 0.4),
        Q::DeviceBytes => range(0.0009, 0.3),
        Q::LatencyOne => range(1.0, 40.0),
        Q::TesterBusy => range(0.3, 1.06),
        Q::Rate(E::MoreWorkers) => range(0.95, 2.1),
        Q::Rate(E::OneOutstanding) => range(0.8, 1.1),
        Q::Rate(E::LargerIo) => range(0.14, 0.95),
        Q::Rate(E::SmallerIo) => range(1.0, 4.0),
        Q::PacedLatency => range(0.01, 0.4),
        Q::Rate(E::Sequential) | Q::Rate(E::Random) | Q::Rate(E::HotSpan) | Q::Rate(E::TenthSpan) => {
            range(0.9, 1.3)
        }
        _ => None,
    }
}

/// The first reads come from the device, all later ones from memory.
fn expects_while_it_fills(quantity: Q, s: &Setting) -> Option<Range> {
    match quantity {
        Q::DeviceBytes => range(0.0009, 0.9),
        Q::Rate(E::Base) | Q::Rate(E::AfterIdle) => range(0.8, 30.0),
        Q::MedianToMean => range(0.1, 1.08),
        Q::Rate(E::MoreOutstanding) => range(0.85, 3.0),
        Q::Rate(E::MoreWorkers) => range(0.95, 4.0),
        Q::Rate(E::OneOutstanding) => range(0.4, 1.15),
        Q::Rate(E::Sequential) | Q::Rate(E::Random) | Q::Rate(E::HotSpan) | Q::Rate(E::TenthSpan) => {
            range(0.9, 10.0)
        }
        _ => expects(quantity, s),
    }
}
