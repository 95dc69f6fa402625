//! Detects the times in which this process did not run: stopped, suspended, paused with its virtual machine, or without
//! a CPU. From inside they all look alike, like a sleep that lasted too long; the clocks and the scheduler's statistics
//! distinguish them.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::{Duration, Instant};

use assay_record::{Gap, GapKind, GapPlace};
use signal_hook::consts::SIGCONT;

use crate::clock::{boot_ns, thread_waited_ns, wall_ns};

/// Lateness of a tick without SIGCONT from which it is a gap, ns. Idle virtual CPUs wake up late, by up to hundreds of
/// milliseconds.
const LATE_MIN_NS: u64 = 250_000_000;
/// Lateness from which a tick that waited for a CPU is a gap, ns; shorter waits appear in timers and CPU use.
const STARVED_MIN_NS: u64 = 500_000_000;
/// Lateness from which a tick is a gap if the process received SIGCONT, ns, as that is unambiguous.
const STOPPED_MIN_NS: u64 = 30_000_000;
/// Smallest significant difference between clocks, ns; they are read one after another.
const SUSPENDED_MIN_NS: u64 = 100_000_000;
/// Smallest change of the wall clock between two ticks that counts as a step, ns; smaller ones may be slewing.
const STEP_MIN_NS: u64 = 500_000_000;
/// Time within which the handler of SIGCONT may run on another thread.
const CONTINUED_WITHIN: Duration = Duration::from_millis(20);

/// Compares the clocks from one call to the next.
#[derive(Debug)]
pub(crate) struct GapWatch {
    epoch: Instant,
    last: Clocks,
    continued: Arc<AtomicBool>,
}

/// All clocks at one moment.
#[derive(Debug, Clone, Copy)]
struct Clocks {
    monotonic: Instant,
    /// Time since boot including suspended time, ns.
    boot_ns: u64,
    /// Time of day, ns since 1970.
    wall_ns: u64,
    /// Time that this thread was runnable without a CPU, ns; `None` if the kernel does not count it.
    waited_ns: Option<u64>,
}

/// Differences between two moments, ns.
#[derive(Debug, Clone, Copy)]
struct Passed {
    /// Lateness of the tick.
    late_ns: u64,
    /// Time suspended.
    suspended_ns: u64,
    /// Step of the wall clock beyond the elapsed time.
    stepped_ns: i64,
    /// Time runnable without a CPU.
    waited_ns: Option<u64>,
}

impl GapWatch {
    /// Starts the watch now. `epoch` is the start of the run.
    pub(crate) fn start(epoch: Instant) -> Self {
        let continued = continued();
        continued.store(false, Ordering::Relaxed);
        Self { epoch, last: Clocks::now(), continued }
    }

    /// Returns the gaps since the last call, which was due at most `planned` ago.
    pub(crate) fn tick(&mut self, planned: Duration) -> Vec<Gap> {
        let (from, to) = (self.last, Clocks::now());
        self.last = to;
        let passed = from.until(&to, planned);
        if passed.late_ns < STOPPED_MIN_NS {
            // A stop that is too short to matter must not change the kind of a later gap.
            self.continued.store(false, Ordering::Relaxed);
        }
        let kinds = passed.kinds(|| self.was_continued());
        let at = |moment: Instant| ns(moment.saturating_duration_since(self.epoch));
        let gap = |(kind, length_ns)| Gap {
            kind,
            length_ns,
            start_ns: at(from.monotonic),
            end_ns: at(to.monotonic),
            place: GapPlace::Before,
            since_window_ns: None,
            host: None,
        };
        kinds.into_iter().map(gap).collect()
    }

    /// Returns true if SIGCONT arrived since the last call. Another thread may handle the signal a moment later.
    fn was_continued(&self) -> bool {
        let until = Instant::now() + CONTINUED_WITHIN;
        loop {
            if self.continued.swap(false, Ordering::Relaxed) {
                return true;
            }
            if Instant::now() >= until {
                return false;
            }
            thread::sleep(Duration::from_millis(1));
        }
    }
}

impl Clocks {
    fn now() -> Self {
        Self {
            monotonic: Instant::now(),
            boot_ns: boot_ns(),
            wall_ns: wall_ns(),
            waited_ns: thread_waited_ns(),
        }
    }

    fn until(&self, to: &Self, planned: Duration) -> Passed {
        let passed_ns = ns(to.monotonic - self.monotonic);
        let boot_ns = to.boot_ns.saturating_sub(self.boot_ns);
        let wall_ns = to.wall_ns.cast_signed().saturating_sub(self.wall_ns.cast_signed());
        Passed {
            late_ns: passed_ns.saturating_sub(ns(planned)),
            suspended_ns: boot_ns.saturating_sub(passed_ns),
            stepped_ns: wall_ns.saturating_sub(boot_ns.cast_signed()),
            waited_ns: to.waited_ns.zip(self.waited_ns).map(|(to, from)| to.saturating_sub(from)),
        }
    }
}

impl Passed {
    /// Returns the kinds of gaps with their length in ns. `was_continued` is called only if the result matters.
    fn kinds(self, was_continued: impl FnOnce() -> bool) -> Vec<(GapKind, u64)> {
        let mut kinds = Vec::new();
        if self.suspended_ns >= SUSPENDED_MIN_NS {
            kinds.push((GapKind::Suspended, self.suspended_ns + self.late_ns));
        } else if self.late_ns >= STOPPED_MIN_NS {
            let is_starved = self.waited_ns.is_some_and(|waited| waited >= self.late_ns / 2);
            let kind = match () {
                () if is_starved => (self.late_ns >= STARVED_MIN_NS).then_some(GapKind::Starved),
                () if was_continued() => Some(GapKind::Stopped),
                () => (self.late_ns >= LATE_MIN_NS).then_some(GapKind::Paused),
            };
            kinds.extend(kind.map(|kind| (kind, self.late_ns)));
        }
        if self.stepped_ns.unsigned_abs() >= STEP_MIN_NS {
            let kind = if self.stepped_ns > 0 { GapKind::ClockForward } else { GapKind::ClockBack };
            kinds.push((kind, self.stepped_ns.unsigned_abs()));
        }
        kinds
    }
}

/// Returns a flag that SIGCONT sets. The handler stays for the life of the process; it does not affect stopping or
/// continuing.
fn continued() -> Arc<AtomicBool> {
    static CONTINUED: OnceLock<Arc<AtomicBool>> = OnceLock::new();
    let flag = CONTINUED.get_or_init(|| {
        let flag = Arc::<AtomicBool>::default();
        // Without the handler a stop is reported as a pause.
        let _ = signal_hook::flag::register(SIGCONT, Arc::clone(&flag));
        flag
    });
    Arc::clone(flag)
}

fn ns(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    #[test]
    fn a_gap_is_reported_with_its_kind() {
        use GapKind::{ClockBack, ClockForward, Paused, Starved, Stopped, Suspended};
        // Lateness, suspended time, wall clock step, wait for a CPU (all ms), whether SIGCONT arrived; the expected
        // gaps, ms.
        type Case = ((u64, u64, i64, u64, bool), &'static [(GapKind, u64)]);
        let cases: [Case; 14] = [
            ((0, 0, 0, 0, false), &[]),
            ((20, 0, 0, 0, true), &[]),
            ((40, 0, 0, 0, true), &[(Stopped, 40)]),
            ((40, 0, 0, 0, false), &[]),
            ((2000, 0, 0, 0, true), &[(Stopped, 2000)]),
            ((2000, 0, 0, 0, false), &[(Paused, 2000)]),
            ((240, 0, 0, 0, false), &[]),
            ((400, 0, 0, 390, false), &[]),
            ((2000, 0, 0, 1900, false), &[(Starved, 2000)]),
            ((1, 5000, 0, 0, false), &[(Suspended, 5001)]),
            ((0, 50, 0, 0, false), &[]),
            ((0, 0, 3_600_000, 0, false), &[(ClockForward, 3_600_000)]),
            ((0, 0, -60_000, 0, false), &[(ClockBack, 60_000)]),
            ((2000, 0, -60_000, 0, true), &[(Stopped, 2000), (ClockBack, 60_000)]),
        ];
        for ((late, suspended, stepped, waited, continued), expected) in cases {
            let passed = Passed {
                late_ns: late * MS,
                suspended_ns: suspended * MS,
                stepped_ns: stepped * 1_000_000,
                waited_ns: Some(waited * MS),
            };
            let expected: Vec<_> = expected.iter().map(|(kind, ms)| (*kind, ms * MS)).collect();
            assert_eq!(passed.kinds(|| continued), expected, "{passed:?}");
        }
    }

    #[test]
    fn clocks_that_agree_show_no_gap() {
        let from = Clocks::now();
        let to = Clocks { monotonic: from.monotonic + Duration::from_secs(3), ..from };
        let to = Clocks { boot_ns: from.boot_ns + 3_000 * MS, wall_ns: from.wall_ns + 3_000 * MS, ..to };
        let passed = from.until(&to, Duration::from_secs(3));
        assert_eq!((passed.late_ns, passed.suspended_ns, passed.stepped_ns), (0, 0, 0));
        // Suspended for 7 s: the wall clock advanced and was not set.
        let to = Clocks { boot_ns: to.boot_ns + 7_000 * MS, wall_ns: to.wall_ns + 7_000 * MS, ..to };
        let passed = from.until(&to, Duration::from_secs(3));
        assert_eq!((passed.late_ns, passed.suspended_ns, passed.stepped_ns), (0, 7_000 * MS, 0));
    }
}
