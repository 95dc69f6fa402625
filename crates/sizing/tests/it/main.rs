//! Questions in, answers out.
#![expect(
    clippy::unwrap_used,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a panic in a test is a failed test, and the numbers are small and positive"
)]

mod answer;
mod phrasings;
mod published;
// The load curve of a known queue, in virtual time, is what both rooms are tested with.
#[path = "../../../analysis/tests/it/virtual_time.rs"]
mod virtual_time;
mod words;

use assay_analysis::{Collector, RunSummary};
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
