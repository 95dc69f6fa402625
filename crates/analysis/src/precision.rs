//! How far the figures of a step may be from those of a longer window of the same kind.
//!
//! The seconds of the window are its batches: their scatter, with their number corrected by their autocorrelation, is
//! the error of a mean over them. It says nothing of what differs between runs (another place on the disk, a cache
//! that is warm by now, a neighbour); only repetitions do, and `compare` uses them.

use assay_spec::Figure;
use assay_statistics::window::{of_mean, of_quantile};
use assay_statistics::{Estimate, NoInterval};

use crate::series::{Point, Times};
use crate::summary::{OpSummary, StepSummary};

/// The figures of a step with their 95 % intervals; a figure without ends says why it has none.
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
pub fn precision(step: &StepSummary) -> Option<Precision> {
    if step.skipped.is_some() || step.unmeasured.is_some() || step.total.ops == 0 {
        return None;
    }
    let window = Window::new(&step.series, &step.total);
    // Seconds of a gap share what was counted after it: they are equal, and no measure of scatter.
    let has_gap = step.gap_s() >= 1.0;
    let known = |of: Estimate| if has_gap { Estimate::without(of.value, NoInterval::Gap) } else { of };
    let percentile = |q: f64| window.percentile(q).map(known);
    Some(Precision {
        iops: known(window.of(Figure::Iops)?),
        mib_per_s: known(window.of(Figure::MibPerS)?),
        mean_us: window.of(Figure::Mean).map(known),
        p50_us: percentile(0.5),
        p90_us: percentile(0.9),
        p95_us: percentile(0.95),
        p99_us: percentile(0.99),
        p999_us: percentile(0.999),
        p9999_us: percentile(0.9999),
    })
}

/// Returns between which values a figure was in the seconds of a step: what is known of a figure that drifts or
/// wanders too much for an interval. An end that the stored percentiles of seconds do not tell is unlimited; `None` for
/// fewer than `least` seconds.
pub(crate) fn seconds_between(step: &StepSummary, figure: Figure, least: usize) -> Option<(f64, f64)> {
    let window = Window::new(&step.series, &step.total);
    let span = |figure: Figure| {
        let seconds = window.seconds_of(figure).filter(|seconds| seconds.len() >= least)?;
        Some(seconds.iter().fold((f64::INFINITY, 0.0), |(lo, hi): (f64, f64), at| (lo.min(*at), hi.max(*at))))
    };
    Some(match figure {
        Figure::P90 | Figure::P95 => (span(Figure::P50)?.0, span(Figure::P99)?.1),
        Figure::P999 => (span(Figure::P99)?.0, f64::INFINITY),
        _ => span(figure)?,
    })
}

/// A measured window: what its figures and their intervals are computed from, for tables, stop rules and comparisons.
pub(crate) struct Window<'w> {
    total: &'w OpSummary,
    rates: Vec<f64>,
    throughput: Vec<f64>,
    /// What was waited for in each second; `None` where a second is unknown.
    waited: Option<Vec<Times>>,
}

impl<'w> Window<'w> {
    pub(crate) fn new(series: &[Point], total: &'w OpSummary) -> Self {
        // A last second that was cut short is a batch of another size.
        let whole: Vec<&Point> = series.iter().filter(|point| point.t_s.fract() < 1e-6).collect();
        let is_open = total.response.is_some();
        let of_service =
            |point: &Point| Some(Times { mean: point.mean_us?, p50: point.p50_us?, p99: point.p99_us? });
        let waited = |point: &&Point| if is_open { point.waited } else { of_service(point) };
        Self {
            total,
            rates: whole.iter().map(|point| point.iops).collect(),
            throughput: whole.iter().map(|point| point.mib_per_s).collect(),
            waited: whole.iter().map(waited).collect(),
        }
    }

    /// The estimate of a figure; `None` where no I/O succeeded.
    pub(crate) fn of(&self, figure: Figure) -> Option<Estimate> {
        match figure {
            Figure::Iops => Some(of_mean(self.total.iops, &self.rates)),
            Figure::MibPerS => Some(of_mean(self.total.mib_per_s, &self.throughput)),
            Figure::Mean => {
                let us = self.total.waited().mean_ns()? / 1e3;
                let seconds = self.seconds_of(figure);
                Some(seconds.map_or(Estimate::without(us, NoInterval::SecondsUnknown), |of| of_mean(us, &of)))
            }
            Figure::P50 => self.percentile(0.5),
            Figure::P90 => self.percentile(0.9),
            Figure::P95 => self.percentile(0.95),
            Figure::P99 => self.percentile(0.99),
            Figure::P999 => self.percentile(0.999),
        }
    }

    /// The seconds whose scatter a figure is judged by; of percentiles above the median those of p99.
    pub(crate) fn seconds_of(&self, figure: Figure) -> Option<Vec<f64>> {
        let of = |time: fn(&Times) -> f64| Some(self.waited.as_ref()?.iter().map(time).collect());
        match figure {
            Figure::Iops => Some(self.rates.clone()),
            Figure::MibPerS => Some(self.throughput.clone()),
            Figure::Mean => of(|times| times.mean),
            Figure::P50 => of(|times| times.p50),
            Figure::P90 | Figure::P95 | Figure::P99 | Figure::P999 => of(|times| times.p99),
        }
    }

    /// A percentile of the time that was waited, µs. Between the median and p99 the seconds keep no percentile: the
    /// wider of both counts.
    fn percentile(&self, q: f64) -> Option<Estimate> {
        let waited = self.total.waited();
        let at = |q: f64| waited.quantile_ns(q).map(|ns| ns / 1e3);
        let times = assay_statistics::window::Times { at: &at, count: waited.count(), rates: &self.rates };
        let (p50, p99) = (self.seconds_of(Figure::P50), self.seconds_of(Figure::P99));
        let known: Vec<&[f64]> = match q {
            q if q <= 0.5 => p50.iter().map(Vec::as_slice).collect(),
            q if q < 0.99 => p50.iter().chain(&p99).map(Vec::as_slice).collect(),
            _ => p99.iter().map(Vec::as_slice).collect(),
        };
        of_quantile(times, q, &known)
    }
}

impl Precision {
    /// The estimate of a figure; `None` where no I/O succeeded.
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
