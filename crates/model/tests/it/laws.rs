//! What must hold for every array and every load.

use assay_model::array::{parse, set, shipped, to_toml};
use assay_model::closed::closed_form;
use assay_model::concurrent::{predict_concurrent, what_if_concurrent};
use assay_model::demand::demand_table;
use assay_model::des::{SimOptions, simulate};
use assay_model::facts::facts;
use assay_model::predict::{Engines, predict};
use assay_model::resolved::Tables;
use assay_model::workload::{Access, Workload};
use assay_spec::units::{Bytes, GIB, Nanos};
use proptest::prelude::*;

use crate::{array, close, resolved};

fn workload() -> impl Strategy<Value = Workload> {
    let access =
        (9_u32..24, 0_u32..=100, 0_u32..=100, 1_u32..10).prop_map(|(shift, read, random, weight)| Access {
            size: Bytes(1 << shift),
            read_pct: f64::from(read),
            random_pct: f64::from(random),
            weight: f64::from(weight),
        });
    let reconnect = prop_oneof![Just(None), (1_u32..2000).prop_map(Some)];
    (proptest::collection::vec(access, 1..4), 1_u32..256, 1_u32..4, 20_u32..45, reconnect).prop_map(
        |(mix, outstanding, workers, span, reconnect_every)| Workload {
            mix,
            outstanding,
            workers,
            span: Bytes(1 << span),
            duration: Nanos::from_secs(30),
            reconnect_every,
            ..Workload::simple("any", 4096, 100.0, 100.0, 1)
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn every_engine_answers_every_load_with_a_possible_number(which in 0..shipped::FILES.len(), w in workload()) {
        let a = array(shipped::FILES[which].0);
        let (resolved, classes) = resolved(&a, &w);
        prop_assert!((classes.iter().map(|c| c.share).sum::<f64>() - 1.0).abs() < 1e-9);
        let closed = closed_form(&resolved, &classes, &w);
        prop_assert!(closed.iops.is_finite() && closed.iops > 0.0, "{closed:?}");
        prop_assert!(closed.mean_ms.is_finite() && closed.mean_ms > 0.0, "{closed:?}");
        prop_assert!(closed.in_flight <= w.total_outstanding() * 1.000_1, "{closed:?}");
        let table = demand_table(&resolved, &classes, w.total_outstanding());
        for pair in table.resources.windows(2) {
            prop_assert!(pair[0].ceiling_iops <= pair[1].ceiling_iops);
        }
        let options = SimOptions { seed: 1, max_ios: 2_000, cache_full: false };
        let out = &simulate(&resolved, std::slice::from_ref(&w), options)[0];
        prop_assert!(out.in_flight <= w.total_outstanding() * 1.001, "{}", out.in_flight);
        prop_assert!(out.iops.is_finite());
    }

    #[test]
    fn the_slow_corner_is_never_faster(which in 0..shipped::FILES.len(), w in workload()) {
        let p = predict(&array(shipped::FILES[which].0), &w, Engines::Closed, &mut Tables::default());
        prop_assert!(p.iops.lo <= p.iops.value && p.iops.value <= p.iops.hi);
        prop_assert!(!p.says().is_empty());
    }

    #[test]
    fn arrays_survive_writing_after_any_override(
        which in 0..shipped::FILES.len(), mtu in 576_u32..9216, depth in 1_u32..512,
    ) {
        let mut a = array(shipped::FILES[which].0);
        set(&mut a, &format!("mtu={mtu}, initiator.queue_depth={depth}")).unwrap();
        prop_assert_eq!(parse("again", &to_toml(&a)).unwrap(), a);
    }
}

#[test]
fn more_of_what_limits_never_slows() {
    let mut tables = Tables::default();
    let mut last = 0.0;
    let w = Workload::simple("r", 4096, 100.0, 100.0, 128);
    for disks in [2, 4, 8, 16, 32] {
        let mut a = array("ts140-raid10");
        set(&mut a, &format!("disks={disks}")).unwrap();
        let iops = predict(&a, &w, Engines::Closed, &mut tables).iops.value;
        assert!(iops > last, "{disks} disks: {iops} after {last}");
        last = iops;
    }
}

#[test]
fn loads_side_by_side_share_the_array() {
    let mut tables = Tables::default();
    let w = Workload::simple("r", 4096, 100.0, 100.0, 16);
    let a = array("hdd-7200");
    let both = predict_concurrent(&a, &[w.clone(), w.clone()], 20_000, &mut tables).jobs;
    assert_eq!(both.len(), 2);
    let double = predict_concurrent(&a, &[Workload { outstanding: 32, ..w }], 20_000, &mut tables).jobs;
    let iops = |jobs: &[assay_model::concurrent::ConcurrentJob], i: usize| jobs[i].simulated.iops;
    close(iops(&both, 0).value + iops(&both, 1).value, iops(&double, 0).value, 0.05, "the sum of two halves");
    close(iops(&both, 0).value, iops(&both, 1).value, 0.05, "fairness");
    assert!(
        iops(&both, 0).lo < iops(&both, 0).value && iops(&both, 0).hi > iops(&both, 0).value,
        "an interval"
    );
    assert!(both[0].alone_iops > iops(&both, 0).value, "alone it is faster");
}

/// A stream that fits beside random reads until the disk is full of them: the report names the shared resource and
/// its users.
#[test]
fn what_loads_share_is_named_with_who_takes_it_and_what_a_change_brings_each() {
    let mut tables = Tables::default();
    let random = Workload { name: "t / database".into(), ..Workload::simple("r", 8192, 100.0, 100.0, 16) };
    let stream = Workload { name: "t / backup".into(), ..Workload::simple("s", 65_536, 100.0, 0.0, 1) };
    let loads = [random, stream];
    let together = predict_concurrent(&array("hdd-7200"), &loads, 20_000, &mut tables);
    assert!(together.shared[0].name.contains("disk") && together.shared[0].utilisation > 0.8, "{together:?}");
    assert!(
        together.says().contains("the disk: ") && together.says().contains("% of that by "),
        "{}",
        together.says()
    );
    assert!((together.shared[0].parts.iter().sum::<f64>() - 1.0).abs() < 1e-9);
    let changes = what_if_concurrent(
        &array("hdd-7200"),
        &loads,
        &["raid=0 disks=4", "initiator.queue_depth=4096"],
        20_000,
        &mut tables,
    )
    .unwrap();
    assert!(changes[0].gains.iter().all(|g| *g > 1.5), "{:?}", changes[0].gains);
    assert!(
        changes[0].says.contains("database x") && changes[0].says.contains("backup x"),
        "{}",
        changes[0].says
    );
    assert!(changes[1].says.contains("changes nothing"), "{}", changes[1].says);
}

/// The study: c_eff/disks of 0.91 (001d) and 0.82 (001b) *of 4*: both arrays work like one disk at a time.
#[test]
fn facts_show_that_the_ix4_works_like_one_disk_at_a_time() {
    let mut tables = Tables::default();
    let tests = Workload::forum_tests(Bytes(4 * GIB));
    let f = facts(&array("ix4-200d"), &tests[3], &mut tables);
    assert_eq!((f.members, f.write_penalty), (4.0, 4.0));
    close(f.member_ios_per_io, 0.7 + 0.3 * 4.0, 1e-9, "disk I/Os per I/O");
    close(f.revolution_ms, 60_000.0 / 5900.0, 1e-9, "revolution");
    let effective = f.effective_members(64.647);
    assert!((0.7..1.4).contains(&effective), "{effective} of 4 disks");
    assert!(f.uncached_bound_iops > 500.0 && f.least_hit_ratio(64.6) == 0.0, "{f:?}");
    close(f.least_hit_ratio(f.uncached_bound_iops * 2.0), 0.5, 1e-9, "hits");
    close(f.random_write_share, 0.3, 1e-9, "random writes");
    assert!(f.full_span_iops < f.uncached_bound_iops / 2.0, "a short stroke is faster: {f:?}");
    close(f.path_mb_s, 117.0, 2e-3, "one path");
    let cached = facts(&array("ts140-raid10"), &tests[3], &mut tables);
    let drain = cached.drain_iops.unwrap();
    let seconds = cached.absorbs_s(drain + 1000.0, 0.3 * 8192.0).unwrap();
    close(seconds, 512.0 * 1_048_576.0 / (1000.0 * 0.3 * 8192.0), 1e-6, "fill time");
    assert_eq!(cached.absorbs_s(drain * 0.9, 1.0), None);
}
