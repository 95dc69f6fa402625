//! When a measured window has lasted long enough: a figure whose interval is tight enough, or a steady state.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::units::Nanos;

/// Shares of a figure that an interval may be asked to keep within: below, no run of any length gets there; above, it
/// says nothing.
const SHARE_MIN: f64 = 0.001;
const SHARE_MAX: f64 = 0.5;

/// What ends a measured window before its time is over.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum Goal {
    /// The 95 % interval of a figure is within a share of it on either side.
    Within(Tolerance),
    /// Five rounds in a row are steady by the criterion of SNIA's performance test specification; the last five are
    /// the result.
    Steady {
        /// Length of a round; a whole number of seconds.
        round: Nanos,
    },
    /// The sweep that this load point belongs to is repeated until the load point is steady over five rounds by the
    /// same criterion.
    SteadySweep,
}

impl Goal {
    /// Rounds in which a steady state is looked for.
    pub const ROUNDS: usize = 5;
    /// Rounds after which it is given up.
    pub const ROUNDS_MAX: u64 = 25;
    /// The shortest window whose interval is looked at: fewer seconds do not show how they depend on each other.
    pub const FIRST_LOOK: Nanos = Nanos::from_secs(20);
}

/// A figure, and how far its 95 % interval may reach on either side.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Tolerance {
    /// Which figure.
    pub figure: Figure,
    /// Half the width of its interval over its value. In [0.001, 0.5].
    pub share: f64,
}

/// A figure of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Figure {
    /// I/Os per second.
    Iops,
    /// 2^20 bytes per second.
    MibPerS,
    /// Mean latency.
    Mean,
    /// Median latency.
    P50,
    /// 90th percentile of latency.
    P90,
    /// 95th percentile.
    P95,
    /// 99th percentile.
    P99,
    /// 99.9th percentile.
    P999,
}

impl Figure {
    /// Every figure with its name.
    pub const ALL: [(&'static str, Self); 8] = [
        ("iops", Self::Iops),
        ("mib/s", Self::MibPerS),
        ("mean", Self::Mean),
        ("p50", Self::P50),
        ("p90", Self::P90),
        ("p95", Self::P95),
        ("p99", Self::P99),
        ("p99.9", Self::P999),
    ];

    /// Returns the figure of that name; upper and lower case are alike.
    pub fn named(name: &str) -> Option<Self> {
        let name = name.trim().to_ascii_lowercase();
        Self::ALL.iter().find(|(known, _)| *known == name).map(|(_, figure)| *figure)
    }

    /// Returns its name in tables.
    pub fn title(self) -> &'static str {
        match self {
            Self::Iops => "IOPS",
            Self::MibPerS => "MiB/s",
            Self::Mean => "mean latency",
            Self::P50 => "p50",
            Self::P90 => "p90",
            Self::P95 => "p95",
            Self::P99 => "p99",
            Self::P999 => "p99.9",
        }
    }

    /// Whether more of it is better.
    pub fn is_rate(self) -> bool {
        matches!(self, Self::Iops | Self::MibPerS)
    }
}

/// Why a text is no tolerance.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ToleranceError {
    /// The figure is not known.
    #[error("`{0}` is not a known figure; use one of iops, mib/s, mean, p50, p90, p95, p99 and p99.9")]
    Figure(String),
    /// The share is not a number.
    #[error("`{0}` is not a percentage; write it as 2% (of IOPS) or p99:5%")]
    Share(String),
    /// The share is too small or too large.
    #[error("`{0}` must be from 0.1% to 50%")]
    Range(String),
}

impl FromStr for Tolerance {
    type Err = ToleranceError;

    /// Reads `2%` (of IOPS) and `p99:5%`.
    fn from_str(text: &str) -> Result<Self, ToleranceError> {
        let (name, share) = text.split_once(':').unwrap_or(("iops", text));
        let figure = Figure::named(name).ok_or_else(|| ToleranceError::Figure(name.trim().to_owned()))?;
        let number = share.trim().strip_suffix('%').and_then(|number| number.trim().parse::<f64>().ok());
        let percent = number.ok_or_else(|| ToleranceError::Share(share.trim().to_owned()))?;
        let share = percent / 100.0;
        if !(SHARE_MIN..=SHARE_MAX).contains(&share) {
            return Err(ToleranceError::Range(text.trim().to_owned()));
        }
        Ok(Self { figure, share })
    }
}

impl fmt::Display for Tolerance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} within {} %", self.figure.title(), rounded(self.share * 100.0))
    }
}

fn rounded(percent: f64) -> f64 {
    (percent * 1000.0).round() / 1000.0
}

/// How often the span is written before anything is measured: `1x`, `2x`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Times(pub(crate) u32);

impl FromStr for Times {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let number = text.trim().trim_end_matches(['x', 'X']).trim();
        let times = number.parse().ok().filter(|times| (1..=10).contains(times));
        times
            .map(Self)
            .ok_or_else(|| format!("`{text}` must be from 1x to 10x: how often the span is written"))
    }
}
