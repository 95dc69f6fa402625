//! Reasons not to write to a block device.
//!
//! Each [`Hold`] is a full sentence about the device itself, one of its partitions, its parent disk, or another path to
//! the same disk. The probe only reads, and fails closed: whatever it cannot examine is a [`ProbeError`], which callers
//! must treat as a refusal. See `docs/design/003-device-probe.md`.

mod exported;
mod opened;
pub(crate) mod related;
mod signatures;
mod usage;

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use thiserror::Error;

use crate::machine::{DevNo, Machine, attribute, number};
pub use opened::unseen_processes;
use related::{Node, Relation, related};
pub use signatures::{contents, contents_by_table};

/// Returns the uses of a regular file that forbid writing to it: the disk of a loop device, swap. Sentences that
/// fit after the file's name; empty where nothing was found.
pub fn file_users(path: &Path) -> Vec<String> {
    usage::file_users(&Machine::this(), path)
}

/// Returns the first of some regular files, by its index, that another program has open for writing, as far as this
/// user may see it, and which program that is: a sentence that fits after the name of the file.
pub fn file_writer(paths: &[&Path]) -> Option<(usize, String)> {
    opened::file_writer(paths)
}

/// A reason not to write to a device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hold {
    /// Severity.
    pub what: HoldKind,
    /// The finding, a full sentence that names the device.
    pub says: String,
}

/// Severity of a hold. Both refuse writing, whatever identity is typed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum HoldKind {
    /// The device is in use now, or cannot be written: nothing overrides this.
    InUse,
    /// The device appears to contain data; the user must wipe it first.
    Content,
}

/// Why a device could not be probed. Such a device must not be written.
#[derive(Debug, Error)]
#[expect(missing_docs, reason = "the message of a variant says what its fields are")]
pub enum ProbeError {
    /// The metadata of the path cannot be read.
    #[error("cannot read the metadata of {}", .path.display())]
    Look { path: PathBuf, source: io::Error },
    /// The path is not a block device.
    #[error("{} is not a block device", .0.display())]
    NotBlockDevice(PathBuf),
    /// The kernel does not show the device in sysfs.
    #[error(
        "{}, device number {number}, is not in /sys/dev/block, so its use cannot be checked; is /sys mounted?",
        .path.display()
    )]
    NotInSysfs {
        path: PathBuf,
        /// Its device number, `major:minor`.
        number: String,
        source: io::Error,
    },
    /// A file that lists what is in use cannot be read.
    #[error("{file} cannot be read, so Assay cannot find out what is in use")]
    Read { file: String, source: io::Error },
    /// The device cannot be opened for reading.
    #[error(
        "{} cannot be opened for reading; reading a device usually needs root or the group `disk`",
        .path.display()
    )]
    Open { path: PathBuf, source: io::Error },
    /// The device has no medium, or a loop device no file.
    #[error("{} has a size of 0: no medium or file is attached to it", .0.display())]
    NoCapacity(PathBuf),
    /// The program that detects signatures was not found.
    #[error("`wipefs` was not found in {searched}; it is needed to detect file systems; install util-linux")]
    ToolMissing {
        /// Directories that were searched.
        searched: String,
    },
    /// The program that detects signatures failed.
    #[error("`wipefs --no-act --json {}` failed: {says}", .path.display())]
    ToolFailed {
        /// Device that it examined.
        path: PathBuf,
        says: String,
    },
}

/// Finds every reason not to write to a block device: mounts, swap, holders (device mapper, RAID and
/// others), loop devices, exclusive opens, programs that have it open for writing, write protection, partitions,
/// signatures; on it, its partitions, its parent disk, and other paths to the same disk. Links such as
/// `/dev/disk/by-id/…` are followed. Only reads. An empty list means that nothing was found.
///
/// # Errors
/// If any of this could not be examined: the device must not be written then.
pub fn probe(device_path: &Path) -> Result<Vec<Hold>, ProbeError> {
    let machine = Machine::this();
    let look = |source| ProbeError::Look { path: device_path.to_owned(), source };
    let path = device_path.canonicalize().map_err(look)?;
    let metadata = fs::metadata(&path).map_err(look)?;
    if !metadata.file_type().is_block_device() {
        return Err(ProbeError::NotBlockDevice(path));
    }
    let devno = DevNo::from(metadata.rdev());
    let folder = machine.block_folder(devno).map_err(|source| ProbeError::NotInSysfs {
        path: path.clone(),
        number: devno.to_string(),
        source,
    })?;
    if number::<u64>(&folder.join("size")).unwrap_or(0) == 0 {
        return Err(ProbeError::NoCapacity(path));
    }
    let nodes = related(&machine, &folder);
    let mut holds = usage::holds(&machine, &nodes)?;
    if attribute(&folder.join("ro")).as_deref() != Some("0") {
        holds.push(Hold::in_use(format!("{} is read-only", path.display())));
    }
    holds.extend(zones(&path, &folder));
    holds.extend(opened::holds(&nodes));
    holds.extend(usage::partitions(&nodes));
    match look_inside(&path, &nodes, &holds) {
        Ok(more) => holds.extend(more),
        // A device in use is refused for that reason, even if it cannot be read (a container without its node).
        Err(_) if is_in_use(&holds) => {}
        Err(error) => return Err(error),
    }
    holds.sort_by_key(|hold| hold.what);
    Ok(holds)
}

/// Returns the hold of a device with zones that the host manages: it refuses every write that is not at the end of what
/// its zone holds, and the errors would be those of the load. A partition has the queue of its disk.
fn zones(path: &Path, folder: &Path) -> Option<Hold> {
    let of = |queue: &str| attribute(&folder.join(queue));
    let zoned = of("queue/zoned").or_else(|| of("../queue/zoned"))?;
    (zoned == "host-managed").then(|| {
        let why = "it takes writes only in the order of each zone, which the loads of Assay do not keep";
        Hold::in_use(format!("{} is a zoned device that the host manages: {why}", path.display()))
    })
}

/// Returns the holds that only reading the device shows. `known` are the holds found before.
fn look_inside(path: &Path, nodes: &[Node], known: &[Hold]) -> Result<Vec<Hold>, ProbeError> {
    let mut found = Vec::new();
    if !is_in_use(known) && is_held(path)? {
        found.push(Hold::in_use(format!(
            "{} or a part of it is held exclusively by another program or by the kernel (a file system mounted in \
             another namespace, a storage target, a volume manager)",
            path.display()
        )));
    }
    for node in nodes.iter().filter(|node| matches!(node.relation, Relation::Itself | Relation::Part)) {
        // The given node is opened by its own path: in a container /dev/NAME may be missing.
        let at = if node.relation == Relation::Itself { path.to_owned() } else { node.path() };
        found.extend(signatures::holds(node, &at)?);
    }
    Ok(found)
}

fn is_in_use(holds: &[Hold]) -> bool {
    holds.iter().any(|hold| hold.what == HoldKind::InUse)
}

impl Hold {
    fn in_use(says: String) -> Self {
        Self { what: HoldKind::InUse, says }
    }

    fn content(says: String) -> Self {
        Self { what: HoldKind::Content, says }
    }
}

/// Returns true if an exclusive open for reading fails. It changes nothing, and fails exactly if another process holds
/// the device or a part of it.
fn is_held(path: &Path) -> Result<bool, ProbeError> {
    match open_exclusively(path, OFlags::NONBLOCK) {
        Ok(_) => Ok(false),
        Err(error) if error.raw_os_error() == Some(Errno::BUSY.raw_os_error()) => Ok(true),
        Err(source) => Err(ProbeError::Open { path: path.to_owned(), source }),
    }
}

/// Opens a device for reading so that nobody else can hold it exclusively. What another one holds is tried again for
/// two seconds: udev, a probe or another run that just ends hold a device for a moment.
///
/// # Errors
/// If it cannot be opened; EBUSY if it is held all that time.
pub fn open_exclusively(path: &Path, flags: OFlags) -> io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::EXCL | OFlags::CLOEXEC | flags;
    for _ in 1..EXCLUSIVE_TRIES {
        match rustix::fs::open(path, flags, Mode::empty()) {
            Err(Errno::BUSY) => thread::sleep(HELD_PAUSE),
            opened => return Ok(opened.map(File::from)?),
        }
    }
    Ok(rustix::fs::open(path, flags, Mode::empty()).map(File::from)?)
}

/// Number of attempts to hold a device, over two seconds.
const EXCLUSIVE_TRIES: u32 = 68;

/// Number of looks at who has it open for writing, over a third of a second: a child process between fork and exec has
/// it for milliseconds; only what lasts longer counts as use.
const HELD_TRIES: u32 = 10;
const HELD_PAUSE: Duration = Duration::from_millis(30);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_that_takes_writes_in_order_only_is_refused_and_so_are_its_partitions() {
        let folder = tempfile::tempdir().expect("a folder");
        let disk = folder.path().join("sdz");
        let part = disk.join("sdz1");
        for made in [&part, &disk.join("queue")] {
            fs::create_dir_all(made).expect("a folder");
        }
        for (zoned, is_refused) in [("none", false), ("host-aware", false), ("host-managed", true)] {
            fs::write(disk.join("queue/zoned"), format!("{zoned}\n")).expect("a file");
            for at in [&disk, &part] {
                assert_eq!(
                    zones(Path::new("/dev/sdz"), at).is_some(),
                    is_refused,
                    "{zoned} {}",
                    at.display()
                );
            }
        }
    }
}
