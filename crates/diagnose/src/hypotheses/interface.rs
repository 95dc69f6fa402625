//! The interface or bus of the device.

use assay_record::Experiment as E;

use crate::cause::Cause;
use crate::hypothesis::Hypothesis;
use crate::quantity::Quantity as Q;
use crate::range::{Range, range};
use crate::setting::Setting;
use crate::unchanged;

pub(super) const HYPOTHESIS: Hypothesis = Hypothesis {
    cause: Cause::Interface,
    name: "the interface or bus of the device",
    physics: "A bus transfers a fixed number of bytes per second, whatever they are: 8x the size gives an eighth of \
        the rate, and neither span nor order matters. The rate is that of a standard: 280 or 550 MB/s \
        (SATA), 1.1 GB/s (SAS), 0.4 or 1 GB/s (USB), 0.85 to 0.9 of the lanes of PCIe.",
    source: "SATA 3.x, SAS-3, USB 3.x, PCIe line rates less their encoding and headers; the negotiated speed where \
        sysfs has it.",
    applies: Setting::has_own_device,
    forms: &[expects, expects_both_ways, expects_before_small_ios_cost],
    unchanged: &unchanged::ALL,
    helps: "A faster interface, or several devices.",
    gain: None,
    look: "Negotiated speed and width (smartctl -a, lspci -vv).",
};

/// Nothing but bytes counts, as with any limit on them; only the value is that of a bus.
fn expects(quantity: Q, s: &Setting) -> Option<Range> {
    match quantity {
        Q::Rate(E::SmallerIo) => range(7.2, 8.4),
        _ => expects_before_small_ios_cost(quantity, s),
    }
}

/// PCIe and SAS carry as much one way as the other at the same time; SATA does not.
fn expects_both_ways(quantity: Q, s: &Setting) -> Option<Range> {
    match quantity {
        Q::Rate(E::Mixed) => range(1.2, 2.05),
        _ => expects(quantity, s),
    }
}

/// I/Os an eighth as large meet the next limit, the device's time for each, before they fill the bus.
fn expects_before_small_ios_cost(quantity: Q, _: &Setting) -> Option<Range> {
    match quantity {
        // Encoding and the rest of a frame differ a little between controllers.
        Q::BusMatch => range(0.96, 1.04),
        Q::Rate(E::LargerIo) => range(0.121, 0.13),
        Q::Rate(E::SmallerIo) => range(1.2, 7.2),
        Q::Rate(E::OneOutstanding) => range(0.1, 0.95),
        Q::PacedLatency => range(0.015, 0.4),
        Q::MedianToMean => range(0.9, 1.06),
        Q::Rate(E::ReadsOnly) | Q::Rate(E::WritesOnly) => range(0.95, 1.05),
        _ => None,
    }
}
