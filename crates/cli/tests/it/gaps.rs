//! A tester that does not run measures nothing: every stop is found and named, wherever in a run it falls.

use std::thread::sleep;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::story::{DONE, INTERRUPTED, Story, rules, tests};

/// A load that needs no CPU to speak of, so that several runs fit beside each other.
const PLAN: &str = r#"
[[test]]
name = "t"
warmup = "800ms"
run = "2500ms"
access = [{ size = 4096, read = 100 }]
pace = { rate = "200/s", arrivals = "constant" }
"#;
/// The window of a run cannot end sooner after its start than this.
const LEAST: Duration = Duration::from_millis(3250);
const STOP_S: f64 = 0.7;

/// Stops a run so long after its start, for a while; returns its document, or `None` if the run may have ended before.
fn stopped_after(after: Duration) -> Option<Value> {
    let story = Story::new();
    story.write("plan.toml", PLAN);
    let began = Instant::now();
    let mut run = story.start(&["run", "plan.toml", "null:", "--json"]);
    story.wait_for(|document| !document.is_null());
    sleep(after.saturating_sub(began.elapsed()));
    run.signal("STOP");
    let is_in_time = began.elapsed() < LEAST;
    sleep(Duration::from_secs_f64(STOP_S));
    run.signal("CONT");
    let document = run.end().ends(DONE).json();
    is_in_time.then_some(document)
}

/// A run was stopped over the end of its window, and said nothing: 6 of 22 times.
#[test]
fn a_stop_is_found_wherever_it_falls() {
    let after_ms = [0, 400, 800, 850, 900, 1200, 1600, 2000, 2300, 2500, 2600, 2700, 2800, 2900, 3000, 3100];
    let documents: Vec<(u64, Option<Value>)> = std::thread::scope(|scope| {
        let run = |ms| scope.spawn(move || stopped_after(Duration::from_millis(ms)));
        let runs: Vec<_> = after_ms.map(|ms| (ms, run(ms))).into();
        runs.into_iter().map(|(ms, run)| (ms, run.join().unwrap())).collect()
    });
    let documents: Vec<(u64, Value)> =
        documents.into_iter().filter_map(|(ms, document)| Some((ms, document?))).collect();
    for (ms, document) in &documents {
        let test = &tests(document)[0];
        let number = |gap: &Value, key: &str| gap[key].as_f64().unwrap();
        let stopped = test["gaps"].as_array().unwrap().iter().filter(|gap| gap["kind"] == "stopped");
        let all_s: f64 = stopped.clone().map(|gap| number(gap, "seconds")).sum();
        // On a busy host the sampler may wake between the stop and its end: then there are two pieces.
        let longest = stopped.max_by(|a, b| number(a, "seconds").total_cmp(&number(b, "seconds")));
        let Some(gap) = longest else { panic!("nobody noticed the stop after {ms} ms: {:#}", test["gaps"]) };
        let (length_s, since_s) = (number(gap, "seconds"), number(gap, "since_window_s"));
        // A sleep of the sampler was cut by the stop: at most one of 20 ms is missing.
        assert!(all_s > STOP_S - 0.05, "{ms} ms: {:#}", test["gaps"]);
        let is_measured = gap["place"] == "window" || gap["place"] == "drain";
        // The sleep of the sampler that the stop cut is a part of the gap, and not of its length.
        match since_s + length_s {
            end_s if end_s >= 0.0 => assert!(is_measured, "{ms} ms: {gap}"),
            end_s if end_s < -0.05 => assert!(!is_measured, "{ms} ms: {gap}"),
            _ => {}
        }
        let rule = if is_measured { "gap-in-window" } else { "gap-beside-window" };
        assert!(rules(document).contains(&rule), "{ms} ms: {:?}", rules(document));
    }
    // However slow the host is, some of the starts are late enough.
    let in_window =
        documents.iter().filter(|(_, document)| rules(document).contains(&"gap-in-window")).count();
    assert!(in_window >= 3, "{in_window} of {}", documents.len());
}

#[test]
fn the_row_of_a_window_with_a_gap_is_marked() {
    let story = Story::new();
    story.write("plan.toml", PLAN.replace("800ms", "0s"));
    let mut run = story.start(&["run", "plan.toml", "null:"]);
    story.wait_for(|document| !document.is_null());
    sleep(Duration::from_millis(500));
    run.signal("STOP");
    sleep(Duration::from_secs_f64(STOP_S));
    run.signal("CONT");
    run.end().ends(DONE).says(&["gap", "Assay did not run for", "of this window", "not running for 0."]);
    story.assay(&["show", "last", "--explain"]).ends(DONE).says(&[
        "[gap-in-window]",
        "it was stopped by a signal and continued",
        "SIGCONT",
    ]);
}

/// A control group of its own, in a hierarchy that is mounted for the test.
struct ControlGroup {
    mounted: tempfile::TempDir,
    group: std::path::PathBuf,
}

impl ControlGroup {
    fn new() -> Option<Self> {
        if !assay_testkit::need::root() {
            return None;
        }
        let mounted = tempfile::tempdir().unwrap();
        let at = mounted.path().display().to_string();
        let status = std::process::Command::new("mount").args(["-t", "cgroup2", "none", &at]).status();
        let group = mounted.path().join(format!("assay-test-{}", std::process::id()));
        let made = match status {
            Ok(status) if status.success() => std::fs::create_dir(&group),
            _ => Err(std::io::ErrorKind::Unsupported.into()),
        };
        assay_testkit::need::or_skip("no control groups of version 2", made)?;
        Some(Self { mounted, group })
    }

    fn write(&self, file: &str, text: &str) {
        std::fs::write(self.group.join(file), text).unwrap();
    }
}

impl Drop for ControlGroup {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir(&self.group);
        let _ = std::process::Command::new("umount").arg(self.mounted.path()).status();
    }
}

/// As `docker pause` and a paused virtual machine do it: no signal comes, and no clock stands still.
#[test]
fn a_frozen_control_group_is_a_pause() {
    let Some(group) = ControlGroup::new() else { return };
    let story = Story::new();
    story.write("plan.toml", PLAN.replace("800ms", "0s").replace("2500ms", "6s"));
    let mut run = story.start(&["run", "plan.toml", "null:", "--json"]);
    group.write("cgroup.procs", &run.child().id().to_string());
    story.wait_for(|document| !document.is_null());
    sleep(Duration::from_millis(500));
    group.write("cgroup.freeze", "1");
    sleep(Duration::from_secs_f64(STOP_S));
    group.write("cgroup.freeze", "0");
    let document = run.end().ends(DONE).json();
    let gaps = tests(&document)[0]["gaps"].as_array().unwrap().clone();
    let is_it = |gap: &Value| gap["kind"] == "paused" && gap["seconds"].as_f64().unwrap() > STOP_S - 0.1;
    assert!(gaps.iter().any(is_it), "{gaps:#?}");
    assert!(rules(&document).contains(&"gap-in-window"), "{:?}", rules(&document));
}

/// Whether a process is stopped, as the kernel says.
fn is_stopped(pid: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with('T'))
}

/// Ctrl-Z left a hole in the window of the step that was measured.
#[test]
fn ctrl_z_pauses_a_run_between_two_steps() {
    let story = Story::new();
    let step = PLAN.replace("800ms", "0s").replace("2500ms", "500ms");
    let plan: String = (0..40).map(|at| step.replace("\"t\"", &format!("\"t{at}\""))).collect();
    story.write("plan.toml", plan);
    let mut run = story.start(&["run", "plan.toml", "null:", "--json"]);
    story.wait_for(|document| document["tests"][0]["complete"] == true);
    let pid = run.child().id();
    run.signal("TSTP");
    // A test that waits for what must come has no clock of its own.
    while !is_stopped(pid) {
        assert!(std::path::Path::new(&format!("/proc/{pid}")).exists(), "it ended");
        sleep(Duration::from_millis(20));
    }
    let before = story.assay(&["show", "last", "--json"]).json();
    run.signal("CONT");
    story.wait_for(|document| tests(document).len() > tests(&before).len() + 1);
    run.signal("INT");
    let ended = run.end().ends(INTERRUPTED);
    let words = ["pausing when this step ends", "paused between two steps; to go on: fg", "run --resume"];
    let document = ended.says(&words[..2]).json();
    assert!(!rules(&document).contains(&"gap-in-window"), "{:?}", rules(&document));
    story.assay(&["show", "--explain"]).ends(DONE).says(&words[2..]);
}
