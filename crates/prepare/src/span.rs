//! What is known of a file or device before anything is done to it, and the rules that hold for files wherever they are.

use std::io;
use std::path::{Path, PathBuf};

use assay_record::{DeviceFacts, FilesystemFacts, HostFacts};
use assay_spec::Span;
use assay_spec::units::Bytes;
use assay_target::AccessMode;
use assay_target::file::Marker;

use super::TooSmall;
use super::error::PrepareError;

/// Files are made in whole pages: the last I/O of the span must fit the strictest block size.
pub(super) const SPAN_GRAIN: u64 = 4096;

/// A file to be made or used.
pub(super) struct FilePlan {
    pub(super) address: String,
    pub(super) path: PathBuf,
    pub(super) state: FileState,
    pub(super) span_bytes: u64,
    pub(super) access: AccessMode,
    pub(super) filesystem: FilesystemFacts,
    pub(super) device: Option<DeviceFacts>,
}

/// Whose a file is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum FileState {
    /// It does not exist yet.
    New,
    /// Assay made it, and nobody changed it since.
    Ours(Marker),
    /// Somebody else's, and only read.
    Foreign,
    /// Somebody else's, and allowed to be overwritten.
    Allowed,
}

/// A block device to be used.
pub(super) struct DevicePlan {
    pub(super) address: String,
    pub(super) path: PathBuf,
    pub(super) span_bytes: u64,
    pub(super) capacity_bytes: u64,
    pub(super) access: AccessMode,
    pub(super) device: DeviceFacts,
}

/// What files on one file system need.
pub(super) struct Need {
    /// Tells file systems apart: `st_dev` of a local one, server and `fsid` of one over NFS.
    pub(super) place: String,
    /// The files.
    pub(super) names: Vec<String>,
    pub(super) filesystem: FilesystemFacts,
    /// What they will hold, bytes.
    pub(super) span_bytes: u64,
    /// What of that they hold already and need not find again, bytes.
    pub(super) held_bytes: u64,
}

pub(super) fn check_foreign(path: &Path, writer: Option<String>, holds: u64) -> Result<(), PrepareError> {
    match writer {
        Some(test) => Err(PrepareError::ForeignFile {
            path: text(path),
            why: "was not made by Assay, or was changed since",
            test,
            holds: Bytes(holds),
        }),
        None if holds == 0 => Err(PrepareError::Empty { path: text(path) }),
        None => Ok(()),
    }
}

pub(super) fn file_span(
    asked: Span,
    state: &FileState,
    holds: u64,
    path: &Path,
    too_small: TooSmall,
    host: &HostFacts,
) -> Result<u64, PrepareError> {
    let asked = match asked {
        Span::Size(size) => Some(size.resolve(Bytes(host.memory_bytes)).0.next_multiple_of(SPAN_GRAIN)),
        Span::Whole => None,
    };
    match (state, asked) {
        (FileState::Foreign, None) => Ok(holds),
        (FileState::Foreign, Some(asked))
            if asked > holds.next_multiple_of(SPAN_GRAIN) && too_small == TooSmall::Refuse =>
        {
            Err(PrepareError::ForeignTooSmall { path: text(path), holds: Bytes(holds), asked: Bytes(asked) })
        }
        (FileState::Foreign, Some(asked)) => Ok(asked.min(holds)),
        // What a suite asks for by itself must not enlarge what is there.
        (FileState::Ours(_) | FileState::Allowed, Some(asked))
            if too_small == TooSmall::UseAll && holds >= SPAN_GRAIN =>
        {
            Ok(asked.min(holds / SPAN_GRAIN * SPAN_GRAIN))
        }
        (_, Some(asked)) => Ok(asked),
        (FileState::New, None) => Ok(Span::NEW_FILE.0),
        (_, None) if holds < SPAN_GRAIN => Ok(Span::NEW_FILE.0),
        (_, None) => Ok(holds / SPAN_GRAIN * SPAN_GRAIN),
    }
}

pub(super) fn directory_of(path: &Path) -> PathBuf {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent.to_owned(),
        _ => PathBuf::from("."),
    }
}

pub(super) fn io_error<'p>(
    what: &'static str,
    path: &'p Path,
) -> impl FnOnce(io::Error) -> PrepareError + 'p {
    move |source| PrepareError::Io { what, path: text(path), source }
}

pub(super) fn text(path: &Path) -> String {
    path.display().to_string()
}
