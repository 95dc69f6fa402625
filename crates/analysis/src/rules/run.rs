//! About the run as such: what is missing from it, and what whoever ran it was warned of.

use super::{Fired, Run};
use crate::finding::{Evidence, Finding, Severity};
use crate::summary::RunStatus;

/// The run did not come to its end.
pub(super) fn partial(run: Run<'_>) -> Option<Fired> {
    let how = match run.summary.status {
        RunStatus::Done | RunStatus::Failed => return None,
        RunStatus::Running => return Some(running(run)),
        RunStatus::Interrupted => "The run was interrupted",
        RunStatus::Partial => "The run has no end: it is still going on, or it was killed",
    };
    let complete = run.summary.steps.iter().filter(|s| s.complete || s.skipped.is_some()).count();
    let planned = run.summary.steps_planned;
    let cut = run.summary.steps.len().saturating_sub(complete);
    let not_begun = planned.saturating_sub(complete + cut);
    Some(Fired {
        severity: Severity::Warning,
        says: format!(
            "{how}. {complete} of {planned} steps are complete, {cut} cut short (what was measured until then is kept), {not_begun} not begun."
        ),
        evidence: vec![
            Evidence::new("complete steps", complete as f64, ""),
            Evidence::new("planned steps", planned as f64, ""),
        ],
        next: "Run the missing tests again, for example with --only NAME.",
        weight: 0.0,
    })
}

/// As above, while whoever runs it is still at it: nothing is wrong with that.
fn running(run: Run<'_>) -> Fired {
    let complete = run.summary.steps.iter().filter(|s| s.complete || s.skipped.is_some()).count();
    let planned = run.summary.steps_planned;
    Fired {
        severity: Severity::Info,
        says: format!("The run is still going on: {complete} of {planned} steps are complete so far."),
        evidence: vec![
            Evidence::new("complete steps", complete as f64, ""),
            Evidence::new("planned steps", planned as f64, ""),
        ],
        next: "Show it again when it has ended.",
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
        says: "The steps were shortened (--quick): caches do not settle in so short a time, and rare slow I/Os are missed."
            .into(),
        evidence: vec![Evidence::new("longest step", longest, "s")],
        next: "Run without --quick before comparing or publishing.",
        weight: 0.0,
    })
}

/// `--set` changed the plan: it is not what its name says any more.
pub(super) fn changed(run: Run<'_>) -> Option<Fired> {
    let changes = &run.header.plan.changes;
    if changes.is_empty() {
        return None;
    }
    Some(Fired {
        severity: Severity::Info,
        says: format!(
            "The plan was changed for this run (--set {}): its name, and its notes, speak of the original.",
            changes.join(", ")
        ),
        evidence: Vec::new(),
        next: "Compare it only with runs that were changed in the same way.",
        weight: 0.0,
    })
}

/// A step was left out.
pub(super) fn skipped_step(run: Run<'_>) -> Option<Fired> {
    let skipped: Vec<_> = run.summary.steps.iter().filter(|s| s.skipped.is_some()).collect();
    let first = skipped.first()?;
    let why = first.skipped.as_deref().unwrap_or_default();
    let name = format!("{} {}", first.test, first.step);
    let more = match skipped.len() - 1 {
        0 => String::new(),
        others => format!(" (and {others} more)"),
    };
    Some(Fired {
        severity: Severity::Info,
        says: format!("Left out: {}{more}: {}.", name.trim_end(), why.trim_end_matches('.')),
        evidence: vec![Evidence::new("steps left out", skipped.len() as f64, "")],
        next: "",
        weight: 0.0,
    })
}

/// Warnings that change nothing about the numbers.
const NOTICES: [&str; 1] = ["refilled"];

/// Every warning of the run, as a finding; the same words are said once.
pub(super) fn warnings(run: Run<'_>) -> Vec<Finding> {
    let mut found: Vec<Finding> = Vec::new();
    for warning in &run.summary.warnings {
        if found.iter().any(|f| f.rule == warning.rule && f.says == warning.says) {
            continue;
        }
        found.push(Finding {
            rule: warning.rule.clone(),
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
