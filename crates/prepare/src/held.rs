//! A file or device that is held open from its inspection to the end of the run, and verified before it is written.

use std::fs::File;
use std::path::{Path, PathBuf};

use assay_claim::Fingerprint;
use assay_target::OpenError;
use assay_target::file::FileIdentity;

use crate::error::{PrepareError, io_error, text};

/// An inspected file or device, held open.
pub(crate) struct Held {
    /// Carries the lock.
    pub(crate) file: File,
    pub(crate) identity: FileIdentity,
    /// The path with all links resolved.
    pub(crate) real: PathBuf,
    /// Path for messages.
    path: PathBuf,
    /// Its fingerprint before its examination, or after this run last changed it; `None` for a target that is only
    /// read, as others may write to it.
    looked: Option<Fingerprint>,
}

impl Held {
    pub(crate) fn of(
        path: &Path,
        real: &Path,
        file: File,
        looked: Option<Fingerprint>,
    ) -> Result<Self, PrepareError> {
        let identity = FileIdentity::of(&file).map_err(io_error("look at", path))?;
        Ok(Self { file, identity, real: real.to_owned(), path: path.to_owned(), looked })
    }

    /// Fails if two descriptors refer to different files.
    pub(crate) fn check_same(path: &Path, one: &File, other: &File) -> Result<(), PrepareError> {
        let of = |file| FileIdentity::of(file).map_err(io_error("look at", path));
        if of(one)? == of(other)? { Ok(()) } else { Err(OpenError::Replaced(text(path)).into()) }
    }

    /// Returns the same target, held by another descriptor.
    pub(crate) fn reopened(self, file: File) -> Result<Self, PrepareError> {
        Self::check_same(&self.path, &self.file, &file)?;
        Ok(Self { file, ..self })
    }

    /// Fails if it has changed since its inspection: another file has its name, or it was modified.
    pub(crate) fn confirm(&self) -> Result<(), PrepareError> {
        match FileIdentity::of_name(&self.real) {
            Ok(identity) if identity == self.identity => {}
            _ => return Err(OpenError::Replaced(text(&self.path)).into()),
        }
        let Some(looked) = &self.looked else { return Ok(()) };
        match looked.difference(&fingerprint(&self.path, &self.file)?) {
            None => Ok(()),
            Some(what) => Err(OpenError::Changed { target: text(&self.path), what: what.to_owned() }.into()),
        }
    }

    /// Updates its fingerprint after this run changed it.
    pub(crate) fn note(&mut self) -> Result<(), PrepareError> {
        if self.looked.is_some() {
            self.looked = Some(fingerprint(&self.path, &self.file)?);
        }
        Ok(())
    }
}

pub(crate) fn fingerprint(path: &Path, file: &File) -> Result<Fingerprint, PrepareError> {
    Fingerprint::of(file).map_err(io_error("read", path))
}
