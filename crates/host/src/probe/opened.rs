//! Which other programs have a device or a file open for writing. A virtual machine or a storage target uses a disk
//! without holding it exclusively, and a new disk of theirs is blank: nothing else shows that it is in use.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::thread;

use rustix::fs::{AtFlags, CWD, FileType, StatxFlags, makedev, statx};

use assay_record::FilesystemFacts;

use super::related::Node;
use super::{HELD_PAUSE, HELD_TRIES, Hold};
use crate::file_id::file_ids;
use crate::machine::{DevNo, attribute, names_in};

/// Bits of the flags in `/proc/PID/fdinfo/FD` that are not 0 where a descriptor may write.
const MAY_WRITE: u32 = 0o3;

/// One hold for each process that has a device open for writing, as far as this user may see it. What opens a device
/// only for a moment does not use it. A device counts that some process had open at every look: between two of them
/// a program may start another that goes on with its descriptors, under another name or another process id.
pub(super) fn holds(nodes: &[Node]) -> Vec<Hold> {
    let devices = nodes.iter().filter_map(|node| Some((Storage::Device(node.number?), node.subject())));
    let writers = steady_writers(&devices.collect::<Vec<_>>());
    writers.into_iter().map(|writer| Hold::in_use(writer.says)).collect()
}

/// Returns the first regular file, by its index, that a process has open for writing, and a sentence about that, as far
/// as this user may see it. Files on servers are not looked at.
pub(super) fn file_writer(paths: &[&Path]) -> Option<(usize, String)> {
    let ids = (0..).zip(paths).flat_map(|(index, path)| {
        let ids = file_ids(path).unwrap_or_default();
        ids.into_iter().map(move |(device, inode)| (index, Storage::File { device, inode }))
    });
    let files: Vec<(usize, Storage)> = ids.collect();
    let wanted: Vec<_> = files.iter().map(|(_, file)| (*file, "it".to_owned())).collect();
    let writer = steady_writers(&wanted).into_iter().next()?;
    files.iter().find(|(_, file)| *file == writer.storage).map(|(index, _)| (*index, writer.says))
}

fn steady_writers(wanted: &[(Storage, String)]) -> Vec<Writer> {
    if wanted.is_empty() {
        return Vec::new();
    }
    let mut found = writers(wanted);
    for _ in 1..HELD_TRIES {
        if found.is_empty() {
            break;
        }
        thread::sleep(HELD_PAUSE);
        let before: Vec<Storage> = found.iter().map(|writer| writer.storage).collect();
        found = writers(wanted);
        found.retain(|writer| before.contains(&writer.storage));
    }
    found
}

/// What a process can have open for writing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Storage {
    Device(DevNo),
    File { device: u64, inode: u64 },
}

/// A process that has one of the devices or files open for writing.
struct Writer {
    storage: Storage,
    process: String,
    says: String,
}

impl Writer {
    fn is(&self, storage: Storage, process: &str) -> bool {
        self.storage == storage && self.process == process
    }
}

fn writers(wanted: &[(Storage, String)]) -> Vec<Writer> {
    let mut found: Vec<Writer> = Vec::new();
    for process in processes() {
        let folder = Path::new("/proc").join(&process);
        let mut look = Look { mounts: None, opened: Vec::new() };
        for table in tables(&folder) {
            look.descriptors(&table);
        }
        look.mappings(&folder);
        for (storage, subject) in wanted {
            if look.opened.contains(storage) && !found.iter().any(|known| known.is(*storage, &process)) {
                let program = attribute(&folder.join("comm")).unwrap_or_else(|| "a program".to_owned());
                let says = format!("{subject} is open for writing in {program} (process {process})");
                found.push(Writer { storage: *storage, process: process.clone(), says });
            }
        }
    }
    found
}

/// Returns the directories with the threads of a process that have different descriptors. Threads share them, but one
/// may have a table of its own, and a main thread that has ended has none.
fn tables(process: &Path) -> Vec<PathBuf> {
    let mut tables: Vec<(Vec<String>, PathBuf)> = Vec::new();
    for thread in names_in(&process.join("task")) {
        let folder = process.join("task").join(thread);
        let descriptors = names_in(&folder.join("fd"));
        if !descriptors.is_empty() && tables.iter().all(|(known, _)| *known != descriptors) {
            tables.push((descriptors, folder));
        }
    }
    tables.into_iter().map(|(_, folder)| folder).collect()
}

/// What a look at a process finds.
struct Look {
    /// Read where they are needed.
    mounts: Option<KindsOfMounts>,
    /// What it may write to.
    opened: Vec<Storage>,
}

impl Look {
    fn descriptors(&mut self, thread: &Path) {
        for descriptor in names_in(&thread.join("fd")) {
            let info = fs::read_to_string(thread.join("fdinfo").join(&descriptor)).unwrap_or_default();
            if !may_write(&info) {
                continue;
            }
            let mounts = self.mounts.get_or_insert_with(|| KindsOfMounts::of(thread));
            let descriptor = thread.join("fd").join(&descriptor);
            if mounts.may_look(&descriptor, &info) {
                self.opened.extend(storage(&descriptor));
            }
        }
    }

    /// A shared mapping writes without a descriptor.
    fn mappings(&mut self, process: &Path) {
        let text = fs::read(process.join("maps")).unwrap_or_default();
        for mapping in String::from_utf8_lossy(&text).lines().filter_map(Mapping::read) {
            let mounts = self.mounts.get_or_insert_with(|| KindsOfMounts::of(process));
            if !mounts.may_look_at(mapping.file_system, mapping.path) {
                continue;
            }
            let by_address = storage(&process.join("map_files").join(mapping.addresses));
            // Only root may follow the first.
            self.opened.extend(by_address.or_else(|| storage(Path::new(mapping.path))));
        }
    }
}

/// A mapping that writes to its file.
struct Mapping<'t> {
    addresses: &'t str,
    /// Device number of the file system of its file.
    file_system: &'t str,
    path: &'t str,
}

impl<'t> Mapping<'t> {
    /// Reads a line of `/proc/PID/maps`; `None` where it writes to no file.
    fn read(line: &'t str) -> Option<Self> {
        let mut words = line.splitn(6, ' ');
        let (addresses, permissions) = (words.next()?, words.next()?);
        let file_system = words.nth(1)?;
        let path = words.nth(1)?.trim_start();
        let writes = permissions.contains('w') && permissions.ends_with('s');
        (writes && path.starts_with('/')).then_some(Self { addresses, file_system, path })
    }
}

/// Returns the ids of all processes but this one.
fn processes() -> impl Iterator<Item = String> {
    let own = std::process::id().to_string();
    names_in(Path::new("/proc"))
        .into_iter()
        .filter(move |name| name.bytes().all(|byte| byte.is_ascii_digit()) && *name != own)
}

/// Returns the number of processes whose open files this user may not see: only root sees those of others.
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

/// Kinds of the file systems that a process sees.
struct KindsOfMounts {
    /// By the id of the mount.
    by_mount: HashMap<u64, String>,
    /// By the device number, as the kernel writes it in mountinfo.
    by_device: HashMap<String, String>,
}

impl KindsOfMounts {
    fn of(process: &Path) -> Self {
        let text = fs::read(process.join("mountinfo")).unwrap_or_default();
        let mut kinds = Self { by_mount: HashMap::new(), by_device: HashMap::new() };
        for line in String::from_utf8_lossy(&text).lines() {
            let Some((place, what)) = line.split_once(" - ") else { continue };
            let mut place = place.split(' ');
            let (mount, device) = (place.next().and_then(|id| id.parse().ok()), place.nth(1));
            let (Some(mount), Some(device), Some(kind)) = (mount, device, what.split(' ').next()) else {
                continue;
            };
            kinds.by_mount.insert(mount, kind.to_owned());
            kinds.by_device.insert(device.to_owned(), kind.to_owned());
        }
        kinds
    }

    /// Whether it is safe to look at a mapped file. `device` is hexadecimal, as in `/proc/PID/maps`.
    fn may_look_at(&self, device: &str, path: &str) -> bool {
        let number = |text: &str| u32::from_str_radix(text, 16).ok();
        let decimal = device
            .split_once(':')
            .and_then(|(major, minor)| Some(format!("{}:{}", number(major)?, number(minor)?)));
        match decimal.and_then(|device| self.by_device.get(&device)) {
            Some(kind) => !FilesystemFacts::is_of_a_server(kind),
            None => path.starts_with("/dev"),
        }
    }

    /// Whether it is safe to look at an open file. One of another mount namespace, and what is no file, is known by its
    /// link alone.
    fn may_look(&self, descriptor: &Path, info: &str) -> bool {
        let mount = field(info, "mnt_id:").and_then(|id| id.parse().ok());
        match mount.and_then(|id: u64| self.by_mount.get(&id)) {
            Some(kind) => !FilesystemFacts::is_of_a_server(kind),
            None => fs::read_link(descriptor).is_ok_and(|opened| opened.starts_with("/dev")),
        }
    }
}

/// The block device that a link of `/proc` leads to, wherever its node lies, or the regular file.
fn storage(link: &Path) -> Option<Storage> {
    // What the kernel knows suffices: a file system of a program that hangs is not asked.
    let looked = statx(CWD, link, AtFlags::STATX_DONT_SYNC, StatxFlags::TYPE | StatxFlags::INO).ok()?;
    match FileType::from_raw_mode(looked.stx_mode.into()) {
        FileType::BlockDevice => {
            Some(Storage::Device(DevNo::from(makedev(looked.stx_rdev_major, looked.stx_rdev_minor))))
        }
        FileType::RegularFile => {
            let device = makedev(looked.stx_dev_major, looked.stx_dev_minor);
            Some(Storage::File { device, inode: looked.stx_ino })
        }
        _ => None,
    }
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
