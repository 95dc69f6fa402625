//! Plan text in, resolved plan or message out.

use crate::units::{Bytes, KIB, Nanos, PerSecond};
use crate::{
    Arrivals, Data, Distribution, Flush, Flushes, Overrides, Pacing, Plan, PlanFile, Semantics,
    suites::SUITES,
};

fn resolve(text: &str, over: &Overrides) -> Result<Plan, String> {
    PlanFile::parse("plan.toml", text).and_then(|f| f.resolve(over)).map_err(|e| e.to_string())
}

fn refused(text: &str) -> String {
    resolve(text, &Overrides::default()).expect_err("this plan must be refused")
}

fn overrides(sets: &[&str]) -> Overrides {
    let mut over = Overrides::default();
    for set in sets {
        over.set(set).unwrap();
    }
    over
}

const SMALL: &str = "[[test]]\nname = \"t\"\naccess = [{ size = \"4KiB\", read = 70, random = 100 }]\n";

#[test]
fn every_suite_resolves_and_says_where_its_numbers_come_from() {
    for suite in SUITES {
        let file = PlanFile::parse(suite.name, suite.text).unwrap();
        let plan = file.resolve(&Overrides::default()).unwrap();
        assert!(!plan.source.is_empty() && !plan.about.is_empty(), "{}", suite.name);
    }
}

#[test]
fn the_vmware_suite_is_the_one_people_compare_by() {
    let plan = resolve(SUITES[0].text, &Overrides::default()).unwrap();
    let shapes: Vec<(u64, f64, f64)> =
        plan.jobs().map(|j| (j.mix[0].size.0 / KIB, j.mix[0].read, j.mix[0].random)).collect();
    assert_eq!(shapes, [(32, 100.0, 0.0), (8, 65.0, 60.0), (32, 50.0, 0.0), (8, 70.0, 100.0)]);
    assert_eq!(plan.semantics, Semantics::Iometer);
    for (test, job) in plan.tests.iter().zip(plan.jobs()) {
        assert_eq!((job.outstanding, job.workers, job.reconnect_every), (64, 1, Some(500)));
        assert_eq!(test.steps[0].stop.time, Nanos::from_secs(120));
    }
}

#[test]
fn super_atto_sweeps_fifteen_sizes_twice() {
    let plan = resolve(SUITES[2].text, &Overrides::default()).unwrap();
    assert_eq!(plan.tests.iter().map(|t| t.steps.len()).collect::<Vec<_>>(), [15, 15]);
    assert_eq!(plan.tests[0].steps[0].label(), "size=0.5KiB");
    assert_eq!(plan.tests[1].steps[14].jobs[0].mix[0].size, Bytes(8 << 20));
}

#[test]
fn quick_shortens_every_step_and_says_so() {
    let quick = Overrides { quick: true, ..Overrides::default() };
    for suite in SUITES {
        let plan = resolve(suite.text, &quick).unwrap();
        assert!(plan.quick);
        for step in plan.tests.iter().flat_map(|t| &t.steps) {
            assert!(step.stop.time <= Nanos::from_secs(10) && step.warmup <= Nanos::from_secs(1));
        }
    }
    assert_eq!(resolve(SUITES[0].text, &quick).unwrap().tests[0].steps[0].stop.time, Nanos::from_secs(5));
}

#[test]
fn later_layers_hide_earlier_ones() {
    let text = "[defaults]\noutstanding = 4\nrun = \"1min\"\n[[test]]\nname = \"a\"\noutstanding = 8\n\
        access = [{ size = \"4KiB\" }]\n[[test]]\nname = \"b\"\naccess = [{ size = \"4KiB\" }]\n\
        [[test.job]]\nname = \"x\"\noutstanding = 16\n[[test.job]]\nname = \"y\"\n";
    let plan = resolve(text, &Overrides::default()).unwrap();
    assert_eq!(plan.jobs().map(|j| j.outstanding).collect::<Vec<_>>(), [8, 16, 4]);
    let plan = resolve(text, &overrides(&["outstanding=32", "run=20s", "size=64KiB"])).unwrap();
    assert!(plan.jobs().all(|j| j.outstanding == 32 && j.mix[0].size.0 == 65536));
    assert_eq!(plan.tests[0].steps[0].stop.time, Nanos::from_secs(20));
}

#[test]
fn a_sweep_unrolls_into_steps_and_set_fixes_it() {
    let text = format!("{SMALL}sweep = {{ outstanding = [1, 2, 4], read = [0, 100] }}\n");
    let plan = resolve(&text, &Overrides::default()).unwrap();
    let labels: Vec<String> = plan.tests[0].steps.iter().map(crate::Step::label).collect();
    assert_eq!(labels[..3], ["outstanding=1 read=0", "outstanding=1 read=100", "outstanding=2 read=0"]);
    assert_eq!(labels.len(), 6);
    let plan = resolve(&text, &overrides(&["outstanding=9"])).unwrap();
    assert_eq!(
        plan.tests[0].steps.iter().map(crate::Step::label).collect::<Vec<_>>(),
        ["read=0", "read=100"]
    );
}

#[test]
fn pace_and_data_have_their_forms() {
    let pace = |text: &str| {
        resolve(&format!("{SMALL}{text}\n"), &Overrides::default())
            .map(|p| p.tests[0].steps[0].jobs[0].pacing)
    };
    let rate = PerSecond(2000.0);
    assert_eq!(pace("pace = { rate = \"2000/s\" }"), Ok(Pacing::Throttled { rate }));
    let open = Pacing::Open { rate, arrivals: Arrivals::Poisson };
    assert_eq!(pace("pace = { rate = \"2000/s\", arrivals = \"poisson\" }"), Ok(open));
    assert_eq!(pace("pace = \"closed\""), Ok(Pacing::Closed));
    let swept = format!(
        "{SMALL}pace = {{ rate = 1, arrivals = \"poisson\" }}\nsweep = {{ rate = [500, \"2000/s\"] }}\n"
    );
    let plan = resolve(&swept, &Overrides::default()).unwrap();
    assert_eq!(plan.tests[0].steps[1].jobs[0].pacing, open);
    let data = resolve(&format!("{SMALL}data = {{ compress = 2 }}\n"), &Overrides::default()).unwrap();
    assert_eq!(data.jobs().next().unwrap().data, Data::Reducible { compress: 2.0, dedupe: 1.0 });
}

#[test]
fn a_limit_follows_its_test_when_only_leaves_tests_out() {
    let test = |name: &str| format!("[[test]]\nname = \"{name}\"\naccess = [{{ size = \"4KiB\" }}]\n");
    let limit = "[[limit]]\nfail_if = \"p99 > 1ms\"\ntest = \"Random\"\n";
    let text = format!("{}{}{limit}", test("Random"), test("Random 8k"));
    let file = PlanFile::parse("p.toml", &text).unwrap();
    let limits = |only: &str| {
        let over = Overrides { only: vec![only.into()], ..Overrides::default() };
        file.resolve(&over).unwrap().limits.len()
    };
    assert_eq!(limits("Random 8k"), 0, "another test with its name as a part");
    assert_eq!(limits("Random"), 1);
}

#[test]
fn only_keeps_the_named_steps_of_a_sweep() {
    let text = "[[test]]\nname = \"ladder\"\naccess = [{ read = 100 }]\n\
                sweep = { size = [\"4KiB\", \"64KiB\"], outstanding = [1, 16] }\n";
    let check = |only: &[&str], expected: &[&str]| {
        let over = Overrides { only: only.iter().map(|o| (*o).into()).collect(), ..Overrides::default() };
        let plan = resolve(text, &over).unwrap();
        let labels: Vec<String> = plan.tests.iter().flat_map(|t| &t.steps).map(|s| s.label()).collect();
        assert_eq!(labels, expected, "{only:?}");
    };
    check(&["ladder size=64KiB outstanding=1"], &["size=64KiB outstanding=1"]);
    check(&["4kib"], &["size=4KiB outstanding=1", "size=4KiB outstanding=16"]);
    check(&["outstanding=1"], &["size=4KiB outstanding=1", "size=64KiB outstanding=1"]);
    check(&["64K"], &["size=64KiB outstanding=1", "size=64KiB outstanding=16"]);
    check(
        &["size=4KiB outstanding=16", "64KiB outstanding=1"],
        &["size=4KiB outstanding=16", "size=64KiB outstanding=1"],
    );
    let over = Overrides { only: vec!["size=8KiB".into()], ..Overrides::default() };
    let message = resolve(text, &over).unwrap_err();
    assert!(message.contains("steps of ladder: size=4KiB outstanding=1, size=4KiB"), "{message}");
}

#[test]
fn only_keeps_the_named_tests() {
    let only = |part: &str| Overrides { only: vec![part.into()], ..Overrides::default() };
    assert_eq!(resolve(SUITES[0].text, &only("reallife")).unwrap().tests.len(), 1);
    assert_eq!(resolve(SUITES[0].text, &only("max thr")).unwrap().tests.len(), 2);
    let message = resolve(SUITES[0].text, &only("bogus")).unwrap_err();
    assert!(message.starts_with("--only bogus: no test or step has this in its name"), "{message}");
    let message = resolve(SUITES[0].text, &only("RealLife,Random")).unwrap_err();
    assert!(message.ends_with("give each its own: --only RealLife --only Random"), "{message}");
}

#[test]
fn a_plan_survives_being_stored() {
    for suite in SUITES {
        let plan = resolve(suite.text, &Overrides::default()).unwrap();
        let text = serde_json::to_string(&plan).unwrap();
        assert_eq!(serde_json::from_str::<Plan>(&text).unwrap(), plan);
    }
}

#[test]
fn every_mistake_is_answered_with_line_field_and_what_would_do() {
    let cases = [
        ("[[test]\n", "plan.toml:1: "),
        ("name = \"x\"\n", "plan.toml:1: a plan needs at least one [[test]]"),
        ("[[test]]\naccess = [{ size = 4 }]\n", "plan.toml:1: test[0]: a test needs a `name`"),
        (
            "[[test]]\nname = \"t\"\noutstandng = 4\n",
            "plan.toml:3: test \"t\": outstandng: there is no such field; did you mean `outstanding`?",
        ),
        (
            "[[test]]\nname = \"t\"\naccess = [{ size = \"4KiB\", read = 120 }]\n",
            "plan.toml:3: test \"t\": access[0].read: `120` must be a number from 0 to 100 (percent)",
        ),
        (
            "[[test]]\nname = \"t\"\naccess = [{ size = \"4 potatoes\" }]\n",
            "plan.toml:3: test \"t\": access[0].size: `potatoes` in `4 potatoes` is not a unit of size; \
             use one of B, KiB, MiB, GiB, TiB, KB, MB, GB, TB, k, m, g, t",
        ),
        (
            "[[test]]\nname = \"t\"\n",
            "plan.toml:1: test \"t\": needs `access`, \
             for example access = [{ size = \"8KiB\", read = 70, random = 100 }]",
        ),
        (
            "semantics = \"iometre\"\n[[test]]\nname = \"t\"\n",
            "plan.toml:1: semantics: `iometre` is not known; did you mean `iometer`?",
        ),
        (
            "[[test]]\nname = \"t\"\naccess = [{ size = 4096, weight = 3 }, { size = 512 }]\n",
            "plan.toml:3: test \"t\": access[1]: needs a `weight`, because there are several lines",
        ),
        (
            "semantics = \"iometer\"\n[[test]]\nname = \"t\"\naccess = [{ size = 4096, weight = 30 }]\n",
            "plan.toml:2: test \"t\": access: under Iometer semantics the weights are \
             percent and must sum to 100, not 30",
        ),
        (
            "[[test]]\nname = \"t\"\nworkers = 0\n",
            "plan.toml:3: test \"t\": workers: `0` must be a whole number from 1 to 256",
        ),
        (
            "[[test]]\nname = \"t\"\npace = { arrivals = \"poison\", rate = 3 }\n",
            "plan.toml:3: test \"t\": pace.arrivals: `poison` is not known; did you mean `poisson`?",
        ),
        (
            "[[test]]\nname = \"t\"\naccess = [{ size = \"4KiB\" }]\nsweep = { siez = [\"4KiB\"] }\n",
            "plan.toml:4: test \"t\": sweep.siez: there is no such field; did you mean `size`?",
        ),
        (
            "[[test]]\nname = \"t\"\naccess = [{ size = \"4KiB\" }]\nsweep = { outstanding = [1, 0] }\n",
            "plan.toml:4: test \"t\": sweep.outstanding[1]: `0` must be a whole number from 1 to 4096",
        ),
        (
            "[[test]]\nname = \"t\"\naccess = [{ size = \"4KiB\" }]\nrun = \"soon\"\n",
            "plan.toml:4: test \"t\": run: `soon` has no number in front; write it like `2min`",
        ),
        (
            "[[test]]\nname = \"t\"\naccess = [{ size = \"1000\" }]\nverify = true\n",
            "plan.toml:1: test \"t\": verify: size, align and reply must be multiples of 512 bytes",
        ),
    ];
    for (text, expected) in cases {
        let message = refused(text);
        assert!(message.starts_with(expected), "for {text:?}\n  got      {message}\n  expected {expected}");
    }
}

#[test]
fn overrides_are_checked_like_fields() {
    let message = |set: &str| Overrides::default().set(set).unwrap_err().to_string();
    assert_eq!(
        message("outstandin=4"),
        "--set outstandin=4: there is no such field; did you mean `outstanding`?"
    );
    assert_eq!(message("run"), "--set run: must look like KEY=VALUE, for example run=20s");
    assert_eq!(message("workers=none"), "--set workers=none: `none` must be a whole number from 1 to 256");
}

#[test]
fn several_values_of_a_set_key_are_a_sweep_in_place_of_the_plan_s() {
    let plan = resolve(SUITES[0].text, &overrides(&["size=4KiB,64KiB", "run=1s"])).unwrap();
    let labels: Vec<String> = plan.tests[0].steps.iter().map(crate::Step::label).collect();
    assert_eq!(labels, ["size=4KiB", "size=64KiB"]);
    let bad = Overrides::default().set("size=4KiB,many").unwrap_err().to_string();
    assert!(bad.starts_with("--set size=4KiB,many: "), "{bad}");
}

#[test]
fn a_key_is_set_once() {
    let mut over = overrides(&["outstanding=4"]);
    let twice = over.set("outstanding=8").unwrap_err().to_string();
    assert_eq!(
        twice,
        "--set outstanding=8: `outstanding` is set twice; give it once, or several values as outstanding=A,B to \
         sweep it"
    );
    over.open_loop(crate::units::PerSecond(100.0)).unwrap();
    assert!(over.set("rate=5/s").is_err());
}

#[test]
fn a_rate_makes_an_open_loop_of_any_plan() {
    for suite in SUITES {
        let mut over = Overrides::default();
        over.open_loop(crate::units::PerSecond(5000.0)).unwrap();
        let plan = resolve(suite.text, &over).unwrap();
        assert_ne!(plan.semantics, Semantics::Iometer);
        let open = Pacing::Open { rate: crate::units::PerSecond(5000.0), arrivals: Arrivals::Poisson };
        let measured = plan.tests.iter().filter(|t| t.role == crate::Role::Measured);
        assert!(measured.flat_map(|t| &t.steps).flat_map(|s| &s.jobs).all(|job| job.pacing == open));
    }
}

#[test]
fn places_flushes_and_trims_are_read_with_their_units() {
    let plan = |text: &str| {
        let text = format!("[[test]]\nname = \"t\"\nrun = \"10s\"\n{text}\n");
        PlanFile::parse("p", &text).and_then(|file| file.resolve(&Overrides::default()))
    };
    let line = |fields: &str| {
        plan(&format!("access = [{{ size = 4096, random = 100, {fields} }}]"))
            .map(|plan| plan.tests[0].steps[0].jobs[0].mix[0].clone())
            .map_err(|error| error.to_string())
    };
    assert_eq!(line("distribution = { zipf = 1.2 }").unwrap().distribution, Distribution::Zipf(1.2));
    assert_eq!(line("distribution = \"uniform\"").unwrap().distribution, Distribution::Uniform);
    let zones =
        line("distribution = { zones = [{ share = 80, size = \"20%\" }, { share = 20, size = \"4GiB\" }] }");
    assert_eq!(zones.unwrap().distribution.to_string(), "80 % in 20%, 20 % in 4GiB");
    for (fields, expected) in [
        ("distribution = { zipf = 1 }", "zipf = 1 has no distribution"),
        ("distribution = { zipf = 0.5, pareto = 0.2 }", "needs exactly one of"),
        ("distribution = { zones = [{ share = 50, size = \"20%\" }] }", "the shares of the zones sum to 50"),
        ("distribution = { normal = 0 }", "must be more than zero"),
        ("distribution = \"even\"", "is not known"),
        ("sequence = 0", "must be a whole number from 1"),
    ] {
        let error = line(fields).expect_err(fields);
        assert!(error.contains(expected), "{fields}: {error}");
    }
    let job = |text: &str| plan(&format!("access = [{{ size = 4096, read = 0 }}]\n{text}"));
    let whole =
        job("window = { offset = \"25%\", size = \"1GiB\" }\nflush = { every = 8 }\nstart_delay = \"2s\"");
    let first = whole.unwrap().tests[0].steps[0].jobs[0].clone();
    assert_eq!(first.window.of(8 << 30), 2 << 30..3 << 30);
    assert_eq!(first.flush, Some(Flushes { every: 8, kind: Flush::Data }));
    assert_eq!(first.start_delay, Nanos::from_secs(2));
    let late = job("start_delay = \"10s\"").unwrap_err().to_string();
    assert!(late.contains("leaves nothing of the measured window, 10s"), "{late}");
    let trimming = plan("access = [{ size = 4096, read = 50, change = \"trim\" }]").unwrap();
    assert!(trimming.trims() && trimming.writes() && trimming.notes.len() == 2, "{:?}", trimming.notes);
}

#[test]
fn zones_are_those_of_random_writes_that_fit_into_them() {
    let plan = |fields: &str, line: &str| {
        let text = format!(
            "semantics = \"fio\"\n[[test]]\nname = \"t\"\naccess = [{{ size = \"64KiB\", {line} }}]\n{fields}\n"
        );
        resolve(&text, &Overrides::default()).map_err(|error| error.to_string())
    };
    let (zones, random) = ("zoned = { size = \"4MiB\", open = 2 }", "read = 0, random = 100");
    let zoned = plan(zones, random).unwrap().jobs().next().unwrap().zoned.unwrap();
    assert_eq!((zoned.bytes, zoned.open), (Bytes(4 << 20), 2));
    for (fields, line, expected) in [
        (zones, "read = 50, random = 100", "zoned: is for random writes"),
        (zones, "read = 0", "zoned: is for random writes"),
        ("zoned = { size = \"32KiB\" }", random, "an I/O of 64KiB does not fit"),
        ("zoned = { size = \"64KiB\" }", random, "a zone of 64KiB is too small; it has 1MiB at least"),
        ("zoned = { open = 2 }", random, "needs `size` of more than 0"),
        (
            "workers = 3\nzoned = { size = \"4MiB\", open = 2 }",
            random,
            "3 workers need at least one open zone each",
        ),
        ("flow = 0", random, "must be a whole number from 1 to 1000"),
    ] {
        let error = plan(fields, line).expect_err(fields);
        assert!(error.contains(expected), "{fields}: {error}");
    }
}

#[test]
fn a_job_may_use_a_part_of_the_span() {
    let first = |text: &str| resolve(&format!("{SMALL}{text}\n"), &Overrides::default()).unwrap();
    for window in ["\"4MiB\"", "{ size = \"4MiB\" }"] {
        let plan = first(&format!("window = {window}"));
        assert_eq!(plan.jobs().next().unwrap().span, Some(Bytes(4 << 20)));
        assert!(plan.notes.is_empty(), "{:?}", plan.notes);
    }
    assert_eq!(first("window = \"25%\"").jobs().next().unwrap().window.of(1000), 0..250);
    let swept = first("sweep = { window = [\"1MiB\", \"50%\"] }");
    assert_eq!(
        swept.tests[0].steps.iter().map(crate::Step::label).collect::<Vec<_>>(),
        ["window=1MiB", "window=50%"]
    );
    // Its name in older plans.
    let old = first("span = \"4MiB\"");
    assert_eq!(old.jobs().next().unwrap().span, Some(Bytes(4 << 20)));
    assert!(old.notes[0].starts_with("The plan says `span`, the old name of `window`"), "{:?}", old.notes);
    assert_eq!(first("sweep = { span = [\"1MiB\"] }").tests[0].steps[0].label(), "window=1MiB");
    assert!(
        refused(&format!("{SMALL}span = \"1MiB\"\nwindow = \"2MiB\"\n")).contains("the old name of `window`")
    );
    assert_eq!(resolve(SMALL, &Overrides::default()).unwrap().jobs().next().unwrap().span, None);
    assert!(refused(&format!("{SMALL}span = \"0\"\n")).contains("must be more than zero"));
}

/// `--rate` on a suite kept the depth of its closed loop: 1 in `latency-qd1`, which capped the rate in silence.
#[test]
fn a_rate_takes_the_depth_of_a_closed_loop_away_and_no_other() {
    let depths = |text: &str, sets: &[&str]| {
        let mut over = overrides(sets);
        over.open_loop(PerSecond(500.0)).unwrap();
        let plan = resolve(text, &over).unwrap();
        plan.jobs().map(|job| job.outstanding).collect::<Vec<_>>()
    };
    let with = |more: &str| format!("{SMALL}{more}");
    assert_eq!(depths(&with("outstanding = 1\n"), &[]), [crate::limits::OPEN_OUTSTANDING]);
    assert_eq!(depths(&with("outstanding = 1\n"), &["outstanding=4"]), [4]);
    let open = "outstanding = 8\npace = { rate = \"2000/s\", arrivals = \"poisson\" }\n";
    assert_eq!(depths(&with(open), &[]), [8]);
    assert_eq!(depths(&with("sweep = { outstanding = [1, 2] }\n"), &[]), [1, 2]);
}

#[test]
fn an_open_loop_without_a_depth_gets_one_that_is_no_limit() {
    let depth = |size: &str, more: &str| {
        let text = format!("[[test]]\nname = \"t\"\naccess = [{{ size = \"{size}\" }}]\n{more}\n");
        resolve(&text, &overrides(&[])).unwrap().jobs().next().unwrap().outstanding
    };
    let open = "pace = { rate = \"400/s\", arrivals = \"poisson\" }";
    assert_eq!([depth("4KiB", open), depth("1MiB", open), depth("64MiB", open)], [256, 256, 4]);
    assert_eq!([depth("4KiB", "pace = { rate = \"400/s\" }"), depth("4KiB", "")], [1, 1], "closed loops");
    assert_eq!(depth("4KiB", &format!("{open}\noutstanding = 3")), 3);
}
