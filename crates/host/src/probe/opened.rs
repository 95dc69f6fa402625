//! Which other programs have a device open for writing. A virtual machine or a storage target uses a disk without
//! holding it exclusively, and a new disk of theirs is blank: nothing else shows that it is in use.

use std::collections::{BTreeSet, HashMap};
use std::fs;
use std::path::Path;
use std::thread;

use rustix::fs::{AtFlags, CWD, FileType, StatxFlags, makedev, statx};

use super::related::Node;
use super::{HELD_PAUSE, HELD_TRIES, Hold};
use crate::machine::{DevNo, attribute, names_in};

/// Bits of the flags in `/proc/PID/fdinfo/FD` that are not 0 where a descriptor may write.
const MAY_WRITE: u32 = 0o3;

/// One hold for each process that has a device open for writing, as far as this user may see it. What opens a device
/// only for a moment does not use it. A device counts that some process had open at every look: between two of them
/// a program may start another that goes on with its descriptors, under another name or another process id.
pub(super) fn holds(nodes: &[Node]) -> Vec<Hold> {
    let mut found = writers(nodes);
    for _ in 1..HELD_TRIES {
        if found.is_empty() {
            break;
        }
        thread::sleep(HELD_PAUSE);
        let before: BTreeSet<DevNo> = found.iter().map(|writer| writer.device).collect();
        found = writers(nodes);
        found.retain(|writer| before.contains(&writer.device));
    }
    found.into_iter().map(|writer| Hold::in_use(writer.says)).collect()
}

/// A process that has a device open for writing.
#[derive(PartialEq)]
struct Writer {
    device: DevNo,
    says: String,
}

fn writers(nodes: &[Node]) -> Vec<Writer> {
    let mut found = Vec::new();
    for process in processes() {
        let folder = Path::new("/proc").join(&process);
        let mut mounts = None;
        for descriptor in names_in(&folder.join("fd")) {
            let info = fs::read_to_string(folder.join("fdinfo").join(&descriptor)).unwrap_or_default();
            if !may_write(&info) {
                continue;
            }
            let mounts = mounts.get_or_insert_with(|| KindsOfMounts::of(&folder));
            let Some(number) = open_device(&folder.join("fd").join(&descriptor), &info, mounts) else {
                continue;
            };
            let Some(node) = nodes.iter().find(|node| node.number == Some(number)) else { continue };
            let program = attribute(&folder.join("comm")).unwrap_or_else(|| "a program".to_owned());
            let says = format!("{} is open for writing in {program} (process {process})", node.subject());
            found.push(Writer { device: number, says });
        }
    }
    found.dedup();
    found
}

/// Returns the ids of all processes but this one.
fn processes() -> impl Iterator<Item = String> {
    let own = std::process::id().to_string();
    names_in(Path::new("/proc"))
        .into_iter()
        .filter(move |name| name.bytes().all(|byte| byte.is_ascii_digit()) && *name != own)
}

/// Returns the number of processes whose open files this user may not see: only root sees those of others.
#[must_use]
pub fn unseen_processes() -> usize {
    let is_unseen = |process: &String| {
        let folder = Path::new("/proc").join(process);
        let denied = fs::read_dir(folder.join("fd"))
            .is_err_and(|error| error.kind() == std::io::ErrorKind::PermissionDenied);
        // The threads of the kernel have no command line, and no files.
        denied && fs::read(folder.join("cmdline")).is_ok_and(|line| !line.is_empty())
    };
    processes().filter(is_unseen).count()
}

/// File systems whose server is asked when a file is looked at; one that is gone would be waited for.
const REMOTE_KINDS: [&str; 10] =
    ["nfs", "nfs4", "cifs", "smb3", "9p", "ceph", "afs", "lustre", "beegfs", "gpfs"];

/// Kinds of the file systems that a process sees, by the id of the mount.
struct KindsOfMounts(HashMap<u64, String>);

impl KindsOfMounts {
    fn of(process: &Path) -> Self {
        let text = fs::read_to_string(process.join("mountinfo")).unwrap_or_default();
        let kind = |line: &str| {
            let (place, what) = line.split_once(" - ")?;
            Some((place.split(' ').next()?.parse().ok()?, what.split(' ').next()?.to_owned()))
        };
        Self(text.lines().filter_map(kind).collect())
    }

    /// Whether it is safe to look at an open file. One of another mount namespace, and what is no file, is known by its
    /// link alone.
    fn may_look(&self, descriptor: &Path, info: &str) -> bool {
        let mount = field(info, "mnt_id:").and_then(|id| id.parse().ok());
        match mount.and_then(|id: u64| self.0.get(&id)) {
            Some(kind) => !REMOTE_KINDS.contains(&kind.as_str()),
            None => fs::read_link(descriptor).is_ok_and(|opened| opened.starts_with("/dev")),
        }
    }
}

/// The block device that a descriptor has open, wherever its node lies.
fn open_device(descriptor: &Path, info: &str, mounts: &KindsOfMounts) -> Option<DevNo> {
    if !mounts.may_look(descriptor, info) {
        return None;
    }
    // What the kernel knows suffices: a file system of a program that hangs is not asked.
    let looked = statx(CWD, descriptor, AtFlags::STATX_DONT_SYNC, StatxFlags::TYPE).ok()?;
    let is_device = FileType::from_raw_mode(looked.stx_mode.into()) == FileType::BlockDevice;
    is_device.then(|| DevNo::from(makedev(looked.stx_rdev_major, looked.stx_rdev_minor)))
}

fn may_write(info: &str) -> bool {
    field(info, "flags:")
        .and_then(|flags| u32::from_str_radix(flags, 8).ok())
        .is_some_and(|flags| flags & MAY_WRITE != 0)
}

/// Returns the value of a line of `/proc/PID/fdinfo/FD`.
fn field<'i>(info: &'i str, name: &str) -> Option<&'i str> {
    info.lines().find_map(|line| line.strip_prefix(name)).map(str::trim)
}
