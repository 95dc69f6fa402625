//! Choices that a result must show, and what the other verbs print.

use assay_spec::suites::suite;
use assay_spec::{Overrides, PlanFile};

use crate::story::{DONE, Story, count, number, rules};

const RUN: [&str; 9] =
    ["run", "vmware", "t.dat", "--size", "1MiB", "--set", "run=100ms", "--only", "RealLife"];

#[test]
fn psync_works_and_is_recorded() {
    let story = Story::new();
    let document = story.assay(&[&RUN[..], &["--io", "psync", "--json"]].concat()).ends(DONE).json();
    assert_eq!(document["targets"][0]["member"]["engine"], "psync");
    assert!(count(&document, "/tests/0/read/ops") > 0 && count(&document, "/tests/0/write/ops") > 0);
    assert!(number(&document, "/tests/0/outstanding_effective") <= 64.001);
}

#[test]
fn cached_and_sync_show_in_the_document_and_in_the_notes() {
    let story = Story::new();
    let member = |more: &[&str]| {
        let document = story.assay(&[&RUN[..], more, &["--json"]].concat()).ends(DONE).json();
        let fired: Vec<String> = rules(&document).into_iter().map(str::to_owned).collect();
        (document["targets"][0]["member"].clone(), fired)
    };
    let has = |fired: &[String], rule: &str| fired.iter().any(|f| f == rule);
    let (plain, fired) = member(&[]);
    assert_eq!((&plain["direct"], &plain["sync"]), (&true.into(), &false.into()));
    assert!(!has(&fired, "cached") && !has(&fired, "sync"), "{fired:?}");
    let (cached, fired) = member(&["--cached"]);
    assert_eq!(cached["direct"], false);
    assert!(has(&fired, "cached"), "{fired:?}");
    story.assay(&["show", "--explain"]).ends(DONE).says(&["went through this host's page cache"]);
    let (sync, fired) = member(&["--sync"]);
    assert_eq!(sync["sync"], true);
    assert!(has(&fired, "sync"), "{fired:?}");
    story.assay(&["show", "--explain"]).ends(DONE).says(&["waited until it was durable (--sync)"]);
}

#[test]
fn a_file_system_without_direct_io_names_the_choice() {
    let story = Story::new();
    let args = ["run", "vmware", "/proc/version", "--only", "100%Read", "--set", "run=100ms"];
    let reported = story.assay(&args);
    assert_eq!(reported.code, Some(2), "{reported:?}");
}

#[test]
fn a_suite_that_is_printed_reads_back_as_the_same_plan() {
    let story = Story::new();
    let suites = story.assay(&["suites", "--json"]).ends(DONE).json();
    let names: Vec<&str> = suites.as_array().unwrap().iter().map(|s| s["suite"].as_str().unwrap()).collect();
    for expected in ["vmware", "vmware-modern", "super-atto", "anandtech"] {
        assert!(names.contains(&expected), "{names:?}");
    }
    let check = |name: &str| {
        let story = Story::new();
        let shown = story.assay(&["suites", "show", name]).ends(DONE);
        assert!(shown.out.contains("source = "), "{name} says where its numbers come from");
        story.write("plan.toml", &shown.out);
        if shown.out.contains("hosts = [") {
            // One host alone cannot run it.
            story.assay(&["run", "plan.toml", "null:"]).refused(&["--hosts"]);
            return;
        }
        let meant = |origin: &str, text: &str| {
            PlanFile::parse(origin, text).and_then(|file| file.resolve(&Overrides::default())).unwrap()
        };
        assert_eq!(meant("plan.toml", &shown.out), meant(name, suite(name).unwrap().text), "{name}");
        let plan = |plan: &str| {
            let mut args = vec!["run", plan, "null:", "--set", "ops=10", "--set", "warmup=0s", "--json"];
            if shown.out.contains("steady = {") {
                // Without it a target that costs nothing takes all 25 rounds of 56 steps.
                args.push("--quick");
            }
            story.assay(&args).ends(DONE).json()["plan"].clone()
        };
        // Every suite runs; that a file runs as its suite does is shown by one.
        let ran = plan(name);
        if name == "vmware" {
            assert_eq!(plan("plan.toml"), ran);
        }
    };
    // The plans wait more than they work: side by side they take as long as the longest.
    std::thread::scope(|threads| {
        for name in names {
            threads.spawn(move || check(name));
        }
    });
    story.assay(&["suites"]).ends(DONE).says(&["vmware", "super-atto", "min"]);
}

#[test]
fn check_says_what_a_file_lies_on() {
    let story = Story::new();
    story.write("t.dat", vec![7; 8192]);
    let one = story.assay(&["check", "t.dat", "--json"]).ends(DONE).json();
    for key in ["serial", "wwid", "size_bytes", "filesystem", "holds", "writable"] {
        assert!(one.get(key).is_some(), "{key} in {one:#}");
    }
    assert_eq!(count(&one, "/size_bytes"), 8192);
    let two = story.assay(&["check", "t.dat", ".", "--json"]).ends(DONE).json();
    assert_eq!((two[0]["kind"].as_str(), two[1]["kind"].as_str()), (Some("file"), Some("directory")));
    story.assay(&["check", "t.dat"]).ends(DONE).says(&[
        "t.dat (file)",
        "8 KiB",
        "file system",
        "read only, unless --overwrite t.dat",
    ]);
    story.assay(&["run", "vmware", "own.dat", "--size", "1MiB", "--set", "ops=10"]).ends(DONE);
    story.assay(&["check", "own.dat"]).ends(DONE).says(&["Assay, which may write to it"]);
}

#[test]
fn overhead_tells_what_assay_itself_costs_at_three_depths() {
    let story = Story::new();
    let document = story.assay(&["overhead", "--run", "200ms", "--json"]).ends(DONE).json();
    let depths = document["depths"].as_array().unwrap();
    let asked: Vec<u64> = depths.iter().map(|depth| count(depth, "/outstanding")).collect();
    assert_eq!(asked, [1, 32, 128]);
    for depth in depths {
        let product = number(depth, "/ns_per_io") * number(depth, "/iops_per_core");
        assert!((product / 1e9 - 1.0).abs() < 1e-6 && number(depth, "/ns_per_io") > 0.0, "{depth}");
    }
    story.assay(&["overhead", "--run", "100ms"]).ends(DONE).says(&["ns per I/O", "IOPS per core"]);
    assert!(!story.path("store.sqlite").exists(), "it is no run");
}

#[test]
fn a_report_that_cannot_be_written_is_reported_before_the_run() {
    let story = Story::new();
    std::fs::create_dir(story.path("folder")).unwrap();
    for (path, words) in
        [("missing/r.html", "there is no directory missing"), ("folder", "it is a directory")]
    {
        let args = [&RUN[..], &["-o", path]].concat();
        story.assay(&args).refused(&["cannot write to", path, words]);
        assert_eq!(story.files(), ["folder"]);
    }
}

#[test]
fn a_report_goes_to_standard_output_too() {
    let story = Story::new();
    story.assay(&["run", "vmware", "null:", "--set", "ops=10"]).ends(DONE);
    let page = story.assay(&["report", "-o", "-"]).ends(DONE);
    assert!(page.out.starts_with("<!DOCTYPE html>") && page.out.trim_end().ends_with("</html>"));
    let both = story.assay(&["run", "vmware", "null:", "--set", "ops=10", "-o", "-"]).ends(DONE);
    assert!(both.out.starts_with("<!DOCTYPE html>") && both.out.trim_end().ends_with("</html>"));
    assert!(both.err.contains("MiB/s"), "the table: {}", both.err);
    story.assay(&["run", "vmware", "null:", "-o", "-", "--json"]).refused(&["both print to standard output"]);
    story.assay(&["report", "-o", "missing/r.html"]).refused(&["cannot write to missing/r.html"]);
}

#[test]
fn the_help_tells_the_exit_codes() {
    let story = Story::new();
    story.assay(&["run", "--help"]).ends(DONE).says(&[
        "0 done, 1 begun and something failed, 2 refused and nothing touched, 130 stopped by a signal",
    ]);
    story.assay(&["--version"]).ends(DONE).says(&["assay"]);
    assert_eq!(story.assay(&["--no-such-option"]).code, Some(2));
}

#[test]
fn words_that_cannot_mean_anything_are_refused() {
    let story = Story::new();
    let refused = |args: &[&str], words: &[&str]| {
        story.assay(&[&["run", "vmware", "null:"], args].concat()).refused(words);
    };
    refused(&["--only", ""], &["--only <NAME>"]);
    refused(&["--seed", "9223372036854775808"], &["--seed", "9223372036854775807"]);
    for label in ["last", " last", "last~2"] {
        refused(&["--label", label], &["choose another label"]);
    }
    story.assay(&["run", "vmware", "null:", "--set", "ops=10", "--label", "lasting"]).ends(DONE);
    story.assay(&["label", "lasting", "last"]).refused(&["choose another label"]);
}

#[test]
fn where_nothing_can_move_each_step_is_reported_when_it_is_done() {
    let story = Story::new();
    let reported = story
        .assay(&["run", "vmware", "t.dat", "--size", "1MiB", "--only", "Max", "--set", "run=200ms"])
        .ends(DONE);
    let lines: Vec<&str> = reported.err.lines().collect();
    assert_eq!(lines[0], "filling t.dat: 1.00 MiB", "{}", reported.err);
    assert!(lines[1].starts_with("filled t.dat: 1.00 MiB in "), "{}", reported.err);
    assert_eq!(lines[2], "2 steps, about 1 s", "{}", reported.err);
    for (line, begins) in
        lines[3..].iter().zip(["1/2 Max Throughput-100%Read: ", "2/2 Max Throughput-50%Read: "])
    {
        let rate = line.strip_prefix(begins).and_then(|rest| rest.split_once(" IOPS, "));
        assert!(
            rate.is_some_and(|(iops, _)| iops.replace(',', "").parse::<f64>().is_ok_and(|n| n > 0.0)),
            "{}",
            reported.err
        );
    }
}
