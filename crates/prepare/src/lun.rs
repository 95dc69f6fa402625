//! A LUN over iSCSI: inspected over every path first, and refused for writing if there is any objection.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use assay_claim::blank::{Breadth, Examination, ForeignData};
use assay_claim::lun::{LunClaim, LunLook, LunReader, Provision, look, with_all_portals};
use assay_claim::{HeadCheck, Lock};
use assay_record::{
    Content, DeviceFacts, LunFacts, MemberFacts, MemberKind, PathFacts, TargetFacts, Warning,
};
use assay_spec::{IscsiAddress, IscsiPortal, PathPolicy};
use assay_target::lun::{Credentials, DiscoveredTarget, LunMember, Secret, UnitWatch, credentials};
use assay_target::{AccessMode, Durability, Member, OpenError};

use crate::content;
use crate::context::{FillContext, InspectContext, OpenContext};
use crate::device::whole;
use crate::error::PrepareError;
use crate::network::Networks;
use crate::options::FillChoice;
use crate::permission::{Nameable, WriteRequest};
use crate::placement::placement;
use crate::span;

/// A LUN that may be used.
pub(crate) struct InspectedLun {
    pub(crate) member: LunMember,
    claim: LunClaim,
    address: String,
    facts: MemberFacts,
    /// Paths that did not come up, in words.
    troubles: Vec<String>,
    lock: Option<LunLock>,
}

/// A lock against other runs on this machine; an error if there is no place for locks.
type LunLock = Result<File, std::io::Error>;

/// A LUN that is locked; each worker logs in by itself.
pub(crate) struct LunTarget {
    pub(crate) facts: TargetFacts,
    member: LunMember,
    claim: LunClaim,
    /// Lock against other runs on this machine; `None` if there is no place for locks.
    _lock: Option<File>,
}

/// Facts that `assay check` reports about a LUN.
#[derive(Debug, Clone)]
pub struct LunInspection {
    /// Facts as recorded for a member of a run.
    pub facts: MemberFacts,
    /// Reasons not to write to it, a clause each.
    pub holds: Vec<String>,
    /// Paths that did not come up, in words.
    pub troubles: Vec<String>,
    /// First logical block that is aligned to a physical one.
    pub aligned_lba: u16,
}

/// Logs in over every path, inspects the LUN without changing it, and logs out. `typed`: a secret from a prompt.
pub fn inspect_lun(address: &IscsiAddress, typed: Option<&Secret>) -> Result<LunInspection, PrepareError> {
    let Found { looked, facts, contents, foreign, .. } = look_at(address, typed, Depth::Samples)?;
    let mut holds = objections(&looked, &contents);
    if contents.is_empty() {
        holds.extend(foreign.map(|foreign| foreign.hold("it")));
    }
    Ok(LunInspection { facts, holds, troubles: looked.path_events, aligned_lba: looked.aligned_lba })
}

/// A LUN as found at an address.
struct Found {
    /// Address with all its portals.
    address: IscsiAddress,
    credentials: Option<Credentials>,
    looked: LunLook,
    facts: MemberFacts,
    /// Objections because of its content, a clause each.
    contents: Vec<String>,
    /// Data because of which it is not blank.
    foreign: Option<ForeignData>,
}

/// Thoroughness of the examination of a LUN's content.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Depth {
    /// Only the places of signatures, for a LUN that is only read.
    Signatures,
    /// Also samples, to determine whether it is blank.
    Samples,
}

/// Longest wait for a read of the LUN's content; shorter if full frames are known to be lost, as such a read never
/// completes.
const READ_PATIENCE: Duration = Duration::from_secs(30);
const READ_PATIENCE_LOSSY: Duration = Duration::from_secs(3);

fn look_at(address: &IscsiAddress, typed: Option<&Secret>, depth: Depth) -> Result<Found, PrepareError> {
    let credentials = credentials(address, typed)?;
    let address = with_all_portals(address, credentials.as_ref())?;
    let mut networks = Networks::of(&address.portals);
    let lossy = networks.lossy();
    let patience = if networks.all_lossy() { READ_PATIENCE_LOSSY } else { READ_PATIENCE };
    let (mut contents, mut foreign) = (Vec::new(), None);
    let mut content = |size_bytes, reader: &mut LunReader<'_>| {
        (contents, foreign) = examine(size_bytes, reader, depth)?;
        Ok(())
    };
    let looked = look(&address, credentials.as_ref(), patience, &mut content);
    let looked = looked.map_err(|error| match (error, lossy) {
        (OpenError::Lun { lun, why } | OpenError::LunUnreached { lun, why }, Some(says)) => {
            OpenError::LunUnreached { lun, why: format!("{why}: {says}") }
        }
        (error, _) => error,
    })?;
    let facts = facts(&address, &looked, networks.facts(&looked.paths));
    Ok(Found { address, credentials, looked, facts, contents, foreign })
}

/// Returns the objections because of its content, a clause each, and the data because of which it is not blank.
fn examine(
    size_bytes: u64,
    reader: &mut LunReader<'_>,
    depth: Depth,
) -> Result<(Vec<String>, Option<ForeignData>), String> {
    let mut read =
        |places: &[(u64, u64)], until, take: &mut dyn FnMut(u64, &[u8])| reader.read(places, until, take);
    let mut examination = Examination::remote(size_bytes).map_err(|error| error.to_string())?;
    examination.read_ends(&mut read)?;
    if depth == Depth::Signatures {
        return Ok((Vec::new(), None));
    }
    let contents = match examination.contents(None, Path::new("its content")) {
        Ok(contents) => contents.into_iter().map(|what| format!("it holds {what}")).collect(),
        // `assay check` reports it along with everything else; a writer is refused.
        Err(why) => vec![format!("cannot tell what it holds: {why}")],
    };
    if contents.is_empty() {
        examination.read_samples(Breadth::Device, &mut read)?;
    }
    Ok((contents, examination.foreign()))
}

/// Returns the targets that a portal offers to this initiator. `typed`: a secret from a prompt.
pub fn targets_at(
    portal: &IscsiPortal,
    typed: Option<&Secret>,
) -> Result<Vec<DiscoveredTarget>, PrepareError> {
    let address = portal.lun("", 0);
    let credentials = credentials(&address, typed)?;
    Ok(assay_claim::lun::targets_at(&address, credentials.as_ref())?)
}

/// Inspects a LUN. `writer`: the first test that writes to it.
pub(crate) fn inspect(
    context: &InspectContext<'_>,
    address: &IscsiAddress,
    writer: Option<&str>,
) -> Result<InspectedLun, PrepareError> {
    let (name, options) = (address.to_string(), context.options);
    let depth = if writer.is_some() { Depth::Samples } else { Depth::Signatures };
    let Found { address, credentials, looked, mut facts, contents, foreign } =
        look_at(address, options.chap_secret.as_ref(), depth)?;
    let capacity_bytes = looked.identity.capacity_bytes;
    if let Some(test) = writer {
        let device = facts.device.clone().unwrap_or_default();
        let objections = objections(&looked, &contents);
        WriteRequest { name: &name, test, objections, foreign, device: &device, capacity_bytes }
            .check(context)?;
    }
    if context.plan.verifies() && (writer.is_none() || options.fill == FillChoice::Never) {
        return Err(PrepareError::unfilled_device(name));
    }
    // The data of the fill are what tells this LUN from another one while its blocks are trimmed.
    if context.plan.trims() && options.fill == FillChoice::Never {
        return Err(PrepareError::TrimUnfilled { path: name });
    }
    let block = u64::from(looked.block_bytes);
    facts.span_bytes = span::of_device(context, &name, capacity_bytes)? / block * block;
    facts.sync = options.durability == Durability::Sync;
    facts.placement = placement(&facts, None);
    let claim = LunClaim { looked: looked.identity, head: HeadCheck::Nothing };
    let member = LunMember {
        address,
        credentials,
        access: if writer.is_some() { AccessMode::ReadWrite } else { AccessMode::ReadOnly },
        durability: options.durability,
        span_bytes: facts.span_bytes,
        block_bytes: looked.block_bytes,
        transfer_bytes_max: looked.transfer_bytes_max,
        // A LUN that is only read may be written by others.
        proof: if writer.is_some() { looked.proof } else { Arc::default() },
        guard: Some(Arc::new(claim.clone())),
        watch: UnitWatch::Regularly,
        unmap: looked.unmap,
        moved: Vec::new(),
    };
    Ok(InspectedLun { address: name, member, claim, facts, troubles: looked.path_events, lock: None })
}

/// Returns the reasons not to write, a clause each.
fn objections(looked: &LunLook, contents: &[String]) -> Vec<String> {
    let mut all = contents.to_vec();
    all.extend(looked.reservations.iter().cloned());
    if looked.write_protected {
        all.push("it is write protected".into());
    }
    all
}

impl InspectedLun {
    /// Returns how `--overwrite` names it.
    pub(crate) fn nameable(&self) -> Option<Nameable<'_>> {
        Some(Nameable::by_identity(self.facts.device.as_ref()?, &self.address))
    }

    /// Locks it, and fails if the unit has changed since its inspection. A unit that is only read may be written by
    /// others; each login checks that it is still the same unit.
    pub(crate) fn confirm(&mut self) -> Result<(), PrepareError> {
        let lock = match self.member.access {
            AccessMode::ReadWrite => Lock::Exclusive,
            AccessMode::ReadOnly => Lock::Shared,
        };
        self.lock = Some(match assay_claim::lun::hold(&self.member.address, lock) {
            Ok(Some(file)) => Ok(file),
            Ok(None) => return Err(PrepareError::LunInUse { lun: self.address.clone() }),
            Err(error) => Err(error),
        });
        confirm_writable(&self.member, &self.claim)
    }

    /// Opens it, and reports missing paths.
    pub(crate) fn open(self, context: &mut OpenContext<'_>) -> Result<LunTarget, PrepareError> {
        let lock = match self.lock {
            Some(Err(error)) => {
                context.warn_unlocked(&self.address, &error);
                None
            }
            lock => lock.and_then(Result::ok),
        };
        context.warnings.extend(self.troubles.into_iter().map(|trouble| Warning {
            rule: "path".into(),
            says: format!("{}: before the run, {trouble}.", self.address),
            next: "Run assay check to see the state of every path.".into(),
        }));
        let facts = TargetFacts { address: self.address, member: self.facts };
        Ok(LunTarget { facts, member: self.member, claim: self.claim, _lock: lock })
    }
}

fn confirm_writable(member: &LunMember, claim: &LunClaim) -> Result<(), PrepareError> {
    match member.access {
        AccessMode::ReadWrite => Ok(claim.confirm(member)?),
        AccessMode::ReadOnly => Ok(()),
    }
}

impl LunTarget {
    pub(crate) fn member(&self) -> Member {
        Member::Lun(Box::new(self.member.clone()))
    }

    /// Writes all of it, if it may be written, and queries the unmapped blocks.
    pub(crate) fn fill(&mut self, context: &mut FillContext<'_>) -> Result<(), PrepareError> {
        confirm_writable(&self.member, &self.claim)?;
        let is_filled =
            self.member.access == AccessMode::ReadWrite && context.options.fill == FillChoice::WhereNeeded;
        if is_filled {
            context.write(&self.member(), &whole(context))?;
            self.member.moved = std::mem::take(&mut context.moved);
            self.claim.head = content::head_check(context.plan);
            self.member.guard = Some(Arc::new(self.claim.clone()));
            self.facts.member.content = Content::Prepared;
        }
        let LunMember { address, credentials, span_bytes, .. } = &self.member;
        let unmapped = assay_claim::lun::unmapped_bytes(address, credentials.as_ref(), *span_bytes)?;
        self.facts.member.unwritten_bytes = unmapped;
        // If the target reports the mapping of blocks, the state is known.
        if !is_filled && unmapped.is_none() {
            context.warn_unknown_content(&self.facts.member.path, *span_bytes, None);
        }
        Ok(())
    }
}

fn facts(address: &IscsiAddress, looked: &LunLook, paths: Vec<PathFacts>) -> MemberFacts {
    let cache = |is_on| if is_on { "write back" } else { "write through" };
    let lun = LunFacts {
        target: address.target.clone(),
        lun: address.lun,
        initiator: looked.initiator.clone(),
        vendor: looked.vendor.clone(),
        product: looked.product.clone(),
        revision: looked.revision.clone(),
        serial: looked.identity.serial.clone(),
        wwid: looked.identity.wwid.clone(),
        thin: looked.provision == Provision::Thin,
        write_cache: looked.write_cache,
        transfer_bytes_max: looked.transfer_bytes_max,
        policy: policy_words(address.policy),
        paths,
    };
    let device = DeviceFacts {
        // A LUN without serial number and WWID is named by its address.
        name: format!("{}/{}", address.target, address.lun),
        model: format!("{} {}", looked.vendor, looked.product).trim().to_owned(),
        serial: looked.identity.serial.clone(),
        wwid: looked.identity.wwid.clone(),
        rotational: looked.rotational.unwrap_or(false),
        write_cache: looked.write_cache.map(cache).unwrap_or_default().to_owned(),
        size_bytes: looked.identity.capacity_bytes,
        logical_block_bytes: looked.block_bytes,
        physical_block_bytes: looked.physical_block_bytes,
        ..DeviceFacts::default()
    };
    MemberFacts {
        path: address.to_string(),
        kind: MemberKind::Lun,
        capacity_bytes: looked.identity.capacity_bytes,
        span_bytes: looked.identity.capacity_bytes,
        block_bytes: looked.block_bytes,
        engine: assay_spec::Engine::Iscsi,
        direct: true,
        device: Some(device),
        lun: Some(Box::new(lun)),
        ..MemberFacts::default()
    }
}

fn policy_words(policy: PathPolicy) -> String {
    match policy {
        PathPolicy::RoundRobin { ios, bytes: u64::MAX } => format!("round robin, rr_ios={ios}"),
        PathPolicy::RoundRobin { ios: u32::MAX, bytes } => format!("round robin, rr_bytes={bytes}"),
        PathPolicy::RoundRobin { ios, bytes } => format!("round robin, rr_ios={ios}, rr_bytes={bytes}"),
        PathPolicy::LeastOutstanding => "least outstanding".into(),
        PathPolicy::Fixed => "fixed".into(),
    }
}
