//! About goals: windows that were to last until a figure was known well enough, or until a steady state.

use assay_spec::{Goal, Tolerance};

use super::shape::{Pattern, pattern};
use super::{Fired, StepCase};
use crate::finding::{Evidence, Severity};
use crate::goal::SteadyState;
use crate::precision::{Window, precision};
use crate::stop::{memory_s, needed_s};

/// A window that ended so much before its limit was ended by its goal, s.
const EARLY_S: f64 = 0.5;

/// The interval stayed wider than asked for.
pub(super) fn goal_missed(case: StepCase<'_>) -> Option<Fired> {
    let Some(Goal::Within(tolerance)) = case.plan.stop.goal else { return None };
    let step = case.step;
    let limit_s = case.plan.stop.time.0 as f64 / 1e9;
    if !step.complete || step.seconds < limit_s - EARLY_S {
        return None;
    }
    let reached = precision(step).and_then(|of| of.of(tolerance.figure)?.half_width());
    let asked = tolerance.share * 100.0;
    let title = tolerance.figure.title();
    let Some(reached) = reached else {
        return Some(missed(
            format!(
                "The window of {limit_s:.0} s is too short, or has too few I/Os, for an interval of the {title}."
            ),
            vec![Evidence::new("asked", asked, "%")],
            1.0,
        ));
    };
    let why = why(case, tolerance, reached, limit_s);
    Some(missed(
        format!(
            "After {limit_s:.0} s, the longest window allowed, the 95 % interval of the {title} was still ±{:.1} %, \
             or had only just narrowed; ±{asked} % was requested. {why}",
            reached * 100.0
        ),
        vec![Evidence::new("reached", reached * 100.0, "%"), Evidence::new("asked", asked, "%")],
        reached / tolerance.share,
    ))
}

fn missed(says: String, evidence: Vec<Evidence>, weight: f64) -> Fired {
    Fired {
        severity: Severity::Warning,
        says,
        evidence,
        next: "Allow more time (--at-most), remove the cause, or accept a wider interval.",
        weight,
    }
}

/// Why more seconds did not narrow the interval.
fn why(case: StepCase<'_>, tolerance: Tolerance, reached: f64, limit_s: f64) -> String {
    match pattern(case) {
        Some(Pattern::Drift) => {
            "The rate drifts: it has no level that a longer window would measure better.".to_owned()
        }
        Some(Pattern::Ramp) => "The window began before the rate had reached its level.".to_owned(),
        Some(Pattern::Levels) => {
            "The rate changed between levels: its mean depends on how long each lasts.".to_owned()
        }
        Some(Pattern::Modes) => {
            "The rate has two modes: its mean depends on how often each comes up.".to_owned()
        }
        None => {
            let window = Window::new(&case.step.series, &case.step.total);
            let memory = memory_s(tolerance.figure, &window).unwrap_or(1.0);
            if reached <= tolerance.share && needed_s(memory) > limit_s {
                return format!(
                    "The noise is correlated: each second depends on the {memory:.0} s before it. Its interval is \
                     trusted after 50 times as long, {:.0} s.",
                    needed_s(memory)
                );
            }
            let times = (reached / tolerance.share).powi(2).max(1.1);
            format!(
                "There is neither a drift nor a change of level: it is noise, which about {:.0} s would average out.",
                limit_s * times
            )
        }
    }
}

/// Twenty-five rounds brought no steady state.
pub(super) fn unsteady(case: StepCase<'_>) -> Option<Fired> {
    let round = match case.plan.stop.goal? {
        Goal::Steady { round } => round,
        // Rounds of a whole sweep are judged where they ended.
        Goal::SteadySweep if case.step.steady.is_some() => case.plan.stop.time,
        Goal::SteadySweep | Goal::Within(_) => return None,
    };
    if !case.step.complete {
        return None;
    }
    let Some(state) = &case.step.steady else {
        return Some(Fired {
            severity: Severity::Warning,
            says: format!(
                "The window ended before five rounds of {round} were complete, so a steady state was not shown."
            ),
            evidence: vec![Evidence::new("round", round.0 as f64 / 1e9, "s")],
            next: "Let the test run to its end.",
            weight: 1.0,
        });
    };
    if state.is_reached {
        return None;
    }
    Some(Fired {
        severity: Severity::Warning,
        says: format!(
            "No steady state in {} rounds of {round}: over the last five, the range is {:.1} % of the mean (limit \
             {:.0} %) and the slope {:.1} % (limit {:.0} %). The result is that of these five.",
            state.rounds.len(),
            state.range * 100.0,
            SteadyState::RANGE_MAX * 100.0,
            state.slope * 100.0,
            SteadyState::SLOPE_MAX * 100.0
        ),
        evidence: vec![
            Evidence::new("range", state.range * 100.0, "%"),
            Evidence::new("slope", state.slope * 100.0, "%"),
        ],
        next: match case.plan.stop.goal {
            Some(Goal::SteadySweep) => {
                "Precondition the target (--precondition 2x), take longer load points (--set run=2min), and look for \
                 other loads on it."
            }
            _ => {
                "Precondition the target (--precondition 2x), take longer rounds (--set steady=60s), and look for \
                 other loads on it."
            }
        },
        weight: state.range.max(state.slope),
    })
}
