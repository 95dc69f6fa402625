//! Zones of a disk: its throughput falls from outside to inside, as the tracks get shorter.

use crate::chance::{CHANCE_MAX, Moments, corrected, ranks};

/// Fewer transfers do not show a slope.
const TRANSFERS_MIN: usize = 24;
/// The first eighth is faster than the last one by this at least.
const TIMES_MIN: f64 = 1.15;

/// The throughput over the addresses of a disk with zones.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Zoned {
    pub(crate) first_mib_per_s: f64,
    pub(crate) last_mib_per_s: f64,
    pub(crate) chance: f64,
}

/// Returns the zones that transfers show: place and MiB/s of each. A step from one level to another is none.
pub(crate) fn zoned(transfers: &[(u64, f64)]) -> Option<Zoned> {
    if transfers.len() < TRANSFERS_MIN {
        return None;
    }
    let mut sorted = transfers.to_vec();
    sorted.sort_unstable_by_key(|(offset, _)| *offset);
    let rates: Vec<f64> = sorted.iter().map(|(_, rate)| *rate).collect();
    let places: Vec<f64> = (0..u32::try_from(rates.len()).ok()?).map(f64::from).collect();
    let eighth = rates.len() / 8;
    let first = assay_statistics::median(&rates[..eighth]);
    let last = assay_statistics::median(&rates[rates.len() - eighth..]);
    let rho = correlation(&places, &ranks(&rates));
    let chance = corrected(-rho * (rates.len() as f64 - 1.0).sqrt(), 1);
    let is_slope = rho < 0.0 && loss_of_line(&places, &rates) < loss_of_step(&rates);
    (chance < CHANCE_MAX && first > last * TIMES_MIN && is_slope).then_some(Zoned {
        first_mib_per_s: first,
        last_mib_per_s: last,
        chance,
    })
}

/// Pearson's correlation of two series.
fn correlation(a: &[f64], b: &[f64]) -> f64 {
    let (mean_a, mean_b) = (assay_statistics::mean(a), assay_statistics::mean(b));
    let product: f64 = a.iter().zip(b).map(|(x, y)| (x - mean_a) * (y - mean_b)).sum();
    let square = |of: &[f64], mean: f64| of.iter().map(|x| (x - mean).powi(2)).sum::<f64>();
    product / (square(a, mean_a) * square(b, mean_b)).sqrt().max(f64::MIN_POSITIVE)
}

/// Sum of squares around the line that fits best.
fn loss_of_line(places: &[f64], rates: &[f64]) -> f64 {
    let mean = assay_statistics::mean(rates);
    let total: f64 = rates.iter().map(|rate| (rate - mean).powi(2)).sum();
    total * (1.0 - correlation(places, rates).powi(2))
}

/// Sum of squares around the two levels that fit best.
fn loss_of_step(rates: &[f64]) -> f64 {
    let all = Moments::of(rates.iter().copied());
    let mut before = Moments::default();
    let loss = |of: Moments| of.deviation().powi(2) * of.n;
    let mut least = f64::INFINITY;
    for rate in &rates[..rates.len() - 1] {
        before.add(*rate);
        least = least.min(loss(before) + loss(all.without(before)));
    }
    least
}
