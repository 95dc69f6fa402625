//! `assay curve` from the command line to a stored, shown, reported and compared result.

use serde_json::Value;

use crate::story::{BAD_INPUT, DONE, Story};

#[test]
fn a_curve_is_a_run_like_any_other() {
    let story = Story::new();
    let done = story.assay(&["curve", "null:", "--run", "100ms", "--label", "first", "--json"]);
    let run: Value = done.ends(DONE).json();
    let curve = &run["curves"]["load"][0];
    let points = curve["points"].as_array().unwrap();
    assert_eq!(points.len(), 10);
    let loads: Vec<&str> = points.iter().map(|point| point["step"].as_str().unwrap()).collect();
    assert_eq!((loads[0], loads[9]), ("load=10%", "load=95%"));
    assert!(curve["maximum"]["iops"].as_f64().unwrap() > 0.0);
    let notes = run["plan"]["notes"].to_string();
    assert!(notes.contains("loads are shares of that"), "{notes}");

    let shown = story.assay(&["show", "first"]).ends(DONE);
    let shown = shown.says(&["response over offered load", "Maximum:", "Offered/s"]);
    // The answer and the ten loads are on one screen; they took 30 lines.
    assert!(shown.out.lines().count() <= 22, "{}", shown.out);
    story
        .assay(&["report", "first", "-o", "-"])
        .ends(DONE)
        .says(&["Response and service time over offered load"]);
    // Both runs are there: the search, and the curve.
    assert_eq!(story.assay(&["runs", "--json"]).ends(DONE).json().as_array().unwrap().len(), 2);

    // Another maximum gives other rates; steps of the same share are compared all the same.
    story.assay(&["curve", "null:", "--run", "100ms", "--label", "second"]).ends(DONE);
    story.assay(&["compare", "first", "second"]).ends(DONE).says(&["load=50%"]);
}

#[test]
fn a_sweep_of_queue_depths_has_its_knee() {
    let story = Story::new();
    let shown = story.assay(&["curve", "null:", "--qd", "--run", "100ms"]).ends(DONE);
    let shown = shown.says(&["rate over queue depth"]);
    // A host that is busy for a part of these steps leaves no knee, and the curve says so.
    if !shown.out.contains("UNRELIABLE: QD") {
        shown.says(&["Knee: QD"]);
        story.assay(&["show", "last", "--explain"]).ends(DONE).says(&["Little's law:"]);
    }
}

/// The suite of databases printed its sweep alone: the data and the log side by side were in no line.
#[test]
fn a_test_beside_a_sweep_of_depths_has_its_rows() {
    let story = Story::new();
    let shown = story.assay(&["run", "oltp-66-33", "null:", "--set", "ops=200"]).ends(DONE);
    let shown = shown.says(&["OLTP: rate over queue depth", "\nOLTP and a log ", "\n  data ", "\n  log "]);
    assert!(shown.out.lines().count() <= 22, "{}", shown.out);
}

#[test]
fn a_curve_says_what_is_missing_or_in_the_wrong_place() {
    let story = Story::new();
    for (args, words) in [
        (&["curve", "vmware"][..], "on which target?"),
        (&["curve", "vmware", "x"], "the target comes first: assay curve x vmware"),
        (&["curve", "null:", "no-such-plan"], "no-such-plan"),
    ] {
        story.assay(args).ends(BAD_INPUT).says(&[words]);
    }
}
