//! What a served array has done so far, and how late it was.

use hdrhistogram::Histogram;

/// The longest lateness that is counted as it is, ns: a minute.
const LATE_MAX_NS: u64 = 60_000_000_000;

/// What the files of a simulated array have served since they were mounted.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Served {
    /// Completed reads.
    pub reads: u64,
    /// Completed writes.
    pub writes: u64,
    /// Bytes of both.
    pub bytes: u64,
    /// Sum of the times that the model took for them, ns.
    pub model_ns: u64,
    /// I/Os that have not been answered yet.
    pub in_flight: usize,
    /// How late answers were.
    pub late: Lateness,
}

/// How much later than the model says answers were given, us.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Lateness {
    /// Answers.
    pub count: u64,
    /// Half of them were at most so late.
    pub p50_us: f64,
    /// 99 % of them were at most so late.
    pub p99_us: f64,
    /// The latest one.
    pub max_us: f64,
    /// Mean.
    pub mean_us: f64,
}

/// The running counts.
#[derive(Debug)]
pub(super) struct Counts {
    pub(super) served: Served,
    late_ns: Histogram<u64>,
}

impl Counts {
    pub(super) fn new() -> Self {
        let late_ns = Histogram::new_with_bounds(1, LATE_MAX_NS, 3).expect("constant bounds are valid");
        Self { served: Served::default(), late_ns }
    }

    pub(super) fn count_late(&mut self, late_ns: u64) {
        self.late_ns.saturating_record(late_ns.max(1));
    }

    pub(super) fn late(&self) -> Lateness {
        if self.late_ns.is_empty() {
            return Lateness::default();
        }
        let us = |ns: u64| ns as f64 / 1e3;
        Lateness {
            count: self.late_ns.len(),
            p50_us: us(self.late_ns.value_at_quantile(0.5)),
            p99_us: us(self.late_ns.value_at_quantile(0.99)),
            max_us: us(self.late_ns.max()),
            mean_us: self.late_ns.mean() / 1e3,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Counts;

    #[test]
    fn lateness_has_its_quantiles() {
        let mut counts = Counts::new();
        assert_eq!(counts.late().count, 0);
        for us in 1..=100_u64 {
            counts.count_late(us * 1000);
        }
        let late = counts.late();
        assert_eq!(late.count, 100);
        assert!((late.p50_us - 50.0).abs() < 0.1 && (late.p99_us - 99.0).abs() < 0.1, "{late:?}");
        assert!((late.max_us - 100.0).abs() < 0.1 && (late.mean_us - 50.5).abs() < 0.1, "{late:?}");
    }
}
