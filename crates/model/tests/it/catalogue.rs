//! Drives and volumes by their names: what the catalogue says must be possible, and array files that use it.

use assay_model::array::{Array, Device, LinkRate, parse, to_toml};
use assay_model::catalogue::{class_note, cloud, models};
use assay_model::predict::{Engines, predict};
use assay_model::quantity::Quantity;
use assay_model::resolved::Tables;
use assay_model::wire;
use assay_model::workload::{Arrivals, LoadModel, Workload};
use assay_spec::units::{Bytes, GIB, Nanos};

fn read(text: &str) -> Array {
    parse("a.toml", text).unwrap_or_else(|e| panic!("{text}:\n{e}"))
}

fn refused(text: &str) -> String {
    match parse("a.toml", text) {
        Err(error) => error.to_string(),
        Ok(array) => panic!("{text} is taken as {array:?}"),
    }
}

fn single(model: &str) -> Array {
    read(&format!("disks = {{ model = \"{model}\" }}"))
}

fn iops(array: &Array, load: &Workload) -> assay_model::quantity::Bounds {
    predict(array, load, Engines::Closed, &mut Tables::default()).iops
}

fn is_range(q: &Quantity) -> bool {
    q.lo <= q.value && q.value <= q.hi && q.lo >= 0.0 && q.hi.is_finite()
}

#[test]
fn it_has_more_than_120_models_and_a_source_for_each() {
    assert!(models().len() >= 120, "{}", models().len());
    let rows = |text: &str| text.lines().filter(|line| !line.starts_with(['#', '@'])).count() - 1;
    let written = rows(include_str!("../../../../arrays/catalogue/disks.tsv"))
        + rows(include_str!("../../../../arrays/catalogue/ssds.tsv"));
    assert_eq!(models().len(), written, "a row could not be read");
    for model in models() {
        assert!(model.source.contains("2026-11-24"), "{}: {}", model.name, model.source);
    }
}

/// Seek, rotation, transfer and interface of a disk belong together, whatever its sheet says.
#[test]
fn every_disk_is_mechanically_possible() {
    for model in models() {
        let Device::Hdd(hdd) = &model.device else { continue };
        let name = &model.name;
        let all = [
            &hdd.rpm, &hdd.seek_track_ms, &hdd.seek_avg_ms, &hdd.seek_full_ms, &hdd.outer_mb_s,
            &hdd.inner_mb_s, &hdd.capacity,
        ];
        assert!(all.iter().all(|q| is_range(q)), "{name}: {hdd:?}");
        assert!(hdd.seek_track_ms.hi < hdd.seek_avg_ms.lo, "{name}: {hdd:?}");
        assert!(hdd.seek_avg_ms.hi < hdd.seek_full_ms.lo, "{name}: {hdd:?}");
        assert!(
            hdd.inner_mb_s.hi < hdd.outer_mb_s.hi && hdd.inner_mb_s.lo < hdd.outer_mb_s.lo,
            "{name}: {hdd:?}"
        );
        // A track of 2004 held 0.3 MB, one of 2024 2.6 MB.
        let track_mb = hdd.outer_mb_s.value * 60.0 / hdd.rpm.value;
        assert!((0.25..3.0).contains(&track_mb), "{name}: a track of {track_mb:.2} MB");
        // A revolution and a seek: 15,000 rpm is 2 + 3 ms, 5400 rpm 5.6 + 12 ms.
        let alone_ms = hdd.seek_avg_ms.value + 30_000.0 / hdd.rpm.value;
        assert!((4.5..20.0).contains(&alone_ms), "{name}: {alone_ms:.1} ms");
        let port = wire::ceiling_mb_s(
            &assay_model::array::Link { rate: hdd.link, ..Default::default() },
            &Default::default(),
            1_048_576.0,
        );
        assert!(hdd.outer_mb_s.value < port, "{name}: {} MB/s over {port:.0}", hdd.outer_mb_s.value);
    }
}

#[test]
fn every_ssd_is_possible_behind_its_link() {
    for model in models() {
        let Device::Ssd(ssd) = &model.device else { continue };
        let name = &model.name;
        let all = [
            &ssd.qd1_read_iops, &ssd.qd1_write_iops, &ssd.read_iops_max, &ssd.write_iops_max, &ssd.read_mb_s,
            &ssd.write_mb_s, &ssd.dies, &ssd.capacity,
        ];
        assert!(all.iter().all(|q| is_range(q)), "{name}: {ssd:?}");
        assert!(ssd.qd1_read_iops.hi <= ssd.read_iops_max.hi, "{name}: {ssd:?}");
        assert!(ssd.qd1_write_iops.hi <= ssd.write_iops_max.hi, "{name}: {ssd:?}");
        assert!((2000.0..26_001.0).contains(&ssd.qd1_read_iops.value), "{name}: {ssd:?}");
        assert!(ssd.link != LinkRate::Unlimited, "{name}");
        let link = assay_model::array::Link { rate: ssd.link, ..Default::default() };
        let port = wire::ceiling_mb_s(&link, &Default::default(), 1_048_576.0);
        // Sheets count what the line carries; the model leaves the usual headers out.
        assert!(ssd.read_mb_s.value < 1.08 * port, "{name}: {} over {port:.0}", ssd.read_mb_s.value);
        assert!(ssd.slc.as_ref().is_none_or(|slc| slc.value < ssd.capacity.value), "{name}");
        // Random I/Os of 4 KiB are bytes too.
        assert!(ssd.read_iops_max.value * 4096.0 / 1e6 < 1.08 * port, "{name}: {ssd:?}");
    }
}

#[test]
fn an_array_of_any_model_can_be_written_and_predicted() {
    let load = Workload::simple("r", 4096, 100.0, 100.0, 1);
    for model in models() {
        let name = model.name.replace('*', "");
        let array = single(&name);
        assert_eq!(array.device, model.device, "{name}");
        assert_eq!(read(&to_toml(&array)), array, "{name}");
        let found = iops(&array, &load);
        let fastest = match &array.device {
            // Half a revolution on a short stroke, and the error of the model.
            Device::Hdd(hdd) => hdd.rpm.hi / 60.0 * 2.0 * 1.15,
            Device::Ssd(ssd) => ssd.qd1_read_iops.hi * 1.5,
        };
        assert!(found.lo > 20.0 && found.hi <= fastest, "{name}: {found:?}, not {fastest}");
        assert_eq!(class_note(&array.device), None, "{name}");
    }
}

#[test]
fn drives_are_counted_and_combined_and_their_numbers_can_be_changed() {
    let file = "disks = { model = \"ST4000NM0023\", count = 8 }\n[raid]\nfrom = \"measured\"\nlevel = 10\n\
                [device]\nfrom = \"measured\"\nseek_avg_ms = 8.1\n";
    let array = read(file);
    assert_eq!(array.raid.disks.value, 8.0);
    let Device::Hdd(hdd) = &array.device else { panic!("a disk") };
    assert_eq!((hdd.seek_avg_ms.value, hdd.outer_mb_s.value), (8.1, 175.0));
    let alone = read("[device]\nmodel = \"WDC WD1002FAEX-00Z3A0\"\n[raid]\nfrom = \"measured\"\ndisks = 1\n");
    assert!(matches!(alone.device, Device::Hdd(hdd) if hdd.seek_full_ms.value == 21.0));
}

#[test]
fn a_drive_that_is_not_listed_is_of_its_class_and_says_so() {
    let unknown = single("ST12000NM9999");
    let note = class_note(&unknown.device).expect("it is not listed");
    assert!(note.contains("ST12000NM9999") && note.contains("3.5 inch disks of 7200 rpm"), "{note}");
    let hinted = read("disks = { model = \"FOO 1\", class = \"nvme4\", capacity = \"2TB\" }");
    assert!(matches!(&hinted.device, Device::Ssd(ssd) if ssd.capacity.value == 2e12));
    assert!(class_note(&hinted.device).is_some());
    let message = refused("disks = { model = \"FOO 1\" }");
    assert!(message.contains("does not say what it is; add `class = \"hdd-7200\"`"), "{message}");
    for (text, says) in [
        ("disks = 8", "is the drives by their model"),
        ("disks = { count = 8 }", "drives need their `model`"),
        ("disks = { model = \"ST4000NM0023\", count = 0 }", "1 to 8192"),
        ("disks = { model = \"ST4000NM0023\", kount = 8 }", "did you mean `count`"),
        ("disks = { model = \"ST4000NM0023\", count = 8 }", "says how they are combined"),
        ("disks = { model = \"x\", class = \"floppy\" }", "`floppy` is not known; use one of hdd-7200"),
        ("disks = []", "is the drives by their model"),
    ] {
        let message = refused(text);
        assert!(message.contains(says), "{text}: {message}");
    }
}

#[test]
fn mixed_members_work_at_the_pace_of_the_slowest() {
    let mixed = read(
        "disks = [{ model = \"ST4000NM0023\", count = 2 }, { model = \"ST1000NM0023\", count = 2 }]\n\
         [raid]\nfrom = \"measured\"\nlevel = 5\n",
    );
    let Device::Hdd(hdd) = &mixed.device else { panic!("disks") };
    assert_eq!((mixed.raid.disks.value, hdd.capacity.value), (4.0, 1e12));
    let two = read(
        "disks = [{ model = \"ST3600057SS\" }, { model = \"ST9300603SS\" }]\n\
         [raid]\nfrom = \"measured\"\nlevel = 1\n",
    );
    let Device::Hdd(hdd) = &two.device else { panic!("disks") };
    assert_eq!((hdd.rpm.value, hdd.rpm.hi, hdd.outer_mb_s.value), (10_000.0, 15_000.0, 124.0));
    let message = refused(
        "disks = [{ model = \"ST3600057SS\" }, { model = \"870 EVO 1TB\" }]\n[raid]\nfrom = \"measured\"\nlevel = 1",
    );
    assert!(message.contains("SSDs in front of disks are the table `[tier]`"), "{message}");
}

fn volume(text: &str) -> Array {
    read(&format!("cloud = {{ {text} }}"))
}

#[test]
fn volumes_of_clouds_have_their_published_limits() {
    let random = |size| Workload {
        duration: Nanos::from_secs(100_000_000),
        ..Workload::simple("r", size, 100.0, 100.0, 256)
    };
    for (text, at_4k, mb_s) in [
        ("type = \"gp3\", size = \"500GiB\"", 3000.0, 131.0),
        ("type = \"gp3\", size = \"500GiB\", iops = 6000, throughput = 250", 6000.0, 250.0),
        ("type = \"gp2\", size = \"100GiB\"", 300.0, 134.2),
        ("type = \"gp2\", size = \"8TiB\"", 16_000.0, 262.1),
        ("type = \"io2\", size = \"500GiB\", iops = 20000", 20_000.0, 4194.0),
        ("type = \"io1\", size = \"2TiB\", iops = 32000", 32_000.0, 524.3),
        ("type = \"io1\", size = \"2TiB\", iops = 48000", 48_000.0, 786.4),
        ("type = \"st1\", size = \"2TiB\"", 500.0, 524.3),
        ("type = \"sc1\", size = \"12TiB\"", 250.0, 262.1),
        ("type = \"premium-ssd\", size = \"1TiB\"", 5000.0, 200.0),
        ("type = \"standard-ssd\", size = \"1TiB\"", 500.0, 60.0),
        ("type = \"pd-ssd\", size = \"1000GB\"", 36_000.0, 731.0),
        ("type = \"cloud_ssd\", size = \"100GiB\"", 4800.0, 170.0),
    ] {
        let array = volume(text);
        let rate = iops(&array, &random(4096)).value;
        assert!((rate / at_4k - 1.0).abs() < 0.02, "{text}: {rate:.0} IOPS");
        let stream = iops(
            &array,
            &Workload {
                duration: Nanos::from_secs(100_000_000),
                ..Workload::simple("s", 1 << 20, 100.0, 0.0, 32)
            },
        );
        let most = (mb_s * 1e6_f64 / 1_048_576.0).min(at_4k);
        assert!((stream.value / most - 1.0).abs() < 0.05, "{text}: {:.0} MiB/s, not {most:.0}", stream.value);
        assert_eq!(read(&to_toml(&array)), array, "{text}");
    }
    assert_eq!(cloud::names().len(), 15);
}

/// Volumes of disks count I/Os of 1 MiB: of 256 KiB each, a stream had a quarter of what they burst to.
#[test]
fn volumes_of_disks_stream_at_their_base_and_their_burst() {
    let stream = Workload {
        duration: Nanos::from_secs(100_000_000),
        ..Workload::simple("s", 1 << 20, 100.0, 0.0, 32)
    };
    for (text, base, burst) in
        [("type = \"st1\", size = \"2TiB\"", 80.0, 500.0), ("type = \"sc1\", size = \"12TiB\"", 144.0, 250.0)]
    {
        let mib_s = iops(&volume(text), &stream);
        // The slow end has the model's own error besides.
        let is_base = (0.8..1.01).contains(&(mib_s.lo / base));
        assert!(is_base && (mib_s.value / burst - 1.0).abs() < 0.05, "{text}: {mib_s:?}");
    }
}

/// A small gp2 volume reaches 3,000 IOPS for half an hour, and three for each GiB after that.
#[test]
fn burst_credits_last_as_long_as_their_provider_says() {
    let array = volume("type = \"gp2\", size = \"100GiB\"");
    let run = |seconds, pace| {
        let load = Workload {
            duration: Nanos::from_secs(seconds),
            pace,
            ..Workload::simple("r", 4096, 100.0, 100.0, 64)
        };
        iops(&array, &load)
    };
    let closed = |seconds| run(seconds, LoadModel::Closed);
    let burst = closed(1000);
    assert!((burst.value - 3000.0).abs() < 60.0 && burst.lo < 320.0, "{burst:?}");
    // 5.4 million credits above 300: 2,000 s (AWS's own table), half of 4,000.
    let half = closed(4000);
    assert!((half.value - 1650.0).abs() < 40.0, "{half:?}");
    let paced = run(4000, LoadModel::Rate { per_s: 1000.0, arrivals: Arrivals::Even });
    assert!((paced.value - 1000.0).abs() < 20.0, "credits last 7,714 s at 1,000 IOPS: {paced:?}");
}

#[test]
fn what_cannot_be_ordered_is_refused() {
    for (text, says) in [
        ("type = \"gp4\", size = \"1TiB\"", "`gp4` is not a volume that is known; did you mean `gp"),
        ("type = \"gp3\"", "a volume needs its `size`"),
        ("size = \"1TiB\"", "a volume needs its `type`, one of gp2, gp3"),
        ("type = \"gp2\", size = \"1TiB\", iops = 9000", "follow from its size"),
        (
            "type = \"gp3\", size = \"8GiB\", iops = 9000",
            "9000 IOPS cannot be had of this size: at most 4000",
        ),
        ("type = \"io1\", size = \"1TiB\"", "io1 needs `iops`"),
        (
            "type = \"io1\", size = \"1TiB\", iops = 9000, throughput = 900",
            "the throughput of io1 follows from its IOPS; leave out `throughput`",
        ),
        ("type = \"io2\", size = \"1TiB\", iops = 9000, throughput = 900", "the throughput of io2 follows"),
        (
            "type = \"ultra\", size = \"1TiB\", iops = 4000, throughput = 2000",
            "2000 MB/s cannot be had of 4000 IOPS: at most 1024",
        ),
        ("type = \"gp2\", size = \"20TiB\"", "20480 GiB: the largest volume gp2 has 16384 GiB"),
        ("type = \"io2\", size = \"65TiB\", iops = 4000", "66560 GiB: the largest volume io2 has 65536 GiB"),
        ("type = \"st1\", size = \"20TiB\"", "the largest volume st1"),
    ] {
        let message = refused(&format!("cloud = {{ {text} }}"));
        assert!(message.contains(says), "{text}: {message}");
    }
}

#[test]
fn links_are_known_by_the_names_that_people_use() {
    for (said, name) in [
        ("PCIe3x16", "PCIe3x16"),
        ("PCIe 4.0 x4", "PCIe4x4"),
        ("PCI Express 3.0 x8", "PCIe3x8"),
        ("pcie gen5 x4", "PCIe5x4"),
        ("64GFC", "64GFC"),
        ("64 Gb FC", "64GFC"),
        ("32Gb Fibre Channel", "32GFC"),
        ("usb", "USB3"),
        ("USB 3.0", "USB3"),
        ("USB 3.2 Gen 2", "USB10G"),
        ("usb2", "USB2"),
        ("400 GbE", "400GbE"),
        ("SAS-4", "SAS24"),
        ("SAS12", "SAS12"),
        ("InfiniBand HDR", "IB-HDR"),
        ("IB FDR", "IB-FDR"),
        ("SATA III", "SATA3"),
    ] {
        let found = LinkRate::named(said).map(|rate| rate.name().into_owned());
        // A bare "usb" says no speed: it is not guessed.
        let expected = (said != "usb").then(|| name.to_owned());
        assert_eq!(found, expected, "{said}");
    }
    let rate = |name: &str| {
        let link = assay_model::array::Link { rate: LinkRate::named(name).unwrap(), ..Default::default() };
        wire::ceiling_mb_s(&link, &Default::default(), 131_072.0)
    };
    // Published payloads: 64GFC 6,400 MB/s, SAS-4 2,400 MB/s a lane, EDR 12 GB/s.
    for (name, mb_s) in [("64GFC", 6600.0), ("SAS24", 2318.0), ("IB-EDR", 11_880.0), ("PCIe3x16", 13_863.0)] {
        assert!((rate(name) / mb_s - 1.0).abs() < 0.02, "{name}: {}", rate(name));
    }
}

#[test]
fn fabrics_are_described_by_their_protocol_and_link() {
    let file = |kind: &str, rate: &str| {
        format!(
            "disks = {{ model = \"SSDPE2KX040T7\", count = 4 }}\n[raid]\nfrom = \"measured\"\nlevel = 0\n\
             [protocol]\nkind = \"{kind}\"\n[link]\nrate = \"{rate}\"\n"
        )
    };
    let span = |load: Workload| Workload { span: Bytes(64 * GIB), ..load };
    let stream = span(Workload::simple("s", 131_072, 100.0, 0.0, 64));
    let most = |kind: &str, rate: &str| iops(&read(&file(kind, rate)), &stream).hi * 131_072.0 / 1e6;
    for (kind, rate, mb_s) in [
        ("nvme-tcp", "25GbE", 3125.0),
        ("nvme-rdma", "IB-HDR", 25_000.0),
        ("nvme/tcp", "100GbE", 12_500.0),
        ("fcoe", "10GbE", 1250.0),
        ("fc", "64GFC", 6700.0),
    ] {
        let found = most(kind, rate);
        assert!(found > 800.0 && found <= mb_s * 1.03, "{kind} over {rate}: {found:.0} MB/s");
    }
    for (kind, rate, says) in [
        ("nvme-tcp", "32GFC", "nvme-tcp runs over Ethernet or InfiniBand, not over `32GFC`"),
        ("fcoe", "32GFC", "FCoE needs a link like 10GbE"),
        ("nvme-of", "25GbE", "say over what: `nvme-tcp`, `nvme-rdma` or `fc`"),
        ("local", "IB-HDR", "needs protocol iscsi, nfs, smb, nvme-tcp"),
    ] {
        let message = refused(&file(kind, rate));
        assert!(message.contains(says), "{kind} over {rate}: {message}");
    }
    let valued =
        file("nvme-tcp", "25GbE").replace("\"25GbE\"", "{ value = \"25GbE\", from = \"sheet: switch\" }");
    assert_eq!(read(&valued), read(&file("nvme-tcp", "25GbE")));
}
