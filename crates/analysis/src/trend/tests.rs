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
        .map(|((digest, run), started_unix_ms)| TrendRun { run, plan: "p", started_unix_ms, digest })
        .collect();
    let cut = digest(5.0, false);
    runs.push(TrendRun { run: "cut", plan: "p", started_unix_ms: 3, digest: &cut });
    runs.push(TrendRun { run: "other", plan: "q", started_unix_ms: 3, digest: &digests[0] });
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
