//! Where in a target I/Os go: the part of it that a job uses, and how random positions are spread over that part.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::units::{Bytes, UnitError};

/// A part of something that is as large as a target turns out to be: "4GiB" or "25%".
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Extent {
    /// So many bytes.
    Bytes(Bytes),
    /// A share of the whole, percent. In [0, 100].
    Percent(f64),
}

impl Default for Extent {
    fn default() -> Self {
        Self::Bytes(Bytes(0))
    }
}

impl Extent {
    /// Returns the bytes of this part of `whole`, rounded to the nearest.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "at most the whole, which is below 2^63"
    )]
    #[inline]
    pub fn of(self, whole: u64) -> u64 {
        match self {
            Self::Bytes(bytes) => bytes.0,
            Self::Percent(percent) => (whole as f64 * (percent / 100.0)).round() as u64,
        }
    }
}

impl FromStr for Extent {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let Some(number) = text.trim().strip_suffix('%') else {
            return text.parse().map(Self::Bytes).map_err(|error: UnitError| error.to_string());
        };
        let percent = number.trim().parse::<f64>().ok().filter(|percent| (0.0..=100.0).contains(percent));
        percent.map(Self::Percent).ok_or_else(|| format!("`{text}` must be from 0% to 100%"))
    }
}

impl fmt::Display for Extent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bytes(bytes) => bytes.fmt(f),
            Self::Percent(percent) => write!(f, "{percent}%"),
        }
    }
}

/// The part of each target that a job uses.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Window {
    /// Where it begins, from the start of the target.
    pub offset: Extent,
    /// Its length; `None`: to the end.
    pub size: Option<Extent>,
}

impl Window {
    /// Everything.
    pub const WHOLE: Self = Self { offset: Extent::Bytes(Bytes(0)), size: None };

    /// Returns first and last byte (exclusive) in a target of `span` bytes; the end may lie beyond the span.
    #[inline]
    pub fn of(self, span: u64) -> std::ops::Range<u64> {
        let start = self.offset.of(span);
        let end = self.size.map_or(span.max(start), |size| start.saturating_add(size.of(span)));
        // Two shares that sum to 100 % may be rounded up to a byte more.
        let is_rounded = match (self.offset, self.size) {
            (Extent::Percent(from), Some(Extent::Percent(length))) => from + length <= 100.0,
            _ => false,
        };
        start..if is_rounded { end.min(span) } else { end }
    }

    /// Returns true if it is everything.
    pub fn is_whole(&self) -> bool {
        *self == Self::WHOLE
    }
}

/// Stripes of a window: I/Os stay in one until so many bytes have been moved, then go on in the next (fio semantics).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Strides {
    /// Bytes moved in a stripe. At least 1.
    pub bytes: Bytes,
    /// Length of a stripe, bytes. At least 1.
    pub length: Bytes,
    /// What is left out between two stripes, bytes.
    pub skip: Bytes,
}

impl fmt::Display for Strides {
    /// `2GiB, then 30GiB left out`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.bytes != self.length {
            write!(f, "{} in ", self.bytes)?;
        }
        write!(f, "{}, then {} left out", self.length, self.skip)
    }
}

/// The smallest zone of random writes: a worker keeps two numbers for each.
pub const ZONE_BYTES_MIN: Bytes = Bytes(1 << 20);

/// Zones of a window that are written from their beginnings: where a write would go decides its zone only (fio
/// semantics).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Zoned {
    /// Bytes of a zone. At least 1.
    pub bytes: Bytes,
    /// How many may be open at once; 0: all.
    #[serde(default)]
    pub open: u32,
}

impl fmt::Display for Zoned {
    /// `zones of 256MiB, 32 open`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "zones of {}", self.bytes)?;
        if self.open > 0 { write!(f, ", {} open", self.open) } else { Ok(()) }
    }
}

impl Default for Window {
    fn default() -> Self {
        Self::WHOLE
    }
}

impl fmt::Display for Window {
    /// `1GiB from 50%`, `all from 1GiB`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.size {
            Some(size) => write!(f, "{size} from {}", self.offset),
            None => write!(f, "all from {}", self.offset),
        }
    }
}

/// How the random positions of an access line are spread over the places where its I/Os may begin. docs/method.md,
/// "Random positions", has the formulas.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Distribution {
    /// Evenly.
    #[default]
    Uniform,
    /// The k-th hottest place gets 1/k^theta of the hottest one's I/Os. Theta in (0, 10], not 1.
    Zipf(f64),
    /// A share 1-h of the I/Os goes to a share h of the places, and so on within these. In (0, 1).
    Pareto(f64),
    /// Around the middle with this standard deviation, percent of the part used. In (0, 100].
    Normal(f64),
    /// Evenly within each of several zones, which follow one another from the start. Shares sum to 100.
    Zones(Vec<Zone>),
}

/// A part of a target with a share of the I/Os.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Zone {
    /// Share of the random I/Os, percent. In [0, 100].
    pub share: f64,
    /// How large it is.
    pub size: Extent,
}

impl Distribution {
    /// The most zones of an access line.
    pub const ZONES_MAX: usize = 256;

    /// Returns true if all places are equally likely.
    #[inline]
    pub fn is_uniform(&self) -> bool {
        *self == Self::Uniform
    }

    /// Returns true if the bytes of its zones are given and need more than `bytes`.
    pub fn exceeds(&self, bytes: u64) -> bool {
        let Self::Zones(zones) = self else { return false };
        let needed = zones.iter().fold(0, |sum: u64, zone| sum.saturating_add(zone.size.of(bytes)));
        // Shares are rounded to a byte each.
        needed > bytes.saturating_add(zones.len() as u64)
    }
}

impl fmt::Display for Distribution {
    /// `zipf 1.2`, `60 % in 10%, 40 % in 90%`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Uniform => f.write_str("uniform"),
            Self::Zipf(theta) => write!(f, "zipf {theta}"),
            Self::Pareto(h) => write!(f, "pareto {h}"),
            Self::Normal(deviation) => write!(f, "normal, deviation {deviation} %"),
            Self::Zones(zones) => {
                for (index, zone) in zones.iter().enumerate() {
                    let comma = if index == 0 { "" } else { ", " };
                    write!(f, "{comma}{} % in {}", zone.share, zone.size)?;
                }
                Ok(())
            }
        }
    }
}
