//! Closed sets of words: how array files call what is one of a few.

use std::borrow::Cow;

use super::types::{
    FlashState, Level, LinkRate, PathPolicy, ProtocolKind, SoftwareName, Sorting, Submission, TierHolds,
    VirtualDisk,
};

/// A closed set of words.
pub(crate) trait Words: Sized + Copy + PartialEq + 'static {
    /// Every word with its value, in the order of messages.
    fn words() -> &'static [(&'static str, Self)];

    /// The word of a text as people write it.
    fn usual(text: &str) -> String {
        text.trim().to_ascii_lowercase()
    }

    /// The value of a text.
    fn named(text: &str) -> Option<Self> {
        let usual = Self::usual(text);
        Self::words().iter().find(|(word, _)| *word == text || *word == usual).map(|(_, value)| *value)
    }
}

impl Words for Level {
    fn words() -> &'static [(&'static str, Self)] {
        use Level::{
            Draid1, Draid2, Draid3, Raid0, Raid1, Raid5, Raid6, Raid10, Raid50, Raid60, Raidz1, Raidz2,
            Raidz3, Single,
        };
        &[
            ("single", Single),
            ("0", Raid0),
            ("1", Raid1),
            ("10", Raid10),
            ("5", Raid5),
            ("6", Raid6),
            ("50", Raid50),
            ("60", Raid60),
            ("raidz1", Raidz1),
            ("raidz2", Raidz2),
            ("raidz3", Raidz3),
            ("draid1", Draid1),
            ("draid2", Draid2),
            ("draid3", Draid3),
        ]
    }

    /// `RAID-10`, `raid 5`, `raid1+0`, `raidz`, `draid2:3d:5c:0s` (data, children and spares of ZFS are left out).
    fn usual(text: &str) -> String {
        let word = text.trim().to_ascii_lowercase().replace([' ', '-', '_', '+'], "");
        let word = word.split(':').next().unwrap_or_default();
        match word {
            "raidz" => "raidz1".to_owned(),
            "draid" => "draid1".to_owned(),
            "mirror" => "1".to_owned(),
            "stripe" | "striped" => "0".to_owned(),
            "jbod" | "none" => "single".to_owned(),
            // Two parity disks; that writes fill stripes is `target.software = "wafl"`.
            "raiddp" => "6".to_owned(),
            // Hybrid RAID of Synology: md RAID5, or RAID6 with two disks of redundancy, where all disks are alike.
            "shr" | "shr1" => "5".to_owned(),
            "shr2" => "6".to_owned(),
            "raid1e" | "1e" => "10".to_owned(),
            _ => match word.strip_prefix("raid") {
                Some(level) if level.starts_with(|c: char| c.is_ascii_digit()) => level.to_owned(),
                _ => word.to_owned(),
            },
        }
    }
}

impl Words for FlashState {
    fn words() -> &'static [(&'static str, Self)] {
        &[("fresh", Self::Fresh), ("steady", Self::Steady), ("unknown", Self::Unknown)]
    }
}

impl Words for Sorting {
    fn words() -> &'static [(&'static str, Self)] {
        &[("position", Self::Position), ("seek", Self::Seek), ("unknown", Self::Unknown)]
    }
}

impl Words for ProtocolKind {
    fn words() -> &'static [(&'static str, Self)] {
        &[
            ("local", Self::Local),
            ("sas", Self::Sas),
            ("fc", Self::FibreChannel),
            ("iscsi", Self::Iscsi),
            ("nfs", Self::Nfs),
            ("smb", Self::Smb),
            ("nvme-tcp", Self::NvmeTcp),
            ("nvme-rdma", Self::NvmeRdma),
            ("fcoe", Self::Fcoe),
        ]
    }

    fn usual(text: &str) -> String {
        match text.trim().to_ascii_lowercase().as_str() {
            "cifs" | "samba" | "smb3" | "smb2" => "smb".to_owned(),
            "nvme/tcp" | "nvmeof-tcp" | "nvme-of/tcp" => "nvme-tcp".to_owned(),
            "nvme/rdma" | "nvme/roce" | "nvme-roce" | "roce" | "nvme-ib" | "iser" | "srp" => {
                "nvme-rdma".to_owned()
            }
            "nvme/fc" | "nvme-fc" | "fibrechannel" | "fibre-channel" | "fcp" => "fc".to_owned(),
            "usb" | "sata" | "pcie" | "nvme" | "direct" => "local".to_owned(),
            word => word.to_owned(),
        }
    }
}

impl Words for SoftwareName {
    fn words() -> &'static [(&'static str, Self)] {
        &[
            ("unknown", Self::Unknown),
            ("none", Self::None),
            ("lvm", Self::Lvm),
            ("md", Self::Md),
            ("zfs", Self::Zfs),
            ("wafl", Self::Wafl),
        ]
    }

    fn usual(text: &str) -> String {
        match text.trim().to_ascii_lowercase().as_str() {
            "mdadm" | "md-raid" | "mdraid" => "md".to_owned(),
            "dm" | "device-mapper" | "lvm2" => "lvm".to_owned(),
            "openzfs" => "zfs".to_owned(),
            "ontap" | "data-ontap" => "wafl".to_owned(),
            word => word.to_owned(),
        }
    }
}

impl Words for TierHolds {
    fn words() -> &'static [(&'static str, Self)] {
        &[("reads", Self::Reads), ("all", Self::All)]
    }
}

impl Words for Submission {
    fn words() -> &'static [(&'static str, Self)] {
        &[("asynchronous", Self::Asynchronous), ("synchronous", Self::Synchronous)]
    }

    fn usual(text: &str) -> String {
        match text.trim().to_ascii_lowercase().as_str() {
            "sync" => "synchronous".to_owned(),
            "async" => "asynchronous".to_owned(),
            word => word.to_owned(),
        }
    }
}

impl Words for VirtualDisk {
    fn words() -> &'static [(&'static str, Self)] {
        &[("none", Self::None), ("paravirtual", Self::Paravirtual), ("emulated", Self::Emulated)]
    }

    fn usual(text: &str) -> String {
        match text.trim().to_ascii_lowercase().as_str() {
            "virtio" | "virtio-blk" | "virtio-scsi" | "pvscsi" | "vmw_pvscsi" | "storvsc" | "hyper-v"
            | "xen" | "blkfront" => "paravirtual".to_owned(),
            "ide" | "ahci" | "sata" | "lsi" | "lsilogic" | "megasas" => "emulated".to_owned(),
            "passthrough" | "vfio" => "none".to_owned(),
            word => word.to_owned(),
        }
    }
}

impl Words for PathPolicy {
    fn words() -> &'static [(&'static str, Self)] {
        &[
            ("fixed", Self::Fixed),
            ("rr", Self::RoundRobin),
            ("least-queue", Self::LeastQueue),
            ("hash", Self::Hash),
        ]
    }

    fn usual(text: &str) -> String {
        let word = text.trim().to_ascii_lowercase();
        match word.replace([' ', '-', '_'], "").as_str() {
            "roundrobin" => "rr".to_owned(),
            // A host that uses one path until it fails.
            "mru" | "failover" | "failoveronly" => "fixed".to_owned(),
            "lqd" | "leastqueuedepth" | "queuelength" => "least-queue".to_owned(),
            "lacp" | "802.3ad" => "hash".to_owned(),
            _ => word,
        }
    }
}

/// The word of a value; every value of a set has one.
pub(crate) fn word_of<W: Words>(value: W) -> &'static str {
    W::words().iter().find(|(_, v)| *v == value).map_or("", |(word, _)| word)
}

/// A port of drives.
const fn sas(lane_gbit_s: f64, lanes: u32) -> LinkRate {
    LinkRate::Sas { lane_gbit_s, lanes }
}

/// A slot.
const fn pcie(generation: u32, lanes: u32) -> LinkRate {
    LinkRate::Pcie { generation, lanes }
}

/// What people call links besides, without blanks, hyphens and dots, and the name that is known.
const LINK_NAMES: &[(&str, &str)] = &[
    ("usb20", "USB2"),
    ("usb30", "USB3"),
    ("usb31", "USB3"),
    ("usb31gen1", "USB3"),
    ("usb32gen1", "USB3"),
    ("usb31gen2", "USB10G"),
    ("usb32", "USB10G"),
    ("usb32gen2", "USB10G"),
    ("usb32gen2x2", "USB20G"),
    ("usb4", "USB40G"),
    ("thunderbolt3", "USB40G"),
    ("thunderbolt4", "USB40G"),
    ("sata", "SATA3"),
    ("sata6", "SATA3"),
    ("sata6g", "SATA3"),
    ("sata6gb/s", "SATA3"),
    ("sataiii", "SATA3"),
    ("sataii", "SATA2"),
    ("sata3g", "SATA2"),
    ("sata3gb/s", "SATA2"),
    ("satai", "SATA1"),
    ("sata15g", "SATA1"),
    ("sas1", "SAS3"),
    ("sas2", "SAS6"),
    ("sas4", "SAS24"),
    ("sas225", "SAS24"),
    ("fc4", "4GFC"),
    ("fc8", "8GFC"),
    ("fc16", "16GFC"),
    ("fc32", "32GFC"),
    ("fc64", "64GFC"),
    ("ibqdr", "IB-QDR"),
    ("ibfdr", "IB-FDR"),
    ("ibedr", "IB-EDR"),
    ("ibhdr", "IB-HDR"),
    ("ibndr", "IB-NDR"),
    ("qdr", "IB-QDR"),
    ("fdr", "IB-FDR"),
    ("edr", "IB-EDR"),
    ("hdr", "IB-HDR"),
    ("ndr", "IB-NDR"),
];

/// Number of links that are proposed for one that is not known.
const NEAR_LINKS: usize = 4;

impl LinkRate {
    /// The link rates known by name.
    pub const NAMES: &'static [(&'static str, LinkRate)] = &[
        ("none", LinkRate::Unlimited),
        ("1GbE", LinkRate::Ethernet(1.0)),
        ("2.5GbE", LinkRate::Ethernet(2.5)),
        ("5GbE", LinkRate::Ethernet(5.0)),
        ("10GbE", LinkRate::Ethernet(10.0)),
        ("25GbE", LinkRate::Ethernet(25.0)),
        ("40GbE", LinkRate::Ethernet(40.0)),
        ("50GbE", LinkRate::Ethernet(50.0)),
        ("100GbE", LinkRate::Ethernet(100.0)),
        ("200GbE", LinkRate::Ethernet(200.0)),
        ("400GbE", LinkRate::Ethernet(400.0)),
        ("1GFC", LinkRate::FibreChannel(1)),
        ("2GFC", LinkRate::FibreChannel(2)),
        ("4GFC", LinkRate::FibreChannel(4)),
        ("8GFC", LinkRate::FibreChannel(8)),
        ("16GFC", LinkRate::FibreChannel(16)),
        ("32GFC", LinkRate::FibreChannel(32)),
        ("64GFC", LinkRate::FibreChannel(64)),
        ("128GFC", LinkRate::FibreChannel(128)),
        ("SATA1", LinkRate::Sata(1.5)),
        ("SATA2", LinkRate::Sata(3.0)),
        ("SATA3", LinkRate::Sata(6.0)),
        ("SAS3", sas(3.0, 1)),
        ("SAS3x2", sas(3.0, 2)),
        ("SAS3x4", sas(3.0, 4)),
        ("SAS3x8", sas(3.0, 8)),
        ("SAS6", sas(6.0, 1)),
        ("SAS6x2", sas(6.0, 2)),
        ("SAS6x4", sas(6.0, 4)),
        ("SAS6x8", sas(6.0, 8)),
        ("SAS12", sas(12.0, 1)),
        ("SAS12x2", sas(12.0, 2)),
        ("SAS12x4", sas(12.0, 4)),
        ("SAS12x8", sas(12.0, 8)),
        ("SAS24", sas(24.0, 1)),
        ("SAS24x2", sas(24.0, 2)),
        ("SAS24x4", sas(24.0, 4)),
        ("SAS24x8", sas(24.0, 8)),
        ("PCIe1x1", pcie(1, 1)),
        ("PCIe1x2", pcie(1, 2)),
        ("PCIe1x4", pcie(1, 4)),
        ("PCIe1x8", pcie(1, 8)),
        ("PCIe1x16", pcie(1, 16)),
        ("PCIe2x1", pcie(2, 1)),
        ("PCIe2x2", pcie(2, 2)),
        ("PCIe2x4", pcie(2, 4)),
        ("PCIe2x8", pcie(2, 8)),
        ("PCIe2x16", pcie(2, 16)),
        ("PCIe3x1", pcie(3, 1)),
        ("PCIe3x2", pcie(3, 2)),
        ("PCIe3x4", pcie(3, 4)),
        ("PCIe3x8", pcie(3, 8)),
        ("PCIe3x16", pcie(3, 16)),
        ("PCIe4x1", pcie(4, 1)),
        ("PCIe4x2", pcie(4, 2)),
        ("PCIe4x4", pcie(4, 4)),
        ("PCIe4x8", pcie(4, 8)),
        ("PCIe4x16", pcie(4, 16)),
        ("PCIe5x1", pcie(5, 1)),
        ("PCIe5x2", pcie(5, 2)),
        ("PCIe5x4", pcie(5, 4)),
        ("PCIe5x8", pcie(5, 8)),
        ("PCIe5x16", pcie(5, 16)),
        ("PCIe6x1", pcie(6, 1)),
        ("PCIe6x2", pcie(6, 2)),
        ("PCIe6x4", pcie(6, 4)),
        ("PCIe6x8", pcie(6, 8)),
        ("PCIe6x16", pcie(6, 16)),
        ("USB2", LinkRate::Usb(0.48)),
        ("USB3", LinkRate::Usb(5.0)),
        ("USB10G", LinkRate::Usb(10.0)),
        ("USB20G", LinkRate::Usb(20.0)),
        ("USB40G", LinkRate::Usb(40.0)),
        ("IB-SDR", LinkRate::InfiniBand(10.0)),
        ("IB-DDR", LinkRate::InfiniBand(20.0)),
        ("IB-QDR", LinkRate::InfiniBand(40.0)),
        ("IB-FDR", LinkRate::InfiniBand(56.0)),
        ("IB-EDR", LinkRate::InfiniBand(100.0)),
        ("IB-HDR", LinkRate::InfiniBand(200.0)),
        ("IB-NDR", LinkRate::InfiniBand(400.0)),
    ];

    /// Why a word is the rate of no link: the nearest ones, as all of them fill a screen.
    #[must_use]
    pub fn unknown(word: &str) -> String {
        let plain = word.trim().to_ascii_lowercase();
        let mut near: Vec<&str> = Self::NAMES.iter().map(|(name, _)| *name).collect();
        near.sort_by_cached_key(|name| {
            let name = name.to_ascii_lowercase();
            (!name.starts_with(&plain), assay_spec::reader::distance(&plain, &name))
        });
        format!(
            "`{word}` is not a known link rate; near it are {}; Ethernet goes from 1GbE to 400GbE, Fibre Channel from \
             1GFC to 128GFC, and the guide to array files has the others (SATA, SAS, PCIe, USB, InfiniBand)",
            near[..NEAR_LINKS].join(", ")
        )
    }

    /// The name it is sold under, or its range: `0.9..1Gbit/s`.
    #[must_use]
    pub fn name(self) -> Cow<'static, str> {
        match self {
            Self::Ranged { lo, hi } if lo < hi => Cow::Owned(format!("{lo}..{hi}Gbit/s")),
            Self::Ranged { hi, .. } => Cow::Owned(format!("{hi}Gbit/s")),
            _ => Cow::Borrowed(
                Self::NAMES.iter().find(|(_, rate)| *rate == self).map_or("none", |(name, _)| name),
            ),
        }
    }

    /// The rate of that name as people write it, or that range: `10GbE`, `10 Gb/s`, `8Gb FC`, `0.9..1.0 Gbit/s`,
    /// `300 Mbit/s`.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        let text = name.trim().to_ascii_lowercase().replace([' ', '-', '_'], "");
        let known = |text: &str| {
            let same = |known: &str| known.replace('-', "").eq_ignore_ascii_case(text);
            Self::NAMES.iter().find(|(known, _)| same(known))
        };
        let called = || {
            let plain = text.replace('.', "");
            let (_, name) = LINK_NAMES.iter().find(|(said, _)| *said == plain)?;
            known(&name.replace('-', ""))
        };
        // `PCIe 4.0 x4`, `PCI Express 3.0 x8`, `PCIe gen4 x4`.
        let slot = || {
            let rest = text.strip_prefix("pciexpress").or(text.strip_prefix("pcie"))?;
            known(&format!("pcie{}", rest.replace(".0", "").replace("gen", "").replace('×', "x")))
        };
        let infiniband = || {
            let rest = text.strip_prefix("infiniband")?;
            known(&format!("ib{}", if rest.is_empty() { "edr" } else { rest }))
        };
        let sold = |of: &str, kind: &str| known(&format!("{of}{kind}"));
        // The longest first, as `gb` ends none of the others.
        let written = ["gbit/s", "gbits/s", "gbps", "gb/s", "gbit", "gigabit", "gige", "gb", "g"]
            .iter()
            .find_map(|unit| sold(text.strip_suffix("ethernet").unwrap_or(&text).strip_suffix(unit)?, "GbE"));
        let fibre = || {
            let text = text.strip_suffix("fc").or(text.strip_suffix("fibrechannel"))?;
            ["gbit", "gb", "g", ""].iter().find_map(|unit| sold(text.strip_suffix(unit)?, "GFC"))
        };
        let found = known(&text).or(written).or_else(fibre).or_else(called).or_else(slot).or_else(infiniband);
        found.map(|(_, rate)| *rate).or_else(|| Self::ranged(&text))
    }

    fn ranged(text: &str) -> Option<Self> {
        let (numbers, scale) = match text.strip_suffix("gbit/s") {
            Some(numbers) => (numbers, 1.0),
            None => (text.strip_suffix("mbit/s")?, 1e-3),
        };
        let (lo, hi) = numbers.split_once("..").unwrap_or((numbers, numbers));
        let (lo, hi) = (lo.parse::<f64>().ok()? * scale, hi.parse::<f64>().ok()? * scale);
        (0.001 <= lo && lo <= hi && hi <= 1000.0).then_some(Self::Ranged { lo, hi })
    }

    /// Whether it carries Ethernet frames.
    #[must_use]
    pub fn is_ethernet(self) -> bool {
        matches!(self, Self::Ethernet(_) | Self::Ranged { .. })
    }

    /// Whether it carries data in one direction at a time: while a SATA port receives a frame, its other pair of wires
    /// carries the answers to it (the back channel: `R_IP`, `HOLD`), and USB 2.0 has a single pair.
    #[must_use]
    pub fn is_half_duplex(self) -> bool {
        matches!(self, Self::Sata(_) | Self::Usb(..1.0))
    }

    /// Whether hosts and storage systems are joined by it, and not a system and its drives.
    #[must_use]
    pub(crate) fn is_network(self) -> bool {
        self.is_ethernet() || matches!(self, Self::FibreChannel(_) | Self::InfiniBand(_))
    }
}

impl ProtocolKind {
    /// The word of an array file.
    #[must_use]
    pub fn word(self) -> &'static str {
        word_of(self)
    }
}

impl Level {
    /// The level of a text as people write it: `RAID-10`, `raidz2`.
    #[must_use]
    pub fn named(text: &str) -> Option<Self> {
        <Self as Words>::named(text)
    }

    /// The word of an array file.
    #[must_use]
    pub fn word(self) -> &'static str {
        word_of(self)
    }

    /// Whether records are spread over the whole group: raidz and dRAID, which only ZFS has.
    #[must_use]
    pub(crate) fn spreads_records(self) -> bool {
        matches!(
            self,
            Self::Raidz1 | Self::Raidz2 | Self::Raidz3 | Self::Draid1 | Self::Draid2 | Self::Draid3
        )
    }

    /// Members of a group, of this many, that may fail whichever they are.
    #[must_use]
    pub fn survives(self, members: f64) -> f64 {
        match self {
            Self::Single | Self::Raid0 => 0.0,
            Self::Raid1 => members - 1.0,
            Self::Raid10 | Self::Raid5 | Self::Raid50 | Self::Raidz1 | Self::Draid1 => 1.0,
            Self::Raid6 | Self::Raid60 | Self::Raidz2 | Self::Draid2 => 2.0,
            Self::Raidz3 | Self::Draid3 => 3.0,
        }
    }

    /// As people say it: `RAID5`, `raidz2`, `a single member`.
    #[must_use]
    pub fn name(self) -> String {
        let word = word_of(self);
        match self {
            Self::Single => "a single member".to_owned(),
            _ if word.starts_with(|c: char| c.is_ascii_digit()) => format!("RAID{word}"),
            _ => word.to_owned(),
        }
    }
}
