//! A file on an NFS server that Assay reaches by itself: looked at before anything else, made, marked and filled like a
//! local one, with the server's words where the kernel's would stand.

use std::fs::File;
use std::net::SocketAddr;
use std::path::Path;

use assay_record::{
    Content, FilesystemFacts, HostFacts, MemberFacts, MemberKind, NfsFacts, PathFacts, Warning,
};
use assay_spec::units::Bytes;
use assay_spec::{NfsAddress, NfsSync, Plan, Step};
use assay_target::file::{Lock, Marker};
use assay_target::nfs::{self, BLOCK_BYTES, Identity, NfsMember, Place, locate};
use assay_target::{AccessMode, Durability, OpenError};

use super::error::PrepareError;
use super::fill::Filled;
use super::inspect::{self, FileState, Inspected};
use super::make::{FILL_STAMPED, Made, Making};
use super::space::Need;
use super::{PrepareOptions, Prepared};

/// AUTH_SYS among the flavours of an export.
const AUTH_SYS: u32 = 1;
/// A file whose space is less than this share of its length has holes, or the server compresses it; data of Assay do
/// not compress, and what little a file system keeps elsewhere is less than the rest.
const WHOLE_SHARE: f64 = 0.9;

/// A file to be made or used.
pub(super) struct NfsPlan {
    pub(super) address: String,
    place: Place,
    state: FileState,
    kept: Option<Kept>,
    pub(super) span_bytes: u64,
    durability: Durability,
    seen: Seen,
    /// What tells the file from others, where it is there.
    identity: Option<Identity>,
}

/// A file of our own that is only read.
struct Kept {
    /// Why.
    why: String,
    /// Whether verify mode can check it.
    is_stamped: bool,
    /// Bytes from its start that hold data.
    filled_bytes: u64,
}

/// What stands between here and the server.
struct Seen {
    round_trip_us: u64,
    path: PathFacts,
}

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
    /// It is only read, and carries no mark.
    NotOurs,
    /// Its name leads to another file.
    Elsewhere(Warning),
    /// The server did not take the mark.
    Unreachable(Warning),
}

/// What a place is and what speaks against writing there: for whoever only wants to know.
#[derive(Debug, Clone)]
pub struct NfsInspection {
    /// As a member of a run would be recorded.
    pub facts: MemberFacts,
    /// Whether the file is there.
    pub exists: bool,
    /// Whether it carries Assay's mark of having created it.
    pub is_ours: bool,
    /// Attributes, where it is there.
    pub attributes: Option<nfs::Attributes>,
    /// What speaks against writing, each a clause.
    pub holds: Vec<String>,
}

/// Looks at a place without changing it.
pub fn inspect_nfs(address: &NfsAddress) -> Result<NfsInspection, PrepareError> {
    let mut place = locate(address)?;
    let seen = see(&mut place)?;
    let marker = place.marker()?;
    let is_ours = marker.is_some_and(|marker| marker.created);
    let state = match place.file {
        None => FileState::New,
        Some(_) if is_ours => FileState::Allowed,
        Some(_) => FileState::Foreign,
    };
    let mut holds: Vec<String> = may_not(&place, &FileState::Allowed).into_iter().collect();
    if state == FileState::Foreign {
        holds.push("it was not made by Assay, or was changed since; --overwrite allows it".into());
    }
    let size = place.file.map_or(0, |file| file.attributes.size_bytes);
    Ok(NfsInspection {
        facts: facts(&place, size, seen, Durability::Device),
        exists: place.file.is_some(),
        is_ours,
        attributes: place.file.map(|file| file.attributes),
        holds,
    })
}

/// Looks at the way there over the connection that the place was found with: those of the workers take the same.
fn see(place: &mut Place) -> Result<Seen, PrepareError> {
    let round_trip_us = u64::try_from(place.round_trip()?.as_micros()).unwrap_or(u64::MAX);
    let path = crate::paths::way(place.local_address(), place.server_address());
    Ok(Seen { round_trip_us, path })
}

pub(super) fn inspect(
    plan: &Plan,
    address: &NfsAddress,
    writer: Option<&str>,
    options: &PrepareOptions,
    host: &HostFacts,
) -> Result<Inspected, PrepareError> {
    let mut place = locate(address)?;
    let name = place.address.to_string();
    let path = Path::new(&name);
    let marker = place.marker()?;
    let is_allowed = options.overwrite.iter().any(|given| is_named(given, &place, address));
    let holds = place.file.map_or(0, |file| file.attributes.size_bytes);
    let state = match (place.file, marker) {
        (None, _) => FileState::New,
        // Leave to overwrite a foreign file was given once, not for ever.
        (_, Some(marker)) if marker.created => FileState::Ours(marker),
        _ if is_allowed => FileState::Allowed,
        _ => {
            inspect::check_foreign(path, writer.map(str::to_owned), holds)?;
            FileState::Foreign
        }
    };
    let (state, kept) = only_read(&place, state, writer);
    if let Some(why) = may_not(&place, &state) {
        return Err(OpenError::Nfs { file: name, why }.into());
    }
    let holds = kept.as_ref().map_or(holds, |kept| holds.min(kept.filled_bytes));
    if plan.verifies() && state == FileState::Foreign && !kept.as_ref().is_some_and(|kept| kept.is_stamped) {
        let next = "choose another name, which is then filled, or allow this one to be lost: --overwrite ";
        return Err(PrepareError::VerifyUnfilled {
            next: format!("{next}{}", place.address.path),
            path: name,
        });
    }
    let span_bytes = inspect::file_span(plan.span, &state, holds, path, options.too_small, host)?;
    let seen = see(&mut place)?;
    let (address, durability, identity) = (address.to_string(), options.durability, place.identity());
    Ok(Inspected::Nfs(Box::new(NfsPlan {
        address,
        place,
        state,
        kept,
        span_bytes,
        durability,
        seen,
        identity,
    })))
}

/// A file of our own that the server lets us only read is as good as somebody else's for a plan that only reads, and
/// more is known of it.
fn only_read(place: &Place, state: FileState, writer: Option<&str>) -> (FileState, Option<Kept>) {
    match (may_not(place, &state), writer, state) {
        (Some(why), None, FileState::Ours(marker)) => {
            let is_stamped = !marker.kinds.is_empty() && marker.kinds.iter().all(|kind| kind == FILL_STAMPED);
            (FileState::Foreign, Some(Kept { why, is_stamped, filled_bytes: marker.filled_bytes }))
        }
        (_, _, state) => (state, None),
    }
}

/// A server may have several names, addresses, ports and exports that lead to one file.
pub(super) fn check_different(inspected: &[Inspected]) -> Result<(), PrepareError> {
    let plans: Vec<&NfsPlan> = inspected
        .iter()
        .filter_map(|one| match one {
            Inspected::Nfs(plan) => Some(&**plan),
            _ => None,
        })
        .collect();
    for (at, plan) in plans.iter().enumerate() {
        let Some(identity) = &plan.identity else { continue };
        let is_same = |other: &&&NfsPlan| other.identity.as_ref().is_some_and(|of| of.is_same(identity));
        if let Some(earlier) = plans[..at].iter().find(is_same) {
            return Err(PrepareError::SameTwice(earlier.address.clone(), plan.address.clone()));
        }
    }
    Ok(())
}

impl NfsPlan {
    /// What it needs of the server's file system; `None` where it is only read.
    pub(super) fn need(&self) -> Option<Need> {
        let place = &self.place;
        (self.state != FileState::Foreign).then(|| Need {
            place: format!("{} {}", place.server_address(), place.fsid),
            names: vec![place.address.to_string()],
            filesystem: filesystem(place),
            span_bytes: self.span_bytes,
            held_bytes: place.file.map_or(0, |file| file.attributes.used_bytes).min(self.span_bytes),
        })
    }

    /// What `--overwrite` takes for it.
    pub(super) fn file_name(&self) -> &str {
        &self.place.address.path
    }

    pub(super) fn is_named(&self, given: &str) -> bool {
        given == self.address || given == self.place.address.to_string() || given == self.file_name()
    }
}

fn is_named(given: &str, place: &Place, address: &NfsAddress) -> bool {
    given == address.to_string() || given == place.address.to_string() || given == place.address.path
}

/// What the server does not let us do that a run has to; `None`: nothing.
fn may_not(place: &Place, state: &FileState) -> Option<String> {
    let who = format!("uid {} gid {}", place.credentials.uid, place.credentials.gid);
    let helps = "see the export's options (ro, squashing) and uid= and gid= in the address";
    if !place.flavors.is_empty() && !place.flavors.contains(&AUTH_SYS) {
        return Some("the export takes no AUTH_SYS (sec=sys), which is what this client speaks".into());
    }
    match (state, place.file) {
        (FileState::Foreign, Some(file)) if !file.rights.read() => {
            Some(format!("the server does not let {who} read it; {helps}"))
        }
        (FileState::Foreign, _) => None,
        (_, Some(file)) if !file.rights.modify() || !file.rights.extend() => {
            Some(format!("the server does not let {who} write to it; {helps}"))
        }
        // The marker beside the file needs a place too.
        (_, _) if !place.directory_rights.extend() => {
            Some(format!("the server does not let {who} create files in its directory; {helps}"))
        }
        _ => None,
    }
}

fn filesystem(place: &Place) -> FilesystemFacts {
    let source = format!("{}:{}", place.address.host, place.export);
    FilesystemFacts {
        kind: "nfs".into(),
        mount_point: source.clone(),
        source,
        options: format!(
            "vers=3,proto=tcp,rsize={},wsize={},nconnect={} (Assay's own client)",
            place.limits.read_max, place.limits.write_max, place.address.connections
        ),
        size_bytes: place.space.total_bytes,
        free_bytes: place.space.available_bytes,
    }
}

fn facts(place: &Place, span_bytes: u64, seen: Seen, durability: Durability) -> MemberFacts {
    let limits = place.limits;
    let is_file_sync = place.address.sync == NfsSync::File || durability == Durability::Sync;
    let nfs = NfsFacts {
        server: place.server_address().to_string(),
        export: place.export.clone(),
        path: place.address.path.clone(),
        uid: place.credentials.uid,
        gid: place.credentials.gid,
        connections: place.address.connections,
        sync: if is_file_sync { "file" } else { "unstable" }.into(),
        read_bytes_max: limits.read_max,
        read_bytes_preferred: limits.read_preferred,
        write_bytes_max: limits.write_max,
        write_bytes_preferred: limits.write_preferred,
        round_trip_us: seen.round_trip_us,
        paths: vec![seen.path],
    };
    MemberFacts {
        path: place.address.to_string(),
        kind: MemberKind::Nfs,
        capacity_bytes: place.file.map_or(0, |file| file.attributes.size_bytes).max(span_bytes),
        span_bytes,
        block_bytes: BLOCK_BYTES,
        engine: "nfs".into(),
        direct: true,
        sync: is_file_sync,
        filesystem: Some(filesystem(place)),
        nfs: Some(Box::new(nfs)),
        ..MemberFacts::default()
    }
}

impl Making<'_> {
    pub(super) fn open_nfs(&mut self, plan: NfsPlan) -> Result<Made, PrepareError> {
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
        Ok(Made::new(address, facts, Prepared::Nfs { member: Box::new(member), hold }))
    }

    /// Of two targets that are one file nobody could tell before the first of them is there.
    fn create_nfs(&self, address: &str, place: &mut Place) -> Result<(), PrepareError> {
        if let Some(Some(id)) = place.appeared()?
            && let Some((_, earlier)) = self.nfs_marks.iter().find(|(known, _)| *known == id)
        {
            return Err(PrepareError::SameTwice(earlier.clone(), address.to_owned()));
        }
        Ok(place.create()?)
    }

    fn hold_nfs(
        &mut self,
        place: &mut Place,
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
            let written = self.write(Filled::Nfs(member), from);
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
        let Some(marker) = &mut self.marker else { return NfsClosed::NotOurs };
        if silent.contains(&member.server) {
            return NfsClosed::Unreachable(unmarked(&member.address.to_string()));
        }
        match nfs::mark(member, marker, false) {
            Ok(()) => NfsClosed::Marked,
            Err(error @ OpenError::NfsElsewhere { .. }) => NfsClosed::Elsewhere(replaced(&error)),
            Err(error) => {
                if matches!(error, OpenError::NfsSilent { .. }) {
                    silent.push(member.server);
                }
                NfsClosed::Unreachable(unmarked(&error.to_string()))
            }
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

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a share of a size in bytes")]
fn is_whole(used_bytes: u64, of_bytes: u64) -> bool {
    used_bytes >= (of_bytes as f64 * WHOLE_SHARE) as u64
}

/// Servers that say nothing take what every server takes; no I/O is larger than the second.
fn call_bytes(limit: u32) -> u32 {
    const LEAST: u32 = 8 << 10;
    const MOST: u32 = 64 << 20;
    if limit == 0 { LEAST } else { limit.min(MOST) }
}
