//! A write-back cache that takes the writes in.

use assay_record::Experiment as E;

use crate::cause::Cause;
use crate::hypothesis::Hypothesis;
use crate::quantity::Quantity as Q;
use crate::range::{Range, range};
use crate::setting::Setting;
use crate::unchanged;

pub(super) const HYPOTHESIS: Hypothesis = Hypothesis {
    cause: Cause::WriteCacheAbsorbing,
    name: "a write-back cache that absorbs the writes",
    physics: "A write is acknowledged when it is in the cache. Until it is full, its speed is that of memory, and \
        the media do not count; reads of the same places are far slower.",
    source: "t_full = cache / (rate in - rate out) (docs/design/040-model.md).",
    applies: |s| s.writes() && s.has_medium() && !s.is_sync,
    forms: &[expects, expects_otherwise, expects_volatile],
    unchanged: &[
        &unchanged::WAYS,
        &unchanged::PLACES,
        &unchanged::ALIGNMENT,
        &unchanged::DATA,
        &unchanged::DURABILITY,
        &unchanged::WORKERS,
        &unchanged::REST,
    ],
    helps: "Write for longer than the cache takes to fill to measure the media behind it.",
    gain: None,
    look: "Size of the cache, and whether a battery or capacitor protects it.",
};

fn expects(quantity: Q, _: &Setting) -> Option<Range> {
    match quantity {
        // A cache that survives a power loss makes a write durable at once.
        Q::Rate(E::WithSync) => range(0.5, 1.05),
        Q::Rate(E::ReadsOnly) => range(0.003, 0.35),
        Q::LatencyOne => range(15.0, 600.0),
        Q::Rate(E::MoreOutstanding) => range(0.96, 1.1),
        Q::Rate(E::OneOutstanding) => range(0.05, 0.7),
        Q::PacedLatency => range(0.03, 1.0),
        Q::Rate(E::OnePath) => range(0.2, 1.05),
        Q::Rate(E::LargerIo) => range(0.6, 1.03),
        Q::Rate(E::SmallerIo) => range(0.97, 1.2),
        _ => None,
    }
}

fn expects_otherwise(quantity: Q, s: &Setting) -> Option<Range> {
    match quantity {
        Q::Rate(E::LargerIo) => range(0.12, 0.6),
        Q::Rate(E::SmallerIo) => range(1.0, 4.0),
        Q::Trend => range(0.6, 1.06),
        Q::Rate(E::Base) => range(0.5, 1.08),
        Q::Rate(E::AfterIdle) => range(0.93, 1.6),
        _ => expects(quantity, s),
    }
}

/// A cache that a power loss empties: a durable write waits for the media.
fn expects_volatile(quantity: Q, s: &Setting) -> Option<Range> {
    match quantity {
        Q::Rate(E::WithSync) => range(0.002, 0.6),
        _ => expects(quantity, s),
    }
}
