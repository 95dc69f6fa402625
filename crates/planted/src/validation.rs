//! How often a diagnosis is right, over planted set-ups.

use std::collections::BTreeMap;

use assay_diagnose::{Cause, Diagnosis, HYPOTHESES, Hypothesis, choose_among, diagnose_among, timing};
use assay_record::RunHeader;
use serde::Serialize;

use crate::case::{CAUSES, PlantedCase, planted_case};
use crate::header::header;
use crate::random::Random;
use crate::record::Recorder;

/// Time between two experiments, s.
const AROUND_S: f64 = 0.3;
/// From this probability on, an answer is confident.
const CONFIDENT: f64 = 0.8;
/// The least that counts as stated of the right answer.
const STATED_MIN: f64 = 1e-3;
/// Lower ends of the classes of stated probability.
const CLASSES: [f64; 6] = [0.0, 0.5, 0.7, 0.8, 0.9, 0.95];

/// What was said of one set-up.
struct Said {
    planted: Cause,
    first: Cause,
    second: Option<Cause>,
    probability: f64,
    /// What was stated of the right answer: the planted cause, or none of these where the list lacks it.
    of_right: f64,
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
    /// Of them, those where another was stated with 80 % or more.
    pub confidently_wrong: usize,
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
    /// Share in which the answer was that none of the listed causes is true.
    pub none: f64,
    /// Share in which another cause was stated with 80 % or more.
    pub confidently_wrong: f64,
    /// Mean logarithm of the probability that was stated of the right answer: of scores by which no other than the own
    /// belief is worth stating, the one that punishes certainty.
    pub log_score: f64,
    /// Mean number of experiments.
    pub experiments: f64,
    /// Cause by cause.
    pub causes: Vec<CauseScore>,
    /// Lower end of a class of stated probability, mean of it, share that was right, and number.
    pub calibration: Vec<(f64, f64, f64, usize)>,
}

/// Diagnoses set-ups with the seeds from `from` on.
pub fn validate(from: u64, set_ups: usize) -> Validation {
    score(from, &each(from, set_ups, &|seed| said_of(&planted_case(seed), &HYPOTHESES)))
}

/// What is said of each seed from `from` on.
fn each(from: u64, set_ups: usize, one: &(dyn Fn(u64) -> Said + Sync)) -> Vec<Said> {
    let seeds: Vec<u64> = (from..).take(set_ups).collect();
    of_each(&seeds, &|seed| one(*seed))
}

/// A function of each, in their order, by as many threads as there are CPUs.
pub(crate) fn of_each<T: Sync, U: Send>(all: &[T], one: &(dyn Fn(&T) -> U + Sync)) -> Vec<U> {
    let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let said_by = |part: &[T]| part.iter().map(one).collect::<Vec<_>>();
    std::thread::scope(|scope| {
        let parts = all.chunks(all.len().div_ceil(threads).max(1));
        let running: Vec<_> = parts.map(|part| scope.spawn(move || said_by(part))).collect();
        running.into_iter().flat_map(|part| part.join().expect("a diagnosis does not panic")).collect()
    })
}

/// Diagnoses the same set-ups by a list of causes that lacks the planted one.
pub(crate) fn validate_left_out(from: u64, set_ups: usize) -> Validation {
    let one = |seed: u64| {
        let case = planted_case(seed);
        let others: Vec<&'static Hypothesis> =
            HYPOTHESES.into_iter().filter(|of| of.cause != case.cause).collect();
        said_of(&case, &others)
    };
    score(from, &each(from, set_ups, &one))
}

/// Diagnoses a set-up as `assay diagnose` does a target: the experiments that it chooses, until it has enough. Returns
/// their number, too.
///
/// # Panics
/// Where the load itself was not measured, which always comes first.
pub fn diagnosed(case: &PlantedCase, hypotheses: &[&'static Hypothesis]) -> (Diagnosis, usize) {
    diagnosed_on(case, &header(case), hypotheses)
}

/// The same where the run's header says this of the host.
pub(crate) fn diagnosed_on(
    case: &PlantedCase,
    header: &RunHeader,
    hypotheses: &[&'static Hypothesis],
) -> (Diagnosis, usize) {
    let recorder = recorded(case, header, hypotheses);
    let diagnosis =
        diagnose_among(hypotheses, header, &recorder.summary()).expect("the load itself comes first");
    (diagnosis, recorder.made())
}

/// The record of the experiments that are chosen.
pub(crate) fn recorded<'c>(
    case: &'c PlantedCase,
    header: &'c RunHeader,
    hypotheses: &[&'static Hypothesis],
) -> Recorder<'c> {
    let mut recorder = Recorder::new(case, header);
    let mut random = Random::new(case.seed ^ 0x9E37);
    let (run, warmup) = timing(case.budget_s);
    let mut left = case.budget_s;
    while let Some(choice) = choose_among(hypotheses, header, &recorder.summary(), left) {
        let step = &header.plan.tests[choice.step.test as usize].steps[choice.step.step as usize];
        let seen = case.measure(choice.experiment, &step.jobs[0], recorder.made(), &mut random);
        recorder.record(&choice, &seen, &mut random);
        left -= run + warmup + AROUND_S + choice.pause_s;
    }
    recorder
}

fn said_of(case: &PlantedCase, hypotheses: &[&'static Hypothesis]) -> Said {
    let (diagnosis, experiments) = diagnosed(case, hypotheses);
    let odds = &diagnosis.odds;
    let is_listed = hypotheses.iter().any(|of| of.cause == case.cause);
    let right = if is_listed { case.cause } else { Cause::NoneOfThese };
    Said {
        planted: case.cause,
        first: odds[0].cause,
        second: odds.get(1).map(|odds| odds.cause),
        probability: odds[0].probability,
        of_right: odds.iter().find(|odds| odds.cause == right).map_or(0.0, |odds| odds.probability),
        experiments,
    }
}

fn score(from: u64, said: &[Said]) -> Validation {
    let share = |count: usize| count as f64 / said.len().max(1) as f64;
    let is_confidently_wrong =
        |s: &&Said| s.first != s.planted && s.first != Cause::NoneOfThese && s.probability >= CONFIDENT;
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
            confidently_wrong: of.iter().copied().filter(is_confidently_wrong).count(),
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
        none: share(said.iter().filter(|s| s.first == Cause::NoneOfThese).count()),
        confidently_wrong: share(said.iter().filter(is_confidently_wrong).count()),
        log_score: said.iter().map(|s| s.of_right.max(STATED_MIN).ln()).sum::<f64>()
            / said.len().max(1) as f64,
        experiments: said.iter().map(|s| s.experiments as f64).sum::<f64>() / said.len().max(1) as f64,
        causes: CAUSES.into_iter().map(of_cause).collect(),
        calibration: (0..CLASSES.len()).map(class).collect(),
    }
}
