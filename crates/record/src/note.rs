//! What the kernel shows of the way to a device: limits and states that a load will meet, quoted.

use serde::{Deserialize, Serialize};

/// What a note is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NoteKind {
    /// A limit of this process's control group, or one above it.
    IoLimit,
    /// A software RAID that lacks a member.
    RaidDegraded,
    /// A software RAID that is rebuilt, checked or reshaped.
    RaidBusy,
    /// A disk that takes one command at a time.
    OneCommand,
    /// A PCIe link that is slower or narrower than both of its ends can.
    NarrowLink,
    /// A SATA port that the kernel has slowed down after errors.
    SlowedSata,
    /// A device that this host encrypts.
    Encrypted,
    /// A thin volume.
    Thin,
    /// Control groups that share a device by latency or by cost.
    IoShare,
    /// A limit on this process's CPU time.
    CpuQuota,
    /// Processes that wait for memory.
    MemoryPressure,
    /// A queue of few requests.
    SmallQueue,
    /// An I/O scheduler that costs more than it gives.
    Scheduler,
    /// Writes from the page cache that the kernel holds back for the sake of reads.
    WriteThrottle,
    /// A disk whose write cache is off.
    WriteCacheOff,
    /// A drive or its link that saves power when idle.
    DriveSleeps,
    /// A drive at its temperature limit.
    HotDrive,
    /// A drive that counts errors, lacks spare blocks, is worn, or says that it fails.
    DriveHealth,
    /// A drive that was too hot at times.
    DriveWasHot,
    /// A drive with a volatile cache that takes no FUA.
    NoFua,
    /// A file system that scrubs, balances or replaces a device.
    BackgroundWork,
    /// CPUs that are kept below their highest frequency.
    SlowCpu,
    /// CPUs whose idle states take long to leave.
    CpuSleeps,
    /// Mount options that cost I/O.
    MountOptions,
    /// A file system in user space.
    Fuse,
    /// One that this version does not know.
    #[serde(other)]
    Other,
}

/// A limit or a state that stands in a file of the kernel.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HostNote {
    /// What it is about.
    pub kind: NoteKind,
    /// The file.
    pub path: String,
    /// What stands in it.
    pub value: String,
    /// What that means for a load; a clause without a capital.
    pub says: String,
    /// The command or change that mends it; a sentence.
    pub mend: String,
    /// The limit as a number, if it is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<IoLimit>,
}

/// A limit on the I/O of a device.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct IoLimit {
    /// Whether it holds for reads; else for writes.
    pub is_read: bool,
    /// Whether it counts bytes; else operations.
    pub is_bytes: bool,
    /// Operations or bytes per second.
    pub per_s: f64,
}
