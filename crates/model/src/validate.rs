//! Validation in the open: every published row that can be modelled, predicted and measured side by side.
//!
//! Two columns of evidence. *Data sheets only*: software costs are removed from the array, so that the ratio is
//! 1 where hardware limits and large where software does. *After calibration*: fitted on some rows, predicted
//! on others; no row is predicted from itself.

mod articles;
mod clear;
mod degraded;
mod folds;
mod grid;
mod leave_one;
mod rebuilds;
mod systems_out;
mod unseen;

use serde::Serialize;
use thiserror::Error;

use crate::array::{Array, ArrayError, SetError, set, shipped};
use crate::calibrate::strip_software;
use crate::predict::{Engines, predict};
use crate::published::{self, Published, PublishedError, Row, RowLimit};
use crate::quantity::Bounds;
use crate::resolved::Tables;
use crate::unseen::Set;

pub use articles::{Article, articles};
pub use clear::ClearBy;
pub use degraded::{DegradedRow, degraded};
pub use grid::{BANDS_DISKS, BANDS_OUTSTANDING, DISKS_MAX, Grid, IOS, OUTSTANDING_MAX, grid};
pub use leave_one::{LeftOut, leave_one_out};
pub use rebuilds::{RebuildRow, rebuilds};
use systems_out::systems_out;
pub use systems_out::{CrossedRow, learned_table, median_of, systems};
use unseen::held_back_half;
pub use unseen::{UnseenHalf, UnseenRow, open_half};

/// Why validation could not run.
#[derive(Debug, Error)]
pub enum ValidateError {
    /// A shipped array does not parse.
    #[error(transparent)]
    Array(#[from] ArrayError),
    /// A published table does not parse.
    #[error(transparent)]
    Published(#[from] PublishedError),
    /// An override in a published table does not fit its array.
    #[error("{row}: {source}")]
    Set {
        /// The row.
        row: String,
        /// What is wrong.
        source: SetError,
    },
    /// A published table names an array that does not ship.
    #[error("{row}: no array named `{array}` ships")]
    NoArray {
        /// The row.
        row: String,
        /// The name.
        array: String,
    },
    /// A fold needs a row that is not in the tables.
    #[error("fold `{0}` needs a row that is not in the published tables")]
    NoRow(&'static str),
}

/// A row predicted and measured.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Compared {
    /// Published table.
    pub table: String,
    /// Row.
    pub test: String,
    /// Measured I/Os per second.
    pub measured: f64,
    /// Predicted I/Os per second.
    pub predicted: Bounds,
    /// Predicted over measured, nominal.
    pub ratio: f64,
    /// What the model says limits.
    pub limit: String,
    /// What limits according to the study of the row.
    pub kind: RowLimit,
    /// What it was calibrated on; empty = data sheets only.
    pub calibrated_on: String,
    /// Why it is not explained; empty = it is.
    pub why: String,
}

/// All comparisons.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Validation {
    /// From data sheets only.
    pub sheet: Vec<Compared>,
    /// Predicted from other rows, the block sweep apart.
    pub cross: Vec<Compared>,
    /// Each row of the block sweep from the other fourteen.
    pub sweep: Vec<Compared>,
    /// Rows that no model row stands for: (table, row, why).
    pub not_modelled: Vec<(String, String, String)>,
    /// The change each article proposed, and what the model says of it.
    pub articles: Vec<Article>,
    /// Systems that the model was not made from.
    pub unseen: Vec<UnseenHalf>,
    /// Rows of every such system, predicted with what the others teach.
    pub crossed: Vec<CrossedRow>,
    /// Each row from the other rows of its system.
    pub left_out: Vec<LeftOut>,
    /// Arrays with a failed disk.
    pub degraded: Vec<DegradedRow>,
    /// Rebuilds without other load.
    pub rebuilds: Vec<RebuildRow>,
}

impl Validation {
    /// Rows from data sheets that hardware limits.
    pub fn hardware(&self) -> impl Iterator<Item = &Compared> {
        self.sheet.iter().filter(|c| c.kind == RowLimit::Hardware)
    }

    /// Median of |ratio - 1| of the cross-predicted rows.
    #[must_use]
    pub fn cross_median_error(&self) -> f64 {
        median(self.cross.iter().map(|c| (c.ratio - 1.0).abs()).collect())
    }

    /// Counts of ratios of data-sheet rows by bin: see [`HISTOGRAM_EDGES`]; the last bin is everything above.
    #[must_use]
    pub fn histogram(&self) -> Vec<usize> {
        let mut bins = vec![0; HISTOGRAM_EDGES.len() + 1];
        for c in &self.sheet {
            let bin = HISTOGRAM_EDGES.iter().position(|e| c.ratio < *e).unwrap_or(HISTOGRAM_EDGES.len());
            bins[bin] += 1;
        }
        bins
    }

    /// A line per comparison, `column | table | test | ratio`: what the regression test stores.
    #[must_use]
    pub fn ratios(&self) -> Vec<(String, f64)> {
        let named = |column: &str, rows: &[Compared]| -> Vec<(String, f64)> {
            rows.iter().map(|c| (format!("{column} | {} | {}", c.table, c.test), c.ratio)).collect()
        };
        [named("sheet", &self.sheet), named("cross", &self.cross), named("sweep", &self.sweep)].concat()
    }
}

/// Upper edges of the histogram's bins.
pub const HISTOGRAM_EDGES: [f64; 8] = [0.8, 0.95, 1.05, 1.26, 2.0, 5.0, 10.0, 30.0];

/// The middle value; 0 of nothing.
#[must_use]
pub fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    match (values.len() / 2, values.len() % 2) {
        (0, 0) => 0.0,
        (half, 1) => values[half],
        (half, _) => f64::midpoint(values[half - 1], values[half]),
    }
}

/// Predicts every published row that can be modelled.
///
/// # Errors
/// See [`ValidateError`]; never for the shipped files.
pub fn validate() -> Result<Validation, ValidateError> {
    let published = published::all()?;
    let mut tables = Tables::default();
    let mut sheet = Vec::new();
    let mut not_modelled = Vec::new();
    for table in &published {
        for row in &table.rows {
            match (&row.model, row.measured_iops()) {
                (Some(model), Some(measured)) if model.group.is_empty() => {
                    sheet.push(from_sheets(table, row, measured, &mut tables)?);
                }
                (Some(_), Some(_)) => {}
                _ => not_modelled.push((table.name.clone(), row.test.clone(), reason(row))),
            }
        }
    }
    sheet.extend(folds::groups_from_sheets(&published, &mut tables)?);
    let (cross, sweep) = folds::run(&published, &mut tables)?;
    let articles = articles(&mut tables)?;
    let mut unseen = Vec::new();
    for set in Set::ALL {
        unseen.extend([open_half(set, &mut tables)?, held_back_half(set)?]);
    }
    let crossed = systems_out(&mut tables)?;
    let left_out = leave_one_out(&mut tables)?;
    let degraded = degraded(&mut tables)?;
    let rebuilds = rebuilds()?;
    Ok(Validation {
        sheet,
        cross,
        sweep,
        not_modelled,
        articles,
        unseen,
        crossed,
        left_out,
        degraded,
        rebuilds,
    })
}

fn reason(row: &Row) -> String {
    if !row.note.is_empty() {
        return format!("a statement, not a measurement: {}", row.note);
    }
    if row.size_bytes.is_none() { "a sum or a rate without its I/O size".to_owned() } else { String::new() }
}

/// The shipped array of a row with the row's overrides.
///
/// # Errors
/// When the row is not modelled, or its array or overrides do not fit.
pub fn array_of(row: &Row) -> Result<Array, ValidateError> {
    let model = row.model.as_ref().ok_or(ValidateError::NoRow("sheet"))?;
    let found = shipped::named(&model.array);
    let mut array = found
        .ok_or_else(|| ValidateError::NoArray { row: row.test.clone(), array: model.array.clone() })??;
    set(&mut array, &model.set).map_err(|source| ValidateError::Set { row: row.test.clone(), source })?;
    Ok(array)
}

fn from_sheets(
    table: &Published,
    row: &Row,
    measured: f64,
    tables: &mut Tables,
) -> Result<Compared, ValidateError> {
    let mut array = array_of(row)?;
    strip_software(&mut array);
    let model = row.model.as_ref().ok_or(ValidateError::NoRow("sheet"))?;
    let workload = row.workload().ok_or(ValidateError::NoRow("sheet"))?;
    let prediction = predict(&array, &workload, Engines::Closed, tables);
    Ok(Compared {
        table: table.name.clone(),
        test: row.test.clone(),
        measured,
        predicted: prediction.iops,
        ratio: prediction.iops.value / measured,
        limit: prediction.limit_name(),
        kind: model.limit,
        calibrated_on: String::new(),
        why: model.why.clone(),
    })
}
