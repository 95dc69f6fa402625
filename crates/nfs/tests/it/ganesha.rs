//! An nfs-ganesha of its own for a test: unprivileged ports on loopback, files in memory, gone at the end.

use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::atomic::{AtomicU32, Ordering};

static NUMBERS: AtomicU32 = AtomicU32::new(0);

/// A running server with the exports of `scripts/lab-nfs.sh`.
pub struct Ganesha {
    lab: String,
    pub port: u16,
    pub mount_port: u16,
}

/// The server, or why there can be none.
pub fn start() -> Option<Ganesha> {
    Ganesha::start().map_err(|why| eprintln!("skipped: nfs-ganesha cannot be started here: {why}")).ok()
}

/// A server in the namespace `lab`-server, on the known ports and with a port mapper.
pub fn start_in(lab: &str) -> Option<Ganesha> {
    let server = Ganesha { lab: lab.to_owned(), port: 2049, mount_port: 20_048 };
    server.begin().map_err(|why| eprintln!("skipped: nfs-ganesha cannot be started here: {why}")).ok()
}

fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

impl Ganesha {
    fn start() -> Result<Self, String> {
        let number = NUMBERS.fetch_add(1, Ordering::Relaxed);
        let lab = format!("assay-test-nfs-{}-{number}", std::process::id());
        Self { lab, port: free_port(), mount_port: free_port() }.begin()
    }

    fn begin(self) -> Result<Self, String> {
        let output = self.script("start")?;
        match output.status.success() {
            true => Ok(self),
            false => Err(String::from_utf8_lossy(&output.stderr).trim().to_owned()),
        }
    }

    fn script(&self, verb: &str) -> Result<Output, String> {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/lab-nfs.sh");
        Command::new("sh")
            .arg(script)
            .arg(verb)
            .env("LAB", &self.lab)
            .env("NFS_PORT", self.port.to_string())
            .env("MOUNT_PORT", self.mount_port.to_string())
            .output()
            .map_err(|error| error.to_string())
    }

    /// Where a file of an export really is.
    pub fn file(&self, name: &str) -> PathBuf {
        PathBuf::from(format!("/dev/shm/{}/nfs", self.lab)).join(name)
    }

    /// Ends the server as a crash would.
    pub fn kill(&self) {
        self.script("kill").unwrap();
    }

    /// Starts it again with the same ports and files.
    pub fn restart(&self) {
        let output = self.script("start").unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
}

impl Drop for Ganesha {
    fn drop(&mut self) {
        let _ = self.script("stop");
    }
}
