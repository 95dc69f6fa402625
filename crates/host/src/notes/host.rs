//! What the kernel shows of the host as a whole: limits on CPU time, waits for memory, CPUs that are slow or asleep.

use std::path::PathBuf;

use assay_record::{HostNote, NoteKind};

use super::note;
use crate::cgroup::{Stops, own_folders};
use crate::machine::{Machine, attribute, names_in, number};

/// A row: what the host may show.
type Row = fn(&Machine) -> Option<HostNote>;

const ROWS: [Row; 5] = [quota, memory_pressure, slow_cpu, slow_governor, sleepy_cpu];

/// Share of the time, percent, in which some process waited for memory, that matters.
const PRESSURE_PERCENT: f64 = 1.0;
/// A limit on the frequency below this share of the highest slows the host down.
const FREQUENCY_SHARE: f64 = 0.95;
/// An idle state that takes longer to leave, µs, is seen in the latency of one I/O at a time.
const LONG_EXIT_US: u64 = 50;

/// Returns what the kernel shows of the host.
pub(crate) fn of_host(machine: &Machine) -> Vec<HostNote> {
    ROWS.iter().filter_map(|row| row(machine)).collect()
}

/// A limit on CPU time that has already stopped this process's group, the one that did so longest.
fn quota(machine: &Machine) -> Option<HostNote> {
    let stopped = |folder: PathBuf| {
        let (stops, file) = Stops::of(&folder)?;
        (stops.us > 0).then_some((stops, file, folder))
    };
    let of_groups = own_folders(machine).into_iter().filter_map(stopped);
    let (Stops { times, us }, file, folder) = of_groups.max_by_key(|(stops, ..)| stops.us)?;
    let seconds = us as f64 / 1e6;
    let says = format!(
        "a control group of this process limits its CPU time, and has stopped it {times} times, {seconds:.1} s in all: \
         I/Os wait meanwhile"
    );
    let limit =
        ["cpu.max", "cpu.cfs_quota_us"].map(|file| folder.join(file)).into_iter().find(|f| f.exists());
    let none = |file: &PathBuf| if file.ends_with("cpu.max") { "max" } else { "-1" };
    let mend = |path: &str| match &limit {
        Some(file) => format!("Lift the limit: echo {} > {}", none(file), machine.shown(file).display()),
        None => format!("Lift the limit of the group above {path}."),
    };
    Some(note(machine, NoteKind::CpuQuota, &file, format!("nr_throttled {times}"), says, mend))
}

fn memory_pressure(machine: &Machine) -> Option<HostNote> {
    let files = own_folders(machine).into_iter().map(|folder| folder.join("memory.pressure"));
    let files = files.chain([machine.path("/proc/pressure/memory")]);
    let waits = |file: PathBuf| {
        let text = attribute(&file)?;
        let line = text.lines().find(|line| line.starts_with("some "))?.to_owned();
        let percent: f64 = line.split(' ').find_map(|word| word.strip_prefix("avg10="))?.parse().ok()?;
        Some((percent, file, line))
    };
    let most = files.filter_map(waits).max_by(|a, b| a.0.total_cmp(&b.0));
    let (percent, file, line) = most.filter(|(percent, ..)| *percent > PRESSURE_PERCENT)?;
    let says = format!(
        "processes of this host waited for memory for {percent:.0} % of the last 10 s: the kernel reclaims pages \
         or swaps"
    );
    let mend = |_: &str| {
        "Stop what takes the memory (ps aux --sort=-rss | head), or raise memory.max of its group.".to_owned()
    };
    Some(note(machine, NoteKind::MemoryPressure, &file, line, says, mend))
}

/// Directories of the frequency policies.
fn policies(machine: &Machine) -> Vec<PathBuf> {
    let all = machine.path("/sys/devices/system/cpu/cpufreq");
    names_in(&all).into_iter().filter(|name| name.starts_with("policy")).map(|name| all.join(name)).collect()
}

fn slow_cpu(machine: &Machine) -> Option<HostNote> {
    let limited = |policy: PathBuf| {
        let file = policy.join("scaling_max_freq");
        let (now, can) = (number::<u64>(&file)?, number::<u64>(&policy.join("cpuinfo_max_freq"))?);
        ((now as f64) < can as f64 * FREQUENCY_SHARE).then_some((file, now, can))
    };
    let (file, now, can) = policies(machine).into_iter().find_map(limited)?;
    let ghz = |khz: u64| khz as f64 / 1e6;
    let says = format!(
        "the frequency of the CPUs is limited to {:.1} GHz, and they can {:.1} GHz",
        ghz(now),
        ghz(can)
    );
    let mend = |_: &str| format!("Lift the limit: cpupower frequency-set -u {can}kHz");
    Some(note(machine, NoteKind::SlowCpu, &file, now.to_string(), says, mend))
}

fn slow_governor(machine: &Machine) -> Option<HostNote> {
    let slow = |policy: PathBuf| {
        let file = policy.join("scaling_governor");
        let governor = attribute(&file).filter(|name| name == "powersave")?;
        // In these drivers the name stands for a governor that follows the load.
        let driver = attribute(&policy.join("scaling_driver")).unwrap_or_default();
        (!driver.starts_with("intel_pstate") && !driver.starts_with("amd-pstate")).then_some((file, governor))
    };
    let (file, governor) = policies(machine).into_iter().find_map(slow)?;
    let says = "the governor `powersave` holds the CPUs at their lowest frequency".to_owned();
    let mend = |_: &str| "Let them run: cpupower frequency-set -g performance".to_owned();
    Some(note(machine, NoteKind::SlowCpu, &file, governor, says, mend))
}

fn sleepy_cpu(machine: &Machine) -> Option<HostNote> {
    let all = machine.path("/sys/devices/system/cpu/cpu0/cpuidle");
    let state = |name: String| {
        let folder = all.join(name);
        let is_off = number::<u32>(&folder.join("disable")) == Some(1);
        let file = folder.join("latency");
        Some((number::<u64>(&file)?, file)).filter(|_| !is_off)
    };
    let deepest = names_in(&all).into_iter().filter_map(state).max()?;
    let (us, file) = Some(deepest).filter(|(us, _)| *us > LONG_EXIT_US)?;
    let says = format!(
        "an idle CPU of this host takes up to {us} µs to wake: one I/O at a time has that in its latency"
    );
    let mend = |_: &str| {
        format!("Measure with --keep-awake, or forbid such states: cpupower idle-set -D {}", LONG_EXIT_US)
    };
    Some(note(machine, NoteKind::CpuSleeps, &file, us.to_string(), says, mend))
}
