//! Results in the shapes that people know: the window of CrystalDiskMark, the bars of ATTO, the table of the forum with
//! what others published.

use assay_analysis::{RunSummary, StepSummary};
use assay_model::published::{self, Published};
use assay_record::RunHeader;

use crate::crystaldiskmark;
use crate::number;
use crate::svg::{PairRow, Pairs, escape};

/// Most published tables beside a run.
const TABLES_MAX: usize = 3;

/// Returns the run in a known shape; nothing for another run.
pub(super) fn known(header: &RunHeader, summary: &RunSummary) -> String {
    let shapes = [crystaldiskmark::html(&summary.steps), atto(header, summary), beside_published(summary)];
    shapes.into_iter().flatten().collect()
}

fn is_measured(step: &&StepSummary) -> bool {
    step.skipped.is_none() && step.unmeasured.is_none() && step.total.ops > 0
}

/// A row for each size, a bar for writes and one for reads: for the suites of that name.
fn atto(header: &RunHeader, summary: &RunSummary) -> Option<String> {
    if !["atto", "super-atto"].contains(&header.plan.name.as_str()) {
        return None;
    }
    let mut rows: Vec<PairRow> = Vec::new();
    for step in summary.steps.iter().filter(is_measured) {
        let name = step.step.strip_prefix("size=")?.split(' ').next()?.to_owned();
        let index = rows.iter().position(|row| row.name == name).unwrap_or_else(|| {
            rows.push(PairRow { name, write: None, read: None });
            rows.len() - 1
        });
        let of = if step.write.ops > step.read.ops { &mut rows[index].write } else { &mut rows[index].read };
        *of = Some(of.unwrap_or(0.0).max(step.total.mb_per_s));
    }
    (!rows.is_empty()).then(|| {
        let chart = Pairs { title: "MB/s by size", rows }.svg();
        format!("<h2>Write and read</h2>\n<div class=\"charts\">{chart}</div>\n")
    })
}

/// The rates of the run beside the published tables that are nearest to it in the same tests.
fn beside_published(summary: &RunSummary) -> Option<String> {
    let steps: Vec<&StepSummary> =
        summary.steps.iter().filter(is_measured).filter(|step| step.step.is_empty()).collect();
    let tables = published::all().ok()?;
    let iops = |table: &Published, step: &StepSummary| {
        table.rows.iter().find(|row| row.test == step.test).and_then(published::Row::measured_iops)
    };
    let distance = |table: &Published| {
        let ratios: Vec<f64> = steps
            .iter()
            .filter_map(|step| {
                iops(table, step).filter(|iops| *iops > 0.0).map(|iops| step.total.iops / iops)
            })
            .collect();
        let far = ratios.iter().map(|ratio| ratio.ln()).sum::<f64>() / ratios.len().max(1) as f64;
        (!ratios.is_empty() && ratios.len() * 2 >= steps.len()).then(|| far.abs())
    };
    let mut near: Vec<(f64, &Published)> =
        tables.iter().filter_map(|table| Some((distance(table)?, table))).collect();
    near.sort_by(|a, b| a.0.total_cmp(&b.0));
    near.truncate(TABLES_MAX);
    if near.is_empty() {
        return None;
    }
    let heads: String = near.iter().map(|(_, table)| format!("<th>{}</th>", escape(&table.system))).collect();
    let row = |step: &&StepSummary| {
        let others: String = near
            .iter()
            .map(|(_, table)| {
                let iops = iops(table, step).map_or_else(|| "-".to_owned(), number::long);
                format!("<td>{iops}</td>")
            })
            .collect();
        format!(
            "<tr><td>{}</td><td><strong>{}</strong></td>{others}</tr>\n",
            escape(&step.test),
            number::long(step.total.iops)
        )
    };
    let rows: String = steps.iter().map(row).collect();
    let sources: Vec<&str> = near.iter().map(|(_, table)| table.source.as_str()).collect();
    Some(format!(
        "<h2>Beside published results</h2>\n<div class=\"scroll\" tabindex=\"0\"><table class=\"beside\">\n\
         <caption><span>IOPS of the same tests; the nearest of {}. Sources: {}.</span></caption>\n<thead><tr><th>Test\
         </th><th>This run</th>{heads}</tr></thead>\n<tbody>\n{rows}</tbody></table></div>\n",
        tables.len(),
        escape(&sources.join("; "))
    ))
}
