//! What surrounds a run: repetitions, a journal, a price, the limits of the tester.

use serde::{Deserialize, Serialize};

use crate::step_id::StepId;

/// Codes of currencies have three letters; words like `dollars` are longer.
const CURRENCY_CHARS_MAX: usize = 8;

/// What surrounds a run; everything in it may be absent.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct RunSetting {
    /// Its place among repetitions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repetition: Option<Repetition>,
    /// The step of a journal that it measures.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub journal: Option<JournalStep>,
    /// What the targets cost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub price: Option<Price>,
    /// What the tester reaches on a target that costs nothing, for each load of the plan.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub null_ceilings: Vec<NullCeiling>,
}

impl RunSetting {
    /// Whether nothing is in it.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// The place of a run among repetitions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Repetition {
    /// Id of the first run of the group.
    pub group: String,
    /// Which of the sides that take turns, from 0.
    pub side: u32,
    /// Which repetition of its side, from 1.
    pub number: u32,
    /// Number of repetitions asked for.
    pub of: u32,
}

/// A step of a journal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct JournalStep {
    /// Name of the journal.
    pub journal: String,
    /// What was changed before the run, in the words of whoever changed it.
    pub change: String,
}

/// An amount of money.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Price {
    /// How much. More than zero.
    pub amount: f64,
    /// In which currency, as typed: `EUR`.
    pub currency: String,
}

impl std::str::FromStr for Price {
    type Err = String;

    /// Reads `5500EUR`, `5500 EUR` and `EUR 5500`.
    fn from_str(text: &str) -> Result<Self, String> {
        let says = || format!("`{text}` is not a price; write it as 5500EUR or 1299.90 USD");
        let text = text.trim();
        let is_number = |c: char| c.is_ascii_digit() || c == '.';
        let (number, word) = match text.starts_with(is_number) {
            true => text.split_at(text.find(|c| !is_number(c)).ok_or_else(says)?),
            false => text.split_at(text.find(is_number).ok_or_else(says)?),
        };
        let (number, word) = if text.starts_with(is_number) { (number, word) } else { (word, number) };
        let currency = word.trim().to_owned();
        let amount: f64 = number.parse().map_err(|_| says())?;
        let is_word = !currency.is_empty() && currency.chars().count() <= CURRENCY_CHARS_MAX;
        let is_clean = currency.chars().all(|c| c.is_alphabetic() || "$€£¥".contains(c));
        (amount > 0.0 && amount.is_finite() && is_word && is_clean)
            .then_some(Self { amount, currency })
            .ok_or_else(says)
    }
}

impl std::fmt::Display for Price {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.amount, self.currency)
    }
}

/// What the tester reaches with the load of a step on a target that costs nothing.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct NullCeiling {
    /// Which step.
    pub step: StepId,
    /// I/Os per second.
    pub iops: f64,
}
