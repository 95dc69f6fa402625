//! A prediction on one screen: a row for each test, with one gain for each change.

use assay_model::from_plan::StepPrediction;
use assay_model::predict::Prediction;
use assay_model::resolved::Software;
use assay_model::whatif::WhatIf;

use super::{Expectation, alone_cells};
use crate::number::long;
use crate::table::{Align, Cell, Column, Narrow, Table};

/// Names of tests are cut to this, and limits by words to that, so that the table fits 80 columns and both can be read.
const TEST_COLUMNS: usize = 24;
const LIMIT_COLUMNS: usize = 21;

/// Title of the gain of a single change.
pub(super) const GAIN: &str = "gain";

/// Returns the table; `None` where jobs run side by side, which need more than a row.
pub(super) fn table(rows: &[Expectation]) -> Option<Table> {
    fn alone(row: &Expectation) -> Option<&Prediction> {
        match &row.answer {
            StepPrediction::Single(prediction) => Some(prediction.as_ref()),
            StepPrediction::Concurrent(_) => None,
        }
    }
    let predictions: Vec<&Prediction> = rows.iter().map(alone).collect::<Option<_>>()?;
    let is_bound = |p: &Prediction| p.software == Software::Unknown && p.simulated.is_some();
    let has_bounds = predictions.iter().any(|p| is_bound(p));
    let number = |title: &str| Column::text(title).align(Align::Right).narrow(Narrow::Keep);
    let mut columns = vec![Column::text("Test").narrow(Narrow::Cut(TEST_COLUMNS)), number("IOPS")];
    columns.extend(has_bounds.then(|| number("no software")));
    columns.push(Column::text("p99 ms").align(Align::Right).narrow(Narrow::Drop(0)));
    let changes: Vec<&str> = rows.first()?.what_ifs.iter().map(|change| change.change.as_str()).collect();
    // The sentence below names a change that is alone.
    let titles = changes.iter().map(|change| if changes.len() == 1 { GAIN } else { *change });
    columns.extend(titles.map(number));
    columns.push(Column::text("Limited by").narrow(Narrow::Words(LIMIT_COLUMNS)));
    let mut table = Table::new(columns);
    for (row, prediction) in rows.iter().zip(&predictions) {
        let [iops, _, _, p99_ms] = alone_cells(prediction);
        let mut cells: Vec<Cell> = vec![row.name.clone().into(), iops.into()];
        if has_bounds {
            let nominal = prediction.simulated.as_ref().filter(|_| is_bound(prediction));
            cells.push(nominal.map_or_else(|| "-".to_owned(), |s| long(s.iops.value)).into());
        }
        // The best guess alone: the rate has its interval, and both do not fit.
        let guess = prediction.p99_ms.filter(|_| prediction.software != Software::Unknown);
        cells.push(guess.map_or(p99_ms, |p99| long(p99.value)).into());
        cells.extend(changes.iter().map(|change| gain(row, change).into()));
        cells.push(prediction.limit_name().into());
        table.rows.push(crate::table::Row::Cells(cells));
    }
    Some(table)
}

/// The gain of a change in a test.
fn gain(row: &Expectation, change: &str) -> String {
    let found: Option<&WhatIf> = row.what_ifs.iter().find(|what_if| what_if.change == change);
    found.map_or_else(|| "-".to_owned(), |what_if| format!("x{:.2}", what_if.gain))
}
