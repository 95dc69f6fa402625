//! Caches: found where a simulated array has one, and only there.

use assay_analysis::{CacheProbe, cache_probe};
use assay_record::{RunHeader, StatedMemory};
use assay_spec::probe::ProbePlan;
use assay_spec::units::{MIB, Nanos};

use crate::virtual_time::{FIXED, virtual_events};
use crate::{found, run, summarize, synthetic};

fn header() -> RunHeader {
    let probe = ProbePlan {
        size: "4GiB".parse().unwrap(),
        bytes: 4 << 30,
        run: Nanos(300_000_000),
        outstanding: 4,
        absorb: Some(Nanos::from_secs(20)),
    };
    synthetic::header(synthetic::plan(&probe.text()))
}

fn probe(array: &str) -> CacheProbe {
    let header = header();
    cache_probe(&header, &summarize(&header, &virtual_events(&header, array))).unwrap()
}

fn with_controller(controller: &str) -> String {
    format!("{FIXED}\n[controller]\nfrom = \"assumed: by definition\"\n{controller}\n")
}

#[test]
fn a_read_cache_of_512_mib_is_found_within_10_percent() {
    let probe = probe(&with_controller("read_cache = \"512MiB\""));
    let [cache] = &probe.caches[..] else { panic!("one cache: {:?}", probe.caches) };
    println!("{:.0} MiB, {:?}", cache.bytes / MIB as f64, cache);
    assert!((cache.bytes / (512.0 * MIB as f64) - 1.0).abs() < 0.1, "{cache:?}");
    assert!(cache.miss_us > 2.0 * cache.hit_us);
    let hits: Vec<f64> = probe.working_sets.iter().map(|set| set.hits[0]).collect();
    assert!(hits[0] > 0.99 && (hits.last().unwrap() - 0.125).abs() < 0.03, "{hits:?}");
}

#[test]
fn no_cache_is_found_where_there_is_none() {
    assert_eq!(probe(FIXED).caches, []);
    // Seeks take longer over a longer stroke, which is no cache.
    let probe = probe(include_str!("../../../../arrays/hdd-7200.toml"));
    assert_eq!(probe.caches, [], "{:?}", probe.working_sets);
}

#[test]
fn a_write_cache_shows_by_the_bytes_it_takes() {
    let probe = probe(&with_controller("write_back = \"512MiB\"\nbattery = true"));
    let drop = probe.absorption.unwrap().drop.expect("the cache becomes full");
    let absorbed = drop.absorbed_bytes / MIB as f64;
    println!("{drop:?}: {absorbed:.0} MiB");
    assert!((absorbed / 512.0 - 1.0).abs() < 0.25, "{drop:?}");
}

#[test]
fn a_span_within_stated_memory_is_a_finding_in_any_run() {
    let text = "[[test]]\nname = \"t\"\nrun = \"1s\"\naccess = [{ size = \"4KiB\", random = 100 }]\n";
    let (mut header, summary) = run(text);
    assert!(found("storage-memory", &header, &summary).is_none());
    header.stated = StatedMemory { storage_bytes: Some(8 << 30), host_bytes: Some(1 << 30) };
    let finding = found("storage-memory", &header, &summary).unwrap();
    assert!(
        finding.says.contains("4.00 GiB, less than twice the memory of the storage (8.00 GiB"),
        "{}",
        finding.says
    );
    assert!(found("host-memory", &header, &summary).is_none(), "4 GiB are more than twice 1 GiB");
}

#[test]
fn a_sweep_without_working_sets_is_no_probe() {
    let (header, summary) = run("[[test]]\nname = \"t\"\nrun = \"1s\"\naccess = [{ size = \"4KiB\" }]\n");
    assert_eq!(cache_probe(&header, &summary), None);
}
