//! The tables of the report.

use assay_analysis::{OpSummary, RunSummary, StepSummary};

use assay_record::RunHeader;

use crate::forum::{self, Reader};
use crate::number::{self, TimeUnit};
use crate::svg::escape;
use crate::table::{Cell, Column, Decimals, Row, Table};

/// The forum table, with what the rates cost where the price of the targets is known.
pub(super) fn summary(header: &RunHeader, summary: &RunSummary) -> String {
    let mut caption =
        "MiB/s is 2<sup>20</sup> bytes per second: the “MB/s” of forum tables. Outst.: I/Os in flight on \
                   average, IOPS × mean latency. Latency under an open load is response time."
            .to_owned();
    if let Some(price) = assay_analysis::price(header) {
        caption.push_str(&format!(
            " The targets cost {} {}.",
            number::long(price.amount),
            escape(&price.currency)
        ));
    }
    let table = forum::priced(&summary.steps, Reader::Person, assay_analysis::price(header));
    format!("<div class=\"scroll\" tabindex=\"0\">{}</div>\n", table.html(&caption))
}

/// Reads and writes of each step, with their distributions.
pub(super) fn latencies(steps: &[&StepSummary]) -> String {
    let kinds: Vec<(String, &OpSummary)> = steps.iter().flat_map(|s| kinds(s)).collect();
    let means: Vec<f64> = kinds.iter().filter_map(|(_, ops)| ops.waited().mean_ns()).collect();
    let unit = TimeUnit::for_means(&means);
    let titles =
        ["IOPS", "MiB/s", "MB/s", "mean", "min", "p50", "p90", "p95", "p99", "p99.9", "p99.99", "max"];
    let mut columns = vec![Column::text("Kind"), Column::number("I/Os", "").decimals(Decimals::Fixed(0))];
    columns.extend(titles.map(|title| Column::number(title, "")));
    let mut table = Table::new(columns);
    for (name, ops) in kinds {
        let mut cells: Vec<Cell> = vec![name.into(), (ops.ops as f64).into()];
        cells.extend(numbers(ops, unit).into_iter().map(Cell::from));
        table.rows.push(Row::Cells(cells));
    }
    let caption = format!("Latencies in {}.", unit.name());
    format!("<div class=\"scroll\" tabindex=\"0\">{}</div>\n", table.html(&caption))
}

fn kinds(step: &StepSummary) -> Vec<(String, &OpSummary)> {
    let named =
        |kind: &str| if step.step.is_empty() { kind.to_owned() } else { format!("{} {kind}", step.step) };
    let split = [("reads", &step.read), ("writes", &step.write)];
    let present: Vec<_> =
        split.into_iter().filter(|(_, ops)| ops.ops > 0).map(|(k, ops)| (named(k), ops)).collect();
    if present.len() < 2 {
        return present;
    }
    let all = (named("all"), &step.total);
    std::iter::once(all).chain(present).collect()
}

fn numbers(ops: &OpSummary, unit: TimeUnit) -> Vec<Option<f64>> {
    let waited = ops.waited();
    let time = |ns: Option<f64>| ns.map(|ns| unit.of_ns(ns));
    let mut numbers = vec![Some(ops.iops), Some(ops.mib_per_s), Some(ops.mb_per_s)];
    numbers.push(time(waited.mean_ns()));
    numbers.push(time(waited.min_ns().map(|ns| ns as f64)));
    numbers.extend([0.5, 0.9, 0.95, 0.99, 0.999, 0.9999].map(|q| time(waited.quantile_ns(q))));
    numbers.push(time(waited.max_ns().map(|ns| ns as f64)));
    numbers
}
