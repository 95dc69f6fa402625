//! Failed I/O is counted, reported with its offset and the system's message, and bounded.

use serde_json::Value;

use crate::loop_device::{CAPACITY_BYTES, LoopDevice};
use crate::story::{DONE, ERRORS, Story, count, rules, run};

const HALF: u64 = CAPACITY_BYTES / 2;
const WHOLE: &str = r#"
[[test]]
name = "through all of it"
outstanding = 4
bytes = "32MiB"
error_limit = 1000000
access = [{ size = "64KiB", read = 100, random = 0 }]
"#;

/// A device whose second half cannot be read: the file beneath it ends there.
fn half_broken() -> Option<LoopDevice> {
    let device = LoopDevice::new()?;
    let node = device.path.strip_prefix("/dev/").unwrap();
    let backing = std::fs::read_to_string(format!("/sys/block/{node}/loop/backing_file")).unwrap();
    run(&["truncate", "-s", &HALF.to_string(), backing.trim()]);
    device.story.write("plan.toml", WHOLE);
    Some(device)
}

fn failures(test: &Value) -> &Vec<Value> {
    test["failures"].as_array().unwrap()
}

#[test]
fn failed_reads_are_counted_and_the_first_are_reported() {
    let Some(device) = half_broken() else { return };
    for engine in ["uring", "psync"] {
        let args = ["run", "plan.toml", &device.path, "--io", engine, "--json"];
        let document = device.story.assay(&args).ends(ERRORS).json();
        let test = &document["tests"][0];
        let blocks = HALF >> 16;
        assert_eq!((count(test, "/total/ops"), count(test, "/errors")), (blocks, blocks), "{engine}");
        assert!(rules(&document).contains(&"errors"));
        assert_eq!(test["complete"], true, "errors below the limit end nothing");
        assert_eq!(failures(test).len(), 16);
        for failure in failures(test) {
            assert!(
                count(failure, "/offset_bytes") >= HALF && count(failure, "/offset_bytes") < CAPACITY_BYTES
            );
            assert_eq!((count(failure, "/errno"), &failure["is_write"]), (5, &false.into()), "{failure:#}");
            assert!(failure["says"].as_str().unwrap().contains("Input/output error"), "{failure:#}");
        }
    }
    let last = device.story.assay(&["show", "--json"]).ends(DONE).json();
    let first = count(&last, "/tests/0/failures/0/offset_bytes");
    let place = format!("at offset {first} of {}", device.path);
    device.story.assay(&["show"]).ends(DONE).says(&[
        "CRITICAL",
        "256 of 512 I/Os failed",
        "Input/output error",
        &place,
    ]);
}

#[test]
fn one_error_more_than_the_limit_ends_the_run() {
    let Some(device) = half_broken() else { return };
    let args = ["run", "plan.toml", &device.path, "--set", "error_limit=10", "--json"];
    let document = device.story.assay(&args).ends(ERRORS).json();
    let test = &document["tests"][0];
    assert_eq!((&document["status"], &test["reason"]), (&"failed".into(), &"error_limit".into()));
    let errors = count(test, "/errors");
    assert!(
        (11..=10 + 4 + 4).contains(&errors),
        "the limit, what ended with it, what was issued next: {errors}"
    );
    assert_eq!(count(test, "/total/ops"), HALF >> 16, "what succeeded before is kept");
    device.story.assay(&["show"]).ends(DONE).says(&["(FAILED)", "More I/Os failed than the plan allows"]);
}

#[test]
fn the_first_failing_test_ends_the_run_and_the_others_are_not_reached() {
    let Some(device) = half_broken() else { return };
    let plan = WHOLE.replace("1000000", "0");
    device.story.write("plan.toml", format!("{plan}{}", plan.replace("through", "again through")));
    let document = device.story.assay(&["run", "plan.toml", &device.path, "--json"]).ends(ERRORS).json();
    assert_eq!(document["tests"].as_array().unwrap().len(), 1);
}

#[test]
fn a_file_cut_short_beneath_a_run_gives_short_reads() {
    let story = Story::new();
    story.write(
        "plan.toml",
        "size = \"8MiB\"\n[[test]]\nname = \"t\"\nrun = \"10min\"\noutstanding = 4\n\
         access = [{ size = \"4KiB\", random = 100 }]\n",
    );
    let running = story.start(&["run", "plan.toml", "t.dat", "--json"]);
    story.wait_for(|run| run["tests"][0]["total"]["ops"].as_u64() > Some(0));
    run(&["truncate", "-s", "4MiB", story.path("t.dat").to_str().unwrap()]);
    let document = running.end().ends(ERRORS).json();
    let test = &document["tests"][0];
    assert_eq!(test["reason"], "error_limit");
    assert!(count(test, "/errors") > 100);
    for failure in failures(test) {
        assert!(count(failure, "/offset_bytes") >= 4 << 20);
        assert_eq!(
            (&failure["says"], count(failure, "/errno")),
            (&"moved 0 of 4096 bytes: the device is gone, or the target ends before this offset".into(), 0)
        );
    }
}

#[test]
fn a_file_system_that_is_full_fails_the_fill_with_its_reason() {
    let Some(mut device) = LoopDevice::new() else { return };
    let folder = device.mount_ext4();
    // A limit on file sizes stands for a quota: free space says that it fits, and the system disagrees.
    let file = format!("{folder}/t.dat");
    let assay = env!("CARGO_BIN_EXE_assay");
    let store = device.story.path("store.sqlite");
    let script = format!(
        "ulimit -f 4096; trap '' XFSZ; exec {assay} run vmware {file} --size 8MiB --set run=100ms --store {}",
        store.display()
    );
    let output = std::process::Command::new("bash").args(["-c", &script]).output().unwrap();
    assert!([Some(1), Some(2)].contains(&output.status.code()), "{output:?}");
    let err = String::from_utf8(output.stderr).unwrap();
    assert!(err.contains("t.dat") && err.contains("File too large"), "{err}");
}

#[test]
fn offsets_are_multiples_of_the_alignment() {
    let Some(device) = half_broken() else { return };
    for (semantics, size) in [("assay", "4KiB"), ("iometer", "4KiB")] {
        let plan = format!(
            "semantics = \"{semantics}\"\n[[test]]\nname = \"t\"\nops = 400\nerror_limit = 1000\n\
             access = [{{ size = \"{size}\", align = \"96KiB\", random = 100 }}]\n"
        );
        device.story.write("plan.toml", plan);
        let document = device.story.assay(&["run", "plan.toml", &device.path, "--json"]).ends(ERRORS).json();
        let test = &document["tests"][0];
        assert_eq!(count(test, "/total/ops") + count(test, "/errors"), 400, "{semantics}");
        for failure in failures(test) {
            assert!(count(failure, "/offset_bytes").is_multiple_of(96 << 10), "{semantics}: {failure:#}");
        }
    }
}
