//! What is done with a file before and after I/O: finding out what a path is, creating, allocating, locking, finding
//! holes, removing.
//!
//! A file that Assay made carries a [`Marker`]. A file without one, or changed by somebody since, is foreign.

use std::fs::{self, File, Metadata};
use std::io::{self, Seek as _, SeekFrom};
use std::os::unix::fs::{FileExt as _, FileTypeExt as _, MetadataExt as _};
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::fs::{FallocateFlags, FlockOperation, Mode, OFlags};

pub use crate::fiemap::{Extents, Placed};
use crate::mark::remove_beside;
pub use crate::mark::{FileLook, Mark, MarkBefore, Marker, VoidMark};
use crate::{AccessMode, IoBuf, fiemap};

/// What a path is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PathKind {
    /// Nothing is there.
    Missing,
    /// A regular file.
    File,
    /// A directory.
    Directory,
    /// A block device.
    BlockDevice,
    /// Something that cannot be a target; the words say what.
    Other(&'static str),
}

/// Returns what `path` is, links followed.
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

/// Makes a file `bytes` long with the space reserved, where the file system can reserve.
pub fn allocate(file: &File, bytes: u64) -> io::Result<()> {
    match rustix::fs::fallocate(file, FallocateFlags::empty(), 0, bytes) {
        Ok(()) => Ok(()),
        Err(rustix::io::Errno::OPNOTSUPP | rustix::io::Errno::NOSYS) => {
            file.set_len(bytes.max(file.metadata()?.len()))
        }
        Err(errno) => Err(errno.into()),
    }
}

/// Returns the extents of the first `span_bytes` of a file; `None` where the file system does not report them.
pub fn extents(file: &File, span_bytes: u64) -> io::Result<Option<Extents>> {
    match fiemap::extents(file, span_bytes) {
        Ok(extents) => Ok(Some(extents)),
        Err(e) if e.kind() == io::ErrorKind::Unsupported => holes(file, span_bytes),
        Err(e) => Err(e),
    }
}

/// Finds the same by seeking for holes, which tmpfs and NFS report although they have no extent map.
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

/// The smallest direct read the file or device accepts, bytes: found by trying, because file systems differ from
/// what their device says. 4096 where nothing smaller works; `None` where direct I/O is refused altogether.
pub fn smallest_direct_io(path: &Path) -> io::Result<Option<u32>> {
    let flags = OFlags::RDONLY | OFlags::DIRECT | OFlags::CLOEXEC;
    let file = match rustix::fs::open(path, flags, Mode::empty()) {
        Ok(file) => File::from(file),
        Err(rustix::io::Errno::INVAL) => return Ok(None),
        Err(errno) => return Err(errno.into()),
    };
    for size in [512, 1024, 2048] {
        let mut buf = IoBuf::new(0, size);
        // The second block: the first is aligned to everything.
        match file.read_at(&mut buf, u64::from(size)) {
            Ok(_) => return Ok(Some(size)),
            Err(e) if e.raw_os_error() == Some(libc::EINVAL) => {}
            Err(e) => return Err(e),
        }
    }
    Ok(Some(4096))
}

/// Whether others may use the file at the same time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lock {
    /// Other readers may.
    Shared,
    /// Nobody else may.
    Exclusive,
}

/// How long a lock is tried for. A process that starts another one shares its locks with the child until the child's
/// own program begins, which on a busy machine takes a while: a lock that was given up a moment ago still seems held.
const LOCK_PATIENCE: Duration = Duration::from_secs(1);
const LOCK_PAUSE: Duration = Duration::from_millis(5);

/// Takes an advisory lock; `false` when another Assay holds the file. It lasts until `file` is closed.
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
            // Some network file systems have no locks; then nobody can be protected.
            Err(rustix::io::Errno::OPNOTSUPP | rustix::io::Errno::NOLCK | rustix::io::Errno::NOSYS) => {
                return Ok(true);
            }
            Err(errno) => return Err(errno.into()),
        }
    }
}

/// Frees a member's pages from the page cache, so that a cached run does not begin with what preparation left.
pub fn drop_cached_pages(file: &File) -> io::Result<()> {
    file.sync_data()?;
    Ok(rustix::fs::fadvise(file, 0, None, rustix::fs::Advice::DontNeed)?)
}

/// A file by what the file system calls it, not by its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileIdentity {
    /// `st_dev`.
    pub device: u64,
    /// `st_ino`.
    pub inode: u64,
    /// `st_rdev`: which device a node stands for; 0 for regular files.
    pub node_of: u64,
}

impl FileIdentity {
    /// Of an open file.
    pub fn of(file: &File) -> io::Result<Self> {
        file.metadata().map(|metadata| Self::of_metadata(&metadata))
    }

    /// Of what has that name, which is not followed where it is a link.
    pub fn of_name(path: &Path) -> io::Result<Self> {
        fs::symlink_metadata(path).map(|metadata| Self::of_metadata(&metadata))
    }

    fn of_metadata(metadata: &Metadata) -> Self {
        Self { device: metadata.dev(), inode: metadata.ino(), node_of: metadata.rdev() }
    }
}

/// Opens a file or device whose path has no links at its end; one that stands there is not followed.
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
    /// It is gone, and its mark with it.
    Removed,
    /// Assay did not create it, or somebody changed it since.
    NotOurs,
    /// Its name now refers to another file, or to none; nothing was removed.
    Elsewhere,
    /// Another run on this machine uses it; nothing was removed.
    InUse,
}

/// Removes the file `known` with its marker where Assay created it and it still has that name.
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

/// Takes back a file that was created a moment ago, whether or not it could be marked.
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

    /// A child that has not begun its own program yet holds the locks of its parent: a run that came right after
    /// another one was refused.
    #[test]
    fn a_lock_that_is_given_up_a_moment_later_is_waited_for() {
        let directory = tempfile::tempdir().unwrap();
        let (path, file) = made(directory.path());
        assert!(lock(&file, Lock::Exclusive).unwrap());
        // As a child has it: another descriptor of the same lock.
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
        // The build directory lies on a disk; the temporary folder may be a tmpfs. Both must work.
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
            // Only a file system on a device knows places, and there a MiB is at least as long as it is.
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
    fn only_the_file_that_is_known_is_removed_and_only_where_assay_made_it() {
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
