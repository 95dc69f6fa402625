//! Absolute limits: whether a run exceeds them, as far as its intervals tell.

use assay_spec::threshold::{Quantity, Side, Threshold};
use assay_statistics::Estimate;
use serde::Serialize;

use crate::precision::precision;
use crate::rules::step_name;
use crate::summary::{RunSummary, StepSummary};

/// The answer to a limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// The whole interval is within the limit.
    Within,
    /// The interval contains the limit, or there is none.
    Undecided,
    /// The whole interval is beyond the limit.
    Exceeded,
}

/// A limit beside what a step measured.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Judged {
    /// The limit, as in messages.
    pub limit: String,
    /// Name of the step.
    pub test: String,
    /// The answer.
    pub answer: Answer,
    /// The measured value with its interval, in words.
    pub says: String,
}

/// Returns the answer to each limit for each step that it is about. A limit without a step is undecided: a script must
/// not take silence for a pass.
#[must_use]
pub fn judge_thresholds(summary: &RunSummary, thresholds: &[Threshold]) -> Vec<Judged> {
    thresholds.iter().flat_map(|threshold| of_threshold(summary, threshold)).collect()
}

fn of_threshold(summary: &RunSummary, threshold: &Threshold) -> Vec<Judged> {
    let part = threshold.test.as_ref().map(|test| test.to_lowercase());
    let is_meant = |name: &str| part.as_ref().is_none_or(|part| name.to_lowercase().contains(part));
    let steps = summary.steps.iter().map(|step| (step_name(step), step)).filter(|(name, _)| is_meant(name));
    let judged: Vec<Judged> = steps.map(|(name, step)| of_step(threshold, name, step)).collect();
    if judged.is_empty() {
        let test = threshold.test.clone().unwrap_or_default();
        let says = "no test of that name was measured".to_owned();
        return vec![Judged { limit: threshold.to_string(), test, answer: Answer::Undecided, says }];
    }
    judged
}

fn of_step(threshold: &Threshold, test: String, step: &StepSummary) -> Judged {
    let (answer, says) = match measured(threshold.quantity, step) {
        None => (Answer::Undecided, "was not measured".to_owned()),
        Some(estimate) => (answer(threshold, &estimate), words(threshold.quantity, &estimate)),
    };
    Judged { limit: threshold.to_string(), test, answer, says }
}

/// Errors are counted, so their number has no interval.
fn measured(quantity: Quantity, step: &StepSummary) -> Option<Estimate> {
    match quantity {
        Quantity::Errors => {
            let value = step.errors as f64;
            let was_run = step.skipped.is_none();
            was_run.then_some(Estimate { lo: Some(value), hi: Some(value), ..Estimate::bare(value) })
        }
        Quantity::Figure(figure) => precision(step)?.of(figure),
    }
}

fn answer(threshold: &Threshold, estimate: &Estimate) -> Answer {
    let Some((lo, hi)) = estimate.ends() else { return Answer::Undecided };
    let (is_beyond, is_within) = match threshold.side {
        Side::Above => (lo > threshold.value, hi <= threshold.value),
        Side::Below => (hi < threshold.value, lo >= threshold.value),
    };
    match (is_beyond, is_within) {
        (true, _) => Answer::Exceeded,
        (_, true) => Answer::Within,
        (false, false) => Answer::Undecided,
    }
}

fn words(quantity: Quantity, estimate: &Estimate) -> String {
    let value = quantity.written(estimate.value);
    match estimate.ends() {
        _ if quantity == Quantity::Errors => value,
        Some((lo, hi)) => format!("{value} ({} to {})", quantity.written(lo), quantity.written(hi)),
        None => format!("{value}, without an interval: the window was too short"),
    }
}
