//! Creates, marks and fills a local file, and leaves it in order.

use std::io::ErrorKind;
use std::os::unix::fs::FileExt as _;
use std::path::Path;

use assay_claim::expected::{Expected, changed, deleted};
use assay_claim::{END_BYTES, FileLook, HeadCheck, Lock, MarkBefore, Marker, WriteTimes};
use assay_record::{MemberFacts, MemberKind, TargetFacts};
use assay_target::file::{self, FileIdentity};
use assay_target::{AccessMode, Binding, Caching, FileMember, Member, OpenError};

use super::{InspectedFile, was_created};
use crate::closed::{Closed, Removable};
use crate::content::{self, Holes};
use crate::context::{FillContext, OpenContext};
use crate::device::{block_bytes, member_facts, warn_cached_loops};
use crate::error::{PrepareError, io_error, text};
use crate::held::{Held, fingerprint};
use crate::marked::{self, MarkedFile};
use crate::placement::placement;
use crate::span::{FileState, Making};
use assay_claim::FileClaim;
use assay_claim::blank::Seals;
use std::sync::Arc;

/// Smallest length of a file in which the smallest direct I/O can be found by reading, bytes.
const PROBE_BYTES: usize = 16 << 10;

/// A file that is open and locked.
pub(crate) struct FileTarget {
    pub(crate) facts: TargetFacts,
    pub(crate) member: FileMember,
    held: Held,
    /// `None` for foreign files.
    marker: Option<Marker>,
    making: Making,
    /// The previous mark of another user's file; `None` once that is filled.
    before: Option<MarkBefore>,
    expected: Expected,
}

impl InspectedFile {
    /// Fails if the file has changed since its inspection.
    pub(crate) fn confirm(&self) -> Result<(), PrepareError> {
        // A file that was created meanwhile is not opened.
        self.held.as_ref().map_or(Ok(()), Held::confirm)
    }

    /// Creates it if it does not exist, and marks it.
    pub(crate) fn open(mut self, context: &mut OpenContext<'_>) -> Result<FileTarget, PrepareError> {
        let path = self.path.as_path();
        let (mut held, making) = match self.held.take() {
            Some(held) => (held, Making::WasThere),
            None => (self.create()?, Making::New),
        };
        let mut marker = match &self.state {
            FileState::New => Some(Marker::new(true)),
            FileState::Ours(marker) => Some(marker.clone()),
            FileState::Allowed => Some(Marker::new(false)),
            FileState::Foreign => None,
        };
        let before = match &self.state {
            FileState::Allowed => Some(MarkBefore::note(&held.real, &held.file)),
            FileState::New | FileState::Ours(_) | FileState::Foreign => None,
        };
        let before = before.transpose().map_err(io_error("read the mark of", path))?;
        let opened = self.mark(&mut held, marker.as_mut(), context);
        let block_bytes = match opened {
            Ok(block_bytes) => block_bytes,
            Err(error) => {
                if making == Making::New {
                    // It was just created and is empty; the original error is reported.
                    let _ = assay_claim::discard(&held.real, &held.file);
                }
                return Err(error);
            }
        };
        warn_cached_loops(context, &self.address, self.device.as_ref());
        let length = held.file.metadata().map_err(io_error("look at", path))?.len();
        let run = marker.as_ref().map(|marker| marker.run.clone());
        let member = FileMember {
            path: self.path.clone(),
            binding: Some(Binding {
                real: held.real.clone(),
                identity: held.identity,
                guard: Some(Arc::new(FileClaim { run, head: HeadCheck::Nothing })),
            }),
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
        let facts = TargetFacts { address: self.address, member: facts };
        Ok(FileTarget { facts, member, held, marker, making, before, expected: Expected::AsHeld })
    }

    fn create(&self) -> Result<Held, PrepareError> {
        let path = self.path.as_path();
        let file = file::create(&self.real).map_err(|source| match source.kind() {
            ErrorKind::AlreadyExists => PrepareError::CreatedMeanwhile { path: text(path) },
            _ => io_error("create", path)(source),
        })?;
        let locked = assay_claim::lock(&file, Lock::Exclusive).map_err(io_error("lock", path));
        let failed = match locked {
            Ok(true) => {
                let looked = fingerprint(path, &file)?;
                return Held::of(path, &self.real, file, Some(looked));
            }
            Ok(false) => PrepareError::InUse { path: text(path) },
            Err(error) => error,
        };
        let _ = assay_claim::discard(&self.real, &file);
        Err(failed)
    }

    /// Marks it, and returns the smallest I/O that it accepts, bytes.
    fn mark(
        &self,
        held: &mut Held,
        marker: Option<&mut Marker>,
        context: &OpenContext<'_>,
    ) -> Result<u32, PrepareError> {
        let path = self.path.as_path();
        let length = held.file.metadata().map_err(io_error("look at", path))?.len();
        if length < PROBE_BYTES as u64 && marker.is_some() {
            // Reads of holes and beyond the end of a file succeed at any size, so the probe needs data to read.
            let written =
                held.file.write_all_at(&[0x5A; PROBE_BYTES], 0).and_then(|()| held.file.sync_data());
            written.map_err(io_error("write to", path))?;
        }
        let block_bytes = block_bytes(context, path)?;
        if let Some(marker) = marker {
            marker.begin_run(marked::open_for_s(context.plan, self.span_bytes, 0));
            marker.write(&held.real, &held.file, true).map_err(io_error("mark", path))?;
        }
        held.note()?;
        Ok(block_bytes)
    }
}

impl FileTarget {
    pub(crate) fn member(&self) -> Member {
        Member::File(self.member.clone())
    }

    /// Writes the missing data, and searches for unwritten parts.
    pub(crate) fn fill(&mut self, context: &mut FillContext<'_>) -> Result<(), PrepareError> {
        let path = self.member.path.clone();
        self.confirm()?;
        if let Some(mut marker) = self.marker.take() {
            (self.before, self.expected) = (None, Expected::Anything);
            let filled = marked::fill(self, &mut marker, context);
            let noted = filled.is_ok().then(|| self.note_filled(&marker));
            self.marker = Some(marker);
            self.facts.member.content = filled?;
            if let Some(Err(error)) = noted {
                self.disown();
                return Err(error);
            }
        }
        let facts = &mut self.facts.member;
        let found = file::extents(&self.held.file, self.member.span_bytes).map_err(io_error("map", &path))?;
        facts.unwritten_bytes = found.map(|e| e.unwritten_bytes);
        facts.extents = found.and_then(|e| e.placed).map(|placed| placed.pieces);
        facts.placement = placement(facts, found.and_then(|e| e.placed));
        if self.member.caching == Caching::Cached {
            file::drop_cached_pages(&self.held.file).map_err(io_error("write back", &path))?;
        }
        Ok(())
    }

    /// Notes the state that the fill has left, and what workers must find at its start.
    fn note_filled(&mut self, marker: &Marker) -> Result<(), PrepareError> {
        let look = self.look()?;
        let times = WriteTimes::of(&self.held.file);
        let is_dated = times == WriteTimes::Late || look.modified_ns == marker.modified_ns;
        if look.length_bytes != marker.length_bytes || !is_dated {
            let (target, what) = (text(self.path()), "its size or modification time".to_owned());
            return Err(OpenError::Changed { target, what }.into());
        }
        self.held.note()?;
        self.expected = Expected::of(&look, times);
        let has_head = marker.filled_bytes >= END_BYTES.min(self.member.span_bytes);
        if let (Some(binding), Caching::Direct, true) =
            (&mut self.member.binding, self.member.caching, has_head)
            && content::seals(marker) == Seals::All
        {
            // Through the page cache a write may be shorter than the recognisable unit.
            let claim = FileClaim { run: Some(marker.run.clone()), head: HeadCheck::OwnData };
            binding.guard = Some(Arc::new(claim));
        }
        Ok(())
    }

    /// Fails if another program has changed the file since this run opened or filled it; its mark is void then.
    pub(crate) fn confirm(&mut self) -> Result<(), PrepareError> {
        let confirmed = self.held.confirm();
        if confirmed.is_err() {
            self.disown();
        }
        confirmed
    }

    /// Notes that a step begins to write to it. Fails if another program has changed it.
    pub(crate) fn writing_begins(&mut self) -> Result<(), OpenError> {
        // A file that cannot be examined fails where a worker opens it.
        if let Ok(look) = self.look() {
            self.expected = self.expected.written(&look);
        }
        match self.expected {
            Expected::Changed(difference) => Err(OpenError::ChangedBetween {
                target: text(self.path()),
                what: difference.property().to_owned(),
            }),
            _ => Ok(()),
        }
    }

    /// Notes that a step has written to it, and that nothing is in flight.
    pub(crate) fn writing_ended(&mut self) {
        if let Ok(look) = self.look() {
            self.expected = self.expected.left(&look, WriteTimes::of(&self.held.file));
        }
    }

    fn look(&self) -> Result<FileLook, PrepareError> {
        FileLook::of(&self.held.file).map_err(io_error("look at", self.path()))
    }

    fn path(&self) -> &Path {
        &self.member.path
    }

    /// Marks it as closed, unless another program has changed it: the mark would claim what that wrote.
    pub(crate) fn close(&mut self, closed: &mut Closed) -> Result<(), PrepareError> {
        let Held { real, identity, .. } = &self.held;
        let path = self.member.path.clone();
        closed.removable.push(Removable::File {
            path: path.clone(),
            real: real.clone(),
            identity: *identity,
        });
        // Where the name cannot be looked up, nothing is known of it.
        let is_elsewhere = match FileIdentity::of_name(real) {
            Ok(now) => now != *identity,
            Err(error) => error.kind() == ErrorKind::NotFound,
        };
        if is_elsewhere {
            closed.warnings.push(deleted(&text(&path)));
            self.disown();
            return Ok(());
        }
        if self.marker.is_none() {
            return Ok(());
        }
        let change = match self.expected {
            Expected::AsHeld => self.held.confirm().is_err().then_some("since it was opened"),
            expected => expected.difference(&self.look()?).map(|what| what.words()),
        };
        if let Some(what) = change {
            closed.warnings.push(changed(&text(&path), what));
            self.disown();
            return Ok(());
        }
        let Some(marker) = &mut self.marker else { return Ok(()) };
        marker.write(&self.held.real, &self.held.file, false).map_err(io_error("mark", &path))
    }

    /// Gives up a file that another program has changed. The mark of another user's file is put back by `discard`.
    fn disown(&mut self) {
        if let (Some(mut marker), None) = (self.marker.take(), &self.before) {
            // If it cannot be written, the open mark is void once the time of this run is over.
            let _ = marker.write_void(&self.held.real, &self.held.file);
        }
    }

    /// Removes it if this run created it and it is empty; restores the mark of another user's file that was not
    /// written. Returns what is left of the changes of opening it, as a clause.
    pub(crate) fn discard(self) -> Option<String> {
        let (Held { real, file, .. }, name) = (&self.held, text(&self.member.path));
        let is_empty = self.marker.is_some_and(|marker| marker.created && marker.filled_bytes == 0);
        match (self.making, self.before) {
            (Making::New, _) if is_empty => {
                assay_claim::discard(real, file).err().map(|_| was_created(&name))
            }
            (Making::New, _) => Some(was_created(&name)),
            (Making::WasThere, Some(before)) => {
                before.put_back(real, file).err().map(|_| format!("the mark of {name} was changed"))
            }
            (Making::WasThere, None) => None,
        }
    }
}

impl MarkedFile for FileTarget {
    fn member(&self) -> Member {
        self.member()
    }

    fn length_bytes(&self) -> Result<u64, PrepareError> {
        Ok(self.held.file.metadata().map_err(io_error("look at", self.path()))?.len())
    }

    /// Returns the state of the filled region, which another program may have truncated or punched holes into.
    fn holes(&self, filled_bytes: u64) -> Result<Holes, PrepareError> {
        let extents = file::extents(&self.held.file, filled_bytes).map_err(io_error("map", self.path()))?;
        Ok(if extents.is_none_or(|e| e.unwritten_bytes == 0) { Holes::None } else { Holes::Some })
    }

    fn reserve(&self) -> Result<(), PrepareError> {
        let reserved = file::allocate(&self.held.file, self.member.span_bytes);
        reserved.map_err(io_error("allocate space for", self.path()))
    }

    fn lengthen(&self, _context: &mut FillContext<'_>) -> Result<(), PrepareError> {
        self.reserve()
    }

    fn flush(&self) -> Result<(), PrepareError> {
        self.held.file.sync_data().map_err(io_error("flush", self.path()))
    }

    fn timeout_s(&self) -> u32 {
        0
    }

    fn mark(&self, marker: &mut Marker) -> Result<(), PrepareError> {
        marker.write(&self.held.real, &self.held.file, true).map_err(io_error("mark", self.path()))
    }
}
