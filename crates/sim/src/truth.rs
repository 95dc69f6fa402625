//! A simulated array's own record of a step, counted by the same rules as the measurement.

use assay_spec::{Semantics, Step};

/// Number of I/Os of which an array keeps both times, 16 bytes each; for longer steps only the first ones are kept.
pub(crate) const KEPT_MAX: usize = 4_000_000;

/// An array's own record of one step.
#[derive(Debug, Clone)]
pub struct Truth {
    /// Name of the array in its address.
    pub array: String,
    /// Times of issue and completion of each I/O, ns, in order of completion.
    pub log: Vec<(u64, u64)>,
}

/// Statistics of an array over a part of a step.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TruthStats {
    /// Number of I/Os that count.
    pub ios: u64,
    /// Length of the window, s.
    pub seconds: f64,
    /// Mean response time, ms.
    pub mean_ms: f64,
    /// 99th percentile of the response time, ms.
    pub p99_ms: f64,
}

impl TruthStats {
    /// Returns the statistics of response times in ns.
    fn of(mut times_ns: Vec<u64>, seconds: f64) -> Self {
        times_ns.sort_unstable();
        let Some(last) = times_ns.len().checked_sub(1) else { return Self::default() };
        let sum: u64 = times_ns.iter().sum();
        Self {
            ios: times_ns.len() as u64,
            seconds,
            mean_ms: sum as f64 / times_ns.len() as f64 / 1e6,
            // The smallest time that 99 % do not exceed.
            p99_ms: times_ns[(times_ns.len() * 99).div_ceil(100).saturating_sub(1).min(last)] as f64 / 1e6,
        }
    }

    /// Returns the I/Os per second.
    pub fn iops(&self) -> f64 {
        if self.seconds > 0.0 { self.ios as f64 / self.seconds } else { 0.0 }
    }

    /// Returns the statistics in words: `1884.2 IOPS, mean 31.7 ms, p99 33.8 ms`.
    pub fn says(&self) -> String {
        format!("{:.1} IOPS, mean {:.3} ms, p99 {:.3} ms", self.iops(), self.mean_ms, self.p99_ms)
    }
}

impl Truth {
    /// Returns the statistics of all I/Os, from the first submission to the last completion.
    pub fn all(&self) -> TruthStats {
        self.from(0, None)
    }

    /// Returns the statistics by the rules of the step: from the end of the warm-up. Iometer's window ends when
    /// recording ends, and I/Os in flight then do not count; Assay's ends with the last I/O that was issued in it.
    pub fn counted(&self, semantics: Semantics, step: &Step, measured_s: f64) -> TruthStats {
        match semantics {
            Semantics::Assay | Semantics::Fio => self.from(step.warmup.0, None),
            Semantics::Iometer => self.from(step.warmup.0, Some(measured_s)),
        }
    }

    /// Returns the statistics of I/Os issued at least `warmup_ns` after the first one; with a length, only those
    /// completed within it.
    fn from(&self, warmup_ns: u64, length_s: Option<f64>) -> TruthStats {
        let first = self.log.iter().map(|(issued, _)| *issued).min().unwrap_or(0);
        let start = first + warmup_ns;
        let is_in_time = |at: u64| length_s.is_none_or(|length| (at - start) as f64 / 1e9 <= length);
        let counted = || self.log.iter().filter(|(issued, at)| *issued >= start && is_in_time(*at));
        let end = counted().map(|(_, at)| *at).max().unwrap_or(start);
        let began = counted().map(|(issued, _)| *issued).min().unwrap_or(start);
        let seconds = length_s.unwrap_or((end - began) as f64 / 1e9);
        TruthStats::of(counted().map(|(issued, at)| at - issued).collect(), seconds)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    /// Returns an I/O every 10 ms that takes 25 ms, from 1 s on, for a second.
    fn truth() -> Truth {
        let log = (0..100).map(|i| (1000 * MS + i * 10 * MS, 1000 * MS + i * 10 * MS + 25 * MS)).collect();
        Truth { array: "a".into(), log }
    }

    #[test]
    fn iometer_counts_ios_issued_and_completed_during_recording() {
        // Issued at 0.5 to 0.87 s after the first; the two or three in flight at the end do not count.
        let seen = truth().from(500 * MS, Some(0.4));
        assert_eq!((seen.ios, seen.seconds), (38, 0.4));
        assert!((seen.iops() - 95.0).abs() < 1e-9 && (seen.p99_ms - 25.0).abs() < 1e-9);
    }

    #[test]
    fn assay_counts_every_issued_io_up_to_the_last_completion() {
        let seen = truth().from(500 * MS, None);
        assert_eq!((seen.ios, seen.seconds), (50, 0.515));
        assert_eq!(truth().all().ios, 100);
        assert_eq!(Truth { log: Vec::new(), ..truth() }.all(), TruthStats::default());
    }
}
