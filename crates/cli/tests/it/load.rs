//! Load as a plan asks for it: exact counts, rates, bursts, both semantics.

use serde_json::Value;

use crate::story::{DONE, Story, count, near, number, tests};

/// Runs a plan of one test with these lines on `null:`, and gives the test.
#[track_caller]
fn measured(lines: &str, more: &[&str]) -> Value {
    let story = Story::new();
    let (head, lines) = lines.split_once("---").unwrap_or(("", lines));
    story.write("plan.toml", format!("{head}\n[[test]]\nname = \"t\"\n{lines}\n"));
    let args = [&["run", "plan.toml", "null:", "--json"], more].concat();
    let document = story.assay(&args).ends(DONE).json();
    assert_eq!(tests(&document).len(), 1);
    document["tests"][0].clone()
}

const MIX: &str = r#"access = [{ size = "4KiB", read = 65, random = 60 }]"#;

#[test]
fn a_stop_by_operations_or_bytes_is_exact() {
    for (setting, expected) in
        [("ops=1000", 1000), ("ops=1", 1), ("ops=7", 7), ("bytes=1MiB", 256), ("bytes=4097", 2)]
    {
        for workers in ["workers=1", "workers=3"] {
            if (setting, workers) == ("ops=1", "workers=3")
                || (setting, workers) == ("bytes=4097", "workers=3")
            {
                continue; // A share of nothing for some worker; see below.
            }
            let test = measured(MIX, &["--set", setting, "--set", workers, "--set", "outstanding=16"]);
            let ops = count(&test, "/total/ops");
            let most =
                if setting.starts_with("bytes") && workers == "workers=3" { expected + 2 } else { expected };
            assert!((expected..=most).contains(&ops), "{setting} {workers}: {ops}");
            assert_eq!(ops, count(&test, "/read/ops") + count(&test, "/write/ops"));
        }
    }
    let test = measured(MIX, &["--set", "ops=1", "--set", "workers=3"]);
    assert_eq!(count(&test, "/total/ops"), 1, "two of three workers have nothing to do");
}

/// A rate is over the time in which the jobs were at work together, and a warm-up prolongs none of them.
#[test]
fn jobs_in_turns_have_the_rate_of_their_whole_time() {
    let jobs = |delay: &str, warmup: &str| {
        format!(
            "run = \"1s\"\nwarmup = \"{warmup}\"\n\
             [[test.job]]\nname = \"first\"\nrun = \"1s\"\npace = {{ rate = \"100/s\" }}\n{MIX}\n\
             [[test.job]]\nname = \"second\"\nrun = \"1s\"\npace = {{ rate = \"100/s\" }}\n{MIX}\n\
             start_delay = \"{delay}\""
        )
    };
    let test = measured(&jobs("1s", "0s"), &[]);
    let (ops, iops) = (count(&test, "/total/ops"), number(&test, "/total/iops"));
    assert!((190..=202).contains(&ops) && iops < 120.0, "{ops} I/Os, {iops} a second: {test:#}");
    let of_seconds = test["series"].as_array().unwrap().iter().map(|point| number(point, "/iops"));
    assert!(of_seconds.fold(0.0, f64::max) < 130.0, "{test:#}");
    let test = measured(&jobs("500ms", "1s"), &[]);
    let second = count(&test, "/jobs/1/total/ops");
    assert!((90..=102).contains(&second), "{second} I/Os in its own second: {test:#}");
}

#[test]
fn iometer_stops_by_operations_exactly_too_and_drains_every_500() {
    let story = Story::new();
    for (warmup, reconnects) in [("warmup=0s", 3..=4), ("warmup=50ms", 3..=5)] {
        let args = ["run", "vmware", "null:", "--set", "ops=2000", "--set", warmup, "--json"];
        for test in tests(&story.assay(&args).ends(DONE).json()) {
            assert_eq!(count(test, "/total/ops"), 2000, "{warmup}");
            assert!(reconnects.contains(&count(test, "/jobs/0/reconnects")), "{warmup}: {test:#}");
        }
    }
    // Storage that takes its time, so that the warm-up's last I/Os end among those that are counted.
    let args =
        ["run", "vmware", "t.dat", "--size", "4MiB", "--set", "ops=300", "--set", "warmup=50ms", "--json"];
    for test in tests(&story.assay(&args).ends(DONE).json()) {
        assert_eq!(count(test, "/total/ops"), 300);
    }
}

#[test]
fn a_warm_up_is_not_counted() {
    let test = measured(MIX, &["--set", "ops=1000", "--set", "warmup=200ms", "--set", "outstanding=8"]);
    assert_eq!(count(&test, "/total/ops"), 1000);
}

#[test]
fn the_same_seed_draws_the_same_and_another_one_does_not() {
    for semantics in ["assay", "iometer"] {
        let lines = format!("semantics = \"{semantics}\"\n---{MIX}");
        let reads = |seed: &str| {
            let args = ["--set", "ops=5000", "--set", "outstanding=4", "--set", "workers=2", "--seed", seed];
            count(&measured(&lines, &args), "/read/ops")
        };
        assert_eq!(reads("7"), reads("7"), "{semantics}");
        assert!((8..12).any(|seed| reads(&seed.to_string()) != reads("7")), "{semantics}");
    }
}

#[test]
fn an_open_load_has_its_own_times_and_response_is_never_below_service() {
    for (arrivals, spread) in [("constant", 2.0), ("poisson", 6.0 * 2000_f64.sqrt())] {
        let lines = format!(
            "{MIX}\nrun = \"1s\"\noutstanding = 32\npace = {{ rate = \"2000/s\", arrivals = \"{arrivals}\" }}"
        );
        let test = measured(&lines, &[]);
        assert_eq!(test["load"], "open");
        let (due, ops) = (number(&test, "/jobs/0/due"), number(&test, "/total/ops"));
        assert!((due - 2000.0).abs() <= spread, "{arrivals}: {due}");
        assert!(ops <= due && ops > 0.0, "{arrivals}: {ops} of {due}");
        let (service, response) = (&test["total"]["service_us"], &test["total"]["response_us"]);
        for what in ["/mean", "/p50", "/p90", "/p99", "/p99_9", "/max"] {
            assert!(
                number(response, what) >= number(service, what),
                "{arrivals} {what}: {response} {service}"
            );
        }
        assert_ne!(service, response, "{arrivals}: a due time is not the time of issue");
    }
}

#[test]
fn an_open_load_beyond_the_storage_counts_what_it_could_not_issue() {
    // One I/O at a time and a psync thread cannot do ten million a second.
    let story = Story::new();
    story.write(
        "plan.toml",
        format!(
            "size = \"1MiB\"\n[[test]]\nname = \"t\"\nrun = \"500ms\"\n{MIX}\n\
                 pace = {{ rate = \"10000000/s\", arrivals = \"constant\" }}"
        ),
    );
    let document = story.assay(&["run", "plan.toml", "t.dat", "--json"]).ends(DONE).json();
    let test = &document["tests"][0];
    near("due", number(test, "/jobs/0/due"), 5e6, 0.01);
    assert!(number(test, "/total/ops") < 5e6);
    assert!(crate::story::rules(&document).contains(&"missed-rate"));
    assert!(number(test, "/total/response_us/p50") > number(test, "/total/service_us/p50"));
}

/// An open loop without `outstanding` had one I/O in flight, and the target was said not to sustain the rate.
#[test]
fn an_open_loop_is_limited_by_no_depth_unless_the_plan_says_so() {
    let story = Story::new();
    let plan = |outstanding: &str| {
        format!(
            "[[test]]\nname = \"t\"\nrun = \"2s\"\n{outstanding}\naccess = [{{ size = \"8KiB\", random = 100 }}]\n\
             pace = {{ rate = \"400/s\", arrivals = \"constant\" }}\n"
        )
    };
    let run = |outstanding: &str| {
        story.write("plan.toml", plan(outstanding));
        story.assay(&["run", "plan.toml", "sim:nas-4bay", "--json"]).ends(DONE).json()
    };
    let free = run("");
    assert_eq!(free["plan"]["tests"][0]["steps"][0]["jobs"][0]["outstanding"], 256);
    assert!(number(&free["tests"][0], "/jobs/0/depth_full_ratio") < 0.01, "{:#}", free["tests"][0]["jobs"]);
    let one = run("outstanding = 1");
    assert!(number(&one["tests"][0], "/jobs/0/depth_full_ratio") > 0.3, "{:#}", one["tests"][0]["jobs"]);
    let missed = one["findings"].as_array().unwrap().iter().find(|f| f["rule"] == "missed-rate").unwrap();
    assert!(missed["says"].as_str().unwrap().contains("the limit of 1 in flight was full for"), "{missed}");
}

#[test]
fn a_throttled_load_is_never_faster_than_its_rate() {
    let lines = format!("{MIX}\nrun = \"1s\"\noutstanding = 8\nworkers = 2\npace = {{ rate = \"1000/s\" }}");
    let test = measured(&lines, &[]);
    assert_eq!(test["load"], "throttled");
    let most = number(&test, "/seconds") * 1000.0 * 1.03 + 4.0;
    assert!(number(&test, "/total/ops") <= most, "{test:#}");
    assert!(number(&test, "/total/ops") > 0.0);
    assert_eq!(test["total"]["service_us"], test["total"]["response_us"]);
}

#[test]
fn a_delay_before_each_burst_bounds_the_load() {
    for semantics in ["assay", "iometer"] {
        let lines = format!(
            "semantics = \"{semantics}\"\n---run = \"500ms\"\noutstanding = 4\n\
             access = [{{ size = \"4KiB\", delay = \"20ms\", burst = 5 }}]"
        );
        let test = measured(&lines, &[]);
        let ops = count(&test, "/total/ops");
        assert!(ops > 0 && ops <= 5 * (500 / 20 + 1), "{semantics}: {ops}");
    }
}

#[test]
fn a_reply_goes_the_other_way_after_each_request() {
    for semantics in ["assay", "iometer"] {
        let lines = format!(
            "semantics = \"{semantics}\"\n---outstanding = 8\nops = 1000\n\
             access = [{{ size = \"4KiB\", read = 100, reply = \"8KiB\" }}]"
        );
        let test = measured(&lines, &[]);
        let (reads, writes) = (count(&test, "/read/ops"), count(&test, "/write/ops"));
        assert_eq!((reads, writes), (500, 500), "{semantics}: replies are I/Os too");
        near("8 KiB", number(&test, "/write/mib_per_s") / number(&test, "/write/iops"), 8.0 / 1024.0, 1e-3);
    }
}

/// A member that is to be reopened while a reply is owed must be reopened all the same, or nothing is ever issued.
#[test]
fn a_mix_with_and_without_replies_goes_on_over_every_reopen() {
    for (semantics, warmup) in [("assay", "0s"), ("assay", "50ms"), ("iometer", "0s"), ("iometer", "50ms")] {
        for outstanding in ["outstanding=1", "outstanding=3"] {
            let lines = format!(
                "semantics = \"{semantics}\"\n---reconnect_every = 10\nwarmup = \"{warmup}\"\n\
                 access = [{{ size = \"4KiB\", read = 67, reply = \"8KiB\", weight = 40 }}, \
                 {{ size = \"512\", read = 0, weight = 60 }}]"
            );
            let story = Story::new();
            let (head, lines) = lines.split_once("---").unwrap();
            story.write("plan.toml", format!("{head}\n[[test]]\nname = \"t\"\n{lines}\n"));
            let set = ["--set", "ops=2000", "--set", "run=10s", "--set", outstanding];
            let args = [&["run", "plan.toml", "null:", "--json"][..], &set].concat();
            let document = story.assay(&args).ends(DONE).json();
            let (seconds, ops) =
                (number(&document, "/tests/0/seconds"), count(&document, "/tests/0/total/ops"));
            assert!(ops >= 1900 && seconds < 9.0, "{semantics} {warmup} {outstanding}: {ops} in {seconds} s");
        }
    }
}

#[test]
fn weights_share_the_bursts() {
    let lines =
        "access = [{ size = \"4KiB\", read = 100, weight = 1 }, { size = \"8KiB\", read = 0, weight = 3 }]";
    let test = measured(lines, &["--set", "ops=10000"]);
    let reads = number(&test, "/read/ops");
    // Six standard deviations of a binomial draw.
    assert!((reads - 2500.0).abs() < 6.0 * (10000.0_f64 * 0.25 * 0.75).sqrt(), "{reads}");
}

#[test]
fn every_swept_value_is_a_step() {
    let story = Story::new();
    story.write(
        "plan.toml",
        format!(
            "[[test]]\nname = \"t\"\nops = 50\n{MIX}\nsweep = {{ outstanding = [1, 4], read = [0, 100] }}"
        ),
    );
    let document = story.assay(&["run", "plan.toml", "null:", "--json"]).ends(DONE).json();
    let steps: Vec<&str> = tests(&document).iter().map(|test| test["step"].as_str().unwrap()).collect();
    assert_eq!(
        steps,
        ["outstanding=1 read=0", "outstanding=1 read=100", "outstanding=4 read=0", "outstanding=4 read=100"]
    );
    let reads: Vec<u64> = tests(&document).iter().map(|test| count(test, "/read/ops")).collect();
    assert_eq!(reads, [0, 50, 0, 50]);
    let fixed =
        story.assay(&["run", "plan.toml", "null:", "--set", "outstanding=2", "--json"]).ends(DONE).json();
    assert_eq!(tests(&fixed).len(), 2, "what --set fixes is no longer swept");
}
