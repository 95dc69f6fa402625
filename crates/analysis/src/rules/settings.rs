//! Settings of a LUN's session or an NFS mount that slow I/O down. `assay check` shows them before a run.

use assay_record::{Agreed, LunFacts, NfsFacts};
use assay_spec::units::Bytes;
use serde::Serialize;

use super::{Fired, Run};
use crate::finding::{Evidence, Severity};

/// A session that takes smaller data segments cuts ordinary writes into pieces, bytes.
const SMALL_SEGMENT_BYTES: u32 = 32 << 10;
/// A session with a smaller command window holds back ordinary queue depths, commands.
const SMALL_WINDOW: u32 = 32;
/// A server with smaller calls cuts ordinary I/O into pieces, bytes: the default of old servers.
const SMALL_CALL_BYTES: u32 = 64 << 10;

/// A setting that slows I/O down.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SlowSetting {
    /// Name of the rule.
    pub rule: &'static str,
    /// The setting, with its value and what it costs.
    pub says: String,
    /// What to change.
    pub next: &'static str,
}

/// Returns the settings of a LUN's sessions that slow I/O down, each once for all paths.
pub fn slow_lun_settings(lun: &LunFacts) -> Vec<SlowSetting> {
    let mut found: Vec<SlowSetting> = Vec::new();
    for agreed in lun.paths.iter().filter_map(|path| path.agreed.as_ref()) {
        let of_path = [segments(agreed), r2t(agreed), crc(agreed), window(agreed)];
        found.extend(of_path.into_iter().flatten().filter(|one| !found.contains(one)).collect::<Vec<_>>());
    }
    found
}

/// Returns the settings of an NFS mount that slow I/O down.
pub fn slow_nfs_settings(nfs: &NfsFacts) -> Vec<SlowSetting> {
    let small = |(what, bytes): (&str, u32)| {
        (bytes < SMALL_CALL_BYTES).then(|| SlowSetting {
            rule: "small-calls",
            says: format!(
                "the server accepts {what} of at most {} per call, so each larger one takes several calls",
                Bytes(bytes.into())
            ),
            next: "Raise the limit on the server to 1 MiB.",
        })
    };
    [("reads", nfs.read_bytes_max), ("writes", nfs.write_bytes_max)].into_iter().filter_map(small).collect()
}

fn segments(agreed: &Agreed) -> Option<SlowSetting> {
    (agreed.max_send_segment_bytes < SMALL_SEGMENT_BYTES).then(|| SlowSetting {
        rule: "small-segments",
        says: format!(
            "the target accepts data segments of at most {} (MaxRecvDataSegmentLength), so each larger write is sent \
             in \
             pieces",
            Bytes(agreed.max_send_segment_bytes.into())
        ),
        next: "Raise MaxRecvDataSegmentLength on the target to 256 KiB.",
    })
}

fn r2t(agreed: &Agreed) -> Option<SlowSetting> {
    let (says, next) = match (agreed.initial_r2t, agreed.immediate_data) {
        (false, _) => return None,
        (true, false) => (
            "InitialR2T=Yes and ImmediateData=No: every write, however small, waits one round trip before its data is \
             sent",
            "Set ImmediateData=Yes or InitialR2T=No on the target.",
        ),
        (true, true) => (
            "InitialR2T=Yes: a write of more than one segment waits one round trip before the rest of its data is sent",
            "Set InitialR2T=No on the target.",
        ),
    };
    Some(SlowSetting { rule: "initial-r2t", says: says.to_owned(), next })
}

fn crc(agreed: &Agreed) -> Option<SlowSetting> {
    (agreed.header_digest || agreed.data_digest).then(|| SlowSetting {
        rule: "digests",
        says: "CRC32C digests are on: initiator and target compute a checksum over every byte".to_owned(),
        next: "Turn digests off on a private storage network; TCP and Ethernet have checksums of their own.",
    })
}

fn window(agreed: &Agreed) -> Option<SlowSetting> {
    (agreed.command_window < SMALL_WINDOW).then(|| SlowSetting {
        rule: "small-window",
        says: format!(
            "the target accepts {} commands per session at a time, so a larger queue depth waits in this host",
            agreed.command_window
        ),
        next: "Raise the queue depth of the target, or use several sessions.",
    })
}

pub(super) fn small_segments(run: Run<'_>) -> Option<Fired> {
    // Only writes are cut.
    if run.header.plan.writes() { of_luns(run, "small-segments") } else { None }
}

pub(super) fn initial_r2t(run: Run<'_>) -> Option<Fired> {
    if run.header.plan.writes() { of_luns(run, "initial-r2t") } else { None }
}

pub(super) fn digests(run: Run<'_>) -> Option<Fired> {
    of_luns(run, "digests")
}

pub(super) fn small_window(run: Run<'_>) -> Option<Fired> {
    of_luns(run, "small-window")
}

fn of_luns(run: Run<'_>, rule: &str) -> Option<Fired> {
    let luns = run.storage().filter_map(|member| Some((member.path.as_str(), member.lun.as_deref()?)));
    fired(luns.flat_map(|(path, lun)| slow_lun_settings(lun).into_iter().map(move |s| (path, s))), rule)
}

/// A server whose calls are small.
pub(super) fn small_calls(run: Run<'_>) -> Option<Fired> {
    let mounts = run.storage().filter_map(|member| Some((member.path.as_str(), member.nfs.as_deref()?)));
    fired(
        mounts.flat_map(|(path, nfs)| slow_nfs_settings(nfs).into_iter().map(move |s| (path, s))),
        "small-calls",
    )
}

/// The first of the settings that a rule is about, with the number of targets that have one.
fn fired<'r>(settings: impl Iterator<Item = (&'r str, SlowSetting)>, rule: &str) -> Option<Fired> {
    let mut settings = settings.filter(|(_, setting)| setting.rule == rule);
    let (path, first) = settings.next()?;
    let mut paths = vec![path];
    settings.for_each(|(path, _)| {
        if !paths.contains(&path) {
            paths.push(path);
        }
    });
    Some(Fired {
        severity: Severity::Info,
        says: format!("{path}: {}.", first.says),
        evidence: vec![Evidence::new("targets", paths.len() as f64, "")],
        next: first.next,
        weight: 0.0,
    })
}
