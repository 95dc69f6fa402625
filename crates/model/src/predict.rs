//! Predictions: the three engines side by side, as intervals, with the limit named.

use std::borrow::Cow;

use assay_spec::units::Bytes;

use crate::array::{Array, Controller, Device, Guest, ProtocolKind, VirtualDisk};
use crate::catalogue::cloud;
use crate::closed::{Outcome, after_fill, alone_ns, closed_form};
use crate::demand::{DemandTable, REQUESTED_RATE, ResourceKind, demand_table, links_most};
use crate::des::{ClientOutcome, SimOptions, simulate};
use crate::facts::usable_bytes;
use crate::family::{Family, Group};
use crate::learned::{self, Levels};
use crate::model_error::{Factors, Speed, factors};
use crate::quantity::{Bounds, Corner, Provenance, Quantity};
use crate::resolved::rebuild::{Rebuild, rebuild};
use crate::resolved::{Class, Media, ResolvedArray, Software, Tables, issued};
use crate::workload::{LoadModel, Workload};
use serde::Serialize;

/// The words for an answer that leaves the target's software out.
pub const SOFTWARE_COST_UNKNOWN: &str = "software cost unknown";
/// Engines that differ by more than this are both shown.
pub(crate) const SHOW_BOTH_ABOVE: f64 = 0.10;
/// A run whose write cache fills on the way is simulated whole up to this many I/Os (0.2 s of computing): before
/// and after are different loads, and no part stands for the other.
const ABSORBING_IOS_MAX: u64 = 1_600_000;
/// Gain by more I/Os in flight that is none.
const GAINS_NOTHING: f64 = 1.05;
/// MiB, bytes.
const MIB: f64 = 1_048_576.0;

/// Which engines to run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Engines {
    /// Demand table and closed form: microseconds, no percentiles.
    Closed,
    /// The simulation too, with this many seeds and I/Os per seed.
    Simulated {
        /// Runs with different seeds; their spread is the interval.
        seeds: u32,
        /// I/Os per run.
        max_ios: u64,
    },
}

impl Engines {
    /// Three seeds of 100 000 I/Os: a p99 within about 3 % of the simulation's own limit.
    pub const FULL: Self = Self::Simulated { seeds: 3, max_ios: 100_000 };
}

/// What the simulation says, over its seeds.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Simulated {
    /// I/Os per second.
    pub iops: Bounds,
    /// Mean response time, ms.
    pub mean_ms: Bounds,
    /// Median, ms.
    pub p50_ms: Bounds,
    /// 99th percentile, ms.
    pub p99_ms: Bounds,
    /// Longest, ms. Order of magnitude only.
    pub max_ms: Bounds,
    /// Mean I/Os in flight.
    pub in_flight: f64,
    /// I/Os simulated, all seeds.
    pub ios: u64,
}

/// How far a predicted p99 can be trusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum Reliability {
    /// The shape was checked against real logs: within 12 %.
    Checked,
    /// The shape is plausible, and was checked on too few logs to promise a number.
    Provisional,
    /// Long stalls of software or flash are not in the model: order of magnitude.
    OrderOfMagnitude,
}

impl Reliability {
    /// The words for a table.
    #[must_use]
    pub fn says(self) -> &'static str {
        match self {
            Self::Checked => "shape checked, within 12 %",
            Self::Provisional => "provisional",
            Self::OrderOfMagnitude => "order of magnitude",
        }
    }
}

/// The expectation for one workload on one array.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Prediction {
    /// Name of the workload.
    pub test: String,
    /// Whether software is part of it; [`Software::Unknown`] makes `iops` an upper bound of the hardware.
    pub software: Software,
    /// I/Os per second; 80 % of systems like it are meant to lie inside.
    pub iops: Bounds,
    /// What rows of other systems teach of the intervals of other levels; `None` of a bound and of a requested rate.
    pub levels: Option<Levels>,
    /// MiB per second (2^20).
    pub mib_s: Bounds,
    /// Mean response time, ms.
    pub mean_ms: Bounds,
    /// 99th percentile, ms, when the simulation ran.
    pub p99_ms: Option<Bounds>,
    /// How far to trust it.
    pub p99_reliability: Reliability,
    /// Utilisation of every resource at the nominal rate; the first row is the bottleneck.
    pub table: DemandTable,
    /// What really limits: usually the table's first row, but workers or pace when those come before.
    pub limit: ResourceKind,
    /// I/Os per second above which a link would carry more than it can, at the fast ends of what is known of them and
    /// with the error of a link alone: no other error of the model and no row of another system leads beyond it.
    #[serde(skip)]
    pub(crate) links_most: f64,
    /// Time until a tier that starts cold holds 90 % of what it will hold, s; `None` where there is none.
    pub warm_up_s: Option<f64>,
    /// The rebuild that the load shares the members with; `None` where there is none.
    pub rebuild: Option<Rebuild>,
    /// Caches that a bound leaves out: with what they hold, a client may be faster than the bound.
    pub caches_left_out: Vec<&'static str>,
    /// The closed form at nominal values.
    pub closed: Outcome,
    /// The simulation at nominal values.
    pub simulated: Option<Simulated>,
}

impl Prediction {
    /// Returns the prediction that holds for both where it is unknown which applies: every interval spans both.
    #[must_use]
    pub fn or(mut self, other: Option<Self>) -> Self {
        let Some(other) = other else { return self };
        self.iops = self.iops.with(other.iops);
        self.levels = self.levels.zip(other.levels).map(|(own, other)| Levels {
            at_50: own.at_50.with(other.at_50),
            at_95: own.at_95.with(other.at_95),
            ..own
        });
        self.mib_s = self.mib_s.with(other.mib_s);
        self.mean_ms = self.mean_ms.with(other.mean_ms);
        for resource in &mut self.table.resources {
            let same = other.table.resources.iter().find(|r| r.kind == resource.kind);
            resource.ceiling = same.map_or(resource.ceiling, |r| resource.ceiling.with(r.ceiling));
        }
        self.p99_ms = self.p99_ms.zip(other.p99_ms).map(|(own, other)| own.with(other)).or(self.p99_ms);
        self
    }

    /// The prediction behind one more layer than another one: at neither end is it faster. What is learned of an end
    /// grows with the side that the layer widens, and would lead beyond.
    fn behind(mut self, host: &Self) -> Self {
        let slower = |own: Bounds, host: Bounds| Bounds { lo: own.lo.min(host.lo), ..own }.at_most(host.hi);
        let longer = |own: Bounds, host: Bounds| Bounds {
            lo: own.lo.max(host.lo).min(own.value),
            hi: own.hi.max(host.hi),
            ..own
        };
        self.iops = slower(self.iops, host.iops);
        self.mib_s = slower(self.mib_s, host.mib_s);
        if let (Some(own), Some(host)) = (&mut self.levels, host.levels) {
            own.at_50 = slower(own.at_50, host.at_50);
            own.at_95 = slower(own.at_95, host.at_95);
        }
        self.mean_ms = longer(self.mean_ms, host.mean_ms);
        self.p99_ms = self.p99_ms.zip(host.p99_ms).map(|(own, host)| longer(own, host));
        self
    }

    /// Closed form over simulation, minus 1; `None` without a simulation.
    #[must_use]
    pub fn disagreement(&self) -> Option<f64> {
        self.simulated.as_ref().map(|s| self.closed.iops / s.iops.value - 1.0)
    }

    /// Mean response time of the closed form over that of the simulation, minus 1; `None` without a simulation.
    #[must_use]
    pub fn latency_disagreement(&self) -> Option<f64> {
        self.simulated.as_ref().map(|s| self.closed.mean_ms / s.mean_ms.value - 1.0)
    }

    /// Whether the two must be shown side by side.
    #[must_use]
    pub fn shows_both(&self) -> bool {
        let apart = [self.disagreement(), self.latency_disagreement()];
        apart.iter().flatten().any(|d| d.abs() > SHOW_BOTH_ABOVE)
    }

    /// The limit in words: "one 1GbE link, read direction".
    #[must_use]
    pub fn limit_name(&self) -> String {
        match self.limit {
            ResourceKind::Workers => "the target's workers".to_owned(),
            ResourceKind::LoadModel => REQUESTED_RATE.to_owned(),
            kind => {
                self.table.resources.iter().find(|r| r.kind == kind).map_or(String::new(), |r| r.name.clone())
            }
        }
    }

    /// One sentence: the number, what limits it, and the second suspect with its distance.
    #[must_use]
    pub fn says(&self) -> String {
        let second = match self.table.second() {
            Some(r) if self.table.distance() < 100.0 => {
                format!("; next is {}, at {:.2} times that", r.name, self.table.distance())
            }
            _ => String::new(),
        };
        let limit = self.limit_name();
        let without = match &self.caches_left_out[..] {
            [] => String::new(),
            caches => format!(" without {}", caches.join(" and ")),
        };
        match self.software {
            Software::Unknown => format!(
                "at most {:.0} IOPS ({:.1} MiB/s){without}, the bound of {limit}; {SOFTWARE_COST_UNKNOWN}{second}",
                self.iops.hi, self.mib_s.hi,
            ),
            Software::None | Software::Known => format!(
                "{:.0} to {:.0} IOPS (nominal {:.0}, {:.1} MiB/s), limited by {limit}{second}",
                self.iops.lo, self.iops.hi, self.iops.value, self.mib_s.value
            ),
        }
    }
}

/// Predicts one workload.
#[must_use]
pub fn predict(array: &Array, workload: &Workload, engines: Engines, tables: &mut Tables) -> Prediction {
    let prediction = predict_taught(array, workload, engines, tables);
    match without_layer(array) {
        None => prediction,
        Some(host) => prediction.behind(&predict(&host, workload, engines, tables)),
    }
}

/// The array with one layer less before a guest's disk: one that is handed through in place of one that is imitated,
/// or none.
fn without_layer(array: &Array) -> Option<Array> {
    let disk = match array.guest.disk {
        VirtualDisk::None => return None,
        VirtualDisk::Paravirtual => VirtualDisk::None,
        VirtualDisk::Emulated => VirtualDisk::Paravirtual,
    };
    Some(Array { guest: Guest { disk, ..array.guest.clone() }, ..array.clone() })
}

/// The prediction with what rows of other systems teach.
fn predict_taught(array: &Array, workload: &Workload, engines: Engines, tables: &mut Tables) -> Prediction {
    let mut prediction = predict_alone(array, workload, engines, tables);
    let (family, group) = (Family::of(array), Group::of(array, workload, prediction.limit));
    let Some(learned) = learned::of(family, group).filter(|_| is_taught(&prediction, array, workload)) else {
        return prediction;
    };
    let stated = prediction.iops;
    let (iops, levels) = learned::around(family, group, stated);
    prediction.iops = iops.at_most(prediction.links_most);
    prediction.levels = levels.map(|levels| Levels {
        at_50: levels.at_50.at_most(prediction.links_most),
        at_95: levels.at_95.at_most(prediction.links_most),
        ..levels
    });
    for resource in &mut prediction.table.resources {
        resource.ceiling.hi = resource.ceiling.hi.max(prediction.iops.hi);
    }
    prediction.mib_s = prediction.iops.scaled(workload.mean_size() / MIB);
    let mean_ms = learned.of_time(prediction.mean_ms);
    let tail = |p99_ms: Bounds| {
        let own = learned.of_time(p99_ms);
        let at_least = if p99_ms.hi >= prediction.mean_ms.hi { mean_ms.hi } else { own.hi };
        Bounds { hi: own.hi.max(at_least), ..own }
    };
    prediction.p99_ms = prediction.p99_ms.map(tail);
    prediction.mean_ms = mean_ms;
    prediction
}

/// The rate of a load at a corner by the closed form alone, I/Os per second: for a search that asks many arrays for one
/// number.
#[must_use]
pub fn rate_at(array: &Array, corner: Corner, workload: &Workload, tables: &mut Tables) -> f64 {
    at_corner(array, corner, &issued(array, workload), tables).2.iops
}

/// Whether rows of other systems say how wide the interval is. They do not where it is a bound or the rate that was
/// asked for, where a provider enforces it, nor where it holds a question that is answered one way or the other:
/// whether a drive survives a power cut.
pub(crate) fn is_taught(prediction: &Prediction, array: &Array, workload: &Workload) -> bool {
    let closed = workload.pace == LoadModel::Closed && prediction.limit != ResourceKind::LoadModel;
    let enforced = matches!(prediction.limit, ResourceKind::Controller | ResourceKind::Members)
        && matches!(&array.device, Device::Ssd(ssd) if cloud::is_volume(&ssd.model));
    let flush =
        workload.flush_every.is_some() && matches!(&array.device, Device::Ssd(ssd) if ssd.flush_ms.is_none());
    closed && !enforced && !flush && prediction.software != Software::Unknown
}

/// Predicts one workload without what rows of other systems teach.
pub(crate) fn predict_alone(
    array: &Array,
    workload: &Workload,
    engines: Engines,
    tables: &mut Tables,
) -> Prediction {
    let workload = &issued(array, workload);
    let corners = Corner::ALL.map(|corner| at_corner(array, corner, workload, tables));
    let [(_, _, slow), (resolved, classes, nominal), (_, _, fast)] = &corners;
    let mut table = demand_table(resolved, classes, workload.total_outstanding())
        .with_latency(alone_ns(resolved, classes), workload.total_outstanding().min(resolved.queue_depth))
        .at(nominal.iops);
    let simulated = match engines {
        Engines::Closed => None,
        Engines::Simulated { seeds, max_ios } => {
            Some(simulate_seeds(resolved, workload, nominal, seeds, max_ios))
        }
    };
    let limit = limit_of(resolved, &table, workload, nominal);
    let error = factors(resolved, classes, error_of(limit, &table));
    let all = match workload.pace {
        LoadModel::Closed => Intervals {
            iops: Bounds::spanning(nominal.iops, [slow.iops, fast.iops]),
            mean_ms: Bounds::spanning(nominal.mean_ms, [slow.mean_ms, fast.mean_ms]),
            p99_ms: None,
        }
        .beside(simulated.as_ref())
        .widened(error),
        LoadModel::Rate { .. } => {
            let ends = [(&corners[0], Speed(error.low)), (&corners[2], Speed(error.high))];
            paced_intervals(nominal, simulated.as_ref(), ends, workload, engines)
        }
    };
    let Intervals { mut iops, mean_ms, p99_ms } = all;
    let (fast, classes_fast, _) = &corners[2];
    let error_of_links = factors(fast, classes_fast, ResourceKind::LinkRead).high;
    let links_most = links_most(fast, classes_fast, workload.total_outstanding()) * error_of_links;
    iops = match resolved.software {
        Software::Unknown => Bounds { hi: beside_client_memory(array, workload, iops.hi), ..iops },
        Software::None | Software::Known => iops.at_most(links_most),
    };
    set_ceilings(&mut table, corners.each_ref().map(|(r, c, _)| (r, c.as_slice())), workload, iops);
    Prediction {
        test: workload.name.clone(),
        software: resolved.software,
        iops,
        levels: None,
        mib_s: iops.scaled(workload.mean_size() / MIB),
        mean_ms,
        p99_ms,
        p99_reliability: reliability(resolved, classes),
        warm_up_s: resolved.warm_up_s(workload).map(|time_s| time_s * std::f64::consts::LN_10),
        rebuild: rebuild(array).filter(|_| array.raid.rebuild_pct.is_some()),
        limit,
        links_most,
        caches_left_out: caches_left_out(array),
        table,
        closed: *nominal,
        simulated,
    }
}

/// What is expected of a load.
struct Intervals {
    iops: Bounds,
    mean_ms: Bounds,
    p99_ms: Option<Bounds>,
}

impl Intervals {
    /// Where the engines disagree the truth may be at either: the intervals hold both.
    fn beside(self, simulated: Option<&Simulated>) -> Self {
        let Some(sim) = simulated else { return self };
        let with = |own: Bounds, other: Bounds| {
            Bounds::spanning(own.value, [own.lo.min(other.lo), own.hi.max(other.hi)])
        };
        let mean_ms = with(self.mean_ms, sim.mean_ms);
        Self { iops: with(self.iops, sim.iops), mean_ms, p99_ms: Some(tail_of(mean_ms, sim)) }
    }

    fn widened(self, error: Factors) -> Self {
        Self {
            iops: error.of_rate(self.iops),
            mean_ms: error.of_time(self.mean_ms),
            p99_ms: self.p99_ms.map(|p99_ms| error.of_time(p99_ms)),
        }
    }
}

/// The interval of the 99th percentile of a closed loop: the simulated shape, at every end of the mean. Where fewer
/// than one I/O in a hundred carries the mean, a few more of them would carry the percentile too: its upper end is no
/// lower.
fn tail_of(mean_ms: Bounds, sim: &Simulated) -> Bounds {
    let shape = |p99_ms: f64| p99_ms / sim.mean_ms.value.max(f64::MIN_POSITIVE);
    let Bounds { lo, value, hi } = sim.p99_ms;
    Bounds {
        lo: mean_ms.lo * shape(lo),
        value: mean_ms.value * shape(value),
        hi: mean_ms.hi * shape(hi).max(1.0),
    }
}

/// An array at a corner, its costs and its closed form.
type AtCorner = (ResolvedArray, Vec<Class>, Outcome);

/// An array at a corner and the classes of a load.
pub(crate) fn resolve_at(
    array: &Array,
    corner: Corner,
    workload: &Workload,
    tables: &mut Tables,
) -> (ResolvedArray, Vec<Class>) {
    let array = &credited(array, corner, workload);
    let array = &with_memory(array, corner);
    let resolved = ResolvedArray::new(array, corner, workload.region(), tables);
    let classes = resolved.classes(workload);
    (resolved, classes)
}

/// An array at a corner under a load. A controller whose cache is full and holds the load up lets writes pass it.
fn at_corner(array: &Array, corner: Corner, workload: &Workload, tables: &mut Tables) -> AtCorner {
    let of = |(resolved, classes): (ResolvedArray, Vec<Class>)| {
        let outcome = closed_form(&resolved, &classes, workload);
        (resolved, classes, outcome)
    };
    let buffered = of(resolve_at(array, corner, workload, tables));
    if !buffered.1.iter().any(|c| c.io_cost.buffered) {
        return buffered;
    }
    let through = buffered.0.clone().written_through();
    let classes = through.classes(workload);
    let through = of((through, classes));
    if through.2.iops > buffered.2.iops { through } else { buffered }
}

/// An array with what its burst credits leave of its limit over the run: the burst while they last, and then the rate
/// that lasts. Of a load that is paced below the burst they last longer.
fn credited<'a>(array: &'a Array, corner: Corner, workload: &Workload) -> Cow<'a, Array> {
    let c = &array.controller;
    let (Some(burst), Some(credits), Some(most)) = (&c.burst_iops, &c.burst_credits, &c.iops_max) else {
        return Cow::Borrowed(array);
    };
    let (burst, credits, most) = (burst.rate_at(corner), credits.rate_at(corner), most.rate_at(corner));
    let asked = match workload.pace {
        LoadModel::Closed => burst,
        LoadModel::Rate { per_s, .. } => burst.min(per_s),
    };
    let lasts_s = credits / (asked - most).max(1e-9);
    let left = (1.0 - lasts_s / workload.duration.as_secs_f64().max(1e-9)).clamp(0.0, 1.0);
    let limit = if left > 0.0 { burst - (burst - most) * left } else { burst };
    let mut array = array.clone();
    array.controller.iops_max = Some(Quantity::exact(limit, most_from(c)));
    Cow::Owned(array)
}

/// An adapter's cache holds what was read, too: at the fast end all of it does.
fn with_memory(array: &Array, corner: Corner) -> Cow<'_, Array> {
    let c = &array.controller;
    match &c.write_back {
        Some(memory) if c.battery && corner == Corner::Fast => {
            let mut array = array.clone();
            let read = array.controller.read_cache.take().filter(|read| read.hi > memory.hi);
            array.controller.read_cache = read.or_else(|| Some(memory.clone()));
            Cow::Owned(array)
        }
        _ => Cow::Borrowed(array),
    }
}

/// Where the limit of a controller is from.
fn most_from(c: &Controller) -> Provenance {
    c.iops_max.as_ref().map_or_else(|| Provenance::Assumed(String::new()), |most| most.from.clone())
}

/// The intervals of a paced load. How long I/Os wait depends on how near the rate is to the highest one, so that the
/// error of the model is not a factor on the latency: both ends are computed on arrays slower and faster by it.
fn paced_intervals(
    nominal: &Outcome,
    simulated: Option<&Simulated>,
    ends: [(&AtCorner, Speed); 2],
    workload: &Workload,
    engines: Engines,
) -> Intervals {
    let ends = ends.map(|((resolved, classes, _), speed)| {
        let load = speed.of_load(workload);
        let outcome = closed_form(resolved, classes, &load);
        (resolved, speed, load, outcome)
    });
    let [slow, fast] = ends.each_ref().map(|(_, speed, _, outcome)| speed.seen(*outcome));
    let iops = Bounds::spanning(nominal.iops, [slow.iops, fast.iops]);
    let (Some(sim), Engines::Simulated { max_ios, .. }) = (simulated, engines) else {
        let mean_ms = Bounds::spanning(nominal.mean_ms, [slow.mean_ms, fast.mean_ms]);
        return Intervals { iops, mean_ms, p99_ms: None };
    };
    // How long I/Os wait for each other below the highest rate is a matter of chance: the closed form guesses it.
    let [slow, fast] = ends.each_ref().map(|(resolved, speed, load, outcome)| {
        (*speed, simulate_seeds(resolved, load, outcome, 1, max_ios))
    });
    let over = |of: fn(&Simulated) -> Bounds| {
        let at = |(speed, end): &(Speed, Simulated)| speed.seen_ms(of(end).value);
        Bounds::spanning(of(sim).value, [at(&slow).max(of(sim).hi), at(&fast).min(of(sim).lo)])
    };
    Intervals {
        iops: Bounds::spanning(iops.value, [iops.lo.min(sim.iops.lo), iops.hi.max(sim.iops.hi)]),
        mean_ms: over(|s| s.mean_ms),
        p99_ms: Some(over(|s| s.p99_ms)),
    }
}

/// What the model error of a load is that of: what limits it, or what would first if the load were not paced.
fn error_of(limit: ResourceKind, table: &DemandTable) -> ResourceKind {
    match limit {
        ResourceKind::LoadModel => table.first().map_or(ResourceKind::Latency, |r| r.kind),
        kind => kind,
    }
}

/// The upper end of a rate if the memory of the clients answers what it can hold: `X / (1 - h)` with h the reads that
/// it holds, at most what copying from memory takes.
fn beside_client_memory(array: &Array, workload: &Workload, most: f64) -> f64 {
    let Some(ram) = &array.initiator.ram else { return most };
    let part = crate::num::share(ram.hi, workload.span.0 as f64);
    let weight: f64 = workload.mix.iter().map(|a| a.weight).sum();
    let of = |a: &crate::workload::Access| {
        let held = match a.random_pct > 0.0 {
            true => workload.skew.on_hottest(part, workload.span.0 as f64 / a.size.0 as f64),
            false => part.floor(),
        };
        a.weight / weight * a.read_pct / 100.0 * held
    };
    let held: f64 = workload.mix.iter().map(of).sum();
    let copies = f64::from(workload.workers) * 1e9 / ResolvedArray::copy_ns(workload.mean_size());
    (most / (1.0 - held).max(1e-9)).min(copies.max(most))
}

/// Caches between a client and the members that the array file does not describe.
fn caches_left_out(array: &Array) -> Vec<&'static str> {
    let mut caches = Vec::new();
    if array.protocol.kind != ProtocolKind::Local && array.initiator.ram.is_none() {
        caches.push("caches of the client");
    }
    if array.controller.read_cache.is_none() && array.server.ram.is_none() {
        caches.push("RAM of the server");
    }
    caches
}

/// Sets the rates at which resources are full over the ranges of the array file.
///
/// A resource that is full below the rate that passes it does not exist: where the simulation, which knows of queues
/// that sort and caches that absorb, is faster than the demand table, the upper end follows it.
fn set_ceilings(
    table: &mut DemandTable,
    corners: [(&ResolvedArray, &[Class]); 3],
    workload: &Workload,
    iops: Bounds,
) {
    let tables =
        corners.map(|(resolved, classes)| demand_table(resolved, classes, workload.total_outstanding()));
    for resource in &mut table.resources {
        let same = tables.iter().flat_map(|t| &t.resources).filter(|r| r.kind == resource.kind);
        let ends = same.fold(resource.ceiling, |all, r| all.with(r.ceiling));
        resource.ceiling = Bounds { hi: ends.hi.max(iops.hi), ..ends };
    }
}

/// The same load at the inner, slow edge of the array's disks; `None` where place does not matter.
#[must_use]
pub fn predict_inside(
    array: &Array,
    workload: &Workload,
    engines: Engines,
    tables: &mut Tables,
) -> Option<Prediction> {
    let reach = workload.region().reach_bytes;
    let start = Bytes(crate::num::whole((usable_bytes(array) - reach).max(0.0)));
    let rotates = matches!(array.device, Device::Hdd(_));
    rotates.then(|| predict(array, &Workload { start, ..workload.clone() }, engines, tables))
}

fn limit_of(
    resolved: &ResolvedArray,
    table: &DemandTable,
    workload: &Workload,
    nominal: &Outcome,
) -> ResourceKind {
    if let LoadModel::Rate { per_s, .. } = workload.pace
        && nominal.iops >= per_s * 0.999
    {
        return ResourceKind::LoadModel;
    }
    let first = table.first().map_or(ResourceKind::Latency, |r| r.kind);
    if first == ResourceKind::Latency
        && let Some(full) = busy_throughout(resolved, table, nominal.iops)
    {
        return full;
    }
    let short = table.first().is_some_and(|r| nominal.iops < 0.8 * r.ceiling_iops);
    if short && resolved.workers < workload.total_outstanding() { ResourceKind::Workers } else { first }
}

/// What the few I/Os in flight keep busy nearly all the time, so that more of them would gain next to nothing: a large
/// I/O is on its link or in its drive for as long as it takes. A disk would sort more of them.
fn busy_throughout(resolved: &ResolvedArray, table: &DemandTable, iops: f64) -> Option<ResourceKind> {
    let sorts = |kind| kind == ResourceKind::Members && matches!(resolved.media, Media::Disk(..));
    let next = table.second().filter(|next| !sorts(next.kind))?;
    (next.ceiling_iops <= iops * GAINS_NOTHING).then_some(next.kind)
}

fn reliability(resolved: &ResolvedArray, classes: &[Class]) -> Reliability {
    let serial = classes.iter().any(|c| c.io_cost.serial_ns > 0.0);
    let random_only = classes.iter().all(|c| c.io_cost.random && c.io_cost.hit == 0.0 && !c.io_cost.buffered);
    match resolved.media {
        _ if serial => Reliability::OrderOfMagnitude,
        Media::Disk(..) if random_only => Reliability::Checked,
        _ => Reliability::Provisional,
    }
}

/// A run that its I/O limit will end long before its duration starts from the state that most of the duration
/// would be in: with full caches, unless they absorb for more than half of it.
pub(crate) fn simulate_seeds(
    resolved: &ResolvedArray,
    workload: &Workload,
    closed: &Outcome,
    seeds: u32,
    max_ios: u64,
) -> Simulated {
    let run_s = workload.duration.as_secs_f64();
    let whole_run = crate::num::whole(closed.iops * run_s * 1.2);
    let max_ios = match closed.absorbing {
        Some(_) if whole_run <= ABSORBING_IOS_MAX => max_ios.max(whole_run),
        _ => max_ios,
    };
    let cut = whole_run > max_ios;
    // What members write fast is full for most of the run, whether or not the load notices the rest.
    let classes = resolved.classes(workload);
    let rate = closed.absorbing.map_or(closed.iops, |(iops, _)| iops);
    let full = after_fill(resolved, &classes, rate).filter(|(_, fill_s)| cut && *fill_s < run_s / 2.0);
    let resolved = full.as_ref().map_or(resolved, |(full, _)| full);
    let cache_full = resolved.array().controller.starts_full
        || cut && closed.absorbing.is_some_and(|(_, fill_s)| fill_s < run_s / 2.0);
    let runs: Vec<ClientOutcome> = (1..=u64::from(seeds.max(1)))
        .filter_map(|seed| {
            simulate(resolved, std::slice::from_ref(workload), SimOptions { seed, max_ios, cache_full })
                .into_iter()
                .next()
        })
        .collect();
    summary(&runs.iter().collect::<Vec<_>>())
}

/// Mean over the seeds, and the lowest and highest of them.
pub(crate) fn summary(runs: &[&ClientOutcome]) -> Simulated {
    let over = |value: &dyn Fn(&ClientOutcome) -> f64| {
        let values: Vec<f64> = runs.iter().map(|r| value(r)).collect();
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        let (lo, hi) = values.iter().fold((mean, mean), |(lo, hi), v| (lo.min(*v), hi.max(*v)));
        Bounds { lo, value: mean, hi }
    };
    Simulated {
        iops: over(&|r| r.iops),
        mean_ms: over(&ClientOutcome::mean_ms),
        p50_ms: over(&|r| r.percentile_ms(50.0)),
        p99_ms: over(&|r| r.percentile_ms(99.0)),
        max_ms: over(&|r| r.percentile_ms(100.0)),
        in_flight: over(&|r| r.in_flight).value,
        ios: runs.iter().map(|r| r.ios).sum(),
    }
}
