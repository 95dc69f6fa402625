//! Numbers with their errors: a mean over seconds that depend on each other, a ratio of two, a quantile.
//!
//! Seconds of a run are not independent: caches fill, disks reorder, neighbours come and go. Their number is therefore
//! corrected by their autocorrelation before any error is computed from them.

use std::fmt;

use serde::Serialize;

use crate::basics::{correlation_time, deviation, geometric_mean, mean};
use crate::student::student_95;

/// Fewer seconds than this say nothing of their spread.
pub const SECONDS_MIN: usize = 4;
/// How much longer the memory of a series is than it appears, in units of its share of the window.
const MEMORY_BIAS: f64 = 3.0;
/// Numbers of batches whose means show how slowly a rate wanders.
const BATCHES: [usize; 2] = [10, 5];
/// Two-sided 95 % of the normal distribution.
const NORMAL_95: f64 = 1.959_964;
/// Why a figure has no interval.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum NoInterval {
    /// The window has fewer than four whole seconds.
    TooShort,
    /// The rate rises or falls through the whole window: a longer window has another mean.
    Drifts,
    /// The rate wanders as slowly as the window is long.
    Wanders,
    /// Too few I/Os are slower than the percentile.
    TooFewBeyond,
    /// The latency of each second is not known.
    SecondsUnknown,
    /// The tester did not run for a second or more, over which what it counted is spread evenly.
    Gap,
}

impl fmt::Display for NoInterval {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::TooShort => "the window has fewer than 4 whole seconds",
            Self::Drifts => "the rate rises or falls through the whole window",
            Self::Wanders => "the rate wanders as slowly as the window is long",
            Self::TooFewBeyond => "too few I/Os are slower than this percentile",
            Self::SecondsUnknown => "the latency of each second is not stored",
            Self::Gap => "Assay did not run for a second of the window or more",
        })
    }
}

/// A number with its 95 % interval; without ends where nothing is known of its error.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Estimate {
    /// The best guess.
    pub value: f64,
    /// Lower end of the interval.
    pub lo: Option<f64>,
    /// Upper end of the interval.
    pub hi: Option<f64>,
    /// Independent values it rests on; 0 where nothing is known of its error.
    pub n_effective: f64,
    /// Why there is no interval, where that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<NoInterval>,
}

impl Estimate {
    /// A number of which no error is known.
    pub fn bare(value: f64) -> Self {
        Self { value, lo: None, hi: None, n_effective: 0.0, why: None }
    }

    /// A number without an interval, and the reason.
    pub fn without(value: f64, why: NoInterval) -> Self {
        Self { why: Some(why), ..Self::bare(value) }
    }

    /// Half of the width over the value: the share on either side within which the true value is; `None` where
    /// nothing is known of the error.
    pub fn half_width(&self) -> Option<f64> {
        let (lo, hi) = self.ends()?;
        (self.value > 0.0).then(|| (self.value - lo).max(hi - self.value) / self.value)
    }

    /// Both ends, where they are known.
    pub fn ends(&self) -> Option<(f64, f64)> {
        self.lo.zip(self.hi)
    }
}

/// Relative standard error of a mean, with the count of independent values behind it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Spread {
    /// Standard error of the mean over the mean.
    pub error: f64,
    /// Independent values; at least 2.
    pub n: f64,
    /// Taken over from the other side, for lack of an own one.
    pub is_borrowed: bool,
}

impl Spread {
    /// An error of its own.
    pub fn new(error: f64, n: f64) -> Self {
        Self { error, n, is_borrowed: false }
    }

    /// Of seconds of one run, their number corrected by their autocorrelation; `None` for too few of them.
    pub fn of_seconds(values: &[f64]) -> Option<Self> {
        let mean = mean(values);
        if values.len() < SECONDS_MIN || mean <= 0.0 {
            return None;
        }
        let all = values.len() as f64;
        let memory = correlation_time(values);
        // A short window shows too short a memory: its mean follows the wandering. In simulations of autocorrelated
        // series this factor brings the intervals to the share of 95 % that they state.
        let memory = memory * (1.0 + MEMORY_BIAS * (memory - 1.0) / all);
        let n = (all / memory).max(2.0);
        Some(Self::new(deviation(values) / mean / n.sqrt(), n))
    }

    /// Of seconds of one run, the widest of three: by their autocorrelation, and by the means of ten and of five
    /// batches of them. The first is too narrow where the rate wanders slowly, the others where it does so very slowly.
    pub fn widest_of_seconds(values: &[f64]) -> Option<Self> {
        let batches = BATCHES.into_iter().filter_map(|count| Self::of_batches(values, count));
        let all = std::iter::once(Self::of_seconds(values)?).chain(batches);
        all.max_by(|a, b| a.half_width().total_cmp(&b.half_width()))
    }

    /// Of the means of so many batches of equal length; `None` where a batch would be shorter than two seconds.
    fn of_batches(values: &[f64], count: usize) -> Option<Self> {
        let length = values.len() / count;
        let level = mean(values);
        if length < 2 || level <= 0.0 {
            return None;
        }
        let means: Vec<f64> = values[values.len() - length * count..].chunks(length).map(mean).collect();
        let n = count as f64;
        Some(Self::new(deviation(&means) / level / n.sqrt(), n))
    }

    /// Of the logarithms of repetitions; `None` for a single one.
    pub fn of_repeats(values: &[f64]) -> Option<Self> {
        if values.len() < 2 || values.iter().any(|v| *v <= 0.0) {
            return None;
        }
        let logs: Vec<f64> = values.iter().map(|v| v.ln()).collect();
        let n = values.len() as f64;
        Some(Self::new(deviation(&logs) / n.sqrt(), n))
    }

    /// Of a single value, by the standard deviation of the logarithms within groups of repetitions, all groups
    /// together; `None` without a repetition.
    pub fn pooled(groups: impl Iterator<Item = Vec<f64>>) -> Option<Self> {
        let (mut squares, mut freedom) = (0.0, 0.0);
        for values in groups.filter(|values| values.len() > 1 && values.iter().all(|v| *v > 0.0)) {
            let logs: Vec<f64> = values.iter().map(|v| v.ln()).collect();
            let own = (logs.len() - 1) as f64;
            squares += deviation(&logs).powi(2) * own;
            freedom += own;
        }
        (freedom > 0.0).then(|| Self {
            error: (squares / freedom).sqrt(),
            n: freedom + 1.0,
            is_borrowed: true,
        })
    }

    /// Half of the 95 % interval of the mean, as a share of it.
    pub fn half_width(self) -> f64 {
        student_95(self.n - 1.0) * self.error
    }
}

/// The level of repetitions: their geometric mean, and its 95 % interval by Student's t on logarithms where there are
/// several. Tables, comparisons and trends all mean this by the value of a baseline.
pub fn level(values: &[f64]) -> Estimate {
    let value = geometric_mean(values);
    let width = Spread::of_repeats(values).map(Spread::half_width);
    Estimate {
        lo: width.map(|width| value * (-width).exp()),
        hi: width.map(|width| value * width.exp()),
        n_effective: values.len() as f64,
        ..Estimate::bare(value)
    }
}

/// `b / a` with the interval that the errors of both leave (Welch, on logarithms: a ratio cannot be negative).
pub fn ratio(a: f64, b: f64, spreads: Option<(Spread, Spread)>) -> Estimate {
    let value = b / a;
    let Some((sa, sb)) = spreads else { return Estimate::bare(value) };
    let (va, vb) = (sa.error.powi(2), sb.error.powi(2));
    let variance = va + vb;
    // Welch and Satterthwaite: the freedom of the noisier side counts most.
    let freedom = if sa.is_borrowed || sb.is_borrowed {
        sa.n.min(sb.n) - 1.0
    } else if variance > 0.0 {
        variance.powi(2) / (va.powi(2) / (sa.n - 1.0) + vb.powi(2) / (sb.n - 1.0))
    } else {
        sa.n + sb.n - 2.0
    };
    let width = student_95(freedom) * variance.sqrt();
    Estimate {
        lo: Some(value * (-width).exp()),
        hi: Some(value * width.exp()),
        n_effective: freedom + 1.0,
        ..Estimate::bare(value)
    }
}

/// Quantile `q` of a distribution, which `at` returns the quantiles of, with its 95 % interval by order statistics;
/// `n` is how many of the values are independent.
pub fn quantile(at: &dyn Fn(f64) -> Option<f64>, q: f64, n: f64) -> Option<Estimate> {
    let value = at(q)?;
    let width = NORMAL_95 * (q * (1.0 - q) / n.max(1.0)).sqrt();
    // Where the interval would leave the distribution, nothing beyond it was seen.
    let ends = (q - width > 0.0 && q + width < 1.0).then(|| at(q - width).zip(at(q + width))).flatten();
    let why = if ends.is_none() { Some(NoInterval::TooFewBeyond) } else { None };
    Some(Estimate { value, lo: ends.map(|e| e.0), hi: ends.map(|e| e.1), n_effective: n, why })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_that_follow_each_other_count_for_less() {
        let wild: Vec<f64> = (0..60).map(|i| if i % 2 == 0 { 90.0 } else { 110.0 }).collect();
        let slow: Vec<f64> = (0..60).map(|i| if i < 30 { 90.0 } else { 110.0 }).collect();
        let (wild, slow) = (Spread::of_seconds(&wild).unwrap(), Spread::of_seconds(&slow).unwrap());
        assert!((wild.n - 60.0).abs() < 1e-9, "{wild:?}");
        assert!(slow.n < 4.0 && slow.error > 3.0 * wild.error, "{slow:?}");
        assert!(Spread::of_seconds(&[1.0, 2.0, 3.0]).is_none() && Spread::of_seconds(&[0.0; 9]).is_none());
    }

    #[test]
    fn a_ratio_is_as_wide_as_both_errors_together() {
        let spread = |error| Spread::new(error, 1e6);
        let r = ratio(100.0, 200.0, Some((spread(0.03), spread(0.04))));
        let (lo, hi) = r.ends().unwrap();
        assert!((lo - 2.0 * (-0.098_f64).exp()).abs() < 1e-3 && (hi - 2.0 * 0.098_f64.exp()).abs() < 1e-3);
        assert_eq!(ratio(100.0, 50.0, None), Estimate::bare(0.5));
        let exact = ratio(1.0, 1.0, Some((spread(0.0), spread(0.0))));
        assert_eq!(exact.ends(), Some((1.0, 1.0)));
    }

    #[test]
    fn a_quantile_has_an_interval_as_far_as_the_times_reach() {
        let even = |q: f64| Some(q * 10.0);
        let p50 = quantile(&even, 0.5, 10_000.0).unwrap();
        let (lo, hi) = p50.ends().unwrap();
        assert!((lo - 4.9).abs() < 0.005 && (hi - 5.1).abs() < 0.005, "{p50:?}");
        assert!(quantile(&even, 0.99, 100.0).unwrap().ends().is_none(), "100 times say nothing beyond p98");
        assert!(quantile(&|_| None, 0.5, 1.0).is_none());
    }

    #[test]
    fn a_borrowed_spread_adds_no_freedom() {
        for n in [2.0, 3.0, 6.0] {
            let own = Spread::new(0.1 / f64::sqrt(n), n);
            let lone = Spread { error: 0.1, is_borrowed: true, ..own };
            let half = student_95(n - 1.0) * 0.1 * (1.0 + 1.0 / n).sqrt();
            let estimate = ratio(1.0, 1.0, Some((own, lone)));
            assert!((estimate.hi.unwrap().ln() - half).abs() < 1e-9, "{n}: {estimate:?}");
            assert_eq!(estimate.hi, ratio(1.0, 1.0, Some((lone, own))).hi);
        }
    }
}
