//! A run at a glance: is it good, what limits it, what changed, what to do next. The page, the report and the terminal
//! say these sentences and no others.

mod among;

use assay_analysis::compare::{Change, Comparison, TestPair};
use assay_analysis::{
    Case, Finding, Judgement, RunStatus, RunSummary, Severity, StepSummary, disturbance, disturbed_steps,
    first_sentence, verdict_on,
};
use assay_record::{MemberKind, RunHeader};

/// Most next steps.
const NEXT_MAX: usize = 3;
/// Words by which a next step is recognised.
const OPENING_WORDS: usize = 4;
/// A run at a glance.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Glance {
    /// Whether the results are good; `None` where there is nothing to compare them with.
    pub good: Option<Said>,
    /// What limits them; `None` where this run does not show it.
    pub limit: Option<Said>,
    /// Whether they changed; `None` where nothing comparable is stored.
    pub changed: Option<Said>,
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
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
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
pub(crate) fn glance(
    header: &RunHeader,
    summary: &RunSummary,
    findings: &[Finding],
    judgement: Option<&Judgement>,
    before: Option<Before<'_>>,
) -> Glance {
    Glance {
        good: good(header, summary, findings, judgement, before),
        limit: limit(header, summary, findings, judgement),
        changed: before.map(|before| {
            let said = changed(before);
            // A difference of what cannot be used is no change of the target.
            match spoilt(&measured(header, summary), findings) {
                Some(_) if said.tone != Tone::Plain => Said::new(Tone::Doubt, said.says),
                _ => said,
            }
        }),
        next: next(findings, judgement),
    }
}

fn good(
    header: &RunHeader,
    summary: &RunSummary,
    findings: &[Finding],
    judgement: Option<&Judgement>,
    before: Option<Before<'_>>,
) -> Option<Said> {
    // Experiments are not the loads that anything is known of.
    if header.diagnosis.is_some() {
        return None;
    }
    let measured = measured(header, summary);
    // Where every I/O failed, that is why nothing was measured.
    if measured.is_empty() && critical(findings).is_none() {
        return Some(Said::new(Tone::Bad, "Nothing was measured."));
    }
    // However fast it is, what is spoilt is not good, whether or not there is something to compare it with.
    if let Some(spoilt) = spoilt(&measured, findings) {
        return Some(spoilt);
    }
    let own = own(judgement, before);
    let mut doubts = doubts(summary, &measured, findings);
    // What another tool measured is not the load that tables have.
    let published = || among::published(header, summary).filter(|_| header.imported.is_none());
    let compared = match own {
        Some(own) => own,
        None => match published() {
            Some(among) => {
                doubts.extend(among::small(header));
                Said::new(Tone::Plain, among)
            }
            None => return alone(header, &doubts),
        },
    };
    Some(with_doubts(compared, &doubts))
}

/// Of what can be compared with nothing the doubts are said; `None` where there are none.
fn alone(header: &RunHeader, doubts: &[String]) -> Option<Said> {
    let is_null = header.targets.iter().all(|target| target.member.kind == MemberKind::Null);
    (!is_null && !doubts.is_empty()).then(|| {
        let says = format!("There is nothing to compare it with, and {}.", doubts.join(", and "));
        Said::new(Tone::Doubt, says)
    })
}

/// Against the array, or else its baseline. A bound says only what is too much, so that a baseline says more.
fn own(judgement: Option<&Judgement>, before: Option<Before<'_>>) -> Option<Said> {
    let by_array = judgement.and_then(among::by_array);
    let by_baseline = before.filter(|before| before.is_baseline).map(by_baseline);
    match (by_array, by_baseline) {
        (Some(bound), Some(reached)) if judgement.is_some_and(|of| of.cases.iter().any(Case::is_bound)) => {
            Some(Said::new(reached.tone.max(bound.tone), format!("{} {}", reached.says, bound.says)))
        }
        (by_array, by_baseline) => by_array.or(by_baseline),
    }
}

/// Steps with a result; writes that only prepare the targets have none.
fn measured<'s>(header: &RunHeader, summary: &'s RunSummary) -> Vec<&'s StepSummary> {
    let is_measured = |s: &&StepSummary| {
        s.skipped.is_none() && s.unmeasured.is_none() && s.total.ops > 0 && header.plan.is_result(s.id.test)
    };
    summary.steps.iter().filter(is_measured).collect()
}

fn critical(findings: &[Finding]) -> Option<&Finding> {
    findings.iter().find(|finding| finding.severity == Severity::Critical)
}

/// A run of which every step was disturbed, or whose data cannot be trusted, is not good however fast it is.
fn spoilt(measured: &[&StepSummary], findings: &[Finding]) -> Option<Said> {
    if let Some(critical) = critical(findings) {
        return Some(Said::new(Tone::Bad, format!("Not usable: {}", first_sentence(&critical.says))));
    }
    let disturbed = disturbed_steps(findings);
    if !measured.iter().all(|step| disturbed.contains(&step.id)) {
        return None;
    }
    let mut by: Vec<&str> = Vec::new();
    for words in findings.iter().filter_map(disturbance) {
        if !by.contains(&words) {
            by.push(words);
        }
    }
    let of = if measured.len() == 1 { "the test" } else { "every test" };
    Some(Said::new(Tone::Bad, format!("Not usable: {of} was disturbed by {}.", by.join(", and by "))))
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
        (shared().filter(is_judged).count(), shared().filter(|test| test.is_worse()).count());
    let name = before.name;
    match (judged, worse) {
        (0, 0) => Said::new(Tone::Plain, format!("It cannot be compared with {name}; “Changed” says why.")),
        (_, 0) => Said::new(Tone::Good, format!("In no test worse than {name}.")),
        (_, worse) => Said::new(Tone::Bad, format!("Worse than {name} in {worse} of {all} tests.")),
    }
}

/// What is good by its numbers and was cut short, disturbed in part, or held by a cache is in doubt.
fn with_doubts(said: Said, doubts: &[String]) -> Said {
    if doubts.is_empty() {
        return said;
    }
    let tone = if said.tone == Tone::Bad { Tone::Bad } else { Tone::Doubt };
    Said::new(tone, format!("{} But {}.", said.says, doubts.join(", and ")))
}

fn doubts(summary: &RunSummary, measured: &[&StepSummary], findings: &[Finding]) -> Vec<String> {
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
    doubts
}

fn limit(
    header: &RunHeader,
    summary: &RunSummary,
    findings: &[Finding],
    judgement: Option<&Judgement>,
) -> Option<Said> {
    let verdict = verdict_on(header, summary, judgement)?;
    let is_spoilt = spoilt(&measured(header, summary), findings).is_some();
    Some(Said::new(if is_spoilt { Tone::Doubt } else { Tone::Plain }, verdict.brief))
}

fn changed(before: Before<'_>) -> Said {
    let says = before.comparison.says.first().cloned().unwrap_or_default();
    let says = says.strip_prefix("this ").map_or_else(|| says.clone(), |rest| format!("This {rest}"));
    let judged = || {
        let against = |test: &TestPair| Some(test.cells.get(1)?.as_ref()?.against.as_ref()?.change);
        before.comparison.tests.iter().filter_map(against)
    };
    let tone = if before.comparison.tests.iter().any(TestPair::is_worse) {
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

/// The next steps of the gravest findings, each once; then the experiment of the verdict.
fn next(findings: &[Finding], judgement: Option<&Judgement>) -> Vec<String> {
    let mut steps: Vec<String> = Vec::new();
    let mut grave: Vec<&Finding> =
        findings.iter().filter(|f| f.severity > Severity::Info && !f.next.is_empty()).collect();
    // In the order in which a terminal warns.
    grave.sort_by_key(|finding| std::cmp::Reverse(crate::answer::harm(finding)));
    for finding in grave {
        // Two findings with one cause say the same in other words.
        let is_known = steps.iter().any(|known| opening(known) == opening(&finding.next));
        if !is_known && steps.len() < NEXT_MAX {
            steps.push(finding.next.clone());
        }
    }
    let verdict = judgement.and_then(|judgement| judgement.verdict.as_ref());
    steps.extend(verdict.map(|verdict| verdict.experiment.clone()).filter(|_| steps.len() < NEXT_MAX));
    if steps.is_empty() {
        let says = "Nothing puts these numbers in doubt. Repeat the run with a label (--label) before a comparison: \
                    only repetitions distinguish a small change from noise.";
        steps.push(says.to_owned());
    }
    steps
}
