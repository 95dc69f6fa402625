//! An absolute limit on a figure: `p99 > 20ms`, `RealLife: iops < 5000`, `errors > 0`.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::goal::Figure;
use crate::units::{Nanos, PerSecond};

/// A limit, and the tests that it is about.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Threshold {
    /// A test by its name in the table, or a part of that; `None`: every test.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub test: Option<String>,
    /// The limited quantity.
    pub quantity: Quantity,
    /// The side of the limit on which values exceed it.
    pub side: Side,
    /// The limit in the unit of its quantity: I/Os per second, MiB/s, µs, or failed I/Os.
    pub value: f64,
}

/// A quantity that can be limited.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Quantity {
    /// A figure of the result table.
    Figure(Figure),
    /// Number of failed I/Os.
    Errors,
}

/// A side of a limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Side {
    /// Greater values exceed the limit.
    Above,
    /// Smaller values exceed it.
    Below,
}

/// Why a text is no threshold.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ThresholdError {
    /// It has neither `>` nor `<`.
    #[error(
        "`{0}` is not a limit; write a figure, > or <, and a value, like \"p99 > 20ms\" or \"RealLife: iops < 5000\""
    )]
    Form(String),
    /// The quantity is not known.
    #[error(
        "`{}` cannot be limited{}; choose from iops, mib/s, mean, p50, p90, p95, p99, p99.9 and errors",
        .0,
        called_here(.0)
    )]
    Quantity(String),
    /// It has several conditions.
    #[error("`{0}` is more than one limit; give each its own --fail-if, or its own [[limit]] of a plan")]
    Several(String),
    /// The value has no meaning for the quantity.
    #[error("`{value}` is no limit of {quantity}; {example}")]
    Value {
        /// As written.
        value: String,
        /// Name of the quantity.
        quantity: &'static str,
        /// How to write one.
        example: &'static str,
    },
}

impl Quantity {
    /// Returns its name in tables.
    pub fn title(self) -> &'static str {
        match self {
            Self::Figure(figure) => figure.title(),
            Self::Errors => "errors",
        }
    }

    fn named(name: &str) -> Option<Self> {
        match name.trim().to_ascii_lowercase().as_str() {
            "errors" | "error" => Some(Self::Errors),
            name => Figure::named(name).map(Self::Figure),
        }
    }

    /// Reads a value in the unit of the quantity.
    fn value(self, text: &str) -> Result<f64, ThresholdError> {
        let text = text.trim();
        let (value, example) = match self {
            Self::Errors => (text.parse::<u32>().ok().map(f64::from), "write a whole number"),
            Self::Figure(Figure::Iops) => {
                (text.parse::<PerSecond>().ok().map(|rate| rate.0), "write a rate, for example 5000 or 5k")
            }
            Self::Figure(Figure::MibPerS) => (throughput(text), "write MiB/s, for example 100, or 100 MB/s"),
            Self::Figure(_) => (latency_us(text), "write a time with its unit, for example 20ms or 800us"),
        };
        let value = value.filter(|value| value.is_finite() && *value >= 0.0);
        let example = match text.ends_with('%') {
            true => "a change against the baseline has a sign and no > or <, for example \"p99 +10%\"",
            false => example,
        };
        value.ok_or(ThresholdError::Value { value: text.to_owned(), quantity: self.title(), example })
    }
}

/// Reads MiB/s, where no unit means that, and MB/s.
fn throughput(text: &str) -> Option<f64> {
    let lower = text.to_ascii_lowercase();
    let (number, factor) = match lower.strip_suffix("mb/s") {
        Some(number) => (number, 1e6 / f64::from(1 << 20)),
        None => (lower.strip_suffix("mib/s").unwrap_or(&lower), 1.0),
    };
    number.trim().parse::<f64>().ok().map(|number| number * factor)
}

/// Reads a time as µs. A number without a unit could be any.
fn latency_us(text: &str) -> Option<f64> {
    let has_unit = text.ends_with(|last: char| last.is_alphabetic());
    has_unit.then(|| text.parse::<Nanos>().ok()).flatten().map(|time| time.0 as f64 / 1e3)
}

impl FromStr for Threshold {
    type Err = ThresholdError;

    /// Reads `p99 > 20ms` and `RealLife: iops < 5000`. Names of tests may contain every sign but these.
    fn from_str(text: &str) -> Result<Self, ThresholdError> {
        let form = || ThresholdError::Form(text.trim().to_owned());
        let at = text.rfind(['<', '>']).ok_or_else(form)?;
        let side = if text[at..].starts_with('>') { Side::Above } else { Side::Below };
        let (left, value) = (&text[..at], &text[at + 1..]);
        let (value, reaches) = value.strip_prefix('=').map_or((value, false), |value| (value, true));
        let (test, name) = match left.rsplit_once(':') {
            Some((test, name)) => (Some(test.trim().to_owned()), name),
            None => (None, left),
        };
        if name.trim().is_empty() || test.as_ref().is_some_and(String::is_empty) {
            return Err(form());
        }
        if name.contains(['<', '>']) {
            return Err(ThresholdError::Several(text.trim().to_owned()));
        }
        let quantity =
            Quantity::named(name).ok_or_else(|| ThresholdError::Quantity(name.trim().to_owned()))?;
        let limit = Self { test, quantity, side, value: quantity.value(value)? };
        if reaches { limit.reached() } else { Ok(limit) }
    }
}

/// Returns which of some steps a limit of `part` is about, by the names of their tests and their own: those that are
/// called so in full, else those with it as a part.
pub fn meant<'n>(part: Option<&str>, steps: impl Iterator<Item = (&'n str, String)>) -> Vec<usize> {
    let Some(part) = part.map(str::to_lowercase) else {
        return steps.enumerate().map(|(at, _)| at).collect();
    };
    let names: Vec<(String, String)> =
        steps.map(|(test, step)| (test.to_lowercase(), step.to_lowercase())).collect();
    let those = |is_meant: &dyn Fn(&(String, String)) -> bool| -> Vec<usize> {
        names.iter().enumerate().filter(|(_, name)| is_meant(name)).map(|(at, _)| at).collect()
    };
    let whole = those(&|(test, step)| *test == part || *step == part);
    if whole.is_empty() { those(&|(_, step)| step.contains(&part)) } else { whole }
}

impl Threshold {
    /// The limit that `>=` and `<=` mean. What a measured figure is, to the last digit, decides nothing; errors are
    /// counted.
    fn reached(self) -> Result<Self, ThresholdError> {
        let by = match (self.quantity, self.side) {
            (Quantity::Figure(_), _) => 0.0,
            (Quantity::Errors, Side::Above) => -1.0,
            (Quantity::Errors, Side::Below) => 1.0,
        };
        let value = self.value + by;
        let example = "every run has that many; errors > 0 fails one that has any";
        let says =
            || ThresholdError::Value { value: "0".to_owned(), quantity: self.quantity.title(), example };
        if value < 0.0 { Err(says()) } else { Ok(Self { value, ..self }) }
    }

    /// Whether good results are beyond the limit, as nobody means who has a slow target in mind.
    pub fn fails_the_better(&self) -> bool {
        let is_more_better = matches!(self.quantity, Quantity::Figure(Figure::Iops | Figure::MibPerS));
        (self.side == Side::Above) == is_more_better
    }
}

impl fmt::Display for Threshold {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(test) = &self.test {
            write!(f, "{test}: ")?;
        }
        let side = if self.side == Side::Above { '>' } else { '<' };
        write!(f, "{} {side} {}", self.quantity.title(), self.quantity.written(self.value))
    }
}

impl Quantity {
    /// Returns a value with the unit of the quantity.
    pub fn written(self, value: f64) -> String {
        let short = |value: f64| format!("{}", (value * 1e3).round() / 1e3);
        match self {
            Self::Errors => format!("{value:.0}"),
            Self::Figure(Figure::Iops) if value >= 1e3 => with_separators(value),
            Self::Figure(Figure::Iops) => short((value * 10.0).round() / 10.0),
            Self::Figure(Figure::MibPerS) => format!("{} MiB/s", short((value * 10.0).round() / 10.0)),
            Self::Figure(_) if value >= 1e6 => format!("{} s", short(value / 1e6)),
            Self::Figure(_) if value >= 1e3 => format!("{} ms", short(value / 1e3)),
            Self::Figure(_) => format!("{} µs", short(value)),
        }
    }
}

/// What a figure is called here that another tool has under this name; empty where none does.
fn called_here(name: &str) -> &'static str {
    match name.to_lowercase().as_str() {
        "latency" | "lat" | "clat" | "avg" | "average" | "response" => ": write mean, or p99",
        "bw" | "bandwidth" | "throughput" | "mb/s" | "mbps" => ": write mib/s",
        "io/s" | "ops" | "rate" => ": write iops",
        _ => "",
    }
}

/// A whole number with its thousands separated: `37,720`.
fn with_separators(value: f64) -> String {
    let digits = format!("{value:.0}");
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at) % 3 == 0 {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<String, String> {
        text.parse::<Threshold>().map(|of| of.to_string()).map_err(|error| error.to_string())
    }

    #[test]
    fn limits_are_read_with_units_and_names_of_tests() {
        for (text, expected) in [
            ("p99 > 20ms", "p99 > 20 ms"),
            ("p99.9>1500us", "p99.9 > 1.5 ms"),
            ("iops < 5k", "IOPS < 5,000"),
            ("p99 >= 20ms", "p99 > 20 ms"),
            ("mib/s < 100", "MiB/s < 100 MiB/s"),
            ("MiB/s < 104.8576 MB/s", "MiB/s < 100 MiB/s"),
            ("errors > 0", "errors > 0"),
            ("errors >= 1", "errors > 0"),
            ("errors <= 3", "errors < 4"),
            ("RealLife: mean > 2s", "RealLife: mean latency > 2 s"),
            ("a: b > c: iops < 1", "a: b > c: IOPS < 1"),
        ] {
            assert_eq!(read(text).as_deref(), Ok(expected), "{text}");
        }
    }

    #[test]
    fn a_full_name_means_that_test_alone() {
        let names = [("Random", "Random"), ("Random 8k", "Random 8k size=4KiB"), ("Log", "Log")];
        let of = |part| meant(part, names.iter().map(|(test, step)| (*test, (*step).to_owned())));
        assert_eq!(of(Some("random")), [0]);
        assert_eq!(of(Some("rand")), [0, 1]);
        assert_eq!(of(Some("size=4kib")), [1]);
        assert_eq!(of(Some("nothing")), Vec::<usize>::new());
        assert_eq!(of(None), [0, 1, 2]);
    }

    #[test]
    fn what_is_no_limit_is_answered_with_how_to_write_one() {
        for (text, words) in [
            ("p99", "write a figure, > or <, and a value"),
            (": p99 > 1ms", "write a figure"),
            ("p42 > 1ms", "`p42` cannot be limited; choose from iops"),
            ("latency > 1ms", "`latency` cannot be limited: write mean, or p99; choose"),
            ("bw < 100M", "`bw` cannot be limited: write mib/s; choose"),
            ("errors >= 0", "every run has that many"),
            ("errors >== 1", "write a whole number"),
            ("p99 > 20", "`20` is no limit of p99; write a time with its unit"),
            ("p99 > 10%", "a change against the baseline has a sign"),
            ("p99 > 20ms and iops < 100", "more than one limit; give each its own --fail-if"),
            ("errors > -1", "a whole number"),
            ("iops < many", "write a rate"),
        ] {
            let error = read(text).unwrap_err();
            assert!(error.contains(words), "{text}: {error}");
        }
    }
}
