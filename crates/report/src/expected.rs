//! Expected and measured values, and the verdicts: as text, as JSON, as HTML.

use assay_analysis::{Agreement, Case, Judgement, Verdict};
use assay_model::published::{Published, Row};
use assay_model::quantity::Bounds;
use assay_record::StepId;
use serde_json::{Value, json};

use crate::layout::wrap;
use crate::number::{long, rounded};
use crate::prediction::{interval, prediction_json, simulated_json};
use crate::svg::escape;
use crate::table::{self, Align, Column, Decimals, Format, Narrow, Table};

/// Names in the table are cut to this, so that it fits 80 columns.
const NAME_COLUMNS: usize = 28;

/// Returns expectations and verdicts as text, wrapped to this many columns.
pub fn text(judgement: &Judgement, columns: usize) -> String {
    let judged: Vec<(&Case, &Verdict)> = judged(judgement);
    if judged.is_empty() {
        return String::new();
    }
    let of = if judgement.array.is_empty() { String::new() } else { format!(" of {}", judgement.array) };
    let table = expectation_table(&judged).render(Format::Text(columns));
    let mut text = format!("\nExpected{of}:\n{table}\n");
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

/// Returns a rate beside what is expected of it: `RealLife 480 IOPS, x0.40 of 1,200 (1,000..1,500) expected`; beside a
/// bound: `RealLife 480 IOPS, x0.17 of at most 2,790`.
pub(crate) fn measured_over_expected(case: &Case, verdict: &Verdict) -> String {
    let expected = expected_of(case);
    format!(
        "{} {} IOPS, x{:.2} of {}{}",
        case.measured.name,
        long(case.measured.iops),
        verdict.ratio,
        expected.iops_words(),
        if expected.is_bound { "" } else { " expected" }
    )
}

/// Returns measured and expected rates, a row for each judged load.
fn expectation_table(judged: &[(&Case, &Verdict)]) -> Table {
    let mut table = Table::new(vec![
        Column::text("Test").narrow(Narrow::Cut(NAME_COLUMNS)),
        Column::number("Measured", "IOPS").decimals(Decimals::Each),
        Column::text("Expected IOPS").align(Align::Right).narrow(Narrow::Keep),
        Column::text("p99 ms").align(Align::Right).narrow(Narrow::Drop(1)),
        Column::number("Ratio", "").decimals(Decimals::Fixed(2)),
        Column::text("").narrow(Narrow::Keep),
    ]);
    for (case, verdict) in judged {
        let expected = expected_of(case);
        table.push([
            case.measured.name.clone().into(),
            case.measured.iops.into(),
            expected.iops_words().into(),
            expected.p99_ms.filter(|_| !expected.is_bound).map(interval).unwrap_or_default().into(),
            verdict.ratio.into(),
            agreement_words(verdict, expected.is_bound).into(),
        ]);
    }
    table
}

/// The expectation of a case.
pub(crate) struct Expected {
    pub(crate) iops: Bounds,
    pub(crate) p99_ms: Option<Bounds>,
    /// Whether the rate is a bound of the hardware, because the cost of software is not known.
    pub(crate) is_bound: bool,
}

impl Expected {
    fn iops_words(&self) -> String {
        match self.is_bound {
            true => format!("at most {}", long(self.iops.hi)),
            false => interval(self.iops),
        }
    }
}

/// Returns the expectation of a step; `None` where the model cannot express its load.
pub(crate) fn of_step(judgement: &Judgement, step: StepId) -> Option<Expected> {
    let (case, verdict) = judgement.step(step)?;
    verdict.map(|_| expected_of(case))
}

fn expected_of(case: &Case) -> Expected {
    let is_bound = case.is_bound();
    if let Some(beside) = &case.beside {
        let simulated = &beside.expected().simulated;
        return Expected { iops: simulated.iops, p99_ms: Some(simulated.p99_ms), is_bound };
    }
    let p = &case.load.as_ref().expect("a verdict needs a load").prediction;
    Expected { iops: p.iops, p99_ms: p.p99_ms, is_bound }
}

/// Tests whose verdict is the same but for its numbers, as the first of them with the count of the others.
fn grouped<'j>(judged: &[(&'j Case, &'j Verdict)]) -> Vec<(&'j Case, &'j Verdict, usize)> {
    let mut groups: Vec<(&Case, &Verdict, usize)> = Vec::new();
    for (case, verdict) in judged {
        let alike = |v: &Verdict| {
            (&v.limit, v.agreement, &v.experiment, &v.rules)
                == (&verdict.limit, verdict.agreement, &verdict.experiment, &verdict.rules)
        };
        match groups.iter_mut().find(|(_, known, _)| alike(known)) {
            Some(group) => group.2 += 1,
            None => groups.push((case, verdict, 0)),
        }
    }
    groups
}

fn agreement_words(verdict: &Verdict, is_bound: bool) -> &'static str {
    match verdict.agreement {
        // No further than the model errs.
        Agreement::AsExpected if is_bound && verdict.ratio > 1.0 => "a little over",
        Agreement::AsExpected if is_bound => "within it",
        Agreement::AsExpected => "as expected",
        Agreement::Below => "below",
        Agreement::Above => "above",
    }
}

pub(crate) fn judged(judgement: &Judgement) -> Vec<(&Case, &Verdict)> {
    judgement.cases.iter().zip(&judgement.verdicts).filter_map(|(c, v)| Some((c, v.as_ref()?))).collect()
}

/// A step's expectation with its ratio, and its verdict.
pub(crate) fn step_json(case: &Case, verdict: Option<&Verdict>) -> (Value, Value) {
    let mut expected = match (&case.load, &case.beside) {
        (_, Some(beside)) => {
            let mut expected = simulated_json(&beside.expected().simulated);
            expected["is_bound"] = json!(case.is_bound());
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
    text.push_str(&format!(
        "<div class=\"scroll\" tabindex=\"0\">{}</div>\n",
        expectation_table(&judged).html("")
    ));
    text.push_str("<ul class=\"findings\">\n");
    for (case, verdict, others) in grouped(&judged) {
        let more = match others {
            0 => String::new(),
            1 => " (and one test like it)".to_owned(),
            n => format!(" (and {n} tests like it)"),
        };
        let words = format!("{}{more}: {}", case.measured.name, verdict.says);
        text.push_str(&format!("<li class=\"info\">{}</li>\n", escape(&words)));
    }
    text.push_str("</ul>\n");
    text
}

/// Returns a published table with where it comes from; findings and expectations go below.
pub fn published_table(published: &Published, width: usize) -> String {
    let heading = [&published.system, &published.source, &published.setup].map(|line| wrap(line, width, ""));
    format!("{}\n\n{}", heading.join("\n"), published_rows(published).render(Format::Text(width)))
}

/// Returns the rows of a published table, with the remarks on them.
pub fn published_rows(published: &Published) -> Table {
    let mut table = Table::new(vec![
        Column::text("Test").narrow(Narrow::Cut(NAME_COLUMNS)),
        Column::number("MiB/s", "").decimals(Decimals::Each),
        Column::number("IOPS", "").decimals(Decimals::Each),
        Column::number("Avg", "ms").decimals(Decimals::Each),
        Column::number("Max", "ms").decimals(Decimals::Each),
        Column::number("Outst.", "").decimals(Decimals::Each),
    ]);
    for (index, row) in published.rows.iter().enumerate() {
        table.push([
            row.test.clone().into(),
            row.mib_s.or(row.mb_s.map(|mb| mb * 1e6 / 1_048_576.0)).into(),
            row.measured_iops().into(),
            row.mean_ms.into(),
            row.max_ms.into(),
            row.iops.zip(row.mean_ms).map(|(x, r)| x * r / 1e3).into(),
        ]);
        // Rows of one set-up follow each other; what is to be said of it is said once, below the last of them.
        let says = remark(row);
        if !says.is_empty() && published.rows.get(index + 1).is_none_or(|next| remark(next) != says) {
            table.rows.push(table::Row::Note(says));
        }
    }
    table
}

fn remark(row: &Row) -> String {
    let range = row.iops_range.map(|[lo, hi]| format!("{lo:.0} to {hi:.0} IOPS")).unwrap_or_default();
    let words = [row.setup.as_str(), row.note.as_str(), range.as_str()];
    words.into_iter().filter(|w| !w.is_empty()).collect::<Vec<_>>().join("; ")
}

/// A published table with what is to be said of it, as one JSON document.
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
