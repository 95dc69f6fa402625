//! An nfs-ganesha for one test: unprivileged ports on loopback, files in memory, removed at the end.

use std::path::PathBuf;
use std::process::{Command, Output};
use std::sync::atomic::{AtomicU32, Ordering};

use crate::{free_port, need};

/// Number of servers started by this process.
static STARTED: AtomicU32 = AtomicU32::new(0);

/// Times that a server is started with other ports before it is said not to start.
const TRIES: usize = 3;

/// A running server with the exports of `scripts/lab-nfs.sh`.
#[derive(Debug)]
pub struct Ganesha {
    lab: String,
    /// Port of NFS.
    pub port: u16,
    /// Port of the MOUNT protocol.
    pub mount_port: u16,
}

/// Starts a server on loopback; skips the test if that is not possible.
#[track_caller]
pub fn start() -> Option<Ganesha> {
    if !is_possible() {
        return None;
    }
    // Between the choice of its ports and its start, another process may take them.
    let tries = || (0..TRIES).map(|_| Ganesha::start(&[]));
    let started = tries().find(Result::is_ok).unwrap_or_else(|| Ganesha::start(&[]));
    need::or_skip("nfs-ganesha does not start", started)
}

/// Starts a server in the namespace `lab`-server, on the well-known ports and with a port mapper; skips the test if
/// that is not possible.
#[track_caller]
pub fn start_in(lab: &str) -> Option<Ganesha> {
    if !is_possible() {
        return None;
    }
    let server = Ganesha { lab: lab.to_owned(), port: 2049, mount_port: 20_048 };
    need::or_skip("nfs-ganesha does not start", server.begin(&[]))
}

/// Returns true if this user may start a server, and can; skips the test otherwise.
#[track_caller]
fn is_possible() -> bool {
    need::root() && need::programs(&["ganesha.nfsd", "rpcbind"])
}

impl Ganesha {
    /// Starts a server on loopback. `launcher` is a command that executes the server, such as `taskset -c 1`, or empty.
    ///
    /// # Errors
    /// If nfs-ganesha is not installed or does not start.
    pub fn start(launcher: &[&str]) -> Result<Self, String> {
        let number = STARTED.fetch_add(1, Ordering::Relaxed);
        let lab = format!("assay-test-nfs-{}-{number}", std::process::id());
        Self { lab, port: free_port(), mount_port: free_port() }.begin(launcher)
    }

    fn begin(self, launcher: &[&str]) -> Result<Self, String> {
        let output = self.script(launcher, "start")?;
        match output.status.success() {
            true => Ok(self),
            false => Err(String::from_utf8_lossy(&output.stderr).trim().to_owned()),
        }
    }

    fn script(&self, launcher: &[&str], verb: &str) -> Result<Output, String> {
        let script = crate::script("lab-nfs.sh").display().to_string();
        let words = [launcher, &["sh", &script, verb]].concat();
        Command::new(words[0])
            .args(&words[1..])
            .env("LAB", &self.lab)
            .env("NFS_PORT", self.port.to_string())
            .env("MOUNT_PORT", self.mount_port.to_string())
            .output()
            .map_err(|error| format!("{}: {error}", words[0]))
    }

    /// Returns the server-side path of a file in an export.
    pub fn file(&self, name: &str) -> PathBuf {
        PathBuf::from(format!("/dev/shm/{}/nfs", self.lab)).join(name)
    }

    /// Kills the server, like a crash.
    ///
    /// # Panics
    /// If the script cannot be started.
    pub fn kill(&self) {
        self.script(&[], "kill").unwrap();
    }

    /// Starts it again with the same ports and files.
    ///
    /// # Panics
    /// If it does not start.
    pub fn restart(&self) {
        let output = self.script(&[], "start").unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
}

impl Drop for Ganesha {
    fn drop(&mut self) {
        let _ = self.script(&[], "stop");
    }
}
