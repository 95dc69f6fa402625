//! Repetitions of a plan, all together: the geometric mean of each figure with its interval.

use assay_analysis::Estimate;
use assay_analysis::compare::Comparison;
use assay_analysis::repeats::Pooled;
use serde_json::{Value, json};

use crate::compare::estimate_json;
use crate::forum::error_cell;
use crate::layout::wrap;
use crate::options::TextOptions;
use crate::table::{Cell, Column, Decimals, Format, Narrow, Row, Table};

/// Name and version of the JSON document's form.
pub const SCHEMA: &str = "assay.repeats/1";
/// Names of tests keep this many columns in narrow text.
const NAME_COLUMNS: usize = 24;

/// Repetitions of one side or of several that took turns.
#[derive(Debug, Clone, PartialEq)]
pub struct Repeats {
    /// Every side, in the order in which they took turns.
    pub sides: Vec<RepeatedSide>,
    /// The sides compared with the first; `None` for one side.
    pub comparison: Option<Comparison>,
}

/// The repetitions of one side.
#[derive(Debug, Clone, PartialEq)]
pub struct RepeatedSide {
    /// Its label.
    pub name: String,
    /// Plan and targets.
    pub about: String,
    /// Ids of its runs, the first first.
    pub runs: Vec<String>,
    /// Its tests.
    pub tests: Vec<Pooled>,
}

/// Returns the repetitions as text: a table for each side, and the comparison of several.
pub fn table(repeats: &Repeats, options: TextOptions) -> String {
    let mut text = String::new();
    for side in &repeats.sides {
        if !text.is_empty() {
            text.push('\n');
        }
        let runs = format!("{} repetitions of {}: {}", side.runs.len(), side.about, side.runs.join(", "));
        text.push_str(&format!("{}\n{}\n\n", side.name, wrap(&runs, options.width, "  ")));
        text.push_str(&side_table(side).render(Format::Text(options.width)));
    }
    text.push_str(&format!("\n{}\n", wrap(LEGEND, options.prose(), "")));
    if let Some(comparison) = &repeats.comparison {
        text.push_str(&format!("\n{}", crate::compare::table(comparison, options)));
    }
    text
}

const LEGEND: &str = "Each figure is the geometric mean of the repetitions, as in comparisons. ±% is half of its 95 % \
                      interval, by Student's t on their logarithms. CV is their standard deviation over their mean.";

pub(crate) fn side_table(side: &RepeatedSide) -> Table {
    let percent = |title: &str| Column::number(title, "").decimals(Decimals::Fixed(1));
    let mut table = Table::new(vec![
        Column::text("Test").narrow(Narrow::Cut(NAME_COLUMNS)),
        Column::number("Runs", "").decimals(Decimals::Fixed(0)).narrow(Narrow::Drop(4)),
        Column::number("MiB/s", ""),
        Column::number("IOPS", ""),
        percent("±%"),
        percent("CV %").narrow(Narrow::Drop(3)),
        Column::number("Avg", "ms").decimals(Decimals::Each),
        Column::number("p50", "ms").decimals(Decimals::Each).narrow(Narrow::Drop(5)),
        Column::number("p99", "ms").decimals(Decimals::Each),
        percent("p99 ±%").narrow(Narrow::Drop(2)),
    ]);
    let value = |of: Option<Estimate>| of.map(|of| of.value);
    for test in &side.tests {
        let width = |of: Option<Estimate>| error_cell(of.and_then(|of| of.half_width()));
        let cells: Vec<Cell> = vec![
            format!("{} {}", test.test, test.step).trim_end().to_owned().into(),
            (test.runs.len() as f64).into(),
            test.mib_per_s.value.into(),
            test.iops.value.into(),
            width(Some(test.iops)),
            test.cv.map(|cv| cv * 100.0).into(),
            value(test.mean_ms).into(),
            value(test.p50_ms).into(),
            value(test.p99_ms).into(),
            width(test.p99_ms),
        ];
        table.rows.push(Row::Cells(cells));
    }
    table
}

/// Returns the repetitions in a format: the page of [`table`] as text, else a table for each side.
pub fn rendered(repeats: &Repeats, format: Format) -> String {
    match format {
        Format::Text(width) => table(repeats, TextOptions { width, ..TextOptions::default() }),
        Format::Csv => {
            let mut all = Table::new(Vec::new());
            all.group = "Side".to_owned();
            for side in &repeats.sides {
                let table = side_table(side);
                all.columns = table.columns;
                all.rows.push(Row::Group(side.name.clone()));
                all.rows.extend(table.rows);
            }
            all.render(format)
        }
        Format::Markdown | Format::BbCode => {
            let side = |side: &RepeatedSide| {
                let title = format!("{}: {} repetitions of {}", side.name, side.runs.len(), side.about);
                format!("{}\n\n{}\n", format.text(&title), side_table(side).render(format))
            };
            let compared =
                repeats.comparison.as_ref().map_or_else(String::new, |c| crate::compare::rendered(c, format));
            repeats.sides.iter().map(side).collect::<String>() + &compared
        }
    }
}

/// Returns the repetitions as one JSON document.
pub fn document(repeats: &Repeats) -> Value {
    json!({
        "schema": SCHEMA,
        "sides": repeats.sides.iter().map(|side| json!({
            "name": side.name,
            "about": side.about,
            "runs": side.runs,
            "tests": side.tests.iter().map(test_json).collect::<Vec<_>>(),
        })).collect::<Vec<_>>(),
        "comparison": repeats.comparison.as_ref().map(crate::compare::document),
    })
}

pub(crate) fn test_json(test: &Pooled) -> Value {
    let repeat =
        |run: &assay_analysis::repeats::Repeat| json!({ "run": run.run, "iops": estimate_json(run.iops) });
    json!({
        "name": test.test,
        "step": (!test.step.is_empty()).then_some(&test.step),
        "iops": estimate_json(test.iops),
        "mib_per_s": estimate_json(test.mib_per_s),
        "mean_ms": test.mean_ms.map(estimate_json),
        "p50_ms": test.p50_ms.map(estimate_json),
        "p99_ms": test.p99_ms.map(estimate_json),
        "cv": test.cv.and_then(crate::number::rounded),
        "holding": test.holding(),
        "repetitions": test.runs.iter().map(repeat).collect::<Vec<_>>(),
    })
}
