//! Runs that do not come to their end: killed, stopped, stopped twice.

use serde_json::Value;

use crate::loop_device::LoopDevice;
use crate::story::{DONE, INTERRUPTED, Story, count, number, rules, run};

/// Exit code of a limit that is exceeded.
const WORSE: i32 = 3;

const PLAN: &str = r#"
[[test]]
name = "short"
run = "300ms"
access = [{ size = "4KiB", read = 50, random = 100 }]
[[test]]
name = "long"
run = "10min"
access = [{ size = "4KiB", read = 50, random = 100 }]
"#;

/// A run in the background that is in its second, long test, with two ended intervals there.
fn in_the_middle(story: &Story) -> crate::story::Running {
    story.write("plan.toml", PLAN);
    let running = story.start(&["run", "plan.toml", "t.dat", "--size", "4MiB", "--json"]);
    story.wait_for(|run| run["tests"][1]["series"].as_array().is_some_and(|s| s.len() >= 2));
    running
}

fn check_kept(document: &Value, status: &str) {
    assert_eq!(document["status"], status);
    assert!(rules(document).contains(&"partial"), "{:#}", document["findings"]);
    assert_eq!(
        (&document["tests"][0]["complete"], &document["tests"][1]["complete"]),
        (&true.into(), &false.into())
    );
    for test in ["/tests/0", "/tests/1"] {
        assert!(
            count(document, &format!("{test}/total/ops")) > 0
                && number(document, &format!("{test}/seconds")) > 0.0
        );
    }
}

#[test]
fn a_run_that_is_killed_keeps_every_interval_that_ended() {
    let story = Story::new();
    story.assay(&["run", "vmware", "null:", "--set", "ops=100", "--label", "before", "--json"]).ends(DONE);
    let mut running = in_the_middle(&story);
    let seen = story.assay(&["show", "--json"]).ends(DONE).json();
    assert_eq!(story.assay(&["runs", "--json"]).json()[0]["status"], "running");
    assert_eq!(seen["status"], "running");
    let explained = story.assay(&["show", "--explain"]).ends(DONE);
    explained.says(&["(RUNNING)", "[partial]", "The run is in progress: 1 of 2"]);
    story.assay(&["rm", "before", "last"]).refused(&["is still in progress", "Ctrl-C"]);
    assert_eq!(story.assay(&["runs", "--json"]).json().as_array().unwrap().len(), 2, "nothing was removed");
    running.signal("KILL");
    assert_eq!(running.end().code, None, "no exit code: it was killed");
    let kept = story.assay(&["show", "last", "--json"]).ends(DONE).json();
    check_kept(&kept, "partial");
    let ops = |document| count(document, "/tests/1/total/ops");
    assert!(ops(&kept) >= ops(&seen), "what could be seen while it ran is there");
    story.assay(&["show", "--explain"]).ends(DONE).says(&[
        "(PARTIAL)",
        "The run has no end",
        "1 of 2 steps are complete",
        "long",
    ]);
    story.assay(&["report", "-o", "r.html"]).ends(DONE);
    assert!(String::from_utf8(story.read("r.html")).unwrap().to_lowercase().contains("partial"));

    let runs = story.assay(&["runs", "--json"]).ends(DONE).json();
    let of = |key: &str| runs.as_array().unwrap().iter().map(|run| run[key].clone()).collect::<Vec<_>>();
    assert_eq!(of("status"), ["partial", "done"], "newest first");
    assert_eq!(of("run")[0], kept["run"]);
    assert_eq!(of("label"), [Value::Null, "before".into()]);
    story.assay(&["runs"]).ends(DONE).says(&["partial", "before", "t.dat"]);

    story.assay(&["rm", kept["run"].as_str().unwrap()]).ends(DONE).says(&["removed run"]);
    assert_eq!(story.assay(&["show", "last", "--json"]).json()["label"], "before");
    story.assay(&["rm", "before"]).ends(DONE);
    assert_eq!(story.assay(&["runs", "--json"]).ends(DONE).json(), serde_json::json!([]));
}

#[test]
fn the_file_of_a_killed_run_is_used_again() {
    let story = Story::new();
    let mut running = in_the_middle(&story);
    running.signal("KILL");
    running.end();
    let args = ["run", "plan.toml", "t.dat", "--size", "4MiB", "--only", "short", "--json"];
    let again = story.assay(&args).ends(DONE).json();
    assert_eq!(again["targets"][0]["member"]["content"], "reused");
}

#[test]
fn ctrl_c_keeps_what_was_measured() {
    for signal in ["INT", "TERM"] {
        let story = Story::new();
        let mut running = in_the_middle(&story);
        running.signal(signal);
        let reported = running.end().ends(INTERRUPTED).says(&["what was measured is kept"]);
        check_kept(&reported.json(), "interrupted");
        let shown = story.assay(&["show", "last", "--json"]).ends(DONE).json();
        assert_eq!(shown["tests"], reported.json()["tests"]);
        let explained = story.assay(&["show", "--explain"]).ends(DONE);
        explained.says(&["(INTERRUPTED)", "The run was interrupted"]);
    }
}

#[test]
fn ctrl_c_while_a_file_is_filled_keeps_what_was_filled() {
    let story = Story::new();
    // Durable writes fill slowly enough to be interrupted.
    let args = ["run", "vmware", "t.dat", "--size", "2GiB", "--set", "run=100ms", "--sync", "--io", "psync"];
    let mut running = story.start(&args);
    let path = story.path("t.dat");
    while std::fs::metadata(&path).map_or(0, |m| m.len()) == 0 {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    running.signal("INT");
    let reported = running.end().ends(INTERRUPTED);
    reported.says(&["stopped while t.dat was being filled"]);
    assert_eq!(story.assay(&["runs", "--json"]).ends(DONE).json(), serde_json::json!([]));
    // It is Assay's file still: a smaller size is made from it.
    let args = ["run", "vmware", "t.dat", "--size", "1MiB", "--set", "run=100ms", "--remove"];
    story.assay(&args).ends(DONE);
    assert_eq!(story.files(), Vec::<String>::new());
}

#[test]
fn ctrl_c_twice_stops_at_once() {
    let story = Story::new();
    story.write(
        "plan.toml",
        "[[test]]\nname = \"large\"\nrun = \"10min\"\noutstanding = 32\naccess = [{ size = \"16MiB\", read = 0 }]\n",
    );
    let args = ["run", "plan.toml", "t.dat", "--size", "512MiB", "--sync", "--json"];
    let mut running = story.start(&args);
    story.wait_for(|run| run["tests"][0].is_object());
    running.signal("INT");
    // The second one comes when the first has been heard: half a GiB is then still in flight.
    running.hear("again stops at once");
    running.signal("INT");
    let reported = running.end().ends(INTERRUPTED);
    let kept = story.assay(&["show", "--json"]).ends(DONE).json();
    // Only storage that ends half a GiB within the blink between the two has nothing to be stopped.
    match kept["status"].as_str().unwrap() {
        "partial" => assert_eq!(reported.out, "", "stopped before anything could be printed"),
        status => assert_eq!(status, "interrupted"),
    }
}

/// A stop in the first blink of a step used to print rates of tens of thousands of IOPS from a handful of I/Os.
#[test]
fn a_stop_during_warm_up_leaves_no_row() {
    let story = Story::new();
    story.write(
        "plan.toml",
        "[[test]]\nname = \"one\"\nwarmup = \"10min\"\nrun = \"10min\"\naccess = [{ size = \"4KiB\", random = 100 }]\n",
    );
    let mut running = story.start(&["run", "plan.toml", "t.dat", "--size", "4MiB"]);
    story.wait_for(|run| run["tests"][0].is_object());
    running.signal("INT");
    let reported = running.end().ends(INTERRUPTED).says(&["one: interrupted before measuring"]);
    let row = reported.out.lines().find(|line| line.starts_with("one ")).unwrap();
    assert_eq!(row.split_whitespace().collect::<Vec<_>>().join(" "), "one interrupted before measuring");
    let shown = story.assay(&["show", "last", "--json"]).ends(DONE).json();
    let test = &shown["tests"][0];
    assert_eq!(test["unmeasured"], "interrupted before measuring");
    assert_eq!((count(test, "/total/ops"), number(test, "/total/iops")), (0, 0.0));
    assert_eq!(test["series"], serde_json::json!([]));
    story.assay(&["show"]).ends(DONE).says(&["one interrupted before measuring"]);
    story.assay(&["report", "-o", "r.html"]).ends(DONE);
    let page = String::from_utf8(story.read("r.html")).unwrap();
    assert!(page.contains("interrupted before measuring"), "the report has no row either");
}

/// The line of an ended step was computed from the ends of intervals, the table from the measured window.
#[test]
fn the_line_of_an_ended_step_has_the_numbers_of_the_table() {
    let story = Story::new();
    // On a slow target I/Os end long after the window, and the last interval with them.
    story.write(
        "plan.toml",
        "semantics = \"iometer\"\n[[test]]\nname = \"slow\"\nrun = \"1500ms\"\noutstanding = 64\n\
         access = [{ size = \"64KiB\", random = 100, read = 0 }]\n",
    );
    let reported = story.assay(&["run", "plan.toml", "sim:ix4-200d", "--json"]).ends(DONE);
    let total = &reported.json()["tests"][0]["total"];
    let line = reported.err.lines().find(|line| line.starts_with("1/1 slow: ")).unwrap();
    let words: Vec<&str> = line["1/1 slow: ".len()..].split_whitespace().collect();
    for (value, unit, pointer) in [(words[0], words[1], "/iops"), (words[2], words[3], "/mib_per_s")] {
        let printed: f64 = value.replace(',', "").parse().unwrap();
        let decimals = i32::try_from(value.split_once('.').map_or(0, |(_, end)| end.len())).unwrap();
        let error = (printed - number(total, pointer)).abs();
        assert!(error <= 0.51 * 10_f64.powi(-decimals), "{unit}: {line} against {total:#}");
    }
}

/// A server that takes connections and never answers. Ctrl-C waited for the limits of the login and of the mount:
/// half a minute and more.
#[test]
fn ctrl_c_is_bounded_while_a_server_does_not_answer() {
    let addresses: [fn(u16) -> String; 2] = [
        |port| format!("iscsi://127.0.0.1:{port}/iqn.2026-11.example:silent/1"),
        |port| format!("nfs://127.0.0.1/srv/t.dat?port={port}&mountport={port}"),
    ];
    let stopped = |address: fn(u16) -> String| {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let story = Story::new();
        let address = address(listener.local_addr().unwrap().port());
        let mut running = story.start(&["run", "vmware", &address, "--size", "1MiB"]);
        // It is kept open, and nothing is ever said.
        let _kept = listener.accept().unwrap();
        running.signal("INT");
        let began = std::time::Instant::now();
        let reported = running.end();
        let took = began.elapsed();
        assert!(took < std::time::Duration::from_secs(20), "{address}: {took:?}");
        reported.ends(INTERRUPTED).says(&["nothing was measured"]);
        assert_eq!(story.assay(&["runs", "--json"]).ends(DONE).json(), serde_json::json!([]));
    };
    std::thread::scope(|scope| {
        for address in addresses {
            scope.spawn(move || stopped(address));
        }
    });
}

/// A file system that is frozen holds every write in the kernel, where no signal reaches it. The threads that wait
/// there held the program, and with it the result.
#[test]
fn a_disk_that_died_costs_neither_the_result_nor_the_exit_code() {
    let Some(mut device) = LoopDevice::new() else { return };
    let folder = device.mount_ext4();
    let file = format!("{folder}/t.dat");
    let plan = PLAN.replace("300ms", "600ms").replace("read = 50", "read = 0");
    device.story.write("plan.toml", plan);
    let mut running = device.story.start(&["run", "plan.toml", &file, "--size", "4MiB", "--json"]);
    device.story.wait_for(|run| run["tests"][1]["series"].as_array().is_some_and(|s| s.len() >= 2));
    run(&["fsfreeze", "-f", &folder]);
    running.signal("INT");
    // All that is left of it waits in the kernel: the program itself has exited.
    let state = format!("/proc/{}/stat", running.child().id());
    let has_exited = || std::fs::read_to_string(&state).is_ok_and(|stat| stat.contains(") Z "));
    let exited = (0..600).any(|_| {
        std::thread::sleep(std::time::Duration::from_millis(50));
        has_exited()
    });
    run(&["fsfreeze", "-u", &folder]);
    assert!(exited, "it still runs 30 s after the signal");
    let reported = running.end().ends(INTERRUPTED).says(&["had no answer 5 s after the stop"]);
    check_kept(&reported.json(), "interrupted");
}

/// A run that was killed after its first test: the second is measured, and the first is as it was. A limit of its plan
/// was not judged, and --fail-if was taken and forgotten: a night that ended early and was resumed was never worse.
#[test]
fn a_run_that_ended_early_is_resumed_with_its_complete_steps() {
    let story = Story::new();
    let test =
        |name: &str| format!("[[test]]\nname = \"{name}\"\naccess = [{{ size = 4096 }}]\nops = 1000\n");
    let limit = "[[limit]]\nfail_if = \"errors < 1\"\ntest = \"first\"\n";
    story.write("p.toml", format!("name = \"two\"\n{}{}{limit}", test("first"), test("second")));
    story.assay(&["run", "p.toml", "null:", "--label", "night"]).ends(WORSE);
    story.assay(&["run", "--resume", "last"]).refused(&["is complete: there is nothing to resume"]);
    story.assay(&["export", "last", "-o", "whole.assay"]).ends(DONE);
    let whole = String::from_utf8(story.read("whole.assay")).unwrap();
    let lines: Vec<&str> = whole.lines().collect();
    let second = lines.iter().rposition(|line| line.contains("\"step_started\"")).unwrap();
    let mut cover: serde_json::Value = serde_json::from_str(lines[0]).unwrap();
    cover["events"] = (second - 1).into();
    story.write("cut.assay", format!("{cover}\n{}\n", lines[1..second].join("\n")));
    let before = story.assay(&["show", "last", "--json"]).ends(DONE).json();
    story.assay(&["rm", "last"]).ends(DONE);
    story.assay(&["import", "cut.assay"]).ends(DONE);
    story.assay(&["run", "--resume", "last", "--cached"]).refused(&["did not have --cached"]);
    let with = |condition| story.assay(&["run", "--resume", "last", "--fail-if", condition]);
    with("third: errors > 0").refused(&["has no test called `third`"]);
    with("iops -5%").refused(&["and none is set"]);
    let resumed = story.assay(&["run", "--resume", "last", "--json", "--fail-if", "second: errors < 1"]);
    let resumed = resumed.ends(WORSE).says(&["FAILED first: errors < 1", "FAILED second: errors < 1"]);
    assert!(resumed.err.contains("1 of 2 steps are kept; 1 step, until 1000 I/Os"), "{}", resumed.err);
    let after = resumed.json();
    assert_eq!((&after["label"], &after["status"]), (&"night".into(), &"done".into()));
    assert_eq!(after["tests"].as_array().unwrap().len(), 2);
    assert_eq!(after["tests"][0]["total"], before["tests"][0]["total"], "as it was measured");
    assert_eq!(after["tests"][1]["total"]["ops"], 1000);
    assert!(crate::story::rules(&after).contains(&"resumed"), "{}", after["findings"]);
    // What is stored is the same.
    let stored = story.assay(&["show", "last", "--json"]).ends(DONE).json();
    assert_eq!(stored["tests"], after["tests"]);
    // The run that ended early was a repetition of the one that has its steps again, with a spread of 0 %.
    let id = |document: &Value| document["run"].as_str().unwrap().to_owned();
    story.assay(&["run", "p.toml", "null:", "--label", "day"]).ends(WORSE);
    let compared = story.assay(&["compare", "night", "day", "--json"]).ends(DONE);
    let compared = compared.says(&["left out, as they did not come to their end: "]).json();
    assert_eq!(compared["sides"][0]["runs"], serde_json::json!([id(&after)]), "{}", compared["sides"]);
    // Nor is one that resumed the same run once more.
    story.assay(&["run", "--resume", &id(&before), "--label", "night"]).ends(WORSE);
    let compared = story.assay(&["compare", "night", "day", "--json"]).ends(DONE);
    let compared = compared.says(&["left out, as another run of night has the same first steps: "]).json();
    assert_eq!(compared["sides"][0]["runs"].as_array().map(Vec::len), Some(1), "{}", compared["sides"]);
    story.assay(&["run", "p.toml", "null:", "--resume", "last"]).refused(&["--resume takes plan, targets"]);
}
