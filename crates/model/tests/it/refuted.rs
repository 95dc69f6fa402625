//! What rows that nobody here had seen refuted, each with what was measured.

use assay_model::array::{Array, set};
use assay_model::predict::{Engines, Prediction, predict};
use assay_model::resolved::Tables;
use assay_model::workload::Workload;
use assay_spec::units::{Bytes, GIB, KIB, MIB, Nanos};

use crate::array;

fn changed(base: &str, changes: &str) -> Array {
    let mut a = array(base);
    set(&mut a, changes).unwrap_or_else(|e| panic!("{base} {changes}: {e}"));
    a
}

fn expected(a: &Array, load: &Workload) -> Prediction {
    predict(a, load, Engines::Closed, &mut Tables::default())
}

fn load(size: u64, read_pct: f64, random_pct: f64, outstanding: u32) -> Workload {
    Workload::simple("row", size, read_pct, random_pct, outstanding)
}

/// Predicted: 1,000,000,000 I/Os per second at one outstanding, and no upper end.
#[test]
fn a_cache_hit_takes_the_time_of_a_controller() {
    let cached = changed("hdd-7200", "link=none controller.read_cache=64GiB");
    let hits = expected(&cached, &load(4 * KIB, 100.0, 100.0, 1)).iops;
    assert!(hits.value < 50_000.0 && hits.hi < 200_000.0, "{hits:?}");
    let written = changed("hdd-7200", "link=none controller.write_back=64GiB controller.battery=yes");
    let hits = expected(&written, &load(4 * KIB, 0.0, 100.0, 1)).iops;
    assert!(hits.value < 50_000.0 && hits.hi < 200_000.0, "{hits:?}");
}

/// Predicted: 838,000 on this drive, and 12.5 million of 512 bytes on another.
#[test]
fn a_stream_of_small_commands_takes_the_time_of_commands() {
    let reads = expected(&array("nvme"), &load(4 * KIB, 100.0, 0.0, 1)).iops;
    assert!(reads.value < 65_000.0 && reads.hi < 120_000.0, "{reads:?}");
    let small = expected(&array("nvme"), &load(512, 100.0, 0.0, 256)).iops;
    assert!(small.value <= 1_100_000.0, "a drive takes so many commands: {small:?}");
}

/// A volume that takes 3,000 I/Os per second takes as many in a row.
#[test]
fn the_iops_of_a_volume_are_those_of_its_streams_too() {
    let volume = changed("ssd-sata", "link=none device.read_iops_max=3000 device.qd1_read_iops=1500");
    let rate = expected(&volume, &load(16 * KIB, 100.0, 0.0, 32)).iops;
    assert!((2000.0..3800.0).contains(&rate.value), "{rate:?}");
}

/// Measured: 118 per second, one revolution of 7200 rpm each. Predicted: 23,437.
#[test]
fn a_disk_without_a_write_cache_waits_for_a_revolution_with_every_write() {
    let disk = changed("hdd-7200", "device.write_cache=none");
    let rate = expected(&disk, &load(4 * KIB, 0.0, 0.0, 1)).iops.value;
    assert!((rate / 118.0 - 1.0).abs() < 0.05, "{rate}");
}

/// Rewriting 16 KiB in a battery-backed cache reached 10,212 where the disks behind it stream 5,493.
#[test]
fn what_is_written_again_inside_a_cache_never_leaves_it() {
    let rewritten =
        Workload { span: Bytes(256 * MIB), duration: Nanos::from_secs(60), ..load(16 * KIB, 0.0, 0.0, 1) };
    let rate = expected(&array("ts140-raid10"), &rewritten).iops;
    assert!((rate.lo..=rate.hi).contains(&10_212.0), "{rate:?}");
    let random = Workload { mix: load(16 * KIB, 0.0, 100.0, 1).mix, ..rewritten.clone() };
    assert!(rate.value >= 0.99 * expected(&array("ts140-raid10"), &random).iops.value);
}

/// A device of 48 us takes 155 us below a pool (predicted: 61) and 192 us as its log device.
#[test]
fn the_intent_log_costs_more_than_its_device() {
    let optane = "link=none device.qd1_write_iops=20833 device.write_iops_max=500000 device.flush_ms=0 \
                  device.qd1_read_iops=90000 target.software=zfs";
    let durable = Workload { flush_every: Some(1), ..load(4 * KIB, 0.0, 100.0, 1) };
    let p = expected(&changed("nvme", optane), &durable);
    assert!(p.mean_ms.lo < 0.155 && 0.155 < p.mean_ms.hi && p.mean_ms.value > 0.1, "{:?}", p.mean_ms);
}

/// Twenty-four SSDs read 4.2 GB/s where 12.0 were predicted (Tom's Hardware, "SSD DC S3700 RAID 0", 2013). Their
/// adapters had eight lanes of the third generation each: a slot explains the half of it.
#[test]
fn the_slot_of_an_adapter_limits_what_is_behind_it() {
    let streams = Workload { workers: 4, span: Bytes(500 * GIB), ..load(128 * KIB, 100.0, 0.0, 64) };
    let array = changed("ssd-sata", "link=none raid=0 disks=24 controller.slot=PCIe3x8");
    let p = expected(&array, &streams);
    let free = expected(&changed("ssd-sata", "link=none raid=0 disks=24"), &streams);
    assert!(p.mib_s.value < 7000.0 && free.mib_s.value > 10_000.0, "{:?}", p.mib_s);
}

/// Steady writes of 8 KiB reached 40,000 where 60,700 were predicted: pages are written, not commands.
#[test]
fn a_drive_without_erased_blocks_writes_half_as_many_of_twice_the_size() {
    let steady = changed("ssd-sata", "device.state=steady device.steady_write_iops=80000");
    let rate = |size| expected(&steady, &load(size, 0.0, 100.0, 64)).iops.value;
    let halved = rate(8 * KIB) / rate(4 * KIB);
    assert!((0.45..0.6).contains(&halved), "{halved}");
}

/// A shingled disk whose cache was full wrote 7 times per second at random; a band for each would allow 1.9.
#[test]
fn a_band_takes_several_writes_along() {
    let shingled = changed("hdd-5400", "device.shingled=yes raid=single disks=1");
    let full = Workload {
        span: Bytes(2000 * GIB),
        duration: Nanos::from_secs(1_000_000),
        ..load(4 * KIB, 0.0, 100.0, 4)
    };
    let rate = expected(&shingled, &full).iops;
    assert!((rate.lo..=rate.hi).contains(&7.0) && rate.value > 4.0, "{rate:?}");
}

/// A flush took 6.9 ms, where 4 was the slowest, and none at all the fastest.
#[test]
fn an_unknown_flush_may_be_slow_and_is_never_free() {
    let drive = changed("ssd-sata", "link=none");
    let durable = Workload { flush_every: Some(1), ..load(4 * KIB, 0.0, 100.0, 1) };
    let p = expected(&drive, &durable);
    assert!(p.mean_ms.hi > 6.9 && p.iops.hi < 30_000.0, "{:?} {:?}", p.mean_ms, p.iops);
}

/// WAFL on RAID-DP wrote 60,500 where read-modify-write in place gives 32,000.
#[test]
fn a_filer_that_fills_stripes_reads_nothing_before_it_writes() {
    let filer = |software: &str| {
        changed("raid6-12bay", &format!("controller.write_back=none controller.battery=no {software}"))
    };
    let wide = Workload { span: Bytes(10_000 * GIB), ..load(4 * KIB, 0.0, 100.0, 64) };
    let [in_place, anywhere] =
        ["raid=6", "raid=raid-dp target.software=wafl"].map(|s| expected(&filer(s), &wide).iops.value);
    assert!(anywhere > 1.8 * in_place, "{anywhere} {in_place}");
}

/// Link aggregation puts one session on one link, and several sessions on some of them.
#[test]
fn several_sessions_share_the_links_that_their_hashes_fall_on() {
    let links = |more: &str| changed("allflash-10gbe", &format!("paths.count=4 paths.policy=hash {more}"));
    let rate = |a: &Array| expected(a, &load(256 * KIB, 100.0, 0.0, 64)).iops.value;
    let [one, eight] = ["", "paths.luns=8"].map(|more| rate(&links(more)));
    assert!(eight > 1.8 * one && eight < 4.0 * one, "{one} {eight}");
    let fixed = rate(&changed("allflash-10gbe", "paths.count=4 paths.policy=fixed paths.luns=4"));
    assert!(fixed > eight, "{fixed} {eight}");
}
