//! Paired, interleaved comparisons with fio: Assay, fio, Assay, fio, … on the same file, and the ratio of each pair.
//!
//! A figure from one machine at one hour means little; the ratio of two consecutive runs is meaningful. So medians and
//! ratios are printed, and no test depends on them.

mod bare;
mod case;
mod kinds;
mod runners;
mod servers;
mod table;

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, bail};
use assay_host::AwakeGuard;
use serde_json::{Value, json};

pub(crate) use bare::bare;
use case::{Case, cases};
use table::Row;

/// Options as typed.
#[derive(Clone)]
pub(crate) struct Options {
    pub(crate) only: Vec<String>,
    pub(crate) rounds: u32,
    /// Measured time of each single run, s.
    pub(crate) seconds: u32,
    pub(crate) size_mib: u64,
    /// Directory of the test file on a disk.
    pub(crate) disk: PathBuf,
    /// An fio with the engine libiscsi; without it LUNs are not compared.
    pub(crate) fio_iscsi: Option<PathBuf>,
    /// An fio with the engine nfs; without it NFS is not compared.
    pub(crate) fio_nfs: Option<PathBuf>,
}

/// Directories of the benchmark.
pub(crate) struct BenchFolders {
    pub(crate) assay: PathBuf,
    pub(crate) scratch: PathBuf,
}

pub(crate) fn bench(args: &[String]) -> anyhow::Result<()> {
    let target = target_folder()?;
    let options = options(args, &target)?;
    let _alone = alone()?;
    let place = BenchFolders { assay: build()?, scratch: target.join("bench") };
    std::fs::create_dir_all(&place.scratch).context("cannot create the scratch folder")?;
    let facts = facts()?;
    println!("{}", facts.iter().map(|(k, v)| format!("{k:<12} {v}\n")).collect::<String>());
    let _awake = AwakeGuard::start()?;
    let mut rows = Vec::new();
    for case in cases(&options).iter().filter(|case| is_wanted(case, &options)) {
        eprintln!("{} …", case.name());
        match case.run(&place, &options) {
            Ok(more) => rows.extend(more),
            Err(error) => {
                // The earlier cases took minutes.
                println!("{}", table::text(&rows));
                return Err(error.context(case.name().to_owned()));
            }
        }
    }
    if rows.is_empty() {
        bail!("no case has {:?} in its name", options.only);
    }
    println!("{}", table::text(&rows));
    write_json(&target.join("bench.json"), &facts, &rows, &options)
}

fn is_wanted(case: &Case, options: &Options) -> bool {
    options.only.is_empty() || options.only.iter().any(|text| case.name().contains(text.as_str()))
}

fn options(args: &[String], target: &Path) -> anyhow::Result<Options> {
    let fio = std::env::var_os("FIO").map(PathBuf::from);
    let mut options = Options {
        only: Vec::new(),
        rounds: 5,
        seconds: 2,
        size_mib: 1024,
        disk: target.join("bench"),
        fio_iscsi: fio.clone(),
        fio_nfs: fio,
    };
    let mut args = args.iter();
    while let Some(flag) = args.next() {
        let value = args.next().with_context(|| format!("{flag} needs a value"))?;
        let count = || value.parse::<u32>().ok().filter(|n| *n > 0);
        let number = || count().with_context(|| format!("{flag} {value}: give a number above 0"));
        match flag.as_str() {
            "--case" => options.only.push(value.clone()),
            "--rounds" => options.rounds = number()?,
            // Below 2 s no time remains in which the load is certainly on.
            "--seconds" => options.seconds = number()?.max(2),
            "--size-mib" => options.size_mib = number()?.into(),
            "--disk" => options.disk = value.into(),
            "--fio-iscsi" => options.fio_iscsi = Some(value.into()),
            "--fio-nfs" => options.fio_nfs = Some(value.into()),
            _ => bail!("there is no option {flag}"),
        }
    }
    Ok(options)
}

/// Waits until nobody else measures or builds, if `BENCH_LOCK` names the lock file.
fn alone() -> anyhow::Result<Option<File>> {
    let Some(path) = std::env::var_os("BENCH_LOCK") else { return Ok(None) };
    let file = File::options().create(true).append(true).open(&path);
    let file = file.with_context(|| format!("cannot open the lock {}", path.display()))?;
    file.lock().with_context(|| format!("cannot lock {}", path.display()))?;
    Ok(Some(file))
}

fn target_folder() -> anyhow::Result<PathBuf> {
    // This program is target/release/xtask, wherever target is.
    let this = std::env::current_exe().context("cannot find this program")?;
    Ok(this.ancestors().nth(2).context("this program is not in a target folder")?.to_owned())
}

fn build() -> anyhow::Result<PathBuf> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let status = Command::new(cargo).args(["build", "--release", "--package", "assay-cli"]).status();
    if !status.context("cannot start cargo")?.success() {
        bail!("Assay does not build");
    }
    Ok(std::env::current_exe()?.with_file_name("assay"))
}

/// Returns the facts that a reader needs to judge the figures.
fn facts() -> anyhow::Result<Vec<(&'static str, String)>> {
    let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default().trim().to_owned();
    let cpuinfo = read("/proc/cpuinfo");
    let model = cpuinfo.lines().find_map(|l| l.strip_prefix("model name")?.split_once(": "));
    let cpus = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let clock = read("/sys/devices/system/clocksource/clocksource0/current_clocksource");
    let fio = Command::new("fio").arg("--version").output().context("fio is missing: apt-get install fio")?;
    Ok(vec![
        ("kernel", read("/proc/sys/kernel/osrelease")),
        ("CPU", format!("{} x {}", cpus, model.map_or("unknown", |(_, name)| name))),
        ("clocksource", clock),
        ("load", read("/proc/loadavg")),
        ("fio", String::from_utf8_lossy(&fio.stdout).trim().to_owned()),
    ])
}

fn write_json(
    path: &Path,
    facts: &[(&'static str, String)],
    rows: &[Row],
    options: &Options,
) -> anyhow::Result<()> {
    let facts: serde_json::Map<String, Value> =
        facts.iter().map(|(name, value)| ((*name).to_owned(), json!(value))).collect();
    let rows: Vec<Value> = rows.iter().map(Row::as_json).collect();
    let document =
        json!({ "facts": facts, "rounds": options.rounds, "seconds": options.seconds, "rows": rows });
    std::fs::write(path, format!("{document:#}\n"))
        .with_context(|| format!("cannot write {}", path.display()))?;
    println!("written to {}", path.display());
    Ok(())
}
