//! A thread that samples the host during a run.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use assay_record::{DiskSample, Gap, HostSample};
use procfs::{Current, DiskStat, DiskStats};

use crate::cpu::{CpuSnapshot, cpu_snapshot};
use crate::gap::GapWatch;
use crate::machine::Machine;
use crate::path::{LinkWatch, TcpWatch};

/// Samples the host each period until it is stopped or dropped.
#[derive(Debug)]
pub struct Sampler {
    seen: Arc<Mutex<Seen>>,
    /// Requests a reading of the clocks; dropping it ends the thread.
    ask: Option<mpsc::Sender<Look>>,
    thread: Option<JoinHandle<()>>,
}

/// Samples and gaps that were not taken yet.
#[derive(Debug, Default)]
struct Seen {
    samples: Vec<HostSample>,
    gaps: Vec<Gap>,
}

/// A request to read the clocks; the answer confirms it.
#[derive(Debug)]
struct Look {
    done: mpsc::Sender<()>,
}

/// What is sampled in addition to the host itself.
#[derive(Debug, Clone, Default)]
pub struct Watched {
    /// Block devices by kernel name, as in /proc/diskstats; names not listed there are left out.
    pub devices: Vec<String>,
    /// Remote addresses of TCP connections of this process.
    pub remotes: Vec<SocketAddr>,
    /// Network interfaces by name; names that do not exist are left out.
    pub interfaces: Vec<String>,
}

/// The sampler's own sleep, whose lateness is measured. 50 per second cost about 0.1 % of a CPU.
const TICK: Duration = Duration::from_millis(20);

/// So many samplers of a process look that often. More of them are a rehearsal of many hosts in one process: a thousand
/// would wake 50,000 times a second, so the others look once a period.
const FINE_MAX: usize = 16;

/// Samplers of this process that run.
static RUNNING: AtomicUsize = AtomicUsize::new(0);

/// Shortest sample: the kernel counts CPU time in ticks of 10 ms, so a shorter last sample would be meaningless.
const SAMPLE_MIN: Duration = Duration::from_millis(50);

/// Number of samples kept if nobody takes them: an hour at one per second. The oldest are dropped first.
const KEPT_MAX: usize = 3600;

/// Number of gaps kept per step.
const GAPS_MAX: usize = 100;

/// Longest wait for a reading of the clocks.
const LOOK_MAX: Duration = Duration::from_secs(2);

/// Unit of /proc/diskstats, whatever the device's block size, bytes.
const SECTOR_BYTES: u64 = 512;

impl Sampler {
    /// Starts sampling. `epoch` is the start of the run; `period` is usually a second.
    ///
    /// # Panics
    /// If the system cannot start another thread.
    pub fn start(watched: Watched, epoch: Instant, period: Duration) -> Self {
        let seen = Arc::<Mutex<Seen>>::default();
        let (ask, asked) = mpsc::channel();
        let into = Arc::clone(&seen);
        let is_fine = RUNNING.fetch_add(1, Ordering::Relaxed) < FINE_MAX;
        let times = Times { epoch, period, tick: if is_fine { TICK.min(period) } else { period } };
        let thread = thread::Builder::new()
            .name("sampler".to_owned())
            .spawn(move || sample_until(&asked, watched, &times, &into))
            .expect("one more thread can be started on a host that is fit to run a benchmark");
        Self { seen, ask: Some(ask), thread: Some(thread) }
    }

    /// Returns the samples since the last call, oldest first. Does not wait.
    pub fn take(&self) -> Vec<HostSample> {
        std::mem::take(&mut locked(&self.seen).samples)
    }

    /// Returns the gaps since the last call, up to now. Waits a moment for the sampler's thread to read the clocks.
    pub fn gaps(&self) -> Vec<Gap> {
        let (done, is_done) = mpsc::channel();
        if self.ask.as_ref().is_some_and(|ask| ask.send(Look { done }).is_ok()) {
            // Without an answer the thread has ended; what it recorded is available.
            let _ = is_done.recv_timeout(LOOK_MAX);
        }
        std::mem::take(&mut locked(&self.seen).gaps)
    }

    /// Ends sampling and returns the samples not taken yet, with a last, shorter one up to now.
    pub fn stop(mut self) -> Vec<HostSample> {
        self.join();
        self.take()
    }

    fn join(&mut self) {
        drop(self.ask.take());
        if let Some(thread) = self.thread.take() {
            // A panic of the sampler was printed by its thread; earlier samples still count.
            let _ = thread.join();
        }
    }
}

impl Drop for Sampler {
    fn drop(&mut self) {
        self.join();
        RUNNING.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Since when, how long, and how often it looks.
struct Times {
    epoch: Instant,
    period: Duration,
    tick: Duration,
}

fn sample_until(asked: &mpsc::Receiver<Look>, watched: Watched, times: &Times, into: &Mutex<Seen>) {
    let Times { epoch, period, tick } = *times;
    let mut connections = TcpWatch::open(watched.remotes);
    let mut links = LinkWatch::open(&watched.interfaces);
    let mut from = CounterSnapshot::now();
    let mut lateness = Lateness::default();
    let mut clocks = GapWatch::start(epoch);
    loop {
        let due = Instant::now() + tick;
        // Waiting for a request is the sleep, so that a stop ends it at once.
        let woken = asked.recv_timeout(due.saturating_duration_since(Instant::now()));
        let now = Instant::now();
        let gaps = clocks.tick(tick);
        // A time in which nothing ran says nothing about timers.
        if matches!(woken, Err(RecvTimeoutError::Timeout)) && gaps.is_empty() {
            lateness.add(now.saturating_duration_since(due));
        }
        let ended = matches!(woken, Err(RecvTimeoutError::Disconnected));
        keep_gaps(into, gaps);
        let length = now - from.at;
        if length >= period || (ended && length >= SAMPLE_MIN) {
            let to = CounterSnapshot::now();
            let tcp = connections.as_mut().map(TcpWatch::sample).unwrap_or_default();
            let links = links.as_mut().map(LinkWatch::sample).unwrap_or_default();
            keep(into, HostSample { tcp, links, ..sample(&from, &to, &lateness, &watched.devices, epoch) });
            from = to;
            lateness = Lateness::default();
        }
        match woken {
            // The requester may no longer exist.
            Ok(look) => drop(look.done.send(())),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return,
        }
    }
}

fn locked(seen: &Mutex<Seen>) -> std::sync::MutexGuard<'_, Seen> {
    seen.lock().unwrap_or_else(PoisonError::into_inner)
}

fn keep(into: &Mutex<Seen>, sample: HostSample) {
    let samples = &mut locked(into).samples;
    if samples.len() >= KEPT_MAX {
        samples.remove(0);
    }
    samples.push(sample);
}

/// Keeps the first gaps of a step: they are enough to show that a host stutters.
fn keep_gaps(into: &Mutex<Seen>, gaps: Vec<Gap>) {
    if !gaps.is_empty() {
        let kept = &mut locked(into).gaps;
        kept.extend(gaps.into_iter().take(GAPS_MAX.saturating_sub(kept.len())));
    }
}

/// All counters at one moment.
struct CounterSnapshot {
    at: Instant,
    cpu: CpuSnapshot,
    disks: HashMap<String, DiskStat>,
    swap_bytes: Option<u64>,
}

impl CounterSnapshot {
    fn now() -> Self {
        let disks = DiskStats::current().map(|stats| stats.0).unwrap_or_default();
        let disks = disks.into_iter().map(|disk| (disk.name.clone(), disk)).collect();
        Self { at: Instant::now(), cpu: cpu_snapshot(), disks, swap_bytes: swapped(&Machine::this()) }
    }
}

/// Bytes that were moved between memory and swap since the host started; `None` without swap.
fn swapped(machine: &Machine) -> Option<u64> {
    // The first line is of titles.
    let has_swap = machine.text("/proc/swaps").ok()?.lines().nth(1).is_some();
    let text = machine.text("/proc/vmstat").ok().filter(|_| has_swap)?;
    let pages = |key: &str| text.lines().find_map(|line| line.strip_prefix(key)?.trim().parse::<u64>().ok());
    Some((pages("pswpin ")? + pages("pswpout ")?).saturating_mul(procfs::page_size()))
}

/// How late timers fired.
#[derive(Default)]
struct Lateness {
    sum: Duration,
    max: Duration,
    count: u32,
}

impl Lateness {
    fn add(&mut self, late: Duration) {
        self.sum += late;
        self.max = self.max.max(late);
        self.count += 1;
    }

    fn mean(&self) -> Duration {
        self.sum.checked_div(self.count).unwrap_or_default()
    }
}

fn sample(
    from: &CounterSnapshot,
    to: &CounterSnapshot,
    lateness: &Lateness,
    devices: &[String],
    epoch: Instant,
) -> HostSample {
    let cpu = CpuSnapshot::between(&from.cpu, &to.cpu);
    let disk = |name: &String| {
        let counted = disk_between(from.disks.get(name)?, to.disks.get(name)?);
        Some(DiskSample { sync_action: sync_action(&Path::new("/sys/class/block").join(name)), ..counted })
    };
    HostSample {
        host: None,
        at_ns: ns(to.at.saturating_duration_since(epoch)),
        length_ns: ns(to.at - from.at),
        cpu_busy: cpu.host_busy,
        cpu_busy_max: cpu.host_busy_max,
        cpu_steal: cpu.steal,
        tester_cpu_ns: cpu.tester_ns,
        timer_late_mean_ns: ns(lateness.mean()),
        timer_late_max_ns: ns(lateness.max),
        swap_bytes: to.swap_bytes.zip(from.swap_bytes).map(|(to, from)| to.saturating_sub(from)),
        disks: devices.iter().filter_map(disk).collect(),
        tcp: Vec::new(),
        links: Vec::new(),
    }
}

/// Old kernels wrap these counters at 32 bits; such a decrease counts as zero rather than as a huge value.
fn disk_between(from: &DiskStat, to: &DiskStat) -> DiskSample {
    let bytes = |from: u64, to: u64| to.saturating_sub(from).saturating_mul(SECTOR_BYTES);
    DiskSample {
        device: to.name.clone(),
        reads: to.reads.saturating_sub(from.reads),
        writes: to.writes.saturating_sub(from.writes),
        read_bytes: bytes(from.sectors_read, to.sectors_read),
        write_bytes: bytes(from.sectors_written, to.sectors_written),
        busy_ms: to.time_in_progress.saturating_sub(from.time_in_progress),
        queued_ms: Some(to.weighted_time_in_progress.saturating_sub(from.weighted_time_in_progress)),
        sync_action: None,
    }
}

/// Returns what the software RAID of a folder of sysfs does beside the load; `None` where it does nothing, or is none.
fn sync_action(folder: &Path) -> Option<String> {
    let action = std::fs::read_to_string(folder.join("md/sync_action")).ok()?;
    let action = action.trim();
    (!matches!(action, "" | "idle" | "frozen")).then(|| action.to_owned())
}

fn ns(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::captured::Captured;

    #[test]
    fn disk_counters_become_differences_in_bytes() {
        let from = DiskStat::from_line(" 254 0 vda 100 5 2048 40 50 6 4096 7 0 100 47").unwrap();
        let to = DiskStat::from_line(" 254 0 vda 110 5 2064 41 53 6 4104 8 1 160 90 0 0 0 0 2 3").unwrap();
        let expected = DiskSample {
            device: "vda".to_owned(),
            reads: 10,
            writes: 3,
            read_bytes: 8192,
            write_bytes: 4096,
            busy_ms: 60,
            queued_ms: Some(43),
            sync_action: None,
        };
        assert_eq!(disk_between(&from, &to), expected);
        assert_eq!(disk_between(&to, &from).read_bytes, 0);
    }

    #[test]
    fn a_raid_says_what_it_does_beside_the_load() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(sync_action(folder.path()), None, "no RAID");
        std::fs::create_dir(folder.path().join("md")).unwrap();
        for (stands, expected) in [("idle\n", None), ("recover\n", Some("recover")), ("frozen\n", None)] {
            std::fs::write(folder.path().join("md/sync_action"), stands).unwrap();
            assert_eq!(sync_action(folder.path()).as_deref(), expected);
        }
    }

    #[test]
    fn pages_that_were_swapped_are_counted_where_there_is_swap() {
        let of = |swaps: &str| {
            let machine = Captured::new();
            machine.file("proc/swaps", swaps.as_bytes());
            machine.file("proc/vmstat", b"nr_free_pages 9\npswpin 3\npswpout 4\npswpouts 9\n");
            swapped(&machine.machine())
        };
        let titles = "Filename Type Size Used Priority\n";
        assert_eq!(of(titles), None);
        assert_eq!(of(&format!("{titles}/dev/sda2 partition 1 0 -2\n")), Some(7 * procfs::page_size()));
    }

    #[test]
    fn samples_are_contiguous() {
        let epoch = Instant::now();
        let watched = Watched { devices: vec!["no-such-disk".to_owned()], ..Watched::default() };
        let sampler = Sampler::start(watched, epoch, Duration::from_millis(100));
        let mut samples = Vec::new();
        while samples.len() < 3 {
            assert!(epoch.elapsed() < Duration::from_secs(30), "three samples of 0.1 s took 30 s");
            thread::sleep(Duration::from_millis(10));
            samples.extend(sampler.take());
        }
        thread::sleep(Duration::from_millis(60));
        samples.extend(sampler.stop());
        for pair in samples.windows(2) {
            assert_eq!(pair[1].at_ns - pair[0].at_ns, pair[1].length_ns);
        }
        for sample in &samples {
            assert!(sample.length_ns >= 50_000_000 && sample.disks.is_empty(), "{sample:?}");
            assert!(sample.timer_late_mean_ns <= sample.timer_late_max_ns, "{sample:?}");
            assert!(
                (0.0..=1.0).contains(&sample.cpu_busy) && sample.cpu_busy <= sample.cpu_busy_max,
                "{sample:?}"
            );
        }
    }

    #[test]
    fn a_stop_does_not_wait_for_the_end_of_the_period() {
        let sampler = Sampler::start(Watched::default(), Instant::now(), Duration::from_secs(100_000));
        // Independent of the load: if it waited, this would not return.
        assert!(sampler.stop().len() <= 1);
    }

    #[test]
    fn lateness_keeps_mean_and_worst() {
        let mut lateness = Lateness::default();
        assert_eq!(lateness.mean(), Duration::ZERO);
        for late_ms in [1, 2, 9] {
            lateness.add(Duration::from_millis(late_ms));
        }
        assert_eq!((lateness.mean(), lateness.max), (Duration::from_millis(4), Duration::from_millis(9)));
    }
}
