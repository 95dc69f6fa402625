//! The array that a host sees, from the facts that a run keeps.

use assay_analysis::{Detected, detected};
use assay_model::array::{
    Array, Device, Level, LinkRate, ProtocolKind, SoftwareName, VirtualDisk, parse, to_toml,
};
use assay_model::catalogue::is_not_seen;
use assay_model::predict::{Engines, predict};
use assay_model::resolved::Tables;
use assay_model::workload::Workload;
use assay_record::{DeviceFacts, DriveFacts, LayoutFacts, LunFacts, MemberFacts, MemberKind};

fn drive(name: &str, model: &str, link: &str) -> DriveFacts {
    DriveFacts {
        name: name.to_owned(),
        model: model.to_owned(),
        rotational: true,
        size_bytes: 1_000_204_886_016,
        link: link.to_owned(),
        write_cache: Some(true),
        used_bytes: 1_000_204_886_016,
        ..DriveFacts::default()
    }
}

fn on(layout: LayoutFacts) -> MemberFacts {
    MemberFacts {
        kind: MemberKind::Device,
        direct: true,
        device: Some(DeviceFacts { layout: Some(layout), ..DeviceFacts::default() }),
        ..MemberFacts::default()
    }
}

/// The array file of what was seen, read back as a user would.
fn file(found: &Detected) -> Array {
    let text = to_toml(&found.array);
    parse("detected.toml", &text).unwrap_or_else(|e| panic!("{e}\n{text}"))
}

/// A disk of virtio was described as if no hypervisor were in front of it.
#[test]
fn a_disk_of_virtio_has_the_layer_of_its_hypervisor() {
    for (name, layer) in
        [("vda", VirtualDisk::Paravirtual), ("xvdb", VirtualDisk::Paravirtual), ("sda", VirtualDisk::None)]
    {
        let found =
            detected(&on(LayoutFacts { drives: vec![drive(name, "", "")], ..LayoutFacts::default() }));
        let array = file(&found.expect("it is seen"));
        assert!(array.guest.disk == layer && is_not_seen(&array.device), "{name}");
    }
}

#[test]
fn md_over_listed_disks_needs_no_answer() {
    let drives: Vec<DriveFacts> =
        ["sda", "sdb", "sdc", "sdd"].iter().map(|name| drive(name, "ST1000DM010-2EP102", "SATA3")).collect();
    let found = detected(&on(LayoutFacts {
        software: vec!["md".to_owned()],
        level: Some("raid5".to_owned()),
        chunk_bytes: Some(524_288),
        members: Some(4),
        drives,
        ..LayoutFacts::default()
    }))
    .expect("it is seen");
    assert!(found.is_known, "{:?}", found.questions);
    assert_eq!(found.questions, Vec::<String>::new());
    let array = file(&found);
    assert_eq!((array.raid.level, array.raid.disks.value), (Level::Raid5, 4.0));
    assert_eq!(array.raid.chunk.value, 524_288.0);
    assert_eq!(array.target.software, SoftwareName::Md);
    let Device::Hdd(hdd) = &array.device else { panic!("{:?}", array.device) };
    assert!(hdd.write_cache.is_some());
    let reads = Workload::simple("r", 4096, 100.0, 100.0, 4);
    let iops = predict(&array, &reads, Engines::Closed, &mut Tables::default()).iops;
    assert!(iops.lo > 100.0 && iops.hi < 1200.0, "{iops:?}");
}

#[test]
fn what_is_not_seen_is_asked_and_a_class_answers() {
    let of = |model: &str, link: &str| {
        let layout = LayoutFacts { drives: vec![drive("sda", model, link)], ..LayoutFacts::default() };
        detected(&on(layout)).expect("a drive is seen")
    };
    for (model, link, asked) in [
        ("ACME SPINNER 4000", "SATA3", "ACME SPINNER 4000"),
        ("PERC H730P Mini", "", "hides its drives"),
        ("QEMU HARDDISK", "", "hides its drives"),
        ("", "", "a drive without a model string"),
        ("Amazon Elastic Block Store", "", "gp3"),
    ] {
        let found = of(model, link);
        assert!(!found.is_known, "{model}");
        assert!(found.questions.iter().any(|q| q.contains(asked)), "{model}: {:?}", found.questions);
        assert_eq!(file(&found).raid.level, Level::Single);
    }
}

/// A loop device of 48 MiB had an SLC cache of 246 KiB, which no array file takes.
#[test]
fn the_file_of_a_small_device_can_be_read_back() {
    for (rotational, size_bytes) in [(false, 48 << 20), (true, 1 << 30), (false, 1 << 30)] {
        let seen = DriveFacts { rotational, size_bytes, ..drive("loop0", "", "") };
        let found = detected(&on(LayoutFacts { drives: vec![seen], ..LayoutFacts::default() }));
        file(&found.expect("it is seen"));
    }
}

/// A virtual disk of 64 MiB with the model string of a drive of 8 TB was described, and judged, as that drive.
#[test]
fn a_model_string_of_a_drive_of_another_size_is_not_believed() {
    let of = |size_bytes| {
        let seen = DriveFacts { size_bytes, ..drive("sda", "ATA ST8000AS0002-1NA", "") };
        detected(&on(LayoutFacts { drives: vec![seen], ..LayoutFacts::default() })).expect("it is seen")
    };
    let small = of(64 << 20);
    assert!(!small.is_known);
    let asked = small.questions.iter().any(|q| q.contains("which holds 8TB and not 64MiB"));
    assert!(asked, "{:?}", small.questions);
    let whole = of(8_001_563_222_016);
    assert!(whole.is_known, "{:?}", whole.questions);
    assert!(matches!(whole.array.device, Device::Hdd(hdd) if hdd.shingled), "the Archive HDD is shingled");
}

#[test]
fn drives_that_nothing_combines_are_asked_about() {
    let drives = ["sda", "sdb", "sdc"].map(|name| drive(name, "ST1000DM010-2EP102", "SATA3")).to_vec();
    let found =
        detected(&on(LayoutFacts { software: vec!["lvm".to_owned()], drives, ..LayoutFacts::default() }));
    let found = found.expect("it is seen");
    assert!(
        !found.is_known && found.questions[0].contains("3 drives are combined by"),
        "{:?}",
        found.questions
    );
    assert_eq!(file(&found).raid.disks.value, 3.0);
}

#[test]
fn every_level_and_number_of_drives_is_a_file_that_reads_back() {
    let levels = ["raid0", "raid1", "raid4", "raid5", "raid6", "raid10", "raid1c3", "linear", "single"];
    for level in levels {
        for count in 1..9 {
            let drives =
                (0..count).map(|i| drive(&format!("sd{i}"), "WDC WD40EFRX-68N32N0", "SAS12")).collect();
            let found = detected(&on(LayoutFacts {
                software: vec!["md".to_owned()],
                level: Some(level.to_owned()),
                failed: u32::from(count > 3),
                members: Some(count),
                drives,
                ..LayoutFacts::default()
            }));
            file(&found.expect("it is seen"));
        }
    }
}

#[test]
fn a_lun_is_what_its_path_shows_and_the_rest_is_asked() {
    let lun =
        LunFacts { vendor: "IET".to_owned(), product: "VIRTUAL-DISK".to_owned(), ..LunFacts::default() };
    let member = MemberFacts { kind: MemberKind::Lun, lun: Some(Box::new(lun)), ..MemberFacts::default() };
    let found = detected(&member).expect("the path is seen");
    assert!(!found.is_known);
    let array = file(&found);
    assert!(array.protocol.kind == ProtocolKind::Iscsi && is_not_seen(&array.device));
    assert!(matches!(array.link.rate, LinkRate::Ranged { .. }), "{:?}", array.link.rate);
    assert!(
        found.questions.iter().any(|q| q.contains("IET VIRTUAL-DISK hides its drives")),
        "{:?}",
        found.questions
    );
    assert_eq!(detected(&MemberFacts::default()), None);
}

/// A model string says nothing of an interface that the host does: drives with an NVMe name are NVMe drives, whatever
/// else their name has, and SATA ones are not.
#[test]
fn the_interface_that_the_host_reports_decides_the_family() {
    let link_of = |name: &str, link: &str| {
        let seen = DriveFacts { rotational: false, ..drive(name, "Samsung SSD 980 PRO 1TB", link) };
        let found =
            detected(&on(LayoutFacts { drives: vec![seen], ..LayoutFacts::default() })).expect("it is seen");
        let Device::Ssd(ssd) = found.array.device else { panic!("it does not rotate") };
        ssd.link
    };
    let is_pcie = |link| matches!(link, LinkRate::Pcie { .. });
    assert!(is_pcie(link_of("nvme0n1", "PCIe4x4")) && is_pcie(link_of("nvme0n1", "")));
    assert!(!is_pcie(link_of("sda", "SATA3")));
}
