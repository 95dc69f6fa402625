//! Expected beside measured, and the verdicts: as text, as JSON, as HTML.

use assay_analysis::{Case, Judgement, Standing, Verdict};
use assay_model::published::{Published, Row};
use assay_model::quantity::Bounds;
use assay_model::resolved::Software;
use serde_json::{Value, json};

use crate::layout::{left, wrap};
use crate::number::{rounded, short};
use crate::prediction::{grid, interval, prediction_json, simulated_json};
use crate::svg::escape;

/// Names in the table are cut to this, so that it fits 80 columns.
const NAME_COLUMNS: usize = 28;

/// What of a judgement goes under a table, wrapped to so many columns.
#[must_use]
pub fn text(judgement: &Judgement, columns: usize) -> String {
    let judged: Vec<(&Case, &Verdict)> = judged(judgement);
    if judged.is_empty() {
        return String::new();
    }
    let of = if judgement.array.is_empty() { String::new() } else { format!(" of {}", judgement.array) };
    let mut rows = vec![["Expected", "IOPS", "p99 ms", "ratio", "", ""].map(str::to_owned).to_vec()];
    rows.extend(judged.iter().map(|(case, verdict)| {
        let expected = expected_of(case);
        let bound = expected.is_bound;
        vec![
            left(&case.measured.name, NAME_COLUMNS).trim_end().to_owned(),
            if bound { format!("at most {}", short(expected.iops.hi)) } else { interval(expected.iops) },
            expected.p99_ms.filter(|_| !bound).map_or("-".to_owned(), interval),
            format!("{:.2}", verdict.ratio),
            standing_words(verdict.standing).to_owned(),
            String::new(),
        ]
    }));
    let mut text = format!("\nWhat the array file{of} lets one expect:\n{}\n", grid(&rows));
    for (case, verdict, others) in grouped(&judged) {
        let more = match others {
            0 => String::new(),
            1 => " (and one test like it)".to_owned(),
            n => format!(" (and {n} tests like it)"),
        };
        text.push_str(&wrap(&format!("{}{more}: {}", case.measured.name, verdict.says), columns, "  "));
        text.push('\n');
    }
    if let Some(verdict) = &judgement.verdict {
        text.push_str(&wrap(&format!("\nVERDICT: {}", verdict.says), columns, "  "));
        text.push('\n');
    }
    text
}

/// What a case was expected to be.
struct Expected {
    iops: Bounds,
    p99_ms: Option<Bounds>,
    is_bound: bool,
}

fn expected_of(case: &Case) -> Expected {
    if let Some(beside) = &case.beside {
        let simulated = &beside.expected().simulated;
        let is_bound = beside.together.software == Software::Unknown;
        return Expected { iops: simulated.iops, p99_ms: Some(simulated.p99_ms), is_bound };
    }
    let p = &case.load.as_ref().expect("a verdict needs a load").prediction;
    Expected { iops: p.iops, p99_ms: p.p99_ms, is_bound: p.software == Software::Unknown }
}

/// Tests whose verdict is the same but for its numbers, as the first of them with the count of the others.
fn grouped<'j>(judged: &[(&'j Case, &'j Verdict)]) -> Vec<(&'j Case, &'j Verdict, usize)> {
    let mut groups: Vec<(&Case, &Verdict, usize)> = Vec::new();
    for (case, verdict) in judged {
        let alike = |v: &Verdict| {
            (&v.limit, v.standing, &v.experiment, &v.rules)
                == (&verdict.limit, verdict.standing, &verdict.experiment, &verdict.rules)
        };
        match groups.iter_mut().find(|(_, known, _)| alike(known)) {
            Some(group) => group.2 += 1,
            None => groups.push((case, verdict, 0)),
        }
    }
    groups
}

fn standing_words(standing: Standing) -> &'static str {
    match standing {
        Standing::AsExpected => "as expected",
        Standing::Below => "below",
        Standing::Above => "above",
    }
}

fn judged(judgement: &Judgement) -> Vec<(&Case, &Verdict)> {
    judgement.cases.iter().zip(&judgement.verdicts).filter_map(|(c, v)| Some((c, v.as_ref()?))).collect()
}

/// A step's expectation with its ratio, and its verdict.
pub(crate) fn step_json(case: &Case, verdict: Option<&Verdict>) -> (Value, Value) {
    let mut expected = match (&case.load, &case.beside) {
        (_, Some(beside)) => {
            let mut expected = simulated_json(&beside.expected().simulated);
            expected["is_bound"] = json!(beside.together.software == Software::Unknown);
            expected["alone_iops"] = json!(rounded(beside.expected().alone_iops));
            expected
        }
        (Some(load), None) => prediction_json(&load.prediction),
        (None, None) => return (Value::Null, json!(verdict)),
    };
    expected["ratio"] = json!(verdict.and_then(|v| rounded(v.ratio)));
    (expected, json!(verdict))
}

/// A table and the verdicts as HTML.
pub(crate) fn html(judgement: &Judgement) -> String {
    let judged = judged(judgement);
    if judged.is_empty() {
        return String::new();
    }
    let mut text = format!("<h2>Expected of {}</h2>\n", escape(&judgement.array));
    if let Some(verdict) = &judgement.verdict {
        text.push_str(&format!("<p><strong>Verdict:</strong> {}</p>\n", escape(&verdict.says)));
    }
    text.push_str("<table>\n<thead><tr><th>Test</th><th>Expected IOPS</th><th>Measured</th><th>Ratio</th><th>Limit</th></tr></thead>\n<tbody>\n");
    for (case, verdict) in &judged {
        let all = expected_of(case);
        let expected =
            if all.is_bound { format!("at most {}", short(all.iops.hi)) } else { interval(all.iops) };
        text.push_str(&format!(
            "<tr><td>{}</td><td>{expected}</td><td>{}</td><td>{:.2}</td><td>{}</td></tr>\n",
            escape(&case.measured.name),
            short(case.measured.iops),
            verdict.ratio,
            escape(&verdict.limit)
        ));
    }
    text.push_str("</tbody>\n</table>\n<ul class=\"findings\">\n");
    for (case, verdict) in &judged {
        let words = format!("{}: {}", case.measured.name, verdict.says);
        text.push_str(&format!("<li class=\"info\">{}</li>\n", escape(&words)));
    }
    text.push_str("</ul>\n");
    text
}

/// The rows of a published table as a run's are printed; findings and expectations go below.
#[must_use]
pub fn published_table(table: &Published) -> String {
    let mut text =
        format!("{}\n{}\n{}\n\n", table.system, wrap(&table.source, 110, ""), wrap(&table.setup, 110, ""));
    let titles = ["Test", "MiB/s", "IOPS", "Avg ms", "Max ms", "Outst.", "", ""];
    let mut rows = vec![titles.map(str::to_owned).to_vec()];
    let number = |value: Option<f64>| value.map_or("-".to_owned(), short);
    rows.extend(table.rows.iter().map(|row| {
        let mib = row.mib_s.or(row.mb_s.map(|mb| mb * 1e6 / 1_048_576.0));
        vec![
            row.test.clone(),
            number(mib),
            number(row.measured_iops()),
            number(row.mean_ms),
            number(row.max_ms),
            number(row.iops.zip(row.mean_ms).map(|(x, r)| x * r / 1e3)),
            String::new(),
            String::new(),
        ]
    }));
    let lines = grid(&rows);
    let mut lines = lines.lines();
    lines.by_ref().take(2).for_each(|line| text.push_str(&format!("{}\n", line.trim_end())));
    for (index, (line, row)) in lines.zip(&table.rows).enumerate() {
        text.push_str(&format!("{line}\n"));
        // Rows of one set-up follow each other; what is to be said of it is said once, below the last of them.
        let says = remark(row);
        if !says.is_empty() && table.rows.get(index + 1).is_none_or(|next| remark(next) != says) {
            text.push_str(&format!("{}\n", wrap(&format!("    {says}"), 100, "    ")));
        }
    }
    text
}

fn remark(row: &Row) -> String {
    let range = row.iops_range.map(|[lo, hi]| format!("{lo:.0} to {hi:.0} IOPS")).unwrap_or_default();
    let words = [row.setup.as_str(), row.note.as_str(), range.as_str()];
    words.into_iter().filter(|w| !w.is_empty()).collect::<Vec<_>>().join("; ")
}

/// A published table with what is to be said of it, as one JSON document.
#[must_use]
pub fn published_json(table: &Published, judgement: &Judgement) -> Value {
    let rows =
        table.rows.iter().zip(&judgement.cases).zip(&judgement.verdicts).map(|((row, case), verdict)| {
            let (expected, verdict) = step_json(case, verdict.as_ref());
            let mut value = json!(row);
            value["expected"] = expected;
            value["verdict"] = verdict;
            value
        });
    json!({
        "schema": "assay.published/1",
        "name": table.name,
        "system": table.system,
        "source": table.source,
        "setup": table.setup,
        "rows": rows.collect::<Vec<_>>(),
        "findings": judgement.findings,
        "verdict": judgement.verdict,
    })
}
