//! An nfs-ganesha of its own for a test: unprivileged ports on loopback, files in memory, gone at the end.

use std::path::PathBuf;
use std::process::{Command, Output};
use std::sync::atomic::{AtomicU32, Ordering};

use crate::{free_port, need};

/// Servers started by this process so far.
static STARTED: AtomicU32 = AtomicU32::new(0);

/// A running server with the exports of `scripts/lab-nfs.sh`.
#[derive(Debug)]
pub struct Ganesha {
    lab: String,
    /// Port of NFS.
    pub port: u16,
    /// Port of the MOUNT protocol.
    pub mount_port: u16,
}

/// Starts a server on loopback; skips the test where there can be none.
#[track_caller]
#[must_use]
pub fn start() -> Option<Ganesha> {
    if !is_possible() {
        return None;
    }
    need::or_skip("nfs-ganesha does not start", Ganesha::start(&[]))
}

/// Starts a server in the namespace `lab`-server, on the well-known ports and with a port mapper; skips the test where
/// there can be none.
#[track_caller]
#[must_use]
pub fn start_in(lab: &str) -> Option<Ganesha> {
    if !is_possible() {
        return None;
    }
    let server = Ganesha { lab: lab.to_owned(), port: 2049, mount_port: 20_048 };
    need::or_skip("nfs-ganesha does not start", server.begin(&[]))
}

/// Returns whether this user may start one, and can; skips the test otherwise.
#[track_caller]
fn is_possible() -> bool {
    need::root() && need::programs(&["ganesha.nfsd", "rpcbind"])
}

impl Ganesha {
    /// Starts a server on loopback, by a command that takes another one as its arguments (`taskset -c 1`) where one is
    /// given.
    ///
    /// # Errors
    /// Where nfs-ganesha is not installed or does not start; says why.
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

    /// Returns the path of a file of an export on the server's side.
    #[must_use]
    pub fn file(&self, name: &str) -> PathBuf {
        PathBuf::from(format!("/dev/shm/{}/nfs", self.lab)).join(name)
    }

    /// Ends the server as a crash would.
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
