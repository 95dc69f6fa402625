//! Leave one out: each row of a system predicted after calibration on its other rows.

use serde::Serialize;

use super::{ValidateError, array_of, median};
use crate::array::{Array, set};
use crate::calibrate::{RowPoint, fit_rows, strip_software};
use crate::closed::closed_form;
use crate::published::{self, Row, RowLimit};
use crate::quantity::Corner;
use crate::resolved::{ResolvedArray, Tables};
use crate::unseen::{self, Half, Set};

/// Systems with fewer rows that hardware limits are left out: two or three rows remain to calibrate on.
const ROWS_MIN: usize = 4;

/// A system, and how well its rows are predicted.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LeftOut {
    /// Its array.
    pub system: String,
    /// Rows.
    pub rows: usize,
    /// Median of |ratio - 1| from data sheets.
    pub sheet_error: f64,
    /// The same when each row is predicted after calibration on the others.
    pub left_out_error: f64,
    /// Predicted over measured of each row that was left out.
    pub ratios: Vec<f64>,
}

/// Every system with enough rows: of the open halves and of the shipped tables.
///
/// # Errors
/// See [`ValidateError`]; never for the shipped files.
pub fn leave_one_out(tables: &mut Tables) -> Result<Vec<LeftOut>, ValidateError> {
    let mut systems: Vec<(String, Vec<RowPoint>)> = Vec::new();
    let mut add = |system: &str, point: RowPoint| match systems.iter_mut().find(|(name, _)| name == system) {
        Some((_, rows)) => rows.push(point),
        None => systems.push((system.to_owned(), vec![point])),
    };
    for row in published::all()?.iter().flat_map(|table| &table.rows).filter(|row| is_hardware(row)) {
        let mut array = array_of(row)?;
        strip_software(&mut array);
        let name = array.name.clone();
        point(row, array).into_iter().for_each(|point| add(&name, point));
    }
    for set in Set::ALL {
        for table in unseen::tables(set, Half::Open)? {
            for row in table.rows.iter().filter(|row| is_hardware(row)) {
                point(row, unseen_array(row)?).into_iter().for_each(|point| add(&table.name, point));
            }
        }
    }
    let enough = systems.into_iter().filter(|(_, rows)| rows.len() >= ROWS_MIN);
    Ok(enough.map(|(system, rows)| left_out(system, &rows, tables)).collect())
}

fn is_hardware(row: &Row) -> bool {
    row.model.as_ref().is_some_and(|m| m.limit == RowLimit::Hardware && m.group.is_empty())
}

fn unseen_array(row: &Row) -> Result<Array, ValidateError> {
    let model = row.model.as_ref().ok_or(ValidateError::NoRow("leave one out"))?;
    let no_array = || ValidateError::NoArray { row: row.test.clone(), array: model.array.clone() };
    let mut array = unseen::array(&model.array).ok_or_else(no_array)??;
    set(&mut array, &model.set).map_err(|source| ValidateError::Set { row: row.test.clone(), source })?;
    Ok(array)
}

fn point(row: &Row, array: Array) -> Option<RowPoint> {
    Some(RowPoint { array, workload: row.workload()?, iops: row.measured_iops()? })
}

fn left_out(system: String, rows: &[RowPoint], tables: &mut Tables) -> LeftOut {
    let ratio = |row: &RowPoint, array: &Array, tables: &mut Tables| {
        let resolved = ResolvedArray::new(array, Corner::Nominal, row.workload.region(), tables);
        closed_form(&resolved, &resolved.classes(&row.workload), &row.workload).iops / row.iops
    };
    let error = |ratios: &[f64]| median(ratios.iter().map(|r| (r - 1.0).abs()).collect());
    let sheet: Vec<f64> = rows.iter().map(|row| ratio(row, &row.array, tables)).collect();
    let mut ratios = Vec::new();
    for (index, row) in rows.iter().enumerate() {
        let mut others = rows.to_vec();
        others.remove(index);
        let array = fit_rows(&others, tables).apply(&row.array, "other rows");
        ratios.push(ratio(row, &array, tables));
    }
    LeftOut { system, rows: rows.len(), sheet_error: error(&sheet), left_out_error: error(&ratios), ratios }
}
