//! Sizing against what was measured: the load curve of a stored run in place of a model.
//!
//! A curve has the latency of a target at several offered loads. Between two of them the latency is interpolated;
//! beyond
//! the last one that the target kept up with, nothing is said but that it was not measured.

use std::fmt;

use assay_record::RunHeader;
use assay_spec::{Access, Job};
use serde::Serialize;

use super::{LatencyLimit, LeftOpen, Question};
use crate::curve::{LoadCurve, LoadPoint, load_curves};
use crate::summary::RunSummary;

/// Without a limit on latency, the target may be loaded with so much of its highest rate.
const BUSY_MAX: f64 = 0.8;
/// Sizes and shares that differ by less than this are the same, relative and in percent.
const SAME_SIZE: f64 = 0.05;
const SAME_PCT: f64 = 2.0;

/// Why a run does not answer a question. The message is complete.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MeasuredError {
    /// The run has no load curve.
    NoCurve(String),
    /// Its load curve has no point that the target kept up with.
    Saturated(String),
}

impl fmt::Display for MeasuredError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoCurve(run) => {
                write!(f, "run {run} has no load curve; measure one with assay curve, and name that run")
            }
            Self::Saturated(run) => {
                write!(
                    f,
                    "the target of run {run} was saturated at every load of its curve; measure a curve of lower rates"
                )
            }
        }
    }
}

impl std::error::Error for MeasuredError {}

/// The answer of a measured target.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Measured {
    /// The run.
    pub run: String,
    /// Addresses of its targets.
    pub targets: Vec<String>,
    /// Its load curve that is nearest to the question.
    pub curve: LoadCurve,
    /// The load of that curve: `4KiB, 100 % read, 100 % random`.
    pub load: String,
    /// In what that load differs from the question's, in sentences.
    pub differs: Vec<String>,
    /// Why the curve itself is in doubt, in a sentence.
    pub doubt: Option<String>,
    /// Needed rate, I/Os per second; `None`: the highest is asked for.
    pub iops: Option<f64>,
    /// The limit on latency.
    pub limit: LatencyLimit,
    /// Latency that the limit is on at the needed rate, ms; `None` without a rate, or above the measured ones.
    pub latency_ms: Option<f64>,
    /// Highest rate within the limit that was measured, I/Os per second.
    pub most_iops: f64,
    /// Whether the limit is not reached at that rate: the curve ends there.
    pub ends_there: bool,
    /// Highest rate of a closed loop, or of the curve, I/Os per second.
    pub full_iops: f64,
}

impl Measured {
    /// Whether the target carries the needed rate; `None` without one.
    #[must_use]
    pub fn carries(&self) -> Option<bool> {
        self.iops.map(|iops| iops <= self.most_iops)
    }

    /// Highest rate over the needed one, minus 1; `None` without a rate.
    #[must_use]
    pub fn head_room(&self) -> Option<f64> {
        self.iops.map(|iops| self.most_iops / iops - 1.0)
    }

    /// Whether the needed rate lies above every one that the target kept up with, so that its latency is unknown.
    #[must_use]
    pub fn is_beyond(&self) -> bool {
        self.iops.is_some() && self.latency_ms.is_none()
    }
}

/// Answers a question from a run.
///
/// # Errors
/// See [`MeasuredError`].
pub fn measured(
    question: &Question,
    header: &RunHeader,
    summary: &RunSummary,
) -> Result<Measured, MeasuredError> {
    let job_of = |curve: &LoadCurve| {
        let test = header.plan.tests.iter().find(|test| test.name == curve.test)?;
        test.steps.first()?.jobs.first()
    };
    let curves: Vec<(LoadCurve, &Job)> = load_curves(header, summary)
        .into_iter()
        .filter_map(|curve| job_of(&curve).map(|job| (curve, job)))
        .collect();
    let nearest =
        curves.into_iter().min_by(|a, b| distance(question, a.1).total_cmp(&distance(question, b.1)));
    let Some((curve, job)) = nearest else { return Err(MeasuredError::NoCurve(header.run.clone())) };
    let need = &question.need;
    let kept: Vec<&LoadPoint> = curve.points.iter().filter(|point| !point.is_saturated).collect();
    let Some(last) = kept.last() else { return Err(MeasuredError::Saturated(header.run.clone())) };
    let full_iops = curve.maximum.map_or(last.achieved, |maximum| maximum.iops.max(last.achieved));
    let (most_iops, ends_there) = most(&kept, &curve.points, need.limit, full_iops);
    let latency_ms = need.iops.and_then(|iops| latency_at(&kept, need.limit, iops));
    Ok(Measured {
        run: header.run.clone(),
        targets: header.targets.iter().map(|target| target.address.clone()).collect(),
        load: load_words(job),
        differs: differences(question, job),
        doubt: doubt(&curve, last),
        iops: need.iops,
        limit: need.limit,
        latency_ms,
        most_iops,
        ends_there,
        full_iops,
        curve,
    })
}

/// A target that falls behind at a load keeps up with no higher one, unless something else slowed it down.
fn doubt(curve: &LoadCurve, last: &LoadPoint) -> Option<String> {
    let behind = curve.points.iter().find(|point| point.is_saturated && point.offered < last.offered)?;
    Some(format!(
        "The target fell behind at {:.0} IOPS and kept up with {:.0}: something else loaded it, or this host. Measure \
         the curve again.",
        behind.offered, last.offered
    ))
}

/// The latency that the limit is on, ms. p99 where there is none.
fn latency_ms(point: &LoadPoint, limit: LatencyLimit) -> f64 {
    let us = match limit {
        LatencyLimit::MeanMs(_) => point.response_us,
        LatencyLimit::None | LatencyLimit::P99Ms(_) => point.response_p99_us.unwrap_or(point.response_us),
    };
    us / 1e3
}

/// The latency at a rate, between the two points around it; below the first point, that one's.
fn latency_at(kept: &[&LoadPoint], limit: LatencyLimit, iops: f64) -> Option<f64> {
    let above = kept.iter().position(|point| point.offered >= iops)?;
    let next = latency_ms(kept[above], limit);
    let Some(before) = above.checked_sub(1) else { return Some(next) };
    let part = (iops - kept[before].offered) / (kept[above].offered - kept[before].offered);
    let last = latency_ms(kept[before], limit);
    Some(last + (next - last) * part)
}

/// The highest rate within the limit, and whether the curve ends there.
fn most(kept: &[&LoadPoint], all: &[LoadPoint], limit: LatencyLimit, full: f64) -> (f64, bool) {
    let limit_ms = match limit {
        LatencyLimit::None => {
            let highest = kept.last().map_or(0.0, |point| point.offered);
            return (highest.min(full * BUSY_MAX), highest < full * BUSY_MAX);
        }
        LatencyLimit::MeanMs(ms) | LatencyLimit::P99Ms(ms) => ms,
    };
    let Some(over) = kept.iter().position(|point| latency_ms(point, limit) > limit_ms) else {
        // What is saturated has a latency that grows as long as the load lasts.
        let last = kept.last().map_or(0.0, |point| point.offered);
        return (last, all.iter().all(|point| !point.is_saturated));
    };
    let Some(before) = over.checked_sub(1) else { return (0.0, false) };
    let (low, high) = (latency_ms(kept[before], limit), latency_ms(kept[over], limit));
    let part = (limit_ms - low) / (high - low).max(f64::MIN_POSITIVE);
    (kept[before].offered + (kept[over].offered - kept[before].offered) * part, false)
}

/// Size, share of reads and share of random positions of a job, weighted by its lines.
fn of_job(job: &Job) -> (f64, f64, f64) {
    let weight = |a: &Access| f64::from(a.weight) * f64::from(a.burst.max(1));
    let all: f64 = job.mix.iter().map(weight).sum();
    let mean =
        |of: fn(&Access) -> f64| job.mix.iter().map(|a| weight(a) * of(a)).sum::<f64>() / all.max(1e-9);
    (mean(|a| a.size.0 as f64), mean(|a| a.read), mean(|a| a.random))
}

fn load_words(job: &Job) -> String {
    let (size, read, random) = of_job(job);
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a size of I/Os")]
    let size = assay_spec::units::Bytes(size.round() as u64);
    format!("{size}, {read:.0} % read, {random:.0} % random")
}

/// How far a load is from the question's: what the question leaves open counts nothing.
fn distance(question: &Question, job: &Job) -> f64 {
    let (size, read, random) = of_job(job);
    let (need, open) = (&question.need, question.left_open);
    let of = |is_open: bool, distance: f64| if is_open { 0.0 } else { distance.abs() };
    of(open.size, (size / need.size.0 as f64).ln())
        + of(open.reads, (read - need.read_pct) / 100.0)
        + of(open.positions, (random - need.random_pct) / 100.0)
}

fn differences(question: &Question, job: &Job) -> Vec<String> {
    let (size, read, random) = of_job(job);
    let (need, LeftOpen { size: any_size, reads, positions }) = (&question.need, question.left_open);
    let mut found = Vec::new();
    if !any_size && (size / need.size.0 as f64 - 1.0).abs() > SAME_SIZE {
        found.push(format!("I/Os of {} were measured on average, not of {}.", kib(size), need.size));
    }
    if !reads && (read - need.read_pct).abs() > SAME_PCT {
        found.push(format!("{read:.0} % reads were measured, not {:.0} %.", need.read_pct));
    }
    if !positions && (random - need.random_pct).abs() > SAME_PCT {
        found.push(format!("{random:.0} % random positions were measured, not {:.0} %.", need.random_pct));
    }
    found
}

fn kib(bytes: f64) -> String {
    format!("{:.1} KiB", bytes / 1024.0)
}
