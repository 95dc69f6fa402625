//! Records of ZFS: what its file does not say of them, and what an I/O of a part of one costs.
//!
//! A record has one checksum and is compressed as a whole, so that reading a part of it reads, checks and
//! decompresses all of it (R. Elling, openzfs/zfs, issue 6518, 2017). 256 KiB were read for 4 KiB of records of 1 MiB
//! (issue 10830, 2020); of records of 128 KiB eight drives gave four threads 13,100 reads of 4 KiB per second, 303 us
//! each (issue 16993, 2025).

use std::borrow::Cow;

use super::{IoCost, ResolvedArray, software_is_measured};
use crate::array::{Array, ProtocolKind, Raid, SoftwareName};
use crate::quantity::{Corner, Quantity};
use crate::raid::Kind;

/// `recordsize` of a file system of ZFS by default, bytes (zfsprops(7)).
const RECORD: f64 = 131_072.0;
/// `volblocksize` of a volume of ZFS by default, bytes (zfsprops(7), since OpenZFS 2.2).
const BLOCK_OF_VOLUME: f64 = 16_384.0;

/// The array with the software that its level implies, and with that software's records where nobody gave a size: the
/// 64 KiB of a stripe are no size of ZFS. What is exported as a disk is a volume.
pub(crate) fn of_software(array: &Array) -> Cow<'_, Array> {
    let software = array.software();
    let is_default = array.raid.chunk == Raid::default().chunk;
    if software != SoftwareName::Zfs || (array.target.software == software && !is_default) {
        return Cow::Borrowed(array);
    }
    let mut array = array.clone();
    array.target.software = software;
    if is_default {
        let is_file_system =
            matches!(array.protocol.kind, ProtocolKind::Local | ProtocolKind::Nfs | ProtocolKind::Smb);
        array.raid.chunk = Quantity::assumed(if is_file_system { RECORD } else { BLOCK_OF_VOLUME });
    }
    Cow::Owned(array)
}

/// Bytes of a stripe unit or a record at a corner: larger chunks spread an I/O over fewer members, and larger records
/// are read as a whole.
pub(super) fn chunk_at(array: &Array, corner: Corner) -> f64 {
    match array.software() {
        SoftwareName::Zfs => array.raid.chunk.cost_at(corner),
        _ => array.raid.chunk.rate_at(corner),
    }
}

impl ResolvedArray {
    /// Whether data lie in records, which are read and written as a whole.
    pub(super) fn has_records(&self) -> bool {
        // A record that spreads over a vdev is one also where the file says that no software manages it.
        self.array.target.software == SoftwareName::Zfs || self.shape.spreads_records()
    }

    /// Bytes of the records that an I/O at a random place touches.
    pub(super) fn touched(&self, bytes: f64) -> f64 {
        if self.has_records() { (bytes / self.shape.chunk).ceil().max(1.0) * self.shape.chunk } else { bytes }
    }

    /// Bytes that an I/O moves through a controller: at a random place all of the records that are read, unless they
    /// are read behind it, in a server.
    pub(super) fn passed(&self, kind: Kind, random: bool, bytes: f64) -> f64 {
        match kind {
            Kind::Read if random && !self.array.protocol.kind.has_server() => self.touched(bytes),
            _ => bytes,
        }
    }

    /// Time of the software for what a read at a random place reads beside its own data, ns.
    pub(super) fn rest_of_record_ns(&self, io_cost: &IoCost) -> f64 {
        if io_cost.kind == Kind::Write || !io_cost.random || software_is_measured(&self.array.target) {
            return 0.0;
        }
        let of = |bytes: f64| self.software_ns(Kind::Read, bytes);
        of(self.touched(io_cost.bytes)) - of(io_cost.bytes)
    }
}
