//! The suites on a file: what is measured, what is printed, what is left behind.

use serde_json::Value;

use crate::story::{DONE, ProgramOutput, Story, count, is_slow_wanted, near, number, rules, tests};

const LATENCIES: [&str; 9] = ["mean", "min", "p50", "p90", "p95", "p99", "p99_9", "p99_99", "max"];

fn forum(story: &Story, suite: &str, more: &[&str]) -> ProgramOutput {
    let mut args = vec!["run", suite, "t.dat", "--size", "64MiB", "--set", "warmup=0s"];
    if !more.iter().any(|word| word.starts_with("run=")) {
        args.extend(["--set", "run=1s"]);
    }
    args.extend(more);
    story.assay(&args).ends(DONE)
}

fn keys(value: &Value) -> Vec<&str> {
    value.as_object().unwrap().keys().map(String::as_str).collect()
}

fn check_ops(ops: &Value, seconds: f64) {
    assert_eq!(keys(ops), ["ops", "iops", "mib_per_s", "mb_per_s", "service_us", "response_us"]);
    // The window is printed to the millisecond, so half of one is lost.
    near("ops", number(ops, "/iops") * seconds, number(ops, "/ops"), 0.000_6 / seconds + 1e-3);
    near("MB and MiB", number(ops, "/mb_per_s") * 1e6, number(ops, "/mib_per_s") * 1_048_576.0, 1e-3);
    for latency in [&ops["service_us"], &ops["response_us"]] {
        assert_eq!(keys(latency), LATENCIES);
        if count(ops, "/ops") == 0 {
            assert!(LATENCIES.iter().all(|name| latency[name].is_null()), "{latency}");
            continue;
        }
        let ascending: Vec<f64> = ["min", "p50", "p90", "p95", "p99", "p99_9", "p99_99", "max"]
            .iter()
            .map(|name| latency[name].as_f64().unwrap())
            .collect();
        assert!(ascending.is_sorted(), "{latency}");
        let mean = number(latency, "/mean");
        assert!(ascending[0] <= mean && mean <= ascending[7], "{latency}");
    }
}

/// What must hold in every closed test, however fast the storage is.
fn check_test(test: &Value) {
    let seconds = number(test, "/seconds");
    let (total, read, write) = (&test["total"], &test["read"], &test["write"]);
    for ops in [total, read, write] {
        check_ops(ops, seconds);
    }
    for what in ["/ops", "/iops", "/mib_per_s", "/mb_per_s"] {
        near(what, number(read, what) + number(write, what), number(total, what), 1e-3);
    }
    assert_eq!(total["service_us"], total["response_us"], "in a closed loop an I/O is due when it is issued");
    let outstanding = number(test, "/outstanding_effective");
    near("outstanding", number(total, "/iops") * number(total, "/service_us/mean") / 1e6, outstanding, 2e-3);
    assert!(outstanding > 0.0 && outstanding <= number(test, "/outstanding_asked") + 1e-3, "{outstanding}");
    let (busy, per_io) = (number(test, "/cpu/host_busy_ratio"), number(test, "/cpu/tester_us_per_io"));
    assert!((0.0..=1.0).contains(&busy) && per_io > 0.0, "{busy} {per_io}");
    let points = test["series"].as_array().unwrap();
    assert!(seconds < 1.0 || points.iter().map(|p| number(p, "/iops")).sum::<f64>() > 0.0, "{test:#}");
}

#[test]
fn the_forum_suite_prints_one_document_with_four_tests_whose_numbers_agree() {
    let story = Story::new();
    let reported = forum(&story, "vmware", &["--json"]);
    let document = reported.json();
    assert_eq!(document["schema"], "assay.run/1");
    for key in ["run", "plan", "host", "tests", "findings"] {
        assert!(!document[key].is_null(), "{key}");
    }
    assert_eq!(tests(&document).len(), 4);
    for (test, (name, size, read)) in tests(&document).iter().zip([
        ("Max Throughput-100%Read", 32.0, 1.0),
        ("RealLife-60%Rand-65%Read", 8.0, 0.65),
        ("Max Throughput-50%Read", 32.0, 0.5),
        ("Random-8k-70%Read", 8.0, 0.7),
    ]) {
        assert_eq!(test["name"], name);
        assert_eq!((count(test, "/errors"), count(test, "/outstanding_asked")), (0, 64));
        check_test(test);
        let total = &test["total"];
        near(name, number(total, "/mib_per_s"), number(total, "/iops") * size / 1024.0, 1e-3);
        let (reads, all) = (number(test, "/read/ops"), number(total, "/ops"));
        // Six standard deviations of a binomial draw.
        assert!((reads - all * read).abs() <= 6.0 * (all * read * (1.0 - read)).sqrt(), "{reads} of {all}");
        assert!(count(test, "/jobs/0/reconnects") >= count(total, "/ops") / 500 - 1);
    }
    assert!(rules(&document).contains(&"rereads-start"), "{:?}", rules(&document));
}

#[test]
fn the_file_is_written_without_holes_and_used_again() {
    let story = Story::new();
    let first =
        forum(&story, "vmware", &["--json", "--only", "Random-8k"]).says(&["filled t.dat: 64.00 MiB"]);
    let member = &first.json()["targets"][0]["member"];
    assert_eq!((&member["content"], &member["unwritten_bytes"]), (&"prepared".into(), &0.into()));
    let content = story.read("t.dat");
    assert_eq!(content.len(), 64 << 20);
    let zeros = content.chunks(4096).filter(|block| block.iter().all(|byte| *byte == 0)).count();
    assert_eq!(zeros, 0, "every block holds data");
    let second = forum(&story, "vmware", &["--json", "--only", "100%Read"]);
    assert_eq!(second.json()["targets"][0]["member"]["content"], "reused");
    assert!(!second.err.contains("filled"), "{}", second.err);
    assert!(content == story.read("t.dat"), "a test that only reads changes nothing");
}

#[test]
fn a_larger_size_fills_only_what_is_missing() {
    let story = Story::new();
    let read = ["--set", "run=100ms", "--set", "read=100", "--only", "Random", "--json"];
    forum(&story, "vmware", &read);
    let before = story.read("t.dat");
    let mut larger = read.to_vec();
    larger.extend(["--size", "80MiB"]);
    let args = ["run", "vmware", "t.dat"].iter().chain(&larger).copied().collect::<Vec<_>>();
    let reported = story.assay(&args).ends(DONE);
    assert_eq!(reported.json()["targets"][0]["member"]["content"], "prepared");
    let after = story.read("t.dat");
    assert_eq!(after.len(), 80 << 20);
    assert!(after[..before.len()] == before, "what was there stays");
    assert!(after[before.len()..].chunks(4096).all(|block| block.iter().any(|byte| *byte != 0)));
}

#[test]
fn remove_takes_away_what_assay_made_and_nothing_else() {
    let story = Story::new();
    forum(&story, "vmware", &["--only", "100%Read", "--remove"]);
    assert_eq!(story.files(), Vec::<String>::new());
    story.write("t.dat", vec![7; 1 << 20]);
    let args = ["run", "vmware", "t.dat", "--size", "1MiB", "--set", "run=100ms", "--remove"];
    let read = [&args[..], &["--only", "100%Read"]].concat();
    story.assay(&read).ends(DONE).says(&["kept t.dat: Assay did not create it"]);
    assert!(story.read("t.dat").iter().all(|byte| *byte == 7));
    let overwrite = [&args[..], &["--overwrite", "t.dat"]].concat();
    story.assay(&overwrite).ends(DONE).says(&["kept t.dat: Assay did not create it"]);
    assert_eq!(story.files(), ["t.dat"]);
}

#[test]
fn a_directory_gets_a_test_file_inside() {
    let story = Story::new();
    std::fs::create_dir(story.path("nas")).unwrap();
    let args = ["run", "vmware", "nas", "--size", "1MiB", "--set", "run=100ms"];
    story.assay(&args).ends(DONE);
    assert_eq!(std::fs::metadata(story.path("nas/assay.dat")).unwrap().len(), 1 << 20);
    story.assay(&[&args[..], &["--remove"]].concat()).ends(DONE);
    assert_eq!(std::fs::read_dir(story.path("nas")).unwrap().count(), 0);
}

#[test]
fn the_table_is_the_forum_s_with_its_notes() {
    let story = Story::new();
    let reported = forum(&story, "vmware", &["--set", "run=200ms", "--label", "before"]);
    assert!(reported.err.contains("assay show"), "{}", reported.err);
    let header = reported.out.lines().find(|line| line.starts_with("Test ")).unwrap();
    let columns = ["MiB/s", "IOPS", "Avg", "Max", "p50", "p99", "p99.9", "Outst.", "CPU %"];
    let found: Vec<usize> = columns.iter().map(|c| header.find(&format!(" {c}")).unwrap()).collect();
    assert!(found.is_sorted(), "{header}");
    // Which two warnings it names depends on what disturbs this host; all of them are explained.
    reported.says(&["RealLife-60%Rand-65%Read", "WARNING", "LIMIT", "NEXT"]);
    story.assay(&["show", "before"]).ends(DONE).says(&["RealLife-60%Rand-65%Read"]);
    let explained = story.assay(&["show", "before", "--explain"]).ends(DONE);
    explained.says(&["MiB/s is 2^20 bytes", "[rereads-start]", "The position returns to the start"]);
}

#[test]
fn quick_shortens_every_step_and_says_so() {
    let story = Story::new();
    let args = ["run", "anandtech", "null:", "--quick", "--only", "Random Write", "--json"];
    let document = story.assay(&args).ends(DONE).json();
    assert_eq!(document["plan"]["quick"], true);
    let seconds = number(&document, "/tests/0/seconds");
    assert!((2.5..30.0).contains(&seconds), "one minute over 24: {seconds}");
    assert!(rules(&document).contains(&"quick"));
}

#[test]
fn the_modern_suite_keeps_the_queue_full() {
    let story = Story::new();
    let document = forum(&story, "vmware-modern", &["--json", "--only", "Random-8k"]).json();
    check_test(&document["tests"][0]);
    assert_eq!(count(&document, "/tests/0/jobs/0/reconnects"), 0);
    // Nothing drains the queue here but a host that refills it late: the finding says what the numbers say.
    let effective = number(&document, "/tests/0/outstanding_effective") / 64.0;
    assert_eq!(rules(&document).contains(&"drained-queue"), effective < 0.97, "{effective}");
    assert!(effective > 0.5, "a queue that is not drained by reconnects is at least half full: {effective}");
    if !is_slow_wanted() {
        return;
    }
    let document = forum(&story, "vmware-modern", &["--json", "--set", "run=10s"]).json();
    for test in tests(&document) {
        check_test(test);
        // Filling buffers takes time in which a slot is empty, and more of it without full optimisation.
        // A host whose CPUs others use refills late too, and a finding says so.
        let is_disturbed =
            ["busy-host", "steal", "late-timers"].iter().any(|id| rules(&document).contains(id));
        let least = match (is_disturbed, cfg!(debug_assertions)) {
            (true, _) => 32.0,
            (false, true) => 58.0,
            (false, false) => 63.5,
        };
        assert!(number(test, "/outstanding_effective") >= least, "{test:#}");
    }
}

#[test]
fn block_sizes_are_swept_and_drawn_in_one_file_without_script() {
    let story = Story::new();
    let args = ["run", "super-atto", "t.dat", "--size", "64MiB", "--set", "run=100ms", "--set", "warmup=0s"];
    story.assay(&[&args[..], &["-o", "r.html"]].concat()).ends(DONE).says(&["report written to r.html"]);
    let shown = story.assay(&["show", "last", "--json"]).ends(DONE).json();
    assert_eq!(tests(&shown).len(), 30);
    let mut sizes = Vec::new();
    for test in tests(&shown).iter().filter(|test| test["skipped"].is_null()) {
        check_test(test);
        let is_read = test["name"] == "Sequential read";
        assert_eq!(count(test, if is_read { "/write/ops" } else { "/read/ops" }), 0);
        sizes.push(test["step"].as_str().unwrap());
    }
    assert!(sizes.contains(&"size=4KiB") && sizes.contains(&"size=8MiB"), "{sizes:?}");
    let page = String::from_utf8(story.read("r.html")).unwrap();
    for words in ["Throughput by block size", "Sequential read", "Sequential write", "MiB/s"] {
        assert!(page.contains(words), "{words}");
    }
    // The best size of reads and of writes has a star, unless the host disturbed every step of its series.
    let (stars, disturbed) = (page.matches(">★</text>").count(), page.matches(">!</text>").count());
    assert_eq!(stars, page.matches(" is best at ").count(), "each star is named");
    let of_series = sizes.len() / 2;
    assert!(disturbed <= sizes.len(), "{disturbed} of {}", sizes.len());
    assert!(
        stars + disturbed / of_series.max(1) >= 2 && stars <= 2,
        "{stars} stars, {disturbed} of {} steps disturbed",
        sizes.len()
    );
    assert!(page.matches("<svg").count() >= 3);
    check_self_contained(&page);
    story.assay(&["report", "last", "-o", "again.html"]).ends(DONE);
    assert_eq!(page, String::from_utf8(story.read("again.html")).unwrap(), "the stored run says the same");
}

#[test]
fn the_report_of_a_short_run_has_bars_and_the_distribution_and_no_lines_of_few_points() {
    let story = Story::new();
    forum(&story, "vmware", &["--only", "RealLife", "-o", "r.html", "--set", "run=2s"]);
    let page = String::from_utf8(story.read("r.html")).unwrap();
    check_self_contained(&page);
    for chart in ["IOPS", "MiB/s", "p99 latency", "Latency distribution"] {
        assert!(page.contains(&format!("role=\"img\" aria-label=\"{chart}")), "{chart}");
    }
    assert_eq!(page.matches("<svg").count(), 4);
    for words in ["RealLife-60%Rand-65%Read", "IOPS", "p99.9", "Seed"] {
        assert!(page.contains(words), "{words}");
    }
}

fn check_self_contained(page: &str) {
    for forbidden in ["<script", "<link", "http://", "https://", " src=", "@import", "url(", "NaN"] {
        assert!(!page.contains(forbidden), "{forbidden}");
    }
}
