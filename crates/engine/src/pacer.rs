//! Computes when the next I/O is due: a pure function of the time, so that tests need no clock.

use assay_spec::{Arrivals, Pacing};

use crate::rng::Rng;

/// How far a throttled load may fall behind its schedule and still catch up, ns. Flushes and busy hosts repeatedly
/// delay I/Os by tens of milliseconds; without this the mean rate would be below the requested one, and below fio's.
/// The queue depth bounds the bursts, as it bounds those of a closed loop.
const CATCH_UP_NS: u64 = 1_000_000_000;

/// By how much the sum of gaps that are no whole number of nanoseconds may be too small, ns: an I/O that is due at the
/// end of the window is not due in it.
const ROUNDING_NS: f64 = 1_000.0;

/// Schedule of one worker's I/Os.
#[derive(Debug)]
pub(crate) enum Pacer {
    /// At once.
    Closed,
    /// Not before `next_ns`; a schedule that fell behind is shifted.
    Throttled { gap_ns: f64, next_ns: f64 },
    /// At `next_ns`, whatever happened to earlier ones.
    Open { gap_ns: f64, next_ns: f64, arrivals: Arrivals, rng: Rng },
}

/// Which of those that share a rate a worker is. Their I/Os are staggered: the first of each is later by its part of
/// the gap, as they would come in bursts otherwise, and be more than the rate by up to one each.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Turn {
    /// Among the workers of the job.
    pub(crate) worker: u32,
    pub(crate) workers: u32,
    /// Where between it and the next worker: the same worker of another host lies there, too. In \[0, 1).
    pub(crate) shift: f64,
}

impl Pacer {
    /// Returns the schedule of one worker: its share of the job's rate, starting at `start_ns`.
    pub(crate) fn new(pacing: Pacing, turn: Turn, start_ns: u64, seed: u64) -> Self {
        let workers = f64::from(turn.workers);
        let gap = |rate: assay_spec::units::PerSecond| 1e9 * workers / rate.0;
        let part = (f64::from(turn.worker) + turn.shift) / workers;
        let first = |gap_ns: f64| start_ns as f64 + gap_ns * part;
        match pacing {
            Pacing::Closed => Self::Closed,
            Pacing::Throttled { rate } => Self::Throttled { gap_ns: gap(rate), next_ns: first(gap(rate)) },
            Pacing::Open { rate, arrivals } => {
                let mut rng = Rng::new(seed);
                let (gap_ns, next_ns) = match arrivals {
                    Arrivals::Constant => (gap(rate), first(gap(rate))),
                    Arrivals::Poisson => (gap(rate), start_ns as f64 + exponential(&mut rng, gap(rate))),
                };
                Self::Open { gap_ns, next_ns, arrivals, rng }
            }
        }
    }

    /// Returns the time at which the next I/O is due, ns; `None` for at once.
    #[inline]
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a time below 2^63 ns")]
    pub(crate) fn due_ns(&self) -> Option<u64> {
        match self {
            Self::Closed => None,
            Self::Throttled { next_ns, .. } | Self::Open { next_ns, .. } => Some(next_ns.ceil() as u64),
        }
    }

    /// Consumes the due I/O and schedules the next one.
    #[inline]
    pub(crate) fn take(&mut self, now_ns: u64) {
        match self {
            Self::Closed => {}
            Self::Throttled { gap_ns, next_ns } => {
                *next_ns = (*next_ns + *gap_ns).max(now_ns.saturating_sub(CATCH_UP_NS) as f64);
            }
            Self::Open { gap_ns, next_ns, arrivals, rng } => {
                *next_ns += match arrivals {
                    Arrivals::Constant => *gap_ns,
                    Arrivals::Poisson => exponential(rng, *gap_ns),
                };
            }
        }
    }

    /// Returns the number of further I/Os due before `end_ns`; 0 except in an open loop. With random arrivals, the
    /// expected number.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a count of I/Os")]
    pub(crate) fn owed_before(&self, end_ns: u64) -> u64 {
        let end_ns = end_ns as f64 - ROUNDING_NS;
        match self {
            Self::Open { gap_ns, next_ns, arrivals, .. } if *next_ns < end_ns => {
                let gaps = (end_ns - next_ns) / gap_ns;
                match arrivals {
                    Arrivals::Constant => gaps.ceil() as u64,
                    Arrivals::Poisson => 1 + gaps.round() as u64,
                }
            }
            _ => 0,
        }
    }
}

/// Returns an exponential gap with this mean, by inversion: -mean ln(u), u in (0, 1].
fn exponential(rng: &mut Rng, mean: f64) -> f64 {
    -mean * rng.unit().ln()
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_spec::units::PerSecond;

    fn dues(pacing: Pacing, workers: u32, until_ns: u64) -> Vec<u64> {
        let mut all = Vec::new();
        for index in 0..workers {
            all.extend(dues_of(pacing, Turn { worker: index, workers, shift: 0.0 }, until_ns));
        }
        all.sort_unstable();
        all
    }

    fn dues_of(pacing: Pacing, turn: Turn, until_ns: u64) -> Vec<u64> {
        let mut pacer = Pacer::new(pacing, turn, 1_000, u64::from(turn.worker) + 1);
        let next = || {
            let due = pacer.due_ns().filter(|due| *due < until_ns)?;
            pacer.take(due);
            Some(due)
        };
        std::iter::from_fn(next).collect()
    }

    const ALONE: Turn = Turn { worker: 0, workers: 1, shift: 0.0 };

    #[test]
    fn a_constant_rate_is_even_over_all_workers() {
        let pacing = Pacing::Open { rate: PerSecond(1000.0), arrivals: Arrivals::Constant };
        let dues = dues(pacing, 4, 1_000_001_000);
        assert_eq!(dues.len(), 1000);
        assert!(dues.windows(2).all(|w| w[1].abs_diff(w[0] + 1_000_000) <= 1));
    }

    /// Eight hosts of four workers each: as even as one host, and no I/O more.
    #[test]
    fn hosts_that_share_a_rate_and_begin_together_take_turns() {
        let pacing = Pacing::Open { rate: PerSecond(125.0), arrivals: Arrivals::Constant };
        let turns = (0..8).flat_map(|host| (0..4).map(move |worker| (host, worker)));
        let turns = turns.map(|(host, worker)| Turn { worker, workers: 4, shift: f64::from(host) / 8.0 });
        let mut all: Vec<u64> = turns.flat_map(|turn| dues_of(pacing, turn, 1_000_001_000)).collect();
        all.sort_unstable();
        assert_eq!(all.len(), 1000);
        assert!(all.windows(2).all(|w| w[1].abs_diff(w[0] + 1_000_000) <= 1));
    }

    #[test]
    fn poisson_gaps_have_the_mean_and_spread_of_an_exponential() {
        let pacing = Pacing::Open { rate: PerSecond(1e5), arrivals: Arrivals::Poisson };
        let dues = dues(pacing, 3, 1_000_000_000);
        let gaps: Vec<f64> = dues.windows(2).map(|w| (w[1] - w[0]) as f64).collect();
        let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
        let deviation = (gaps.iter().map(|g| (g - mean).powi(2)).sum::<f64>() / gaps.len() as f64).sqrt();
        assert!(
            (mean / 1e4 - 1.0).abs() < 0.02 && (deviation / mean - 1.0).abs() < 0.02,
            "{mean} {deviation}"
        );
    }

    #[test]
    fn a_throttled_load_is_never_early_and_makes_up_for_a_second_at_most() {
        let pacing = Pacing::Throttled { rate: PerSecond(1000.0) };
        let mut pacer = Pacer::new(pacing, ALONE, 0, 1);
        pacer.take(0);
        assert_eq!(pacer.due_ns(), Some(1_000_000));
        // A stall of three seconds: the I/Os of one second are due at once afterwards.
        pacer.take(3_001_000_000);
        let mut at_once = 0;
        while pacer.due_ns().is_some_and(|due| due <= 3_001_000_000) {
            pacer.take(3_001_000_000);
            at_once += 1;
        }
        assert!((999..=1001).contains(&at_once), "{at_once}");
    }

    #[test]
    fn an_open_loop_counts_due_ios_that_were_not_issued() {
        let pacing = Pacing::Open { rate: PerSecond(1000.0), arrivals: Arrivals::Constant };
        assert_eq!(Pacer::new(pacing, ALONE, 0, 1).owed_before(1_000_000_000), 1000);
        assert_eq!(Pacer::new(Pacing::Closed, ALONE, 0, 1).owed_before(1_000_000_000), 0);
    }

    /// A third of 7 I/Os per second had 15 I/Os due in 6 s: the sum of its gaps was a little less than that.
    #[test]
    fn an_io_that_is_due_at_the_end_of_the_window_is_not_due_in_it() {
        for (rate, seconds, due) in
            [(7.0 / 3.0, 6, 14), (300.0, 1, 300), (1000.0 / 3.0, 3, 1000), (0.7, 10, 7)]
        {
            let pacing = Pacing::Open { rate: PerSecond(rate), arrivals: Arrivals::Constant };
            for from_ns in [0, 1_234_567, 987_654_321_123, 86_400_000_000_000] {
                let mut pacer = Pacer::new(pacing, ALONE, from_ns, 1);
                (0..due).for_each(|_| pacer.take(0));
                let end_ns = from_ns + seconds * 1_000_000_000;
                assert_eq!(pacer.owed_before(end_ns), 0, "{rate} {from_ns}");
                assert_eq!(
                    Pacer::new(pacing, ALONE, from_ns, 1).owed_before(end_ns),
                    due,
                    "{rate} {from_ns}"
                );
            }
        }
    }
}
