//! The array that a host sees in front of it: drives by their model, what combines them, links. What it cannot see is
//! left as a question, with a class value that answers until somebody does.

use assay_model::array::{
    Array, Device, Hdd, Level, LinkRate, PathPolicy, ProtocolKind, SoftwareName, VirtualDisk,
};
use assay_model::catalogue::{self, Class, Hint};
use assay_model::quantity::{Provenance, Quantity};
use assay_record::{DriveFacts, LayoutFacts, MemberFacts, MemberKind, PathFacts};
use assay_spec::units::Bytes;

/// Model strings of what stands in front of drives: RAID controllers and hypervisors, in upper case.
const HIDING: [&str; 16] = [
    "PERC", "LOGICAL VOLUME", "MEGARAID", "MR9", "SERVERAID", "SMART ARRAY", "RAID", "AVAGO", "3WARE",
    "ARECA", "QEMU", "VMWARE", "VIRTUAL", "VBOX", "MSFT", "GOOGLE",
];
/// Model strings of volumes of clouds, and the word of `cloud` in an array file.
const CLOUDS: [(&str, &str); 3] = [
    ("AMAZON ELASTIC BLOCK STORE", "gp3"),
    ("GOOGLE PERSISTENTDISK", "pd-balanced"),
    ("MSFT VIRTUAL DISK", "premium-ssd"),
];

/// Size of a drive over that of its sheet: binary units for decimal ones, and blocks that a format takes.
const SAME_SIZE: std::ops::RangeInclusive<f64> = 0.90..=1.10;

/// An array as far as it is seen.
#[derive(Debug, Clone, PartialEq)]
pub struct Detected {
    /// The array; what is not seen has a class value.
    pub array: Array,
    /// What was not seen, in questions.
    pub questions: Vec<String>,
    /// Whether every drive is in the catalogue, and nothing but them and what combines them is in front.
    pub is_known: bool,
}

/// Returns the array that a target is on; `None` where nothing of it is seen.
pub fn detected(member: &MemberFacts) -> Option<Detected> {
    match member.kind {
        MemberKind::Lun => Some(remote(member, ProtocolKind::Iscsi)),
        _ if member.nfs.is_some() => Some(remote(member, ProtocolKind::Nfs)),
        _ => member.device.as_ref()?.layout.as_ref().map(local),
    }
}

fn seen(value: f64) -> Quantity {
    Quantity::exact(value, Provenance::Measured("seen by the host".to_owned()))
}

fn local(layout: &LayoutFacts) -> Detected {
    let mut found = Detected { array: Array::default(), questions: Vec::new(), is_known: true };
    "detected".clone_into(&mut found.array.name);
    found.array.source = "what the host sees: sysfs, and the catalogue".to_owned();
    let first = layout.drives.first().cloned().unwrap_or_default();
    device(layout, &mut found);
    raid(layout, &mut found);
    software(layout, &mut found);
    let rate = LinkRate::named(&first.link).unwrap_or_default();
    if first.link.is_empty() && !is_virtual(&first) {
        found
            .questions
            .push(format!("The link of {} is not seen: which is it, as in `link = \"SATA3\"`?", first.name));
    }
    match &mut found.array.device {
        Device::Hdd(hdd) => hdd.link = rate,
        // A drive with a name of NVMe is on PCIe, however little the host sees of it.
        Device::Ssd(ssd) if first.link.is_empty() && matches!(ssd.link, LinkRate::Pcie { .. }) => {}
        Device::Ssd(ssd) => ssd.link = rate,
    }
    // Of several, each has a layer of its own below what combines them, which no file can say.
    if is_paravirtual(&first) && layout.drives.len() == 1 {
        found.array.guest.disk = VirtualDisk::Paravirtual;
    }
    found.array.controller.tunnels_sata = layout.drives.iter().any(|drive| drive.tunnelled);
    found.array.controller.slot = layout.slot.as_deref().and_then(LinkRate::named).unwrap_or_default();
    found.array.title = match layout.drives.len() {
        1 => format!("{}, {}", first.name, named(&first)),
        n if first.model.is_empty() => format!("{n} drives without a model string"),
        n => format!("{n} drives, {}", first.model),
    };
    found
}

fn named(drive: &DriveFacts) -> String {
    if drive.model.is_empty() { "a drive without a model string".to_owned() } else { drive.model.clone() }
}

/// Whether the kernel's own name of a drive says that its driver is that of virtio-blk or of Xen. Others are named like
/// disks of hardware.
fn is_paravirtual(drive: &DriveFacts) -> bool {
    ["vd", "xvd"].iter().any(|begin| drive.name.starts_with(begin))
}

fn is_virtual(drive: &DriveFacts) -> bool {
    let model = drive.model.to_uppercase();
    model.is_empty() || HIDING.iter().any(|hiding| model.contains(hiding))
}

/// What the drives are: the first of the catalogue among them, or the class that the host sees.
fn device(layout: &LayoutFacts, found: &mut Detected) {
    let mut unlisted: Vec<&DriveFacts> = Vec::new();
    if let Some((drive, bytes)) = layout.drives.iter().find_map(|drive| Some((drive, other_size(drive)?))) {
        found.is_known = false;
        found.questions.push(format!(
            "{} says that it is {}, which holds {} and not {}: is it a part of one, or what its name hides?",
            drive.name,
            drive.model,
            Bytes(bytes),
            Bytes(drive.size_bytes),
        ));
    }
    let mut devices: Vec<Device> = Vec::new();
    for drive in &layout.drives {
        let capacity = Some(Bytes(drive.size_bytes)).filter(|size| size.0 > 0);
        let class = class_of(drive);
        if catalogue::find(&drive.model).is_none() {
            unlisted.push(drive);
        }
        let hint = Hint { class: Some(class), capacity };
        devices.extend(catalogue::device(&drive.model, hint).ok().map(|device| with_cache(device, drive)));
    }
    if let Some(drive) = unlisted.first() {
        found.is_known = false;
        let model = drive.model.to_uppercase();
        let cloud = CLOUDS.iter().find(|(name, _)| model.contains(name));
        found.questions.push(match cloud {
            Some((_, kind)) => format!(
                "{} is a volume of a cloud: of which type? Write it as `cloud = {{ type = \"{kind}\", size = \"…\" }}` \
                 in place of \
                 [device] and [raid].",
                drive.name
            ),
            None if is_virtual(drive) => format!(
                "{} ({}) hides its drives: what are they, how many, and at which RAID level?",
                drive.name,
                named(drive)
            ),
            None => format!(
                "The catalogue does not have {}: its class answers. What does its data sheet say?",
                named(drive)
            ),
        });
    }
    let mut devices = devices.into_iter();
    if let Some(first) = devices.next() {
        let differs = devices.any(|other| std::mem::discriminant(&other) != std::mem::discriminant(&first));
        if differs {
            found.is_known = false;
            found.questions.push(
                "Disks and SSDs are mixed: which of them is a tier or a log in front of the others?"
                    .to_owned(),
            );
        }
        found.array.device = first;
        if unlisted.first().is_some_and(|drive| is_virtual(drive)) {
            let model = match &mut found.array.device {
                Device::Hdd(hdd) => &mut hdd.model,
                Device::Ssd(ssd) => &mut ssd.model,
            };
            catalogue::NOT_SEEN.clone_into(model);
        }
    }
}

/// Bytes that the catalogue has for a drive whose own size is another: what says its name is not the drive itself.
fn other_size(drive: &DriveFacts) -> Option<u64> {
    let listed = match &catalogue::find(&drive.model)?.device {
        Device::Hdd(hdd) => hdd.capacity.value,
        Device::Ssd(ssd) => ssd.capacity.value,
    };
    let ratio = drive.size_bytes as f64 / listed;
    let differs = drive.size_bytes > 0 && !SAME_SIZE.contains(&ratio);
    differs.then(|| format!("{listed:.0}").parse().ok())?
}

/// The class of a drive that is not listed, by what the host sees of it.
fn class_of(drive: &DriveFacts) -> Class {
    let link = LinkRate::named(&drive.link).unwrap_or_default();
    match drive.rotational {
        true if matches!(link, LinkRate::Sas { .. })
            && !drive.tunnelled
            && drive.size_bytes < 2_500_000_000_000 =>
        {
            Class::Hdd10k
        }
        true => Class::Hdd7200,
        false if drive.name.starts_with("nvme") && !matches!(link, LinkRate::Pcie { .. }) => Class::Nvme,
        false => Class::of_link(link, false),
    }
}

/// Whether the write cache of a disk is on, as the host sees it.
fn with_cache(mut device: Device, drive: &DriveFacts) -> Device {
    if let (Device::Hdd(hdd), Some(is_on)) = (&mut device, drive.write_cache) {
        match (is_on, &hdd.write_cache) {
            (false, _) => hdd.write_cache = None,
            (true, None) => {
                let from = Provenance::Assumed("it is on, and its size is not seen".to_owned());
                hdd.write_cache = Some(Hdd::usual_write_cache(from));
            }
            (true, Some(_)) => {}
        }
    }
    device
}

fn raid(layout: &LayoutFacts, found: &mut Detected) {
    let drives =
        layout.members.unwrap_or_else(|| u32::try_from(layout.drives.len()).unwrap_or(u32::MAX)).max(1);
    let raid = &mut found.array.raid;
    raid.disks = seen(f64::from(drives));
    raid.level = Level::Single;
    let level = match layout.level.as_deref() {
        Some("raid1c3" | "raid1c4" | "dup") => Some(Level::Raid1),
        Some("raid4") => Some(Level::Raid5),
        Some(word) => Level::named(word),
        None => None,
    };
    // What reshapes or grows may have fewer drives than its level needs.
    let level = level.map(|level| match (level, drives) {
        (Level::Raid5 | Level::Raid6 | Level::Raid10, 2) => Level::Raid1,
        (Level::Raid6, 3) => Level::Raid5,
        (level, _) => level,
    });
    match (level, drives) {
        (Some(level), 2..) if level != Level::Single => {
            let odd = level == Level::Raid10 && drives % 2 == 1;
            raid.level = if odd || (level == Level::Raid1 && drives > 4) { Level::Raid10 } else { level };
            if raid.level == Level::Raid10 && drives % 2 == 1 {
                raid.disks = seen(f64::from(drives - 1));
                found.questions.push(format!("RAID10 over {drives} drives is described as {}.", drives - 1));
            }
        }
        (_, 2..) => {
            raid.level = Level::Raid0;
            found.is_known = false;
            let word = layout.level.as_deref().unwrap_or("nothing that sysfs shows");
            found.questions.push(format!(
                "{drives} drives are combined by {word}: striped, one after the other, or mirrored? RAID0 stands here."
            ));
        }
        _ => {}
    }
    if let Some(chunk) = layout.chunk_bytes {
        found.array.raid.chunk = seen(chunk as f64);
    }
    if layout.failed > 0 && !matches!(found.array.raid.level, Level::Single | Level::Raid0) {
        found.array.raid.failed = Some(seen(f64::from(layout.failed)));
    }
}

fn software(layout: &LayoutFacts, found: &mut Detected) {
    let has = |word: &str| layout.software.iter().any(|known| known == word);
    found.array.target.software = match () {
        () if has("md") => SoftwareName::Md,
        () if has("lvm") || has("dm") => SoftwareName::Lvm,
        () => SoftwareName::None,
    };
    if has("crypt") {
        found.is_known = false;
        found.questions.push(
            "dm-crypt is in front: how much does a core encrypt per second (cryptsetup benchmark)? \
             It is `read_kib_us` and \
             `write_kib_us` in [target]."
                .to_owned(),
        );
    }
    if has("btrfs") {
        found.is_known = false;
        found.questions.push(
            "btrfs copies on write, and its checksums cost time: their cost is not described.".to_owned(),
        );
    }
    if has("loop") {
        found.is_known = false;
        found
            .questions
            .push("A loop device is in front: the file system below it is not described.".to_owned());
    }
}

/// A system behind a network: the path is seen, and nothing of what is behind it.
fn remote(member: &MemberFacts, kind: ProtocolKind) -> Detected {
    let mut found = Detected { array: Array::default(), questions: Vec::new(), is_known: false };
    let array = &mut found.array;
    let product = member.lun.as_ref().map(|lun| format!("{} {}", lun.vendor, lun.product));
    let name = product.map_or_else(|| "an NFS export".to_owned(), |product| product.trim().to_owned());
    "detected".clone_into(&mut array.name);
    array.title = format!("{name}, over {}", kind.word());
    array.source = "what the host sees of the path; class values behind it".to_owned();
    let from = "not seen: behind the network; class of 3.5 inch disks of 7200 rpm";
    array.device = Class::Hdd7200.device(catalogue::NOT_SEEN, None, from);
    array.raid.level = Level::Raid5;
    array.raid.disks =
        Quantity { value: 4.0, ..Quantity::exact(4.0, Provenance::Assumed("not seen".to_owned())) };
    array.protocol.kind = kind;
    found
        .questions
        .push(format!("{name} hides its drives: what are they, how many, and at which RAID level?"));
    found.questions.push(
        "How large are the caches of the system, and does its write cache survive a power cut?".to_owned(),
    );
    links(member, &mut found);
    found
}

/// The links of the host towards the portals.
fn links(member: &MemberFacts, found: &mut Detected) {
    let up: Vec<&PathFacts> = member.paths().iter().filter(|path| path.is_up).collect();
    let interface = |path: &&PathFacts| path.net.as_ref()?.interface.clone();
    let interfaces: Vec<_> = up.iter().filter_map(interface).collect();
    let carriers: Vec<_> = interfaces.iter().flat_map(|one| one.carriers()).collect();
    let slowest = carriers.iter().filter_map(|one| one.speed_mbit_s).filter(|speed| *speed > 0).min();
    let array = &mut found.array;
    match slowest.map(|mbit_s| f64::from(mbit_s) / 1000.0) {
        Some(gbit_s) => {
            array.link.rate = LinkRate::named(&format!("{gbit_s}GbE"))
                .unwrap_or(LinkRate::Ranged { lo: gbit_s, hi: gbit_s });
        }
        None => {
            array.link.rate = LinkRate::Ranged { lo: 0.9, hi: 25.0 };
            found.questions.push(
                "The speed of the link is not seen (a virtual interface): which is the slowest on the way, \
                 as in `rate = \
                 \"10GbE\"`?"
                    .to_owned(),
            );
        }
    }
    if let Some(mtu) = carriers.iter().map(|one| one.mtu_bytes).filter(|mtu| (576..=9216).contains(mtu)).min()
    {
        array.link.mtu = seen(f64::from(mtu));
    }
    let ports = u32::try_from(up.len().max(1)).unwrap_or(1).min(64);
    array.paths.count = seen(f64::from(ports));
    let policy = member.lun.as_ref().map(|lun| lun.policy.as_str()).unwrap_or_default();
    array.paths.policy = match policy {
        _ if ports < 2 => PathPolicy::Fixed,
        "round-robin" | "rr" => PathPolicy::RoundRobin,
        _ => PathPolicy::LeastQueue,
    };
    if let Some(agreed) = up.iter().find_map(|path| path.agreed.as_ref()) {
        let p = &mut array.protocol;
        p.max_recv_data_segment = seen(f64::from(agreed.max_recv_segment_bytes.max(512)));
        p.initial_r2t = agreed.initial_r2t;
        p.immediate_data = agreed.immediate_data;
        p.data_digest = agreed.data_digest;
        p.first_burst = seen(f64::from(agreed.first_burst_bytes.clamp(512, 16_777_215)));
        p.max_burst = seen(f64::from(agreed.max_burst_bytes.clamp(agreed.first_burst_bytes, 16_777_215)));
    }
    if let Some(nfs) = &member.nfs {
        array.protocol.round_trip_us = seen(nfs.round_trip_us as f64);
        array.protocol.nfs_sync = nfs.sync == "file";
    }
}
