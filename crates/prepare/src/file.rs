//! A file on a mounted file system, or the test file in a directory.

mod target;

use std::fs::File;
use std::io;
use std::os::unix::fs::{FileExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

use assay_claim::blank::{self, Examination};
use assay_claim::{FileLook, Fingerprint, Lock, Mark, Marker};
use assay_record::{DeviceFacts, FilesystemFacts};
use assay_spec::Address;
use assay_target::AccessMode;
use assay_target::file::{self, PathKind};
use assay_target::stamp::{UNIT_BYTES, has_stamp};
use rustix::fs::{Access, AtFlags, CWD};
use rustix::io::Errno;

use crate::content;
use crate::context::InspectContext;
use crate::error::{PrepareError, io_error, text};
use crate::held::{Held, fingerprint};
use crate::options::{Changes, FillChoice};
use crate::path::{FILE_IN_DIRECTORY, directory_of, real_path};
use crate::permission::{Nameable, WhyForeign, check_foreign_file, check_used_since};
use crate::space::Need;
use crate::span::{self, FileState};

pub(crate) use target::FileTarget;

/// Number of places of a file that are searched for stamps.
const STAMP_SAMPLES: u64 = 64;

/// A file that may be used.
pub(crate) struct InspectedFile {
    pub(crate) span_bytes: u64,
    /// As given, or the test file in the directory that was given.
    path: PathBuf,
    /// The same path with all links resolved.
    real: PathBuf,
    address: String,
    state: FileState,
    filesystem: FilesystemFacts,
    device: Option<DeviceFacts>,
    /// The file itself, open and locked since its inspection; `None` if it does not exist yet.
    held: Option<Held>,
}

fn kind_of(path: &Path) -> Result<PathKind, PrepareError> {
    file::kind_of(path).map_err(io_error("look at", path))
}

/// Inspects the file that `given` names, or the test file in that directory.
pub(crate) fn inspect(
    context: &InspectContext<'_>,
    address: &Address,
    given: &Path,
    writer: Option<&str>,
) -> Result<InspectedFile, PrepareError> {
    let path = match kind_of(given)? {
        PathKind::Directory => given.join(FILE_IN_DIRECTORY),
        _ => given.to_owned(),
    };
    let directory = directory_of(&path);
    if !directory.is_dir() {
        return Err(PrepareError::no_directory(given, &path, &directory));
    }
    // A directory may contain an `assay.dat` that is not a file.
    match kind_of(&path)? {
        PathKind::Missing | PathKind::File => {}
        PathKind::Other(what) => return Err(PrepareError::WrongKind { path: text(&path), what }),
        _ => return Err(PrepareError::WrongKind { path: text(&path), what: "not a file" }),
    }
    // Resolved once, so that a later change of a link has no effect on this run.
    let real = real_path(&path);
    let file = existing(&path, &real)?;
    let is_fixed = assay_host::read_only_mount(&directory).is_some();
    if file.is_none() {
        check_new(given)?;
    } else if is_fixed && writer.is_some() {
        // Said before whose file it is: --overwrite would not help.
        return Err(PrepareError::read_only_mount(&path, &directory, writer));
    }
    // Taken first, so that any change during the examination is detected.
    let looked = file.as_ref().map(|file| fingerprint(&path, file));
    let (state, holds_bytes) = match &file {
        None => (FileState::New, 0),
        Some(file) => state_of(context, (&path, &real), file, writer)?,
    };
    // Nothing can be changed there: Assay's own file, too, is only read.
    let changes = if is_fixed { Changes::Refused } else { context.options.changes };
    let state = state.treated(changes, &text(&path))?;
    check_users(&path, &state)?;
    let held =
        file.zip(looked).map(|(file, looked)| hold((&path, &real), file, looked, &state)).transpose()?;
    let span_bytes = span::of_file(context, &path, &state, holds_bytes)?;
    check_stamps(context, &path, &state, span_bytes)?;
    let filesystem =
        assay_host::filesystem_of(&directory).map_err(io_error("look at the file system of", &path))?;
    let device = assay_host::device_of(&directory).unwrap_or_default();
    Ok(InspectedFile {
        address: address.to_string(),
        path,
        real,
        state,
        span_bytes,
        filesystem,
        device,
        held,
    })
}

/// Whether a name is that of a device. In a container no file system of devices is mounted on /dev, but one in memory,
/// like the one on /dev/shm, in which files may be created.
fn is_among_devices(path: &Path, directory: &Path) -> bool {
    (path.starts_with("/dev") && !path.starts_with("/dev/shm"))
        || assay_host::filesystem_of(directory).is_ok_and(|filesystem| filesystem.kind == "devtmpfs")
}

/// Says why a file that does not exist cannot be created at its path, where that is known before it is tried.
///
/// # Errors
/// With what is in its way: a directory that is missing or closed, a link, a file system that is read-only.
pub fn check_new(given: &Path) -> Result<(), PrepareError> {
    let path = match kind_of(given) {
        Ok(PathKind::Directory) => given.join(FILE_IN_DIRECTORY),
        _ => given.to_owned(),
    };
    let directory = directory_of(&path);
    if is_among_devices(&path, &directory) {
        return Err(PrepareError::NoSuchDevice { path: text(&path) });
    }
    if !directory.is_dir() {
        return Err(PrepareError::no_directory(given, &path, &directory));
    }
    // Nothing is created through a link.
    if let Ok(to) = std::fs::read_link(&path) {
        return Err(PrepareError::DanglingLink { path: text(&path), to: text(&to) });
    }
    if assay_host::read_only_mount(&directory).is_some() {
        return Err(PrepareError::read_only_mount(&path, &directory, None));
    }
    match rustix::fs::accessat(CWD, &directory, Access::WRITE_OK | Access::EXEC_OK, AtFlags::EACCESS) {
        Err(Errno::ACCESS) => {
            Err(PrepareError::NoPermission { path: text(&path), directory: text(&directory) })
        }
        _ => Ok(()),
    }
}

/// Returns the owner state of the file, and its size, bytes.
fn state_of(
    context: &InspectContext<'_>,
    (path, real): (&Path, &Path),
    file: &File,
    writer: Option<&str>,
) -> Result<(FileState, u64), PrepareError> {
    let is_allowed = context.options.overwrite.iter().any(|given| real_path(Path::new(given)) == real);
    let length = file.metadata().map_err(io_error("look at", path))?.len();
    let why = match Mark::of(real, file).map_err(io_error("read the mark of", path))? {
        // Permission to overwrite a foreign file was given for one run only.
        Mark::Valid(marker) if marker.created => match used_since(path, file, &marker)? {
            None => return Ok((FileState::Ours(marker), length)),
            Some(_) if is_allowed => return Ok((FileState::Allowed, length)),
            Some(holds) => {
                check_used_since(text(path), writer, holds)?;
                return Ok((FileState::Foreign, length));
            }
        },
        mark => WhyForeign::of(&mark),
    };
    if is_allowed {
        return Ok((FileState::Allowed, length));
    }
    check_foreign_file(path, writer, why, length)?;
    if context.plan.verifies() && !carries_stamps(path, file, length)? {
        return Err(PrepareError::unfilled_file(text(path), &text(path)));
    }
    Ok((FileState::Foreign, length))
}

/// Returns the file, open for reading; `None` if it does not exist.
fn existing(path: &Path, real: &Path) -> Result<Option<File>, PrepareError> {
    match file::open(real, AccessMode::ReadOnly) {
        Ok(file) => Ok(Some(file)),
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(None),
        // A dangling link: nothing is created through it.
        Err(_) if real.is_symlink() => Ok(None),
        Err(source) => Err(PrepareError::Io { what: "open", path: text(path), source }),
    }
}

/// Locks the inspected file, through a descriptor that stays open to the end of the run.
fn hold(
    (path, real): (&Path, &Path),
    file: File,
    looked: Result<Fingerprint, PrepareError>,
    state: &FileState,
) -> Result<Held, PrepareError> {
    let (file, lock, looked) = match state {
        FileState::New | FileState::Foreign => (file, Lock::Shared, None),
        FileState::Ours(_) | FileState::Allowed => {
            let writable = writable(path, real, &file)?;
            let looked = looked?.opened_for_writing(&writable).map_err(io_error("look at", path))?;
            (writable, Lock::Exclusive, Some(looked))
        }
    };
    if !assay_claim::lock(&file, lock).map_err(io_error("lock", path))? {
        return Err(PrepareError::InUse { path: text(path) });
    }
    // Another run may have ended between the inspection and the lock.
    if let FileState::Ours(seen) = state
        && Marker::read(real, &file).map_err(io_error("read the mark of", path))?.as_ref() != Some(seen)
    {
        return Err(PrepareError::InUse { path: text(path) });
    }
    Held::of(path, real, file, looked)
}

/// Fails if another program has one of the files open for writing that --overwrite names: a virtual machine or a
/// database uses a file so. Assay's own file holds nobody's data. All processes are looked at once for all files.
pub(crate) fn check_writers<'i>(files: impl Iterator<Item = &'i InspectedFile>) -> Result<(), PrepareError> {
    let allowed: Vec<&InspectedFile> = files.filter(|file| file.state == FileState::Allowed).collect();
    let paths: Vec<&Path> = allowed.iter().map(|file| file.real.as_path()).collect();
    match assay_host::file_writer(&paths) {
        None => Ok(()),
        Some((index, user)) => Err(PrepareError::FileUsed {
            path: text(&allowed[index].path),
            user: format!("{user}; end that first"),
        }),
    }
}

/// Returns the same file, open for writing.
fn writable(path: &Path, real: &Path, file: &File) -> Result<File, PrepareError> {
    let writable = file::open(real, AccessMode::ReadWrite).map_err(io_error("open", path))?;
    Held::check_same(path, file, &writable)?;
    Ok(writable)
}

/// Returns the content of a file with Assay's mark that Assay did not write, in words.
pub(crate) fn used_since(path: &Path, file: &File, marker: &Marker) -> Result<Option<String>, PrepareError> {
    let look = FileLook::of(file).map_err(io_error("look at", path))?;
    let seals = content::required_seals(marker, look.modified_ns);
    let examination = Examination::local(look.length_bytes);
    let found = examination.of_marked_file(seals, Some(file), path, &mut *blank::reader(file));
    let found = found.map_err(|why| PrepareError::Probe { path: text(path), why })?;
    Ok(found.map(|found| content::foreign_words(marker, found)))
}

/// Fails for a file that is a device's disk, or swap: it must not change during that use, even if Assay created it.
fn check_users(path: &Path, state: &FileState) -> Result<(), PrepareError> {
    if matches!(state, FileState::New | FileState::Foreign) {
        return Ok(());
    }
    match assay_host::file_users(path).into_iter().next() {
        Some(user) => Err(PrepareError::FileUsed { path: text(path), user }),
        None => Ok(()),
    }
}

/// Returns true if a foreign file contains stamps: a changed file, or a copy, is worth checking; in any other file
/// every block would be wrong.
fn carries_stamps(path: &Path, file: &File, length: u64) -> Result<bool, PrepareError> {
    let units = length / UNIT_BYTES as u64;
    let mut unit = [0; UNIT_BYTES];
    for sample in 0..STAMP_SAMPLES.min(units) {
        let offset_bytes = units * sample / STAMP_SAMPLES.min(units) * UNIT_BYTES as u64;
        file.read_exact_at(&mut unit, offset_bytes).map_err(io_error("read", path))?;
        if has_stamp(&unit) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Fails if a plan verifies but the file lacks stamps and may not be filled.
pub(crate) fn check_stamps(
    context: &InspectContext<'_>,
    path: &Path,
    state: &FileState,
    span_bytes: u64,
) -> Result<(), PrepareError> {
    let is_stamped = match state {
        FileState::Foreign => true,
        FileState::Ours(marker) => content::is_stamped(marker) && marker.filled_bytes >= span_bytes,
        FileState::New | FileState::Allowed => false,
    };
    if context.plan.verifies() && context.options.fill == FillChoice::Never && !is_stamped {
        return Err(PrepareError::unfilled_by_choice(text(path)));
    }
    Ok(())
}

/// A file that opening creates or writes to.
pub(crate) struct Touched {
    path: PathBuf,
    real: PathBuf,
    /// Length before; `None` if it did not exist.
    length: Option<u64>,
    /// True if there was a mark file beside it.
    had_mark: bool,
}

/// Returns the clause about a file that opening has created.
fn was_created(name: &str) -> String {
    format!("{name} was created")
}

impl Touched {
    /// Whether it is the file at that path, as errors have it.
    pub(crate) fn is(&self, path: &str) -> bool {
        text(&self.path) == path
    }

    /// Returns, as a clause, what is left of it after opening failed.
    pub(crate) fn left(&self) -> Option<String> {
        let now = std::fs::symlink_metadata(&self.real).ok().map(|metadata| metadata.len());
        match (self.length, now) {
            (None, Some(_)) => Some(was_created(&text(&self.path))),
            (None, None) if assay_claim::mark_beside(&self.real).is_some() && !self.had_mark => {
                Some(format!("the mark file of {} was created", text(&self.path)))
            }
            (Some(before), Some(now)) if before != now => {
                Some(format!("{} was written to", text(&self.path)))
            }
            _ => None,
        }
    }
}

impl InspectedFile {
    /// Returns the change that opening makes; `None` if the file is only read.
    pub(crate) fn touched(&self) -> Option<Touched> {
        let length = match (&self.state, &self.held) {
            (FileState::Foreign, _) => return None,
            (_, Some(held)) => Some(held.file.metadata().ok()?.len()),
            // A dangling link: no file can be created in its place.
            (_, None) if std::fs::symlink_metadata(&self.real).is_ok() => return None,
            (_, None) => None,
        };
        let had_mark = assay_claim::mark_beside(&self.real).is_some();
        Some(Touched { path: self.path.clone(), real: self.real.clone(), length, had_mark })
    }

    /// Returns how `--overwrite` names it: by any path that leads to it.
    pub(crate) fn nameable(&self) -> Nameable<'_> {
        let (address, known_as) = (text(&self.path), text(&self.path));
        Nameable { address, known_as, answers_to: Box::new(|name| real_path(Path::new(name)) == self.real) }
    }

    /// Returns the space that it needs in its file system; `None` if it is only read.
    pub(crate) fn need(&self) -> Result<Option<Need>, PrepareError> {
        if self.state == FileState::Foreign {
            return Ok(None);
        }
        let directory = directory_of(&self.path);
        let looked =
            std::fs::metadata(&directory).map_err(io_error("look at the directory of", &self.path))?;
        let held_bytes = match &self.held {
            Some(held) => held.file.metadata().map_or(0, |m| m.blocks() * 512),
            None => 0,
        };
        Ok(Some(Need {
            place: looked.dev().to_string(),
            names: vec![text(&self.path)],
            filesystem: self.filesystem.clone(),
            span_bytes: self.span_bytes,
            held_bytes: held_bytes.min(self.span_bytes),
        }))
    }
}
