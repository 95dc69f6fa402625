//! Odds: likelihoods of what was measured, hypothesis by hypothesis, and what an experiment is expected to tell.
//!
//! A hypothesis in one of its forms gives a log-normal density to each quantity, as wide as its range and the error of
//! the measurement together. A little of the probability goes to the usual range instead: no table of ranges is
//! complete, and one odd number must not decide.

use assay_record::Experiment;
use serde::Serialize;

use crate::cause::Cause;
use crate::hypothesis::Hypothesis;
use crate::open::{NONE_OF_THESE, open_probability};
use crate::quantity::{Observation, Quantity};
use crate::range::Range;
use crate::setting::Setting;

/// Probability at which a diagnosis is settled.
pub const SETTLED: f64 = 0.95;

/// Points of the grid on which expected information is computed, and its ends as logarithms.
const GRID: u32 = 81;
const GRID_ENDS: (f64, f64) = (-6.0, 5.5);

/// How much of the error that a disturbed host may add it does add: a slow disk notices nothing of stolen CPU time, a
/// load in memory all. Which of them it is shows in how well the measurements agree with each other.
const SCALES: [f64; 3] = [1.0, 0.3, 0.03];

/// Numbers of one load depend on each other: all are ratios to the same measurements of the load, and what a range does
/// not foresee of one experiment it does not foresee of similar ones. They count for less than as many independent
/// ones, by this exponent on the odds. It was fitted on the tuning half of the planted set-ups, as was
/// [`OUTSIDE_UNCHANGED`] (docs/diagnosis-validation.md).
const INDEPENDENCE: f64 = 0.85;

/// Probability that an experiment which does not touch what limits changes the rate all the same. A range is what a
/// table foresees, and tables are not complete. Where the table of a cause says nothing of such an experiment, that
/// nothing changes is assumed ([`Quantity::unchanged`]), not derived. Fitted on the tuning half of the planted set-ups.
const OUTSIDE_UNCHANGED: f64 = 0.012;

/// A fault that the kernel counts is not ruled out by what experiments say: no less probable than this.
const COUNTED_LEAST: f64 = 0.05;

/// All ratios are to the same measurements of the load itself: where those are off, all ratios are, together. Their
/// error is drawn once for all, at the nodes of a quadrature: in standard errors, and its weight (Gauss-Hermite of five
/// points). A likelihood is the mean over these draws of the product of the densities.
const DRAWS: [(f64, f64); 5] = [
    (0.0, 0.533_333),
    (1.355_626, 0.222_076),
    (-1.355_626, 0.222_076),
    (2.856_970, 0.011_257),
    (-2.856_970, 0.011_257),
];

/// Logarithms of the likelihood of a form, one for each of [`SCALES`] and each of [`DRAWS`].
type Logs = [[f64; DRAWS.len()]; SCALES.len()];

/// The probability of a cause.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Odds {
    /// The cause.
    pub cause: Cause,
    /// Its name, as a sentence begins with it.
    pub name: &'static str,
    /// In \[0, 1\].
    pub probability: f64,
}

/// What is known so far: for each hypothesis that applies, the logarithms of the likelihood of each of its forms.
#[derive(Clone)]
pub struct Belief<'s> {
    setting: &'s Setting,
    seen: Vec<Observation>,
    logs: Vec<(&'static Hypothesis, Vec<Logs>)>,
}

impl<'s> Belief<'s> {
    /// Nothing measured yet: every one of these hypotheses that applies is as likely as the others.
    pub fn among(hypotheses: &[&'static Hypothesis], setting: &'s Setting) -> Self {
        let applying = hypotheses.iter().filter(|hypothesis| (hypothesis.applies)(setting));
        let nothing = [DRAWS.map(|(_, weight)| weight.ln()); SCALES.len()];
        let logs = applying.map(|hypothesis| (*hypothesis, vec![nothing; hypothesis.forms.len()])).collect();
        Self { setting, seen: Vec::new(), logs }
    }

    /// Takes in a number.
    pub fn add(&mut self, observation: &Observation) {
        self.seen.push(*observation);
        for (hypothesis, logs) in &mut self.logs {
            for (form, logs) in logs.iter_mut().enumerate() {
                let expected = hypothesis.expected(form, observation.quantity, self.setting);
                let log_at = |scale: f64, (errors, _): (f64, f64)| {
                    let value = observation.value.ln() + errors * observation.base_error;
                    density(observation.quantity, expected, value, observation.own_error(scale)).ln()
                };
                let at = |scale: f64| DRAWS.map(|draw| log_at(scale, draw));
                // Mostly nothing disturbs.
                let full = at(1.0);
                let is_calm = observation.host_error == 0.0;
                for (logs, scale) in logs.iter_mut().zip(SCALES) {
                    let more = if is_calm { full } else { at(scale) };
                    logs.iter_mut().zip(more).for_each(|(log, more)| *log += more);
                }
            }
        }
    }

    /// The hypotheses with their probabilities, the most probable first, and beside them that none of them is true.
    pub fn odds(&self) -> Vec<Odds> {
        let mut odds = self.listed_odds();
        let Some(first) = odds.first().copied() else { return odds };
        let is_shown = self.is_shown(first.cause);
        let open = open_probability(first.cause, is_shown, &self.misfits(first.cause));
        odds.iter_mut().for_each(|odds| odds.probability *= 1.0 - open);
        odds.push(Odds { cause: Cause::NoneOfThese, name: NONE_OF_THESE, probability: open });
        odds.sort_by(|a, b| b.probability.total_cmp(&a.probability));
        odds
    }

    /// Whether a cause is not guessed by its shape: it stands in a file of this host, or at the offsets of the load.
    fn is_shown(&self, cause: Cause) -> bool {
        let Some((hypothesis, form)) = self.best_form(cause) else { return false };
        let mut shown = self.seen.iter().filter(|seen| seen.quantity.shows(cause, seen.value));
        shown.any(|seen| {
            let range = hypothesis.expected(form, seen.quantity, self.setting);
            range.is_some_and(|range| range.contains(seen.value))
        })
    }

    /// How far each number lies from what the best form of a hypothesis expects, in standard deviations, in the order
    /// in which they were added; where it expects nothing in particular, from what is usual.
    pub(crate) fn misfits(&self, cause: Cause) -> Vec<f64> {
        let Some((hypothesis, form)) = self.best_form(cause) else { return Vec::new() };
        let scale = self.scale();
        let misfit = |seen: &Observation| {
            let (log, error) = (seen.value.ln(), seen.whole_error(scale));
            match hypothesis.expected(form, seen.quantity, self.setting) {
                Some(range) => {
                    let (middle, width) = range.log();
                    (log - middle) / width.hypot(error)
                }
                None => seen.quantity.alarm(log, error),
            }
        };
        self.seen.iter().map(misfit).collect()
    }

    /// The odds if one of the hypotheses is true.
    fn listed_odds(&self) -> Vec<Odds> {
        let all = |forms: &[Logs]| forms.as_flattened().as_flattened().to_vec();
        let most = self.logs.iter().flat_map(|(_, logs)| all(logs)).fold(f64::MIN, f64::max);
        let weight = |forms: &[Logs]| {
            let sum: f64 = all(forms).iter().map(|log| (log - most).exp()).sum();
            (sum / forms.len().max(1) as f64).powf(INDEPENDENCE)
        };
        let all: f64 = self.logs.iter().map(|(_, logs)| weight(logs)).sum();
        let one = |(hypothesis, logs): &(&'static Hypothesis, Vec<Logs>)| Odds {
            cause: hypothesis.cause,
            name: hypothesis.name,
            probability: weight(logs) / all.max(f64::MIN_POSITIVE),
        };
        let mut odds: Vec<Odds> = self.logs.iter().map(one).collect();
        // A load that changes by itself contradicts every cause, and a fault that is counted is there all the same.
        let is_counted = |seen: &Observation| seen.quantity.shows(Cause::NetworkFault, seen.value);
        if self.seen.iter().any(is_counted) {
            let fault = odds.iter_mut().filter(|odds| odds.cause == Cause::NetworkFault);
            fault.for_each(|odds| odds.probability = odds.probability.max(COUNTED_LEAST));
            let all: f64 = odds.iter().map(|odds| odds.probability).sum();
            odds.iter_mut().for_each(|odds| odds.probability /= all);
        }
        odds.sort_by(|a, b| b.probability.total_cmp(&a.probability));
        odds
    }

    /// The form of a hypothesis that fits best.
    pub(crate) fn best_form(&self, cause: Cause) -> Option<(&'static Hypothesis, usize)> {
        let (hypothesis, logs) = self.logs.iter().find(|(hypothesis, _)| hypothesis.cause == cause)?;
        let best = (0..logs.len()).max_by(|a, b| most(&logs[*a]).total_cmp(&most(&logs[*b])))?;
        Some((hypothesis, best))
    }

    /// The scale of the host's disturbances that fits best.
    pub(crate) fn scale(&self) -> f64 {
        let forms = || self.logs.iter().flat_map(|(_, logs)| logs);
        let best = |at: usize| forms().flat_map(|logs| logs[at]).fold(f64::MIN, f64::max);
        // Of equal ones the first.
        let at = (0..SCALES.len()).rev().max_by(|a, b| best(*a).total_cmp(&best(*b)));
        at.map_or(1.0, |at| SCALES[at])
    }

    /// The odds with half of their certainty: an early mistake must not choose the experiments that would correct it.
    fn doubted(&self) -> Vec<Odds> {
        let mut odds = self.listed_odds();
        odds.iter_mut().for_each(|odds| odds.probability = odds.probability.sqrt());
        let all: f64 = odds.iter().map(|odds| odds.probability).sum();
        odds.iter_mut().for_each(|odds| odds.probability /= all.max(f64::MIN_POSITIVE));
        odds
    }

    /// Information that an experiment is expected to give, nats: the mean over the hypotheses of the distance between
    /// what each expects of its rate and what all together expect (Lindley 1956). An experiment that sets the rate
    /// shows its latency.
    pub(crate) fn expected_information(&self, experiment: Experiment, error: f64) -> f64 {
        let quantity = match experiment {
            Experiment::HalfRate => Quantity::PacedLatency,
            _ => Quantity::Rate(experiment),
        };
        let odds = self.doubted();
        let step = (GRID_ENDS.1 - GRID_ENDS.0) / f64::from(GRID - 1);
        let points: Vec<f64> = (0..GRID).map(|i| GRID_ENDS.0 + step * f64::from(i)).collect();
        let mut mixture = vec![0.0; points.len()];
        let mut each = Vec::new();
        for odds in odds.iter().filter(|odds| odds.probability > 0.001) {
            let Some((hypothesis, form)) = self.best_form(odds.cause) else { continue };
            let expected = hypothesis.expected(form, quantity, self.setting);
            // Narrower than the grid it would slip through.
            let curve: Vec<f64> =
                points.iter().map(|at| density(quantity, expected, *at, error.max(step))).collect();
            mixture.iter_mut().zip(&curve).for_each(|(sum, at)| *sum += odds.probability * at);
            each.push((odds.probability, curve));
        }
        let distance = |curve: &[f64]| -> f64 {
            curve.iter().zip(&mixture).map(|(p, m)| p * (p / m.max(1e-300)).max(1e-300).ln() * step).sum()
        };
        each.iter().map(|(probability, curve)| probability * distance(curve)).sum()
    }
}

fn most(logs: &Logs) -> f64 {
    logs.as_flattened().iter().copied().fold(f64::MIN, f64::max)
}

/// Density of the logarithm of a quantity.
pub(crate) fn density(quantity: Quantity, expected: Option<Range>, log: f64, error: f64) -> f64 {
    let normal = |range: Range| {
        let (middle, width) = range.log();
        let sigma = width.hypot(error);
        let z = (log - middle) / sigma;
        // Beyond some deviations, further ones say nothing more.
        (-0.5 * (z * z).min(60.0)).exp() / sigma
    };
    let usual = normal(quantity.usual());
    let floor = quantity.floor();
    match expected {
        Some(range) => {
            let is_unchanged = quantity.is_rate_unchanged(range);
            let outside = if is_unchanged { OUTSIDE_UNCHANGED } else { quantity.outside() };
            (1.0 - outside) * normal(range) + outside * usual + floor
        }
        // An experiment changes nothing half of the time: who says nothing of it is as likely as chance.
        None => match quantity.unchanged().filter(|_| matches!(quantity, Quantity::Rate(_))) {
            Some(range) => 0.5 * normal(range) + 0.5 * usual + floor,
            None => usual + floor,
        },
    }
}
