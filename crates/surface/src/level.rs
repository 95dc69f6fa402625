//! Latencies with what is of their time taken away.

use crate::sample::{Order, Outcome, Sample, Why};

/// So many samples on each side say how fast the target was at that time.
const REACH: usize = 20;

/// A latency compared with those of its time.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Excess {
    /// Place, bytes.
    pub(crate) offset_bytes: u64,
    /// Natural logarithm of the latency over that of its time.
    pub(crate) log: f64,
    /// Latency, ns.
    pub(crate) latency_ns: u64,
    /// Whether only zeros were read.
    pub(crate) is_zeros: bool,
}

/// Returns the latencies of places over those of their time. In random order the neighbours in time are anywhere, so
/// that their mean is of the time alone; in sequential order they are the neighbours in place, and nothing is taken
/// away.
pub(crate) fn excess(samples: &[Sample], order: Order) -> Vec<Excess> {
    let places: Vec<&Sample> = samples
        .iter()
        .filter(|sample| sample.look.why == Why::Place && !matches!(sample.outcome, Outcome::Failed(_)))
        .collect();
    let logs: Vec<f64> = places.iter().map(|sample| log(sample.latency_ns)).collect();
    let times = match order {
        Order::Random => time_levels(&logs),
        Order::Sequential => vec![assay_statistics::mean(&logs); logs.len()],
    };
    let one = |((sample, log), time): ((&&Sample, &f64), f64)| Excess {
        offset_bytes: sample.look.offset_bytes,
        log: log - time,
        latency_ns: sample.latency_ns,
        is_zeros: sample.outcome == Outcome::Zeros,
    };
    places.iter().zip(&logs).zip(times).map(one).collect()
}

/// Natural logarithm of a latency.
pub(crate) fn log(latency_ns: u64) -> f64 {
    (latency_ns.max(1) as f64).ln()
}

/// Returns the mean of the logarithms around each moment.
pub(crate) fn time_levels(logs: &[f64]) -> Vec<f64> {
    let mut sums = vec![0.0; logs.len() + 1];
    for (index, log) in logs.iter().enumerate() {
        sums[index + 1] = sums[index] + log;
    }
    let level = |index: usize| {
        let (from, to) = (index.saturating_sub(REACH), (index + REACH + 1).min(logs.len()));
        (sums[to] - sums[from]) / (to - from) as f64
    };
    (0..logs.len()).map(level).collect()
}
