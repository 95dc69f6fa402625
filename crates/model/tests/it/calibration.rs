use assay_model::array::{Array, Device, parse, set};
use assay_model::calibrate::{MicroTests, Point, calibrate, calibrate_rounds, strip_software};
use assay_model::des::{SimOptions, simulate};
use assay_model::quantity::Corner;
use assay_model::resolved::{ResolvedArray, Tables};
use assay_model::workload::Workload;
use assay_spec::units::{Bytes, GIB, Nanos};

use crate::{array, close};

fn measure(hidden: &Array, workloads: &[Workload]) -> Vec<Point> {
    let span = workloads[0].region();
    let resolved = ResolvedArray::new(hidden, Corner::Nominal, span, &mut Tables::default());
    let out = simulate(&resolved, workloads, SimOptions { seed: 11, max_ios: 60_000, cache_full: false });
    workloads.iter().zip(out).map(|(w, o)| Point { workload: w.clone(), iops: o.iops }).collect()
}

fn alone(hidden: &Array, w: Workload) -> Point {
    measure(hidden, &[Workload { duration: Nanos::from_secs(600), span: Bytes(4 * GIB), ..w }]).remove(0)
}

/// The seven micro-tests, run on a simulated array.
fn micro_tests(hidden: &Array) -> MicroTests {
    let sweep = |depth| Workload::atto_tests(depth).into_iter().map(|w| alone(hidden, w)).collect();
    let random = |read, depth| alone(hidden, Workload::simple("r", 8192, read, 100.0, depth));
    let two = |w: Workload| Workload { span: Bytes(4 * GIB), ..w };
    MicroTests {
        run: "hidden".to_owned(),
        block_sweep: sweep(1),
        block_sweep_deep: sweep(32),
        random_read: [1, 2, 4, 8, 16, 32, 64].map(|d| random(100.0, d)).to_vec(),
        random_write_alone: Some(random(0.0, 1)),
        random_write_deep: Some(random(0.0, 32)),
        two_clients: measure(
            hidden,
            &[
                two(Workload::simple("mix", 8192, 65.0, 100.0, 64)),
                two(Workload::simple("stream", 32_768, 100.0, 0.0, 64)),
            ],
        ),
        cached_read: None,
        raw_link_mb_s: Some(117.6),
    }
}

#[test]
fn hidden_costs_of_a_software_target_are_recovered_within_ten_percent() {
    let mut hidden = array("ix4-200d");
    let secret = [
        ("target.read_op_us", 80.0),
        ("target.read_kib_us", 9.0),
        ("target.write_op_us", 120.0),
        ("target.write_kib_us", 40.0),
        ("target.serial_write_ms", 30.0),
        ("target.workers", 6.0),
    ];
    for (field, value) in secret {
        set(&mut hidden, &format!("{field}={value}")).unwrap();
    }
    let mut sheet = hidden.clone();
    strip_software(&mut sheet);
    let c = calibrate(&sheet, &micro_tests(&hidden), &mut Tables::default()).unwrap();
    assert!(c.fitted.len() <= 7, "{:?}", c.fitted);
    for (field, value) in secret {
        let found = c
            .fitted
            .iter()
            .find(|f| f.field == field)
            .unwrap_or_else(|| panic!("{field} was not fitted: {c:?}"));
        close(found.quantity.value, value, 0.10, field);
        assert!(found.quantity.lo <= found.quantity.value && found.quantity.value <= found.quantity.hi);
    }
}

#[test]
fn a_hidden_number_of_threads_is_recovered() {
    let mut hidden = array("openfiler-2.3-8disk");
    set(
        &mut hidden,
        "target.read_op_us=400 target.write_op_us=400 target.cores=4 target.serial_write_ms=none",
    )
    .unwrap();
    let mut sheet = hidden.clone();
    strip_software(&mut sheet);
    set(&mut sheet, "target.cores=1").unwrap();
    let c = calibrate(&sheet, &micro_tests(&hidden), &mut Tables::default()).unwrap();
    assert!(c.fitted.len() <= 7, "{:?}", c.fitted);
    assert_eq!(c.array.target.cores.value, 4.0, "{:?} {:?}", c.fitted, c.fits);
    close(c.array.target.read_op_us.as_ref().unwrap().value, 400.0, 0.10, "read_op_us");
}

#[test]
fn a_hidden_reordering_gain_is_recovered_within_ten_percent() {
    let mut hidden = array("hdd-7200");
    set(&mut hidden, "device.ncq_gain=0.7 device.sorting=position").unwrap();
    let mut sheet = array("hdd-7200");
    set(&mut sheet, "device.sorting=position").unwrap();
    let c = calibrate(&sheet, &micro_tests(&hidden), &mut Tables::default()).unwrap();
    let Device::Hdd(hdd) = &c.array.device else { panic!("a disk stays a disk") };
    close(hdd.ncq_gain.value, 0.7, 0.10, "ncq_gain");
    assert!(c.array.target.serial_write_ms.is_none(), "writes of a disk are not serialised: {:?}", c.remarks);
}

/// Writes that the cache of a disk sorts are as fast alone as 32 at once, which was taken for a queue of one.
#[test]
fn a_disk_that_caches_its_writes_does_not_pass_them_one_at_a_time() {
    let mut disk = array("hdd-7200");
    set(&mut disk, "device.write_cache=64MiB").unwrap();
    let c = calibrate(&disk, &micro_tests(&disk), &mut Tables::default()).unwrap();
    assert!(c.array.target.serial_write_ms.is_none(), "{:?}", c.remarks);
    assert!(c.remarks.iter().any(|r| r.contains("a cache sorts them")), "{:?}", c.remarks);
    // What is slower than its cache lets it be has something that serialises it.
    let mut slow = disk.clone();
    set(&mut slow, "target.serial_write_ms=40").unwrap();
    let c = calibrate(&disk, &micro_tests(&slow), &mut Tables::default()).unwrap();
    close(c.array.target.serial_write_ms.as_ref().unwrap().value, 40.0, 0.10, "serial_write_ms");
}

#[test]
fn hidden_dies_of_a_drive_are_recovered() {
    let mut hidden = array("nvme");
    set(&mut hidden, "device.dies=90 initiator.op_us=1").unwrap();
    let mut sheet = array("nvme");
    set(&mut sheet, "initiator.op_us=1").unwrap();
    let c = calibrate(&sheet, &micro_tests(&hidden), &mut Tables::default()).unwrap();
    let Device::Ssd(ssd) = &c.array.device else { panic!("a drive stays a drive") };
    close(ssd.dies.value, 90.0, 0.10, "dies");
}

#[test]
fn the_calibrated_file_reads_back_with_provenance_and_warnings() {
    let hidden = array("ix4-200d");
    let mut sheet = hidden.clone();
    strip_software(&mut sheet);
    let mut tests = micro_tests(&hidden);
    tests.raw_link_mb_s = Some(60.0);
    let c = calibrate(&sheet, &tests, &mut Tables::default()).unwrap();
    let text = c.to_toml();
    assert!(text.contains("# Not to be used for:"), "{text}");
    assert!(text.contains("# Note: the raw link sustains 60.0 MB/s, its ceiling is 117.0"), "{text}");
    assert!(text.contains("from = \"calibrated: run hidden\""), "{text}");
    assert_eq!(parse("calibrated.toml", &text).unwrap(), c.array);
}

#[test]
fn rates_that_cannot_be_are_refused() {
    let mut tests = MicroTests { run: "x".to_owned(), ..MicroTests::default() };
    let w = Workload::simple("r", 4096, 100.0, 0.0, 1);
    tests.block_sweep = vec![Point { workload: w.clone(), iops: 0.0 }];
    let refuse =
        |t: &MicroTests| calibrate(&array("ix4-200d"), t, &mut Tables::default()).unwrap_err().to_string();
    assert!(refuse(&tests).starts_with("a measured rate of 0 is invalid"));
    tests.block_sweep = vec![Point { workload: w, iops: 100.0 }];
    assert!(refuse(&tests).starts_with("the block sweep of reads has 1 point(s)"));
}

/// The same hidden array in three rounds, in the second and third of which it gives other rates.
fn rounds(factors: [f64; 3]) -> Vec<MicroTests> {
    let base = micro_tests(&array("ix4-200d"));
    let round = |factor: f64| {
        let mut tests = base.clone();
        let sweeps = tests.block_sweep.iter_mut().chain(&mut tests.block_sweep_deep);
        let singles = tests.random_write_alone.iter_mut().chain(&mut tests.random_write_deep);
        sweeps.chain(&mut tests.random_read).chain(singles).for_each(|p| p.iops *= factor);
        tests
    };
    factors.map(round).to_vec()
}

fn sheet() -> Array {
    let mut sheet = array("ix4-200d");
    strip_software(&mut sheet);
    sheet
}

#[test]
fn rounds_that_agree_give_the_same_numbers_and_rounds_that_differ_widen_them() {
    let mut tables = Tables::default();
    let once = calibrate(&sheet(), &micro_tests(&array("ix4-200d")), &mut tables).unwrap();
    let (steady, reported) = calibrate_rounds(&sheet(), &rounds([1.0, 1.0, 1.0]), &mut tables).unwrap();
    assert_eq!(steady.array, once.array);
    let reported = reported.unwrap();
    assert!(reported.is_steady() && reported.spread == 0.0 && reported.rounds == 3, "{reported:?}");

    let (wide, reported) = calibrate_rounds(&sheet(), &rounds([1.0, 0.95, 1.05]), &mut tables).unwrap();
    close(reported.unwrap().spread, 0.10, 1e-9, "spread");
    let of = |c: &assay_model::calibrate::Calibration, field: &str| {
        c.fitted.iter().find(|f| f.field == field).unwrap().quantity.clone()
    };
    let (a, b) = (of(&once, "target.read_op_us"), of(&wide, "target.read_op_us"));
    close(b.value, a.value, 1e-9, "the median round is the true one");
    assert!(b.lo < a.lo && b.hi > a.hi, "{a:?} {b:?}");
    assert_eq!(wide.array.target.read_op_us.as_ref(), Some(&b), "the file has the wide range");
    assert!(!wide.not_for.iter().any(|no| no.contains("any claim")));
}

#[test]
fn a_target_that_moves_more_than_a_prediction_may_err_gets_no_claim() {
    let mut tables = Tables::default();
    let (c, reported) = calibrate_rounds(&sheet(), &rounds([1.0, 0.93, 1.075]), &mut tables).unwrap();
    assert!(reported.unwrap().is_steady(), "14.5 % is within: {reported:?}");
    assert!(!c.not_for[0].starts_with("any claim of accuracy"));
    let (c, reported) = calibrate_rounds(&sheet(), &rounds([1.0, 0.9, 1.06]), &mut tables).unwrap();
    let reported = reported.unwrap();
    assert!(!reported.is_steady() && (reported.trend - 1.06).abs() < 1e-9, "{reported:?}");
    assert!(c.not_for[0].starts_with("any claim of accuracy"), "{:?}", c.not_for);
    assert!(c.to_toml().contains("differed by 16 % between 3 rounds"), "{}", c.to_toml());
    let (c, reported) = calibrate_rounds(&sheet(), &rounds([1.0; 3])[..1], &mut tables).unwrap();
    assert!(reported.is_none() && c.remarks.iter().any(|r| r.starts_with("one round")), "{:?}", c.remarks);
}

#[test]
fn without_a_raw_rate_the_largest_reads_say_what_the_link_carries_at_least() {
    let remark = |mb_s: f64| {
        let load = Workload::simple("cached read", 262_144, 100.0, 0.0, 32);
        let tests = MicroTests {
            cached_read: Some(Point { iops: mb_s * 1e6 / load.mean_size(), workload: load }),
            ..MicroTests::default()
        };
        let c = calibrate(&sheet(), &tests, &mut Tables::default()).unwrap();
        c.remarks.into_iter().find(|r| r.starts_with("the largest reads")).unwrap()
    };
    for (mb_s, words) in [
        (110.0, "as described"),
        (106.0, "as described"),
        (104.0, "which proves nothing"),
        (120.0, "as described"),
        (121.0, "more than they can carry"),
    ] {
        assert!(remark(mb_s).contains(words), "{mb_s}: {}", remark(mb_s));
    }
}
