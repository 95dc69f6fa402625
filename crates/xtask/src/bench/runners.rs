//! Runs Assay and fio with the same load, and reads their JSON.

use std::fmt::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context as _, bail};
use serde_json::Value;

use super::{Options, Place};

/// A load that both understand.
#[derive(Clone, Copy)]
pub(crate) struct Load {
    /// In fio's words: `read`, `randread`, `randwrite`.
    pub(crate) rw: &'static str,
    /// Bytes per I/O.
    pub(crate) block: u32,
    /// I/Os in flight.
    pub(crate) depth: u32,
}

/// What both report.
///
/// Latency is compared as our service time against fio's `lat`, not its `clat`. We stamp an I/O before the system
/// call that starts it. fio stamps `clat` after that call, so what the kernel does within it (on tmpfs: everything)
/// counts as `slat`. fio's `lat` begins when the I/O is prepared, a fraction of a microsecond before our stamp.
pub(crate) struct Measured {
    pub(crate) iops: f64,
    pub(crate) cpu_us_per_io: f64,
    pub(crate) p50_us: f64,
    pub(crate) p99_us: f64,
}

/// Warm-up of both, and the CPU both are bound to: Assay binds its first worker to the first CPU.
const RAMP: &str = "200ms";
const CPU: &str = "0";

/// IOPS at each depth.
pub(crate) fn assay_null(place: &Place, seconds: u32, depths: &[u32]) -> anyhow::Result<Vec<f64>> {
    let run = format!("{seconds}s");
    let document = json_of(Command::new(&place.assay).args(["overhead", "--json", "--run", &run]))?;
    let at = |depth: &u32| {
        let entry = document["depths"].as_array()?.iter().find(|d| d["outstanding"] == *depth)?;
        entry["iops_per_core"].as_f64()
    };
    depths.iter().map(|d| at(d).with_context(|| format!("assay overhead has no depth {d}"))).collect()
}

pub(crate) fn fio_null(depth: u32, seconds: u32) -> anyhow::Result<f64> {
    let load = Load { rw: "randread", block: 4096, depth };
    let document = json_of(fio(&load, seconds).args(["--ioengine=null", "--size=1t"]))?;
    number(&document, "/jobs/0/read/iops")
}

/// One run of `load`; the file is prepared when it is not there.
pub(crate) fn assay_run(
    place: &Place,
    load: &Load,
    path: &Path,
    options: &Options,
    seconds: u32,
) -> anyhow::Result<Measured> {
    let document = json_of(&mut assay(place, load, path, options, 1, seconds)?)?;
    let total = |what: &str| number(&document, &format!("/tests/0/total/{what}"));
    Ok(Measured {
        iops: total("iops")?,
        cpu_us_per_io: number(&document, "/tests/0/cpu/tester_us_per_io")?,
        p50_us: total("service_us/p50")?,
        p99_us: total("service_us/p99")?,
    })
}

fn assay(
    place: &Place,
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
    command.arg("run").arg(plan).arg(path).args(["--json", "--io", "uring", "--store"]);
    command.arg(place.scratch.join("runs.sqlite"));
    Ok(command)
}

fn plan_text(load: &Load, workers: u32, seconds: u32, size_mib: u64) -> String {
    let Load { rw, block, depth } = load;
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
    let document = json_of(&mut command)?;
    let side = if load.rw.ends_with("write") { "write" } else { "read" };
    let of = |what: &str| number(&document, &format!("/jobs/0/{side}/{what}"));
    let job = |what: &str| number(&document, &format!("/jobs/0/{what}"));
    // CPU in percent of the run time, which is in ms.
    let cpu_us = (job("usr_cpu")? + job("sys_cpu")?) / 100.0 * of("runtime")? * 1e3;
    Ok(Measured {
        iops: of("iops")?,
        cpu_us_per_io: cpu_us / of("total_ios")?,
        p50_us: of("lat_ns/percentile/50.000000")? / 1e3,
        p99_us: of("lat_ns/percentile/99.000000")? / 1e3,
    })
}

/// fio as close to Assay's habits as its options allow: random offsets are drawn anew instead of kept in a map, data
/// is new for each write, everything in one thread on one CPU.
fn fio(load: &Load, seconds: u32) -> Command {
    let mut command = Command::new("fio");
    command.args(["--name=bench", "--thread", "--time_based", "--norandommap", "--refill_buffers"]);
    command.args(["--lat_percentiles=1", "--output-format=json"]);
    command.arg(format!("--ramp_time={RAMP}")).arg(format!("--cpus_allowed={CPU}"));
    command.arg(format!("--rw={}", load.rw)).arg(format!("--bs={}", load.block));
    command.arg(format!("--iodepth={}", load.depth)).arg(format!("--runtime={seconds}"));
    command
}

/// The peak of resident memory at 4 workers of 128, less the buffers, MiB.
pub(crate) fn assay_memory_mib(place: &Place, path: &Path, options: &Options) -> anyhow::Result<f64> {
    const WORKERS: u32 = 4;
    let load = Load { rw: "randread", block: 4096, depth: 128 };
    let mut command = assay(place, &load, path, options, WORKERS, options.seconds)?;
    let mut child =
        command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().context("cannot start assay")?;
    let status_file = format!("/proc/{}/status", child.id());
    let mut peak_kib = 0;
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break status;
        }
        // The file is empty when the process ends in between; the last look before that counts.
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

fn json_of(command: &mut Command) -> anyhow::Result<Value> {
    let program = command.get_program().display().to_string();
    let output = command.output().with_context(|| format!("cannot start {program}"))?;
    if !output.status.success() {
        bail!("{program} ended with {}: {}", output.status, String::from_utf8_lossy(&output.stderr));
    }
    // fio prints notes before its document.
    let text = String::from_utf8_lossy(&output.stdout);
    let start = text.find('{').unwrap_or(0);
    serde_json::from_str(&text[start..]).with_context(|| format!("{program} printed no JSON"))
}

fn number(document: &Value, pointer: &str) -> anyhow::Result<f64> {
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
    fn a_plan_says_what_the_load_says() {
        let text = plan_text(&Load { rw: "randwrite", block: 4096, depth: 7 }, 2, 3, 64);
        for part in ["outstanding = 7", "workers = 2", "read = 0, random = 100", "\"64MiB\"", "run = \"3s\""]
        {
            assert!(text.contains(part), "{part} is not in {text}");
        }
    }
}
