//! Facts that `assay check` reports about a path: file, directory or block device.

use std::fs::File;
use std::path::Path;

use assay_claim::Marker;
use assay_record::{DeviceFacts, FilesystemFacts};
use assay_target::file::{self, PathKind};

use crate::error::{PrepareError, io_error, text};

/// The present state of a file, directory or block device.
#[derive(Debug, Clone)]
pub struct PathInspection {
    /// Kind.
    pub kind: PathInspectionKind,
    /// Size, bytes; 0 for a directory.
    pub size_bytes: u64,
    /// Smallest direct I/O, bytes; `None` if direct I/O is not supported, or could not be tested.
    pub smallest_direct_io: Option<u32>,
    /// Its file system; `None` for a device.
    pub filesystem: Option<FilesystemFacts>,
    /// The device itself, or the one under the file system.
    pub device: Option<DeviceFacts>,
    /// Number of pieces in which a file lies on its device; `None` where that is unknown.
    pub extents: Option<u64>,
    /// Bytes of a file that are on its device: without holes and what was only reserved.
    pub written_bytes: u64,
    /// Reasons not to write to it, a sentence each.
    pub holds: Vec<String>,
    /// Identities of a device that `--overwrite` accepts.
    pub identities: Vec<String>,
    /// True if Assay created it and it was not changed since; `None` if it is not a file.
    pub is_ours: Option<bool>,
    /// True if this user's permissions allow writing.
    pub may_write: bool,
}

/// What is below a path.
#[derive(Debug, Clone)]
pub struct PathDrives {
    /// The device itself, or the one under the file system.
    pub device: Option<DeviceFacts>,
    /// Its file system; `None` for a device.
    pub filesystem: Option<FilesystemFacts>,
}

/// Kind of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PathInspectionKind {
    /// A block device.
    Device,
    /// A regular file.
    File,
    /// A directory.
    Directory,
}

/// Inspects a path without changing anything.
pub fn inspect_path(path: &Path) -> Result<PathInspection, PrepareError> {
    match file::kind_of(path).map_err(io_error("look at", path))? {
        PathKind::Missing => Err(absent(path)),
        PathKind::Other(what) => Err(PrepareError::WrongKind { path: text(path), what }),
        PathKind::BlockDevice => inspect_device(path),
        PathKind::File => inspect_file(path),
        PathKind::Directory => in_file_system(path, PathInspectionKind::Directory),
    }
}

fn inspect_device(path: &Path) -> Result<PathInspection, PrepareError> {
    let device = assay_host::device_of(path).map_err(io_error("look at", path))?;
    let probed =
        assay_host::probe(path).map_err(|e| PrepareError::Probe { path: text(path), why: e.to_string() })?;
    let mut holds: Vec<String> = probed.into_iter().map(|hold| hold.says).collect();
    let size_bytes = file::capacity_bytes(path).map_err(io_error("open", path))?;
    if holds.is_empty() {
        let device_file = File::open(path).map_err(io_error("open", path))?;
        holds.extend(
            crate::device::foreign_data(path, &device_file, size_bytes)?
                .map(|foreign| foreign.hold(path.display())),
        );
    }
    Ok(PathInspection {
        kind: PathInspectionKind::Device,
        size_bytes,
        smallest_direct_io: file::smallest_direct_io(path).map_err(io_error("read", path))?,
        filesystem: None,
        identities: device.as_ref().map(identities).unwrap_or_default(),
        device,
        extents: None,
        written_bytes: 0,
        holds,
        is_ours: None,
        may_write: assay_host::may_write(path),
    })
}

/// Returns what `--overwrite` accepts, with the one that `--not-blank` needs.
fn identities(device: &DeviceFacts) -> Vec<String> {
    let mut all = assay_host::identities(device);
    all.extend(assay_host::lasting_identity(device).filter(|lasting| !all.contains(lasting)));
    all
}

fn inspect_file(path: &Path) -> Result<PathInspection, PrepareError> {
    let file = File::open(path).map_err(io_error("open", path))?;
    let marker = Marker::read(path, &file).map_err(io_error("read", path))?;
    let size_bytes = file::capacity_bytes(path).map_err(io_error("open", path))?;
    let is_ours = match marker.filter(|marker| marker.created) {
        Some(marker) => crate::file::used_since(path, &file, &marker)?.is_none(),
        None => false,
    };
    // A file system that does not say it is no reason to say nothing else.
    let found = file::extents_as_they_are(&file, size_bytes).ok().flatten();
    Ok(PathInspection {
        size_bytes,
        smallest_direct_io: file::smallest_direct_io(path).map_err(io_error("read", path))?,
        extents: found.and_then(|found| found.placed).map(|placed| placed.pieces),
        written_bytes: size_bytes - found.map_or(0, |found| found.unwritten_bytes.min(size_bytes)),
        holds: assay_host::file_users(path),
        is_ours: Some(is_ours),
        ..in_file_system(path, PathInspectionKind::File)?
    })
}

/// Says that nothing is at a path: a run creates files, and no devices.
fn absent(path: &Path) -> PrepareError {
    match crate::check_new(path) {
        Err(none @ PrepareError::NoSuchDevice { .. }) => none,
        _ => PrepareError::Missing { path: text(path) },
    }
}

/// Returns the drives below a path, of which nothing is opened or probed: what it takes to describe them.
///
/// # Errors
/// If the path, or its device, cannot be looked at.
pub fn path_drives(path: &Path) -> Result<(PathInspectionKind, PathDrives), PrepareError> {
    let kind = match file::kind_of(path).map_err(io_error("look at", path))? {
        PathKind::Missing => return Err(absent(path)),
        PathKind::Other(what) => return Err(PrepareError::WrongKind { path: text(path), what }),
        PathKind::BlockDevice => PathInspectionKind::Device,
        PathKind::File => PathInspectionKind::File,
        PathKind::Directory => PathInspectionKind::Directory,
    };
    let device = assay_host::device_of(path).map_err(io_error("look at", path));
    Ok(match kind {
        PathInspectionKind::Device => (kind, PathDrives { device: device?, filesystem: None }),
        PathInspectionKind::File | PathInspectionKind::Directory => {
            let filesystem = assay_host::filesystem_of(path).map_err(io_error("look at", path))?;
            (kind, PathDrives { device: device.unwrap_or_default(), filesystem: Some(filesystem) })
        }
    })
}

fn in_file_system(path: &Path, kind: PathInspectionKind) -> Result<PathInspection, PrepareError> {
    Ok(PathInspection {
        kind,
        size_bytes: 0,
        smallest_direct_io: None,
        filesystem: Some(assay_host::filesystem_of(path).map_err(io_error("look at", path))?),
        device: assay_host::device_of(path).unwrap_or_default(),
        extents: None,
        written_bytes: 0,
        holds: Vec::new(),
        identities: Vec::new(),
        is_ours: None,
        may_write: assay_host::may_write(path),
    })
}
