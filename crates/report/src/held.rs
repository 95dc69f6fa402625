//! A run against the baseline of its plan and target.

use assay_analysis::compare::{Change, Comparison, TestPair};
use serde_json::{Value, json};

use crate::compare::{Reader, document as comparison_json, legend_html, name_of, ratio_text, result_table};
use crate::escape;
use crate::glance::Before;
use crate::layout::wrap;
use crate::options::{Detail, TextOptions};
use crate::svg::escape;
use crate::table::{Column, Narrow, Table};

/// What the side of the run is called in the comparison.
pub const THIS_RUN: &str = "this run";

/// A run compared with a baseline.
#[derive(Debug, Clone, PartialEq)]
pub struct Held {
    /// The label of the baseline, or the id of its run.
    pub name: String,
    /// The target that it is of.
    pub target: String,
    /// The baseline first, then [`THIS_RUN`].
    pub comparison: Comparison,
    /// Whether somebody has set it, or it is only the last run of the same.
    pub origin: Origin,
}

/// Why a run is compared with another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// It is the baseline of its plan and target.
    Baseline,
    /// It is the last run of the same before it.
    Last,
}

impl Held {
    /// Returns the outcome, one sentence.
    pub fn says(&self) -> String {
        self.comparison.says.first().cloned().unwrap_or_default()
    }

    /// Returns it as a glance has it.
    pub fn before(&self) -> Before<'_> {
        let is_baseline = self.origin == Origin::Baseline;
        Before { name: &self.comparison.sides[0].name, comparison: &self.comparison, is_baseline }
    }

    /// Returns true if a figure of a test is worse than the baseline by more than noise.
    pub fn is_worse(&self) -> bool {
        self.comparison.tests.iter().any(TestPair::is_worse)
    }
}

/// Returns the part of the text of a run: the outcome, and of each test that changed the figures; in full all tests and
/// what differs beside them.
pub fn text(held: &Held, options: TextOptions) -> String {
    let lead = escape::line(&format!("CHANGED  {}", held.says())).into_owned();
    let mut text = format!("\n{}\n", wrap(&lead, options.prose(), "  "));
    let is_full = options.detail == Detail::Full;
    let mut table = Table::new(vec![
        Column::text("Compared with the baseline").narrow(Narrow::Cut(16)),
        Column::text("IOPS").narrow(Narrow::Keep),
        Column::text("p99").narrow(Narrow::Drop(1)),
        Column::text("Change").narrow(Narrow::Keep),
    ]);
    let mut rows = 0;
    for test in &held.comparison.tests {
        let Some(against) = test.cells.get(1).and_then(Option::as_ref).and_then(|cell| cell.against.as_ref())
        else {
            continue;
        };
        let is_quiet = matches!(against.change, Change::Same | Change::Unclear) && !test.is_worse();
        if is_quiet && !is_full {
            continue;
        }
        rows += 1;
        let p99 = against.p99.map_or_else(String::new, |p99| ratio_text(p99.ratio));
        table.push([
            escape::line(&name_of(test)).into_owned().into(),
            ratio_text(against.iops).into(),
            p99.into(),
            against.change.says().into(),
        ]);
    }
    if rows > 0 {
        text.push_str(&table.text(options.width).text);
    }
    if is_full {
        for difference in &held.comparison.differences {
            let says = format!("{}: {}", difference.what, difference.values.join(" / "));
            text.push_str(&format!("{}\n", wrap(&escape::line(&says), options.prose(), "  ")));
        }
    }
    text
}

/// Returns the baseline in the document of a run.
pub(crate) fn json(held: &Held) -> Value {
    json!({
        "name": held.name,
        "target": held.target,
        "runs": held.comparison.sides.first().map(|side| &side.runs),
        "worse": held.is_worse(),
        "comparison": comparison_json(&held.comparison),
    })
}

/// Returns the part of the report of a run.
pub fn html(held: &Held) -> String {
    let table = result_table(&held.comparison, Reader::Person).html(&legend_html(&held.comparison));
    let differs: String = held
        .comparison
        .differences
        .iter()
        .map(|difference| {
            let says = format!("{}: {}", difference.what, difference.values.join(" / "));
            format!("<p class=\"soft\">{}</p>\n", escape(&says))
        })
        .collect();
    format!(
        "<h2 id=\"baseline\">Compared with the baseline</h2>\n<div class=\"scroll\" \
         tabindex=\"0\">{table}</div>\n{differs}"
    )
}
