//! Block devices: their properties, the devices below them, and their identities.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use assay_record::{BusFacts, DeviceFacts};

use crate::block::{SECTOR_BYTES, STACK_DEPTH_MAX, model, number_under, whole_disk};
use crate::bus::bus_of;
use crate::drives::layout_of;
use crate::machine::{DevNo, Machine, attribute, name_of, names_in, number, path_attribute};
use crate::mounts::{mount_of, mounts, nearest_existing};
use crate::notes::notes_of;

/// Block of modern disks and page of memory, bytes.
const PAGE_BYTES: u64 = 4096;

/// Returns the block device behind a path: the device itself for a device node, else the one under the file system, if
/// there is one (network file systems, tmpfs and ZFS have none). For a path that does not exist yet, its directory is
/// used.
///
/// # Errors
/// If neither the path nor any directory above it can be read.
pub fn device_of(path: &Path) -> io::Result<Option<DeviceFacts>> {
    let machine = Machine::this();
    let number = number_under(&machine, &nearest_existing(path)?)?;
    Ok(number.and_then(|number| facts_of(&machine, number)))
}

/// Returns what a user can type after `--overwrite` for this device: its serial number and its WWID, or
/// `NAME-SIZE_BYTES` for a device that has neither.
pub fn identities(device: &DeviceFacts) -> Vec<String> {
    let known: Vec<String> = [&device.serial, &device.wwid].into_iter().flatten().cloned().collect();
    if known.is_empty() { vec![format!("{}-{}", device.name, device.size_bytes)] } else { known }
}

/// Returns an identity that no other device gets: its serial number or WWID, or, for a device that has neither,
/// `NAME-SIZE_BYTES-seqN`, where N counts the disks that this host has seen since it was started. A name alone is a
/// position, at which another disk is after a hotplug. `None` where the kernel does not count (before Linux 5.15), and
/// for LUNs without a serial number and WWID.
pub fn lasting_identity(device: &DeviceFacts) -> Option<String> {
    lasting_identity_on(&Machine::this(), device)
}

fn lasting_identity_on(machine: &Machine, device: &DeviceFacts) -> Option<String> {
    let named = identities(device).into_iter().next()?;
    if device.serial.is_some() || device.wwid.is_some() {
        return Some(named);
    }
    let disk = whole_disk(&machine.block_folder_by_name(&device.name).ok()?);
    let seen: u64 = number(&disk.join("diskseq"))?;
    Some(format!("{named}-seq{seen}"))
}

/// Returns true if `typed` is an identity of this device. Case and surrounding blanks are ignored.
pub fn is_identity_of(device: &DeviceFacts, typed: &str) -> bool {
    identities(device).iter().any(|identity| is_same(identity, typed))
        || is_lasting_identity_of(device, typed)
}

/// Returns true if `typed` is an identity of this device that no other device gets.
pub fn is_lasting_identity_of(device: &DeviceFacts, typed: &str) -> bool {
    match device.serial.is_some() || device.wwid.is_some() {
        true => identities(device).iter().any(|identity| is_same(identity, typed)),
        false => lasting_identity(device).is_some_and(|identity| is_same(&identity, typed)),
    }
}

fn is_same(identity: &str, typed: &str) -> bool {
    identity.trim().to_lowercase() == typed.trim().to_lowercase()
}

/// Position of a device on its disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PlaceOnDisk {
    /// Offset from the start of the disk, bytes; 0 for the disk itself.
    pub start_bytes: u64,
    /// Size of the disk, bytes.
    pub disk_bytes: u64,
}

/// Returns the position of a device on its disk; `None` for volumes and loop devices, whose blocks are mapped. A
/// software RAID counts as a disk: positions are those of the array.
pub fn place_on_disk(device: &DeviceFacts) -> Option<PlaceOnDisk> {
    let is_mapped = |name: &str| ["dm-", "loop", "drbd", "bcache"].iter().any(|map| name.starts_with(map));
    if device.name.is_empty() || is_mapped(&device.name) {
        return None;
    }
    let folder = fs::canonicalize(Path::new("/sys/class/block").join(&device.name)).ok()?;
    let disk = whole_disk(&folder);
    if is_mapped(&name_of(&disk)) {
        return None;
    }
    let start = if disk == folder { 0 } else { number::<u64>(&folder.join("start"))? };
    let size = number::<u64>(&disk.join("size"))?;
    Some(PlaceOnDisk {
        start_bytes: start.saturating_mul(SECTOR_BYTES),
        disk_bytes: size.saturating_mul(SECTOR_BYTES),
    })
}

/// Returns the facts in sysfs about a device.
pub(crate) fn facts_of(machine: &Machine, devno: DevNo) -> Option<DeviceFacts> {
    let own = machine.block_folder(devno).ok()?;
    let disk = whole_disk(&own);
    let queue = disk.join("queue");
    let udev = Udev::of(machine, devno);
    let mut stack = Vec::new();
    push_stack(machine, &own, &mut stack, 0);
    Some(DeviceFacts {
        name: name_of(&own),
        model: model(&disk).or_else(|| udev.value("ID_MODEL")).unwrap_or_default(),
        serial: serial(&disk)
            .or_else(|| udev.value("ID_SERIAL_SHORT"))
            .or_else(|| udev.value("ID_SCSI_SERIAL")),
        wwid: wwid(&disk).or_else(|| udev.value("ID_WWN_WITH_EXTENSION")).or_else(|| udev.value("ID_WWN")),
        rotational: number(&queue.join("rotational")) == Some(1),
        scheduler: attribute(&queue.join("scheduler"))
            .map(|line| chosen_scheduler(&line))
            .unwrap_or_default(),
        write_cache: attribute(&queue.join("write_cache")).unwrap_or_default(),
        size_bytes: number::<u64>(&own.join("size")).unwrap_or(0).saturating_mul(SECTOR_BYTES),
        logical_block_bytes: number(&queue.join("logical_block_size")).unwrap_or(512),
        physical_block_bytes: number(&queue.join("physical_block_size")).unwrap_or(512),
        queue_requests: number(&queue.join("nr_requests")).unwrap_or(0),
        is_in_memory: stack.iter().all(|name| is_in_memory(machine, name)),
        shifted_bytes: shifted_bytes(machine, &stack),
        bus: bus_below(machine, &stack),
        notes: notes_of(machine, &stack),
        layout: layout_of(machine, &own),
        stack,
    })
}

/// File systems that keep their files in memory.
const IN_MEMORY: [&str; 3] = ["tmpfs", "ramfs", "devtmpfs"];

/// Returns whether a device is memory of this host: a disk in memory without a device behind it, or the loop device of
/// a file in memory. That no device is seen below a loop says nothing: its file may be on NFS, ZFS or an overlay.
fn is_in_memory(machine: &Machine, name: &str) -> bool {
    let Ok(own) = machine.block_folder_by_name(name) else { return false };
    let disk = whole_disk(&own);
    let of_driver = |driver: &str| {
        name_of(&disk).strip_prefix(driver).is_some_and(|n| n.bytes().all(|b| b.is_ascii_digit()))
    };
    let of_file = || {
        let file = path_attribute(&disk.join("loop/backing_file"))?;
        let mounts = mounts(machine).ok()?;
        Some(IN_MEMORY.contains(&mount_of(&mounts, &file)?.kind.as_str()))
    };
    of_driver("ram")
        || of_driver("zram") && attribute(&disk.join("backing_dev")).is_none_or(|device| device == "none")
        || of_file() == Some(true)
}

/// Returns the bus of the one disk below a stack; `None` for several, which share the load.
fn bus_below(machine: &Machine, stack: &[String]) -> Option<BusFacts> {
    let folders = stack.iter().filter_map(|name| machine.block_folder_by_name(name).ok());
    let disks: BTreeSet<PathBuf> = folders.map(|folder| whole_disk(&folder)).collect();
    let is_lowest =
        |disk: &&PathBuf| names_in(&disk.join("slaves")).is_empty() && !disk.join("loop").exists();
    let mut lowest = disks.iter().filter(is_lowest);
    let only = lowest.next()?;
    lowest.next().is_none().then(|| bus_of(only)).flatten()
}

/// Returns by how much the first partition or loop device of a stack that begins within a block of 4 KiB does so; 0 if
/// none does. Old partitioning tools begin at sector 63, so that each block of a file covers two of a disk.
fn shifted_bytes(machine: &Machine, stack: &[String]) -> u32 {
    let folders = stack.iter().filter_map(|name| machine.block_folder_by_name(name).ok());
    let shifts = folders.map(|folder| {
        let is_partition = folder.join("partition").exists();
        let sectors = if is_partition { number::<u64>(&folder.join("start")).unwrap_or(0) } else { 0 };
        let offset = number::<u64>(&folder.join("loop/offset")).unwrap_or(0);
        let shift = (sectors.wrapping_mul(SECTOR_BYTES).wrapping_add(offset)) % PAGE_BYTES;
        u32::try_from(shift).unwrap_or(0)
    });
    shifts.into_iter().find(|shift| *shift > 0).unwrap_or(0)
}

/// Returns the WWID alone, which identifies paths to the same disk.
pub(crate) fn wwid(disk: &Path) -> Option<String> {
    ["wwid", "device/wwid", "dm/uuid", "md/uuid"]
        .iter()
        .find_map(|file| attribute(&disk.join(file)))
        .filter(|text| is_telling(text))
}

fn serial(disk: &Path) -> Option<String> {
    ["serial", "device/serial"]
        .iter()
        .find_map(|file| attribute(&disk.join(file)))
        .or_else(|| vpd_serial(&fs::read(disk.join("device/vpd_pg80")).ok()?))
        .filter(|text| is_telling(text))
}

/// Parses the SCSI Unit Serial Number page: byte 1 is the page code, bytes 2 and 3 the length of the text from byte 4
/// (SPC-4, 7.8.15).
fn vpd_serial(page: &[u8]) -> Option<String> {
    let [_, 0x80, high, low, text @ ..] = page else { return None };
    let length = usize::from(u16::from_be_bytes([*high, *low])).min(text.len());
    let text = String::from_utf8_lossy(&text[..length]);
    let text = text.trim_matches(|c: char| c.is_whitespace() || c == '\0');
    (!text.is_empty()).then(|| text.to_owned())
}

/// Returns false for zeros and filler text, which USB bridges and virtual disks report as serial number and which
/// identify no device.
fn is_telling(text: &str) -> bool {
    text.chars().any(|c| c.is_ascii_alphanumeric() && c != '0') && !text.eq_ignore_ascii_case("none")
}

/// Returns the active scheduler: in `none [mq-deadline] kyber` it is mq-deadline; a single name is active.
fn chosen_scheduler(line: &str) -> String {
    let chosen = line.split_whitespace().find_map(|name| name.strip_prefix('[')?.strip_suffix(']'));
    chosen.unwrap_or(line).to_owned()
}

/// Returns those of these devices (kernel names) that are loop devices that use the page cache of their file.
pub fn cached_loops(names: &[String]) -> Vec<String> {
    let is_cached = |name: &&String| {
        let folder = Path::new("/sys/class/block").join(name).join("loop");
        folder.join("backing_file").exists() && attribute(&folder.join("dio")).as_deref() == Some("0")
    };
    names.iter().filter(is_cached).cloned().collect()
}

/// Appends the device and the devices below it: its disk, its members, the device under a loop's file.
fn push_stack(machine: &Machine, folder: &Path, stack: &mut Vec<String>, depth: u32) {
    let name = name_of(folder);
    if depth > STACK_DEPTH_MAX || stack.contains(&name) {
        return;
    }
    stack.push(name);
    let disk = whole_disk(folder);
    if disk != folder {
        push_stack(machine, &disk, stack, depth + 1);
    }
    for slave in names_in(&folder.join("slaves")) {
        if let Ok(below) = machine.block_folder_by_name(&slave) {
            push_stack(machine, &below, stack, depth + 1);
        }
    }
    let under_file = path_attribute(&folder.join("loop/backing_file"))
        .and_then(|file| number_under(machine, &file).ok().flatten())
        .and_then(|number| machine.block_folder(number).ok());
    if let Some(below) = under_file {
        push_stack(machine, &below, stack, depth + 1);
    }
}

/// Data of udev about a device: lines `E:KEY=value`. Absent in containers and early boot.
struct Udev(String);

impl Udev {
    fn of(machine: &Machine, number: DevNo) -> Self {
        Self(machine.text(format!("/run/udev/data/b{number}")).unwrap_or_default())
    }

    fn value(&self, key: &str) -> Option<String> {
        let value =
            self.0.lines().find_map(|line| line.strip_prefix("E:")?.strip_prefix(key)?.strip_prefix('='))?;
        is_telling(value).then(|| value.trim().to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::captured::Captured;

    fn facts(machine: &Captured, number: &str) -> DeviceFacts {
        facts_of(&machine.machine(), number.parse().unwrap()).unwrap()
    }

    fn sata_disk_with_partition() -> Captured {
        Captured::new()
            .device(
                "pci/ata1/block/sda",
                "8:0",
                &[
                    ("size", "7814037168\n"),
                    ("device/vendor", "ATA     \n"),
                    ("device/model", "WDC WD40EFRX-68N\n"),
                    ("device/vpd_pg80", "\0\u{0}"),
                    ("device/wwid", "naa.50014ee2b5a1c2d3\n"),
                    ("queue/rotational", "1\n"),
                    ("queue/scheduler", "none [mq-deadline] kyber\n"),
                    ("queue/write_cache", "write back\n"),
                    ("queue/logical_block_size", "512\n"),
                    ("queue/physical_block_size", "4096\n"),
                    ("queue/nr_requests", "64\n"),
                ],
            )
            .device(
                "pci/ata1/block/sda/sda1",
                "8:1",
                &[("size", "2048\n"), ("partition", "1\n"), ("start", "63\n")],
            )
    }

    #[test]
    fn a_partition_has_its_own_size_and_its_disks_identity() {
        let machine = sata_disk_with_partition();
        machine
            .file("sys/devices/pci/ata1/block/sda/device/vpd_pg80", b"\x00\x80\x00\x14     WD-WCC4E1234567");
        let expected = DeviceFacts {
            name: "sda1".to_owned(),
            model: "WDC WD40EFRX-68N".to_owned(),
            serial: Some("WD-WCC4E1234567".to_owned()),
            wwid: Some("naa.50014ee2b5a1c2d3".to_owned()),
            rotational: true,
            scheduler: "mq-deadline".to_owned(),
            write_cache: "write back".to_owned(),
            size_bytes: 1 << 20,
            logical_block_bytes: 512,
            physical_block_bytes: 4096,
            queue_requests: 64,
            stack: vec!["sda1".to_owned(), "sda".to_owned()],
            is_in_memory: false,
            shifted_bytes: 63 * 512 % 4096,
            notes: Vec::new(),
            bus: None,
            layout: None,
        };
        let found = facts(&machine, "8:1");
        let layout = found.layout.clone().expect("one disk");
        assert_eq!((layout.drives.len(), layout.drives[0].model.as_str()), (1, "WDC WD40EFRX-68N"));
        assert_eq!((layout.drives[0].used_bytes, layout.drives[0].size_bytes), (1 << 20, 4_000_787_030_016));
        assert_eq!(DeviceFacts { layout: None, ..found }, expected);
        assert_eq!(facts(&machine, "8:0").shifted_bytes, 0);
        assert_eq!(facts(&machine, "8:0").size_bytes, 4_000_787_030_016);
    }

    #[test]
    fn nvme_and_virtio_disks_have_serials_in_other_places() {
        let machine = Captured::new()
            .device(
                "pci/nvme/nvme0/nvme0n1",
                "259:0",
                &[
                    ("size", "8\n"),
                    ("wwid", "eui.0025385b71b00e5a\n"),
                    ("device/model", "Samsung SSD 970 PRO 512GB               \n"),
                    ("device/serial", "S463NF0K800000X     \n"),
                    ("queue/scheduler", "none\n"),
                ],
            )
            .device("virtio1/block/vda", "254:0", &[("serial", "vm-disk-7"), ("device/vendor", "0x1af4\n")]);
        let nvme = facts(&machine, "259:0");
        assert_eq!(nvme.model, "Samsung SSD 970 PRO 512GB");
        assert_eq!(identities(&nvme), ["S463NF0K800000X", "eui.0025385b71b00e5a"]);
        assert_eq!(nvme.scheduler, "none");
        let virtio = facts(&machine, "254:0");
        assert_eq!((virtio.serial.as_deref(), virtio.model.as_str()), (Some("vm-disk-7"), ""));
    }

    #[test]
    fn the_udev_database_fills_in_what_sysfs_lacks() {
        let machine = Captured::new().device("usb/block/sdb", "8:16", &[("device/serial", "000000000000\n")]);
        machine.file(
            "run/udev/data/b8:16",
            b"S:disk/by-id/x\nE:ID_SERIAL=Long_Form\nE:ID_SERIAL_SHORT=AB12\nE:ID_WWN=0x5000c500\n",
        );
        let disk = facts(&machine, "8:16");
        assert_eq!(identities(&disk), ["AB12", "0x5000c500"]);
    }

    #[test]
    fn the_stack_lists_volumes_and_disks_once_each() {
        let machine = sata_disk_with_partition()
            .device("pci/ata2/block/sdb", "8:16", &[("size", "8\n")])
            .device("virtual/block/md0", "9:0", &[("slaves/sda1/x", ""), ("slaves/sdb/x", "")])
            .device(
                "virtual/block/dm-0",
                "253:0",
                &[("slaves/md0/x", ""), ("dm/name", "vg-lv\n"), ("dm/uuid", "LVM-abc\n")],
            );
        let volume = facts(&machine, "253:0");
        assert_eq!(volume.stack, ["dm-0", "md0", "sda1", "sda", "sdb"]);
        assert_eq!((volume.model.as_str(), volume.wwid.as_deref()), ("vg-lv", Some("LVM-abc")));
    }

    /// A loop device over a file on NFS or ZFS has no device below it either: it was "memory of this host", and no disk
    /// could be the cause.
    #[test]
    fn a_loop_device_is_memory_where_its_file_is() {
        let machine = sata_disk_with_partition()
            .device("virtual/block/loop0", "7:0", &[("loop/backing_file", "/mem/a.img\n")])
            .device("virtual/block/loop1", "7:1", &[("loop/backing_file", "/pool/a.img\n")])
            .device("virtual/block/dm-0", "253:0", &[("slaves/loop0/x", ""), ("slaves/sda1/x", "")])
            .device("virtual/block/zram0", "252:0", &[("backing_dev", "none\n")])
            .device("virtual/block/zram1", "252:1", &[("backing_dev", "/dev/sda1\n")]);
        machine.file(
            "proc/self/mountinfo",
            b"30 20 0:28 / / rw - ext4 /dev/sda1 rw\n31 30 0:29 / /mem rw - tmpfs tmpfs rw\n\
            32 30 0:30 / /pool rw - zfs pool rw\n",
        );
        let is_memory = |number| facts(&machine, number).is_in_memory;
        assert!(is_memory("7:0") && is_memory("252:0"));
        for number in ["7:1", "253:0", "252:1", "8:1"] {
            assert!(!is_memory(number), "{number}");
        }
    }

    #[test]
    fn a_device_without_serial_is_named_with_its_size() {
        let device = DeviceFacts { name: "loop0".to_owned(), size_bytes: 1 << 30, ..DeviceFacts::default() };
        assert_eq!(identities(&device), ["loop0-1073741824"]);
        assert!(is_identity_of(&device, " LOOP0-1073741824\n"));
        for other in ["", "loop0", "loop0-107374182", "loop1-1073741824"] {
            assert!(!is_identity_of(&device, other), "{other}");
        }
    }

    /// Another disk that took over the name was overwritten by a script that had typed the identity of the first.
    #[test]
    fn a_device_without_serial_has_an_identity_that_does_not_outlive_it() {
        let machine = Captured::new()
            .device("virtual/block/vdb", "254:16", &[("size", "8\n"), ("diskseq", "12\n")])
            .device("virtual/block/vdb/vdb1", "254:17", &[("size", "4\n"), ("partition", "1\n")])
            .device("virtual/block/vdc", "254:32", &[("size", "8\n")])
            .device("virtual/block/vdd", "254:48", &[("size", "8\n"), ("serial", "vm-disk-7")]);
        let lasting = |number| lasting_identity_on(&machine.machine(), &facts(&machine, number));
        assert_eq!(lasting("254:16").as_deref(), Some("vdb-4096-seq12"));
        assert_eq!(lasting("254:17").as_deref(), Some("vdb1-2048-seq12"));
        assert_eq!(lasting("254:32"), None, "a kernel that does not count");
        assert_eq!(lasting("254:48").as_deref(), Some("vm-disk-7"));
    }

    #[test]
    fn serial_pages_with_a_wrong_length_are_read_to_their_end() {
        for (page, expected) in [
            (&b"\x00\x80\x00\x04AB12"[..], Some("AB12")),
            (b"\x00\x80\xff\xffAB12", Some("AB12")),
            (b"\x00\x80\x00\x02AB12", Some("AB")),
            (b"\x00\x80\x00\x04    ", None),
            (b"\x00\x83\x00\x04AB12", None),
            (b"", None),
        ] {
            assert_eq!(vpd_serial(page).as_deref(), expected, "{page:?}");
        }
    }
}
