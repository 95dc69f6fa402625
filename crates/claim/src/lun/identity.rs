//! Verifies a logical unit at every login: another one may have got its number meanwhile.

use assay_iscsi::scsi::cdb::{self, Fua};
use assay_iscsi::{CommandError, Initiator, Transfer};

use assay_target::lun::{LunGuard, LunMember, config};
use assay_target::{IoBuf, OpenError};

use crate::fingerprint::NOT_OWN;
use crate::fingerprint::{END_BYTES, HeadCheck, ends_of, is_own};

/// Size of one read, bytes; within the limits of modest targets.
const READ_BYTES: usize = 32 << 10;

/// Identity of a logical unit, and of its content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LunIdentity {
    /// Unit serial number, if any.
    pub serial: Option<String>,
    /// World-wide name, if any.
    pub wwid: Option<String>,
    /// Size, bytes.
    pub capacity_bytes: u64,
    /// Digest of the data at both ends.
    pub ends: u64,
    /// Index of a portal of the address whose path was up.
    pub portal: usize,
}

impl LunIdentity {
    /// Returns the identity of the unit that an initiator is logged in to. `ends`: as of [`ends`].
    pub(super) fn of<B: AsRef<[u8]> + AsMut<[u8]>>(initiator: &mut Initiator<B>, ends: u64) -> Self {
        let is_up = |path: &assay_iscsi::PathStatus| path.is_up;
        Self {
            serial: initiator.serial().ok().flatten(),
            wwid: initiator.wwid().map(str::to_owned),
            capacity_bytes: initiator.capacity().bytes(),
            ends,
            portal: initiator.stats().iter().position(is_up).unwrap_or(0),
        }
    }

    /// Returns the difference in words.
    fn difference(&self, now: &Self) -> Option<String> {
        let words = |name: &Option<String>| name.clone().unwrap_or_else(|| "none".to_owned());
        if self.capacity_bytes != now.capacity_bytes {
            Some(format!("its size was {} bytes and is {}", self.capacity_bytes, now.capacity_bytes))
        } else if self.serial != now.serial {
            Some(format!("its serial number was {} and is {}", words(&self.serial), words(&now.serial)))
        } else if self.wwid != now.wwid {
            Some(format!("its WWID was {} and is {}", words(&self.wwid), words(&now.wwid)))
        } else if self.ends != now.ends {
            Some("the data at its start or end has changed".to_owned())
        } else {
            None
        }
    }
}

/// Returns the digest of the data at both ends.
pub(super) fn ends<B: AsRef<[u8]> + AsMut<[u8]>>(initiator: &mut Initiator<B>) -> Result<u64, CommandError> {
    let capacity_bytes = initiator.capacity().bytes();
    ends_of(capacity_bytes, |offset_bytes, bytes| read(initiator, offset_bytes, bytes))
}

fn read<B: AsRef<[u8]> + AsMut<[u8]>>(
    initiator: &mut Initiator<B>,
    offset_bytes: u64,
    bytes: usize,
) -> Result<Vec<u8>, CommandError> {
    let block = initiator.capacity().block_bytes as usize;
    let mut data = Vec::with_capacity(bytes);
    while data.len() < bytes {
        let piece = READ_BYTES.min(bytes - data.len());
        let lba = (offset_bytes + data.len() as u64) / block as u64;
        let blocks = u32::try_from(piece / block).expect("at most 32 KiB");
        let transfer = Transfer::In(u16::try_from(piece).expect("at most 32 KiB"));
        let read = initiator.execute("READ", cdb::read(lba, blocks, Fua::Off), transfer)?;
        if read.is_empty() {
            break;
        }
        data.extend(read);
    }
    Ok(data)
}

/// The unit that a run has inspected, which every login of a worker must find.
#[derive(Debug, Clone)]
pub struct LunClaim {
    /// The inspected unit.
    pub looked: LunIdentity,
    /// Required content at its start.
    pub head: HeadCheck,
}

impl LunGuard for LunClaim {
    /// Fails if a session leads to another unit than the inspected one.
    fn check(&self, member: &LunMember, initiator: &mut Initiator<IoBuf>) -> Result<(), OpenError> {
        let now = LunIdentity::of(initiator, self.looked.ends);
        changed(member, self.looked.difference(&now))?;
        if self.head == HeadCheck::Nothing {
            return Ok(());
        }
        let bytes = usize::try_from(END_BYTES.min(member.span_bytes)).expect("an end is short");
        let head = read(initiator, 0, bytes);
        let head =
            head.map_err(|e| OpenError::Lun { lun: member.address.to_string(), why: e.to_string() })?;
        changed(member, (!is_own(&head)).then(|| NOT_OWN.to_owned()))
    }
}

impl LunClaim {
    /// Logs in over one path, and fails if the unit differs from the inspected one, including the bytes at its ends.
    pub fn confirm(&self, member: &LunMember) -> Result<(), OpenError> {
        let failed = |why: String| OpenError::Lun { lun: member.address.to_string(), why };
        let mut address = member.address.clone();
        let portal = self.looked.portal / usize::from(address.sessions.max(1));
        if let Some(portal) = address.portals.get(portal).cloned() {
            address.portals = vec![portal];
        }
        let config = config(&address, member.credentials.as_ref(), 4);
        let mut initiator =
            Initiator::<Vec<u8>>::connect(config).map_err(|error| failed(error.to_string()))?;
        let ends = ends(&mut initiator).map_err(|error| failed(error.to_string()))?;
        changed(member, self.looked.difference(&LunIdentity::of(&mut initiator, ends)))
    }
}

fn changed(member: &LunMember, what: Option<String>) -> Result<(), OpenError> {
    match what {
        None => Ok(()),
        Some(what) => Err(OpenError::Changed { target: member.address.to_string(), what }),
    }
}
