//! What belongs to the sentence about the limits of a run, because it changes what its numbers are worth: paths that
//! were down, and what disturbed the tests.

use assay_record::{PathEnd, StepId};

use super::{LimitKind, StepLimit};
use crate::figures::whole;
use crate::rules::{Run, disturbance, disturbances, disturbed_steps, step_name};
use crate::summary::{RunSummary, StepSummary};

/// Most disturbances that the sentence names.
const NAMED_MAX: usize = 2;

/// What changes the worth of the numbers.
pub(super) struct Aside {
    /// Sentences; empty where nothing does.
    pub(super) says: String,
    /// Steps that something disturbed.
    pub(super) disturbed: Vec<StepId>,
}

/// Returns what disturbed a run, without what the limits of its steps say already.
pub(super) fn aside(run: Run<'_>, limits: &[StepLimit]) -> Aside {
    let found = disturbances(run);
    let is_said = |rule: &str| limits.iter().any(|limit| says_itself(limit.kind, rule));
    let grave = found.iter().filter(|finding| !is_said(&finding.rule));
    let mut named: Vec<&str> = grave.filter_map(disturbance).collect();
    named.truncate(NAMED_MAX);
    let mut sentences = paths_down(run);
    if !named.is_empty() {
        sentences.push(format!("Disturbed by {}.", named.join(" and by ")));
    }
    Aside { says: sentences.join(" "), disturbed: disturbed_steps(&found) }
}

/// Whether a limit is what a rule found.
fn says_itself(kind: LimitKind, rule: &str) -> bool {
    match kind {
        LimitKind::Host => ["busy-host", "steal", "late-timers"].contains(&rule),
        LimitKind::Tester => ["tester-bound", "near-null-ceiling", "late-timers"].contains(&rule),
        LimitKind::Neighbour => rule == "foreign-io",
        _ => false,
    }
}

/// Paths that were down in a test: its rate is that of the others.
fn paths_down(run: Run<'_>) -> Vec<String> {
    let rest = "the rates are those of the paths that were left";
    let never = never_up(run);
    let later = went_down(run.summary, never).map(|says| format!("{says}: {rest}."));
    let never = never.map(|portal| format!("The path to {portal} was down from the start: {rest}."));
    never.into_iter().chain(later).collect()
}

/// A path that was down before the run and in each test that measured its target, and so completed nothing.
fn never_up<'r>(run: Run<'r>) -> Option<&'r str> {
    let of_target = |address: &str| {
        let steps = run.summary.steps.iter().flat_map(|step| &step.paths);
        steps.filter(|path| path.member == address).collect::<Vec<_>>()
    };
    run.header.targets.iter().find_map(|target| {
        let measured = of_target(&target.address);
        let is_down = |portal: &str| {
            let mut ends = measured.iter().filter(|path| path.portal == portal);
            ends.all(|path| path.ops() == 0 && !path.is_up)
        };
        let paths = target.member.paths().iter().filter(|path| !path.is_up && !measured.is_empty());
        paths.map(|path| path.portal.as_str()).find(|portal| is_down(portal))
    })
}

/// The worst of the paths that went down in a test, without those to the portal that was never up.
fn went_down(summary: &RunSummary, never: Option<&str>) -> Option<String> {
    let down = |step| down(step).find(|path| Some(path.portal.as_str()) != never);
    let share = |step| down(step).map_or(1.0, |path| share(step, path));
    let hit: Vec<&StepSummary> = summary.steps.iter().filter(|step| down(step).is_some()).collect();
    let worst = *hit.iter().min_by(|a, b| share(a).total_cmp(&share(b)))?;
    let path = down(worst)?;
    let of = match hit.len() {
        1 => step_name(worst),
        more => format!("{more} of {} tests", summary.steps.len()),
    };
    let ended = if path.is_up { "" } else { ", and was down at the end" };
    let (share, worst) = (whole(share(worst) * 100.0), step_name(worst));
    Some(format!(
        "The path to {} went down in {of} (it completed {share} % of the I/Os of {worst}{ended})",
        path.portal
    ))
}

/// The paths of a step that went down, or were down at its end, where their target has another one.
fn down(step: &StepSummary) -> impl Iterator<Item = &PathEnd> {
    let is_alone = |path: &PathEnd| step.paths.iter().filter(|other| is_beside(path, other)).count() < 2;
    step.paths.iter().filter(move |path| (path.failures > 0 || !path.is_up) && !is_alone(path))
}

/// Whether two paths lead to one target, for one job.
fn is_beside(path: &PathEnd, other: &PathEnd) -> bool {
    (path.job, &path.member) == (other.job, &other.member)
}

/// Share that the portal of a path completed, of the I/Os of a step that might have gone there.
fn share(step: &StepSummary, path: &PathEnd) -> f64 {
    let of_portal = || step.paths.iter().filter(|end| end.portal == path.portal);
    let might = step.paths.iter().filter(|path| of_portal().any(|end| is_beside(path, end)));
    let (own, all): (u64, u64) = (of_portal().map(PathEnd::ops).sum(), might.map(PathEnd::ops).sum());
    own as f64 / all.max(1) as f64
}
