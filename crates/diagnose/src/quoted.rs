//! What stands in files of this host, quoted by a diagnosis: limits, and the states that are a cause.

use assay_record::{HostNote, NoteKind, RunHeader};

use crate::cause::Cause;
use crate::diagnosis::Diagnosis;
use crate::hypotheses::ALL;
use crate::quantity::Quantity;

/// A limit that stands in a file of this host is quoted instead of a guess where it may stand.
pub(crate) fn quote_limit(of: &mut Diagnosis, header: &RunHeader) {
    let is_bytes = match of.odds.first().map(|first| first.cause) {
        Some(Cause::IopsCap) => false,
        Some(Cause::BytesCap) => true,
        _ => return,
    };
    let Some(device) = header.targets.first().and_then(|target| target.member.device.as_ref()) else {
        return;
    };
    let is_near = of.rows.iter().any(|row| row.quantity == quantity_of_limit(is_bytes).words());
    let notes = device.notes.iter().filter(|note| note.limit.is_some_and(|l| l.is_bytes == is_bytes));
    let notes: Vec<&HostNote> = notes.filter(|_| is_near).collect();
    if notes.is_empty() {
        return;
    }
    let stands: Vec<String> =
        notes.iter().map(|note| format!("\"{}\" in {}", note.value, note.path)).collect();
    of.says.push_str(&format!(" The limit stands in a file of this host: {}.", stands.join(", ")));
    of.helps = notes.iter().map(|note| note.mend.clone()).collect::<Vec<_>>().join(" ");
    of.unknown.clear();
}

/// The number that compares a load with such a limit.
fn quantity_of_limit(is_bytes: bool) -> Quantity {
    if is_bytes { Quantity::OfBytesLimit } else { Quantity::OfIopsLimit }
}

/// States that make a cause likely and are not the cause itself.
const HINTS: [NoteKind; 8] = [
    NoteKind::Fuse,
    NoteKind::Scheduler,
    NoteKind::WriteThrottle,
    NoteKind::DriveHealth,
    NoteKind::DriveWasHot,
    NoteKind::SlowCpu,
    NoteKind::MemoryPressure,
    NoteKind::NoFua,
];

/// The states of this host and its devices that are a cause, or make it likely.
fn states_of(cause: Cause) -> &'static [NoteKind] {
    use NoteKind as K;
    match cause {
        Cause::Rebuild | Cause::Neighbour => &[K::RaidBusy, K::BackgroundWork],
        Cause::RotatingRandom | Cause::ReadModifyWrite => &[K::RaidDegraded],
        Cause::Crypt => &[K::Encrypted],
        Cause::LinkDowngraded | Cause::Interface => &[K::NarrowLink, K::SlowedSata],
        Cause::Thermal => &[K::HotDrive, K::DriveWasHot],
        Cause::PowerState => &[K::DriveSleeps, K::CpuSleeps],
        Cause::FirstWrite => &[K::Thin],
        Cause::WeakRegion => &[K::DriveHealth],
        Cause::TargetSerial => &[K::OneCommand, K::Fuse],
        Cause::ServerThreads | Cause::FlashParallelism => &[K::SmallQueue, K::Fuse],
        Cause::TargetPerIo | Cause::TargetPerByte => &[K::Fuse],
        Cause::TesterCpu => &[K::CpuQuota, K::SlowCpu, K::Scheduler],
        Cause::HostCpu => &[K::CpuQuota, K::MemoryPressure],
        Cause::Flush => &[K::MountOptions, K::NoFua, K::WriteCacheOff],
        Cause::WriteCacheFull => &[K::WriteCacheOff],
        Cause::IopsCap | Cause::BytesCap => &[K::IoShare],
        Cause::PageCache => &[K::WriteThrottle],
        _ => &[],
    }
}

/// A state that is the answer is quoted with path and value, and what mends it stands instead of general advice.
pub(crate) fn quote_states(of: &mut Diagnosis, header: &RunHeader) {
    let members = || header.targets.iter().take(1).map(|target| &target.member);
    let of_devices = members().filter_map(|m| m.device.as_ref()).flat_map(|device| &device.notes);
    let of_mounts = members().filter_map(|m| m.filesystem.as_ref()).flat_map(|fs| &fs.notes);
    quote(of, header.host.notes.iter().chain(of_devices).chain(of_mounts));
}

fn quote<'n>(of: &mut Diagnosis, notes: impl Iterator<Item = &'n HostNote>) {
    let Some(first) = of.odds.first().map(|first| first.cause) else { return };
    let notes: Vec<&HostNote> = notes.filter(|note| states_of(first).contains(&note.kind)).collect();
    let Some(hypothesis) = ALL.iter().find(|of| of.cause == first).filter(|_| !notes.is_empty()) else {
        return;
    };
    for note in &notes {
        let says = format!(" This host shows: {} (\"{}\" in {}).", note.says, note.value, note.path);
        of.evidence.push_str(&says);
    }
    of.evidence = of.evidence.trim_start().to_owned();
    let mends = notes.iter().map(|note| note.mend.as_str());
    // What only makes the cause likely leaves the general advice beside its own.
    let is_hint = notes.iter().all(|note| HINTS.contains(&note.kind));
    let general = is_hint.then_some(hypothesis.helps);
    let helps: Vec<&str> = mends.chain(general).collect();
    of.helps = of.helps.replacen(hypothesis.helps, &helps.join(" "), 1);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::belief::Odds;

    fn diagnosis(cause: Cause) -> Diagnosis {
        let hypothesis = ALL.iter().find(|of| of.cause == cause).unwrap();
        Diagnosis {
            says: String::new(),
            evidence: "A number.".to_owned(),
            load: "load".to_owned(),
            iops: 1.0,
            odds: vec![Odds { cause, name: hypothesis.name, probability: 0.7 }],
            rows: Vec::new(),
            ruled_out: Vec::new(),
            helps: format!("{} The gain is unknown.", hypothesis.helps),
            unknown: String::new(),
            changed: String::new(),
            series: Vec::new(),
            is_settled: false,
        }
    }

    /// A disk with one place in its queue was a target that serialises I/O, with advice about threads of a server.
    #[test]
    fn a_state_that_is_the_answer_is_quoted_with_what_mends_it() {
        let note = HostNote {
            kind: NoteKind::OneCommand,
            path: "/sys/block/sda/device/queue_depth".to_owned(),
            value: "1".to_owned(),
            says: "sda gets one command at a time".to_owned(),
            mend: "Raise the depth.".to_owned(),
            limit: None,
        };
        let quoted = |cause: Cause| {
            let mut of = diagnosis(cause);
            quote(&mut of, [&note].into_iter());
            (of.evidence, of.helps)
        };
        let (evidence, helps) = quoted(Cause::TargetSerial);
        assert_eq!(
            evidence,
            "A number. This host shows: sda gets one command at a time (\"1\" in /sys/block/sda/device/queue_depth)."
        );
        assert_eq!(helps, "Raise the depth. The gain is unknown.");
        assert_eq!(quoted(Cause::Link).0, "A number.");
    }
}
