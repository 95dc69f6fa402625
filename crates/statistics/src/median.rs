//! The median of repetitions with its interval.

use crate::basics::mean;
use crate::estimate::{Estimate, Spread};

/// From so many repetitions on, order statistics give a 95 % interval of the median.
const ORDERED_MIN: usize = 6;

/// The median with its 95 % interval: by order statistics (Conover, 1999) from six values on; by Student's t on
/// logarithms for fewer.
#[must_use]
pub fn median_estimate(values: &[f64]) -> Estimate {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let n = sorted.len();
    if n == 0 {
        return Estimate::bare(0.0);
    }
    let value = f64::midpoint(sorted[(n - 1) / 2], sorted[n / 2]);
    let ends = if n >= ORDERED_MIN {
        let from = rank(n);
        Some((sorted[from], sorted[n - 1 - from]))
    } else {
        Spread::of_repeats(values).map(|spread| {
            let center = mean(&values.iter().map(|v| v.ln()).collect::<Vec<_>>());
            let width = spread.half_width();
            // The interval is around the geometric mean; it has to contain the value that it is printed with.
            ((center - width).exp().min(value), (center + width).exp().max(value))
        })
    };
    Estimate { lo: ends.map(|e| e.0), hi: ends.map(|e| e.1), n_effective: n as f64, ..Estimate::bare(value) }
}

/// Largest rank r, from 0, for which the values of rank r and n - 1 - r enclose the median with 95 %: the binomial
/// probability of r or fewer values below the median is at most 2.5 %.
fn rank(n: usize) -> usize {
    let mut term = 0.5_f64.powi(i32::try_from(n).unwrap_or(i32::MAX));
    let (mut sum, mut rank) = (0.0, 0);
    for r in 0..n / 2 {
        sum += term;
        if sum > 0.025 {
            break;
        }
        rank = r;
        term *= (n - r) as f64 / (r + 1) as f64;
    }
    rank
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ranks of the interval in the tables: 6 values: the extremes; 10: second and ninth; 20: sixth and fifteenth.
    #[test]
    fn the_interval_of_a_median_is_that_of_the_tables() {
        assert_eq!([6, 8, 9, 10, 15, 20].map(rank), [0, 0, 1, 1, 3, 5]);
    }
}
