//! The law that hits follow over working sets.

use assay_record::Latency;

use super::FoundCache;
use crate::modes::{MIXED, is_valley, medians, nanos, thresholds};

/// Sizes that are tried differ by this factor.
const SIZE_STEP: f64 = 1.01;
/// Hits may differ from the law by so much, root mean square, in shares of the reads.
const DEVIATION_MAX: f64 = 0.06;
/// The share of hits has to change by so much over the working sets.
const CONTRAST_MIN: f64 = 0.25;
/// The median of the misses is at least this many times that of the hits.
const APART_MIN: f64 = 2.0;
/// Two caches differ in size by at least this factor.
const SIZES_APART: f64 = 1.4;

/// Returns the caches that random reads over working sets show: size of each working set in bytes, and the times of
/// its reads, from the smallest to the largest.
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
