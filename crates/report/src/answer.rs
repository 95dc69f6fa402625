//! The answer of a run in a few lines, the same for a terminal and for the first screen of a page: is it good, what
//! limits it, what changed, what puts it in doubt, and what to do next.

use assay_analysis::{Finding, RunSummary, Severity, first_sentence, is_disturbance};
use assay_record::RunHeader;

use crate::Meta;

/// Most doubts that the answer names.
const WARNINGS_MAX: usize = 2;

/// The answer of a run. A line that nothing is known for is absent.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Answer {
    /// Against what its array should give, else against what others measured with the same load.
    pub(crate) good: Option<String>,
    /// The bottleneck.
    pub(crate) limit: Option<String>,
    /// Against the baseline of its plan and target.
    pub(crate) changed: Option<String>,
    /// The most harmful doubts, at most two.
    pub(crate) warnings: Vec<Warned>,
    /// The next step.
    pub(crate) next: Option<String>,
    /// Names of further findings that are at least a warning.
    pub(crate) more_warnings: Vec<String>,
    /// Names of the findings that are none.
    pub(crate) remarks: Vec<String>,
}

/// A doubt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Warned {
    /// Name of the rule.
    pub(crate) rule: String,
    /// How grave it is.
    pub(crate) severity: Severity,
    /// What it says: of a critical one all, else the first sentence.
    pub(crate) says: String,
}

impl Answer {
    /// Returns its lines in their order, each with its title.
    pub(crate) fn lines(&self) -> Vec<(&'static str, String)> {
        let warned = |of: &Warned| {
            let title = if of.severity == Severity::Critical { "CRITICAL" } else { "WARNING" };
            (title, format!("[{}] {}", of.rule, of.says))
        };
        let line = |title, says: &Option<String>| says.clone().map(|says| (title, says));
        [line("GOOD?", &self.good), line("LIMIT", &self.limit), line("CHANGED", &self.changed)]
            .into_iter()
            .flatten()
            .chain(self.warnings.iter().map(warned))
            .chain(line("NEXT", &self.next))
            .collect()
    }

    /// Leaves out the limit, and all doubts but the first: of what has a table of its own.
    pub(crate) fn be_short(&mut self) {
        self.limit = None;
        let others = self.warnings.drain(self.warnings.len().min(1)..).map(|warned| warned.rule);
        self.more_warnings.splice(0..0, others.collect::<Vec<_>>());
    }

    /// Returns what is left out of it, in words; empty where nothing is.
    pub(crate) fn rest(&self) -> String {
        let named = |names: &[String], one: &str, many: &str| match names {
            [] => None,
            [name] => Some(format!("1 {one} ({name})")),
            names => Some(format!("{} {many} ({})", names.len(), names.join(", "))),
        };
        let warnings = named(&self.more_warnings, "more warning", "more warnings");
        let remarks = named(&self.remarks, "other finding", "other findings");
        warnings.into_iter().chain(remarks).collect::<Vec<_>>().join(", ")
    }
}

/// Returns the answer of a run.
pub(crate) fn answer(
    header: &RunHeader,
    summary: &RunSummary,
    findings: &[Finding],
    meta: Meta<'_>,
) -> Answer {
    // That a run is going on, or has no end, changes what its rows are worth.
    let is_doubt = |f: &&Finding| f.severity > Severity::Info || f.rule == "partial";
    let mut doubts: Vec<&Finding> = findings.iter().filter(is_doubt).collect();
    // Of one severity, what changed the numbers comes before what explains them.
    doubts.sort_by_key(|f| std::cmp::Reverse((f.severity, is_disturbance(f))));
    let (shown, more) = shown(&doubts);
    let mut remarks: Vec<String> = Vec::new();
    for finding in findings.iter().filter(|f| !is_doubt(f)) {
        if !remarks.contains(&finding.rule) {
            remarks.push(finding.rule.clone());
        }
    }
    let glance = meta.glance(header, summary, findings);
    let of = |f: &Finding| (!f.next.is_empty()).then(|| f.next.clone());
    let next = doubts.iter().find_map(|f| of(f)).or_else(|| {
        let verdict = meta.judgement.and_then(|judgement| judgement.verdict.as_ref());
        verdict.map(|verdict| verdict.experiment.clone()).or_else(|| findings.iter().find_map(of))
    });
    Answer {
        good: glance.good.map(|said| said.says),
        limit: glance.limit.map(|said| said.says),
        changed: glance
            .changed
            .map(|said| first_sentence(&said.says).to_owned())
            .filter(|says| !says.is_empty()),
        warnings: shown.into_iter().map(warned).collect(),
        next,
        more_warnings: more.into_iter().map(|finding| finding.rule.clone()).collect(),
        remarks,
    }
}

/// Parts doubts into those that are shown and the others: of two with the same next step, which have one cause, the
/// first is shown.
fn shown<'f>(doubts: &[&'f Finding]) -> (Vec<&'f Finding>, Vec<&'f Finding>) {
    let (mut shown, mut more): (Vec<&Finding>, Vec<&Finding>) = (Vec::new(), Vec::new());
    for finding in doubts {
        let is_said = shown.iter().any(|known| !known.next.is_empty() && known.next == finding.next);
        let is_shown = shown.len() < WARNINGS_MAX && (!is_said || finding.severity == Severity::Critical);
        if is_shown { shown.push(finding) } else { more.push(finding) }
    }
    (shown, more)
}

fn warned(finding: &Finding) -> Warned {
    let says = match finding.severity {
        Severity::Critical => finding.says.as_str(),
        _ => first_sentence(&finding.says),
    };
    Warned { rule: finding.rule.clone(), severity: finding.severity, says: says.to_owned() }
}
