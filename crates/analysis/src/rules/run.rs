//! About the run as such: steps that are missing or changed, and the warnings given while it ran.

use super::steps::shortened;
use super::{Fired, Run, step_name};
use crate::finding::{Evidence, Finding, Severity};
use crate::shell::options;
use crate::summary::RunStatus;

/// The run did not come to its end.
pub(super) fn partial(run: Run<'_>) -> Option<Fired> {
    let how = match run.summary.status {
        RunStatus::Done | RunStatus::Failed => return None,
        RunStatus::Running => return Some(running(run)),
        RunStatus::Interrupted => "The run was interrupted",
        RunStatus::Partial => "The run has no end: it is still in progress, or it was killed",
    };
    let steps = &run.summary.steps;
    let is_complete = |index: &usize| steps[*index].complete || steps[*index].skipped.is_some();
    let names: Vec<String> = steps.iter().map(step_name).collect();
    let (complete, cut): (Vec<usize>, Vec<usize>) = (0..steps.len()).partition(is_complete);
    let planned = run.summary.steps_planned;
    let mut says = format!("{how}: {} of {planned} steps are complete.", complete.len());
    if !cut.is_empty() {
        says.push_str(&format!(" Cut short: {}.", shortened(&names, &cut)));
    }
    let not_begun = planned.saturating_sub(steps.len());
    if not_begun > 0 {
        says.push_str(&format!(" Not begun: {not_begun}."));
    }
    Some(Fired {
        severity: Severity::Warning,
        says,
        evidence: vec![
            Evidence::new("complete steps", complete.len() as f64, ""),
            Evidence::new("planned steps", planned as f64, ""),
        ],
        next: match run.has_own_plan() {
            true => {
                "Run the same command again: its steps are compared with each other, so none is taken alone."
            }
            false => "assay run --resume RUN keeps the complete steps and measures the others.",
        },
        weight: 0.0,
    })
}

/// The same while the run is going on, which is nothing wrong.
fn running(run: Run<'_>) -> Fired {
    let complete = run.summary.steps.iter().filter(|s| s.complete || s.skipped.is_some()).count();
    let planned = run.summary.steps_planned;
    Fired {
        severity: Severity::Info,
        says: format!("The run is in progress: {complete} of {planned} steps are complete."),
        evidence: vec![
            Evidence::new("complete steps", complete as f64, ""),
            Evidence::new("planned steps", planned as f64, ""),
        ],
        next: "Show it again after its end.",
        weight: 0.0,
    }
}

/// `--quick` shortened the steps.
pub(super) fn quick(run: Run<'_>) -> Option<Fired> {
    if !run.header.plan.quick {
        return None;
    }
    let longest = run.summary.steps.iter().map(|s| s.seconds).fold(0.0, f64::max);
    Some(Fired {
        severity: Severity::Info,
        says: "--quick shortened the steps: caches do not settle in so short a time, and rare slow I/Os are missed."
            .into(),
        evidence: vec![Evidence::new("longest step", longest, "s")],
        next: "Run without --quick before comparing or publishing.",
        weight: 0.0,
    })
}

/// The command line changed the plan: it is not what its name says any more.
pub(super) fn changed(run: Run<'_>) -> Option<Fired> {
    if run.header.plan.changes.is_empty() {
        return None;
    }
    let mut options = options(&run.header.plan);
    options.retain(|option| option != "--quick");
    Some(Fired {
        severity: Severity::Info,
        says: format!(
            "{} changed the plan: its name and its notes describe the original.",
            options.join(" ")
        ),
        evidence: Vec::new(),
        next: "Compare it only with runs that have the same changes.",
        weight: 0.0,
    })
}

/// Steps were left out.
pub(super) fn skipped_step(run: Run<'_>) -> Option<Fired> {
    let steps = &run.summary.steps;
    let skipped: Vec<usize> = (0..steps.len()).filter(|index| steps[*index].skipped.is_some()).collect();
    let why = steps[*skipped.first()?].skipped.as_deref().unwrap_or_default();
    let names: Vec<String> = steps.iter().map(step_name).collect();
    Some(Fired {
        severity: Severity::Info,
        says: format!("Left out: {}: {}.", shortened(&names, &skipped), why.trim_end_matches('.')),
        evidence: vec![Evidence::new("steps left out", skipped.len() as f64, "")],
        next: "",
        weight: 0.0,
    })
}

/// Warnings that change nothing about the numbers.
const NOTICES: [&str; 3] = ["refilled", "gap-in-fill", "resumed"];

/// Returns every warning of the run as a finding, equal ones once.
pub(super) fn warnings(run: Run<'_>) -> Vec<Finding> {
    let mut found: Vec<Finding> = Vec::new();
    for warning in &run.summary.warnings {
        if found.iter().any(|f| f.rule == warning.rule && f.says == warning.says) {
            continue;
        }
        found.push(Finding {
            rule: warning.rule.clone(),
            aliases: Vec::new(),
            severity: if NOTICES.contains(&warning.rule.as_str()) {
                Severity::Info
            } else {
                Severity::Warning
            },
            says: warning.says.clone(),
            evidence: Vec::new(),
            next: warning.next.clone(),
            steps: Vec::new(),
        });
    }
    found
}
