//! Absolute limits: whether a run exceeds them, as far as its intervals tell.

use assay_spec::threshold::{Quantity, Side, Threshold, meant};
use assay_spec::{Test, named_steps};
use assay_statistics::{Estimate, NoInterval, SECONDS_MIN};
use serde::Serialize;

use crate::precision::{precision, seconds_between};
use crate::rules::step_name;
use crate::summary::{RunSummary, StepSummary};

/// Fewer whole seconds than an interval needs, of which so many or more say something...
const SHORT_SECONDS_MIN: usize = 2;
/// ...where all of them are this factor or more from the limit, as single runs are judged.
const SHORT_FACTOR: f64 = 2.0;

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

/// Returns the answer to each limit for each step that it is about, of those that the plan's tests have: a run that
/// ended early may lack the test, and have another with its name as a part. A limit without a step is undecided: a
/// script must not take silence for a pass.
pub fn judge_thresholds(tests: &[Test], summary: &RunSummary, thresholds: &[Threshold]) -> Vec<Judged> {
    thresholds.iter().flat_map(|threshold| of_threshold(tests, summary, threshold)).collect()
}

fn of_threshold(tests: &[Test], summary: &RunSummary, threshold: &Threshold) -> Vec<Judged> {
    let names: Vec<String> = named_steps(tests).map(|(_, name)| name).collect();
    let of_plan = meant(threshold.test.as_deref(), named_steps(tests));
    let about = summary
        .steps
        .iter()
        .filter(|step| threshold.test.is_none() || of_plan.iter().any(|at| names[*at] == step_name(step)));
    let judged: Vec<Judged> = about.map(|step| of_step(threshold, step_name(step), step)).collect();
    if judged.is_empty() {
        let test =
            threshold.test.as_ref().map_or("no test".to_owned(), |test| format!("no test called {test}"));
        let says = "was measured".to_owned();
        return vec![Judged { limit: threshold.to_string(), test, answer: Answer::Undecided, says }];
    }
    judged
}

fn of_step(threshold: &Threshold, test: String, step: &StepSummary) -> Judged {
    let (answer, says) = match measured(threshold.quantity, step) {
        None => (Answer::Undecided, "was not measured".to_owned()),
        Some(known) => {
            let answer = answer(threshold, known.between);
            (answer, known.words(threshold.quantity, answer))
        }
    };
    Judged { limit: threshold.to_string(), test, answer, says }
}

/// A measured value, and between which others it is.
struct Known {
    estimate: Estimate,
    between: Option<(f64, f64)>,
    /// Between which values the seconds of a window are that is too short for an interval.
    short: Option<(f64, f64)>,
}

/// Errors are counted, so their number has no interval. A figure that drifts or wanders has none either, but was on one
/// side of a limit if all of its seconds were.
fn measured(quantity: Quantity, step: &StepSummary) -> Option<Known> {
    match quantity {
        Quantity::Errors => {
            let estimate = Estimate::bare(step.errors as f64);
            let was_run = step.skipped.is_none();
            let between = Some((estimate.value, estimate.value));
            was_run.then_some(Known { estimate, between, short: None })
        }
        Quantity::Figure(figure) => {
            let estimate = precision(step)?.of(figure)?;
            let is_unsteady = matches!(estimate.why, Some(NoInterval::Drifts | NoInterval::Wanders));
            let seconds = || is_unsteady.then(|| seconds_between(step, figure, SECONDS_MIN)).flatten();
            let short = (estimate.why == Some(NoInterval::TooShort))
                .then(|| seconds_between(step, figure, SHORT_SECONDS_MIN))
                .flatten()
                .map(|(lo, hi)| (lo.min(estimate.value), hi.max(estimate.value)));
            let widened = || short.map(|(lo, hi)| (lo / SHORT_FACTOR, hi * SHORT_FACTOR));
            Some(Known { estimate, between: estimate.ends().or_else(seconds).or_else(widened), short })
        }
    }
}

fn answer(threshold: &Threshold, between: Option<(f64, f64)>) -> Answer {
    let Some((lo, hi)) = between else { return Answer::Undecided };
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

impl Known {
    fn words(&self, quantity: Quantity, answer: Answer) -> String {
        let value = quantity.written(self.estimate.value);
        if let Some((lo, hi)) = self.short {
            let to =
                if hi.is_finite() { format!(" to {}", quantity.written(hi)) } else { " or more".to_owned() };
            let lo = quantity.written(lo);
            let how = if answer == Answer::Undecided { "" } else { "probably " };
            return format!("{how}{value} ({lo}{to} in its few seconds); --set run=10s decides");
        }
        match (self.between, self.estimate.why) {
            _ if quantity == Quantity::Errors => value,
            (Some((lo, hi)), None) => {
                format!("{value} ({} to {})", quantity.written(lo), quantity.written(hi))
            }
            (Some((lo, hi)), Some(why)) if hi.is_finite() => {
                let (lo, hi) = (quantity.written(lo), quantity.written(hi));
                format!("{value} ({lo} to {hi} in its seconds: {why})")
            }
            (Some((lo, _)), Some(why)) => {
                format!("{value} (at least {} in its seconds: {why})", quantity.written(lo))
            }
            (None, Some(NoInterval::TooShort)) => {
                format!("{value}, without an interval: {}; --set run=10s gives one", NoInterval::TooShort)
            }
            (None, Some(why)) => format!("{value}, without an interval: {why}"),
            (None, None) => format!("{value}, without an interval"),
        }
    }
}
