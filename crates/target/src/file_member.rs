//! A file or block device of a run, and the conditions checked when it is opened.

use std::fmt;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{Mode, OFlags};

use crate::access::{AccessMode, Caching, Durability};
use crate::file::FileIdentity;
use crate::open_error::OpenError;

/// A file or block device, and how to open it.
#[derive(Debug, Clone)]
pub struct FileMember {
    /// The file or device node, as it was given.
    pub path: PathBuf,
    /// The file that it must be, whatever the path leads to later; `None` for any.
    pub binding: Option<Binding>,
    /// Whether writes are allowed.
    pub access: AccessMode,
    /// Whether I/O uses the page cache.
    pub caching: Caching,
    /// Whether each write waits until it is durable.
    pub durability: Durability,
    /// Usable bytes from its start.
    pub span_bytes: u64,
    /// Offsets and sizes must be multiples of this, bytes.
    pub block_bytes: u32,
}

/// The file or device that a path led to when it was inspected.
#[derive(Debug, Clone)]
pub struct Binding {
    /// The path with all links resolved.
    pub real: PathBuf,
    /// Identity of the file or device found there.
    pub identity: FileIdentity,
    /// Checks what is found there whenever a worker opens it; `None` accepts anything.
    pub guard: Option<Arc<dyn FileGuard>>,
}

/// Decides whether a file that a worker has just opened is the one that the run may use.
pub trait FileGuard: fmt::Debug + Send + Sync {
    /// Fails if it is not. Called before the first I/O of a worker, with the file as its member opens it.
    fn check(&self, member: &FileMember, file: &File) -> Result<(), OpenError>;
}

impl FileMember {
    /// Opens the file as described; never creates or truncates.
    pub fn open(&self) -> Result<File, OpenError> {
        let mut flags = OFlags::CLOEXEC;
        flags |= match self.access {
            AccessMode::ReadOnly => OFlags::RDONLY,
            AccessMode::ReadWrite => OFlags::RDWR,
        };
        if self.caching == Caching::Direct {
            flags |= OFlags::DIRECT;
        }
        if self.durability == Durability::Sync {
            flags |= OFlags::DSYNC;
        }
        let path = || self.path.display().to_string();
        let real: &Path = match &self.binding {
            Some(binding) => {
                flags |= OFlags::NOFOLLOW;
                &binding.real
            }
            None => &self.path,
        };
        let opened = rustix::fs::open(real, flags, Mode::empty());
        let file = opened.map(File::from).map_err(|errno| match (errno, self.caching) {
            (rustix::io::Errno::INVAL, Caching::Direct) => OpenError::NoDirectIo(path()),
            (rustix::io::Errno::LOOP, _) if self.binding.is_some() => OpenError::Replaced(path()),
            _ => OpenError::Open { path: path(), source: errno.into() },
        })?;
        let identity = FileIdentity::of(&file).map_err(|source| OpenError::Open { path: path(), source })?;
        match &self.binding {
            Some(expected) if expected.identity != identity => Err(OpenError::Replaced(path())),
            _ => Ok(file),
        }
    }

    /// Opens the file for the first time in a worker, and has its guard check it.
    pub fn open_first(&self) -> Result<File, OpenError> {
        let file = self.open()?;
        if let Some(guard) = self.binding.as_ref().and_then(|binding| binding.guard.as_ref()) {
            guard.check(self, &file)?;
        }
        Ok(file)
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Returns a file of `size` bytes that is removed when the first value is dropped.
    pub(crate) fn temporary_member(size: u64) -> (tempfile::NamedTempFile, FileMember) {
        let file = tempfile::NamedTempFile::new().unwrap();
        file.as_file().set_len(size).unwrap();
        let member = FileMember {
            path: file.path().to_owned(),
            binding: None,
            access: AccessMode::ReadWrite,
            caching: Caching::Cached,
            durability: Durability::Device,
            span_bytes: size,
            block_bytes: 512,
        };
        (file, member)
    }

    #[test]
    fn a_replacement_of_the_file_is_not_opened() {
        let (keep, mut member) = temporary_member(4096);
        let identity = FileIdentity::of(keep.as_file()).unwrap();
        member.binding = Some(Binding { real: keep.path().to_owned(), identity, guard: None });
        member.open().unwrap();
        let (other, _) = temporary_member(4096);
        let aside = keep.path().with_extension("aside");
        std::fs::rename(keep.path(), &aside).unwrap();
        std::os::unix::fs::symlink(&aside, keep.path()).unwrap();
        assert!(matches!(member.open(), Err(OpenError::Replaced(_))), "a link, even to the file itself");
        std::fs::remove_file(aside).unwrap();
        std::fs::rename(other.path(), keep.path()).unwrap();
        assert!(matches!(member.open(), Err(OpenError::Replaced(_))));
    }

    #[test]
    fn the_error_names_a_missing_file() {
        let (_keep, mut member) = temporary_member(0);
        member.path = "/nonexistent/t.dat".into();
        let message = member.open().unwrap_err().to_string();
        assert!(message.starts_with("cannot open /nonexistent/t.dat: No such file"), "{message}");
    }

    #[test]
    fn a_file_system_without_direct_io_names_the_choice() {
        let (_keep, mut member) = temporary_member(0);
        // procfs refuses O_DIRECT, as overlay and FUSE mounts may.
        (member.path, member.access, member.caching) =
            ("/proc/version".into(), AccessMode::ReadOnly, Caching::Direct);
        assert!(member.open().unwrap_err().to_string().contains("--cached"));
    }
}
