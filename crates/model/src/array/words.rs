//! Closed sets of words: how array files call what is one of a few.

use std::borrow::Cow;

use super::types::{
    FlashState, Level, LinkRate, PathPolicy, ProtocolKind, SoftwareName, Sorting, Submission, TierHolds,
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
        ]
    }

    fn usual(text: &str) -> String {
        match text.trim().to_ascii_lowercase().as_str() {
            "cifs" | "samba" | "smb3" | "smb2" => "smb".to_owned(),
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
        ("1GFC", LinkRate::FibreChannel(1)),
        ("2GFC", LinkRate::FibreChannel(2)),
        ("4GFC", LinkRate::FibreChannel(4)),
        ("8GFC", LinkRate::FibreChannel(8)),
        ("16GFC", LinkRate::FibreChannel(16)),
        ("32GFC", LinkRate::FibreChannel(32)),
        ("SATA1", LinkRate::Sata(1.5)),
        ("SATA2", LinkRate::Sata(3.0)),
        ("SATA3", LinkRate::Sata(6.0)),
        ("SAS3x4", LinkRate::Sas { lane_gbit_s: 3.0, lanes: 4 }),
        ("SAS6x4", LinkRate::Sas { lane_gbit_s: 6.0, lanes: 4 }),
        ("SAS12x4", LinkRate::Sas { lane_gbit_s: 12.0, lanes: 4 }),
        ("PCIe1x8", LinkRate::Pcie { generation: 1, lanes: 8 }),
        ("PCIe2x1", LinkRate::Pcie { generation: 2, lanes: 1 }),
        ("PCIe2x2", LinkRate::Pcie { generation: 2, lanes: 2 }),
        ("PCIe2x4", LinkRate::Pcie { generation: 2, lanes: 4 }),
        ("PCIe2x8", LinkRate::Pcie { generation: 2, lanes: 8 }),
        ("PCIe3x1", LinkRate::Pcie { generation: 3, lanes: 1 }),
        ("PCIe3x2", LinkRate::Pcie { generation: 3, lanes: 2 }),
        ("PCIe3x4", LinkRate::Pcie { generation: 3, lanes: 4 }),
        ("PCIe3x8", LinkRate::Pcie { generation: 3, lanes: 8 }),
        ("PCIe4x2", LinkRate::Pcie { generation: 4, lanes: 2 }),
        ("PCIe4x4", LinkRate::Pcie { generation: 4, lanes: 4 }),
        ("PCIe5x4", LinkRate::Pcie { generation: 5, lanes: 4 }),
    ];

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
        let text = name.trim().to_ascii_lowercase().replace([' ', '-'], "");
        let known = |text: &str| Self::NAMES.iter().find(|(known, _)| known.eq_ignore_ascii_case(text));
        let sold = |of: &str, kind: &str| known(&format!("{of}{kind}"));
        // The longest first, as `gb` ends none of the others.
        let written = ["gbit/s", "gbits/s", "gbps", "gb/s", "gbit", "gigabit", "gige", "gb", "g"]
            .iter()
            .find_map(|unit| sold(text.strip_suffix("ethernet").unwrap_or(&text).strip_suffix(unit)?, "GbE"));
        let fibre = || {
            let text = text.strip_suffix("fc").or(text.strip_suffix("fibrechannel"))?;
            ["gbit", "gb", "g", ""].iter().find_map(|unit| sold(text.strip_suffix(unit)?, "GFC"))
        };
        let found = known(&text).or(written).or_else(fibre);
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
