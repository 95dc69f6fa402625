//! The open answer: none of the listed causes explains what was measured.
//!
//! Two things raise its odds. The best hypothesis foresees each number within a range: where its numbers lie outside of
//! that, together, more than those of a true hypothesis do, the list lacks the cause. And some causes are shapes that
//! much else has too (a limit on operations per second, a full write cache): planted set-ups whose own cause was taken
//! from the list were mistaken for them. Such a cause is never more than [`SHARED`] certain by experiments alone.

use crate::cause::Cause;

/// As a sentence names it.
pub(crate) const NONE_OF_THESE: &str = "none of the causes that Assay knows";

/// Deviations up to this are expected of every number.
const EXPECTED: f64 = 1.5;
/// Deviations beyond this say nothing more: a single odd number must not decide.
const MOST: f64 = 5.0;
/// Logarithm of the odds of an open answer for each square beyond [`EXPECTED`].
const BY_MISFIT: f64 = 0.07;
/// The most that a cause with a shape that others have is certain, and one with a shape of its own.
const SHARED: f64 = 0.78;
const OWN: f64 = 0.985;
/// Causes with a shape of their own: in the tuning half of the planted set-ups without the planted cause
/// (docs/diagnosis-validation.md), hardly any was mistaken for one of these.
const OWN_SHAPE: [Cause; 8] = [
    Cause::HostCpu,
    Cause::PathPolicy,
    Cause::SlowPath,
    Cause::NetworkFault,
    Cause::Link,
    Cause::Flush,
    Cause::PageCache,
    Cause::ReducibleData,
];

/// Returns the probability that none of the listed causes is true, by the best of them and by how far each number lies
/// from what it expects, in standard deviations. What this host or the
/// offsets of the load show (`is_shown`) is not guessed by its shape.
pub(crate) fn open_probability(best: Cause, is_shown: bool, misfits: &[f64]) -> f64 {
    let beyond = |misfit: &f64| (misfit.abs().min(MOST) - EXPECTED).max(0.0).powi(2);
    let sum: f64 = misfits.iter().map(beyond).sum();
    let most = if is_shown || OWN_SHAPE.contains(&best) { OWN } else { SHARED };
    let odds = ((1.0 - most) / most).ln() + BY_MISFIT * sum;
    1.0 / (1.0 + (-odds).exp())
}
