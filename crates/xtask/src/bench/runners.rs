//! Runs Assay and fio with the same load, and parses their JSON.

use std::fmt::Write as _;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use serde_json::Value;

use super::{BenchFolders, Options};

/// A load that both testers support.
#[derive(Clone, Copy)]
pub(crate) struct Load {
    /// Name in fio: `read`, `randread`, `randwrite`.
    pub(crate) rw: &'static str,
    /// Bytes per I/O.
    pub(crate) block: u32,
    /// I/Os in flight.
    pub(crate) depth: u32,
    pub(crate) cpu: CpuUse,
}

/// CPUs of the testers.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum CpuUse {
    /// Both on the first CPU: the same conditions, whatever each would choose.
    First,
    /// Their own choice, the default for a user.
    Free,
}

impl Load {
    /// Returns a load on the first CPU.
    pub(crate) fn new(rw: &'static str, block: u32, depth: u32) -> Self {
        Self { rw, block, depth, cpu: CpuUse::First }
    }

    /// Returns true if fio can use huge pages like Assay. Assay's buffers larger than a page are in transparent huge
    /// pages, which makes large I/Os cheaper for the device; fio takes huge pages only from the system's pool, which is
    /// empty unless set by `sysctl vm.nr_hugepages=8`.
    pub(crate) fn has_like_memory(&self) -> bool {
        const HUGE_PAGE: u64 = 2 << 20;
        let needed = (u64::from(self.block) * u64::from(self.depth)).div_ceil(HUGE_PAGE) + 1;
        self.block > 4096
            && huge_pages_in(&std::fs::read_to_string("/proc/meminfo").unwrap_or_default()) >= needed
    }
}

fn huge_pages_in(meminfo: &str) -> u64 {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("HugePages_Free:"));
    line.and_then(|count| count.trim().parse().ok()).unwrap_or(0)
}

/// Figures that both testers report.
///
/// Assay's service time is compared with fio's `lat`, not its `clat`. Assay stamps an I/O before the system call that
/// starts it. fio stamps `clat` after that call, so that time in the kernel within the call (on tmpfs: all of it)
/// counts as `slat`. fio's `lat` starts when the I/O is prepared, a fraction of a microsecond before Assay's stamp.
#[derive(Clone, Copy)]
pub(crate) struct Measured {
    pub(crate) iops: f64,
    pub(crate) cpu_us_per_io: f64,
    pub(crate) p50_us: f64,
    pub(crate) p99_us: f64,
}

/// Warm-up of both testers; the next constant is the CPU to which both are bound.
pub(crate) const RAMP: &str = "200ms";
pub(crate) const CPU: &str = "0";

/// Returns the IOPS at each depth.
pub(crate) fn assay_null(place: &BenchFolders, seconds: u32, depths: &[u32]) -> anyhow::Result<Vec<f64>> {
    let run = format!("{seconds}s");
    let document = json_of(Command::new(&place.assay).args(["overhead", "--json", "--run", &run]))?;
    let at = |depth: &u32| {
        let entry = document["depths"].as_array()?.iter().find(|d| d["outstanding"] == *depth)?;
        entry["iops_per_core"].as_f64()
    };
    depths.iter().map(|d| at(d).with_context(|| format!("assay overhead has no depth {d}"))).collect()
}

pub(crate) fn fio_null(depth: u32, seconds: u32) -> anyhow::Result<f64> {
    let load = Load::new("randread", 4096, depth);
    let document = json_of(fio(&load, seconds).args(["--ioengine=null", "--size=1t"]))?;
    number(&document, "/jobs/0/read/iops")
}

/// Executes one run of `load`; creates the file if it does not exist.
pub(crate) fn assay_run(
    place: &BenchFolders,
    load: &Load,
    path: &Path,
    options: &Options,
    seconds: u32,
) -> anyhow::Result<Measured> {
    let (document, cpus_busy) =
        json_and_cpu_of(&mut assay(place, load, path, options, 1, seconds)?, seconds)?;
    let total = |what: &str| number(&document, &format!("/tests/0/total/{what}"));
    let iops = total("iops")?;
    Ok(Measured {
        iops,
        cpu_us_per_io: cpus_busy * 1e6 / iops,
        p50_us: total("service_us/p50")?,
        p99_us: total("service_us/p99")?,
    })
}

fn assay(
    place: &BenchFolders,
    load: &Load,
    path: &Path,
    options: &Options,
    workers: u32,
    seconds: u32,
) -> anyhow::Result<Command> {
    let plan = place.scratch.join("plan.toml");
    std::fs::write(&plan, plan_text(load, workers, seconds, options.size_mib))
        .with_context(|| format!("cannot write {}", plan.display()))?;
    let mut command = Command::new(&place.assay);
    command.arg("run").arg(plan).arg(path).args(["--json", "--store"]);
    command.arg(place.scratch.join("runs.sqlite"));
    if !is_remote(path) {
        // The benchmark created this file under its own name; once fio has written to it, Assay no longer accepts it as
        // its own.
        command.arg("--overwrite").arg(path);
    }
    if load.cpu == CpuUse::First {
        command.args(["--cpus", CPU]);
    }
    Ok(command)
}

fn is_remote(path: &Path) -> bool {
    path.starts_with("iscsi:") || path.starts_with("nfs:")
}

fn plan_text(load: &Load, workers: u32, seconds: u32, size_mib: u64) -> String {
    let Load { rw, block, depth, .. } = load;
    let (read, random) =
        (if rw.ends_with("write") { 0 } else { 100 }, if rw.starts_with("rand") { 100 } else { 0 });
    let mut text = format!("name = \"bench\"\nsize = \"{size_mib}MiB\"\n[[test]]\nname = \"{rw}\"\n");
    let _ = write!(
        text,
        "workers = {workers}\noutstanding = {depth}\nwarmup = \"{RAMP}\"\nrun = \"{seconds}s\"\n\
         access = [{{ size = \"{block}\", read = {read}, random = {random} }}]\n"
    );
    text
}

pub(crate) fn fio_run(load: &Load, path: &Path, options: &Options) -> anyhow::Result<Measured> {
    let mut command = fio(load, options.seconds);
    command.args(["--ioengine=io_uring", "--direct=1", "--registerfiles=1", "--fixedbufs=1"]);
    command.arg(format!("--filename={}", path.display())).arg(format!("--size={}m", options.size_mib));
    if load.has_like_memory() {
        command.arg("--mem=mmaphuge");
    }
    fio_measured(&mut command, load, options)
}

/// Executes one run against a LUN with an fio that was built with libiscsi, unlike Debian's.
pub(crate) fn fio_lun(fio: &Path, load: &Load, lun: &str, options: &Options) -> anyhow::Result<Measured> {
    let mut command = fio_at(fio, load, options.seconds);
    // A colon separates file names in fio.
    command.arg("--ioengine=libiscsi").arg(format!("--filename={}", lun.replace(':', "\\:")));
    fio_measured(&mut command, load, options)
}

/// Returns true if this fio has an engine of that name.
pub(crate) fn has_engine(fio: &Path, engine: &str) -> anyhow::Result<bool> {
    let output = Command::new(fio).arg("--enghelp").output();
    let output = output.with_context(|| format!("cannot start {}", fio.display()))?;
    Ok(String::from_utf8_lossy(&output.stdout).split_whitespace().any(|name| name == engine))
}

/// Executes one run over NFS with an fio that was built with libnfs, unlike Debian's.
pub(crate) fn fio_nfs(
    fio: &Path,
    load: &Load,
    (export, file): (String, &str),
    options: &Options,
) -> anyhow::Result<Measured> {
    let mut command = fio_at(fio, load, options.seconds);
    command.arg("--ioengine=nfs").arg(format!("--nfs_url={export}")).arg(format!("--filename={file}"));
    fio_measured(command.arg(format!("--size={}m", options.size_mib)), load, options)
}

fn fio_measured(command: &mut Command, load: &Load, options: &Options) -> anyhow::Result<Measured> {
    let (document, cpus_busy) = json_and_cpu_of(command, options.seconds)?;
    let side = if load.rw.ends_with("write") { "write" } else { "read" };
    let of = |what: &str| number(&document, &format!("/jobs/0/{side}/{what}"));
    let iops = of("iops")?;
    Ok(Measured {
        iops,
        cpu_us_per_io: cpus_busy * 1e6 / iops,
        p50_us: of("lat_ns/percentile/50.000000")? / 1e3,
        p99_us: of("lat_ns/percentile/99.000000")? / 1e3,
    })
}

/// Returns an fio command as similar to Assay as its options allow: random offsets without a map, new data for each
/// write, everything in one thread on one CPU.
fn fio(load: &Load, seconds: u32) -> Command {
    fio_at(Path::new("fio"), load, seconds)
}

fn fio_at(program: &Path, load: &Load, seconds: u32) -> Command {
    let mut command = Command::new(program);
    command.args(["--name=bench", "--thread", "--time_based", "--norandommap", "--refill_buffers"]);
    command.args(["--lat_percentiles=1", "--output-format=json"]);
    command.arg(format!("--ramp_time={RAMP}"));
    if load.cpu == CpuUse::First {
        command.arg(format!("--cpus_allowed={CPU}"));
    }
    command.arg(format!("--rw={}", load.rw)).arg(format!("--bs={}", load.block));
    command.arg(format!("--iodepth={}", load.depth)).arg(format!("--runtime={seconds}"));
    command
}

/// Returns the peak of resident memory at 4 workers of 128, less the buffers, MiB.
pub(crate) fn assay_memory_mib(place: &BenchFolders, path: &Path, options: &Options) -> anyhow::Result<f64> {
    const WORKERS: u32 = 4;
    let load = Load { cpu: CpuUse::Free, ..Load::new("randread", 4096, 128) };
    let mut command = assay(place, &load, path, options, WORKERS, options.seconds)?;
    let mut child =
        command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().context("cannot start assay")?;
    let status_file = format!("/proc/{}/status", child.id());
    let mut peak_kib = 0;
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break status;
        }
        // The file is empty if the process ends in between; the last earlier value counts.
        peak_kib = peak_kib.max(peak_in(&std::fs::read_to_string(&status_file).unwrap_or_default()));
        std::thread::sleep(Duration::from_millis(5));
    };
    if !status.success() || peak_kib == 0 {
        bail!("assay ended with {status}, peak memory {peak_kib} KiB");
    }
    let buffers_kib = u64::from(WORKERS * load.depth * load.block / 1024);
    Ok(peak_kib.saturating_sub(buffers_kib) as f64 / 1024.0)
}

fn peak_in(status: &str) -> u64 {
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|rest| rest.trim().strip_suffix(" kB")?.trim().parse().ok()).unwrap_or(0)
}

/// Time after which a run's load is certainly on: fio starts within a third of a second, and both warm up.
pub(crate) const SETTLED: Duration = Duration::from_millis(800);
/// Number of clock ticks of /proc/PID/stat per second, on every Linux architecture.
const TICKS_PER_S: f64 = 100.0;

/// Returns a run's document, and the CPU use of its whole process under load, in CPUs.
///
/// Both testers are measured from outside in the same way. fio's own `usr_cpu` and `sys_cpu` cover only the job's
/// thread: the kernel's io_uring helper threads are left out, and on tmpfs they are half.
pub(crate) fn json_and_cpu_of(command: &mut Command, seconds: u32) -> anyhow::Result<(Value, f64)> {
    let program = command.get_program().display().to_string();
    let started = Instant::now();
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let child = child.with_context(|| format!("cannot start {program}"))?;
    let window = Duration::from_secs(seconds.into()).saturating_sub(SETTLED);
    std::thread::sleep(SETTLED.saturating_sub(started.elapsed()));
    let (began, at_begin) = (Instant::now(), ticks_of(child.id()));
    std::thread::sleep(window);
    let (elapsed_s, at_end) = (began.elapsed().as_secs_f64(), ticks_of(child.id()));
    let document = document_of(&program, &child.wait_with_output()?)?;
    let cpus_busy = match (at_begin, at_end) {
        (Some(begin), Some(end)) => (end - begin) / TICKS_PER_S / elapsed_s,
        _ => bail!("{program} ended before its time"),
    };
    Ok((document, cpus_busy))
}

/// Returns the CPU time of a process and its children with all their threads, including the kernel's helpers, ticks:
/// fio's NFS engine requires a separate process for the job.
fn ticks_of(process: u32) -> Option<f64> {
    let of = |id: &str| ticks_in(&std::fs::read_to_string(format!("/proc/{id}/stat")).ok()?);
    let children =
        std::fs::read_to_string(format!("/proc/{process}/task/{process}/children")).unwrap_or_default();
    Some(of(&process.to_string())? + children.split_whitespace().filter_map(of).sum::<f64>())
}

/// Returns the sum of fields 14 and 15; the name in field 2 may contain anything, so fields are counted from its end.
fn ticks_in(stat: &str) -> Option<f64> {
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace().skip(11);
    Some(fields.next()?.parse::<f64>().ok()? + fields.next()?.parse::<f64>().ok()?)
}

fn json_of(command: &mut Command) -> anyhow::Result<Value> {
    let program = command.get_program().display().to_string();
    document_of(&program, &command.output().with_context(|| format!("cannot start {program}"))?)
}

pub(crate) fn document_of(program: &str, output: &Output) -> anyhow::Result<Value> {
    if !output.status.success() {
        bail!("{program} ended with {}: {}", output.status, String::from_utf8_lossy(&output.stderr));
    }
    // fio prints notes before its document.
    let text = String::from_utf8_lossy(&output.stdout);
    let start = text.find('{').unwrap_or(0);
    serde_json::from_str(&text[start..]).with_context(|| format!("{program} printed no JSON"))
}

pub(crate) fn number(document: &Value, pointer: &str) -> anyhow::Result<f64> {
    document.pointer(pointer).and_then(Value::as_f64).with_context(|| format!("no number at {pointer}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn peak_memory_is_read_as_the_kernel_writes_it() {
        assert_eq!(peak_in("VmPeak:\t  9 kB\nVmHWM:\t   12345 kB\n"), 12345);
        assert_eq!(peak_in(""), 0);
    }

    #[test]
    fn huge_pages_are_read_as_the_kernel_writes_them() {
        assert_eq!(huge_pages_in("HugePages_Total:      16\nHugePages_Free:       12\n"), 12);
        assert_eq!(huge_pages_in("MemTotal: 1 kB"), 0);
    }

    #[test]
    fn cpu_time_is_parsed_after_a_name_with_blanks_and_brackets() {
        let stat = "7 (a b) c) S 1 2 3 4 5 6 7 8 9 10 250 50 0 0 20";
        assert_eq!(ticks_in(stat), Some(300.0));
    }

    #[test]
    fn a_plan_matches_its_load() {
        let text = plan_text(&Load::new("randwrite", 4096, 7), 2, 3, 64);
        for part in ["outstanding = 7", "workers = 2", "read = 0, random = 100", "\"64MiB\"", "run = \"3s\""]
        {
            assert!(text.contains(part), "{part} is not in {text}");
        }
    }
}
