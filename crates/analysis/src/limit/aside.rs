//! What belongs to the sentence about the limits of a run, because it changes what its numbers are worth: paths that
//! were down, and what disturbed the tests.

use assay_record::{PathEnd, StepId};

use super::{LimitKind, StepLimit};
use crate::figures::whole;
use crate::rules::{Run, disturbed_steps, findings, is_disturbance, step_name};
use crate::summary::StepSummary;

/// Most disturbances that the sentence names.
const NAMED_MAX: usize = 2;

/// Rules that disturb, and what they found, as a part of a sentence.
const WORDS: [(&str, &str); 13] = [
    ("errors", "failed I/Os"),
    ("mismatch", "wrong data"),
    ("uncertain-writes", "writes that may be lost"),
    ("stalled", "I/Os that waited for seconds"),
    ("foreign-io", "I/O of other programs on the same disks"),
    ("busy-host", "busy CPUs"),
    ("steal", "CPU time that the hypervisor took"),
    ("late-timers", "timers that fired late"),
    ("retransmits", "segments that TCP sent again"),
    ("link-errors", "errors of a link"),
    ("gap-in-window", "pauses of Assay itself"),
    ("cpu-quota", "a limit on the CPU time of Assay"),
    ("background-work", "background work of the storage"),
];

/// What changes the worth of the numbers.
pub(super) struct Aside {
    /// Sentences; empty where nothing does.
    pub(super) says: String,
    /// Steps that something disturbed.
    pub(super) disturbed: Vec<StepId>,
}

/// Returns what disturbed a run, without what the limits of its steps say already.
pub(super) fn aside(run: Run<'_>, limits: &[StepLimit]) -> Aside {
    let found = findings(run.header, run.summary);
    let is_said = |rule: &str| limits.iter().any(|limit| says_itself(limit.kind, rule));
    let grave = found.iter().filter(|finding| is_disturbance(finding) && !is_said(&finding.rule));
    let words = |rule: &str| WORDS.iter().find(|(known, _)| *known == rule).map(|(_, words)| *words);
    let named: Vec<&str> = grave.filter_map(|finding| words(&finding.rule)).take(NAMED_MAX).collect();
    let mut sentences: Vec<String> = paths_down(run).into_iter().collect();
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
fn paths_down(run: Run<'_>) -> Option<String> {
    let steps = &run.summary.steps;
    let has_failed = |step: &&StepSummary| down(step).next().is_some();
    let hit: Vec<&StepSummary> = steps.iter().filter(has_failed).collect();
    // A path that never logged in has no numbers in any step.
    let never = run.storage().flat_map(|member| member.paths()).find(|path| !path.is_up);
    let rest = "the rates are those of the paths that were left";
    if let Some(path) = never {
        return Some(format!("The path to {} was down from the start: {rest}.", path.portal));
    }
    let worst = hit.iter().min_by(|a, b| share(a).total_cmp(&share(b)))?;
    let path = down(worst).next()?;
    let of = match hit.len() {
        1 => step_name(worst),
        more => format!("{more} of {} tests", steps.len()),
    };
    let ended = if path.is_up { "" } else { ", and was down at the end" };
    Some(format!(
        "The path to {} went down in {of} (it completed {} % of the I/Os of {}{ended}): {rest}.",
        path.portal,
        whole(share(worst) * 100.0),
        step_name(worst)
    ))
}

/// The paths of a step that went down, or were down at its end, where there is another one.
fn down(step: &StepSummary) -> impl Iterator<Item = &PathEnd> {
    let is_alone = step.paths.len() < 2;
    step.paths.iter().filter(move |path| !is_alone && (path.failures > 0 || !path.is_up))
}

/// Share of a step's I/Os that its first path that went down completed.
fn share(step: &StepSummary) -> f64 {
    let all: u64 = step.paths.iter().map(PathEnd::ops).sum();
    down(step).next().map_or(1.0, |path| path.ops() as f64 / all.max(1) as f64)
}
