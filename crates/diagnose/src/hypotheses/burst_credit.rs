//! A limit with burst credit.

use assay_record::Experiment as E;

use crate::cause::Cause;
use crate::hypothesis::Hypothesis;
use crate::quantity::Quantity as Q;
use crate::range::{Range, range};
use crate::setting::Setting;
use crate::unchanged;

use super::throttle::behind;

pub(super) const HYPOTHESIS: Hypothesis = Hypothesis {
    cause: Cause::BurstCredit,
    name: "burst-credit throttling",
    physics: "Credit accumulates while the volume is idle and is spent at a higher rate; when it is used up, the base \
        rate remains. The same load is fast after a pause and slow some seconds later.",
    source: "Token buckets with depth (burst balance of cloud volumes).",
    applies: |s| s.has_medium() && !s.is_paced,
    forms: &[
        of::<0, false>, of::<0, true>, of::<1, false>, of::<1, true>, of::<2, false>, of::<2, true>,
        expects_fourth, of_fallen::<false>, of_fallen::<true>,
    ],
    unchanged: &[
        &unchanged::WAYS,
        &unchanged::PLACES,
        &unchanged::ALIGNMENT,
        &unchanged::DATA,
        &unchanged::DURABILITY,
        &unchanged::WORKERS,
        &unchanged::DEPTH,
    ],
    helps: "A larger volume or a higher base rate; pauses only accumulate credit.",
    gain: Some(E::AfterIdle),
    look: "Burst balance of the volume in the monitoring of its provider.",
};

/// The forms of a load without credit, each before a device that is faster than the limit and one that is slower.
fn of<const FORM: u32, const SLOW: bool>(quantity: Q, s: &Setting) -> Option<Range> {
    let form = match FORM {
        0 => expects,
        1 => expects_otherwise,
        _ => expects_third,
    };
    behind::<SLOW>(quantity).or_else(|| form(quantity, s)).or_else(|| spent(quantity))
}

/// Credit that is used up does not come back under load.
fn spent(quantity: Q) -> Option<Range> {
    if quantity == Q::CameBack { range(0.95, 1.15) } else { None }
}

fn expects(quantity: Q, _: &Setting) -> Option<Range> {
    match quantity {
        Q::Rate(E::AfterIdle) => range(1.2, 25.0),
        Q::PacedLatency => range(0.01, 0.8),
        Q::Rate(E::ReadsOnly) | Q::Rate(E::WritesOnly) => range(0.95, 1.05),
        Q::Rate(E::LargerIo) => range(0.965, 1.035),
        Q::Rate(E::SmallerIo) => range(0.96, 1.04),
        _ => None,
    }
}

fn expects_otherwise(quantity: Q, s: &Setting) -> Option<Range> {
    match quantity {
        Q::Rate(E::LargerIo) => range(0.121, 0.129),
        Q::Rate(E::SmallerIo) => range(1.2, 8.4),
        _ => expects(quantity, s),
    }
}

fn expects_third(quantity: Q, s: &Setting) -> Option<Range> {
    match quantity {
        Q::Rate(E::LargerIo) => range(0.1, 0.9),
        Q::Rate(E::SmallerIo) => range(0.96, 1.1),
        _ => expects(quantity, s),
    }
}

fn expects_fourth(quantity: Q, _: &Setting) -> Option<Range> {
    match quantity {
        // With credit at once, without it by token.
        Q::PacedToOne => range(0.004, 40.0),
        Q::LowToMean => range(0.02, 1.07),
        Q::Rate(E::AfterIdle) => range(1.2, 25.0),
        Q::Trend => range(0.1, 1.05),
        Q::Rate(E::Base) => range(0.1, 1.05),
        Q::Rate(E::MoreOutstanding)
        | Q::Rate(E::HotSpan)
        | Q::Rate(E::TenthSpan)
        | Q::Rate(E::WholeSpan)
        | Q::Rate(E::Misaligned)
        | Q::Rate(E::MoreWorkers)
        | Q::Rate(E::MoreConnections)
        | Q::Rate(E::EvenPaths)
        | Q::Rate(E::OnePath)
        | Q::Rate(E::RepeatingData)
        | Q::Rate(E::Sequential)
        | Q::Rate(E::Random)
        | Q::Rate(E::ReadsOnly)
        | Q::Rate(E::WritesOnly) => range(0.62, 1.08),
        Q::Rate(E::OneOutstanding) => range(0.05, 1.0),
        Q::Rate(E::LargerIo) => range(0.08, 1.03),
        Q::Rate(E::SmallerIo) => range(0.7, 7.0),
        Q::PacedLatency => range(0.05, 8.0),
        Q::MedianToMean => range(0.5, 1.08),
        _ => spent(quantity),
    }
}

/// The credit was used up during the diagnosis: the load fell from one level to another at once, and each experiment is
/// compared with the load on its own level. Tokens count operations, or bytes.
fn of_fallen<const BYTES: bool>(quantity: Q, s: &Setting) -> Option<Range> {
    match quantity {
        Q::Rate(E::Base) => range(0.03, 0.8),
        Q::Rate(E::AfterIdle) => range(1.1, 25.0),
        // With credit at once, without it by token.
        Q::PacedLatency => range(0.01, 8.0),
        Q::PacedToOne => range(0.004, 40.0),
        Q::Rate(E::OneOutstanding) => range(0.05, 1.04),
        Q::Trend => range(0.1, 1.08),
        Q::CameBack => spent(quantity),
        _ if BYTES => expects_otherwise(quantity, s),
        _ => expects(quantity, s),
    }
}
