//! What hardware cannot carry: rates that nobody here had tried.

use assay_model::array::LinkRate;
use assay_model::demand::ResourceKind;
use assay_model::predict::{Engines, predict};
use assay_model::resolved::Tables;
use assay_model::workload::Workload;
use assay_spec::units::{Bytes, GIB, KIB, MIB};

use crate::{changed, expected, load};

/// Six disks as raidz1 were to take 255,000 random writes of 4 KiB per second where the file did not name ZFS: its
/// records were streamed as if each I/O were one.
#[test]
fn raidz_and_draid_write_their_records_whether_or_not_the_file_names_zfs() {
    for level in ["raid=raidz1 disks=6", "raid=raidz3 disks=8", "raid=draid2 disks=12 raid.width=6"] {
        let rate = |changes: &str, random_pct: f64| {
            // At the disks: what ZFS costs per write of 4 KiB, and one thread of it, end a stream before they do.
            let array = changed("hdd-7200", &format!("link=none {level} target.write_op_us=0 {changes}"));
            let span = Bytes(1000 * GIB);
            let load = Workload { span, workers: 8, ..load(4 * KIB, 0.0, random_pct, 32) };
            let p = expected(&array, &load);
            assert_eq!(p.limit, ResourceKind::Members, "{level} {changes}: {}", p.limit_name());
            p.closed.iops
        };
        for software in ["", " target.software=zfs", " target.software=none"] {
            // The root of 4 KiB and the record: 8 and 16 times what is written.
            for (record, factor) in [("256KiB", 8.0), ("1MiB", 16.0)] {
                let changes = format!("chunk={record}{software}");
                let ratio = rate(&changes, 0.0) / rate(&changes, 100.0);
                assert!((ratio / factor - 1.0).abs() < 0.02, "{level} {changes}: {ratio}");
            }
        }
    }
}

#[test]
fn sata_and_usb_2_carry_one_direction_at_a_time() {
    let halves =
        |names: &[&str]| names.iter().map(|n| LinkRate::named(n).unwrap().is_half_duplex()).collect();
    let half: Vec<bool> = halves(&["SATA1", "SATA2", "SATA3", "USB2"]);
    assert_eq!(half, [true; 4]);
    let full: Vec<bool> =
        halves(&["USB3", "USB40G", "SAS12", "SAS6x4", "PCIe3x4", "10GbE", "8GFC", "IB-EDR", "none"]);
    assert_eq!(full, [false; 9]);
}

/// Half of reads and half of writes were carried at once: 530 MB/s over SATA2, which carries 297, and 76 over USB 2,
/// which carries 38.
#[test]
fn reads_and_writes_share_a_link_that_carries_one_direction_at_a_time() {
    let mixed = |link: &str, read_pct: f64| {
        let drive = changed("ssd-sata", &format!("link={link} device.link=none"));
        let load = load(128 * KIB, read_pct, 100.0, 32);
        let engines = Engines::Simulated { seeds: 1, max_ios: 20_000 };
        let p = predict(&drive, &load, engines, &mut Tables::default());
        let mb_s = |iops: f64| iops * load.mean_size() / 1e6;
        let simulated = mb_s(p.simulated.as_ref().expect("simulated").iops.value);
        (mb_s(p.closed.iops), simulated, mb_s(p.iops.hi), p)
    };
    for (link, carries) in [("SATA2", 297.0), ("SATA1", 148.5), ("USB2", 38.0)] {
        let [reads, half, writes] = [100.0, 50.0, 0.0].map(|read_pct| mixed(link, read_pct));
        for (closed, simulated, hi, p) in [&reads, &half, &writes] {
            assert!(*closed <= carries && *closed > 0.88 * carries, "{link}: {closed} {p:?}");
            assert!((simulated / closed - 1.0).abs() < 0.05, "{link}: {simulated} {closed}");
            assert!(*hi <= carries * 1.03, "{link}: {hi}");
        }
        let names = [&reads, &half, &writes].map(|(.., p)| p.limit_name());
        let says = ["read direction", "both directions", "write direction"]
            .map(|way| format!("one {link} link, {way}"));
        assert_eq!(names, says);
        assert_eq!(
            [&reads, &writes].map(|(.., p)| p.limit),
            [ResourceKind::LinkRead, ResourceKind::LinkWrite]
        );
    }
    let (closed, ..) = mixed("SAS3", 50.0);
    assert!(closed > 450.0, "a SAS lane carries both at once: {closed}");
}

/// A drive behind USB 2 was to read 4,622 and write 6,924 times 4 KiB per second at one outstanding: 1,138 and 1,236
/// were measured on a Raspberry Pi, and 59 reads of 512 KiB.
#[test]
fn every_command_over_usb_2_waits_for_microframes() {
    let drive = changed("ssd-sata", "link=USB2 device.link=none");
    for (size, read_pct, measured) in
        [(4 * KIB, 100.0, 1138.0), (4 * KIB, 0.0, 1236.0), (512 * KIB, 100.0, 59.0)]
    {
        let p = expected(&drive, &load(size, read_pct, 100.0, 1));
        assert!(p.iops.lo < measured && measured < p.iops.hi, "{size} {read_pct}: {:?}", p.iops);
    }
    // No command is answered before three stages are over, and many bytes are carried as fast as ever.
    let deep = expected(&drive, &load(4 * KIB, 100.0, 100.0, 32));
    assert!(deep.iops.hi < 4600.0, "{:?}", deep.iops);
    let large = expected(&drive, &load(16 * MIB, 100.0, 0.0, 4));
    assert!((large.mib_s.value * 1.048_576 / 38.0 - 1.0).abs() < 0.01, "{:?}", large.mib_s);
}
