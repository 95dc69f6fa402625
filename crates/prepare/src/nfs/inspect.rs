//! Inspects a file on an NFS server, or the place where it will be created, and changes nothing.

use std::path::Path;
use std::time::Instant;

use assay_claim::blank::Examination;
use assay_claim::nfs::{self, Identity, NfsLocation, locate};
use assay_claim::own_data::SECTOR_BYTES;
use assay_claim::{Mark, Marker};
use assay_record::{FilesystemFacts, MemberFacts, MemberKind, NfsFacts, PathFacts};
use assay_spec::{Address, NfsAddress, NfsSync};
use assay_target::nfs::BLOCK_BYTES;
use assay_target::{Durability, OpenError};

use crate::content;
use crate::context::InspectContext;
use crate::error::PrepareError;
use crate::file::check_stamps;
use crate::permission::{Nameable, WhyForeign, check_foreign_file, check_used_since};
use crate::space::Need;
use crate::span::{self, FileState};

/// Number of AUTH_NONE among the authentication flavors.
const AUTH_NONE: u32 = 0;
/// Number of AUTH_SYS among the authentication flavors.
const AUTH_SYS: u32 = 1;
/// Size of one read of a file's content before a run, bytes.
const READ_BYTES: u64 = 256 << 10;
/// Share of its length below which a file's allocated space means holes, or compression by the server; Assay's data
/// does not compress, and the little data that a file system keeps elsewhere is less than the rest.
const WHOLE_SHARE: f64 = 0.9;

/// A file that can be created or used.
pub(crate) struct InspectedNfs {
    pub(crate) span_bytes: u64,
    pub(super) address: String,
    /// Address as typed; a directory means the test file in it.
    given: NfsAddress,
    pub(super) place: NfsLocation,
    pub(super) state: FileState,
    pub(super) own: Option<OwnReadOnly>,
    pub(super) durability: Durability,
    pub(super) route: ServerRoute,
    /// Identity of the file, if it exists.
    identity: Option<Identity>,
}

/// A file of Assay's own that the server lets this user only read.
pub(super) struct OwnReadOnly {
    /// Reason.
    pub(super) why: String,
    /// True if verify mode can check it.
    is_stamped: bool,
    /// Number of bytes with data, from its start.
    filled_bytes: u64,
}

/// The network between this host and the server.
pub(super) struct ServerRoute {
    round_trip_us: u64,
    path: PathFacts,
}

/// Facts that `assay check` reports about a file on an NFS server.
#[derive(Debug, Clone)]
pub struct NfsInspection {
    /// Facts as recorded for a member of a run.
    pub facts: MemberFacts,
    /// True if the file exists.
    pub exists: bool,
    /// True if it carries Assay's mark of having created it.
    pub is_ours: bool,
    /// Attributes, if it exists.
    pub attributes: Option<nfs::Attributes>,
    /// Reasons not to write to it, a clause each.
    pub holds: Vec<String>,
}

/// Inspects a place without changing it.
pub fn inspect_nfs(address: &NfsAddress) -> Result<NfsInspection, PrepareError> {
    let mut place = locate(address)?;
    let route = route(&mut place)?;
    let marker = place.marker()?.filter(|marker| marker.created);
    let holds_bytes = place.file.map_or(0, |file| file.attributes.size_bytes);
    let used = match &marker {
        Some(marker) => used_since(&mut place, marker, holds_bytes)?,
        None => None,
    };
    let is_ours = marker.is_some() && used.is_none();
    let mut holds: Vec<String> = may_not(&place, &FileState::Allowed).into_iter().collect();
    if let Some(used) = used {
        holds.push(format!(
            "Assay created it, and it has been used since: it holds {used}; --overwrite allows writing to it"
        ));
    } else if place.file.is_some() && !is_ours {
        holds.push(
            "Assay did not create it, or it has been modified since; --overwrite allows writing to it".into(),
        );
    }
    let size_bytes = place.file.map_or(0, |file| file.attributes.size_bytes);
    Ok(NfsInspection {
        facts: facts(&place, size_bytes, route, Durability::Device),
        exists: place.file.is_some(),
        is_ours,
        attributes: place.file.map(|file| file.attributes),
        holds,
    })
}

/// Examines the network to the server over the connection that resolved the address; workers use the same route.
fn route(place: &mut NfsLocation) -> Result<ServerRoute, PrepareError> {
    let round_trip_us = u64::try_from(place.round_trip()?.as_micros()).unwrap_or(u64::MAX);
    let path = crate::network::way(place.local_address(), place.server_address());
    Ok(ServerRoute { round_trip_us, path })
}

/// Inspects a file, or the place where it will be created. `writer`: the first test that writes to it.
pub(crate) fn inspect(
    context: &InspectContext<'_>,
    address: &NfsAddress,
    writer: Option<&str>,
) -> Result<InspectedNfs, PrepareError> {
    let mut place = locate(address)?;
    let name = place.address.to_string();
    let path = Path::new(&name);
    let mark = place.mark_of_file()?;
    let is_allowed = context.options.overwrite.iter().any(|given| names(given, address, &place));
    let holds_bytes = place.file.map_or(0, |file| file.attributes.size_bytes);
    let state = match (place.file, mark) {
        (None, _) => FileState::New,
        // Permission to overwrite a foreign file was given for one run only.
        (_, Mark::Valid(marker)) if marker.created => match used_since(&mut place, &marker, holds_bytes)? {
            None => FileState::Ours(marker),
            Some(_) if is_allowed => FileState::Allowed,
            Some(holds) => {
                check_used_since(name.clone(), writer, holds)?;
                FileState::Foreign
            }
        },
        _ if is_allowed => FileState::Allowed,
        (_, mark) => {
            check_foreign_file(path, writer, WhyForeign::of(&mark), holds_bytes)?;
            FileState::Foreign
        }
    };
    let state = state.treated(context.options.changes, &name)?;
    let (state, own) = only_read(&place, state, writer);
    if let Some(why) = may_not(&place, &state) {
        return Err(OpenError::Nfs { file: name, why }.into());
    }
    let holds_bytes = own.as_ref().map_or(holds_bytes, |own| holds_bytes.min(own.filled_bytes));
    if context.plan.verifies()
        && state == FileState::Foreign
        && !own.as_ref().is_some_and(|own| own.is_stamped)
    {
        return Err(PrepareError::unfilled_file(name, &place.address.path));
    }
    let span_bytes = span::of_file(context, path, &state, holds_bytes)?;
    check_stamps(context, path, &state, span_bytes)?;
    let route = route(&mut place)?;
    let (name, durability, identity) = (address.to_string(), context.options.durability, place.identity());
    Ok(InspectedNfs {
        address: name,
        given: address.clone(),
        place,
        state,
        own,
        span_bytes,
        durability,
        route,
        identity,
    })
}

/// Returns the content of a file with Assay's mark that Assay did not write, in words.
fn used_since(
    place: &mut NfsLocation,
    marker: &Marker,
    size_bytes: u64,
) -> Result<Option<String>, PrepareError> {
    let name = place.address.to_string();
    let failed = |why: String| PrepareError::Probe { path: name.clone(), why };
    let Some(file) = place.file.filter(|file| file.rights.read()) else {
        return Err(failed("the server denies this user read access".to_owned()));
    };
    let seals = content::required_seals(marker, file.attributes.modified_ns);
    let examination = Examination::remote(size_bytes).map_err(|error| failed(error.to_string()))?;
    let mut read = |places: &[(u64, u64)], until: Instant, take: &mut dyn FnMut(u64, &[u8])| {
        read_places(place, places, until, take)
    };
    let found = examination.of_marked_file(seals, None, Path::new(&name), &mut read).map_err(failed)?;
    Ok(found.map(|found| content::foreign_words(marker, found)))
}

fn read_places(
    place: &mut NfsLocation,
    places: &[(u64, u64)],
    until: Instant,
    take: &mut dyn FnMut(u64, &[u8]),
) -> Result<u64, String> {
    let mut done = 0;
    for &(offset_bytes, bytes) in places {
        let mut at = 0;
        while at < bytes {
            if Instant::now() >= until {
                return Ok(done);
            }
            let most = u32::try_from((bytes - at).min(READ_BYTES)).expect("at most a call");
            let read = place.read(offset_bytes + at, most).map_err(|error| error.to_string())?;
            if read.is_empty() {
                return Err(format!("the server returned no data at offset {}", offset_bytes + at));
            }
            // Sectors are judged as a whole: if a server returns a partial one, it is read again.
            let whole = read.len() / SECTOR_BYTES * SECTOR_BYTES;
            let whole = if whole == 0 || at + read.len() as u64 == bytes { read.len() } else { whole };
            take(offset_bytes + at, &read[..whole]);
            (at, done) = (at + whole as u64, done + whole as u64);
        }
    }
    Ok(done)
}

/// Returns the state of our own file that the server lets us only read. For a plan that only reads it is equivalent to
/// a foreign file, with more facts known.
fn only_read(
    place: &NfsLocation,
    state: FileState,
    writer: Option<&str>,
) -> (FileState, Option<OwnReadOnly>) {
    match (may_not(place, &state), writer, state) {
        (Some(why), None, FileState::Ours(marker)) => {
            let is_stamped = content::is_stamped(&marker);
            (FileState::Foreign, Some(OwnReadOnly { why, is_stamped, filled_bytes: marker.filled_bytes }))
        }
        (_, _, state) => (state, None),
    }
}

/// Fails if two targets are the same file: several names, addresses, ports and exports of a server may lead to it.
pub(crate) fn check_different(files: &[&InspectedNfs]) -> Result<(), PrepareError> {
    for (at, file) in files.iter().enumerate() {
        let Some(identity) = &file.identity else { continue };
        let is_same = |other: &&&InspectedNfs| other.identity.as_ref().is_some_and(|of| of.is_same(identity));
        if let Some(earlier) = files[..at].iter().find(is_same) {
            return Err(PrepareError::SameTwice(earlier.address.clone(), file.address.clone()));
        }
    }
    Ok(())
}

impl InspectedNfs {
    /// Returns the space that it needs in the server's file system; `None` if it is only read.
    pub(crate) fn need(&self) -> Option<Need> {
        let place = &self.place;
        (self.state != FileState::Foreign).then(|| Need {
            place: format!("{} {}", place.server_address(), place.fsid),
            names: vec![place.address.to_string()],
            filesystem: filesystem(place),
            span_bytes: self.span_bytes,
            held_bytes: place.file.map_or(0, |file| file.attributes.used_bytes).min(self.span_bytes),
        })
    }

    /// Returns how `--overwrite` names it.
    pub(crate) fn nameable(&self) -> Nameable<'_> {
        let (address, known_as) = (self.address.clone(), self.address.clone());
        Nameable { address, known_as, answers_to: Box::new(|name| names(name, &self.given, &self.place)) }
    }
}

/// Returns true if a name given to `--overwrite` is that of the file at `place`, which was `given` as a target: its
/// path on the server, or an address that leads there. Queries describe how a file is reached, not which file it is.
fn names(name: &str, given: &NfsAddress, place: &NfsLocation) -> bool {
    let file = &place.address;
    let Ok(Address::Nfs(named)) = name.parse() else { return name == file.path };
    let is_port = named.port.is_none_or(|port| port == place.server_address().port());
    named.host == file.host && is_port && (named.path == file.path || named.path == given.path)
}

/// Returns the missing permission of this user that a run needs; `None` if none is missing.
fn may_not(place: &NfsLocation, state: &FileState) -> Option<String> {
    let who = format!("uid {} gid {}", place.credentials.uid, place.credentials.gid);
    let helps = "check the export's options (ro, squashing), or set uid= and gid= in the address";
    // A server that names AUTH_NONE accepts whatever is sent (RFC 2623), and maps it to a user of its own.
    let is_accepted = |flavor: &u32| [AUTH_NONE, AUTH_SYS].contains(flavor);
    if !place.flavors.is_empty() && !place.flavors.iter().any(is_accepted) {
        return Some(
            "the export does not accept AUTH_SYS (sec=sys), the only authentication that Assay supports"
                .into(),
        );
    }
    match (state, place.file) {
        (FileState::Foreign, Some(file)) if !file.rights.read() => {
            Some(format!("the server denies {who} read access; {helps}"))
        }
        (FileState::Foreign, _) => None,
        (_, Some(file)) if !file.rights.modify() || !file.rights.extend() => {
            Some(format!("the server denies {who} write access; {helps}"))
        }
        // The marker beside the file needs space too.
        (_, _) if !place.directory_rights.extend() => {
            Some(format!("the server does not allow {who} to create files in its directory; {helps}"))
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
        notes: Vec::new(),
    }
}

pub(super) fn facts(
    place: &NfsLocation,
    span_bytes: u64,
    route: ServerRoute,
    durability: Durability,
) -> MemberFacts {
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
        round_trip_us: route.round_trip_us,
        paths: vec![route.path],
    };
    MemberFacts {
        path: place.address.to_string(),
        kind: MemberKind::Nfs,
        capacity_bytes: place.file.map_or(0, |file| file.attributes.size_bytes).max(span_bytes),
        span_bytes,
        block_bytes: BLOCK_BYTES,
        engine: assay_spec::Engine::Nfs,
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

/// Returns the size of a call, bytes: the size that every server accepts if this one reports no limit, and at most that
/// of the largest I/O.
pub(super) fn call_bytes(limit: u32) -> u32 {
    const LEAST: u32 = 8 << 10;
    const MOST: u32 = 64 << 20;
    if limit == 0 { LEAST } else { limit.min(MOST) }
}
