//! Numbers with their range and where they come from.
//!
//! No number of an array is better than its source. A [`Quantity`] therefore carries the value, the range
//! in which the truth is believed to lie, and its [`Provenance`]; a prediction is made at the slow, the
//! nominal and the fast [`Corner`] of all ranges and is never a single number.

use serde::Serialize;
use std::fmt;

/// Where a number comes from, with a few words of detail ("xbitlabs 2010", "run 01J…").
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Provenance {
    /// A data sheet or a published specification.
    Sheet(String),
    /// Measured directly on the device in question.
    Measured(String),
    /// Fitted to the measurements of a run.
    Calibrated(String),
    /// A class value, because no sheet was found.
    Assumed(String),
}

impl Provenance {
    /// The words a file may use, in the order of messages.
    pub const WORDS: [&'static str; 4] = ["sheet", "measured", "calibrated", "assumed"];

    /// Reads `sheet`, `sheet: detail`, `calibrated: run 7`, …; `None` when the first word is none of those.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let (word, detail) = text.split_once(':').unwrap_or((text, ""));
        let detail = detail.trim().to_owned();
        match word.trim() {
            "sheet" => Some(Self::Sheet(detail)),
            "measured" => Some(Self::Measured(detail)),
            "calibrated" => Some(Self::Calibrated(detail)),
            "assumed" => Some(Self::Assumed(detail)),
            _ => None,
        }
    }
}

impl fmt::Display for Provenance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (word, detail) = match self {
            Self::Sheet(detail) => ("sheet", detail),
            Self::Measured(detail) => ("measured", detail),
            Self::Calibrated(detail) => ("calibrated", detail),
            Self::Assumed(detail) => ("assumed", detail),
        };
        if detail.is_empty() { f.write_str(word) } else { write!(f, "{word}: {detail}") }
    }
}

/// Which end of every range a prediction is made at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Corner {
    /// Every number at the end that makes the array slower.
    Slow,
    /// Every number at its value.
    Nominal,
    /// Every number at the end that makes the array faster.
    Fast,
}

impl Corner {
    /// All corners, slow first.
    pub const ALL: [Self; 3] = [Self::Slow, Self::Nominal, Self::Fast];
}

/// One of three values, at a corner.
pub(crate) const fn at_corner([slow, nominal, fast]: [f64; 3], corner: Corner) -> f64 {
    match corner {
        Corner::Slow => slow,
        Corner::Nominal => nominal,
        Corner::Fast => fast,
    }
}

/// A number with its range and provenance. `lo <= value <= hi` always holds.
#[derive(Debug, Clone, PartialEq)]
pub struct Quantity {
    /// The best single value, in the unit the field's name ends with.
    pub value: f64,
    /// The lowest value that would not surprise.
    pub lo: f64,
    /// The highest value that would not surprise.
    pub hi: f64,
    /// Where it comes from.
    pub from: Provenance,
}

impl Quantity {
    /// A number without a range.
    #[must_use]
    pub fn exact(value: f64, from: Provenance) -> Self {
        Self { value, lo: value, hi: value, from }
    }

    /// A class value that stands in until a file says better.
    #[must_use]
    pub fn assumed(value: f64) -> Self {
        Self::exact(value, Provenance::Assumed("default".to_owned()))
    }

    /// The value at a corner, for a number that makes the array faster when it grows (a rate).
    #[must_use]
    pub fn rate_at(&self, corner: Corner) -> f64 {
        match corner {
            Corner::Slow => self.lo,
            Corner::Nominal => self.value,
            Corner::Fast => self.hi,
        }
    }

    /// The value at a corner, for a number that makes the array slower when it grows (a time).
    #[must_use]
    pub(crate) fn cost_at(&self, corner: Corner) -> f64 {
        match corner {
            Corner::Slow => self.hi,
            Corner::Nominal => self.value,
            Corner::Fast => self.lo,
        }
    }
}

/// A predicted number: nominal, and the ends reached when every input is at the end of its range.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Bounds {
    /// The lower end.
    pub lo: f64,
    /// The nominal prediction.
    pub value: f64,
    /// The upper end.
    pub hi: f64,
}

impl Bounds {
    /// A number without a range.
    #[must_use]
    pub fn exact(value: f64) -> Self {
        Self { lo: value, value, hi: value }
    }

    /// The interval that holds all three numbers, in whatever order the ends come.
    #[must_use]
    pub fn spanning(value: f64, ends: [f64; 2]) -> Self {
        Self { lo: value.min(ends[0]).min(ends[1]), value, hi: value.max(ends[0]).max(ends[1]) }
    }

    /// The interval that also holds `other`; the nominal value stays.
    #[must_use]
    pub fn with(self, other: Self) -> Self {
        Self { lo: self.lo.min(other.lo), value: self.value, hi: self.hi.max(other.hi) }
    }

    /// The interval without what lies above `most`; the nominal value stays.
    #[must_use]
    pub fn at_most(self, most: f64) -> Self {
        Self { hi: self.hi.min(most.max(self.value)), ..self }
    }

    /// The interval times a positive factor.
    #[must_use]
    pub fn scaled(self, factor: f64) -> Self {
        Self { lo: self.lo * factor, value: self.value * factor, hi: self.hi * factor }
    }
}
