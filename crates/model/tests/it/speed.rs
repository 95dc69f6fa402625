//! The speeds that were promised. Only with `SLOW_TESTS=1` and optimised: a debug build says nothing.

use std::time::Instant;

use assay_model::array::shipped;
use assay_model::des::{SimOptions, simulate};
use assay_model::plant::Tables;
use assay_model::predict::{Engines, predict};
use assay_model::workload::Workload;
use assay_spec::units::{Bytes, GIB};

use crate::{array, plant};

fn measured() -> bool {
    std::env::var_os("SLOW_TESTS").is_some() && !cfg!(debug_assertions)
}

#[test]
fn all_suites_on_all_arrays_take_less_than_a_second() {
    if !measured() {
        return;
    }
    let mut suites = Workload::forum_tests(Bytes(4 * GIB));
    suites.extend(Workload::atto_tests(4));
    suites.extend(Workload::corner_tests(Bytes(GIB)));
    let start = Instant::now();
    let mut tables = Tables::default();
    for a in shipped::all().unwrap() {
        for w in &suites {
            assert!(predict(&a, w, Engines::Closed, &mut tables).iops.value > 0.0);
        }
    }
    assert!(start.elapsed().as_secs_f64() < 1.0, "{:?}", start.elapsed());
}

#[test]
fn a_forum_test_of_the_ix4_takes_less_than_50_ms_and_others_5_million_ios_a_second() {
    if !measured() {
        return;
    }
    for (name, test) in
        [("ix4-200d", 0), ("ix4-200d", 3), ("openfiler-2.3-8disk", 0), ("hdd-7200", 3), ("nvme", 3)]
    {
        let w = &Workload::forum_tests(Bytes(4 * GIB))[test];
        let (plant, _) = plant(&array(name), w);
        let start = Instant::now();
        let options = SimOptions { seed: 1, max_ios: 2_000_000, cache_full: false };
        let ios = simulate(&plant, std::slice::from_ref(w), options)[0].ios;
        let seconds = start.elapsed().as_secs_f64();
        let rate = ios as f64 / seconds;
        // A run of a few thousand I/Os is over before its memory is warm.
        assert!(ios < 50_000 || rate > 5e6, "{name} {}: {rate:.0} I/Os per second", w.name);
        assert!(name != "ix4-200d" || seconds < 0.05, "{name} {}: {seconds}", w.name);
    }
}
