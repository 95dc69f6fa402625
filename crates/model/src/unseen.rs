//! Measured systems that the model was not made from, split into two halves before anything was predicted.
//!
//! Their rows are in `published/unseen/`, their arrays, from data sheets, in `arrays/unseen/`. The half that a
//! system belongs to follows from its name alone: the open half may be looked at to mend the physics, the half that
//! is held back is predicted once, after the files and the physics are committed. There are six sets: once both
//! halves of one had been seen, the next one was collected.

use crate::array::{Array, ArrayError, parse};
use crate::published::{self, Published, PublishedError};

macro_rules! systems {
    ($($name:literal,)*) => {
        &[$((
            $name,
            include_str!(concat!("../../../published/unseen/", $name, ".toml")),
            include_str!(concat!("../../../arrays/unseen/", $name, ".toml")),
        ),)*]
    };
}

/// Name, rows and array of a system.
type System = (&'static str, &'static str, &'static str);

/// Single disks and drives, most of them of one forum host and of one collection.
const FIRST: &[System] = systems![
    "raptor-wd740", "samsung-f1", "travelstar-7k100", "md-raid5-8x2tb", "ultrastar-he10", "seagate-ec-10tb",
    "seagate-ec-8tb", "ultrastar-he8", "wd-gold-8tb", "helios4", "nas-6x5tb", "intel-s4610",
    "samsung-860pro", "samsung-pm883", "kingston-dc500m", "crucial-mx200", "samsung-860evo-250",
    "samsung-870evo-1tb", "samsung-970evo-500", "samsung-970pro-512", "samsung-980pro-1tb",
    "samsung-990evo-1tb", "samsung-990pro-2tb", "kingston-a2000-250", "lexar-nm790-2tb",
    "crucial-p3plus-1tb", "wd-sn580-1tb", "wd-sn770-1tb", "wd-sn850x-1tb", "hynix-p31-1tb",
    "patriot-p300-1tb",
];

/// Storage over a network, RAID sets, and drives in hosts that are described.
const SECOND: &[System] = systems![
    "cm4-samsung-980", "cm4-wd5000avds", "epyc-6x-pm983", "k8s-mx500-500", "nas-24x4tb", "odroid-h2-860evo",
    "odroid-h2-hg6", "odroid-h2-wdblack", "p420i-4ssd-raid0", "pi4-cifs-4tb", "pi4-iscsi-a400",
    "pi4-usb-a400", "pi5-pm991a", "rk3568-5x12tb", "rock5itx-3ssd", "synology-ds218plus",
    "synology-ds411-ssd", "x670e-8x-p3plus", "xen-zvol-4x3tb", "xenon-mirrors", "xenon-nvme", "xenon-raidz1",
    "xenon-stripe", "zfs-20x7200", "zfs-raidz1-3x2tb", "zfs-raidz2-4x2tb",
];

/// NVMe drives that no sheet was read for: their model string, their size and their class are all that is known.
const THIRD: &[System] = systems![
    "hynix-hfs256gd9tng",
    "hynix-hfs512gd9tng",
    "hynix-hfs512gde9x083n",
    "intel-ssdpekka256g7",
    "toshiba-kxg50-256",
    "toshiba-kxg6a-512",
    "micron-mtfdhba256tck",
    "micron-mtfdhba512tck",
    "micron-mtfdkba512tfh",
    "samsung-mzul2256hchq",
    "samsung-mzul2512hcjq",
    "samsung-mzvlw256hehp",
    "hynix-phoenix-512",
    "wd-sn720-256",
    "wd-sn720-512",
    "wd-sn730-256",
    "wd-sn730-512",
    "fanxiang-s500pro-1tb",
    "hynix-pc711-512",
];

/// NVMe drives in md, drives by their class, and a disk behind an adapter: found after the third set had been
/// predicted.
const FOURTH: &[System] = systems![
    "pm9a3-2x-raid0",
    "pm1733-2x-raid0",
    "mzql2960-raid1",
    "hetzner-4x-nvme",
    "rome-11x-nvme-raid5",
    "p4510-4x-raid0",
    "ex920-1tb",
    "p3600-1600",
    "h730-4tb-sas",
];

/// Drives behind the virtual disks of guests, and a pool of ZFS.
const FIFTH: &[System] = systems![
    "qemu-vhost-blk-ssd", "kvm-guests-5955wx", "ch-desktop-nvme", "ch-azure-l8s", "qemu-pcie5-nvme",
    "zfs-6x16tb-raidz2",
];

/// Drives of instances of AWS, by the limits that AWS publishes for them.
const SIXTH: &[System] =
    systems!["aws-i3", "aws-i3en", "aws-i4i", "aws-i4g", "aws-im4gn", "aws-m5d", "aws-c5d", "aws-c6gd",];

/// Offset and prime of FNV-1a, 64 bits.
const FNV_OFFSET: u64 = 0xcbf2_9ce4_8422_2325;
const FNV_PRIME: u64 = 0x0000_0100_0000_01b3;

/// One of the collections of systems, in the order in which they were made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
pub enum Set {
    /// Both halves have been seen.
    First,
    /// Collected after that.
    Second,
    /// Collected after both halves of the second had been seen.
    Third,
    /// Collected after both halves of the third had been seen, and predicted with the physics of before.
    Fourth,
    /// Collected when guests got a layer of their own, whose class some of its rows had been read for.
    Fifth,
    /// Collected because no set had drives whose limits a provider publishes.
    Sixth,
}

impl Set {
    /// All of them.
    pub const ALL: [Self; 6] =
        [Self::First, Self::Second, Self::Third, Self::Fourth, Self::Fifth, Self::Sixth];

    fn systems(self) -> &'static [System] {
        match self {
            Self::First => FIRST,
            Self::Second => SECOND,
            Self::Third => THIRD,
            Self::Fourth => FOURTH,
            Self::Fifth => FIFTH,
            Self::Sixth => SIXTH,
        }
    }
}

/// Which half of the split a system belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
pub enum Half {
    /// May be looked at to mend the physics.
    Open,
    /// Predicted once, at the end.
    HeldBack,
}

/// The half of a system: the parity of the FNV-1a hash of its name, odd = open.
#[must_use]
pub fn half_of(name: &str) -> Half {
    let hash = name.bytes().fold(FNV_OFFSET, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(FNV_PRIME));
    if hash % 2 == 1 { Half::Open } else { Half::HeldBack }
}

/// The tables of one half of a set.
///
/// # Errors
/// Never for a released build: a test parses every file.
pub fn tables(set: Set, half: Half) -> Result<Vec<Published>, PublishedError> {
    let of_half = set.systems().iter().filter(|(name, ..)| half_of(name) == half);
    of_half.map(|(name, rows, _)| published::parse(&format!("unseen/{name}"), rows)).collect()
}

/// The array of that system, or `None` when there is none.
#[must_use]
pub fn array(name: &str) -> Option<Result<Array, ArrayError>> {
    let mut all = Set::ALL.iter().flat_map(|set| set.systems());
    let (name, _, array) = all.find(|(system, ..)| *system == name)?;
    Some(parse(&format!("arrays/unseen/{name}.toml"), array))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn open(set: Set) -> Vec<&'static str> {
        set.systems().iter().map(|s| s.0).filter(|n| half_of(n) == Half::Open).collect()
    }

    #[test]
    fn the_half_follows_from_the_name_and_is_the_one_that_was_committed() {
        assert_eq!(
            open(Set::First),
            [
                "samsung-f1", "travelstar-7k100", "md-raid5-8x2tb", "seagate-ec-8tb", "ultrastar-he8",
                "helios4", "nas-6x5tb", "samsung-860pro", "samsung-870evo-1tb", "wd-sn580-1tb",
                "wd-sn850x-1tb",
            ]
        );
        assert_eq!(
            open(Set::Second),
            [
                "epyc-6x-pm983", "odroid-h2-hg6", "pi4-cifs-4tb", "pi4-usb-a400", "pi5-pm991a",
                "rk3568-5x12tb", "xenon-raidz1", "xenon-stripe",
            ]
        );
        assert_eq!(
            open(Set::Third),
            [
                "hynix-hfs256gd9tng",
                "hynix-hfs512gde9x083n",
                "intel-ssdpekka256g7",
                "toshiba-kxg50-256",
                "micron-mtfdhba256tck",
                "micron-mtfdkba512tfh",
                "samsung-mzul2256hchq",
                "wd-sn720-256",
                "wd-sn730-512",
                "fanxiang-s500pro-1tb",
                "hynix-pc711-512",
            ]
        );
        assert_eq!(open(Set::Fourth), ["pm9a3-2x-raid0", "hetzner-4x-nvme", "p4510-4x-raid0", "ex920-1tb"]);
        assert_eq!(
            open(Set::Fifth),
            ["qemu-vhost-blk-ssd", "kvm-guests-5955wx", "qemu-pcie5-nvme", "zfs-6x16tb-raidz2",]
        );
        assert_eq!(open(Set::Sixth), ["aws-i3", "aws-i4i", "aws-i4g", "aws-m5d", "aws-c5d", "aws-c6gd"]);
        assert_eq!(Set::ALL.map(|set| set.systems().len()), [31, 26, 19, 9, 6, 8]);
    }

    #[test]
    fn no_system_is_in_two_sets() {
        let mut names: Vec<&str> = Set::ALL.iter().flat_map(|set| set.systems()).map(|s| s.0).collect();
        let all = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), all);
    }

    #[test]
    fn every_system_has_rows_and_an_array_that_fit() {
        assert_eq!(Set::ALL.map(rows_that_fit), [139, 112, 76, 24, 11, 16]);
    }

    fn rows_that_fit(set: Set) -> usize {
        let mut rows = 0;
        for table in [Half::Open, Half::HeldBack].map(|half| tables(set, half).unwrap()).concat() {
            let array = array(&table.name).unwrap_or_else(|| panic!("{}", table.name));
            let array = array.unwrap_or_else(|e| panic!("{e}"));
            assert_eq!(array.name, table.name);
            for row in &table.rows {
                let model = row.model.as_ref().expect("every row is modelled");
                let mut changed = array.clone();
                crate::array::set(&mut changed, &model.set).unwrap_or_else(|e| panic!("{}: {e}", row.test));
                assert!(model.array == table.name && !model.names.is_empty(), "{}", row.test);
                assert!(row.workload().is_some() && row.measured_iops().is_some(), "{}", row.test);
                rows += 1;
            }
        }
        rows
    }
}
