//! Which experiment comes next.

use assay_analysis::RunSummary;
use assay_record::{Experiment, RunHeader, StepId};

use crate::belief::{Belief, SETTLED};
use crate::experiments::{MORE_OUTSTANDING, PAUSE_S, RATES, rate_at, timing};
use crate::hypotheses::ALL;
use crate::hypothesis::Hypothesis;
use crate::observe::observed;
use crate::observed::Observed;
use crate::setting::Setting;

/// Experiments between two measurements of the load itself.
const BETWEEN_BASES: usize = 4;
/// Experiments that are made even if the odds are settled before: what is ruled out must rest on something.
const EXPERIMENTS_LEAST: usize = 8;
/// Less information than this is not worth an experiment, nats.
const INFORMATION_LEAST: f64 = 0.002;
/// The same once the odds are settled.
const INFORMATION_SETTLED: f64 = 0.03;
/// Expected error of a ratio that was not measured yet.
const ERROR_EXPECTED: f64 = 0.05;
/// Time between experiments beside their load, s.
const AROUND_S: f64 = 0.3;
/// Half of the rate is anything up to this share of it.
const HALF: f64 = 0.71;

/// The next experiment.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Choice {
    /// Which one.
    pub experiment: Experiment,
    /// Its step.
    pub step: StepId,
    /// Time without load before it, s.
    pub pause_s: f64,
    /// Information that it is expected to give, nats; 0 for the load itself.
    pub information: f64,
}

/// Returns the experiment with the most expected information per second that can be made in the time that is left;
/// `None` where the odds are settled, or nothing more can be found out.
pub fn choose(header: &RunHeader, summary: &RunSummary, left_s: f64) -> Option<Choice> {
    choose_among(&ALL, header, summary, left_s)
}

/// The same for a list of causes.
pub fn choose_among(
    hypotheses: &[&'static Hypothesis],
    header: &RunHeader,
    summary: &RunSummary,
    left_s: f64,
) -> Option<Choice> {
    let facts = header.diagnosis.as_ref()?;
    let tried: Vec<u32> = summary.steps.iter().map(|step| step.id.test).collect();
    let seen = observed(header, summary);
    // A second time only what the hypervisor disturbed.
    let is_done = |experiment: Experiment| {
        let mut tests = (0..).zip(&facts.experiments);
        let is_tried = tests.any(|(test, e)| *e == experiment && tried.contains(&test));
        let is_disturbed = seen.as_ref().is_some_and(|seen| seen.is_disturbed(experiment));
        let is_early = experiment == Experiment::AfterIdle && fell_since_pause(seen.as_ref());
        experiment != Experiment::Base && is_tried && !is_disturbed && !is_early
    };
    let mut open: Vec<Experiment> = (0..)
        .zip(&facts.experiments)
        .filter(|(test, experiment)| !tried.contains(test) && !is_done(**experiment))
        .map(|(_, experiment)| *experiment)
        .collect();
    open.dedup();
    // Without the load itself there is nothing to compare with.
    if seen.is_none() && !tried.is_empty() {
        return None;
    }
    let seen = seen.unwrap_or_default();
    let setting = Setting::of(header)?;
    let next = choose_from(hypotheses, &setting, &seen, &open, (left_s, facts.budget_s))?;
    let test = (0..).zip(&facts.experiments).find(|(test, e)| **e == next.0 && !tried.contains(test))?.0;
    let step = if next.0 == Experiment::HalfRate { half_of(seen.base_iops()) } else { 0 };
    let pause_s = if next.0 == Experiment::AfterIdle { PAUSE_S } else { 0.0 };
    Some(Choice { experiment: next.0, step: StepId { test, step }, pause_s, information: next.1 })
}

/// Whether the load was measured behind a pause only before it fell: what was used up since, a pause may restore.
fn fell_since_pause(seen: Option<&Observed>) -> bool {
    seen.is_some_and(|seen| {
        let is_pause = |index: &usize| seen.made[*index].experiment == Experiment::AfterIdle;
        seen.fell_at().is_some()
            && (0..seen.made.len()).filter(is_pause).all(|index| seen.is_early_pause(index))
    })
}

/// The rate that is nearest to half of one, from below [`HALF`].
fn half_of(iops: f64) -> u32 {
    let below = (0..RATES.1).rev().find(|index| rate_at(*index) <= iops * HALF);
    u32::try_from(below.unwrap_or(0)).unwrap_or(0)
}

/// Chooses among experiments that were not made yet, with the time left and the whole budget, s.
fn choose_from(
    hypotheses: &[&'static Hypothesis],
    setting: &Setting,
    seen: &Observed,
    open: &[Experiment],
    (left_s, budget_s): (f64, f64),
) -> Option<(Experiment, f64)> {
    let (run, warmup) = timing(budget_s);
    let cost =
        |e: Experiment| run + warmup + AROUND_S + if e == Experiment::AfterIdle { PAUSE_S } else { 0.0 };
    let base = open.contains(&Experiment::Base) && cost(Experiment::Base) <= left_s;
    if seen.made.is_empty() {
        return base.then_some((Experiment::Base, 0.0));
    }
    let since = seen.made.iter().rev().take_while(|m| m.experiment != Experiment::Base).count();
    if base && (since >= BETWEEN_BASES || seen.may_have_fallen()) {
        return Some((Experiment::Base, 0.0));
    }
    let mut belief = Belief::among(hypotheses, setting);
    seen.observations().iter().for_each(|observation| belief.add(observation));
    let experiments = seen.made.iter().filter(|m| m.experiment != Experiment::Base).count();
    let is_settled = belief.odds().first().is_some_and(|odds| odds.probability >= SETTLED);
    let ios_expected = (seen.base_iops() * run).max(1.0);
    let error = ERROR_EXPECTED.hypot(seen.drift()).hypot(0.7 / ios_expected.sqrt());
    let worth = |e: &Experiment| (belief.expected_information(*e, error), cost(*e));
    // A queue that takes longer than the window to pass shows nothing of itself.
    let is_too_deep = |e: Experiment| {
        e == Experiment::MoreOutstanding && setting.outstanding * MORE_OUTSTANDING > ios_expected
    };
    // Time for the load itself at the end.
    let end = if base { cost(Experiment::Base) } else { 0.0 };
    let best = open
        .iter()
        .filter(|e| **e != Experiment::Base && cost(**e) + end <= left_s && !is_too_deep(**e))
        .map(|e| (*e, worth(e)))
        .max_by(|(_, a), (_, b)| (a.0 / a.1).total_cmp(&(b.0 / b.1)));
    match best {
        // Settled is what no experiment that is left is likely to change.
        Some((experiment, (information, _)))
            if information >= if is_settled { INFORMATION_SETTLED } else { INFORMATION_LEAST }
                || experiments < EXPERIMENTS_LEAST =>
        {
            Some((experiment, information))
        }
        // Whether the target is still what it was at the beginning.
        _ if since > 0 && base => Some((Experiment::Base, 0.0)),
        _ => None,
    }
}
