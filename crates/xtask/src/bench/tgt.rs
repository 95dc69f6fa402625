//! A LUN to compare initiators on: tgt with a file in memory, on a loopback port and a CPU of its own.

use std::fs::File;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};

const NAME: &str = "iqn.2026-11.example.assay-bench:disk";
/// Where it listens, and its control port; neither is what an installed tgt uses.
const PORT: u16 = 13_271;
const CONTROL: &str = "473";
/// The testers have CPU 0.
const CPU: &str = "1";

/// Runs until it is dropped.
pub(crate) struct Tgt {
    process: Child,
    data: PathBuf,
}

impl Tgt {
    pub(crate) fn start(size_mib: u64) -> anyhow::Result<Self> {
        let data = PathBuf::from(format!("/dev/shm/assay-bench-lun-{}.dat", std::process::id()));
        let mut random = std::io::Read::take(File::open("/dev/urandom")?, size_mib << 20);
        let mut file = File::create(&data).with_context(|| format!("cannot create {}", data.display()))?;
        std::io::copy(&mut random, &mut file).with_context(|| format!("cannot fill {}", data.display()))?;
        let portal = format!("portal=127.0.0.1:{PORT}");
        let process = Command::new("taskset")
            .args(["-c", CPU, "tgtd", "-f", "-C", CONTROL, "--iscsi", &portal])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .context("cannot start tgtd (package tgt)")?;
        let tgt = Self { process, data };
        let file = tgt.data.display().to_string();
        tgt.admin_until_it_answers()?;
        tgt.admin(&["--op", "new", "--mode", "target", "--tid", "1", "-T", NAME])?;
        tgt.admin(&["--op", "new", "--mode", "logicalunit", "--tid", "1", "--lun", "1", "-b", &file])?;
        tgt.admin(&["--op", "bind", "--mode", "target", "--tid", "1", "-I", "ALL"])?;
        Ok(tgt)
    }

    /// As both testers write it.
    pub(crate) fn lun(&self) -> String {
        format!("iscsi://127.0.0.1:{PORT}/{NAME}/1")
    }

    fn admin_until_it_answers(&self) -> anyhow::Result<()> {
        let deadline = Instant::now() + Duration::from_secs(10);
        while let Err(error) = self.admin(&["--op", "show", "--mode", "target"]) {
            if Instant::now() > deadline {
                return Err(error);
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        Ok(())
    }

    fn admin(&self, args: &[&str]) -> anyhow::Result<()> {
        let output = Command::new("tgtadm").args(["-C", CONTROL, "--lld", "iscsi"]).args(args).output();
        let output = output.context("cannot start tgtadm (package tgt)")?;
        if !output.status.success() {
            bail!("tgtadm {}: {}", args.join(" "), String::from_utf8_lossy(&output.stderr).trim());
        }
        Ok(())
    }
}

impl Drop for Tgt {
    fn drop(&mut self) {
        // What has ended need not be ended, and what was never made need not be removed.
        let _ = self.process.kill();
        let _ = self.process.wait();
        let _ = std::fs::remove_file(&self.data);
    }
}
