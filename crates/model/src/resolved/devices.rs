//! Members, their flushes and the software that manages them, from their sheets at one corner.

use super::{Media, ResolvedFlash, at_corner};
use crate::array::{Array, Device, Flash, FlashState, Hdd, SoftwareName, Sorting, Target};
use crate::disk::Disk;
use crate::quantity::{Corner, Quantity};
use crate::wire;

/// Writes that a disk sorts per MiB of its own write cache, slow, nominal and fast. Published random-write rates of
/// six disks with 32 to 256 MiB need 0.5 to 2.
const CACHED_WRITES_PER_MIB: [f64; 3] = [0.5, 1.25, 2.5];
/// How much of the order of a queue is by position where nobody says what a disk sorts by: slow, nominal and
/// fast, of disks with a cache below [`LARGE_CACHE`] and of the others. Of published curves two old disks show
/// seek only, and two newer ones (an Exos and a WD) position.
const UNKNOWN_SORTING: [[f64; 3]; 2] = [[0.0, 0.0, 1.0], [0.0, 0.75, 1.0]];
/// Exponent on what a queue of the host's gains on a disk of which nobody says what it sorts by, for the same
/// disks. At 8 outstanding, five disks reached 1.14 to 1.39 times the rate of one where sweeps would give 1.35
/// to 1.6.
const UNKNOWN_QUEUE_GAIN: [[f64; 3]; 2] = [[0.4, 0.65, 1.0], [0.5, 0.8, 1.0]];
/// Cache from which on a disk counts as one of the newer ones, bytes.
const LARGE_CACHE: f64 = 134_217_728.0;
/// I/Os per second of a SATA drive behind a SAS adapter, slow, nominal and fast: five drives behind two adapters
/// reached 45,000 to 74,000, where the link by itself carries 104,000.
const TUNNELLED_IOPS: [f64; 3] = [45_000.0, 62_000.0, 75_000.0];
/// How much longer an SLC cache lasts if the whole span fits in it, slow, nominal and fast: what is written
/// again frees what it replaces. Of eleven drives that were overwritten in 16 GiB, five never left their cache,
/// and four left it as if every write filled it.
const REWRITTEN: [f64; 3] = [1.0, 1.5, f64::INFINITY];
/// How much more a drive programs than it is given, under random writes once its erased blocks are used up: slow,
/// nominal and fast. Greedy garbage collection gives 6 to 7 with 7 % of spare blocks, about 2.5 with 28 %
/// (Desnoyers 2012).
const WRITE_AMPLIFICATION: [f64; 3] = [10.0, 4.0, 1.5];
/// A flush of a drive whose sheet says nothing of it, ns: slow, nominal and fast. Consumer drives reach 150 to
/// 2,000 durable 4 KiB writes per second; a drive that survives a power cut still answers the command.
const FLUSH_UNKNOWN_NS: [f64; 3] = [8e6, 1e6, 2e4];
/// I/Os that ZFS keeps in flight on a member for each kind (`zfs_vdev_sync_read_max_active` and its sisters).
const ZFS_MEMBER_QUEUE: f64 = 10.0;
/// Threads that pay the cost of ZFS at once where the file does not say.
const ZFS_CORES: [f64; 3] = [2.0, 4.0, 8.0];
/// Size of the commands of a stream on the link of a drive, bytes.
const PORT_PIECE: f64 = 1_048_576.0;

/// A flush: on a disk the platter comes round once more; on a drive what its sheet says.
pub(super) fn flush_time(array: &Array, media: &Media, corner: Corner) -> f64 {
    match (media, &array.device) {
        (Media::Disk(disk, _), _) => disk.revolution_ns,
        (Media::Flash(_), Device::Ssd(Flash { flush_ms: Some(q), .. })) => q.cost_at(corner) * 1e6,
        (Media::Flash(_), _) => at_corner(FLUSH_UNKNOWN_NS, corner),
    }
}

/// Threads that pay the software's cost at once.
pub(super) fn cores_of(array: &Array, corner: Corner) -> f64 {
    let cores = &array.target.cores;
    let is_given = cores != &Target::default().cores;
    if array.target.software == SoftwareName::Zfs && !is_given {
        return at_corner(ZFS_CORES, corner);
    }
    cores.rate_at(corner)
}

/// I/Os that the software keeps in flight on a member; infinite = no limit.
pub(super) fn member_queue(array: &Array, corner: Corner) -> f64 {
    match (&array.raid.member_queue, array.target.software) {
        (Some(q), _) => q.rate_at(corner),
        (None, SoftwareName::Zfs) => ZFS_MEMBER_QUEUE,
        (None, _) => f64::INFINITY,
    }
}

pub(super) fn resolve_disk(hdd: &Hdd, corner: Corner, queue: f64) -> Disk {
    let ms = |q: &Quantity| q.cost_at(corner) * 1e6;
    // Streams pass the link of a disk in its largest commands.
    let port = wire::port_mb_s(hdd.link, PORT_PIECE) * 1e6;
    let newer = usize::from(hdd.write_cache.as_ref().is_some_and(|cache| cache.value >= LARGE_CACHE));
    Disk {
        revolution_ns: 60e9 / hdd.rpm.rate_at(corner),
        overhead_ns: ms(&hdd.overhead_ms),
        seek: Disk::seek_curve(ms(&hdd.seek_track_ms), ms(&hdd.seek_avg_ms), ms(&hdd.seek_full_ms)),
        outer_bytes_s: hdd.outer_mb_s.rate_at(corner) * 1e6,
        inner_bytes_s: hdd.inner_mb_s.rate_at(corner) * 1e6,
        port_bytes_s: port,
        track: hdd.outer_mb_s.rate_at(corner) * 1e6 * 60.0 / hdd.rpm.rate_at(corner) / hdd.capacity.value,
        capacity_bytes: hdd.capacity.value,
        ncq: hdd.ncq.rate_at(corner).min(queue),
        ncq_gain: hdd.ncq_gain.rate_at(corner),
        queue_gain: match hdd.sorting {
            Sorting::Position | Sorting::Seek => 1.0,
            Sorting::Unknown => at_corner(UNKNOWN_QUEUE_GAIN[newer], corner),
        },
        by_position: match hdd.sorting {
            Sorting::Position => 1.0,
            Sorting::Seek => 0.0,
            Sorting::Unknown => at_corner(UNKNOWN_SORTING[newer], corner),
        },
        cached_writes: hdd.write_cache.as_ref().map_or(0.0, |cache| {
            (cache.rate_at(corner) / 1_048_576.0 * at_corner(CACHED_WRITES_PER_MIB, corner)).max(1.0)
        }),
    }
}

/// A drive of which `span_bytes` are used.
pub(super) fn resolve_flash(array: &Array, ssd: &Flash, corner: Corner, span_bytes: f64) -> ResolvedFlash {
    let rate = |q: &Quantity| q.rate_at(corner);
    let steady = match ssd.state {
        FlashState::Fresh => false,
        FlashState::Steady => true,
        FlashState::Unknown => corner == Corner::Slow,
    };
    let write_mb_s = match &ssd.slc_full_mb_s {
        Some(q) if steady => rate(q),
        _ => rate(&ssd.write_mb_s),
    };
    let port = wire::port_mb_s(ssd.link, PORT_PIECE) * 1e6;
    let commands = wire::port_mb_s(ssd.link, 4096.0) * 1e6 / 4096.0;
    let through = commands.min(tunnelled(array, corner));
    let tunnel_ns = 1e9 / through - 1e9 / commands;
    let alone_ns = [&ssd.qd1_read_iops, &ssd.qd1_write_iops].map(|q| 1e9 / rate(q) + tunnel_ns);
    let queue = member_queue(array, corner);
    // No more I/Os in flight than the software lets a member have.
    let capped = |iops: f64, alone_ns: f64| iops.min(through).min(queue * 1e9 / alone_ns);
    let write_iops = if steady { steady_writes(ssd, write_mb_s, corner) } else { rate(&ssd.write_iops_max) };
    let slc = ssd.slc.as_ref().filter(|_| !steady).map_or(0.0, rate);
    ResolvedFlash {
        dies: rate(&ssd.dies),
        alone_ns,
        iops_max: [capped(rate(&ssd.read_iops_max), alone_ns[0]), capped(write_iops, alone_ns[1])],
        bytes_s: [(rate(&ssd.read_mb_s) * 1e6).min(port), (write_mb_s * 1e6).min(port)],
        is_steady: steady && ssd.steady_write_iops.is_some(),
        slc_bytes: if span_bytes <= slc { slc * at_corner(REWRITTEN, corner) } else { slc },
        slc_full_bytes_s: (ssd.slc_full_mb_s.as_ref().map_or(write_mb_s, rate) * 1e6).min(port),
    }
}

/// I/Os per second that the adapter in front of a drive lets through.
fn tunnelled(array: &Array, corner: Corner) -> f64 {
    if array.controller.tunnels_sata { at_corner(TUNNELLED_IOPS, corner) } else { f64::INFINITY }
}

/// Random writes per second once the erased blocks are used up. At the fast end a drive with an SLC cache never
/// leaves it: a region that is small beside the cache may stay there, whatever the rest of the drive holds.
fn steady_writes(ssd: &Flash, write_mb_s: f64, corner: Corner) -> f64 {
    let fresh = ssd.write_iops_max.rate_at(corner);
    match &ssd.steady_write_iops {
        Some(q) => q.rate_at(corner),
        None if ssd.slc.is_some() && corner == Corner::Fast => fresh,
        None => fresh.min(write_mb_s * 1e6 / 4096.0 / at_corner(WRITE_AMPLIFICATION, corner)),
    }
}
