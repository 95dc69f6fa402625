//! The answer to a sizing question from the load curve of a target.

use assay_sizing::{Fall, LatencyLimit, Measured};
use serde_json::{Value, json};

use crate::curve::{load_json, load_table};
use crate::layout::wrap;
use crate::number::{long as count, rounded};
use crate::options::{Detail, TextOptions};
use crate::table::{Format, Table};

/// Name and version of the JSON document's form.
pub const SCHEMA: &str = "assay.size-measured/1";

/// Sentences are no wider than this, also in a wider terminal.
const TEXT_COLUMNS: usize = 80;

/// The whole page; in brief the curve stands first, and the answer below it.
pub fn page(answer: &Measured, options: TextOptions) -> String {
    let prose = options.width.min(TEXT_COLUMNS);
    let table = table(answer).render(Format::Text(options.width)).trim_end().to_owned();
    let mut parts = vec![wrap(&sentence(answer), prose, "")];
    parts.extend(falls(answer).map(|says| wrap(&says, prose, "")));
    if !answer.differs.is_empty() {
        let says = format!("The curve is of another load. {}", answer.differs.join(" "));
        parts.push(wrap(&says, prose, ""));
    }
    parts.extend(answer.doubt.as_ref().map(|doubt| wrap(doubt, prose, "")));
    if options.detail == Detail::Brief {
        let says = format!("Measured in run {}; --explain says how the curve is read.", answer.run);
        return format!("{table}\n\n{}\n{}\n", parts.join("\n"), wrap(&says, prose, ""));
    }
    parts.push(table);
    let basis = format!(
        "Measured in run {} with {}; latencies are response times of I/Os that arrive at random times. Between two \
         loads the latency is interpolated; of higher loads, of other sizes and of more data than was measured the \
         curve says nothing.",
        answer.run, answer.load
    );
    parts.push(wrap(&basis, prose, ""));
    parts.join("\n\n") + "\n"
}

/// The answer as a sentence with its margin.
pub fn sentence(answer: &Measured) -> String {
    let name = answer.targets.join(" and ");
    let within = match answer.limit {
        LatencyLimit::None => " at 80 % of its highest rate".to_owned(),
        LatencyLimit::MeanMs(ms) => format!(" within a mean of {ms} ms"),
        LatencyLimit::P99Ms(ms) => format!(" within p99 {ms} ms"),
    };
    let ends = if answer.ends_there { ", where the curve ends" } else { "" };
    let most = match answer.most_iops {
        most if most <= 0.0 => match answer.falls {
            Some(fall) => format!("{} IOPS{within}, but not every lower load", count(fall.within_iops)),
            None => format!("no measured rate{within}"),
        },
        most => format!("{} IOPS{within}{ends}", count(most)),
    };
    let full = format!("It saturates at {} IOPS.", count(answer.full_iops));
    let latency = latency_name(answer.limit);
    let compared = compared(answer);
    match (answer.iops, answer.carries(), answer.latency_ms) {
        (Some(iops), Some(true), Some(ms)) => {
            let room = super::head_room(answer.head_room().unwrap_or_default());
            format!(
                "{name} sustains {} IOPS: {latency} {ms:.2} ms{compared}, {:.0} % of its highest rate. Headroom: \
                 {room}, up to {most}. {full}",
                count(iops),
                iops / answer.full_iops * 100.0
            )
        }
        (Some(iops), _, Some(ms)) if is_in_doubt(answer) => format!(
            "It is in doubt that {name} sustains {} IOPS: {latency} is {ms:.2} ms, but exceeds the limit at a lower \
             load. {full}",
            count(iops)
        ),
        (Some(iops), _, Some(ms)) => {
            format!(
                "{name} does not sustain {} IOPS: {latency} is {ms:.2} ms{compared}. It sustains {most}. {full}",
                count(iops)
            )
        }
        (Some(iops), ..) if answer.ends_there || iops < answer.full_iops => format!(
            "It is unknown whether {name} sustains {} IOPS: the highest load that it sustained was lower. It sustains \
             {most}. {full}",
            count(iops)
        ),
        (Some(iops), ..) => {
            format!("{name} does not sustain {} IOPS. It sustains {most}. {full}", count(iops))
        }
        (None, ..) => format!("{name} sustains {most}. {full}"),
    }
}

fn latency_name(limit: LatencyLimit) -> &'static str {
    match limit {
        LatencyLimit::MeanMs(_) => "mean latency",
        LatencyLimit::None | LatencyLimit::P99Ms(_) => "p99",
    }
}

/// Which load the latency was measured at, where the needed rate lies below all of them.
fn compared(answer: &Measured) -> String {
    match answer.iops.filter(|iops| *iops < answer.lowest_iops) {
        Some(_) => format!(" at {} IOPS, the lowest load measured", count(answer.lowest_iops)),
        None => String::new(),
    }
}

/// Whether the curve says whether the needed rate is carried.
fn is_known(answer: &Measured) -> bool {
    !is_in_doubt(answer) && (!answer.is_beyond() || answer.iops > Some(answer.full_iops))
}

/// Whether the latency meets the limit at the needed rate, and exceeds it at a lower load.
fn is_in_doubt(answer: &Measured) -> bool {
    let limit = match answer.limit {
        LatencyLimit::None => return false,
        LatencyLimit::MeanMs(ms) | LatencyLimit::P99Ms(ms) => ms,
    };
    answer.falls.is_some()
        && answer.carries() == Some(false)
        && answer.latency_ms.is_some_and(|ms| ms <= limit)
}

/// Why the curve is doubtful: more load does not shorten a queue.
fn falls(answer: &Measured) -> Option<String> {
    let Fall { over_iops, over_ms, within_iops, within_ms } = answer.falls?;
    Some(format!(
        "On this curve {} does not rise with the load: it exceeds the limit at {} IOPS ({over_ms:.2} ms) and meets it \
         at {} IOPS ({within_ms:.2} ms), the highest measured load within it. The curve is doubtful; measure it again \
         with a longer --run.",
        latency_name(answer.limit),
        count(over_iops),
        count(within_iops)
    ))
}

/// The measured loads.
pub fn table(answer: &Measured) -> Table {
    load_table(&answer.curve)
}

/// The answer as a JSON document; rates per second, times in ms.
pub fn document(answer: &Measured) -> Value {
    json!({
        "schema": SCHEMA,
        "run": answer.run,
        "targets": answer.targets,
        "load": answer.load,
        "says": sentence(answer),
        "needed_iops": answer.iops,
        "carried": answer.carries().filter(|_| is_known(answer)),
        "latency_ms": answer.latency_ms.and_then(rounded),
        "most_iops": rounded(answer.most_iops),
        "curve_ends_there": answer.ends_there,
        "full_iops": rounded(answer.full_iops),
        "head_room": answer.head_room().and_then(rounded),
        "differs": answer.differs,
        "doubt": answer.doubt,
        "lowest_measured_iops": rounded(answer.lowest_iops),
        "falls": answer.falls.map(|fall| json!({
            "over_iops": rounded(fall.over_iops),
            "over_ms": rounded(fall.over_ms),
            "within_iops": rounded(fall.within_iops),
            "within_ms": rounded(fall.within_ms),
        })),
        "curve": load_json(&answer.curve),
    })
}

#[cfg(test)]
mod tests {
    use assay_analysis::{LoadCurve, LoadPoint};

    use super::*;

    /// p99 of 8.49 ms at 16,321 per second, and of 4.73 at 114,058.
    fn falling(iops: f64, ms: f64) -> Measured {
        let point = |offered: f64, ms: f64| LoadPoint {
            step: assay_record::StepId { test: 0, step: 0 },
            label: "load=10%".to_owned(),
            offered,
            achieved: offered,
            kept: 1.0,
            load: None,
            service_us: 100.0,
            response_us: 200.0,
            response_p50_us: Some(150.0),
            response_p99_us: Some(ms * 1e3),
            is_saturated: false,
        };
        let points = vec![point(16_321.0, 8.49), point(114_058.0, 4.73)];
        Measured {
            run: "r".to_owned(),
            targets: vec!["./t.dat".to_owned()],
            curve: LoadCurve { test: "t".to_owned(), maximum: None, points, knee: None },
            load: "4KiB, 100 % read, 100 % random".to_owned(),
            differs: vec![],
            doubt: None,
            iops: Some(iops),
            limit: LatencyLimit::P99Ms(5.0),
            latency_ms: Some(ms),
            most_iops: 0.0,
            ends_there: false,
            full_iops: 159_688.0,
            lowest_iops: 16_321.0,
            falls: Some(Fall { over_iops: 16_321.0, over_ms: 8.49, within_iops: 114_058.0, within_ms: 4.73 }),
        }
    }

    #[test]
    fn a_rate_below_the_curve_is_compared_with_its_lowest_load_and_a_fall_is_doubtful() {
        let answer = falling(500.0, 8.49);
        let says = sentence(&answer);
        assert!(says.contains("p99 is 8.49 ms at 16,321 IOPS, the lowest load measured"), "{says}");
        assert!(
            says.contains("It sustains 114,058 IOPS within p99 5 ms, but not every lower load"),
            "{says}"
        );
        let page = page(&answer, TextOptions { width: 60, ..TextOptions::default() });
        assert!(page.contains("doubtful") && page.contains("4.73 ms"), "{page}");
        assert!(page.lines().all(|line| line.chars().count() <= 60), "{page}");
    }

    #[test]
    fn a_rate_within_the_limit_above_one_that_is_not_is_in_doubt() {
        let answer = falling(100_000.0, 4.9);
        let says = sentence(&answer);
        assert!(says.contains("It is in doubt that ./t.dat sustains 100,000 IOPS: p99 is 4.90 ms"), "{says}");
        assert_eq!(document(&answer)["carried"], Value::Null);
    }
}
