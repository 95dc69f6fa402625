//! Two maps of the same target.

use serde::Serialize;

use crate::chance::{CHANCE_MAX, corrected};
use crate::map::{Cell, SurfaceMap};

/// A cell changed if its latency did by this factor at least.
const TIMES_MIN: f64 = 1.3;

/// A cell whose latency changed against that of the whole.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Changed {
    /// Where it begins, bytes.
    pub from_bytes: u64,
    /// Where it ends, bytes.
    pub to_bytes: u64,
    /// Its latency now over that before, apart from what all cells changed by.
    pub times: f64,
}

/// What changed between two maps.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Comparison {
    /// When the earlier map was made, ms since 1970 UTC, if it says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before_unix_ms: Option<u64>,
    /// The latency of the median cell now over that before.
    pub times_all: f64,
    /// Cells that changed more, by more than chance explains; in order of address.
    pub changed: Vec<Changed>,
}

/// Compares a map with an earlier one. `None` if they are of different sizes, so that their cells are not the same
/// places.
pub fn compare(before: &SurfaceMap, now: &SurfaceMap) -> Option<Comparison> {
    if (before.size_bytes, before.cells.len()) != (now.size_bytes, now.cells.len()) {
        return None;
    }
    let is_known = |cell: &Cell| cell.log_error.is_some();
    let pairs: Vec<(&Cell, &Cell)> =
        before.cells.iter().zip(&now.cells).filter(|(a, b)| is_known(a) && is_known(b)).collect();
    let shifts: Vec<f64> = pairs.iter().map(|(a, b)| b.log_mean - a.log_mean).collect();
    let all = assay_statistics::median(&shifts);
    let changed = pairs.iter().zip(&shifts).filter_map(|((a, b), shift)| {
        let error = a.log_error?.hypot(b.log_error?).max(f64::MIN_POSITIVE);
        let by = shift - all;
        let is_real = corrected(by.abs() / error, 2 * pairs.len()) < CHANCE_MAX && by.abs() > TIMES_MIN.ln();
        is_real.then_some(Changed { from_bytes: b.from_bytes, to_bytes: b.to_bytes, times: by.exp() })
    });
    Some(Comparison { before_unix_ms: before.made_unix_ms, times_all: all.exp(), changed: changed.collect() })
}
