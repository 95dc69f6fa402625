//! Whether the tester was the wall: how near a run came to the limits of the host that made it.

use assay_record::RunHeader;
use serde::Serialize;

use crate::network::other_traffic_ratio;
use crate::rules::{Run, busy_per_worker, foreign_share, null_share, step_name};
use crate::summary::{RunSummary, StepSummary};

/// The use of the tester and its host in a step. What is not known is `None`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TesterUse {
    /// Rate over the one that the same load reaches on a target that costs nothing.
    pub null_ceiling_ratio: Option<f64>,
    /// That rate, I/Os per second.
    pub null_ceiling_iops: Option<f64>,
    /// CPU time of the tester over the window, for each worker.
    pub busy_per_worker: Option<f64>,
    /// CPU time of the host in use, over what there was.
    pub host_busy_ratio: Option<f64>,
    /// CPU time that the hypervisor gave to other guests, over what there was.
    pub steal_ratio: Option<f64>,
    /// Mean lateness of the tester's timers, µs.
    pub timer_late_us: Option<f64>,
    /// Share of other programs in what the disks moved.
    pub other_io_ratio: Option<f64>,
    /// Share of other programs in what the network links carried, at least.
    pub other_traffic_ratio: Option<f64>,
}

/// Returns the use of a step; `None` where it measured nothing.
pub fn tester_use(header: &RunHeader, summary: &RunSummary, step: &StepSummary) -> Option<TesterUse> {
    let case = Run { header, summary }.case(step).filter(|_| step.unmeasured.is_none())?;
    let ratio = null_share(case);
    let used = step.cpu.used;
    Some(TesterUse {
        null_ceiling_ratio: ratio,
        null_ceiling_iops: ratio.filter(|ratio| *ratio > 0.0).map(|ratio| step.total.iops / ratio),
        busy_per_worker: busy_per_worker(case),
        host_busy_ratio: used.map(|used| used.host_busy),
        steal_ratio: used.map(|used| used.steal),
        timer_late_us: (step.host.seconds > 0.0).then_some(step.host.timer_late_mean_ns / 1e3),
        other_io_ratio: foreign_share(case),
        other_traffic_ratio: other_traffic_ratio(header, step),
    })
}

/// The tester over a whole run: each number from the step in which it is highest.
#[derive(Debug, Clone, PartialEq)]
pub struct TesterLimits {
    /// The highest of each number.
    pub most: TesterUse,
    /// The step that came nearest to the generator limit.
    pub nearest: Option<String>,
}

/// Returns the limits of the tester; `None` for a run of no storage, or of another tool.
pub fn tester_limits(header: &RunHeader, summary: &RunSummary) -> Option<TesterLimits> {
    let run = Run { header, summary };
    if header.imported.is_some() || run.storage().next().is_none() {
        return None;
    }
    let all: Vec<(&StepSummary, TesterUse)> =
        summary.steps.iter().filter_map(|step| Some((step, tester_use(header, summary, step)?))).collect();
    let most =
        |of: fn(&TesterUse) -> Option<f64>| all.iter().filter_map(|(_, used)| of(used)).reduce(f64::max);
    let key = |used: &TesterUse| used.null_ceiling_ratio.unwrap_or(0.0);
    let (step, nearest) = all.iter().max_by(|a, b| key(&a.1).total_cmp(&key(&b.1)))?;
    Some(TesterLimits {
        most: TesterUse {
            null_ceiling_ratio: nearest.null_ceiling_ratio,
            null_ceiling_iops: nearest.null_ceiling_iops,
            busy_per_worker: most(|used| used.busy_per_worker),
            host_busy_ratio: most(|used| used.host_busy_ratio),
            steal_ratio: most(|used| used.steal_ratio),
            timer_late_us: most(|used| used.timer_late_us),
            other_io_ratio: most(|used| used.other_io_ratio),
            other_traffic_ratio: most(|used| used.other_traffic_ratio),
        },
        nearest: nearest.null_ceiling_ratio.map(|_| step_name(step)),
    })
}
