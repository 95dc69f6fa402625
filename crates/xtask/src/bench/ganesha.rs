//! A file over NFS to compare clients on: the nfs-ganesha of `scripts/lab-nfs.sh` with files in memory, on loopback ports and
//! a CPU of its own.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use anyhow::{Context as _, bail};

/// Where it listens, which is not where an installed server does.
const PORT: u16 = 13_049;
const MOUNT_PORT: u16 = 13_048;
/// The testers have CPU 0.
const CPU: &str = "1";
/// The file of Assay, which must stay its own, and that of fio.
const OURS: &str = "ours.dat";
const THEIRS: &str = "theirs.dat";

/// Runs until it is dropped.
pub(crate) struct Ganesha {
    lab: String,
}

impl Ganesha {
    pub(crate) fn start() -> anyhow::Result<Self> {
        let ganesha = Self { lab: format!("assay-bench-{}", std::process::id()) };
        let output = ganesha.script("start")?;
        if !output.status.success() {
            bail!("nfs-ganesha does not start: {}", String::from_utf8_lossy(&output.stderr).trim());
        }
        Ok(ganesha)
    }

    /// The file that Assay drives.
    pub(crate) fn ours(&self) -> String {
        format!("nfs://127.0.0.1:{PORT}/rw/{OURS}?mountport={MOUNT_PORT}")
    }

    /// The export in the words of fio's engine, and the name of the file there.
    pub(crate) fn theirs(&self) -> (String, &'static str) {
        (format!("nfs://127.0.0.1/rw?nfsport={PORT}&mountport={MOUNT_PORT}&version=3"), THEIRS)
    }

    /// Gives fio a file with the same data as Assay's.
    pub(crate) fn copy(&self) -> anyhow::Result<()> {
        let [ours, theirs] = [OURS, THEIRS].map(|name| self.folder().join(name));
        std::fs::copy(&ours, &theirs).with_context(|| format!("cannot copy {}", ours.display()))?;
        Ok(())
    }

    fn folder(&self) -> PathBuf {
        Path::new("/dev/shm").join(&self.lab).join("nfs/rw")
    }

    fn script(&self, verb: &str) -> anyhow::Result<Output> {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/lab-nfs.sh");
        let mut command = Command::new("taskset");
        command.args(["-c", CPU, "sh"]).arg(script).arg(verb).env("LAB", &self.lab);
        command.env("NFS_PORT", PORT.to_string()).env("MOUNT_PORT", MOUNT_PORT.to_string());
        command.output().context("cannot start scripts/lab-nfs.sh")
    }
}

impl Drop for Ganesha {
    fn drop(&mut self) {
        // A server that is gone leaves only its files, which go as well.
        let _ = self.script("stop");
    }
}
