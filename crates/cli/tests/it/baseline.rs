//! Later runs compared with a baseline.

use assay_testkit::synthetic;

use crate::story::{DONE, Story};

/// Exit code of a broken --fail-if.
const WORSE: i32 = 3;
/// Exit code of one that is neither exceeded nor kept, as far as the results tell.
pub(crate) const UNDECIDED: i32 = 4;
const PLAN: &str = "name = \"nightly\"\n[[test]]\nname = \"random\"\nrun = \"2s\"\n\
    access = [{ size = \"4KiB\", read = 100, random = 100 }]\noutstanding = 1\n";

/// Imports a run of the plan on `null:`, as a device of that service time gives it.
fn import(story: &Story, run: &str, label: &str, service_ns: f64) {
    let mut header = synthetic::header(synthetic::plan(PLAN));
    header.run = run.to_owned();
    header.targets[0].address = "null:".to_owned();
    let device = synthetic::Target { servers: 1, service_ns, ..synthetic::Target::default() };
    let events = synthetic::events(&header, device);
    let mut text =
        format!("{{\"schema\":\"assay.export/1\",\"run\":\"{run}\",\"label\":\"{label}\",\"note\":null}}\n");
    for event in &events {
        text.push_str(&serde_json::to_string(event).unwrap());
        text.push('\n');
    }
    story.write(&format!("{run}.assay"), text);
    story.assay(&["import", &format!("{run}.assay")]).ends(DONE);
}

#[test]
fn a_run_is_held_against_the_baseline_of_its_plan_and_target_in_every_form() {
    let story = Story::new();
    for (run, service_ns) in [("261101-aaaa", 100e3), ("261102-bbbb", 101e3), ("261103-cccc", 99e3)] {
        import(&story, run, "before", service_ns);
    }
    import(&story, "261104-dddd", "after", 200e3);
    let alone = story.assay(&["show", "dddd"]).ends(DONE);
    assert!(!alone.out.contains("CHANGED"), "none is set: {}", alone.out);

    story
        .assay(&["baseline", "set", "before"])
        .ends(DONE)
        .says(&["nightly on null:", "compared with runs labelled before"]);
    let listed = story.assay(&["baseline", "list", "--json"]).ends(DONE).json();
    assert_eq!((&listed[0]["label"], &listed[0]["target"]), (&"before".into(), &"null:".into()));
    let shown = story.assay(&["show", "dddd"]).ends(DONE);
    for words in ["CHANGED  This run against baseline before: slower (x", "random", "slower"] {
        assert!(shown.out.contains(words), "{words}: {}", shown.out);
    }
    let document = story.assay(&["show", "dddd", "--json"]).ends(DONE).json();
    let held = &document["baseline"];
    assert_eq!((&held["name"], &held["worse"]), (&"before".into(), &true.into()));
    let against = &held["comparison"]["tests"][0]["sides"][1]["against_first"];
    assert_eq!(against["change"], "slower");
    assert!(against["iops"]["hi"].as_f64().unwrap() < 0.7, "{against}");
    story.assay(&["report", "dddd", "-o", "r.html"]).ends(DONE);
    let page = String::from_utf8(story.read("r.html")).unwrap();
    assert!(page.contains("Compared with the baseline"), "the report has it");
    let own = story.assay(&["show", "cccc", "--json"]).ends(DONE).json();
    assert!(own["baseline"].is_null(), "a run of the baseline is not compared with itself");

    story.assay(&["baseline", "remove", "null:"]).ends(DONE);
    assert!(story.assay(&["show", "dddd", "--json"]).ends(DONE).json()["baseline"].is_null());
    story.assay(&["baseline", "remove", "null:"]).refused(&["no baseline is set for null:"]);
}

#[test]
fn a_script_gets_exit_code_3_where_a_run_is_worse_than_its_baseline() {
    let story = Story::new();
    story.write("p.toml", PLAN);
    let run = ["run", "p.toml", "null:", "--set", "run=1s", "--set", "warmup=0s"];
    let gated = |limit: &str| story.assay(&[&run[..], &["--fail-if", limit]].concat());
    gated("p99 +10%").refused(&["baseline of nightly on null:", "none is set", "assay baseline set"]);
    story.assay(&[&run[..], &["--label", "calm"]].concat()).ends(DONE);
    // The word "last" is another run tomorrow: what is kept, and said, is the run.
    story
        .assay(&["baseline", "set", "last", "--target", "null:"])
        .ends(DONE)
        .says(&["nightly on null: are compared with run "]);
    story
        .assay(&["baseline", "set", "last", "--target", "/dev/sdz"])
        .refused(&["not made on /dev/sdz", "null:"]);
    // Ten times slower is no machine that does other things too.
    gated("iops -90%").ends(DONE).says(&["CHANGED"]);
    // A change of the load is never taken for a change of the target.
    let other = story.assay(&[&run[..], &["--set", "outstanding=4", "--fail-if", "iops -90%"]].concat());
    other.ends(UNDECIDED).says(&["UNDECIDED IOPS -90%: ", "cannot be compared"]);
    let repeated = story.assay(&[&run[..], &["--repeat", "2", "--fail-if", "iops -90%"]].concat());
    repeated.ends(DONE).says(&["CHANGED"]);
    story.assay(&["rm", "calm"]).ends(DONE);
    assert_eq!(story.assay(&["baseline", "list", "--json"]).ends(DONE).json(), serde_json::json!([]));
}

/// Tests that `--only` left out "were not measured", so that nothing passed.
#[test]
fn a_run_of_some_tests_is_held_against_those_of_its_baseline() {
    let story = Story::new();
    let test = |name: &str| format!("[[test]]\nname = \"{name}\"\naccess = [{{ size = 4096 }}]\n");
    story.write("p.toml", format!("name = \"nightly\"\n{}{}", test("first"), test("second")));
    let run = ["run", "p.toml", "null:", "--set", "run=1s", "--set", "warmup=0s"];
    story.assay(&[&run[..], &["--label", "calm"]].concat()).ends(DONE);
    story.assay(&["baseline", "set", "calm"]).ends(DONE);
    let some = story.assay(&[&run[..], &["--only", "second", "--fail-if", "iops -90%"]].concat());
    some.ends(DONE).says(&["CHANGED"]);
}

/// The simulated disk of a target is replaced by one that takes more than twice as long: single runs have no spread
/// that could explain less.
#[test]
fn a_script_gets_exit_code_3_where_the_target_has_become_slower() {
    let story = Story::new();
    story.write("p.toml", PLAN);
    let fast =
        story.assay(&["arrays", "show", "hdd-7200"]).ends(DONE).out.replace("rpm = 7200", "rpm = 15000");
    let slow = fast
        .replace("rpm = 15000", "rpm = 5400")
        .replace("value = 8.5, range = [8.0, 9.5]", "value = 55, range = [54, 56]");
    let slow = slow.replace("value = 17, range = [15, 20]", "value = 90, range = [89, 91]");
    assert_ne!(fast, slow);
    story.write("disk.toml", fast);
    let run = ["run", "p.toml", "sim:disk.toml", "--size", "400GiB"];
    story.assay(&[&run[..], &["--label", "new"]].concat()).ends(DONE);
    story.assay(&["baseline", "set", "new"]).ends(DONE);
    story.write("disk.toml", slow);
    let gated = |limit: &str| story.assay(&[&run[..], &["--fail-if", limit]].concat());
    let broken = ["CHANGED", "FAILED IOPS -10%: ", "random of this run: IOPS changed by -"];
    gated("iops -10%").ends(WORSE).says(&broken);
    gated("iops -99%").ends(DONE).says(&["CHANGED"]);
}

/// A nightly test without a baseline: absolute limits, typed and in the plan, for one test and for all.
#[test]
fn a_figure_beyond_an_absolute_limit_is_exceeded_kept_or_undecided() {
    let story = Story::new();
    let test = |name: &str| {
        format!("[[test]]\nname = \"{name}\"\npace = {{ rate = \"2000/s\" }}\naccess = [{{ size = 4096 }}]\n")
    };
    let tests = format!("name = \"nightly\"\n{}{}", test("small"), test("RealLife"));
    story.write("p.toml", &tests);
    story.write("limit.toml", format!("{tests}[[limit]]\nfail_if = \"iops < 1000000\"\ntest = \"small\"\n"));
    story.write("bad.toml", format!("{tests}[[limit]]\ntest = \"small\"\n"));
    let run = |plan: &str, conditions: &[&str], run: &str| {
        let mut words = vec!["run", plan, "null:", "--set", run, "--set", "warmup=0s"];
        words.extend(conditions.iter().flat_map(|condition| ["--fail-if", condition]));
        story.assay(&words)
    };
    let long = "run=6s";
    std::thread::scope(|threads| {
        threads.spawn(|| run("p.toml", &["p99 > 1s", "iops < 1", "errors > 0"], long).ends(DONE));
        threads.spawn(|| {
            let broken = run("p.toml", &["RealLife: iops < 1000000", "errors > 0"], long).ends(WORSE);
            let broken = broken.says(&["FAILED RealLife: IOPS < 1,000,000: RealLife "]);
            assert!(!broken.err.contains("small "), "{}", broken.err);
        });
        threads.spawn(|| {
            let broken = run("limit.toml", &[], long).ends(WORSE);
            broken.says(&["FAILED small: IOPS < 1,000,000: small "]);
        });
    });
    // No interval in a second or less: nothing says on which side the figure is.
    run("p.toml", &["iops < 1"], "run=1s").ends(UNDECIDED).says(&[
        "UNDECIDED",
        "without an interval",
        "--set run=10s",
    ]);
    // A limit was judged on the fill before the tests, too, and was undecided for ever.
    let mut words =
        vec!["run", "p.toml", "t.dat", "--size", "1MiB", "--only", "small", "--precondition", "1x"];
    words.extend(["--set", "run=1s", "--set", "warmup=0s", "--fail-if", "iops < 1"]);
    let primed = story.assay(&words).ends(UNDECIDED);
    let is_judged = |line: &&str| line.starts_with("UNDECIDED");
    assert_eq!(primed.err.lines().filter(is_judged).count(), 1, "{}", primed.err);
    // They were found out after the run, as undecided: a night later.
    run("p.toml", &["absent: iops < 1"], long).refused(&["has no test called `absent`; use one of: small"]);
    run("p.toml", &["absent: iops -5%"], long).refused(&["has no test called `absent`"]);
    story.write("absent.toml", format!("{tests}[[limit]]\nfail_if = \"iops < 1\"\ntest = \"absent\"\n"));
    run("absent.toml", &[], long).refused(&["limit: no test is called `absent`"]);
    // A limit of the plan on a test that is left out is not about this run.
    story.assay(&["run", "limit.toml", "null:", "--only", "RealLife", "--set", "ops=100"]).ends(DONE);
    let better = run("p.toml", &["RealLife: p99 < 1us"], "run=1s").ends(UNDECIDED);
    better.says(&["fails the runs that are better"]);
    run("p.toml", &["p99 > 20"], "run=1s").refused(&["a time with its unit"]);
    run("bad.toml", &[], long).refused(&["a limit needs `fail_if`"]);
}
