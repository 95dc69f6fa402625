//! A file on an NFS server that Assay reaches by itself, looked at before anything else, with the server's words where
//! the kernel's would stand.

use std::path::Path;

use assay_record::{FilesystemFacts, HostFacts, MemberFacts, MemberKind, NfsFacts, PathFacts};
use assay_spec::{NfsAddress, NfsSync, Plan};
use assay_target::nfs::{self, BLOCK_BYTES, Identity, NfsLocation, locate};
use assay_target::{Durability, OpenError};

use super::PrepareOptions;
use super::error::PrepareError;
use super::files::{FileState, Need, check_foreign, file_span};
use super::fill::FILL_STAMPED;

/// AUTH_SYS among the flavours of an export.
const AUTH_SYS: u32 = 1;
/// A file whose space is less than this share of its length has holes, or the server compresses it; data of Assay do
/// not compress, and what little a file system keeps elsewhere is less than the rest.
const WHOLE_SHARE: f64 = 0.9;

/// A file to be made or used.
pub(super) struct NfsPlan {
    pub(super) address: String,
    pub(super) place: NfsLocation,
    pub(super) state: FileState,
    pub(super) kept: Option<Kept>,
    pub(super) span_bytes: u64,
    pub(super) durability: Durability,
    pub(super) seen: Seen,
    /// What tells the file from others, where it is there.
    identity: Option<Identity>,
}

/// A file of our own that is only read.
pub(super) struct Kept {
    /// Why.
    pub(super) why: String,
    /// Whether verify mode can check it.
    pub(super) is_stamped: bool,
    /// Bytes from its start that hold data.
    pub(super) filled_bytes: u64,
}

/// What stands between here and the server.
pub(super) struct Seen {
    round_trip_us: u64,
    path: PathFacts,
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
fn see(place: &mut NfsLocation) -> Result<Seen, PrepareError> {
    let round_trip_us = u64::try_from(place.round_trip()?.as_micros()).unwrap_or(u64::MAX);
    let path = super::network::way(place.local_address(), place.server_address());
    Ok(Seen { round_trip_us, path })
}

pub(super) fn inspect(
    plan: &Plan,
    address: &NfsAddress,
    writer: Option<&str>,
    options: &PrepareOptions,
    host: &HostFacts,
) -> Result<NfsPlan, PrepareError> {
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
            check_foreign(path, writer.map(str::to_owned), holds)?;
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
    let span_bytes = file_span(plan.span, &state, holds, path, options.too_small, host)?;
    let seen = see(&mut place)?;
    let (address, durability, identity) = (address.to_string(), options.durability, place.identity());
    Ok(NfsPlan { address, place, state, kept, span_bytes, durability, seen, identity })
}

/// A file of our own that the server lets us only read is as good as somebody else's for a plan that only reads, and
/// more is known of it.
fn only_read(place: &NfsLocation, state: FileState, writer: Option<&str>) -> (FileState, Option<Kept>) {
    match (may_not(place, &state), writer, state) {
        (Some(why), None, FileState::Ours(marker)) => {
            let is_stamped = !marker.kinds.is_empty() && marker.kinds.iter().all(|kind| kind == FILL_STAMPED);
            (FileState::Foreign, Some(Kept { why, is_stamped, filled_bytes: marker.filled_bytes }))
        }
        (_, _, state) => (state, None),
    }
}

/// A server may have several names, addresses, ports and exports that lead to one file.
pub(super) fn check_different(plans: &[&NfsPlan]) -> Result<(), PrepareError> {
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

fn is_named(given: &str, place: &NfsLocation, address: &NfsAddress) -> bool {
    given == address.to_string() || given == place.address.to_string() || given == place.address.path
}

/// What the server does not let us do that a run has to; `None`: nothing.
fn may_not(place: &NfsLocation, state: &FileState) -> Option<String> {
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

fn filesystem(place: &NfsLocation) -> FilesystemFacts {
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

pub(super) fn facts(place: &NfsLocation, span_bytes: u64, seen: Seen, durability: Durability) -> MemberFacts {
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

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a share of a size in bytes")]
pub(super) fn is_whole(used_bytes: u64, of_bytes: u64) -> bool {
    used_bytes >= (of_bytes as f64 * WHOLE_SHARE) as u64
}

/// Servers that say nothing take what every server takes; no I/O is larger than the second.
pub(super) fn call_bytes(limit: u32) -> u32 {
    const LEAST: u32 = 8 << 10;
    const MOST: u32 = 64 << 20;
    if limit == 0 { LEAST } else { limit.min(MOST) }
}
