//! Results in the shapes that people know: the window of CrystalDiskMark, the bars of ATTO, the table of the forum with
//! what others published.

use assay_analysis::{PublishedSetup, RunSummary, StepSummary, published_beside};
use assay_record::RunHeader;
use assay_spec::suites::suite_titled;

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
    // A run has the title of its suite.
    if !suite_titled(&header.plan.name).is_some_and(|suite| ["atto", "super-atto"].contains(&suite.name)) {
        return None;
    }
    let mut rows: Vec<PairRow> = Vec::new();
    let writes = |step: &StepSummary| step.write.ops > step.read.ops;
    // The first test has the first colour in every chart.
    let is_write_first = summary.steps.iter().find(is_measured).is_some_and(writes);
    for step in summary.steps.iter().filter(is_measured) {
        let name = step.step.strip_prefix("size=")?.split(' ').next()?.to_owned();
        let index = rows.iter().position(|row| row.name == name).unwrap_or_else(|| {
            rows.push(PairRow { name, write: None, read: None });
            rows.len() - 1
        });
        let of = if writes(step) { &mut rows[index].write } else { &mut rows[index].read };
        *of = Some(of.unwrap_or(0.0).max(step.total.mb_per_s));
    }
    let styles = if is_write_first { [0, 1] } else { [1, 0] };
    (!rows.is_empty()).then(|| {
        let chart = Pairs { title: "MB/s by size", rows, styles }.svg();
        format!("<h2>Write and read</h2>\n<div class=\"charts\">{chart}</div>\n")
    })
}

/// The rates of the run beside the published tables that are nearest to it in the same tests.
fn beside_published(summary: &RunSummary) -> Option<String> {
    let setups = published_beside(summary);
    let near: Vec<&PublishedSetup> = setups.iter().take(TABLES_MAX).collect();
    if near.is_empty() {
        return None;
    }
    let heads: String = near.iter().map(|setup| format!("<th>{}</th>", escape(&setup.name))).collect();
    let row = |step: &StepSummary| {
        let of = |setup: &&PublishedSetup| {
            let found = setup.iops.iter().find(|(test, _)| *test == step.test);
            let iops = found.map_or_else(|| "-".to_owned(), |(_, iops)| number::long(*iops));
            format!("<td>{iops}</td>")
        };
        let others: String = near.iter().map(of).collect();
        format!(
            "<tr><td>{}</td><td><strong>{}</strong></td>{others}</tr>\n",
            escape(&step.test),
            number::long(step.total.iops)
        )
    };
    let rows: String = summary.steps.iter().filter(is_measured).map(row).collect();
    let mut sources: Vec<&str> = Vec::new();
    for setup in &near {
        if !sources.contains(&setup.source.as_str()) {
            sources.push(&setup.source);
        }
    }
    Some(format!(
        "<h2>Beside published results</h2>\n<div class=\"scroll\" tabindex=\"0\"><table class=\"beside\">\n\
         <caption><span>IOPS of the same tests; the nearest of {} published set-ups. Sources: {}.</span></caption>\n\
         <thead><tr><th>Test\
         </th><th>This run</th>{heads}</tr></thead>\n<tbody>\n{rows}</tbody></table></div>\n",
        setups.len(),
        escape(&sources.join("; "))
    ))
}
