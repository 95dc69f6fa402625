use assay_model::predict::Engines;
use assay_model::resolved::Tables;
use assay_model::whatif::{WhatIf, sweep, what_if};
use assay_model::workload::Workload;
use assay_spec::units::{Bytes, GIB};

use crate::{array, close};

fn one(name: &str, prepare: &str, workload: &Workload, change: &str) -> WhatIf {
    let mut a = array(name);
    assay_model::array::set(&mut a, prepare).expect("the preparation fits");
    what_if(&a, workload, &[change], Engines::FULL, &mut Tables::default())
        .expect("the change fits")
        .remove(0)
}

fn forum(i: usize, span_gib: u64) -> Workload {
    Workload::forum_tests(Bytes(span_gib * GIB)).remove(i)
}

/// What the Openfiler article should have written: the step from 128 to 394 MiB/s is one parameter.
#[test]
fn round_robin_of_one_instead_of_1000() {
    let w =
        one("openfiler-2.3-8disk", "paths.rr_ios=1000 paths.rr_bytes=none", &forum(0, 16), "paths.rr_ios=1");
    close(w.gain, 394.5 / 128.0, 0.10, "gain, measured 3.08");
    assert!(w.says.contains("a factor of 3"), "{}", w.says);
    assert!(w.says.contains("1.07 of 4 1GbE paths"), "{}", w.says);
}

/// What the ix4's readers asked for: RAID10 instead of RAID5 does nothing while one queue serialises writes...
#[test]
fn raid10_instead_of_raid5() {
    let w = one("ix4-200d", "", &forum(3, 4), "raid=10");
    assert!((w.gain - 1.0).abs() < 0.02, "{}", w.gain);
    assert!(
        w.says.ends_with("the bottleneck is the target's single queue of random writes, before and after"),
        "{}",
        w.says
    );
    // ... and about doubles a mix with 30 % writes once that queue is gone.
    let w = one("ix4-200d", "target.serial_write_ms=none", &forum(3, 4), "raid=10");
    assert!((1.3..1.8).contains(&w.gain), "1.9 disk I/Os per I/O become 1.3: {}", w.gain);
}

/// What the Openfiler article could not explain: twice the spindles, not one I/O more.
#[test]
fn eight_disks_instead_of_four() {
    let w = one("openfiler-2.3-4disk", "", &forum(3, 16), "disks=8");
    assert!((w.gain - 1.0).abs() < 0.02, "measured -6 %: {}", w.gain);
    assert!(w.says.contains("changes nothing"), "{}", w.says);
    let free = one("openfiler-2.3-4disk", "target.serial_write_ms=none", &forum(3, 16), "disks=8");
    assert!(free.gain > 1.4, "disks help when they are the limit: {}", free.gain);
}

#[test]
fn ten_gigabit_instead_of_one() {
    let ix4 = one("ix4-200d", "", &forum(0, 4), "link=10GbE");
    assert!((ix4.gain - 1.0).abs() < 0.02, "software at 59 MiB/s is behind the link: {}", ix4.gain);
    let nas = one("nas-4bay", "", &forum(0, 4), "link=10GbE");
    assert!((3.0..10.5).contains(&nas.gain), "{}", nas.gain);
    assert!(nas.says.ends_with("still limited by one 10GbE link, read direction"), "{}", nas.says);
}

/// 36 to 44 raidz drives: the article expects 15 to 20 %. Over the links nothing changes; at the disks a stream
/// gains 25 % (32 to 40 data disks), and random reads gain nothing, as the number of vdevs stays.
#[test]
fn forty_four_raidz_drives_instead_of_36() {
    let stream = Workload { reconnect_every: None, ..forum(0, 64) };
    let over_links = one("x4500", "", &stream, "disks=44");
    assert!((over_links.gain - 1.0).abs() < 0.02, "{}", over_links.gain);
    assert!(over_links.says.contains("4 x 1GbE"), "{}", over_links.says);
    // By themselves: one stream of ZFS, which reads them, is limited before they are.
    let local = "protocol.kind=local link=none paths.count=1 paths.policy=fixed protocol.round_trip_us=0 \
                 target.software=none";
    let at_disks = one("x4500", local, &stream, "disks=44");
    close(at_disks.gain, 1.25, 0.02, "stream at the disks");
    let random = one("x4500", local, &Workload::simple("r", 8192, 100.0, 100.0, 64), "disks=44");
    assert!((0.9..1.1).contains(&random.gain), "{}", random.gain);
}

#[test]
fn a_sweep_says_where_it_stops_paying() {
    let mut tables = Tables::default();
    let w = Workload { reconnect_every: None, ..forum(0, 64) };
    let s = sweep(&array("openfiler-2.3-4disk"), &w, "disks=2..48", &mut tables).unwrap();
    assert_eq!(s.points.len(), 24, "odd numbers cannot be mirrored");
    assert_eq!(s.knee, Some(4.0), "{}", s.says);
    assert_eq!(s.says, "raising disks helps up to 4; beyond it the load is limited by the target's software");
    let random = Workload::simple("r", 4096, 100.0, 100.0, 512);
    let s = sweep(&array("x4500"), &random, "groups=1..12", &mut tables).unwrap();
    assert_eq!((s.knee, &*s.says), (None, "raising groups helps over the whole range"));
    let stream = Workload::simple("s", 65_536, 100.0, 0.0, 16);
    let s = sweep(&array("nas-4bay"), &stream, "disks=3..12", &mut tables).unwrap();
    assert_eq!(s.knee, Some(3.0));
    assert!(
        s.says.starts_with("raising disks beyond 3 has no effect: the load is limited by one 1GbE"),
        "{}",
        s.says
    );
}

#[test]
fn sweeps_that_make_no_sense_are_refused() {
    let mut tables = Tables::default();
    let w = forum(0, 4);
    let refuse = |text: &str, tables: &mut Tables| {
        sweep(&array("ix4-200d"), &w, text, tables).unwrap_err().to_string()
    };
    assert_eq!(
        refuse("disks", &mut tables),
        "`disks` is not a sweep; write disks=4..48, or disks=4..48/4 for every fourth value"
    );
    assert!(refuse("disks=9..3", &mut tables).contains("runs from 9 to 3"));
    assert_eq!(
        refuse("disks=1..100000", &mut tables),
        "a sweep of 100000 points is too long; give a step: disks=4..48/4"
    );
    assert!(refuse("spindles=1..4", &mut tables).contains("`spindles` is not a field"));
}
