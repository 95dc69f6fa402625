//! What the kernel shows of the devices under the targets, of the host and of file systems: limits and states, quoted
//! with what mends them.

use assay_record::{HostNote, NoteKind};
use assay_spec::Pacing;

use super::{Fired, Run};
use crate::figures::capitalised;
use crate::finding::Severity;

/// What is found of the notes of a kind, each once.
pub(super) fn fired(run: Run<'_>, kind: NoteKind, severity: Severity) -> Option<Fired> {
    let mut notes: Vec<&HostNote> = Vec::new();
    for note in notes_of(run).filter(|note| note.kind == kind && matters(run, note.kind)) {
        if !notes.contains(&note) {
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
        next: match kind {
            NoteKind::IoLimit => "Lift the limit, or run outside of that control group",
            _ => "",
        },
        weight: 0.0,
    })
}

fn notes_of(run: Run<'_>) -> impl Iterator<Item = &HostNote> {
    let of_devices = run.storage().filter_map(|m| m.device.as_ref()).flat_map(|device| &device.notes);
    let of_mounts = run.storage().filter_map(|m| m.filesystem.as_ref()).flat_map(|fs| &fs.notes);
    run.header.host.notes.iter().chain(of_devices).chain(of_mounts)
}

/// Whether a state can change the figures of this run: what costs time only after a pause is no matter where the queue
/// is never empty, and what is about the page cache is none of direct I/O.
fn matters(run: Run<'_>, kind: NoteKind) -> bool {
    let mut jobs = run.header.plan.tests.iter().flat_map(|test| &test.steps).flat_map(|step| &step.jobs);
    match kind {
        NoteKind::CpuSleeps | NoteKind::DriveSleeps => {
            jobs.any(|job| job.workers * job.outstanding <= 1 || job.pacing != Pacing::Closed)
        }
        NoteKind::WriteThrottle => run.storage().any(|m| !m.direct) && jobs.any(|job| job.writes()),
        NoteKind::WriteCacheOff => jobs.any(|job| job.writes()),
        NoteKind::NoFua => {
            jobs.any(|job| job.writes() && (job.sync || job.flush.is_some())) || run.storage().any(|m| m.sync)
        }
        _ => run.storage().next().is_some(),
    }
}
