//! Storage shared by two paths, whatever their names.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

use crate::file_id::file_ids;
use crate::machine::{DevNo, Machine, name_of, names_in, path_attribute};
use crate::probe::related;

/// Number of device layers that are followed.
const LAYERS_MAX: u32 = 16;

/// The storage that a path uses.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SharedStorage {
    /// Kernel name of the device; `None` for a file.
    device: Option<String>,
    /// Kernel names of all devices that hold some of its bytes: its partitions, its disk, other paths to that disk,
    /// members.
    devices: BTreeSet<String>,
    /// Device and inode of the file, and of files behind loop devices.
    files: BTreeSet<(u64, u64)>,
}

impl SharedStorage {
    /// Returns what both have in common, as a clause; `None` if nothing.
    pub fn overlap(&self, other: &Self) -> Option<&'static str> {
        let holds = |one: &Self, other: &Self| one.device.as_ref().is_some_and(|d| other.devices.contains(d));
        let has_file = !self.files.is_disjoint(&other.files);
        match (&self.device, &other.device) {
            (None, None) => has_file.then_some("they are two names (hard links) of one file"),
            (Some(one), Some(two)) if one == two => Some("they are two names of one device"),
            (Some(_), Some(_)) if holds(self, other) || holds(other, self) => {
                Some("they share blocks: one is a part of the other, or another path to it")
            }
            (Some(_), Some(_)) => has_file.then_some("they are loop devices over the same file"),
            _ => has_file.then_some("one is a loop device over the other"),
        }
    }
}

/// Returns the storage that a path uses, following links.
///
/// # Errors
/// If the path does not exist, or cannot be examined.
pub fn shared_storage(path: &Path) -> io::Result<SharedStorage> {
    let metadata = fs::metadata(path)?;
    if metadata.file_type().is_file() {
        let files = file_ids(path)?;
        return Ok(SharedStorage { files, ..SharedStorage::default() });
    }
    if !metadata.file_type().is_block_device() {
        return Ok(SharedStorage::default());
    }
    let machine = Machine::this();
    let folder = machine.block_folder(DevNo::from(metadata.rdev()))?;
    Ok(of_device(&machine, &folder))
}

fn of_device(machine: &Machine, folder: &Path) -> SharedStorage {
    let mut folders: Vec<PathBuf> = Vec::new();
    push(machine, folder, &mut folders, 0);
    let file_of = |folder: &PathBuf| file_ids(&path_attribute(&folder.join("loop/backing_file"))?).ok();
    SharedStorage {
        device: Some(name_of(folder)),
        files: folders.iter().filter_map(file_of).flatten().collect(),
        devices: folders.iter().map(|folder| name_of(folder)).collect(),
    }
}

/// Appends the device with all that share bytes with it, then the devices that its volumes consist of.
fn push(machine: &Machine, folder: &Path, folders: &mut Vec<PathBuf>, layer: u32) {
    if layer > LAYERS_MAX || folders.iter().any(|known| known == folder) {
        return;
    }
    folders.push(folder.to_owned());
    for slave in names_in(&folder.join("slaves")) {
        if let Ok(below) = machine.block_folder_by_name(&slave) {
            push(machine, &below, folders, layer + 1);
        }
    }
    // Below a volume, unused parts of its disk do not belong to it.
    let is_shared = |node: &related::Node| layer == 0 || node.relation == related::Relation::Parent;
    for node in related::related(machine, folder).into_iter().filter(is_shared) {
        if !folders.contains(&node.folder) {
            folders.push(node.folder);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::captured::Captured;

    fn check(machine: &Captured, one: &str, other: &str) -> Option<&'static str> {
        let of = |name| {
            let machine = machine.machine();
            let folder = machine.block_folder_by_name(name).unwrap();
            of_device(&machine, &folder)
        };
        of(one).overlap(&of(other))
    }

    #[test]
    fn partitions_share_blocks_with_their_disk_and_not_with_each_other() {
        let part = |number: &'static str, start: &'static str| {
            [("size", "2048\n"), ("partition", number), ("start", start)]
        };
        let machine = Captured::new()
            .device("pci/block/sda", "8:0", &[("size", "1000000\n")])
            .device("pci/block/sda/sda1", "8:1", &part("1\n", "2048\n"))
            .device("pci/block/sda/sda2", "8:2", &part("2\n", "4096\n"))
            .device("virtual/block/dm-0", "253:0", &[("slaves/sda2/x", "")])
            .device("virtual/block/dm-1", "253:1", &[("slaves/sda2/x", "")])
            .device("pci/block/sdb", "8:16", &[("size", "1000000\n")]);
        for (one, other) in [("sda", "sda1"), ("sda1", "sda"), ("dm-0", "sda2"), ("sda", "dm-0")] {
            assert!(
                check(&machine, one, other).is_some_and(|why| why.contains("share blocks")),
                "{one} {other}"
            );
        }
        assert!(check(&machine, "sda1", "sda1").is_some_and(|why| why.contains("one device")));
        for (one, other) in [("sda1", "sda2"), ("dm-0", "dm-1"), ("dm-0", "sda1"), ("sda", "sdb")] {
            assert_eq!(check(&machine, one, other), None, "{one} {other}");
        }
    }
}
