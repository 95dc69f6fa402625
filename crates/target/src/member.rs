//! One target of a run, ready to be opened by its workers.

use std::ops::Range;

use crate::lun::{LunMember, UnmapLimits};
use crate::nfs::{self, NfsMember};
use crate::{Durability, FileMember, IoEngine, PsyncTarget};

/// Block size of targets without their own, bytes: the smallest sector.
const SECTOR_BYTES: u32 = 512;

/// A LUN of a simulated array.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SimulatedMember {
    /// As given in the address: an array that ships, or the path of an array file.
    pub array: String,
    /// Number of the LUN: its position on the command line.
    pub lun: u32,
    /// Number of bytes used.
    pub span_bytes: u64,
    /// Its worker flushes after so many writes; 1 = each is durable before it completes; `None`: never.
    pub flush_every: Option<u32>,
}

/// One target of a run. The kinds are a closed set; a job drives members of one kind.
#[derive(Debug, Clone)]
pub enum Member {
    /// The null target.
    Null {
        /// Its size, bytes.
        capacity_bytes: u64,
    },
    /// A LUN of a simulated array.
    Simulated(SimulatedMember),
    /// A file or block device.
    File(FileMember),
    /// A logical unit over iSCSI.
    Lun(Box<LunMember>),
    /// A file on an NFS server.
    Nfs(Box<NfsMember>),
}

impl Member {
    /// Returns the usable bytes, counted from its start.
    pub fn span_bytes(&self) -> u64 {
        match self {
            Self::Null { capacity_bytes } => *capacity_bytes,
            Self::Simulated(member) => member.span_bytes,
            Self::File(member) => member.span_bytes,
            Self::Lun(member) => member.span_bytes,
            Self::Nfs(member) => member.span_bytes,
        }
    }

    /// Returns the parts that a late copy of a write of the fill may still change, bytes.
    pub fn moved(&self) -> &[Range<u64>] {
        match self {
            Self::Null { .. } | Self::Simulated(_) | Self::File(_) => &[],
            Self::Lun(member) => &member.moved,
            Self::Nfs(member) => &member.moved,
        }
    }

    /// Returns the same member with its first `bytes` usable; never more than before.
    #[must_use]
    pub fn narrowed(mut self, bytes: u64) -> Self {
        let span = match &mut self {
            Self::Null { capacity_bytes } => capacity_bytes,
            Self::Simulated(member) => &mut member.span_bytes,
            Self::File(member) => &mut member.span_bytes,
            Self::Lun(member) => &mut member.span_bytes,
            Self::Nfs(member) => &mut member.span_bytes,
        };
        *span = bytes.min(*span);
        self
    }

    /// Returns the same member with each write made durable before it completes.
    #[must_use]
    pub fn synced(mut self) -> Self {
        match &mut self {
            Self::Null { .. } => {}
            Self::Simulated(member) => member.flush_every = Some(1),
            Self::File(member) => member.durability = Durability::Sync,
            Self::Lun(member) => member.durability = Durability::Sync,
            Self::Nfs(member) => member.durability = Durability::Sync,
        }
        self
    }

    /// Returns the same member, flushed after so many writes. Only a simulated array must know beforehand.
    #[must_use]
    pub fn flushed(mut self, every: u32) -> Self {
        if let Self::Simulated(member) = &mut self {
            member.flush_every = Some(every.max(1));
        }
        self
    }

    /// Returns the unit of offsets and sizes, bytes.
    pub fn block_bytes(&self) -> u32 {
        match self {
            Self::Null { .. } | Self::Simulated(_) => SECTOR_BYTES,
            Self::File(member) => member.block_bytes,
            Self::Lun(member) => member.block_bytes,
            Self::Nfs(_) => nfs::BLOCK_BYTES,
        }
    }

    /// Returns the size of the largest I/O, bytes, if there is a limit.
    pub fn transfer_bytes_max(&self) -> Option<u64> {
        match self {
            Self::Lun(member) => Some(member.transfer_bytes_max),
            _ => None,
        }
    }

    /// Returns why it cannot be flushed between writes; `None` if it can.
    pub fn flush_refusal(&self) -> Option<&'static str> {
        match self {
            Self::Nfs(_) => {
                Some("Assay's NFS client sends COMMIT once, after the step; --sync makes each write durable")
            }
            Self::Null { .. } | Self::Simulated(_) | Self::File(_) | Self::Lun(_) => None,
        }
    }

    /// Returns why its blocks cannot be trimmed; `None` if they can, or only the kernel knows.
    pub fn trim_refusal(&self) -> Option<&'static str> {
        match self {
            Self::Nfs(_) => Some("NFSv3 has no call for it"),
            Self::Lun(member) => member.unmap.err(),
            Self::Simulated(_) => Some("the simulated array has no thin provisioning"),
            Self::Null { .. } | Self::File(_) => None,
        }
    }

    /// Returns the limits of trims, if it reports any.
    pub fn unmap_limits(&self) -> Option<UnmapLimits> {
        match self {
            Self::Lun(member) => member.unmap.ok(),
            _ => None,
        }
    }

    /// Returns the most I/Os that one worker can have in flight on it.
    pub fn depth_max(&self, engine: IoEngine) -> u32 {
        match (self, engine) {
            (Self::File(_), IoEngine::Psync) => PsyncTarget::DEPTH_MAX,
            _ => u32::MAX,
        }
    }
}
