//! `assay diagnose`: experiments on a load, stored as a run.

use std::os::unix::fs::MetadataExt as _;

use assay_testkit::loop_device::LoopDevice;
use serde_json::Value;

use crate::story::{DONE, INTERRUPTED, Story};

fn odds(document: &Value) -> Vec<f64> {
    let odds = document["diagnosis"]["odds"].as_array().unwrap();
    odds.iter().map(|one| one["probability"].as_f64().unwrap()).collect()
}

#[test]
fn a_diagnosis_is_a_stored_run_whose_steps_are_experiments() {
    let story = Story::new();
    let said =
        story.assay(&["diagnose", "null:", "--budget", "10s", "--json", "-o", "d.html"]).ends(DONE).json();
    assert_eq!((&said["schema"], &said["status"]), (&"assay.diagnosis/1".into(), &"done".into()));
    let odds = odds(&said);
    assert!((odds.iter().sum::<f64>() - 1.0).abs() < 1e-6, "{odds:?}");
    assert!(odds.is_sorted_by(|a, b| a >= b) && !said["diagnosis"]["rows"].as_array().unwrap().is_empty());
    let html = String::from_utf8(story.read("d.html")).unwrap();
    assert!(html.contains("<h2>Diagnosis</h2>") && html.contains("Odds after each experiment"));

    // What is stored gives the same diagnosis again, and its steps are there one by one.
    let shown = story.assay(&["show", "last", "--json"]).ends(DONE).json();
    assert_eq!(shown["diagnosis"], said["diagnosis"]);
    let series = said["diagnosis"]["series"].as_array().unwrap().len();
    assert_eq!(shown["tests"].as_array().unwrap().len(), series);
    assert_eq!(shown["tests"][0]["name"], "the load itself");
    story.assay(&["show"]).ends(DONE).says(&["CAUSE:", "FIX:"]);
    let whole = story.assay(&["show", "--explain"]).ends(DONE);
    whole.says(&["CAUSE:", "Odds after each of", "expected if A"]);
}

#[test]
fn a_diagnosis_that_is_stopped_says_what_is_known_by_then() {
    let story = Story::new();
    let mut running = story.start(&["diagnose", "null:", "--budget", "2min", "--json"]);
    story.wait_for(|run| run["tests"].as_array().is_some_and(|tests| tests.len() >= 2));
    running.signal("INT");
    let end = running.end();
    assert_eq!(end.code, Some(INTERRUPTED), "{}", end.err);
    let said: Value = serde_json::from_str(&end.out).unwrap();
    assert_eq!(said["status"], "interrupted");
    assert!(
        !odds(&said).is_empty() && said["diagnosis"]["says"].as_str().is_some_and(|says| !says.is_empty())
    );
}

#[test]
fn reading_only_never_writes_a_byte() {
    let story = Story::new();
    story.assay(&["diagnose", "absent.dat", "--read-only"]).refused(&["this only reads", "absent.dat"]);
    story.assay(&["diagnose", "null:", "--read-only", "--set", "read=0"]).refused(&["the load writes"]);
    assert!(story.files().is_empty(), "{:?}", story.files());
    let Some(mut device) = LoopDevice::new() else { return };
    let path = device.text();
    device.run(&["mkfs.ext4", "-q", &path], &[]);
    let before = std::fs::read(&path).unwrap();
    story.assay(&["diagnose", &path, "--read-only", "--budget", "10s"]).ends(DONE).says(&["CAUSE:"]);
    // Without the switch a device is only read too, as long as the load reads.
    story.assay(&["diagnose", &path, "--budget", "10s"]).ends(DONE);
    assert!(std::fs::read(&path).unwrap() == before, "the device was written to");
    story.assay(&["diagnose", &path, "--set", "read=0"]).refused(&["ext4"]);
}

#[test]
fn reading_only_leaves_a_file_of_assays_own_as_it_is() {
    let story = Story::new();
    story
        .write("write.toml", "[[test]]\nname = \"w\"\nops = 100\naccess = [{ size = \"4KiB\", read = 0 }]\n");
    story.assay(&["run", "write.toml", "t.dat", "--size", "64MiB"]).ends(DONE);
    // A mark is an attribute of the file, so that writing one changes the time of its last change (ctime) as well.
    let state = || {
        let found = std::fs::metadata(story.path("t.dat")).unwrap();
        (found.len(), found.mtime(), found.mtime_nsec(), found.ctime(), found.ctime_nsec())
    };
    let (before, bytes) = (state(), story.read("t.dat"));
    story.assay(&["diagnose", "t.dat", "--read-only", "--budget", "10s"]).ends(DONE).says(&["CAUSE:"]);
    story.assay(&["diagnose", "t.dat", "--read-only", "--size", "128MiB"]).refused(&["64MiB", "128MiB"]);
    assert!(state() == before && story.read("t.dat") == bytes, "the file was touched");
}

#[test]
fn a_load_with_a_rate_of_its_own_is_let_go() {
    let story = Story::new();
    let plan = "[[test]]\nname = \"paced\"\noutstanding = 4\npace = { rate = 200 }\naccess = [{ size = \"4KiB\" }]\n";
    story.write("paced.toml", plan);
    let said = story.assay(&["diagnose", "null:", "paced.toml", "--budget", "10s", "--json"]).ends(DONE);
    assert!(
        said.err.split_whitespace().collect::<Vec<_>>().join(" ").contains("runs it without that rate"),
        "{}",
        said.err
    );
    assert!(said.json()["diagnosis"]["iops"].as_f64().unwrap() > 1000.0);
}

#[test]
fn a_load_is_one_test_of_a_plan() {
    let story = Story::new();
    story.assay(&["diagnose", "null:", "vmware"]).refused(&["this plan has 4", "--test"]);
    story
        .assay(&["diagnose", "null:", "--test", "Max Throughput-100%Raed"])
        .refused(&["no suite has a test"]);
    story.assay(&["diagnose", "null:", "--test", "sequential"]).refused(&["several tests", "name one of"]);
    story.assay(&["diagnose", "null:", "--budget", "1s"]).refused(&["--budget"]);
    let said =
        story.assay(&["diagnose", "null:", "vmware", "--test", "Max Throughput-100%Read", "--budget", "10s"]);
    said.ends(DONE).says(&["CAUSE:", "Max Throughput-100%Read"]);
}
