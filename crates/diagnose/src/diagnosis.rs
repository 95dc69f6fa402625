//! What a diagnosis is: the odds, the numbers behind them, and sentences.

use assay_record::Experiment;
use serde::Serialize;

use crate::belief::Odds;
use crate::cause::Cause;
use crate::range::Range;

/// What experiments say of a load.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Diagnosis {
    /// The result, a sentence.
    pub says: String,
    /// What was measured that says so, a sentence, and a slow place that the offsets show beside it; empty where
    /// nothing in particular does.
    pub evidence: String,
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
    /// How far the number lies from what the first expects, in standard deviations; from what is usual where the first
    /// expects nothing in particular.
    pub misfit: f64,
}

/// Odds after an experiment.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SeriesPoint {
    /// The experiment.
    pub experiment: Experiment,
    /// Probability of each hypothesis that matters, in the order of [`Diagnosis::odds`]: the first two, and of those
    /// that are not ruled out each that was ever above 5 %.
    pub probabilities: Vec<(Cause, f64)>,
}
