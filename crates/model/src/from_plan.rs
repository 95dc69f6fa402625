//! Plans as the model sees them: each job of a step becomes a [`Workload`].

use assay_spec as spec;
use assay_spec::units::{Bytes, Nanos};

use crate::array::Array;
use crate::concurrent::{Concurrent, predict_concurrent};
use crate::predict::{Engines, Prediction, predict};
use crate::resolved::Tables;
use crate::workload::{Access, Arrivals, LoadModel, Skew, Workload};

/// Where a job's I/Os go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Extent {
    /// Where the target lies in the array's data, bytes from the outer edge; 0 where it is unknown.
    pub start: Bytes,
    /// Bytes of the target that the plan uses.
    pub span: Bytes,
    /// From its first byte to its last; 0 where it lies in one piece.
    pub reach: Bytes,
    /// Stretches that do not follow each other. At least 1.
    pub pieces: u32,
    /// Members (files, LUNs) of the target: Iometer keeps its outstanding I/Os on each of them.
    pub members: u32,
}

impl Extent {
    /// One piece at the outer edge, of one member.
    #[must_use]
    pub fn outer(span: Bytes) -> Self {
        Self { start: Bytes(0), span, reach: span, pieces: 1, members: 1 }
    }
}

/// The prediction for a step.
#[derive(Debug, Clone, PartialEq)]
pub enum StepPrediction {
    /// It has one job.
    Single(Box<Prediction>),
    /// Its jobs run side by side, so that only the simulation can answer.
    Concurrent(Box<Concurrent>),
}

/// I/Os per seed where jobs run side by side: their slowest must have thousands too.
pub const CONCURRENT_IOS: u64 = 200_000;

/// Predicts a step on an array; `engines` is for steps of one job.
#[must_use]
pub fn predict_step(
    array: &Array,
    workloads: &[Workload],
    engines: Engines,
    tables: &mut Tables,
) -> Option<StepPrediction> {
    match workloads {
        [] => None,
        [one] => Some(StepPrediction::Single(Box::new(predict(array, one, engines, tables)))),
        several => Some(StepPrediction::Concurrent(Box::new(predict_concurrent(
            array, several, CONCURRENT_IOS, tables,
        )))),
    }
}

/// The loads of a step, in the order of its jobs. Several are to be predicted together. None for a step that trims, as
/// the cost of a trim is not in the model, and it is no write, and for jobs that wait for each other.
#[must_use]
pub fn workloads(test: &str, semantics: spec::Semantics, step: &spec::Step, extent: Extent) -> Vec<Workload> {
    let several = step.jobs.len() > 1;
    let is_known = |job: &spec::Job| job.flow == 0 && !job.mix.iter().any(spec::Access::trims);
    if !step.jobs.iter().all(is_known) {
        return Vec::new();
    }
    step.jobs
        .iter()
        .map(|job| {
            let name = if several { format!("{test} / {}", job.name) } else { test.to_owned() };
            workload(name, semantics, job, step.stop.time, extent)
        })
        .collect()
}

fn workload(
    name: String,
    semantics: spec::Semantics,
    job: &spec::Job,
    duration: Nanos,
    extent: Extent,
) -> Workload {
    let per_worker = match semantics {
        spec::Semantics::Iometer => job.outstanding.saturating_mul(extent.members.max(1)),
        spec::Semantics::Assay | spec::Semantics::Fio => job.outstanding,
    };
    let part = |bytes: Bytes| job.span.map_or(bytes, |span| span.min(bytes));
    let window = job.window.of(extent.span.0);
    let (offset, in_window) = (window.start, window.end.min(extent.span.0).saturating_sub(window.start));
    // Pieces are taken to lie evenly over the reach, so that a window has its share of both.
    let share = in_window as f64 / (extent.span.0 as f64).max(1.0);
    let of_window = |bytes: f64| Bytes(crate::num::whole(bytes * share));
    let reach = if job.window.is_whole() { extent.reach } else { of_window(extent.reach.0 as f64) };
    let pieces = crate::num::small(crate::num::whole((f64::from(extent.pieces) * share).ceil())).max(1);
    let stretch = extent.reach.max(extent.span).0 as f64 / (extent.span.0 as f64).max(1.0);
    Workload {
        name,
        mix: job.mix.iter().flat_map(lines).collect(),
        outstanding: per_worker,
        workers: job.workers,
        start: Bytes(extent.start.0.saturating_add(crate::num::whole(offset as f64 * stretch))),
        span: part(Bytes(in_window)),
        reach: part(reach),
        pieces,
        duration,
        reconnect_every: job.reconnect_every,
        pace: pace(job),
        flush_every: if job.sync { Some(1) } else { job.flush.map(|flush| flush.every.max(1)) },
        skew: skew(job),
    }
}

/// The skew of the line with most of the I/Os. Zones and normal distributions have none that a cache could use here.
fn skew(job: &spec::Job) -> Skew {
    let weight = |a: &&spec::Access| u64::from(a.weight) * u64::from(a.burst.max(1));
    match job.mix.iter().max_by_key(weight).map(|access| &access.distribution) {
        Some(spec::Distribution::Zipf(theta)) => Skew::Zipf(*theta),
        Some(spec::Distribution::Pareto(h)) => Skew::Pareto(*h),
        _ => Skew::None,
    }
}

/// A line of the mix, and its replies the other way.
fn lines(access: &spec::Access) -> Vec<Access> {
    // Weights count bursts; a burst is this many I/Os.
    let weight = f64::from(access.weight) * f64::from(access.burst.max(1));
    let line = |size: Bytes, read_pct: f64| Access { size, read_pct, random_pct: access.random, weight };
    let mut lines = vec![line(access.size, access.read)];
    if access.reply.0 > 0 {
        lines.push(line(access.reply, 100.0 - access.read));
    }
    lines
}

/// Delays before bursts hold a worker back as a rate does: at most `burst` I/Os per delay.
fn pace(job: &spec::Job) -> LoadModel {
    match job.pacing {
        spec::Pacing::Throttled { rate } => LoadModel::Rate { per_s: rate.0, arrivals: Arrivals::Even },
        spec::Pacing::Open { rate, arrivals } => {
            let arrivals = match arrivals {
                spec::Arrivals::Constant => Arrivals::Even,
                spec::Arrivals::Poisson => Arrivals::Poisson,
            };
            LoadModel::Rate { per_s: rate.0, arrivals }
        }
        spec::Pacing::Closed => {
            let sum = |of: &dyn Fn(&spec::Access) -> f64| -> f64 {
                job.mix.iter().map(|a| f64::from(a.weight) * of(a)).sum()
            };
            let delay_s = sum(&|a| a.delay.as_secs_f64());
            let ios = sum(&|a| f64::from(a.burst.max(1)));
            if delay_s > 0.0 {
                LoadModel::Rate { per_s: f64::from(job.workers) * ios / delay_s, arrivals: Arrivals::Even }
            } else {
                LoadModel::Closed
            }
        }
    }
}
