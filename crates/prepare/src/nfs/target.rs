//! Creates, marks and fills a file on an NFS server like a local one, and leaves it in order.

use std::fs::File;

use assay_claim::expected::{Expected, changed};
use assay_claim::nfs::{self, Attributes};
use assay_claim::{FileLook, Lock, Marker, Removal};
use assay_record::{Content, TargetFacts, Warning};
use assay_spec::units::Bytes;
use assay_target::nfs::NfsMember;
use assay_target::{AccessMode, Member, OpenError};

use super::inspect::{InspectedNfs, OwnReadOnly, call_bytes, facts, is_whole};
use crate::closed::{Closed, KeptFile, Removable};
use crate::content::Holes;
use crate::context::{FillContext, OpenContext};
use crate::error::PrepareError;
use crate::marked::{self, MarkedFile};
use crate::span::{FileState, Making};

/// A file that is open for the run: NFS has no open, so its lock and its mark take that role.
pub(crate) struct NfsTarget {
    pub(crate) facts: TargetFacts,
    member: NfsMember,
    /// Locks against other runs on this machine.
    locks: Vec<File>,
    /// `None` for files that are only read.
    marker: Option<Marker>,
    /// Attributes when it was opened.
    looked: Attributes,
    whose: Whose,
    making: Making,
    before: Option<MarkBefore>,
    expected: Expected,
    /// True once its mark says so.
    is_closed: bool,
}

/// The previous mark of another user's file, until that is filled; inside, `None` if it had none.
type MarkBefore = Option<Vec<u8>>;

/// Owner of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Whose {
    /// It carries our mark, and may be written.
    Ours,
    /// It carries our mark, and the server lets us only read it.
    OursReadOnly,
    /// A foreign file.
    Foreign,
}

impl InspectedNfs {
    /// Fails if another run uses the file, or it has changed since its inspection. Others may write to a file that is
    /// only read.
    pub(crate) fn confirm(&mut self) -> Result<(), PrepareError> {
        let mark_id = self.place.mark_id().map(str::to_owned);
        let lock = if self.state == FileState::Foreign { Lock::Shared } else { Lock::Exclusive };
        // The final lock is taken with the mark that the file will get.
        if matches!(self.place.hold(lock, mark_id.as_deref()), Ok(None)) {
            return Err(PrepareError::InUse { path: self.place.address.to_string() });
        }
        let looked = self.place.file.map(|file| file.attributes).filter(|_| self.state != FileState::Foreign);
        Ok(self.place.confirm(looked.as_ref())?)
    }

    /// Creates it if it does not exist, locks it and marks it.
    pub(crate) fn open(mut self, context: &mut OpenContext<'_>) -> Result<NfsTarget, PrepareError> {
        let making = if self.state == FileState::New { Making::New } else { Making::WasThere };
        if making == Making::New {
            self.create(context).map_err(|error| self.undone(error))?;
        }
        let is_allowed = self.state == FileState::Allowed;
        let before = is_allowed.then(|| self.place.mark_before()).transpose()?;
        let mut marker = self.new_mark(context);
        if let Some(own) = &self.own {
            context.warnings.push(own_read_only(&self.address, own));
        }
        let opened = self.lock(marker.as_ref(), context).and_then(|locks| {
            marker.as_mut().map_or(Ok(()), |marker| self.place.mark(marker, true))?;
            Ok(locks)
        });
        let locks = match opened {
            Ok(locks) => locks,
            Err(error) if making == Making::New => return Err(self.undone(error)),
            Err(source) if is_silence(&source) && marker.is_some() => {
                let left = format!("the mark of {} may have been written", self.place.address);
                return Err(PrepareError::NotUndone { left, source: Box::new(source) });
            }
            Err(error) => return Err(error),
        };
        if let Some(marker) = &marker {
            context.nfs_marks.push((marker.id.clone(), self.address.clone()));
        }
        Ok(self.opened(locks, marker, (making, before)))
    }

    fn opened(
        self,
        locks: Vec<File>,
        marker: Option<Marker>,
        (making, before): (Making, Option<MarkBefore>),
    ) -> NfsTarget {
        let Self { address, place, own, span_bytes, durability, route, .. } = self;
        let file = place.file.expect("it was there, or was made above");
        let member = NfsMember {
            mark_id: marker.as_ref().map(|marker| marker.id.clone()),
            server: place.server_address(),
            mount_port: place.mount_port(),
            handle: file.handle,
            credentials: place.credentials.clone(),
            access: if marker.is_some() { AccessMode::ReadWrite } else { AccessMode::ReadOnly },
            durability,
            span_bytes,
            read_bytes_max: call_bytes(place.limits.read_max),
            write_bytes_max: call_bytes(place.limits.write_max),
            moved: Vec::new(),
            address: place.address.clone(),
        };
        let whose = match (&marker, own) {
            (Some(_), _) => Whose::Ours,
            (None, Some(_)) => Whose::OursReadOnly,
            (None, None) => Whose::Foreign,
        };
        let looked = file.attributes;
        let facts = TargetFacts { address, member: facts(&place, span_bytes, route, durability) };
        let (expected, is_closed) = (Expected::AsHeld, false);
        NfsTarget { facts, member, locks, marker, looked, whose, making, before, expected, is_closed }
    }

    /// Returns the mark that the file will get; `None` if it is only read.
    fn new_mark(&self, context: &mut OpenContext<'_>) -> Option<Marker> {
        let mut marker = match &self.state {
            FileState::New => Marker::new(true),
            FileState::Ours(marker) => marker.clone(),
            FileState::Allowed => Marker::new(false),
            FileState::Foreign => return None,
        };
        if let Some(id) = self.place.mark_id() {
            // Another holder of the file holds it by its present mark.
            id.clone_into(&mut marker.id);
        }
        if self.state != FileState::New && marker.is_open && context.plan.verifies() {
            context.warnings.push(killed_before(&self.address));
        }
        let timeout_s = self.place.address.timeout_s;
        marker.begin_run(marked::open_for_s(context.plan, self.span_bytes, timeout_s));
        Some(marker)
    }

    /// Creates the file. Two targets that are the same file can only be distinguished once it exists.
    fn create(&mut self, context: &OpenContext<'_>) -> Result<(), PrepareError> {
        if let Some(Some(id)) = self.place.appeared()?
            && let Some((_, earlier)) = context.nfs_marks.iter().find(|(known, _)| *known == id)
        {
            return Err(PrepareError::SameTwice(earlier.clone(), self.address.clone()));
        }
        Ok(self.place.create()?)
    }

    /// Removes what was created before an error, and returns the error, with what is left. A server that is silent is
    /// not asked again.
    fn undone(&mut self, error: PrepareError) -> PrepareError {
        let address = &self.place.address;
        let left = match is_silence(&error) {
            true => format!("{address} may have been created"),
            false => match self.place.discard() {
                Ok(()) => return error,
                Err(_) => format!("{} was created", self.place.address),
            },
        };
        PrepareError::NotUndone { left, source: Box::new(error) }
    }

    fn lock(
        &mut self,
        marker: Option<&Marker>,
        context: &mut OpenContext<'_>,
    ) -> Result<Vec<File>, PrepareError> {
        let name = self.place.address.to_string();
        let lock = if marker.is_some() { Lock::Exclusive } else { Lock::Shared };
        // A file that is only read may be written by another run.
        let mark_id = marker.map_or(self.place.mark_id(), |marker| Some(&*marker.id)).map(str::to_owned);
        match self.place.hold(lock, mark_id.as_deref()) {
            Ok(Some(locks)) => Ok(locks),
            Ok(None) => Err(PrepareError::InUse { path: name }),
            Err(error) => {
                context.warn_unlocked(&name, &error);
                Ok(Vec::new())
            }
        }
    }
}

impl NfsTarget {
    pub(crate) fn member(&self) -> Member {
        Member::Nfs(Box::new(self.member.clone()))
    }

    /// Writes the missing data; NFSv3 does not report holes, only the allocated space of a file.
    pub(crate) fn fill(&mut self, context: &mut FillContext<'_>) -> Result<(), PrepareError> {
        self.confirm()?;
        match self.marker.take() {
            None => {
                if self.whose == Whose::OursReadOnly {
                    self.facts.member.content = Content::Reused;
                }
                self.warn_holes(context);
                Ok(())
            }
            Some(mut marker) => {
                let filled = self.fill_marked(&mut marker, context);
                self.marker = Some(marker);
                self.facts.member.content = filled?;
                Ok(())
            }
        }
    }

    fn fill_marked(
        &mut self,
        marker: &mut Marker,
        context: &mut FillContext<'_>,
    ) -> Result<Content, PrepareError> {
        (self.before, self.expected) = (None, Expected::Anything);
        let content = marked::fill(self, marker, context)?;
        self.member.moved = std::mem::take(&mut context.moved);
        let Marker { length_bytes, modified_ns, .. } = *marker;
        self.expected = Expected::Look { length_bytes, modified_ns, changed_ns: None };
        Ok(content)
    }

    /// Fails if another client has changed the file since this run opened or filled it; its mark is void then.
    pub(crate) fn confirm(&mut self) -> Result<(), PrepareError> {
        let Some(marker) = &self.marker else { return Ok(()) };
        let confirmed = match self.expected {
            Expected::AsHeld => nfs::confirm(&self.member, &self.looked, &marker.run),
            _ => nfs::confirm_marked(&self.member, marker),
        };
        if let Err(OpenError::Changed { .. } | OpenError::NfsElsewhere { .. }) = confirmed {
            self.disown();
        }
        Ok(confirmed?)
    }

    /// Gives up a file that another client has changed. The mark of another user's file is put back by `discard`.
    fn disown(&mut self) {
        if let (Some(_), None) = (self.marker.take(), &self.before) {
            // If it cannot be written, the open mark is void once the time of this run is over.
            let _ = nfs::void(&self.member, &self.looked);
        }
    }

    /// Notes that a step begins to write to it.
    pub(crate) fn writing_begins(&mut self) {
        if let Expected::Look { length_bytes, .. } = self.expected {
            self.expected = Expected::Length(length_bytes);
        }
    }

    fn warn_holes(&self, context: &mut FillContext<'_>) {
        let (facts, used_bytes) = (&self.facts.member, self.looked.used_bytes);
        if is_whole(used_bytes, facts.capacity_bytes) {
            return;
        }
        context.warnings.push(Warning {
            rule: "unknown-content".into(),
            says: format!(
                "{} ({}) takes only {} on the server: it has holes or is compressed, and the server answers \
                 reads of such parts without touching its disks.",
                facts.path,
                Bytes(facts.capacity_bytes),
                Bytes(used_bytes)
            ),
            next: match self.whose {
                Whose::Ours => "Leave out --no-fill.",
                _ => "Give a new name, so that Assay creates its own file.",
            }
            .into(),
        });
    }

    /// Marks it as closed. If the server cannot be reached, the mark is in the same state as after a killed run, and
    /// the file is still ours. If its name leads to another file by now, nothing is marked.
    pub(crate) fn close(&mut self, closed: &mut Closed) {
        let unclosed = self.close_mark(closed);
        self.is_closed = unclosed.is_none() || self.marker.is_none();
        let why = match unclosed {
            None => return closed.removable.push(Removable::Nfs(Box::new(self.member.clone()))),
            Some(why) => why.to_owned(),
        };
        closed.kept.push(KeptFile { name: self.member.address.to_string(), why });
    }

    /// Returns why the file cannot be removed; `None` where it can.
    fn close_mark(&mut self, closed: &mut Closed) -> Option<&'static str> {
        const SILENT: &str = "the server did not answer after the run";
        let Some(marker) = &mut self.marker else {
            return Some(match self.whose {
                Whose::OursReadOnly => "the server allows only reads from it",
                Whose::Ours | Whose::Foreign => "Assay did not create it",
            });
        };
        if closed.silent.contains(&self.member.server) {
            closed.warnings.push(unmarked(&self.member.address.to_string()));
            return Some(SILENT);
        }
        let (expected, looked) = (self.expected, self.looked);
        let differ = |now: &FileLook| match expected {
            Expected::AsHeld => Expected::of_attributes(&looked).difference(now),
            expected => expected.difference(now),
        };
        match nfs::mark_closed(&self.member, marker, differ) {
            Ok(None) => None,
            Ok(Some(difference)) => {
                let name = self.member.address.to_string();
                closed.warnings.push(changed(&name, difference.words()));
                Some("another program has changed it")
            }
            Err(error @ OpenError::NfsElsewhere { .. }) => {
                closed.warnings.push(replaced(&error));
                None
            }
            Err(error @ OpenError::NfsSilent { .. }) => {
                closed.silent.push(self.member.server);
                closed.warnings.push(unmarked(&error.to_string()));
                Some(SILENT)
            }
            Err(error) => {
                closed.warnings.push(unmarked(&error.to_string()));
                Some("its mark could not be closed")
            }
        }
    }

    /// Removes it if this run created it and it is empty; restores the mark of another user's file that was not
    /// written. Returns what is left of the changes of opening it, as a clause.
    pub(crate) fn discard(self) -> Option<String> {
        // The removal takes the lock itself.
        drop(self.locks);
        let address = self.member.address.to_string();
        let is_empty = self.marker.is_some_and(|marker| marker.created && marker.filled_bytes == 0);
        match (self.making, self.before) {
            (Making::New, _) if is_empty => match nfs::remove(&self.member) {
                Ok(Removal::Removed | Removal::Elsewhere) => None,
                Ok(Removal::NotOurs | Removal::InUse) | Err(_) => Some(format!("{address} was created")),
            },
            (Making::New, _) => Some(format!("{address} was created")),
            (Making::WasThere, Some(before)) => nfs::put_back(&self.member, before)
                .err()
                .map(|_| format!("the mark of {address} was changed")),
            (Making::WasThere, None) => {
                (!self.is_closed).then(|| format!("the mark of {address} was changed"))
            }
        }
    }
}

/// Returns true if a server did not answer.
fn is_silence(error: &PrepareError) -> bool {
    matches!(error, PrepareError::Open(OpenError::NfsSilent { .. }))
}

fn own_read_only(address: &str, own: &OwnReadOnly) -> Warning {
    Warning {
        rule: "own-file-read-only".into(),
        says: format!(
            "{address} was created by Assay, but this run can only read it, so it is neither marked nor filled: {}.",
            own.why
        ),
        next: String::new(),
    }
}

/// A server keeps uncommitted data in memory and supports no reservations: the space is checked beforehand. Only the
/// length is set before a fill, so that the mark of a fill that is killed still describes its file.
impl MarkedFile for NfsTarget {
    fn member(&self) -> Member {
        self.member()
    }

    fn length_bytes(&self) -> Result<u64, PrepareError> {
        Ok(self.looked.size_bytes)
    }

    fn holes(&self, filled_bytes: u64) -> Result<Holes, PrepareError> {
        Ok(if is_whole(self.looked.used_bytes, filled_bytes) { Holes::None } else { Holes::Some })
    }

    fn reserve(&self) -> Result<(), PrepareError> {
        if self.looked.size_bytes < self.member.span_bytes {
            nfs::lengthen(&self.member, self.member.span_bytes)?;
        }
        Ok(())
    }

    fn lengthen(&self, context: &mut FillContext<'_>) -> Result<(), PrepareError> {
        self.reserve()?;
        self.warn_holes(context);
        Ok(())
    }

    /// Does nothing, because the fill itself ends with a COMMIT.
    fn flush(&self) -> Result<(), PrepareError> {
        Ok(())
    }

    fn timeout_s(&self) -> u32 {
        self.member.address.timeout_s
    }

    fn mark(&self, marker: &mut Marker) -> Result<(), PrepareError> {
        Ok(nfs::mark(&self.member, marker, true)?)
    }
}

/// Returns the warning about a file whose last run did not close it.
fn killed_before(address: &str) -> Warning {
    Warning {
        rule: "killed-before".into(),
        says: format!(
            "The last run on {address} was killed, or its end could not be marked: a write of that run may be cut off \
             or lost, so a wrong block found now may date from then."
        ),
        next: "To rule that out, use a new file (--remove, or another name).".into(),
    }
}

fn replaced(error: &OpenError) -> Warning {
    Warning {
        rule: "file-replaced".into(),
        says: format!("{error}."),
        next: "Find out which program on the server moves files during a measurement. Assay neither wrote to nor \
               marked the file that has the name now."
            .into(),
    }
}

fn unmarked(what: &str) -> Warning {
    Warning {
        rule: "unmarked".into(),
        says: format!("{what}. After the run its mark could not be closed, as if the run had been killed."),
        next: "The file is still Assay's own; to remove it, run on it again with --remove.".into(),
    }
}
