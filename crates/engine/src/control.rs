//! State shared by the threads of a run: start, stop, number of failed I/Os. Atomics, and no lock.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::time::Instant;

use assay_record::StepId;
use assay_spec::{Ends, Job};

use crate::clock::Clock;
use crate::gate::Gate;

/// Requests the stop of a run: no new I/O is issued, I/Os in flight complete, and the results so far are kept.
#[derive(Debug, Clone, Default)]
pub struct StopSignal {
    is_set: Arc<AtomicBool>,
}

impl StopSignal {
    /// Requests the stop. May be called from any thread, any number of times.
    pub fn stop(&self) {
        self.is_set.store(true, Ordering::Relaxed);
    }

    /// Returns true if a stop was requested.
    pub fn is_set(&self) -> bool {
        self.is_set.load(Ordering::Relaxed)
    }
}

/// Ends the measured window of a step because its results are known well enough. It does not carry over to the next
/// step.
#[derive(Debug, Clone, Default)]
pub struct EnoughSignal {
    is_set: Arc<AtomicBool>,
}

impl EnoughSignal {
    /// Ends the window. May be called from any thread, any number of times.
    pub fn set(&self) {
        self.is_set.store(true, Ordering::Relaxed);
    }

    /// Clears the signal for the next step.
    pub(crate) fn clear(&self) {
        self.is_set.store(false, Ordering::Relaxed);
    }

    pub(crate) fn is_set(&self) -> bool {
        self.is_set.load(Ordering::Relaxed)
    }
}

/// Returns the moment at which a step begins; it is given the one at which the clock of events showed 0.
type Asked = dyn Fn(StepId, Instant) -> Option<Instant> + Send + Sync;

/// Says when the load of a step begins, where several hosts begin together.
#[derive(Clone, Default)]
pub struct CommonStart {
    ask: Option<Arc<Asked>>,
}

impl CommonStart {
    /// Returns a start that is asked once for each step, in the thread of the run, when every worker is ready; it is
    /// given the moment at which the clock of the run's events showed 0. It may take its time, as no load runs; it has
    /// to look for a stop by itself. `None` begins at once.
    pub fn new(ask: impl Fn(StepId, Instant) -> Option<Instant> + Send + Sync + 'static) -> Self {
        Self { ask: Some(Arc::new(ask)) }
    }

    /// Whether several hosts begin together.
    pub(crate) fn is_common(&self) -> bool {
        self.ask.is_some()
    }

    pub(crate) fn of(&self, step: StepId, epoch: Instant) -> Option<Instant> {
        self.ask.as_ref().and_then(|ask| ask(step, epoch))
    }
}

impl std::fmt::Debug for CommonStart {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(if self.ask.is_some() { "CommonStart(common)" } else { "CommonStart(at once)" })
    }
}

/// Age of a worker's oldest I/O, as last reported by the worker.
#[derive(Debug, Default)]
pub(crate) struct Pulse {
    /// Age of the oldest I/O in flight, ms.
    oldest_ms: AtomicU32,
    in_flight: AtomicU32,
}

impl Pulse {
    pub(crate) fn beat(&self, oldest_ns: u64, in_flight: u32) {
        let oldest_ms = u32::try_from(oldest_ns / 1_000_000).unwrap_or(u32::MAX);
        self.in_flight.store(in_flight, Ordering::Relaxed);
        self.oldest_ms.store(oldest_ms, Ordering::Relaxed);
    }

    /// Returns the age of the oldest I/O in flight, ms, and the number of I/Os in flight.
    pub(crate) fn read(&self) -> (u32, u32) {
        (self.oldest_ms.load(Ordering::Relaxed), self.in_flight.load(Ordering::Relaxed))
    }
}

/// Signals that end a run, and the window of a step.
pub(crate) type Signals = (StopSignal, EnoughSignal);

/// State shared by the workers of one step.
pub(crate) struct Control {
    pub(crate) clock: Clock,
    pub(crate) stop: StopSignal,
    enough: EnoughSignal,
    /// Opens when every worker is ready: the load begins.
    pub(crate) start: Gate,
    /// Opens when every worker's warm-up has ended: counting begins.
    pub(crate) measure: Gate,
    /// Set if a step cannot continue: too many errors, or a lost target.
    is_aborted: AtomicBool,
    /// For each job, whether it ends because a worker that takes it along has ended.
    has_ended: Vec<AtomicBool>,
    /// One for each worker, in starting order.
    pub(crate) pulses: Vec<Pulse>,
    errors: AtomicU64,
    error_limit: u64,
}

impl Control {
    pub(crate) fn new(clock: Clock, (stop, enough): Signals, jobs: &[Job], error_limit: u64) -> Self {
        let workers = jobs.iter().map(|job| job.workers).sum();
        Self {
            clock,
            stop,
            enough,
            // The coordinator arrives too, once every worker has opened its target.
            start: Gate::new(workers + 1),
            measure: Gate::new(workers),
            is_aborted: AtomicBool::new(false),
            has_ended: jobs.iter().map(|_| AtomicBool::new(false)).collect(),
            pulses: (0..workers).map(|_| Pulse::default()).collect(),
            errors: AtomicU64::new(0),
            error_limit,
        }
    }

    /// Returns true if workers must stop issuing.
    #[inline]
    pub(crate) fn must_stop(&self) -> bool {
        self.is_aborted.load(Ordering::Relaxed) || self.stop.is_set()
    }

    /// Returns true if the measured window of a job may end.
    #[inline]
    pub(crate) fn is_enough(&self, job: u32) -> bool {
        self.enough.is_set() || self.has_ended[job as usize].load(Ordering::Relaxed)
    }

    /// Returns true if the measured windows of all jobs may end.
    pub(crate) fn is_enough_of_all(&self) -> bool {
        self.enough.is_set() || self.has_ended.iter().all(|ended| ended.load(Ordering::Relaxed))
    }

    /// A worker of this job has reached its end, which is that of others too.
    pub(crate) fn end(&self, job: u32, whom: Ends) {
        let is_meant = |index: usize| whom == Ends::Test || index == job as usize;
        let meant = self.has_ended.iter().enumerate().filter(|(index, _)| is_meant(*index));
        meant.for_each(|(_, ended)| ended.store(true, Ordering::Relaxed));
    }

    pub(crate) fn abort(&self) {
        self.is_aborted.store(true, Ordering::Relaxed);
    }

    /// Counts a failed I/O; beyond the limit the step is aborted.
    pub(crate) fn count_error(&self) {
        if self.errors.fetch_add(1, Ordering::Relaxed) >= self.error_limit {
            self.abort();
        }
    }

    pub(crate) fn is_over_error_limit(&self) -> bool {
        self.errors.load(Ordering::Relaxed) > self.error_limit
    }
}

/// A worker's obligation to arrive at both gates: the others never wait for a worker that has ended.
///
/// A ticket dropped before it passed arrives by itself; dropped by a panic, it also aborts the step, so that the others
/// do not measure for a result that cannot exist.
pub(crate) struct Ticket<'c> {
    control: &'c Control,
    is_started: bool,
    is_measuring: bool,
}

impl<'c> Ticket<'c> {
    pub(crate) fn new(control: &'c Control) -> Self {
        Self { control, is_started: false, is_measuring: false }
    }

    /// Waits until all workers are ready. Returns the common time, which is still to come.
    pub(crate) fn start(&mut self) -> u64 {
        self.is_started = true;
        self.control.start.enter(self.control.clock)
    }

    /// Where nothing warms up: measuring begins at the common time of the start.
    pub(crate) fn measure_from(&mut self, started_ns: u64) {
        self.is_measuring = true;
        self.control.measure.arrive_for(|| started_ns);
    }

    /// Waits until all workers have warmed up. Returns the common time.
    pub(crate) fn measure(&mut self) -> u64 {
        self.is_measuring = true;
        self.control.measure.pass(self.control.clock)
    }
}

impl Drop for Ticket<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.control.abort();
        }
        let gates = [(self.is_started, &self.control.start), (self.is_measuring, &self.control.measure)];
        gates.into_iter().filter(|(passed, _)| !passed).for_each(|(_, gate)| gate.arrive(self.control.clock));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ended_workers_are_not_waited_for() {
        let control = Arc::new(Control::new(
            Clock::start(),
            Signals::default(),
            &[Job { workers: 3, ..Job::default() }],
            0,
        ));
        let [gone, given_up] = [Arc::clone(&control), Arc::clone(&control)];
        let gone = shuttle::thread::spawn(move || {
            let bug = std::panic::AssertUnwindSafe(|| {
                let mut ticket = Ticket::new(&gone);
                ticket.start();
                std::panic::resume_unwind(Box::new("a bug"));
            });
            assert!(std::panic::catch_unwind(bug).is_err());
        });
        let given_up = shuttle::thread::spawn(move || drop(Ticket::new(&given_up)));
        control.start.arrive(control.clock);
        let mut waiting = Ticket::new(&control);
        assert!(waiting.start() > 0 && waiting.measure() > 0);
        [gone, given_up].into_iter().for_each(|thread| thread.join().expect("it caught its panic"));
        assert!(control.must_stop(), "a step without one of its workers has no result");
    }

    #[test]
    fn no_worker_waits_for_one_that_has_ended() {
        shuttle::check_random(ended_workers_are_not_waited_for, 100);
    }

    #[test]
    fn a_worker_takes_along_the_others_of_its_job_or_all() {
        let check = || {
            let jobs = [Job::default(), Job::default()];
            let control = Control::new(Clock::start(), Signals::default(), &jobs, 0);
            control.end(1, Ends::Job);
            assert_eq!([0, 1].map(|job| control.is_enough(job)), [false, true]);
            assert!(!control.is_enough_of_all());
            control.end(1, Ends::Test);
            assert!(control.is_enough(0) && control.is_enough_of_all());
        };
        shuttle::check_random(check, 1);
    }

    #[test]
    fn one_error_more_than_the_limit_aborts() {
        shuttle::check_random(count_errors, 1);
    }

    fn count_errors() {
        let control = Control::new(Clock::start(), Signals::default(), &[Job::default()], 2);
        control.count_error();
        control.count_error();
        assert!(!control.must_stop());
        control.count_error();
        assert!(control.must_stop() && control.is_over_error_limit());
    }
}
