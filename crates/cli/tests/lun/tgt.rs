//! A tgt of its own for a story: unprivileged ports, files in memory, gone at the end.

use std::fs::File;
use std::net::TcpListener;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::{Duration, Instant};

pub const LUN_BYTES: u64 = 64 << 20;

static NUMBERS: AtomicU16 = AtomicU16::new(0);

/// A running tgtd with one target and LUN 1.
pub struct Tgt {
    child: Child,
    control: String,
    portals: Vec<String>,
    settings: Vec<Vec<String>>,
    dir: tempfile::TempDir,
}

/// Why no target can be started here, or the target.
pub fn start(portals: usize) -> Option<Tgt> {
    Tgt::start(portals).map_err(|why| eprintln!("skipped: tgt cannot be started here: {why}")).ok()
}

fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

impl Tgt {
    fn start(portals: usize) -> Result<Self, String> {
        let dir = tempfile::Builder::new()
            .prefix("assay-lun-")
            .tempdir_in("/dev/shm")
            .map_err(|e| e.to_string())?;
        let disk = dir.path().join("disk").to_str().unwrap().to_owned();
        File::create(&disk).and_then(|file| file.set_len(LUN_BYTES)).map_err(|e| e.to_string())?;
        let portals: Vec<String> = (0..portals).map(|_| format!("127.0.0.1:{}", free_port())).collect();
        let number = NUMBERS.fetch_add(1, Ordering::Relaxed);
        let control = (std::process::id() % 20_000 + 300 * u32::from(number % 40) + 200).to_string();
        let child = spawn(&control, &portals).map_err(|e| e.to_string())?;
        let mut tgt = Self { child, control, portals, settings: Vec::new(), dir };
        tgt.wait_until_up()?;
        tgt.set(&format!("--op new --mode target --tid 1 -T {}", tgt.name()))?;
        tgt.set(&format!("--op new --mode logicalunit --tid 1 --lun 1 -b {disk}"))?;
        tgt.set("--op bind --mode target --tid 1 -I ALL")?;
        Ok(tgt)
    }

    fn wait_until_up(&mut self) -> Result<(), String> {
        let deadline = Instant::now() + Duration::from_secs(10);
        while self.admin("--op show --mode target").is_err() {
            if let Ok(Some(status)) = self.child.try_wait() {
                return Err(format!("tgtd ended with {status}"));
            }
            if Instant::now() > deadline {
                return Err("tgtd does not answer".into());
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(())
    }

    /// Changes a setting, and remembers it for restarts.
    pub fn set(&mut self, words: &str) -> Result<(), String> {
        self.admin(words)?;
        self.settings.push(vec![words.to_owned()]);
        Ok(())
    }

    fn admin(&self, words: &str) -> Result<(), String> {
        let output = Command::new("tgtadm")
            .args(["-C", &self.control, "--lld", "iscsi"])
            .args(words.split_whitespace())
            .output()
            .map_err(|e| e.to_string())?;
        if output.status.success() { Ok(()) } else { Err(String::from_utf8_lossy(&output.stderr).into()) }
    }

    /// Of its own, as a LUN is locked by the name of its target.
    pub fn name(&self) -> String {
        format!("iqn.2026-11.example.assay-{}:story", self.control)
    }

    /// `iscsi://` with a user, if any, and all portals.
    pub fn address(&self, user: &str, query: &str) -> String {
        let mut query: Vec<String> = query.split('&').filter(|q| !q.is_empty()).map(str::to_owned).collect();
        query.extend(self.portals[1..].iter().map(|p| format!("portal={p}")));
        format!("iscsi://{user}{}/{}/1?{}", self.portals[0], self.name(), query.join("&"))
    }

    pub fn disk(&self) -> PathBuf {
        self.dir.path().join("disk")
    }

    /// Ends the target as a crash would.
    pub fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// Starts it again with the same ports, settings and data.
    pub fn restart(&mut self) {
        self.child = spawn(&self.control, &self.portals).unwrap();
        self.wait_until_up().unwrap();
        for setting in self.settings.clone() {
            self.admin(&setting[0]).unwrap();
        }
    }
}

fn spawn(control: &str, portals: &[String]) -> std::io::Result<Child> {
    let portals: Vec<String> = portals.iter().map(|portal| format!("portal={portal}")).collect();
    Command::new("tgtd")
        .args(["-f", "-C", control, "--iscsi", &portals.join(",")])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
}

impl Drop for Tgt {
    fn drop(&mut self) {
        self.kill();
        let _ = std::fs::remove_file(format!("/var/run/tgtd/socket.{}", self.control));
        let _ = std::fs::remove_file(format!("/var/run/tgtd/socket.{}.lock", self.control));
    }
}
