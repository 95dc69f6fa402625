//! The prediction of a plan: bars, the table, and how busy each resource is.

use assay_model::from_plan::StepPrediction;
use assay_model::predict::Prediction;
use assay_model::quantity::Bounds;
use assay_model::resolved::Software;

use crate::number::long;
use crate::prediction::{Expectation, interval};
use crate::svg::{BarRow, Doubt, Rows, escape};
use crate::table::{Align, Cell, Column, Table};

/// Resources that are listed for a test, the busiest first.
const RESOURCES_MAX: usize = 5;

/// Returns what a plan is expected to give on an array. The bars and the table have the same numbers: a best guess with
/// its range, or the bound of the hardware where the software of the array is not known.
#[must_use]
pub fn prediction(rows: &[Expectation]) -> String {
    let alone: Vec<(&Expectation, &Prediction)> = rows
        .iter()
        .filter_map(|row| match &row.answer {
            StepPrediction::Single(prediction) => Some((row, &**prediction)),
            StepPrediction::Concurrent(_) => None,
        })
        .collect();
    let bounds = alone.iter().filter(|(_, prediction)| is_bound(prediction)).count();
    let title = match bounds {
        0 => "Expected IOPS, with the ranges of the array",
        _ if bounds == alone.len() => "Highest possible IOPS",
        _ => "Expected IOPS, or at most (≤)",
    };
    let bars =
        Rows { title, rows: alone.iter().map(|(row, prediction)| bar(row, prediction)).collect() }.svg();
    format!(
        "<div class=\"prediction\">\n<figure>{bars}</figure>\n<div class=\"scroll\">{}</div>\n</div>\n<h3>How busy \
         each resource is</h3>\n<div class=\"scroll\"><table class=\"busy\">\n<thead><tr><th>Test</th><th>Limited \
         by</th><th>Busy at that rate</th></tr></thead>\n<tbody>\n{}</tbody></table></div>\n",
        table(&alone),
        alone.iter().map(|(row, prediction)| busy(row, prediction)).collect::<String>()
    )
}

fn is_bound(prediction: &Prediction) -> bool {
    prediction.software == Software::Unknown
}

fn bar(row: &Expectation, prediction: &Prediction) -> BarRow {
    let iops = prediction.iops;
    let (value, ends, text) = match is_bound(prediction) {
        true => (iops.hi, None, format!("≤ {}", long(iops.hi))),
        false => (iops.value, Some((iops.lo, iops.hi)), long(iops.value)),
    };
    BarRow { name: row.name.clone(), value, ends, text, doubt: Doubt::None }
}

fn table(alone: &[(&Expectation, &Prediction)]) -> String {
    let mut columns = vec![Column::text("Test")];
    columns.extend(["IOPS", "MiB/s", "mean, ms"].map(|title| Column::text(title).align(Align::Right)));
    let mut table = Table::new(columns);
    for (row, prediction) in alone {
        let is_bound = is_bound(prediction);
        let most = |of: Bounds| if is_bound { format!("≤ {}", long(of.hi)) } else { interval(of) };
        let least = |of: Bounds| if is_bound { format!("≥ {}", long(of.lo)) } else { interval(of) };
        table.push([
            row.name.clone().into(),
            most(prediction.iops).into(),
            most(prediction.mib_s).into(),
            Cell::from(least(prediction.mean_ms)),
        ]);
    }
    let says = match alone.iter().any(|(_, prediction)| is_bound(prediction)) {
        true => {
            "≤ and ≥ are bounds of the hardware: the CPU time that the array's software takes for an I/O is not \
             known, so no expectation can be given. Calibrate the array with a run to get one (assay calibrate)."
        }
        false => {
            "Each number is the best guess, in brackets the lowest and the highest value that the ranges in the array \
             allow."
        }
    };
    table.html(&escape(says))
}

fn busy(row: &Expectation, prediction: &Prediction) -> String {
    let mut resources: Vec<_> = prediction.table.resources.iter().collect();
    resources.sort_by(|a, b| b.utilisation.total_cmp(&a.utilisation));
    let meter = |(name, share): (&str, f64)| {
        format!(
            "<span class=\"meter\"><meter min=\"0\" max=\"100\" value=\"{0:.0}\" aria-label=\"{1}\"></meter> {1} \
             {0:.0} %</span> ",
            (share * 100.0).min(100.0),
            super::with_micros(&escape(name))
        )
    };
    let meters: String = resources
        .iter()
        .take(RESOURCES_MAX)
        .map(|resource| meter((resource.name.as_str(), resource.utilisation)))
        .collect();
    format!(
        "<tr><td class=\"w\">{}</td><td class=\"w\"><strong>{}</strong></td><td class=\"w\">{meters}</td></tr>\n",
        escape(&row.name),
        escape(&prediction.limit_name())
    )
}
