//! Curves of a run: response over offered load, and throughput over queue depth, each with its knee.
//!
//! A test that sweeps the rate of an open loop is a [`LoadCurve`]; one that sweeps the queue depth of a closed loop is
//! a [`DepthCurve`]. Who wrote the plan does not matter: `assay curve`, a suite, or a person.

use assay_record::{RunHeader, StepId};
use assay_spec::{Job, Pacing, Step, Test};
use serde::Serialize;

use crate::places::is_random;
use crate::summary::{RunSummary, StepSummary};

/// Fewer points than this are no curve.
const POINTS_MIN: usize = 3;
/// A depth has a dip if it gives less than this part of the rate of a shallower one, and a still deeper one gives more
/// than `ABOVE` of that: of random I/Os no disk, cache or link does so.
const BELOW: f64 = 0.8;
const ABOVE: f64 = 1.25;
/// Below this share of the I/Os that were due, the target does not keep up with the load.
const KEPT: f64 = 0.99;

/// Response over offered load.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LoadCurve {
    /// Name of the test.
    pub test: String,
    /// The fastest closed loop with the same access in this run; `None` where there is none.
    pub maximum: Option<CurveMaximum>,
    /// In the order of the offered load.
    pub points: Vec<LoadPoint>,
    /// Index of the knee: of the steps that are not saturated, the one with the highest achieved rate over mean
    /// response time. `None` where all are saturated.
    pub knee: Option<usize>,
}

/// The fastest closed loop of a run.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct CurveMaximum {
    /// Which step.
    #[serde(skip)]
    pub step: StepId,
    /// I/Os per second.
    pub iops: f64,
    /// I/Os in flight that it asked for.
    pub outstanding: u64,
}

/// One offered load.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LoadPoint {
    /// Which step.
    #[serde(skip)]
    pub step: StepId,
    /// Its swept value, `load=50%`.
    pub label: String,
    /// I/Os per second that the plan offers.
    pub offered: f64,
    /// I/Os per second that completed.
    pub achieved: f64,
    /// Share of the I/Os that were due in the window and completed. In [0, 1].
    pub kept: f64,
    /// Offered rate over the rate of the maximum.
    pub load: Option<f64>,
    /// Mean from issue to completion, µs.
    pub service_us: f64,
    /// Mean from when an I/O was due to its completion, µs.
    pub response_us: f64,
    /// Median of the response time, µs.
    pub response_p50_us: Option<f64>,
    /// 99th percentile of the response time, µs.
    pub response_p99_us: Option<f64>,
    /// Whether fewer than 99 % of the I/Os that were due completed in the window: the backlog grew.
    pub is_saturated: bool,
}

/// Throughput and latency over queue depth.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DepthCurve {
    /// Name of the test.
    pub test: String,
    /// In the order of the depth.
    pub points: Vec<DepthPoint>,
    /// Index of the knee: the highest rate over mean latency. No knee where there is a [`Self::dip`].
    pub knee: usize,
    /// Each I/O has a random position: no reading ahead, which a few streams may defeat and more restore, has a part.
    #[serde(skip)]
    pub is_random: bool,
}

/// One queue depth.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DepthPoint {
    /// Which step.
    #[serde(skip)]
    pub step: StepId,
    /// I/Os in flight that the plan asks for, all workers together.
    pub asked: u64,
    /// I/Os per second.
    pub iops: f64,
    /// Mean latency, µs.
    pub mean_us: f64,
    /// 99th percentile of the latency, µs.
    pub p99_us: Option<f64>,
    /// Little's law: rate times mean latency, the mean number of I/Os in flight.
    pub in_flight: f64,
}

impl DepthCurve {
    /// Three points of random I/Os of which the second is far below the first and the third far above it, in the order
    /// of the depth: something was slower for a while, which may be Assay, so that no depth is known to be the knee.
    pub fn dip(&self) -> Option<[&DepthPoint; 3]> {
        let highest = |of: &'_ [DepthPoint]| (0..of.len()).max_by(|a, b| of[*a].iops.total_cmp(&of[*b].iops));
        (1..self.points.len().saturating_sub(1)).find_map(|low| {
            let before = &self.points[highest(&self.points[..low])?];
            let after = &self.points[low + 1 + highest(&self.points[low + 1..])?];
            let low = &self.points[low];
            let is_dip = self.is_random && low.iops < BELOW * before.iops && after.iops > ABOVE * before.iops;
            is_dip.then_some([before, low, after])
        })
    }
}

impl LoadCurve {
    /// Returns true if a load fell behind and a higher one did not: something else slowed the target or this host for a
    /// while, so that no load is known to be its limit.
    pub fn is_unsteady(&self) -> bool {
        self.points.windows(2).any(|two| two[0].is_saturated && !two[1].is_saturated)
    }
}

/// Returns the load curves of a run.
pub fn load_curves(header: &RunHeader, summary: &RunSummary) -> Vec<LoadCurve> {
    let tests = header.plan.tests.iter().enumerate();
    tests.filter_map(|(index, test)| load_curve(header, summary, index, test)).collect()
}

fn load_curve(header: &RunHeader, summary: &RunSummary, index: usize, test: &Test) -> Option<LoadCurve> {
    let is_swept = |step: &Step| matches!(&step.swept[..], [one] if one.key == "rate" || one.key == "load");
    let is_open = |step: &Step| step.jobs.len() == 1 && step.jobs[0].pacing.is_open();
    if !test.steps.iter().all(|step| is_swept(step) && is_open(step)) {
        return None;
    }
    let maximum = maximum_like(header, summary, &test.steps[0].jobs[0]);
    let measured = measured(summary, index, test);
    let mut points: Vec<LoadPoint> =
        measured.filter_map(|(plan, step)| load_point(plan, step, maximum)).collect();
    if points.len() < POINTS_MIN {
        return None;
    }
    points.sort_by(|a, b| a.offered.total_cmp(&b.offered));
    let power = |point: &LoadPoint| point.achieved / point.response_us.max(f64::MIN_POSITIVE);
    let sound = points.iter().enumerate().filter(|(_, point)| !point.is_saturated);
    let knee = sound.max_by(|a, b| power(a.1).total_cmp(&power(b.1))).map(|(index, _)| index);
    Some(LoadCurve { test: test.name.clone(), maximum, points, knee })
}

/// The fastest closed loop with the access and the workers of this job.
fn maximum_like(header: &RunHeader, summary: &RunSummary, like: &Job) -> Option<CurveMaximum> {
    let is_like = |job: &Job| {
        job.pacing == Pacing::Closed
            && (&job.mix, job.workers, &job.targets, job.span)
                == (&like.mix, like.workers, &like.targets, like.span)
    };
    let tests = header.plan.tests.iter().enumerate();
    let closed = tests.flat_map(|(index, test)| measured(summary, index, test));
    closed
        .filter(|(plan, _)| matches!(&plan.jobs[..], [job] if is_like(job)))
        .map(|(_, step)| CurveMaximum {
            step: step.id,
            iops: step.total.iops,
            outstanding: step.outstanding_asked,
        })
        .max_by(|a, b| a.iops.total_cmp(&b.iops))
}

fn load_point(plan: &Step, step: &StepSummary, maximum: Option<CurveMaximum>) -> Option<LoadPoint> {
    let offered: f64 = plan.jobs.iter().filter_map(|job| job.pacing.rate()).map(|rate| rate.0).sum();
    let due: Option<u64> = step.jobs.iter().map(|job| job.due).sum();
    let kept = match due {
        Some(due) if due > 0 => (step.total.ops as f64 / due as f64).min(1.0),
        _ => (step.total.iops / offered).min(1.0),
    };
    let waited = step.total.waited();
    let us = |ns: Option<f64>| ns.map(|ns| ns / 1e3);
    Some(LoadPoint {
        step: step.id,
        label: step.step.clone(),
        offered,
        achieved: step.total.iops,
        kept,
        load: maximum.filter(|maximum| maximum.iops > 0.0).map(|maximum| offered / maximum.iops),
        service_us: us(step.total.service.mean_ns())?,
        response_us: us(waited.mean_ns())?,
        response_p50_us: us(waited.quantile_ns(0.5)),
        response_p99_us: us(waited.quantile_ns(0.99)),
        is_saturated: kept < KEPT,
    })
}

/// Returns the depth curves of a run.
pub fn depth_curves(header: &RunHeader, summary: &RunSummary) -> Vec<DepthCurve> {
    let tests = header.plan.tests.iter().enumerate();
    tests.filter_map(|(index, test)| depth_curve(summary, index, test)).collect()
}

fn depth_curve(summary: &RunSummary, index: usize, test: &Test) -> Option<DepthCurve> {
    let is_swept = |step: &Step| matches!(&step.swept[..], [one] if one.key == "outstanding");
    let is_closed = |step: &Step| matches!(&step.jobs[..], [job] if job.pacing == Pacing::Closed);
    if !test.steps.iter().all(|step| is_swept(step) && is_closed(step)) {
        return None;
    }
    let mut points: Vec<DepthPoint> =
        measured(summary, index, test).filter_map(|(_, step)| depth_point(step)).collect();
    if points.len() < POINTS_MIN {
        return None;
    }
    points.sort_by_key(|point| point.asked);
    let power = |point: &DepthPoint| point.iops / point.mean_us.max(f64::MIN_POSITIVE);
    let best = points.iter().enumerate().max_by(|a, b| power(a.1).total_cmp(&power(b.1)));
    let knee = best.map(|(index, _)| index)?;
    let is_random = test.steps.iter().flat_map(|step| &step.jobs).all(is_random);
    Some(DepthCurve { test: test.name.clone(), points, knee, is_random })
}

fn depth_point(step: &StepSummary) -> Option<DepthPoint> {
    let latency = &step.total.service;
    Some(DepthPoint {
        step: step.id,
        asked: step.outstanding_asked,
        iops: step.total.iops,
        mean_us: latency.mean_ns()? / 1e3,
        p99_us: latency.quantile_ns(0.99).map(|ns| ns / 1e3),
        in_flight: step.outstanding_effective,
    })
}

/// The steps of a test that have a result, with what the plan says of each.
fn measured<'m>(
    summary: &'m RunSummary,
    index: usize,
    test: &'m Test,
) -> impl Iterator<Item = (&'m Step, &'m StepSummary)> {
    let of_test = summary.steps.iter().filter(move |step| step.id.test as usize == index);
    let has_result =
        |step: &&StepSummary| step.skipped.is_none() && step.unmeasured.is_none() && step.total.ops > 0;
    of_test.filter(has_result).filter_map(|step| Some((test.steps.get(step.id.step as usize)?, step)))
}
