//! State after the targets of a run were closed.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use assay_claim::Removal;
use assay_claim::nfs::{self};
use assay_record::Warning;
use assay_target::file::FileIdentity;
use assay_target::nfs::NfsMember;

use crate::error::{PrepareError, io_error};

/// State after every target was closed.
#[derive(Debug, Default)]
pub struct Closed {
    /// Targets that no longer match the state in which the run left them.
    pub warnings: Vec<Warning>,

    pub(crate) removable: Vec<Removable>,
    pub(crate) kept: Vec<KeptFile>,
    /// Servers that did not answer while other targets were closed: they are not waited for again.
    pub(crate) silent: Vec<SocketAddr>,
}

/// A file that may be removed if Assay created it.
#[derive(Debug)]
pub(crate) enum Removable {
    File {
        /// As given.
        path: PathBuf,
        /// With all links resolved.
        real: PathBuf,
        /// Identity of the file.
        identity: FileIdentity,
    },
    /// Removing one requires the identity of the file, not only its name.
    Nfs(Box<NfsMember>),
}

/// A file that was to be removed but was kept.
#[derive(Debug)]
pub struct KeptFile {
    /// Path or address.
    pub name: String,
    /// Reason, a clause.
    pub why: String,
}

impl Closed {
    /// Removes every file that Assay created, and returns those that were kept. An unreachable server affects only its
    /// own files; an error of a local file is returned.
    pub fn remove(self) -> Result<Vec<KeptFile>, PrepareError> {
        let mut kept = self.kept;
        for removable in self.removable {
            match removable {
                Removable::File { path, real, identity } => kept.extend(remove_file(&path, &real, identity)?),
                Removable::Nfs(member) => kept.extend(remove_nfs(&member)),
            }
        }
        Ok(kept)
    }
}

/// Removes a file that Assay created, and returns it if it is kept.
fn remove_file(path: &Path, real: &Path, identity: FileIdentity) -> Result<Option<KeptFile>, PrepareError> {
    let removal = assay_claim::remove(real, identity).map_err(io_error("remove", path))?;
    Ok(why_kept(removal).map(|why| KeptFile { name: path.display().to_string(), why: why.to_owned() }))
}

/// Returns why a file is kept; `None` if it was removed.
fn why_kept(removal: Removal) -> Option<&'static str> {
    match removal {
        Removal::Removed => None,
        Removal::NotOurs => Some("Assay did not create it, or another program has changed it"),
        Removal::Elsewhere => Some("its name now refers to another file, or to none"),
        Removal::InUse => Some("another run uses it"),
    }
}

/// Removes a file that Assay created, and returns it if it is kept.
fn remove_nfs(member: &NfsMember) -> Option<KeptFile> {
    let why = match nfs::remove(member) {
        Ok(removal) => why_kept(removal)?.to_owned(),
        Err(error) => error.to_string(),
    };
    Some(KeptFile { name: member.address.to_string(), why })
}
