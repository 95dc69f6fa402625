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

    /// Returns what is left out of it, in words; empty where nothing is.
    pub(crate) fn rest(&self) -> String {
        let named = |names: &[String], one: &str, many: &str| match names {
            [] => None,
            [name] => Some(format!("1 {one} ({name})")),
            names => Some(format!("{} {many} ({})", names.len(), names.join(", "))),
        };
        let warnings = named(&self.more_warnings, "more warning", "more warnings");
        let remarks = named(&self.remarks, "remark", "remarks");
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
    let mut remarks: Vec<String> = Vec::new();
    for finding in findings.iter().filter(|f| !is_doubt(f)) {
        if !remarks.contains(&finding.rule) {
            remarks.push(finding.rule.clone());
        }
    }
    let glance = meta.glance(header, summary, findings);
    let next = doubts.iter().copied().chain(findings).find(|f| !f.next.is_empty());
    Answer {
        good: glance.good.map(|said| said.says),
        limit: glance.limit.map(|said| said.says),
        changed: glance.changed.map(|said| said.says).filter(|says| !says.is_empty()),
        warnings: doubts.iter().take(WARNINGS_MAX).map(|finding| warned(finding)).collect(),
        next: next.map(|finding| finding.next.clone()),
        more_warnings: doubts.iter().skip(WARNINGS_MAX).map(|finding| finding.rule.clone()).collect(),
        remarks,
    }
}

fn warned(finding: &Finding) -> Warned {
    let says = match finding.severity {
        Severity::Critical => finding.says.as_str(),
        _ => first_sentence(&finding.says),
    };
    Warned { rule: finding.rule.clone(), severity: finding.severity, says: says.to_owned() }
}
