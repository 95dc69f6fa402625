//! A tgt for one test: unprivileged ports, files in memory, removed at the end.

use std::fmt::Write as _;
use std::fs::File;
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::{free_port, need};

/// Capacity of LUN 1, bytes; LUN 2 has a quarter.
pub const LUN_BYTES: u64 = 64 << 20;

/// Number of targets started by this process.
static STARTED: AtomicU32 = AtomicU32::new(0);

/// A running tgtd with one target, which has the LUNs 1 and 2.
#[derive(Debug)]
pub struct Tgt {
    child: Child,
    /// Distinguishes the tgtds of one machine; not a TCP port.
    control_port: u32,
    /// Portals: `127.0.0.1:PORT`.
    pub portals: Vec<String>,
    settings: Vec<String>,
    folder: TempDir,
}

/// Starts a target with that number of portals; skips the test if that is not possible.
#[track_caller]
pub fn start(portal_count: usize) -> Option<Tgt> {
    if !need::programs(&["tgtd", "tgtadm"]) {
        return None;
    }
    need::or_skip("tgt does not start", Tgt::start(portal_count, LUN_BYTES, &[]))
}

impl Tgt {
    /// Starts a target whose LUN 1 has that capacity. `launcher` is a command that executes the server, such as
    /// `taskset -c 1`, or empty.
    ///
    /// # Errors
    /// If tgt is not installed or does not start.
    pub fn start(portal_count: usize, lun_bytes: u64, launcher: &[&str]) -> Result<Self, String> {
        let folder = tempfile::Builder::new().prefix("assay-tgt-").tempdir_in("/dev/shm");
        let folder = folder.map_err(|error| format!("no folder in /dev/shm: {error}"))?;
        let portals: Vec<String> = (0..portal_count).map(|_| format!("127.0.0.1:{}", free_port())).collect();
        let number = STARTED.fetch_add(1, Ordering::Relaxed);
        let control_port = std::process::id() % 20_000 + 300 * (number % 40) + 100;
        let child = spawn(launcher, control_port, &portals)?;
        let mut tgt = Self { child, control_port, portals, settings: Vec::new(), folder };
        tgt.wait_until_up()?;
        tgt.configure(lun_bytes)?;
        Ok(tgt)
    }

    fn wait_until_up(&mut self) -> Result<(), String> {
        let deadline = Instant::now() + Duration::from_secs(10);
        while let Err(why) = self.admin("--op show --mode target") {
            if let Ok(Some(status)) = self.child.try_wait() {
                return Err(format!("tgtd ended with {status}"));
            }
            if Instant::now() > deadline {
                return Err(format!("tgtd does not answer: {why}"));
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(())
    }

    fn configure(&mut self, lun_bytes: u64) -> Result<(), String> {
        self.set(&format!("--op new --mode target --tid 1 -T {}", self.name()))?;
        for (lun, bytes) in [(1, lun_bytes), (2, lun_bytes / 4)] {
            let file = self.folder.path().join(format!("lun{lun}"));
            File::create(&file)
                .and_then(|file| file.set_len(bytes))
                .map_err(|error| format!("{}: {error}", file.display()))?;
            self.set(&format!("--op new --mode logicalunit --tid 1 --lun {lun} -b {}", file.display()))?;
        }
        self.set("--op bind --mode target --tid 1 -I ALL")
    }

    /// Changes a setting with arguments of tgtadm; a restart sets it again.
    ///
    /// # Errors
    /// If tgtadm refuses it.
    pub fn set(&mut self, words: &str) -> Result<(), String> {
        self.admin(words)?;
        self.settings.push(words.to_owned());
        Ok(())
    }

    /// Changes a key of the target's negotiation.
    ///
    /// # Panics
    /// If tgtadm refuses it.
    pub fn set_key(&mut self, key: &str, value: &str) {
        self.set(&format!("--op update --mode target --tid 1 --name {key} --value {value}")).unwrap();
    }

    fn admin(&self, words: &str) -> Result<(), String> {
        let output = Command::new("tgtadm")
            .args(["-C", &self.control_port.to_string(), "--lld", "iscsi"])
            .args(words.split_whitespace())
            .output()
            .map_err(|error| format!("tgtadm: {error}"))?;
        if output.status.success() {
            return Ok(());
        }
        Err(format!("tgtadm {words}: {}", String::from_utf8_lossy(&output.stderr)))
    }

    /// Returns the name of the target, which is unique because locks on LUNs use it.
    pub fn name(&self) -> String {
        format!("iqn.2026-11.example.assay-{}:disk", self.control_port)
    }

    /// Returns the address of LUN 1 with all portals: `user` is empty or ends with `@`, `query` has no `?`.
    pub fn address(&self, user: &str, query: &str) -> String {
        let mut text = format!("iscsi://{user}{}/{}/1?{query}", self.portals[0], self.name());
        for portal in &self.portals[1..] {
            let separator = if text.ends_with('?') { "" } else { "&" };
            write!(text, "{separator}portal={portal}").unwrap();
        }
        text
    }

    /// Returns the path of the file behind LUN 1.
    pub fn lun_path(&self) -> PathBuf {
        self.folder.path().join("lun1")
    }

    /// Kills the target, like a crash.
    pub fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// Starts it again with the same ports, settings and data.
    ///
    /// # Panics
    /// If it does not start.
    pub fn restart(&mut self) {
        self.kill();
        self.child = spawn(&[], self.control_port, &self.portals).unwrap();
        self.wait_until_up().unwrap();
        for setting in &self.settings {
            self.admin(setting).unwrap();
        }
        for portal in &self.portals {
            assert!(TcpStream::connect(portal).is_ok(), "the restarted target listens again");
        }
    }
}

fn spawn(launcher: &[&str], control_port: u32, portals: &[String]) -> Result<Child, String> {
    let portals: Vec<String> = portals.iter().map(|portal| format!("portal={portal}")).collect();
    let (control_port, portals) = (control_port.to_string(), portals.join(","));
    let words = [launcher, &["tgtd", "-f", "-C", &control_port, "--iscsi", &portals]].concat();
    Command::new(words[0])
        .args(&words[1..])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|error| format!("{}: {error}", words[0]))
}

impl Drop for Tgt {
    fn drop(&mut self) {
        self.kill();
        let _ = std::fs::remove_file(format!("/var/run/tgtd/socket.{}", self.control_port));
        let _ = std::fs::remove_file(format!("/var/run/tgtd/socket.{}.lock", self.control_port));
    }
}
