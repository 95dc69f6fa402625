//! Operations on a file before and after I/O: examining a path, creating, allocating, locking, finding holes, removing.
//!
//! A file created by Assay carries a [`Marker`]. A file without one, or changed by another program since, is foreign.

use std::fs::{self, File, Metadata};
use std::io::{self, Seek as _, SeekFrom};
use std::os::unix::fs::{FileExt as _, FileTypeExt as _, MetadataExt as _};
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::fs::{FallocateFlags, FlockOperation, Mode, OFlags};

pub use crate::fiemap::{Extents, Placed};
use crate::mark::remove_beside;
pub use crate::mark::{FileLook, Mark, MarkBefore, Marker, VoidMark, mark_beside};
use crate::{AccessMode, IoBuf, fiemap};

/// Kind of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PathKind {
    /// The path does not exist.
    Missing,
    /// A regular file.
    File,
    /// A directory.
    Directory,
    /// A block device.
    BlockDevice,
    /// Something that cannot be a target, in words.
    Other(&'static str),
}

/// What the modification time of a file says about writes that have ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WriteTimes {
    /// Of all of them.
    Exact,
    /// Servers of SMB may set it seconds after a write, or when the last descriptor is closed.
    Late,
}

impl WriteTimes {
    /// Returns how the file system of an open file sets them.
    #[must_use]
    pub fn of(file: &File) -> Self {
        /// `f_type` of cifs with SMB 1 and with later versions, as in statfs(2).
        const SMB: [i64; 2] = [0xFF53_4D42, 0xFE53_4D42];
        match rustix::fs::fstatfs(file).is_ok_and(|fs| SMB.contains(&fs.f_type)) {
            true => Self::Late,
            false => Self::Exact,
        }
    }
}

/// Returns the kind of `path`, following links.
pub fn kind_of(path: &Path) -> io::Result<PathKind> {
    let kind = match fs::metadata(path) {
        Ok(metadata) => metadata.file_type(),
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(PathKind::Missing),
        Err(e) => return Err(e),
    };
    Ok(match kind {
        k if k.is_file() => PathKind::File,
        k if k.is_dir() => PathKind::Directory,
        k if k.is_block_device() => PathKind::BlockDevice,
        k if k.is_char_device() => PathKind::Other("a character device"),
        k if k.is_fifo() => PathKind::Other("a pipe"),
        k if k.is_socket() => PathKind::Other("a socket"),
        _ => PathKind::Other("neither a file, a directory nor a block device"),
    })
}

/// Returns the size of a file or block device, bytes.
pub fn capacity_bytes(path: &Path) -> io::Result<u64> {
    File::open(path)?.seek(SeekFrom::End(0))
}

/// Creates a file that must not exist yet.
pub fn create(path: &Path) -> io::Result<File> {
    File::options().read(true).write(true).create_new(true).open(path)
}

/// Sets the length of a file to `bytes` and reserves the space if the file system can.
pub fn allocate(file: &File, bytes: u64) -> io::Result<()> {
    match rustix::fs::fallocate(file, FallocateFlags::empty(), 0, bytes) {
        Ok(()) => Ok(()),
        Err(rustix::io::Errno::OPNOTSUPP | rustix::io::Errno::NOSYS) => {
            file.set_len(bytes.max(file.metadata()?.len()))
        }
        Err(errno) => Err(errno.into()),
    }
}

/// Returns the extents of the first `span_bytes` of a file; `None` if the file system does not report them.
pub fn extents(file: &File, span_bytes: u64) -> io::Result<Option<Extents>> {
    match fiemap::extents(file, span_bytes) {
        Ok(extents) => Ok(Some(extents)),
        Err(e) if e.kind() == io::ErrorKind::Unsupported => holes(file, span_bytes),
        Err(e) => Err(e),
    }
}

/// Returns the extents by seeking for holes, which tmpfs and NFS report although they have no extent map.
fn holes(file: &File, span_bytes: u64) -> io::Result<Option<Extents>> {
    use rustix::fs::SeekFrom as Seek;
    let (mut found, mut written, mut at) = (Extents::default(), 0, 0);
    while at < span_bytes {
        let data = match rustix::fs::seek(file, Seek::Data(at)) {
            Ok(data) => data.min(span_bytes),
            Err(rustix::io::Errno::NXIO) => break,
            Err(rustix::io::Errno::INVAL) => return Ok(None),
            Err(errno) => return Err(errno.into()),
        };
        let hole = rustix::fs::seek(file, Seek::Hole(data)).map_err(io::Error::from)?.min(span_bytes);
        if hole <= data {
            break;
        }
        found.count += 1;
        written += hole - data;
        at = hole;
    }
    found.unwritten_bytes = span_bytes - written;
    Ok(Some(found))
}

/// Returns the smallest direct read that the file or device accepts, bytes, found by trying, because file systems
/// differ from what their device reports. 4096 if nothing smaller works; `None` if direct I/O is refused altogether.
pub fn smallest_direct_io(path: &Path) -> io::Result<Option<u32>> {
    let flags = OFlags::RDONLY | OFlags::DIRECT | OFlags::CLOEXEC;
    let file = match rustix::fs::open(path, flags, Mode::empty()) {
        Ok(file) => File::from(file),
        Err(rustix::io::Errno::INVAL) => return Ok(None),
        Err(errno) => return Err(errno.into()),
    };
    for size in [512, 1024, 2048] {
        let mut buf = IoBuf::new(0, size);
        // Reads the second block, because the first is aligned to everything.
        match file.read_at(&mut buf, u64::from(size)) {
            Ok(_) => return Ok(Some(size)),
            Err(e) if e.raw_os_error() == Some(libc::EINVAL) => {}
            Err(e) => return Err(e),
        }
    }
    Ok(Some(4096))
}

/// Mode of a lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lock {
    /// Other readers may use the file.
    Shared,
    /// No other run may use the file.
    Exclusive,
}

/// Time for which a lock is tried. A process shares its locks with a child until the child executes its own program,
/// which takes a while on a busy machine: a lock that was just released may still seem to be held.
const LOCK_PATIENCE: Duration = Duration::from_secs(1);
const LOCK_PAUSE: Duration = Duration::from_millis(5);

/// Takes an advisory lock; returns `false` if another Assay holds the file. It lasts until `file` is closed.
pub fn lock(file: &File, lock: Lock) -> io::Result<bool> {
    let operation = match lock {
        Lock::Shared => FlockOperation::NonBlockingLockShared,
        Lock::Exclusive => FlockOperation::NonBlockingLockExclusive,
    };
    let until = Instant::now() + LOCK_PATIENCE;
    loop {
        match rustix::fs::flock(file, operation) {
            Ok(()) => return Ok(true),
            Err(rustix::io::Errno::WOULDBLOCK) if Instant::now() < until => std::thread::sleep(LOCK_PAUSE),
            Err(rustix::io::Errno::WOULDBLOCK) => return Ok(false),
            // Some network file systems have no locks; the file cannot be protected then.
            Err(rustix::io::Errno::OPNOTSUPP | rustix::io::Errno::NOLCK | rustix::io::Errno::NOSYS) => {
                return Ok(true);
            }
            Err(errno) => return Err(errno.into()),
        }
    }
}

/// Drops a member's pages from the page cache, so that a cached run does not start with pages left by the preparation.
pub fn drop_cached_pages(file: &File) -> io::Result<()> {
    file.sync_data()?;
    Ok(rustix::fs::fadvise(file, 0, None, rustix::fs::Advice::DontNeed)?)
}

/// Identity of a file in the file system, independent of its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileIdentity {
    /// `st_dev`.
    pub device: u64,
    /// `st_ino`.
    pub inode: u64,
    /// `st_rdev`: the device of a device node; 0 for regular files.
    pub node_of: u64,
}

impl FileIdentity {
    /// Returns the identity of an open file.
    pub fn of(file: &File) -> io::Result<Self> {
        file.metadata().map(|metadata| Self::of_metadata(&metadata))
    }

    /// Returns the identity of the file with that name; a link is not followed.
    pub fn of_name(path: &Path) -> io::Result<Self> {
        fs::symlink_metadata(path).map(|metadata| Self::of_metadata(&metadata))
    }

    fn of_metadata(metadata: &Metadata) -> Self {
        Self { device: metadata.dev(), inode: metadata.ino(), node_of: metadata.rdev() }
    }
}

/// Opens a file or device whose path does not end in a link; a link there is not followed.
pub fn open(real: &Path, access: AccessMode) -> io::Result<File> {
    let access = match access {
        AccessMode::ReadOnly => OFlags::RDONLY,
        AccessMode::ReadWrite => OFlags::RDWR,
    };
    let flags = access | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(File::from(rustix::fs::open(real, flags, Mode::empty())?))
}

/// Outcome of the removal of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Removal {
    /// The file and its mark were removed.
    Removed,
    /// Assay did not create the file, or another program changed it since.
    NotOurs,
    /// Its name now refers to another file, or to none; nothing was removed.
    Elsewhere,
    /// Another run on this machine is using it; nothing was removed.
    InUse,
}

/// Removes the file `known` with its marker if Assay created it and it still has that name.
pub fn remove(path: &Path, known: FileIdentity) -> io::Result<Removal> {
    let file = match open(path, AccessMode::ReadOnly) {
        Ok(file) => file,
        Err(e) if matches!(e.raw_os_error(), Some(libc::ENOENT | libc::ELOOP)) => {
            return Ok(Removal::Elsewhere);
        }
        Err(e) => return Err(e),
    };
    if FileIdentity::of(&file)? != known {
        return Ok(Removal::Elsewhere);
    }
    match Marker::read(path, &file)? {
        // Between the end of this run and now another one may have begun.
        Some(marker) if marker.created && !lock(&file, Lock::Exclusive)? => Ok(Removal::InUse),
        Some(marker) if marker.created => {
            fs::remove_file(path)?;
            remove_beside(path)?;
            Ok(Removal::Removed)
        }
        _ => Ok(Removal::NotOurs),
    }
}

/// Removes a file that was just created, whether or not it could be marked.
pub fn discard(path: &Path, created: &File) -> io::Result<()> {
    if FileIdentity::of_name(path)? != FileIdentity::of(created)? {
        return Ok(());
    }
    fs::remove_file(path)?;
    remove_beside(path)
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::path::PathBuf;

    use super::*;

    fn made(directory: &Path) -> (PathBuf, File) {
        let path = directory.join("t.dat");
        let file = create(&path).unwrap();
        (path, file)
    }

    /// A child that has not executed its own program yet holds the locks of its parent: a run that started right after
    /// another one was refused.
    #[test]
    fn a_lock_is_retried_until_it_is_released_a_moment_later() {
        let directory = tempfile::tempdir().unwrap();
        let (path, file) = made(directory.path());
        assert!(lock(&file, Lock::Exclusive).unwrap());
        // As in a child: another descriptor of the same lock.
        let (inherited, other) = (file.try_clone().unwrap(), open(&path, AccessMode::ReadWrite).unwrap());
        drop(file);
        let child = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(100));
            drop(inherited);
        });
        assert!(lock(&other, Lock::Exclusive).unwrap());
        child.join().unwrap();
        let third = open(&path, AccessMode::ReadWrite).unwrap();
        assert!(!lock(&third, Lock::Shared).unwrap(), "one that stays is not waited for");
    }

    #[test]
    fn holes_and_unwritten_space_are_found() {
        // The build directory is on a disk; the temporary directory may be a tmpfs. Both must work.
        for directory in [tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")), tempfile::tempdir_in("/dev/shm")]
        {
            let directory = directory.unwrap();
            let (_, mut file) = made(directory.path());
            file.set_len(1 << 20).unwrap();
            assert_eq!(extents(&file, 1 << 20).unwrap().map(|e| e.unwritten_bytes), Some(1 << 20));
            file.write_all(&vec![7; 256 << 10]).unwrap();
            assert_eq!(extents(&file, 1 << 20).unwrap().map(|e| e.unwritten_bytes), Some(768 << 10));
            file.write_all(&vec![7; 768 << 10]).unwrap();
            assert_eq!(extents(&file, 1 << 20).unwrap().map(|e| e.unwritten_bytes), Some(0));
            // Only a file system on a device knows positions, and a range of at least 1 MiB.
            let placed = extents(&file, 1 << 20).unwrap().and_then(|e| e.placed);
            assert!(placed.is_none_or(|p| p.end_bytes - p.first_bytes >= 1 << 20 && p.pieces >= 1));
        }
    }

    #[test]
    fn reserved_space_is_not_data() {
        let directory = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        let (_, file) = made(directory.path());
        allocate(&file, 1 << 20).unwrap();
        assert_eq!(file.metadata().unwrap().len(), 1 << 20);
        assert_eq!(extents(&file, 1 << 20).unwrap().map(|e| e.unwritten_bytes), Some(1 << 20));
    }

    #[test]
    fn only_the_known_file_is_removed_and_only_if_assay_created_it() {
        let directory = tempfile::tempdir().unwrap();
        let (path, mut file) = made(directory.path());
        let known = FileIdentity::of(&file).unwrap();
        assert_eq!(remove(&path, known).unwrap(), Removal::NotOurs, "no mark");
        Marker::new(true).write(&path, &file, false).unwrap();
        std::thread::sleep(std::time::Duration::from_millis(20));
        file.write_all(b"somebody else").unwrap();
        assert_eq!(remove(&path, known).unwrap(), Removal::NotOurs, "a changed file stays");
        Marker::new(true).write(&path, &file, false).unwrap();
        let aside = directory.path().join("aside");
        fs::rename(&path, &aside).unwrap();
        assert_eq!(remove(&path, known).unwrap(), Removal::Elsewhere, "no file");
        fs::write(&path, "precious").unwrap();
        assert_eq!(remove(&path, known).unwrap(), Removal::Elsewhere, "another file");
        fs::remove_file(&path).unwrap();
        std::os::unix::fs::symlink(&aside, &path).unwrap();
        assert_eq!(remove(&path, known).unwrap(), Removal::Elsewhere, "a link");
        fs::rename(&aside, &path).unwrap();
        let other_run = open(&path, AccessMode::ReadOnly).unwrap();
        assert!(lock(&other_run, Lock::Shared).unwrap());
        assert_eq!(remove(&path, known).unwrap(), Removal::InUse, "another run has begun on it");
        drop(other_run);
        assert_eq!(remove(&path, known).unwrap(), Removal::Removed);
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
    }

    #[test]
    fn two_writers_exclude_each_other() {
        let directory = tempfile::tempdir().unwrap();
        let (path, file) = made(directory.path());
        let other = File::open(path).unwrap();
        assert!(lock(&file, Lock::Exclusive).unwrap());
        assert!(!lock(&other, Lock::Shared).unwrap());
        drop(file);
        assert!(lock(&other, Lock::Shared).unwrap());
    }
}
