//! What a simulated array itself saw of a step, counted by the same rules as the measurement beside it.

use assay_analysis::{RunSummary, StepSummary};
use assay_record::RunHeader;
use assay_spec::{Semantics, Step};
use serde_json::{Value, json};

/// I/Os of which an array keeps both times, 16 bytes each; of longer steps the truth is that of the first of them.
pub(crate) const KEPT_MAX: usize = 4_000_000;

/// What an array saw in one step.
#[derive(Debug, Clone)]
pub(crate) struct Truth {
    /// The array, as in its address.
    pub(crate) array: String,
    /// When each I/O was issued and when it completed, ns, in the order of completion.
    pub(crate) log: Vec<(u64, u64)>,
}

/// A part of it.
#[derive(Debug, Clone, Default, PartialEq)]
struct Seen {
    ios: u64,
    seconds: f64,
    mean_ms: f64,
    p99_ms: f64,
}

impl Seen {
    /// Of response times in ns.
    fn of(mut times_ns: Vec<u64>, seconds: f64) -> Self {
        times_ns.sort_unstable();
        let Some(last) = times_ns.len().checked_sub(1) else { return Self::default() };
        let sum: u64 = times_ns.iter().sum();
        Self {
            ios: times_ns.len() as u64,
            seconds,
            mean_ms: sum as f64 / times_ns.len() as f64 / 1e6,
            // The least time that 99 % do not exceed.
            p99_ms: times_ns[(times_ns.len() * 99).div_ceil(100).saturating_sub(1).min(last)] as f64 / 1e6,
        }
    }

    fn iops(&self) -> f64 {
        if self.seconds > 0.0 { self.ios as f64 / self.seconds } else { 0.0 }
    }

    /// In words: `1884.2 IOPS, mean 31.7 ms, p99 33.8 ms`.
    fn says(&self) -> String {
        format!("{:.1} IOPS, mean {:.3} ms, p99 {:.3} ms", self.iops(), self.mean_ms, self.p99_ms)
    }
}

impl Truth {
    /// Everything, from the first submission to the last completion.
    fn all(&self) -> Seen {
        self.from(0, None)
    }

    /// As the step counts: from the end of the warm-up on. Iometer's window ends when recording ends, and what is in
    /// flight then was never there; Assay's ends with the last I/O that was issued in it.
    fn counted(&self, semantics: Semantics, step: &Step, measured_s: f64) -> Seen {
        match semantics {
            Semantics::Assay => self.from(step.warmup.0, None),
            Semantics::Iometer => self.from(step.warmup.0, Some(measured_s)),
        }
    }

    /// I/Os issued `warmup_ns` after the first one or later; with a length, completed within it.
    fn from(&self, warmup_ns: u64, length_s: Option<f64>) -> Seen {
        let first = self.log.iter().map(|(issued, _)| *issued).min().unwrap_or(0);
        let start = first + warmup_ns;
        let is_in_time = |at: u64| length_s.is_none_or(|length| (at - start) as f64 / 1e9 <= length);
        let counted = || self.log.iter().filter(|(issued, at)| *issued >= start && is_in_time(*at));
        let end = counted().map(|(_, at)| *at).max().unwrap_or(start);
        let began = counted().map(|(issued, _)| *issued).min().unwrap_or(start);
        let seconds = length_s.unwrap_or((end - began) as f64 / 1e9);
        Seen::of(counted().map(|(issued, at)| at - issued).collect(), seconds)
    }
}

/// Steps that measured something with the truth of each; `None` where arrays and steps are not one to one.
fn pairs<'t>(
    header: &RunHeader,
    summary: &'t RunSummary,
    truths: &'t [Truth],
) -> Option<Vec<(&'t StepSummary, &'t Truth, Seen)>> {
    let measured: Vec<&StepSummary> = summary.steps.iter().filter(|s| s.total.ops > 0).collect();
    if truths.len() != measured.len() {
        return None;
    }
    let seen = |(step, truth): (&'t StepSummary, &'t Truth)| {
        let plan = header.plan.tests.get(step.id.test as usize)?.steps.get(step.id.step as usize)?;
        Some((step, truth, truth.counted(header.plan.semantics, plan, step.seconds)))
    };
    measured.into_iter().zip(truths).map(seen).collect()
}

/// Truth beside measurement, a line for each step.
pub(crate) fn text(header: &RunHeader, summary: &RunSummary, truths: &[Truth]) -> String {
    let Some(pairs) = pairs(header, summary, truths) else {
        return truths.iter().map(|t| format!("sim:{} saw {}\n", t.array, t.all().says())).collect();
    };
    let ratio = |got: f64, truth: f64| if truth > 0.0 { got / truth } else { 0.0 };
    let line = |(step, truth, seen): &(&StepSummary, &Truth, Seen)| {
        let p99_ms = step.total.service.quantile_ns(0.99).unwrap_or(0.0) / 1e6;
        format!(
            "sim:{} saw {} in {}: measured / truth = {:.4} in IOPS, {:.4} in p99\n",
            truth.array,
            seen.says(),
            step.test,
            ratio(step.total.iops, seen.iops()),
            ratio(p99_ms, seen.p99_ms)
        )
    };
    pairs.iter().map(line).collect()
}

/// The same for the JSON document.
pub(crate) fn json(header: &RunHeader, summary: &RunSummary, truths: &[Truth]) -> Value {
    let value = |array: &str, seen: &Seen| {
        json!({
            "array": array,
            "ops": seen.ios,
            "seconds": seen.seconds,
            "iops": seen.iops(),
            "mean_us": seen.mean_ms * 1e3,
            "p99_us": seen.p99_ms * 1e3,
        })
    };
    match pairs(header, summary, truths) {
        Some(pairs) => pairs.iter().map(|(_, truth, seen)| value(&truth.array, seen)).collect(),
        None => truths.iter().map(|t| value(&t.array, &t.all())).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    /// An I/O every 10 ms that takes 25 ms, from 1 s on, for a second.
    fn truth() -> Truth {
        let log = (0..100).map(|i| (1000 * MS + i * 10 * MS, 1000 * MS + i * 10 * MS + 25 * MS)).collect();
        Truth { array: "a".into(), log }
    }

    #[test]
    fn iometer_counts_what_was_issued_and_completed_while_recording() {
        // Issued at 0.5 to 0.87 s after the first; the two or three in flight at the end were never there.
        let seen = truth().from(500 * MS, Some(0.4));
        assert_eq!((seen.ios, seen.seconds), (38, 0.4));
        assert!((seen.iops() - 95.0).abs() < 1e-9 && (seen.p99_ms - 25.0).abs() < 1e-9);
    }

    #[test]
    fn assay_counts_what_was_issued_to_its_last_completion() {
        let seen = truth().from(500 * MS, None);
        assert_eq!((seen.ios, seen.seconds), (50, 0.515));
        assert_eq!(truth().all().ios, 100);
        assert_eq!(Truth { log: Vec::new(), ..truth() }.all(), Seen::default());
    }
}
