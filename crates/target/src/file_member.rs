//! A file or block device of a run, and the conditions checked when it is opened.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags};

use crate::access::{AccessMode, Caching, Durability};
use crate::file::{FileIdentity, Marker};
use crate::fingerprint::{END_BYTES, HeadCheck, NOT_OWN, drop_pages, is_own};
use crate::open_error::OpenError;

/// A file or block device, and how to open it.
#[derive(Debug, Clone, PartialEq, Eq)]
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
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Binding {
    /// The path with all links resolved.
    pub real: PathBuf,
    /// Identity of the file or device found there.
    pub identity: FileIdentity,
    /// Id of this run in the mark of the file; `None` for a target without a mark.
    pub run: Option<String>,
    /// Required content at the start of a device.
    pub head: HeadCheck,
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

    /// Opens the file for the first time in a worker: a file that is written must carry the mark of this run, and a
    /// device filled by this run must hold its data.
    pub(crate) fn open_first(&self) -> Result<File, OpenError> {
        let file = self.open()?;
        let Some(binding) = &self.binding else { return Ok(file) };
        let path = || self.path.display().to_string();
        let failed = |source| OpenError::Open { path: path(), source };
        let changed = |what: &str| Err(OpenError::Changed { target: path(), what: what.to_owned() });
        if let Some(run) = &binding.run
            && Marker::run_of(&binding.real, &file).map_err(failed)? != *run
        {
            return changed("its mark");
        }
        if binding.head == HeadCheck::OwnData && !self.has_own_head(&binding.real).map_err(failed)? {
            return changed(NOT_OWN);
        }
        Ok(file)
    }

    /// Reads through a separate descriptor, as the worker's may accept aligned buffers only.
    fn has_own_head(&self, real: &Path) -> io::Result<bool> {
        let head_bytes = usize::try_from(END_BYTES.min(self.span_bytes)).expect("an end is short");
        let mut head = vec![0; head_bytes];
        let file = crate::file::open(real, AccessMode::ReadOnly)?;
        drop_pages(&file, 0, head_bytes);
        file.read_exact_at(&mut head, 0)?;
        drop_pages(&file, 0, head_bytes);
        Ok(is_own(&head))
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
        member.binding =
            Some(Binding { real: keep.path().to_owned(), identity, run: None, head: HeadCheck::Nothing });
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
    fn a_file_with_the_mark_of_another_run_is_not_opened() {
        let (keep, mut member) = temporary_member(4096);
        let mut marker = Marker::new(true);
        marker.begin_run(60);
        marker.write(keep.path(), keep.as_file(), true).unwrap();
        let identity = FileIdentity::of(keep.as_file()).unwrap();
        let real = keep.path().to_owned();
        let run = Some(marker.run.clone());
        member.binding = Some(Binding { real, identity, run, head: HeadCheck::Nothing });
        member.open_first().unwrap();
        marker.begin_run(60);
        marker.write(keep.path(), keep.as_file(), true).unwrap();
        let refused = member.open_first().unwrap_err().to_string();
        assert!(refused.contains("changed after Assay inspected it (its mark)"), "{refused}");
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
