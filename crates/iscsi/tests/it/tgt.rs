//! A tgt of its own for a test: unprivileged ports, a file in memory, gone at the end.

use std::fs::File;
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::{Duration, Instant};

use tempfile::TempDir;

pub const TARGET: &str = "iqn.2026-11.example.assay:disk";
pub const LUN_BYTES: u64 = 64 << 20;

static CONTROL_PORTS: AtomicU16 = AtomicU16::new(0);

/// A running tgtd with one target: LUN 1 and, smaller, LUN 2.
pub struct Tgt {
    child: Child,
    control_port: String,
    pub portals: Vec<String>,
    settings: Vec<Vec<String>>,
    dir: TempDir,
}

/// Why no target can be started here, or the target.
pub fn start(portal_count: usize) -> Option<Tgt> {
    match Tgt::start(portal_count) {
        Ok(tgt) => Some(tgt),
        Err(why) => {
            eprintln!("skipped: tgt cannot be started here: {why}");
            None
        }
    }
}

fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

impl Tgt {
    fn start(portal_count: usize) -> Result<Self, String> {
        for program in ["tgtd", "tgtadm"] {
            let found =
                Command::new(program).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
            found.map_err(|error| format!("{program}: {error}"))?;
        }
        let dir = tempfile::Builder::new()
            .prefix("assay-iscsi-")
            .tempdir_in("/dev/shm")
            .map_err(|e| e.to_string())?;
        for (name, bytes) in [("lun1", LUN_BYTES), ("lun2", LUN_BYTES / 4)] {
            File::create(dir.path().join(name))
                .and_then(|file| file.set_len(bytes))
                .map_err(|e| e.to_string())?;
        }
        let portals: Vec<String> = (0..portal_count).map(|_| format!("127.0.0.1:{}", free_port())).collect();
        let number = CONTROL_PORTS.fetch_add(1, Ordering::Relaxed);
        let control_port = (std::process::id() % 20_000 + 1000 * u32::from(number % 40) + 100).to_string();
        let child = spawn(&control_port, &portals).map_err(|error| error.to_string())?;
        let mut tgt = Self { child, control_port, portals, settings: Vec::new(), dir };
        tgt.wait_until_up()?;
        tgt.configure()?;
        Ok(tgt)
    }

    fn wait_until_up(&mut self) -> Result<(), String> {
        let deadline = Instant::now() + Duration::from_secs(10);
        while self.admin(&["--op", "show", "--mode", "target"]).is_err() {
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

    fn configure(&mut self) -> Result<(), String> {
        let lun = |dir: &TempDir, name| dir.path().join(name).to_str().unwrap().to_owned();
        let (lun1, lun2) = (lun(&self.dir, "lun1"), lun(&self.dir, "lun2"));
        self.set(&["--op", "new", "--mode", "target", "--tid", "1", "-T", TARGET])?;
        self.set(&["--op", "new", "--mode", "logicalunit", "--tid", "1", "--lun", "1", "-b", &lun1])?;
        self.set(&["--op", "new", "--mode", "logicalunit", "--tid", "1", "--lun", "2", "-b", &lun2])?;
        self.set(&["--op", "bind", "--mode", "target", "--tid", "1", "-I", "ALL"])
    }

    /// Changes a setting, and remembers it for restarts.
    pub fn set(&mut self, arguments: &[&str]) -> Result<(), String> {
        self.admin(arguments)?;
        self.settings.push(arguments.iter().map(|&argument| argument.to_owned()).collect());
        Ok(())
    }

    pub fn set_key(&mut self, key: &str, value: &str) {
        self.set(&["--op", "update", "--mode", "target", "--tid", "1", "--name", key, "--value", value])
            .unwrap();
    }

    fn admin(&self, arguments: &[&str]) -> Result<(), String> {
        let output = Command::new("tgtadm")
            .args(["-C", &self.control_port, "--lld", "iscsi"])
            .args(arguments)
            .output()
            .map_err(|error| error.to_string())?;
        if output.status.success() {
            return Ok(());
        }
        Err(format!("tgtadm {arguments:?}: {}", String::from_utf8_lossy(&output.stderr)))
    }

    pub fn lun_path(&self) -> PathBuf {
        self.dir.path().join("lun1")
    }

    /// Ends the target as a crash would.
    pub fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// Starts it again with the same ports, settings and data.
    pub fn restart(&mut self) {
        self.kill();
        self.child = spawn(&self.control_port, &self.portals).unwrap();
        self.wait_until_up().unwrap();
        for setting in self.settings.clone() {
            self.admin(&setting.iter().map(String::as_str).collect::<Vec<_>>()).unwrap();
        }
        for portal in &self.portals {
            assert!(TcpStream::connect(portal).is_ok(), "the restarted target listens again");
        }
    }
}

fn spawn(control_port: &str, portals: &[String]) -> std::io::Result<Child> {
    let portals: Vec<String> = portals.iter().map(|portal| format!("portal={portal}")).collect();
    Command::new("tgtd")
        .args(["-f", "-C", control_port, "--iscsi", &portals.join(",")])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
}

impl Drop for Tgt {
    fn drop(&mut self) {
        self.kill();
        let _ = std::fs::remove_file(format!("/var/run/tgtd/socket.{}", self.control_port));
        let _ = std::fs::remove_file(format!("/var/run/tgtd/socket.{}.lock", self.control_port));
    }
}
