//! Facts about the host, read once, and samples taken each second, as data. The room `host` provides them.

use assay_spec::Engine;
use serde::{Deserialize, Serialize};

use crate::connection::{LunFacts, PathFacts};
use crate::note::HostNote;
use crate::path::{LinkSample, TcpSample};

/// The machine that issued the I/O.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct HostFacts {
    /// Host name.
    pub name: String,
    /// Operating system, from os-release: `Debian GNU/Linux 12 (bookworm)`.
    pub os: String,
    /// Kernel release: `6.18.1`.
    pub kernel: String,
    /// CPU model as the kernel names it.
    pub cpu_model: String,
    /// Number of CPUs that this process may run on. At least 1.
    pub cpus: u32,
    /// Number of CPUs of the machine that are online.
    pub cpus_online: u32,
    /// CPU time that this process may use per second, in CPUs, if a cgroup limits it.
    pub cgroup_cpus: Option<f64>,
    /// Memory of the machine, bytes.
    pub memory_bytes: u64,
    /// Memory that this process may use, bytes, if a cgroup limits it.
    pub cgroup_memory_bytes: Option<u64>,
    /// The kernel's clock source: `tsc` is exact and cheap; others make every time stamp expensive.
    pub clocksource: String,
    /// The hypervisor, if the machine is virtual.
    pub hypervisor: Option<String>,
    /// CPU frequency governor, if the kernel shows one.
    pub governor: Option<String>,
    /// Whether its wall clock is kept right; `None` if the kernel was not asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clock: Option<ClockState>,
    /// Limits and states of the host that the kernel shows.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<HostNote>,
}

/// How the wall clock of a host is kept right.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ClockState {
    /// Whether a program that steers the clock tells the kernel that it is right.
    pub is_synchronized: bool,
    /// Largest error that this program states, µs; `None` where it is not synchronized.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_max_us: Option<u64>,
    /// Programs that can steer the clock and are running: `chronyd`, `systemd-timesyncd`, `ptp4l`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub kept_by: Vec<String>,
}

impl ClockState {
    /// Returns the state in words that follow "its clock is".
    pub fn words(&self) -> String {
        let by = match self.kept_by.as_slice() {
            [] => String::new(),
            names => format!(" ({})", names.join(", ")),
        };
        match (self.is_synchronized, self.error_max_us) {
            (true, Some(error)) => format!("synchronized to {:.1} ms{by}", error as f64 / 1e3),
            (true, None) => format!("synchronized{by}"),
            (false, _) => format!("not synchronized{by}"),
        }
    }
}

/// A target as found at the start of the run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TargetFacts {
    /// As written on the command line.
    pub address: String,
    /// The member that serves the I/O.
    pub member: MemberFacts,
}

/// One file or device.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct MemberFacts {
    /// The file or device node; empty for the null target.
    pub path: String,
    /// Kind.
    pub kind: MemberKind,
    /// Size, bytes.
    pub capacity_bytes: u64,
    /// Size of the used part, from its start, bytes.
    pub span_bytes: u64,
    /// The smallest direct I/O and its alignment, bytes.
    pub block_bytes: u32,
    /// I/O engine.
    pub engine: Engine,
    /// True if I/O bypasses the page cache.
    pub direct: bool,
    /// True if each write waits until it is durable (O_DSYNC).
    pub sync: bool,
    /// Origin of its content.
    pub content: Content,
    /// Number of bytes in the span that were never written (holes and unwritten extents) when the run began; `None` if
    /// the file system does not report them.
    pub unwritten_bytes: Option<u64>,
    /// Share of the blocks of a device, read at 64 places of the span before the run, that held only zeros; `None`
    /// where none were read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub zeros: Option<f64>,
    /// Number of pieces in which the span of the file lies on its device; `None` where that is unknown. Earlier
    /// versions counted extents, of which several may lie one behind the other.
    pub extents: Option<u64>,
    /// Position on its device; `None` if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub placement: Option<Placement>,
    /// The file system of the file.
    pub filesystem: Option<FilesystemFacts>,
    /// The block device under it (the first of several).
    pub device: Option<DeviceFacts>,
    /// Facts about the LUN, for a member over iSCSI.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lun: Option<Box<LunFacts>>,
    /// Facts about the file on the server, for a member that Assay accesses over NFS.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nfs: Option<Box<crate::NfsFacts>>,
}

impl MemberFacts {
    /// Returns the network paths to it; empty for a local member.
    pub fn paths(&self) -> &[PathFacts] {
        match (&self.lun, &self.nfs) {
            (Some(lun), _) => &lun.paths,
            (None, Some(nfs)) => &nfs.paths,
            (None, None) => &[],
        }
    }
}

/// Position of the used part of a member on the whole disk or LUN, including partition offsets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Placement {
    /// First byte, from the start of the disk.
    pub first_bytes: u64,
    /// First byte after the last.
    pub end_bytes: u64,
    /// Number of pieces that are not adjacent. At least 1.
    pub pieces: u64,
    /// Size of the disk, bytes.
    pub device_bytes: u64,
}

/// Kind of a member.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MemberKind {
    /// A regular file.
    #[default]
    File,
    /// A block device.
    Device,
    /// The null target: I/O completes at once.
    Null,
    /// A simulated array, in real time.
    Simulated,
    /// A logical unit over iSCSI.
    Lun,
    /// A file on an NFS server, accessed by Assay's own client.
    Nfs,
}

/// Origin of a member's content.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Content {
    /// Written by Assay for this run.
    Prepared,
    /// Written by Assay for an earlier run with the same kind of data.
    Reused,
    /// Foreign data: only read, unless `--overwrite` names it.
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
    /// Mounted source: a device, a dataset, `server:/export`.
    pub source: String,
    /// Mount point.
    pub mount_point: String,
    /// Mount options, as the kernel lists them.
    pub options: String,
    /// Size, bytes.
    pub size_bytes: u64,
    /// Free for this user, bytes.
    pub free_bytes: u64,
    /// What its kind and its options cost.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<HostNote>,
}

impl FilesystemFacts {
    /// Returns the bytes that are free for this user; `None` where the file system does not say: some in user space
    /// have no size at all.
    pub fn free(&self) -> Option<u64> {
        (self.size_bytes > 0).then_some(self.free_bytes)
    }

    /// Returns true for the kind of a file system that a server holds: its memory answers too, and a server that is
    /// gone is waited for.
    pub fn is_of_a_server(kind: &str) -> bool {
        ["nfs", "nfs4", "cifs", "smb3", "9p", "ceph", "afs", "lustre", "beegfs", "gpfs"].contains(&kind)
    }
}

/// A block device.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct DeviceFacts {
    /// Kernel name: `sda`, `nvme0n1`.
    pub name: String,
    /// Vendor and model; empty if unknown.
    pub model: String,
    /// Serial number, if any.
    pub serial: Option<String>,
    /// World-wide identifier (WWID, EUI, NAA), if any.
    pub wwid: Option<String>,
    /// True if it is reported as rotating.
    pub rotational: bool,
    /// I/O scheduler in use; empty if none.
    pub scheduler: String,
    /// `write back` or `write through`.
    pub write_cache: String,
    /// Size, bytes.
    pub size_bytes: u64,
    /// Logical block, bytes.
    pub logical_block_bytes: u32,
    /// Physical block, bytes.
    pub physical_block_bytes: u32,
    /// Number of requests that the device queue holds.
    pub queue_requests: u32,
    /// Kernel names of this device and every device below it, as they appear in /proc/diskstats.
    pub stack: Vec<String>,
    /// Whether all of it is memory of this host: disks in memory, loop devices of files in one.
    #[serde(default, skip_serializing_if = "is_false")]
    pub is_in_memory: bool,
    /// Bytes by which a partition or a loop device below begins after a multiple of 4 KiB; 0 if none does.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub shifted_bytes: u32,
    /// Interface or bus of the disk, if there is one disk below and its speed is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bus: Option<BusFacts>,
    /// Limits and states that the kernel shows of it and of the devices below it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<HostNote>,
    /// The drives below it and how they are combined, as far as sysfs shows; `None` in runs of older versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub layout: Option<LayoutFacts>,
}

/// The drives below a device and what combines them.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct LayoutFacts {
    /// What maps it to its drives, from the top: `lvm`, `crypt`, `multipath`, `md`, `btrfs`, `loop`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub software: Vec<String>,
    /// The level of what combines several drives, in its own word: `raid5`, `raid10`; `None` if nothing says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub level: Option<String>,
    /// Its stripe unit, bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chunk_bytes: Option<u64>,
    /// Number of drives that it should have, where it says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub members: Option<u32>,
    /// Number of its drives that are missing or failed.
    #[serde(default)]
    pub failed: u32,
    /// The slot of the one adapter that all of them are behind: `PCIe3x8`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slot: Option<String>,
    /// The drives, by name.
    pub drives: Vec<DriveFacts>,
}

/// A drive as the host sees it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct DriveFacts {
    /// Kernel name.
    pub name: String,
    /// Vendor and model; empty if unknown.
    pub model: String,
    /// Whether it is reported as rotating.
    pub rotational: bool,
    /// Size, bytes.
    pub size_bytes: u64,
    /// Its link as an array file names it: `SATA3`, `SAS12`, `PCIe4x4`, `USB3`; empty if unknown.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub link: String,
    /// Whether it is a SATA drive behind a SAS adapter.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub tunnelled: bool,
    /// Whether its write cache is on, if it says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub write_cache: Option<bool>,
    /// Part of it that the device is on, bytes; the whole drive where it is not partitioned.
    #[serde(default)]
    pub used_bytes: u64,
}

/// The interface or bus of a disk.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct BusFacts {
    /// Kind and negotiated speed: `SATA at 6.0 Gbit/s`.
    pub says: String,
    /// Data that it carries, MB/s.
    pub mb_per_s: u32,
    /// Whether it carries as much in each direction at the same time: PCIe and USB 3, not SATA and USB 2.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub full_duplex: bool,
}

impl BusFacts {
    /// Returns how much of what it carries a load takes, 0 to 1.
    pub fn share(&self, read_mb_per_s: f64, write_mb_per_s: f64) -> f64 {
        let fuller =
            if self.full_duplex { read_mb_per_s.max(write_mb_per_s) } else { read_mb_per_s + write_mb_per_s };
        fuller / f64::from(self.mb_per_s.max(1))
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks by reference")]
fn is_false(value: &bool) -> bool {
    !*value
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks by reference")]
fn is_zero(bytes: &u32) -> bool {
    *bytes == 0
}

/// Sample of the host over about one second.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct HostSample {
    /// Name of the host, in a run of several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
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
    /// Mean lateness of the tester's own timers, ns. Idle virtual CPUs are woken late.
    pub timer_late_mean_ns: u64,
    /// Largest lateness, ns.
    pub timer_late_max_ns: u64,
    /// Bytes that the kernel moved between memory and swap; `None` where it has none, and in records of earlier
    /// versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub swap_bytes: Option<u64>,
    /// I/O of the block devices under the targets, by all processes.
    pub disks: Vec<DiskSample>,
    /// Samples of this process's TCP connections to the targets.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tcp: Vec<TcpSample>,
    /// Counters of the network interfaces under the targets, for the whole host.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub links: Vec<LinkSample>,
}

/// I/O of a block device during a sample, by all processes.
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
    /// Total time of all requests in the queue, ms; divided by the length of the sample it is the mean queue depth.
    /// `None` in records of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queued_ms: Option<u64>,
    /// What a software RAID did beside the load at the end of the sample, as the kernel's `sync_action` has it:
    /// `recover`, `resync`, `check`. `None` where it did nothing, of other devices, and in records of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sync_action: Option<String>,
}
