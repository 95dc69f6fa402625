//! One run, or one baseline, has the same figures wherever it is read.

use assay_analysis::compare::{Change, ResultSet, Side, compare_with};
use assay_record::RunHeader;
use assay_results::{
    Baselines, InShort, LastTest, Readings, Stored, TargetRuns, against_earlier, baseline_level,
    baseline_side, complete, labelled, read_extract_held, repetitions,
};
use assay_store::{Baseline, BaselineOf, ListedRun, RunFilter, RunSlice, Store};
use assay_testkit::synthetic;

const PLAN: &str = "name = \"nightly\"\n[[test]]\nname = \"random\"\nrun = \"5s\"\noutstanding = 8\n\
                    access = [{ size = \"4KiB\", read = 100, random = 100 }]\n";
pub const TARGET: &str = "/srv/t.dat";

/// Stores a run whose I/Os take so long, µs.
pub fn run(store: &Store, number: u64, label: &str, service_us: f64) -> RunHeader {
    let header = synthetic::header(synthetic::plan(PLAN));
    run_on(store, header, number, (label, service_us))
}

fn run_on(store: &Store, header: RunHeader, number: u64, of: (&str, f64)) -> RunHeader {
    run_at(store, header, number, of, TARGET)
}

fn run_at(
    store: &Store,
    mut header: RunHeader,
    number: u64,
    (label, service_us): (&str, f64),
    address: &str,
) -> RunHeader {
    header.run = format!("261001-aa{}{}", (b'a' + u8::try_from(number).unwrap()) as char, 'b');
    header.targets[0].address = address.to_owned();
    header.started_unix_ms += number * 86_400_000;
    let target = synthetic::Target { service_ns: service_us * 1e3, ..synthetic::Target::default() };
    let mut writer = store.begin_run(&header, Some(label), None).unwrap();
    synthetic::events(&header, target).iter().for_each(|event| writer.append(event).unwrap());
    writer.finish().unwrap();
    complete(store, &header.run).unwrap();
    header
}

/// Five repetitions of a baseline that differ by a third, and a later run.
pub fn filled(store: &Store) -> RunHeader {
    for (number, service_us) in (0..).zip([150.0, 110.0, 190.0, 130.0, 160.0]) {
        run(store, number, "before", service_us);
    }
    let of = BaselineOf::Label("before".to_owned());
    let set_unix_ms = u64::MAX / 4;
    let baseline = Baseline { address: TARGET.into(), plan: "nightly".into(), of, set_unix_ms };
    store.set_baseline(&baseline).unwrap();
    run(store, 6, "after", 140.0)
}

/// The line in the trend was the last run of the baseline, the terminal's value the mean of all, the comparison's that
/// of whichever run came first: 8,361, 6,681 and 5,529 IOPS for one baseline.
#[test]
fn a_baseline_has_one_value_in_the_trend_the_terminal_and_the_comparison() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path().join("runs.sqlite")).unwrap();
    let later = filled(&store);
    let target = TargetRuns::read(&store, TARGET, usize::MAX).unwrap();
    let trend = &target.trends()[0];
    let drawn = baseline_level(&store, TARGET, trend).unwrap().unwrap();
    let held = read_extract_held(&store, &later.run).unwrap().baseline.unwrap();
    let printed = held.comparison.tests[0].cells[0].as_ref().unwrap();
    let own = Side {
        name: "own".into(),
        readings: vec![Stored::read_extract(&store, &later.run).unwrap().result_set()],
    };
    let row = store.row(&later.run).unwrap();
    let sides = [labelled(&store, &Readings::default(), "before").unwrap().unwrap(), own.clone()];
    let compared = compare_with(&sides, &[]);
    let compared = compared.tests[0].cells[0].as_ref().unwrap();
    let sides = [baseline_side(&store, &Readings::default(), &row).unwrap().unwrap(), own];
    let linked = compare_with(&sides, &[]);
    let linked = linked.tests[0].cells[0].as_ref().unwrap();
    // The list had a mark, and a colour, where the page of the run said noise.
    let newest = store.list(&RunFilter::default(), RunSlice { skip: 0, limit: 1 }).unwrap().runs;
    let listed = Baselines::read(&store).unwrap().against(&store, &newest[0]);
    let Some(InShort::Ratio { ratio, change }) = listed else { panic!("{listed:?}") };
    let against = held.comparison.tests[0].cells[1].as_ref().unwrap().against.as_ref().unwrap();
    assert_eq!((change, against.change), (Change::Unclear, Change::Unclear));
    let close = |a: f64, b: f64| (a / b - 1.0).abs() < 1e-9;
    assert!(close(ratio, against.iops.value), "{ratio} and {against:?}");
    for iops in [printed.iops, compared.iops, linked.iops] {
        assert!(close(drawn.iops.value, iops), "{} and {iops} IOPS", drawn.iops.value);
    }
    let p99_ms = drawn.p99_us.unwrap().value / 1e3;
    for p99 in [printed.p99_ms, compared.p99_ms, linked.p99_ms] {
        assert!(close(p99_ms, p99.unwrap()), "p99 {p99_ms} and {p99:?} ms");
    }
    // The band of the live chart, before the run has ended.
    let baselines = Baselines::read(&store).unwrap();
    let mut reading = Stored::read_extract(&store, &later.run).unwrap().result_set();
    let levels = |plan: &str, reading: &ResultSet| -> Vec<f64> {
        let levels = baselines.levels(plan, &[TARGET.to_owned()], reading);
        levels.iter().map(|(_, level)| level.iops.value).collect()
    };
    let live = levels("nightly", &reading);
    assert!(live.len() == 1 && close(drawn.iops.value, live[0]), "{live:?}");
    assert!(levels("weekly", &reading).is_empty());
    let facet = reading.rows[0].facets.iter_mut().find(|facet| facet.name == "I/Os in flight");
    facet.unwrap().value = "9".to_owned();
    assert!(levels("nightly", &reading).is_empty(), "of another load nothing is known");
    let (lo, hi) = (drawn.iops.lo.unwrap(), drawn.iops.hi.unwrap());
    assert!(drawn.runs == 5 && lo < drawn.iops.value && drawn.iops.value < hi, "{drawn:?}");
}

/// What a list says of runs against their baselines is what it is sorted by, and no digest is read for its order but
/// one for each load.
#[test]
fn runs_against_their_baselines_are_in_the_order_of_their_ratios() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("runs.sqlite");
    let store = Store::open(&path).unwrap();
    filled(&store);
    let slower = run(&store, 7, "after", 290.0);
    let deeper = synthetic::header(synthetic::plan(&PLAN.replace("outstanding = 8", "outstanding = 9")));
    let deeper = run_on(&store, deeper, 8, ("after", 100.0));
    let other =
        run_at(&store, synthetic::header(synthetic::plan(PLAN)), 9, ("after", 120.0), "/srv/other.dat");
    let listed = store.list(&RunFilter::default(), RunSlice::ALL).unwrap().runs;
    let baselines = Baselines::read(&store).unwrap();
    let ratio = |run: &ListedRun| match baselines.against(&store, run) {
        Some(InShort::Ratio { ratio, .. }) => Some((ratio, run.row.run.clone())),
        _ => None,
    };
    let mut shown: Vec<(f64, String)> = listed.iter().filter_map(ratio).collect();
    shown.sort_by(|(a, _), (b, _)| a.total_cmp(b));
    let shown: Vec<String> = shown.into_iter().map(|(_, run)| run).collect();
    assert_eq!(shown.len(), 2, "of another load, or on another target, nothing is known: {shown:?}");
    assert!(shown[0] == slower.run && !shown.contains(&deeper.run) && !shown.contains(&other.run));
    let raw = rusqlite::Connection::open(&path).unwrap();
    // Of each load the digest of one run is read, and those of the baseline.
    raw.execute(
        "UPDATE digest SET body = '' WHERE run_id = (SELECT id FROM run WHERE run = ?1)",
        [&slower.run],
    )
    .unwrap();
    assert_eq!(baselines.sorted(&store, &RunFilter::default()).unwrap(), shown);
    let none = RunFilter { text: "no such run".into(), ..RunFilter::default() };
    assert!(baselines.sorted(&store, &none).unwrap().is_empty());
}

/// A run on `./t.dat` was looked for in the folder of whoever asked: the page of a server that was started elsewhere
/// knew no earlier run, and its baseline was set on a file that nobody had measured.
#[test]
fn a_relative_path_is_that_of_the_folder_of_the_run_wherever_it_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path().join("runs.sqlite")).unwrap();
    let in_folder = |number, service_us| {
        let mut header = synthetic::header(synthetic::plan(PLAN));
        header.targets[0].member.path = "/mnt/far/t.dat".to_owned();
        run_at(&store, header, number, ("night", service_us), "./t.dat")
    };
    let (first, second) = (in_folder(0, 150.0), in_folder(1, 300.0));
    assert_eq!(assay_results::keys_of(&store, &first).unwrap(), ["/mnt/far/t.dat"]);
    let reading = Stored::read_extract(&store, &second.run).unwrap().result_set();
    let held = against_earlier(&store, &second, reading);
    assert_eq!(held.unwrap().unwrap().name, first.run, "the earlier run on the same file");
    let (address, of) = ("/mnt/far/t.dat".to_owned(), BaselineOf::Run(first.run.clone()));
    store.set_baseline(&Baseline { address, plan: "nightly".into(), of, set_unix_ms: 1 }).unwrap();
    assert!(read_extract_held(&store, &second.run).unwrap().baseline.is_some());
    assert!(baseline_side(&store, &Readings::default(), &store.row(&second.run).unwrap()).unwrap().is_some());
    let listed = store.list(&RunFilter::default(), RunSlice { skip: 0, limit: 1 }).unwrap().runs;
    let against = Baselines::read(&store).unwrap().against(&store, &listed[0]);
    assert!(matches!(against, Some(InShort::Ratio { ratio, .. }) if ratio < 0.6), "{against:?}");
}

/// Reading the extracts of every label on a target took seconds.
#[test]
fn repetitions_say_the_same_from_their_digests_as_from_their_extracts() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("runs.sqlite");
    let store = Store::open(&path).unwrap();
    let later = filled(&store);
    let single = |run: &str| {
        let set = Stored::read_extract(&store, run).unwrap().result_set();
        Side { name: run.to_owned(), readings: vec![set] }
    };
    let sides = [single("261001-aaab"), single(&later.run)];
    let from_digests = repetitions(&store, &sides).unwrap();
    assert_eq!(from_digests.iter().map(|side| side.readings.len()).collect::<Vec<_>>(), [5]);
    assert!(from_digests[0].readings.iter().all(|set| set.rows[0].curve_ms.is_empty()), "from digests");
    rusqlite::Connection::open(&path).unwrap().execute("DELETE FROM digest", []).unwrap();
    let from_extracts = repetitions(&store, &sides).unwrap();
    assert!(from_extracts[0].readings.iter().all(|set| !set.rows[0].curve_ms.is_empty()), "from extracts");
    let compared = |history: &[Side]| format!("{:?}", compare_with(&sides, history));
    assert_eq!(compared(&from_digests), compared(&from_extracts));
}

#[test]
fn a_run_without_a_baseline_is_held_against_the_last_of_the_same_load() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path().join("runs.sqlite")).unwrap();
    let first = run(&store, 0, "a", 150.0);
    assert!(read_extract_held(&store, &first.run).unwrap().last.is_none(), "nothing is before it");
    let second = run(&store, 1, "b", 152.0);
    let held = read_extract_held(&store, &second.run).unwrap().last.unwrap();
    assert_eq!(held.name, first.run);
}

/// `--cached` is no word of the plan, so such a run replaced the direct one in what Prometheus reads.
#[test]
fn runs_of_another_depth_or_through_the_page_cache_have_last_values_of_their_own() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path().join("runs.sqlite")).unwrap();
    let header = |plan: &str, is_direct: bool| {
        let mut header = synthetic::header(synthetic::plan(plan));
        header.targets[0].member.direct = is_direct;
        header
    };
    run_on(&store, header(PLAN, true), 0, ("a", 150.0));
    run_on(&store, header(PLAN, false), 1, ("b", 15.0));
    run_on(&store, header(&PLAN.replace("outstanding = 8", "outstanding = 2"), true), 2, ("c", 150.0));
    run_on(&store, header(PLAN, true), 3, ("d", 150.0));
    let target = TargetRuns::read(&store, TARGET, usize::MAX).unwrap();
    let last = target.last();
    let of = |last: &LastTest<'_>| (last.run.row.run.clone(), last.effective.depth, last.effective.cached);
    let id = |letter: &str| format!("261001-aa{letter}b");
    let each: Vec<_> = last.iter().map(of).collect();
    assert_eq!(each, [(id("d"), 8, Some(false)), (id("c"), 2, Some(false)), (id("b"), 8, Some(true))]);
}

/// A store that collects the runs of several hosts drew `/dev/sdb` of one and `/dev/sdb` of another as one trend, and
/// said that the second had changed.
#[test]
fn one_path_on_two_hosts_is_two_targets() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path().join("runs.sqlite")).unwrap();
    let on = |host: &str, number: u64, service_us: f64| {
        let mut header = synthetic::header(synthetic::plan(PLAN));
        header.host.name = host.to_owned();
        run_on(&store, header, number, ("nightly", service_us))
    };
    on("left", 0, 150.0);
    let right = on("right", 1, 300.0);
    assert!(read_extract_held(&store, &right.run).unwrap().last.is_none(), "of another host");
    assert!(TargetRuns::read(&store, TARGET, usize::MAX).unwrap().trends().is_empty());
    let left = on("left", 2, 151.0);
    let held = read_extract_held(&store, &left.run).unwrap().last.unwrap();
    assert_eq!(held.name, "261001-aaab", "of its own host");
    let trends = TargetRuns::read(&store, TARGET, usize::MAX).unwrap().trends();
    assert_eq!(
        trends.iter().map(|trend| (trend.points.len(), trend.others.len())).collect::<Vec<_>>(),
        [(2, 1)]
    );
}

/// Two runs of one plan that went at the same time were compared as if one had been the earlier state of the target.
#[test]
fn a_run_that_went_at_the_same_time_is_not_the_last_one_before_it() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path().join("runs.sqlite")).unwrap();
    let before = run(&store, 1, "before", 150.0);
    let beside = run(&store, 2, "beside", 150.0);
    let mut header = synthetic::header(synthetic::plan(PLAN));
    // A second after the other began, which takes five.
    header.started_unix_ms += 2 * 86_400_000 + 1_000;
    header.started_unix_ms -= 3 * 86_400_000;
    let later = run_on(&store, header, 3, ("later", 150.0));
    assert_eq!(later.started_unix_ms, beside.started_unix_ms + 1_000);
    let last = read_extract_held(&store, &later.run).unwrap().last.unwrap();
    assert_eq!(last.name, before.run);
    let last = read_extract_held(&store, &beside.run).unwrap().last.unwrap();
    assert_eq!(last.name, before.run);
}

/// All rows of a target were read for each side of a comparison, and of a label those of years.
#[test]
fn of_many_repetitions_the_newest_are_compared() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path().join("runs.sqlite")).unwrap();
    let runs: Vec<RunHeader> = (0..12).map(|number| run(&store, number, "nightly", 150.0)).collect();
    run(&store, 12, "once", 150.0);
    let newest = |from: usize| runs[from..].iter().rev().map(|header| header.run.clone()).collect::<Vec<_>>();
    let ids = |side: &Side| side.readings.iter().map(|set| set.id.clone()).collect::<Vec<_>>();
    assert_eq!(ids(&labelled(&store, &Readings::default(), "nightly").unwrap().unwrap()), newest(4));
    // Of the label of an old run too.
    let set = Stored::read_extract(&store, &runs[0].run).unwrap().result_set();
    let history = repetitions(&store, &[Side { name: String::new(), readings: vec![set] }]).unwrap();
    assert_eq!(history.iter().map(ids).collect::<Vec<_>>(), [newest(4)], "one run is no repetition");
}
