//! Where the workers of a step wait for each other, and which they pass together. A lock is used only by threads that
//! sleep.

use std::sync::PoisonError;
use std::time::{Duration, Instant};

#[cfg(test)]
use shuttle::sync::{
    Condvar, Mutex,
    atomic::{AtomicU32, AtomicU64, Ordering},
};
#[cfg(not(test))]
use std::sync::{
    Condvar, Mutex,
    atomic::{AtomicU32, AtomicU64, Ordering},
};

use crate::clock::Clock;

/// Delay between the last arrival and the opening of a gate, ns: time for the others to notice, so that all start
/// together.
const GATE_LEAD_NS: u64 = 200_000;
/// Additional delay per worker, ns: a CPU wakes many threads one after another.
const GATE_LEAD_OF_EACH_NS: u64 = 20_000;
/// Time for which a worker polls a gate before it sleeps, ns: the others are usually close behind. Tests try the sleep.
const GATE_LOOK_NS: u64 = if cfg!(test) { 1 } else { 2_000_000 };
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
    pub(crate) fn new(workers: u32) -> Self {
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
        self.arrive_for(|| {
            let opens_ns = clock.now_ns() + self.lead_ns;
            opens_ns.max(self.not_before_ns.load(Ordering::Acquire))
        });
    }

    /// Arrives without waiting, and the last one opens the gate at that time, which all of them know.
    pub(crate) fn arrive_for(&self, opens_ns: impl FnOnce() -> u64) {
        if self.missing.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.opens_ns.store(opens_ns(), Ordering::Release);
            // A thread that saw the gate closed under the lock is asleep by now, and is woken.
            drop(self.asleep.lock().unwrap_or_else(PoisonError::into_inner));
            self.wake.notify_all();
        }
    }

    /// Arrives, waits for all others, and passes with them. Returns the common time.
    pub(crate) fn pass(&self, clock: Clock) -> u64 {
        let opens_ns = self.enter(clock);
        Self::wait(clock, opens_ns);
        opens_ns
    }

    /// Arrives, and waits for all others. Returns the common time, which is still to come.
    pub(crate) fn enter(&self, clock: Clock) -> u64 {
        self.arrive(clock);
        let arrived_ns = clock.now_ns();
        while self.opened_ns().is_none() && clock.now_ns() - arrived_ns < GATE_LOOK_NS {
            std::thread::yield_now();
        }
        self.opened_ns().unwrap_or_else(|| self.sleep_until_it_opens())
    }

    /// Waits until then.
    pub(crate) fn wait(clock: Clock, opens_ns: u64) {
        let left_ns = opens_ns.saturating_sub(clock.now_ns());
        if left_ns > SLEEP_SLACK_NS {
            std::thread::sleep(Duration::from_nanos(left_ns - SLEEP_SLACK_NS));
        }
        while clock.now_ns() < opens_ns {
            std::hint::spin_loop();
        }
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
    use std::sync::Arc;

    use super::*;

    /// Workers that arrive in any order, one of them without waiting. A wake-up that came too early for a thread about
    /// to sleep would be a deadlock, which shuttle reports.
    fn arrive_and_pass() {
        let (clock, gate) = (Clock::start(), Arc::new(Gate::new(4)));
        let worker = || {
            let gate = Arc::clone(&gate);
            shuttle::thread::spawn(move || gate.pass(clock))
        };
        let workers = [worker(), worker(), worker()];
        gate.arrive(clock);
        let passed = workers.map(|worker| worker.join().expect("it does not panic"));
        assert!(passed.iter().all(|at| *at == passed[0] && *at > 0), "{passed:?}");
        assert!(clock.now_ns() >= passed[0]);
    }

    #[test]
    fn in_every_order_of_threads_all_pass_a_gate_together_after_the_last_arrival() {
        shuttle::check_random(arrive_and_pass, 300);
        shuttle::check_pct(arrive_and_pass, 300, 3);
    }

    #[test]
    fn a_gate_with_a_common_start_opens_at_that_moment() {
        let whole = || {
            let (clock, gate) = (Clock::start(), Arc::new(Gate::new(2)));
            let worker = Arc::clone(&gate);
            let worker = shuttle::thread::spawn(move || worker.pass(clock));
            gate.not_before(clock, clock.epoch() + Duration::from_millis(30));
            gate.arrive(clock);
            let passed = worker.join().expect("it does not panic");
            assert!(passed >= 30_000_000 && clock.now_ns() >= passed, "{passed}");
        };
        shuttle::check_random(whole, 10);
    }
}
