//! Where it happened, as data: facts read once, samples taken each second. The room `host` fills these in.

use assay_spec::Engine;
use serde::{Deserialize, Serialize};

use crate::connection::{LunFacts, PathFacts};
use crate::path::{LinkSample, TcpSample};

/// The machine that issued the I/O.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct HostFacts {
    /// Its name.
    pub name: String,
    /// Operating system, from os-release: `Debian GNU/Linux 12 (bookworm)`.
    pub os: String,
    /// Kernel release: `6.18.1`.
    pub kernel: String,
    /// CPU model as the kernel names it.
    pub cpu_model: String,
    /// CPUs this process may run on. At least 1.
    pub cpus: u32,
    /// CPUs of the machine that are online.
    pub cpus_online: u32,
    /// CPU time this process may use per second, in CPUs, where a cgroup limits it.
    pub cgroup_cpus: Option<f64>,
    /// Memory of the machine, bytes.
    pub memory_bytes: u64,
    /// Memory this process may use, bytes, where a cgroup limits it.
    pub cgroup_memory_bytes: Option<u64>,
    /// The kernel's clock source: `tsc` is exact and cheap, others make every time stamp dear.
    pub clocksource: String,
    /// The hypervisor, where the machine is virtual.
    pub hypervisor: Option<String>,
    /// CPU frequency governor, where the kernel shows one.
    pub governor: Option<String>,
}

/// A target as it was when the run began.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TargetFacts {
    /// As written on the command line.
    pub address: String,
    /// What I/O really goes to.
    pub member: MemberFacts,
}

/// One file or device.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct MemberFacts {
    /// The file or device node; empty for the null target.
    pub path: String,
    /// What it is.
    pub kind: MemberKind,
    /// How large it is, bytes.
    pub capacity_bytes: u64,
    /// How much of it is used, from its start, bytes.
    pub span_bytes: u64,
    /// The smallest direct I/O and its alignment, bytes.
    pub block_bytes: u32,
    /// How I/O is issued.
    pub engine: Engine,
    /// Whether I/O goes past the page cache.
    pub direct: bool,
    /// Whether each write waits until it is durable (O_DSYNC).
    pub sync: bool,
    /// Where the bytes in it come from.
    pub content: Content,
    /// Bytes in the span that were never written (holes and unwritten extents) when the run began; `None` where
    /// the file system does not report them.
    pub unwritten_bytes: Option<u64>,
    /// Extents of the file in the span, where the file system reports them.
    pub extents: Option<u64>,
    /// Where it lies on its device; `None` where that is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub placement: Option<Placement>,
    /// The file system the file is on.
    pub filesystem: Option<FilesystemFacts>,
    /// The block device under it (the first, where there are several).
    pub device: Option<DeviceFacts>,
    /// The LUN it is, where it is reached over iSCSI.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lun: Option<Box<LunFacts>>,
    /// The file on a server it is, where it is reached over NFS by ourselves.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nfs: Option<Box<crate::NfsFacts>>,
}

impl MemberFacts {
    /// The ways to it over a network; none of what is reached without one.
    #[must_use]
    pub fn paths(&self) -> &[PathFacts] {
        match (&self.lun, &self.nfs) {
            (Some(lun), _) => &lun.paths,
            (None, Some(nfs)) => &nfs.paths,
            (None, None) => &[],
        }
    }
}

/// Where the used part of a member lies on the whole disk or LUN, partitions counted in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Placement {
    /// First byte, from the start of the disk.
    pub first_bytes: u64,
    /// First byte after the last.
    pub end_bytes: u64,
    /// Stretches that do not follow each other. At least 1.
    pub pieces: u64,
    /// Size of the disk, bytes.
    pub device_bytes: u64,
}

/// What a member is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MemberKind {
    /// A regular file.
    #[default]
    File,
    /// A block device.
    Device,
    /// Nothing: I/O completes at once.
    Null,
    /// An array that does not exist, simulated in real time.
    Simulated,
    /// A logical unit over iSCSI.
    Lun,
    /// A file on an NFS server, reached by ourselves.
    Nfs,
}

/// Where the bytes in a member come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Content {
    /// Written by Assay for this run.
    Prepared,
    /// Written by Assay for an earlier run by the same recipe.
    Reused,
    /// Somebody else's: only read, unless `--overwrite` names it.
    #[default]
    Foreign,
    /// There is no content.
    None,
}

/// A mounted file system.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct FilesystemFacts {
    /// `ext4`, `xfs`, `nfs4`, …
    pub kind: String,
    /// What is mounted: a device, a dataset, `server:/export`.
    pub source: String,
    /// Where it is mounted.
    pub mount_point: String,
    /// Mount options, as the kernel lists them.
    pub options: String,
    /// Size, bytes.
    pub size_bytes: u64,
    /// Free for this user, bytes.
    pub free_bytes: u64,
}

/// A block device.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct DeviceFacts {
    /// Kernel name: `sda`, `nvme0n1`.
    pub name: String,
    /// Vendor and model; empty where it has none.
    pub model: String,
    /// Serial number, where it has one.
    pub serial: Option<String>,
    /// World-wide identifier (WWID, EUI, NAA), where it has one.
    pub wwid: Option<String>,
    /// Whether it is said to rotate.
    pub rotational: bool,
    /// I/O scheduler in use; empty where there is none.
    pub scheduler: String,
    /// `write back` or `write through`.
    pub write_cache: String,
    /// Size, bytes.
    pub size_bytes: u64,
    /// Logical block, bytes.
    pub logical_block_bytes: u32,
    /// Physical block, bytes.
    pub physical_block_bytes: u32,
    /// Requests the device queue holds.
    pub queue_requests: u32,
    /// Kernel names of this device and every device below it, as they appear in /proc/diskstats.
    pub stack: Vec<String>,
}

/// What the host did in about one second.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct HostSample {
    /// End of the sample, ns since the run began.
    pub at_ns: u64,
    /// Length of the sample, ns.
    pub length_ns: u64,
    /// Share of CPU time in use, mean over all CPUs. In [0, 1].
    pub cpu_busy: f64,
    /// The same of the busiest CPU. In [0, 1].
    pub cpu_busy_max: f64,
    /// Share of CPU time the hypervisor gave to others. In [0, 1].
    pub cpu_steal: f64,
    /// CPU time of this process, ns (user and system, all threads).
    pub tester_cpu_ns: u64,
    /// How late the tester's own timers fired, mean, ns. Virtual CPUs that idle are woken late.
    pub timer_late_mean_ns: u64,
    /// The latest of them, ns.
    pub timer_late_max_ns: u64,
    /// What the block devices under the targets did, by anybody.
    pub disks: Vec<DiskSample>,
    /// What the TCP connections of this process to the targets did.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tcp: Vec<TcpSample>,
    /// What the network interfaces under the targets counted, for the whole host.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub links: Vec<LinkSample>,
}

/// What a block device did during a sample, by anybody.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct DiskSample {
    /// Kernel name.
    pub device: String,
    /// Completed reads.
    pub reads: u64,
    /// Completed writes.
    pub writes: u64,
    /// Bytes read.
    pub read_bytes: u64,
    /// Bytes written.
    pub write_bytes: u64,
    /// Time with at least one request in the queue, ms.
    pub busy_ms: u64,
    /// Time of all requests in the queue added up, ms: over the length of the sample, the mean queue depth. `None` in
    /// records of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queued_ms: Option<u64>,
}
