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

/// How long the workers of a step waited for flushes.
pub(crate) struct FlushWait {
    /// Share of the time of all workers, in [0, 1].
    pub(crate) share: f64,
    /// A flush, mean, ms.
    pub(crate) mean_ms: f64,
    /// Time of flushes for each I/O, mean, ns.
    pub(crate) each_io_ns: f64,
}

/// Returns how long the workers waited for flushes between writes; `None` where there were none.
pub(crate) fn flush_wait(case: StepCase<'_>) -> Option<FlushWait> {
    let parts: Vec<&OpSummary> = case.step.jobs.iter().filter_map(|job| job.flush.as_ref()).collect();
    let all = OpSummary::sum(&parts);
    let mean_ms = all.service.mean_ns()? / 1e6;
    let workers: u32 = case.plan.jobs.iter().map(|job| job.workers).sum();
    let time_s = case.step.seconds * f64::from(workers);
    // A worker issues nothing while it waits for a flush.
    let waited_s = all.ops as f64 * mean_ms / 1e3;
    let each_io_ns = waited_s * 1e9 / case.step.total.ops.max(1) as f64;
    (time_s > 0.0).then_some(FlushWait { share: (waited_s / time_s).min(1.0), mean_ms, each_io_ns })
}
