//! Predictions: the table of a plan as expected, and the same as JSON.

use assay_model::array::Array;
use assay_model::from_plan::StepPrediction;
use assay_model::plant::Software;
use assay_model::predict::{Prediction, SOFTWARE_COST_UNKNOWN, Simulated};
use assay_model::quantity::Interval;
use assay_model::whatif::{Sweep, WhatIf};
use serde_json::{Value, json};

use crate::number::{rounded, short, size};
use crate::text::wrap;

/// Name and version of the JSON document's form.
pub const SCHEMA: &str = "assay.predict/1";
/// Rows a curve of a sweep is drawn with; longer ones are thinned.
const CURVE_ROWS: usize = 24;
/// Columns of the longest bar of a curve.
const BAR_COLUMNS: f64 = 40.0;
/// Sentences are wrapped here.
const TEXT_COLUMNS: usize = 110;

/// A step as expected.
#[derive(Debug, Clone)]
pub struct Expectation {
    /// Name of its test, with the swept values.
    pub name: String,
    /// What to expect.
    pub answer: StepPrediction,
    /// What changes would bring.
    pub what_ifs: Vec<WhatIf>,
    /// What a range of a field would bring.
    pub sweeps: Vec<Sweep>,
}

/// A plan as expected on an array.
#[derive(Debug, Clone, Copy)]
pub struct Page<'p> {
    /// The array.
    pub array: &'p Array,
    /// Name of the plan.
    pub plan: &'p str,
    /// Bytes of the array that positions fall into, from its outer edge.
    pub span_bytes: u64,
    /// In the order of the plan.
    pub rows: &'p [Expectation],
}

/// The table, then per test what limits it, how busy everything is, and what changes would bring.
#[must_use]
pub fn table(page: Page<'_>) -> String {
    let Page { array, plan, span_bytes, rows } = page;
    let mut text = format!(
        "{plan}, expected on {}\n{}\nThe first {} of it are used.\n\n",
        array.name,
        array.title,
        size(span_bytes)
    );
    text.push_str(&grid(&number_rows(rows)));
    text.push_str(
        "\nBest guess (lowest to highest, from the ranges in the array file). MiB/s is 2^20 bytes per second.\n",
    );
    if rows.iter().any(is_bound) {
        text.push_str(&wrap(
            &format!(
                "{SOFTWARE_COST_UNKNOWN}: rows with \"at most\" are bounds of the hardware alone. Software of storage targets has been 2 to 30 times slower than its hardware; assay calibrate measures it."
            ),
            TEXT_COLUMNS,
            "",
        ));
        text.push('\n');
    }
    for row in rows {
        text.push('\n');
        text.push_str(&details(row));
    }
    text
}

fn is_bound(row: &Expectation) -> bool {
    matches!(&row.answer, StepPrediction::Alone(p) if p.software == Software::Unknown)
}

fn number_rows(rows: &[Expectation]) -> Vec<Vec<String>> {
    let titles = ["Test", "IOPS", "MiB/s", "Mean ms", "p99 ms", "p99 is", "Limited by"];
    let mut table = vec![titles.map(str::to_owned).to_vec()];
    for row in rows {
        match &row.answer {
            StepPrediction::Alone(p) => table.push(alone_row(&row.name, p)),
            StepPrediction::Together(jobs) => {
                table.extend(jobs.iter().map(|(name, s)| together_row(name, s)));
            }
        }
    }
    table
}

fn alone_row(name: &str, p: &Prediction) -> Vec<String> {
    let bound = p.software == Software::Unknown;
    let most = |i: Interval| if bound { format!("at most {}", short(i.hi)) } else { interval(i) };
    let least = |i: Interval| if bound { format!("at least {}", short(i.lo)) } else { interval(i) };
    vec![
        name.to_owned(),
        most(p.iops),
        most(p.mib_s),
        least(p.mean_ms),
        p.p99_ms.map_or("-".to_owned(), least),
        if bound { "a bound".to_owned() } else { p.p99_reliability.says().to_owned() },
        p.limit_name(),
    ]
}

fn together_row(name: &str, s: &Simulated) -> Vec<String> {
    vec![
        name.to_owned(),
        interval(s.iops),
        "-".to_owned(),
        interval(s.mean_ms),
        interval(s.p99_ms),
        "provisional".to_owned(),
        "side by side, simulated".to_owned(),
    ]
}

/// `82 (69..107)`, or the number alone where the ends do not differ from it.
#[must_use]
pub fn interval(i: Interval) -> String {
    let (lo, value, hi) = (short(i.lo), short(i.value), short(i.hi));
    if lo == value && value == hi { value } else { format!("{value} ({lo}..{hi})") }
}

/// Columns as wide as their widest cell: the first and the last two to the left, numbers to the right.
pub(crate) fn grid(rows: &[Vec<String>]) -> String {
    let columns = rows.first().map_or(0, Vec::len);
    let width = |i: usize| rows.iter().map(|r| r[i].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let mut text = String::new();
    for (index, row) in rows.iter().enumerate() {
        let cells: Vec<String> = row
            .iter()
            .zip(&widths)
            .enumerate()
            .map(
                |(i, (cell, w))| {
                    if i == 0 || i + 2 >= columns { format!("{cell:<w$}") } else { format!("{cell:>w$}") }
                },
            )
            .collect();
        text.push_str(cells.join("  ").trim_end());
        text.push('\n');
        if index == 0 {
            text.push_str(&"-".repeat(widths.iter().sum::<usize>() + 2 * (columns - 1)));
            text.push('\n');
        }
    }
    text
}

fn details(row: &Expectation) -> String {
    let mut text = match &row.answer {
        StepPrediction::Alone(p) => alone_details(&row.name, p),
        StepPrediction::Together(jobs) => format!(
            "{}: {} loads side by side; {}\n",
            row.name,
            jobs.len(),
            "what they do to each other is simulated, so there is no table of resources."
        ),
    };
    if !row.what_ifs.is_empty() {
        let mut rows = vec![["what if", "IOPS", "gain", ""].map(str::to_owned).to_vec()];
        rows.extend(row.what_ifs.iter().map(|w| {
            let gain = format!("x{:.2}", w.gain);
            vec![w.change.clone(), interval(w.prediction.iops), gain, w.says.clone()]
        }));
        text.push_str(&indented(&grid(&rows)));
    }
    for sweep in &row.sweeps {
        text.push_str(&indented(&curve(sweep)));
    }
    text
}

fn alone_details(name: &str, p: &Prediction) -> String {
    let busy: Vec<String> = p
        .table
        .resources
        .iter()
        .map(|r| {
            format!("{} {:.0} % (full at {} IOPS)", r.name, r.utilisation * 100.0, short(r.ceiling_iops))
        })
        .collect();
    let mut lines = vec![
        wrap(&format!("{name}: {}.", p.says()), TEXT_COLUMNS, "  "),
        wrap(&format!("  busy: {}", busy.join("; ")), TEXT_COLUMNS, "    "),
    ];
    if let (true, Some(s)) = (p.shows_both(), &p.simulated) {
        lines.push(format!(
            "  The engines differ by more than 10 %: closed form {}, simulation {} IOPS.",
            short(p.closed.iops),
            interval(s.iops)
        ));
    }
    lines.join("\n") + "\n"
}

fn indented(text: &str) -> String {
    text.lines().map(|line| format!("  {line}\n")).collect()
}

/// A bar per value, and the sentence where it stops paying.
fn curve(sweep: &Sweep) -> String {
    let highest = sweep.points.iter().map(|(_, p)| p.iops.value).fold(0.0, f64::max);
    let every = sweep.points.len().div_ceil(CURVE_ROWS).max(1);
    let mut text = String::new();
    for (index, (value, p)) in sweep.points.iter().enumerate() {
        let is_knee = sweep.knee == Some(*value);
        if index % every != 0 && !is_knee && index + 1 != sweep.points.len() {
            continue;
        }
        let columns = (p.iops.value / highest * BAR_COLUMNS).round();
        let bar: String = (0..40).take_while(|i| f64::from(*i) < columns).map(|_| '#').collect();
        let mark = if is_knee { "  <- stops paying" } else { "" };
        text.push_str(&format!("{} {value:>6} {:>9} IOPS {bar}{mark}\n", sweep.field, short(p.iops.value)));
    }
    text.push_str(&format!("{}.\n", sweep.says));
    text
}

/// The same as one JSON document; rates per second, times in ms.
#[must_use]
pub fn document(page: Page<'_>) -> Value {
    json!({
        "schema": SCHEMA,
        "array": page.array.name,
        "title": page.array.title,
        "plan": page.plan,
        "span_bytes": page.span_bytes,
        "tests": page.rows.iter().map(row_json).collect::<Vec<_>>(),
    })
}

fn row_json(row: &Expectation) -> Value {
    let (alone, jobs) = match &row.answer {
        StepPrediction::Alone(p) => (Some(prediction_json(p)), None),
        StepPrediction::Together(jobs) => {
            let job =
                |(name, s): &(String, Simulated)| json!({ "name": name, "expected": simulated_json(s) });
            (None, Some(jobs.iter().map(job).collect::<Vec<_>>()))
        }
    };
    json!({
        "name": row.name,
        "expected": alone,
        "jobs": jobs,
        "what_if": row.what_ifs.iter().map(|w| json!({
            "change": w.change,
            "gain": rounded(w.gain),
            "says": w.says,
            "expected": prediction_json(&w.prediction),
        })).collect::<Vec<_>>(),
        "sweeps": row.sweeps.iter().map(|s| json!({
            "field": s.field,
            "knee": s.knee,
            "says": s.says,
            "points": s.points.iter().map(|(value, p)| json!({
                "value": value,
                "iops": interval_json(p.iops),
                "limit": p.limit_name(),
            })).collect::<Vec<_>>(),
        })).collect::<Vec<_>>(),
    })
}

/// A prediction as it stands in documents.
#[must_use]
pub fn prediction_json(p: &Prediction) -> Value {
    json!({
        "is_bound": p.software == Software::Unknown,
        "software": match p.software {
            Software::None => "none",
            Software::Known => "known",
            Software::Unknown => "unknown",
        },
        "iops": interval_json(p.iops),
        "mib_per_s": interval_json(p.mib_s),
        "mean_ms": interval_json(p.mean_ms),
        "p99_ms": p.p99_ms.map(interval_json),
        "p99_reliability": p.p99_reliability.says(),
        "limit": p.limit_name(),
        "second": p.table.second().map(|r| r.name.clone()),
        "second_distance": rounded(p.table.distance()),
        "resources": p.table.resources.iter().map(|r| json!({
            "name": r.name,
            "demand_us": rounded(r.demand_us),
            "servers": rounded(r.servers),
            "ceiling_iops": rounded(r.ceiling_iops),
            "utilisation": rounded(r.utilisation),
        })).collect::<Vec<_>>(),
        "closed_form_iops": rounded(p.closed.iops),
        "simulation": p.simulated.as_ref().map(simulated_json),
        "says": p.says(),
    })
}

fn simulated_json(s: &Simulated) -> Value {
    json!({
        "iops": interval_json(s.iops),
        "mean_ms": interval_json(s.mean_ms),
        "p50_ms": interval_json(s.p50_ms),
        "p99_ms": interval_json(s.p99_ms),
        "max_ms": interval_json(s.max_ms),
        "in_flight": rounded(s.in_flight),
        "ios": s.ios,
    })
}

/// An interval: nominal, lowest, highest.
pub(crate) fn interval_json(i: Interval) -> Value {
    json!({ "value": rounded(i.value), "lo": rounded(i.lo), "hi": rounded(i.hi) })
}
