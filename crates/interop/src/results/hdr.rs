//! HdrHistogram's interval log, version 1.3: one line for each interval, tagged with its test and kind of operation.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use assay_record::{Event, Latency, Phase, RunEvent, RunHeader, StepId};

/// Writes the distributions of a run, second by second; times are ns, `Interval_Max` is in ms.
pub fn export(header: &RunHeader, events: &[Event]) -> String {
    let start_s = header.started_unix_ms as f64 / 1000.0;
    let mut text = format!(
        "#[Logged with Assay {}]\n#[Histogram log format version 1.3]\n#[StartTime: {start_s:.3} (seconds since \
         epoch)]\n\"StartTimestamp\",\"Interval_Length\",\"Interval_Max\",\"Interval_Compressed_Histogram\"\n",
        header.version
    );
    let mut began: BTreeMap<StepId, u64> = BTreeMap::new();
    for event in events {
        match &event.what {
            RunEvent::PhaseStarted { step, phase: Phase::Measure } => drop(began.insert(*step, event.at_ns)),
            RunEvent::Interval(interval) => {
                let step = StepId { test: interval.test, step: interval.step };
                let start_ns = began.get(&step).copied().unwrap_or(0) + interval.start_ns;
                let length_ns = interval.end_ns.saturating_sub(interval.start_ns);
                let sum = interval.sum();
                for (kind, stats) in [("read", &sum.read), ("write", &sum.write)] {
                    line(
                        &mut text,
                        &tag(header, step, interval.job, kind),
                        (start_ns, length_ns),
                        stats.waited(),
                    );
                }
            }
            _ => {}
        }
    }
    text
}

fn line(text: &mut String, tag: &str, (start_ns, length_ns): (u64, u64), latency: &Latency) {
    if latency.is_empty() || !latency.has_distribution() {
        return;
    }
    let seconds = |ns: u64| ns as f64 / 1e9;
    let max_ms = latency.max_ns().unwrap_or(0) as f64 / 1e6;
    let (start, length) = (seconds(start_ns), seconds(length_ns));
    let _ = writeln!(text, "Tag={tag},{start:.3},{length:.3},{max_ms:.3},{}", latency.to_hdr());
}

/// A tag has no commas and no blanks.
fn tag(header: &RunHeader, id: StepId, job: u32, kind: &str) -> String {
    let test = header.plan.tests.get(id.test as usize);
    let step = test.and_then(|test| test.steps.get(id.step as usize));
    let mut name = test.map_or(String::new(), |test| test.name.clone());
    if let Some(step) = step {
        name = format!("{name} {}", step.label()).trim_end().to_owned();
        if step.jobs.len() > 1 {
            let job = step.jobs.get(job as usize).map_or("", |job| job.name.as_str());
            name = format!("{name} {job}");
        }
    }
    format!("{name}_{kind}").chars().map(|c| if c.is_whitespace() || c == ',' { '_' } else { c }).collect()
}
