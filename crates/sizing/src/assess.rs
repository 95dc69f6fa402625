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
/// Steps towards the highest rate within a limit, at most.
const HEAD_ROUNDS: u32 = 12;
/// Share of the bracket that a step leaves at either end, at least.
const STEP_MIN: f64 = 0.08;
/// I/Os of each simulation, where each visits few members.
const SIMULATED_IOS: f64 = 60_000.0;
/// Visits of members of each simulation: large I/Os of many chunks take as long as many small ones.
const SIMULATED_VISITS: f64 = 360_000.0;
/// I/Os of each simulation at least: 100 of them are beyond the 99th percentile.
const SIMULATED_IOS_MIN: f64 = 10_000.0;
/// What a search asks first, and how far from the limit its answer must be to stand: the seeds, the part of the I/Os,
/// and the factor. A tenth of the I/Os has a p99 within a factor of 1.6 of that of all, a third within 1.25; what is
/// nearer is simulated whole.
const SOUNDINGS: [(u32, f64, f64); 3] = [(1, 0.1, 1.6), (1, 1.0 / 3.0, 1.25), (3, 1.0, 1.0)];

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
    fn engines(self, (seeds, part): (u32, f64), ends: Ends, array: &Array, need: &Need) -> Engines {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped")]
        let max_ios = (simulated_ios(array, need) * part) as u64;
        match (self, ends) {
            (Self::Closed, _) => Engines::Closed,
            (Self::Simulated, Ends::All) => Engines::Simulated { seeds, max_ios },
            (Self::Simulated, Ends::None) => Engines::Nominal { seeds, max_ios },
        }
    }
}

/// How exactly an assessment is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Care {
    /// Of an answer: every I/O is simulated.
    Whole,
    /// Of what stands beside it: as many I/Os as tell on which side of a limit it lies.
    Rough,
}

impl Care {
    /// How near the highest rate within a limit is found.
    fn near(self) -> f64 {
        if self == Self::Whole { 1.005 } else { 1.03 }
    }

    /// Part of the I/Os that are simulated while the highest rate is known to such a factor.
    fn part(self, apart: f64) -> f64 {
        match apart {
            _ if apart > 1.3 => SOUNDINGS[0].1,
            _ if apart > 1.1 || self == Self::Rough => SOUNDINGS[1].1,
            _ => 1.0,
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
        let within = self.latency_ms.is_none_or(|latency| latency.hi <= need.limit.ms());
        self.carries() && self.takes_rate(need, Ends::All) && within
    }

    /// Whether it takes the rate of the need, at nominal values or at the slow end of all ranges too.
    fn takes_rate(&self, need: &Need, ends: Ends) -> bool {
        let full = if ends == Ends::All { self.full_iops.lo } else { self.full_iops.value };
        need.iops.is_none_or(|iops| iops <= full * need.busy_max())
    }
}

/// Assesses an array.
#[must_use]
pub(super) fn assess(
    array: &Array,
    need: &Need,
    precision: Precision,
    care: Care,
    tables: &mut Tables,
) -> Assessment {
    let mut found = quick(array, need, precision, care, tables);
    found.most_iops = most_iops(array, need, (precision, care), &found, tables);
    found
}

/// An array that does not survive what the load must endure: it carries nothing then.
pub(super) fn lost(array: &Array, need: &Need, tables: &mut Tables) -> Assessment {
    let healthy = quick(array, need, Precision::Closed, Care::Whole, tables);
    Assessment { short: Some(Short::Lost), latency_ms: None, most_iops: 0.0, ..healthy }
}

/// Whether an array carries a need, at nominal values or at the slow end of all ranges too. Few I/Os are simulated
/// where they show it clearly.
pub(super) fn carries(
    array: &Array,
    need: &Need,
    precision: Precision,
    ends: Ends,
    tables: &mut Tables,
) -> bool {
    let full = full(array, need, precision, tables);
    if full.short.is_some() || !full.takes_rate(need, ends) {
        return false;
    }
    let limit = need.limit.ms();
    if limit.is_infinite() {
        return true;
    }
    let latency = sounded(array, need, &full, (precision, ends, 0), tables);
    latency.is_none_or(|ms| if ends == Ends::All { ms.hi <= limit } else { ms.value <= limit })
}

/// An array under a need without the highest rate within the limit, which takes many simulations.
pub(super) fn quick(
    array: &Array,
    need: &Need,
    precision: Precision,
    care: Care,
    tables: &mut Tables,
) -> Assessment {
    let mut found = full(array, need, precision, tables);
    if !found.takes_rate(need, Ends::None) {
        return found;
    }
    let first = if care == Care::Whole { SOUNDINGS.len() - 1 } else { 1 };
    found.latency_ms = sounded(array, need, &found, (precision, Ends::All, first), tables);
    if found.latency_ms.is_some_and(|latency| latency.value > need.limit.ms()) {
        found.short = found.short.or(Some(Short::Latency));
    }
    found
}

/// The latency at the rate of the need by the first of the soundings from `first` on that tells it from its limit.
fn sounded(
    array: &Array,
    need: &Need,
    full: &Assessment,
    (precision, ends, first): (Precision, Ends, usize),
    tables: &mut Tables,
) -> Option<Bounds> {
    let limit = need.limit.ms();
    let mut found = None;
    for (seeds, part, clear) in &SOUNDINGS[first..] {
        let engines = precision.engines((*seeds, *part), ends, array, need);
        let latency = latency_at(array, need, full, engines, tables)?;
        found = Some(latency);
        let is_clear = |ms: f64| ms > limit * clear || ms * clear <= limit;
        if engines == Engines::Closed
            || is_clear(latency.value) && (ends == Ends::None || is_clear(latency.hi))
        {
            break;
        }
    }
    found
}

/// An array under a need as far as the closed form tells: whether the data fit and the rate is below the highest.
fn full(array: &Array, need: &Need, precision: Precision, tables: &mut Tables) -> Assessment {
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
    found.busy = need.iops.map_or(0.0, |iops| (iops / deep.iops.value).min(1.0));
    if !found.takes_rate(need, Ends::None) {
        found.short = found.short.or(Some(Short::Rate));
    }
    found
}

/// The latency that the limit is on, at the rate of the need; `None` without one.
fn latency_at(
    array: &Array,
    need: &Need,
    full: &Assessment,
    engines: Engines,
    tables: &mut Tables,
) -> Option<Bounds> {
    let at_rate = predict(array, &need.load(need.iops?, full.usable_bytes), engines, tables);
    let latency = match need.limit {
        LatencyLimit::MeanMs(_) => at_rate.mean_ms,
        LatencyLimit::None | LatencyLimit::P99Ms(_) => at_rate.p99_ms.unwrap_or(at_rate.mean_ms),
    };
    let least = least_ms(array, need);
    Some(Bounds { value: latency.value.max(least), lo: latency.lo.max(least), hi: latency.hi.max(least) })
}

/// The highest rate at which the latency stays within its limit; 0 where no rate that was tried does. Between a rate
/// within it and one beyond, the next is where a power of the rate through both meets the limit (regula falsi of the
/// logarithms, and Illinois' halving of an end that stays).
fn most_iops(
    array: &Array,
    need: &Need,
    (precision, care): (Precision, Care),
    found: &Assessment,
    tables: &mut Tables,
) -> f64 {
    let highest = found.full_iops.value * need.busy_max();
    let limit = need.limit.ms();
    if limit.is_infinite() {
        return highest;
    }
    let mut beyond = |iops: f64, part: f64| {
        let load = need.load(iops, found.usable_bytes);
        let engines = precision.engines((1, part), Ends::None, array, need);
        let at_rate = predict(array, &load, engines, tables);
        (latency_of(need, &at_rate).max(least_ms(array, need)) / limit).ln()
    };
    // A rate that is within the limit, and one that is not, each with the logarithm of its latency over the limit.
    let known = need.iops.zip(found.latency_ms).map(|(iops, latency)| (iops, (latency.value / limit).ln()));
    let (mut low, mut high) = match known {
        Some(over) if over.1 > 0.0 => {
            ((over.0 * LEAST, beyond(over.0 * LEAST, care.part(1.0 / LEAST))), over)
        }
        _ => {
            let full = (highest, beyond(highest, SOUNDINGS[1].1));
            if full.1 <= 0.0 {
                return highest;
            }
            (
                known.unwrap_or_else(|| (highest * LEAST, beyond(highest * LEAST, care.part(1.0 / LEAST)))),
                full,
            )
        }
    };
    if low.1 > 0.0 {
        // A tenth of the I/Os is not enough to say "none".
        low.1 = beyond(low.0, 1.0);
        if low.1 > 0.0 {
            return 0.0;
        }
    }
    let mut last = 0.0;
    for _ in 0..HEAD_ROUNDS {
        let apart = high.0 / low.0;
        if apart < care.near() {
            break;
        }
        let step = (low.1 / (low.1 - high.1)).clamp(STEP_MIN, 1.0 - STEP_MIN);
        let middle = low.0 * apart.powf(step);
        let over = beyond(middle, care.part(apart));
        let (moved, stays) = if over <= 0.0 { (&mut low, &mut high) } else { (&mut high, &mut low) };
        *moved = (middle, over);
        if over * last > 0.0 {
            stays.1 /= 2.0;
        }
        last = over;
    }
    low.0
}

/// I/Os of a simulation of the load: fewer where each visits many members.
fn simulated_ios(array: &Array, need: &Need) -> f64 {
    let (shape, bytes) = (Shape::of(&array.raid), need.size.0 as f64);
    let visits = |phases: [Phase; 2]| phases.iter().map(|phase| f64::from(phase.visits)).sum::<f64>();
    let reads = need.read_pct / 100.0;
    let each = visits(shape.random_read(bytes)) * reads + visits(shape.random_write(bytes)) * (1.0 - reads);
    (SIMULATED_VISITS / each.max(1.0)).clamp(SIMULATED_IOS_MIN, SIMULATED_IOS)
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
