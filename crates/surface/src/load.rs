//! The places of a load's own I/Os: a slow member or a slow region shows in them without a map, because the I/Os that
//! are outstanding gather there.

use assay_statistics::{correlation_time, median, student_above};

use crate::chance::{Moments, corrected, errors_above, ranks};
use crate::level::{Excess, excess};
use crate::map::{Finding, TIMES_MIN, cells, regions};
use crate::sample::{CELLS, Look, Order, Outcome, Sample, Why};
use crate::stripe::{SLOWER_MIN, Stripe, folds, stripe};

/// With fewer I/Os nothing can be said: some for each member of the widest stripe. Each test counts its own witnesses.
/// That nothing is found says little until there are more.
const IOS_MIN: usize = 320;

/// Fewer I/Os on either side do not have a median.
const ALONE_MIN: usize = 16;

/// Parts of the addresses that are compared where no cell is slow by itself.
const PARTS: usize = 16;

/// Every run is looked at, and none is a map that somebody asked for: noise must not make a finding in a million.
const SURE: f64 = 1e-6;

/// What the places of a load's I/Os say.
#[derive(Debug, Clone, PartialEq)]
pub struct LoadPlaces {
    /// Number of I/Os that it rests on.
    pub ios: usize,
    /// A stripe with slow members.
    pub stripe: Option<Stripe>,
    /// The slowest region, where there is no such stripe.
    pub region: Option<SlowRegion>,
    /// How many times as long an I/O that is alone takes on the slowest member: without the queue that is there under
    /// the load. `None` where too few were alone, and where it is no slower then.
    pub times_alone: Option<f64>,
}

impl LoadPlaces {
    /// Takes in I/Os that were alone, offset in bytes and service time in ns.
    pub fn with_alone(mut self, ios: &[(u64, u64)]) -> Self {
        let Some(stripe) = self.stripe.as_ref() else { return self };
        let of = |is_on: &dyn Fn(u64) -> bool| -> Vec<f64> {
            ios.iter().filter(|io| is_on(io.0)).map(|io| io.1.max(1) as f64).collect()
        };
        let (slow, others) = (of(&|at| is_on_slowest(stripe, at)), of(&|at| !stripe.is_slow(at)));
        let is_enough = slow.len().min(others.len()) >= ALONE_MIN;
        let times = is_enough.then(|| median(&slow) / median(&others));
        self.times_alone = times.filter(|times| *times >= SLOWER_MIN);
        self
    }
}

/// A part of the addresses that is slower than the rest.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SlowRegion {
    /// Where it begins, bytes.
    pub from_bytes: u64,
    /// Where it ends, bytes.
    pub to_bytes: u64,
    /// Its latency over that of the median cell.
    pub times: f64,
    /// Probability that noise alone looks like this.
    pub chance: f64,
}

/// Returns what I/Os at random places say of the places; `None` where they are too few. Each series is of one worker in
/// the order of completion, over many memories of its queues: offset in bytes and service time in ns.
pub fn places_of_load(series: &[Vec<(u64, u64)>]) -> Option<LoadPlaces> {
    let sample = |(at_ns, (offset_bytes, latency_ns)): (u64, &(u64, u64))| Sample {
        look: Look { offset_bytes: *offset_bytes, size_bytes: 0, why: Why::Place },
        at_ns,
        latency_ns: *latency_ns,
        outcome: Outcome::Data,
    };
    let of_series = |ios: &Vec<(u64, u64)>| (0..).zip(ios).map(sample).collect::<Vec<Sample>>();
    let series: Vec<Vec<Sample>> = series.iter().map(of_series).collect();
    let all = series.concat();
    if all.len() < IOS_MIN {
        return None;
    }
    let size_bytes = all.iter().map(|one| one.look.offset_bytes + 1).max()?;
    let series: Vec<Vec<Excess>> = series.iter().map(|ios| excess(ios, Order::Random)).collect();
    let excess = series.concat();
    let stripe = stripe(size_bytes, &excess);
    let slow = |finding| match finding {
        Finding::SlowRegion { from_bytes, to_bytes, times, chance } => {
            Some(SlowRegion { from_bytes, to_bytes, times, chance })
        }
        _ => None,
    };
    let stripe = stripe.filter(|stripe| stripe.chance < SURE && is_slow_member(stripe, &series));
    let regions = regions(size_bytes, &excess, &cells(size_bytes, &all));
    let narrow = regions.into_iter().filter_map(slow).max_by(|a, b| a.times.total_cmp(&b.times));
    let sure = |region: SlowRegion| SlowRegion { chance: chance(&region, &excess), ..region };
    let is_sure =
        |region: &SlowRegion| stripe.is_none() && region.chance < SURE && is_slow_region(region, &series);
    // The surer one: a slow half has cells that look slow by themselves, too.
    let regions = narrow.into_iter().chain(wide(size_bytes, &excess)).map(sure).filter(is_sure);
    let region = regions.min_by(|a, b| a.chance.total_cmp(&b.chance));
    Some(LoadPlaces { ios: all.len(), stripe, region, times_alone: None })
}

/// Whether the slowest member is slow by itself.
fn is_slow_member(stripe: &Stripe, series: &[Vec<Excess>]) -> bool {
    is_no_queue(&|offset_bytes| is_on_slowest(stripe, offset_bytes), series, folds())
}

/// Whether a place lies on the slowest member.
fn is_on_slowest(stripe: &Stripe, offset_bytes: u64) -> bool {
    let member = offset_bytes / stripe.chunk_bytes % u64::from(stripe.members) + 1;
    stripe.slow.first().is_some_and(|slowest| u64::from(slowest.member) == member)
}

/// Whether a region is slow by itself: the disks of an even linear volume have a queue each, too.
fn is_slow_region(region: &SlowRegion, series: &[Vec<Excess>]) -> bool {
    let is_in = |offset_bytes: u64| (region.from_bytes..region.to_bytes).contains(&offset_bytes);
    is_no_queue(&is_in, series, ends())
}

/// Whether the places on one side are slow by themselves, as one of so many that were tried. On even disks queues
/// wander, and one or another has a long one for a while: the I/Os that meet it are one witness, and their number is
/// that of the queue's memories. A moment in which all places are slow is no queue of one of them.
fn is_no_queue(is_on: &dyn Fn(u64) -> bool, series: &[Vec<Excess>], tried: usize) -> bool {
    let logs = |ios: &[Excess], on: bool| -> Vec<f64> {
        ios.iter().filter(|io| is_on(io.offset_bytes) == on).map(|io| io.log).collect()
    };
    // Mean, and its error and number of witnesses.
    let side = |on: bool| {
        let memory = series.iter().map(|ios| correlation_time(&logs(ios, on))).fold(1.0, f64::max);
        let all = Moments::of(series.iter().flat_map(|ios| logs(ios, on)));
        let witnesses = all.n.max(1.0) / memory;
        (all.mean(), all.deviation() / witnesses.sqrt(), witnesses)
    };
    let ((slow, slow_error, witnesses), (others, others_error, of_others)) = (side(true), side(false));
    // Where one queue is long the other is short: their errors add up.
    let errors = (slow - others) / (slow_error + others_error).max(f64::MIN_POSITIVE);
    student_above(errors, witnesses.min(of_others) - 1.0) * (tried as f64) < SURE
}

/// The parts in a row that are the furthest above the rest. Of a slow half no single cell is unlike the median one.
fn wide(size_bytes: u64, excess: &[Excess]) -> Option<SlowRegion> {
    let logs: Vec<f64> = excess.iter().map(|one| one.log).collect();
    let parts = PARTS as u64;
    let end = |part: usize| size_bytes / parts * part as u64 + size_bytes % parts * part as u64 / parts;
    let (mut of_ranks, mut of_logs) = ([Moments::default(); PARTS], [Moments::default(); PARTS]);
    for ((one, rank), log) in excess.iter().zip(ranks(&logs)).zip(&logs) {
        let part = (1..PARTS).filter(|part| one.offset_bytes >= end(*part)).count();
        of_ranks[part].add(rank);
        of_logs[part].add(*log);
    }
    let sum = |of: &[Moments]| of.iter().fold(Moments::default(), |sum, part| sum.with(*part));
    let all = sum(&of_ranks);
    let runs = (0..PARTS).flat_map(|from| (from + 1..=PARTS).map(move |to| (from, to)));
    let errors = |(from, to): (usize, usize)| errors_above(sum(&of_ranks[from..to]), all);
    let (from, to) = runs.max_by(|a, b| errors(*a).total_cmp(&errors(*b)))?;
    let inside = sum(&of_logs[from..to]);
    let times = (inside.mean() - sum(&of_logs).without(inside).mean()).exp();
    let (from_bytes, to_bytes) = (end(from), end(to));
    (times > TIMES_MIN).then_some(SlowRegion { from_bytes, to_bytes, times, chance: 1.0 })
}

/// Probability that noise alone makes any part of the addresses as slow as this one: all its I/Os are one sample, and
/// it may begin and end at any cell.
fn chance(region: &SlowRegion, excess: &[Excess]) -> f64 {
    let logs: Vec<f64> = excess.iter().map(|one| one.log).collect();
    let ranks = ranks(&logs);
    let is_in = |one: &Excess| (region.from_bytes..region.to_bytes).contains(&one.offset_bytes);
    let part = excess.iter().zip(&ranks).filter(|(one, _)| is_in(one)).map(|(_, rank)| *rank);
    corrected(errors_above(Moments::of(part), Moments::of(ranks.iter().copied())), ends())
}

/// Returns the number of regions that begin and end at a cell, each twice.
fn ends() -> usize {
    usize::try_from(CELLS * CELLS).unwrap_or(usize::MAX)
}
