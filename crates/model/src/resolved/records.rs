//! Records of ZFS: what its file does not say of them, and what an I/O of a part of one costs.
//!
//! A record has one checksum and is compressed as a whole, so that reading a part of it reads, checks and
//! decompresses all of it (R. Elling, openzfs/zfs, issue 6518, 2017). 256 KiB were read for 4 KiB of records of 1 MiB
//! (issue 10830, 2020); of records of 128 KiB eight drives gave four threads 13,100 reads of 4 KiB per second, 303 us
//! each (issue 16993, 2025).

use std::borrow::Cow;

use super::{IoCost, ResolvedArray, software, software_is_measured};
use crate::array::{Array, ProtocolKind, Raid, SoftwareName};
use crate::quantity::{Corner, Quantity};
use crate::raid::{Kind, Phase};

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

    /// Adds, at the slow end, what a write of a part of a record waits for and keeps busy: the rest of it is read first
    /// unless memory holds it. Nominally none is read: the simulation has no such stream beside visits.
    pub(super) fn read_record_first(&self, io_cost: &mut IoCost) {
        let is_stream = io_cost.phases[0].visits == 0;
        let Some((missed, read)) = self.read_of_record(io_cost.bytes).filter(|_| is_stream) else { return };
        let (differs, even) = self.side_by_side_ns(&read, 1.0);
        io_cost.stream_ns += self.reads_records_ns(io_cost.bytes);
        io_cost.delay_ns += missed * (differs + even);
        if !software_is_measured(&self.array.target) {
            io_cost.cpu_ns += missed * self.software_ns(Kind::Read, self.shape.chunk);
        }
    }

    /// How long all members are busy with that, ns: as with a stream over them, as records are spread.
    pub(super) fn reads_records_ns(&self, bytes: f64) -> f64 {
        self.read_of_record(bytes).map_or(0.0, |(missed, read)| {
            missed * self.visit_ns(&read, 1.0) * f64::from(read.visits) / f64::from(self.shape.alive())
        })
    }

    /// The read of a record before a part of it is written, and how often memory does not hold it.
    fn read_of_record(&self, bytes: f64) -> Option<(f64, Phase)> {
        let record = self.shape.chunk;
        let held = software::records_held(&self.array, self.read_cache_bytes, self.span_bytes);
        if self.corner != Corner::Slow || !self.has_records() || bytes % record < 1.0 || held >= 1.0 {
            return None;
        }
        let stored = software::stored(&self.array, self.corner);
        let [read, _] = self.shape.random_read(record).map(|p| Phase { bytes: p.bytes * stored, ..p });
        Some((1.0 - held, read))
    }
}
