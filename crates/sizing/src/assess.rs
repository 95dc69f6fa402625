//! One array under one need: whether it carries it, by how much, and what breaks first.

use assay_model::array::{Array, Device};
use assay_model::bracket::Bracket;
use assay_model::facts::usable_bytes;
use assay_model::open::Open;
use assay_model::paced::{Paced, latencies};
use assay_model::predict::{Engines, predict, rate_at};
use assay_model::quantity::{Bounds, Corner};
use assay_model::raid::Shape;
use assay_model::resolved::{Software, Tables};
use serde::Serialize;

use super::{LatencyLimit, Need, OPEN_MAX};

/// I/Os in flight for each member when the array is driven as hard as it can be.
const DEEP: f64 = 32.0;
/// The highest rate within a limit is searched for down to this part of the needed rate, or of half of the full one.
const LEAST: f64 = 0.02;
/// Steps to bracket the highest rate within a limit.
const BRACKET: f64 = 2.0;
/// Steps towards the highest rate within a limit, at most.
const HEAD_ROUNDS: u32 = 16;
/// How near the highest rate within a limit is found: of an answer, and of a guess.
const NEAR: f64 = 1.004;
const GUESSED: f64 = 1.05;
/// Share of the bracket that a step leaves at either end, at least.
const STEP_MIN: f64 = 0.08;
/// I/Os of a simulation: its p99 is within some 4 % of that of a longer one, which is what tells the open form's by two
/// digits. With fewer, the queues of a busy array, which is idle at first, are not yet as long as they get.
pub(super) const SIMULATED_IOS: u64 = 15_000;
/// The logarithm of a latency over its limit where something cannot keep up.
const FAR: f64 = 5.0;
/// What the simulation says of the open form at one rate it says of others up to so many times as high or low.
const CARRIED_OVER: f64 = 1.5;

/// Rate of the interface of a disk, bytes/s: SATA and SAS of 6 Gbit/s, 8 bits of 10 on the line.
const INTERFACE_BYTES_S: f64 = 600e6;
/// What a host takes for an I/O at least, from its submission to its completion, ms.
const HOST_MS: f64 = 0.01;

/// Which engines sizing asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Precision {
    /// The closed and the open form alone.
    Closed,
    /// The simulation too, where it decides: what an answer is about.
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

/// The simulation over the open form, of mean and of p99: 1 where it was not asked.
pub(super) const UNCHECKED: Open = Open { mean_ms: 1.0, p99_ms: 1.0 };

/// A latency of an array under a load.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum LatencyKind {
    /// The mean.
    Mean,
    /// The 99th percentile.
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

/// Assesses an array, whose latencies are those of the open form times a factor.
#[must_use]
pub(super) fn assess(
    array: &Array,
    need: &Need,
    precision: Precision,
    factor: Open,
    tables: &mut Tables,
) -> Assessment {
    let mut found = quick(array, need, factor, tables);
    found.most_iops = most_iops(array, need, &found, (precision, factor), tables);
    found
}

/// An array that does not survive what the load must endure: it carries nothing then.
pub(super) fn lost(array: &Array, need: &Need, tables: &mut Tables) -> Assessment {
    let healthy = full(array, need, tables);
    Assessment { short: Some(Short::Lost), latency_ms: None, most_iops: 0.0, ..healthy }
}

/// Whether an array carries a need, at nominal values or at the slow end of all ranges too.
pub(super) fn carries(array: &Array, need: &Need, factor: Open, ends: Ends, tables: &mut Tables) -> bool {
    if ends == Ends::All {
        return quick(array, need, factor, tables).carries_surely(need);
    }
    if lacks_space(array, need)
        || need.iops.is_some_and(|iops| iops > full_iops(array, need, tables) * need.busy_max())
    {
        return false;
    }
    let (limit, Some(iops)) = (need.limit.ms(), need.iops) else { return true };
    limit.is_infinite() || latency_of(array, need, paced(array, need, tables).open(iops), factor) <= limit
}

/// The simulation over the open form at the rate of the need; 1 where there is no rate that an open form has.
pub(super) fn checked(array: &Array, need: &Need, ios: u64, tables: &mut Tables) -> Open {
    let Some(iops) = need.iops else { return UNCHECKED };
    if iops > full_iops(array, need, tables) * OPEN_MAX {
        return UNCHECKED;
    }
    paced(array, need, tables).factor(iops, ios).unwrap_or(UNCHECKED)
}

/// An array under a need without the highest rate within the limit.
pub(super) fn quick(array: &Array, need: &Need, factor: Open, tables: &mut Tables) -> Assessment {
    let mut found = full(array, need, tables);
    let Some(iops) = need.iops.filter(|_| found.takes_rate(need, Ends::None)) else { return found };
    let nominal = paced(array, need, tables);
    let least = least_ms(array, need);
    let both = latencies(array, &nominal, iops, factor, tables).unwrap_or_else(|| {
        // So near to what it can do at most that only the simulation tells how long I/Os wait.
        let Open { mean_ms, p99_ms } = nominal.simulated(iops, SIMULATED_IOS);
        [mean_ms, p99_ms].map(|value| Bounds { lo: value, value, hi: f64::INFINITY })
    });
    let latency = match found.latency {
        LatencyKind::Mean => both[0],
        LatencyKind::P99 => both[1],
    };
    let at_least = |b: Bounds| Bounds { value: b.value.max(least), lo: b.lo.max(least), hi: b.hi.max(least) };
    found.latency_ms = Some(at_least(latency));
    if found.latency_ms.is_some_and(|latency| latency.value > need.limit.ms()) {
        found.short = found.short.or(Some(Short::Latency));
    }
    found
}

/// An array at nominal values, for rates of the load.
fn paced(array: &Array, need: &Need, tables: &mut Tables) -> Paced {
    Paced::new(array, Corner::Nominal, &need.load(1.0, usable_bytes(array)), tables)
}

/// I/Os in flight of an array that is driven as hard as it can be.
fn deep(array: &Array) -> u32 {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped")]
    let outstanding = (DEEP * array.raid.disks.value).clamp(DEEP, f64::from(super::OUTSTANDING_MAX)) as u32;
    outstanding
}

/// The rate at which an array is full, at nominal values, I/Os per second.
pub(super) fn full_iops(array: &Array, need: &Need, tables: &mut Tables) -> f64 {
    rate_at(array, Corner::Nominal, &need.closed(deep(array), usable_bytes(array)), tables)
}

fn lacks_space(array: &Array, need: &Need) -> bool {
    need.bytes() > usable_bytes(array) * 1.000_001
}

/// An array under a need as far as the closed form tells: whether the data fit and the rate is below the highest.
fn full(array: &Array, need: &Need, tables: &mut Tables) -> Assessment {
    let usable = usable_bytes(array);
    let deep = predict(array, &need.closed(deep(array), usable), Engines::Closed, tables);
    let mut found = Assessment {
        short: lacks_space(array, need).then_some(Short::Space),
        full_iops: deep.iops,
        limit: deep.limit_name(),
        second: deep.table.second().map(|r| r.name.clone()),
        busy: need.iops.map_or(0.0, |iops| (iops / deep.iops.value).min(1.0)),
        latency_ms: None,
        latency: match need.limit {
            LatencyLimit::MeanMs(_) => LatencyKind::Mean,
            LatencyLimit::P99Ms(_) | LatencyLimit::None => LatencyKind::P99,
        },
        most_iops: deep.iops.value,
        usable_bytes: usable,
        is_bound: deep.software == Software::Unknown,
    };
    if !found.takes_rate(need, Ends::None) {
        found.short = found.short.or(Some(Short::Rate));
    }
    found
}

/// About the rate that an array sustains, at nominal values or at the slow end, I/Os per second.
pub(super) fn sustained(array: &Array, need: &Need, factor: Open, ends: Ends, tables: &mut Tables) -> f64 {
    let nominal = paced(array, need, tables);
    let (end, speed, corner) = match ends {
        Ends::None => (nominal, 1.0, Corner::Nominal),
        Ends::All => {
            let (slow, speed) = nominal.slow(array, tables);
            (slow, speed, Corner::Slow)
        }
    };
    let full = rate_at(array, corner, &need.closed(deep(array), usable_bytes(array)), tables) * speed;
    let latency = |iops: f64| latency_of(array, need, end.open(iops / speed), factor) / speed;
    highest_within(need, full * need.busy_max(), GUESSED, &latency)
}

/// The latency that the limit is on, ms; infinite where something cannot keep up.
fn latency_of(array: &Array, need: &Need, open: Option<Open>, factor: Open) -> f64 {
    let latency = open.map_or(f64::INFINITY, |open| limited(need, open) * limited(need, factor));
    latency.max(least_ms(array, need))
}

/// Which of two latencies the limit is on.
const fn limited(need: &Need, open: Open) -> f64 {
    match need.limit {
        LatencyLimit::MeanMs(_) => open.mean_ms,
        LatencyLimit::P99Ms(_) | LatencyLimit::None => open.p99_ms,
    }
}

/// The highest rate at which the latency stays within its limit; 0 where no rate that was tried does. Where the
/// simulation decides and was not asked near that rate, it is asked there.
fn most_iops(
    array: &Array,
    need: &Need,
    found: &Assessment,
    (precision, factor): (Precision, Open),
    tables: &mut Tables,
) -> f64 {
    let highest = found.full_iops.value * need.busy_max();
    if need.limit.ms().is_infinite() {
        return highest;
    }
    let nominal = paced(array, need, tables);
    let most_by = |factor: Open| {
        highest_within(need, highest, NEAR, &|iops| latency_of(array, need, nominal.open(iops), factor))
    };
    let most = most_by(factor);
    // At no rate, it is the lowest one that must be reported.
    let at = if most > 0.0 { most } else { need.iops.unwrap_or(highest).min(highest) * LEAST };
    let asked =
        need.iops.filter(|_| factor != UNCHECKED).map_or(f64::INFINITY, |iops| (at / iops).max(iops / at));
    if precision == Precision::Closed || asked <= CARRIED_OVER {
        return most;
    }
    match nominal.factor(at, SIMULATED_IOS) {
        Some(factor) => most_by(factor),
        None => most,
    }
}

/// The highest rate up to `highest` at which a latency is within the limit; 0 where no rate that was tried is. Between
/// a rate within and one beyond, the next is where a power of the rate through both meets the limit.
fn highest_within(need: &Need, highest: f64, near: f64, latency: &dyn Fn(f64) -> f64) -> f64 {
    let limit = need.limit.ms();
    if limit.is_infinite() {
        return highest;
    }
    // The logarithm of the latency over the limit.
    let beyond = |iops: f64| (latency(iops) / limit).ln().min(FAR);
    let first = need.iops.unwrap_or(highest / 2.0).min(highest);
    let mut low = (first, beyond(first));
    let mut high = low;
    while high.1 <= 0.0 {
        if high.0 >= highest {
            return highest;
        }
        low = high;
        let next = (high.0 * BRACKET).min(highest);
        high = (next, beyond(next));
    }
    while low.1 > 0.0 {
        if low.0 <= first * LEAST {
            return 0.0;
        }
        high = low;
        let next = low.0 / BRACKET;
        low = (next, beyond(next));
    }
    let mut bracket = Bracket::new(low, high);
    for _ in 0..HEAD_ROUNDS {
        let apart = bracket.high.0 / bracket.low.0;
        if apart < near {
            break;
        }
        let middle = bracket.low.0 * apart.powf(bracket.step(STEP_MIN));
        bracket.narrow(middle, beyond(middle));
    }
    bracket.low.0
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
