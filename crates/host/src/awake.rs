//! Prepares CPUs for measuring: pins threads, and keeps virtual CPUs from idling.

use std::collections::HashMap;
use std::hint::black_box;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::thread::{self, JoinHandle};

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use thiserror::Error;
use thread_priority::{
    NormalThreadSchedulePolicy, ThreadPriority, ThreadSchedulePolicy, set_thread_priority_and_policy,
    thread_native_id, thread_schedule_policy,
};

use crate::clock::thread_cpu_ns;

/// Holds one spinner of the lowest priority (SCHED_IDLE) on every allowed CPU while it lives.
///
/// An idle virtual CPU is returned to the hypervisor and wakes up late, by up to hundreds of milliseconds; a CPU that
/// always has something to run is not. Any other thread preempts a spinner at once. The CPU time of spinners is left
/// out of [`CpuSnapshot`](crate::CpuSnapshot) and [`Sampler`](crate::Sampler) figures.
#[derive(Debug)]
pub struct AwakeGuard {
    stop: Arc<AtomicBool>,
    spinners: Vec<JoinHandle<()>>,
}

/// Why the CPUs cannot be kept awake.
#[derive(Debug, Error)]
#[expect(missing_docs, reason = "the message of a variant says what its fields are")]
pub enum AwakeError {
    /// A thread could not be started.
    #[error("cannot start a thread to keep CPU {cpu} awake")]
    Spawn { cpu: usize, source: io::Error },
    /// The thread could not be bound to its CPU.
    #[error("cannot bind a thread to CPU {cpu}; check the cpuset of the control group of this process")]
    Pin { cpu: usize, source: io::Error },
    /// The kernel or its policy refused SCHED_IDLE. A spinner of normal priority would take CPU time from the
    /// measurement, so there is none.
    #[error(
        "cannot set SCHED_IDLE for the thread that keeps CPU {cpu} awake: {says}; run without --keep-awake, or allow \
         sched_setscheduler in the sandbox of this process"
    )]
    Policy { cpu: usize, says: String },
}

impl AwakeGuard {
    /// Starts the spinners; when this returns, each of them is running on its CPU.
    ///
    /// # Errors
    /// If a thread cannot be started, bound, or given the idle policy; all others have ended then.
    pub fn start() -> Result<Self, AwakeError> {
        let mut guard = Self { stop: Arc::default(), spinners: Vec::new() };
        let (ready_tx, ready) = mpsc::channel();
        for cpu in allowed_cpus() {
            let stop = Arc::clone(&guard.stop);
            let ready_tx = ready_tx.clone();
            let spinner = thread::Builder::new()
                .name(format!("awake-{cpu}"))
                .spawn(move || {
                    let settled = settle(cpu);
                    let spins = settled.is_ok();
                    // Nobody listens after another spinner failed; the stop flag ends this one then.
                    let _ = ready_tx.send(settled);
                    // The starting thread waits until every sender is dropped; this one must not live as long as the
                    // spinner.
                    drop(ready_tx);
                    if spins {
                        spin(cpu, &stop);
                    }
                })
                .map_err(|source| AwakeError::Spawn { cpu, source })?;
            guard.spinners.push(spinner);
        }
        drop(ready_tx);
        ready.iter().collect::<Result<(), _>>()?;
        Ok(guard)
    }
}

impl Drop for AwakeGuard {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        for spinner in self.spinners.drain(..) {
            // A spinner cannot panic; even if it did, it would have stopped spinning, which is all that is needed here.
            let _ = spinner.join();
        }
    }
}

/// Binds the calling thread to one CPU.
///
/// # Errors
/// If the CPU does not exist or is not allowed for this process.
pub fn pin_current_thread(cpu: usize) -> io::Result<()> {
    if cpu >= CpuSet::MAX_CPU {
        let says = format!("CPU number {cpu} is too large; the highest is {}", CpuSet::MAX_CPU - 1);
        return Err(io::Error::new(io::ErrorKind::InvalidInput, says));
    }
    let mut only = CpuSet::new();
    only.set(cpu);
    Ok(sched_setaffinity(None, &only)?)
}

/// Returns the CPUs that the main thread of this process may run on, ascending; at least one. For a pinned worker this
/// is the set of the process, not its own.
pub fn allowed_cpus() -> Vec<usize> {
    let Ok(set) = sched_getaffinity(Some(rustix::process::getpid())) else { return vec![0] };
    let cpus: Vec<usize> = (0..CpuSet::MAX_CPU).filter(|cpu| set.is_set(*cpu)).collect();
    if cpus.is_empty() { vec![0] } else { cpus }
}

/// Returns the CPU time of all spinners of this process so far, ns by CPU. It only grows: the time of an ended guard
/// stays included, so that the difference of two readings is correct across its end.
pub(crate) fn awake_ns_by_cpu() -> HashMap<usize, u64> {
    let used = USED_NS.lock().unwrap_or_else(PoisonError::into_inner);
    let mut by_cpu = HashMap::new();
    for (cpu, ns) in used.iter() {
        *by_cpu.entry(*cpu).or_default() += ns.load(Ordering::Relaxed);
    }
    by_cpu
}

/// One entry per CPU that was ever kept awake; the lock is taken when a spinner starts and on a reading, never while it
/// spins.
static USED_NS: Mutex<Vec<(usize, Arc<AtomicU64>)>> = Mutex::new(Vec::new());

fn counter_of(cpu: usize) -> Arc<AtomicU64> {
    let mut used = USED_NS.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, counter)) = used.iter().find(|(of, _)| *of == cpu) {
        return Arc::clone(counter);
    }
    let counter = Arc::new(AtomicU64::new(0));
    used.push((cpu, Arc::clone(&counter)));
    counter
}

fn settle(cpu: usize) -> Result<(), AwakeError> {
    pin_current_thread(cpu).map_err(|source| AwakeError::Pin { cpu, source })?;
    let idle = ThreadSchedulePolicy::Normal(NormalThreadSchedulePolicy::Idle);
    let asked = set_thread_priority_and_policy(thread_native_id(), ThreadPriority::Min, idle);
    // The call also sets the nice value, which fails without privileges if it decreases. Only the policy matters.
    match thread_schedule_policy() {
        Ok(policy) if policy == idle => Ok(()),
        _ => {
            let says = asked.err().map_or("the policy did not change".to_owned(), |error| error.to_string());
            Err(AwakeError::Policy { cpu, says })
        }
    }
}

/// Number of multiplications between two checks of the stop flag: about 0.2 ms, so that a guard ends quickly and its
/// clock reads cost nothing.
const SPIN_ROUNDS: u64 = 200_000;

fn spin(cpu: usize, stop: &AtomicBool) {
    let counter = counter_of(cpu);
    let mut counted_ns = 0;
    let mut value = 1u64;
    while !stop.load(Ordering::Relaxed) {
        // A chain of dependent multiplications leaves most of a shared core to its other hardware thread. No pause
        // instruction: hypervisors take a tight loop of them for a spinlock and deschedule the virtual CPU.
        for round in 0..SPIN_ROUNDS {
            value = black_box(value.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(round));
        }
        let now_ns = thread_cpu_ns();
        counter.fetch_add(now_ns.saturating_sub(counted_ns), Ordering::Relaxed);
        counted_ns = now_ns;
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;

    #[test]
    fn a_pinned_thread_runs_on_its_cpu() {
        for cpu in allowed_cpus() {
            let ran_on = thread::spawn(move || {
                pin_current_thread(cpu).unwrap();
                rustix::thread::sched_getcpu()
            });
            assert_eq!(ran_on.join().unwrap(), cpu);
        }
    }

    #[test]
    fn a_cpu_that_does_not_exist_is_an_error() {
        let pinned =
            thread::spawn(|| (pin_current_thread(1023).is_err(), pin_current_thread(usize::MAX).is_err()));
        let allowed_all = allowed_cpus().contains(&1023);
        assert_eq!(pinned.join().unwrap(), (!allowed_all, true));
    }

    #[test]
    fn spinners_run_while_the_guard_lives_and_end_with_it() {
        let total = || awake_ns_by_cpu().values().sum::<u64>();
        let guard = AwakeGuard::start().unwrap();
        assert_eq!(guard.spinners.len(), allowed_cpus().len());
        let before = total();
        // Other programs may need the CPUs; spinners get what is left, so wait for a little of it.
        let deadline = Instant::now() + Duration::from_secs(20);
        while total() - before < 5_000_000 {
            assert!(Instant::now() < deadline, "the spinners used no CPU time");
            thread::sleep(Duration::from_millis(5));
        }
        drop(guard);
        let after = total();
        thread::sleep(Duration::from_millis(50));
        assert_eq!(total(), after);
    }
}
