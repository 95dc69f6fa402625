//! Spinners of idle priority, one per CPU: a virtual CPU that idles is given back to the hypervisor and wakes late,
//! which would be measured as latency of either tester.

use std::hint::black_box;
use std::os::unix::process::parent_id;
use std::process::{Child, Command, Stdio};

use anyhow::Context as _;

/// How a spinner is asked for; no verb for people.
pub(crate) const VERB: &str = "spin";

/// Multiplications between two looks at the parent: about a tenth of a second.
const ROUNDS: u64 = 100_000_000;

/// Keeps all allowed CPUs awake while it lives.
pub(crate) struct Awake {
    spinners: Vec<Child>,
}

impl Awake {
    pub(crate) fn start() -> anyhow::Result<Self> {
        let this = std::env::current_exe().context("cannot find this program")?;
        let mut awake = Self { spinners: Vec::new() };
        for cpu in allowed_cpus()? {
            let spinner = Command::new("chrt")
                .args(["-i", "0", "taskset", "-c", &cpu.to_string()])
                .arg(&this)
                .arg(VERB)
                .stdin(Stdio::null())
                .spawn()
                .context("cannot start chrt (package util-linux) to keep the CPUs awake")?;
            awake.spinners.push(spinner);
        }
        Ok(awake)
    }
}

impl Drop for Awake {
    fn drop(&mut self) {
        for spinner in &mut self.spinners {
            // One that is gone already needs no end.
            let _ = spinner.kill();
            let _ = spinner.wait();
        }
    }
}

/// Spins until whoever started this is gone.
pub(crate) fn spin() {
    let (parent, mut value) = (parent_id(), 1_u64);
    while parent_id() == parent {
        for round in 0..ROUNDS {
            value = black_box(value.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(round));
        }
    }
}

fn allowed_cpus() -> anyhow::Result<Vec<u32>> {
    let status = std::fs::read_to_string("/proc/self/status").context("cannot read /proc/self/status")?;
    let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).unwrap_or("0");
    parse_cpus(list.trim()).context("cannot understand Cpus_allowed_list")
}

/// `0-2,5` as a list.
fn parse_cpus(list: &str) -> Option<Vec<u32>> {
    let mut cpus = Vec::new();
    for part in list.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        cpus.extend(first.parse::<u32>().ok()?..=last.parse().ok()?);
    }
    Some(cpus)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpu_lists_are_read_as_the_kernel_writes_them() {
        assert_eq!(parse_cpus("0-2,5"), Some(vec![0, 1, 2, 5]));
        assert_eq!(parse_cpus("3"), Some(vec![3]));
        assert_eq!(parse_cpus("x"), None);
    }
}
