//! What a pool of ZFS does on its own, and what it lacks.

use std::path::{Path, PathBuf};

use assay_record::{FilesystemFacts, HostNote, NoteKind};

use super::{Seen, note};
use crate::machine::{Machine, attribute, name_of, names_in};
use crate::program::said;

/// Deepest name of a volume: ZFS allows 50 parts.
const PARTS_MAX: usize = 50;
/// Keys of `zpool status` that work in progress stands behind, and what begins their value.
const WORK: [(&str, &str, &str); 4] = [
    ("scan:", "scrub", "is being scrubbed"),
    ("scan:", "resilver", "is being resilvered"),
    ("remove:", "Evacuation", "evacuates a device"),
    ("expand:", "expansion", "spreads over another disk"),
];

/// The notes on the pool that a file lies in.
pub(super) fn of_mount(machine: &Machine, mounted: &FilesystemFacts) -> Vec<HostNote> {
    let pool = mounted.source.split('/').next().filter(|_| mounted.kind == "zfs");
    pool.map(|pool| of_pool(machine, pool)).unwrap_or_default()
}

/// The notes on the pool of a volume, `zd0`.
pub(super) fn of_volume(seen: &Seen<'_>) -> Vec<HostNote> {
    let is_volume = seen.name.strip_prefix("zd").is_some_and(|number| number.parse::<u32>().is_ok());
    let pool = is_volume.then(|| pool_of(&seen.machine.path("/dev/zvol"), &seen.name)).flatten();
    pool.map(|pool| of_pool(seen.machine, &pool)).unwrap_or_default()
}

/// The pool whose folder has a link to a device, at any depth.
fn pool_of(all: &Path, device: &str) -> Option<String> {
    let has = |folder: PathBuf| holds(&folder, device, PARTS_MAX);
    names_in(all).into_iter().find(|pool| has(all.join(pool)))
}

fn holds(folder: &Path, device: &str, parts_left: usize) -> bool {
    names_in(folder).into_iter().map(|name| folder.join(name)).any(|at| match std::fs::read_link(&at) {
        Ok(to) => name_of(&to) == device,
        Err(_) => parts_left > 0 && at.is_dir() && holds(&at, device, parts_left - 1),
    })
}

fn of_pool(machine: &Machine, pool: &str) -> Vec<HostNote> {
    let status = said(machine, "zpool", &["status", pool]);
    let work = status.as_deref().and_then(|status| work(pool, status));
    degraded(machine, pool).into_iter().chain(work).collect()
}

fn degraded(machine: &Machine, pool: &str) -> Option<HostNote> {
    let file = machine.path(format!("/proc/spl/kstat/zfs/{pool}/state"));
    let state = attribute(&file).filter(|state| state != "ONLINE")?;
    let says = format!("the ZFS pool {pool} is {state}: what it lacks is computed from its other disks");
    let mend = |_: &str| format!("Find what it lacks: zpool status -x {pool}");
    Some(note(machine, NoteKind::RaidDegraded, &file, state, says, mend))
}

/// Work beside the load, by the lines of `zpool status`. What is paused, ended or canceled is none.
fn work(pool: &str, status: &str) -> Option<HostNote> {
    let lines = || status.lines().map(str::trim);
    let (line, (_, begins, does)) = lines().find_map(|line| {
        let of_key = |(key, begins, _): &(&str, &str, &str)| {
            line.strip_prefix(key).is_some_and(|value| value.trim_start().starts_with(begins))
        };
        let is_running = line.contains(" in progress");
        Some((line, *WORK.iter().find(|work| of_key(work)).filter(|_| is_running)?))
    })?;
    let after = lines().skip_while(|other| *other != line).flat_map(|line| line.split(", "));
    let done = after.filter_map(|part| part.strip_suffix("% done")).next();
    let far = done.and_then(|done| done.trim().parse::<f64>().ok());
    let far = far.map_or_else(String::new, |percent| format!(" ({percent:.0} % done)"));
    let mend = match begins {
        "scrub" => format!("Pause it for the time of the test: zpool scrub -p {pool}"),
        _ => format!("Wait until it has ended: zpool status {pool}"),
    };
    Some(HostNote {
        kind: NoteKind::BackgroundWork,
        path: format!("zpool status {pool}"),
        value: line.to_owned(),
        says: format!("the ZFS pool {pool} {does}{far}: its disks serve that beside the load"),
        mend,
        limit: None,
    })
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;
    use crate::captured::Captured;

    /// `zpool status tank` of OpenZFS 2.2 with this behind `scan:`.
    fn status(scan: &str) -> String {
        let disks = "\ttank        ONLINE       0     0     0\n\t  sda       ONLINE       0     0     0\n";
        format!(
            "  pool: tank\n state: ONLINE\n  scan: {scan}\nconfig:\n\n\tNAME        STATE     READ WRITE CKSUM\n\
             {disks}\nerrors: No known data errors\n"
        )
    }

    const SCRUB: &str = "scrub in progress since Sun Nov 30 10:02:11 2025\n\t1.33T / 1.33T scanned, 626G / 1.33T \
                         issued at 1.05G/s\n\t0B repaired, 46.01% done, 00:11:45 to go";

    fn file_on(machine: &Captured) -> Vec<HostNote> {
        let (kind, source) = ("zfs".to_owned(), "tank/home/me".to_owned());
        of_mount(&machine.machine(), &FilesystemFacts { kind, source, ..FilesystemFacts::default() })
    }

    fn with(scan: &str) -> Captured {
        let machine = Captured::new();
        machine.file("programs/zpool status tank", status(scan).as_bytes());
        machine
    }

    #[test]
    fn a_scrub_is_shown_with_how_far_it_is_and_what_pauses_it() {
        let [note] = file_on(&with(SCRUB)).try_into().unwrap();
        assert_eq!(note.kind, NoteKind::BackgroundWork);
        assert_eq!(
            note.says,
            "the ZFS pool tank is being scrubbed (46 % done): its disks serve that beside the load"
        );
        assert_eq!(note.mend, "Pause it for the time of the test: zpool scrub -p tank");
        assert_eq!(note.value, "scan: scrub in progress since Sun Nov 30 10:02:11 2025");
        let resilver =
            "resilver in progress since Sun Nov 30 10:02:11 2025\n\t12.5% done, no estimated completion time";
        let [note] = file_on(&with(resilver)).try_into().unwrap();
        assert!(note.says.contains("is being resilvered (12 % done)"), "{note:?}");
    }

    #[test]
    fn what_does_not_run_is_no_note() {
        for scan in [
            "none requested",
            "scrub repaired 0B in 00:03:05 with 0 errors on Sun Nov  9 00:27:06 2025",
            "scrub paused since Sun Nov 30 10:02:11 2025\n\t0B repaired, 46.01% done",
            "scrub canceled on Sun Nov 30 10:02:11 2025",
        ] {
            assert_eq!(file_on(&with(scan)), [], "{scan}");
        }
        assert_eq!(file_on(&Captured::new()), [], "who may not ask");
    }

    #[test]
    fn a_pool_that_lacks_a_device_says_so_in_a_file() {
        let machine = Captured::new();
        machine.file("proc/spl/kstat/zfs/tank/state", b"DEGRADED\n");
        let [note] = file_on(&machine).try_into().unwrap();
        assert_eq!(
            (note.kind, note.path.as_str()),
            (NoteKind::RaidDegraded, "/proc/spl/kstat/zfs/tank/state")
        );
        machine.file("proc/spl/kstat/zfs/tank/state", b"ONLINE\n");
        assert_eq!(file_on(&machine), []);
    }

    #[test]
    fn the_pool_of_a_volume_is_found_by_its_link() {
        let machine = with(SCRUB);
        let folder = machine.machine().path("/dev/zvol/tank/vm");
        std::fs::create_dir_all(&folder).unwrap();
        symlink("../../../zd16", folder.join("disk")).unwrap();
        let notes = |name: &str, machine: Captured| {
            let captured = machine.device(&format!("virtual/block/{name}"), "230:0", &[("dev", "230:0\n")]);
            let (machine, name) = (captured.machine(), name.to_owned());
            let folder = machine.block_folder_by_name(&name).unwrap();
            of_volume(&Seen { machine: &machine, name, folder })
        };
        assert_eq!(notes("zd16", machine).len(), 1);
        assert_eq!(notes("zd0", with(SCRUB)), []);
    }
}
