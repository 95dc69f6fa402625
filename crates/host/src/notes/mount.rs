//! What the kind and the options of a mounted file system cost.

use assay_record::{FilesystemFacts, HostNote, NoteKind};

use super::zfs;
use crate::machine::Machine;

/// Options that cost I/O: the option, what it does, and the one that mends it.
const COSTLY: [(&str, &str, &str); 8] = [
    ("sync", "every write waits until it is durable", "async"),
    ("dirsync", "every change of a directory waits until it is durable", "async"),
    (
        "discard",
        "each deletion makes the device trim at once; fstrim does that when it is quiet",
        "nodiscard",
    ),
    ("strictatime", "every read of a file writes its time of access", "relatime"),
    ("data=journal", "all data are written twice, to the journal first", "data=ordered"),
    ("nobarrier", "a flush does not reach the disk: what was promised durable may be lost", "barrier"),
    ("barrier=0", "a flush does not reach the disk: what was promised durable may be lost", "barrier=1"),
    ("wsync", "every change of a directory waits until it is durable", "async"),
];

/// Options by which a client of NFS gives up.
const SOFT: [&str; 2] = ["soft", "softerr"];

/// Where the options of all mounts stand.
const FILE: &str = "/proc/self/mountinfo";

/// Returns what is known of a mount, and of the pool that it is a part of.
pub(crate) fn of_mount(machine: &Machine, mounted: &FilesystemFacts) -> Vec<HostNote> {
    [of_options(mounted), zfs::of_mount(machine, mounted)].concat()
}

fn of_options(mounted: &FilesystemFacts) -> Vec<HostNote> {
    let at = &mounted.mount_point;
    let has = |option: &str| mounted.options.split(',').any(|one| one == option);
    let options = COSTLY.iter().filter(|(option, ..)| has(option)).map(|(option, does, instead)| {
        let remount = match *option {
            // The journal of data is chosen when it is mounted.
            "data=journal" => format!("Mount it with {instead} instead."),
            _ => format!("Compare without: mount -o remount,{instead} {at}"),
        };
        of(NoteKind::MountOptions, option, format!("{at} is mounted with `{option}`: {does}"), remount)
    });
    // SMB has an option of that name, too, by default and with another meaning.
    let soft = (["nfs", "nfs4"].contains(&mounted.kind.as_str()))
        .then(|| SOFT.into_iter().find(|option| has(option)))
        .flatten()
        .map(|option| {
            let says = format!(
                "{at} is mounted with `{option}`: an I/O that the server does not answer in time fails, and a write \
                 that was given up may still arrive, after a newer one"
            );
            of(NoteKind::MountOptions, option, says, "Mount it with hard instead.".to_owned())
        });
    let fuse = (mounted.kind == "fuse" || mounted.kind == "fuseblk" || mounted.kind.starts_with("fuse.")).then(|| {
        let says = format!(
            "{at} is a file system in user space ({}): each I/O passes through another process of this host",
            mounted.kind
        );
        let mend = "Test the storage below it, or mount it with a file system of the kernel.".to_owned();
        of(NoteKind::Fuse, &mounted.kind, says, mend)
    });
    options.chain(soft).chain(fuse).collect()
}

fn of(kind: NoteKind, value: &str, says: String, mend: String) -> HostNote {
    HostNote { kind, path: FILE.to_owned(), value: value.to_owned(), says, mend, limit: None }
}
