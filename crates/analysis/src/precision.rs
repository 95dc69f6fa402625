//! How far the figures of a step may be from those of a longer window of the same kind.
//!
//! The seconds of the window are its batches: their scatter, with their number corrected by their autocorrelation, is
//! the error of a mean over them. It says nothing of what differs between runs (another place on the disk, a cache
//! that is warm by now, a neighbour); only repetitions do, and `compare` uses them.

use assay_record::Latency;

use crate::estimate::{Estimate, Spread, quantile};
use crate::summary::StepSummary;

/// The figures of a step with their 95 % intervals; a figure without ends had too few seconds.
#[derive(Debug, Clone, PartialEq)]
pub struct Precision {
    /// Successful operations per second.
    pub iops: Estimate,
    /// 2^20 bytes per second.
    pub mib_per_s: Estimate,
    /// Mean time that was waited for an I/O, µs; `None` where none succeeded.
    pub mean_us: Option<Estimate>,
    /// Its median, µs.
    pub p50_us: Option<Estimate>,
    /// Its 99th percentile, µs.
    pub p99_us: Option<Estimate>,
    /// Its 99.9th percentile, µs.
    pub p999_us: Option<Estimate>,
}

/// Returns the precision of a step; `None` where it measured nothing.
#[must_use]
pub fn precision(step: &StepSummary) -> Option<Precision> {
    if step.skipped.is_some() || step.unmeasured.is_some() || step.total.ops == 0 {
        return None;
    }
    let of = |figure: &dyn Fn(&crate::Point) -> Option<f64>| {
        // A last second that was cut short is a batch of another size.
        let whole = step.series.iter().filter(|point| point.t_s.fract() < 1e-6);
        let values: Option<Vec<f64>> = whole.map(figure).collect();
        values.and_then(|values| Some((Spread::of_seconds(&values)?, values.len())))
    };
    let rate = of(&|point| Some(point.iops));
    let waited = step.total.waited();
    // I/Os of one second depend on each other as much as the seconds do.
    let independent = rate.map_or(1.0, |(spread, seconds)| spread.n / seconds as f64);
    let percentile = |q: f64, seconds: Option<Spread>| {
        let ordered = quantile(waited, q, waited.count() as f64 * independent)?;
        Some(in_us(wider(ordered, seconds)))
    };
    let p99 = of(&|point| point.p99_us).map(|(spread, _)| spread);
    Some(Precision {
        iops: mean_of(step.total.iops, rate.map(|(spread, _)| spread)),
        mib_per_s: mean_of(step.total.mib_per_s, of(&|point| Some(point.mib_per_s)).map(|(s, _)| s)),
        mean_us: mean_us(waited).map(|value| mean_of(value, of(&|point| point.mean_us).map(|(s, _)| s))),
        p50_us: percentile(0.5, of(&|point| point.p50_us).map(|(spread, _)| spread)),
        p99_us: percentile(0.99, p99),
        p999_us: percentile(0.999, p99),
    })
}

fn mean_us(waited: &Latency) -> Option<f64> {
    waited.mean_ns().map(|ns| ns / 1e3)
}

fn mean_of(value: f64, spread: Option<Spread>) -> Estimate {
    spread.map_or(Estimate::bare(value), |spread| within(value, spread))
}

fn within(value: f64, spread: Spread) -> Estimate {
    let width = spread.half_width();
    Estimate {
        value,
        lo: Some(value * (1.0 - width).max(0.0)),
        hi: Some(value * (1.0 + width)),
        n_effective: spread.n,
    }
}

/// The wider of two intervals of a percentile: by order statistics, which take the I/Os as one population, and by the
/// scatter of the seconds' percentiles, which sees that the population changes.
fn wider(ordered: Estimate, seconds: Option<Spread>) -> Estimate {
    let (Some(spread), Some((lo, hi))) = (seconds, ordered.ends()) else { return ordered };
    let scattered = within(ordered.value, spread);
    let (low, high) = scattered.ends().unwrap_or((lo, hi));
    let n_effective = if high - low > hi - lo { scattered.n_effective } else { ordered.n_effective };
    Estimate { lo: Some(lo.min(low)), hi: Some(hi.max(high)), n_effective, ..ordered }
}

fn in_us(ns: Estimate) -> Estimate {
    let us = |ns: f64| ns / 1e3;
    Estimate { value: us(ns.value), lo: ns.lo.map(us), hi: ns.hi.map(us), ..ns }
}
