//! Numbers with their errors: repetitions, windows that last until something is known, steady states, prices, limits
//! for scripts, journals and scale checks.

use crate::story::{DONE, Story};

const PLAN: &str = "name = \"small\"\n[[test]]\nname = \"random reads\"\nrun = \"1s\"\n\
                    access = [{ size = \"4KiB\", random = 100 }]\noutstanding = 4\n";

fn story() -> Story {
    let story = Story::new();
    story.write("small.toml", PLAN);
    story
}

#[test]
fn repetitions_of_sides_that_take_turns_are_stored_shown_and_compared_by_their_labels() {
    let story = story();
    let line =
        ["run", "small.toml", "null:", "sim:nvme", "--each", "--repeat", "2", "--label", "ab", "--json"];
    let held = story.assay(&line).ends(DONE).json();
    assert_eq!(held["schema"], "assay.repeats/1");
    let runs = |side: usize| -> Vec<String> {
        let runs = held["sides"][side]["runs"].as_array().unwrap();
        runs.iter().map(|run| run.as_str().unwrap().to_owned()).collect()
    };
    assert_eq!((runs(0).len(), runs(1).len()), (2, 2));
    // A B A B: the newest run of all is the second of the second side.
    let order: Vec<String> = story
        .assay(&["runs", "--json"])
        .ends(DONE)
        .json()
        .as_array()
        .unwrap()
        .iter()
        .map(|run| run["run"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(order, [&runs(1)[1], &runs(0)[1], &runs(1)[0], &runs(0)[0]].map(String::clone));
    let first = story.assay(&["show", &runs(1)[1], "--json"]).ends(DONE).json();
    assert_eq!(first["repetition"]["group"], runs(0)[0].as_str());
    assert_eq!((&first["repetition"]["side"], &first["repetition"]["number"]), (&1.into(), &2.into()));
    assert_eq!(first["label"], "ab-2");

    let shown = story.assay(&["show", "ab-1"]).ends(DONE).out;
    assert!(shown.contains("2 repetitions of small on null:") && shown.contains("CV %"), "{shown}");
    story.assay(&["report", "ab-1", "-o", "ab.html"]).ends(DONE);
    assert!(String::from_utf8(story.read("ab.html")).unwrap().contains("<svg"));
    story.assay(&["compare", "ab-1", "ab-2", "--format", "md"]).ends(DONE).says(&["| Side | IOPS |"]);
    story.assay(&["export", "ab-1"]).ends(DONE);
    assert!(runs(0).iter().all(|run| !story.read(&format!("{run}.assay")).is_empty()));
    story.assay(&["export", "ab-1", "-o", "x.assay"]).refused(&["2 repetitions", "leave out -o"]);
}

#[test]
fn a_limit_for_scripts_ends_with_three_and_names_the_test() {
    let story = story();
    // Single runs have no spread that could explain a change.
    let sides = ["sim:nvme", "sim:hdd-7200", "--each", "--size", "1GiB", "--label", "g"];
    story.assay(&[&["run", "small.toml"], &sides[..]].concat()).ends(DONE);
    let broken = story.assay(&["compare", "g-1", "g-2", "--fail-if", "iops -50%"]).ends(3);
    broken.says(&["FAILED IOPS -50%", "random reads of g-2", "IOPS changed by -"]);
    story.assay(&["compare", "g-2", "g-1", "--fail-if", "iops -50%"]).ends(DONE);
    story.assay(&["compare", "g-1", "g-2", "--fail-if", "p42 +1%"]).refused(&["p42 +1%"]);
}

#[test]
fn a_price_becomes_a_cost_in_tables_documents_and_comparisons() {
    let story = story();
    story.assay(&["target", "set", "sim:nvme", "--price", "300EUR"]).ends(DONE);
    let table = story.assay(&["run", "small.toml", "sim:nvme"]).ends(DONE).out;
    assert!(table.contains("EUR per 1000 IOPS") && table.contains("EUR per MiB/s"), "{table}");
    let held = story.assay(&["run", "small.toml", "null:", "--price", "5 USD", "--json"]).ends(DONE).json();
    let (test, iops) = (&held["tests"][0], held["tests"][0]["total"]["iops"].as_f64().unwrap());
    let cost = test["cost"]["per_1000_iops"].as_f64().unwrap();
    assert!((cost - 5000.0 / iops).abs() < 1e-6 * cost && test["cost"]["currency"] == "USD", "{cost} {iops}");
    story.assay(&["compare", "last~1", "last"]).ends(DONE).says(&["EUR per 1000 IOPS", "USD per MiB/s"]);
    story.assay(&["target", "list"]).ends(DONE).says(&["sim:nvme  300 EUR"]);
    story.assay(&["run", "small.toml", "null:", "--price", "free"]).refused(&["free", "5500EUR"]);
}

/// Rounds of a second: five and more of them, and the result is the last five.
#[test]
fn a_steady_state_ends_the_window_and_its_last_five_rounds_are_the_result() {
    let story = story();
    let line = ["run", "small.toml", "sim:nvme", "--set", "steady=1s", "--json"];
    let held = story.assay(&line).ends(DONE).json();
    let (test, state) = (&held["tests"][0], &held["tests"][0]["steady_state"]);
    let rounds = state["rounds"].as_array().unwrap().len();
    assert_eq!((&state["tracks"], &state["round_s"]), (&"iops".into(), &1.0.into()));
    assert!((5..=25).contains(&rounds) && state["first"] == rounds - 5, "{state}");
    // The 25th round may be the one that makes it steady.
    assert!(rounds == 25 || state["is_reached"] == true, "the window ends before the steady state: {state}");
    let iops: Vec<f64> =
        state["rounds"].as_array().unwrap().iter().map(|round| round["iops"].as_f64().unwrap()).collect();
    // As SNIA's PTS has it: a range of 20 % of the mean, and a fitted line that rises or falls by 10 %.
    let steady = |five: &[f64]| {
        let mean = five.iter().sum::<f64>() / 5.0;
        let (least, most) = five.iter().fold((f64::MAX, 0.0_f64), |(l, m), x| (l.min(*x), m.max(*x)));
        let slope = five.iter().zip([-2.0, -1.0, 0.0, 1.0, 2.0]).map(|(x, at)| x * at).sum::<f64>() / 10.0;
        most - least <= 0.2 * mean && (4.0 * slope).abs() <= 0.1 * mean
    };
    assert!(!iops[..rounds - 1].windows(5).any(steady), "the window goes on after the steady state: {state}");
    assert!((test["seconds"].as_f64().unwrap() - 5.0).abs() < 0.5, "{}", test["seconds"]);
    assert_eq!(test["series"].as_array().unwrap().len(), 5);
}

#[test]
fn a_precondition_writes_the_span_as_often_as_asked_and_is_no_result() {
    let story = story();
    story.write("write.toml", format!("precondition = \"2x\"\n{PLAN}"));
    let held = story.assay(&["run", "write.toml", "t.dat", "--size", "4MiB", "--json"]).ends(DONE).json();
    assert_eq!(held["tests"][0]["name"], "Precondition: fill 2x");
    // Twice 4 MiB in pieces of 128 KiB.
    assert_eq!(held["tests"][0]["write"]["ops"], 64);
    assert_eq!(held["plan"]["tests"][0]["role"], "precondition");
    story.assay(&["run", "write.toml", "t.dat", "--precondition", "99x"]).refused(&["1x to 10x"]);
}

#[test]
fn goals_that_contradict_each_other_are_refused() {
    let story = story();
    let check = |more: &[&str], words: &[&str]| {
        story.assay(&[&["run", "small.toml", "null:"], more].concat()).refused(words);
    };
    check(&["--until", "2%", "--set", "steady=1s"], &["exclude each other"]);
    check(&["--until", "p98:2%"], &["p98", "not a known figure"]);
    check(&["--until", "90%"], &["0.1% to 50%"]);
    check(&["--at-most", "1min"], &["at_most", "run"]);
    check(&["--until", "2%", "--at-most", "5s"], &["at_most: must be 30s or more"]);
}

#[test]
fn a_journal_says_what_each_step_did_and_what_else_changed() {
    let story = story();
    story.assay(&["journal", "show"]).refused(&["there is no store"]);
    let begun = story.assay(&["journal", "new", "tuning", "sim:nvme", "small.toml", "--storage-ram", "8GiB"]);
    begun.ends(DONE).says(&["The path alone", "[next]", "--size 2GiB", "--size 16GiB"]);
    story.assay(&["journal", "new", "tuning", "sim:nvme", "small.toml"]).refused(&["already"]);
    let step = |words: &str, more: &[&str]| {
        let line = ["run", "small.toml", "sim:nvme", "--step", words];
        story.assay(&[&line[..], more].concat()).ends(DONE);
    };
    step("as found", &["--size", "2GiB", "--repeat", "2"]);
    step("deeper queue", &["--size", "2GiB", "--set", "outstanding=16"]);
    step("larger and deeper", &["--size", "16GiB", "--set", "outstanding=32"]);
    let shown = story.assay(&["journal", "show", "-o", "tuning.html"]).ends(DONE).out;
    assert!(shown.contains("1. as found") && shown.contains("3. larger and deeper"), "{shown}");
    assert!(shown.contains("Changed by the records (plan)"), "{shown}");
    assert!(shown.contains("2 changes at once (span, plan)"), "{shown}");
    assert!(String::from_utf8(story.read("tuning.html")).unwrap().contains("<svg"));
    let held = story.assay(&["journal", "show", "tuning", "--json"]).ends(DONE).json();
    assert_eq!(held["steps"].as_array().unwrap().len(), 3);
    assert_eq!(held["steps"][0]["runs"].as_array().unwrap().len(), 2);
    story.assay(&["run", "small.toml", "null:", "--step", "x"]).refused(&["no journal", "journal new"]);
    story.assay(&["journal", "rm", "tuning"]).ends(DONE);
}

#[test]
fn a_scale_check_names_who_gave_up() {
    let story = story();
    let held =
        story.assay(&["scale", "small.toml", "sim:hdd-7200", "--workers", "4", "--json"]).ends(DONE).json();
    assert_eq!(held["schema"], "assay.scale/1");
    let points = held["tests"][0]["points"].as_array().unwrap();
    assert_eq!((points.len(), &points[1]["workers"]), (2, &4.into()));
    assert!(["none", "tester", "host", "storage"].contains(&held["tests"][0]["limit"].as_str().unwrap()));
    story.assay(&["scale", "small.toml", "null:", "--set", "workers=2"]).refused(&["--workers"]);
}
