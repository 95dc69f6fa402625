//! The tables of the report.

use assay_analysis::{OpSummary, RunSummary, StepSummary};

use crate::forum::{self, Reader};
use crate::number::{self, TimeUnit};
use crate::svg::escape;

/// The forum table.
pub(super) fn summary(summary: &RunSummary) -> String {
    let caption = "MiB/s is 2<sup>20</sup> bytes per second: the “MB/s” of forum tables. Outst.: I/Os in flight on \
                   average, IOPS × mean latency. Latency under an open load is response time.";
    let table = forum::table(&summary.steps, Reader::Person);
    format!("<div class=\"scroll\">{}</div>\n", table.html(caption))
}

/// Reads and writes of each step, with their distributions.
pub(super) fn latencies(steps: &[&StepSummary]) -> String {
    let kinds: Vec<(String, &OpSummary)> = steps.iter().flat_map(|s| kinds(s)).collect();
    let means: Vec<f64> = kinds.iter().filter_map(|(_, ops)| ops.waited().mean_ns()).collect();
    let unit = TimeUnit::for_means(&means);
    let mut values: Vec<Vec<Option<f64>>> = kinds.iter().map(|(_, ops)| numbers(ops, unit)).collect();
    let count = values.first().map_or(0, Vec::len);
    let mut text = String::from("<div class=\"scroll\"><table>\n<caption>Latencies in ");
    text.push_str(unit.name());
    text.push_str(
        ".</caption>\n\
         <thead><tr><th></th><th>I/Os</th><th>IOPS</th><th>MiB/s</th><th>MB/s</th>\
         <th>mean</th><th>min</th><th>p50</th><th>p90</th><th>p95</th><th>p99</th><th>p99.9</th>\
         <th>p99.99</th><th>max</th></tr></thead>\n<tbody>\n",
    );
    // Column by column, so that each has one count of decimals.
    let cells: Vec<Vec<String>> = (0..count)
        .map(|index| number::column(&values.iter_mut().map(|row| row[index].take()).collect::<Vec<_>>()))
        .collect();
    for (row, (name, ops)) in kinds.iter().enumerate() {
        text.push_str(&format!("<tr><td>{}</td><td>{}</td>", escape(name), ops.ops));
        cells.iter().for_each(|column| text.push_str(&format!("<td>{}</td>", column[row])));
        text.push_str("</tr>\n");
    }
    text.push_str("</tbody></table></div>\n");
    text
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
