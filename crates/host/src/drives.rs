//! The drives below a device, their links, and what combines them: md, the device mapper, btrfs.

use std::path::{Path, PathBuf};

use assay_record::{DriveFacts, LayoutFacts};

use crate::block::{SECTOR_BYTES, STACK_DEPTH_MAX, model, number_under, whole_disk};
use crate::machine::{Machine, attribute, name_of, names_in, number, path_attribute};

/// Transfers per second of a PCIe lane, GT/s, and its generation.
const PCIE_GENERATIONS: [(&str, u32); 6] =
    [("2.5", 1), ("5.0", 2), ("8.0", 3), ("16.0", 4), ("32.0", 5), ("64.0", 6)];
/// Speeds of SATA in sysfs, and its generation.
const SATA_GENERATIONS: [(&str, u32); 3] = [("1.5", 1), ("3.0", 2), ("6.0", 3)];
/// Speeds of USB in sysfs, Mbit/s, and the names of array files.
const USB_NAMES: [(u32, &str); 4] = [(480, "USB2"), (5_000, "USB3"), (10_000, "USB10G"), (20_000, "USB20G")];

/// Returns the drives below a device and what combines them; `None` if no drive is seen.
pub(crate) fn layout_of(machine: &Machine, device: &Path) -> Option<LayoutFacts> {
    let mut layout = LayoutFacts::default();
    let mut slots = Vec::new();
    descend(machine, device, &mut layout, &mut slots, 0);
    if layout.software.is_empty() {
        btrfs(machine, device, &mut layout, &mut slots);
    }
    layout.drives.sort_by(|a, b| a.name.cmp(&b.name));
    layout.drives.dedup_by(|a, b| a.name == b.name);
    // Several adapters do not share a slot.
    slots.sort();
    slots.dedup();
    layout.slot = slots.pop().filter(|_| slots.is_empty()).flatten();
    (!layout.drives.is_empty()).then_some(layout)
}

fn descend(
    machine: &Machine,
    device: &Path,
    layout: &mut LayoutFacts,
    slots: &mut Vec<Option<String>>,
    depth: u32,
) {
    if depth > STACK_DEPTH_MAX {
        return;
    }
    let disk = whole_disk(device);
    let mut below: Vec<PathBuf> = names_in(&device.join("slaves"))
        .iter()
        .filter_map(|name| machine.block_folder_by_name(name).ok())
        .collect();
    if below.is_empty() && disk != device {
        below = names_in(&disk.join("slaves"))
            .iter()
            .filter_map(|name| machine.block_folder_by_name(name).ok())
            .collect();
    }
    if let Some(file) = path_attribute(&disk.join("loop/backing_file")) {
        push(layout, "loop");
        let under = number_under(machine, &file).ok().flatten();
        below.extend(under.and_then(|number| machine.block_folder(number).ok()));
    }
    if below.is_empty() {
        layout.drives.push(drive(&disk, device));
        slots.push(slot_of(&disk));
        return;
    }
    let several = below.len() > 1;
    if let Some(level) = attribute(&disk.join("md/level")) {
        push(layout, "md");
        layout.level.get_or_insert(level);
        layout.chunk_bytes = number::<u64>(&disk.join("md/chunk_size")).filter(|chunk| *chunk > 0);
        layout.members = number(&disk.join("md/raid_disks"));
        layout.failed = number(&disk.join("md/degraded")).unwrap_or(0);
    } else if let Some(uuid) = attribute(&disk.join("dm/uuid")) {
        let kind = match uuid.split('-').next() {
            Some("LVM") => "lvm",
            Some("mpath") => "multipath",
            Some("CRYPT") => "crypt",
            _ => "dm",
        };
        push(layout, kind);
        if kind == "multipath" {
            // They are paths to one disk.
            below.truncate(1);
        }
    } else if several {
        push(layout, "dm");
    }
    for folder in below {
        descend(machine, &folder, layout, slots, depth + 1);
    }
}

fn push(layout: &mut LayoutFacts, software: &str) {
    if !layout.software.iter().any(|known| known == software) {
        layout.software.push(software.to_owned());
    }
}

/// Adds the other devices of a btrfs that is on several, and how it keeps data.
fn btrfs(machine: &Machine, device: &Path, layout: &mut LayoutFacts, slots: &mut Vec<Option<String>>) {
    let all = machine.path("/sys/fs/btrfs");
    let own = name_of(device);
    let on = |uuid: &String| names_in(&all.join(uuid).join("devices")).contains(&own);
    let Some(uuid) = names_in(&all).into_iter().find(on) else { return };
    let folder = all.join(uuid);
    let devices = names_in(&folder.join("devices"));
    let profiles = ["raid0", "raid1", "raid1c3", "raid1c4", "raid10", "raid5", "raid6", "dup", "single"];
    let kept = names_in(&folder.join("allocation/data"));
    layout.level =
        profiles.iter().find(|name| kept.iter().any(|k| k == *name)).map(|name| (*name).to_owned());
    push(layout, "btrfs");
    layout.members = u32::try_from(devices.len()).ok();
    for other in devices.iter().filter(|name| **name != own) {
        if let Ok(folder) = machine.block_folder_by_name(other) {
            descend(machine, &folder, layout, slots, 1);
        }
    }
}

fn drive(disk: &Path, part: &Path) -> DriveFacts {
    let bytes = |folder: &Path| number::<u64>(&folder.join("size")).unwrap_or(0).saturating_mul(SECTOR_BYTES);
    let link = link_of(disk).unwrap_or_default();
    let is_ata = attribute(&disk.join("device/vendor")).as_deref() == Some("ATA");
    DriveFacts {
        name: name_of(disk),
        model: model(disk).unwrap_or_default(),
        rotational: number(&disk.join("queue/rotational")) == Some(1),
        size_bytes: bytes(disk),
        tunnelled: is_ata && link.starts_with("SAS"),
        link,
        write_cache: attribute(&disk.join("queue/write_cache")).map(|cache| cache == "write back"),
        used_bytes: bytes(part),
    }
}

/// The link of a drive, as an array file names it.
fn link_of(disk: &Path) -> Option<String> {
    let is_nvme = name_of(disk).starts_with("nvme");
    disk.ancestors().skip(1).find_map(|folder| {
        if folder.join("busnum").exists() {
            let speed = number::<u32>(&folder.join("speed"))?;
            return USB_NAMES.iter().find(|(known, _)| *known == speed).map(|(_, name)| (*name).to_owned());
        }
        sata(folder).or_else(|| sas(folder)).or_else(|| is_nvme.then(|| pcie(folder)).flatten())
    })
}

/// The port of a SATA disk: `…/ata3/…`.
fn sata(folder: &Path) -> Option<String> {
    let name = name_of(folder);
    let port = name.strip_prefix("ata").filter(|port| port.parse::<u32>().is_ok())?;
    let speed = attribute(&folder.join(format!("link{port}/ata_link/link{port}/sata_spd")))?;
    let rate = speed.split_whitespace().next()?;
    SATA_GENERATIONS.iter().find(|(known, _)| *known == rate).map(|(_, n)| format!("SATA{n}"))
}

/// The port of a SAS adapter or expander: `…/port-0:1/phy-0:1/sas_phy/phy-0:1/negotiated_linkrate`.
fn sas(folder: &Path) -> Option<String> {
    name_of(folder).strip_prefix("port-")?;
    let phys: Vec<String> = names_in(folder).into_iter().filter(|name| name.starts_with("phy-")).collect();
    let rate = phys
        .iter()
        .find_map(|phy| attribute(&folder.join(phy).join("sas_phy").join(phy).join("negotiated_linkrate")))?;
    let gbit_s: f64 = rate.split_whitespace().next()?.parse().ok()?;
    let generation = match gbit_s {
        ..4.0 => 3,
        ..8.0 => 6,
        ..15.0 => 12,
        _ => 24,
    };
    Some(if phys.len() > 1 { format!("SAS{generation}x{}", phys.len()) } else { format!("SAS{generation}") })
}

fn pcie(folder: &Path) -> Option<String> {
    let speed = attribute(&folder.join("current_link_speed"))?;
    let lanes =
        number::<u32>(&folder.join("current_link_width")).filter(|lanes| [1, 2, 4, 8, 16].contains(lanes))?;
    let rate = speed.split_whitespace().next()?;
    PCIE_GENERATIONS.iter().find(|(known, _)| *known == rate).map(|(_, n)| format!("PCIe{n}x{lanes}"))
}

/// The slot of the adapter that a SAS or SATA drive is behind; an NVMe drive has its own.
fn slot_of(disk: &Path) -> Option<String> {
    let own = name_of(disk).starts_with("nvme");
    disk.ancestors().skip(1).filter(|_| !own).find_map(pcie)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::captured::Captured;

    fn layout(machine: &Captured, number: &str) -> LayoutFacts {
        let machine = machine.machine();
        let folder = machine.block_folder(number.parse().unwrap()).unwrap();
        layout_of(&machine, &folder).unwrap()
    }

    /// A SATA disk at a port.
    fn disk(machine: Captured, port: u32, name: &str, number: &str) -> Captured {
        machine.file(
            &format!("sys/devices/pci/ata{port}/link{port}/ata_link/link{port}/sata_spd"),
            b"6.0 Gbps\n",
        );
        machine.device(
            &format!("pci/ata{port}/block/{name}"),
            number,
            &[
                ("size", "7814037168\n"),
                ("device/vendor", "ATA\n"),
                ("device/model", "ST4000NM0033\n"),
                ("queue/rotational", "1\n"),
                ("queue/write_cache", "write back\n"),
            ],
        )
    }

    #[test]
    fn md_has_its_level_chunk_and_drives() {
        let machine =
            ["sda", "sdb", "sdc"].iter().enumerate().fold(Captured::new(), |machine, (at, name)| {
                disk(machine, u32::try_from(at).unwrap() + 1, name, &format!("8:{}", at * 16))
            });
        let machine = machine
            .device(
                "virtual/block/md0",
                "9:0",
                &[
                    ("slaves/sda/x", ""),
                    ("slaves/sdb/x", ""),
                    ("slaves/sdc/x", ""),
                    ("md/level", "raid5\n"),
                    ("md/chunk_size", "524288\n"),
                    ("md/raid_disks", "4\n"),
                    ("md/degraded", "1\n"),
                ],
            )
            .device("virtual/block/dm-0", "253:0", &[("slaves/md0/x", ""), ("dm/uuid", "LVM-abc\n")]);
        let found = layout(&machine, "253:0");
        assert_eq!(found.software, ["lvm", "md"]);
        assert_eq!((found.level.as_deref(), found.chunk_bytes), (Some("raid5"), Some(524_288)));
        assert_eq!((found.members, found.failed, found.drives.len()), (Some(4), 1, 3));
        assert_eq!(found.drives[2].link, "SATA3");
        assert_eq!(found.drives[2].write_cache, Some(true));
        assert!(!found.drives[0].tunnelled);
    }

    #[test]
    fn sas_and_pcie_links_have_the_names_of_array_files() {
        let machine = Captured::new();
        machine.file("sys/devices/pci/0000:03:00.0/current_link_speed", b"8.0 GT/s PCIe\n");
        machine.file("sys/devices/pci/0000:03:00.0/current_link_width", b"8\n");
        let port = "pci/0000:03:00.0/host0/port-0:1";
        machine
            .file(&format!("sys/devices/{port}/phy-0:1/sas_phy/phy-0:1/negotiated_linkrate"), b"12.0 Gbit\n");
        let machine = machine
            .device(
                &format!("{port}/end_device-0:1/target0:0:1/0:0:1:0/block/sda"),
                "8:0",
                &[("size", "8\n"), ("device/vendor", "ATA\n"), ("device/model", "INTEL SSDSC2KB48\n")],
            )
            .device(
                "pci/0000:01:00.0/nvme/nvme0/nvme0n1",
                "259:0",
                &[("size", "8\n"), ("device/model", "Samsung SSD 980 PRO 1TB\n")],
            );
        machine.file("sys/devices/pci/0000:01:00.0/current_link_speed", b"16.0 GT/s PCIe\n");
        machine.file("sys/devices/pci/0000:01:00.0/current_link_width", b"4\n");
        let sas = layout(&machine, "8:0");
        assert_eq!((sas.drives[0].link.as_str(), sas.drives[0].tunnelled), ("SAS12", true));
        assert_eq!(sas.slot.as_deref(), Some("PCIe3x8"));
        let nvme = layout(&machine, "259:0");
        assert_eq!((nvme.drives[0].link.as_str(), nvme.slot), ("PCIe4x4", None));
    }

    #[test]
    fn btrfs_on_two_disks_has_both_and_its_profile() {
        let machine = disk(disk(Captured::new(), 1, "sda", "8:0"), 2, "sdb", "8:16");
        for name in ["sda", "sdb"] {
            machine.file(&format!("sys/fs/btrfs/0a1b/devices/{name}/x"), b"");
        }
        machine.file("sys/fs/btrfs/0a1b/allocation/data/raid1/x", b"");
        machine.file("sys/fs/btrfs/features/x", b"");
        let found = layout(&machine, "8:0");
        assert_eq!((found.level.as_deref(), found.drives.len()), (Some("raid1"), 2));
        assert_eq!(found.software, ["btrfs"]);
    }
}
