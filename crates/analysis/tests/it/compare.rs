//! Sides in, ratios and words out: what is real, what is noise, and what cannot be compared.

use assay_analysis::Estimate;
use assay_analysis::compare::{
    Change, Comparison, Facet, ResultSet, Row, Side, Source, SpreadSource, Weight, broken, compare,
    compare_same, compare_with,
};
use assay_analysis::{Answer, findings, judge, judge_published};
use assay_model::published;
use assay_model::quantity::Bounds;
use assay_model::rng::Rng;

use crate::summarize;
use crate::synthetic::{self, Target};

/// A row of this many IOPS whose seconds are `noise` away from it, up and down.
fn row(iops: f64, noise: f64, seconds: usize) -> Row {
    let second = |i: usize| iops * if i.is_multiple_of(2) { 1.0 + noise } else { 1.0 - noise };
    Row {
        test: "t".into(),
        step: String::new(),
        facets: vec![Facet::new("access", "8KiB, 70 % read, 100 % random", Weight::Breaks)],
        is_paced: false,
        iops,
        mib_per_s: iops / 128.0,
        mean_ms: Some(1.0),
        p50_ms: None,
        curve_ms: Vec::new(),
        p99_ms: Some(Estimate::bare(3.0)),
        seconds: (0..seconds).map(second).collect(),
        heat: std::sync::Arc::default(),
        expected: None,
        is_bound: false,
    }
}

fn side(name: &str, rows: Vec<Row>) -> Side {
    let reading = |(n, row)| ResultSet { id: format!("{name}{n}"), rows: vec![row], ..ResultSet::default() };
    Side { name: name.into(), readings: rows.into_iter().enumerate().map(reading).collect() }
}

/// One run of `a` IOPS against one of `b`.
fn once(a: f64, b: f64, noise: f64) -> Comparison {
    compare(&[side("a", vec![row(a, noise, 60)]), side("b", vec![row(b, noise, 60)])])
}

fn change(comparison: &Comparison) -> Change {
    comparison.tests[0].cells[1].as_ref().unwrap().against.as_ref().unwrap().change
}

fn repeated(a: &[f64], b: &[f64]) -> Comparison {
    let rows = |values: &[f64]| values.iter().map(|v| row(*v, 0.001, 60)).collect();
    compare(&[side("a", rows(a)), side("b", rows(b))])
}

/// A normal value with deviation 1.
fn normal(random: &mut Rng) -> f64 {
    (2.0 * random.exponential()).sqrt() * (std::f64::consts::TAU * random.unit()).cos()
}

/// Two single runs, each steady within 0.1 %, gave the interval 2.95 to 3.00: far too sure, as runs differ more than
/// their seconds do.
#[test]
fn single_runs_without_a_known_spread_have_no_interval_and_no_change() {
    for (b, noise) in [(300.0, 0.001), (120.0, 0.02), (100.0, 0.9)] {
        let comparison = once(100.0, b, noise);
        let against = comparison.tests[0].cells[1].as_ref().unwrap().against.clone().unwrap();
        assert_eq!((against.change, against.spread_from), (Change::Unknown, SpreadSource::Unknown), "{b}");
        assert!(against.iops.ends().is_none(), "{against:?}");
        assert!((against.iops.value - b / 100.0).abs() < 1e-9, "the ratio is shown all the same");
        assert!(
            comparison.says[0].contains("spread unknown, so no change is claimed"),
            "{:?}",
            comparison.says
        );
    }
}

/// A run on null: beside two runs on an array made those two "not comparable" with each other.
#[test]
fn a_side_that_cannot_be_compared_leaves_the_others_alone() {
    let with = |name: &str, iops: f64, storage: &str| {
        let mut side = side(name, [1.0, 1.01, 0.99].map(|share| row(iops * share, 0.001, 60)).to_vec());
        let facet = Facet::new("storage behind the target", storage, Weight::Breaks);
        side.readings.iter_mut().for_each(|reading| reading.facets.push(facet.clone()));
        side
    };
    let comparison = compare(&[with("a", 100.0, "yes"), with("b", 200.0, "yes"), with("c", 900.0, "no")]);
    let change =
        |side: usize| comparison.tests[0].cells[side].as_ref().unwrap().against.as_ref().unwrap().change;
    assert_eq!((change(1), change(2)), (Change::Faster, Change::NotComparable), "{:?}", comparison.says);
}

/// Two suites under one label, twice: "not comparable in 8 of 8, because these differ: semantics iometer, assay /
/// iometer, assay".
#[test]
fn a_label_of_two_plans_is_compared_plan_by_plan() {
    let reading = |test: &str, semantics: &str, iops: f64| {
        let load = vec![Facet::new("access", format!("load of {test}"), Weight::Breaks)];
        let row = Row { test: test.to_owned(), facets: load, ..row(iops, 0.001, 60) };
        let facets = vec![Facet::new("semantics", semantics, Weight::Breaks)];
        ResultSet { id: format!("{test}{iops}"), rows: vec![row], facets, ..ResultSet::default() }
    };
    let both = |name: &str, times: f64| Side {
        name: name.to_owned(),
        readings: vec![reading("forum", "iometer", 100.0 * times), reading("latency", "assay", 9.0 * times)],
    };
    let comparison = compare(&[both("before", 1.0), both("after", 3.0)]);
    assert_eq!((comparison.tests.len(), &comparison.differences[..]), (2, &[][..]));
    for test in &comparison.tests {
        let against = test.cells[1].as_ref().unwrap().against.as_ref().unwrap();
        assert!(against.change != Change::NotComparable && (against.iops.value - 3.0).abs() < 1e-9);
    }
    // One plan that was run in two ways is another thing.
    let mut mixed = both("after", 3.0);
    mixed.readings[0].facets[0].value = "assay".to_owned();
    let comparison = compare(&[both("before", 1.0), mixed]);
    assert_eq!(comparison.differences[0].what, "semantics");
}

/// CrystalDiskMark prints the best of its runs; a row for each round beside it would compare unlike things.
#[test]
fn a_table_of_crystaldiskmark_is_compared_with_the_best_of_the_rounds() {
    let round = |n: u32, iops: f64, mean_ms: f64| Row {
        step: format!("round={n}"),
        mean_ms: Some(mean_ms),
        ..row(iops, 0.0, 5)
    };
    let table = |by: &str| {
        let mut table = side("cdm", vec![row(1000.0, 0.0, 0)]);
        table.readings[0].facets.push(Facet::new("measured by", by, Weight::Weakens));
        table
    };
    let rows = vec![round(1, 900.0, 1.5), round(2, 1100.0, 1.3), round(3, 1050.0, 1.2)];
    let own = Side {
        name: "own".into(),
        readings: vec![ResultSet { id: "own".into(), rows, ..ResultSet::default() }],
    };
    for sides in
        [[table("CrystalDiskMark 8.0.4"), own.clone()], [own.clone(), table("CrystalDiskMark 8.0.4")]]
    {
        let comparison = compare(&sides);
        assert_eq!(comparison.tests.len(), 1, "{:?}", comparison.tests);
        let at = usize::from(sides[1].name == "own");
        let cell = comparison.tests[0].cells[at].as_ref().unwrap();
        assert_eq!((cell.mean_ms, cell.iops.round()), (Some(1.2), 1100.0), "{cell:?}");
    }
    assert_eq!(compare(&[own.clone(), own]).tests.len(), 3, "rounds with rounds");
}

/// Repetitions on the same target that the store holds say how far its runs lie apart.
#[test]
fn single_runs_are_judged_by_stored_repetitions_on_the_same_target() {
    let on = |mut side: Side, target: &str| {
        side.readings.iter_mut().for_each(|r| r.facets.push(Facet::new("target", target, Weight::Subject)));
        side
    };
    let single = |name: &str, iops: f64| on(side(name, vec![row(iops, 0.001, 60)]), "/dev/sdb");
    let repeats = |target: &str| {
        on(side("old", [90.0, 100.0, 110.0].iter().map(|iops| row(*iops, 0.001, 60)).collect()), target)
    };
    let judged = |b: f64, history: &[Side]| {
        let comparison = compare_with(&[single("a", 100.0), single("b", b)], history);
        comparison.tests[0].cells[1].as_ref().unwrap().against.clone().unwrap()
    };
    let known = [repeats("/dev/sdb")];
    let far = judged(300.0, &known);
    assert_eq!((far.change, far.spread_from), (Change::Faster, SpreadSource::Stored), "{far:?}");
    let (lo, hi) = far.iops.ends().unwrap();
    assert!(lo < 2.0 && hi > 4.5, "10 % between runs, two degrees of freedom: {far:?}");
    assert_eq!(judged(120.0, &known).change, Change::Unclear, "20 % are within that spread");
    let elsewhere = judged(300.0, &[repeats("/dev/sdc")]);
    assert_eq!(elsewhere.change, Change::Unknown, "another target's spread says nothing");
}

/// A p99 three times worse stood in small print while the headline said "in the noise".
#[test]
fn a_p99_that_moved_is_in_the_headline() {
    let with_p99 = |ms: f64| Row { p99_ms: Some(Estimate::bare(ms)), ..row(1000.0, 0.001, 60) };
    let single = compare(&[side("a", vec![with_p99(1.2)]), side("b", vec![with_p99(3.6)])]);
    assert!(
        single.says[0].contains("p99 latency is higher, x3.00 (spread unknown) in t (1.20 to 3.60 ms)"),
        "{:?}",
        single.says
    );
    let runs = |p99: [f64; 3]| p99.iter().map(|ms| with_p99(*ms)).collect::<Vec<Row>>();
    let worse = compare(&[side("a", runs([1.2, 1.21, 1.19])), side("b", runs([3.6, 3.7, 3.5]))]);
    assert!(worse.says[0].contains("the same"), "{:?}", worse.says);
    assert!(worse.says[0].contains("p99 latency is higher, x3.00 in t"), "{:?}", worse.says);
    let better = compare(&[side("a", runs([3.6, 3.7, 3.5])), side("b", runs([1.2, 1.21, 1.19]))]);
    assert!(better.says[0].contains("p99 latency is lower"), "{:?}", better.says);
    let same = compare(&[side("a", runs([1.2, 1.21, 1.19])), side("b", runs([1.21, 1.2, 1.2]))]);
    assert!(!same.says[0].contains("p99"), "{:?}", same.says);
}

#[test]
fn repetitions_decide_by_how_far_they_lie_apart_and_not_by_their_seconds() {
    assert_eq!(change(&repeated(&[100.0, 101.0, 99.0], &[103.0, 104.0, 103.5])), Change::Faster);
    assert_eq!(change(&repeated(&[100.0, 101.0, 99.0], &[97.0, 96.0, 96.5])), Change::Slower);
    assert_eq!(change(&repeated(&[100.0, 101.0, 99.0], &[100.0, 100.5, 99.5])), Change::Same);
    // Each run is steady within 0.1 %, and they are 20 % apart all the same.
    assert_eq!(change(&repeated(&[80.0, 100.0, 120.0], &[95.0, 118.0, 140.0])), Change::Unclear);
    let few = repeated(&[100.0, 100.1], &[103.0, 103.1]);
    assert_eq!(change(&few), Change::PerhapsFaster, "two of each do not show 3 %");
    let agreeing = change(&repeated(&[100.0, 100.1], &[130.0, 130.1]));
    assert_eq!(agreeing, Change::PerhapsFaster, "that two agree may be chance");
    assert_eq!(change(&repeated(&[100.0, 105.0], &[220.0, 230.0])), Change::Faster);
    assert_eq!(change(&repeated(&[220.0, 230.0], &[100.0, 105.0])), Change::Slower);
    let one_alone = repeated(&[100.0, 101.0, 99.0], &[130.0]);
    assert_eq!(change(&one_alone), Change::Faster, "a lone run is taken to be as noisy as the others");
    let cell = one_alone.tests[0].cells[0].clone().unwrap();
    assert!((cell.cv.unwrap() - 0.01).abs() < 1e-9 && cell.repeats == 3, "{cell:?}");
}

/// Of runs that are now of one kind and now of another, two against two were called faster or slower in 9 %.
#[test]
fn two_against_two_of_one_distribution_are_seldom_called_different() {
    const SERIES: u64 = 1000;
    // Deviations of the logarithm of four runs in a row.
    type Kind = (&'static str, fn(&mut Rng) -> [f64; 4]);
    let kinds: [Kind; 4] = [
        ("normal", |random| [(); 4].map(|()| normal(random))),
        ("heavy-tailed", |random| [(); 4].map(|()| normal(random) / normal(random).abs().max(0.2))),
        // 0.72 apart at a scatter of 10 %.
        ("of two kinds", |random| {
            [(); 4].map(|()| if random.unit() < 0.3 { -3.3 } else { 0.1 * normal(random) })
        }),
        ("drifting", |random| {
            let mut at = normal(random);
            [(); 4].map(|()| {
                at = 0.95 * at + 0.31 * normal(random);
                at
            })
        }),
    ];
    for (kind, four) in kinds {
        for scatter in [0.02, 0.05, 0.1, 0.2] {
            let mut random = Rng::new(7);
            let is_sure = |_: &u64| {
                let [a, b, c, d] = four(&mut random).map(|x| 1000.0 * (scatter * x).exp());
                matches!(change(&repeated(&[a, b], &[c, d])), Change::Faster | Change::Slower)
            };
            let share = (0..SERIES).filter(is_sure).count() as f64 / SERIES as f64;
            assert!(share <= 0.05, "{kind} at {scatter}: {share}");
        }
    }
}

/// A gate ended with the code for worse where the table said `slower?`.
#[test]
fn a_gate_is_not_surer_than_the_table() {
    let gate = "iops -5%".parse().unwrap();
    let answer = |a: &[f64], b: &[f64]| broken(&repeated(a, b), &gate).first().map(|(answer, _)| *answer);
    assert_eq!(answer(&[100.0, 100.1], &[80.0, 80.1]), Some(Answer::Undecided));
    assert_eq!(answer(&[100.0, 100.1], &[40.0, 40.1]), Some(Answer::Exceeded));
    assert_eq!(answer(&[100.0, 100.1, 99.9], &[80.0, 80.1, 80.2]), Some(Answer::Exceeded));
    assert_eq!(answer(&[100.0, 100.1, 99.9], &[98.0, 98.1, 98.2]), None);
}

#[test]
fn a_load_or_a_span_that_differs_leaves_no_verdict_and_is_said() {
    let mut other = row(100.0, 0.01, 60);
    other.facets[0].value = "8KiB, 100 % read, 100 % random".into();
    let load = compare(&[side("a", vec![row(100.0, 0.01, 60)]), side("b", vec![other])]);
    assert_eq!(change(&load), Change::NotComparable);
    let against = load.tests[0].cells[1].as_ref().unwrap().against.clone().unwrap();
    assert!(against.load_differs[0].contains("70 % read, 100 % random / 8KiB, 100 % read"), "{against:?}");

    let with = |name: &str, weight, value: &str| {
        let mut side = side(name, vec![row(100.0, 0.01, 60)]);
        side.readings[0].facets.push(Facet::new("span", value, weight));
        side
    };
    let span = compare(&[with("a", Weight::Breaks, "1GiB"), with("b", Weight::Breaks, "4GiB")]);
    assert_eq!(change(&span), Change::NotComparable);
    assert_eq!(span.differences[0].says(), "span 1GiB / 4GiB");
    let host = compare(&[with("a", Weight::Weakens, "h1"), with("b", Weight::Weakens, "h2")]);
    assert_ne!(change(&host), Change::NotComparable, "another host is said, and judged");
    assert_eq!(host.differences.len(), 1);
}

/// What a run had of `--rate` and `--set` was missing in the command that repeats it, which so ran another load.
#[test]
fn the_command_that_is_advised_has_what_the_command_line_changed() {
    let mut header = synthetic::header(synthetic::suite("vmware", 1));
    header.plan.quick = true;
    header.plan.changes =
        ["rate=500/s, open loop", "until p99:5%", "size=8KiB", "precondition=2x"].map(String::from).into();
    let summary = summarize(&header, &synthetic::events(&header, Target::default()));
    let with_span = |mut set: ResultSet, span: &str| {
        set.id = span.into();
        set.facets
            .iter_mut()
            .filter(|facet| facet.name == "span")
            .for_each(|facet| facet.value = span.into());
        Side { name: span.into(), readings: vec![set] }
    };
    let set = ResultSet::of_run(&header, &summary, &[], None);
    let says = &compare(&[with_span(set.clone(), "16GiB"), with_span(set, "4GiB")]).says[0];
    let options = "--size 16GiB --quick --rate 500/s --until p99:5% --set size=8KiB --precondition 2x.";
    assert!(says.contains(" assay run vmware ") && says.ends_with(options), "{says}");
}

#[test]
fn paced_loads_are_judged_by_p99_where_less_is_better() {
    let paced = |p99: f64| {
        let mut row = row(1000.0, 0.0, 60);
        row.is_paced = true;
        row.p99_ms = Some(Estimate {
            value: p99,
            lo: Some(p99 * 0.9),
            hi: Some(p99 * 1.1),
            n_effective: 500.0,
            why: None,
        });
        row
    };
    let three = |p99: f64| vec![paced(p99), paced(p99 * 1.02), paced(p99 * 0.98)];
    let held = |a, b| compare(&[side("a", three(a)), side("b", three(b))]);
    assert_eq!(change(&held(2.0, 8.0)), Change::Slower);
    assert_eq!(change(&held(8.0, 2.0)), Change::Faster);
    assert_eq!(change(&held(8.0, 8.1)), Change::Unclear);
}

#[test]
fn percentiles_of_closed_loads_have_a_word_of_their_own() {
    let runs = |p50: [f64; 3], p99: [f64; 3]| {
        let run = |(p50, p99): (&f64, &f64)| Row {
            p50_ms: Some(Estimate::bare(*p50)),
            p99_ms: Some(Estimate::bare(*p99)),
            ..row(1000.0, 0.001, 60)
        };
        p50.iter().zip(&p99).map(run).collect::<Vec<Row>>()
    };
    let words = |a: Vec<Row>, b: Vec<Row>| {
        let held = compare(&[side("a", a), side("b", b)]);
        let against = held.tests[0].cells[1].as_ref().unwrap().against.clone().unwrap();
        (against.p50.unwrap().change, against.p99.unwrap().change)
    };
    let before = runs([1.0, 1.01, 0.99], [3.0, 3.1, 2.9]);
    let after = runs([1.0, 1.0, 1.01], [6.0, 6.1, 5.9]);
    assert_eq!(words(before.clone(), after), (Change::Same, Change::Slower));
    let wild = runs([0.5, 0.51, 0.49], [2.0, 9.0, 4.0]);
    assert_eq!(words(before.clone(), wild), (Change::Faster, Change::Unclear));
    let alone = |runs: &[Row]| vec![runs[0].clone()];
    let single = words(alone(&before), alone(&runs([0.4; 3], [1.0; 3])));
    assert_eq!(single, (Change::Unknown, Change::Unknown), "documents without distributions know no noise");
    let mut other = runs([1.0; 3], [6.0; 3]);
    other.iter_mut().for_each(|row| row.facets[0].value = "4KiB".into());
    assert_eq!(words(before, other), (Change::NotComparable, Change::NotComparable));
}

fn synthetic(text: &str, target: Target) -> ResultSet {
    let header = synthetic::header(synthetic::plan(text));
    let summary = summarize(&header, &synthetic::events(&header, target));
    ResultSet::of_run(&header, &summary, &findings(&header, &summary), None)
}

const PLAN: &str = "name = \"two\"\n[[test]]\nname = \"random\"\nrun = \"8s\"\n\
    access = [{ size = \"8KiB\", random = 100 }]\noutstanding = 8\n\
    [[test]]\nname = \"depth\"\nrun = \"8s\"\naccess = [{ size = \"4KiB\", random = 100 }]\n\
    sweep = { outstanding = [\"1\", \"4\"] }\n";

#[test]
fn whole_runs_are_compared_step_by_step() {
    let one = |name: &str, target| Side { name: name.into(), readings: vec![synthetic(PLAN, target)] };
    let half = Target { servers: 2, ..Target::default() };
    let three = |name: &str, target: &Target| {
        let runs = [200_000.0, 203_000.0, 197_000.0];
        let readings = runs.map(|service_ns| {
            synthetic(PLAN, Target { service_ns, servers: target.servers, ..Target::default() })
        });
        Side { name: name.into(), readings: readings.into() }
    };
    let comparison = compare(&[three("four", &Target::default()), three("two", &half)]);
    assert_eq!(comparison.tests.len(), 3);
    assert_eq!(comparison.tests[0].test, "random");
    assert_eq!(change(&comparison), Change::Slower, "{comparison:?}");
    // One I/O at a time never meets the second server, whatever there are.
    let alone = &comparison.tests[1].cells[1].as_ref().unwrap().against.as_ref().unwrap().iops;
    let (lo, hi) = alone.ends().unwrap();
    assert!(lo < 1.0 && hi > 1.0, "{alone:?}");
    assert!(comparison.says[0].starts_with("two against four: slower in"), "{:?}", comparison.says);
    let deeper = PLAN.replace("outstanding = 8", "outstanding = 16");
    let deep = Side { name: "deep".into(), readings: vec![synthetic(&deeper, Target::default())] };
    let comparison = compare(&[one("four", Target::default()), deep.clone()]);
    let against = comparison.tests[0].cells[1].as_ref().unwrap().against.clone().unwrap();
    assert_eq!(
        (against.load_differs, against.changed[0].says()),
        (vec![], "I/Os in flight 8 / 16".to_owned())
    );
    let same = compare_same(&[one("four", Target::default()), deep], &[]);
    let against = same.tests[0].cells[1].as_ref().unwrap().against.clone().unwrap();
    assert_eq!(
        (against.change, against.load_differs),
        (Change::NotComparable, vec!["I/Os in flight 8 / 16".into()]),
        "a run and its baseline"
    );
}

/// One of two runs at a time was called the one before.
#[test]
fn runs_that_overlapped_are_named_and_none_came_before_the_other() {
    let at = |id: &str, started_unix_ms: u64| {
        let mut header = synthetic::header(synthetic::plan(PLAN));
        (header.run, header.started_unix_ms) = (id.to_owned(), started_unix_ms);
        let summary = summarize(&header, &synthetic::events(&header, Target::default()));
        let length_ms = summary.length_s * 1e3;
        let reading = ResultSet::of_run(&header, &summary, &findings(&header, &summary), None);
        (Side { name: id.to_owned(), readings: vec![reading] }, length_ms as u64)
    };
    let begin = 1_795_231_800_000;
    let (first, length_ms) = at("a", begin);
    let across = |later_ms: u64| compare(&[first.clone(), at("b", begin + later_ms).0]).across;
    let found = across(length_ms - 4000);
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(
        found[0].rule == "overlap" && found[0].says.contains("a and b for 4 s. Neither came before"),
        "{found:?}"
    );
    assert_eq!(across(length_ms), [], "one after the other");
    assert_eq!(compare(&[first.clone(), first.clone()]).across, [], "a run is no other one");
}

/// A depth of 32 against 1 was "not comparable", and a fall to a fiftieth "in the noise".
#[test]
fn what_somebody_changed_is_compared_and_a_great_factor_is_no_noise() {
    let at = |name: &str, depth: &str, iops: f64| {
        let mut row = row(iops, 0.01, 60);
        row.facets.push(Facet::new("I/Os in flight", depth, Weight::Changed));
        side(name, vec![row])
    };
    let deeper = compare(&[at("qd1", "1", 1000.0), at("qd32", "32", 13_960.0)]);
    assert_eq!(
        deeper.says[0],
        "qd32 against qd1: you changed I/Os in flight from 1 to 32: faster? (x13.96)."
    );
    let mut cached = [at("direct", "1", 1000.0), at("cached", "1", 1100.0)];
    let facet = |value: &str| Facet::new("bypassing the page cache", value, Weight::Changed);
    cached[0].readings[0].facets.push(facet("yes"));
    cached[1].readings[0].facets.push(facet("no"));
    let says = &compare(&cached).says[0];
    assert!(
        says.contains("you changed bypassing the page cache from yes to no: x1.10, run-to-run"),
        "{says}"
    );
    // Repetitions among which a setting differs are none.
    let mut mixed = at("mixed", "1", 1000.0);
    mixed.readings[0].facets.push(facet("yes"));
    let mut second = mixed.readings[0].clone();
    second.facets[0].value = "no".into();
    mixed.readings.push(second);
    assert_eq!(change(&compare(&[cached[0].clone(), mixed])), Change::NotComparable);
    // Two wild repetitions explain everything, and so nothing.
    let wild = |name, iops: [f64; 2]| side(name, iops.map(|iops| row(iops, 0.01, 60)).to_vec());
    let fell = compare(&[wild("before", [20_000.0, 110_000.0]), wild("after", [300.0, 4000.0])]);
    assert_eq!(change(&fell), Change::PerhapsSlower);
    assert!(!fell.says[0].contains("noise"), "{:?}", fell.says);
}

#[test]
fn rows_of_two_articles_meet_by_name_only() {
    let tables = published::all().unwrap();
    let sides = ["ix4-200d", "x4500"].map(|name| {
        let table = tables.iter().find(|t| t.name == name).unwrap();
        Side { name: name.into(), readings: vec![ResultSet::of_published(table, &judge_published(table))] }
    });
    let comparison = compare(&sides);
    let rows: usize = sides.iter().map(|s| s.readings[0].rows.len()).sum();
    assert_eq!(comparison.tests.len(), rows, "none of their names is in both, so every row stands alone");
    assert!(comparison.tests.iter().all(|t| t.cells.iter().flatten().count() == 1));
}

#[test]
fn a_run_meets_the_published_row_of_its_load_by_name_or_pattern() {
    let table = published::all().unwrap().into_iter().find(|t| t.name == "ix4-200d").unwrap();
    let article = ResultSet::of_published(&table, &judge_published(&table));
    let mut header = synthetic::header(synthetic::suite("vmware", 6));
    header.array =
        Some(assay_model::array::shipped::FILES.iter().find(|(n, _)| *n == "ix4-200d").unwrap().1.into());
    let summary = summarize(&header, &synthetic::events(&header, Target::default()));
    let judgement = judge(&header, &summary).unwrap().unwrap();
    let run = ResultSet::of_run(&header, &summary, &[], Some(&judgement));
    let names: Vec<&str> =
        run.rows.iter().map(|r| article.matching(r, &run).unwrap().test.as_str()).collect();
    assert_eq!(
        names,
        [
            "Test 001a Max Throughput-100%Read",
            "Test 001b RealLife-60%Rand-65%Read",
            "Max Throughput-50%Read",
            "Random-8k-70%Read"
        ]
        .map(|n| article.rows.iter().map(|r| r.test.as_str()).find(|t| t.ends_with(n)).unwrap()),
        "rows that ran side by side are other loads"
    );
    let sides = [("run", run), ("article", article)].map(|(n, r)| Side { name: n.into(), readings: vec![r] });
    let comparison = compare(&sides);
    assert_eq!(
        change(&comparison),
        Change::PerhapsSlower,
        "nothing is known of the spread of a published row"
    );
    assert!(!comparison.says[0].contains("Repeat"), "an article is not repeated: {:?}", comparison.says);
    let cell = comparison.tests[0].cells[0].as_ref().unwrap();
    assert!(cell.expected.is_some() && !cell.is_bound);
}

/// A run beside the prediction of its array was "spread unknown, so no change is claimed", whatever the interval said.
#[test]
fn a_run_is_held_against_the_interval_of_a_prediction() {
    let word = |measured: f64, is_bound: bool, is_first: bool| {
        let expected = Some(Bounds { lo: 900.0, value: 1_000.0, hi: 1_200.0 });
        let mut predicted = side("array", vec![Row { expected, is_bound, ..row(1_000.0, 0.0, 0) }]);
        predicted.readings[0].source = Source::Prediction;
        let mut sides = [side("run", vec![row(measured, 0.01, 60)]), predicted];
        if is_first {
            sides.reverse();
        }
        let comparison = compare(&sides);
        let against = comparison.tests[0].cells[1].as_ref().unwrap().against.clone().unwrap();
        assert_eq!(against.spread_from, SpreadSource::Prediction);
        assert!(!comparison.says[0].contains("spread unknown"), "{:?}", comparison.says);
        (against.change, against.iops.ends().map(|(lo, hi)| [lo, hi].map(|end| (end * 100.0).round())))
    };
    assert_eq!(word(1_150.0, false, false), (Change::AsPredicted, Some([78.0, 104.0])));
    assert_eq!(word(600.0, false, false), (Change::Faster, Some([150.0, 200.0])));
    assert_eq!(word(600.0, false, true), (Change::Slower, Some([50.0, 67.0])));
    assert_eq!(word(600.0, true, false), (Change::WithinBound, None));
    assert_eq!(word(1_300.0, true, true), (Change::Faster, None));
}

/// A test that a run could not measure got the figures of another of its tests that had the same load.
#[test]
fn a_test_that_is_missing_is_not_replaced_by_another_that_both_sides_have() {
    let named = |test: &str, iops: f64| Row { test: test.into(), ..row(iops, 0.01, 60) };
    let side = |name: &str, rows: Vec<Row>| Side {
        name: name.into(),
        readings: vec![ResultSet { id: name.into(), rows, ..ResultSet::default() }],
    };
    let whole = || side("whole", vec![named("first", 100.0), named("second", 200.0)]);
    let comparison = compare(&[whole(), side("part", vec![named("first", 110.0)])]);
    let second = comparison.tests.iter().find(|test| test.test == "second").unwrap();
    assert!(second.cells[1].is_none(), "{:?}", second.cells[1]);
    // Under another name the same load is the same test.
    let comparison = compare(&[whole(), side("renamed", vec![named("first", 110.0), named("third", 210.0)])]);
    assert_eq!(comparison.tests[1].cells[1].as_ref().map(|cell| cell.iops), Some(210.0));
}

#[test]
fn expectations_are_compared_with_each_other_where_none_is_only_a_bound() {
    for (a, b, ratio) in
        [(false, false, Some(1.5)), (true, false, None), (false, true, None), (true, true, None)]
    {
        let expecting = |value, is_bound| {
            let interval = Bounds { lo: value * 0.9, value, hi: value * 1.1 };
            Row { expected: Some(interval), is_bound, ..row(100.0, 0.001, 60) }
        };
        let sides = [side("a", vec![expecting(200.0, a)]), side("b", vec![expecting(300.0, b)])];
        let comparison = compare(&sides);
        let against = comparison.tests[0].cells[1].as_ref().unwrap().against.as_ref().unwrap();
        assert_eq!(against.expected, ratio, "bounds: {a}, {b}");
    }
}

#[test]
fn twice_the_paths_for_the_same_rate_are_reported_as_no_bottleneck() {
    let reading = |paths: u32| {
        let mut header = synthetic::header(synthetic::suite("vmware", 6));
        let file = assay_model::array::shipped::FILES.iter().find(|(n, _)| *n == "hdd-7200").unwrap().1;
        header.array =
            Some(file.replace("disks = 1\n", &format!("disks = {paths}\n")).replace("\"single\"", "0"));
        let summary = summarize(&header, &synthetic::events(&header, Target::default()));
        let judgement = judge(&header, &summary).unwrap().unwrap();
        ResultSet::of_run(&header, &summary, &[], Some(&judgement))
    };
    let sides = [2, 4].map(|n| Side { name: n.to_string(), readings: vec![reading(n)] });
    let found = compare(&sides).across;
    assert!(
        found
            .iter()
            .any(|f| f.says.contains("disks are not the bottleneck: going from 2 to 4 changed the rate by")),
        "{found:?}"
    );
}
