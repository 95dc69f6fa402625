//! What limits a load, by experiments: each changes one thing of the load, and every [`Hypothesis`] states for every
//! experiment the range of the ratio that it expects.
//!
//! The tests of a diagnosis are [`Experiment`]s ([`plan`]). After each, [`diagnose`] turns what was measured into
//! [`Observation`]s and those into odds; [`next`] chooses the experiment with the most expected information per second.
//! Both are functions of a run's header and summary, so a stored diagnosis is shown like a live one. docs/design/007
//! has the arithmetic, docs/diagnosis-validation.md how often it is right.

mod belief;
mod cause;
mod hypotheses;
mod hypothesis;
mod observe;
mod observed;
mod plan;
mod planted;
mod quantity;
mod range;
mod says;
mod setting;
#[cfg(test)]
mod tests;
mod validation;

use assay_record::{Experiment, RunHeader};
use serde::Serialize;

use crate::summary::RunSummary;

pub use belief::{Belief, Odds};
pub use cause::Cause;
pub use hypothesis::Hypothesis;
pub use plan::{Choice, ExperimentTest, Order, OtherWays, PAUSE_S, WritesAllowed, choose, plan, timing};
pub use planted::{PlantedCase, planted_case};
pub use quantity::{Observation, Quantity};
pub use range::Range;
pub use setting::{Reach, Setting};
pub use validation::{CauseScore, Validation, validate};

/// Probability at which a diagnosis is settled.
pub const SETTLED: f64 = 0.95;

/// What experiments say of a load.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Diagnosis {
    /// The result, a sentence.
    pub says: String,
    /// Name of the load.
    pub load: String,
    /// Rate of the load, IOPS.
    pub iops: f64,
    /// Every hypothesis that applies, the most probable first.
    pub odds: Vec<Odds>,
    /// What was measured, in the order of the experiments, beside the expectations of the first two.
    pub rows: Vec<Row>,
    /// What was ruled out, and by which experiment; a sentence each.
    pub ruled_out: Vec<String>,
    /// What change would help, and by how much where an experiment shows it.
    pub helps: String,
    /// What cannot be seen from here, and what to look at on the target.
    pub unknown: String,
    /// How the rate of the load changed in the meantime, and what disturbed this host; empty where nothing did.
    pub changed: String,
    /// The experiments in the order in which they were made, with the odds after each.
    pub series: Vec<SeriesPoint>,
    /// Whether the odds are settled.
    pub is_settled: bool,
}

/// One number of an experiment.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Row {
    /// The experiment.
    pub experiment: Experiment,
    /// What was measured, in words.
    pub quantity: String,
    /// The number; 0 where nothing was counted.
    pub measured: f64,
    /// Its 95 % interval; of what is counted, the number itself.
    pub interval: (f64, f64),
    /// What the most probable hypothesis expects; `None` where it expects nothing in particular.
    pub expected_first: Option<Range>,
    /// What the second expects.
    pub expected_second: Option<Range>,
    /// Times by which the number changed the odds of the first over the second.
    pub factor: f64,
}

/// Odds after an experiment.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SeriesPoint {
    /// The experiment.
    pub experiment: Experiment,
    /// Probability of each hypothesis that was ever above 5 %, in the order of [`Diagnosis::odds`].
    pub probabilities: Vec<(Cause, f64)>,
}

/// Returns what the experiments of a run say so far; `None` for a run that is no diagnosis, or before the load itself
/// was measured.
#[must_use]
pub fn diagnose(header: &RunHeader, summary: &RunSummary) -> Option<Diagnosis> {
    let setting = Setting::of(header)?;
    let observed = observe::observed(header, summary)?;
    let mut diagnosis = says::diagnosis(&setting, &observed);
    says::advise_on_doubt(&mut diagnosis, header.diagnosis.as_ref()?.budget_s);
    Some(diagnosis)
}
