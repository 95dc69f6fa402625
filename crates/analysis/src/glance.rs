//! A run at a glance: is it good, what limits it, what changed, what to do next. The page, the report and the terminal
//! say these sentences and no others.

use assay_record::RunHeader;

use crate::beside::published_beside;
use crate::compare::{Change, Comparison, TestPair};
use crate::expected::Judgement;
use crate::finding::{Finding, Severity};
use crate::limit::limits;
use crate::rules::disturbed_steps;
use crate::summary::{RunStatus, RunSummary, StepSummary};
use crate::verdict::Agreement;

/// Most next steps.
const NEXT_MAX: usize = 3;
/// Words by which a next step is recognised.
const OPENING_WORDS: usize = 4;
/// Rates within this factor of each other are alike.
const ALIKE: f64 = 1.1;

/// A run at a glance.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Glance {
    /// Whether the results are good, by what they can be compared with.
    pub good: Said,
    /// What limits them.
    pub limit: Said,
    /// Whether they changed.
    pub changed: Said,
    /// What to do next, the most urgent first.
    pub next: Vec<String>,
}

/// A sentence, and how grave it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Said {
    /// How grave it is.
    pub tone: Tone,
    /// The sentence.
    pub says: String,
}

/// How grave a sentence is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tone {
    /// As it should be.
    Good,
    /// Neither: a fact, or nothing is known.
    Plain,
    /// The results are in doubt, or differ from what is expected.
    Doubt,
    /// They cannot be used, or are worse.
    Bad,
}

impl Tone {
    /// Returns its name, as classes of pages have it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Good => "good",
            Self::Plain => "plain",
            Self::Doubt => "doubt",
            Self::Bad => "bad",
        }
    }
}

impl Said {
    fn new(tone: Tone, says: impl Into<String>) -> Self {
        Self { tone, says: says.into() }
    }
}

/// A comparison of the run with an earlier one.
#[derive(Debug, Clone, Copy)]
pub struct Before<'b> {
    /// What it is compared with: `its baseline nightly`, `run 261120-k7f2`.
    pub name: &'b str,
    /// That first, then the run.
    pub comparison: &'b Comparison,
    /// Whether somebody set it as what the run has to reach.
    pub is_baseline: bool,
}

/// Returns a run at a glance.
#[must_use]
pub fn glance(
    header: &RunHeader,
    summary: &RunSummary,
    findings: &[Finding],
    judgement: Option<&Judgement>,
    before: Option<Before<'_>>,
) -> Glance {
    Glance {
        good: good(header, summary, findings, judgement, before),
        limit: limit(header, summary, findings, judgement),
        changed: changed(before),
        next: next(findings),
    }
}

fn good(
    header: &RunHeader,
    summary: &RunSummary,
    findings: &[Finding],
    judgement: Option<&Judgement>,
    before: Option<Before<'_>>,
) -> Said {
    let measured = measured(summary);
    if measured.is_empty() {
        return Said::new(Tone::Bad, "Nothing was measured.");
    }
    if let Some(spoilt) = spoilt(&measured, findings) {
        return spoilt;
    }
    let said = judgement
        .and_then(by_array)
        .or_else(|| before.filter(|before| before.is_baseline).map(by_baseline))
        .or_else(|| by_published(header, summary));
    let said = said.unwrap_or_else(|| {
        let says = "Nothing to compare it with: describe the storage with --array, or set a baseline with assay \
                    baseline set.";
        Said::new(Tone::Plain, says)
    });
    with_doubts(said, summary, &measured, findings)
}

fn measured(summary: &RunSummary) -> Vec<&StepSummary> {
    let is_measured = |s: &&StepSummary| s.skipped.is_none() && s.unmeasured.is_none() && s.total.ops > 0;
    summary.steps.iter().filter(is_measured).collect()
}

/// A run of which every step was disturbed, or whose data cannot be trusted, is not good however fast it is.
fn spoilt(measured: &[&StepSummary], findings: &[Finding]) -> Option<Said> {
    if let Some(critical) = findings.iter().find(|finding| finding.severity == Severity::Critical) {
        return Some(Said::new(Tone::Bad, format!("Not usable: {}", as_clause(&critical.says))));
    }
    let disturbed = disturbed_steps(findings);
    if !measured.iter().all(|step| disturbed.contains(&step.id)) {
        return None;
    }
    let is_of = |finding: &&Finding| finding.steps.iter().any(|step| disturbed.contains(step));
    let why = findings.iter().filter(is_of).max_by_key(|finding| finding.severity);
    let why = why.map_or_else(|| "every test was disturbed.".to_owned(), |finding| as_clause(&finding.says));
    Some(Said::new(Tone::Bad, format!("Not usable: {why}")))
}

/// The first sentence of a finding after a colon.
fn as_clause(says: &str) -> String {
    let first = first_sentence(says);
    let mut letters = first.chars();
    let is_name = first.chars().nth(1).is_none_or(char::is_uppercase);
    match letters.next() {
        Some(first) if !is_name => first.to_lowercase().chain(letters).collect(),
        _ => first.to_owned(),
    }
}

/// Returns the text up to the first full stop that a new sentence follows.
#[must_use]
pub fn first_sentence(says: &str) -> &str {
    let mut ends = says.match_indices(". ").map(|(at, _)| at);
    let is_end = |at: &usize| says[at + 2..].starts_with(|c: char| c.is_uppercase());
    ends.find(is_end).map_or(says, |at| &says[..=at])
}

/// Against what the array is expected to do.
fn by_array(judgement: &Judgement) -> Option<Said> {
    let judged: Vec<Agreement> =
        judgement.verdicts.iter().flatten().map(|verdict| verdict.agreement).collect();
    let below = judged.iter().filter(|agreement| **agreement == Agreement::Below).count();
    let (all, array) = (judged.len(), &judgement.array);
    Some(match (all, below) {
        (0, _) => return None,
        (1, 0) => Said::new(Tone::Good, format!("As {array} is expected to be, in the only test judged.")),
        (all, 0) => {
            Said::new(Tone::Good, format!("As {array} is expected to be, in all {all} tests judged."))
        }
        (1, 1) => Said::new(Tone::Bad, format!("Slower than {array} is expected to be.")),
        (all, below) => {
            Said::new(Tone::Bad, format!("Slower than {array} is expected to be in {below} of {all} tests."))
        }
    })
}

/// Whether a test, or what it is judged by, is worse than before by more than noise.
#[must_use]
pub fn is_worse(test: &TestPair) -> bool {
    let against = test.cells.get(1).and_then(Option::as_ref).and_then(|cell| cell.against.as_ref());
    against.is_some_and(|against| {
        against.change == Change::Slower || against.p99.is_some_and(|p99| p99.change == Change::Slower)
    })
}

fn by_baseline(before: Before<'_>) -> Said {
    let tests = &before.comparison.tests;
    let shared = || tests.iter().filter(|test| test.cells.iter().take(2).all(Option::is_some));
    let all = shared().count();
    let is_judged = |test: &&TestPair| {
        let against = test.cells.get(1).and_then(Option::as_ref).and_then(|cell| cell.against.as_ref());
        against.is_some_and(|against| !matches!(against.change, Change::NotComparable | Change::Unknown))
    };
    let (judged, worse) =
        (shared().filter(is_judged).count(), shared().filter(|test| is_worse(test)).count());
    let name = before.name;
    match (judged, worse) {
        (0, 0) => Said::new(Tone::Plain, format!("It cannot be compared with {name}; “Changed” says why.")),
        (_, 0) => Said::new(Tone::Good, format!("In no test worse than {name}.")),
        (_, worse) => Said::new(Tone::Bad, format!("Worse than {name} in {worse} of {all} tests.")),
    }
}

/// Against published results of the same tests: a place among them.
fn by_published(header: &RunHeader, summary: &RunSummary) -> Option<Said> {
    let is_tester_alone = header.targets.iter().all(|target| target.address.starts_with("null:"));
    if is_tester_alone {
        return Some(Said::new(Tone::Plain, "The target stores nothing: these are rates of Assay itself."));
    }
    let setups = published_beside(summary);
    let faster = setups.iter().filter(|setup| setup.ratio > ALIKE).count();
    let nearest = setups.first()?;
    Some(Said::new(
        Tone::Plain,
        format!(
            "Faster than {faster} of {} published results of the same tests; nearest is {} (x{:.2} of its IOPS).",
            setups.len(),
            nearest.name,
            nearest.ratio
        ),
    ))
}

/// What is good by its numbers and was cut short, or disturbed in part, is in doubt.
fn with_doubts(said: Said, summary: &RunSummary, measured: &[&StepSummary], findings: &[Finding]) -> Said {
    let disturbed = disturbed_steps(findings);
    let count = measured.iter().filter(|step| disturbed.contains(&step.id)).count();
    let mut doubts = Vec::new();
    match summary.status {
        RunStatus::Done | RunStatus::Running => {}
        RunStatus::Partial => doubts.push("the run was killed".to_owned()),
        RunStatus::Interrupted => doubts.push("the run was stopped".to_owned()),
        RunStatus::Failed => doubts.push("the run failed".to_owned()),
    }
    match count {
        0 => {}
        1 => doubts.push("one test was disturbed".to_owned()),
        count => doubts.push(format!("{count} of {} tests were disturbed", measured.len())),
    }
    if doubts.is_empty() {
        return said;
    }
    let tone = if said.tone == Tone::Bad { Tone::Bad } else { Tone::Doubt };
    Said::new(tone, format!("{} But {}.", said.says, doubts.join(", and ")))
}

fn limit(
    header: &RunHeader,
    summary: &RunSummary,
    findings: &[Finding],
    judgement: Option<&Judgement>,
) -> Said {
    let by_array =
        judgement.and_then(|judgement| judgement.verdict.as_ref()).map(|verdict| verdict.says.clone());
    let says = by_array.or_else(|| limits(header, summary).map(|limits| limits.says));
    let is_spoilt = spoilt(&measured(summary), findings).is_some();
    match says {
        Some(says) if is_spoilt => Said::new(Tone::Doubt, says),
        Some(says) => Said::new(Tone::Plain, says),
        None => Said::new(Tone::Plain, "Not found by this run; assay diagnose finds it by experiments."),
    }
}

fn changed(before: Option<Before<'_>>) -> Said {
    let Some(before) = before else {
        return Said::new(
            Tone::Plain,
            "No comparable run of this plan on this target is stored to compare it with.",
        );
    };
    let says = before.comparison.says.first().cloned().unwrap_or_default();
    let judged = || {
        let against = |test: &TestPair| Some(test.cells.get(1)?.as_ref()?.against.as_ref()?.change);
        before.comparison.tests.iter().filter_map(against)
    };
    let tone = if before.comparison.tests.iter().any(is_worse) {
        Tone::Bad
    } else if judged().any(|change| matches!(change, Change::PerhapsSlower | Change::NotComparable)) {
        Tone::Doubt
    } else if judged().any(|change| matches!(change, Change::Same | Change::Faster)) {
        Tone::Good
    } else {
        Tone::Plain
    };
    Said::new(tone, says)
}

/// The first words of a sentence, by which two next steps are recognised as one.
fn opening(sentence: &str) -> Vec<&str> {
    sentence.split_whitespace().take(OPENING_WORDS).collect()
}

/// The next steps of the gravest findings, each once.
fn next(findings: &[Finding]) -> Vec<String> {
    let mut steps: Vec<String> = Vec::new();
    for finding in findings.iter().filter(|f| f.severity > Severity::Info && !f.next.is_empty()) {
        // Two findings with one cause say the same in other words.
        let is_known = steps.iter().any(|known| opening(known) == opening(&finding.next));
        if !is_known && steps.len() < NEXT_MAX {
            steps.push(finding.next.clone());
        }
    }
    if steps.is_empty() {
        let says = "Nothing puts these numbers in doubt. Repeat the run with a label (--label) before a comparison: \
                    only repetitions distinguish a small change from noise.";
        steps.push(says.to_owned());
    }
    steps
}
