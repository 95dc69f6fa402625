//! What a run shows beyond its numbers.

use assay_record::StepId;
use serde::Serialize;

/// Something a run shows.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Finding {
    /// Stable name of the rule.
    pub rule: String,
    /// How much it matters.
    pub severity: Severity,
    /// What is the matter, in full sentences with their numbers.
    pub says: String,
    /// The numbers it rests on.
    pub evidence: Vec<Evidence>,
    /// What to do next; may be empty.
    pub next: String,
    /// The steps it was found in, the plainest case first; empty where it is about the whole run.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<StepId>,
}

/// How much a finding matters, least first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// Good to know when reading the numbers.
    Info,
    /// The numbers may not mean what they seem to.
    Warning,
    /// The numbers, or the storage, must not be relied on.
    Critical,
}

impl Severity {
    /// As it stands in tables.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Info => "info",
            Self::Warning => "warning",
            Self::Critical => "critical",
        }
    }
}

/// A number a finding rests on.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Evidence {
    /// What it is.
    pub label: String,
    /// How much; always finite.
    pub value: f64,
    /// Of what; empty for a plain count.
    pub unit: String,
}

impl Evidence {
    /// Such a number; what is not finite becomes 0.
    #[must_use]
    pub fn new(label: &str, value: f64, unit: &str) -> Self {
        let value = if value.is_finite() { value } else { 0.0 };
        Self { label: label.to_owned(), value, unit: unit.to_owned() }
    }
}
