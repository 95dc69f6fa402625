//! The pages Targets, Predict and Diagnose, and /metrics.

use assay_record::{FigureDigest, RunDigest, TestDigest};
use assay_store::{Baseline, BaselineOf, Checked, KeptMap, Store};
use assay_testkit::synthetic;

use crate::served::{Reach, Served};

const TARGET: &str = "/srv/trend.dat";
const PLAN: &str = "name = \"nightly\"\n[[test]]\nname = \"random <b>\"\nrun = \"2s\"\n\
    access = [{ size = \"4KiB\", read = 100, random = 100 }]\noutstanding = 1\n";
/// The first run after the change.
const CHANGED: usize = 23;

fn id(night: usize) -> String {
    let letters = b"23456789abcdefghijkmnpqrstuvwxyz";
    let letter = |place: usize| char::from(letters[(night >> (5 * place)) & 31]);
    format!("261001-tr{}{}", letter(1), letter(0))
}

/// Forty nights; from one on 15 % less, with another kernel.
fn forty_nights(served: &Served) {
    let store = served.store();
    (0..40).for_each(|number| night(&store, number, ""));
}

/// A night's run, of which the command line changed this.
fn night(store: &Store, night: usize, changed: &str) {
    let kernel = if night < CHANGED { "6.18.1" } else { "6.19.0" };
    night_with(store, night, changed, kernel);
}

fn night_with(store: &Store, night: usize, changed: &str, kernel: &str) {
    let mut header = synthetic::header(synthetic::plan(PLAN));
    header.run = id(night);
    header.targets[0].address = TARGET.to_owned();
    header.started_unix_ms += 86_400_000 * night as u64;
    let level = if night < CHANGED { 1.0 } else { 0.85 };
    header.host.kernel = kernel.to_owned();
    // A scatter of some per cent that is the same in every test.
    let scatter = 1.0 + ((night * 7919 + 13) % 41) as f64 / 1000.0 - 0.02;
    let value = 20_000.0 * level * scatter;
    let figure = |value: f64| FigureDigest { value, lo: Some(value * 0.99), hi: Some(value * 1.01) };
    let test = TestDigest {
        test: "random <b>".to_owned(),
        measured_s: 2.0,
        iops: figure(value),
        mib_per_s: figure(value / 256.0),
        iops_max: Some(value * 1.2),
        p99_us: Some(figure(4e7 / value)),
        complete: true,
        ..TestDigest::default()
    };
    let changed = changed.to_owned();
    let digest = RunDigest { changed, tests: vec![test], spark: vec![0.5, 1.0], ..RunDigest::default() };
    let mut writer = store.begin_run(&header, Some("nightly"), None).unwrap();
    let events = synthetic::events(&header, synthetic::Target::default());
    events.iter().for_each(|event| writer.append(event).unwrap());
    writer.keep_digest(&digest).unwrap();
}

#[test]
fn the_card_of_a_target_marks_the_run_of_a_planted_change_and_says_what_changed_with_it() {
    let served = Served::start(Reach::Loopback);
    forty_nights(&served);
    let store = served.store();
    store
        .set_checked(&Checked {
            address: TARGET.into(),
            checked_unix_ms: 1_795_231_800_000,
            body: "{\"path_faults\":[{\"says\":\"MTU <1500>.\",\"next\":\"Look.\"}],\"filesystem\":\
                   {\"size_bytes\":1000,\"free_bytes\":250}}"
                .into(),
        })
        .unwrap();
    let of = BaselineOf::Run(id(3));
    let baseline =
        Baseline { address: TARGET.into(), plan: "nightly".into(), of, set_unix_ms: 1_795_231_800_000 };
    store.set_baseline(&baseline).unwrap();
    for path in ["/targets".to_owned(), format!("/targets?target={TARGET}")] {
        let answer = served.get(&path, &[]);
        assert_eq!(answer.status, 200, "{}", answer.body);
        let changes = answer.body.matches("<li><strong>IOPS fell by").count();
        assert_eq!(changes, 1, "{path}: {}", answer.body);
        let marked = format!(" % from run <a href=\"/runs/{0}\">{0}</a> on</strong>", id(CHANGED));
        assert!(answer.body.contains(&marked), "{marked}");
        assert!(answer.body.contains("host.kernel from 6.18.1 to 6.19.0"), "{}", answer.body);
        for words in ["MTU &lt;1500&gt;. Look.", "75 %", "Baseline of nightly", "random &lt;b&gt;", "1 fault"]
        {
            assert!(answer.body.contains(words), "{path}: {words}");
        }
        assert!(!answer.body.contains("random <b>") && !answer.body.contains("<1500>"), "escaped");
    }
    assert_eq!(served.get("/targets?target=/etc/passwd", &[]).status, 404);
    // A status table first, and parts of the time by address.
    let all = served.get("/targets", &[]).body;
    let (table, cards) = all.split_once("<article").unwrap();
    assert!(
        table.contains("✖ faults found") && table.contains("▼ p99 +17") && cards.contains("<svg"),
        "{table}"
    );
    let month = served.get(&format!("/targets?target={TARGET}&range=30d"), &[]).body;
    assert!(month.contains("31 of 40 runs are drawn; all are searched for changes."), "{month}");
    assert!(month.contains(&id(CHANGED)) && month.contains("class=\"baseline\""), "{month}");
}

/// The page of the target named a note; its card, the page of a part of the time, and a note on a run of another plan
/// gave "The records of both runs show no other change: look at the storage itself."
#[test]
fn a_change_names_what_was_noted_since_the_run_before_it_wherever_it_is_shown() {
    let served = Served::start(Reach::Loopback);
    let store = served.store();
    (0..60).for_each(|number| night_with(&store, number, "", "6.18.1"));
    let mut other = synthetic::header(synthetic::plan(&PLAN.replace("nightly", "weekly")));
    other.run = id(99);
    other.targets[0].address = TARGET.to_owned();
    other.started_unix_ms += 86_400_000 * CHANGED as u64 - 3_600_000;
    let writer = store.begin_run(&other, None, Some("firmware <6.2>.")).unwrap();
    writer.keep_digest(&RunDigest::default()).unwrap();
    drop(writer);
    for (path, says) in [
        ("/targets".to_owned(), "Since the run before it: firmware &lt;6.2&gt;.</li>"),
        (format!("/targets?target={TARGET}"), "Since the run before it: 1, firmware &lt;6.2&gt;.</li>"),
        (
            format!("/targets?target={TARGET}&range=30d"),
            "Since the run before it: firmware &lt;6.2&gt;.</li>",
        ),
    ] {
        let body = served.get(&path, &[]).body;
        assert!(body.contains(says), "{path}: {body}");
        assert!(!body.contains("show no other change"), "{path}: {body}");
    }
}

/// The ratio is no column of the store: it is of the digests of a run and of its baseline.
#[test]
fn the_list_is_sorted_by_the_ratio_to_the_baseline_the_lowest_first() {
    let served = Served::start(Reach::Loopback);
    forty_nights(&served);
    let of = BaselineOf::Run(id(3));
    let baseline = Baseline { address: TARGET.into(), plan: "nightly".into(), of, set_unix_ms: 1 };
    served.store().set_baseline(&baseline).unwrap();
    let listed = |query: &str| -> Vec<String> {
        let page = served.get(&format!("/runs?sort=baseline{query}"), &[]).body;
        let runs = page.split("name=\"r\" value=\"").skip(1).map(|rest| rest.split('"').next().unwrap());
        runs.map(str::to_owned).collect()
    };
    let store = served.store();
    let iops = |run: &String| store.digest(run).unwrap().unwrap().tests[0].iops.value;
    let all = listed("");
    let (sorted, others) = all.split_at(39);
    assert!(sorted.iter().map(iops).is_sorted() && iops(&sorted[0]) < iops(&sorted[38]), "{sorted:?}");
    assert!(others.contains(&id(3)) && others.contains(&crate::served::RUN.to_owned()), "{others:?}");
    assert_eq!(all.len(), store.count().unwrap());
    assert_eq!(listed(&format!("&q={}", sorted[5])), sorted[5..6]);
    // An order that was kept is made again when a run in it changes.
    let best = &sorted[38];
    let mut slow = store.digest(best).unwrap().unwrap();
    slow.tests[0].iops.value /= 100.0;
    store.set_digest(best, &slow).unwrap();
    assert_eq!(listed("&again=yes")[0], *best);
}

/// Runs with another load were drawn as ordinary points.
#[test]
fn runs_of_other_loads_are_hollow_and_behind_a_toggle() {
    let served = Served::start(Reach::Loopback);
    forty_nights(&served);
    let store = served.store();
    let mut header = synthetic::header(synthetic::plan(PLAN));
    header.run = id(99);
    header.targets[0].address = TARGET.to_owned();
    let test = TestDigest {
        test: "random <b>".to_owned(),
        iops: FigureDigest { value: 900.0, ..FigureDigest::default() },
        complete: true,
        ..TestDigest::default()
    };
    let changed = "outstanding=1".to_owned();
    let writer = store.begin_run(&header, None, None).unwrap();
    writer.keep_digest(&RunDigest { changed, tests: vec![test], ..RunDigest::default() }).unwrap();
    drop(writer);
    let page = |query: &str| served.get(&format!("/targets?target={TARGET}{query}"), &[]).body;
    let (without, with) = (page(""), page("&others=yes"));
    assert!(without.contains("1 run of this test with another load is not drawn"), "{without}");
    assert_eq!(without.matches("<g class=\"other\">").count(), 0);
    assert_eq!(with.matches("<g class=\"other\">").count(), 1, "{with}");
    assert!(with.contains("with outstanding=1"), "{with}");
}

#[test]
fn metrics_have_the_last_value_of_each_test_and_the_baseline() {
    let served = Served::start(Reach::Loopback);
    forty_nights(&served);
    let of = BaselineOf::Run(id(3));
    let baseline =
        Baseline { address: TARGET.into(), plan: "nightly".into(), of, set_unix_ms: 1_795_231_800_000 };
    served.store().set_baseline(&baseline).unwrap();
    // What is compared with the baseline was measured with other settings, and is a series of its own.
    night(&served.store(), 40, "--quick");
    let answer = served.get("/metrics", &[]);
    assert_eq!(answer.status, 200, "{}", answer.body);
    assert_eq!(
        answer.header("content-type"),
        Some("application/openmetrics-text; version=1.0.0; charset=utf-8")
    );
    assert!(answer.body.ends_with("# EOF\n"), "{}", answer.body);
    let labels = "target=\"/srv/trend.dat\",plan=\"nightly\",test=\"random <b>\",step=\"\"";
    let quick = "depth=\"\",cached=\"\",quick=\"yes\",path=\"\",set=\"--quick\"";
    let how = "depth=\"\",cached=\"\",quick=\"no\",path=\"\",set=\"\"";
    for name in ["assay_io_rate_per_second", "assay_latency_p99_seconds", "assay_last_run_timestamp_seconds"]
    {
        let series = format!("{name}{{{labels},{how}}}");
        assert_eq!(answer.body.matches(&series).count(), 1, "{name}: {}", answer.body);
    }
    assert!(
        answer.body.contains(&format!("assay_baseline_ratio{{{labels},figure=\"iops\",{quick}}} ")),
        "{}",
        answer.body
    );
    assert!(answer.body.contains("assay_stored_runs{status=\"done\"} 4"), "{}", answer.body);
    // What is remembered of the targets says the same.
    assert_eq!(served.get("/metrics?again", &[]).body, answer.body);
}

#[test]
fn a_prediction_follows_its_sliders_and_works_as_a_form() {
    let served = Served::start(Reach::Loopback);
    let page = served.get("/predict", &[]).body;
    assert!(
        page.contains("type=\"range\" name=\"disks\"") && page.contains("<noscript><button>Predict"),
        "{page}"
    );
    assert!(page.contains("Limited by") && page.contains("<meter"), "{page}");
    let part = |query: &str| served.get(&format!("/predict/part?{query}"), &[]);
    assert!(page.contains("Simulated, on the first 4 GiB"), "{page}");
    let rested = part("array=nas-4bay&plan=vmware&simulated=yes").body;
    assert_eq!(part("array=nas-4bay&plan=vmware&simulated=yes&again=yes").body, rested, "remembered");
    assert!(part("array=hdd-7200&plan=vmware&simulated=yes").body != rested, "of another array");
    let moved = part("array=nas-4bay&plan=vmware").body;
    let p99 = |body: &str| body.matches("–</td>").count();
    assert_eq!((p99(&rested), p99(&moved)), (0, 4), "p99 is known where it was simulated: {rested}");
    let beside = part("array=nas-4bay&plan=oltp-66-33&simulated=yes").body;
    assert!(!beside.contains("side by side left out"), "{beside}");
    assert!(part("array=nas-4bay&plan=oltp-66-33").body.contains("side by side left out"));
    let few = part("array=hdd-7200&plan=vmware&disks=2&level=0").body;
    let many = part("array=hdd-7200&plan=vmware&disks=16&level=0").body;
    assert!(few.contains("raid.disks=2") && many.contains("raid.disks=16"), "{few}");
    assert_ne!(few.split("Limited by").nth(1), many.split("Limited by").nth(1), "the answer moves");
    let impossible = part("array=nas-4bay&disks=2&level=6");
    assert!(impossible.status == 200 && impossible.body.contains("class=\"banner\""), "{}", impossible.body);
    let evil = part("array=nas-4bay&level=%3Cscript%3E&plan=vmware").body;
    assert!(!evil.contains("<script>"), "{evil}");
    assert_eq!(part("array=../../etc/passwd").status, 404);
    let unknown = part("array=nas-4bay&plan=%3Cb%3Enone").body;
    assert!(unknown.contains("no suite is called &lt;b&gt;none"), "{unknown}");
}

/// The key of a remembered prediction was glued from what was typed: the banner of a suite that does not exist stood
/// where the prediction of another address belonged. And while a run went on, what was known was not shown.
#[test]
fn a_known_prediction_is_that_of_its_question_and_is_shown_while_a_run_goes_on() {
    let served = Served::start(Reach::Loopback);
    let part =
        |query: &str| served.get(&format!("/predict/part?simulated=y&array=nas-4bay&{query}"), &[]).body;
    let unknown = part("plan=vmware%20raid.disks%3D6&cache=1GiB");
    assert!(unknown.contains("no suite is called"), "{unknown}");
    let known = part("plan=vmware&disks=6&cache=1GiB");
    assert!(known.contains("Simulated, on the first") && known.contains("raid.disks=6"), "{known}");
    let mut header = synthetic::header(synthetic::plan(PLAN));
    header.run = id(98);
    let store = served.store();
    let running = store.begin_run(&header, None, None).unwrap();
    assert_eq!(part("disks=6%20&cache=1GiB"), known, "the same question in other words");
    let other = part("plan=vmware&disks=5&cache=1GiB");
    assert!(other.contains("without p99: a run goes on"), "{other}");
    drop(running);
}

#[test]
fn a_target_is_predicted_with_its_own_array() {
    let served = Served::start(Reach::Loopback);
    forty_nights(&served);
    let (_, text) = assay_model::array::shipped::FILES.iter().find(|(name, _)| *name == "x4500").unwrap();
    served.store().set_target_array(TARGET, Some(text)).unwrap();
    let page = served.get(&format!("/predict?of={TARGET}"), &[]).body;
    assert!(page.contains(&format!("value=\"{TARGET}\" selected")), "{page}");
    let card = served.get(&format!("/targets?target={TARGET}"), &[]).body;
    assert!(card.contains(&format!("/predict?of={TARGET}")), "{card}");
}

#[test]
fn diagnoses_are_listed_and_other_runs_are_none() {
    let served = Served::start(Reach::Loopback);
    let page = served.get("/diagnose", &[]);
    assert!(page.status == 200 && page.body.contains("No diagnosis is stored yet"), "{}", page.body);
    let other = served.get(&format!("/diagnose?run={}", crate::served::RUN), &[]);
    assert_eq!(other.status, 404, "{}", other.body);
    assert_eq!(served.get("/diagnose?run=../x", &[]).status, 404);
}

/// Two runs of two loads were "✔ as before", although no change can be found in fewer than ten of one.
#[test]
fn few_runs_are_no_proof_that_nothing_changed() {
    let served = Served::start(Reach::Loopback);
    let page = served.get("/targets", &[]).body;
    assert!(page.contains("too few runs to tell") && page.contains("needs ten runs of one load"), "{page}");
    assert!(!page.contains("as before"), "{page}");
}

/// A map of four places, of which the last one takes so many µs.
fn map_of(made_unix_ms: u64, last_us: u64) -> KeptMap {
    let cell = |at: u64| {
        let us = if at == 3 { last_us } else { 100 };
        let log_mean = (us as f64 * 1e3).ln();
        let mut histogram = vec![0; 24];
        histogram[if us > 500 { 9 } else { 6 }] = 50;
        serde_json::json!({
            "from_bytes": at << 20, "to_bytes": (at + 1) << 20, "reads": 50, "zeros": 0, "failed": 0,
            "median_ns": us * 1000, "p95_ns": us * 2000, "log_mean": log_mean, "log_error": 0.01,
            "mib_per_s": 100.0, "histogram": histogram,
        })
    };
    let body = serde_json::json!({
        "schema": "assay.map/1", "target": TARGET, "size_bytes": 4 << 20, "made_unix_ms": made_unix_ms,
        "order": "random", "seconds": 1.0, "reads": 200, "read_bytes": 819_200,
        "cells": (0..4).map(cell).collect::<Vec<_>>(), "findings": [],
    });
    KeptMap { address: TARGET.to_owned(), made_unix_ms, body: body.to_string() }
}

/// The server had no page of maps: they were files alone.
#[test]
fn maps_of_a_target_are_drawn_and_compared_with_the_one_before() {
    let served = Served::start(Reach::Loopback);
    let store = served.store();
    let month = 30 * 86_400_000;
    let first = 1_795_231_800_000;
    for map in [map_of(first, 100), map_of(first + month, 800)] {
        assert!(store.add_map(&map).unwrap());
        assert!(!store.add_map(&map).unwrap(), "the same map once");
    }
    let target = served.get(&format!("/targets?target={TARGET}"), &[]);
    assert!(target.body.contains("2 maps, the newest"), "{}", target.body);
    let newest = served.get(&format!("/map?target={TARGET}"), &[]);
    assert_eq!(newest.status, 200, "{}", newest.body);
    assert!(newest.body.contains("SLOWER: 3 MiB to 4 MiB takes 8.00 times as long"), "{}", newest.body);
    assert!(newest.body.contains("<title>3 MiB to 4 MiB: 50 reads, median 0.80 ms"), "{}", newest.body);
    let older = served.get(&format!("/map?target={TARGET}&made={first}"), &[]);
    assert!(older.status == 200 && !older.body.contains("SLOWER"), "{}", older.body);
    for none in ["/map", "/map?target=/etc/passwd", &format!("/map?target={TARGET}&made=1")] {
        assert_eq!(served.get(none, &[]).status, 404, "{none}");
    }
    let last = first + 2 * month;
    store.add_map(&KeptMap { body: "{}".to_owned(), ..map_of(last, 1) }).unwrap();
    let later = served.get(&format!("/map?target={TARGET}&made={last}"), &[]);
    assert!(later.body.contains("a later version of Assay"), "{}", later.body);
}
