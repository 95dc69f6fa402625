//! A limit on bytes per second.

use assay_record::Experiment as E;

use crate::cause::Cause;
use crate::hypothesis::Hypothesis;
use crate::quantity::Quantity as Q;
use crate::range::{AT_LIMIT, Range, range};
use crate::setting::Setting;
use crate::unchanged;

use super::throttle::behind;

pub(super) const HYPOTHESIS: Hypothesis = Hypothesis {
    cause: Cause::BytesCap,
    name: "a limit on bytes per second",
    physics: "A token for each byte, handed out at a fixed rate: the same throughput whatever the size, order, \
        span and number, and not that of any link or bus.",
    source: "cgroup io.max (rbps, wbps), QoS of hypervisors and clouds: token buckets.",
    applies: |s| s.has_medium(),
    forms: &[
        of::<0, false>, of::<0, true>, of::<1, false>, of::<1, true>, of::<2, false>, of::<2, true>,
        of::<3, false>, of::<3, true>, of::<4, false>, of::<4, true>,
    ],
    unchanged: &unchanged::ALL,
    helps: "Raise the limit (io.max, the QoS policy, a larger volume); no other resource is saturated.",
    gain: None,
    look: "QoS settings of the volume, the hypervisor or the cloud, and ports in between that negotiated a \
        lower speed.",
};

/// The forms, each before a device that is faster than the limit and one that is slower.
fn of<const FORM: u32, const SLOW: bool>(quantity: Q, s: &Setting) -> Option<Range> {
    let form = match FORM {
        0 => expects,
        1 => expects_otherwise,
        2 => expects_third,
        3 => expects_fourth,
        _ => expects_in_slices,
    };
    behind::<SLOW>(quantity).or_else(|| form(quantity, s))
}

fn expects(quantity: Q, _: &Setting) -> Option<Range> {
    match quantity {
        Q::Rate(E::SmallerIo) => range(7.2, 8.4),
        Q::MedianToMean => range(0.85, 1.08),
        Q::Rate(E::LargerIo) => range(0.121, 0.129),
        Q::PacedLatency => range(0.008, 0.65),
        Q::Rate(E::ReadsOnly) | Q::Rate(E::WritesOnly) => range(0.95, 1.05),
        Q::LinkShare => range(0.01, 0.6),
        Q::Rate(E::OnePath) => range(0.7, 1.04),
        Q::OfBytesLimit => AT_LIMIT,
        _ => None,
    }
}

fn expects_otherwise(quantity: Q, s: &Setting) -> Option<Range> {
    match quantity {
        Q::Rate(E::SmallerIo) => range(1.2, 7.2),
        _ => expects(quantity, s),
    }
}

fn expects_third(quantity: Q, s: &Setting) -> Option<Range> {
    match quantity {
        Q::Rate(E::SmallerIo) => range(1.2, 8.4),
        Q::MedianToMean => range(0.02, 0.8),
        _ => expects(quantity, s),
    }
}

fn expects_fourth(quantity: Q, s: &Setting) -> Option<Range> {
    match quantity {
        // A limit of its own for each direction lets the other half pass.
        Q::Rate(E::Mixed) => range(1.2, 2.05),
        Q::Rate(E::ReadsOnly) => range(1.15, 100.0),
        Q::Rate(E::WritesOnly) => range(0.2, 1.04),
        Q::Rate(E::SmallerIo) | Q::MedianToMean => None,
        _ => expects(quantity, s),
    }
}

/// Tokens of a whole slice are handed out at once (blk-throttle: every 20 to 100 ms). In a closed loop some I/Os then
/// pass as soon as they come, and the others all wait for the next slice.
fn expects_in_slices(quantity: Q, s: &Setting) -> Option<Range> {
    match quantity {
        Q::MedianToMean => range(1.05, 2.2),
        Q::LowToMean => range(0.002, 0.6),
        _ => expects(quantity, s),
    }
}
