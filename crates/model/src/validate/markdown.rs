//! The validation as a document.

use std::fmt::Write as _;

use super::{Compared, Grid, HISTOGRAM_EDGES, Validation};
use crate::published::RowLimit;

/// `docs/model-validation.md`, made from a validation and the grid of both engines.
#[must_use]
pub fn to_markdown(v: &Validation, grid: &Grid) -> String {
    let mut out = String::from(HEAD);
    section(
        &mut out,
        "Limited by hardware, from data sheets only",
        &rows(v, RowLimit::Hardware),
        Column::Limit,
    );
    out.push_str("\nThese ratios must stay between 0.8 and 1.26.\n");
    section(
        &mut out,
        "Limited by the target's software, from data sheets only",
        &rows(v, RowLimit::Software),
        Column::Limit,
    );
    out.push_str(SOFTWARE);
    histogram(&mut out, v);
    section(
        &mut out,
        "After calibration on other rows",
        &v.cross.iter().collect::<Vec<_>>(),
        Column::Calibration,
    );
    let _ = writeln!(
        out,
        "\nMedian |error| {:.1} % over {} rows.",
        v.cross_median_error() * 100.0,
        v.cross.len()
    );
    section(
        &mut out,
        "Block sweep, each size from the other fourteen",
        &v.sweep.iter().collect::<Vec<_>>(),
        Column::Calibration,
    );
    let errors: Vec<f64> = v.sweep.iter().map(|c| (c.ratio - 1.0).abs()).collect();
    let (mean, max) = (
        errors.iter().sum::<f64>() / errors.len().max(1) as f64,
        errors.iter().fold(0.0_f64, |m, e| m.max(*e)),
    );
    let _ = writeln!(out, "\nMean |error| {:.1} %, largest {:.1} %.", mean * 100.0, max * 100.0);
    section(&mut out, "Not explained", &rows(v, RowLimit::Unexplained), Column::Why);
    out.push_str(
        "\n## What the articles should have written\n\n| array | load | sentence |\n|---|---|---|\n",
    );
    for a in &v.articles {
        let _ = writeln!(out, "| {} | {} | {} |", a.array, a.load, a.says);
    }
    out.push_str(&super::unseen::to_markdown(&v.unseen));
    out.push_str(&super::leave_one::to_markdown(&v.left_out));
    out.push_str(&super::degraded::to_markdown(&v.degraded));
    out.push_str(&super::rebuilds::to_markdown(&v.rebuilds));
    out.push_str(&grid.to_markdown());
    out.push_str("\n## Not modelled\n\n| table | row | why |\n|---|---|---|\n");
    for (table, row, why) in &v.not_modelled {
        let _ = writeln!(out, "| {table} | {row} | {why} |");
    }
    out
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

#[derive(Clone, Copy)]
enum Column {
    Limit,
    Calibration,
    Why,
}

fn rows(v: &Validation, kind: RowLimit) -> Vec<&Compared> {
    v.sheet.iter().filter(|c| c.kind == kind && !c.test.starts_with("ATTO")).collect()
}

fn section(out: &mut String, title: &str, rows: &[&Compared], column: Column) {
    let last = match column {
        Column::Limit => "predicted limit",
        Column::Calibration => "calibrated on",
        Column::Why => "why not",
    };
    let _ = writeln!(
        out,
        "\n## {title}\n\n| table | row | measured | predicted | ratio | {last} |\n|---|---|--:|--:|--:|---|"
    );
    for c in rows {
        let last = match column {
            Column::Limit => &c.limit,
            Column::Calibration => &c.calibrated_on,
            Column::Why => &c.why,
        };
        let range = if c.predicted.hi > c.predicted.lo * 1.005 {
            format!(" ({:.0} to {:.0})", c.predicted.lo, c.predicted.hi)
        } else {
            String::new()
        };
        let _ = writeln!(
            out,
            "| {} | {} | {:.0} | {:.0}{range} | {:.2} | {last} |",
            c.table, c.test, c.measured, c.predicted.value, c.ratio
        );
    }
}

fn histogram(out: &mut String, v: &Validation) {
    out.push_str(
        "\n## Histogram of ratios, data sheets only\n\nAll rows, the block sweep included.\n\n```\n",
    );
    let mut from = "0".to_owned();
    for (i, count) in v.histogram().into_iter().enumerate() {
        let to = HISTOGRAM_EDGES.get(i).map_or("more".to_owned(), f64::to_string);
        let _ = writeln!(out, "{from:>5} to {to:<5} {count:>3} {}", "#".repeat(count));
        from = to;
    }
    out.push_str("```\n");
}
