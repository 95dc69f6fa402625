//! The rules: every observation that Assay makes of a run or of a published table.
//!
//! A [`Rule`] has a name, the condition under which it fires, and a function from what it judges to an `Option`:
//! a whole [`Run`], a step of a run ([`StepCase`]), a load beside its expectation ([`Case`]), two of them, or all of
//! them. To add one: write the function in the file of its group, list it in [`catalogue`], and describe it in
//! docs/method.md (a test compares the two). Thresholds stand beside the function that uses them. A rule that lacks a
//! fact returns `None`: silence means "not judged", never "all is well".

mod cache;
pub(crate) mod catalogue;
mod cost;
mod fleet;
mod flush;
pub(crate) mod gaps;
mod goal;
mod host;
mod identity;
mod link;
mod load;
mod memory;
mod neighbour;
mod network;
mod nfs;
mod notes;
mod pairs;
mod paths;
mod places;
mod queue;
mod run;
mod serial;
pub(crate) mod settings;
mod shape;
mod share;
mod steps;
mod target;

use std::cell::LazyCell;

use assay_record::{MemberFacts, MemberKind, RunHeader, StepId, StepReason};
use assay_spec::{Job, Step};

use crate::case::Case;
use crate::finding::{Evidence, Finding, Severity};
use crate::summary::{JobSummary, RunSummary, StepSummary};

pub(crate) use catalogue::{Check, Effect, RULES, Rule};
pub(crate) use flush::flush_wait;
pub(crate) use host::{TakenCpus, busy_per_worker, no_cpu_left, null_share, slow_turns, taken_cpus};
pub(crate) use load::{failed_to_the_end, stalled};
pub(crate) use neighbour::foreign_share;
pub(crate) use shape::{Behind, figure, level_of_rate};
pub(crate) use steps::shortened;
pub use target::is_fragmented;

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

/// The observation of a rule that fired.
pub(crate) struct Fired {
    pub(crate) severity: Severity,
    pub(crate) says: String,
    pub(crate) evidence: Vec<Evidence>,
    pub(crate) next: &'static str,
    /// How plain the case is: of several, the one with the most speaks. Comparable within a rule only.
    pub(crate) weight: f64,
}

impl Fired {
    /// A contradiction or an explanation with two numbers and nothing to do.
    fn remark(severity: Severity, says: String, evidence: [Evidence; 2]) -> Self {
        Self { severity, says, evidence: evidence.into(), next: "", weight: 0.0 }
    }
}

/// A finding and the indices of the cases it is about.
pub(crate) struct Found {
    pub(crate) finding: Finding,
    pub(crate) cases: Vec<usize>,
    pub(crate) effect: Effect,
}

/// Returns everything the rules find in a run, the gravest first.
pub fn findings(header: &RunHeader, summary: &RunSummary) -> Vec<Finding> {
    found_by(Run { header, summary }, |_| true)
}

/// Returns what of that says that something other than the storage changed the numbers; no other rule is asked.
pub(crate) fn disturbances(run: Run<'_>) -> Vec<Finding> {
    let mut found = found_by(run, |rule| matches!(rule.effect, Effect::Disturbs(_)));
    found.retain(is_disturbance);
    found
}

fn found_by(run: Run<'_>, is_asked: impl Fn(&Rule) -> bool) -> Vec<Finding> {
    let places = LazyCell::new(|| places::of_targets(run));
    // The rules are about runs of Assay; of another tool's results too little is known.
    let rules = if run.header.imported.is_some() { &[] } else { &RULES[..] };
    let mut found: Vec<Finding> = rules
        .iter()
        .filter(|rule| is_asked(rule))
        .filter_map(|rule| match rule.check {
            Check::Note(kind, severity) => {
                notes::fired(run, kind, severity).map(|fired| finding(rule, fired))
            }
            Check::Run(check) => check(run).map(|fired| finding(rule, fired)),
            Check::Places(check) => check(&places).map(|fired| finding(rule, fired)),
            Check::Step(check) => of_steps(rule, check, run),
            Check::Load(_) | Check::Pair(_) | Check::Loads(_) => None,
        })
        .collect();
    // A rule has better words than a warning of the same name; warnings without a rule are all reported.
    let mut warnings = run::warnings(run);
    warnings.retain(|warning| !found.iter().any(|f| f.rule == warning.rule));
    found.extend(warnings);
    // A command is pasted as it stands.
    let resume = format!("--resume {}", run.header.run);
    found.iter_mut().for_each(|finding| finding.next = finding.next.replace("--resume RUN", &resume));
    // A stable sort: within a severity, findings keep the order of the rules.
    found.sort_by_key(|f| std::cmp::Reverse(f.severity));
    found
}

/// Returns every finding about loads beside their expectations, in the order of the rules. Of a rule that fires more
/// than once, the plainest case has its numbers and the others their names.
pub(crate) fn of_cases(cases: &[Case]) -> Vec<Found> {
    let pairs = || (0..cases.len()).flat_map(|a| (a + 1..cases.len()).map(move |b| (a, b)));
    RULES
        .iter()
        .filter_map(|rule| {
            let fired = match rule.check {
                Check::Load(check) => {
                    cases.iter().enumerate().filter_map(|(i, case)| Some((vec![i], check(case)?))).collect()
                }
                Check::Pair(check) => {
                    pairs().filter_map(|(a, b)| Some((vec![a, b], check(&cases[a], &cases[b])?))).collect()
                }
                Check::Loads(check) => check(cases).map(|(fired, used)| (used, fired)).into_iter().collect(),
                Check::Note(..) | Check::Run(_) | Check::Places(_) | Check::Step(_) => Vec::new(),
            };
            found(rule, cases, fired)
        })
        .collect()
}

/// Returns what a resource that differs between two runs did to a load of each. The other rules about two loads are
/// about one array, and each run has been judged by them already.
pub(crate) fn across(first: &[Case], own: &[Case]) -> Vec<Finding> {
    let both: Vec<Case> = first.iter().chain(own).cloned().collect();
    let pairs = |a: usize| (first.len()..both.len()).map(move |b| (a, b));
    let across = RULES.iter().filter(|rule| rule.effect == Effect::Compares);
    across
        .filter_map(|rule| {
            let Check::Pair(check) = rule.check else { return None };
            let fired = (0..first.len()).flat_map(pairs);
            let fired = fired.filter_map(|(a, b)| Some((vec![a, b], check(&both[a], &both[b])?)));
            let found = found(rule, &both, fired.collect())?;
            Some(Finding { steps: Vec::new(), ..found.finding })
        })
        .collect()
}

/// Returns the steps whose numbers something disturbed, by the findings of their run.
pub fn disturbed_steps(findings: &[Finding]) -> Vec<StepId> {
    findings
        .iter()
        .filter(|finding| is_disturbance(finding))
        .flat_map(|finding| finding.steps.clone())
        .collect()
}

/// Returns true for a finding that says that something other than the storage changed the numbers.
pub fn is_disturbance(finding: &Finding) -> bool {
    disturbance(finding).is_some()
}

/// Returns what disturbed, as a part of "disturbed by …"; `None` for a finding that says of no such thing.
pub fn disturbance(finding: &Finding) -> Option<&'static str> {
    let rule = RULES.iter().find(|rule| rule.id == finding.rule)?;
    match rule.effect {
        Effect::Disturbs(by) if finding.severity >= Severity::Warning => Some(by),
        _ => None,
    }
}

/// Returns the present name of a rule, by that or by the name that earlier releases gave it.
pub fn rule_name(name: &str) -> &str {
    RULES.iter().find(|rule| rule.alias == Some(name)).map_or(name, |rule| rule.id)
}

fn finding(rule: &Rule, fired: Fired) -> Finding {
    Finding {
        rule: rule.id.to_owned(),
        aliases: rule.alias.into_iter().map(str::to_owned).collect(),
        severity: fired.severity,
        says: fired.says,
        evidence: fired.evidence,
        next: fired.next.to_owned(),
        steps: Vec::new(),
    }
}

/// One finding for all steps in which a rule fires.
fn of_steps(rule: &Rule, check: fn(StepCase<'_>) -> Option<Fired>, run: Run<'_>) -> Option<Finding> {
    let steps = &run.summary.steps;
    let fired = steps.iter().enumerate().filter_map(|(i, step)| Some((vec![i], check(run.case(step)?)?)));
    let fired: Vec<_> = fired.collect();
    let severity = fired.iter().map(|(_, f)| f.severity).max()?;
    let names: Vec<String> = steps.iter().map(step_name).collect();
    let (mut finding, used) = composed(rule, &names, fired)?;
    finding.severity = severity;
    finding.steps = used.iter().map(|index| steps[*index].id).collect();
    Some(finding)
}

fn found(rule: &Rule, cases: &[Case], fired: Vec<(Vec<usize>, Fired)>) -> Option<Found> {
    let names: Vec<String> = cases.iter().map(|case| case.measured.name.clone()).collect();
    let (mut finding, mut used) = composed(rule, &names, fired)?;
    finding.steps = used.iter().filter_map(|index| cases[*index].step).collect();
    used.sort_unstable();
    Some(Found { finding, cases: used, effect: rule.effect })
}

/// Returns the plainest case with its numbers and the names of all others, and the indices of all, the plainest first.
fn composed(
    rule: &Rule,
    names: &[String],
    mut fired: Vec<(Vec<usize>, Fired)>,
) -> Option<(Finding, Vec<usize>)> {
    fired.sort_by(|a, b| b.1.weight.total_cmp(&a.1.weight));
    let mut used: Vec<usize> = Vec::new();
    for index in fired.iter().flat_map(|(indices, _)| indices) {
        if !used.contains(index) {
            used.push(*index);
        }
    }
    let (plainest, first) = fired.into_iter().next()?;
    let subject: Vec<String> = plainest.iter().take(2).map(|index| names[*index].clone()).collect();
    let mut others: Vec<usize> = used.iter().copied().filter(|index| !plainest.contains(index)).collect();
    others.sort_unstable();
    let mut finding = finding(rule, first);
    finding.says = format!("{}: {}", list(&subject), finding.says);
    if !others.is_empty() {
        finding.says.push_str(&format!(" Also in {}.", shortened(names, &others)));
    }
    Some((finding, used))
}

/// Returns the step as people call it.
pub fn step_name(step: &StepSummary) -> String {
    format!("{} {}", step.test, step.step).trim_end().to_owned()
}

impl<'r> Run<'r> {
    /// `None` for a step that was left out, or that measured nothing but errors.
    pub(crate) fn case(self, step: &'r StepSummary) -> Option<StepCase<'r>> {
        let is_lost = matches!(step.reason, Some(StepReason::TargetLost(_)));
        let has_faults = step.errors > 0 || step.mismatch_count > 0 || is_lost;
        if step.skipped.is_some() || (step.unmeasured.is_some() && !has_faults) {
            return None;
        }
        let plan = self.header.plan.tests.get(step.id.test as usize)?.steps.get(step.id.step as usize)?;
        Some(StepCase { run: self, plan, step })
    }

    /// Whether the verb made the plan itself, of which no field can be set and no part be taken: a diagnosis, a probe
    /// of caches.
    pub(crate) fn has_own_plan(self) -> bool {
        self.header.diagnosis.is_some() || self.header.plan.name == assay_spec::probe::NAME
    }

    /// What I/O really goes to: every member but null and simulated targets, and places of hosts that did not begin.
    pub(crate) fn storage(self) -> impl Iterator<Item = &'r MemberFacts> {
        self.header.targets.iter().map(|t| &t.member).filter(|m| is_storage(m))
    }
}

impl<'r> StepCase<'r> {
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

/// Whether a member stores anything at all. One that nobody has opened is known by nothing.
fn is_storage(member: &MemberFacts) -> bool {
    *member != MemberFacts::default() && !matches!(member.kind, MemberKind::Null | MemberKind::Simulated)
}

/// `words` in a list: `a, b and c`.
pub(crate) fn list(words: &[String]) -> String {
    match words {
        [] => String::new(),
        [one] => one.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}
