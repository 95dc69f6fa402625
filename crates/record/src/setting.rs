//! Context of a run: repetitions, a journal, a price, the limits of the tester, the hosts that did it together.

use serde::{Deserialize, Serialize};

use crate::fleet::FleetHost;
use crate::step_id::StepId;

/// Largest length of a currency, characters: codes have three letters; words such as `dollars` are longer.
const CURRENCY_CHARS_MAX: usize = 8;

/// Context of a run; any part may be absent.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct RunSetting {
    /// Position among repetitions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repetition: Option<Repetition>,
    /// Step of a journal that the run measures.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub journal: Option<JournalStep>,
    /// Price of the targets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub price: Option<Price>,
    /// Rate of the tester on a target that costs nothing, for each load of the plan.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub null_ceilings: Vec<NullCeiling>,
    /// Hosts that did the run together, in the order of the plan's jobs; empty for a run of one host.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<FleetHost>,
}

impl RunSetting {
    /// Returns true if every part is absent.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// Position of a run among repetitions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Repetition {
    /// Id of the first run of the group.
    pub group: String,
    /// Index of the side in the alternating order, from 0.
    pub side: u32,
    /// Number of the repetition on its side, from 1.
    pub number: u32,
    /// Number of repetitions requested.
    pub of: u32,
}

/// A step of a journal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct JournalStep {
    /// Name of the journal.
    pub journal: String,
    /// Change made before the run, as described by the user.
    pub change: String,
}

/// An amount of money.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Price {
    /// Amount, greater than zero.
    pub amount: f64,
    /// Currency as typed: `EUR`.
    pub currency: String,
}

impl std::str::FromStr for Price {
    type Err = String;

    /// Parses `5500EUR`, `5500 EUR` and `EUR 5500`.
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

/// Rate of the tester with the load of a step on a target that costs nothing.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct NullCeiling {
    /// The step.
    pub step: StepId,
    /// Number of I/Os per second.
    pub iops: f64,
}
