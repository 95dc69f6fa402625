//! The prediction of a plan: bars, the table, and how busy each resource is.

use assay_model::from_plan::StepPrediction;
use assay_model::predict::Prediction;

use crate::number::long;
use crate::prediction::{Expectation, numbers};
use crate::svg::{BarRow, Doubt, Rows, escape};

/// Resources that are listed for a test, the busiest first.
const RESOURCES_MAX: usize = 5;

/// Returns what a plan is expected to give on an array.
#[must_use]
pub fn prediction(rows: &[Expectation]) -> String {
    let alone: Vec<(&Expectation, &Prediction)> = rows
        .iter()
        .filter_map(|row| match &row.answer {
            StepPrediction::Single(prediction) => Some((row, &**prediction)),
            StepPrediction::Concurrent(_) => None,
        })
        .collect();
    let bars = alone.iter().map(|(row, prediction)| BarRow {
        name: row.name.clone(),
        value: prediction.iops.value,
        ends: Some((prediction.iops.lo, prediction.iops.hi)),
        text: long(prediction.iops.value),
        doubt: Doubt::None,
    });
    let bars = Rows { title: "Expected IOPS, with the ranges of the array", rows: bars.collect() }.svg();
    let says = "Each number is the best guess, with the lowest and the highest value that the ranges in the array \
                allow. “At most” and “at least” are bounds of the hardware alone.";
    format!(
        "<div class=\"prediction\">\n<figure>{bars}</figure>\n<div class=\"scroll\">{}</div>\n</div>\n<h3>How busy \
         each resource is</h3>\n<div class=\"scroll\"><table class=\"busy\">\n<thead><tr><th>Test</th><th>Limited \
         by</th><th>Busy at that rate</th></tr></thead>\n<tbody>\n{}</tbody></table></div>\n",
        numbers(rows).html(&escape(says)),
        alone.iter().map(|(row, prediction)| busy(row, prediction)).collect::<String>()
    )
}

fn busy(row: &Expectation, prediction: &Prediction) -> String {
    let mut resources: Vec<_> = prediction.table.resources.iter().collect();
    resources.sort_by(|a, b| b.utilisation.total_cmp(&a.utilisation));
    let meter = |(name, share): (&str, f64)| {
        format!(
            "<span class=\"meter\"><meter min=\"0\" max=\"100\" value=\"{0:.0}\" aria-label=\"{1}\"></meter> {1} \
             {0:.0} %</span> ",
            (share * 100.0).min(100.0),
            escape(name)
        )
    };
    let meters: String = resources
        .iter()
        .take(RESOURCES_MAX)
        .map(|resource| meter((&resource.name, resource.utilisation)))
        .collect();
    format!(
        "<tr><td class=\"w\">{}</td><td class=\"w\"><strong>{}</strong></td><td class=\"w\">{meters}</td></tr>\n",
        escape(&row.name),
        escape(&prediction.limit_name())
    )
}
