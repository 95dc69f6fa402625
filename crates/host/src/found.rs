//! Storage that this host has, by its names alone: disks, and file systems on them.

use std::path::PathBuf;

use crate::block::{SECTOR_BYTES, model};
use crate::machine::{DevNo, Machine, attribute, names_in, number};
use crate::mounts::{Mount, mounts};

/// Disks of memory, of files and of discs: nobody measures them by this list.
const LEFT_OUT: [&str; 6] = ["loop", "ram", "zram", "sr", "fd", "nbd"];
/// File systems that are kept on a disk, or on a server.
const KEPT: [&str; 12] =
    ["ext2", "ext3", "ext4", "xfs", "btrfs", "zfs", "f2fs", "bcachefs", "nfs", "nfs4", "cifs", "smb3"];
/// Places of the system: a test file there fills the disk that the host runs from.
const SYSTEM: [&str; 6] = ["/", "/boot", "/usr", "/var", "/etc", "/nix/store"];

/// Storage that a run can be made on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// A device, or a directory in which a test file is made.
    pub path: PathBuf,
    /// What it is, in a few words.
    pub about: String,
    /// Its size, bytes; 0 where it is not known.
    pub size_bytes: u64,
    /// Whether something uses it, so that it can be read and never be written to.
    pub is_used: bool,
}

/// Returns the disks of this host and the file systems on them, sorted by path. Nothing is opened or read but what the
/// kernel says of them.
pub fn found_storage() -> Vec<Found> {
    found(&Machine::this())
}

fn found(machine: &Machine) -> Vec<Found> {
    let mounts = mounts(machine).unwrap_or_default();
    let mut all: Vec<Found> = names_in(&machine.path("/sys/block"))
        .iter()
        .filter_map(|name| disk(machine, name, &mounts))
        .collect();
    all.extend(mounts.iter().filter_map(folder));
    all.sort_by(|a, b| a.path.cmp(&b.path));
    all.dedup_by(|a, b| a.path == b.path);
    all
}

fn disk(machine: &Machine, name: &str, mounts: &[Mount]) -> Option<Found> {
    let kind = name.trim_end_matches(|letter: char| letter.is_ascii_digit());
    let folder = machine.block_folder_by_name(name).ok()?;
    let size_bytes = number::<u64>(&folder.join("size"))?.saturating_mul(SECTOR_BYTES);
    if LEFT_OUT.contains(&kind) || size_bytes == 0 {
        return None;
    }
    let has_disks = !names_in(&folder.join("slaves")).is_empty();
    let parts = names_in(&folder).into_iter().filter(|part| folder.join(part).join("partition").exists());
    let folders: Vec<PathBuf> =
        std::iter::once(folder.clone()).chain(parts.map(|part| folder.join(part))).collect();
    let is_used = folders.iter().any(|folder| {
        let number = attribute(&folder.join("dev")).and_then(|text| text.parse::<DevNo>().ok());
        !names_in(&folder.join("holders")).is_empty()
            || mounts.iter().any(|mount| number.is_some_and(|number| mount.device == number))
    });
    let about = model(&folder).unwrap_or_else(|| if has_disks { "volume" } else { "disk" }.to_owned());
    Some(Found { path: PathBuf::from("/dev").join(name), about, size_bytes, is_used })
}

/// A mounted file system in which a test file can be made.
fn folder(mount: &Mount) -> Option<Found> {
    let place = mount.mount_point.to_str()?;
    let is_system = SYSTEM
        .iter()
        .any(|system| place == *system || (*system != "/" && place.starts_with(&format!("{system}/"))));
    // What is bound elsewhere is a part of a file system that is listed itself.
    let is_whole = mount.root == "/" || mount.kind == "btrfs";
    let is_read_only = mount.options.split(',').any(|option| option == "ro");
    (KEPT.contains(&mount.kind.as_str()) && is_whole && !is_system && !is_read_only).then(|| Found {
        path: mount.mount_point.clone(),
        about: format!("{} on {}", mount.kind, mount.source),
        size_bytes: 0,
        is_used: false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::captured::Captured;

    #[test]
    fn disks_and_folders_are_found_and_what_is_in_use_is_said() {
        let disk = |machine: Captured, name: &str, number: &str, size: &str| {
            let size = [("size", size), ("dev", number), ("device/model", "Disk X")];
            let machine = machine.device(&format!("pci/block/{name}"), number, &size);
            machine.file(&format!("sys/block/{name}"), b"");
            machine
        };
        let machine = disk(Captured::new(), "sda", "8:0", "2048");
        let machine = disk(machine, "sdb", "8:16", "4096");
        let machine = disk(machine, "sdc", "8:32", "0");
        let machine = disk(machine, "loop0", "7:0", "2048");
        let machine = machine.device("pci/block/sda/sda1", "8:1", &[("partition", "1"), ("dev", "8:1")]);
        machine.file(
            "proc/self/mountinfo",
            b"20 1 8:1 / / rw - ext4 /dev/sda1 rw\n\
              21 1 8:1 / /var/lib/x rw - ext4 /dev/sda1 rw\n\
              22 1 0:50 / /mnt/my\\040nas rw - nfs4 nas:/export rw\n\
              23 1 0:51 / /mnt/old ro - nfs4 nas:/old ro\n\
              24 1 0:52 / /run rw - tmpfs tmpfs rw\n",
        );
        let found = found(&machine.machine());
        let seen: Vec<(&str, u64, bool)> =
            found.iter().map(|one| (one.path.to_str().unwrap(), one.size_bytes, one.is_used)).collect();
        assert_eq!(
            seen,
            [("/dev/sda", 1 << 20, true), ("/dev/sdb", 2 << 20, false), ("/mnt/my nas", 0, false)],
            "an empty reader, a loop device, the system's own places and what is read-only are left out"
        );
        assert_eq!((found[0].about.as_str(), found[2].about.as_str()), ("Disk X", "nfs4 on nas:/export"));
    }
}
