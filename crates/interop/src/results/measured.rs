//! What a run measured, step by step: the sums of its intervals, for exports.

use std::collections::BTreeMap;

use assay_record::{AccessStats, Event, Interval, OpStats, RunEvent, RunHeader, StepCpu, StepEnd, StepId};
use assay_spec::{Job, Step};

/// A step that ran.
#[derive(Debug)]
pub struct Measured<'h> {
    /// Name of its test.
    pub test: &'h str,
    /// As the plan has it.
    pub step: &'h Step,
    /// In the order of the plan.
    pub jobs: Vec<MeasuredJob<'h>>,
    /// CPU over the measured window, where it ended.
    pub cpu: Option<StepCpu>,
}

/// A job of a step.
#[derive(Debug)]
pub struct MeasuredJob<'h> {
    /// As the plan has it.
    pub job: &'h Job,
    /// All access lines together.
    pub stats: AccessStats,
    /// Where the measured window of the job begins in that of the step, ns.
    pub start_ns: u64,
    /// Length of the measured window, ns. More than 0.
    pub measured_ns: u64,
    /// What was completed in each whole second; empty for results of another tool.
    pub seconds: Vec<Second>,
    /// Flushes between writes, where the job makes them.
    pub flush: Option<OpStats>,
}

/// What a job completed in a whole second: reads, then writes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Second {
    /// I/Os.
    pub ops: [u64; 2],
    /// Bytes of these.
    pub bytes: [u64; 2],
}

impl Measured<'_> {
    /// `Sequential read size=4KiB`.
    pub fn name(&self) -> String {
        format!("{} {}", self.test, self.step.label()).trim_end().to_owned()
    }

    /// The time from the first start to the last end, ns, where a job was at work in less than 95 % of it. A sum of
    /// rates is over that time then, as in the table of a run: over their own it would be one that no second had.
    pub(crate) fn span_ns(&self) -> Option<u64> {
        let start_ns = self.jobs.iter().map(|job| job.start_ns).min()?;
        let end_ns = self.jobs.iter().map(|job| job.start_ns.saturating_add(job.measured_ns)).max()?;
        let span_ns = end_ns - start_ns;
        let is_short = |job: &MeasuredJob<'_>| (job.measured_ns as f64) < SIDE_BY_SIDE * span_ns as f64;
        self.jobs.iter().any(is_short).then_some(span_ns)
    }
}

/// Part of the time of a step from which on jobs count as side by side: each ends with the last I/O of its own.
const SIDE_BY_SIDE: f64 = 0.95;

/// Returns the steps that ran to their end, with their sums.
pub fn measured<'h>(header: &'h RunHeader, events: &[Event]) -> Vec<Measured<'h>> {
    let mut sums: BTreeMap<(StepId, usize), AccessStats> = BTreeMap::new();
    let mut starts: BTreeMap<(StepId, usize), u64> = BTreeMap::new();
    let mut by_second: BTreeMap<(StepId, usize), Vec<Second>> = BTreeMap::new();
    let mut steps = Vec::new();
    for event in events {
        match &event.what {
            RunEvent::Interval(interval) => {
                let Interval { test, step, job, .. } = **interval;
                let (key, sum) = ((StepId { test, step }, job as usize), interval.sum());
                if header.imported.is_none() {
                    count(by_second.entry(key).or_default(), interval, &sum);
                }
                let start_ns = starts.entry(key).or_insert(interval.start_ns);
                *start_ns = interval.start_ns.min(*start_ns);
                sums.entry(key).or_default().merge(&sum);
            }
            RunEvent::StepEnded(end) => {
                let found = header.plan.tests.get(end.step.test as usize);
                let Some(test) = found else { continue };
                let Some(step) = test.steps.get(end.step.step as usize) else { continue };
                let ends = step.jobs.iter().zip(&end.jobs).enumerate();
                let jobs: Vec<MeasuredJob<'h>> = ends
                    .filter(|(_, (_, job_end))| job_end.measured_ns > 0)
                    .map(|(index, (job, job_end))| MeasuredJob {
                        job,
                        stats: sums.remove(&(end.step, index)).unwrap_or_default(),
                        start_ns: starts.remove(&(end.step, index)).unwrap_or(0),
                        measured_ns: job_end.measured_ns,
                        seconds: by_second.remove(&(end.step, index)).unwrap_or_default(),
                        flush: flushes(end, index),
                    })
                    .collect();
                if !jobs.is_empty() {
                    steps.push(Measured { test: &test.name, step, jobs, cpu: Some(end.cpu) });
                }
            }
            _ => {}
        }
    }
    steps
}

fn flushes(end: &StepEnd, job: usize) -> Option<OpStats> {
    end.flushes.iter().find(|flushes| flushes.job as usize == job).map(|flushes| flushes.stats.clone())
}

/// Adds an interval to the second in which it ends. One of several seconds or a part of one says nothing of a second.
fn count(seconds: &mut Vec<Second>, interval: &Interval, sum: &AccessStats) {
    const SECOND_NS: u64 = 1_000_000_000;
    const DAY_S: usize = 86_400;
    let length_ns = interval.end_ns.saturating_sub(interval.start_ns);
    let second = usize::try_from((interval.end_ns + SECOND_NS / 2) / SECOND_NS).unwrap_or(usize::MAX);
    if !(SECOND_NS / 2..SECOND_NS * 3 / 2).contains(&length_ns) || second == 0 || second > DAY_S {
        return;
    }
    if seconds.len() < second {
        seconds.resize(second, Second::default());
    }
    for (side, stats) in [&sum.read, &sum.write].into_iter().enumerate() {
        seconds[second - 1].ops[side] += stats.ops();
        seconds[second - 1].bytes[side] += stats.bytes;
    }
}
