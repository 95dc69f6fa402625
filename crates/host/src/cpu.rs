//! CPU time of the host and of this process, between two readings.
//!
//! The time of [`AwakeGuard`](crate::AwakeGuard) spinners is work of neither the host nor the tester, so it is
//! subtracted from both. The kernel counts the host's time in ticks (commonly 10 ms) but the spinners' time exactly, so
//! shares of windows below a second are coarse.

use std::collections::{BTreeMap, HashMap};

use assay_record::StepCpu;

use crate::awake::{allowed_cpus, awake_ns_by_cpu};
use crate::cgroup::stopped_us;
use crate::clock::process_cpu_ns;
use crate::machine::Machine;

/// CPU time up to one moment. The difference of two snapshots, at the ends of a window, is the cost of the window.
#[derive(Debug, Clone, Default)]
pub struct CpuSnapshot {
    /// By CPU number, because numbers have gaps where CPUs are offline; empty if /proc/stat cannot be read.
    cpus: BTreeMap<usize, Ticks>,
    ticks_per_s: u64,
    /// User and system time of all threads of this process, ns.
    process_ns: u64,
    /// User and system time of this process, ticks; `None` if /proc does not show them.
    process_ticks: Option<(u64, u64)>,
    /// By CPU number, ns.
    awake_ns: HashMap<usize, u64>,
    /// CPUs that this process may use.
    allowed: Vec<usize>,
    /// How long control groups of this process were stopped, each, µs.
    stopped_us: Vec<u64>,
}

/// Time of one CPU since boot, ticks.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct Ticks {
    busy: u64,
    idle: u64,
    steal: u64,
}

/// Reads the CPU time so far: one file and one clock, some tens of microseconds.
pub fn cpu_snapshot() -> CpuSnapshot {
    CpuSnapshot {
        cpus: parse_stat(&Machine::this().text("/proc/stat").unwrap_or_default()),
        ticks_per_s: procfs::ticks_per_second(),
        process_ns: process_cpu_ns(),
        process_ticks: parse_self(&Machine::this().text("/proc/self/stat").unwrap_or_default()),
        awake_ns: awake_ns_by_cpu(),
        allowed: allowed_cpus(),
        stopped_us: stopped_us(),
    }
}

impl CpuSnapshot {
    /// Returns the number of CPUs that the shares are of: those that are online, whichever this process may use.
    pub fn cpus(&self) -> usize {
        self.cpus.len()
    }

    /// Returns the CPU use from `start` to `end`. Shares are 0 if the kernel does not show them, or if CPUs came or
    /// went meanwhile.
    pub fn between(start: &Self, end: &Self) -> StepCpu {
        let awake_total: u64 = end.awake_ns.keys().map(|cpu| awake_between(start, end, *cpu)).sum();
        let tester_ns = end.process_ns.saturating_sub(start.process_ns).saturating_sub(awake_total);
        let tester_system = system_share(start, end, awake_total);
        let stopped_ns = stopped_between(start, end);
        let mut used = StepCpu { tester_ns, tester_system, stopped_ns, ..StepCpu::default() };
        if !start.cpus.keys().eq(end.cpus.keys()) {
            return used;
        }
        let (mut busy_sum, mut steal_sum, mut all_sum, mut allowed_sum) = (0.0, 0.0, 0.0, 0.0);
        for (from, (cpu, to)) in start.cpus.values().zip(&end.cpus) {
            let ticks = from.until(*to);
            let awake_ticks = ns_to_ticks(awake_between(start, end, *cpu), end.ticks_per_s);
            let busy = (count(ticks.busy) - awake_ticks).max(0.0);
            let all = count(ticks.busy + ticks.idle + ticks.steal);
            used.host_busy_max = used.host_busy_max.max(share(busy, all));
            busy_sum += busy;
            allowed_sum += if end.allowed.contains(cpu) { busy } else { 0.0 };
            steal_sum += count(ticks.steal);
            all_sum += all;
        }
        used.host_busy = share(busy_sum, all_sum);
        used.others_ns = ticks_to_ns(allowed_sum, end.ticks_per_s).map(|ns| ns.saturating_sub(tester_ns));
        used.steal = share(steal_sum, all_sum);
        used
    }
}

impl Ticks {
    /// Returns the ticks up to `later`. Idle and I/O wait time may decrease slightly in the kernel; a decrease counts
    /// as zero.
    fn until(self, later: Self) -> Self {
        Self {
            busy: later.busy.saturating_sub(self.busy),
            idle: later.idle.saturating_sub(self.idle),
            steal: later.steal.saturating_sub(self.steal),
        }
    }
}

/// Returns the share of system time in the tester's CPU time; the time of spinners is user time.
fn system_share(start: &CpuSnapshot, end: &CpuSnapshot, awake_ns: u64) -> Option<f64> {
    let ((user_from, system_from), (user_to, system_to)) = (start.process_ticks?, end.process_ticks?);
    let system = count(system_to.saturating_sub(system_from));
    let user = (count(user_to.saturating_sub(user_from)) - ns_to_ticks(awake_ns, end.ticks_per_s)).max(0.0);
    (user + system > 0.0).then(|| share(system, user + system))
}

/// Returns user and system time from `/proc/self/stat`: fields 14 and 15, counted from the end of the name, which may
/// contain blanks.
fn parse_self(text: &str) -> Option<(u64, u64)> {
    let mut fields = text.rsplit_once(')')?.1.split_whitespace().skip(11);
    Some((fields.next()?.parse().ok()?, fields.next()?.parse().ok()?))
}

/// Returns the CPU time that threads of the lowest scheduling class (SCHED_IDLE) of other processes used so far, ns.
/// They take no time from any other: whoever holds idle virtual CPUs awake, or computes in what nobody needs, disturbs
/// no load. Each thread has a class of its own.
pub fn lowest_class_ns() -> u64 {
    lowest_class_ns_of(&Machine::this())
}

fn lowest_class_ns_of(machine: &Machine) -> u64 {
    let processes = std::fs::read_dir(machine.path("/proc")).into_iter().flatten().flatten();
    let own = std::process::id().to_string();
    let ids = processes.filter_map(|entry| entry.file_name().into_string().ok());
    let others = ids.filter(|id| *id != own && id.bytes().all(|byte| byte.is_ascii_digit()));
    let threads_of = |id: String| {
        let threads =
            std::fs::read_dir(machine.path(format!("/proc/{id}/task"))).into_iter().flatten().flatten();
        threads.filter_map(move |thread| {
            Some(format!("/proc/{id}/task/{}/stat", thread.file_name().into_string().ok()?))
        })
    };
    let ticks: u64 = others
        .flat_map(threads_of)
        .filter_map(|path| lowest_class_ticks(&machine.text(path).ok()?))
        .fold(0, u64::saturating_add);
    let per_s = procfs::ticks_per_second().max(1);
    ticks.saturating_mul(1_000_000_000 / per_s)
}

/// Returns user and system time of a thread from its `/proc/PID/task/TID/stat`; `None` where its class (field 41) is
/// another.
fn lowest_class_ticks(stat: &str) -> Option<u64> {
    const SCHED_IDLE: u64 = 5;
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    let class: u64 = fields.get(38)?.parse().ok()?;
    let (user, system) = parse_self(stat)?;
    (class == SCHED_IDLE).then(|| user.saturating_add(system))
}

/// Parses the lines `cpu0 user nice system idle iowait irq softirq steal guest guest_nice`; old kernels have fewer
/// fields.
pub(crate) fn parse_stat(text: &str) -> BTreeMap<usize, Ticks> {
    text.lines().map_while(|line| line.strip_prefix("cpu")).filter_map(parse_cpu).collect()
}

/// Parses the line of one CPU. The line for all CPUs has no number and is skipped. Guest time is already part of user
/// time and is not added again.
fn parse_cpu(line: &str) -> Option<(usize, Ticks)> {
    let (cpu, times) = line.split_once(' ')?;
    let times: Vec<u64> = times.split_whitespace().map_while(|time| time.parse().ok()).collect();
    let [user, nice, system, idle, more @ ..] = times.as_slice() else { return None };
    let more = |index: usize| more.get(index).copied().unwrap_or(0);
    let (iowait, irq, softirq, steal) = (more(0), more(1), more(2), more(3));
    let sum = |ticks: &[u64]| ticks.iter().fold(0, |sum: u64, ticks| sum.saturating_add(*ticks));
    let busy = sum(&[*user, *nice, *system, irq, softirq]);
    Some((cpu.parse().ok()?, Ticks { busy, idle: sum(&[*idle, iowait]), steal }))
}

fn awake_between(start: &CpuSnapshot, end: &CpuSnapshot, cpu: usize) -> u64 {
    let at = |snapshot: &CpuSnapshot| snapshot.awake_ns.get(&cpu).copied().unwrap_or(0);
    at(end).saturating_sub(at(start))
}

/// Time for which the control group of this process that was stopped longest was stopped: where several are, they are
/// mostly stopped at once.
fn stopped_between(start: &CpuSnapshot, end: &CpuSnapshot) -> Option<u64> {
    let each = start.stopped_us.iter().zip(&end.stopped_us);
    Some(each.map(|(from, to)| to.saturating_sub(*from)).max()?.saturating_mul(1000))
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "ticks of a window, above 0")]
fn ticks_to_ns(ticks: f64, ticks_per_s: u64) -> Option<u64> {
    (ticks_per_s > 0).then(|| (ticks * 1e9 / count(ticks_per_s)) as u64)
}

fn ns_to_ticks(ns: u64, ticks_per_s: u64) -> f64 {
    count(ns) / 1e9 * count(ticks_per_s)
}

fn share(part: f64, all: f64) -> f64 {
    if all > 0.0 { (part / all).clamp(0.0, 1.0) } else { 0.0 }
}

#[expect(clippy::cast_precision_loss, reason = "ticks and ns of a window are far below 2^53")]
fn count(value: u64) -> f64 {
    value as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn snapshot(stat: &str, process_ns: u64, awake_ns: &[(usize, u64)]) -> CpuSnapshot {
        let awake_ns = awake_ns.iter().copied().collect();
        let cpus = parse_stat(stat);
        let allowed = cpus.keys().copied().collect();
        CpuSnapshot {
            cpus,
            ticks_per_s: 100,
            process_ns,
            process_ticks: None,
            awake_ns,
            allowed,
            stopped_us: Vec::new(),
        }
    }

    /// Others that use many CPUs of a host are none of a tester that may not run there, and others on its own CPUs are.
    #[test]
    fn others_are_counted_on_the_cpus_that_this_process_may_use() {
        let before = "cpu 0 0 0 0\ncpu0 0 0 0 0\ncpu1 0 0 0 0\nctxt 1\n";
        let after = "cpu 0 0 0 0\ncpu0 90 0 0 10\ncpu1 40 0 20 40\nctxt 1\n";
        let of = |allowed: &[usize]| {
            let end = CpuSnapshot {
                allowed: allowed.to_vec(),
                ..snapshot(after, 500_000_000, &[(1, 100_000_000)])
            };
            CpuSnapshot::between(&snapshot(before, 0, &[]), &end).others_ns
        };
        // Of this process are 0.4 s: the other 0.1 s keep a CPU awake.
        assert_eq!(of(&[1]), Some(100_000_000));
        assert_eq!(of(&[0, 1]), Some(1_000_000_000));
    }

    #[test]
    fn of_groups_that_are_stopped_the_one_that_waits_longest_counts() {
        let of = |start: &[u64], end: &[u64]| {
            let at = |us: &[u64]| CpuSnapshot { stopped_us: us.to_vec(), ..CpuSnapshot::default() };
            CpuSnapshot::between(&at(start), &at(end)).stopped_ns
        };
        assert_eq!(of(&[9_000_000, 10], &[9_000_000, 310]), Some(300_000));
        assert_eq!(of(&[], &[]), None);
    }

    #[test]
    fn the_time_of_the_lowest_class_is_that_of_its_processes_alone() {
        let stat = |class: u32| {
            let before: Vec<String> = (4..=40).map(|field| field.to_string()).collect();
            format!("77 (sh -c (x) y) R {} {class} 0 0\n", before.join(" "))
        };
        assert_eq!(lowest_class_ticks(&stat(5)), Some(14 + 15));
        assert_eq!(lowest_class_ticks(&stat(0)), None);
        assert_eq!(lowest_class_ticks("77 (short) R 1"), None);
    }

    #[test]
    fn each_thread_has_a_class_of_its_own() {
        let root = tempfile::tempdir().unwrap();
        let stat = |class: u32| {
            let before: Vec<String> = (4..=40).map(|field| field.to_string()).collect();
            format!("77 (sh) R {} {class} 0 0\n", before.join(" "))
        };
        for (thread, class) in [(77, 0), (78, 5), (79, 5)] {
            let folder = root.path().join(format!("proc/77/task/{thread}"));
            std::fs::create_dir_all(&folder).unwrap();
            std::fs::write(folder.join("stat"), stat(class)).unwrap();
        }
        std::fs::write(root.path().join("proc/77/stat"), stat(0)).unwrap();
        let ticks =
            lowest_class_ns_of(&Machine::captured(root.path())) * procfs::ticks_per_second() / 1_000_000_000;
        // Another process may have the number of this one.
        assert!(ticks == 2 * (14 + 15) || std::process::id() == 77, "{ticks}");
    }

    #[test]
    fn shares_cover_the_time_between_snapshots_and_the_busiest_cpu_is_named() {
        let before =
            "cpu 0 0 0 0 0 0 0 0 0 0\ncpu0 10 0 0 100 0 0 0 5 0 0\ncpu1 0 0 0 0 0 0 0 0 0 0\nctxt 1\n";
        let after =
            "cpu 0 0 0 0 0 0 0 0 0 0\ncpu0 50 10 20 115 5 3 2 15 30 0\ncpu1 10 0 0 80 10 0 0 0 0 0\nctxt 1\n";
        let used = CpuSnapshot::between(&snapshot(before, 100, &[]), &snapshot(after, 350, &[]));
        // CPU 0: busy 40+10+20+3+2 = 75, idle 15+5 = 20, steal 10, of 105. CPU 1: busy 10 of 100.
        assert_eq!(used.tester_ns, 250);
        assert!((used.host_busy - 85.0 / 205.0).abs() < 1e-12, "{used:?}");
        assert!((used.host_busy_max - 75.0 / 105.0).abs() < 1e-12, "{used:?}");
        assert!((used.steal - 10.0 / 205.0).abs() < 1e-12, "{used:?}");
    }

    #[test]
    fn user_and_system_time_are_separate() {
        let text = "1 (a ) b) S 2 3 4 5 6 7 8 9 10 11 250 750 0 0";
        assert_eq!(parse_self(text), Some((250, 750)));
        let at = |ticks| CpuSnapshot { process_ticks: ticks, ticks_per_s: 100, ..CpuSnapshot::default() };
        let used = CpuSnapshot::between(&at(Some((0, 0))), &at(Some((250, 750))));
        assert_eq!(used.tester_system, Some(0.75));
        assert_eq!(CpuSnapshot::between(&at(None), &at(Some((1, 1)))).tester_system, None);
    }

    #[test]
    fn spinner_time_counts_for_neither_host_nor_tester() {
        let before = "cpu 0 0 0 0 0 0 0 0 0 0\ncpu0 0 0 0 0 0 0 0 0 0 0\nctxt 1\n";
        let after = "cpu 0 0 0 0 0 0 0 0 0 0\ncpu0 100 0 0 0 0 0 0 0 0 0\nctxt 1\n";
        let start = snapshot(before, 0, &[(0, 1_000_000_000)]);
        let end = snapshot(after, 1_000_000_000, &[(0, 1_700_000_000)]);
        let used = CpuSnapshot::between(&start, &end);
        assert_eq!(used.tester_ns, 300_000_000);
        assert!((used.host_busy - 0.3).abs() < 1e-12, "{used:?}");
    }

    #[test]
    fn an_offline_cpu_does_not_distort_shares() {
        let two = "cpu 0 0 0 0 0 0 0 0 0 0\ncpu0 9 0 0 9 0 0 0 0 0 0\ncpu1 9 0 0 9 0 0 0 0 0 0\nctxt 1\n";
        let one = "cpu 0 0 0 0 0 0 0 0 0 0\ncpu0 99 0 0 9 0 0 0 0 0 0\nctxt 1\n";
        let used = CpuSnapshot::between(&snapshot(two, 0, &[]), &snapshot(one, 5, &[]));
        assert_eq!(used, StepCpu { tester_ns: 5, ..StepCpu::default() });
    }

    #[test]
    fn cpu_numbers_may_have_gaps_and_old_kernels_fewer_fields() {
        let stat =
            parse_stat("cpu  9 9 9 9\ncpu0 1 2 3 4\ncpu2 1 0 0 4 1 1 1 7 1 1\nintr 5 cpu\ncpu9 1 1 1 1\n");
        let expected =
            [(0, Ticks { busy: 6, idle: 4, steal: 0 }), (2, Ticks { busy: 3, idle: 5, steal: 7 })].into();
        assert_eq!(stat, expected);
    }

    #[test]
    fn work_of_this_process_is_counted() {
        let start = cpu_snapshot();
        let began = std::time::Instant::now();
        while cpu_snapshot().process_ns - start.process_ns < 50_000_000 {
            assert!(began.elapsed().as_secs() < 20, "50 ms of work took 20 s");
        }
        assert!(CpuSnapshot::between(&start, &cpu_snapshot()).host_busy_max > 0.0);
    }
}
