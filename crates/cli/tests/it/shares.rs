//! How the I/Os of a run are shared by its targets: by the kernel's own count, and by that of the result.

use assay_testkit::loop_device::LoopDevice;

use crate::story::{DONE, Story, rules};

/// The number of reads that a device has completed.
fn reads(device: &LoopDevice) -> u64 {
    let name = device.name();
    let stat = std::fs::read_to_string(format!("/sys/block/{name}/stat")).unwrap();
    stat.split_whitespace().next().unwrap().parse().unwrap()
}

/// With a delay before each I/O, two targets were read 1,884 times and once, and of four two never.
#[test]
fn targets_take_turns_under_a_delay_as_the_kernel_counts_them() {
    for semantics in ["assay", "iometer"] {
        for count in [2_u64, 4] {
            let devices: Vec<LoopDevice> =
                (0..count).map_while(|_| LoopDevice::over_empty(4 << 20)).collect();
            if devices.len() as u64 != count {
                return;
            }
            let story = Story::new();
            let ops = 50 * count;
            let plan = story.write(
                "delays.toml",
                format!(
                    "semantics = \"{semantics}\"\n[[test]]\nname = \"t\"\nops = {ops}\n\
                     access = [{{ size = \"4KiB\", delay = \"2ms\", burst = 1, random = 100 }}]\n"
                ),
            );
            let paths: Vec<String> = devices.iter().map(LoopDevice::text).collect();
            let mut run = vec!["run", plan.as_str()];
            run.extend(paths.iter().map(String::as_str));
            run.push("--json");
            let before: Vec<u64> = devices.iter().map(reads).collect();
            let document = story.assay(&run).ends(DONE).json();
            let counted: Vec<u64> =
                devices.iter().zip(before).map(|(device, before)| reads(device) - before).collect();
            let targets = document["tests"][0]["targets"].as_array().unwrap();
            let recorded: Vec<(&str, u64)> =
                targets.iter().map(|t| (t["target"].as_str().unwrap(), t["ops"].as_u64().unwrap())).collect();
            assert!(recorded.iter().map(|(target, _)| target).eq(&paths), "{semantics}: {recorded:?}");
            // Inspection reads a device before the run: 64 blocks at random places, which may be unmapped, its ends.
            for (counted, (target, ops)) in counted.iter().zip(&recorded) {
                assert!((*ops..=ops + 72).contains(counted), "{semantics}, {target}: {counted} for {ops}");
            }
            assert_eq!(recorded.iter().map(|(_, ops)| ops).sum::<u64>(), ops, "{semantics}: {recorded:?}");
            // Iometer has one I/O for each target, so that a device that is late, as loop devices of a busy host are,
            // gets fewer. The fault gave all to one.
            let least = if semantics == "iometer" { 10 } else { 50 };
            assert!(recorded.iter().all(|(_, ops)| *ops >= least), "{semantics}: {recorded:?}");
            if semantics == "iometer" {
                continue;
            }
            assert!(!rules(&document).contains(&"uneven-targets"), "{:?}", rules(&document));
            let shown = story.assay(&["show", "last"]).ends(DONE).out;
            assert!(shown.contains(&format!("{} {:.1} %", paths[0], 100.0 / count as f64)), "{shown}");
        }
    }
}

/// A line of an exported run, in which all targets of a step took as long as its first.
fn with_equal_latencies(line: &str) -> String {
    let mut event: serde_json::Value = serde_json::from_str(line).unwrap();
    if let Some(members) = event.pointer_mut("/what/body/members").and_then(|members| members.as_array_mut())
    {
        let first = members[0]["service_ns"].clone();
        members.iter_mut().for_each(|member| member["service_ns"] = first.clone());
    }
    event.to_string()
}

/// With two targets and four tests, rows of shares of 50 % filled a screen, and its title was out of sight.
#[test]
fn targets_with_equal_shares_have_no_rows_in_brief() {
    let story = Story::new();
    story.assay(&["run", "vmware", "null:1GiB", "null:2GiB", "--set", "ops=2000"]).ends(DONE);
    story.assay(&["export", "last", "-o", "run.assay"]).ends(DONE);
    // Latencies of memory differ as the machine is busy: those of one become the other's.
    let exported = String::from_utf8(story.read("run.assay")).unwrap();
    let lines: Vec<String> = exported.lines().map(with_equal_latencies).collect();
    story.write("even.assay", lines.join("\n") + "\n");
    story.assay(&["rm", "last"]).ends(DONE);
    story.assay(&["import", "even.assay"]).ends(DONE);
    let brief = story.assay(&["show"]).ends(DONE).says(&["Each of 2 targets had ", " % of the I/Os"]);
    assert!(!brief.out.contains("\n  null:1GiB"), "{}", brief.out);
    let full = story.assay(&["show", "--explain"]).ends(DONE);
    assert_eq!(full.out.matches("\n  null:1GiB").count(), 4, "{}", full.out);
}

/// Of two targets the smaller one was gone through twice, and the larger one to its two thirds.
#[test]
fn each_of_unequal_targets_is_gone_through_as_often_as_the_plan_says() {
    let story = Story::new();
    let cases = [
        ("assay", 1, "0s"),
        ("assay", 3, "0s"),
        ("fio", 1, "0s"),
        ("iometer", 1, "0s"),
        ("iometer", 1, "50ms"),
    ];
    for (semantics, workers, warmup) in cases {
        let plan = format!(
            "semantics = \"{semantics}\"\n[[test]]\nname = \"t\"\npasses = 2\noutstanding = 4\nworkers = {workers}\n\
             warmup = \"{warmup}\"\n\
             access = [{{ size = \"64KiB\", random = 0 }}]\n"
        );
        let plan = story.write("passes.toml", plan);
        let run = ["run", &plan, "null:12MiB", "null:48MiB", "null:3MiB", "--json"];
        let document = story.assay(&run).ends(DONE).json();
        let targets = document["tests"][0]["targets"].as_array().unwrap();
        let mib: Vec<u64> = targets.iter().map(|t| t["bytes"].as_u64().unwrap() >> 20).collect();
        assert_eq!(mib, [24, 96, 6], "{semantics}, {workers} workers, {warmup}");
        assert!(!rules(&document).contains(&"uneven-targets"), "{:?}", rules(&document));
    }
}
