//! A LUN over iSCSI: looked at before anything else, refused for writing where anything speaks against it.

use std::time::Duration;

use assay_record::{DeviceFacts, HostFacts, LunFacts, MemberFacts, MemberKind, PathFacts};
use assay_spec::units::Bytes;
use assay_spec::{IscsiAddress, IscsiPortal, PathPolicy, Plan, Span};
use assay_target::lun::{
    self, Credentials, DiscoveredTarget, LunLook, LunMember, Provision, Secret, credentials, look,
    with_all_portals,
};
use assay_target::{AccessMode, OpenError};

use super::error::PrepareError;
use super::files::SPAN_GRAIN;
use super::network::Networks;
use super::{PrepareOptions, TooSmall};

/// A LUN to be used.
pub(super) struct LunPlan {
    pub(super) address: String,
    pub(super) member: LunMember,
    pub(super) facts: MemberFacts,
    /// Paths that did not come up, in words.
    pub(super) troubles: Vec<String>,
}

/// What a LUN is and what speaks against writing to it: for whoever only wants to know.
#[derive(Debug, Clone)]
pub struct LunInspection {
    /// As a member of a run would be recorded.
    pub facts: MemberFacts,
    /// What speaks against writing, each a sentence.
    pub holds: Vec<String>,
    /// Paths that did not come up, in words.
    pub troubles: Vec<String>,
    /// First logical block that is aligned to a physical one.
    pub aligned_lba: u16,
}

/// Logs in over every path, looks at the LUN without changing it, and logs out. `typed`: a secret from a prompt.
pub fn inspect_lun(address: &IscsiAddress, typed: Option<&Secret>) -> Result<LunInspection, PrepareError> {
    let Found { looked, facts, .. } = look_at(address, typed)?;
    Ok(LunInspection {
        facts,
        holds: holds(&looked),
        troubles: looked.path_events,
        aligned_lba: looked.aligned_lba,
    })
}

/// What is at an address.
struct Found {
    /// With all its portals.
    address: IscsiAddress,
    credentials: Option<Credentials>,
    looked: LunLook,
    facts: MemberFacts,
}

/// How long a read of what is on a LUN may take: where full frames are known to get lost, it will never end.
const READ_PATIENCE: Duration = Duration::from_secs(30);
const READ_PATIENCE_LOSSY: Duration = Duration::from_secs(3);

fn look_at(address: &IscsiAddress, typed: Option<&Secret>) -> Result<Found, PrepareError> {
    let credentials = credentials(address, typed)?;
    let address = with_all_portals(address, credentials.as_ref())?;
    let mut networks = Networks::of(&address.portals);
    let lossy = networks.lossy();
    let patience = if networks.all_lossy() { READ_PATIENCE_LOSSY } else { READ_PATIENCE };
    let looked = look(&address, credentials.as_ref(), patience).map_err(|error| match (error, lossy) {
        (OpenError::Lun { lun, why }, Some(says)) => OpenError::Lun { lun, why: format!("{why}: {says}") },
        (error, _) => error,
    })?;
    let facts = facts(&address, &looked, networks.facts(&looked.paths));
    Ok(Found { address, credentials, looked, facts })
}

/// The targets that a portal has for us. `typed`: a secret from a prompt.
pub fn targets_at(
    portal: &IscsiPortal,
    typed: Option<&Secret>,
) -> Result<Vec<DiscoveredTarget>, PrepareError> {
    let address = portal.lun("", 0);
    let credentials = credentials(&address, typed)?;
    Ok(lun::targets_at(&address, credentials.as_ref())?)
}

pub(super) fn inspect(
    plan: &Plan,
    address: &IscsiAddress,
    writer: Option<&str>,
    options: &PrepareOptions,
    host: &HostFacts,
) -> Result<LunPlan, PrepareError> {
    let name = address.to_string();
    let Found { address, credentials, looked, mut facts } = look_at(address, options.chap_secret.as_ref())?;
    if let Some(test) = writer {
        check_may_write(&name, test, &looked, &facts, options)?;
    }
    if plan.verifies() && (writer.is_none() || !options.fill_devices) {
        return Err(PrepareError::unfilled_device(name));
    }
    if looked.capacity_bytes == 0 {
        return Err(PrepareError::Empty { path: name });
    }
    facts.span_bytes = span(plan.span, &name, &looked, options.too_small, host)?;
    let member = LunMember {
        address,
        credentials,
        access: if writer.is_some() { AccessMode::ReadWrite } else { AccessMode::ReadOnly },
        durability: options.durability,
        span_bytes: facts.span_bytes,
        block_bytes: looked.block_bytes,
        transfer_bytes_max: looked.transfer_bytes_max,
    };
    Ok(LunPlan { address: name, member, facts, troubles: looked.path_events })
}

fn span(
    span: Span,
    name: &str,
    looked: &LunLook,
    too_small: TooSmall,
    host: &HostFacts,
) -> Result<u64, PrepareError> {
    let capacity = looked.capacity_bytes;
    let span_bytes = match span {
        Span::Whole => capacity,
        Span::Size(size) => {
            let asked = size.resolve(Bytes(host.memory_bytes)).0.next_multiple_of(SPAN_GRAIN);
            if asked > capacity && too_small == TooSmall::Refuse {
                let (holds, asked) = (Bytes(capacity), Bytes(asked));
                return Err(PrepareError::DeviceTooSmall { path: name.to_owned(), holds, asked });
            }
            asked.min(capacity)
        }
    };
    let block = u64::from(looked.block_bytes);
    Ok(span_bytes / block * block)
}

/// Everything that speaks against writing.
fn holds(looked: &LunLook) -> Vec<String> {
    let content = assay_host::content_of(&looked.head, &looked.tail, looked.capacity_bytes);
    let mut holds: Vec<String> = content.into_iter().map(|what| format!("it holds {what}")).collect();
    holds.extend(looked.reservations.iter().cloned());
    if looked.write_protected {
        holds.push("it is write protected".into());
    }
    holds
}

fn check_may_write(
    name: &str,
    test: &str,
    looked: &LunLook,
    facts: &MemberFacts,
    options: &PrepareOptions,
) -> Result<(), PrepareError> {
    let holds = holds(looked);
    if !holds.is_empty() {
        return Err(PrepareError::DeviceHeld {
            path: name.to_owned(),
            holds: holds.iter().map(|hold| format!("\n  - {hold}")).collect(),
        });
    }
    let device = facts.device.clone().unwrap_or_default();
    if options.overwrite.iter().any(|given| assay_host::is_identity_of(&device, given)) {
        return Ok(());
    }
    let identity = assay_host::identities(&device).into_iter().next().unwrap_or_default();
    let serial = looked.serial.as_deref().map(|s| format!("serial {s}, ")).unwrap_or_default();
    let wwid = looked.wwid.as_deref().map(|w| format!("{w}, ")).unwrap_or_default();
    let what = format!("{}, {serial}{wwid}{}", device.model, Bytes(looked.capacity_bytes).rounded());
    Err(PrepareError::not_named(name.to_owned(), what, test, &options.overwrite, &identity))
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
        serial: looked.serial.clone(),
        wwid: looked.wwid.clone(),
        thin: looked.provision == Provision::Thin,
        write_cache: looked.write_cache,
        transfer_bytes_max: looked.transfer_bytes_max,
        policy: policy_words(address.policy),
        paths,
    };
    let device = DeviceFacts {
        // A LUN without serial and WWID is named by where it is.
        name: format!("{}/{}", address.target, address.lun),
        model: format!("{} {}", looked.vendor, looked.product).trim().to_owned(),
        serial: looked.serial.clone(),
        wwid: looked.wwid.clone(),
        rotational: looked.rotational.unwrap_or(false),
        write_cache: looked.write_cache.map(cache).unwrap_or_default().to_owned(),
        size_bytes: looked.capacity_bytes,
        logical_block_bytes: looked.block_bytes,
        physical_block_bytes: looked.physical_block_bytes,
        ..DeviceFacts::default()
    };
    MemberFacts {
        path: address.to_string(),
        kind: MemberKind::Lun,
        capacity_bytes: looked.capacity_bytes,
        span_bytes: looked.capacity_bytes,
        block_bytes: looked.block_bytes,
        engine: "iscsi".into(),
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
