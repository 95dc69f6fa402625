//! Present users of a device: mounts, swap, holders, loop devices; and the partitions on it.

use std::path::{Path, PathBuf};

use assay_spec::units::Bytes;

use super::exported::exports;
use super::related::{Node, Relation};
use super::{Hold, ProbeError};
use crate::device::{SECTOR_BYTES, block_number};
use crate::file_id::is_same_file;
use crate::machine::{DevNo, Machine, attribute, name_of, names_in, number, path_attribute, unescape};
use crate::mounts::mounts;

/// Returns every use of one of these devices.
pub(crate) fn holds(machine: &Machine, nodes: &[Node]) -> Result<Vec<Hold>, ProbeError> {
    let read = |file: &'static str| move |source| ProbeError::Read { file: file.to_owned(), source };
    let mounts = mounts(machine).map_err(read("/proc/self/mountinfo"))?;
    let swaps = swaps(&machine.text("/proc/swaps").map_err(read("/proc/swaps"))?);
    let loops = loops(machine);
    let exports = exports(machine);
    let mut found = Vec::new();
    for node in nodes {
        let subject = node.subject();
        for mount in &mounts {
            // Btrfs mounts have their own device number; there the mount source names the device.
            if node.number == Some(mount.device) || is_node(machine, node, Path::new(&mount.source)) {
                found.push(format!(
                    "{subject} is mounted at {} ({})",
                    mount.mount_point.display(),
                    mount.kind
                ));
            }
        }
        // Only the first device of a multi-device Btrfs is the source of its mount.
        let in_btrfs = |label: &&String| {
            machine.path("/sys/fs/btrfs").join(label).join("devices").join(&node.name).exists()
        };
        for label in names_in(&machine.path("/sys/fs/btrfs")).iter().filter(in_btrfs) {
            found.push(format!("{subject} belongs to the mounted btrfs {label}"));
        }
        if swaps.iter().any(|swap| is_node(machine, node, swap)) {
            found.push(format!("{subject} is in use as swap"));
        }
        for holder in names_in(&node.folder.join("holders")) {
            found.push(format!("{subject} is in use by {}", describe_holder(machine, &holder)));
        }
        for user in loops.iter().filter(|user| is_node(machine, node, &user.file)) {
            found.push(format!("{subject} is the backing device of /dev/{}", user.name));
        }
        for export in exports.iter().filter(|export| is_node(machine, node, &export.path)) {
            found.push(format!("{subject} is exported by {}", export.by));
        }
        found.extend(backing_file_holds(machine, node, &loops, &swaps));
    }
    found.dedup();
    Ok(found.into_iter().map(Hold::in_use).collect())
}

/// Returns the partitions of the device in question, in one sentence.
pub(crate) fn partitions(nodes: &[Node]) -> Option<Hold> {
    let parts: Vec<String> = nodes
        .iter()
        .filter(|node| node.relation == Relation::Part)
        .map(|node| {
            let bytes = number::<u64>(&node.folder.join("size")).unwrap_or(0).saturating_mul(SECTOR_BYTES);
            format!("{} ({})", node.path().display(), Bytes(bytes).rounded())
        })
        .collect();
    let whole = nodes.first()?.path();
    let plural = if parts.len() == 1 { "a partition" } else { "partitions" };
    (!parts.is_empty())
        .then(|| Hold::content(format!("{} has {plural}: {}", whole.display(), parts.join(", "))))
}

/// Returns the uses of a loop device's file by others.
fn backing_file_holds(machine: &Machine, node: &Node, loops: &[Loop], swaps: &[PathBuf]) -> Vec<String> {
    let Some(own) = loops.iter().find(|one| one.name == node.name) else { return Vec::new() };
    let file = own.file.display();
    let mut found = Vec::new();
    for other in loops.iter().filter(|other| other.name != own.name && is_same_file(&other.file, &own.file)) {
        found.push(format!("{} writes to {file}, which /dev/{} uses too", node.subject(), other.name));
    }
    if swaps.iter().any(|swap| is_same_file(swap, &own.file)) {
        found.push(format!("{} writes to {file}, which is in use as swap", node.subject()));
    }
    let below = block_number(&own.file).and_then(|number| machine.block_folder(number).ok());
    if below.is_some() {
        found.push(format!(
            "{} writes to the device {file}; probe and name that device instead",
            node.subject()
        ));
    }
    found
}

/// Returns the uses of a regular file: the disk of a loop device, swap.
pub(crate) fn file_users(machine: &Machine, file: &Path) -> Vec<String> {
    let attached = loops(machine).into_iter().filter(|one| is_same_file(&one.file, file));
    let mut found: Vec<String> = attached
        .map(|one| format!("it is attached as /dev/{0}; detach it first (losetup -d /dev/{0})", one.name))
        .collect();
    // If the kernel shows no list of swap areas, there are none.
    let swaps = swaps(&machine.text("/proc/swaps").unwrap_or_default());
    if swaps.iter().any(|swap| is_same_file(swap, file)) {
        found.push("it is in use as swap (swapoff ends that)".to_owned());
    }
    let exports = exports(machine).into_iter().filter(|export| is_same_file(&export.path, file));
    found.extend(exports.map(|export| format!("it is exported by {}", export.by)));
    found
}

/// A loop device that is attached.
struct Loop {
    name: String,
    file: PathBuf,
}

fn loops(machine: &Machine) -> Vec<Loop> {
    let block = machine.path("/sys/class/block");
    let attached = |name: String| {
        let file = path_attribute(&block.join(&name).join("loop/backing_file"))?;
        Some(Loop { name, file })
    };
    names_in(&block).into_iter().filter(|name| name.starts_with("loop")).filter_map(attached).collect()
}

/// Returns the paths in `/proc/swaps`, devices and files. Its first line is a heading.
fn swaps(text: &str) -> Vec<PathBuf> {
    text.lines()
        .skip(1)
        .filter_map(|line| line.split_whitespace().next())
        .map(|path| unescape(path).into())
        .collect()
}

/// Returns true if a path is the node of this device, by number, or by name if this process does not see that path.
fn is_node(machine: &Machine, node: &Node, path: &Path) -> bool {
    if !path.starts_with("/dev") {
        return false;
    }
    let by_name = || -> Option<DevNo> {
        let folder = machine.block_folder_by_name(&name_of(path)).ok()?;
        attribute(&folder.join("dev"))?.parse().ok()
    };
    let number = block_number(&machine.path(path)).or_else(by_name);
    number.is_some() && number == node.number
}

/// Returns a description such as `/dev/dm-0 (vg-home)`, which is clearer than `dm-0`.
fn describe_holder(machine: &Machine, holder: &str) -> String {
    let folder = machine.path("/sys/class/block").join(holder);
    match attribute(&folder.join("dm/name")) {
        Some(name) => format!("/dev/{holder} ({name})"),
        None if folder.exists() => format!("/dev/{holder}"),
        None => holder.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::related::related;
    use super::*;
    use crate::captured::Captured;

    const MOUNTS: &str = "27 1 8:1 / / rw - ext4 /dev/sda1 rw\n\
        30 27 253:7 / /data rw - xfs /dev/mapper/mpatha rw\n\
        31 27 0:45 / /pool rw - btrfs /dev/sdd rw\n\
        32 27 8:81 / /vm\\040s rw - ext4 /dev/sdf1 rw\n";
    const SWAPS: &str =
        "Filename\tType\tSize\tUsed\tPriority\n/dev/sda5  partition\t8\t0\t-2\n/swap\\040file file 8 0 -3\n";

    /// sda: / on sda1, sda2 extended over swap sda5, sda3 free. sdb: LVM on it. sdc1: RAID. sdd, sde: one Btrfs. sdf
    /// and sdg: one LUN over two paths, mounted through the first. sdh: nothing.
    fn server() -> Captured {
        let disk = |machine: Captured, letter: &str, minor: u32, files: &[(&str, &str)]| {
            let number = format!("8:{minor}");
            let mut all = vec![("size", "1000000\n"), ("dev", number.as_str())];
            all.extend_from_slice(files);
            machine.device(&format!("pci/block/sd{letter}"), &number, &all)
        };
        let part = |machine: Captured, name: &str, minor: u32, start: &str, size: &str| {
            let number = format!("8:{minor}");
            let letter = &name[2..3];
            let folder = format!("pci/block/sd{letter}/{name}");
            let files = [("size", size), ("start", start), ("partition", &name[3..]), ("dev", &number)];
            machine.device(&folder, &number, &files)
        };
        let machine = disk(Captured::new(), "a", 0, &[("device/wwid", "naa.1")]);
        let machine = part(machine, "sda1", 1, "2048", "1000");
        let machine = part(machine, "sda2", 2, "4096", "9000");
        let machine = part(machine, "sda3", 3, "90000", "1000");
        let machine = part(machine, "sda5", 5, "4098", "1000");
        let machine = disk(machine, "b", 16, &[("holders/dm-0/x", ""), ("device/wwid", "naa.2")]);
        let machine =
            machine.device("virtual/block/dm-0", "253:0", &[("dm/name", "vg-home\n"), ("dev", "253:0")]);
        let machine = disk(machine, "c", 32, &[]);
        let machine = part(machine, "sdc1", 33, "2048", "1000");
        machine.file("sys/devices/pci/block/sdc/sdc1/holders/md0/x", b"");
        let machine = disk(machine, "d", 48, &[]);
        let machine = disk(machine, "e", 64, &[]);
        machine.file("sys/fs/btrfs/0a1b-2c/devices/sde/x", b"");
        let machine = disk(machine, "f", 80, &[("device/wwid", "naa.600")]);
        let machine = part(machine, "sdf1", 81, "2048", "1000");
        let machine = disk(machine, "g", 96, &[("device/wwid", "naa.600")]);
        let machine = disk(machine, "h", 112, &[]);
        let machine = disk(machine, "i", 128, &[]);
        let machine = disk(machine, "j", 144, &[]);
        for (at, text) in [
            ("nvmet/subsystems/soak/namespaces/1/device_path", "/dev/sdi\n"),
            ("nvmet/subsystems/soak/namespaces/1/enable", "1\n"),
            ("nvmet/subsystems/soak/namespaces/2/device_path", "/dev/sdh\n"),
            ("nvmet/subsystems/soak/namespaces/2/enable", "0\n"),
            (
                "target/core/fileio_0/d1/info",
                "Status: ACTIVATED  Max Queue Depth: 0  SectorSize: 512  HwMaxSectors: 16384\n        \
                 TCM FILEIO ID: 0        File: /dev/sdj  Size: 33554432  Mode: O_DSYNC Async: 0\n",
            ),
        ] {
            machine.file(&format!("sys/kernel/config/{at}"), text.as_bytes());
        }
        machine.file("proc/self/mountinfo", MOUNTS.as_bytes());
        machine.file("proc/swaps", SWAPS.as_bytes());
        machine
    }

    #[test]
    fn every_use_of_a_related_device_is_reported_with_its_relation() {
        let captured = server();
        let machine = captured.machine();
        for (name, expected) in [
            (
                "sda",
                &[
                    "/dev/sda1 (a partition of /dev/sda) is mounted at / (ext4)",
                    "/dev/sda5 (a partition of /dev/sda) is in use as swap",
                ][..],
            ),
            ("sda1", &["/dev/sda1 is mounted at / (ext4)"]),
            ("sda2", &["/dev/sda5 (a partition that overlaps with /dev/sda2) is in use as swap"]),
            ("sda3", &[]),
            ("sdb", &["/dev/sdb is in use by /dev/dm-0 (vg-home)"]),
            ("sdc", &["/dev/sdc1 (a partition of /dev/sdc) is in use by md0"]),
            ("sdd", &["/dev/sdd is mounted at /pool (btrfs)"]),
            ("sde", &["/dev/sde belongs to the mounted btrfs 0a1b-2c"]),
            ("sdf", &["/dev/sdf1 (a partition of /dev/sdf) is mounted at /vm s (ext4)"]),
            ("sdg", &["/dev/sdf1 (another path to the disk of /dev/sdg) is mounted at /vm s (ext4)"]),
            ("sdh", &[]),
            ("sdi", &["/dev/sdi is exported by the kernel's NVMe target (subsystem soak, namespace 1)"]),
            ("sdj", &["/dev/sdj is exported by the kernel's SCSI target (backstore d1)"]),
        ] {
            let nodes = related(&machine, &machine.block_folder_by_name(name).unwrap());
            let says: Vec<String> =
                holds(&machine, &nodes).unwrap().into_iter().map(|hold| hold.says).collect();
            assert_eq!(says, expected, "{name}");
        }
    }

    #[test]
    fn partitions_are_reported_in_one_sentence() {
        let captured = server();
        let machine = captured.machine();
        let says = |name: &str| {
            let nodes = related(&machine, &machine.block_folder_by_name(name).unwrap());
            partitions(&nodes).map(|hold| hold.says)
        };
        assert_eq!(says("sdc").as_deref(), Some("/dev/sdc has a partition: /dev/sdc1 (500 KiB)"));
        assert_eq!(says("sdb"), None);
        assert_eq!(says("sda1"), None);
        assert!(
            says("sda").unwrap().starts_with("/dev/sda has partitions: /dev/sda1 (500 KiB), /dev/sda2 (")
        );
    }

    #[test]
    fn unreadable_usage_is_an_error_not_an_empty_answer() {
        let captured = server();
        std::fs::remove_file(captured.machine().path("/proc/swaps")).unwrap();
        let machine = captured.machine();
        let nodes = related(&machine, &machine.block_folder_by_name("sdh").unwrap());
        assert!(
            matches!(holds(&machine, &nodes), Err(ProbeError::Read { file, .. }) if file == "/proc/swaps")
        );
    }
}
