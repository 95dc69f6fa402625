//! How often a diagnosis is right, over planted set-ups.

use std::collections::BTreeMap;

use assay_diagnose::trial::{Observed, choose_from};
use assay_diagnose::{Belief, Cause, PAUSE_S, timing};
use assay_record::Experiment;
use serde::Serialize;

use crate::case::{CAUSES, PlantedCase, experiments, make, planted_case};

/// Budget of each diagnosis, s.
const BUDGET_S: f64 = 120.0;
/// Lower ends of the classes of stated probability.
const CLASSES: [f64; 6] = [0.0, 0.5, 0.7, 0.8, 0.9, 0.95];

/// What was said of one set-up.
struct Said {
    planted: Cause,
    first: Cause,
    second: Option<Cause>,
    probability: f64,
    experiments: usize,
}

/// Scores of one cause.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CauseScore {
    /// The cause.
    pub cause: Cause,
    /// Set-ups with it.
    pub planted: usize,
    /// Of them, those where it came first.
    pub first: usize,
    /// Of them, those where it came first or second.
    pub first_or_second: usize,
    /// What was said instead, and how often, the most frequent first.
    pub instead: Vec<(Cause, usize)>,
}

/// Diagnoses of many set-ups.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Validation {
    /// First seed.
    pub from: u64,
    /// Number of set-ups.
    pub set_ups: usize,
    /// Share in which the planted cause came first.
    pub first: f64,
    /// Share in which it came first or second.
    pub first_or_second: f64,
    /// Mean number of experiments.
    pub experiments: f64,
    /// Cause by cause.
    pub causes: Vec<CauseScore>,
    /// Lower end of a class of stated probability, mean of it, share that was right, and number.
    pub calibration: Vec<(f64, f64, f64, usize)>,
}

/// Diagnoses set-ups with the seeds from `from` on.
#[must_use]
pub fn validate(from: u64, set_ups: usize) -> Validation {
    let said: Vec<Said> = (from..).take(set_ups).map(|seed| said_of(&planted_case(seed))).collect();
    score(from, &said)
}

/// Makes the experiments of a set-up until its odds are settled or the budget is used.
pub(crate) fn observe(case: &PlantedCase) -> Observed {
    let mut open = experiments(case);
    let mut seen = Observed::default();
    let (run, warmup) = timing(BUDGET_S);
    let mut left = BUDGET_S;
    while let Some((experiment, _)) = choose_from(&case.setting, &seen, &open, (left, BUDGET_S)) {
        let Some(index) = open.iter().position(|e| *e == experiment) else { break };
        open.remove(index);
        let made = make(case, experiment, seen.made.len(), &seen);
        seen.made.push(made);
        left -= run + warmup + 0.3 + if experiment == Experiment::AfterIdle { PAUSE_S } else { 0.0 };
    }
    seen
}

fn said_of(case: &PlantedCase) -> Said {
    let seen = observe(case);
    let mut belief = Belief::new(&case.setting);
    seen.observations().iter().for_each(|observation| belief.add(observation));
    let odds = belief.odds();
    Said {
        planted: case.cause,
        first: odds[0].cause,
        second: odds.get(1).map(|odds| odds.cause),
        probability: odds[0].probability,
        experiments: seen.made.len(),
    }
}

fn score(from: u64, said: &[Said]) -> Validation {
    let share = |count: usize| count as f64 / said.len().max(1) as f64;
    let is_first = |s: &&Said| s.first == s.planted;
    let is_either = |s: &&Said| s.first == s.planted || s.second == Some(s.planted);
    let of_cause = |cause: Cause| {
        let of: Vec<&Said> = said.iter().filter(|s| s.planted == cause).collect();
        let mut instead: BTreeMap<Cause, usize> = BTreeMap::new();
        of.iter().filter(|s| s.first != cause).for_each(|s| *instead.entry(s.first).or_default() += 1);
        let mut instead: Vec<(Cause, usize)> = instead.into_iter().collect();
        instead.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        CauseScore {
            cause,
            planted: of.len(),
            first: of.iter().copied().filter(is_first).count(),
            first_or_second: of.iter().copied().filter(is_either).count(),
            instead,
        }
    };
    let class = |index: usize| {
        let (lo, hi) = (CLASSES[index], CLASSES.get(index + 1).copied().unwrap_or(2.0));
        let of: Vec<&Said> = said.iter().filter(|s| s.probability >= lo && s.probability < hi).collect();
        let count = of.len().max(1) as f64;
        let mean = of.iter().map(|s| s.probability).sum::<f64>() / count;
        (lo, mean, of.iter().copied().filter(is_first).count() as f64 / count, of.len())
    };
    Validation {
        from,
        set_ups: said.len(),
        first: share(said.iter().filter(is_first).count()),
        first_or_second: share(said.iter().filter(is_either).count()),
        experiments: said.iter().map(|s| s.experiments as f64).sum::<f64>() / said.len().max(1) as f64,
        causes: CAUSES.into_iter().map(of_cause).collect(),
        calibration: (0..CLASSES.len()).map(class).collect(),
    }
}
