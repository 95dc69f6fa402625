//! The map: cells with their latencies, and what they say.

use serde::{Deserialize, Serialize};

use crate::chance::{CHANCE_MAX, Moments, corrected, errors_above, ranks};
use crate::level::{Excess, excess, log, time_levels};
use crate::sample::{CELLS, Order, Outcome, Sample, Why, bounds, cell_of};
use crate::spot;
use crate::stripe::{Stripe, stripe};
use crate::survey::Survey;
use crate::zones::zoned;

/// Fewer reads of a cell do not compare it with the others.
const CELL_READS_MIN: f64 = 6.0;
/// A region is slow or fast by this factor at least.
pub(crate) const TIMES_MIN: f64 = 1.5;
/// A cell beside one that is surely slow belongs to its region if it is slow by so many standard errors.
const ERRORS_BESIDE: f64 = 2.0;
/// At this multiple of its usual latency the target counts as disturbed.
const TIMES_DISTURBED: f64 = 1.5;
/// A disturbance in a smaller share of the time is not reported.
const DISTURBED_MIN: f64 = 0.02;
/// A transfer this small a time, ns, has no rate.
const TRANSFER_NS_MIN: u64 = 1;
/// The histogram of a cell counts latencies by powers of two, from below this many ns on.
const BUCKET_FIRST_NS: u64 = 2048;
/// Number of these counts: the last one is of 17 seconds and more.
const BUCKETS: usize = 24;

/// A part of the addresses.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Cell {
    /// Where it begins, bytes.
    pub from_bytes: u64,
    /// Where it ends, bytes.
    pub to_bytes: u64,
    /// Number of small reads whose latency is known.
    pub reads: u64,
    /// Those of them that returned only zeros.
    pub zeros: u64,
    /// Reads that failed.
    pub failed: u64,
    /// Median latency, ns; 0 without reads.
    pub median_ns: u64,
    /// 95th percentile of the latency, ns; 0 without reads.
    pub p95_ns: u64,
    /// Mean natural logarithm of the latencies in ns.
    pub log_mean: f64,
    /// Standard error of that; absent for fewer than two reads.
    pub log_error: Option<f64>,
    /// Median throughput of long reads, MiB/s; absent without one.
    pub mib_per_s: Option<f64>,
    /// Number of reads by latency: below 2048 ns, below 4096 ns, and so on in powers of two.
    pub histogram: Vec<u32>,
}

/// What a map says.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Finding {
    /// One or several members of a stripe are slower than the others.
    SlowMember(Stripe),
    /// A region is slower than the rest.
    SlowRegion {
        /// Where it begins, bytes.
        from_bytes: u64,
        /// Where it ends, bytes.
        to_bytes: u64,
        /// Its latency over that of the median cell.
        times: f64,
        /// Probability that noise alone looks like this.
        chance: f64,
    },
    /// A region is faster than the rest, and holds data: a cache, a faster tier, or the SLC cache of a drive.
    FastRegion {
        /// Where it begins, bytes.
        from_bytes: u64,
        /// Where it ends, bytes.
        to_bytes: u64,
        /// The latency of the median cell over its own.
        times: f64,
        /// Probability that noise alone looks like this.
        chance: f64,
    },
    /// A region returns only zeros: a hole, unmapped blocks, or never written.
    Zeros {
        /// Where it begins, bytes.
        from_bytes: u64,
        /// Where it ends, bytes.
        to_bytes: u64,
    },
    /// A place is slow every time it is read.
    WeakPlace {
        /// Where, bytes.
        offset_bytes: u64,
        /// How many times as slow as other places at its time.
        times: f64,
        /// Probability that noise alone looks like this, over all places that were read again.
        chance: f64,
    },
    /// Reads failed, in one cell or in several in a row.
    Unreadable {
        /// Where the first of them began, bytes.
        from_bytes: u64,
        /// Where the last of them ended, bytes.
        to_bytes: u64,
        /// How many.
        reads: usize,
        /// Error number of the operating system.
        errno: i32,
    },
    /// The throughput falls from the first to the last address.
    Zoned {
        /// Median of the first eighth, MiB/s.
        first_mib_per_s: f64,
        /// Median of the last eighth, MiB/s.
        last_mib_per_s: f64,
        /// Probability that noise alone looks like this.
        chance: f64,
    },
    /// Places were slow once, and not when they were read again: noise, or a cache that knew them by then.
    Passing {
        /// How many.
        places: usize,
    },
    /// Slow places for which the budget did not suffice.
    Undecided {
        /// How many.
        places: usize,
    },
    /// Something else used the target at times: everything was slow then, wherever it lay.
    Disturbed {
        /// Share of the reads.
        share: f64,
    },
    /// The target stores nothing: the latencies are those of the tester.
    StoresNothing,
}

/// A map of a target.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SurfaceMap {
    /// Name and version of this form.
    pub schema: String,
    /// Address of the target, without secrets.
    pub target: String,
    /// Number of bytes that are mapped, from the start.
    pub size_bytes: u64,
    /// When it was made, ms since 1970 UTC; absent in maps of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub made_unix_ms: Option<u64>,
    /// In which order the cells were visited.
    pub order: Order,
    /// How long it took, seconds.
    pub seconds: f64,
    /// Number of reads of any kind.
    pub reads: u64,
    /// Number of bytes read.
    pub read_bytes: u64,
    /// Parts of the addresses, in order.
    pub cells: Vec<Cell>,
    /// What they say.
    pub findings: Vec<Finding>,
}

impl SurfaceMap {
    /// Returns the map of a target that stores nothing: it has no places, and what was slow was the tester.
    #[must_use]
    pub fn of_tester(mut self) -> Self {
        self.findings.retain(|finding| matches!(finding, Finding::Disturbed { .. }));
        self.findings.insert(0, Finding::StoresNothing);
        self
    }
}

/// Name and version of the document.
pub const SCHEMA: &str = "assay.map/1";

/// Returns the map of what a survey read.
pub fn map_of(target: &str, survey: &Survey) -> SurfaceMap {
    let (size_bytes, samples) = (survey.size_bytes(), survey.samples());
    let last = samples.last().map_or(0, |sample| sample.at_ns + sample.latency_ns);
    let cells = cells(size_bytes, samples);
    SurfaceMap {
        schema: SCHEMA.into(),
        target: target.into(),
        size_bytes,
        made_unix_ms: None,
        order: survey.order(),
        seconds: last as f64 / 1e9,
        reads: samples.len() as u64,
        read_bytes: samples.iter().map(|sample| u64::from(sample.look.size_bytes)).sum(),
        findings: findings(size_bytes, samples, survey.order(), &cells),
        cells,
    }
}

pub(crate) fn cells(size_bytes: u64, samples: &[Sample]) -> Vec<Cell> {
    let mut by_cell: Vec<Vec<&Sample>> = vec![Vec::new(); usize::try_from(CELLS).unwrap_or(0)];
    for sample in samples {
        by_cell[cell_of(size_bytes, sample.look.offset_bytes)].push(sample);
    }
    (0..).zip(by_cell).map(|(index, samples)| cell(bounds(size_bytes, index), &samples)).collect()
}

fn cell((from_bytes, to_bytes): (u64, u64), samples: &[&Sample]) -> Cell {
    let is_failed = |sample: &&&Sample| matches!(sample.outcome, Outcome::Failed(_));
    let small = samples.iter().filter(|sample| sample.look.why == Why::Place && !is_failed(sample));
    let mut latencies: Vec<u64> = small.clone().map(|sample| sample.latency_ns).collect();
    latencies.sort_unstable();
    let logs = Moments::of(latencies.iter().map(|latency| log(*latency)));
    let rates: Vec<f64> = samples.iter().filter_map(|sample| rate(sample)).collect();
    let mut histogram = vec![0; BUCKETS];
    latencies.iter().for_each(|latency| histogram[bucket(*latency)] += 1);
    let at = |percent: usize| latencies.get(latencies.len().saturating_sub(1) * percent / 100).copied();
    Cell {
        from_bytes,
        to_bytes,
        reads: latencies.len() as u64,
        zeros: small.filter(|sample| sample.outcome == Outcome::Zeros).count() as u64,
        failed: samples.iter().filter(is_failed).count() as u64,
        median_ns: at(50).unwrap_or(0),
        p95_ns: at(95).unwrap_or(0),
        log_mean: logs.mean(),
        log_error: (logs.n > 1.0).then(|| logs.deviation() / (logs.n - 1.0).sqrt()),
        mib_per_s: (!rates.is_empty()).then(|| assay_statistics::median(&rates)),
        histogram,
    }
}

fn bucket(latency_ns: u64) -> usize {
    let doublings = (latency_ns / BUCKET_FIRST_NS).checked_ilog2().map_or(0, |log| log + 1);
    (doublings as usize).min(BUCKETS - 1)
}

/// Throughput of a transfer, MiB/s.
fn rate(sample: &Sample) -> Option<f64> {
    let is_one = sample.look.why == Why::Transfer && !matches!(sample.outcome, Outcome::Failed(_));
    let seconds = sample.latency_ns.max(TRANSFER_NS_MIN) as f64 / 1e9;
    is_one.then(|| f64::from(sample.look.size_bytes) / f64::from(1 << 20) / seconds)
}

fn findings(size_bytes: u64, samples: &[Sample], order: Order, cells: &[Cell]) -> Vec<Finding> {
    let excess = excess(samples, order);
    let stripe = stripe(size_bytes, &excess);
    let regions = regions(size_bytes, &excess, cells);
    let mut weak = Vec::new();
    let judged = spot::judged(samples, order);
    for (offset_bytes, times) in judged.weak {
        let is_in_region = regions.iter().any(|region| {
            matches!(region, Finding::SlowRegion { from_bytes, to_bytes, .. }
                if (*from_bytes..*to_bytes).contains(&offset_bytes))
        });
        // What lies on a slow member or in a slow region is explained by that.
        if !is_in_region && !stripe.as_ref().is_some_and(|stripe| stripe.is_slow(offset_bytes)) {
            weak.push(Finding::WeakPlace { offset_bytes, times, chance: judged.chance });
        }
    }
    let transfers: Vec<(u64, f64)> =
        samples.iter().filter_map(|sample| Some((sample.look.offset_bytes, rate(sample)?))).collect();
    let zoned = zoned(&transfers).map(|of| Finding::Zoned {
        first_mib_per_s: of.first_mib_per_s,
        last_mib_per_s: of.last_mib_per_s,
        chance: of.chance,
    });
    let count = |places: usize, finding: fn(usize) -> Finding| (places > 0).then(|| finding(places));
    unreadable(size_bytes, samples)
        .into_iter()
        .chain(stripe.map(Finding::SlowMember))
        .chain(regions)
        .chain(weak)
        .chain(zoned)
        .chain(zeros(cells))
        .chain(disturbed(samples, order))
        .chain(count(judged.passing, |places| Finding::Passing { places }))
        .chain(count(judged.open, |places| Finding::Undecided { places }))
        .collect()
}

fn unreadable(size_bytes: u64, samples: &[Sample]) -> Vec<Finding> {
    let failed = samples.iter().filter_map(|sample| match sample.outcome {
        Outcome::Failed(errno) => Some((sample.look.offset_bytes, sample.look.size_bytes, errno)),
        Outcome::Data | Outcome::Zeros => None,
    });
    let mut failed: Vec<(u64, u32, i32)> = failed.collect();
    failed.sort_unstable();
    let is_beside = |a: &(u64, u32, i32), b: &(u64, u32, i32)| {
        a.2 == b.2 && cell_of(size_bytes, b.0) <= cell_of(size_bytes, a.0) + 1
    };
    let of_run = |run: &[(u64, u32, i32)]| Finding::Unreadable {
        from_bytes: run[0].0,
        to_bytes: run.iter().map(|(offset, size, _)| offset + u64::from(*size)).max().unwrap_or(run[0].0),
        reads: run.len(),
        errno: run[0].2,
    };
    failed.chunk_by(is_beside).map(of_run).collect()
}

/// Returns cells in a row that are slower or faster than the median cell, one of them by more than chance explains.
pub(crate) fn regions(size_bytes: u64, excess: &[Excess], cells: &[Cell]) -> Vec<Finding> {
    let logs: Vec<f64> = excess.iter().map(|one| one.log).collect();
    let ranks = ranks(&logs);
    let (mut of_cells, mut levels) =
        (vec![Moments::default(); cells.len()], vec![Moments::default(); cells.len()]);
    for (one, rank) in excess.iter().zip(&ranks) {
        let cell = cell_of(size_bytes, one.offset_bytes);
        of_cells[cell].add(*rank);
        levels[cell].add(one.log);
    }
    let all = Moments::of(ranks.iter().copied());
    let known: Vec<f64> = levels.iter().filter(|level| level.n > 0.0).map(|level| level.mean()).collect();
    let usual = assay_statistics::median(&known);
    let side = |index: usize| {
        let (part, by) = (of_cells[index], levels[index].mean() - usual);
        let errors = errors_above(part, all).abs();
        let chance = corrected(errors, 2 * cells.len());
        let is_zeros = cells[index].zeros == cells[index].reads;
        let is_real = part.n >= CELL_READS_MIN && errors > ERRORS_BESIDE && by.abs() > TIMES_MIN.ln();
        // Fast zeros are reported as zeros.
        (is_real && !(is_zeros && by < 0.0)).then_some((by, chance))
    };
    let sides: Vec<Option<(f64, f64)>> = (0..cells.len()).map(side).collect();
    let of_one_kind = |a: &usize, b: &usize| match (sides[*a], sides[*b]) {
        (Some((x, _)), Some((y, _))) => (x > 0.0) == (y > 0.0),
        _ => false,
    };
    let indices: Vec<usize> = (0..cells.len()).collect();
    indices.chunk_by(of_one_kind).filter_map(|run| region(run, &sides, cells)).collect()
}

fn region(run: &[usize], sides: &[Option<(f64, f64)>], cells: &[Cell]) -> Option<Finding> {
    let of_run: Vec<(f64, f64)> = run.iter().filter_map(|index| sides[*index]).collect();
    let times = assay_statistics::median(&of_run.iter().map(|(by, _)| by.abs().exp()).collect::<Vec<_>>());
    let chance = of_run.iter().map(|(_, chance)| *chance).fold(1.0, f64::min);
    let (from_bytes, to_bytes) = (cells[*run.first()?].from_bytes, cells[*run.last()?].to_bytes);
    if chance >= CHANCE_MAX {
        return None;
    }
    Some(match of_run.first()?.0 > 0.0 {
        true => Finding::SlowRegion { from_bytes, to_bytes, times, chance },
        false => Finding::FastRegion { from_bytes, to_bytes, times, chance },
    })
}

/// Returns cells in a row of which every read returned zeros.
fn zeros(cells: &[Cell]) -> Vec<Finding> {
    let is_zeros = |cell: &Cell| cell.reads > 0 && cell.zeros == cell.reads;
    let runs = cells.chunk_by(|a, b| is_zeros(a) == is_zeros(b)).filter(|run| is_zeros(&run[0]));
    runs.map(|run| Finding::Zeros { from_bytes: run[0].from_bytes, to_bytes: run[run.len() - 1].to_bytes })
        .collect()
}

/// Returns whether everything was slow at times. Only a random order tells a time from a place.
fn disturbed(samples: &[Sample], order: Order) -> Option<Finding> {
    let places = samples.iter().filter(|sample| sample.look.why == Why::Place);
    let logs: Vec<f64> = places.map(|sample| log(sample.latency_ns)).collect();
    let levels = time_levels(&logs);
    let usual = assay_statistics::median(&levels);
    let slow = levels.iter().filter(|level| **level > usual + TIMES_DISTURBED.ln()).count();
    let share = slow as f64 / levels.len().max(1) as f64;
    (order == Order::Random && share > DISTURBED_MIN).then_some(Finding::Disturbed { share })
}
