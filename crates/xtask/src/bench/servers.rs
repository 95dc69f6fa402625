//! The servers of the comparisons: tgt, nfs-ganesha and the lean target of the tests, on their own CPU.

use std::fs::File;
use std::io::Read as _;
use std::path::PathBuf;

use anyhow::Context as _;
use assay_testkit::ganesha::Ganesha;
use assay_testkit::lean::{self, LeanTarget};
use assay_testkit::tgt::Tgt;

/// Runs a server on CPU 1; the testers use CPU 0.
const LAUNCHER: [&str; 3] = ["taskset", "-c", "1"];
const CPU: usize = 1;

/// Assay's file on the NFS server, which must stay its own, and fio's file.
const OURS: &str = "ours.dat";
const THEIRS: &str = "theirs.dat";

/// Starts a target whose LUN 1 has random data.
pub(super) fn lun(size_mib: u64) -> anyhow::Result<Tgt> {
    let tgt = Tgt::start(1, size_mib << 20, &LAUNCHER).map_err(anyhow::Error::msg)?;
    let path = tgt.lun_path();
    let mut random = File::open("/dev/urandom")?.take(size_mib << 20);
    let file = File::options().write(true).open(&path);
    file.and_then(|mut file| std::io::copy(&mut random, &mut file))
        .with_context(|| format!("cannot fill {}", path.display()))?;
    Ok(tgt)
}

/// Returns the address of its LUN 1 in the form that both testers accept.
pub(super) fn lun_address(tgt: &Tgt) -> String {
    format!("iscsi://{}/{}/1", tgt.portals[0], tgt.name())
}

/// Starts a target whose responses cost an initiator as little as possible.
pub(super) fn lean(size_mib: u64) -> anyhow::Result<LeanTarget> {
    Ok(LeanTarget::start(usize::try_from(size_mib << 20)?, Some(CPU)))
}

/// Returns the address of its LUN.
pub(super) fn lean_address(target: &LeanTarget) -> String {
    format!("iscsi://{}/{}/0", target.portal, lean::NAME)
}

/// Starts a server.
pub(super) fn nfs() -> anyhow::Result<Ganesha> {
    Ganesha::start(&LAUNCHER).map_err(anyhow::Error::msg)
}

/// Returns the address of Assay's file.
pub(super) fn ours(server: &Ganesha) -> PathBuf {
    format!("nfs://127.0.0.1:{}/rw/{OURS}?mountport={}", server.port, server.mount_port).into()
}

/// Returns the export in the notation of fio's engine, and the name of the file there.
pub(super) fn theirs(server: &Ganesha) -> (String, &'static str) {
    let query = format!("nfsport={}&mountport={}&version=3", server.port, server.mount_port);
    (format!("nfs://127.0.0.1/rw?{query}"), THEIRS)
}

/// Gives fio a file with the same data as Assay's.
pub(super) fn copy(server: &Ganesha) -> anyhow::Result<()> {
    let [ours, theirs] = [OURS, THEIRS].map(|name| server.file(&format!("rw/{name}")));
    std::fs::copy(&ours, &theirs).with_context(|| format!("cannot copy {}", ours.display()))?;
    Ok(())
}
