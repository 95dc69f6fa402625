//! Systems that predictions are wrong about in the same way.

use serde::Serialize;

use crate::array::{Array, Device, LinkRate, ProtocolKind, SoftwareName};
use crate::catalogue::cloud;

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
