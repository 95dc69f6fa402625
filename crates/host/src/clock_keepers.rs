//! Programs that steer the wall clock.

use std::fs;

use crate::machine::{Machine, attribute};

/// Names of processes, cut to 15 characters by the kernel, and the programs that they are.
const KEEPERS: [(&str, &str); 7] = [
    ("chronyd", "chronyd"),
    ("systemd-timesyn", "systemd-timesyncd"),
    ("ntpd", "ntpd"),
    ("ntp-daemon", "ntpd-rs"),
    ("openntpd", "openntpd"),
    ("ptp4l", "ptp4l"),
    ("phc2sys", "phc2sys"),
];

/// Returns the programs that can steer the wall clock and are running, by name.
pub fn clock_keepers() -> Vec<String> {
    of(&Machine::this())
}

fn of(machine: &Machine) -> Vec<String> {
    let processes = fs::read_dir(machine.path("/proc")).into_iter().flatten().flatten();
    let mut found: Vec<String> = processes
        .filter(|entry| entry.file_name().to_string_lossy().bytes().all(|byte| byte.is_ascii_digit()))
        .filter_map(|entry| attribute(&entry.path().join("comm")))
        .filter_map(|name| KEEPERS.iter().find(|(comm, _)| *comm == name))
        .map(|(_, program)| (*program).to_owned())
        .collect();
    found.sort();
    found.dedup();
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_that_steer_the_clock_are_named_once() {
        let root = tempfile::tempdir().unwrap();
        for (process, name) in [("1", "systemd"), ("70", "chronyd"), ("71", "chronyd"), ("90", "phc2sys")] {
            let folder = root.path().join("proc").join(process);
            fs::create_dir_all(&folder).unwrap();
            fs::write(folder.join("comm"), format!("{name}\n")).unwrap();
        }
        fs::create_dir_all(root.path().join("proc/self")).unwrap();
        fs::write(root.path().join("proc/self/comm"), "ntpd\n").unwrap();
        assert_eq!(of(&Machine::captured(root.path())), ["chronyd", "phc2sys"]);
        assert!(of(&Machine::captured(&root.path().join("none"))).is_empty());
    }
}
