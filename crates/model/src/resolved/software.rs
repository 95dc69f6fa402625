//! What software costs that is known by its name only: class values, for a processor of about 2 to 3 GHz.
//!
//! | software | read, us + us/KiB | write, us + us/KiB | what it is |
//! |---|---|---|---|
//! | lvm | 1 (0.5 to 3) * | 1 (0.5 to 3) * | the device mapper looks a place up and hands the I/O on |
//! | md 0, 1, 10 | 1.5 (0.5 to 4) * | 2 (1 to 6) * | the same, and a second I/O for a mirror |
//! | md 5, 6 | 2 (1 to 6) * | 12 (6 to 25) + 0.5 (0.25 to 1.7), and 2 (1 to 6) * | one thread handles all stripes of
//! writes, into which the one that issues puts them |
//! | md 5, 6 with a failed member | as writes | as writes | reads pass the stripe cache too |
//! | zfs | 20 (10 to 50) + 0.35 (0.2 to 0.8) | 40 (15 to 200) + 0.7 (0.4 to 1.5) | checksums, copies, block
//! pointers |
//!
//! `*`: the thread that issues the I/O pays, and as many at once as there are. What all of them share there is a lock,
//! [`MD_LOCK_STRIPES`] and [`MD_LOCK_MIRRORS`]; a stripe set has none (four NVMe drives of a server of 2016 gave
//! 3.8 million reads per second). In a server it is the server's software that pays.
//!
//! They are assumed, but for the slow end of md's time per KiB: on an Atom, the one thread of a RAID5 of nine
//! disks, each of which writes 180 MB/s, streamed about 600 MB/s (S. Li, Linux commit 765d704db1f5, 2017), 1.7
//! us per KiB. `assay calibrate` measures those of a system.

use super::at_corner;
use crate::array::{Array, Device, SoftwareName};
use crate::quantity::Corner;
use crate::raid::{Kind, Shape};

/// Time per I/O, us: slow, nominal and fast; and per KiB.
type Cost = ([f64; 3], [f64; 3]);

const NOTHING: Cost = ([0.0; 3], [0.0; 3]);
const LVM: Cost = ([3.0, 1.0, 0.5], [0.0; 3]);
const MD_READ: Cost = ([4.0, 1.5, 0.5], [0.0; 3]);
const MD_WRITE: Cost = ([6.0, 2.0, 1.0], [0.0; 3]);
const MD_STRIPE_READ: Cost = ([6.0, 2.0, 1.0], [0.0; 3]);
const MD_STRIPE_WRITE: Cost = ([25.0, 12.0, 6.0], [1.7, 0.5, 0.25]);
/// The lock that every read of md 5 and 6 takes, us. Eleven NVMe drives gave 1.07 and 1.26 million reads per second to
/// 64 threads, and 5.3 and 5.9 million under Linux 5.14, which took it out of reads that need no stripe (linux-raid,
/// J. Finlayson, 2021-08-05).
const MD_LOCK_STRIPES: Cost = ([0.95, 0.3, 0.17], [0.0; 3]);
/// The lock of a mirror, us: eight NVMe drives in RAID10 gave 360,000 reads and 154,000 writes per second at once under
/// Linux 6.1, three quarters of the CPU time in it (linux-raid, A. Gholami Rudi, 2023-06-19); later kernels avoid it.
const MD_LOCK_MIRRORS: Cost = ([2.2, 1.2, 0.2], [0.0; 3]);
const ZFS_READ: Cost = ([50.0, 20.0, 10.0], [0.8, 0.35, 0.2]);
const ZFS_WRITE: Cost = ([200.0, 40.0, 15.0], [1.5, 0.7, 0.4]);

/// Share of what its disks stream that a ZFS pool does: slow, nominal and fast. Pools of one to six disks
/// reached 0.65 to 0.75 of the raw rate, one of 24 disks 0.35: records are spread over the disks, and pools are
/// fragmented.
const POOL_LEFT: [f64; 3] = [0.3, 0.7, 1.0];
/// The same of a pool that is nearly empty, of which no part is fragmentation.
const EMPTY_POOL_LEFT: [f64; 3] = [0.45, 0.75, 1.0];
/// What a full pool has lost of that, and one that is full to the part f, f^2 of it: free space is in pieces the
/// sooner, the less there is of it. Assumed: manuals ask for less than 80 %, and two pools of 77 and 91 % streamed at
/// 0.3 to 0.4 of what their disks do.
const LOST_WHEN_FULL: [f64; 3] = [0.33, 0.33, 0.2];
/// Bytes per second of one thread that streams through ZFS: it copies, and it is prefetched so far only. Pools with
/// disks for more stopped at 0.7 to 1 GB/s.
const ONE_STREAM: [f64; 3] = [0.4e9, 0.85e9, 2.0e9];
/// What the intent log adds to the write of its record, ns: a device that takes 48 us by itself was measured at
/// 155 us below a pool, and at 192 us as its log device.
const INTENT_LOG_NS: [f64; 3] = [300_000.0, 115_000.0, 50_000.0];
/// How much of a record ZFS writes for a random write of a part of it, as a power of the whole record: none
/// where all writes of a transaction group meet the same records, all of it where each meets its own.
const RECORD_REWRITTEN: [f64; 3] = [1.0, 0.5, 0.0];

/// Share of the memory of a host that holds records at the slow end: the ARC may take half of that of Linux
/// (`zfs_arc_max`), and other work takes some of it.
const HELD_AT_LEAST: f64 = 0.25;

/// Time to compress and to decompress, us per KiB of data: slow, nominal and fast. LZ4 on one core compresses 422 (2.7
/// GHz), 730 and 780 MB/s of the Silesia corpus, and decompresses 1820, 3900 and 4970 MB/s (its README of r101, v1.8.2
/// and v1.9.0).
const COMPRESS_US_PER_KIB: [f64; 3] = [2.43, 1.40, 1.31];
const DECOMPRESS_US_PER_KIB: [f64; 3] = [0.56, 0.26, 0.21];

/// Returns the bytes that reach the members, as a part of the data of a load.
pub(crate) fn stored(array: &Array, corner: Corner) -> f64 {
    array.target.compression.as_ref().map_or(1.0, |ratio| 1.0 / ratio.rate_at(corner).max(1.0))
}

/// Returns the time that compression takes of an I/O, ns.
pub(crate) fn compression_ns(array: &Array, kind: Kind, bytes: f64, corner: Corner) -> f64 {
    let per_kib = match (&array.target.compression, kind) {
        (None, _) => return 0.0,
        (Some(_), Kind::Write) => COMPRESS_US_PER_KIB,
        (Some(_), Kind::Read) => DECOMPRESS_US_PER_KIB,
    };
    at_corner(per_kib, corner) * bytes / 1024.0 * 1e3
}

/// Returns how much of the streaming rate of its members an array keeps: what lies in pieces is read in pieces, as a
/// stream or at random.
pub(crate) fn pool_left(array: &Array, corner: Corner) -> f64 {
    match (&array.device, array.target.software, &array.raid.full_pct) {
        (Device::Hdd(_), SoftwareName::Zfs, None) => at_corner(POOL_LEFT, corner),
        (Device::Hdd(_), SoftwareName::Zfs, Some(full)) => {
            let lost = at_corner(LOST_WHEN_FULL, corner) * (full.cost_at(corner) / 100.0).powi(2);
            at_corner(EMPTY_POOL_LEFT, corner) * (1.0 - lost)
        }
        _ => 1.0,
    }
}

/// Returns the least time that a thread needs for an I/O, ns: what it reads at random it copies too.
pub(crate) fn thread_ns(name: SoftwareName, bytes: f64, corner: Corner) -> f64 {
    match name {
        SoftwareName::Zfs => bytes / at_corner(ONE_STREAM, corner) * 1e9,
        _ => 0.0,
    }
}

/// Returns what a durable write waits beside the device that makes it durable, ns.
pub(crate) fn intent_log_ns(name: SoftwareName, corner: Corner) -> f64 {
    if name == SoftwareName::Zfs { at_corner(INTENT_LOG_NS, corner) } else { 0.0 }
}

/// Returns the bytes that ZFS writes for a random write.
pub(crate) fn rewritten(bytes: f64, record: f64, corner: Corner) -> f64 {
    bytes * (record / bytes).max(1.0).powf(at_corner(RECORD_REWRITTEN, corner))
}

/// Returns how much of the records of a span memory and the cache in front of the members hold at least.
pub(crate) fn records_held(array: &Array, read_cache: f64, span: f64) -> f64 {
    let memory = array.server.ram.as_ref().map_or(0.0, |ram| ram.lo * HELD_AT_LEAST);
    (memory.max(read_cache) / span.max(1.0)).min(1.0)
}

/// Returns the time of one I/O that the software as a whole is busy for, ns.
pub(crate) fn cost_ns(name: SoftwareName, shape: &Shape, kind: Kind, bytes: f64, corner: Corner) -> f64 {
    time_ns(cost(name, shape, kind), bytes, corner)
}

/// Returns what the software takes of the thread that issues an I/O, ns.
pub(crate) fn caller_ns(name: SoftwareName, shape: &Shape, kind: Kind, corner: Corner) -> f64 {
    let cost = match (name, kind) {
        (SoftwareName::Lvm, _) => LVM,
        (SoftwareName::Md, Kind::Read) if shape.parity == 0 => MD_READ,
        (SoftwareName::Md, Kind::Write) if shape.parity == 0 => MD_WRITE,
        (SoftwareName::Md, Kind::Read) if shape.failed == 0 => MD_STRIPE_READ,
        // It puts the I/O into stripes, which is no less than to find its places in a mirror.
        (SoftwareName::Md, _) => MD_WRITE,
        _ => NOTHING,
    };
    time_ns(cost, 0.0, corner)
}

fn time_ns((per_io, per_kib): Cost, bytes: f64, corner: Corner) -> f64 {
    (at_corner(per_io, corner) + at_corner(per_kib, corner) * bytes / 1024.0) * 1e3
}

fn cost(name: SoftwareName, shape: &Shape, kind: Kind) -> Cost {
    match (name, kind) {
        // What a filer's own software costs is in its controller's figures.
        (SoftwareName::Unknown | SoftwareName::None | SoftwareName::Wafl | SoftwareName::Lvm, _) => NOTHING,
        (SoftwareName::Md, _) if shape.parity == 0 && shape.copies > 1 => MD_LOCK_MIRRORS,
        (SoftwareName::Md, _) if shape.parity == 0 => NOTHING,
        (SoftwareName::Md, Kind::Read) if shape.failed == 0 => MD_LOCK_STRIPES,
        (SoftwareName::Md, _) => MD_STRIPE_WRITE,
        (SoftwareName::Zfs, Kind::Read) => ZFS_READ,
        (SoftwareName::Zfs, Kind::Write) => ZFS_WRITE,
    }
}
