//! A lab for each test, created and removed by scripts/lab.sh. A few exist at a time: they mostly wait.

use std::path::Path;
use std::process::{Command, Output};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::need;
use crate::story::Story;

/// One for each lab that there may be at a time.
static TURNS: [Mutex<()>; 3] = [const { Mutex::new(()) }; 3];
static NEXT_TURN: AtomicUsize = AtomicUsize::new(0);

/// Four links, tgt, and istgt if it is installed. Removed on drop.
#[derive(Debug)]
pub struct Lab {
    name: String,
    _turn: MutexGuard<'static, ()>,
}

/// Creates the lab; skips the test if that is not possible.
///
/// # Panics
/// If the script cannot be started.
#[track_caller]
pub fn up() -> Option<Lab> {
    if !need::root() || !need::programs(&["ip", "tc", "tgtd", "tgtadm"]) {
        return None;
    }
    let index = NEXT_TURN.fetch_add(1, Ordering::Relaxed) % TURNS.len();
    let turn = TURNS[index].lock().unwrap_or_else(PoisonError::into_inner);
    remove_left_over();
    let name = format!("assay-test-{}-{index}", std::process::id());
    let output = script(&name, &["up", "9000"]);
    if !output.status.success() {
        return need::or_skip("no lab", Err(String::from_utf8_lossy(&output.stderr)));
    }
    Some(Lab { name, _turn: turn })
}

/// Removes labs of test programs that were killed.
fn remove_left_over() {
    let Ok(namespaces) = std::fs::read_dir("/run/netns") else { return };
    for namespace in namespaces.filter_map(Result::ok) {
        let name = namespace.file_name().to_string_lossy().into_owned();
        let Some(lab) = name.strip_suffix("-client") else { continue };
        let Some((pid, index)) = lab.strip_prefix("assay-test-").and_then(|own| own.split_once('-')) else {
            continue;
        };
        // Other labs have similar names, with more than two numbers.
        let is_of_test = pid.parse::<u32>().is_ok() && index.parse::<usize>().is_ok();
        if is_of_test && !Path::new("/proc").join(pid).exists() {
            script(lab, &["down"]);
        }
    }
}

fn script(name: &str, args: &[&str]) -> Output {
    // Services that the script leaves running inherit its standard output, which must not be this test's.
    let log = tempfile::tempfile().unwrap();
    let status = Command::new("sh")
        .arg(crate::script("lab.sh"))
        .args(args)
        .env("LAB", name)
        .stdout(log.try_clone().unwrap())
        .stderr(log.try_clone().unwrap())
        .status()
        .unwrap();
    let mut said = String::new();
    std::io::Seek::rewind(&mut &log).unwrap();
    std::io::Read::read_to_string(&mut &log, &mut said).unwrap();
    Output { status, stdout: Vec::new(), stderr: said.into_bytes() }
}

impl Lab {
    /// Runs a verb of scripts/lab.sh: `cut 3`, `mtu 2 1500 server`, `kill`, `start`.
    ///
    /// # Panics
    /// If the script fails.
    pub fn does(&self, verb: &str) {
        let output = script(&self.name, &verb.split(' ').collect::<Vec<_>>());
        assert!(output.status.success(), "{verb}: {}", String::from_utf8_lossy(&output.stderr));
    }

    /// Runs a command line on the client's side.
    ///
    /// # Panics
    /// If it fails.
    pub fn client(&self, line: &str) {
        let words = line.split(' ');
        let namespace = format!("{}-client", self.name);
        let output = Command::new("ip").args(["netns", "exec", &namespace]).args(words).output().unwrap();
        assert!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
    }

    /// Returns a story on the client's side.
    pub fn story(&self) -> Story {
        Story::in_namespace(format!("{}-client", self.name))
    }

    /// Returns the full name of a target.
    pub fn target(&self, name: &str) -> String {
        format!("iqn.2026-11.example.{}:{name}", self.name)
    }

    /// Returns the address of a LUN of the open target over link 1.
    pub fn one_path(&self, lun: u32) -> String {
        format!("iscsi://10.77.1.2/{}/{lun}", self.target("open"))
    }

    /// Returns the address of its LUN 1 over all four links.
    pub fn four_paths(&self, query: &str) -> String {
        format!("{}?portal=10.77.2.2&portal=10.77.3.2&portal=10.77.4.2&{query}", self.one_path(1))
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        script(&self.name, &["down"]);
    }
}
