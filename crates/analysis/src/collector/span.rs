//! The time that the jobs of a step took together. Where some begin later or end before the others, the sum of their
//! rates is one that no second had: the rate of the step is over the whole time, as its counts are.

use crate::summary::{JobSummary, OpSummary};

/// Part of the time from which on jobs count as side by side: each ends with the last I/O of its own, and its rate is
/// that of the time in which all are at work.
const SIDE_BY_SIDE: f64 = 0.95;

/// The time from the first start to the last end, and the part of it in which each job was at work.
pub(super) struct Span {
    pub(super) seconds: f64,
    parts: Vec<f64>,
}

impl Span {
    /// Of jobs whose rates are over one window.
    pub(super) fn in_common(jobs: &[JobSummary]) -> Self {
        let seconds = jobs.iter().map(|job| job.seconds).fold(0.0, f64::max);
        Self { seconds, parts: vec![1.0; jobs.len()] }
    }

    /// Of jobs each of which ran for its own seconds since its start, s.
    pub(super) fn of(jobs: &[JobSummary], starts_s: &[f64]) -> Self {
        let ran = || jobs.iter().zip(starts_s).filter(|(job, _)| job.seconds > 0.0);
        let start_s = ran().map(|(_, start)| *start).fold(f64::INFINITY, f64::min);
        let end_s = ran().map(|(job, start)| start + job.seconds).fold(0.0, f64::max);
        let seconds = end_s - start_s;
        if ran().all(|(job, _)| job.seconds >= SIDE_BY_SIDE * seconds) {
            return Self::in_common(jobs);
        }
        Self { seconds, parts: jobs.iter().map(|job| job.seconds / seconds).collect() }
    }

    /// The sum of a figure of the jobs, in the mean over the whole time.
    pub(super) fn mean(&self, of: impl Iterator<Item = f64>) -> f64 {
        of.zip(&self.parts).map(|(value, part)| value * part).sum()
    }

    /// The sum of what the jobs did.
    pub(super) fn sum<'j>(&self, of: impl Iterator<Item = &'j OpSummary>) -> OpSummary {
        OpSummary::sum_over(&of.zip(self.parts.iter().copied()).collect::<Vec<_>>())
    }
}
