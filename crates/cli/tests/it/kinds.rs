//! Every kind of target under one load: the engine that the record names, and the queue depth that the target saw.
//!
//! A block device named in /dev was once taken for a file in memory and measured one I/O at a time, while the table
//! said 61 in flight. So the depth is read where nobody can be mistaken about it: from the kernel's own count of
//! requests. How fast each kind is beside fio is the bench's to say (`make bench BENCH="--case kinds"`).

use serde_json::Value;

use crate::loop_device::LoopDevice;
use crate::story::{DONE, Story, number, rules, run};

const DEPTH: u64 = 16;
const READ: &str = r#"
size = "16MiB"
[[test]]
name = "t"
outstanding = 16
run = "1s"
access = [{ size = "4KiB", read = 100, random = 100 }]
"#;

/// Runs the plan, and returns its document and the most reads that were ever in flight on a block device, as the kernel
/// counts them.
#[track_caller]
fn measured(story: &Story, target: &str, more: &[&str], inflight: &str) -> (Value, u64) {
    story.write("plan.toml", READ);
    let args = [&["run", "plan.toml", target, "--json"], more].concat();
    let mut running = story.start(&args);
    let mut most = 0;
    while running.child().try_wait().unwrap().is_none() {
        let counted = std::fs::read_to_string(inflight).unwrap_or_default();
        let reads = counted.split_whitespace().next().and_then(|reads| reads.parse().ok());
        most = most.max(reads.unwrap_or(0));
        std::thread::sleep(std::time::Duration::from_micros(200));
    }
    (running.end().ends(DONE).json(), most)
}

#[track_caller]
fn check_uring(document: &Value, most: u64, what: &str) {
    assert_eq!(document["targets"][0]["member"]["engine"], "io_uring", "{what}");
    // A read of the kernel's own may be among them, and of a file system's.
    assert!(most >= DEPTH / 2, "{what}: the device had at most {most} reads in flight");
    let said = number(document, "/tests/0/outstanding_effective");
    // A machine that is busy with other things leaves slots empty for a while.
    assert!(said > DEPTH as f64 / 4.0 && said <= DEPTH as f64 * 1.001, "{what}: {said}");
    assert!(!rules(document).contains(&"in-memory"), "{what}: {:?}", rules(document));
}

#[test]
fn a_device_reaches_its_queue_depth_wherever_its_node_lies() {
    let Some(mut device) = LoopDevice::new() else { return };
    let path = device.path.clone();
    let name = path.trim_start_matches("/dev/").to_owned();
    let inflight = format!("/sys/block/{name}/inflight");
    for io in [&[][..], &["--io", "uring"], &["--io", "psync"]] {
        let (document, most) = measured(&device.story, &path, io, &inflight);
        match io {
            [_, "psync"] => {
                assert_eq!(document["targets"][0]["member"]["engine"], "psync");
                assert!((2..=DEPTH + 2).contains(&most), "psync: {most}");
            }
            _ => check_uring(&document, most, &path),
        }
    }
    let node = device.story.path("node").to_str().unwrap().to_owned();
    let number = std::fs::read_to_string(format!("/sys/block/{name}/dev")).unwrap();
    let (major, minor) = number.trim().split_once(':').unwrap();
    run(&["mknod", &node, "b", major, minor]);
    let (document, most) = measured(&device.story, &node, &[], &inflight);
    check_uring(&document, most, "a node outside /dev");

    device.partition("label: dos\n,24MiB,83\n");
    let (document, most) =
        measured(&device.story, &format!("{path}p1"), &[], &format!("/sys/block/{name}/{name}p1/inflight"));
    check_uring(&document, most, "a partition");
}

#[test]
fn a_file_and_a_directory_reach_their_queue_depth_on_the_device_below() {
    let Some(mut device) = LoopDevice::new() else { return };
    let folder = device.mount_ext4();
    let inflight = format!("/sys/block/{}/inflight", device.path.trim_start_matches("/dev/"));
    for target in [format!("{folder}/t.dat"), folder.clone()] {
        // Both fit together: the kernel frees a removed file only when it has dropped the ring that held it open.
        let (document, most) = measured(&device.story, &target, &["--remove", "--size", "8MiB"], &inflight);
        check_uring(&document, most, &target);
    }
}

#[test]
fn a_file_in_memory_is_served_one_io_at_a_time_and_the_record_says_so() {
    let folder = tempfile::tempdir_in("/dev/shm").unwrap();
    let (story, file) = (Story::new(), folder.path().join("t.dat"));
    let file = file.to_str().unwrap();
    let (document, _) = measured(&story, file, &[], "/nonexistent");
    assert_eq!(document["targets"][0]["member"]["engine"], "inline");
    let said = number(&document, "/tests/0/outstanding_effective");
    assert!(said <= 1.0, "one at a time, and not {said}");
    assert!(rules(&document).contains(&"in-memory"));
    // Who asks for io_uring gets it, on this file system too.
    let (document, _) = measured(&story, file, &["--io", "uring"], "/nonexistent");
    assert_eq!(document["targets"][0]["member"]["engine"], "io_uring");
}

#[test]
fn what_is_no_storage_says_so() {
    let story = Story::new();
    for (target, engine) in [("null:1GiB", "null"), ("sim:x4500", "sim")] {
        let (document, _) = measured(&story, target, &[], "/nonexistent");
        assert_eq!(document["targets"][0]["member"]["engine"], engine);
        let said = number(&document, "/tests/0/outstanding_effective");
        // Nothing is in flight on the null target while the tester settles what has completed.
        let least = if engine == "sim" { DEPTH as f64 / 4.0 } else { 0.0 };
        assert!(said > least && said <= DEPTH as f64 * 1.001, "{target}: {said}");
    }
}

#[test]
fn a_worker_runs_on_the_cpu_that_is_named_and_the_record_says_so() {
    let story = Story::new();
    story.write("plan.toml", READ.replace("1s", "50ms"));
    let workers = |more: &[&str]| {
        let args = [&["run", "plan.toml", "null:1GiB", "--json"], more].concat();
        story.assay(&args).ends(DONE).json()["tests"][0]["workers"].clone()
    };
    assert_eq!(workers(&[])[0]["reason"], "own_cpu");
    let named = workers(&["--cpus", "0", "--set", "workers=2"]);
    for worker in named.as_array().unwrap() {
        assert_eq!((&worker["cpu"], &worker["reason"]), (&0.into(), &"asked".into()));
    }
    let many = workers(&["--set", "workers=200"]);
    assert_eq!((&many[0]["cpu"], &many[0]["reason"]), (&Value::Null, &"scheduler".into()));
    story.assay(&["run", "plan.toml", "null:", "--cpus", "60000"]).refused(&["60000", "choose from"]);
    story.assay(&["run", "plan.toml", "null:", "--cpus", "a-b"]).refused(&["0-3,6"]);
}
