//! Sizing against what was measured: the load curve of a stored run in place of a model.
//!
//! A curve has the latency of a target at several offered loads. Between two of them the latency is interpolated;
//! beyond
//! the last one that the target kept up with, nothing is said but that it was not measured.

use std::fmt;

use assay_analysis::{LoadCurve, LoadPoint, RunSummary, load_curves};
use assay_record::RunHeader;
use assay_spec::{Access, Job};
use serde::Serialize;

use crate::{BUSY_MAX, Endure, LatencyLimit, LeftOpen, Question};

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
    /// The question asks for what no curve shows: in words.
    OnlyModelled(&'static str),
}

impl fmt::Display for MeasuredError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoCurve(run) => {
                write!(f, "run {run} has no load curve; measure one with assay curve, and name that run")
            }
            Self::OnlyModelled(what) => write!(
                f,
                "a load curve shows the target as it was, and says nothing of {what}; leave that out, or ask the model \
                 with --array"
            ),
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
    /// Lowest offered load, I/Os per second: below it nothing was measured, and its latency stands for all lower rates.
    pub lowest_iops: f64,
    /// Where a load is over the limit and a higher one within it; `None`: the curve rises as curves do.
    pub falls: Option<Fall>,
}

/// A latency that exceeds the limit at a load and meets it at a higher one.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Fall {
    /// The lowest load over the limit, I/Os per second.
    pub over_iops: f64,
    /// Latency there, ms.
    pub over_ms: f64,
    /// The highest load within the limit, I/Os per second.
    pub within_iops: f64,
    /// Latency there, ms.
    pub within_ms: f64,
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
    if let Some(what) = only_modelled(question) {
        return Err(MeasuredError::OnlyModelled(what));
    }
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
        lowest_iops: kept[0].offered,
        falls: fall(&kept, need.limit),
        curve,
    })
}

/// What of a question only a model of an array can answer.
fn only_modelled(question: &Question) -> Option<&'static str> {
    let is_of_devices = question.disks.is_some()
        || question.limits_devices()
        || question.how_many
        || question.disk_size.is_some()
        || !question.classes.is_empty();
    [
        (question.endure == Endure::Failed, "a failed device"),
        (question.endure == Endure::Rebuilding, "a rebuild"),
        (is_of_devices, "the number or the kind of devices"),
        (!question.levels.is_empty(), "RAID levels"),
        (question.link.is_some() || question.protocol.is_some(), "another link or protocol"),
        (!question.changes.is_empty(), "the effect of a change"),
    ]
    .into_iter()
    .find_map(|(is_asked, what)| is_asked.then_some(what))
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

/// Where the latency falls below the limit again, at a higher load.
fn fall(kept: &[&LoadPoint], limit: LatencyLimit) -> Option<Fall> {
    let limit_ms = match limit {
        LatencyLimit::None => return None,
        LatencyLimit::MeanMs(ms) | LatencyLimit::P99Ms(ms) => ms,
    };
    let over = kept.iter().find(|point| latency_ms(point, limit) > limit_ms)?;
    let within = kept.iter().rfind(|point| latency_ms(point, limit) <= limit_ms)?;
    (within.offered > over.offered).then(|| Fall {
        over_iops: over.offered,
        over_ms: latency_ms(over, limit),
        within_iops: within.offered,
        within_ms: latency_ms(within, limit),
    })
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
    // Caches hold more of less data; what a curve covered is all of its targets, or the window of its jobs.
    let covered = match job.span {
        Some(span) => format!("the first {span} of the target"),
        None => "what its run used of the target".to_owned(),
    };
    let asked = [(need.data, "of data"), (need.active, "of active data")];
    let others = asked.into_iter().filter(|(bytes, _)| bytes.is_some() && *bytes != job.span);
    found.extend(others.filter_map(|(bytes, of)| {
        bytes.map(|bytes| format!("It covers {covered}, and the question is about {bytes} {of}."))
    }));
    if !positions && (random - need.random_pct).abs() > SAME_PCT {
        found.push(format!("{random:.0} % random positions were measured, not {:.0} %.", need.random_pct));
    }
    found
}

fn kib(bytes: f64) -> String {
    format!("{:.1} KiB", bytes / 1024.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(offered: f64, mean_ms: f64) -> LoadPoint {
        LoadPoint {
            step: assay_record::StepId { test: 0, step: 0 },
            label: String::new(),
            offered,
            achieved: offered,
            kept: 1.0,
            load: None,
            service_us: 0.0,
            response_us: mean_ms * 1e3,
            response_p50_us: None,
            response_p99_us: None,
            is_saturated: false,
        }
    }

    #[test]
    fn a_load_over_the_limit_below_one_within_it_is_a_fall() {
        let points = [point(100.0, 8.0), point(200.0, 4.0), point(300.0, 4.5), point(400.0, 9.0)];
        let kept: Vec<&LoadPoint> = points.iter().collect();
        let found = fall(&kept, LatencyLimit::MeanMs(5.0));
        let expected = Fall { over_iops: 100.0, over_ms: 8.0, within_iops: 300.0, within_ms: 4.5 };
        assert_eq!(found, Some(expected));
        assert_eq!(fall(&kept[1..], LatencyLimit::MeanMs(5.0)), None);
        assert_eq!(fall(&kept, LatencyLimit::MeanMs(3.0)), None);
        assert_eq!(fall(&kept, LatencyLimit::None), None);
    }
}
