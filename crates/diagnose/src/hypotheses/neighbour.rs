//! Other load on the target.

use assay_record::Experiment as E;

use crate::cause::Cause;
use crate::hypothesis::Hypothesis;
use crate::quantity::Quantity as Q;
use crate::range::{Range, range};
use crate::setting::Setting;

pub(super) const HYPOTHESIS: Hypothesis = Hypothesis {
    cause: Cause::Neighbour,
    name: "other load on the target",
    physics: "Another load uses the same disks, links or CPU. The rate of an unchanged load changes from minute to \
        minute, or the devices of this host move more bytes than the tester requested; without either, there is no \
        evidence of one.",
    source: "Repetitions of the load itself during the diagnosis; block counters of the kernel.",
    applies: |s| s.has_medium(),
    forms: &[counted, counted_steady, slower_later, faster_later],
    unchanged: &[],
    helps: "Repeat while the other loads are idle, or separate them.",
    gain: None,
    look: "Who else uses the target, and how much.",
};

/// The kernel counts the bytes of all.
fn counted(quantity: Q, s: &Setting) -> Option<Range> {
    match quantity {
        Q::DeviceBytes => range(1.15, 20.0),
        // Only a device of this host has such a counter; elsewhere this form has no evidence to rest on.
        Q::Rate(E::Base) if !s.is_local() => range(0.35, 0.72),
        Q::Rate(E::Base) => range(0.4, 2.6),
        _ => shaken(quantity, s),
    }
}

/// A load that does not change either: a device that serves in the order of arrival gives each its share of what is
/// outstanding, so more outstanding I/Os take a larger share.
fn counted_steady(quantity: Q, s: &Setting) -> Option<Range> {
    // Elsewhere nothing shows it.
    if !s.is_local() {
        return counted(quantity, s);
    }
    match quantity {
        Q::DeviceBytes => range(1.3, 100.0),
        Q::Rate(E::MoreOutstanding) => range(0.95, 4.1),
        Q::Rate(E::OneOutstanding) => range(0.8 / s.outstanding, 0.9),
        Q::Rate(E::HotSpan)
        | Q::Rate(E::TenthSpan)
        | Q::Rate(E::WholeSpan)
        | Q::Rate(E::Misaligned)
        | Q::Rate(E::MoreWorkers)
        | Q::Rate(E::RepeatingData)
        | Q::Rate(E::AfterIdle)
        | Q::Rate(E::Base) => range(0.78, 1.28),
        Q::PacedLatency => range(0.1, 1.2),
        Q::MedianToMean => range(0.5, 1.1),
        Q::Trend => range(0.8, 1.25),
        _ => shaken(quantity, s),
    }
}

fn slower_later(quantity: Q, s: &Setting) -> Option<Range> {
    match quantity {
        Q::Rate(E::Base) => range(0.22, 0.75),
        _ => shaken(quantity, s),
    }
}

fn faster_later(quantity: Q, s: &Setting) -> Option<Range> {
    match quantity {
        Q::Rate(E::Base) => range(1.28, 4.5),
        _ => shaken(quantity, s),
    }
}

/// Every ratio is off by what changed meanwhile: one that has a tenth now, and had four fifths, leaves 4.5 times as
/// much. What is behind it is any medium, so that a few MiB or a sequence may be many times as fast as on any.
fn shaken(quantity: Q, s: &Setting) -> Option<Range> {
    match quantity {
        Q::Rate(E::HotSpan) => range(0.35, 40.0),
        Q::Rate(E::TenthSpan)
        | Q::Rate(E::WholeSpan)
        | Q::Rate(E::Misaligned)
        | Q::Rate(E::MoreWorkers)
        | Q::Rate(E::MoreConnections)
        | Q::Rate(E::EvenPaths)
        | Q::Rate(E::OnePath)
        | Q::Rate(E::RepeatingData)
        | Q::Rate(E::AfterIdle)
        | Q::Rate(E::ReadsOnly)
        | Q::Rate(E::WritesOnly)
        | Q::Rate(E::Mixed) => range(0.38, 2.6),
        Q::Rate(E::Sequential) => range(0.45, 80.0),
        Q::Rate(E::Random) => range(0.01, 1.9),
        Q::Rate(E::MoreOutstanding) => range(0.4, 3.6),
        Q::Rate(E::OneOutstanding) => range(0.02, 2.4),
        Q::Rate(E::LargerIo) => range(0.05, 1.8),
        Q::Rate(E::SmallerIo) => range(0.6, 5.0),
        // While the other load leaves less than half of the rate, all that may be outstanding waits at half the rate.
        Q::PacedLatency => range(0.05, 5.0),
        // The one that is alone may have met none of it, and each of those that wait gets a fifth of the target.
        Q::PacedToOne => range(0.4, (5.0 * s.outstanding).max(4.0)),
        Q::MedianToMean => range(0.3, 1.06),
        Q::LowToMean => range(0.1, 1.06),
        Q::Trend => range(0.5, 2.0),
        _ => None,
    }
}
