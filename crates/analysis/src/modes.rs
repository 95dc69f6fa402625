//! The modes of a distribution of latencies: hits and misses, or two kinds of I/O that lie well apart.

use assay_record::Latency;

/// Half a revolution at 7200 per minute, µs: what a durable write of a rotating disk takes at least on average.
pub(crate) const HALF_REVOLUTION_US: f64 = 4_167.0;
/// Times that are tried, per factor of ten.
const PER_DECADE: i32 = 40;
/// Times within this factor of the threshold are between the modes.
const VALLEY: f64 = 1.25;
/// Share of the smaller mode that may lie there.
const VALLEY_SHARE_MAX: f64 = 0.25;
/// Shares of hits in which both modes are seen.
pub(crate) const MIXED: std::ops::RangeInclusive<f64> = 0.05..=0.95;
/// In a single distribution, modes are distinguished only if they are this far apart: queues alone make a factor of
/// two.
const MODES_APART: f64 = 4.0;

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

/// Times that may lie between hits and misses, µs.
pub(crate) fn thresholds(sets: &[(f64, &Latency)]) -> impl Iterator<Item = f64> {
    let of = |q: f64| sets.iter().filter_map(move |(_, latency)| latency.quantile_ns(q));
    let low = of(0.01).fold(f64::INFINITY, f64::min).max(1.0) / 1e3;
    let high = of(0.99).fold(0.0, f64::max) / 1e3;
    let step = 10_f64.powf(1.0 / f64::from(PER_DECADE));
    std::iter::successors(Some(low), move |us| Some(us * step)).take_while(move |us| *us <= high)
}

/// Returns true if little lies around a threshold, of which a share `hit` lies below.
pub(crate) fn is_valley(latency: &Latency, us: f64, hit: f64) -> bool {
    let between =
        latency.share_at_or_below(nanos(us * VALLEY)) - latency.share_at_or_below(nanos(us / VALLEY));
    between <= hit.min(1.0 - hit) * VALLEY_SHARE_MAX
}

/// Medians of the fastest share `hit` and of the rest, µs.
pub(crate) fn medians(latency: &Latency, hit: f64) -> Option<(f64, f64)> {
    let of = |q: f64| latency.quantile_ns(q).map(|ns| ns / 1e3);
    Some((of(hit / 2.0)?, of(f64::midpoint(hit, 1.0))?))
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a time of seconds at most")]
pub(crate) fn nanos(us: f64) -> u64 {
    (us * 1e3) as u64
}
