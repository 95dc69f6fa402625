//! Arrays that have lost a member: what an I/O costs then, and what is left.

use assay_model::array::{Array, set};
use assay_model::closed::closed_form;
use assay_model::demand::demand_table;
use assay_model::des::{SimOptions, simulate};
use assay_model::predict::{Engines, predict};
use assay_model::quantity::Corner;
use assay_model::raid::{Kind, Part, Shape};
use assay_model::resolved::{ResolvedArray, Tables};
use assay_model::workload::Workload;

use crate::array;

fn disks(level: &str, disks: u32, more: &str) -> Array {
    let mut a = array("hdd-7200");
    let text = format!("link=none raid.level={level} raid.disks={disks} {more}");
    set(&mut a, &text).unwrap_or_else(|e| panic!("{text}: {e}"));
    a
}

fn rate(a: &Array, read_pct: f64, outstanding: u32) -> f64 {
    let load = Workload::simple("t", 4096, read_pct, 100.0, outstanding);
    predict(a, &load, Engines::Closed, &mut Tables::default()).iops.value
}

fn simulated(a: &Array, read_pct: f64, outstanding: u32) -> f64 {
    let load = Workload::simple("t", 4096, read_pct, 100.0, outstanding);
    let resolved = ResolvedArray::new(a, Corner::Nominal, load.region(), &mut Tables::default());
    let options = SimOptions { max_ios: 60_000, ..SimOptions::default() };
    simulate(&resolved, &[load], options)[0].iops
}

/// Visits of members per I/O.
fn visits(a: &Array, kind: Kind, bytes: f64) -> f64 {
    let cases = Shape::of(&a.raid).cases(kind, bytes);
    let shares: f64 = cases.iter().map(|c| c.share).sum();
    assert!((shares - 1.0).abs() < 1e-12, "{shares}");
    cases.iter().map(|c| c.share * c.phases.iter().map(|p| f64::from(p.visits)).sum::<f64>()).sum()
}

#[test]
fn visits_are_those_of_the_textbook() {
    // RAID5, n = 8: a read costs (7 x 1 + 1 x 7) / 8; of writes, 6 of 8 cost 4, one costs 6 + 1, one costs 1.
    let raid5 = disks("5", 8, "raid.failed=1");
    assert!((visits(&raid5, Kind::Read, 4096.0) - 14.0 / 8.0).abs() < 1e-12);
    assert!((visits(&raid5, Kind::Write, 4096.0) - (6.0 * 4.0 + 7.0 + 1.0) / 8.0).abs() < 1e-12);
    // RAID6, n = 8, d = 6: a read costs (7 + 6) / 8; of two failed, 6 of 8 cost 1 and 2 of 8 cost 6.
    let raid6 = |failed| disks("6", 8, &format!("raid.failed={failed}"));
    assert!((visits(&raid6(1), Kind::Read, 4096.0) - 13.0 / 8.0).abs() < 1e-12);
    assert!((visits(&raid6(2), Kind::Read, 4096.0) - (6.0 + 12.0) / 8.0).abs() < 1e-12);
    // A mirror writes one copy less where one is lost.
    let raid10 = disks("10", 8, "raid.failed=1");
    assert!((visits(&raid10, Kind::Write, 4096.0) - (6.0 * 2.0 + 2.0 * 1.0) / 8.0).abs() < 1e-12);
    assert_eq!(Shape::of(&raid10.raid).range(Part::Degraded), (0, 1));
    // A healthy array is as it was.
    assert_eq!(visits(&disks("5", 8, ""), Kind::Write, 4096.0), 4.0);
}

/// A stream has nothing to read before it writes, and lost nine tenths of its rate with a failed disk all the same.
#[test]
fn a_stream_of_writes_reads_nothing_with_a_failed_disk_either() {
    let stream = |a: &Array, bytes| {
        let load = Workload::simple("s", bytes, 0.0, 0.0, 16);
        let resolved = ResolvedArray::new(a, Corner::Nominal, load.region(), &mut Tables::default());
        let options = SimOptions { max_ios: 20_000, ..SimOptions::default() };
        [
            predict(a, &load, Engines::Closed, &mut Tables::default()).iops.value,
            simulate(&resolved, &[load], options)[0].iops,
        ]
    };
    for (level, more) in [("5", ""), ("6", ""), ("6", "raid.failed=2"), ("60", "raid.groups=2"), ("10", "")] {
        for bytes in [16_384, 65_536, 262_144] {
            let healthy = stream(&disks(level, 8, more.trim_start_matches("raid.failed=2")), bytes);
            let failed = if more.contains("failed") { "" } else { "raid.failed=1" };
            let degraded = stream(&disks(level, 8, &format!("{more} {failed}")), bytes);
            for (degraded, healthy) in degraded.into_iter().zip(healthy) {
                let left = degraded / healthy;
                assert!(
                    (0.6..1.6).contains(&left),
                    "RAID{level} {more}, {bytes}: {healthy:.0}, then {degraded:.0}"
                );
            }
        }
    }
}

/// Reviews of 8-disk arrays (xbitlabs, LSI 8708EM2 and HighPoint 4320, 2009): reads of RAID5 and RAID6 fall to one half
/// with a failed disk.
#[test]
fn a_failed_disk_halves_random_reads_at_deep_queues() {
    for level in ["5", "6"] {
        let [healthy, degraded] = ["", "raid.failed=1"].map(|more| rate(&disks(level, 8, more), 100.0, 256));
        let left = degraded / healthy;
        assert!((0.45..0.65).contains(&left), "RAID{level}: {left:.2}");
    }
}

#[test]
fn both_engines_agree_on_arrays_that_have_lost_a_member() {
    let mut apart = Vec::new();
    for (level, n) in [("5", 8), ("6", 8), ("10", 8), ("50", 10), ("raidz2", 6)] {
        let groups = if level == "50" { "raid.groups=2" } else { "" };
        for more in ["raid.failed=1", "raid.failed=1 raid.rebuild_pct=30"] {
            let a = disks(level, n, &format!("{groups} {more}"));
            for (read, outstanding) in [(100.0, 32), (70.0, 32), (100.0, 128)] {
                if level == "raidz2" && read < 100.0 {
                    continue;
                }
                let (closed, simulated) = (rate(&a, read, outstanding), simulated(&a, read, outstanding));
                if (closed / simulated - 1.0).abs() > 0.15 {
                    apart.push(format!(
                        "{level} {more} read {read} QD {outstanding}: {closed:.0} {simulated:.0}"
                    ));
                }
            }
        }
    }
    assert!(apart.is_empty(), "{}", apart.join("\n"));
}

#[test]
fn a_rebuild_takes_its_share_and_more_failures_leave_less() {
    let healthy = rate(&disks("6", 8, ""), 70.0, 64);
    let one = rate(&disks("6", 8, "raid.failed=1"), 70.0, 64);
    let two = rate(&disks("6", 8, "raid.failed=2"), 70.0, 64);
    let rebuilt = rate(&disks("6", 8, "raid.failed=1 raid.rebuild_pct=30"), 70.0, 64);
    assert!(healthy > one && one > two && one > rebuilt, "{healthy} {one} {two} {rebuilt}");
    assert!((rebuilt / one - 0.7).abs() < 0.03, "{}", rebuilt / one);
}

/// Streams kept their whole rate in the simulation beside a rebuild that took 30 % of the devices' time.
#[test]
fn a_rebuild_slows_streams_down_in_both_engines() {
    for (base, level, n) in [("hdd-7200", "6", 8), ("ssd-sata", "5", 6), ("ssd-sata", "10", 8)] {
        let mut a = array(base);
        let text = format!("link=none raid.level={level} raid.disks={n} raid.failed=1");
        set(&mut a, &text).unwrap_or_else(|e| panic!("{text}: {e}"));
        let rates = |a: &Array, read: f64| {
            let load = Workload::simple("stream", 65_536, read, 0.0, 64);
            let resolved = ResolvedArray::new(a, Corner::Nominal, load.region(), &mut Tables::default());
            let classes = resolved.classes(&load);
            let bound = demand_table(&resolved, &classes, 64.0).first().expect("members").ceiling_iops;
            let options = SimOptions { max_ios: 60_000, ..SimOptions::default() };
            let simulated = simulate(&resolved, std::slice::from_ref(&load), options)[0].iops;
            (simulated, bound, closed_form(&resolved, &classes, &load).iops)
        };
        for read in [100.0, 0.0] {
            let before = rates(&a, read).0;
            let mut rebuilt = a.clone();
            set(&mut rebuilt, "raid.rebuild_pct=30").expect("it has a failed member");
            let (simulated, bound, closed) = rates(&rebuilt, read);
            let what = format!(
                "{base} RAID{level} read {read}: {before:.0}, {simulated:.0} of {bound:.0}, {closed:.0}"
            );
            println!("{what}");
            assert!(simulated < bound * 1.03, "{what}");
            assert!((simulated / before - 0.7).abs() < 0.04, "{what}");
            // Writes of a stream over disks wait for revolutions, which all that are there share: the closed form has
            // their mean only.
            let off = if base.starts_with("hdd") && read == 0.0 { 0.15 } else { 0.1 };
            assert!((closed / simulated - 1.0).abs() < off, "{what}");
        }
    }
}

/// Streams over drives of which one is lost took the share of the living ones in the simulation, and that of all in the
/// closed form: an eighth apart of an I/O on one chunk.
#[test]
fn both_engines_agree_on_drives_that_have_lost_one_behind_guests() {
    let mut apart = Vec::new();
    for (level, n) in [("5", 8), ("6", 8), ("10", 8), ("5", 3)] {
        for guest in ["none", "paravirtual", "emulated"] {
            let mut a = array("ssd-sata");
            let text =
                format!("link=none raid.level={level} raid.disks={n} raid.failed=1 guest.disk={guest}");
            set(&mut a, &text).unwrap_or_else(|e| panic!("{text}: {e}"));
            for (read, random, bytes) in
                [(100.0, 100.0, 4096), (0.0, 100.0, 4096), (100.0, 0.0, 65_536), (0.0, 0.0, 65_536)]
            {
                for outstanding in [1, 4, 32] {
                    let load = Workload::simple("s", bytes, read, random, outstanding);
                    let resolved =
                        ResolvedArray::new(&a, Corner::Nominal, load.region(), &mut Tables::default());
                    let closed = closed_form(&resolved, &resolved.classes(&load), &load).iops;
                    let options = SimOptions { max_ios: 30_000, ..SimOptions::default() };
                    let simulated = simulate(&resolved, &[load], options)[0].iops;
                    if (closed / simulated - 1.0).abs() > 0.10 {
                        apart.push(format!(
                            "RAID{level} of {n}, guest {guest}, {bytes} read {read} random {random} \
                             x{outstanding}: {closed:.0} {simulated:.0}"
                        ));
                    }
                }
            }
        }
    }
    assert!(apart.is_empty(), "{}", apart.join("\n"));
}
