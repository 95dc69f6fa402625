//! Of how many devices the arrays of an answer are made: legs, vdevs and groups of each level.

use assay_model::array::{Array, Level};

use super::{SizingError, count_of};

/// Devices that a proposal has at most: the largest published configurations have some 4,000.
const DEVICES_MAX: u32 = 5000;
/// Disks of one RAID5 or RAID6 group that a proposal has at most: wider ones are rebuilt for days.
const RAID5_MAX: u32 = 12;
const RAID6_MAX: u32 = 24;

/// Refuses a number of devices that makes no legs or vdevs of one size.
pub(super) fn in_whole_legs(level: Level, disks: u32) -> Result<(), SizingError> {
    let Some(leg) = leg_of(level).filter(|leg| !disks.is_multiple_of((disks / leg).max(1))) else {
        return Ok(());
    };
    let what = if matches!(level, Level::Raid50 | Level::Raid60) { "legs" } else { "vdevs" };
    let (less, more) = (disks / leg * leg, (disks / leg + 1) * leg);
    Err(SizingError::Question(format!(
        "{disks} disks: {} is proposed in {what} of {leg}, and {disks} are no whole number of them; ask for {less} or \
         {more}, or describe the array in a file (`raid.groups`) and name it with --array",
        level.name()
    )))
}

/// The overrides for a level with this many devices.
pub(super) fn resized(level: Level, disks: u32) -> String {
    let leg = leg_of(level);
    let groups = leg.map_or(1, |leg| (disks / leg).max(1));
    let records = matches!(level, Level::Raidz1 | Level::Raidz2 | Level::Raidz3);
    let chunk = if records { " raid.chunk=128KiB" } else { "" };
    format!("raid.level={} raid.groups={groups} raid.disks={disks}{chunk}", level.word())
}

/// Devices of a leg or vdev that proposals are made of; `None` where one group grows.
pub(super) fn leg_of(level: Level) -> Option<u32> {
    match level {
        Level::Raid50 => Some(5),
        Level::Raid60 => Some(8),
        Level::Raidz1 => Some(5),
        Level::Raidz2 => Some(6),
        Level::Raidz3 => Some(8),
        _ => None,
    }
}

/// Devices of a leg or vdev of a described array, of which "how many" adds more; `None` where its one group grows.
pub(super) fn leg_of_array(array: &Array) -> Option<u32> {
    let groups = legs_of(array);
    (groups > 1 || leg_of(array.raid.level).is_some()).then(|| count_of(array) / groups)
}

fn legs_of(array: &Array) -> u32 {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked: 1 to 1024")]
    let groups = array.raid.groups.value as u32;
    groups.max(1)
}

/// The overrides for a described array with this many devices: more legs where they come in whole legs, wider ones
/// otherwise.
pub(super) fn grown(array: &Array, disks: u32) -> String {
    match leg_of_array(array) {
        Some(leg) if leg > 0 && disks.is_multiple_of(leg) => {
            format!("raid.groups={} raid.disks={disks}", disks / leg)
        }
        _ => format!("raid.disks={disks}"),
    }
}

/// Numbers of devices that make sense for a level; whole legs where it has them.
pub(super) fn counts(level: Level, leg: Option<u32>) -> Vec<u32> {
    if let Some(leg) = leg {
        // A stripe needs two legs; a pool may have one vdev.
        let least = if matches!(level, Level::Raid50 | Level::Raid60) { 2 } else { 1 };
        return (least..=(DEVICES_MAX / leg).max(least)).map(|n| n * leg).collect();
    }
    match level {
        Level::Single => vec![1],
        Level::Raid1 => vec![2],
        Level::Raid10 => (1..=DEVICES_MAX / 2).map(|n| n * 2).collect(),
        Level::Raid5 => (3..=RAID5_MAX).collect(),
        Level::Raid6 => (4..=RAID6_MAX).collect(),
        _ => (1..=DEVICES_MAX).collect(),
    }
}

/// Returns the most disks of a group that a proposal has; `None` where the level does not limit it.
#[must_use]
pub fn group_max(level: Level) -> Option<u32> {
    match level {
        Level::Raid5 => Some(RAID5_MAX),
        Level::Raid6 => Some(RAID6_MAX),
        _ => None,
    }
}
