//! Block devices in sysfs: their numbers, the disk of a partition, and its model.

use std::fs;
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use crate::machine::{DevNo, Machine, attribute};
use crate::mounts::{mount_of, mounts};

/// Unit of sizes in sysfs, whatever the device's block size, bytes.
pub(crate) const SECTOR_BYTES: u64 = 512;

/// Number of device layers that are followed; partition, RAID, encryption, volume, loop and more fit.
pub(crate) const STACK_DEPTH_MAX: u32 = 16;

/// Returns the number of the device behind an existing path.
pub(crate) fn number_under(machine: &Machine, existing: &Path) -> io::Result<Option<DevNo>> {
    let metadata = fs::metadata(existing)?;
    if metadata.file_type().is_block_device() {
        return Ok(Some(metadata.rdev().into()));
    }
    if metadata.file_type().is_char_device() {
        return Ok(None);
    }
    let number = DevNo::from(metadata.dev());
    if machine.block_folder(number).is_ok() {
        return Ok(Some(number));
    }
    // Btrfs and overlays have their own device numbers; the source of the mount may still be a device.
    let mounts = mounts(machine)?;
    let source = mount_of(&mounts, existing).map(|mount| mount.source.clone());
    Ok(source.and_then(|source| block_number(Path::new(&source))))
}

/// Returns the number of a device node; `None` if the path is no device node.
pub(crate) fn block_number(path: &Path) -> Option<DevNo> {
    let metadata = fs::metadata(path).ok()?;
    metadata.file_type().is_block_device().then(|| metadata.rdev().into())
}

/// Returns the directory of the disk that a partition is on; for anything else, its own directory.
pub(crate) fn whole_disk(folder: &Path) -> PathBuf {
    match folder.parent() {
        Some(parent) if folder.join("partition").exists() => parent.to_owned(),
        _ => folder.to_owned(),
    }
}

/// Returns the vendor and the model of a disk.
pub(crate) fn model(disk: &Path) -> Option<String> {
    // The SCSI vendor field of SATA disks is only `ATA`, which is no vendor.
    let vendor = attribute(&disk.join("device/vendor")).filter(|v| v != "ATA" && !v.starts_with("0x"));
    let model = attribute(&disk.join("device/model")).or_else(|| attribute(&disk.join("device/name")));
    let model = model.or_else(|| attribute(&disk.join("dm/name")));
    match (vendor, model) {
        (Some(vendor), Some(model)) => Some(format!("{vendor} {model}")),
        (vendor, model) => model.or(vendor),
    }
}
