//! Draws one of n places by a distribution (docs/method.md, "Random positions").
//!
//! A place has a *rank*: 0 is the hottest. Zipf and Pareto draw a rank; a bijective map scatters the ranks over the
//! target, so that hot places are not adjacent. Normal and zones draw a place directly; fio scatters normal's too.

use assay_spec::Distribution;

use crate::rng::Rng;

/// Number of terms of the zeta sum that are added individually; the rest is an integral with two corrections, exact to
/// 1e-12.
const ZETA_TERMS: u64 = 4096;

/// Draws places in [0, count).
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Sampler {
    Uniform,
    /// In a box and out of line: nearly every load is uniform, and must not pay for the others.
    Shaped(Box<Shape>),
}

/// A distribution that prefers some places.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Shape {
    Zipf { law: Zipf, scatter: Scatter },
    Pareto { exponent: f64, scatter: Scatter },
    Normal { deviation: f64, scatter: Option<Scatter> },
    Zones(Vec<Zone>),
}

/// A zone: `start` is its first place; it gets the draws below `share_end` of 2^32 that no earlier zone gets.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Zone {
    share_end: u64,
    start: u64,
    count: u64,
}

impl Sampler {
    /// Returns a sampler of `count` places, `grain_bytes` apart.
    pub(crate) fn new(distribution: &Distribution, count: u64, grain_bytes: u64, hot: Hot) -> Self {
        if count < 2 {
            return Self::Uniform;
        }
        let scatter = || Scatter::new(count, hot);
        let shape = match distribution {
            Distribution::Uniform => return Self::Uniform,
            Distribution::Zipf(theta) => Shape::Zipf { law: Zipf::new(*theta, count), scatter: scatter() },
            Distribution::Pareto(h) => {
                Shape::Pareto { exponent: h.ln() / (1.0 - h).ln(), scatter: scatter() }
            }
            Distribution::Normal(percent) => Shape::Normal {
                deviation: percent / 100.0 * count as f64,
                scatter: matches!(hot, Hot::AsInFio { .. }).then(scatter),
            },
            Distribution::Zones(zones) => Shape::Zones(zones_of(zones, count, grain_bytes)),
        };
        Self::Shaped(Box::new(shape))
    }

    /// Returns the next place in [0, `count`), where `count` is that of the sampler.
    #[inline]
    pub(crate) fn draw(&self, rng: &mut Rng, count: u64) -> u64 {
        match self {
            Self::Uniform => rng.below(count),
            Self::Shaped(shape) => shape.draw(rng, count),
        }
    }
}

impl Shape {
    #[inline(never)]
    fn draw(&self, rng: &mut Rng, count: u64) -> u64 {
        match self {
            Self::Zipf { law, scatter } => scatter.place(law.rank(rng.unit(), count)),
            Self::Pareto { exponent, scatter } => scatter.place(pareto_rank(rng.unit(), *exponent, count)),
            Self::Normal { deviation, scatter } => {
                let place = normal(rng, *deviation, count);
                scatter.map_or(place, |scatter| scatter.place(place))
            }
            Self::Zones(zones) => {
                let drawn = rng.next() >> 32;
                let zone = zones.partition_point(|zone| zone.share_end <= drawn);
                let Zone { start, count, .. } = zones[zone.min(zones.len() - 1)];
                start + rng.below(count)
            }
        }
    }
}

/// Zipf's law by the inversion of Gray, Sundaresan, Englert, Baclawski and Weinberger ("Quickly generating
/// billion-record synthetic databases", SIGMOD 1994): exact for the first two ranks, a continuous curve for the others.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Zipf {
    zeta: f64,
    second: f64,
    alpha: f64,
    eta: f64,
}

impl Zipf {
    fn new(theta: f64, count: u64) -> Self {
        let (zeta, n) = (zeta(theta, count), count as f64);
        let second = 1.0 + 0.5_f64.powf(theta);
        let eta = (1.0 - (2.0 / n).powf(1.0 - theta)) / (1.0 - second / zeta);
        Self { zeta, second, alpha: 1.0 / (1.0 - theta), eta }
    }

    /// Returns the rank of `u`, uniform in (0, 1].
    #[inline]
    fn rank(&self, u: f64, count: u64) -> u64 {
        let z = u * self.zeta;
        if z < 1.0 {
            return 0;
        }
        if z < self.second || count == 2 {
            return 1;
        }
        floor_below(count as f64 * (self.eta * u - self.eta + 1.0).powf(self.alpha), count)
    }
}

/// Returns the sum of 1/k^theta for k from 1 to `count`.
fn zeta(theta: f64, count: u64) -> f64 {
    let term = |k: f64| k.powf(-theta);
    let listed = count.min(ZETA_TERMS);
    let sum: f64 = (1..=listed).map(|k| term(k as f64)).sum();
    if count == listed {
        return sum;
    }
    // Euler-Maclaurin formula: the integral, half of both ends, and a twelfth of the difference of the slopes.
    let (a, b) = (listed as f64, count as f64);
    let integral = (b.powf(1.0 - theta) - a.powf(1.0 - theta)) / (1.0 - theta);
    let slopes = theta * (a.powf(-theta - 1.0) - b.powf(-theta - 1.0)) / 12.0;
    sum + integral + (term(b) - term(a)) / 2.0 + slopes
}

/// Returns a rank such that a share 1-h of the draws falls into the first share h of the ranks: u^(ln h / ln(1-h)), u
/// uniform.
#[inline]
fn pareto_rank(u: f64, exponent: f64, count: u64) -> u64 {
    floor_below((count - 1) as f64 * u.powf(exponent), count)
}

/// Returns a place around the middle by the Box-Muller transform; values outside are drawn again.
fn normal(rng: &mut Rng, deviation: f64, count: u64) -> u64 {
    loop {
        let radius = (-2.0 * rng.unit().ln()).sqrt();
        let at = count as f64 / 2.0 + deviation * radius * (std::f64::consts::TAU * rng.unit()).cos();
        if at >= 0.0 && at < count as f64 {
            return floor_below(at, count);
        }
    }
}

#[inline]
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped to [0, count)")]
fn floor_below(value: f64, count: u64) -> u64 {
    (value.max(0.0) as u64).min(count - 1)
}

/// Which places are hot.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Hot {
    /// Each rank has a place of its own, which the seed selects.
    Apart { seed: u64 },
    /// As fio has it: of places whose number is no power of two, some have several ranks and others none.
    AsInFio { seed: u64 },
}

/// A map of ranks to [0, count): rank x multiplier + shift, modulo count. It is bijective, but for [`Hot::AsInFio`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Scatter {
    count: u64,
    multiplier: u64,
    shift: u64,
    /// Bits of the product that are kept.
    mask: u128,
}

impl Scatter {
    /// Uses multiples of the golden ratio, which are far apart, however many there are.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "below the count")]
    fn new(count: u64, hot: Hot) -> Self {
        const GOLDEN: f64 = 0.618_033_988_749_894_9;
        /// 2^64 less the golden share of it: fio multiplies by this modulo 2^64.
        const GOLDEN_OF_FIO: u64 = 0x61c8_8646_80b5_83eb;
        let (multiplier, seed, mask) = match hot {
            Hot::AsInFio { seed } => (GOLDEN_OF_FIO, seed, u128::from(u64::MAX)),
            Hot::Apart { seed } => {
                let mut multiplier = ((count as f64 * GOLDEN) as u64).clamp(1, count - 1);
                while greatest_common_divisor(multiplier, count) != 1 {
                    multiplier -= 1;
                }
                (multiplier, seed, u128::MAX)
            }
        };
        Self { count, multiplier, shift: Rng::new(seed).below(count), mask }
    }

    #[inline]
    fn place(self, rank: u64) -> u64 {
        let product = (u128::from(rank) * u128::from(self.multiplier)) & self.mask;
        let spread = product + u128::from(self.shift);
        u64::try_from(spread % u128::from(self.count)).expect("a remainder is below the count")
    }
}

fn greatest_common_divisor(a: u64, b: u64) -> u64 {
    let (mut x, mut y) = (a, b);
    while y > 0 {
        (x, y) = (y, x % y);
    }
    x
}

/// Returns consecutive zones; each has at least one place, and none exceeds the last place.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "shares of 2^32")]
fn zones_of(zones: &[assay_spec::Zone], count: u64, grain_bytes: u64) -> Vec<Zone> {
    let (mut share, mut start) = (0.0, 0_u64);
    let whole = count.saturating_mul(grain_bytes);
    zones
        .iter()
        .map(|zone| {
            share += zone.share / 100.0;
            let first = (start / grain_bytes).min(count - 1);
            start = start.saturating_add(zone.size.of(whole)).min(whole);
            let end = (start / grain_bytes).clamp(first + 1, count);
            let share_end = (share * (1_u64 << 32) as f64).round() as u64;
            Zone { share_end, start: first, count: end - first }
        })
        .filter(|zone| zone.count > 0)
        .collect()
}

#[cfg(test)]
mod tests {
    use assay_spec::units::Bytes;
    use assay_spec::{Extent, Zone as Part};

    use super::*;

    const DRAWS: u32 = 400_000;

    /// Returns the number of draws of each place.
    fn hits(distribution: &Distribution, count: u64) -> Vec<u32> {
        let (sampler, mut rng) =
            (Sampler::new(distribution, count, 4096, Hot::Apart { seed: 5 }), Rng::new(11));
        let mut hits = vec![0; usize::try_from(count).unwrap()];
        for _ in 0..DRAWS {
            hits[usize::try_from(sampler.draw(&mut rng, count)).unwrap()] += 1;
        }
        hits
    }

    fn hottest_first(distribution: &Distribution, count: u64) -> Vec<f64> {
        let mut hits = hits(distribution, count);
        hits.sort_unstable_by(|a, b| b.cmp(a));
        hits.iter().map(|h| f64::from(*h) / f64::from(DRAWS)).collect()
    }

    #[test]
    fn zipf_gives_the_hottest_places_their_share() {
        for theta in [0.6, 0.9, 1.2, 2.0] {
            let count = 1000;
            let found = hottest_first(&Distribution::Zipf(theta), count);
            let exact = |k: u64| (k as f64).powf(-theta) / zeta(theta, count);
            assert!((found[0] / exact(1) - 1.0).abs() < 0.03, "{theta}: {} {}", found[0], exact(1));
            // The curve beyond the second rank is an approximation: sums over many ranks agree within 2.5 percentage
            // points.
            for top in [10, 100, 500] {
                let expected: f64 = (1..=top).map(exact).sum();
                let share: f64 = found[..usize::try_from(top).unwrap()].iter().sum();
                assert!((share - expected).abs() < 0.025, "{theta}, {top} hottest: {share} {expected}");
            }
        }
    }

    #[test]
    fn the_approximate_zeta_sum_matches_plain_addition() {
        for theta in [0.5, 0.99, 1.2, 3.0] {
            let added: f64 = (1..=300_000_u32).rev().map(|k| f64::from(k).powf(-theta)).sum();
            assert!((zeta(theta, 300_000) / added - 1.0).abs() < 1e-10, "{theta}");
        }
    }

    #[test]
    fn pareto_draws_a_share_h_of_the_places_with_probability_1_minus_h() {
        for h in [0.1, 0.2, 0.4] {
            let found = hottest_first(&Distribution::Pareto(h), 2000);
            let first = crate::sampler::floor_below(2000.0 * h, 2000);
            let share: f64 = found[..usize::try_from(first).unwrap()].iter().sum();
            assert!((share - (1.0 - h)).abs() < 0.01, "{h}: {share}");
        }
    }

    #[test]
    fn normal_draws_are_centred() {
        let found = hits(&Distribution::Normal(10.0), 1000);
        let within = |from: usize, to: usize| {
            found[from..to].iter().map(|h| f64::from(*h)).sum::<f64>() / f64::from(DRAWS)
        };
        assert!((within(400, 600) - 0.6827).abs() < 0.005, "{}", within(400, 600));
        assert!((within(300, 700) - 0.9545).abs() < 0.005, "{}", within(300, 700));
    }

    #[test]
    fn zones_get_their_shares_and_no_more() {
        let part = |share, size| Part { share, size };
        let zones = vec![
            part(70.0, Extent::Percent(10.0)),
            part(20.0, Extent::Bytes(Bytes(200 * 4096))),
            part(10.0, Extent::Percent(40.0)),
        ];
        let found = hits(&Distribution::Zones(zones), 1000);
        let sum = |from: usize, to: usize| {
            found[from..to].iter().map(|h| f64::from(*h)).sum::<f64>() / f64::from(DRAWS)
        };
        for (range, expected) in [((0, 100), 0.7), ((100, 300), 0.2), ((300, 700), 0.1), ((700, 1000), 0.0)] {
            assert!((sum(range.0, range.1) - expected).abs() < 0.005, "{range:?}: {}", sum(range.0, range.1));
        }
    }

    #[test]
    fn every_rank_has_a_place_of_its_own() {
        for count in [2, 3, 7, 100, 1000, 1024, 4095] {
            let scatter = Scatter::new(count, Hot::Apart { seed: 3 });
            let mut seen: Vec<u64> = (0..count).map(|rank| scatter.place(rank)).collect();
            seen.sort_unstable();
            assert!(seen.iter().copied().eq(0..count), "{count}");
        }
    }

    /// Counted in fio 3.42, `zipf:0.5` over 48 MiB: 5,683 of 12,288 blocks in as many draws, where 6,923 would be
    /// without.
    #[test]
    fn ranks_of_fio_share_places_where_their_number_is_no_power_of_two() {
        for (count, expected) in [(4096, 4096), (5376, 3268), (12_288, 8459), (16_384, 16_384)] {
            let scatter = Scatter::new(count, Hot::AsInFio { seed: 3 });
            let seen: std::collections::BTreeSet<u64> = (0..count).map(|rank| scatter.place(rank)).collect();
            assert_eq!(seen.len(), expected, "{count}");
        }
    }

    #[test]
    fn every_distribution_works_with_few_places() {
        for distribution in [Distribution::Zipf(1.2), Distribution::Pareto(0.2), Distribution::Normal(1.0)] {
            for count in [1, 2, 3] {
                let sampler = Sampler::new(&distribution, count, 4096, Hot::Apart { seed: 1 });
                let mut rng = Rng::new(2);
                assert!((0..1000).all(|_| sampler.draw(&mut rng, count) < count), "{distribution} {count}");
            }
        }
    }
}
