//! Findings: observations about a run beyond its numbers.

pub use assay_record::Severity;
use assay_record::StepId;
use serde::Serialize;

/// An observation about a run, with its evidence and the next step.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Finding {
    /// Stable name of the rule.
    pub rule: String,
    /// Names that earlier releases gave the rule.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub aliases: Vec<String>,
    /// How much it matters.
    pub severity: Severity,
    /// The observation and what it means, in full sentences with their numbers.
    pub says: String,
    /// The numbers that support it.
    pub evidence: Vec<Evidence>,
    /// What to do next; may be empty.
    pub next: String,
    /// The steps it was found in, the plainest case first; empty where it is about the whole run.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<StepId>,
}

/// A number that supports a finding.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Evidence {
    /// Its name.
    pub label: String,
    /// Its value; always finite.
    pub value: f64,
    /// Its unit; empty for a plain count.
    pub unit: String,
}

impl Evidence {
    /// Returns a piece of evidence; values that are not finite become 0.
    pub fn new(label: &str, value: f64, unit: &str) -> Self {
        let value = if value.is_finite() { value } else { 0.0 };
        Self { label: label.to_owned(), value, unit: unit.to_owned() }
    }
}

/// Returns the text up to the first full stop that a new sentence follows.
pub fn first_sentence(says: &str) -> &str {
    let mut ends = says.match_indices(". ").map(|(at, _)| at);
    let is_end = |at: &usize| says[at + 2..].starts_with(|c: char| c.is_uppercase());
    ends.find(is_end).map_or(says, |at| &says[..=at])
}
