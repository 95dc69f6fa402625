use super::*;

#[test]
fn trends_are_of_complete_tests_in_the_order_of_time() {
    let digest = |iops: f64, complete| RunDigest {
        tests: vec![TestDigest {
            test: "t".into(),
            iops: FigureDigest { value: iops, lo: Some(iops * 0.99), hi: Some(iops * 1.01) },
            complete,
            ..TestDigest::default()
        }],
        ..RunDigest::default()
    };
    let values = [100.0, 101.0, 99.0, 100.0, 100.4, 80.0, 81.0, 79.5, 80.0, 80.2, 80.5];
    let digests: Vec<RunDigest> = values.iter().map(|iops| digest(*iops, true)).collect();
    let ids: Vec<String> = (0..values.len()).map(|index| format!("run{index}")).collect();
    let mut runs: Vec<TrendRun<'_>> = digests
        .iter()
        .zip(&ids)
        .zip(0..)
        .map(|((digest, run), started_unix_ms)| TrendRun {
            run,
            plan: "p",
            started_unix_ms,
            digest,
            note: None,
        })
        .collect();
    let cut = digest(5.0, false);
    runs.push(TrendRun { run: "cut", plan: "p", started_unix_ms: 3, digest: &cut, note: None });
    runs.push(TrendRun { run: "other", plan: "q", started_unix_ms: 3, digest: &digests[0], note: None });
    runs.reverse();
    let found = trends(&runs);
    assert_eq!(found.len(), 1, "a single run has no trend");
    assert_eq!(found[0].points.iter().map(|point| point.run.as_str()).collect::<Vec<_>>(), ids);
    let change = &found[0].iops_changes[0];
    assert_eq!((change.index, change.run.as_str(), change.before.as_str()), (5, "run5", "run4"));
    assert!(
        (change.ratio - 0.8).abs() < 0.01 && change.ratio_lo < 0.8 && change.ratio_hi > 0.8,
        "{change:?}"
    );
}

#[test]
fn a_load_that_the_command_line_changed_is_a_trend_of_its_own() {
    let digest = |changed: &str, iops: f64| RunDigest {
        changed: changed.to_owned(),
        tests: vec![TestDigest {
            test: "t".into(),
            iops: FigureDigest { value: iops, ..FigureDigest::default() },
            complete: true,
            ..TestDigest::default()
        }],
        ..RunDigest::default()
    };
    let digests =
        [digest("", 100.0), digest("outstanding=1", 10.0), digest("", 101.0), digest("outstanding=1", 11.0)];
    let run =
        |(digest, started_unix_ms)| TrendRun { run: "r", plan: "p", started_unix_ms, digest, note: None };
    let runs: Vec<TrendRun<'_>> = digests.iter().zip(0..).map(run).collect();
    let found: Vec<(String, Vec<f64>)> = trends(&runs)
        .into_iter()
        .map(|trend| (trend.changed, trend.points.iter().map(|point| point.iops.value).collect()))
        .collect();
    assert_eq!(found, [(String::new(), vec![100.0, 101.0]), ("outstanding=1".to_owned(), vec![10.0, 11.0])]);
}

#[test]
fn a_change_among_thousands_of_runs_is_found_and_kept_in_a_drawing_of_few_points() {
    // The third of 3,000 runs from the beginning on has four times the latency, as after a firmware update.
    let digest = |index: u32| RunDigest {
        tests: vec![TestDigest {
            test: "t".into(),
            iops: FigureDigest { value: 1000.0 + f64::from(index % 7), ..FigureDigest::default() },
            p99_us: Some(FigureDigest {
                value: if index < 1003 { 100.0 } else { 407.0 } + f64::from(index % 5),
                ..FigureDigest::default()
            }),
            complete: true,
            ..TestDigest::default()
        }],
        ..RunDigest::default()
    };
    let digests: Vec<RunDigest> = (0..3000).map(digest).collect();
    let ids: Vec<String> = (0..3000).map(|index| format!("run{index}")).collect();
    let runs: Vec<TrendRun<'_>> = digests
        .iter()
        .zip(&ids)
        .zip(0..)
        .map(|((digest, run), started_unix_ms)| TrendRun {
            run,
            plan: "p",
            started_unix_ms,
            digest,
            note: None,
        })
        .collect();
    let found = trends(&runs);
    let places: Vec<usize> = found[0].p99_changes.iter().map(|change| change.index).collect();
    assert_eq!((found[0].points.len(), places), (3000, vec![1003]));
    // A run each half hour: 48 a day for 63 days.
    let mut slow = found[0].clone();
    slow.points.iter_mut().zip(0_u64..).for_each(|(point, n)| point.started_unix_ms = n * 1_800_000);
    let (drawn, each) = slow.condensed(120);
    assert_eq!((drawn.points.len(), each, drawn.points[0].runs), (63, Some("one day"), 48));
    assert_eq!(drawn.p99_changes, slow.p99_changes);
    let first = drawn.points[0].p99_us.unwrap();
    assert_eq!((first.lo, first.value, first.hi), (Some(100.0), 102.0, Some(104.0)));
    assert_eq!(slow.condensed(3000), (slow.clone(), None));
    let late = slow.since(slow.points[2000].started_unix_ms);
    assert_eq!((late.points.len(), late.p99_changes.len()), (1000, 0), "the change is before");
}

/// Runs with another span, and of a plan file with another depth, were points of one line although `compare` calls them
/// not comparable.
#[test]
fn a_run_under_other_conditions_or_of_another_load_is_no_point_of_the_trend() {
    let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    let digest = |span: &str, depth: &str, quick: &str| RunDigest {
        changed: quick.to_owned(),
        under: vec![pair("span", span)],
        tests: vec![TestDigest {
            test: "t".into(),
            load: vec![pair("I/Os in flight", depth)],
            iops: FigureDigest { value: 100.0, ..FigureDigest::default() },
            complete: true,
            ..TestDigest::default()
        }],
        ..RunDigest::default()
    };
    let digests = [
        digest("4GiB", "16", ""),
        digest("16GiB", "16", ""),
        digest("16GiB", "32", ""),
        digest("16GiB", "16", "--quick"),
        digest("16GiB", "16", ""),
    ];
    let ids = ["span", "one", "depth", "quick", "two"];
    let run =
        |((digest, run), started_unix_ms)| TrendRun { run, plan: "p", started_unix_ms, digest, note: None };
    let runs: Vec<TrendRun<'_>> = digests.iter().zip(ids).zip(0..).map(run).collect();
    let found = trends(&runs);
    let points: Vec<&str> = found[0].points.iter().map(|point| point.run.as_str()).collect();
    assert_eq!((found.len(), points), (1, vec!["one", "two"]));
    let others: Vec<(&str, &str)> =
        found[0].others.iter().map(|other| (other.point.run.as_str(), other.says.as_str())).collect();
    let expected =
        [("span", "span 4GiB, not 16GiB"), ("depth", "I/Os in flight 32, not 16"), ("quick", "with --quick")];
    assert_eq!(others, expected);
}

#[test]
fn steps_of_journals_other_versions_and_notes_are_events() {
    let digest = |kernel: &str, journal: Option<&str>| RunDigest {
        versions: vec![("kernel".to_owned(), kernel.to_owned())],
        journal: journal.map(str::to_owned),
        ..RunDigest::default()
    };
    let digests = [
        digest("6.1", None),
        digest("6.2", None),
        digest("6.2", Some("nas: jumbo frames")),
        digest("6.2", Some("nas: jumbo frames")),
    ];
    let notes = [Some("new disks"), None, None, None];
    let run =
        |((digest, note), started_unix_ms)| TrendRun { run: "r", plan: "p", started_unix_ms, digest, note };
    let runs: Vec<TrendRun<'_>> = digests.iter().zip(notes).zip(0..).map(run).collect();
    let found: Vec<(u64, String)> =
        events(&runs).into_iter().map(|event| (event.at_unix_ms, event.says)).collect();
    let expected = [(0, "new disks"), (1, "kernel 6.1 → 6.2"), (2, "nas: jumbo frames")];
    assert_eq!(found, expected.map(|(at, says)| (at, says.to_owned())));
}
