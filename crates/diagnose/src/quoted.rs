//! What stands in files of this host, quoted by a diagnosis: limits, and the states that are a cause.

use assay_analysis::{RunSummary, TcpSummary};
use assay_record::{HostNote, IoLimit, NoteKind, PathFacts, RunHeader};

use crate::cause::Cause;
use crate::diagnosis::Diagnosis;
use crate::hypotheses::ALL;
use crate::observe::held_by;
use crate::quantity::Quantity;
use crate::setting::Setting;

/// A limit that stands in a file of this host, and that the load was near to, is quoted instead of a guess where it may
/// stand.
pub(crate) fn quote_limit(of: &mut Diagnosis, header: &RunHeader, summary: &RunSummary) {
    let first = of.odds.first().map(|first| first.cause);
    let Some(device) = header.targets.first().and_then(|target| target.member.device.as_ref()) else {
        return;
    };
    let is_near =
        |is_bytes: bool| of.rows.iter().any(|row| row.quantity == quantity_of_limit(is_bytes).words());
    let holds = |limit: IoLimit| is_near(limit.is_bytes) && held_by(limit, header, summary);
    let is_first = |limit: IoLimit| first == Some(cause_of_limit(limit.is_bytes));
    let near: Vec<&HostNote> = device.notes.iter().filter(|note| note.limit.is_some_and(holds)).collect();
    let notes: Vec<&HostNote> =
        near.iter().copied().filter(|note| note.limit.is_some_and(is_first)).collect();
    let is_answer = !notes.is_empty();
    let notes = if is_answer { notes } else { near };
    if notes.is_empty() {
        return;
    }
    let stands: Vec<String> =
        notes.iter().map(|note| format!("\"{}\" in {}", note.value, note.path)).collect();
    let mends = notes.iter().map(|note| note.mend.clone()).collect::<Vec<_>>().join(" ");
    if is_answer {
        of.says.push_str(&format!(" The limit stands in a file of this host: {}.", stands.join(", ")));
        of.helps = mends;
        of.unknown.clear();
    } else {
        let stands = stands.join(", ");
        of.says.push_str(&format!(" The load reaches a limit that stands in a file of this host: {stands}."));
        of.helps = format!("{mends} {}", of.helps);
    }
}

fn cause_of_limit(is_bytes: bool) -> Cause {
    if is_bytes { Cause::BytesCap } else { Cause::IopsCap }
}

/// The number that compares a load with such a limit.
fn quantity_of_limit(is_bytes: bool) -> Quantity {
    if is_bytes { Quantity::OfBytesLimit } else { Quantity::OfIopsLimit }
}

/// States that are the cause themselves. What ends them stands instead of the general advice; any other state only
/// makes its cause likely, and leaves that advice beside its own.
const ANSWERS: [NoteKind; 6] = [
    NoteKind::RaidBusy,
    NoteKind::Encrypted,
    NoteKind::NarrowLink,
    NoteKind::SlowedSata,
    NoteKind::HotDrive,
    NoteKind::OneCommand,
];

/// Mount options that make a write wait; others cost something else.
const DURABLE: [&str; 4] = ["sync", "dirsync", "wsync", "data=journal"];

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
        Cause::HostCpu => &[K::MemoryPressure],
        Cause::Flush => &[K::MountOptions, K::NoFua, K::WriteCacheOff],
        Cause::IopsCap | Cause::BytesCap => &[K::IoShare],
        Cause::PageCache => &[K::WriteThrottle],
        _ => &[],
    }
}

/// Whether a state can change the figures of this load: what costs time only after a pause is no matter where the queue
/// is never empty.
fn matters(note: &HostNote, setting: &Setting) -> bool {
    match note.kind {
        NoteKind::CpuSleeps | NoteKind::DriveSleeps => setting.outstanding <= 1.0 || setting.is_paced,
        NoteKind::WriteCacheOff | NoteKind::WriteThrottle => setting.writes(),
        NoteKind::NoFua => setting.writes() && setting.is_sync,
        NoteKind::MountOptions => DURABLE.contains(&note.value.as_str()),
        _ => true,
    }
}

/// A state that is the answer is quoted with path and value, and what mends it stands instead of general advice.
pub(crate) fn quote_states(of: &mut Diagnosis, setting: &Setting, header: &RunHeader) {
    let members = || header.targets.iter().take(1).map(|target| &target.member);
    let of_devices = members().filter_map(|m| m.device.as_ref()).flat_map(|device| &device.notes);
    let of_mounts = members().filter_map(|m| m.filesystem.as_ref()).flat_map(|fs| &fs.notes);
    quote(of, setting, header.host.notes.iter().chain(of_devices).chain(of_mounts));
}

fn quote<'n>(of: &mut Diagnosis, setting: &Setting, notes: impl Iterator<Item = &'n HostNote>) {
    let Some(first) = of.odds.first().map(|first| first.cause) else { return };
    let is_of = |note: &&HostNote| states_of(first).contains(&note.kind) && matters(note, setting);
    let notes: Vec<&HostNote> = notes.filter(is_of).collect();
    let Some(hypothesis) = ALL.iter().find(|of| of.cause == first).filter(|_| !notes.is_empty()) else {
        return;
    };
    // A limit was quoted, which is the answer.
    if !of.helps.contains(hypothesis.helps) {
        return;
    }
    // One for each kind: a stack of disks has the same state many times.
    let mut kinds: Vec<NoteKind> = Vec::new();
    for note in &notes {
        if !kinds.contains(&note.kind) {
            kinds.push(note.kind);
        }
    }
    let mut helps: Vec<&str> = Vec::new();
    for kind in &kinds {
        let mut alike = notes.iter().filter(|note| note.kind == *kind);
        let Some(note) = alike.next() else { continue };
        let more = match alike.count() {
            0 => String::new(),
            more => format!(", and {more} more of this kind (assay check lists them)"),
        };
        let says = format!(" This host shows: {} (\"{}\" in {}){more}.", note.says, note.value, note.path);
        of.evidence.push_str(&says);
        if !helps.contains(&note.mend.as_str()) {
            helps.push(&note.mend);
        }
    }
    of.evidence = of.evidence.trim_start().to_owned();
    let is_answer = kinds.iter().all(|kind| ANSWERS.contains(kind));
    helps.extend((!is_answer).then_some(hypothesis.helps));
    of.helps = of.helps.replacen(hypothesis.helps, &helps.join(" "), 1);
}

/// A path that is slower than the others is named: by its portal, its interface, and the speed of that.
pub(crate) fn name_path(of: &mut Diagnosis, header: &RunHeader, summary: &RunSummary) {
    if of.odds.first().map(|first| first.cause) != Some(Cause::SlowPath) {
        return;
    }
    let paths = header.targets.first().map(|target| target.member.paths()).unwrap_or_default();
    let load = summary.steps.iter().find(|step| step.tcp.len() > 1);
    if let Some(says) = load.and_then(|load| slowest(paths, &load.tcp)) {
        of.evidence = format!("{} {says}", of.evidence).trim_start().to_owned();
    }
}

fn slowest(paths: &[PathFacts], tcp: &[TcpSummary]) -> Option<String> {
    let known = tcp.iter().filter_map(|one| Some((one.rtt_us_median?, one.remote.as_str())));
    let (_, remote) = known.max_by_key(|(rtt_us, _)| *rtt_us)?;
    let host = remote.rsplit_once(':').map_or(remote, |(host, _)| host);
    let number = paths.iter().position(|path| path.portal == remote || path.portal == host);
    let Some((number, path)) = number.and_then(|number| Some((number, paths.get(number)?))) else {
        return Some(format!("The slowest path is the one to {remote}."));
    };
    let through = path.net.as_ref().and_then(|net| net.interface.as_ref()).map_or_else(String::new, |link| {
        let shaped = link.shaper.as_ref().map(|shaper| shaper.bit_s as f64 / 1e6);
        let mbit = shaped.or(link.speed_mbit_s.map(f64::from));
        let speed = mbit.map_or_else(String::new, |mbit| format!(", {mbit:.0} Mbit/s"));
        format!(" through {}{speed}", link.name)
    });
    Some(format!("The slowest is path {number} ({}{through}).", path.portal))
}

#[cfg(test)]
mod tests {
    use assay_record::{InterfaceFacts, NetPathFacts};

    use super::*;
    use crate::belief::Odds;

    /// One of four paths was slower than the others, and nothing said which.
    #[test]
    fn the_slow_path_is_named_with_its_link() {
        let tcp = |remote: &str, rtt_us| TcpSummary {
            remote: remote.to_owned(),
            rtt_us_median: Some(rtt_us),
            ..TcpSummary::default()
        };
        let path = |number: u32, mbit| PathFacts {
            portal: format!("10.0.{number}.2"),
            net: Some(Box::new(NetPathFacts {
                interface: Some(InterfaceFacts {
                    name: format!("eth{number}"),
                    speed_mbit_s: Some(mbit),
                    ..InterfaceFacts::default()
                }),
                ..NetPathFacts::default()
            })),
            ..PathFacts::default()
        };
        let paths = [path(1, 1000), path(2, 100)];
        let both = [tcp("10.0.1.2:3260", 3500), tcp("10.0.2.2:3260", 149_000)];
        assert_eq!(
            slowest(&paths, &both).as_deref(),
            Some("The slowest is path 1 (10.0.2.2 through eth2, 100 Mbit/s).")
        );
        assert_eq!(slowest(&[], &both).as_deref(), Some("The slowest path is the one to 10.0.2.2:3260."));
        assert_eq!(slowest(&paths, &[]), None);
    }

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

    fn note(kind: NoteKind, value: &str, device: &str) -> HostNote {
        HostNote {
            kind,
            path: format!("/sys/block/{device}/file"),
            value: value.to_owned(),
            says: format!("{device} has a state"),
            mend: format!("Mend {device}."),
            limit: None,
        }
    }

    /// Evidence and advice where a cause comes first and these states are shown.
    fn quoted(cause: Cause, notes: &[HostNote]) -> (String, String) {
        let mut of = diagnosis(cause);
        let setting = Setting { outstanding: 32.0, reads: 0.0, is_sync: true, ..crate::tests::setting() };
        quote(&mut of, &setting, notes.iter());
        (of.evidence, of.helps)
    }

    fn general(cause: Cause) -> &'static str {
        ALL.iter().find(|of| of.cause == cause).unwrap().helps
    }

    /// A disk with one place in its queue was a target that serialises I/O, with advice about threads of a server.
    #[test]
    fn a_state_that_is_the_answer_is_quoted_with_what_mends_it() {
        let notes = [note(NoteKind::OneCommand, "1", "sda")];
        let (evidence, helps) = quoted(Cause::TargetSerial, &notes);
        assert_eq!(evidence, "A number. This host shows: sda has a state (\"1\" in /sys/block/sda/file).");
        assert_eq!(helps, "Mend sda. The gain is unknown.");
        assert_eq!(quoted(Cause::Link, &notes).0, "A number.");
    }

    /// A state that only makes its cause likely took the place of the advice on the cause.
    #[test]
    fn a_state_that_is_no_answer_leaves_the_general_advice() {
        for (cause, kind, value) in [
            (Cause::Flush, NoteKind::MountOptions, "sync"),
            (Cause::TesterCpu, NoteKind::CpuQuota, "1"),
            (Cause::IopsCap, NoteKind::IoShare, "1"),
            (Cause::ReadModifyWrite, NoteKind::RaidDegraded, "1"),
        ] {
            let (evidence, helps) = quoted(cause, &[note(kind, value, "sda")]);
            assert!(evidence.contains("sda has a state"), "{evidence}");
            assert_eq!(helps, format!("Mend sda. {} The gain is unknown.", general(cause)));
        }
    }

    /// `discard` was the reason of a slow flush, a quota of old that of a busy host, and CPUs that sleep that of a load
    /// whose queue is never empty.
    #[test]
    fn what_cannot_be_the_reason_is_not_quoted() {
        for (cause, kind, value) in [
            (Cause::Flush, NoteKind::MountOptions, "discard"),
            (Cause::Flush, NoteKind::MountOptions, "nobarrier"),
            (Cause::HostCpu, NoteKind::CpuQuota, "1"),
            (Cause::WriteCacheFull, NoteKind::WriteCacheOff, "write through"),
            (Cause::PowerState, NoteKind::CpuSleeps, "300"),
        ] {
            let said = quoted(cause, &[note(kind, value, "sda")]);
            assert_eq!(said, ("A number.".to_owned(), format!("{} The gain is unknown.", general(cause))));
        }
    }

    /// Twelve disks with the same state were twelve sentences.
    #[test]
    fn a_state_of_many_devices_is_said_once() {
        let disks: Vec<HostNote> = ["sda", "sdb", "sdc"].map(|disk| note(NoteKind::NoFua, "0", disk)).into();
        let cache = note(NoteKind::WriteCacheOff, "write through", "sdd");
        let notes: Vec<HostNote> = disks.into_iter().chain([cache]).collect();
        let (evidence, helps) = quoted(Cause::Flush, &notes);
        assert_eq!(
            evidence,
            "A number. This host shows: sda has a state (\"0\" in /sys/block/sda/file), and 2 more of this kind (assay \
             check lists them). This host shows: sdd has a state (\"write through\" in /sys/block/sdd/file)."
        );
        assert_eq!(helps, format!("Mend sda. Mend sdd. {} The gain is unknown.", general(Cause::Flush)));
    }
}
