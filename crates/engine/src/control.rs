//! State shared by the threads of a run: start, stop, number of failed I/Os. Atomics; a lock is used only by threads
//! that sleep at a gate.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use assay_record::StepId;

use crate::clock::Clock;

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
    #[must_use]
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

/// Says when the load of a step begins, where several hosts begin together.
#[derive(Clone, Default)]
pub struct CommonStart {
    ask: Option<Arc<dyn Fn(StepId) -> Option<Instant> + Send + Sync>>,
}

impl CommonStart {
    /// Returns a start that is asked once for each step, in the thread of the run, when every worker is ready. It may
    /// take its time, as no load runs; it has to look for a stop by itself. `None` begins at once.
    #[must_use]
    pub fn new(ask: impl Fn(StepId) -> Option<Instant> + Send + Sync + 'static) -> Self {
        Self { ask: Some(Arc::new(ask)) }
    }

    pub(crate) fn of(&self, step: StepId) -> Option<Instant> {
        self.ask.as_ref().and_then(|ask| ask(step))
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
    /// One for each worker, in starting order.
    pub(crate) pulses: Vec<Pulse>,
    errors: AtomicU64,
    error_limit: u64,
}

impl Control {
    pub(crate) fn new(clock: Clock, (stop, enough): Signals, workers: u32, error_limit: u64) -> Self {
        Self {
            clock,
            stop,
            enough,
            // The coordinator arrives too, once every worker has opened its target.
            start: Gate::new(workers + 1),
            measure: Gate::new(workers),
            is_aborted: AtomicBool::new(false),
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

    /// Returns true if the measured window may end.
    #[inline]
    pub(crate) fn is_enough(&self) -> bool {
        self.enough.is_set()
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

    /// Waits until all workers are ready. Returns the common time.
    pub(crate) fn start(&mut self) -> u64 {
        self.is_started = true;
        self.control.start.pass(self.control.clock)
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

/// Delay between the last arrival and the opening of a gate, ns: time for the others to notice, so that all start
/// together.
const GATE_LEAD_NS: u64 = 200_000;
/// Additional delay per worker, ns: a CPU wakes many threads one after another.
const GATE_LEAD_OF_EACH_NS: u64 = 20_000;
/// Time for which a worker polls a gate before it sleeps, ns: the others are usually close behind.
const GATE_LOOK_NS: u64 = 2_000_000;
/// Largest lateness of a sleep, ns: the last part of a wait is polled.
const SLEEP_SLACK_NS: u64 = 100_000;

/// A gate that all workers pass at the same time, or not at all.
pub(crate) struct Gate {
    missing: AtomicU32,
    lead_ns: u64,
    /// It opens no sooner than this.
    not_before_ns: AtomicU64,
    /// 0 while closed.
    opens_ns: AtomicU64,
    /// Held by threads that sleep until the opening time is set; a thousand polling threads would starve the last one.
    asleep: Mutex<()>,
    wake: Condvar,
}

impl Gate {
    fn new(workers: u32) -> Self {
        Self {
            missing: AtomicU32::new(workers),
            lead_ns: GATE_LEAD_NS + u64::from(workers) * GATE_LEAD_OF_EACH_NS,
            not_before_ns: AtomicU64::new(0),
            opens_ns: AtomicU64::new(0),
            asleep: Mutex::new(()),
            wake: Condvar::new(),
        }
    }

    /// Keeps the gate closed until then; called before the caller arrives.
    pub(crate) fn not_before(&self, clock: Clock, moment: Instant) {
        let since_epoch = moment.saturating_duration_since(clock.epoch());
        let moment_ns = u64::try_from(since_epoch.as_nanos()).unwrap_or(u64::MAX);
        self.not_before_ns.store(moment_ns, Ordering::Release);
    }

    /// Arrives without waiting, for a worker that has nothing more to do.
    pub(crate) fn arrive(&self, clock: Clock) {
        if self.missing.fetch_sub(1, Ordering::AcqRel) == 1 {
            let opens_ns = clock.now_ns() + self.lead_ns;
            let opens_ns = opens_ns.max(self.not_before_ns.load(Ordering::Acquire));
            self.opens_ns.store(opens_ns, Ordering::Release);
            // A thread that saw the gate closed under the lock is asleep by now, and is woken.
            drop(self.asleep.lock().unwrap_or_else(PoisonError::into_inner));
            self.wake.notify_all();
        }
    }

    /// Arrives, waits for all others, and passes with them. Returns the common time.
    pub(crate) fn pass(&self, clock: Clock) -> u64 {
        self.arrive(clock);
        let arrived_ns = clock.now_ns();
        while self.opened_ns().is_none() && clock.now_ns() - arrived_ns < GATE_LOOK_NS {
            std::thread::yield_now();
        }
        let opens_ns = self.opened_ns().unwrap_or_else(|| self.sleep_until_it_opens());
        let left_ns = opens_ns.saturating_sub(clock.now_ns());
        if left_ns > SLEEP_SLACK_NS {
            std::thread::sleep(Duration::from_nanos(left_ns - SLEEP_SLACK_NS));
        }
        while clock.now_ns() < opens_ns {
            std::hint::spin_loop();
        }
        opens_ns
    }

    fn sleep_until_it_opens(&self) -> u64 {
        let mut asleep = self.asleep.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if let Some(opens_ns) = self.opened_ns() {
                return opens_ns;
            }
            asleep = self.wake.wait(asleep).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Returns the time at which the gate opened; `None` while it is closed.
    pub(crate) fn opened_ns(&self) -> Option<u64> {
        Some(self.opens_ns.load(Ordering::Acquire)).filter(|ns| *ns != 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gate_with_a_common_start_opens_at_that_moment() {
        let (clock, gate) = (Clock::start(), Gate::new(2));
        let moment = clock.epoch() + Duration::from_millis(30);
        let passed = std::thread::scope(|scope| {
            let worker = scope.spawn(|| gate.pass(clock));
            gate.not_before(clock, moment);
            gate.arrive(clock);
            worker.join().unwrap()
        });
        assert!(passed >= 30_000_000, "{passed}");
        assert!(clock.now_ns() >= passed);
    }

    #[test]
    fn all_pass_a_gate_together_after_the_last_arrival() {
        let (clock, gate) = (Clock::start(), Gate::new(4));
        let passed: Vec<u64> = std::thread::scope(|scope| {
            let late = scope.spawn(|| {
                std::thread::sleep(Duration::from_millis(20));
                gate.pass(clock)
            });
            let others: Vec<_> = (0..2).map(|_| scope.spawn(|| gate.pass(clock))).collect();
            gate.arrive(clock);
            let mut all = vec![late.join().unwrap()];
            all.extend(others.into_iter().map(|o| o.join().unwrap()));
            all
        });
        assert!(passed.iter().all(|t| *t == passed[0]) && passed[0] >= 20_000_000);
    }

    #[test]
    fn no_worker_waits_for_one_that_has_ended() {
        let control = Control::new(Clock::start(), Signals::default(), 3, 0);
        control.start.arrive(control.clock);
        std::thread::scope(|scope| {
            let gone = scope.spawn(|| {
                let mut ticket = Ticket::new(&control);
                ticket.start();
                panic!("a bug");
            });
            let given_up = scope.spawn(|| drop(Ticket::new(&control)));
            let mut waiting = Ticket::new(&control);
            assert!(waiting.start() > 0 && waiting.measure() > 0);
            assert!(gone.join().is_err() && given_up.join().is_ok());
        });
        assert!(control.must_stop(), "a step without one of its workers has no result");
    }

    #[test]
    fn one_error_more_than_the_limit_aborts() {
        let control = Control::new(Clock::start(), Signals::default(), 1, 2);
        control.count_error();
        control.count_error();
        assert!(!control.must_stop());
        control.count_error();
        assert!(control.must_stop() && control.is_over_error_limit());
    }
}
