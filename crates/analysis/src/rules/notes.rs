//! What the kernel shows of the devices under the targets: limits and states, quoted with what mends them.

use assay_record::{HostNote, NoteKind};

use super::{Fired, Run};
use crate::figures::capitalised;
use crate::finding::Severity;

pub(super) fn io_limit(run: Run<'_>) -> Option<Fired> {
    fired(run, NoteKind::IoLimit, Severity::Warning)
}

pub(super) fn raid_degraded(run: Run<'_>) -> Option<Fired> {
    fired(run, NoteKind::RaidDegraded, Severity::Warning)
}

pub(super) fn raid_busy(run: Run<'_>) -> Option<Fired> {
    fired(run, NoteKind::RaidBusy, Severity::Warning)
}

pub(super) fn one_command(run: Run<'_>) -> Option<Fired> {
    fired(run, NoteKind::OneCommand, Severity::Warning)
}

pub(super) fn narrow_link(run: Run<'_>) -> Option<Fired> {
    fired(run, NoteKind::NarrowLink, Severity::Warning)
}

pub(super) fn slowed_sata(run: Run<'_>) -> Option<Fired> {
    fired(run, NoteKind::SlowedSata, Severity::Warning)
}

pub(super) fn encrypted(run: Run<'_>) -> Option<Fired> {
    fired(run, NoteKind::Encrypted, Severity::Info)
}

pub(super) fn thin_pool(run: Run<'_>) -> Option<Fired> {
    fired(run, NoteKind::Thin, Severity::Info)
}

/// The notes of a kind on the devices of all targets, each once.
fn fired(run: Run<'_>, kind: NoteKind, severity: Severity) -> Option<Fired> {
    let mut notes: Vec<&HostNote> = Vec::new();
    for note in run.storage().filter_map(|m| m.device.as_ref()).flat_map(|device| &device.notes) {
        if note.kind == kind && !notes.contains(&note) {
            notes.push(note);
        }
    }
    let says = |note: &&HostNote| {
        format!("{} ({}: \"{}\"). {}", capitalised(&note.says), note.path, note.value, note.mend)
    };
    let says: Vec<String> = notes.iter().map(says).collect();
    (!says.is_empty()).then(|| Fired {
        severity,
        says: says.join(" "),
        evidence: vec![],
        next: "",
        weight: 0.0,
    })
}
