//! Jobs whose counts keep a proportion: a worker that is ahead of its share waits until the others have caught up, as
//! `flow` of fio has it. Two relaxed counters; a worker that has ended no longer counts.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use assay_spec::Job;

/// Looks in a row that a worker which is ahead takes before it sleeps: others on a fast target catch up sooner.
const SPINS_MAX: u32 = 64;
/// How long it then sleeps between two looks. Nobody wakes it, and it must not take the CPU that others need.
const NAP: Duration = Duration::from_micros(50);

/// The I/Os of all workers of a step that keep a proportion, and the sum of their weights.
pub(crate) struct Flow {
    issued: AtomicU64,
    weight: AtomicU64,
}

impl Flow {
    /// All workers count from the beginning, whenever they begin.
    pub(crate) fn new(jobs: &[Job]) -> Self {
        let weight = jobs.iter().map(|job| u64::from(job.flow) * u64::from(job.workers)).sum();
        // The first I/O of each worker finds one already, as in fio, so that nobody divides by zero.
        Self { issued: AtomicU64::new(1), weight: AtomicU64::new(weight) }
    }
}

/// A worker's part in it, which ends when this is dropped.
pub(crate) struct FlowShare<'f> {
    flow: &'f Flow,
    weight: u64,
    issued: u64,
    /// Looks in a row that found it ahead.
    spins: u32,
}

impl<'f> FlowShare<'f> {
    /// The part of a worker of `job`; `None` if that keeps no proportion.
    pub(crate) fn new(flow: &'f Flow, job: &Job) -> Option<Self> {
        (job.flow > 0).then(|| Self { flow, weight: job.flow.into(), issued: 0, spins: 0 })
    }

    /// Whether this worker has issued more than its share.
    pub(crate) fn is_ahead(&self) -> bool {
        let Flow { issued, weight } = self.flow;
        let (all, weights) = (issued.load(Relaxed), weight.load(Relaxed));
        u128::from(self.issued) * u128::from(weights) > u128::from(self.weight) * u128::from(all)
    }

    /// How long to wait for the others before the next look; `None` if this worker need not.
    pub(crate) fn pause(&mut self) -> Option<Duration> {
        if !self.is_ahead() {
            self.spins = 0;
            return None;
        }
        self.spins = (self.spins + 1).min(SPINS_MAX + 1);
        Some(if self.spins > SPINS_MAX { NAP } else { Duration::ZERO })
    }

    pub(crate) fn count(&mut self) {
        self.issued += 1;
        self.flow.issued.fetch_add(1, Relaxed);
    }
}

impl Drop for FlowShare<'_> {
    fn drop(&mut self) {
        self.flow.issued.fetch_sub(self.issued, Relaxed);
        self.flow.weight.fetch_sub(self.weight, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job(flow: u32, workers: u32) -> Job {
        Job { flow, workers, ..Job::default() }
    }

    #[test]
    fn counts_keep_the_proportion_of_the_weights_and_a_worker_that_ended_leaves_it() {
        let jobs = [job(1, 1), job(3, 2), job(0, 1)];
        let flow = Flow::new(&jobs);
        assert!(FlowShare::new(&flow, &jobs[2]).is_none());
        let of = |index: usize| FlowShare::new(&flow, &jobs[index]).expect("it has a weight");
        let mut shares = vec![of(0), of(1), of(1)];
        let turn = |shares: &mut Vec<FlowShare<'_>>, rounds: usize| {
            for _ in 0..rounds {
                shares.iter_mut().filter(|share| !share.is_ahead()).for_each(FlowShare::count);
            }
            shares.iter().map(|share| share.issued).collect::<Vec<_>>()
        };
        let first = turn(&mut shares, 700);
        assert!(first[1].abs_diff(3 * first[0]) <= 3 && first[2].abs_diff(3 * first[0]) <= 3, "{first:?}");
        assert!(first[0] > 100, "{first:?}");
        shares.pop();
        let second = turn(&mut shares, 700);
        assert!(second[1].abs_diff(3 * second[0]) <= 3 && second[1] > first[1] + 300, "{first:?} {second:?}");
        // Alone nobody waits.
        shares.pop();
        assert_eq!(turn(&mut shares, 100)[0], second[0] + 100);
    }

    /// It looked again and again, and the analysis found that the CPUs were full.
    #[test]
    fn a_worker_that_is_ahead_sleeps_after_some_looks() {
        let jobs = [job(1, 1), job(1, 1)];
        let flow = Flow::new(&jobs);
        let [mut ahead, mut behind] = [0, 1].map(|at| FlowShare::new(&flow, &jobs[at]).unwrap());
        for _ in 0..2 {
            assert_eq!(ahead.pause(), None);
            while !ahead.is_ahead() {
                ahead.count();
            }
            assert!((0..SPINS_MAX).all(|_| ahead.pause() == Some(Duration::ZERO)));
            assert_eq!((ahead.pause(), ahead.pause()), (Some(NAP), Some(NAP)));
            assert_eq!(behind.pause(), None);
            (0..4).for_each(|_| behind.count());
        }
    }
}
