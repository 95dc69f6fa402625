//! Creates, marks and fills a local file, and leaves it in order.

use std::os::unix::fs::FileExt as _;
use std::path::Path;

use assay_record::{MemberFacts, MemberKind, TargetFacts};
use assay_target::file::{self, Lock, MarkBefore, Marker};
use assay_target::{AccessMode, Binding, Caching, FileMember, HeadCheck, Member};

use super::InspectedFile;
use crate::closed::{Closed, Removable};
use crate::content::Holes;
use crate::context::{FillContext, OpenContext};
use crate::device::{block_bytes, member_facts, warn_cached_loops};
use crate::error::{PrepareError, io_error, text};
use crate::held::{Held, fingerprint};
use crate::marked::{self, MarkedFile};
use crate::placement::placement;
use crate::span::{FileState, Making};

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
    /// The mark of somebody else's file as it was; `None` from the moment on when that is filled.
    before: Option<MarkBefore>,
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
                    let _ = file::discard(&held.real, &held.file);
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
                run,
                head: HeadCheck::Nothing,
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
        Ok(FileTarget { facts, member, held, marker, making, before })
    }

    fn create(&self) -> Result<Held, PrepareError> {
        let path = self.path.as_path();
        let file = file::create(&self.real).map_err(io_error("create", path))?;
        let locked = file::lock(&file, Lock::Exclusive).map_err(io_error("lock", path));
        let failed = match locked {
            Ok(true) => {
                let looked = fingerprint(path, &file)?;
                return Held::of(path, &self.real, file, Some(looked));
            }
            Ok(false) => PrepareError::InUse { path: text(path) },
            Err(error) => error,
        };
        let _ = file::discard(&self.real, &file);
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
        if let Some(mut marker) = self.marker.take() {
            let filled = self.held.confirm().and_then(|()| {
                self.before = None;
                marked::fill(self, &mut marker, context)
            });
            self.marker = Some(marker);
            self.facts.member.content = filled?;
        }
        let facts = &mut self.facts.member;
        let found = file::extents(&self.held.file, self.member.span_bytes).map_err(io_error("map", &path))?;
        facts.unwritten_bytes = found.map(|e| e.unwritten_bytes);
        facts.extents = found.map(|e| e.count);
        facts.placement = placement(facts, found.and_then(|e| e.placed));
        if self.member.caching == Caching::Cached {
            file::drop_cached_pages(&self.held.file).map_err(io_error("write back", &path))?;
        }
        Ok(())
    }

    fn path(&self) -> &Path {
        &self.member.path
    }

    /// Marks it as closed.
    pub(crate) fn close(&mut self, closed: &mut Closed) -> Result<(), PrepareError> {
        let Held { real, identity, .. } = &self.held;
        let path = self.member.path.clone();
        closed.removable.push(Removable::File {
            path: path.clone(),
            real: real.clone(),
            identity: *identity,
        });
        let Some(marker) = &mut self.marker else { return Ok(()) };
        marker.write(real, &self.held.file, false).map_err(io_error("mark", &path))
    }

    /// Removes it if this run created it and it holds nothing, and takes the mark from somebody else's that was not
    /// written.
    pub(crate) fn discard(self) {
        let Held { real, file, .. } = &self.held;
        let is_empty = self.marker.is_some_and(|marker| marker.created && marker.filled_bytes == 0);
        let _ = match (self.making, self.before) {
            (Making::New, _) if is_empty => file::discard(real, file),
            (_, Some(before)) => before.put_back(real, file),
            _ => Ok(()),
        };
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
