//! Results that the tools themselves write here, not samples: fio, dd, iostat.

use std::process::Command;

use assay_testkit::need;
use serde_json::Value;

use crate::story::{DONE, Story, number};

/// Runs a tool in the folder of a story and returns what it printed, both streams in one.
fn printed(story: &Story, line: &str) -> String {
    let ran = Command::new("sh").args(["-c", &format!("{line} 2>&1")]).current_dir(story.path("")).output();
    let ran = ran.expect("there is a shell");
    let text = String::from_utf8_lossy(&ran.stdout).into_owned();
    assert!(ran.status.success(), "{line}: {text}");
    text
}

/// Everything that fio prints of times of completion, and what it counts.
fn figures(document: &Value) -> Vec<Value> {
    let sides = ["read", "write", "trim"].iter().flat_map(|side| {
        let part = &document["jobs"][0][side];
        let times = &part["clat_ns"];
        [
            &part["total_ios"], &part["io_bytes"], &times["N"], &times["min"], &times["max"],
            &times["percentile"], &times["bins"],
        ]
    });
    let sync = &document["jobs"][0]["sync"];
    sides
        .chain([&sync["total_ios"], &sync["lat_ns"]["percentile"], &sync["lat_ns"]["bins"]])
        .cloned()
        .collect()
}

#[test]
fn results_of_fio_come_back_with_every_bucket_and_percentile() {
    if !need::programs(&["fio"]) {
        return;
    }
    let story = Story::new();
    for (name, options) in [
        ("mixed", "--rw=randrw --bs=4k --fsync=32 --number_ios=4000"),
        // fio trims devices only; its engine that does nothing takes any file.
        ("trims", "--ioengine=null --rw=randtrim --bs=64k --number_ios=200"),
    ] {
        let line = format!(
            "fio --name={name} --filename=t.dat --size=16m {options} --output-format=json+ --output={name}.json"
        );
        printed(&story, &line);
        let theirs: Value = serde_json::from_slice(&story.read(&format!("{name}.json"))).unwrap();
        story.assay(&["import", &format!("{name}.json"), "--label", name]).ends(DONE);
        let ours = story.assay(&["export", name, "--format", "fio-json"]).ends(DONE).json();
        for (ours, theirs) in figures(&ours).into_iter().zip(figures(&theirs)) {
            assert_eq!(ours, theirs, "{name}");
        }
        let shown = story.assay(&["show", name, "--json"]).ends(DONE).json();
        let changed = &theirs["jobs"][0][if name == "trims" { "trim" } else { "write" }]["total_ios"];
        assert_eq!(number(&shown, "/tests/0/write/ops"), changed.as_f64().unwrap(), "{name}");
    }
}

#[test]
fn what_dd_prints_is_its_bytes_and_its_time() {
    let story = Story::new();
    let text = printed(&story, "dd if=/dev/zero of=t.dat bs=64k count=64");
    // A log has the command; what dd prints by itself does not say which way it went.
    story.write("dd.txt", format!("$ dd if=/dev/zero of=t.dat bs=64k count=64\n{text}"));
    story.assay(&["import", "dd.txt"]).ends(DONE);
    let shown = story.assay(&["show", "last", "--json"]).ends(DONE).json();
    assert_eq!(number(&shown, "/tests/0/write/ops"), 64.0, "{text}");
    let kib = number(&shown, "/tests/0/total/mib_per_s") / number(&shown, "/tests/0/total/iops") * 1024.0;
    assert!((kib - 64.0).abs() < 0.1, "{kib}: {text}");
}

#[test]
fn what_iostat_prints_is_a_series_for_each_device() {
    if !need::programs(&["iostat"]) {
        return;
    }
    let story = Story::new();
    let forms = [
        ("plain", "iostat -x 1 3"),
        ("timed", "iostat -xtk 1 3"),
        ("mib", "LC_ALL=C iostat -xmty 1 2"),
        ("units", "iostat -xh 1 2"),
        ("short", "iostat -xs 1 2"),
        ("sums", "iostat 1 2"),
    ];
    for (name, line) in forms {
        let text = printed(&story, line);
        story.write("iostat.txt", format!("$ {line}\n{text}"));
        story.assay(&["import", "iostat.txt", "--label", name]).ends(DONE);
        let shown = story.assay(&["show", name, "--json"]).ends(DONE).json();
        let devices = text.lines().filter(|line| line.contains("vda") || line.contains("sda")).count();
        assert!(devices == 0 || shown["tests"].as_array().is_some_and(|rows| !rows.is_empty()), "{text}");
    }
}
