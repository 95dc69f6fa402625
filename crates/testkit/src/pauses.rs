//! How long the machine keeps a test waiting for a CPU: what a busy or virtual machine takes is not a fault of what is
//! tested.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{JoinHandle, sleep};
use std::time::{Duration, Instant};

/// Length of one sleep of the watch.
const SLEEP: Duration = Duration::from_millis(1);
/// A timer that is later than this waited for a CPU; a sleeping CPU wakes within a tenth of it.
const ON_TIME: Duration = Duration::from_millis(1);
/// Share of the time in pauses from which on a machine is busy.
const BUSY: f64 = 0.01;

/// Measures how late timers are until it is [ended](Self::end).
#[derive(Debug)]
pub struct Watch {
    is_over: Arc<AtomicBool>,
    thread: JoinHandle<Pauses>,
}

/// How late the timers were.
#[derive(Clone, Copy, Debug)]
pub struct Pauses {
    /// Mean over all timers.
    pub mean: Duration,
    /// What one timer of a hundred exceeded.
    pub p99: Duration,
    /// Time in pauses.
    pub paused: Duration,
    /// Part of the time that lay in pauses, 0 to 1.
    pub share: f64,
}

/// Runs something. Returns its result, and how long it took without the time in pauses.
pub fn timed<T>(run: impl FnOnce() -> T) -> (T, Duration) {
    let watch = Watch::begin();
    let began = Instant::now();
    let result = run();
    let took = began.elapsed();
    (result, took.saturating_sub(watch.end().paused))
}

impl Watch {
    /// Begins to measure.
    pub fn begin() -> Self {
        let is_over = Arc::new(AtomicBool::new(false));
        let seen = Arc::clone(&is_over);
        Self { is_over, thread: std::thread::spawn(move || watch(&seen)) }
    }

    /// Returns what was measured.
    ///
    /// # Panics
    /// If the thread that measures panicked.
    pub fn end(self) -> Pauses {
        self.is_over.store(true, Ordering::Relaxed);
        self.thread.join().unwrap()
    }
}

impl Pauses {
    /// Returns whether the machine took so much time that a failure may be its own.
    pub fn is_busy(&self) -> bool {
        self.share > BUSY
    }
}

fn watch(is_over: &AtomicBool) -> Pauses {
    let began = Instant::now();
    let mut late = Vec::new();
    while late.is_empty() || !is_over.load(Ordering::Relaxed) {
        let before = Instant::now();
        sleep(SLEEP);
        late.push(before.elapsed().saturating_sub(SLEEP));
    }
    let paused: Duration = late.iter().filter(|late| **late > ON_TIME).sum();
    let count = u32::try_from(late.len()).unwrap_or(u32::MAX);
    let mean = late.iter().sum::<Duration>() / count;
    late.sort_unstable();
    let p99 = late[late.len() * 99 / 100];
    Pauses { mean, p99, paused, share: paused.as_secs_f64() / began.elapsed().as_secs_f64() }
}
