//! The answer to a sizing question from the load curve of a target.

use assay_analysis::sizing::{LatencyLimit, Measured};
use serde_json::{Value, json};

use crate::curve::{load_json, load_table};
use crate::layout::wrap;
use crate::number::{long as count, rounded};
use crate::options::TextOptions;
use crate::table::{Format, Table};

/// Name and version of the JSON document's form.
pub const SCHEMA: &str = "assay.size-measured/1";
/// Sentences are wrapped here.
const TEXT_COLUMNS: usize = 80;

/// The whole page.
#[must_use]
pub fn page(answer: &Measured, options: TextOptions) -> String {
    let mut parts = vec![wrap(&sentence(answer), TEXT_COLUMNS, "")];
    if !answer.differs.is_empty() {
        let says = format!("The curve is of another load. {}", answer.differs.join(" "));
        parts.push(wrap(&says, TEXT_COLUMNS, ""));
    }
    parts.extend(answer.doubt.as_ref().map(|doubt| wrap(doubt, TEXT_COLUMNS, "")));
    parts.push(table(answer).render(Format::Text(options.width.max(TEXT_COLUMNS))).trim_end().to_owned());
    let basis = format!(
        "Measured in run {} with {}; latencies are response times of I/Os that arrive at random times. Between two \
         loads the latency is interpolated; of higher loads, of other sizes and of more data than was measured the \
         curve says nothing.",
        answer.run, answer.load
    );
    parts.push(wrap(&basis, TEXT_COLUMNS, ""));
    parts.join("\n\n") + "\n"
}

/// The answer as a sentence with its margin.
#[must_use]
pub fn sentence(answer: &Measured) -> String {
    let name = answer.targets.join(" and ");
    let within = match answer.limit {
        LatencyLimit::None => " at 80 % of its highest rate".to_owned(),
        LatencyLimit::MeanMs(ms) => format!(" within a mean of {ms} ms"),
        LatencyLimit::P99Ms(ms) => format!(" within p99 {ms} ms"),
    };
    let ends = if answer.ends_there { ", where the curve ends" } else { "" };
    let most = match answer.most_iops {
        most if most <= 0.0 => format!("no measured rate{within}"),
        most => format!("{} IOPS{within}{ends}", count(most)),
    };
    let full = format!("It is full at {} IOPS.", count(answer.full_iops));
    let latency = match answer.limit {
        LatencyLimit::MeanMs(_) => "mean latency",
        LatencyLimit::None | LatencyLimit::P99Ms(_) => "p99",
    };
    match (answer.iops, answer.carries(), answer.latency_ms) {
        (Some(iops), Some(true), Some(ms)) => {
            let room = answer.head_room().unwrap_or_default() * 100.0;
            format!(
                "{name} carries {} IOPS: {latency} {ms:.2} ms, {:.0} % of its highest rate. Head room: {room:.0} %, up \
                 to {most}. {full}",
                count(iops),
                iops / answer.full_iops * 100.0
            )
        }
        (Some(iops), _, Some(ms)) => {
            format!(
                "{name} does not carry {} IOPS: {latency} is {ms:.2} ms. It carries {most}. {full}",
                count(iops)
            )
        }
        (Some(iops), ..) if answer.ends_there || iops < answer.full_iops => format!(
            "Whether {name} carries {} IOPS is unknown: the highest load that it sustained was lower. It carries \
             {most}. {full}",
            count(iops)
        ),
        (Some(iops), ..) => format!("{name} does not carry {} IOPS. It carries {most}. {full}", count(iops)),
        (None, ..) => format!("{name} carries {most}. {full}"),
    }
}

/// The measured loads.
#[must_use]
pub fn table(answer: &Measured) -> Table {
    load_table(&answer.curve)
}

/// The answer as a JSON document; rates per second, times in ms.
#[must_use]
pub fn document(answer: &Measured) -> Value {
    json!({
        "schema": SCHEMA,
        "run": answer.run,
        "targets": answer.targets,
        "load": answer.load,
        "says": sentence(answer),
        "needed_iops": answer.iops,
        "carried": answer.carries().filter(|_| !answer.is_beyond() || answer.iops > Some(answer.full_iops)),
        "latency_ms": answer.latency_ms.and_then(rounded),
        "most_iops": rounded(answer.most_iops),
        "curve_ends_there": answer.ends_there,
        "full_iops": rounded(answer.full_iops),
        "head_room": answer.head_room().and_then(rounded),
        "differs": answer.differs,
        "doubt": answer.doubt,
        "curve": load_json(&answer.curve),
    })
}
