//! Hits and misses: two modes of a distribution, and the law that hits follow over working sets.

use assay_record::Latency;

use super::{FoundCache, nanos};

/// Times that are tried, per factor of ten.
const PER_DECADE: i32 = 40;
/// Sizes that are tried differ by this factor.
const SIZE_STEP: f64 = 1.01;
/// Hits may differ from the law by so much, root mean square, in shares of the reads.
const DEVIATION_MAX: f64 = 0.06;
/// The share of hits has to change by so much over the working sets.
const CONTRAST_MIN: f64 = 0.25;
/// The median of the misses is at least this many times that of the hits.
const APART_MIN: f64 = 2.0;
/// Times within this factor of the threshold are between the modes.
const VALLEY: f64 = 1.25;
/// Share of the smaller mode that may lie there.
const VALLEY_SHARE_MAX: f64 = 0.25;
/// Shares of hits in which both modes are seen.
const MIXED: std::ops::RangeInclusive<f64> = 0.05..=0.95;
/// Two caches differ in size by at least this factor.
const SIZES_APART: f64 = 1.4;
/// In a single distribution, modes are distinguished only if they are this far apart: queues alone make a factor of
/// two.
const MODES_APART: f64 = 4.0;

/// Returns the caches that random reads over working sets show: size of each working set in bytes, and the times of
/// its reads, from the smallest to the largest.
#[must_use]
pub(super) fn find_caches(sets: &[(f64, &Latency)]) -> Vec<FoundCache> {
    let mut fits: Vec<FoundCache> = thresholds(sets).filter_map(|us| fit(sets, us)).collect();
    fits.sort_by(|a, b| a.deviation.total_cmp(&b.deviation));
    let mut found: Vec<FoundCache> = Vec::new();
    for fit in fits {
        // A cache behind another is larger and slower.
        let differs = |known: &FoundCache| {
            let is_behind = |a: &FoundCache, b: &FoundCache| {
                a.bytes >= b.bytes * SIZES_APART && a.threshold_us >= b.threshold_us * APART_MIN
            };
            is_behind(&fit, known) || is_behind(known, &fit)
        };
        if found.iter().all(differs) {
            found.push(fit);
        }
    }
    found.sort_by(|a, b| a.bytes.total_cmp(&b.bytes));
    found
}

/// Times that may lie between hits and misses, µs.
fn thresholds(sets: &[(f64, &Latency)]) -> impl Iterator<Item = f64> {
    let of = |q: f64| sets.iter().filter_map(move |(_, latency)| latency.quantile_ns(q));
    let low = of(0.01).fold(f64::INFINITY, f64::min).max(1.0) / 1e3;
    let high = of(0.99).fold(0.0, f64::max) / 1e3;
    let step = 10_f64.powf(1.0 / f64::from(PER_DECADE));
    std::iter::successors(Some(low), move |us| Some(us * step)).take_while(move |us| *us <= high)
}

/// The cache that a threshold shows, if the hits follow the law and the modes lie apart.
fn fit(sets: &[(f64, &Latency)], us: f64) -> Option<FoundCache> {
    let hits: Vec<f64> = sets.iter().map(|(_, latency)| latency.share_at_or_below(nanos(us))).collect();
    let most = hits.iter().copied().fold(0.0, f64::max);
    let least = hits.iter().copied().fold(1.0, f64::min);
    if most - least < CONTRAST_MIN {
        return None;
    }
    let (bytes, deviation) = size_by_law(sets, &hits);
    if deviation > DEVIATION_MAX {
        return None;
    }
    let mixed = || sets.iter().zip(&hits).filter(|(_, hit)| MIXED.contains(*hit));
    let has_valley = mixed().all(|((_, latency), hit)| is_valley(latency, us, *hit));
    let sizes: Vec<f64> = mixed().map(|((bytes, _), hit)| bytes * hit).collect();
    let ((_, latency), hit) = mixed().min_by(|a, b| (a.1 - 0.5).abs().total_cmp(&(b.1 - 0.5).abs()))?;
    let (hit_us, miss_us) = medians(latency, *hit)?;
    (has_valley && miss_us >= hit_us * APART_MIN).then(|| FoundCache {
        place: String::new(),
        bytes,
        bytes_range: (
            sizes.iter().copied().fold(f64::INFINITY, f64::min),
            sizes.iter().copied().fold(0.0, f64::max),
        ),
        threshold_us: us,
        hit_us,
        miss_us,
        deviation,
    })
}

/// The size whose law is nearest to the hits, and how far they are from it.
fn size_by_law(sets: &[(f64, &Latency)], hits: &[f64]) -> (f64, f64) {
    let smallest = sets.iter().map(|(bytes, _)| *bytes).fold(f64::INFINITY, f64::min);
    let largest = sets.iter().map(|(bytes, _)| *bytes).fold(0.0, f64::max);
    let error = |size: f64| {
        let squares = sets.iter().zip(hits).map(|((bytes, _), hit)| ((size / bytes).min(1.0) - hit).powi(2));
        (squares.sum::<f64>() / hits.len() as f64).sqrt()
    };
    let sizes = std::iter::successors(Some(smallest / 8.0), |size| Some(size * SIZE_STEP));
    let tried = sizes.take_while(|size| *size < largest).map(|size| (size, error(size)));
    tried.min_by(|a, b| a.1.total_cmp(&b.1)).unwrap_or((smallest, f64::INFINITY))
}

fn is_valley(latency: &Latency, us: f64, hit: f64) -> bool {
    let between =
        latency.share_at_or_below(nanos(us * VALLEY)) - latency.share_at_or_below(nanos(us / VALLEY));
    between <= hit.min(1.0 - hit) * VALLEY_SHARE_MAX
}

/// Medians of the fastest share `hit` and of the rest, µs.
fn medians(latency: &Latency, hit: f64) -> Option<(f64, f64)> {
    let of = |q: f64| latency.quantile_ns(q).map(|ns| ns / 1e3);
    Some((of(hit / 2.0)?, of(f64::midpoint(hit, 1.0))?))
}

/// Two modes of one distribution.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct TwoModes {
    /// Share of the fast ones. In [0, 1].
    pub(crate) fast_share: f64,
    /// Their median, µs.
    pub(crate) fast_us: f64,
    /// Median of the slow ones, µs.
    pub(crate) slow_us: f64,
}

/// Returns the two modes of a distribution, if it has two that lie well apart with little between them.
#[must_use]
pub(crate) fn two_modes(latency: &Latency) -> Option<TwoModes> {
    let alone = [(1.0, latency)];
    let candidates = thresholds(&alone).filter_map(|us| {
        let hit = latency.share_at_or_below(nanos(us));
        if !MIXED.contains(&hit) || !is_valley(latency, us, hit) {
            return None;
        }
        let (fast_us, slow_us) = medians(latency, hit)?;
        (slow_us >= fast_us * MODES_APART).then_some((
            slow_us / fast_us * hit.min(1.0 - hit),
            TwoModes { fast_share: hit, fast_us, slow_us },
        ))
    });
    candidates.max_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, modes)| modes)
}
