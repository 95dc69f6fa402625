//! What is done with a file before and after I/O: finding out what a path is, creating, allocating, marking, finding
//! holes.
//!
//! A file that Assay made carries a [`Marker`]: what it was filled with, and how it looked when Assay last closed
//! it. A file without one, or changed by somebody since, is foreign.

use std::fs::{self, File, Metadata};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::{FileExt as _, FileTypeExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

use rustix::fs::{FallocateFlags, FlockOperation, Mode, OFlags, XattrFlags};
use serde::{Deserialize, Serialize};

pub use crate::fiemap::{Extents, Placed};
use crate::{IoBuf, fiemap};

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

/// Takes an advisory lock; `false` when another Assay holds the file. It lasts until `file` is closed.
pub fn lock(file: &File, lock: Lock) -> io::Result<bool> {
    let operation = match lock {
        Lock::Shared => FlockOperation::NonBlockingLockShared,
        Lock::Exclusive => FlockOperation::NonBlockingLockExclusive,
    };
    match rustix::fs::flock(file, operation) {
        Ok(()) => Ok(true),
        Err(rustix::io::Errno::WOULDBLOCK) => Ok(false),
        // Some network file systems have no locks; then nobody can be protected.
        Err(rustix::io::Errno::OPNOTSUPP | rustix::io::Errno::NOLCK | rustix::io::Errno::NOSYS) => Ok(true),
        Err(errno) => Err(errno.into()),
    }
}

/// Frees a member's pages from the page cache, so that a cached run does not begin with what preparation left.
pub fn drop_cached_pages(file: &File) -> io::Result<()> {
    file.sync_data()?;
    Ok(rustix::fs::fadvise(file, 0, None, rustix::fs::Advice::DontNeed)?)
}

/// What a file made by Assay carries: an extended attribute, or a file beside it where there are none.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Marker {
    /// Version of this record.
    pub version: u32,
    /// Random number that identifies the file, whichever way it is reached. Empty in marks of older versions.
    #[serde(default)]
    pub id: String,
    /// True if Assay created the file (and may remove it), or was only allowed to overwrite it.
    pub created: bool,
    /// Bytes from the start that hold data.
    pub filled_bytes: u64,
    /// Kinds of data that were written into it since it was filled, sorted; the fill is one of them.
    pub kinds: Vec<String>,
    /// Length when the marker was written, bytes.
    pub length_bytes: u64,
    /// Set while a run may write: its modification time then says nothing, but its length must be this one.
    pub is_open: bool,
    /// How long after this record was written the run that opened the file may still write to it, s; 0: nobody says.
    #[serde(default)]
    pub open_for_s: u64,
    /// Modification time when Assay last closed it, ns since 1970.
    pub modified_ns: i128,
}

const MARKER_VERSION: u32 = 2;
const MARKER_ATTRIBUTE: &str = "user.assay";
/// More than any marker takes.
pub(crate) const MARKER_BYTES_MAX: usize = 4096;

impl Marker {
    /// A marker for a file that holds nothing yet.
    #[must_use]
    pub fn new(created: bool) -> Self {
        Self {
            version: MARKER_VERSION,
            id: random_id(),
            created,
            filled_bytes: 0,
            kinds: Vec::new(),
            length_bytes: 0,
            is_open: true,
            open_for_s: 0,
            modified_ns: 0,
        }
    }

    /// The marker of `file`, if it has one that still describes it.
    pub fn read(path: &Path, file: &File) -> io::Result<Option<Self>> {
        let metadata = file.metadata()?;
        let Some(text) = read_text(path, file, &metadata)? else { return Ok(None) };
        Ok(Self::of_text(&text, metadata.len(), modified_ns(&metadata)))
    }

    /// The marker that `text` holds, if it still describes a file that looks so.
    pub(crate) fn of_text(text: &[u8], length_bytes: u64, modified_ns: i128) -> Option<Self> {
        let marker = serde_json::from_slice::<Self>(text).ok()?;
        let is_unchanged = match marker.is_open {
            // A run that was killed left it so.
            true => length_bytes == marker.length_bytes,
            false => marker.modified_ns == modified_ns,
        };
        (marker.version == MARKER_VERSION && is_unchanged).then_some(marker)
    }

    /// The number of a marker, whether that still describes its file or not.
    pub(crate) fn id_of_text(text: &[u8]) -> Option<String> {
        let id = serde_json::from_slice::<Self>(text).ok()?.id;
        // It comes from a server and becomes part of a lock's name here: nothing but what `random_id` makes.
        is_id(&id).then_some(id)
    }

    /// Gives a mark of an earlier version, or one that somebody else wrote, a number of its own.
    pub fn ensure_id(&mut self) {
        if !is_id(&self.id) {
            self.id = random_id();
        }
    }

    /// Notes how the file looks, and gives the text of the marker.
    pub(crate) fn seal(
        &mut self,
        length_bytes: u64,
        modified_ns: i128,
        is_open: bool,
    ) -> io::Result<Vec<u8>> {
        (self.is_open, self.length_bytes, self.modified_ns) = (is_open, length_bytes, modified_ns);
        serde_json::to_vec(self).map_err(io::Error::other)
    }

    /// Writes the marker: before a run that writes (`is_open`), and after it.
    pub fn write(&mut self, path: &Path, file: &File, is_open: bool) -> io::Result<()> {
        let metadata = file.metadata()?;
        let text = self.seal(metadata.len(), modified_ns(&metadata), is_open)?;
        match rustix::fs::fsetxattr(file, MARKER_ATTRIBUTE, &text, XattrFlags::empty()) {
            Ok(()) => Ok(()),
            Err(rustix::io::Errno::OPNOTSUPP | rustix::io::Errno::NOSPC | rustix::io::Errno::PERM) => {
                write_beside(&beside_path(path), &beside_text(metadata.ino(), &text)?)
            }
            Err(errno) => Err(errno.into()),
        }
    }
}

/// Returns true if it is a number that [`random_id`] could have made. Marks of earlier versions have none.
fn is_id(text: &str) -> bool {
    text.len() == 32 && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// 128 random bits as text.
pub(crate) fn random_id() -> String {
    let mut bytes = [0; 16];
    match rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::NONBLOCK) {
        Ok(16) => format!("{:032x}", u128::from_ne_bytes(bytes)),
        // Where there is no randomness yet, the time and the process distinguish files.
        _ => {
            let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
            format!("{:024x}{:08x}", now.as_nanos(), std::process::id())
        }
    }
}

/// Removes a file that Assay created, with its marker. Returns false if Assay did not create it.
pub fn remove(path: &Path) -> io::Result<bool> {
    let file = File::open(path)?;
    match Marker::read(path, &file)? {
        Some(marker) if marker.created => {
            fs::remove_file(path)?;
            let beside = beside_path(path);
            if is_beside(&beside) {
                fs::remove_file(beside)?;
            }
            Ok(true)
        }
        _ => Ok(false),
    }
}

/// The marker where there are no extended attributes: tied to its file by the inode.
#[derive(Serialize, Deserialize)]
struct Beside {
    inode: u64,
    marker: String,
}

/// Returns what the file with the marker of the file `inode` holds.
pub(crate) fn beside_text(inode: u64, marker: &[u8]) -> io::Result<Vec<u8>> {
    let marker = String::from_utf8_lossy(marker).into_owned();
    serde_json::to_vec(&Beside { inode, marker }).map_err(io::Error::other)
}

/// The marker in the file beside, if that belongs to the file `inode`.
pub(crate) fn marker_beside(text: &[u8], inode: u64) -> Option<Vec<u8>> {
    let beside: Beside = serde_json::from_slice(text).ok()?;
    (beside.inode == inode).then(|| beside.marker.into_bytes())
}

/// Returns true if a file beside holds a marker, whoever's.
pub(crate) fn is_marker(text: &[u8]) -> bool {
    serde_json::from_slice::<Beside>(text).is_ok()
}

/// The name of the file with the marker of the file `name`.
pub(crate) fn beside_name(name: &std::ffi::OsStr) -> std::ffi::OsString {
    let mut beside = std::ffi::OsString::from(".");
    beside.push(name);
    beside.push(".assay");
    beside
}

fn beside_path(path: &Path) -> PathBuf {
    path.with_file_name(beside_name(path.file_name().unwrap_or_default()))
}

/// Writes the marker beside its file in one step, over an older marker but over nothing else.
///
/// A link, or a file of somebody else's, may stand there: it is neither followed nor overwritten.
fn write_beside(path: &Path, text: &[u8]) -> io::Result<()> {
    match fs::symlink_metadata(path) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => {}
        Err(e) => return Err(e),
        Ok(_) if is_beside(path) => {}
        Ok(_) => {
            let says = format!(
                "{} is in the way of the mark that Assay writes beside its file, and Assay did not write it; move it",
                path.display()
            );
            return Err(io::Error::new(io::ErrorKind::AlreadyExists, says));
        }
    }
    let mut new = path.as_os_str().to_owned();
    new.push(format!(".{}", std::process::id()));
    let new = PathBuf::from(new);
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut file = File::from(rustix::fs::open(&new, flags, Mode::from_raw_mode(0o644))?);
    let moved = file.write_all(text).and_then(|()| fs::rename(&new, path));
    if moved.is_err() {
        // Half a marker is of no use to anybody.
        let _ = fs::remove_file(&new);
    }
    moved
}

/// Returns true if a marker stands there, and not a link or a file of somebody else's.
fn is_beside(path: &Path) -> bool {
    matches!(open_beside(path).and_then(read_beside), Ok(Some(_)))
}

fn open_beside(path: &Path) -> io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    Ok(File::from(rustix::fs::open(path, flags, Mode::empty())?))
}

fn read_beside(beside: File) -> io::Result<Option<Beside>> {
    let mut text = Vec::new();
    beside.take(MARKER_BYTES_MAX as u64).read_to_end(&mut text)?;
    Ok(serde_json::from_slice(&text).ok())
}

fn read_text(path: &Path, file: &File, metadata: &Metadata) -> io::Result<Option<Vec<u8>>> {
    let mut text = vec![0; MARKER_BYTES_MAX];
    if let Ok(length) = rustix::fs::fgetxattr(file, MARKER_ATTRIBUTE, text.as_mut_slice()) {
        text.truncate(length);
        return Ok(Some(text));
    }
    let beside = match open_beside(&beside_path(path)) {
        Ok(beside) => read_beside(beside)?,
        // Assay makes no links there: the file has no marker.
        Err(e) if is_missing_or_link(&e) => return Ok(None),
        Err(e) => return Err(e),
    };
    Ok(beside.filter(|b| b.inode == metadata.ino()).map(|b| b.marker.into_bytes()))
}

fn is_missing_or_link(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::NotFound || error.raw_os_error() == Some(libc::ELOOP)
}

fn modified_ns(metadata: &Metadata) -> i128 {
    i128::from(metadata.mtime()) * 1_000_000_000 + i128::from(metadata.mtime_nsec())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(directory: &Path) -> (PathBuf, File) {
        let path = directory.join("t.dat");
        let file = create(&path).unwrap();
        (path, file)
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
    fn a_marked_file_counts_as_made_by_assay_until_somebody_changes_it() {
        let directory = tempfile::tempdir().unwrap();
        let (path, mut file) = made(directory.path());
        assert_eq!(Marker::read(&path, &file).unwrap(), None);
        let mut marker = Marker::new(true);
        marker.kinds.push("unique".into());
        marker.write(&path, &file, false).unwrap();
        assert_eq!(Marker::read(&path, &file).unwrap(), Some(marker));
        std::thread::sleep(std::time::Duration::from_millis(20));
        file.write_all(b"somebody else").unwrap();
        assert_eq!(Marker::read(&path, &file).unwrap(), None);
        assert!(!remove(&path).unwrap(), "a changed file must stay");
        assert!(path.exists());
    }

    #[test]
    fn a_file_whose_run_was_killed_still_counts_as_made_by_assay() {
        let directory = tempfile::tempdir().unwrap();
        let (path, mut file) = made(directory.path());
        file.set_len(4096).unwrap();
        Marker::new(true).write(&path, &file, true).unwrap();
        std::thread::sleep(std::time::Duration::from_millis(20));
        file.write_all(b"the run that was killed").unwrap();
        assert!(Marker::read(&path, &file).unwrap().is_some());
        file.set_len(5000).unwrap();
        assert!(Marker::read(&path, &file).unwrap().is_none(), "another length: somebody else's content");
        file.set_len(4096).unwrap();
        assert!(remove(&path).unwrap());
        assert!(!path.exists());
    }

    #[test]
    fn a_marker_beside_its_file_replaces_an_older_one_and_nothing_else() {
        let directory = tempfile::tempdir().unwrap();
        let (beside, precious) = (directory.path().join(".t.dat.assay"), directory.path().join("precious"));
        let marker = |inode| serde_json::to_vec(&Beside { inode, marker: "{}".into() }).unwrap();
        write_beside(&beside, &marker(1)).unwrap();
        write_beside(&beside, &marker(2)).unwrap();
        assert_eq!(fs::read(&beside).unwrap(), marker(2));
        fs::remove_file(&beside).unwrap();
        fs::write(&precious, "precious").unwrap();
        std::os::unix::fs::symlink(&precious, &beside).unwrap();
        let refused = write_beside(&beside, &marker(3)).unwrap_err().to_string();
        assert!(refused.contains("is in the way"), "{refused}");
        fs::remove_file(&beside).unwrap();
        fs::write(&beside, "somebody's notes").unwrap();
        let refused = write_beside(&beside, &marker(3)).unwrap_err().to_string();
        assert!(refused.contains(".t.dat.assay is in the way"), "{refused}");
        assert_eq!(fs::read(&beside).unwrap(), b"somebody's notes");
        assert_eq!(fs::read(&precious).unwrap(), b"precious");
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 2, "nothing is left over");
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
