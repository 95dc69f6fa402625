//! A run read from its extract is the run read from its events, to the last digit.

use std::collections::BTreeSet;
use std::path::Path;

use assay_analysis::{Collector, RunExtract};
use assay_record::RunHeader;
use assay_results::{
    Stored, collector_of, complete, incomplete, read_extract_held, repetitions, summary_stored,
};
use assay_store::Store;
use assay_testkit::synthetic;
use serde_json::Value;

/// Longer than the seconds whose distributions a collector keeps; jobs side by side, open and closed loops, a sweep,
/// and a window of rounds.
const PLAN: &str = "name = \"all kinds\"\n\
    [[test]]\nname = \"long\"\nrun = \"40s\"\noutstanding = 16\n\
    access = [{ size = \"8KiB\", read = 65, random = 60 }]\n\
    [[test]]\nname = \"open\"\nrun = \"5s\"\naccess = [{ size = \"4KiB\", read = 100 }]\n\
    pace = { rate = \"500/s\", arrivals = \"poisson\" }\n\
    [[test]]\nname = \"sweep\"\nrun = \"3s\"\naccess = [{ size = \"4KiB\", read = 0 }]\n\
    sweep = { size = [\"4KiB\", \"64KiB\"] }\n\
    [[test]]\nname = \"two\"\nrun = \"4s\"\n\
    [[test.job]]\naccess = [{ size = \"8KiB\", read = 65, random = 60 }]\n\
    [[test.job]]\naccess = [{ size = \"64KiB\", read = 100, random = 0 }]\n";

fn stored(store: &Store) -> RunHeader {
    let header = synthetic::header(synthetic::plan(PLAN));
    let events = synthetic::events(&header, synthetic::Target::default());
    let mut writer = store.begin_run(&header, None, None).unwrap();
    events.iter().for_each(|event| writer.append(event).unwrap());
    writer.finish().unwrap();
    header
}

/// Reads a run three ways: from its events, as it is stored, and from the extract that is kept now.
fn check(store: &Store, run: &str) {
    let header = store.header(run).unwrap();
    let from_events = format!("{:?}", collector_of(&header, &store.load(run).unwrap()).summary());
    let stored = format!("{:?}", summary_stored(store, run, &header).unwrap());
    assert!(from_events == stored, "{run}: as it is stored");
    complete(store, run).unwrap();
    assert!(store.extract::<RunExtract>(run, RunExtract::VERSION).unwrap().is_some(), "{run} has no extract");
    let kept = format!("{:?}", summary_stored(store, run, &header).unwrap());
    assert!(from_events == kept, "{run}: read from its extract");
    let judged = |stored: Stored| format!("{:?} {:?}", stored.findings, stored.judgement);
    assert_eq!(judged(Stored::read(store, run).unwrap()), judged(Stored::read_extract(store, run).unwrap()));
}

/// A page that anybody may ask for once wrote into the store: digests and extracts of runs of earlier versions.
#[test]
fn reading_a_run_of_an_earlier_version_changes_nothing_in_the_store() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("runs.sqlite");
    let releases = Path::new(env!("CARGO_MANIFEST_DIR")).join("../store/tests/data");
    std::fs::copy(releases.join("0.1.0-format-5/store.sqlite"), &path).unwrap();
    let store = Store::open(&path).unwrap();
    let looking = Store::open(&path).unwrap();
    let before = looking.writes().unwrap();
    let lacking = incomplete(&store).unwrap();
    assert!(!lacking.is_empty());
    for run in &lacking {
        read_extract_held(&store, run).unwrap();
        repetitions(&store, &[]).unwrap();
    }
    assert_eq!(looking.writes().unwrap(), before, "something was written");
    assert_eq!(incomplete(&store).unwrap(), lacking);
    for run in &lacking {
        complete(&store, run).unwrap();
    }
    assert_ne!(looking.writes().unwrap(), before, "this notices what is written");
    assert_eq!(incomplete(&store).unwrap(), [""; 0]);
}

#[test]
fn a_run_from_its_extract_is_the_run_from_its_events() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path().join("runs.sqlite")).unwrap();
    let header = stored(&store);
    check(&store, &header.run);
}

/// Null, a file, a device, a LUN, NFS, a simulated array; errors, a skipped step, one interrupted, one killed.
#[test]
fn runs_of_every_release_are_read_the_same_once_they_are_complete() {
    let releases = Path::new(env!("CARGO_MANIFEST_DIR")).join("../store/tests/data");
    let mut checked = 0;
    for release in std::fs::read_dir(releases).unwrap().map(|entry| entry.unwrap().path()) {
        if !release.is_dir() {
            continue;
        }
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("runs.sqlite");
        std::fs::copy(release.join("store.sqlite"), &path).unwrap();
        let store = Store::open(&path).unwrap();
        for row in store.runs().unwrap() {
            check(&store, &row.run);
            checked += 1;
        }
    }
    assert!(checked > 20, "{checked}");
}

#[test]
fn a_damaged_extract_is_passed_over_and_made_again_from_the_events() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("runs.sqlite");
    let store = Store::open(&path).unwrap();
    let header = stored(&store);
    check(&store, &header.run);
    let raw = rusqlite::Connection::open(&path).unwrap();
    raw.execute("UPDATE extract SET body = zeroblob(length(body))", []).unwrap();
    assert!(store.extract::<RunExtract>(&header.run, RunExtract::VERSION).unwrap().is_none());
    check(&store, &header.run);
}

/// The names of everything in a document, without numbers of lists and of steps.
fn names(value: &Value, at: &str, found: &mut BTreeSet<String>) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                let name = if name.parse::<u64>().is_ok() { "N" } else { name };
                names(value, &format!("{at}.{name}"), found);
            }
        }
        Value::Array(values) => values.iter().for_each(|value| names(value, at, found)),
        _ => drop(found.insert(at.to_owned())),
    }
}

/// An extract of an earlier form would be read with what it lacks missing. If this fails, count `RunExtract::VERSION`
/// up and put the new names here.
#[test]
fn the_form_of_an_extract_is_that_of_its_version() {
    let header = synthetic::header(synthetic::plan(PLAN));
    let mut collector = Collector::new(&header);
    synthetic::events(&header, synthetic::Target::default()).iter().for_each(|event| collector.add(event));
    let extract = serde_json::to_value(collector.extract()).unwrap();
    let mut found = BTreeSet::new();
    names(&extract, "", &mut found);
    // What a step ended with has the form of the event.
    found.retain(|name| !name.contains(".end.") && !name.contains(".stats."));
    let found: Vec<&str> = found.iter().map(String::as_str).collect();
    assert_eq!((RunExtract::VERSION, found.join("\n").as_str()), (4, NAMES));
}

const NAMES: &str = "\
    .current.step\n\
    .current.test\n\
    .last_ns\n\
    .latest.step\n\
    .latest.test\n\
    .order.step\n\
    .order.test\n\
    .outcome\n\
    .steps.drain_ns\n\
    .steps.end_ns\n\
    .steps.host.busy_max\n\
    .steps.host.busy_ns\n\
    .steps.host.disks.sdb1.bytes\n\
    .steps.host.disks.sdb1.queued_ms\n\
    .steps.host.disks.sdb1.samples\n\
    .steps.host.late_max_ns\n\
    .steps.host.late_ns\n\
    .steps.host.length_ns\n\
    .steps.host.range_ns\n\
    .steps.host.steal_ns\n\
    .steps.host.swap_bytes\n\
    .steps.host.tester_ns\n\
    .steps.jobs.N.end_ns\n\
    .steps.jobs.N.reconnects\n\
    .steps.jobs.N.start_ns\n\
    .steps.jobs.N.turns.max_ns\n\
    .steps.jobs.N.turns.sum_ns\n\
    .steps.jobs.N.turns.turns\n\
    .steps.measure_ns\n\
    .steps.samples.cpu_busy\n\
    .steps.samples.cpu_busy_max\n\
    .steps.samples.disks\n\
    .steps.samples.t_s\n\
    .steps.series.end_ns\n\
    .steps.series.seconds.N.bytes\n\
    .steps.series.seconds.N.errors\n\
    .steps.series.seconds.N.heat\n\
    .steps.series.seconds.N.ops\n\
    .steps.series.seconds.N.response\n\
    .steps.series.seconds.N.service\n\
    .steps.series.seconds.N.settled.mean\n\
    .steps.series.seconds.N.settled.p50\n\
    .steps.series.seconds.N.settled.p99\n\
    .steps.series.seconds.N.settled_response.mean\n\
    .steps.series.seconds.N.settled_response.p50\n\
    .steps.series.seconds.N.settled_response.p99\n\
    .steps.skipped\n\
    .steps.step\n\
    .steps.test\n\
    .steps.warmup_ns";
