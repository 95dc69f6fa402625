//! Events in, summary and findings out.
#![expect(
    clippy::unwrap_used,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a panic in a test is a failed test, and the numbers are small and positive"
)]

mod caches;
mod compare;
mod curve;
mod fleet;
mod limit;
mod model_rules;
mod network;
mod precision;
mod rules;
mod summary;
mod virtual_time;
mod wording;

use assay_analysis::{Collector, Finding, RunSummary, findings};
use assay_record::{Event, RunHeader};
use assay_testkit::synthetic;

/// Returns the summary of the events.
fn summarize(header: &RunHeader, reported: &[Event]) -> RunSummary {
    let mut collector = Collector::new(header);
    reported.iter().for_each(|e| collector.add(e));
    collector.summary()
}

/// A run of `plan` on the default target.
fn run(plan: &str) -> (RunHeader, RunSummary) {
    let header = synthetic::header(synthetic::plan(plan));
    let summary = summarize(&header, &synthetic::events(&header, synthetic::Target::default()));
    (header, summary)
}

/// What the rule of that name has to say.
fn found(rule: &str, header: &RunHeader, summary: &RunSummary) -> Option<Finding> {
    findings(header, summary).into_iter().find(|f| f.rule == rule)
}
