//! The cases: what is compared, and the goal for the ratio.

use std::path::{Path, PathBuf};

use anyhow::Context as _;

use super::bare::bare_run;
use super::kinds::kinds;
use super::runners::{
    CpuUse, Load, Measured, assay_memory_mib, assay_null, assay_run, fio_lun, fio_nfs, fio_null, fio_run,
    has_engine,
};
use super::table::{Goal, Row};
use super::{BenchFolders, Options, servers};

/// One comparison.
pub(crate) enum Case {
    /// The tester itself, on storage that costs nothing.
    Null,
    /// The same file read or written by both.
    File { name: String, folder: PathBuf, load: Load, medium: Medium },
    /// A LUN on this machine, read over loopback by both.
    Lun { name: String, load: Load, goals: RemoteGoals },
    /// A LUN that answers faster than a tester asks: the testers themselves, beside a bare socket.
    Lean { name: String, load: Load, goals: LeanGoals },
    /// Files on an NFS server on this machine, read or written over loopback by both.
    Nfs { name: String, load: Load, goals: RemoteGoals },
    /// Memory of Assay beyond its buffers.
    Memory,
    /// One load on every kind of target.
    Kinds,
}

/// Goals over the network.
#[derive(Clone, Copy)]
pub(crate) struct RemoteGoals {
    iops: Goal,
    cpu: Goal,
}

/// Goals on the lean target.
#[derive(Clone, Copy)]
pub(crate) struct LeanGoals {
    iops: Goal,
    cpu: Goal,
    /// For the CPU time beside that of the bare socket.
    bare: Goal,
}

/// The medium under the file, which determines the goals.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Medium {
    /// The kernel serves an I/O within the call that starts it: the tester is the limit, and by Little's law latency
    /// is depth / IOPS. So IOPS and CPU are compared; latency is shown without a goal, as a faster tester has less.
    Memory,
    /// The device is the limit: both testers must measure the same latency.
    Disk,
}

const DEPTHS: [u32; 3] = [1, 32, 128];

pub(crate) fn cases(options: &Options) -> Vec<Case> {
    let loads = [
        ("4k random read QD32", Load::new("randread", 4096, 32)),
        ("128k sequential read QD32", Load::new("read", 131_072, 32)),
        ("4k random write QD32", Load::new("randwrite", 4096, 32)),
    ];
    let media =
        [("tmpfs", PathBuf::from("/dev/shm"), Medium::Memory), ("disk", options.disk.clone(), Medium::Disk)];
    let mut cases = vec![Case::Null];
    for (medium_name, folder, medium) in media {
        for (name, load) in loads {
            let (name, folder) = (format!("{medium_name} {name}"), folder.clone());
            cases.push(Case::File { name, folder, load, medium });
        }
    }
    // Queue depth 1 shows where a tester runs, so neither is bound to a CPU.
    let free = [
        ("disk 4k random read QD1, CPUs free", Load { cpu: CpuUse::Free, ..Load::new("randread", 4096, 1) }),
        (
            "disk 4k random read QD32, CPUs free",
            Load { cpu: CpuUse::Free, ..Load::new("randread", 4096, 32) },
        ),
    ];
    cases.extend(free.map(|(name, load)| Case::File {
        name: name.to_owned(),
        folder: options.disk.clone(),
        load,
        medium: Medium::Disk,
    }));
    let small = Load::new("randread", 4096, 32);
    let large = Load::new("read", 262_144, 8);
    let luns = [("4k random read QD32", small, 0.7), ("256k sequential read QD8", large, 1.0)];
    cases.extend(luns.map(|(name, load, cpu)| {
        let goals = RemoteGoals { iops: Goal::RatioAtLeast(1.0), cpu: Goal::RatioAtMost(cpu) };
        Case::Lun { name: format!("iscsi {name}"), load, goals }
    }));
    cases.extend(lean_cases());
    let large_write = Load { rw: "write", ..large };
    // The server is the limit, and a faster client receives fewer answers at a time: the CPU goal is fio's use, not
    // less.
    let exports = [
        ("4k random read QD32", small, 1.0),
        ("256k sequential read QD8", large, 1.0),
        ("256k sequential write QD8", large_write, 1.0),
    ];
    cases.extend(exports.map(|(name, load, cpu)| {
        let goals = RemoteGoals { iops: Goal::RatioAtLeast(1.0), cpu: Goal::RatioAtMost(cpu) };
        Case::Nfs { name: format!("nfs {name}"), load, goals }
    }));
    cases.push(Case::Memory);
    cases.push(Case::Kinds);
    cases
}

fn lean_cases() -> impl Iterator<Item = Case> {
    let at_depth = LeanGoals {
        iops: Goal::RatioAtLeast(2.0),
        cpu: Goal::RatioAtMost(0.6),
        bare: Goal::RatioAtMost(1.5),
    };
    let other = LeanGoals { iops: Goal::RatioAtLeast(1.0), cpu: Goal::RatioAtMost(1.0), bare: Goal::None };
    let loads = [
        ("4k random read QD32", Load::new("randread", 4096, 32), at_depth),
        ("4k random read QD1", Load::new("randread", 4096, 1), other),
        ("64k random read QD32", Load::new("randread", 65_536, 32), other),
    ];
    loads.into_iter().map(|(name, load, goals)| Case::Lean { name: format!("lean {name}"), load, goals })
}

impl Case {
    pub(crate) fn name(&self) -> &str {
        match self {
            Self::Null => "null",
            Self::File { name, .. }
            | Self::Lun { name, .. }
            | Self::Lean { name, .. }
            | Self::Nfs { name, .. } => name,
            Self::Memory => "memory",
            Self::Kinds => "kinds",
        }
    }

    pub(crate) fn run(&self, place: &BenchFolders, options: &Options) -> anyhow::Result<Vec<Row>> {
        match self {
            Self::Null => null(place, options),
            Self::File { name, folder, load, medium } => {
                let path = folder.join(format!("assay-bench-{}.dat", std::process::id()));
                let rows = file(name, &path, load, *medium, place, options);
                // A file that could not be created need not be removed.
                let _ = std::fs::remove_file(&path);
                rows
            }
            Self::Lun { name, load, goals } => lun(name, load, *goals, place, options),
            Self::Lean { name, load, goals } => lean(name, load, *goals, place, options),
            Self::Nfs { name, load, goals } => nfs(name, load, *goals, place, options),
            Self::Memory => memory(place, options),
            Self::Kinds => kinds(place, options),
        }
    }
}

fn null(place: &BenchFolders, options: &Options) -> anyhow::Result<Vec<Row>> {
    let mut rounds = Vec::new();
    for _ in 0..options.rounds {
        let ours = assay_null(place, options.seconds, &DEPTHS)?;
        let theirs = DEPTHS.iter().map(|depth| fio_null(*depth, options.seconds));
        rounds.push((ours, theirs.collect::<anyhow::Result<Vec<f64>>>()?));
    }
    let rows = DEPTHS.iter().enumerate().flat_map(|(index, depth)| {
        let pairs: Vec<_> = rounds.iter().map(|(ours, theirs)| (ours[index], theirs[index])).collect();
        let name = format!("null QD{depth}");
        // At queue depth 1 each I/O costs a whole turn: the goals are for larger depths.
        let (ratio, own) = match depth {
            1 => (Goal::None, Goal::None),
            _ => (Goal::RatioAtLeast(8.0), Goal::OursAtLeast(15e6)),
        };
        [Row::new(&name, "IOPS / fio", &pairs, ratio), Row::new(&name, "IOPS per core", &pairs, own)]
    });
    Ok(rows.collect())
}

fn file(
    name: &str,
    path: &std::path::Path,
    load: &Load,
    medium: Medium,
    place: &BenchFolders,
    options: &Options,
) -> anyhow::Result<Vec<Row>> {
    // Prepares the file; the measurement is discarded.
    assay_run(place, load, path, options, 2).with_context(|| format!("cannot prepare {}", path.display()))?;
    let mut pairs = Vec::new();
    for _ in 0..options.rounds {
        let ours = assay_run(place, load, path, options, options.seconds)?;
        pairs.push((ours, fio_run(load, path, options)?));
    }
    let (iops, cpu, latency) = match medium {
        Medium::Memory => (Goal::RatioAtLeast(1.05), Goal::RatioAtMost(0.9), Goal::None),
        // One I/O at a time, wherever each tester runs: what a wake-up costs is in every I/O.
        Medium::Disk if load.depth == 1 => (Goal::RatioAtLeast(1.0), Goal::None, Goal::None),
        // With memory in small pages, fio's large I/Os are different requests for the device; ours must not be slower.
        Medium::Disk if load.block > 4096 && !load.has_like_memory() => {
            (Goal::None, Goal::None, Goal::RatioAtMost(1.03))
        }
        Medium::Disk => (Goal::None, Goal::None, Goal::Within(0.03)),
    };
    Ok(rows_of(name, &pairs, [iops, cpu, latency]))
}

/// Returns the rows of a load; the goals are for IOPS, CPU and latency.
fn rows_of(name: &str, pairs: &[(Measured, Measured)], [iops, cpu, latency]: [Goal; 3]) -> Vec<Row> {
    let row = |what, of: fn(&Measured) -> f64, goal| {
        let pairs: Vec<_> = pairs.iter().map(|(ours, theirs)| (of(ours), of(theirs))).collect();
        Row::new(name, what, &pairs, goal)
    };
    vec![
        row("IOPS", |m| m.iops, iops),
        row("CPU us per I/O", |m| m.cpu_us_per_io, cpu),
        row("p50 us", |m| m.p50_us, latency),
        row("p99 us", |m| m.p99_us, latency),
    ]
}

/// Compares both testers on the same LUN of a tgt on this machine, which has its own CPU.
fn lun(
    name: &str,
    load: &Load,
    goals: RemoteGoals,
    place: &BenchFolders,
    options: &Options,
) -> anyhow::Result<Vec<Row>> {
    let Some(fio) = with_engine(options.fio_iscsi.as_deref(), "libiscsi")? else { return Ok(Vec::new()) };
    let tgt = servers::lun(options.size_mib)?;
    let address = servers::lun_address(&tgt);
    let path = PathBuf::from(&address);
    let mut pairs = Vec::new();
    for _ in 0..options.rounds {
        let ours = assay_run(place, load, &path, options, options.seconds)?;
        pairs.push((ours, fio_lun(fio, load, &address, options)?));
    }
    Ok(rows_of(name, &pairs, [goals.iops, goals.cpu, Goal::None]))
}

/// Returns the fio to compare with, or says why there is none: Debian's has neither engine.
fn with_engine<'o>(fio: Option<&'o Path>, engine: &str) -> anyhow::Result<Option<&'o Path>> {
    let option = if engine == "nfs" { "--fio-nfs" } else { "--fio-iscsi" };
    match fio {
        None => {
            eprintln!(
                "  fio is left out: name one that has the engine {engine} with FIO=PATH or {option} PATH"
            );
            Ok(None)
        }
        Some(fio) if has_engine(fio, engine)? => Ok(Some(fio)),
        Some(fio) => {
            let (fio, library) = (fio.display(), if engine == "nfs" { "libnfs" } else { "libiscsi" });
            eprintln!(
                "  fio is left out: {fio} has no engine {engine}; build it with --enable-{library} where \
                 {library}-dev is installed"
            );
            Ok(None)
        }
    }
}

/// Compares both testers, and a bare socket that moves the same bytes, on a target that waits for each of them.
fn lean(
    name: &str,
    load: &Load,
    goals: LeanGoals,
    place: &BenchFolders,
    options: &Options,
) -> anyhow::Result<Vec<Row>> {
    let fio = with_engine(options.fio_iscsi.as_deref(), "libiscsi")?;
    // A copy from memory to the socket is the largest cost of the target: this fits into a cache.
    let options = &Options { size_mib: 4, ..options.clone() };
    let target = servers::lean(options.size_mib)?;
    let address = servers::lean_address(&target);
    let path = PathBuf::from(&address);
    let idle_share = |run: &mut dyn FnMut() -> anyhow::Result<Measured>| {
        let before = target.work();
        let measured = run()?;
        let after = target.work();
        let waited_ns = (after.waited_ns - before.waited_ns) as f64;
        let commands = (after.commands - before.commands) as f64;
        Ok::<_, anyhow::Error>((waited_ns / commands * measured.iops / 1e9, measured))
    };
    let (mut with_fio, mut with_bare) = (Vec::new(), Vec::new());
    for _ in 0..options.rounds {
        let ours = idle_share(&mut || assay_run(place, load, &path, options, options.seconds))?;
        if let Some(fio) = fio {
            with_fio.push((ours, idle_share(&mut || fio_lun(fio, load, &address, options))?));
        }
        with_bare.push((ours, idle_share(&mut || bare_run(&target.portal, load, options))?));
    }
    let row = |what, of: fn(&(f64, Measured)) -> f64, pairs: &[_], goal| {
        let pairs: Vec<_> = pairs.iter().map(|(ours, other)| (of(ours), of(other))).collect();
        (!pairs.is_empty()).then(|| Row::new(name, what, &pairs, goal))
    };
    let rows = [
        row("IOPS per core", |m| 1e6 / m.1.cpu_us_per_io, &with_fio, goals.iops),
        row("IOPS on one CPU", |m| m.1.iops, &with_fio, Goal::None),
        row("CPU us per I/O", |m| m.1.cpu_us_per_io, &with_fio, goals.cpu),
        row("p50 us", |m| m.1.p50_us, &with_fio, Goal::None),
        row("target idle, share", |m| m.0, &with_fio, Goal::None),
        row("IOPS, bare socket", |m| m.1.iops, &with_bare, Goal::None),
        row("CPU us, bare socket", |m| m.1.cpu_us_per_io, &with_bare, goals.bare),
        row("idle, bare socket", |m| m.0, &with_bare, Goal::None),
    ];
    Ok(rows.into_iter().flatten().collect())
}

/// Compares both testers over NFS. Each has its own file with the same data on an nfs-ganesha on this machine, which
/// has its own CPU: a file that fio has written to is no longer Assay's own, and would be filled again each time.
fn nfs(
    name: &str,
    load: &Load,
    goals: RemoteGoals,
    place: &BenchFolders,
    options: &Options,
) -> anyhow::Result<Vec<Row>> {
    let Some(fio) = with_engine(options.fio_nfs.as_deref(), "nfs")? else { return Ok(Vec::new()) };
    let server = servers::nfs()?;
    let path = servers::ours(&server);
    assay_run(place, load, &path, options, 2).context("cannot prepare the file over NFS")?;
    servers::copy(&server)?;
    let mut pairs = Vec::new();
    for _ in 0..options.rounds {
        let ours = assay_run(place, load, &path, options, options.seconds)?;
        pairs.push((ours, fio_nfs(fio, load, servers::theirs(&server), options)?));
    }
    Ok(rows_of(name, &pairs, [goals.iops, goals.cpu, Goal::None]))
}

/// Measures memory beyond the buffers, at 4 workers of 128.
fn memory(place: &BenchFolders, options: &Options) -> anyhow::Result<Vec<Row>> {
    let path = PathBuf::from(format!("/dev/shm/assay-bench-{}.dat", std::process::id()));
    let mib = assay_memory_mib(place, &path, options);
    let _ = std::fs::remove_file(&path);
    let pairs = [(mib?, f64::NAN)];
    Ok(vec![Row::new("memory QD128 x 4", "MiB beyond buffers", &pairs, Goal::OursBelow(64.0))])
}
