//! The rules, one small file per group.
//!
//! To add one: write a function from a [`Run`] (rules about the whole run) or a [`StepCase`] (rules about a step) to an
//! `Option`, and list it below. A rule that lacks a fact it needs returns `None`: silence means "not judged", never
//! "all is well". A step rule that fires in several steps becomes one finding with the plainest case's words.

mod host;
mod load;
pub(crate) mod model;
mod network;
mod nfs;
mod queue;
mod run;
mod target;

use assay_record::{MemberFacts, MemberKind, RunHeader};
use assay_spec::{Job, Step};

use crate::finding::{Evidence, Finding, Severity};
use crate::summary::{JobSummary, RunSummary, StepSummary};

/// A run as rules see it.
#[derive(Clone, Copy)]
pub(crate) struct Run<'r> {
    pub(crate) header: &'r RunHeader,
    pub(crate) summary: &'r RunSummary,
}

/// A step that measured something, as rules see it.
#[derive(Clone, Copy)]
pub(crate) struct StepCase<'r> {
    pub(crate) run: Run<'r>,
    pub(crate) plan: &'r Step,
    pub(crate) step: &'r StepSummary,
}

/// What a rule has to say.
pub(crate) struct Fired {
    pub(crate) severity: Severity,
    pub(crate) says: String,
    pub(crate) evidence: Vec<Evidence>,
    pub(crate) next: &'static str,
    /// How plain the case is: of several steps, the one with the most speaks. Comparable within a rule only.
    pub(crate) weight: f64,
}

type RunRule = fn(Run<'_>) -> Option<Fired>;
type StepRule = fn(StepCase<'_>) -> Option<Fired>;

const RUN_RULES: [(&str, RunRule); 10] = [
    ("partial", run::partial),
    ("quick", run::quick),
    ("changed", run::changed),
    ("skipped-step", run::skipped_step),
    ("unwritten", target::unwritten),
    ("cached", target::cached),
    ("in-memory", target::in_memory),
    ("small-span", target::small_span),
    ("sync", target::sync),
    ("path-fault", network::path_fault),
];

const STEP_RULES: [(&str, StepRule); 16] = [
    ("mismatch", load::mismatch),
    ("uncertain-writes", nfs::uncertain_writes),
    ("errors", load::errors),
    ("stalled", load::stalled),
    ("missed-rate", load::missed_rate),
    ("rereads-start", queue::rereads_start),
    ("drained-queue", queue::drained_queue),
    ("tester-bound", host::tester_bound),
    ("busy-host", host::busy_host),
    ("steal", host::steal),
    ("late-timers", host::late_timers),
    ("foreign-io", host::foreign_io),
    ("retransmits", network::retransmits),
    ("link-errors", network::link_errors),
    ("unstable-writes", nfs::unstable_writes),
    ("stable-anyway", nfs::stable_anyway),
];

/// Everything the rules find in a run, the gravest first.
#[must_use]
pub fn findings(header: &RunHeader, summary: &RunSummary) -> Vec<Finding> {
    let mut found = apply(header, summary);
    // A stable sort: within a severity, findings keep the order of the rules.
    found.sort_by_key(|f| std::cmp::Reverse(f.severity));
    found
}

/// Every finding, in the order of the rules; then the warnings that no rule has words of its own for.
fn apply(header: &RunHeader, summary: &RunSummary) -> Vec<Finding> {
    let run = Run { header, summary };
    let mut found: Vec<Finding> =
        RUN_RULES.iter().filter_map(|(name, rule)| rule(run).map(|f| finding(name, f))).collect();
    found.extend(STEP_RULES.iter().filter_map(|(name, rule)| worst_of_steps(name, *rule, run)));
    // Only a rule of the same name has better words: of several warnings, as of a path that went and came, all are told.
    let mut untold = run::warnings(run);
    untold.retain(|warning| !found.iter().any(|f| f.rule == warning.rule));
    found.extend(untold);
    found
}

fn finding(rule: &str, fired: Fired) -> Finding {
    Finding {
        rule: rule.to_owned(),
        severity: fired.severity,
        says: fired.says,
        evidence: fired.evidence,
        next: fired.next.to_owned(),
        steps: Vec::new(),
    }
}

fn worst_of_steps(name: &str, rule: StepRule, run: Run<'_>) -> Option<Finding> {
    let cases = run.summary.steps.iter().filter_map(|step| run.case(step));
    let mut fired: Vec<(StepCase<'_>, Fired)> = cases.filter_map(|c| rule(c).map(|f| (c, f))).collect();
    fired.sort_by(|a, b| b.1.weight.total_cmp(&a.1.weight));
    let severity = fired.iter().map(|(_, f)| f.severity).max()?;
    let steps: Vec<_> = fired.iter().map(|(case, _)| case.step.id).collect();
    let (case, worst) = fired.into_iter().next()?;
    let mut finding = finding(name, worst);
    finding.severity = severity;
    finding.says = format!("{}: {}", case.name(), finding.says);
    match steps.len() - 1 {
        0 => {}
        1 => finding.says.push_str(" The same holds for one other step."),
        others => finding.says.push_str(&format!(" The same holds for {others} other steps.")),
    }
    finding.steps = steps;
    Some(finding)
}

impl<'r> Run<'r> {
    /// `None` for a step that was left out, or that measured nothing but errors.
    fn case(self, step: &'r StepSummary) -> Option<StepCase<'r>> {
        let has_faults = step.errors > 0 || step.mismatch_count > 0;
        if step.skipped.is_some() || (step.unmeasured.is_some() && !has_faults) {
            return None;
        }
        let plan = self.header.plan.tests.get(step.id.test as usize)?.steps.get(step.id.step as usize)?;
        Some(StepCase { run: self, plan, step })
    }

    /// What I/O really goes to: every member but null and simulated targets.
    pub(crate) fn storage(self) -> impl Iterator<Item = &'r MemberFacts> {
        self.header.targets.iter().map(|t| &t.member).filter(|m| is_storage(m))
    }
}

impl<'r> StepCase<'r> {
    /// The step as people call it.
    fn name(self) -> String {
        match self.step.step.as_str() {
            "" => self.step.test.clone(),
            label => format!("{} ({label})", self.step.test),
        }
    }

    /// The jobs with what they measured.
    pub(crate) fn jobs(self) -> impl Iterator<Item = (&'r Job, &'r JobSummary)> {
        self.plan.jobs.iter().zip(&self.step.jobs)
    }

    /// The members a job works on.
    pub(crate) fn members(self, job: &'r Job) -> impl Iterator<Item = &'r MemberFacts> {
        let targets = self.run.header.targets.iter().enumerate();
        let is_used =
            |index: usize| job.targets.is_empty() || job.targets.iter().any(|t| *t as usize == index);
        targets.filter(move |(index, _)| is_used(*index)).map(|(_, target)| &target.member)
    }
}

/// Whether a member stores anything at all.
fn is_storage(member: &MemberFacts) -> bool {
    !matches!(member.kind, MemberKind::Null | MemberKind::Simulated)
}

/// `words` in a list: `a, b and c`.
pub(crate) fn list(words: &[String]) -> String {
    match words {
        [] => String::new(),
        [one] => one.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}
