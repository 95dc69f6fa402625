//! What an array file need not say, and what caches and links take that it does not describe.

use assay_model::array::{Array, Device, SoftwareName, parse, set, to_toml};
use assay_model::demand::ResourceKind;
use assay_spec::units::{KIB, MIB};

use crate::{array, changed, close, expected, load};

/// A hit took 40 us whatever its size: 26 GB/s at one outstanding, 157 GB/s at more.
#[test]
fn a_hit_of_a_mebibyte_takes_the_time_of_a_bus() {
    let cached = changed("hdd-7200", "link=none controller.read_cache=64GiB");
    let written = changed("hdd-7200", "link=none controller.write_back=64GiB controller.battery=yes");
    for (array, read_pct) in [(&cached, 100.0), (&written, 0.0)] {
        for outstanding in [1, 64] {
            let p = expected(array, &load(MIB, read_pct, 100.0, outstanding));
            let mb_s = p.mib_s.scaled(MIB as f64 / 1e6);
            assert!(mb_s.value > 100.0 && mb_s.value < 4000.0, "{outstanding}: {mb_s:?}");
            assert!(mb_s.hi < 20_000.0, "{outstanding}: {mb_s:?}");
        }
    }
    let small = expected(&cached, &load(4 * KIB, 100.0, 100.0, 1)).iops.value;
    close(small, 25_000.0, 0.05, "a hit of 4 KiB takes what the file says");
}

/// What the drives stream passes the same controller: a cache in front of them is no slower.
#[test]
fn a_cache_is_as_fast_as_what_streams_behind_it() {
    let drives = |more: &str| changed("nvme", &format!("link=none raid=0 disks=8 initiator.op_us=1 {more}"));
    let rate = |a: &Array| expected(a, &load(4 * MIB, 100.0, 0.0, 16)).mib_s.value;
    let [without, with] = ["", "controller.read_cache=20TiB"].map(|more| rate(&drives(more)));
    assert!(without > 10_000.0 && with >= without * 0.999, "{without} {with}");
    let slot = rate(&drives("controller.read_cache=20TiB controller.slot=PCIe2x8"));
    assert!(slot < 4000.0, "a slot that the file names holds for hits: {slot}");
}

/// raidz without `software = "zfs"` streamed at the rate of its disks, and its durable writes had no intent log.
#[test]
fn raidz_is_zfs_whether_or_not_the_file_says_so() {
    for level in ["raid=raidz2 disks=8", "raid=draid2 raid.width=8 disks=20"] {
        let [silent, named] =
            ["", "target.software=zfs"].map(|more| changed("hdd-7200", &format!("link=none {level} {more}")));
        for load in [load(MIB, 100.0, 0.0, 4), load(4 * KIB, 0.0, 100.0, 16)] {
            assert_eq!(expected(&silent, &load), expected(&named, &load), "{level}");
        }
    }
    let other = changed("hdd-7200", "link=none raid=raidz2 disks=8 target.software=none");
    assert_eq!(other.software(), SoftwareName::None, "who says that there is none is believed");
}

/// Records had the 64 KiB of a stripe: a random read of a wide vdev visited two thirds of what it does.
#[test]
fn records_of_zfs_have_its_own_sizes() {
    let reads = |more: &str| {
        let a = changed("hdd-7200", &format!("link=none raid=raidz3 disks=27 target.software=zfs {more}"));
        expected(&a, &load(4 * KIB, 100.0, 100.0, 32)).iops.value
    };
    assert_eq!(reads(""), reads("raid.chunk=128KiB"));
    assert!(reads("") < reads("raid.chunk=64KiB"), "{} {}", reads(""), reads("raid.chunk=64KiB"));
    let volume = "protocol.kind=iscsi link=100GbE";
    assert_eq!(reads(volume), reads(&format!("{volume} raid.chunk=16KiB")), "a LUN is a volume");
}

/// One member was to write the data and the parity of a small write one after the other, which a lost member spared
/// it: 13,617 streamed writes of 8 KiB per second of a pool without a drive, and 13,207 of twice the drives.
#[test]
fn a_pool_without_a_drive_is_no_faster_than_one_of_twice_the_drives() {
    let rate = |pool: &str| {
        let a = changed("ssd-sata", &format!("link=none raid=raidz1 raid.failed=1 {pool}"));
        expected(&a, &load(8 * KIB, 0.0, 0.0, 1)).iops.value
    };
    let [five, ten] = ["disks=5", "disks=10 raid.groups=2"].map(rate);
    assert!(ten >= five * 0.999, "{five} {ten}");
}

/// Reads and writes added up on a link of the host that carries both at once: 4,488 I/Os of 256 KiB over 10 GbE, as of
/// one direction.
#[test]
fn the_link_of_a_host_carries_both_directions_at_once() {
    let host = |more: &str| {
        changed(
            "nvme",
            &format!(
                "protocol.kind=nvme-tcp link=100GbE raid=0 disks=8 target.read_op_us=1 target.cores=32 {more}"
            ),
        )
    };
    let mib_s = |read_pct: f64, a: &Array| {
        let p = expected(a, &load(256 * KIB, read_pct, 100.0, 64));
        assert_eq!(p.limit, ResourceKind::Host, "{}", p.limit_name());
        p.mib_s.value
    };
    let slow = host("initiator.link=10GbE");
    let [reads, both, writes] = [100.0, 50.0, 0.0].map(|read_pct| mib_s(read_pct, &slow));
    close(reads, writes, 0.03, "either direction");
    close(both, 2.0 * reads, 0.10, "both at once");
}

const FILE: &str = r#"
name = "disk"
[device]
kind = "hdd"
from = "sheet: made up"
rpm = 7200
seek_track_ms = 0.8
seek_avg_ms = 8.5
seek_full_ms = 17
outer_mb_s = 210
inner_mb_s = 100
capacity = "6TB"
[raid]
level = "single"
disks = { value = 1, from = "sheet: made up" }
[link]
rate = "SATA3"
"#;

fn has_cache(array: &Array) -> bool {
    matches!(&array.device, Device::Hdd(hdd) if hdd.write_cache.is_some())
}

/// A local SATA disk wrote one I/O of a stream per revolution: 120 per second, 0.5 MB/s of 4 KiB.
#[test]
fn the_write_cache_of_a_local_sata_disk_is_on_unless_the_file_says_otherwise() {
    let on = parse("disk", FILE).unwrap();
    let streamed = expected(&on, &load(64 * KIB, 0.0, 0.0, 1)).mib_s.value;
    assert!(has_cache(&on) && streamed > 60.0, "{streamed}");
    let off = parse("disk", &FILE.replace("rpm = 7200", "rpm = 7200\nwrite_cache = \"none\"")).unwrap();
    let waits = expected(&off, &load(64 * KIB, 0.0, 0.0, 1)).iops.value;
    assert!(!has_cache(&off), "{off:?}");
    close(waits, 120.0, 0.07, "a revolution and a transfer each");
    // Adapters with a cache of their own turn it off, a SAS disk comes without, and of a server nothing is known.
    for (from, to) in [
        ("[raid]", "[controller]\nfrom = \"sheet: made up\"\nwrite_back = \"1GiB\"\n[raid]"),
        ("SATA3", "SAS12"),
        ("[link]\nrate = \"SATA3\"", "[protocol]\nkind = \"iscsi\"\n[link]\nrate = \"10GbE\""),
    ] {
        assert!(!has_cache(&parse("disk", &FILE.replace(from, to)).unwrap()), "{to}");
    }
    let mut turned_off = on;
    set(&mut turned_off, "device.write_cache=none").unwrap();
    assert_eq!(parse("again", &to_toml(&turned_off)).unwrap(), turned_off, "written and read again");
    assert!(has_cache(&array("hdd-7200")), "the class of SATA disks has it on");
}
