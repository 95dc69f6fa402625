//! About flushes between writes: what a plan with `flush` waits for.

use super::{Fired, StepCase};
use crate::finding::{Evidence, Severity};
use crate::summary::OpSummary;

/// The flushes of a step, in numbers.
pub(super) fn flush_latency(case: StepCase<'_>) -> Option<Fired> {
    let parts: Vec<&OpSummary> = case.step.jobs.iter().filter_map(|job| job.flush.as_ref()).collect();
    let all = OpSummary::sum(&parts);
    if all.ops == 0 || case.step.seconds <= 0.0 {
        return None;
    }
    let mean = all.service.mean_ns()? / 1e6;
    let p99 = all.service.quantile_ns(0.99)? / 1e6;
    let longest = all.service.max_ns()? as f64 / 1e6;
    let errors = match all.errors {
        0 => String::new(),
        count => format!(" {count} more failed."),
    };
    Some(Fired {
        severity: Severity::Info,
        says: format!(
            "{} flushes between the writes took {mean:.3} ms on average, p99 {p99:.3} ms. They are in no rate and no \
             latency of the table.{errors}",
            all.ops
        ),
        evidence: vec![
            Evidence::new("flushes", all.ops as f64, ""),
            Evidence::new("flushes per second", all.iops, "/s"),
            Evidence::new("mean", mean, "ms"),
            Evidence::new("p99", p99, "ms"),
            Evidence::new("longest", longest, "ms"),
        ],
        next: "",
        weight: 0.0,
    })
}
