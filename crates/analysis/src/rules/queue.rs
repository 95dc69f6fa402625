//! About the queue: the I/Os really in flight, and the positions they touched.

use assay_spec::{Engine, Job, Semantics, units::MIB};

use super::{Fired, StepCase};
use crate::finding::{Evidence, Severity};
use crate::summary::Load;

/// Below this share of the I/Os asked for, the queue was not full (Little: in flight = rate x time).
const FULL_SHARE: f64 = 0.97;

/// Fewer I/Os were in flight than the queue depth of the plan.
pub(super) fn drained_queue(case: StepCase<'_>) -> Option<Fired> {
    let step = case.step;
    if step.load != Load::Closed || step.unmeasured.is_some() || step.outstanding_asked == 0 {
        return None;
    }
    // Of I/Os that all failed there is neither a rate nor a latency.
    if step.total.ops == 0 {
        return None;
    }
    let asked = step.outstanding_asked as f64;
    let share = step.outstanding_effective / asked;
    if share >= FULL_SHARE {
        return None;
    }
    let (why, next) = why_drained(case);
    Some(Fired {
        severity: Severity::Info,
        says: format!(
            "On average {:.1} of {asked:.0} I/Os were in flight (IOPS x mean latency){why}.",
            step.outstanding_effective
        ),
        evidence: vec![
            Evidence::new("in flight", step.outstanding_effective, "I/Os"),
            Evidence::new("asked for", asked, "I/Os"),
        ],
        next,
        weight: 1.0 - share,
    })
}

fn why_drained(case: StepCase<'_>) -> (String, &'static str) {
    let jobs = &case.plan.jobs;
    if let Some(every) = jobs.iter().find_map(|j| j.reconnect_every) {
        let reconnects: u64 = case.step.jobs.iter().map(|j| j.reconnects).sum();
        let times = if reconnects > 0 {
            format!(", {reconnects} time{} in all", if reconnects == 1 { "" } else { "s" })
        } else {
            String::new()
        };
        let why = format!(": the load drains its queue and reopens the target every {every} I/Os{times}");
        return (
            why,
            "Iometer does the same, and published tables contain it; the suite vmware-modern keeps the queue full.",
        );
    }
    if jobs.iter().flat_map(|j| &j.mix).any(|a| a.delay.0 > 0) {
        return (": the plan pauses between bursts".into(), "");
    }
    if case.run.header.targets.iter().any(|t| t.member.engine == Engine::Inline) {
        return (": the worker itself serves a file in memory, one I/O at a time".into(), "");
    }
    if case.step.errors > 0 {
        return (": failed I/Os are not counted".into(), "");
    }
    // The queue fills at the start and empties at the end: that takes about one mean latency of the window.
    let mean_s = case.step.total.service.mean_ns().unwrap_or(0.0) / 1e9;
    if mean_s > case.step.seconds * (1.0 - FULL_SHARE) / 2.0 {
        return (
            ": the window is short compared with the latency, so filling and draining the queue count".into(),
            "Measure longer: --set run=2min.",
        );
    }
    (
        ": the remaining time passed between the completion of one I/O and the issue of the next".into(),
        "Check tester CPU and turn time in the report; more workers with a smaller queue depth help if the tester is \
         the limit.",
    )
}

/// With a rewind every N I/Os, sequential I/O touches the start of the target only.
pub(super) fn rereads_start(case: StepCase<'_>) -> Option<Fired> {
    // A target that stores nothing has no cache.
    case.run.storage().next()?;
    if case.run.header.plan.semantics != Semantics::Iometer {
        return None;
    }
    let touched = case.plan.jobs.iter().filter_map(|job| {
        let span = case.members(job).map(|m| m.span_bytes).min()?;
        let touched = touched_bytes(job)?;
        (touched < span).then_some((touched, span, job))
    });
    let (touched, span, job) = touched.min_by_key(|(touched, ..)| *touched)?;
    let (touched_mib, span_mib) = (touched as f64 / MIB as f64, span as f64 / MIB as f64);
    Some(Fired {
        severity: Severity::Warning,
        says: format!(
            "The position returns to the start every {} I/Os, so the test touches only the first {touched_mib:.1} of \
             {span_mib:.1} MiB: it measures cache and link, not disks.",
            job.reconnect_every.unwrap_or_default()
        ),
        evidence: vec![Evidence::new("touched", touched_mib, "MiB"), Evidence::new("span", span_mib, "MiB")],
        next: "Compare it with published forum tables only; the suite vmware-modern reads the whole file.",
        weight: 1.0 - touched as f64 / span as f64,
    })
}

/// Returns the bytes between two rewinds of a sequential job; `None` for others.
fn touched_bytes(job: &Job) -> Option<u64> {
    let every = u64::from(job.reconnect_every?);
    let is_sequential = job.mix.iter().all(|a| a.random == 0.0);
    // An I/O advances by its size, then up to the alignment.
    let advance = |a: &assay_spec::Access| a.size.0.max(a.reply.0).next_multiple_of(a.align.0.max(1));
    is_sequential.then(|| job.mix.iter().map(advance).max().unwrap_or(0).saturating_mul(every))
}
