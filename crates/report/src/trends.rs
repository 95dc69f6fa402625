//! The trends of a target as a table, as JSON, and as one HTML file.

use assay_analysis::trend::{Trend, TrendEvent, TrendPoint};
use serde::Serialize;

use crate::html::{Beside, Links, Others, TrendView, alone, trend, trend_changes, trend_events};
use crate::number::iso;
use crate::svg::escape;
use crate::table::{Cell, Column, Decimals, Table};

/// Name and version of the JSON document's form.
pub const SCHEMA: &str = "assay.trends/1";
/// Points of a drawing.
const POINTS: usize = 120;

/// Returns a row for each run in each trend; runs of other loads say in the last column what was otherwise.
pub fn table(trends: &[Trend]) -> Table {
    let number = |title: &str, unit: &str| Column::number(title, unit).decimals(Decimals::Each);
    let mut table = Table::new(vec![
        Column::text("Plan"),
        Column::text("Test"),
        Column::text("Started"),
        Column::text("Run"),
        number("IOPS", ""),
        number("IOPS low", ""),
        number("IOPS high", ""),
        number("MiB/s", ""),
        number("p99", "us"),
        Column::text("Otherwise"),
    ]);
    for of in trends {
        let name = format!("{} {}", of.test, of.step).trim_end().to_owned();
        let mut push = |point: &TrendPoint, otherwise: &str| {
            table.push([
                Cell::Text(of.plan.clone()),
                Cell::Text(name.clone()),
                Cell::Text(iso(point.started_unix_ms)),
                Cell::Text(point.run.clone()),
                Cell::Number(point.iops.value),
                point.iops.lo.into(),
                point.iops.hi.into(),
                Cell::Number(point.mib_per_s.value),
                point.p99_us.map(|p99| p99.value).into(),
                Cell::Text(otherwise.to_owned()),
            ]);
        };
        of.points.iter().for_each(|point| push(point, &of.changed));
        of.others.iter().for_each(|other| push(&other.point, &other.says));
    }
    table
}

/// How JSON is laid out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Layout {
    /// For programs.
    OneLine,
    /// For people.
    Indented,
}

/// The JSON document, which is written as it is: of ten thousand runs a tree of its values takes seconds.
#[derive(Serialize)]
struct Document<'d> {
    schema: &'static str,
    target: &'d str,
    trends: &'d [Trend],
    events: &'d [TrendEvent],
}

/// Returns the JSON document.
pub fn document(target: &str, trends: &[Trend], events: &[TrendEvent], layout: Layout) -> String {
    let document = Document { schema: SCHEMA, target, trends, events };
    let text = match layout {
        Layout::OneLine => serde_json::to_string(&document),
        Layout::Indented => serde_json::to_string_pretty(&document),
    };
    text.expect("texts and numbers have a form in JSON")
}

/// Returns the HTML page.
pub fn page(target: &str, trends: &[Trend], events: &[TrendEvent]) -> String {
    let mut body = trend_events(events, Links::None);
    let beside = Beside { all: events, listed: events };
    for of in trends {
        let (condensed, _) = of.condensed(POINTS);
        let view =
            TrendView { trend: &condensed, baseline: None, events, others: Others::Left, links: Links::None };
        body.push_str(&format!("<h2>{}</h2>\n", escape(&of.plan)));
        body.push_str(&trend(view));
        body.push_str(&trend_changes(of, &[], beside, Links::None));
    }
    alone(&format!("Trends of {target}"), &body)
}
