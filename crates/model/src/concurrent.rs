//! Loads that run at the same time on one array, and what they share.
//!
//! There is no closed form here, as the effect of clients on each other depends on who waits for whom. The simulation
//! gives the rate of each, and the demands of all at these rates give the utilisation of what they share.

use serde::Serialize;

use crate::array::{Array, SetError, set};
use crate::closed::closed_form;
use crate::demand::{ResourceKind, demand_table};
use crate::des::{ClientOutcome, SimOptions, simulate};
use crate::model_error::{Factors, Speed, factors};
use crate::predict::{Simulated, summary};
use crate::quantity::{Bounds, Corner};
use crate::resolved::{Class, ResolvedArray, Software, Tables, issued};
use crate::workload::{Region, Workload};

/// Seeds at nominal values; the ends of the ranges are simulated once each.
const SEEDS: u64 = 3;
/// A change below this is none.
const NO_CHANGE: f64 = 0.01;

/// The prediction for loads that run at the same time.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Concurrent {
    /// In the order of the loads.
    pub jobs: Vec<ConcurrentJob>,
    /// Resources that they share, the busiest first.
    pub shared: Vec<Shared>,
    /// Whether the target's software is part of it; unknown makes rates bounds of the hardware.
    pub software: Software,
}

/// One of several loads.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ConcurrentJob {
    /// Its name.
    pub name: String,
    /// The prediction beside the others: seeds at nominal values, and both ends of all ranges on arrays that are slower
    /// and faster by the error of the model.
    pub simulated: Simulated,
    /// I/Os per second that it would reach alone, by the closed form.
    pub alone_iops: f64,
}

/// A resource that the loads use.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Shared {
    /// Which.
    pub kind: ResourceKind,
    /// Its name in a sentence.
    pub name: String,
    /// How busy all loads together keep it. In \[0, 1\].
    pub utilisation: f64,
    /// Share of that for each load, in their order; sums to 1.
    pub parts: Vec<f64>,
}

/// A change, and what it brings to each load.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ConcurrentWhatIf {
    /// The override as written.
    pub change: String,
    /// What to expect with it.
    pub together: Concurrent,
    /// Expected rate of each load over that on the unchanged array.
    pub gains: Vec<f64>,
    /// One sentence.
    pub says: String,
}

/// Predicts loads that run at the same time on one array, with this many simulated I/Os for each run.
#[must_use]
pub fn predict_concurrent(
    array: &Array,
    workloads: &[Workload],
    max_ios: u64,
    tables: &mut Tables,
) -> Concurrent {
    let workloads: &[Workload] = &workloads.iter().map(|load| issued(array, load)).collect::<Vec<_>>();
    let region = union(workloads);
    let mut run = |corner: Corner, seeds: u64, speed: Speed| {
        let resolved = ResolvedArray::new(array, corner, region, tables);
        let loads: Vec<_> = workloads.iter().map(|load| speed.of_load(load)).collect();
        let options = |seed| SimOptions { seed, max_ios, cache_full: array.controller.starts_full };
        let runs: Vec<_> = (1..=seeds).map(|seed| simulate(&resolved, &loads, options(seed))).collect();
        (resolved, each_load(&runs).into_iter().map(|load| seen(&load, speed)).collect::<Vec<_>>())
    };
    let (resolved, nominal) = run(Corner::Nominal, SEEDS, Speed(1.0));
    let rates: Vec<f64> = nominal.iter().map(|load| load.iops.value).collect();
    let shared = shared(&resolved, workloads, &rates);
    let error = error_of(&resolved, workloads, &rates, &shared);
    let slow = run(Corner::Slow, 1, Speed(error.low)).1;
    let fast = run(Corner::Fast, 1, Speed(error.high)).1;
    let ends = slow.iter().zip(&fast);
    let jobs = workloads
        .iter()
        .zip(nominal.iter().zip(ends))
        .map(|(load, (nominal, (slow, fast)))| ConcurrentJob {
            name: load.name.clone(),
            simulated: spanning(nominal, slow, fast),
            alone_iops: closed_form(&resolved, &resolved.classes(load), load).iops,
        })
        .collect();
    Concurrent { shared, software: resolved.software, jobs }
}

/// What the simulation says of each load, over its runs.
fn each_load(runs: &[Vec<ClientOutcome>]) -> Vec<Simulated> {
    let loads = runs.first().map_or(0, Vec::len);
    (0..loads).map(|i| summary(&runs.iter().map(|run| &run[i]).collect::<Vec<_>>())).collect()
}

/// What the simulation of the modelled array says, on one of another speed.
fn seen(simulated: &Simulated, speed: Speed) -> Simulated {
    let time = |bounds: Bounds| bounds.scaled(1.0 / speed.0);
    Simulated {
        iops: simulated.iops.scaled(speed.0),
        mean_ms: time(simulated.mean_ms),
        p50_ms: time(simulated.p50_ms),
        p99_ms: time(simulated.p99_ms),
        max_ms: time(simulated.max_ms),
        ..simulated.clone()
    }
}

/// The error of the model is that of what the loads keep busiest, for the I/Os of all of them.
fn error_of(resolved: &ResolvedArray, workloads: &[Workload], rates: &[f64], shared: &[Shared]) -> Factors {
    let all: f64 = rates.iter().sum();
    let weighted = |(load, rate): (&Workload, &f64)| {
        let part = rate / all.max(f64::MIN_POSITIVE);
        resolved.classes(load).into_iter().map(move |c| Class { share: c.share * part, ..c })
    };
    let classes: Vec<Class> = workloads.iter().zip(rates).flat_map(weighted).collect();
    factors(resolved, &classes, shared.first().map_or(ResourceKind::Latency, |busiest| busiest.kind))
}

/// From the first byte of any load to the last of any: the heads move between them.
fn union(workloads: &[Workload]) -> Region {
    let regions = || workloads.iter().map(Workload::region);
    let start_bytes = regions().map(|r| r.start_bytes).fold(f64::INFINITY, f64::min);
    let end = regions().map(|r| r.start_bytes + r.reach_bytes).fold(0.0, f64::max);
    let widest = regions().map(|r| r.span_bytes).fold(0.0, f64::max);
    let pieces = regions().map(|r| r.pieces).fold(1.0, f64::max);
    match start_bytes.is_finite() {
        true => Region { start_bytes, span_bytes: widest, reach_bytes: end - start_bytes, pieces },
        false => Region::outer(0.0),
    }
}

fn spanning(nominal: &Simulated, slow: &Simulated, fast: &Simulated) -> Simulated {
    let with = |of: fn(&Simulated) -> Bounds| of(nominal).with(of(slow)).with(of(fast));
    Simulated {
        iops: with(|s| s.iops),
        mean_ms: with(|s| s.mean_ms),
        p50_ms: with(|s| s.p50_ms),
        p99_ms: with(|s| s.p99_ms),
        max_ms: with(|s| s.max_ms),
        ..nominal.clone()
    }
}

/// Demand of all loads at their rates; the queue that a disk may choose from is that of all of them.
fn shared(resolved: &ResolvedArray, workloads: &[Workload], rates: &[f64]) -> Vec<Shared> {
    let outstanding = workloads.iter().map(Workload::total_outstanding).sum();
    let mut found: Vec<Shared> = Vec::new();
    for (index, (load, rate)) in workloads.iter().zip(rates).enumerate() {
        let table = demand_table(resolved, &resolved.classes(load), outstanding);
        for resource in table.resources.into_iter().filter(|r| r.kind != ResourceKind::Latency) {
            let busy = rate / resource.ceiling_iops;
            let at = found.iter().position(|s| s.kind == resource.kind).unwrap_or_else(|| {
                let parts = vec![0.0; rates.len()];
                found.push(Shared { kind: resource.kind, name: resource.name, utilisation: 0.0, parts });
                found.len() - 1
            });
            found[at].utilisation += busy;
            found[at].parts[index] += busy;
        }
    }
    for resource in &mut found {
        let sum = resource.utilisation.max(f64::MIN_POSITIVE);
        resource.parts.iter_mut().for_each(|part| *part /= sum);
        // The stream of one load and the visits of another overlap in ways that no sum knows.
        resource.utilisation = resource.utilisation.min(1.0);
    }
    found.sort_by(|a, b| b.utilisation.total_cmp(&a.utilisation));
    found
}

impl Concurrent {
    /// `the jobs share 4 disks: 97 % busy, 90 % of that by database`.
    #[must_use]
    pub fn says(&self) -> String {
        let Some(busiest) = self.shared.first() else { return "the jobs share nothing".to_owned() };
        let most = busiest.parts.iter().zip(&self.jobs).max_by(|a, b| a.0.total_cmp(b.0));
        let by = most.map_or(String::new(), |(part, job)| {
            format!(", {:.0} % of that by {}", part * 100.0, short_name(&job.name))
        });
        format!("the jobs share {}: {:.0} % busy{by}", busiest.name, busiest.utilisation * 100.0)
    }
}

/// A job without the name of its test.
fn short_name(name: &str) -> &str {
    name.rsplit(" / ").next().unwrap_or(name)
}

/// Predicts the loads with each change applied to the array by itself.
///
/// # Errors
/// The first override that does not fit the array.
pub fn what_if_concurrent(
    array: &Array,
    workloads: &[Workload],
    changes: &[&str],
    max_ios: u64,
    tables: &mut Tables,
) -> Result<Vec<ConcurrentWhatIf>, SetError> {
    let before = predict_concurrent(array, workloads, max_ios, tables);
    changes
        .iter()
        .map(|change| {
            let mut changed = array.clone();
            set(&mut changed, change)?;
            let together = predict_concurrent(&changed, workloads, max_ios, tables);
            let rates = |t: &Concurrent| t.jobs.iter().map(|j| j.simulated.iops.value).collect::<Vec<_>>();
            let gains: Vec<f64> =
                rates(&together).iter().zip(rates(&before)).map(|(after, before)| after / before).collect();
            let says = sentence(change, &before, &together, &gains);
            Ok(ConcurrentWhatIf { change: (*change).to_owned(), together, gains, says })
        })
        .collect()
}

fn sentence(change: &str, before: &Concurrent, after: &Concurrent, gains: &[f64]) -> String {
    let busiest = |t: &Concurrent| t.shared.first().map_or(String::new(), |s| s.name.clone());
    if gains.iter().all(|gain| (gain - 1.0).abs() < NO_CHANGE) {
        return format!(
            "{change} changes nothing: the busiest shared resource is {}, before and after",
            busiest(before)
        );
    }
    let each: Vec<String> = before
        .jobs
        .iter()
        .zip(gains)
        .map(|(job, gain)| format!("{} x{gain:.2}", short_name(&job.name)))
        .collect();
    let (was, is) = (busiest(before), busiest(after));
    let limit = if was == is { format!("still {is}") } else { format!("now {is}, before {was}") };
    format!("{change}: {}; the busiest shared resource is {limit}", each.join(", "))
}
