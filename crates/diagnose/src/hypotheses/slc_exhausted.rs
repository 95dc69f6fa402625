//! Flash whose fast write area is used up.

use assay_record::Experiment as E;

use crate::cause::Cause;
use crate::hypothesis::Hypothesis;
use crate::quantity::Quantity as Q;
use crate::range::{Range, range};
use crate::setting::Setting;
use crate::unchanged;

pub(super) const HYPOTHESIS: Hypothesis = Hypothesis {
    cause: Cause::SlcExhausted,
    name: "an exhausted SLC cache",
    physics: "Consumer flash writes into single-level cells first, and at a fraction of that rate when they are \
        used up. A pause lets the drive move data out, and the next seconds are fast again; reads stay fast.",
    source: "facts of drive reviews (850 EVO: 3 GB at full rate); SNIA SSS PTS 2.0.2.",
    applies: |s| s.writes() && s.may_have_drive() && !s.is_sync,
    forms: &[expects],
    unchanged: &[&unchanged::WAYS, &unchanged::PLACES, &unchanged::WORKERS],
    helps: "Drives for servers, or pauses between bursts of writing.",
    gain: Some(E::AfterIdle),
    look: "Model of the drives and size of their fast area.",
};

fn expects(quantity: Q, _: &Setting) -> Option<Range> {
    match quantity {
        Q::Rate(E::AfterIdle) => range(1.25, 8.0),
        Q::Rate(E::ReadsOnly) => range(1.15, 12.0),
        Q::Rate(E::MoreOutstanding) => range(0.95, 2.0),
        Q::Rate(E::OneOutstanding) => range(0.05, 0.45),
        Q::Rate(E::LargerIo) => range(0.12, 0.26),
        Q::Rate(E::SmallerIo) => range(1.8, 8.0),
        Q::PacedLatency => range(0.06, 0.95),
        Q::LatencyOne => range(120.0, 2500.0),
        Q::PingWait => range(0.001, 0.3),
        _ => None,
    }
}
