//! Runs in, text out.
#![expect(clippy::unwrap_used, reason = "a panic in a test is a failed test")]

mod compare;
mod html;
mod json;
mod listing;
mod map;
mod network;
mod table;
mod text;
mod validation;

use assay_analysis::{Collector, Finding, RunSummary, findings};
use assay_record::{Event, RunHeader};
use assay_spec::Plan;
use assay_testkit::synthetic;

/// A run with all that is said of it.
struct Reported {
    header: RunHeader,
    summary: RunSummary,
    findings: Vec<Finding>,
}

/// What the header's run amounts to when `events` is all there is of it.
fn reported(header: RunHeader, events: &[Event]) -> Reported {
    let mut collector = Collector::new(&header);
    events.iter().for_each(|e| collector.add(e));
    let summary = collector.summary();
    let findings = findings(&header, &summary);
    Reported { header, summary, findings }
}

/// A run of `plan` on the default target.
fn run(plan: Plan) -> Reported {
    let header = synthetic::header(plan);
    let events = synthetic::events(&header, synthetic::Target::default());
    reported(header, &events)
}

const TWO_JOBS: &str = "name = \"side by side\"\n[[test]]\nname = \"two loads at once\"\nrun = \"3s\"\n\
    [[test.job]]\nname = \"virtual machine\"\naccess = [{ size = \"8KiB\", read = 65, random = 60 }]\noutstanding = 8\n\
    [[test.job]]\nname = \"backup\"\naccess = [{ size = \"256KiB\", read = 100 }]\noutstanding = 2\n";

const OPEN: &str = "name = \"open\"\n[[test]]\nname = \"steady users\"\nrun = \"3s\"\n\
    access = [{ size = \"8KiB\", random = 100 }]\noutstanding = 256\n\
    pace = { rate = \"1000/s\", arrivals = \"constant\" }\n";
