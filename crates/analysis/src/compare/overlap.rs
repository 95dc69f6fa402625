//! Runs that were measured at the same time: none of them came before the other, and each may have disturbed the other.

use crate::compare::{Side, Source};
use crate::finding::{Evidence, Finding, Severity};

/// Name of the finding.
const RULE: &str = "overlap";
/// Overlaps that are said; the rest is counted.
const SAID_MAX: usize = 3;
/// The clocks of two hosts may be this far apart, and a run ends a moment before the next one begins.
const OVERLAP_MIN_MS: u64 = 1_000;

/// Returns a finding where runs of a comparison overlapped; of one run on two sides none says anything.
pub(super) fn overlap(sides: &[Side]) -> Option<Finding> {
    let mut runs: Vec<(&str, (u64, u64))> = Vec::new();
    for reading in sides.iter().flat_map(|side| &side.readings).filter(|of| of.source == Source::Run) {
        if let Some(during) = reading.during_unix_ms
            && !runs.iter().any(|(id, _)| *id == reading.id)
        {
            runs.push((&reading.id, during));
        }
    }
    let pairs =
        runs.iter().enumerate().flat_map(|(at, one)| runs[at + 1..].iter().map(move |other| (one, other)));
    let together = pairs.filter_map(|((a, a_during), (b, b_during))| {
        let ms = a_during.1.min(b_during.1).saturating_sub(a_during.0.max(b_during.0));
        (ms >= OVERLAP_MIN_MS).then(|| (format!("{a} and {b} for {:.0} s", ms as f64 / 1e3), ms))
    });
    let together: Vec<(String, u64)> = together.collect();
    let longest_ms = together.iter().map(|(_, ms)| *ms).max()?;
    let said: Vec<&str> = together.iter().take(SAID_MAX).map(|(says, _)| says.as_str()).collect();
    let more = match together.len().saturating_sub(SAID_MAX) {
        0 => String::new(),
        more => format!(", and {more} pairs more"),
    };
    Some(Finding {
        rule: RULE.to_owned(),
        aliases: Vec::new(),
        severity: Severity::Warning,
        says: format!(
            "These runs overlapped: {}{more}. Neither came before the other, and each may have slowed the other down.",
            said.join("; ")
        ),
        evidence: vec![Evidence::new("longest overlap", longest_ms as f64 / 1e3, "s")],
        next: "Measure one after the other, unless their sum is what is asked for.".to_owned(),
        steps: Vec::new(),
    })
}
