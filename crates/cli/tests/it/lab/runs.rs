//! How paths share the load, and what becomes of a run when links and targets fail under it.

use std::process::{Child, Stdio};
use std::time::Duration;

use serde_json::Value;

use crate::story::{Story, json, printed, refused};
use assay_testkit::lab::{self, Lab};

const READS: &str = "name=\"r\"\n[[test]]\nname=\"t\"\naccess=[{size=\"32KiB\",read=100,random=0}]\noutstanding=64\n\
                     run=\"3s\"\n";
const VERIFIED: &str = "name=\"v\"\n[[test]]\nname=\"t\"\naccess=[{size=\"8KiB\",read=50,random=100}]\n\
                        outstanding=32\nrun=\"12s\"\nverify=true\n";

fn numbers(list: &Value, key: &str) -> Vec<f64> {
    list.as_array().unwrap().iter().map(|one| one[key].as_f64().unwrap_or(0.0)).collect()
}

/// Every I/O is counted once: by the test and by exactly one path.
#[track_caller]
fn counted_once(test: &Value) -> f64 {
    let ops = test["total"]["ops"].as_f64().unwrap();
    let by_path: f64 = numbers(&test["paths"], "ops").iter().sum();
    assert!(ops > 0.0 && (ops - by_path).abs() < 0.5, "{ops} counted, {by_path} by path: {test:#}");
    ops
}

#[test]
fn every_io_on_the_next_path_and_a_thousand_in_a_row_are_counted_once() {
    let Some(lab) = lab::up() else { return };
    let story = lab.story();
    let plan = story.write("reads.toml", READS);
    // By number, not by time: a slow machine has the same turns. TCP is looked at once a second, so four paths at their
    // full rate need more.
    let run = |address: &str, ops: &str| {
        json(&story.assay(&["run", &plan, address, "--set", "run=2min", "--set", ops, "--json"]), 0)
    };
    let one = run(&lab.one_path(1), "ops=15000");
    let each = run(&lab.four_paths("rr_ios=1"), "ops=75000");
    let thousand = run(&lab.four_paths("rr_ios=1000"), "ops=15000");
    let (each, thousand) = (&each["tests"][0], &thousand["tests"][0]);
    counted_once(each);
    counted_once(thousand);
    for share in numbers(&each["paths"], "ops_share") {
        assert!((share - 0.25).abs() < 0.001, "every I/O on the next path: {share}: {each:#}");
    }
    // Turns of 1000 among this many I/Os: no path has a turn more than another, and each has one.
    let ops = numbers(&thousand["paths"], "ops");
    let spread = ops.iter().copied().fold(f64::MIN, f64::max) - ops.iter().copied().fold(f64::MAX, f64::min);
    assert!(ops.iter().all(|ops| *ops > 0.0) && spread <= 1064.0, "{ops:?}: {thousand:#}");
    let rate = |test: &Value| test["total"]["mb_per_s"].as_f64().unwrap();
    let base = rate(&one["tests"][0]);
    eprintln!(
        "one path {base:.1} MB/s; four, rr_ios=1000: {:.1} (x {:.3}); rr_ios=1: {:.1} (x {:.2})",
        rate(thousand),
        rate(thousand) / base,
        rate(each),
        rate(each) / base
    );
    for tcp in each["tcp"].as_array().unwrap() {
        assert_eq!(tcp["connections_max"], 1, "{tcp:#}");
        assert!(tcp["rtt_us_min"].as_u64().unwrap() > 0 && !tcp["series"].as_array().unwrap().is_empty());
    }
    assert_eq!(each["tcp"].as_array().unwrap().len(), 4);
}

/// Starts a verified run and waits until it measures.
fn begin(lab: &Lab, story: &Story, query: &str) -> Child {
    let plan = story.write("verified.toml", VERIFIED);
    let address = lab.four_paths(query);
    let checked = json(&story.assay(&["check", &lab.one_path(1), "--json"]), 0);
    let serial = checked["serial"].as_str().unwrap();
    let args = ["run", &plan, &address, "--size", "64MiB", "--overwrite", serial, "--json"];
    let mut running = story.command(&args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    if !measures(story) {
        running.kill().unwrap();
        panic!("the run does not begin to measure: {:?}", running.wait_with_output());
    }
    running
}

/// Whether the last run begins to measure within a minute.
fn measures(story: &Story) -> bool {
    (0..600).any(|_| {
        std::thread::sleep(Duration::from_millis(100));
        let shown = story.assay(&["show", "last", "--json"]);
        let shown: Value = serde_json::from_str(&shown.out).unwrap_or_default();
        shown["tests"][0]["series"].as_array().is_some_and(|series| !series.is_empty())
    })
}

/// Seconds that had next to no I/O, or none.
fn silent_seconds(test: &Value) -> usize {
    let rates = numbers(&test["series"], "iops");
    let best = rates.iter().copied().fold(0.0, f64::max);
    12 - rates.iter().filter(|rate| **rate > best / 100.0).count().min(12)
}

#[test]
fn a_link_that_is_cut_and_restored_costs_no_io_and_no_byte() {
    let Some(lab) = lab::up() else { return };
    let story = lab.story();
    let running = begin(&lab, &story, "");
    lab.does("cut 2");
    std::thread::sleep(Duration::from_secs(6));
    lab.does("heal 2");
    let output = printed(running.wait_with_output().unwrap());
    let document = json(&output, 0);
    let test = &document["tests"][0];
    counted_once(test);
    assert_eq!((test["complete"].as_bool(), test["errors"].as_u64()), (Some(true), Some(0)), "{test:#}");
    assert_eq!(test["mismatch_count"], 0, "{test:#}");
    let failures = numbers(&test["paths"], "failures");
    assert!(failures[1] >= 1.0 && failures[0] + failures[2] + failures[3] == 0.0, "{failures:?}");
    let said = document["findings"].to_string();
    for word in [
        "path 1 has said nothing for",
        "path 1 went down: 10.77.2.2 answered nothing for",
        "(10.77.2.2) is up",
    ] {
        assert!(said.contains(word), "{word}: {said}");
    }
    eprintln!(
        "cut for 6 s: {} silent seconds of 12; I/Os by path {:?}",
        silent_seconds(test),
        numbers(&test["paths"], "ops")
    );
}

#[test]
fn a_target_that_is_killed_and_restarted_costs_no_io_and_no_byte_and_leaves_a_gap() {
    let Some(lab) = lab::up() else { return };
    let story = lab.story();
    let running = begin(&lab, &story, "no_path=30");
    lab.does("kill");
    std::thread::sleep(Duration::from_secs(3));
    lab.does("start");
    let output = printed(running.wait_with_output().unwrap());
    let document = json(&output, 0);
    let test = &document["tests"][0];
    counted_once(test);
    assert_eq!((test["complete"].as_bool(), test["errors"].as_u64()), (Some(true), Some(0)), "{test:#}");
    assert_eq!(test["mismatch_count"], 0, "{test:#}");
    assert!(silent_seconds(test) >= 1, "the time line shows the gap: {:#}", test["series"]);
    let connections: Vec<f64> = test["tcp"]
        .as_array()
        .unwrap()
        .iter()
        .flat_map(|tcp| numbers(&tcp["series"], "connections"))
        .collect();
    assert!(connections.contains(&0.0), "a second without a connection is seen: {connections:?}");
    eprintln!("killed for 3 s: {} silent seconds of 12", silent_seconds(test));
}

#[test]
fn a_second_writer_on_the_same_unit_is_refused() {
    let Some(lab) = lab::up() else { return };
    let story = lab.story();
    let mut running = begin(&lab, &story, "");
    let plan = story.write("again.toml", VERIFIED);
    let checked = json(&story.assay(&["check", &lab.one_path(1), "--json"]), 0);
    let serial = checked["serial"].as_str().unwrap();
    // Whatever path leads to it.
    let other = lab.one_path(1).replace("10.77.1.2", "10.77.3.2");
    let second = story.assay(&["run", &plan, &other, "--size", "64MiB", "--overwrite", serial]);
    refused(&second, 2, &["in use by another run of Assay on this machine"]);
    running.kill().unwrap();
    running.wait().unwrap();
    let reads = story.write("reads.toml", READS.replace("3s", "1s"));
    assert_eq!(story.assay(&["run", &reads, &other]).code, Some(0), "the lock dies with its run");
}
