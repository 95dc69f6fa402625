//! TargetBuilder, marking and filling a file on an NFS server like a local one, and leaving it as it should be found.

use std::fs::File;
use std::net::SocketAddr;

use assay_record::{Content, MemberFacts, Warning};
use assay_spec::units::Bytes;
use assay_spec::{Plan, Step};
use assay_target::file::{Lock, Marker};
use assay_target::nfs::{self, NfsLocation, NfsMember};
use assay_target::{AccessMode, Member, OpenError};

use super::Prepared;
use super::error::PrepareError;
use super::files::FileState;
use super::make::{OpenTarget, TargetBuilder, TargetFiller};
use super::nfs::{Kept, NfsPlan, call_bytes, facts, is_whole};

/// Remembers what to write down when the run is over.
pub(super) struct NfsHold {
    /// Keep other runs on this machine away.
    _locks: Vec<File>,
    /// `None` for foreign files.
    marker: Option<Marker>,
    used_bytes: u64,
    size_bytes: u64,
    /// It is ours, and only read.
    is_kept: bool,
}

/// How a file was left.
pub(super) enum NfsClosed {
    Marked,
    /// It is somebody else's, and carries no mark.
    NotOurs,
    /// It is ours, and was only read.
    Kept,
    /// Its name leads to another file.
    Elsewhere(Warning),
    /// The server did not answer.
    Silent(Warning),
    /// The mark could not be closed, for another reason.
    Unmarked(Warning),
}

impl TargetBuilder<'_> {
    pub(super) fn open_nfs(&mut self, plan: NfsPlan) -> Result<OpenTarget, PrepareError> {
        let NfsPlan { address, mut place, state, kept, span_bytes, durability, seen, .. } = plan;
        let is_new = state == FileState::New;
        let (access, lock) = match state {
            FileState::Foreign => (AccessMode::ReadOnly, Lock::Shared),
            _ => (AccessMode::ReadWrite, Lock::Exclusive),
        };
        if is_new {
            self.create_nfs(&address, &mut place)?;
        }
        let mut marker = match state {
            FileState::New => Some(Marker::new(true)),
            FileState::Ours(marker) => Some(marker),
            FileState::Allowed => Some(Marker::new(false)),
            FileState::Foreign => None,
        };
        if let Some(marker) = &mut marker {
            if let Some(id) = place.mark_id() {
                // Whoever else holds the file holds it by the mark that is there.
                id.clone_into(&mut marker.id);
            }
            marker.ensure_id();
            if !is_new && marker.is_open {
                self.warn_killed(&address);
            }
            marker.open_for_s = open_for_s(self.plan, span_bytes, place.address.timeout_s);
        }
        if let Some(kept) = &kept {
            self.warnings.push(only_read_words(&address, kept));
        }
        let opened = self.hold_nfs(&mut place, lock, marker.as_ref()).and_then(|locks| {
            marker.as_mut().map_or(Ok(()), |marker| place.mark(marker, true))?;
            Ok(locks)
        });
        let locks = match opened {
            Ok(locks) => locks,
            Err(error) => {
                if is_new {
                    place.discard();
                }
                return Err(error);
            }
        };
        if let Some(marker) = &marker {
            self.nfs_marks.push((marker.id.clone(), address.clone()));
        }
        let file = place.file.expect("it was there, or was made above");
        let member = NfsMember {
            mark_id: marker.as_ref().map(|marker| marker.id.clone()),
            server: place.server_address(),
            mount_port: place.mount_port(),
            handle: file.handle,
            credentials: place.credentials.clone(),
            access,
            durability,
            span_bytes,
            read_bytes_max: call_bytes(place.limits.read_max),
            write_bytes_max: call_bytes(place.limits.write_max),
            address: place.address.clone(),
        };
        let facts = facts(&place, span_bytes, seen, durability);
        let (used_bytes, size_bytes) = (file.attributes.used_bytes, file.attributes.size_bytes);
        let hold = NfsHold { _locks: locks, marker, used_bytes, size_bytes, is_kept: kept.is_some() };
        Ok(OpenTarget::new(address, facts, Prepared::Nfs { member: Box::new(member), hold }))
    }

    /// Of two targets that are one file nobody could tell before the first of them is there.
    fn create_nfs(&self, address: &str, place: &mut NfsLocation) -> Result<(), PrepareError> {
        if let Some(Some(id)) = place.appeared()?
            && let Some((_, earlier)) = self.nfs_marks.iter().find(|(known, _)| *known == id)
        {
            return Err(PrepareError::SameTwice(earlier.clone(), address.to_owned()));
        }
        Ok(place.create()?)
    }

    fn hold_nfs(
        &mut self,
        place: &mut NfsLocation,
        lock: Lock,
        marker: Option<&Marker>,
    ) -> Result<Vec<File>, PrepareError> {
        let name = place.address.to_string();
        // One that is only read may be another run's to write.
        let mark_id = marker.map_or(place.mark_id(), |marker| Some(&*marker.id)).map(str::to_owned);
        match place.hold(lock, mark_id.as_deref()) {
            Ok(Some(locks)) => Ok(locks),
            Ok(None) => Err(PrepareError::InUse { path: name }),
            Err(error) => {
                self.warnings.push(super::make::unlocked(&name, &error));
                Ok(Vec::new())
            }
        }
    }

    /// Of a file whose last run never said that it was over.
    fn warn_killed(&mut self, address: &str) {
        if !self.plan.verifies() {
            return;
        }
        self.warnings.push(Warning {
            rule: "killed-before".into(),
            says: format!(
                "The last run on {address} was killed, or its end could not be marked: a write may have been cut off or \
                 lost then, so a wrong block that is found may be as old as that."
            ),
            next: "A new file (--remove, or another name) has no such past.".into(),
        });
    }
}

impl TargetFiller<'_> {
    pub(super) fn fill_nfs(
        &mut self,
        member: &NfsMember,
        hold: &mut NfsHold,
        facts: &mut MemberFacts,
    ) -> Result<(), PrepareError> {
        let Some(marker) = &mut hold.marker else {
            if hold.is_kept {
                facts.content = Content::Reused;
            }
            self.warn_holes(facts, hold.used_bytes);
            return Ok(());
        };
        let filled = marker.filled_bytes.min(hold.size_bytes).min(member.span_bytes);
        let is_right = self.is_right_content(&marker.kinds);
        let from = if is_right && is_whole(hold.used_bytes, filled) { filled } else { 0 };
        facts.content = if from >= member.span_bytes { Content::Reused } else { Content::Prepared };
        if facts.content == Content::Prepared {
            if !is_right {
                marker.kinds = vec![self.fill_kind().to_owned()];
            }
            marker.filled_bytes = from;
            nfs::mark(member, marker, true)?;
            let written = self.write(&Member::Nfs(Box::new(member.clone())), from);
            marker.filled_bytes = written.as_ref().map_or_else(|done| done.0, |()| member.span_bytes);
            nfs::mark(member, marker, true)?;
            written?;
        }
        // From now on the run writes its own kinds of data.
        marker.kinds.extend(self.written_kinds());
        marker.kinds.sort();
        marker.kinds.dedup();
        Ok(nfs::mark(member, marker, true)?)
    }

    fn warn_holes(&mut self, facts: &MemberFacts, used_bytes: u64) {
        if is_whole(used_bytes, facts.capacity_bytes) {
            return;
        }
        self.warnings.push(Warning {
            rule: "unknown-content".into(),
            says: format!(
                "{} ({}) takes only {} on the server: it has holes or is compressed, and parts of it are read without \
                 touching the disks.",
                facts.path,
                Bytes(facts.capacity_bytes),
                Bytes(used_bytes)
            ),
            next: "Let Assay make a file of its own (give a new name).".into(),
        });
    }
}

impl NfsHold {
    /// Writes down how the file is left. Where the server cannot be reached the mark says what it says after a run
    /// that was killed, and the file is still ours. Where the name leads to another file by now nothing is marked. A
    /// server that was `silent` is not waited for again.
    pub(super) fn close(&mut self, member: &NfsMember, silent: &mut Vec<SocketAddr>) -> NfsClosed {
        let Some(marker) = &mut self.marker else {
            return if self.is_kept { NfsClosed::Kept } else { NfsClosed::NotOurs };
        };
        if silent.contains(&member.server) {
            return NfsClosed::Silent(unmarked(&member.address.to_string()));
        }
        match nfs::mark(member, marker, false) {
            Ok(()) => NfsClosed::Marked,
            Err(error @ OpenError::NfsElsewhere { .. }) => NfsClosed::Elsewhere(replaced(&error)),
            Err(error @ OpenError::NfsSilent { .. }) => {
                silent.push(member.server);
                NfsClosed::Silent(unmarked(&error.to_string()))
            }
            Err(error) => NfsClosed::Unmarked(unmarked(&error.to_string())),
        }
    }

    /// Removes what was created and holds nothing.
    pub(super) fn abandon(self, member: &NfsMember) {
        let Self { _locks: locks, marker, .. } = self;
        // Whoever removes takes the lock itself.
        drop(locks);
        if marker.as_ref().is_some_and(|marker| marker.created && marker.filled_bytes == 0) {
            let _ = nfs::remove(member);
        }
    }
}

/// How long the marks of a run may stay behind its writes: all that the plan may take, and room for what it may not.
fn open_for_s(plan: &Plan, span_bytes: u64, timeout_s: u32) -> u64 {
    /// A fill slower than this is none to be waited for.
    const FILL_BYTES_PER_S: u64 = 10_000_000;
    const SLACK_S: u64 = 3600;
    let steps = plan.tests.iter().flat_map(|test| &test.steps);
    let step_s = |step: &Step| {
        let planned_ns = step.warmup.0.saturating_add(step.stop.time.0);
        planned_ns.div_ceil(1_000_000_000).saturating_add(timeout_s.into())
    };
    steps.map(step_s).fold(SLACK_S + span_bytes / FILL_BYTES_PER_S, u64::saturating_add)
}

fn only_read_words(address: &str, kept: &Kept) -> Warning {
    Warning {
        rule: "own-file-read-only".into(),
        says: format!(
            "{address} was made by Assay and is only read, neither marked nor filled: {}.",
            kept.why
        ),
        next: String::new(),
    }
}

fn replaced(error: &OpenError) -> Warning {
    Warning {
        rule: "file-replaced".into(),
        says: format!("{error}."),
        next: "See on the server who moves files there while they are measured; what stands there now was neither \
               written to nor marked."
            .into(),
    }
}

fn unmarked(what: &str) -> Warning {
    Warning {
        rule: "unmarked".into(),
        says: format!("{what}: after the run its mark could not be closed, as if the run had been killed."),
        next: "The file is still Assay's own; the next run on it, with --remove, takes it away.".into(),
    }
}
