//! A trend with as many points as a drawing has room for: runs of one day as one point.

use assay_record::FigureDigest;
use assay_statistics::median;

use super::{Trend, TrendPoint};

const MINUTE_MS: u64 = 60_000;
const HOUR_MS: u64 = 60 * MINUTE_MS;
const DAY_MS: u64 = 24 * HOUR_MS;
/// Spans of time whose runs become one point, the shortest first.
const SPANS: [(u64, &str); 11] = [
    (MINUTE_MS, "one minute"),
    (5 * MINUTE_MS, "5 minutes"),
    (15 * MINUTE_MS, "15 minutes"),
    (HOUR_MS, "one hour"),
    (6 * HOUR_MS, "6 hours"),
    (DAY_MS, "one day"),
    (2 * DAY_MS, "2 days"),
    (7 * DAY_MS, "one week"),
    (30 * DAY_MS, "30 days"),
    (91 * DAY_MS, "91 days"),
    (365 * DAY_MS, "365 days"),
];

impl Trend {
    /// Returns the trend with at most `count` points, and the span of time that each stands for: the medians of the
    /// runs in it, from the lowest to the highest. `None` where each point is a run. No run is left out, and no change.
    pub fn condensed(&self, count: usize) -> (Self, Option<&'static str>) {
        if self.points.len() <= count {
            return (self.clone(), None);
        }
        let spans = |width: u64| {
            self.points.chunk_by(move |a, b| a.started_unix_ms / width == b.started_unix_ms / width)
        };
        let fits = |(width, _): &&(u64, &str)| spans(*width).count() <= count;
        let (width, name) = SPANS.iter().find(fits).unwrap_or(&SPANS[SPANS.len() - 1]);
        let condensed = Self { points: spans(*width).map(as_one).collect(), ..self.clone() };
        (condensed, Some(name))
    }
}

/// Returns some runs in a row as a point: that of the first of them, with the medians and the ranges of all.
fn as_one(points: &[TrendPoint]) -> TrendPoint {
    let over = |figure: &dyn Fn(&TrendPoint) -> Option<FigureDigest>| {
        let values: Vec<f64> = points.iter().filter_map(figure).map(|figure| figure.value).collect();
        let (lo, hi) = (values.iter().copied().reduce(f64::min)?, values.iter().copied().reduce(f64::max)?);
        Some(FigureDigest { value: median(&values), lo: Some(lo), hi: Some(hi) })
    };
    let first = &points[0];
    if points.len() == 1 {
        return first.clone();
    }
    TrendPoint {
        iops: over(&|point| Some(point.iops)).unwrap_or_default(),
        mib_per_s: over(&|point| Some(point.mib_per_s)).unwrap_or_default(),
        p99_us: over(&|point| point.p99_us),
        runs: points.len(),
        ..first.clone()
    }
}
