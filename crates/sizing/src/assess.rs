//! One array under one need: whether it carries it, by how much, and what breaks first.

use assay_model::array::{Array, Device};
use assay_model::facts::usable_bytes;
use assay_model::predict::{Engines, Prediction, predict};
use assay_model::quantity::Bounds;
use assay_model::raid::{Phase, Shape};
use assay_model::resolved::{Software, Tables};
use serde::Serialize;

use super::{LatencyLimit, Need};

/// I/Os in flight for each member when the array is driven as hard as it can be.
const DEEP: f64 = 32.0;
/// The highest rate within a limit is searched for from this part of the needed rate, or of the full one, on.
const LEAST: f64 = 0.02;
/// Bisections of the highest rate within a limit: to 1 % over a range of a factor of ten.
const HEAD_ROUNDS: u32 = 9;
/// I/Os of each simulation, where each visits few members.
const SIMULATED_IOS: f64 = 60_000.0;
/// Visits of members of each simulation: large I/Os of many chunks take as long as many small ones.
const SIMULATED_VISITS: f64 = 360_000.0;
/// I/Os of each simulation at least: 100 of them are beyond the 99th percentile.
const SIMULATED_IOS_MIN: f64 = 10_000.0;

/// Rate of the interface of a disk, bytes/s: SATA and SAS of 6 Gbit/s, 8 bits of 10 on the line.
const INTERFACE_BYTES_S: f64 = 600e6;
/// What a host takes for an I/O at least, from its submission to its completion, ms.
const HOST_MS: f64 = 0.01;

/// Which engines sizing asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Precision {
    /// The closed form alone: milliseconds of computing, no p99.
    Closed,
    /// The simulation.
    Simulated,
}

/// Of what a figure is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ends {
    /// Of nominal values and of both ends of all ranges.
    All,
    /// Of nominal values alone.
    None,
}

impl Precision {
    fn engines(self, seeds: u32, ends: Ends, array: &Array, need: &Need) -> Engines {
        match (self, ends) {
            (Self::Closed, _) => Engines::Closed,
            (Self::Simulated, Ends::All) => Engines::Simulated { seeds, max_ios: simulated_ios(array, need) },
            (Self::Simulated, Ends::None) => Engines::Nominal { seeds, max_ios: simulated_ios(array, need) },
        }
    }
}

/// A latency of an array under a load.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum LatencyKind {
    /// The mean.
    Mean,
    /// The 99th percentile, which only the simulation gives.
    P99,
}

/// Why an array does not carry a need.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub enum Short {
    /// The data do not fit.
    Space,
    /// It is full at less than the rate.
    Rate,
    /// The latency is above the limit.
    Latency,
    /// The data do not survive the failure that it must endure.
    Lost,
}

/// An array under a need.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Assessment {
    /// Why it does not carry the need; `None`: it does.
    pub short: Option<Short>,
    /// The rate at which it is full, I/Os per second.
    pub full_iops: Bounds,
    /// What is full there, in words.
    pub limit: String,
    /// The next thing that would be.
    pub second: Option<String>,
    /// Share of the time that this is busy at the rate, \[0, 1\]; 0 without a rate.
    pub busy: f64,
    /// Latency at the rate that the limit is on, ms; `None` without a rate, or above the highest one.
    pub latency_ms: Option<Bounds>,
    /// Which latency that is.
    pub latency: LatencyKind,
    /// Highest rate within the limit, I/Os per second.
    pub most_iops: f64,
    /// Bytes of data that it holds.
    pub usable_bytes: f64,
    /// Whether the cost of its software is left out, so that everything is a bound.
    pub is_bound: bool,
}

impl Assessment {
    /// Whether it carries the need at nominal values.
    #[must_use]
    pub fn carries(&self) -> bool {
        self.short.is_none()
    }

    /// Highest rate over the needed one, minus 1; `None` without a rate.
    #[must_use]
    pub fn head_room(&self, need: &Need) -> Option<f64> {
        need.iops.map(|iops| self.most_iops / iops - 1.0)
    }

    /// Whether it carries the need at the slow end of all ranges too.
    #[must_use]
    pub fn carries_surely(&self, need: &Need) -> bool {
        let limit = match need.limit {
            LatencyLimit::None => f64::INFINITY,
            LatencyLimit::MeanMs(ms) | LatencyLimit::P99Ms(ms) => ms,
        };
        let rate = need.iops.is_none_or(|iops| iops <= self.full_iops.lo * need.busy_max());
        self.carries() && rate && self.latency_ms.is_none_or(|latency| latency.hi <= limit)
    }
}

/// Assesses an array.
#[must_use]
pub(crate) fn assess(array: &Array, need: &Need, precision: Precision, tables: &mut Tables) -> Assessment {
    let mut found = quick(array, need, precision, Ends::All, tables);
    found.most_iops = most_iops(array, need, precision, &found, tables);
    found
}

/// An array that does not survive what the load must endure: it carries nothing then.
pub(super) fn lost(array: &Array, need: &Need, tables: &mut Tables) -> Assessment {
    let healthy = quick(array, need, Precision::Closed, Ends::All, tables);
    Assessment { short: Some(Short::Lost), latency_ms: None, most_iops: 0.0, ..healthy }
}

/// The same without the highest rate within the limit, which takes many simulations.
pub(super) fn quick(
    array: &Array,
    need: &Need,
    precision: Precision,
    ends: Ends,
    tables: &mut Tables,
) -> Assessment {
    let usable = usable_bytes(array);
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped")]
    let outstanding = (DEEP * array.raid.disks.value).clamp(DEEP, f64::from(super::OUTSTANDING_MAX)) as u32;
    let deep = predict(array, &need.closed(outstanding, usable), Engines::Closed, tables);
    let mut found = Assessment {
        short: None,
        full_iops: deep.iops,
        limit: deep.limit_name(),
        second: deep.table.second().map(|r| r.name.clone()),
        busy: 0.0,
        latency_ms: None,
        latency: match (need.limit, precision) {
            (LatencyLimit::MeanMs(_), _) | (LatencyLimit::None, Precision::Closed) => LatencyKind::Mean,
            (LatencyLimit::P99Ms(_) | LatencyLimit::None, _) => LatencyKind::P99,
        },
        most_iops: deep.iops.value,
        usable_bytes: usable,
        is_bound: deep.software == Software::Unknown,
    };
    if need.data.max(need.active).is_some_and(|bytes| bytes.0 as f64 > usable * 1.000_001) {
        found.short = Some(Short::Space);
    }
    let Some(iops) = need.iops else { return found };
    found.busy = (iops / deep.iops.value).min(1.0);
    if iops > deep.iops.value * need.busy_max() {
        found.short = found.short.or(Some(Short::Rate));
        return found;
    }
    let at_rate = predict(array, &need.load(iops, usable), precision.engines(3, ends, array, need), tables);
    let (latency, limit) = match need.limit {
        LatencyLimit::None => (at_rate.p99_ms.unwrap_or(at_rate.mean_ms), f64::INFINITY),
        LatencyLimit::MeanMs(ms) => (at_rate.mean_ms, ms),
        LatencyLimit::P99Ms(ms) => (at_rate.p99_ms.unwrap_or(at_rate.mean_ms), ms),
    };
    let least = least_ms(array, need);
    let latency =
        Bounds { value: latency.value.max(least), lo: latency.lo.max(least), hi: latency.hi.max(least) };
    found.latency_ms = Some(latency);
    if latency.value > limit {
        found.short = found.short.or(Some(Short::Latency));
    }
    found
}

/// The highest rate at which the latency stays within its limit, by bisection; 0 where no rate that was tried does.
fn most_iops(
    array: &Array,
    need: &Need,
    precision: Precision,
    found: &Assessment,
    tables: &mut Tables,
) -> f64 {
    let highest = found.full_iops.value * need.busy_max();
    let limit = match need.limit {
        LatencyLimit::None => return highest,
        LatencyLimit::MeanMs(ms) | LatencyLimit::P99Ms(ms) => ms,
    };
    let mut within = |iops: f64| {
        let load = need.load(iops, found.usable_bytes);
        let at_rate = predict(array, &load, precision.engines(1, Ends::None, array, need), tables);
        latency_of(need, &at_rate).max(least_ms(array, need)) <= limit
    };
    // A rate that is within the limit, and one that is not.
    let (mut low, mut high) = match (need.iops, found.latency_ms) {
        (Some(iops), Some(latency)) if latency.value <= limit => match within(highest) {
            true => return highest,
            false => (iops, highest),
        },
        (Some(iops), Some(_)) => (iops * LEAST, iops),
        _ if within(highest) => return highest,
        _ => (highest * LEAST, highest),
    };
    let is_known = need.iops == Some(low);
    if !is_known && !within(low) {
        return 0.0;
    }
    for _ in 0..HEAD_ROUNDS {
        let middle = (low * high).sqrt();
        if within(middle) { low = middle } else { high = middle }
    }
    low
}

/// I/Os of a simulation of the load: fewer where each visits many members.
fn simulated_ios(array: &Array, need: &Need) -> u64 {
    let (shape, bytes) = (Shape::of(&array.raid), need.size.0 as f64);
    let visits = |phases: [Phase; 2]| phases.iter().map(|phase| f64::from(phase.visits)).sum::<f64>();
    let reads = need.read_pct / 100.0;
    let each = visits(shape.random_read(bytes)) * reads + visits(shape.random_write(bytes)) * (1.0 - reads);
    let ios = (SIMULATED_VISITS / each.max(1.0)).clamp(SIMULATED_IOS_MIN, SIMULATED_IOS);
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped")]
    let ios = ios as u64;
    ios
}

/// What an I/O of a stream takes at least on disks, ms: what read-ahead has fetched still crosses the interface of each
/// disk that has a part of it, side by side, and the host. The simulation has it complete as it is issued.
fn least_ms(array: &Array, need: &Need) -> f64 {
    if need.random_pct > 0.0 || !matches!(array.device, Device::Hdd(_)) {
        return 0.0;
    }
    let shape = Shape::of(&array.raid);
    let chunks = (need.size.0 as f64 / shape.chunk).ceil().max(1.0);
    let of_one = (chunks / f64::from(shape.alive()).max(1.0)).ceil() * shape.chunk;
    let interface_ms = of_one.min(need.size.0 as f64) / INTERFACE_BYTES_S * 1e3;
    let host_ms = (array.initiator.op_us.value / 1e3).max(HOST_MS);
    interface_ms + host_ms
}

fn latency_of(need: &Need, at_rate: &Prediction) -> f64 {
    match need.limit {
        LatencyLimit::P99Ms(_) => at_rate.p99_ms.unwrap_or(at_rate.mean_ms).value,
        LatencyLimit::None | LatencyLimit::MeanMs(_) => at_rate.mean_ms.value,
    }
}
