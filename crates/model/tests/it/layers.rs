//! What lies between a load and its drives and was no part of a prediction: the virtual disk of a guest, records of
//! which a part is read, how full a pool is.

use assay_model::array::{Array, parse, set, to_toml};
use assay_model::catalogue::cloud::{self, Order};
use assay_model::facts::usable_bytes;
use assay_model::workload::Workload;
use assay_spec::units::{Bytes, GIB, KIB, MIB};

use crate::{array, changed, expected, load};

fn mean_us(array: &Array, load: &Workload) -> f64 {
    expected(array, load).mean_ms.value * 1e3
}

/// A guest was predicted at what its host does: some 17 us too fast for each I/O, and at any rate.
#[test]
fn the_virtual_disk_of_a_guest_takes_time_and_a_thread() {
    let single = load(4 * KIB, 0.0, 100.0, 1);
    let [host, guest, emulated] =
        ["", "guest.disk=virtio", "guest.disk=ahci"].map(|layer| mean_us(&changed("nvme", layer), &single));
    assert!((14.0..20.0).contains(&(guest - host)), "{host} {guest}");
    assert!(emulated > guest + 20.0, "{guest} {emulated}");
    // Whatever the drive and the number of workers, one thread serves the disk.
    let many = Workload { workers: 16, ..load(4 * KIB, 100.0, 100.0, 32) };
    let p = expected(&changed("nvme", "guest.disk=pvscsi"), &many);
    assert_eq!(p.limit_name(), "the virtual disk of the guest");
    assert!((p.iops.value * 6.3e-6 - 1.0).abs() < 0.02 && p.iops.lo < 80_000.0, "{:?}", p.iops);
    let given = changed("nvme", "guest.disk=virtio guest.latency_us=40 guest.thread_us=25");
    assert!((39.0..42.0).contains(&(mean_us(&given, &single) - host)));
    assert!((expected(&given, &many).iops.value / 40_000.0 - 1.0).abs() < 0.02);
}

/// The words of hypervisors, and times without a disk that they could be of.
#[test]
fn a_virtual_disk_is_said_in_the_words_of_hypervisors() {
    for word in ["virtio-scsi", "pvscsi", "storvsc", "xen", "paravirtual"] {
        let guest = changed("ssd-sata", &format!("guest.disk={word}"));
        assert_eq!(guest.guest.disk, assay_model::array::VirtualDisk::Paravirtual, "{word}");
        assert_eq!(parse("again", &to_toml(&guest)).unwrap(), guest);
    }
    let order = Order { bytes: Some(1e12), ..Order::default() };
    let refused =
        set(&mut cloud::volume("gp3", order).unwrap(), "guest.disk=virtio").unwrap_err().to_string();
    assert!(refused.contains("cloud"), "{refused}");
    let refused = set(&mut array("nvme"), "guest.latency_us=10").unwrap_err().to_string();
    assert!(refused.contains("no virtual disk"), "{refused}");
    let text = to_toml(&array("nvme")) + "\n[hypervisor]\nname = \"kvm\"\n";
    let hint = parse("x", &text).unwrap_err().to_string();
    assert!(hint.contains("[guest]"), "{hint}");
}

/// A pool of NVMe drives was predicted to read 4 KiB of a record of 128 KiB as fast as the drive reads 4 KiB: 42,700
/// where four threads measured 21,500 (xenon-nvme), and eight better drives 13,100 (openzfs/zfs, issue 16993).
#[test]
fn reading_a_part_of_a_record_reads_and_checks_the_whole() {
    let pool =
        |record: &str| changed("nvme", &format!("raid=0 disks=2 target.software=zfs raid.chunk={record}"));
    let reads = Workload { span: Bytes(500 * GIB), workers: 4, ..load(4 * KIB, 100.0, 100.0, 1) };
    let [part, whole] = ["128KiB", "4KiB"].map(|record| expected(&pool(record), &reads));
    assert!(part.iops.value < 0.65 * whole.iops.value, "{:?} {:?}", part.iops, whole.iops);
    assert!(part.iops.lo < 13_100.0 && part.iops.hi > 21_500.0, "{:?}", part.iops);
    // The drives move all of it.
    let many = Workload { outstanding: 64, workers: 64, ..reads.clone() };
    let most = expected(&changed("nvme", "raid=0 disks=2 target.software=zfs target.cores=64"), &many).iops;
    assert!(most.value * 131_072.0 < 2.0 * 6.8e9, "{most:?}");
    // Of a file system in place the rest is left alone.
    let md = |chunk: &str| changed("nvme", &format!("raid=0 disks=2 target.software=md raid.chunk={chunk}"));
    let [large, small] = ["128KiB", "4KiB"].map(|chunk| expected(&md(chunk), &reads).iops.value);
    assert!((large / small - 1.0).abs() < 0.01, "{large} {small}");
}

/// What a cache holds is neither read nor checked again.
#[test]
fn a_record_in_memory_costs_nothing_more() {
    let rate = |more: &str| {
        let reads = Workload { span: Bytes(4 * GIB), ..load(4 * KIB, 100.0, 100.0, 4) };
        let pool = changed("hdd-7200", &format!("raid=0 disks=4 target.software=zfs {more}"));
        expected(&pool, &reads).iops.value
    };
    let [large, small] =
        ["128KiB", "4KiB"].map(|r| rate(&format!("controller.read_cache=8GiB raid.chunk={r}")));
    assert!((large / small - 1.0).abs() < 0.01, "{large} {small}");
    assert!(large > 50.0 * rate("raid.chunk=128KiB"));
}

/// A slot was to carry the 4 KiB of a read of which the members move 128.
#[test]
fn the_whole_record_passes_the_controller() {
    let reads = Workload { workers: 64, span: Bytes(500 * GIB), ..load(4 * KIB, 100.0, 100.0, 64) };
    let says = "link=none raid=0 disks=24 target.software=zfs target.cores=64 controller.slot=PCIe2x4";
    let p = expected(&changed("ssd-sata", says), &reads);
    assert!(p.closed.iops * 131_072.0 < 2.0e9, "{:?}", p.iops);
}

/// Wide vdevs of small blocks were given the capacity and the rate of their width.
#[test]
fn small_records_on_wide_vdevs_take_parity_and_padding() {
    let usable = |level: &str, record: &str| {
        let says = format!("raid={level} disks=12 raid.chunk={record} target.software=zfs");
        usable_bytes(&changed("hdd-7200", &says)) / usable_bytes(&changed("hdd-7200", "raid=0 disks=12"))
    };
    // 32 sectors on ten: four rows of two parities, and two of padding.
    assert!((usable("raidz2", "128KiB") - 32.0 / 42.0).abs() < 1e-9);
    // Two sectors and two parities, rounded up to six.
    assert!((usable("raidz2", "8KiB") - 2.0 / 6.0).abs() < 1e-9);
    assert!((usable("raidz1", "128KiB") - 32.0 / 36.0).abs() < 1e-9);
    // dRAID fills its row.
    let draid = "raid=draid2 raid.width=10 disks=12 raid.chunk=16KiB target.software=zfs";
    let part =
        usable_bytes(&changed("hdd-7200", draid)) / usable_bytes(&changed("hdd-7200", "raid=0 disks=12"));
    assert!((part - 4.0 / 10.0).abs() < 1e-9, "{part}");
    let stream = |record: &str| {
        let says = format!("raid=raidz2 disks=12 raid.chunk={record} target.software=zfs");
        expected(&changed("hdd-7200", &says), &Workload { workers: 8, ..load(MIB, 0.0, 0.0, 8) }).iops.value
    };
    assert!(stream("8KiB") < 0.5 * stream("1MiB"));
}

/// "how full a pool is is not modelled": 77 and 91 % full pools streamed at half of the prediction.
#[test]
fn a_full_pool_streams_slower_and_its_interval_is_narrower_than_of_an_unknown_one() {
    let stream = |full: &str| {
        expected(
            &changed("hdd-7200", &format!("raid=0 disks=4 target.software=zfs {full}")),
            &load(MIB, 0.0, 0.0, 1),
        )
        .iops
    };
    let [unknown, empty, full] = ["", "raid.full_pct=10", "raid.full_pct=91"].map(stream);
    assert!(full.value < 0.9 * empty.value, "{full:?} {empty:?}");
    for known in [empty, full] {
        assert!(known.hi / known.lo < unknown.hi / unknown.lo, "{known:?} {unknown:?}");
    }
    for changes in ["raid=0 disks=4 raid.full_pct=50", "raid=0 disks=4 target.software=md raid.full_pct=50"] {
        assert!(set(&mut array("hdd-7200"), changes).is_err(), "{changes}");
    }
}

/// raidz2 of 12 disks with a log device was to write 8 KiB at random over 9 TiB 3,672 times per second for ever, at
/// least: no record was read before a part of it was written. Nominally none is read still.
#[test]
fn at_the_slow_end_a_part_of_a_record_is_read_before_it_is_written_unless_memory_holds_it() {
    let pool = |more: &str| {
        let raid = "link=none raid=raidz2 disks=12 raid.chunk=128KiB target.software=zfs";
        changed("hdd-7200", &format!("{raid} {more}"))
    };
    let writes = |tib: u64, every: Option<u32>| {
        let span = Bytes(tib * 1024 * GIB);
        Workload { span, flush_every: every, ..load(8 * KIB, 0.0, 100.0, 16) }
    };
    let low = |more: &str, tib: u64, every| expected(&pool(more), &writes(tib, every)).iops.lo;
    let log = "server.ram=64GiB log.iops_max=500000 log.mb_s=2000";
    let durable = low(log, 9, Some(1));
    assert!((20.0..500.0).contains(&durable), "{durable}");
    assert!(low("server.ram=64GiB", 9, Some(1)) <= durable * 1.001, "a log device is never slower");
    assert!(
        low("server.ram=64GiB", 9, Some(1)) <= low("server.ram=64GiB", 9, None) * 1.001,
        "nor is no flush"
    );
    let lows = ["1GiB", "16GiB", "512GiB", "4TiB"].map(|ram| low(&format!("server.ram={ram}"), 1, None));
    assert!(lows.is_sorted() && lows[3] > 2.0 * lows[0], "{lows:?}");
    let lows = [8, 4, 2, 1].map(|tib| low("server.ram=512GiB", tib, None));
    assert!(lows.is_sorted() && lows[3] > lows[0], "{lows:?}");
    let whole = Workload { mix: load(128 * KIB, 0.0, 100.0, 16).mix, ..writes(1, None) };
    let whole = expected(&pool("server.ram=1GiB"), &whole).iops;
    assert!(whole.lo > 2.0 * low("server.ram=1GiB", 1, None), "a whole record needs no read: {whole:?}");
}
