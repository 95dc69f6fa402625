//! Effects of changes: overrides as rows with their gain, and sweeps with their knee.

use serde::Serialize;
use thiserror::Error;

use crate::array::{Array, SetError, set};
use crate::predict::{Engines, Prediction, predict};
use crate::resolved::{Software, Tables};
use crate::workload::Workload;

/// Points a sweep may have.
const SWEEP_POINTS_MAX: u32 = 4096;
/// Number of points up to which each point of a sweep is simulated, and of I/Os for each.
const SIMULATED_POINTS_MAX: usize = 64;
const SIMULATED_IOS: u64 = 30_000;
/// A step pays while it brings at least this fraction of a proportional gain.
const PAYS_ABOVE: f64 = 0.2;
/// A change below this is none.
const NO_CHANGE: f64 = 0.01;

/// One change and what it brings.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct WhatIf {
    /// The override as written: `raid=10`.
    pub change: String,
    /// The expectation with the change.
    pub prediction: Prediction,
    /// The rate that is printed over that of the unchanged array: of a bound, its end.
    pub gain: f64,
    /// One sentence.
    pub says: String,
}

/// Why a sweep was refused.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum SweepError {
    /// Not of the form `field=from..to`.
    #[error("`{0}` is not a sweep; write disks=4..48, or disks=4..48/4 for every fourth value")]
    Form(String),
    /// From more to less, or from a value to itself.
    #[error(
        "`{text}` runs from {from} to {to}: a sweep runs upwards, like {field}={}..{}; one value alone is --with \
         {field}={from}",
        from.min(to),
        if from == to { to.saturating_mul(2) } else { *from.max(to) }
    )]
    Reversed {
        /// As it was written.
        text: String,
        /// The field.
        field: String,
        /// Where it begins.
        from: u32,
        /// Where it ends.
        to: u32,
    },
    /// Too many points.
    #[error("a sweep of {0} points is too long; give a step: disks=4..48/4")]
    TooLong(u64),
    /// No point of it is an array that can exist.
    #[error("no value of the sweep gives a possible array: {0}")]
    Nothing(SetError),
}

/// A sweep of one field.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Sweep {
    /// The field.
    pub field: String,
    /// Value and expectation; values that give impossible arrays are left out.
    pub points: Vec<(f64, Prediction)>,
    /// The last value that still paid, when the curve flattens within the sweep.
    pub knee: Option<f64>,
    /// One sentence: where the curve flattens, and why.
    pub says: String,
}

/// Predicts the workload with each change applied to the array by itself.
///
/// # Errors
/// The first override that does not fit the array.
pub fn what_if(
    array: &Array,
    workload: &Workload,
    changes: &[&str],
    engines: Engines,
    tables: &mut Tables,
) -> Result<Vec<WhatIf>, SetError> {
    let before = predict(array, workload, engines, tables);
    changes
        .iter()
        .map(|change| {
            let mut changed = array.clone();
            set(&mut changed, change)?;
            let prediction = predict(&changed, workload, engines, tables);
            let gain = printed(&prediction) / printed(&before);
            let says = sentence(change, gain, &before, &prediction);
            Ok(WhatIf { change: (*change).to_owned(), prediction, gain, says })
        })
        .collect()
}

/// The rate that is printed, so that a reader who divides two of them gets the gain.
fn printed(p: &Prediction) -> f64 {
    match p.software {
        Software::Unknown => p.iops.hi,
        Software::None | Software::Known => p.iops.value,
    }
}

fn sentence(change: &str, gain: f64, before: &Prediction, after: &Prediction) -> String {
    let limit = before.limit_name();
    if (gain - 1.0).abs() < NO_CHANGE {
        return format!("{change} changes nothing: the bottleneck is {limit}, before and after");
    }
    let percent = (gain - 1.0) * 100.0;
    let now = after.limit_name();
    let word = if gain > 1.0 { "gains" } else { "costs" };
    let size = if gain >= 2.0 { format!("a factor of {gain:.1}") } else { format!("{:.0} %", percent.abs()) };
    if before.limit == after.limit {
        format!("{change} {word} {size}; still limited by {now}")
    } else {
        format!("{change} {word} {size}; the bottleneck moves from {limit} to {now}")
    }
}

/// Predicts the workload for a range of one field: `disks=4..48`, or `disks=4..48/4` for every fourth.
///
/// # Errors
/// See [`SweepError`].
pub fn sweep(
    array: &Array,
    workload: &Workload,
    text: &str,
    tables: &mut Tables,
) -> Result<Sweep, SweepError> {
    let (field, values) = parse_sweep(text)?;
    let engines = match values.len() {
        0..=SIMULATED_POINTS_MAX => Engines::Simulated { seeds: 1, max_ios: SIMULATED_IOS },
        _ => Engines::Closed,
    };
    let mut points = Vec::new();
    let mut refused = None;
    for value in values {
        let mut changed = array.clone();
        match set(&mut changed, &format!("{field}={value}")) {
            Ok(()) => points.push((f64::from(value), predict(&changed, workload, engines, tables))),
            Err(error) => refused = Some(error),
        }
    }
    if let (true, Some(error)) = (points.is_empty(), refused) {
        return Err(SweepError::Nothing(error));
    }
    let knee = knee(&points);
    let says = match (knee.and_then(|k| points.iter().find(|(v, _)| *v > k)), knee) {
        (Some((_, beyond)), Some(k)) if points.first().is_some_and(|(v, _)| *v == k) => {
            format!(
                "raising {field} beyond {k} has no effect: the load is limited by {}",
                beyond.limit_name()
            )
        }
        (Some((_, beyond)), Some(k)) => {
            format!(
                "raising {field} helps up to {k}; beyond it the load is limited by {}",
                beyond.limit_name()
            )
        }
        _ => format!("raising {field} helps over the whole range"),
    };
    Ok(Sweep { field, points, knee, says })
}

fn parse_sweep(text: &str) -> Result<(String, Vec<u32>), SweepError> {
    let form = || SweepError::Form(text.to_owned());
    let (field, range) = text.split_once('=').ok_or_else(form)?;
    let (from, rest) = range.split_once("..").ok_or_else(form)?;
    let (to, step) = rest.split_once('/').unwrap_or((rest, "1"));
    let number = |s: &str| s.trim().parse::<u32>().map_err(|_| form());
    let (from, to, step) = (number(from)?, number(to)?, number(step)?.max(1));
    if from >= to {
        return Err(SweepError::Reversed { text: text.to_owned(), field: field.trim().to_owned(), from, to });
    }
    let points = (to - from) / step + 1;
    if points > SWEEP_POINTS_MAX {
        return Err(SweepError::TooLong(u64::from(points)));
    }
    Ok((field.trim().to_owned(), (0..points).map(|i| from + i * step).collect()))
}

/// The first value from which growing by half brings less than [`PAYS_ABOVE`] of what it costs:
/// `ln(X_j / X_i) < 0.2 ln(v_j / v_i)` with j the first point at 1.5 times the value or more.
fn knee(points: &[(f64, Prediction)]) -> Option<f64> {
    points.iter().find_map(|(value, p)| {
        let (further, next) = points.iter().find(|(v, _)| *v >= value * 1.5)?;
        let flat = (next.iops.value / p.iops.value).ln() < PAYS_ABOVE * (further / value).ln();
        flat.then_some(*value)
    })
}
