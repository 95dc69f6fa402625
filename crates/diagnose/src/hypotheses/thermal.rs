//! A device that is too hot.

use assay_record::Experiment as E;

use crate::cause::Cause;
use crate::hypothesis::Hypothesis;
use crate::quantity::Quantity as Q;
use crate::range::{Range, range};
use crate::setting::Setting;
use crate::unchanged;

pub(super) const HYPOTHESIS: Hypothesis = Hypothesis {
    cause: Cause::Thermal,
    name: "thermal throttling of the device",
    physics: "A drive at its temperature limit runs at a lower clock until it has cooled. The rate falls within \
        a minute of load and stays low; a pause of some seconds, which would refill a credit, does not cool it.",
    source: "NVMe (thermal management, TMT1 and TMT2); hwmon of the drive.",
    applies: |s| (s.has_own_device() && !s.is_virtual_disk) || (s.is_local() && s.shows(Cause::Thermal)),
    forms: &[expects_hot, expects_falling],
    unchanged: &[&unchanged::WAYS],
    helps: "Cool the drive: air flow, a heat sink, another slot.",
    gain: None,
    look: "Temperature and throttled time (nvme smart-log, smartctl -a).",
};

/// It is at its limit from the beginning.
fn expects_hot(quantity: Q, s: &Setting) -> Option<Range> {
    if !s.shows(Cause::Thermal) {
        return expects_falling(quantity, s);
    }
    match quantity {
        Q::Rate(E::Base) => range(0.6, 1.2),
        Q::Trend => range(0.6, 1.1),
        _ => expects_falling(quantity, s),
    }
}

fn expects_falling(quantity: Q, s: &Setting) -> Option<Range> {
    match quantity {
        // It does not cool under the load.
        Q::CameBack => range(0.95, 1.15),
        // One of both may have found the drive cooler.
        Q::PacedToOne => range(0.5, 30.0),
        Q::Rate(E::Mixed) => range(0.45, 1.6),
        Q::Shown(Cause::Thermal) => range(0.9, 1.1),
        Q::Rate(E::Base) => range(0.1, 0.8),
        Q::Trend => range(0.3, 1.03),
        Q::Rate(E::AfterIdle) => range(0.95, 1.3),
        Q::Rate(E::MoreOutstanding) => range(0.75, 1.2),
        Q::Rate(E::HotSpan)
        | Q::Rate(E::TenthSpan)
        | Q::Rate(E::WholeSpan)
        | Q::Rate(E::MoreWorkers)
        | Q::Rate(E::Misaligned)
        | Q::Rate(E::RepeatingData) => range(0.75, 1.25),
        Q::Rate(E::ReadsOnly) | Q::Rate(E::WritesOnly) => range(0.35, 2.5),
        Q::Rate(E::Sequential) | Q::Rate(E::Random) => range(0.6, 1.5),
        Q::Rate(E::LargerIo) => range(0.1, 1.05),
        Q::Rate(E::SmallerIo) => range(0.9, 8.3),
        Q::Rate(E::OneOutstanding) => range(0.5 / s.outstanding, 1.05),
        // It may have become hotter since.
        Q::PacedLatency => range(0.03, 4.0),
        Q::MedianToMean => range(0.6, 1.1),
        _ => None,
    }
}
