//! The figures of one window with their intervals, from its seconds.
//!
//! Every figure that is printed, that a run stops by, or that a comparison rests on has its interval from here. The
//! interval says how far the figure may be from that of a longer window of the same kind. It says nothing of what
//! differs between runs; only repetitions do.

use crate::basics::{correlation_time, mean};
use crate::estimate::{Estimate, NoInterval, Spread, quantile};
use crate::shape::{Shape, shape};

/// A window of fewer independent seconds than this, whose seconds depend on each other, does not show how far it
/// wanders.
const INDEPENDENT_MIN: f64 = 4.0;
/// Seconds with a longer autocorrelation time than this depend on each other.
const DEPENDENT: f64 = 1.5;

/// Returns the spread of the mean of a window's seconds.
///
/// # Errors
/// The reason, where these seconds do not give one.
pub fn spread(seconds: &[f64]) -> Result<Spread, NoInterval> {
    let spread = Spread::widest_of_seconds(seconds).ok_or(NoInterval::TooShort)?;
    if matches!(shape(seconds), Some(Shape::Drift { .. })) {
        return Err(NoInterval::Drifts);
    }
    let memory = correlation_time(seconds);
    if memory > DEPENDENT && (seconds.len() as f64) < memory * INDEPENDENT_MIN {
        return Err(NoInterval::Wanders);
    }
    Ok(spread)
}

/// Returns a mean over a window with the interval that its seconds give it.
pub fn of_mean(value: f64, seconds: &[f64]) -> Estimate {
    spread(seconds).map_or_else(|why| Estimate::without(value, why), |spread| within(value, spread))
}

/// The I/Os of a window, for intervals of their percentiles.
#[derive(Clone, Copy)]
pub struct Times<'t> {
    /// Returns the quantile of all of them.
    pub at: &'t dyn Fn(f64) -> Option<f64>,
    /// Their number.
    pub count: u64,
    /// I/Os per second, second by second.
    pub rates: &'t [f64],
}

/// Returns the percentile `q` in \[0, 1\] with its interval; `None` without any I/O. `seconds` are percentiles of each
/// second, near `q`: of several, those that scatter most count.
///
/// The interval is the wider of two: by order statistics, which take the I/Os as one population, and by the scatter of
/// the seconds' percentiles, which sees that the population changes.
pub fn of_quantile(times: Times<'_>, q: f64, seconds: &[&[f64]]) -> Option<Estimate> {
    let value = (times.at)(q)?;
    Some(interval_of_quantile(times, q, seconds).unwrap_or_else(|why| Estimate::without(value, why)))
}

fn interval_of_quantile(times: Times<'_>, q: f64, seconds: &[&[f64]]) -> Result<Estimate, NoInterval> {
    // I/Os of one second depend on each other as much as the seconds do.
    let of_rate = Spread::of_seconds(times.rates).ok_or(NoInterval::TooShort)?;
    let independent = times.count as f64 * of_rate.n / times.rates.len() as f64;
    let ordered = quantile(times.at, q, independent).ok_or(NoInterval::TooFewBeyond)?;
    let (lo, hi) = ordered.ends().ok_or(NoInterval::TooFewBeyond)?;
    let spreads: Result<Vec<Spread>, NoInterval> = seconds.iter().map(|seconds| spread(seconds)).collect();
    let widest = spreads?.into_iter().max_by(|a, b| a.half_width().total_cmp(&b.half_width()));
    let scattered = within(ordered.value, widest.ok_or(NoInterval::SecondsUnknown)?);
    let (low, high) = scattered.ends().unwrap_or((lo, hi));
    let n_effective = if high - low > hi - lo { scattered.n_effective } else { ordered.n_effective };
    Ok(Estimate { lo: Some(lo.min(low)), hi: Some(hi.max(high)), n_effective, ..ordered })
}

fn within(value: f64, spread: Spread) -> Estimate {
    let width = spread.half_width();
    Estimate {
        lo: Some(value * (1.0 - width).max(0.0)),
        hi: Some(value * (1.0 + width)),
        n_effective: spread.n,
        ..Estimate::bare(value)
    }
}

/// Equal parts of a window, or its rounds: how far they lie apart, and whether they rise or fall.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Parts {
    /// Their mean.
    pub mean: f64,
    /// Highest minus lowest, as a share of the mean.
    pub range: f64,
    /// Rise of the line fitted to them from the first to the last, as a share of the mean.
    pub slope: f64,
}

impl Parts {
    /// Number of parts that SNIA's performance test specification judges.
    pub const COUNT: usize = 5;
    /// Largest range of a steady load, as a share of the mean (SNIA SSS PTS 2.0.2).
    pub const RANGE_MAX: f64 = 0.2;
    /// Largest rise or fall of the fitted line, as a share of the mean (SNIA SSS PTS 2.0.2).
    pub const SLOPE_MAX: f64 = 0.1;

    /// Returns what parts show; `None` for fewer than two, and where their mean is not above zero.
    pub fn of(parts: &[f64]) -> Option<Self> {
        let level = mean(parts);
        if parts.len() < 2 || level <= 0.0 {
            return None;
        }
        let last = (parts.len() - 1) as f64;
        let x = |i: usize| i as f64 - last / 2.0;
        let xy: f64 = parts.iter().enumerate().map(|(i, y)| x(i) * (y - level)).sum();
        let xx: f64 = (0..parts.len()).map(|i| x(i).powi(2)).sum();
        let highest = parts.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let lowest = parts.iter().copied().fold(f64::INFINITY, f64::min);
        Some(Self { mean: level, range: (highest - lowest) / level, slope: xy / xx * last / level })
    }

    /// Whether both are within SNIA's limits.
    pub fn is_steady(&self) -> bool {
        self.range <= Self::RANGE_MAX && self.slope.abs() <= Self::SLOPE_MAX
    }
}
