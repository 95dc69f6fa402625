//! Storage of the marks of local files: an extended attribute, or a hidden file beside the file if there are none.

use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags, XattrFlags};
use serde::{Deserialize, Serialize};

use super::MARKER_BYTES_MAX;

const MARKER_ATTRIBUTE: &str = "user.assay";

/// A mark as it is stored.
pub(super) struct StoredText {
    pub(super) text: Vec<u8>,
    /// User who owns the file beside; `None` of an attribute, which only those can set who may write to the file.
    pub(super) writer: Option<u32>,
}

/// Returns the text of a file's mark; `None` if the file has none. `inode` is the file's.
pub(super) fn read(path: &Path, file: &File, inode: u64) -> io::Result<Option<StoredText>> {
    let mut text = vec![0; MARKER_BYTES_MAX];
    if let Ok(length) = rustix::fs::fgetxattr(file, MARKER_ATTRIBUTE, text.as_mut_slice()) {
        text.truncate(length);
        return Ok(Some(StoredText { text, writer: None }));
    }
    let beside = match open_beside(&beside_path(path)) {
        Ok(beside) => beside,
        // Assay creates no links there: the file has no marker.
        Err(e) if is_missing_or_link(&e) => return Ok(None),
        Err(e) => return Err(e),
    };
    let writer = Some(beside.metadata()?.uid());
    let beside = read_beside(beside)?.filter(|beside| beside.inode == inode);
    Ok(beside.map(|beside| StoredText { text: beside.marker.into_bytes(), writer }))
}

/// Writes the text of a file's mark, and returns the time of writing by the clock of the file system, ns since 1970.
pub(super) fn write(path: &Path, file: &File, inode: u64, text: &[u8]) -> io::Result<i128> {
    let marked = match rustix::fs::fsetxattr(file, MARKER_ATTRIBUTE, text, XattrFlags::empty()) {
        Ok(()) => file.metadata()?,
        Err(rustix::io::Errno::OPNOTSUPP | rustix::io::Errno::NOSPC | rustix::io::Errno::PERM) => {
            let beside = beside_path(path);
            write_beside(&beside, &beside_text(inode, text)?)?;
            fs::symlink_metadata(beside)?
        }
        Err(errno) => return Err(errno.into()),
    };
    Ok(i128::from(marked.ctime()) * 1_000_000_000 + i128::from(marked.ctime_nsec()))
}

/// Removes the mark of a file.
pub(super) fn remove(path: &Path, file: &File) -> io::Result<()> {
    match rustix::fs::fremovexattr(file, MARKER_ATTRIBUTE) {
        // It has none, or its file system has no attributes.
        Ok(()) | Err(rustix::io::Errno::NODATA | rustix::io::Errno::OPNOTSUPP) => remove_beside(path),
        Err(errno) => Err(errno.into()),
    }
}

/// Removes the file beside that holds a mark, if there is one.
pub(crate) fn remove_beside(path: &Path) -> io::Result<()> {
    let beside = beside_path(path);
    if is_beside(&beside) { fs::remove_file(beside) } else { Ok(()) }
}

/// The marker without extended attributes: tied to its file by the inode.
#[derive(Serialize, Deserialize)]
struct Beside {
    inode: u64,
    marker: String,
}

/// Returns the content of the file beside with the marker of the file `inode`.
pub(crate) fn beside_text(inode: u64, marker: &[u8]) -> io::Result<Vec<u8>> {
    let marker = String::from_utf8_lossy(marker).into_owned();
    serde_json::to_vec(&Beside { inode, marker }).map_err(io::Error::other)
}

/// Returns the marker in the file beside, if that belongs to the file `inode`.
pub(crate) fn marker_beside(text: &[u8], inode: u64) -> Option<Vec<u8>> {
    let beside: Beside = serde_json::from_slice(text).ok()?;
    (beside.inode == inode).then(|| beside.marker.into_bytes())
}

/// Returns true if a file beside holds a marker of any file.
pub(crate) fn is_marker(text: &[u8]) -> bool {
    serde_json::from_slice::<Beside>(text).is_ok()
}

/// Returns the name of the file with the marker of the file `name`.
pub(crate) fn beside_name(name: &std::ffi::OsStr) -> std::ffi::OsString {
    let mut beside = std::ffi::OsString::from(".");
    beside.push(name);
    beside.push(".assay");
    beside
}

fn beside_path(path: &Path) -> PathBuf {
    path.with_file_name(beside_name(path.file_name().unwrap_or_default()))
}

/// Writes the marker beside its file atomically, over an older marker but over nothing else.
///
/// A link or another user's file there is neither followed nor overwritten.
fn write_beside(path: &Path, text: &[u8]) -> io::Result<()> {
    match fs::symlink_metadata(path) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => {}
        Err(e) => return Err(e),
        Ok(_) if is_beside(path) => {}
        Ok(_) => {
            let says = format!(
                "{} has the name of the mark file that Assay writes, but Assay did not write it; move it away",
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
        // A partial marker is useless.
        let _ = fs::remove_file(&new);
    }
    moved
}

/// Returns the file beside that holds the mark of a file, if there is one.
pub fn mark_beside(path: &Path) -> Option<PathBuf> {
    let beside = beside_path(path);
    is_beside(&beside).then_some(beside)
}

/// Returns true if the path is a marker, not a link or another file.
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

fn is_missing_or_link(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::NotFound || error.raw_os_error() == Some(libc::ELOOP)
}

#[cfg(test)]
mod tests {
    use super::*;

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
        assert!(refused.contains("has the name of the mark file"), "{refused}");
        fs::remove_file(&beside).unwrap();
        fs::write(&beside, "somebody's notes").unwrap();
        let refused = write_beside(&beside, &marker(3)).unwrap_err().to_string();
        assert!(refused.contains(".t.dat.assay has the name of the mark file"), "{refused}");
        assert_eq!(fs::read(&beside).unwrap(), b"somebody's notes");
        assert_eq!(fs::read(&precious).unwrap(), b"precious");
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 2, "nothing is left over");
    }
}
