//! A file on a mounted file system, or the test file in a directory.

use std::fs::File;
use std::io;
use std::os::unix::fs::{FileExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

use assay_record::{Content, DeviceFacts, FilesystemFacts, MemberFacts, MemberKind, TargetFacts};
use assay_spec::Address;
use assay_target::file::{self, Lock, Marker, PathKind};
use assay_target::stamp::{UNIT_BYTES, has_stamp};
use assay_target::{AccessMode, Caching, FileIdentity, FileMember, Member};

use crate::blank::{self, Examination};
use crate::closed::{Closed, Removable};
use crate::content::{self, Fill, Holes};
use crate::context::{FillContext, InspectContext, OpenContext};
use crate::device::{block_bytes, member_facts, warn_cached_loops};
use crate::error::{PrepareError, io_error, text};
use crate::options::FillChoice;
use crate::path::{FILE_IN_DIRECTORY, directory_of, real_path};
use crate::permission::{Nameable, check_foreign_file, check_used_since};
use crate::placement::placement;
use crate::space::Need;
use crate::span::{self, FileState};

/// Places of a file that are searched for stamps.
const STAMP_SAMPLES: u64 = 64;
/// Least length of a file in which the smallest direct I/O can be found by reading, bytes.
const PROBE_BYTES: usize = 16 << 10;

/// A file that may be used.
pub(crate) struct InspectedFile {
    pub(crate) span_bytes: u64,
    path: PathBuf,
    address: String,
    state: FileState,
    filesystem: FilesystemFacts,
    device: Option<DeviceFacts>,
}

/// A file that is open and locked.
pub(crate) struct FileTarget {
    pub(crate) facts: TargetFacts,
    pub(crate) member: FileMember,
    /// Holds the lock.
    file: File,
    /// `None` for foreign files.
    marker: Option<Marker>,
}

fn kind_of(path: &Path) -> Result<PathKind, PrepareError> {
    file::kind_of(path).map_err(io_error("look at", path))
}

/// Looks at the file that `given` names, or at the test file in the directory that it names.
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
        return Err(PrepareError::NoDirectory { path: text(&path), directory: text(&directory) });
    }
    // A directory may hold an `assay.dat` that is no file at all.
    match kind_of(&path)? {
        PathKind::Missing | PathKind::File => {}
        PathKind::Other(what) => return Err(PrepareError::WrongKind { path: text(&path), what }),
        _ => return Err(PrepareError::WrongKind { path: text(&path), what: "not a file" }),
    }
    let (state, holds_bytes) = state_of(context, &path, writer)?;
    check_users(&path, &state)?;
    let span_bytes = span::of_file(context, &path, &state, holds_bytes)?;
    check_stamps(context, &path, &state, span_bytes)?;
    let filesystem =
        assay_host::filesystem_of(&directory).map_err(io_error("look at the file system of", &path))?;
    if state == FileState::New && filesystem.kind == "devtmpfs" {
        return Err(PrepareError::NoSuchDevice { path: text(&path) });
    }
    let device = assay_host::device_of(&directory).unwrap_or_default();
    Ok(InspectedFile { address: address.to_string(), path, state, span_bytes, filesystem, device })
}

/// Whose the file is, and how much it holds, bytes.
fn state_of(
    context: &InspectContext<'_>,
    path: &Path,
    writer: Option<&str>,
) -> Result<(FileState, u64), PrepareError> {
    let is_allowed =
        context.options.overwrite.iter().any(|given| real_path(Path::new(given)) == real_path(path));
    match existing(path)? {
        None => Ok((FileState::New, 0)),
        // Leave to overwrite a foreign file was given once, not for ever.
        Some((Some(marker), length)) if marker.created => match used_since(path, &marker, length)? {
            None => Ok((FileState::Ours(marker), length)),
            Some(_) if is_allowed => Ok((FileState::Allowed, length)),
            Some(holds) => {
                check_used_since(text(path), writer, holds)?;
                Ok((FileState::Foreign, length))
            }
        },
        Some((_, length)) if is_allowed => Ok((FileState::Allowed, length)),
        Some((_, length)) => {
            check_foreign_file(path, writer, length)?;
            if context.plan.verifies() && !carries_stamps(path, length)? {
                return Err(PrepareError::unfilled_file(text(path), &text(path)));
            }
            Ok((FileState::Foreign, length))
        }
    }
}

/// The marker (if the file is ours) and length of a file; `None` where there is no file.
fn existing(path: &Path) -> Result<Option<(Option<Marker>, u64)>, PrepareError> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(source) => return Err(PrepareError::Io { what: "open", path: text(path), source }),
    };
    let length = file.metadata().map_err(io_error("look at", path))?.len();
    let marker = Marker::read(path, &file).map_err(io_error("read the marker of", path))?;
    Ok(Some((marker, length)))
}

/// Returns what a file with Assay's mark holds that Assay did not write, in words.
pub(crate) fn used_since(path: &Path, marker: &Marker, length: u64) -> Result<Option<String>, PrepareError> {
    let file = File::open(path).map_err(io_error("open", path))?;
    let examination = Examination::local(length);
    let found =
        examination.of_marked_file(content::seals(marker), Some(&file), path, &mut *blank::reader(&file));
    found.map_err(|why| PrepareError::Probe { path: text(path), why })
}

/// A file that is some device's disk, or swap, must not change under its user; not even one that Assay made.
fn check_users(path: &Path, state: &FileState) -> Result<(), PrepareError> {
    if matches!(state, FileState::New | FileState::Foreign) {
        return Ok(());
    }
    match assay_host::file_users(path).into_iter().next() {
        Some(user) => Err(PrepareError::FileUsed { path: text(path), user }),
        None => Ok(()),
    }
}

/// Whether a file that is not ours was stamped once: one that was changed since, or a copy of one that was, is worth
/// checking; of any other file each single block would be wrong.
fn carries_stamps(path: &Path, length: u64) -> Result<bool, PrepareError> {
    let file = File::open(path).map_err(io_error("open", path))?;
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

/// A plan that verifies cannot use a file that lacks stamps and may not be filled.
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

impl InspectedFile {
    /// How `--overwrite` names it: by any path that leads to it.
    pub(crate) fn nameable(&self) -> Nameable<'_> {
        let real = real_path(&self.path);
        let (address, known_as) = (text(&self.path), text(&self.path));
        Nameable { address, known_as, answers_to: Box::new(move |name| real_path(Path::new(name)) == real) }
    }

    /// What it needs of its file system; `None` where it is only read.
    pub(crate) fn need(&self) -> Result<Option<Need>, PrepareError> {
        if self.state == FileState::Foreign {
            return Ok(None);
        }
        let directory = directory_of(&self.path);
        let looked =
            std::fs::metadata(&directory).map_err(io_error("look at the directory of", &self.path))?;
        let held_bytes = std::fs::metadata(&self.path).map_or(0, |m| m.blocks() * 512);
        Ok(Some(Need {
            place: looked.dev().to_string(),
            names: vec![text(&self.path)],
            filesystem: self.filesystem.clone(),
            span_bytes: self.span_bytes,
            held_bytes: held_bytes.min(self.span_bytes),
        }))
    }

    /// Creates or opens it, locks it and marks it.
    pub(crate) fn open(self, context: &mut OpenContext<'_>) -> Result<FileTarget, PrepareError> {
        let path = self.path.as_path();
        let is_new = self.state == FileState::New;
        let (file, marker) = self.take()?;
        if file.metadata().map_err(io_error("look at", path))?.len() < PROBE_BYTES as u64 && marker.is_some()
        {
            // Reads of holes, and behind the end of a file, succeed at any size: the probe needs something to read.
            let written = file.write_all_at(&[0x5A; PROBE_BYTES], 0).and_then(|()| file.sync_data());
            written.map_err(io_error("write to", path))?;
        }
        let block_bytes = match block_bytes(context, path) {
            Ok(block_bytes) => block_bytes,
            Err(error) => {
                if is_new {
                    // Made a moment ago only to find out; nothing is in it.
                    let _ = std::fs::remove_file(path);
                }
                return Err(error);
            }
        };
        let mut marker = marker;
        if let Some(marker) = &mut marker {
            marker.write(path, &file, true).map_err(io_error("mark", path))?;
        }
        warn_cached_loops(context, &self.address, self.device.as_ref());
        let length = file.metadata().map_err(io_error("look at", path))?.len();
        let member = FileMember {
            path: self.path.clone(),
            identity: FileIdentity::of(&file).ok(),
            access: if marker.is_some() { AccessMode::ReadWrite } else { AccessMode::ReadOnly },
            caching: context.options.caching,
            durability: context.options.durability,
            span_bytes: self.span_bytes,
            block_bytes,
        };
        let facts = MemberFacts {
            path: text(path),
            kind: MemberKind::File,
            capacity_bytes: length.max(self.span_bytes),
            engine: context.io.recorded(),
            filesystem: Some(self.filesystem),
            device: self.device,
            ..member_facts(context, self.span_bytes, block_bytes)
        };
        Ok(FileTarget { facts: TargetFacts { address: self.address, member: facts }, member, file, marker })
    }

    /// The file with its lock, and the mark that it is to have.
    fn take(&self) -> Result<(File, Option<Marker>), PrepareError> {
        let path = self.path.as_path();
        let (file, marker) = match &self.state {
            FileState::New => {
                (file::create(path).map_err(io_error("create", path))?, Some(Marker::new(true)))
            }
            FileState::Foreign => (File::open(path).map_err(io_error("open", path))?, None),
            FileState::Ours(marker) => (open_writable(path)?, Some(marker.clone())),
            FileState::Allowed => (open_writable(path)?, Some(Marker::new(false))),
        };
        let lock = if marker.is_none() { Lock::Shared } else { Lock::Exclusive };
        if !file::lock(&file, lock).map_err(io_error("lock", path))? {
            return Err(PrepareError::InUse { path: text(path) });
        }
        // Between the look and the lock another run may have ended, or somebody may have moved another file here.
        if let FileState::Ours(seen) = &self.state
            && Marker::read(path, &file).map_err(io_error("read the mark of", path))?.as_ref() != Some(seen)
        {
            return Err(PrepareError::InUse { path: text(path) });
        }
        Ok((file, marker))
    }
}

fn open_writable(path: &Path) -> Result<File, PrepareError> {
    File::options().read(true).write(true).open(path).map_err(io_error("open", path))
}

impl FileTarget {
    pub(crate) fn member(&self) -> Member {
        Member::File(self.member.clone())
    }

    /// Writes what is missing, and looks for what was never written.
    pub(crate) fn fill(&mut self, context: &mut FillContext<'_>) -> Result<(), PrepareError> {
        let path = self.member.path.clone();
        if let Some(mut marker) = self.marker.take() {
            let filled = self.fill_marked(&path, &mut marker, context);
            self.marker = Some(marker);
            self.facts.member.content = filled?;
        }
        let facts = &mut self.facts.member;
        let found = file::extents(&self.file, self.member.span_bytes).map_err(io_error("map", &path))?;
        facts.unwritten_bytes = found.map(|e| e.unwritten_bytes);
        facts.extents = found.map(|e| e.count);
        facts.placement = placement(facts, found.and_then(|e| e.placed));
        if self.member.caching == Caching::Cached {
            file::drop_cached_pages(&self.file).map_err(io_error("write back", &path))?;
        }
        Ok(())
    }

    fn fill_marked(
        &self,
        path: &Path,
        marker: &mut Marker,
        context: &mut FillContext<'_>,
    ) -> Result<Content, PrepareError> {
        let span_bytes = self.member.span_bytes;
        let length = self.file.metadata().map_err(io_error("look at", path))?.len();
        let filled_bytes = marker.filled_bytes.min(length).min(span_bytes);
        // Somebody may have cut it, or punched holes into it, since.
        let extents = file::extents(&self.file, filled_bytes).map_err(io_error("map", path))?;
        let holes = if extents.is_none_or(|e| e.unwritten_bytes == 0) { Holes::None } else { Holes::Some };
        let fill = content::needed(context.plan, marker, filled_bytes, holes);
        let content = match content::recorded(&fill, span_bytes) {
            Content::Prepared => self.write_missing(path, marker, &fill, context)?,
            content => content,
        };
        content::begin_run(marker, context.plan);
        marker.write(path, &self.file, true).map_err(io_error("mark", path))?;
        Ok(content)
    }

    fn write_missing(
        &self,
        path: &Path,
        marker: &mut Marker,
        fill: &Fill,
        context: &mut FillContext<'_>,
    ) -> Result<Content, PrepareError> {
        let span_bytes = self.member.span_bytes;
        file::allocate(&self.file, span_bytes).map_err(io_error("allocate space for", path))?;
        if context.options.fill == FillChoice::Never {
            return Ok(if marker.filled_bytes >= span_bytes { Content::Reused } else { Content::None });
        }
        content::begin_fill(marker, fill);
        marker.write(path, &self.file, true).map_err(io_error("mark", path))?;
        let filled = context.write(&self.member(), fill);
        marker.filled_bytes = filled.as_ref().map_or_else(|partial| partial.filled_bytes, |()| span_bytes);
        self.file.sync_data().map_err(io_error("flush", path))?;
        marker.write(path, &self.file, filled.is_ok()).map_err(io_error("mark", path))?;
        filled?;
        Ok(Content::Prepared)
    }

    /// Marks it as closed.
    pub(crate) fn close(&mut self, closed: &mut Closed) -> Result<(), PrepareError> {
        closed.removable.push(Removable::File(self.member.path.clone()));
        let Some(marker) = &mut self.marker else { return Ok(()) };
        marker.write(&self.member.path, &self.file, false).map_err(io_error("mark", &self.member.path))
    }

    /// Removes it if it was created and holds nothing.
    pub(crate) fn discard(self) {
        if self.marker.is_some_and(|marker| marker.created && marker.filled_bytes == 0) {
            let _ = file::remove(&self.member.path);
        }
    }
}
