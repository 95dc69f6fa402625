//! The interface or bus of a disk, at the speed that was negotiated.

use std::path::Path;

use assay_record::BusFacts;

use crate::machine::{attribute, name_of, number};

/// Throughput of SATA by its line rate, MB/s: 8b/10b encoding, and what frames and their acknowledgements take.
const SATA_MB_S: [(&str, u32); 3] = [("1.5", 140), ("3.0", 280), ("6.0", 550)];
/// Throughput of USB storage by its line rate in Mbit/s, MB/s: bulk-only transport for 480, UASP above.
const USB_MB_S: [(u32, u32); 4] = [(480, 38), (5_000, 400), (10_000, 1_000), (20_000, 2_000)];
/// From this rate on, Mbit/s, USB has wires for each direction.
const USB_3_MBIT_S: u32 = 5_000;
/// Share of the bytes on PCIe lanes that is data: packets of 128 to 256 bytes with their headers, and flow control.
const PCIE_DATA: f64 = 0.89;

/// Returns the interface of a disk from its directory in sysfs; `None` for disks without one that is known: virtual
/// ones, and those behind controllers that do not say.
pub(crate) fn bus_of(disk: &Path) -> Option<BusFacts> {
    // From the disk upwards: what comes first is the slowest that is its own.
    for folder in disk.ancestors().skip(1) {
        // Above a USB device is its hub, whose speed may be another.
        if folder.join("busnum").exists() {
            return usb(folder);
        }
        // Other controllers share their lanes among disks.
        let is_nvme = name_of(disk).starts_with("nvme");
        let bus = sata(folder).or_else(|| is_nvme.then(|| pcie(folder)).flatten());
        if bus.is_some() {
            return bus;
        }
    }
    None
}

/// The port of a SATA disk: `…/ata3/…`.
fn sata(folder: &Path) -> Option<BusFacts> {
    let name = name_of(folder);
    let port = name.strip_prefix("ata").filter(|port| port.parse::<u32>().is_ok())?;
    let speed = attribute(&folder.join(format!("link{port}/ata_link/link{port}/sata_spd")))?;
    let rate = speed.split_whitespace().next()?;
    let (_, mb_per_s) = SATA_MB_S.into_iter().find(|(known, _)| *known == rate)?;
    Some(BusFacts { says: format!("SATA at {rate} Gbit/s"), mb_per_s, full_duplex: false })
}

fn usb(folder: &Path) -> Option<BusFacts> {
    let speed = number::<u32>(&folder.join("speed"))?;
    let (_, mb_per_s) = USB_MB_S.into_iter().find(|(known, _)| *known == speed)?;
    Some(BusFacts { says: format!("USB at {speed} Mbit/s"), mb_per_s, full_duplex: speed >= USB_3_MBIT_S })
}

fn pcie(folder: &Path) -> Option<BusFacts> {
    let speed = attribute(&folder.join("current_link_speed"))?;
    let lanes = number::<u32>(&folder.join("current_link_width")).filter(|lanes| *lanes > 0)?;
    let rate = speed.split_whitespace().next()?;
    let gt_per_s: f64 = rate.parse().ok()?;
    // 2.5 and 5 GT/s have 8b/10b encoding, 8 to 32 have 128b/130b.
    let coded = if gt_per_s < 8.0 { 0.8 } else { 128.0 / 130.0 };
    let mb_per_s = gt_per_s * 1e3 / 8.0 * coded * f64::from(lanes) * PCIE_DATA;
    let are = if lanes == 1 { "lane" } else { "lanes" };
    let says = format!("PCIe at {rate} GT/s, {lanes} {are}");
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "some thousands")]
    Some(BusFacts { says, mb_per_s: mb_per_s.round() as u32, full_duplex: true })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::captured::Captured;

    fn bus(files: &[(&str, &str)], disk: &str) -> Option<(String, u32)> {
        let machine = Captured::new();
        for (file, text) in files {
            machine.file(&format!("sys/devices/{file}"), text.as_bytes());
        }
        let disk = machine.machine().path(format!("/sys/devices/{disk}"));
        std::fs::create_dir_all(&disk).unwrap();
        bus_of(&disk).map(|bus| (bus.says, bus.mb_per_s))
    }

    #[test]
    fn a_sata_disk_has_the_speed_of_its_port() {
        let spd = "pci0/0000:00:17.0/ata3/link3/ata_link/link3/sata_spd";
        let disk = "pci0/0000:00:17.0/ata3/host2/target2:0:0/2:0:0:0/block/sda";
        assert_eq!(bus(&[(spd, "3.0 Gbps\n")], disk), Some(("SATA at 3.0 Gbit/s".to_owned(), 280)));
        assert_eq!(bus(&[(spd, "<unknown>\n")], disk), None);
    }

    #[test]
    fn a_usb_disk_has_the_speed_of_its_device() {
        let device = "pci0/usb2/2-1";
        let (busnum, speed) = (format!("{device}/busnum"), format!("{device}/speed"));
        let files = [(busnum.as_str(), "2\n"), (speed.as_str(), "5000\n")];
        let disk = format!("{device}/2-1:1.0/host6/target6:0:0/6:0:0:0/block/sdb");
        assert_eq!(bus(&files, &disk), Some(("USB at 5000 Mbit/s".to_owned(), 400)));
        let slow = format!("{device}/2-1.4");
        let slow_files = [(format!("{slow}/busnum"), "2\n"), (format!("{slow}/speed"), "12\n")];
        let both: Vec<_> =
            files.into_iter().chain(slow_files.iter().map(|(f, t)| (f.as_str(), *t))).collect();
        let behind_hub = format!("{slow}/2-1.4:1.0/host7/target7:0:0/7:0:0:0/block/sdc");
        assert_eq!(bus(&both, &behind_hub), None, "the speed of the hub is not its own");
    }

    #[test]
    fn an_nvme_disk_has_the_lanes_of_its_controller_and_another_disk_does_not() {
        let files = [
            ("pci0/0000:01:00.0/current_link_speed", "8.0 GT/s PCIe\n"),
            ("pci0/0000:01:00.0/current_link_width", "2\n"),
        ];
        let nvme = bus(&files, "pci0/0000:01:00.0/nvme/nvme0/nvme0n1");
        assert_eq!(nvme, Some(("PCIe at 8.0 GT/s, 2 lanes".to_owned(), 1753)));
        assert_eq!(bus(&files, "pci0/0000:01:00.0/host0/target0:0:0/0:0:0:0/block/sda"), None);
    }
}
