//! Lists of a store with 10,000 runs: opening, listing, searching, and the rows of one target. Prints medians beside
//! their goals, and decides nothing: `make bench` shows them on a quiet machine.
//!
//! `ASSAY_BENCH_EVENTS_MIB` is how much of events each run has (default 0.1, so 1 GiB in all; 1 makes a store of
//! 10 GiB): no list may depend on it.
#![expect(clippy::unwrap_used, reason = "a benchmark that fails is a failed benchmark")]

use std::path::Path;
use std::time::{Duration, Instant};

use assay_record::{FigureDigest, FindingDigest, RunDigest, Severity, TestDigest};
use assay_store::{RunFilter, RunSlice, Store};
use assay_testkit::synthetic;

const RUNS: u64 = 10_000;
const TARGETS: u64 = 12;
const ROUNDS: u32 = 15;
/// Rows of a page of the list.
const PAGE: RunSlice = RunSlice { skip: 0, limit: 100 };

fn main() {
    let events_mib: f64 =
        std::env::var("ASSAY_BENCH_EVENTS_MIB").ok().and_then(|mib| mib.parse().ok()).unwrap_or(0.1);
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let path = folder.path().join("runs.sqlite");
    fill(&path, events_mib);
    let gib = std::fs::metadata(&path).unwrap().len() as f64 / f64::from(1 << 30);
    println!("{RUNS} runs in a store of {gib:.2} GiB; medians of {ROUNDS}");
    say("open", 50, || drop(Store::open(&path).unwrap()));
    let store = Store::open(&path).unwrap();
    let text = |text: &str| RunFilter { text: text.to_owned(), ..RunFilter::default() };
    let list = |filter: RunFilter, slice| store.list(&filter, slice).unwrap();
    say("list: first page", 50, || drop(list(RunFilter::default(), PAGE)));
    say("list: page 90", 50, || drop(list(RunFilter::default(), RunSlice { skip: 9000, ..PAGE })));
    say("list: every run as assay runs reads it", 50, || drop(store.runs().unwrap()));
    say("search: a common word", 100, || drop(list(text("vmware"), PAGE)));
    say("search: a rare word", 100, || drop(list(text("week 42"), PAGE)));
    say("search: two letters", 100, || drop(list(text("k7"), PAGE)));
    say("search: nothing found", 100, || drop(list(text("no such run"), PAGE)));
    let critical = RunFilter { severity: Some(Severity::Critical), ..RunFilter::default() };
    say("filter: critical findings", 100, || drop(list(critical.clone(), PAGE)));
    let one = RunFilter { on_target: Some("/srv/lun3".into()), ..RunFilter::default() };
    say("trend: every run of one target", 300, || {
        assert!(list(one.clone(), RunSlice::ALL).matching > 800);
    });
    say("poll: nothing new", 5, || drop(store.running().unwrap()));
}

/// Prints the median time of a call beside its goal, ms.
fn say(name: &str, goal_ms: u64, mut call: impl FnMut()) {
    let mut times: Vec<Duration> = (0..ROUNDS)
        .map(|_| {
            let began = Instant::now();
            call();
            began.elapsed()
        })
        .collect();
    times.sort_unstable();
    let median_ms = times[times.len() / 2].as_secs_f64() * 1e3;
    let verdict = if median_ms <= goal_ms as f64 { "" } else { "   MISSED" };
    println!("{name:<42} {median_ms:>8.2} ms   goal {goal_ms} ms{verdict}");
}

/// A year of nights on a dozen targets, written as runs are; the weight of events is put beside, where a list never
/// looks.
fn fill(path: &Path, events_mib: f64) {
    let store = Store::open(path).unwrap();
    let plan = "name = \"vmware\"\n[[test]]\nname = \"RealLife\"\nrun = \"2s\"\n\
                access = [{ size = \"8KiB\", read = 65, random = 60 }]\noutstanding = 16\n";
    let header = synthetic::header(synthetic::plan(plan));
    let events = synthetic::events(&header, synthetic::Target::default());
    let raw = rusqlite::Connection::open(path).unwrap();
    raw.execute_batch("PRAGMA synchronous = OFF").unwrap();
    for number in 0..RUNS {
        let mut header = header.clone();
        header.started_unix_ms += number * 3_600_000;
        header.run = assay_store::new_run_id(header.started_unix_ms, number.wrapping_mul(0x9_E379));
        header.targets[0].address = format!("/srv/lun{}", number % TARGETS);
        header.host.name = format!("bench{}", number % 7);
        let label = format!("week {}", number / 200);
        let mut writer = store.begin_run(&header, Some(&label), None).unwrap();
        writer.append(&events[1]).unwrap();
        writer.append(events.last().unwrap()).unwrap();
        writer.keep_digest(&digest(number)).unwrap();
        if events_mib > 0.0 {
            let body = vec![b'x'; (events_mib * 1024.0 * 1024.0) as usize];
            let weight = "INSERT INTO event (run_id, sequence, body)
                          SELECT id, 1000, ?2 FROM run WHERE run = ?1";
            raw.execute(weight, rusqlite::params![header.run, String::from_utf8(body).unwrap()]).unwrap();
        }
    }
}

fn digest(number: u64) -> RunDigest {
    let near = |level: f64| {
        let value = level * (1.0 + (number % 17) as f64 / 200.0);
        FigureDigest { value, lo: Some(value * 0.98), hi: Some(value * 1.02) }
    };
    let test = |name: &str| TestDigest {
        test: name.to_owned(),
        measured_s: 120.0,
        iops: near(20_000.0),
        mib_per_s: near(156.0),
        iops_max: Some(23_000.0),
        mib_per_s_max: Some(180.0),
        mean_us: Some(near(800.0)),
        p50_us: Some(near(700.0)),
        p99_us: Some(near(2_500.0)),
        complete: true,
        ..TestDigest::default()
    };
    let finding = |rule: &str, severity| FindingDigest { rule: rule.to_owned(), severity };
    RunDigest {
        is_diagnosis: false,
        length_s: 500.0,
        planned_steps: 4,
        tests: [
            "Max Throughput-100%Read",
            "RealLife-60%Rand-65%Read",
            "Max Throughput-50%Read",
            "Random-8k-70%Read",
        ]
        .map(test)
        .to_vec(),
        findings: match number % 10 {
            0 => vec![finding("errors", Severity::Critical), finding("outlier", Severity::Warning)],
            1..=3 => vec![finding("outlier", Severity::Warning)],
            _ => vec![finding("quick", Severity::Info)],
        },
        verdict: Some("The link is full: 112 of 117 MiB/s.".into()),
        spark: vec![0.5; RunDigest::SPARK_MAX],
    }
}
