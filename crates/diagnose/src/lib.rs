//! What limits a load, by experiments: each changes one thing of the load, and every [`Hypothesis`] states for every
//! experiment the range of the ratio that it expects.
//!
//! The tests of a diagnosis are [`Experiment`](assay_record::Experiment)s ([`plan`]). After each, [`diagnose`] turns
//! what was measured into [`Observation`]s and those into odds; [`choose`] picks the experiment with the most expected
//! information per second. Both are functions of a run's header and summary, so a stored diagnosis is shown like a live
//! one. docs/design/007 has the arithmetic, docs/diagnosis-validation.md how often it is right.
//!
//! Architecture invariant: pure functions of their arguments, no I/O and no clock.
#![forbid(unsafe_code)]

mod awake;
mod belief;
mod cause;
mod choose;
mod clause;
mod diagnosis;
mod evidence;
mod experiments;
mod hypotheses;
mod hypothesis;
mod number;
mod observe;
mod observed;
mod open;
mod quantity;
mod quoted;
mod range;
mod says;
mod setting;
#[cfg(test)]
mod tests;
mod unchanged;
mod waits;

pub use awake::is_to_keep_awake;
pub use belief::{Belief, Odds, SETTLED};
pub use cause::Cause;
pub use choose::{Choice, choose, choose_among};
pub use diagnosis::{Diagnosis, Row, SeriesPoint};
pub use experiments::{ExperimentTest, Order, OtherWays, WritesAllowed, plan, timing};
pub use hypotheses::ALL as HYPOTHESES;
pub use hypothesis::Hypothesis;
pub use quantity::{Observation, Quantity};
pub use range::Range;
pub use says::{diagnose, diagnose_among, headline};
pub use setting::{Reach, Setting};
