//! Times of the kernel as nanoseconds.

use std::fs::File;
use std::io::Read as _;

use rustix::time::{ClockId, Timespec, clock_gettime};

/// Returns the CPU time of this thread, ns.
pub(crate) fn thread_cpu_ns() -> u64 {
    to_ns(clock_gettime(ClockId::ThreadCPUTime))
}

/// Returns the time that this thread was ready to run and had no CPU, ns: the second number of schedstat; `None` where
/// the kernel does not count it.
pub fn thread_waited_ns() -> Option<u64> {
    // Three numbers of at most 20 digits. Workers ask between their phases, where nothing is allocated.
    let mut text = [0; 64];
    let length = File::open("/proc/thread-self/schedstat").ok()?.read(&mut text).ok()?;
    std::str::from_utf8(&text[..length]).ok()?.split(' ').nth(1)?.parse().ok()
}

/// Returns the CPU time of this process, ns.
pub(crate) fn process_cpu_ns() -> u64 {
    to_ns(clock_gettime(ClockId::ProcessCPUTime))
}

/// Returns the time since boot, suspended time included, ns.
pub fn boot_ns() -> u64 {
    to_ns(clock_gettime(ClockId::Boottime))
}

/// Returns the time of day, ns since 1970.
pub(crate) fn wall_ns() -> u64 {
    to_ns(clock_gettime(ClockId::Realtime))
}

fn to_ns(time: Timespec) -> u64 {
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    let rest = u64::try_from(time.tv_nsec).unwrap_or(0);
    seconds.saturating_mul(1_000_000_000).saturating_add(rest)
}
