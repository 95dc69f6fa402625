//! Operations on a file before and after I/O: examining a path, creating, allocating, opening, finding holes.

use std::fs::{self, File, Metadata};
use std::io::{self, Seek as _, SeekFrom};
use std::os::unix::fs::{FileExt as _, FileTypeExt as _, MetadataExt as _};
use std::path::Path;

use rustix::fs::{FallocateFlags, Mode, OFlags};

use crate::fiemap::Dirty;
pub use crate::fiemap::{Extents, Placed};
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

/// Returns the extents of the first `span_bytes` of a file; `None` if the file system does not report them. What is not
/// on the device yet is written first.
pub fn extents(file: &File, span_bytes: u64) -> io::Result<Option<Extents>> {
    extents_of(file, span_bytes, Dirty::Write)
}

/// Returns the same and writes nothing.
pub fn extents_as_they_are(file: &File, span_bytes: u64) -> io::Result<Option<Extents>> {
    extents_of(file, span_bytes, Dirty::Leave)
}

fn extents_of(file: &File, span_bytes: u64, dirty: Dirty) -> io::Result<Option<Extents>> {
    match fiemap::extents(file, span_bytes, dirty) {
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
}
