//! What other programs read: OpenMetrics by the parser of Prometheus' own client, and the files in contrib/.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use assay_interop::results::openmetrics::{
    BaselineFigure, CheckedTarget, LastValue, LiveStep, Served, Settings, StoredRuns, served, served_names,
};
use assay_record::{FigureDigest, HostDigest, TestDigest};
use assay_testkit::need;
use serde_json::Value;

use crate::story::{DONE, Story};

/// Reads OpenMetrics and prints its families as JSON.
const PARSER: &str = "
import json, sys
from prometheus_client.openmetrics.parser import text_string_to_metric_families as families
text = sys.stdin.buffer.read().decode('utf-8')
print(json.dumps([{'name': f.name, 'type': f.type, 'unit': f.unit, 'help': f.documentation,
    'samples': [{'name': s.name, 'labels': s.labels, 'value': s.value} for s in f.samples]}
    for f in families(text)]))
";

/// Returns the families that the parser finds; `None` where it is not installed.
fn parsed(text: &str) -> Option<Value> {
    // The system's own Python has the Debian package.
    let python = || Command::new("/usr/bin/python3");
    let has = python().args(["-c", "import prometheus_client"]).output();
    let is_there = has.is_ok_and(|output| output.status.success());
    need::or_skip("the parser", if is_there { Ok(()) } else { Err("scripts/need.sh prometheus-client") })?;
    let mut child = python()
        .args(["-c", PARSER])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{}\n{text}", String::from_utf8_lossy(&output.stderr));
    Some(serde_json::from_slice(&output.stdout).unwrap())
}

fn sample<'f>(families: &'f Value, name: &str) -> &'f Value {
    let family = families.as_array().unwrap().iter().find(|family| family["name"] == name);
    &family.unwrap_or_else(|| panic!("no family {name}"))["samples"][0]
}

#[test]
fn the_parser_of_prometheus_reads_every_family_and_gets_hostile_labels_back_unchanged() {
    let evil = "a\"b\\c\nd{e}#,=é\u{1b}[31m";
    let figure = FigureDigest { value: 1000.5, lo: Some(990.0), hi: Some(1010.0) };
    let test = TestDigest {
        test: evil.to_owned(),
        measured_s: 120.0,
        iops: figure,
        mib_per_s: FigureDigest { value: 2.0, lo: None, hi: None },
        iops_max: Some(f64::INFINITY),
        p99_us: Some(figure),
        complete: true,
        // Of a run over two hosts, each on a target of its own.
        hosts: [("a", 700.0, 1.5), ("esx1", 300.5, 0.5)]
            .map(|(name, iops, mib_per_s)| HostDigest { name: name.to_owned(), iops, mib_per_s })
            .to_vec(),
        ..TestDigest::default()
    };
    let settings = Settings {
        changed: "--quick",
        is_quick: true,
        depth: 64,
        cached: Some(false),
        path: "uring".to_owned(),
    };
    let last_on = |target| LastValue {
        targets: 1,
        target,
        plan: "vmware",
        settings: settings.clone(),
        started_unix_ms: 1_795_231_800_000,
        test: &test,
    };
    let text = served(&Served {
        last: [evil, "esx1:/mnt/t.dat"].map(last_on).to_vec(),
        live: vec![LiveStep {
            run: "261121-k7f2",
            target: "/dev/sdb",
            plan: "p",
            test: "t",
            step: "",
            iops: 7.0,
            mib_per_s: 1.0,
            p50_us: None,
            p99_us: Some(250.0),
            errors: 0,
        }],
        checked: vec![CheckedTarget {
            target: "/dev/sdb",
            checked_unix_ms: 1_795_231_800_000,
            faults: 2,
            size_bytes: Some(1 << 40),
            free_bytes: None,
        }],
        baselines: vec![BaselineFigure {
            target: "/dev/sdb",
            plan: "p",
            test: "t",
            step: "",
            settings: settings.clone(),
            figure: "p99",
            ratio: FigureDigest { value: 1.2, lo: Some(1.1), hi: None },
            is_worse: true,
        }],
        stored: vec![StoredRuns { status: "done", count: 3 }],
    });
    let Some(families) = parsed(&text) else { return };
    let last = sample(&families, "assay_io_rate_per_second");
    assert_eq!(last["value"], 1000.5);
    assert_eq!(last["labels"]["target"], evil.replace('\u{1b}', "\u{fffd}"));
    let held = sample(&families, "assay_baseline_ratio");
    for (name, value) in [("depth", "64"), ("cached", "no"), ("quick", "yes"), ("path", "uring")] {
        assert_eq!((&last["labels"][name], &held["labels"][name]), (&value.into(), &value.into()));
    }
    let of_host = sample(&families, "assay_host_io_rate_per_second");
    assert_eq!((&of_host["value"], &of_host["labels"]["host"]), (&300.5.into(), &"esx1".into()));
    assert_eq!(of_host["labels"]["target"], "esx1:/mnt/t.dat");
    assert_eq!(sample(&families, "assay_host_throughput_bytes_per_second")["value"], 524_288.0);
    assert_eq!(sample(&families, "assay_throughput_bytes_per_second")["value"], 2_097_152.0);
    assert_eq!(sample(&families, "assay_latency_p99_seconds")["value"], 1000.5 / 1e6);
    assert_eq!(sample(&families, "assay_last_run_timestamp_seconds")["value"], 1_795_231_800.0);
    assert_eq!(sample(&families, "assay_live_latency_p99_seconds")["value"], 250.0 / 1e6);
    assert_eq!(sample(&families, "assay_baseline_worse")["value"], 1.0);
    assert_eq!(sample(&families, "assay_stored_runs")["labels"]["status"], "done");
    assert!(sample(&families, "assay_io_rate_peak_per_second").is_null(), "not finite, so no sample");
    let names: Vec<&str> =
        families.as_array().unwrap().iter().map(|family| family["name"].as_str().unwrap()).collect();
    assert_eq!(names, served_names());
    for family in families.as_array().unwrap() {
        assert!(!family["help"].as_str().unwrap().is_empty(), "{family}");
    }
}

#[test]
fn an_exported_run_is_read_by_the_same_parser() {
    let story = Story::new();
    story.assay(&["run", "vmware", "null:", "--set", "ops=100"]).ends(DONE);
    let text = story.assay(&["export", "last", "--format", "openmetrics"]).ends(DONE).out;
    let Some(families) = parsed(&text) else { return };
    let latency = families.as_array().unwrap().iter().find(|f| f["name"] == "assay_latency_seconds");
    assert_eq!(latency.unwrap()["type"], "summary");
}

fn contrib(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../contrib").join(path)
}

#[test]
fn the_dashboard_draws_only_metrics_that_are_exported() {
    let text = std::fs::read_to_string(contrib("grafana/assay.json")).unwrap();
    let dashboard: Value = serde_json::from_str(&text).unwrap();
    let panels = dashboard["panels"].as_array().unwrap();
    assert!(panels.len() >= 8);
    let exported = served_names();
    let mut used = 0;
    for word in text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_') {
        if word.starts_with("assay_") {
            assert!(exported.contains(&word), "{word} is not exported");
            used += 1;
        }
    }
    assert!(used > 12, "{used} names");
    let mut ids: Vec<i64> = panels.iter().map(|panel| panel["id"].as_i64().unwrap()).collect();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), panels.len(), "ids are unique");
    for panel in panels {
        let has_expression = |target: &Value| target["expr"].as_str().is_some_and(|e| e.contains("assay_"));
        assert!(panel["targets"].as_array().unwrap().iter().all(has_expression), "{panel}");
    }
}

/// The units name /usr/bin/assay, which is not installed where tests run.
#[test]
fn systemd_takes_the_units() {
    if !need::programs(&["systemd-analyze"]) {
        return;
    }
    let story = Story::new();
    let units = [
        "assay-nightly.service",
        "assay-nightly.timer",
        "assay-alarm@.service",
        "assay-serve.service",
        "assay-agent.service",
    ];
    for unit in units {
        let text = std::fs::read_to_string(contrib("systemd").join(unit)).unwrap();
        story.write(unit, text.replace("/usr/bin/assay", env!("CARGO_BIN_EXE_assay")));
    }
    let paths: Vec<PathBuf> = units.iter().map(|unit| story.path(unit)).collect();
    let output = Command::new("systemd-analyze")
        .args(["verify", "--man=no", "--recursive-errors=no"])
        .args(&paths)
        .output()
        .unwrap();
    let says = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{says}");
    let ours: Vec<&str> = says.lines().filter(|line| line.contains("assay-")).collect();
    assert!(ours.is_empty(), "{ours:?}");
}

/// What the service runs is a command line that Assay takes, with the words of the example of its configuration.
#[test]
fn the_nightly_command_is_one_that_assay_takes() {
    let conf = std::fs::read_to_string(contrib("systemd/nightly.conf")).unwrap();
    let unit = std::fs::read_to_string(contrib("systemd/assay-nightly.service")).unwrap();
    let set = |name: &str| {
        let line = conf.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix('='));
        line.unwrap().trim_matches('"').to_owned()
    };
    let command = unit.lines().find_map(|line| line.strip_prefix("ExecStart=/usr/bin/assay ")).unwrap();
    let words: Vec<String> = command
        .split(' ')
        .flat_map(|word| match word {
            "${PLAN}" => vec![set("PLAN")],
            // There is no such folder here.
            "${TARGET}" => vec!["null:".to_owned()],
            "${FAIL_IF}" => vec![set("FAIL_IF")],
            "$OPTIONS" => set("OPTIONS").split(' ').map(str::to_owned).collect(),
            word => vec![word.to_owned()],
        })
        .collect();
    let story = Story::new();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    // It gets as far as the baseline, which nobody has set.
    story.assay(&words).refused(&["baseline of", "none is set"]);
}
