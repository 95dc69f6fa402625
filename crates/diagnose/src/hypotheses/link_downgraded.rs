//! A link that is slower or narrower than both of its ends can.

use assay_record::Experiment as E;

use crate::cause::Cause;
use crate::hypothesis::Hypothesis;
use crate::quantity::Quantity as Q;
use crate::range::{Range, range};
use crate::setting::Setting;
use crate::unchanged;

pub(super) const HYPOTHESIS: Hypothesis = Hypothesis {
    cause: Cause::LinkDowngraded,
    name: "a link of the device that runs below its speed",
    physics: "After errors, or in the wrong slot, a port negotiates a lower speed or fewer lanes. The link then \
        transfers that many bytes, whatever they are, and the device could more.",
    source: "current_link_speed and current_link_width of PCIe against the maximum of both ends; \
        sata_spd_limit.",
    applies: |s| s.is_local() && s.shows(Cause::LinkDowngraded),
    forms: &[expects, expects_both_ways, expects_small],
    unchanged: &unchanged::ALL,
    helps: "Reseat the device, change its cable or slot, and look for errors of the link in the kernel's log.",
    gain: None,
    look: "LnkCap and LnkSta (lspci -vv), the speed of the port (smartctl -i).",
};

fn expects(quantity: Q, _: &Setting) -> Option<Range> {
    match quantity {
        Q::Shown(Cause::LinkDowngraded) => range(0.9, 1.1),
        Q::BusMatch => range(0.94, 1.04),
        Q::Rate(E::LargerIo) => range(0.121, 0.13),
        Q::Rate(E::SmallerIo) => range(7.2, 8.4),
        Q::Rate(E::OneOutstanding) => range(0.1, 1.02),
        Q::PacedLatency => range(0.015, 0.6),
        Q::MedianToMean => range(0.88, 1.07),
        Q::Rate(E::ReadsOnly) | Q::Rate(E::WritesOnly) => range(0.95, 1.05),
        _ => None,
    }
}

fn expects_both_ways(quantity: Q, s: &Setting) -> Option<Range> {
    match quantity {
        Q::Rate(E::Mixed) => range(1.2, 2.05),
        _ => expects(quantity, s),
    }
}

fn expects_small(quantity: Q, s: &Setting) -> Option<Range> {
    match quantity {
        Q::Rate(E::SmallerIo) => range(1.2, 7.2),
        _ => expects(quantity, s),
    }
}
