use assay_model::array::set;
use assay_model::closed::closed_form;
use assay_model::concurrent::predict_concurrent;
use assay_model::demand::{ResourceKind, demand_table};
use assay_model::des::{SimOptions, simulate};
use assay_model::predict::{Engines, SOFTWARE_COST_UNKNOWN, predict};
use assay_model::raid::Kind;
use assay_model::resolved::{Media, Software, Tables};
use assay_model::workload::{Arrivals, LoadModel, Workload};
use assay_spec::units::{Bytes, GIB, Nanos};

use crate::{array, close, resolved};

fn both(array: &assay_model::array::Array, workload: &Workload, max_ios: u64) -> (f64, f64) {
    let (resolved, classes) = resolved(array, workload);
    let closed = closed_form(&resolved, &classes, workload).iops;
    let options = SimOptions { seed: 3, max_ios, cache_full: false };
    let simulated = simulate(&resolved, std::slice::from_ref(workload), options)[0].iops;
    (closed, simulated)
}

/// The grid of the study: m = 1..16 disks, N = 1..128 outstanding, random reads over the whole disks.
///
/// The largest differences are where several disks have two to four requests each.
#[test]
fn the_closed_form_agrees_with_the_simulation_over_the_grid() {
    let (mut sum, mut worst, mut cells) = (0.0, (0.0, 0, 0), 0);
    for m in [1_u32, 2, 3, 4, 6, 8, 12, 16] {
        let mut a = array("hdd-7200");
        set(&mut a, &format!("raid=0 disks={m}")).unwrap();
        for n in [1_u32, 2, 4, 8, 16, 32, 64, 128] {
            let w = Workload {
                duration: assay_spec::units::Nanos::from_secs(3600),
                span: Bytes(u64::from(m) * 6_000_000_000_000),
                ..Workload::simple("g", 4096, 100.0, 100.0, n)
            };
            let (closed, simulated) = both(&a, &w, 20_000);
            let error: f64 = (closed / simulated - 1.0).abs();
            sum += error;
            cells += 1;
            if error > worst.0 {
                worst = (error, m, n);
            }
        }
    }
    let mean = sum / f64::from(cells);
    println!("mean {mean:.4}, worst {worst:?}");
    assert!(mean < 0.02, "mean difference {mean:.4}, worst {worst:?}");
    assert!(worst.0 < 0.08, "worst {worst:?}");
}

/// The formula as written at the head of the closed form, solved by repetition.
#[test]
fn the_fixed_point_reduces_to_the_formula_when_only_disks_matter() {
    let mut a = array("hdd-7200");
    set(&mut a, "raid=0 disks=8 link=none").unwrap();
    let w = Workload::simple("f", 4096, 100.0, 100.0, 32);
    let (resolved, classes) = resolved(&a, &w);
    let Media::Disk(_, table) = &resolved.media else { panic!("a disk") };
    let (n, m) = (32.0, 8.0);
    let others = (n - 1.0) / m;
    let phase = &classes[0].io_cost.phases[0];
    let (mut x, mut busy) = (0.0_f64, 0.0_f64);
    for _ in 0..200 {
        let s = resolved.visit_ns(phase, 1.0 + others - busy);
        let c = table.variance() * (table.at(Kind::Read, 1.0 + others - busy) / s).powi(2);
        x = n / (s * (1.0 + others - busy * (1.0 - 1.0 / m) * (1.0 - c) / 2.0));
        let all = x * s / m;
        busy += (all * (1.0 - 1.0 / n) / (1.0 - all / n) - busy) / 2.0;
    }
    close(closed_form(&resolved, &classes, &w).iops, x * 1e9, 1e-3, "closed form");
}

/// Round robin in the simulation against 1/(1 - N/k): 1.067 against 1.068 in the study.
#[test]
fn round_robin_in_the_simulation_matches_the_formula() {
    let mut a = array("openfiler-2.3-8disk");
    set(&mut a, "target.read_op_us=none target.read_kib_us=none paths.rr_bytes=none").unwrap();
    let w = Workload::simple("rr", 32_768, 100.0, 0.0, 64);
    let mut one = a.clone();
    set(&mut one, "paths.policy=fixed").unwrap();
    let single = both(&one, &w, 200_000).1;
    for (k, expected, tolerance) in
        [(1000, 1.068, 0.01), (320, 1.25, 0.02), (128, 2.0, 0.04), (64, 3.0, 0.05), (1, 4.0, 0.05)]
    {
        set(&mut a, &format!("paths.rr_ios={k}")).unwrap();
        close(both(&a, &w, 200_000).1 / single, expected, tolerance, &format!("k = {k}"));
    }
}

/// Iometer's drain and reopen every 500: (436 x 64 + 64 x 32.5) / 500 = 59.97 in flight on a serial device.
#[test]
fn draining_every_500_leaves_60_of_64_in_flight() {
    let mut a = array("ix4-200d");
    set(&mut a, "target.serial_write_ms=none target.workers=none").unwrap();
    let w = &Workload::forum_tests(Bytes(4 * GIB))[0];
    let (resolved, classes) = resolved(&a, w);
    close(closed_form(&resolved, &classes, w).in_flight, 59.97, 0.01, "closed form");
    let options = SimOptions { seed: 1, max_ios: 100_000, cache_full: false };
    close(simulate(&resolved, std::slice::from_ref(w), options)[0].in_flight, 59.97, 0.01, "simulation");
}

#[test]
fn the_demand_table_names_the_first_and_the_second_bottleneck() {
    let a = array("openfiler-2.3-4disk");
    let w = Workload::simple("t", 32_768, 100.0, 0.0, 64);
    let (resolved, classes) = resolved(&a, &w);
    let table = demand_table(&resolved, &classes, 64.0);
    assert_eq!(table.first().unwrap().kind, ResourceKind::TargetCpu);
    assert_eq!(table.second().unwrap().kind, ResourceKind::Members);
    assert!(table.distance() > 1.0 && table.distance() < 1.5, "{}", table.distance());
    for r in &table.at(5000.0).resources {
        assert!((0.0..=1.0).contains(&r.utilisation), "{r:?}");
    }
}

#[test]
fn unknown_software_is_a_bound_and_says_so() {
    let w = Workload::simple("t", 8192, 70.0, 100.0, 32);
    let p = predict(&array("nas-4bay"), &w, Engines::Closed, &mut Tables::default());
    assert_eq!(p.software, Software::Unknown);
    assert!(p.says().starts_with("at most ") && p.says().contains(SOFTWARE_COST_UNKNOWN), "{}", p.says());
    assert!(p.says().contains("without caches of the client, the bound of"), "{}", p.says());
    let mut no_ram = array("nas-4bay");
    set(&mut no_ram, "controller.read_cache=none").unwrap();
    let bound = predict(&no_ram, &w, Engines::Closed, &mut Tables::default());
    assert!(bound.says().contains("without caches of the client and RAM of the server"), "{}", bound.says());
    let known = predict(&array("ix4-200d"), &w, Engines::Closed, &mut Tables::default());
    assert!(!known.says().contains(SOFTWARE_COST_UNKNOWN), "{}", known.says());
}

/// A disk whose numbers have no ranges, with these changes.
fn exact_disk(changes: &str) -> assay_model::array::Array {
    let mut exact = array("hdd-7200");
    let overrides = "device.seek_track_ms=0.8 device.seek_avg_ms=8.5 device.seek_full_ms=17 device.outer_mb_s=210 \
     device.inner_mb_s=100 device.sorting=position";
    set(&mut exact, overrides).expect("the disk has these numbers");
    set(&mut exact, changes).expect("the disk has these numbers");
    exact
}

/// Random reads at a rate, each of a worker of its own.
fn paced_reads(per_s: f64) -> Workload {
    let pace = LoadModel::Rate { per_s, arrivals: Arrivals::Poisson };
    Workload { pace, duration: LONG_RUN, ..Workload::simple("p", 4096, 100.0, 100.0, 256) }
}

/// An hour: no simulation below lasts as long.
const LONG_RUN: Nanos = Nanos::from_secs(3600);

#[test]
fn the_model_error_of_a_paced_load_is_that_of_a_slower_and_a_faster_array() {
    // All that this disk does takes 1 / 0.75 of the time, as the model error of random I/O on disks allows.
    let slower = exact_disk(
        "device.rpm=5400 device.seek_track_ms=1.066667 device.seek_avg_ms=11.333333 device.seek_full_ms=22.666667 \
         device.outer_mb_s=157.5 device.inner_mb_s=75 device.overhead_ms=0.133333",
    );
    for engines in [Engines::Closed, Engines::Simulated { seeds: 1, max_ios: 30_000 }] {
        let w = paced_reads(40.0);
        let mut tables = Tables::default();
        let expected = predict(&exact_disk(""), &w, engines, &mut tables);
        let slow = predict(&slower, &w, engines, &mut tables);
        close(expected.mean_ms.hi, slow.mean_ms.value, 0.01, "mean of the slow end");
        if let (Some(p99), Some(slow)) = (expected.p99_ms, slow.p99_ms) {
            close(p99.hi, slow.value, 0.01, "p99 of the slow end");
        }
    }
}

#[test]
fn the_latency_of_a_paced_load_is_less_certain_the_nearer_the_rate_is_to_the_highest_one() {
    let engines = Engines::Simulated { seeds: 1, max_ios: 30_000 };
    let at = |per_s| predict(&exact_disk(""), &paced_reads(per_s), engines, &mut Tables::default());
    let most = at(1e6).closed.iops;
    let [idle, busy, full] = [0.005, 0.5, 0.65].map(|part| at(part * most));
    // Alone, an I/O takes as much longer or shorter as one of a closed loop.
    close(idle.mean_ms.hi / idle.mean_ms.value, 1.0 / 0.75, 0.02, "slow end of an idle disk");
    close(idle.mean_ms.value / idle.mean_ms.lo, 1.15, 0.02, "fast end of an idle disk");
    let spread = |p: &assay_model::predict::Prediction| p.mean_ms.hi / p.mean_ms.lo;
    assert!(spread(&busy) > 1.1 * spread(&idle), "{:?} and {:?}", busy.mean_ms, idle.mean_ms);
    assert!(spread(&full) > 1.1 * spread(&busy), "{:?} and {:?}", full.mean_ms, busy.mean_ms);
}

/// Loads side by side were given the ranges of the array file only, and on this array, which has none, no error at all.
#[test]
fn loads_side_by_side_have_the_error_of_the_model() {
    let reads = Workload::simple("reads", 4096, 100.0, 100.0, 16);
    let loads = [reads, paced_reads(20.0)];
    let jobs = predict_concurrent(&exact_disk(""), &loads, 60_000, &mut Tables::default()).jobs;
    let [closed, paced] = [&jobs[0].simulated, &jobs[1].simulated];
    // What the paced load takes of a slower disk is more of it.
    let left = closed.iops.lo / closed.iops.value;
    assert!((0.60..0.75).contains(&left), "{:?}", closed.iops);
    assert!((1.15..1.30).contains(&(closed.iops.hi / closed.iops.value)), "{:?}", closed.iops);
    close(closed.mean_ms.hi / closed.mean_ms.value, 1.0 / left, 0.05, "16 in flight, whatever the rate");
    close(paced.iops.hi, 20.0, 0.05, "a paced load gets no more than its rate");
    assert!(paced.mean_ms.hi > 1.2 * paced.mean_ms.value, "{:?}", paced.mean_ms);
    assert!(paced.p99_ms.lo < paced.p99_ms.value, "{:?}", paced.p99_ms);
}

#[test]
fn a_paced_load_may_be_more_than_the_array_carries_and_never_gets_more_than_its_rate() {
    let mut tables = Tables::default();
    let mut at = |per_s| predict(&exact_disk(""), &paced_reads(per_s), Engines::Closed, &mut tables);
    let closed = at(1e6).iops.value;
    let near = at(0.9 * closed);
    assert_eq!(near.limit, ResourceKind::LoadModel);
    close(near.iops.lo, 0.75 * closed, 1e-6, "what the slow end carries");
    close(near.iops.hi, near.iops.value, 1e-9, "the rate");
    let beyond = at(1.1 * closed);
    close(beyond.iops.lo, 0.75 * closed, 1e-6, "what the slow end carries");
    close(beyond.iops.hi, 1.1 * closed, 1e-9, "the rate, which the fast end carries");
}

#[test]
fn an_interval_holds_its_nominal_value_and_widens_with_the_ranges() {
    let w = Workload::simple("t", 4096, 100.0, 100.0, 32);
    let mut tables = Tables::default();
    let wide = predict(&array("hdd-7200"), &w, Engines::Closed, &mut tables).iops;
    assert!(wide.lo < wide.value && wide.value < wide.hi, "{wide:?}");
    let exact = exact_disk("");
    let narrow = predict(&exact, &w, Engines::Closed, &mut tables).iops;
    assert!(narrow.hi / narrow.lo < wide.hi / wide.lo, "{narrow:?}");
    // What is left without ranges is the error of the model, of which the rows of one disk need not all.
    let left = narrow.hi / narrow.lo;
    assert!((1.2..=1.15 / 0.75 * 1.01).contains(&left), "model error of random I/O on disks: {left}");
}

/// A cache that earlier writes had filled was said to absorb a run all the same.
#[test]
fn a_write_back_cache_that_is_full_at_the_start_absorbs_nothing() {
    let mut tables = Tables::default();
    let writes = Workload { duration: Nanos::from_secs(20), ..Workload::simple("w", 4096, 0.0, 100.0, 32) };
    let mut expect = |state: &str| {
        let mut a = array("hdd-7200");
        set(&mut a, &format!("controller.write_back=1GiB controller.battery=yes {state}")).unwrap();
        predict(&a, &writes, Engines::Simulated { seeds: 1, max_ios: 20_000 }, &mut tables)
    };
    let [empty, full] = ["", "controller.starts_full=yes"].map(&mut expect);
    assert!(empty.closed.absorbing.is_some() && full.closed.absorbing.is_none(), "{empty:?}");
    assert!(full.closed.iops < empty.closed.iops / 10.0, "{} of {}", full.closed.iops, empty.closed.iops);
    close(full.simulated.as_ref().unwrap().iops.value, full.closed.iops, 0.15, "both engines");
    let mut none = array("hdd-7200");
    let refused = set(&mut none, "controller.starts_full=yes").unwrap_err().to_string();
    assert!(refused.contains("there is no write-back cache that could be full"), "{refused}");
}

/// A span that fits was written at the speed of the cache, which had no place for it.
#[test]
fn a_write_back_cache_that_is_full_at_the_start_has_no_place_for_a_small_span() {
    let mut tables = Tables::default();
    let small = Workload { span: Bytes(512 << 20), ..Workload::simple("w", 4096, 0.0, 100.0, 32) };
    let mut expect = |state: &str| {
        let mut a = array("hdd-7200");
        set(&mut a, &format!("controller.write_back=1GiB controller.battery=yes {state}")).unwrap();
        let found = predict(&a, &small, Engines::Simulated { seeds: 1, max_ios: 20_000 }, &mut tables);
        (found.closed.iops, found.simulated.unwrap().iops.value)
    };
    let [empty, full] = ["", "controller.starts_full=yes"].map(&mut expect);
    assert!(full.0 < empty.0 / 10.0 && full.1 < empty.1 / 10.0, "{full:?} of {empty:?}");
    close(full.1, full.0, 0.15, "both engines");
}

#[test]
fn a_write_back_cache_absorbs_until_it_is_full() {
    let mut a = array("ts140-raid10");
    let burst = Workload {
        duration: assay_spec::units::Nanos::from_secs(2),
        ..Workload::simple("w", 8192, 0.0, 100.0, 32)
    };
    let long = Workload { duration: assay_spec::units::Nanos::from_secs(600), ..burst.clone() };
    let (closed_burst, simulated_burst) = both(&a, &burst, u64::MAX);
    let (closed_long, simulated_long) = both(&a, &long, 4_000_000);
    assert!(closed_burst > 5.0 * closed_long, "{closed_burst} against {closed_long}");
    assert!(simulated_burst > 4.0 * simulated_long, "{simulated_burst} against {simulated_long}");
    close(closed_long, simulated_long, 0.25, "long run");
    // After the cache is full, for ever: without what it absorbed first.
    let ever = Workload { duration: assay_spec::units::Nanos::from_secs(1_000_000_000), ..burst.clone() };
    let drained = both(&a, &ever, 1).0;
    set(&mut a, "cache=none controller.battery=no").unwrap();
    let through = both(&a, &ever, 1).0;
    // On 4 of 4,000 GB all seeks are the shortest, so the order by place of the cache saves none. What saves time is
    // the disk's own choice by rotation: the controller hands it a few writes at a time and so loses a part of that,
    // but not all. A disk without a choice waits half a revolution for each write; both disks of a pair write.
    let no_choice = 4.0 / (0.1e-3 + 2.0e-3 + 60.0 / 7200.0 / 2.0);
    assert!(no_choice < drained && drained < through, "{no_choice} < {drained} < {through} writes/s");
}

#[test]
fn a_pool_of_workers_lets_slow_writes_stop_fast_reads() {
    let mut a = array("ix4-200d");
    let span = Bytes(4 * GIB);
    let forum = Workload::forum_tests(span);
    let clients = [forum[1].clone(), forum[0].clone(), forum[0].clone()];
    let reader = |a: &assay_model::array::Array| {
        let (resolved, _) = resolved(a, &forum[0]);
        simulate(&resolved, &clients, SimOptions { seed: 1, max_ios: 200_000, cache_full: false })[1].iops
    };
    let pooled = reader(&a);
    set(&mut a, "target.workers=none").unwrap();
    let free = reader(&a);
    assert!((100.0..200.0).contains(&pooled), "measured 132 and 145: {pooled}");
    assert!(free > 3.0 * pooled, "without a pool the model gives 911: {free}");
}

#[test]
fn a_paced_load_gets_its_rate_and_a_short_response() {
    let pace = LoadModel::Rate { per_s: 100.0, arrivals: Arrivals::Poisson };
    let w = Workload { pace, ..Workload::simple("p", 4096, 100.0, 100.0, 32) };
    let a = array("hdd-7200");
    let (closed, simulated) = both(&a, &w, 50_000);
    close(closed, 100.0, 1e-9, "closed form");
    close(simulated, 100.0, 0.03, "simulation");
    let p = predict(&a, &w, Engines::Closed, &mut Tables::default());
    assert_eq!(p.limit, ResourceKind::LoadModel);
    assert!(p.mean_ms.value < 40.0, "{:?}", p.mean_ms);
}

#[test]
fn the_engines_are_shown_side_by_side_when_they_disagree() {
    let w = Workload::simple("s", 4096, 100.0, 100.0, 64);
    let p = predict(&array("nvme"), &w, Engines::FULL, &mut Tables::default());
    let d = p.disagreement().unwrap();
    assert_eq!(p.shows_both(), d.abs() > 0.10);
    let s = p.simulated.as_ref().unwrap();
    assert!(p.iops.lo <= s.iops.lo && s.iops.hi <= p.iops.hi, "the interval holds both");
}

/// Measured on a disk at QD 64: p50/mean 0.73, p90 2.17, p99 4.38.
#[test]
fn a_saturated_disk_has_near_exponential_response_times() {
    let a = array("hdd-7200");
    let w = Workload {
        duration: assay_spec::units::Nanos::from_secs(3600),
        ..Workload::simple("e", 4096, 100.0, 100.0, 31)
    };
    let (resolved, _) = resolved(&a, &w);
    let out = &simulate(
        &resolved,
        std::slice::from_ref(&w),
        SimOptions { seed: 1, max_ios: 200_000, cache_full: false },
    )[0];
    for (p, expected) in [(50.0, 0.69), (90.0, 2.3), (99.0, 4.6)] {
        close(out.percentile_ms(p) / out.mean_ms(), expected, 0.08, &format!("p{p}"));
    }
}

#[test]
fn an_slc_cache_is_fast_until_it_is_full() {
    let a = array("ts140-850evo");
    let w = |seconds| Workload {
        duration: assay_spec::units::Nanos::from_secs(seconds),
        ..Workload::simple("slc", 1 << 20, 0.0, 0.0, 8)
    };
    // 3 GB at 520 MB/s last 5.8 s; then 300 MB/s: (5.8 x 520 + 54.2 x 300) / 60 = 321.
    for (seconds, mb_s, tolerance) in [(5, 520.0, 0.02), (60, 321.0, 0.02)] {
        let (closed, simulated) = both(&a, &w(seconds), u64::MAX);
        close(closed * 1.048_576, mb_s, tolerance, "closed form");
        close(simulated * 1.048_576, mb_s, tolerance, "simulation");
    }
}

#[test]
fn where_a_file_lies_sets_its_rate() {
    let a = array("hdd-7200");
    let outer = Workload::simple("o", 1 << 20, 100.0, 0.0, 4);
    let inner = Workload { start: Bytes(5_900_000_000_000), ..outer.clone() };
    close(both(&a, &outer, 20_000).0 * 1.048_576, 210.0, 0.01, "outer edge, MB/s");
    close(both(&a, &inner, 20_000).0 * 1.048_576, 102.0, 0.02, "inner edge, MB/s");
}

#[test]
fn a_full_lun_queue_makes_the_rest_wait_in_the_host() {
    let mut a = array("hdd-7200");
    let at =
        |a: &assay_model::array::Array, n| both(a, &Workload::simple("q", 4096, 100.0, 100.0, n), 20_000);
    let eight = at(&a, 8);
    set(&mut a, "initiator.queue_depth=8").unwrap();
    let capped = at(&a, 64);
    close(capped.0, eight.0, 1e-9, "closed form");
    close(capped.1, eight.1, 0.01, "simulation");
}

#[test]
fn committed_writes_wait_for_the_platter_unless_a_battery_keeps_them() {
    let mut a = array("nas-4bay");
    set(&mut a, "protocol.kind=nfs protocol.nfs_sync=yes").unwrap();
    let w = Workload::simple("c", 4096, 0.0, 0.0, 1);
    let (closed, simulated) = both(&a, &w, 5_000);
    assert!(closed < 5400.0 / 60.0, "one write per revolution at most: {closed}");
    close(closed, simulated, 0.03, "engines");
    set(&mut a, "controller.write_back=256MiB controller.battery=yes").unwrap();
    assert!(both(&a, &w, 5_000).0 > 1000.0);
}

#[test]
fn the_latency_of_a_paced_load_is_that_of_the_simulation() {
    let pace = LoadModel::Rate { per_s: 90.0, arrivals: Arrivals::Poisson };
    let w = Workload { pace, ..Workload::simple("p", 4096, 100.0, 100.0, 32) };
    let engines = Engines::Simulated { seeds: 1, max_ios: 20_000 };
    let p = predict(&array("hdd-7200"), &w, engines, &mut Tables::default());
    let simulated = p.simulated.as_ref().expect("it was asked for").mean_ms.value;
    close(p.mean_ms.value, simulated, 1e-9, "mean response time");
    assert!(p.mean_ms.lo < simulated && simulated < p.mean_ms.hi, "{:?}", p.mean_ms);
    assert_eq!(p.shows_both(), p.latency_disagreement().unwrap().abs() > 0.10);
}

#[test]
fn a_disk_that_sorts_by_seek_gains_nothing_on_a_short_stroke() {
    let w = Workload::simple("s", 4096, 100.0, 100.0, 32);
    let rate = |sorting: &str| {
        let mut a = array("hdd-7200");
        set(&mut a, &format!("device.sorting={sorting}")).unwrap();
        predict(&a, &w, Engines::Closed, &mut Tables::default()).iops
    };
    let (position, seek, unknown) = (rate("position"), rate("seek"), rate("unknown"));
    // 1 % of the stroke: 220 to 270 were measured where 525 were predicted.
    assert!(seek.value < 230.0 && position.value > 400.0, "{seek:?} {position:?}");
    assert!(
        unknown.lo < seek.value && unknown.value < 300.0 && unknown.hi > 0.95 * position.value,
        "{unknown:?}"
    );
}

#[test]
fn the_write_cache_of_a_disk_makes_random_writes_faster_than_reads_at_every_depth() {
    let mut a = array("hdd-7200");
    set(&mut a, "device.write_cache=256MiB").unwrap();
    let rate = |read, n| {
        let w = Workload { span: Bytes(6_000_000_000_000), ..Workload::simple("w", 4096, read, 100.0, n) };
        predict(&a, &w, Engines::Closed, &mut Tables::default()).iops.value
    };
    // The sheet of an Exos says 170 reads at 16 outstanding, and 350 to 440 writes.
    assert!(rate(0.0, 16) > 1.4 * rate(100.0, 16), "{} and {}", rate(0.0, 16), rate(100.0, 16));
    close(rate(0.0, 1), rate(0.0, 32), 0.05, "the cache sorts, not the queue");
}

#[test]
fn a_drive_is_limited_by_its_link_its_host_and_what_was_written_before() {
    let rate = |name: &str, change: &str, w: &Workload| {
        let mut a = array(name);
        set(&mut a, change).unwrap();
        predict(&a, w, Engines::Closed, &mut Tables::default()).iops.value
    };
    let reads = Workload::simple("r", 4096, 100.0, 100.0, 32);
    close(rate("ssd-sata", "link=SATA2", &reads), 52_400.0, 0.02, "commands fill a 3 Gbit/s port");
    close(rate("nvme", "initiator.op_us=5", &reads), 200_000.0, 0.02, "one thread of 5 us per I/O");
    let large = Workload::simple("l", 128 << 20, 100.0, 0.0, 1);
    let bytes_s = rate("ssd-sata", "link=SATA3", &large) * f64::from(128 << 20);
    close(bytes_s, 555e6, 0.02, "link and drive transfer at the same time");
    let writes = Workload::simple("w", 4096, 0.0, 100.0, 32);
    let full = "device.state=steady device.steady_write_iops=none initiator.op_us=1";
    assert!(
        rate("nvme", full, &writes) < 0.7 * rate("nvme", "device.state=fresh initiator.op_us=1", &writes)
    );
}
