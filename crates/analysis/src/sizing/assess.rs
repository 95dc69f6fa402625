//! One array under one need: whether it carries it, by how much, and what breaks first.

use assay_model::array::Array;
use assay_model::facts::usable_bytes;
use assay_model::predict::{Engines, Prediction, predict};
use assay_model::quantity::Bounds;
use assay_model::resolved::{Software, Tables};
use serde::Serialize;

use super::{LatencyLimit, Need};

/// I/Os in flight for each member when the array is driven as hard as it can be.
const DEEP: f64 = 32.0;
/// An open loop this near to the highest rate has no latency to speak of.
const OPEN_MAX: f64 = 0.98;
/// Without a limit on latency, the busiest resource may be busy for so much of the time.
const BUSY_MAX: f64 = 0.8;
/// Bisections of the highest rate within a limit: to 1 % over a range of a factor of ten.
const HEAD_ROUNDS: u32 = 9;
/// I/Os of each simulation.
const SIMULATED_IOS: u64 = 60_000;

/// Which engines sizing asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Precision {
    /// The closed form alone: milliseconds of computing, no p99.
    Closed,
    /// The simulation.
    Simulated,
}

impl Precision {
    fn engines(self, seeds: u32) -> Engines {
        match self {
            Self::Closed => Engines::Closed,
            Self::Simulated => Engines::Simulated { seeds, max_ios: SIMULATED_IOS },
        }
    }
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
        let share = if need.limit == LatencyLimit::None { BUSY_MAX } else { OPEN_MAX };
        let rate = need.iops.is_none_or(|iops| iops <= self.full_iops.lo * share);
        self.carries() && rate && self.latency_ms.is_none_or(|latency| latency.hi <= limit)
    }
}

/// Assesses an array.
#[must_use]
pub fn assess(array: &Array, need: &Need, precision: Precision, tables: &mut Tables) -> Assessment {
    let mut found = quick(array, need, precision, tables);
    found.most_iops = most_iops(array, need, precision, &found, tables);
    found
}

/// The same without the highest rate within the limit, which takes many simulations.
pub(super) fn quick(array: &Array, need: &Need, precision: Precision, tables: &mut Tables) -> Assessment {
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
        most_iops: deep.iops.value,
        usable_bytes: usable,
        is_bound: deep.software == Software::Unknown,
    };
    if need.data.is_some_and(|data| data.0 as f64 > usable * 1.000_001) {
        found.short = Some(Short::Space);
    }
    let Some(iops) = need.iops else { return found };
    found.busy = (iops / deep.iops.value).min(1.0);
    let share = if need.limit == LatencyLimit::None { BUSY_MAX } else { OPEN_MAX };
    if iops > deep.iops.value * share {
        found.short = found.short.or(Some(Short::Rate));
        return found;
    }
    let at_rate = predict(array, &need.load(iops, usable), precision.engines(3), tables);
    let (latency, limit) = match need.limit {
        LatencyLimit::None => (at_rate.p99_ms.unwrap_or(at_rate.mean_ms), f64::INFINITY),
        LatencyLimit::MeanMs(ms) => (at_rate.mean_ms, ms),
        LatencyLimit::P99Ms(ms) => (at_rate.p99_ms.unwrap_or(at_rate.mean_ms), ms),
    };
    found.latency_ms = Some(latency);
    if latency.value > limit {
        found.short = found.short.or(Some(Short::Latency));
    }
    found
}

/// The highest rate at which the latency stays within its limit, by bisection.
fn most_iops(
    array: &Array,
    need: &Need,
    precision: Precision,
    found: &Assessment,
    tables: &mut Tables,
) -> f64 {
    let full = found.full_iops.value;
    let limit = match need.limit {
        LatencyLimit::None => return full * BUSY_MAX,
        LatencyLimit::MeanMs(ms) | LatencyLimit::P99Ms(ms) => ms,
    };
    let mut within = |iops: f64| {
        let load = need.load(iops, found.usable_bytes);
        let at_rate = predict(array, &load, precision.engines(1), tables);
        latency_of(need, &at_rate) <= limit
    };
    let (mut low, mut high) = match (need.iops, found.latency_ms) {
        (Some(iops), Some(latency)) if latency.value <= limit => (iops, full * OPEN_MAX),
        (Some(iops), Some(_)) => (full * 0.02, iops),
        _ => (full * 0.02, full * OPEN_MAX),
    };
    if low >= high {
        return low.min(full * OPEN_MAX);
    }
    if within(high) {
        return high;
    }
    if low < full * 0.03 && !within(low) {
        return 0.0;
    }
    for _ in 0..HEAD_ROUNDS {
        let middle = (low * high).sqrt();
        if within(middle) { low = middle } else { high = middle }
    }
    low
}

fn latency_of(need: &Need, at_rate: &Prediction) -> f64 {
    match need.limit {
        LatencyLimit::P99Ms(_) => at_rate.p99_ms.unwrap_or(at_rate.mean_ms).value,
        LatencyLimit::None | LatencyLimit::MeanMs(_) => at_rate.mean_ms.value,
    }
}
