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
            // Inspection reads a device before the run, and each about as much.
            let (least, most) = (counted.iter().min().unwrap(), counted.iter().max().unwrap());
            assert!(*least >= 50 && most - least <= 8, "{semantics}, {count} devices: {counted:?}");
            let targets = document["tests"][0]["targets"].as_array().unwrap();
            let recorded: Vec<(&str, u64)> =
                targets.iter().map(|t| (t["target"].as_str().unwrap(), t["ops"].as_u64().unwrap())).collect();
            let expected: Vec<(&str, u64)> = paths.iter().map(|path| (path.as_str(), 50)).collect();
            assert_eq!(recorded, expected, "{semantics}");
            assert!(!rules(&document).contains(&"uneven-targets"), "{:?}", rules(&document));
            let shown = story.assay(&["show", "last"]).ends(DONE).out;
            assert!(shown.contains(&format!("{} {:.1} %", paths[0], 100.0 / count as f64)), "{shown}");
        }
    }
}
