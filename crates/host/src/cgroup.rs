//! Limits of this process's control groups, version 1 and 2, including those of all groups above.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use crate::machine::{Machine, attribute, number};
use crate::mounts::{Mount, mounts};

/// Limits; `None` for no limit.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct Limits {
    /// CPU time per second, in CPUs.
    pub(crate) cpus: Option<f64>,
    /// Memory, bytes.
    pub(crate) memory_bytes: Option<u64>,
}

/// Version 1 expresses "no limit" as the largest page count that fits; no real limit comes near 2^60 bytes.
const V1_UNLIMITED_BYTES: u64 = 1 << 60;

pub(crate) fn limits(machine: &Machine) -> Limits {
    let at = own_folders(machine);
    at.iter().map(|folder| limits_at(folder)).fold(Limits::default(), Limits::tightened)
}

/// Returns the directories of this process's groups and of all groups above them that it can see.
pub(crate) fn own_folders(machine: &Machine) -> Vec<PathBuf> {
    chains(machine).into_iter().flatten().collect()
}

/// Returns the directories of this process's groups alone.
pub(crate) fn own_groups(machine: &Machine) -> Vec<PathBuf> {
    chains(machine).into_iter().filter_map(|chain| chain.into_iter().next()).collect()
}

/// For each hierarchy the directory of this process's group, then those above it.
fn chains(machine: &Machine) -> Vec<Vec<PathBuf>> {
    let membership = machine.text("/proc/self/cgroup").unwrap_or_default();
    let mounts = mounts(machine).unwrap_or_default();
    let of_line = |line: &str| {
        // `4:memory:/path` in version 1, `0::/path` in version 2.
        let mut fields = line.splitn(3, ':').skip(1);
        let (controllers, path) = (fields.next()?, fields.next()?);
        Some(folders(machine, &mounts, controllers, path))
    };
    membership.lines().filter_map(of_line).collect()
}

impl Limits {
    fn tightened(self, other: Self) -> Self {
        let cpus = [self.cpus, other.cpus].into_iter().flatten().reduce(f64::min);
        let memory_bytes = [self.memory_bytes, other.memory_bytes].into_iter().flatten().min();
        Self { cpus, memory_bytes }
    }
}

/// Returns the directories of the group and of every group above it that this process can see.
fn folders(machine: &Machine, mounts: &[Mount], controllers: &str, path: &str) -> Vec<PathBuf> {
    let serves = |mount: &&Mount| match controllers {
        "" => mount.kind == "cgroup2",
        _ => {
            mount.kind == "cgroup" && controllers.split(',').all(|c| mount.options.split(',').any(|o| o == c))
        }
    };
    let Some(mount) = mounts.iter().find(serves) else { return Vec::new() };
    // In a container the mount shows only a part of the tree; a group outside of it is the mount's own root.
    let below = Path::new(path).strip_prefix(&mount.root).unwrap_or(Path::new(""));
    let top = machine.path(&mount.mount_point);
    below.ancestors().map(|part| top.join(part)).collect()
}

/// How often a control group was stopped for its limit on CPU time, and for how long, all its CPUs together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stops {
    pub(crate) times: u64,
    pub(crate) us: u64,
}

impl Stops {
    /// Those of a group that counts them, and the file that says so.
    pub(crate) fn of(folder: &Path) -> Option<(Self, PathBuf)> {
        let file = folder.join("cpu.stat");
        let text = attribute(&file)?;
        let value = |key: &str| -> Option<u64> {
            text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(' ')?.trim().parse().ok())
        };
        let us = value("throttled_usec").or_else(|| Some(value("throttled_time")? / 1000))?;
        Some((Self { times: value("nr_throttled")?, us }, file))
    }
}

/// Returns how long this process's groups, and those above them, were stopped so far, one number for each that counts
/// it. Which these are is looked up once: the question is asked within a measurement.
pub(crate) fn stopped_us() -> Vec<u64> {
    static COUNTING: OnceLock<Vec<PathBuf>> = OnceLock::new();
    let counting = COUNTING.get_or_init(|| {
        own_folders(&Machine::this()).into_iter().filter(|folder| Stops::of(folder).is_some()).collect()
    });
    counting.iter().map(|folder| Stops::of(folder).map_or(0, |(stops, _)| stops.us)).collect()
}

fn limits_at(folder: &Path) -> Limits {
    let v2_cpus = attribute(&folder.join("cpu.max")).and_then(|text| {
        let (quota, period) = text.split_once(' ')?;
        Some(quota.parse::<f64>().ok()? / period.parse::<f64>().ok()?)
    });
    let v1_cpus = || {
        let quota_us: f64 = number(&folder.join("cpu.cfs_quota_us"))?;
        let period_us: f64 = number(&folder.join("cpu.cfs_period_us"))?;
        (quota_us > 0.0).then_some(quota_us / period_us)
    };
    let v1_bytes =
        || number::<u64>(&folder.join("memory.limit_in_bytes")).filter(|bytes| *bytes < V1_UNLIMITED_BYTES);
    Limits {
        cpus: v2_cpus.or_else(v1_cpus).filter(|cpus| cpus.is_finite() && *cpus > 0.0),
        memory_bytes: number(&folder.join("memory.max")).or_else(v1_bytes),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn check(files: &[(&str, &str)], expected: Limits) {
        let root = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        assert_eq!(limits(&Machine::captured(root.path())), expected, "{files:?}");
    }

    const V2: (&str, &str) =
        ("proc/self/mountinfo", "30 20 0:28 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw,nsdelegate\n");
    const V1: (&str, &str) = (
        "proc/self/mountinfo",
        "32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n\
         35 31 0:32 /docker/ab /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n",
    );

    #[test]
    fn the_tightest_limit_of_all_groups_applies() {
        check(
            &[
                V2,
                ("proc/self/cgroup", "0::/user.slice/run.scope\n"),
                ("sys/fs/cgroup/user.slice/cpu.max", "150000 100000\n"),
                ("sys/fs/cgroup/user.slice/memory.max", "max\n"),
                ("sys/fs/cgroup/user.slice/run.scope/cpu.max", "max 100000\n"),
                ("sys/fs/cgroup/user.slice/run.scope/memory.max", "1073741824\n"),
            ],
            Limits { cpus: Some(1.5), memory_bytes: Some(1 << 30) },
        );
    }

    #[test]
    fn version_1_controllers_have_their_own_directories() {
        check(
            &[
                V1,
                ("proc/self/cgroup", "5:cpu,cpuacct:/\n4:memory:/docker/ab\n"),
                ("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "200000\n"),
                ("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n"),
                ("sys/fs/cgroup/memory/memory.limit_in_bytes", "536870912\n"),
            ],
            Limits { cpus: Some(2.0), memory_bytes: Some(512 << 20) },
        );
    }

    #[test]
    fn no_limit_is_reported_as_none() {
        check(
            &[
                V1,
                ("proc/self/cgroup", "5:cpu,cpuacct:/\n4:memory:/docker/ab\n"),
                ("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "-1\n"),
                ("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n"),
                ("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n"),
            ],
            Limits::default(),
        );
        check(&[], Limits::default());
    }
}
