//! Input files named by a user: plans, arrays, results, secrets. Only regular files are opened, and no more is read
//! than such a file may have, whatever its size field says.

use std::fs::{File, Metadata};
use std::io::{self, Read as _};
use std::os::unix::fs::{FileTypeExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use assay_spec::units::Bytes;
use thiserror::Error;

/// A kind of input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Input {
    /// Its name in messages, with the article: `a plan`.
    pub name: &'static str,
    /// The largest file, bytes.
    pub bytes_max: u64,
}

/// Why an input cannot be used. Each message is complete; [`std::error::Error::source`] returns the cause.
#[derive(Debug, Error)]
#[expect(missing_docs, reason = "the message of a variant says what its fields are")]
pub enum InputError {
    /// It cannot be opened or read.
    #[error("cannot read {}", path.display())]
    Io { path: PathBuf, source: io::Error },
    /// It is a device, a pipe or a directory.
    #[error("{} is {found}, but {wanted} must be a regular file", path.display())]
    NoFile {
        path: PathBuf,
        /// Its kind, with the article.
        found: &'static str,
        /// Kind of input that was expected.
        wanted: &'static str,
    },
    /// It is larger than such a file may be.
    #[error("{} has {}; {wanted} may have at most {}", path.display(), size_said(*bytes, *bytes_max), most(*bytes_max))]
    TooLarge {
        path: PathBuf,
        bytes: u64,
        bytes_max: u64,
        /// Kind of input that was expected.
        wanted: &'static str,
    },
    /// It is not UTF-8.
    #[error("{} is not a text file in UTF-8", path.display())]
    NoText { path: PathBuf },
}

impl InputError {
    /// Returns true if the file does not exist.
    pub fn is_not_found(&self) -> bool {
        matches!(self, Self::Io { source, .. } if source.kind() == io::ErrorKind::NotFound)
    }
}

fn most(bytes_max: u64) -> String {
    Bytes(bytes_max).rounded()
}

/// Returns the size in words; a file that grew while it was read, or has no size field, has more than the limit.
fn size_said(bytes: u64, bytes_max: u64) -> String {
    if bytes > bytes_max {
        Bytes(bytes).rounded()
    } else {
        format!("more than {}", Bytes(bytes_max).rounded())
    }
}

/// Opens an input that is read in parts. It must be a regular file, not larger than its kind may be.
pub fn open(path: &Path, kind: Input) -> Result<File, InputError> {
    let failed = |source| InputError::Io { path: path.to_owned(), source };
    // Checked before the file is opened, because opening alone can block (a FIFO), or have an effect (a tape, a
    // watchdog).
    check(path, &std::fs::metadata(path).map_err(failed)?, kind)?;
    // Checked again, as another file may have taken the name.
    let flags = (rustix::fs::OFlags::NONBLOCK | rustix::fs::OFlags::NOCTTY).bits();
    let flags = i32::try_from(flags).expect("flags of open are few");
    let file = File::options().read(true).custom_flags(flags).open(path).map_err(failed)?;
    check(path, &file.metadata().map_err(failed)?, kind)?;
    Ok(file)
}

/// Reads an input as text.
pub fn read_text(path: &Path, kind: Input) -> Result<String, InputError> {
    let mut bytes = Vec::new();
    let file = open(path, kind)?;
    file.take(kind.bytes_max + 1)
        .read_to_end(&mut bytes)
        .map_err(|source| InputError::Io { path: path.to_owned(), source })?;
    if bytes.len() as u64 > kind.bytes_max {
        return Err(too_large(path, 0, kind));
    }
    String::from_utf8(bytes).map_err(|_| InputError::NoText { path: path.to_owned() })
}

fn check(path: &Path, metadata: &Metadata, kind: Input) -> Result<(), InputError> {
    let file = metadata.file_type();
    let found = match () {
        () if file.is_file() => None,
        () if file.is_dir() => Some("a directory"),
        () if file.is_fifo() => Some("a pipe (FIFO)"),
        () if file.is_socket() => Some("a socket"),
        () => Some("a device"),
    };
    match found {
        Some(found) => Err(InputError::NoFile { path: path.to_owned(), found, wanted: kind.name }),
        None if metadata.len() > kind.bytes_max => Err(too_large(path, metadata.len(), kind)),
        None => Ok(()),
    }
}

fn too_large(path: &Path, bytes: u64, Input { name, bytes_max }: Input) -> InputError {
    InputError::TooLarge { path: path.to_owned(), bytes, bytes_max, wanted: name }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    const KIND: Input = Input { name: "a plan", bytes_max: 1024 };

    fn refused(path: &Path) -> String {
        read_text(path, KIND).unwrap_err().to_string()
    }

    #[test]
    fn only_regular_files_are_opened() {
        let folder = tempfile::tempdir().unwrap();
        let fifo = folder.path().join("fifo");
        assert!(Command::new("mkfifo").arg(&fifo).status().unwrap().success());
        // Opening it would wait for a writer.
        let says = "is a pipe (FIFO), but a plan must be a regular file";
        assert_eq!(refused(&fifo), format!("{} {says}", fifo.display()));
        for (path, what) in [("/dev/zero", "is a device"), ("/", "is a directory")] {
            assert!(refused(Path::new(path)).contains(what), "{path}");
        }
    }

    #[test]
    fn no_more_is_read_than_the_limit_of_the_kind() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "x".repeat(1024)).unwrap();
        assert_eq!(read_text(file.path(), KIND).unwrap().len(), 1024);
        // A sparse file claims more than is ever read.
        file.as_file().set_len(1 << 40).unwrap();
        assert_eq!(
            refused(file.path()),
            format!("{} has 1 TiB; a plan may have at most 1 KiB", file.path().display())
        );
        // The kernel's own files report a size of 0.
        let says = "has more than 1 KiB; a plan may have at most 1 KiB";
        assert!(refused(Path::new("/proc/self/smaps")).ends_with(says));
    }

    #[test]
    fn a_missing_file_and_a_file_without_text_have_different_errors() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), [0xff, 0xfe]).unwrap();
        assert!(refused(file.path()).ends_with("is not a text file in UTF-8"));
        assert!(read_text(Path::new("/no/such/file"), KIND).unwrap_err().is_not_found());
    }
}
