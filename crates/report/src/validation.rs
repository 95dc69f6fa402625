//! The documents of `assay validate`: the model against published rows.

mod degraded;
mod grid;
mod leave_one;
mod rebuilds;
mod systems_out;
mod unseen;

use assay_model::published::RowLimit;
use assay_model::validate::{Compared, Grid, HISTOGRAM_EDGES, Validation};

use crate::table::{Align, Cell, Column, Format, Table};

/// Returns the answer in short: how far off predictions of systems are that the model was not made from.
pub fn model_brief(v: &Validation, columns: usize) -> String {
    systems_out::brief(&v.crossed, columns)
}

/// Returns `docs/model-validation.md`, made from a validation and the grid of both engines.
pub fn model_document(v: &Validation, grid: &Grid) -> String {
    let sheet = |kind| {
        v.sheet.iter().filter(move |c| c.kind == kind && !c.test.starts_with("ATTO")).collect::<Vec<_>>()
    };
    let errors: Vec<f64> = v.sweep.iter().map(|c| (c.ratio - 1.0).abs()).collect();
    let mean = errors.iter().sum::<f64>() / errors.len().max(1) as f64;
    let largest = errors.iter().fold(0.0_f64, |m, e| m.max(*e));
    [
        HEAD.to_owned(),
        section("Limited by hardware, from data sheets only", &sheet(RowLimit::Hardware), Last::Limit),
        "\nThese ratios must stay between 0.8 and 1.26.\n".to_owned(),
        section(
            "Limited by the target's software, from data sheets only",
            &sheet(RowLimit::Software),
            Last::Limit,
        ),
        SOFTWARE.to_owned(),
        histogram(v),
        section("After calibration on other rows", &v.cross.iter().collect::<Vec<_>>(), Last::Calibration),
        format!("\nMedian |error| {:.1} % over {} rows.\n", v.cross_median_error() * 100.0, v.cross.len()),
        section(
            "Block sweep, each size from the other fourteen",
            &v.sweep.iter().collect::<Vec<_>>(),
            Last::Calibration,
        ),
        format!("\nMean |error| {:.1} %, largest {:.1} %.\n", mean * 100.0, largest * 100.0),
        section("Not explained", &sheet(RowLimit::Unexplained), Last::Why),
        articles(v),
        unseen::section(&v.unseen),
        systems_out::section(&v.crossed),
        leave_one::section(&v.left_out),
        degraded::section(&v.degraded),
        rebuilds::section(&v.rebuilds),
        grid::section(grid),
        not_modelled(v),
    ]
    .concat()
}

const HEAD: &str = "# What the model predicts, and what was measured

Made by `assay validate`; do not edit. Ratio = predicted / measured I/Os per second, from the closed form at
nominal values (rows of test 007 and 008: simulation). Ranges come from the ranges of the array files. Sources of
the measured rows are named in `published/*.toml`, sources of every input in `arrays/*.toml`.
";

const SOFTWARE: &str = "
The ratio is the cost of the software, seen from outside: a target that works like one disk at a time looks ten
times slower than its disks. Without calibration the answer for such arrays is the bound and \"software cost
unknown\". The random rows of Openfiler's steps 1 and 2 were said to come from RAM; no model of RAM behind four
links is within a factor of 100 of them, so the premise is false, and the disks are compared here.
";

/// The last column of a table of comparisons.
#[derive(Clone, Copy)]
enum Last {
    Limit,
    Calibration,
    Why,
}

fn section(title: &str, rows: &[&Compared], last: Last) -> String {
    let title_of_last = match last {
        Last::Limit => "predicted limit",
        Last::Calibration => "calibrated on",
        Last::Why => "why not",
    };
    let mut table = Table::new(vec![
        Column::text("table"),
        Column::text("row"),
        figure("measured"),
        figure("predicted"),
        figure("ratio"),
        Column::text(title_of_last),
    ]);
    for c in rows {
        let says = match last {
            Last::Limit => &c.limit,
            Last::Calibration => &c.calibrated_on,
            Last::Why => &c.why,
        };
        let range = if c.predicted.hi > c.predicted.lo * 1.005 {
            format!(" ({:.0} to {:.0})", c.predicted.lo, c.predicted.hi)
        } else {
            String::new()
        };
        table.push([
            text(&c.table),
            text(&c.test),
            text(format!("{:.0}", c.measured)),
            text(format!("{:.0}{range}", c.predicted.value)),
            text(format!("{:.2}", c.ratio)),
            text(says),
        ]);
    }
    headed(title, &table)
}

fn articles(v: &Validation) -> String {
    let mut table = Table::new(["array", "load", "sentence"].map(Column::text).into());
    for a in &v.articles {
        table.push([text(&a.array), text(&a.load), text(&a.says)]);
    }
    headed("What the articles should have written", &table)
}

fn not_modelled(v: &Validation) -> String {
    let mut rows = Table::new(["table", "row", "why"].map(Column::text).into());
    for (table, row, why) in &v.not_modelled {
        rows.push([text(table), text(row), text(why)]);
    }
    headed("Not modelled", &rows)
}

fn histogram(v: &Validation) -> String {
    let mut out =
        "\n## Histogram of ratios, data sheets only\n\nAll rows, the block sweep included.\n\n```\n"
            .to_owned();
    let mut from = "0".to_owned();
    for (i, count) in v.histogram().into_iter().enumerate() {
        let to = HISTOGRAM_EDGES.get(i).map_or("more".to_owned(), f64::to_string);
        out.push_str(&format!("{from:>5} to {to:<5} {count:>3} {}\n", "#".repeat(count)));
        from = to;
    }
    out + "```\n"
}

/// A section of the document that is a table only.
fn headed(title: &str, table: &Table) -> String {
    format!("\n## {title}\n\n{}", table.render(Format::Markdown))
}

/// A column of figures, each written with the decimals of its row.
fn figure(title: &str) -> Column {
    Column::text(title).align(Align::Right)
}

fn text(words: impl Into<String>) -> Cell {
    Cell::Text(words.into())
}

fn yes_or_no(is: bool) -> Cell {
    text(if is { "yes" } else { "no" })
}
