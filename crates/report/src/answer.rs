//! The answer of a run in a few lines, the same for a terminal and for the first screen of a page: is it good, what
//! limits it, what changed, what puts it in doubt, and what to do next.

use assay_analysis::{Finding, RunSummary, Severity, first_sentence, is_disturbance, step_name};
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
    /// Whether the rest is counted, not named.
    pub(crate) is_rest_counted: bool,
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
    /// Bytes of the names of tests that it begins with.
    pub(crate) name_bytes: usize,
    /// What stands there instead of these names on a small screen.
    pub(crate) short_name: &'static str,
}

/// What stands in place of the table of the tests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OwnTable {
    /// Of a curve.
    Curve,
    /// Of caches, or of a diagnosis: it is the answer.
    Answer,
    /// One that says itself that it cannot be relied on.
    Unreliable,
}

/// A sentence without those that follow it, and without its figures and its second suspect.
fn in_a_line(says: &str) -> String {
    let first = first_sentence(says);
    let end = [" (", "; second suspect"].iter().filter_map(|from| first.find(from)).min();
    end.map_or_else(|| first.to_owned(), |end| format!("{}.", &first[..end]))
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

    /// Counts a doubt among the others where a table says the same.
    pub(crate) fn leave_to_table(&mut self, rule: &str) {
        let said = self.warnings.extract_if(.., |one| one.rule == rule).map(|one| one.rule);
        self.more_warnings.extend(said.collect::<Vec<_>>());
    }

    /// Leaves out what a table of its own says, and all doubts but the first. A curve does not say whether it is good
    /// nor what limits it; what a table calls unreliable needs neither a doubt nor a next step.
    pub(crate) fn be_short(&mut self, own: OwnTable) {
        let (is_curve, is_unreliable) = (own == OwnTable::Curve, own == OwnTable::Unreliable);
        self.good = self.good.take().filter(|_| is_curve);
        self.limit = self.limit.take().filter(|_| is_curve).map(|limit| in_a_line(&limit));
        let is_critical = |warned: &Warned| warned.severity == Severity::Critical;
        let kept =
            if is_unreliable { self.warnings.iter().filter(|one| is_critical(one)).count() } else { 1 };
        self.drop_warnings(kept);
        self.next = self.next.take().filter(|_| !is_unreliable);
    }

    /// Says one thing less, that which is missed least; false where nothing is left out any more.
    pub(crate) fn shorten(&mut self) -> bool {
        let last = self.warnings.last().filter(|last| last.severity != Severity::Critical);
        if !self.is_rest_counted && !self.rest().is_empty() {
            self.is_rest_counted = true;
        } else if last.is_some() && self.warnings.len() > 1 {
            self.drop_warnings(self.warnings.len() - 1);
        } else if let Some(changed) = self.changed.as_mut().filter(|changed| changed.contains("; ")) {
            // After the rates come the latencies.
            let rates = changed.split("; ").next().unwrap_or_default();
            *changed = format!("{rates}.");
        } else if let Some(named) = self.warnings.iter_mut().find(|one| one.name_bytes > one.short_name.len())
        {
            named.says.replace_range(..std::mem::take(&mut named.name_bytes), named.short_name);
        } else {
            return false;
        }
        true
    }

    /// Leaves out a whole line where there is no room for those of a table of its own; false where none is left.
    pub(crate) fn leave_out(&mut self) -> bool {
        self.next.take().or_else(|| self.good.take()).is_some()
    }

    fn drop_warnings(&mut self, kept: usize) {
        let others = self.warnings.drain(self.warnings.len().min(kept)..).map(|warned| warned.rule);
        self.more_warnings.splice(0..0, others.collect::<Vec<_>>());
    }

    /// Returns what is left out of it, in words; empty where nothing is.
    pub(crate) fn rest(&self) -> String {
        let named = |names: &[String], one: &str, many: &str| match names {
            [] => None,
            [_] if self.is_rest_counted => Some(format!("1 {one}")),
            names if self.is_rest_counted => Some(format!("{} {many}", names.len())),
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
    doubts.sort_by_key(|finding| std::cmp::Reverse(harm(finding)));
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
        warnings: shown.into_iter().map(|finding| warned(finding, summary)).collect(),
        next,
        more_warnings: more.into_iter().map(|finding| finding.rule.clone()).collect(),
        remarks,
        is_rest_counted: false,
    }
}

/// How much a finding harms a result: of one severity, what changed the numbers more than what explains them, and what
/// is in all tests more than what is in one.
pub(crate) fn harm(finding: &Finding) -> (Severity, bool, usize) {
    (finding.severity, is_disturbance(finding), finding.steps.len())
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

fn warned(finding: &Finding, summary: &RunSummary) -> Warned {
    let says = match finding.severity {
        Severity::Critical => finding.says.as_str(),
        _ => first_sentence(&finding.says),
    };
    let step = finding.steps.first().and_then(|id| summary.steps.iter().find(|step| step.id == *id));
    // The names of one or two tests stand first, and end with a colon.
    let name = step.map(step_name).filter(|name| says.starts_with(name.as_str()));
    let end = name.and_then(|name| Some(name.len() + says[name.len()..].find(": ")?));
    let name_bytes = end.map_or(0, |end| end + 2);
    let short_name = match finding.steps.len() {
        steps if steps == summary.steps.len() => "",
        1 => "one test: ",
        _ => "some tests: ",
    };
    let says = says.to_owned();
    Warned { rule: finding.rule.clone(), severity: finding.severity, says, name_bytes, short_name }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn doubt(rule: &str, severity: Severity) -> Warned {
        Warned {
            rule: rule.to_owned(),
            severity,
            says: "RealLife-60%: it was slow.".to_owned(),
            name_bytes: 14,
            short_name: "one test: ",
        }
    }

    /// On a busy host NEXT was "Use more workers", as a turn of the loop was slow in one test of four.
    #[test]
    fn what_is_in_every_test_comes_before_what_is_in_one() {
        let finding = |rule: &str, steps: u32| Finding {
            rule: rule.to_owned(),
            aliases: vec![],
            severity: Severity::Warning,
            says: String::new(),
            evidence: vec![],
            next: String::new(),
            steps: (0..steps).map(|test| assay_record::StepId { test, step: 0 }).collect(),
        };
        assert!(harm(&finding("busy-host", 4)) > harm(&finding("tester-bound", 1)));
        assert!(harm(&finding("tester-bound", 1)) > harm(&finding("rereads-start", 4)));
    }

    /// Of a run that everything disturbed the numbers had left the screen.
    #[test]
    fn an_answer_loses_what_is_missed_least_and_never_what_makes_it_unusable() {
        let mut answer = Answer {
            changed: Some("x0.5 in 1 of 4; p99 is higher.".to_owned()),
            warnings: vec![doubt("foreign-io", Severity::Warning), doubt("busy-host", Severity::Warning)],
            remarks: vec!["quick".to_owned()],
            ..Answer::default()
        };
        let mut lengths =
            vec![answer.lines().iter().map(|(_, says)| says.len()).sum::<usize>() + answer.rest().len()];
        while answer.shorten() {
            lengths
                .push(answer.lines().iter().map(|(_, says)| says.len()).sum::<usize>() + answer.rest().len());
        }
        assert!(lengths.len() == 5 && lengths.is_sorted_by(|before, after| before > after), "{lengths:?}");
        let lines = [("CHANGED", "x0.5 in 1 of 4."), ("WARNING", "[foreign-io] one test: it was slow.")];
        assert_eq!(answer.lines(), lines.map(|(title, says)| (title, says.to_owned())));
        assert_eq!(answer.rest(), "1 more warning, 1 other finding");
        let mut lost = Answer { warnings: vec![doubt("data", Severity::Critical); 2], ..Answer::default() };
        while lost.shorten() {}
        assert_eq!(lost.warnings.len(), 2);
        lost.be_short(OwnTable::Unreliable);
        assert_eq!(lost.warnings.len(), 2, "also of what cannot be relied on");
        let of = |own| {
            let limit = "The device vda probably limits it (3 of 4 I/Os waited in it). Disturbed.".to_owned();
            let mut answer = Answer { limit: Some(limit), ..Answer::default() };
            answer.be_short(own);
            answer.limit
        };
        assert_eq!(of(OwnTable::Curve).as_deref(), Some("The device vda probably limits it."));
        assert_eq!([OwnTable::Answer, OwnTable::Unreliable].map(of), [None, None]);
    }
}
