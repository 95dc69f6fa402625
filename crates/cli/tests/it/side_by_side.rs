//! Two loads at once, each on a file of its own.

use crate::story::{BAD_INPUT, DONE, Story, near, number};

const PLAN: &str = r#"
name = "one random, one streaming"
size = "16MiB"
[defaults]
run = "1s"
warmup = "200ms"
[[test]]
name = "two loads at once"
[[test.job]]
name = "database"
targets = [0]
outstanding = 8
access = [{ size = "8KiB", read = 65, random = 60 }]
[[test.job]]
name = "backup"
targets = [1]
workers = 2
outstanding = 2
access = [{ size = "256KiB", read = 100, random = 0 }]
"#;

#[test]
fn two_jobs_run_at_once_in_one_window_and_their_rates_sum_to_the_total() {
    let story = Story::new();
    story.write("plan.toml", PLAN);
    let document = story.assay(&["run", "plan.toml", "a.dat", "b.dat", "--json"]).ends(DONE).json();
    let test = &document["tests"][0];
    let jobs = test["jobs"].as_array().unwrap();
    let sum = |what: &str| jobs.iter().map(|job| number(job, what)).sum::<f64>();
    assert_eq!((jobs.len(), &jobs[0]["name"], &jobs[1]["name"]), (2, &"database".into(), &"backup".into()));
    for what in ["/total/ops", "/read/ops", "/write/ops"] {
        near(what, sum(what), number(test, what), 1e-4);
        assert!(number(&jobs[0], what) > 0.0);
    }
    assert_eq!(number(&jobs[1], "/write/ops"), 0.0, "the backup only reads");
    near("256 KiB", number(&jobs[1], "/total/mib_per_s"), number(&jobs[1], "/total/iops") / 4.0, 1e-3);
    assert!(number(&jobs[0], "/outstanding_effective") <= 8.001, "{test:#}");
    assert!(number(&jobs[1], "/outstanding_effective") <= 4.001, "{test:#}");
    // One common start; each window ends with the job's last I/O after the same second.
    let windows: Vec<f64> = jobs.iter().map(|job| number(job, "/seconds")).collect();
    assert!(windows.iter().all(|seconds| *seconds >= 1.0), "{windows:?}");
    let seconds = number(test, "/seconds");
    if windows.iter().all(|window| *window >= 0.95 * seconds) {
        for what in ["/total/iops", "/total/mib_per_s", "/outstanding_effective"] {
            near(what, sum(what), number(test, what), 1e-3);
        }
    } else {
        // A busy host ended one job's last I/O late: rates are over the whole step then.
        near("IOPS", number(test, "/total/ops") / seconds, number(test, "/total/iops"), 1e-3);
    }
    // Writes of the one have not touched the file of the other.
    let text = story.assay(&["show"]).ends(DONE);
    text.says(&["two loads at once", "  database", "  backup"]);
}

#[test]
fn jobs_that_only_read_leave_their_file_as_it_is() {
    let story = Story::new();
    story.write("plan.toml", PLAN);
    // The streaming job may read somebody else's file while the other writes to its own.
    let foreign: Vec<u8> = (0..16_u32 << 20).map(|i| (i % 251) as u8).collect();
    story.write("b.dat", &foreign);
    story.assay(&["run", "plan.toml", "a.dat", "b.dat", "--json"]).ends(DONE);
    assert!(story.read("b.dat") == foreign);
}

#[test]
fn a_job_on_a_target_that_was_not_given_is_refused() {
    let story = Story::new();
    story.write("plan.toml", PLAN);
    let reported = story.assay(&["run", "plan.toml", "a.dat", "--json"]).ends(BAD_INPUT);
    reported.refused(&["two loads at once", "backup", "target 1", "1 was given"]);
    assert_eq!(story.files(), ["plan.toml"]);
}
