//! Systems that predictions are wrong about in the same way.

use serde::Serialize;

use crate::array::{Array, Device, LinkRate, ProtocolKind, SoftwareName, VirtualDisk};
use crate::catalogue::cloud;
use crate::demand::ResourceKind;
use crate::quantity::Provenance;
use crate::workload::Workload;

/// Systems that are wrong in the same way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub enum Family {
    /// One rotating disk.
    Disk,
    /// Several rotating disks without software of a name.
    Disks,
    /// Linux md.
    Md,
    /// ZFS.
    Zfs,
    /// SSDs with SATA or SAS.
    SataSsd,
    /// NVMe drives.
    Nvme,
    /// Storage of another machine.
    Remote,
}

impl Family {
    /// Every family, in the order of the document.
    pub const ALL: [Self; 7] =
        [Self::Disk, Self::Disks, Self::Md, Self::Zfs, Self::SataSsd, Self::Nvme, Self::Remote];

    /// What it is called.
    #[must_use]
    pub fn says(self) -> &'static str {
        match self {
            Self::Disk => "one disk",
            Self::Disks => "several disks",
            Self::Md => "Linux md",
            Self::Zfs => "ZFS",
            Self::SataSsd => "SATA and SAS SSDs",
            Self::Nvme => "NVMe drives",
            Self::Remote => "over a network",
        }
    }

    /// The family of an array.
    #[must_use]
    pub(crate) fn of(array: &Array) -> Self {
        let is_pcie = |rate| matches!(rate, LinkRate::Pcie { .. });
        match (array.software(), &array.device) {
            _ if array.protocol.kind != ProtocolKind::Local => Self::Remote,
            (_, Device::Ssd(ssd)) if cloud::is_volume(&ssd.model) => Self::Remote,
            (SoftwareName::Md, _) => Self::Md,
            (SoftwareName::Zfs, _) => Self::Zfs,
            (_, Device::Ssd(ssd)) if is_pcie(ssd.link) || is_pcie(array.link.rate) => Self::Nvme,
            (_, Device::Ssd(_)) => Self::SataSsd,
            (_, Device::Hdd(_)) if array.raid.disks.value > 1.0 => Self::Disks,
            (_, Device::Hdd(_)) => Self::Disk,
        }
    }
}

/// What most of a load is, or the link that limits it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Load {
    Link,
    RandomReads,
    RandomWrites,
    Streams,
}

/// Loads of a family that are predicted about as well as each other: how far a drive is from its sheet is known better
/// for streams than for random writes, and of a drive without a sheet another way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Group {
    family: Family,
    load: Load,
    /// Whether the time of an I/O limits, and no resource.
    is_latency: bool,
    /// Whether the class of the drives answers for their sheet.
    pub(crate) is_class: bool,
}

impl Group {
    /// The group of a load; `None` behind a virtual disk, of which too little is known.
    pub(crate) fn of(array: &Array, workload: &Workload, limit: ResourceKind) -> Option<Self> {
        let figure = match &array.device {
            Device::Ssd(ssd) => &ssd.read_iops_max,
            Device::Hdd(hdd) => &hdd.outer_mb_s,
        };
        let part = |pct: fn(&crate::workload::Access) -> f64| {
            let weight: f64 = workload.mix.iter().map(|a| a.weight).sum();
            workload.mix.iter().map(|a| a.weight * pct(a)).sum::<f64>() / weight
        };
        let load = match limit {
            ResourceKind::LinkRead | ResourceKind::LinkWrite => Load::Link,
            _ if part(|a| a.random_pct) < 50.0 => Load::Streams,
            _ if part(|a| a.read_pct) < 50.0 => Load::RandomWrites,
            _ => Load::RandomReads,
        };
        (array.guest.disk == VirtualDisk::None).then_some(Self {
            family: Family::of(array),
            load,
            is_latency: limit == ResourceKind::Latency,
            is_class: matches!(figure.from, Provenance::Assumed(_)),
        })
    }

    /// What it is called.
    #[must_use]
    pub(crate) fn says(self) -> String {
        let load = match self.load {
            Load::Link => "at a link",
            Load::RandomReads => "random reads",
            Load::RandomWrites => "random writes",
            Load::Streams => "streams",
        };
        let latency = if self.is_latency { ", latency" } else { "" };
        let class = if self.is_class { ", by class" } else { "" };
        format!("{}: {load}{latency}{class}", self.family.says())
    }
}
