//! Lists: filters, search, digests, and what is new since the last look.

use std::cell::RefCell;
use std::path::Path;
use std::time::{Duration, Instant};

use assay_record::{
    Event, FigureDigest, FindingDigest, Outcome, RunDigest, RunEvent, RunHeader, Severity, TestDigest,
};
use assay_store::{
    Baseline, BaselineOf, Checked, KeptMap, MAPS_MAX, Namesake, Overview, RunFilter, RunOrder, RunSlice,
    RunState, Store, TargetVersion, WholeEvents, WholeRun,
};
use assay_testkit::synthetic;

use crate::{Begun, RUN, begin, header, write};

pub(crate) fn digest(test: &str, iops: f64, findings: &[(&str, Severity)]) -> RunDigest {
    let finding =
        |(rule, severity): &(&str, Severity)| FindingDigest { rule: (*rule).to_owned(), severity: *severity };
    RunDigest {
        length_s: 12.5,
        planned_steps: 1,
        tests: vec![TestDigest {
            test: test.to_owned(),
            iops: FigureDigest { value: iops, lo: Some(iops * 0.9), hi: Some(iops * 1.1) },
            complete: true,
            ..TestDigest::default()
        }],
        findings: findings.iter().map(finding).collect(),
        verdict: Some("The link is full: 112 of 117 MiB/s.".into()),
        spark: vec![0.5, 1.0],
        ..RunDigest::default()
    }
}

fn on(run: &str, target: &str, host: &str, started_unix_ms: u64) -> RunHeader {
    let mut header = header(run);
    header.targets[0].address = target.to_owned();
    header.host.name = host.to_owned();
    header.started_unix_ms = started_unix_ms;
    header
}

/// Three runs on two targets.
fn three(folder: &Path) -> Store {
    let store = Store::open(folder.join("runs.sqlite")).unwrap();
    write(&store, &on("261119-aaaa", "/srv/t.dat", "bench1", 1_000), Some("before 50%"));
    write(
        &store,
        &on("261120-bbbb", "iscsi://nas/iqn.2001-05.com.equallogic:vmware/0", "bench2", 2_000),
        None,
    );
    write(&store, &on("261121-cccc", "/srv/t.dat", "bench1", 3_000), Some("after"));
    store.set_note("261121-cccc", Some("Größe \"neu\" OR NEAR(")).unwrap();
    let warning = [("outlier", Severity::Warning), ("quick", Severity::Info)];
    store.set_digest("261119-aaaa", &digest("Max Throughput-100%Read", 100.0, &warning)).unwrap();
    store.set_digest("261120-bbbb", &digest("RealLife", 200.0, &[("errors", Severity::Critical)])).unwrap();
    store
}

fn found(store: &Store, filter: &RunFilter) -> Vec<String> {
    let page = store.list(filter, RunSlice::ALL).unwrap();
    assert_eq!(page.matching, page.runs.len());
    page.runs.into_iter().map(|run| run.row.run[7..].to_owned()).collect()
}

#[test]
fn every_filter_finds_its_runs_the_newest_first() {
    let folder = tempfile::tempdir().unwrap();
    let store = three(folder.path());
    let check = |expected: &[&str], filter: RunFilter| {
        assert_eq!(found(&store, &filter), expected, "{filter:?}");
    };
    let none = RunFilter::default;
    let text = |text: &str| Some(text.to_owned());
    check(&["cccc", "bbbb", "aaaa"], none());
    check(&["cccc", "aaaa"], RunFilter { target: text("T.DAT"), ..none() });
    check(&["cccc", "aaaa"], RunFilter { on_target: text("/srv/t.dat"), ..none() });
    check(&[], RunFilter { on_target: text("t.dat"), ..none() });
    check(&["aaaa"], RunFilter { label: text("50%"), ..none() });
    check(&[], RunFilter { label: text("5_%"), ..none() });
    check(&["aaaa"], RunFilter { on_label: text("before 50%"), ..none() });
    check(&[], RunFilter { on_label: text("before"), ..none() });
    check(&["bbbb"], RunFilter { host: text("bench2"), ..none() });
    check(&["cccc", "bbbb", "aaaa"], RunFilter { plan: text("mix"), ..none() });
    check(&["cccc", "bbbb"], RunFilter { since_unix_ms: Some(2_000), ..none() });
    check(&["aaaa"], RunFilter { until_unix_ms: Some(2_000), ..none() });
    check(&["bbbb"], RunFilter { severity: Some(Severity::Critical), ..none() });
    check(&["bbbb", "aaaa"], RunFilter { severity: Some(Severity::Warning), ..none() });
    check(&["aaaa"], RunFilter { rule: text("outlier"), ..none() });
    check(&["cccc", "bbbb", "aaaa"], RunFilter { state: Some(RunState::Ended(Outcome::Done)), ..none() });
    check(&[], RunFilter { state: Some(RunState::Running), ..none() });
}

/// All runs were read for it, which takes a second of a hundred thousand.
/// A clock that was set back while a step of a journal was measured made four steps of two: one, two, one, two.
#[test]
fn runs_are_in_the_order_in_which_they_were_kept_though_the_clock_was_set_back() {
    let folder = tempfile::tempdir().unwrap();
    let store = three(folder.path());
    write(&store, &on("261118-dddd", "/srv/t.dat", "bench1", 500), None);
    assert_eq!(found(&store, &RunFilter::default()), ["cccc", "bbbb", "aaaa", "dddd"]);
    assert_eq!(store.as_kept().unwrap(), ["261119-aaaa", "261120-bbbb", "261121-cccc", "261118-dddd"]);
}

#[test]
fn a_name_is_looked_up_among_the_runs_that_it_may_stand_for() {
    let folder = tempfile::tempdir().unwrap();
    let store = three(folder.path());
    for (name, run) in [
        ("before 50%", "261119-aaaa"),
        ("after", "261121-cccc"),
        ("bbbb", "261120-bbbb"),
        ("261121-c", "261121-cccc"),
        ("last~1", "261120-bbbb"),
    ] {
        assert_eq!(store.find(name).unwrap(), run, "{name}");
    }
    // What a part of an id stands for is said in its case, and none is a pattern.
    for name in ["BBBB", "2611%", "261121_cccc", "0-bb", ""] {
        let says = store.find(name).unwrap_err().to_string();
        assert!(says.contains("no run is called") && says.contains("261121-cccc (after)"), "{name}: {says}");
    }
    let several = store.find("2611").unwrap_err().to_string();
    assert!(several.contains("matches several runs") && several.contains("261119-aaaa"), "{several}");
}

#[test]
fn a_search_finds_parts_of_words_wherever_they_are_and_is_never_a_syntax_error() {
    let folder = tempfile::tempdir().unwrap();
    let store = three(folder.path());
    for (text, expected) in [
        ("equallogic", &["bbbb"][..]),
        ("LOGIC bench2", &["bbbb"]),
        ("logic bench1", &[]),
        ("t.dat 21", &["cccc"]),
        ("throughput", &["aaaa"]),
        ("outlier", &["aaaa"]),
        ("112 of 117", &["bbbb", "aaaa"]),
        ("größe", &["cccc"]),
        ("\"neu\" NEAR( OR", &["cccc"]),
        ("%", &["aaaa"]),
        ("_", &[]),
        ("* AND", &[]),
        ("throug\0hput", &["aaaa"]),
        ("  ", &["cccc", "bbbb", "aaaa"]),
    ] {
        let filter = RunFilter { text: text.to_owned(), ..RunFilter::default() };
        assert_eq!(found(&store, &filter), expected, "{text}");
    }
    for word in ["t ", "t.dat "] {
        let filter = RunFilter { text: word.repeat(2000), ..RunFilter::default() };
        assert!(
            found(&store, &filter).contains(&"cccc".to_owned()),
            "more words than SQLite takes conditions"
        );
    }
    store.set_label("261120-bbbb", Some("Zürich")).unwrap();
    let filter = || RunFilter { text: "zürich".into(), ..RunFilter::default() };
    assert_eq!(found(&store, &filter()), ["bbbb"], "the text follows the label");
    store.remove("261120-bbbb").unwrap();
    assert_eq!(found(&store, &filter()), [""; 0], "and the run");
}

#[test]
fn a_page_of_a_list_has_its_runs_and_the_number_of_all() {
    let folder = tempfile::tempdir().unwrap();
    let store = three(folder.path());
    let page = store.list(&RunFilter::default(), RunSlice { skip: 1, limit: 1 }).unwrap();
    assert_eq!((page.matching, page.runs.len()), (3, 1));
    assert_eq!(page.runs[0].row.run, "261120-bbbb");
    assert_eq!(page.runs[0].row.host.as_deref(), Some("bench2"));
    assert_eq!(page.runs[0].digest.as_ref().unwrap().tests[0].iops.value, 200.0);
}

#[test]
fn runs_are_sorted_by_what_limits_them_and_by_places_that_are_given() {
    let folder = tempfile::tempdir().unwrap();
    let store = three(folder.path());
    let verdict = |says: &str| RunDigest { verdict: Some(says.into()), ..digest("RealLife", 1.0, &[]) };
    store.set_digest("261119-aaaa", &verdict("The disks are busy.")).unwrap();
    let sorted = |order, slice| -> Vec<String> {
        let page = store.list_by(&RunFilter::default(), slice, order).unwrap();
        assert_eq!(page.matching, 3);
        page.runs.into_iter().map(|run| run.row.run[7..].to_owned()).collect()
    };
    assert_eq!(sorted(RunOrder::Limit, RunSlice::ALL), ["aaaa", "bbbb", "cccc"], "without a digest last");
    let first = ["261119-aaaa".to_owned(), "261121-cccc".to_owned(), "261101-gone".to_owned()];
    assert_eq!(sorted(RunOrder::First(&first), RunSlice::ALL), ["aaaa", "cccc", "bbbb"]);
    let second = RunSlice { skip: 1, limit: 1 };
    assert_eq!(sorted(RunOrder::First(&first), second), ["cccc"]);
    assert_eq!(sorted(RunOrder::First(&[]), RunSlice::ALL), ["cccc", "bbbb", "aaaa"]);
    // What is no JSON any more is a digest that is made again, and no reason to list nothing.
    let raw = rusqlite::Connection::open(folder.path().join("runs.sqlite")).unwrap();
    raw.execute("UPDATE digest SET body = '{' WHERE body LIKE '%disks%'", []).unwrap();
    assert_eq!(sorted(RunOrder::Limit, RunSlice::ALL), ["aaaa", "bbbb", "cccc"]);
}

#[test]
fn runs_are_sorted_by_the_p99_of_their_first_test_whatever_its_name() {
    let folder = tempfile::tempdir().unwrap();
    let store = three(folder.path());
    let figure = |value| Some(FigureDigest { value, lo: None, hi: None });
    let with = |name: &str, first: Option<f64>, second: f64| {
        let mut of = digest(name, 1.0, &[]);
        of.tests[0].p99_us = first.and_then(figure);
        let second = TestDigest { p99_us: figure(second), ..of.tests[0].clone() };
        of.tests.push(second);
        of
    };
    let sorted = || -> Vec<String> {
        let page = store.list_by(&RunFilter::default(), RunSlice::ALL, RunOrder::P99).unwrap();
        page.runs.into_iter().map(|run| run.row.run).collect()
    };
    // The name has the words that the figure is found by, and its own figure is the second test's.
    let name = "a \"p99_us\":{\"value\":9000} \"complete\":";
    store.set_digest("261119-aaaa", &with(name, Some(1.25e-2), 9e9)).unwrap();
    store.set_digest("261120-bbbb", &with(name, Some(2500.5), 1.0)).unwrap();
    store.set_digest("261121-cccc", &with(name, Some(999.0), 1.0)).unwrap();
    assert_eq!(sorted(), ["261120-bbbb", "261121-cccc", "261119-aaaa"]);
    store.set_digest("261120-bbbb", &with(name, None, 9e9)).unwrap();
    assert_eq!(
        sorted(),
        ["261121-cccc", "261119-aaaa", "261120-bbbb"],
        "that of its second test counts for nothing"
    );
}

/// Whoever sorted runs had the digests of all of them read: a second for 10,000 after each that ended.
#[test]
fn runs_are_sorted_and_held_against_others_without_their_digests() {
    let folder = tempfile::tempdir().unwrap();
    let store = three(folder.path());
    let with = |name: &str, p99_us: f64, depth: &str| {
        let mut of = digest(name, p99_us * 10.0, &[]);
        of.tests[0].p99_us = Some(FigureDigest { value: p99_us, lo: None, hi: None });
        of.tests[0].load = vec![("I/Os in flight".to_owned(), depth.to_owned())];
        // What did not come to its end is no test that others are compared with.
        of.tests.insert(0, TestDigest { complete: false, ..of.tests[0].clone() });
        of
    };
    store.set_digest("261119-aaaa", &with("RealLife", 500.0, "16")).unwrap();
    store.set_digest("261120-bbbb", &with("RealLife", 2500.0, "16")).unwrap();
    store.set_digest("261121-cccc", &with("RealLife", 999.0, "1")).unwrap();
    let raw = rusqlite::Connection::open(folder.path().join("runs.sqlite")).unwrap();
    raw.execute("UPDATE digest SET body = ''", []).unwrap();
    let page = store.list_by(&RunFilter::default(), RunSlice { skip: 1, limit: 2 }, RunOrder::P99).unwrap();
    let sorted: Vec<&str> = page.runs.iter().map(|run| run.row.run.as_str()).collect();
    assert_eq!((sorted, page.matching), (vec!["261121-cccc", "261119-aaaa"], 3));
    let firsts = store.first_tests(&RunFilter::default(), "mixed").unwrap();
    let of = |run: &str| firsts.iter().find(|first| first.run == run).unwrap();
    assert_eq!((of("261119-aaaa").iops, of("261120-bbbb").iops), (5_000.0, 25_000.0));
    assert_eq!(of("261119-aaaa").load, of("261120-bbbb").load);
    assert_ne!(of("261119-aaaa").load, of("261121-cccc").load);
    assert!(store.first_tests(&RunFilter::default(), "mix").unwrap().is_empty(), "the whole name");
    let on_target = RunFilter { on_target: Some("/srv/t.dat".into()), ..RunFilter::default() };
    assert_eq!(store.first_tests(&on_target, "mixed").unwrap().len(), 2);
    // No list walks all runs for its order.
    for (column, direction) in [("p99_us", "DESC NULLS LAST"), ("verdict", "NULLS LAST")] {
        let query = format!(
            "EXPLAIN QUERY PLAN SELECT id FROM run ORDER BY {column} {direction}, started_unix_ms DESC, id DESC LIMIT 9"
        );
        let steps: Vec<String> = raw
            .prepare(&query)
            .unwrap()
            .query_map([], |row| row.get(3))
            .unwrap()
            .map(Result::unwrap)
            .collect();
        assert!(steps.iter().all(|step| !step.contains("TEMP B-TREE")), "{steps:?}");
    }
}

#[test]
fn a_target_has_another_version_when_one_of_its_runs_changes_or_is_killed_and_at_no_other_time() {
    let folder = tempfile::tempdir().unwrap();
    let Begun { store, events, mut writer, .. } = begin(folder.path(), 3);
    drop(write(&store, &on("261119-aaaa", "/srv/other.dat", "bench1", 1_000), None));
    let overview = RefCell::default();
    let versions = || versions_of(&store, ["/srv/t.dat", "/srv/other.dat"], &overview);
    let mut before = versions();
    writer.append(&events[3]).unwrap();
    assert_eq!(versions(), before, "a run goes on");
    drop(writer);
    let [of_one, of_other] = versions();
    assert!(of_one != before[0] && of_other == before[1], "{of_one:?}: a run of another target was killed");
    before = [of_one, of_other];
    let changes: [&dyn Fn(); 4] = [
        &|| store.set_label("261119-aaaa", Some("a")).unwrap(),
        &|| store.set_digest("261119-aaaa", &digest("mix", 2.0, &[])).unwrap(),
        &|| drop(write(&store, &on("261120-bbbb", "/srv/other.dat", "bench1", 1_000), None)),
        &|| store.remove("261119-aaaa").unwrap(),
    ];
    for change in changes {
        change();
        let after = versions();
        assert!(after[0] == before[0] && after[1] != before[1], "{after:?}");
        before = after;
    }
}

/// Returns the versions of targets, which do not depend on what was known before.
pub(crate) fn versions_of<const N: usize>(
    store: &Store,
    targets: [&str; N],
    overview: &RefCell<Overview>,
) -> [TargetVersion; N] {
    let look = store.look(&mut overview.borrow_mut()).unwrap();
    let anew = store.look(&mut Overview::default()).unwrap();
    targets.map(|target| {
        assert_eq!(look.version_of(target), anew.version_of(target), "{target}");
        let filter = RunFilter { on_target: Some(target.to_owned()), ..RunFilter::default() };
        assert_eq!(look.runs_on(target), store.matching(&filter).unwrap(), "{target}");
        look.version_of(target)
    })
}

/// A look after a write took the time of all runs. Runs that others change, in whichever part, are noticed.
#[test]
fn a_look_notices_every_change_of_a_store_of_several_parts() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path().join("runs.sqlite")).unwrap();
    let importer = store.importer().unwrap();
    let target = |number: u64| format!("/srv/lun{}", number % 3);
    let id = |number: u64| format!("261121-{number:04}");
    let add = |number: u64| {
        let header = on(&id(number), &target(number), "bench1", number);
        let events = synthetic::events(&header, synthetic::Target::default());
        let events = [events.last().unwrap().clone()];
        let whole = WholeRun {
            header: &header,
            label: None,
            note: None,
            lost: None,
            events: WholeEvents::Decoded(&events),
        };
        importer.add(whole, Namesake::Keep, None).unwrap();
    };
    (0..2_100).for_each(add);
    let overview = RefCell::default();
    let all = || versions_of(&store, ["/srv/lun0", "/srv/lun1", "/srv/lun2"], &overview);
    let ended = || store.look(&mut overview.borrow_mut()).unwrap().ended(Outcome::Done);
    let mut before = all();
    assert_eq!(ended(), 2_100);
    let other = Store::open(store.address()).unwrap();
    let label = |run: u64| other.set_label(&id(run), Some("a")).unwrap();
    let digest_of = |run: u64, iops: f64| other.set_digest(&id(run), &digest("mix", iops, &[])).unwrap();
    let changes: [(u64, &dyn Fn(u64)); 9] = [
        (3, &label),
        (1_500, &label),
        (2_099, &label),
        (1_024, &|run| digest_of(run, 2.0)),
        (1_024, &|run| digest_of(run, 3.0)),
        (2_100, &add),
        (1_023, &|run| other.remove(&id(run)).unwrap()),
        (1_025, &|run| other.remove(&id(run)).unwrap()),
        (1_025, &add),
    ];
    for (run, change) in changes {
        change(run);
        let after = all();
        for target in 0..3 {
            let is_of = run % 3 == target as u64;
            assert_eq!(after[target] != before[target], is_of, "run {run}, target {target}: {after:?}");
        }
        before = after;
    }
    assert_eq!(ended(), 2_100);
    // All of a part.
    (0..1_100).filter(|run| *run != 1_023).for_each(|run| other.remove(&id(run)).unwrap());
    assert_ne!(all(), before);
    assert_eq!(ended(), 1_001);
}

/// What SQLite sums for a look is in indexes alone.
#[test]
fn a_look_reads_no_row_and_sorts_none() {
    let folder = tempfile::tempdir().unwrap();
    drop(three(folder.path()));
    let raw = rusqlite::Connection::open(folder.path().join("runs.sqlite")).unwrap();
    for (table, id, crc) in [("run", "id", "row_crc32c"), ("digest", "run_id", "crc32c")] {
        let query = format!(
            "EXPLAIN QUERY PLAN SELECT {id} >> 10, sum({crc} * {id}) FROM {table} GROUP BY {id} >> 10"
        );
        let mut plan = raw.prepare(&query).unwrap();
        let steps: Vec<String> = plan.query_map([], |row| row.get(3)).unwrap().map(Result::unwrap).collect();
        assert_eq!(steps, [format!("SCAN {table} USING COVERING INDEX {table}_part")]);
    }
}

#[test]
fn runs_without_a_whole_digest_are_named_once_they_have_ended() {
    let folder = tempfile::tempdir().unwrap();
    let Begun { store, events, mut writer, .. } = begin(folder.path(), 4);
    assert_eq!(store.without_digest().unwrap(), [""; 0], "it is going on");
    writer.keep_digest(&digest("so far", 1.0, &[])).unwrap();
    assert_eq!(store.digest(RUN).unwrap().unwrap().tests[0].test, "so far");
    drop(writer);
    assert_eq!(store.without_digest().unwrap(), [RUN], "it was killed");
    store.set_digest(RUN, &digest("whole", 1.0, &[])).unwrap();
    assert_eq!(store.without_digest().unwrap(), [""; 0]);

    let other = header("261121-dddd");
    writer = store.begin_run(&other, None, None).unwrap();
    events.iter().for_each(|event| writer.append(event).unwrap());
    writer.keep_digest(&digest("end", 1.0, &[])).unwrap();
    drop(writer);
    assert_eq!(store.without_digest().unwrap(), [""; 0], "made from all events");
    let raw = rusqlite::Connection::open(store.address().file().unwrap()).unwrap();
    raw.execute("UPDATE digest SET version = 0", []).unwrap();
    assert_eq!(store.without_digest().unwrap(), ["261121-dddd", RUN], "of an earlier form");
}

#[test]
fn a_follower_sees_each_event_once_and_only_looks_where_something_was_written() {
    let folder = tempfile::tempdir().unwrap();
    let Begun { path, store, events, mut writer } = begin(folder.path(), 3);
    let reader = Store::open_existing(&path).unwrap().unwrap();
    let before = reader.writes().unwrap();
    assert_eq!(reader.writes().unwrap(), before, "nothing was written");
    assert_eq!(reader.running().unwrap(), [RUN]);
    assert_eq!(reader.events_from(RUN, 0, usize::MAX).unwrap(), events[..3]);
    assert_eq!(reader.events_from(RUN, 3, 9).unwrap(), []);
    writer.append(&events[3]).unwrap();
    writer.append(&events[4]).unwrap();
    assert_ne!(reader.writes().unwrap(), before);
    assert_eq!(reader.events_from(RUN, 3, 1).unwrap(), events[3..4]);
    assert_eq!(reader.events_from(RUN, 4, 9).unwrap(), events[4..5]);
    drop(writer);
    // A server that another test starts at this moment has the lock until it is another program.
    let until = Instant::now() + Duration::from_secs(10);
    while !reader.running().unwrap().is_empty() {
        assert!(Instant::now() < until, "{:?}", reader.running());
        std::thread::sleep(Duration::from_millis(10));
    }
    assert!(store.events_from("261121-none", 0, 1).is_err());
}

#[test]
fn a_run_names_its_process_and_only_one_that_goes_on_is_stopped() {
    let folder = tempfile::tempdir().unwrap();
    let Begun { store, mut writer, events, .. } = begin(folder.path(), 2);
    let process = store.process(RUN).unwrap().unwrap();
    assert_eq!(process.pid, std::process::id());
    assert!(process.is_alive());
    writer.append(events.last().unwrap()).unwrap();
    assert!(matches!(events.last().unwrap().what, RunEvent::Ended(_)));
    drop(writer);
    let says = store.stop(RUN).unwrap_err().to_string();
    assert!(says.contains("has ended already"), "{says}");
}

#[test]
fn baselines_and_checks_of_targets_are_kept_and_a_removed_run_takes_its_baseline_along() {
    let folder = tempfile::tempdir().unwrap();
    let store = three(folder.path());
    let baseline = |plan: &str, of: BaselineOf| Baseline {
        address: "/srv/t.dat".into(),
        plan: plan.into(),
        of,
        set_unix_ms: 7,
    };
    let of_run = baseline("mixed", BaselineOf::Run("261119-aaaa".into()));
    let of_label = baseline("other", BaselineOf::Label("after".into()));
    store.set_baseline(&baseline("mixed", BaselineOf::Label("x".into()))).unwrap();
    store.set_baseline(&of_run).unwrap();
    store.set_baseline(&of_label).unwrap();
    assert_eq!(store.baselines().unwrap(), [of_run, of_label.clone()]);
    store.remove("261119-aaaa").unwrap();
    assert_eq!(store.baselines().unwrap(), [of_label]);
    assert!(store.remove_baseline("/srv/t.dat", "other").unwrap());
    assert!(!store.remove_baseline("/srv/t.dat", "other").unwrap());

    let checked = |body: &str, checked_unix_ms| Checked {
        address: "/dev/sdx".into(),
        checked_unix_ms,
        body: body.into(),
    };
    store.set_checked(&checked("{}", 1)).unwrap();
    store.set_checked(&checked("[]", 2)).unwrap();
    assert_eq!(store.checks().unwrap(), [checked("[]", 2)]);

    let map = |made_unix_ms| KeptMap {
        address: "/dev/sdy".into(),
        made_unix_ms,
        body: format!("{{\"n\":{made_unix_ms}}}"),
    };
    let newest = MAPS_MAX as u64 + 5;
    (1..=newest).for_each(|made| assert!(store.add_map(&map(made)).unwrap()));
    assert!(!store.add_map(&map(newest)).unwrap());
    let kept = store.maps("/dev/sdy").unwrap();
    assert_eq!((kept.len(), kept[0], kept[MAPS_MAX - 1]), (MAPS_MAX, newest, 6), "the newest");
    assert_eq!(store.map("/dev/sdy", 9).unwrap(), Some("{\"n\":9}".to_owned()));
    assert_eq!(store.map("/dev/sdx", 9).unwrap(), None);
    let addresses = store.target_addresses().unwrap();
    assert_eq!(
        addresses,
        ["/dev/sdx", "/dev/sdy", "/srv/t.dat", "iscsi://nas/iqn.2001-05.com.equallogic:vmware/0"]
    );
}

/// A run stores its end before its lock is gone. Whoever read its row before and looked for the lock after saw a run
/// without an end that nobody held: one that was killed.
#[test]
fn a_run_that_ends_while_it_is_looked_at_was_not_killed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("runs.sqlite");
    let store = Store::open(&path).unwrap();
    for index in 0..100 {
        let of = header(&format!("261122-r{index}"));
        let mut writer = store.begin_run(&of, None, None).unwrap();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                writer.append(&Event { at_ns: 1, what: RunEvent::Ended(Outcome::Done) }).unwrap();
                drop(writer);
            });
            loop {
                let row = store.row(&of.run).unwrap();
                assert!(row.is_running || row.status == Some(Outcome::Done), "run {index} looks killed");
                if !row.is_running {
                    break;
                }
            }
        });
    }
}

/// A letter beyond ASCII was found in the case in which it stands only.
#[test]
fn letters_beyond_ascii_are_found_in_both_cases() {
    let folder = tempfile::tempdir().unwrap();
    let store = three(folder.path());
    for word in ["Größe", "GRÖSSE", "GRÖ", "grö", "Rö", "RÖ", "ö", "Ö", "öß"] {
        let filter = RunFilter { text: word.to_owned(), ..RunFilter::default() };
        let expected: &[&str] = if word == "GRÖSSE" { &[] } else { &["cccc"] };
        assert_eq!(found(&store, &filter), expected, "{word}");
    }
}

/// The first page of a hundred thousand runs took the time to count them.
#[test]
fn a_list_counts_as_far_as_its_next_pages_and_says_that_there_are_more() {
    const RUNS: usize = 10_050;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("runs.sqlite");
    let store = Store::open(&path).unwrap();
    let raw = rusqlite::Connection::open(&path).unwrap();
    raw.execute_batch(&format!(
        "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {RUNS})
         INSERT INTO run (run, name, started_unix_ms, targets, outcome)
         SELECT 'r' || i, 'p', i, '[]', '\"done\"' FROM n"
    ))
    .unwrap();
    let all = RunFilter::default();
    let page = |skip| {
        let page = store.list(&all, RunSlice { skip, limit: 100 }).unwrap();
        (page.runs.len(), page.matching, page.has_more)
    };
    assert_eq!(page(0), (100, 10_000, true));
    assert_eq!(page(9_800), (100, RUNS, false));
    assert_eq!(page(10_000), (50, RUNS, false));
    // A page far behind is walked to from the other end, and is the same.
    for (order, first) in [(RunOrder::Newest, 50), (RunOrder::Oldest, 10_001), (RunOrder::Plan, 50)] {
        let page = store.list_by(&all, RunSlice { skip: 10_000, limit: 30 }, order).unwrap();
        let expected = |index: usize| match order {
            RunOrder::Oldest => format!("r{}", first + index),
            _ => format!("r{}", first - index),
        };
        let runs: Vec<&str> = page.runs.iter().map(|run| run.row.run.as_str()).collect();
        assert_eq!(runs, (0..30).map(expected).collect::<Vec<_>>(), "{order:?}");
        assert_eq!((page.matching, page.has_more), (RUNS, false));
    }
    assert_eq!(page(20_000), (0, RUNS, false));
    assert_eq!((store.count().unwrap(), store.matching(&all).unwrap()), (RUNS, RUNS));
}
