//! How far the figures of a step may be from those of a longer window of the same kind.
//!
//! The seconds of the window are its batches: their scatter, with their number corrected by their autocorrelation, is
//! the error of a mean over them. It says nothing of what differs between runs (another place on the disk, a cache
//! that is warm by now, a neighbour); only repetitions do, and `compare` uses them.

use assay_record::Latency;
use assay_spec::Figure;

use crate::summary::StepSummary;
use assay_statistics::{Estimate, Spread, quantile};

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
    /// Its 90th percentile, µs.
    pub p90_us: Option<Estimate>,
    /// Its 95th percentile, µs.
    pub p95_us: Option<Estimate>,
    /// Its 99th percentile, µs.
    pub p99_us: Option<Estimate>,
    /// Its 99.9th percentile, µs.
    pub p999_us: Option<Estimate>,
    /// Its 99.99th percentile, µs.
    pub p9999_us: Option<Estimate>,
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
        values.and_then(|values| Spread::widest_of_seconds(&values))
    };
    let rate = of(&|point| Some(point.iops));
    let waited = step.total.waited();
    // I/Os of one second depend on each other as much as the seconds do.
    let rates: Vec<f64> = step.series.iter().map(|point| point.iops).collect();
    let independent = Spread::of_seconds(&rates).map_or(1.0, |spread| spread.n / rates.len() as f64);
    let percentile = |q: f64, seconds: Option<Spread>| {
        let ordered = quantile(&|q| waited.quantile_ns(q), q, waited.count() as f64 * independent)?;
        Some(in_us(wider(ordered, seconds)))
    };
    let p50 = of(&|point| point.p50_us);
    let p99 = of(&|point| point.p99_us);
    Some(Precision {
        iops: mean_of(step.total.iops, rate),
        mib_per_s: mean_of(step.total.mib_per_s, of(&|point| Some(point.mib_per_s))),
        mean_us: mean_us(waited).map(|value| mean_of(value, of(&|point| point.mean_us))),
        p50_us: percentile(0.5, p50),
        p90_us: percentile(0.9, widest(p50, p99)),
        p95_us: percentile(0.95, widest(p50, p99)),
        p99_us: percentile(0.99, p99),
        p999_us: percentile(0.999, p99),
        p9999_us: percentile(0.9999, p99),
    })
}

impl Precision {
    /// The estimate of a figure; `None` where no I/O succeeded.
    #[must_use]
    pub fn of(&self, figure: Figure) -> Option<Estimate> {
        match figure {
            Figure::Iops => Some(self.iops),
            Figure::MibPerS => Some(self.mib_per_s),
            Figure::Mean => self.mean_us,
            Figure::P50 => self.p50_us,
            Figure::P90 => self.p90_us,
            Figure::P95 => self.p95_us,
            Figure::P99 => self.p99_us,
            Figure::P999 => self.p999_us,
        }
    }
}

/// The larger of two spreads: the seconds keep no percentiles between the median and p99.
fn widest(a: Option<Spread>, b: Option<Spread>) -> Option<Spread> {
    a.zip(b).map(|(a, b)| if a.half_width() > b.half_width() { a } else { b })
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
