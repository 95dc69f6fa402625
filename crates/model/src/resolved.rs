//! An array made ready for computing: at one corner of its ranges, on one span, in ns and bytes.
//!
//! Both the closed form and the simulation start from a [`ResolvedArray`] and from the [`IoCost`] of each class of
//! I/O, so that they differ in queueing only, never in what an I/O costs.

use serde::Serialize;
use std::collections::BTreeMap;
use std::sync::Arc;

use crate::array::{Array, Device, Flash, FlashState, Hdd, ProtocolKind, Sorting};
use crate::disk::{Disk, ServiceTable};
use crate::num::share;
use crate::quantity::{Corner, Quantity};
use crate::raid::{Kind, Phase, Shape};
use crate::wire;
use crate::workload::{Access, Region, Workload};

/// Fixed seed of the service tables: they are part of the model, not of a simulation run.
const TABLE_SEED: u64 = 0xA55A;
/// The elevator of a write-back cache sorts at most this many writes per member.
const DESTAGE_QUEUE: f64 = 256.0;
/// Writes that a disk sorts per MiB of its own write cache, slow, nominal and fast. Published random-write rates of
/// six disks with 32 to 256 MiB need 0.5 to 2.
const CACHED_WRITES_PER_MIB: [f64; 3] = [0.5, 1.25, 2.5];
/// How much of the order of a queue is by position where nobody says what a disk sorts by. Of four published curves
/// two show seek only, and two (an Exos and a WD) position.
const UNKNOWN_SORTING: [f64; 3] = [0.0, 0.25, 1.0];
/// How much more a drive programs than it is given, under random writes once its erased blocks are used up: slow,
/// nominal and fast. Greedy garbage collection gives 6 to 7 with 7 % of spare blocks, about 2.5 with 28 %
/// (Desnoyers 2012).
const WRITE_AMPLIFICATION: [f64; 3] = [10.0, 4.0, 1.5];
/// A transfer goes through in pieces of this size, bytes: the next stage starts when the first piece is there.
const PIECE: f64 = 262_144.0;

/// Service tables already simulated. Keep one for a series of predictions; each table takes milliseconds.
#[derive(Debug, Default)]
pub struct Tables {
    known: BTreeMap<[u64; 13], Arc<ServiceTable>>,
}

impl Tables {
    fn get(&mut self, disk: &Disk, stroke: f64) -> Arc<ServiceTable> {
        let (c, a, b) = disk.seek;
        let key = [
            disk.revolution_ns,
            disk.overhead_ns,
            c,
            a,
            b,
            disk.outer_bytes_s,
            disk.inner_bytes_s,
            disk.ncq_gain,
            disk.ncq,
            disk.by_position,
            disk.cached_writes,
            disk.capacity_bytes,
            stroke,
        ]
        .map(f64::to_bits);
        let make = || Arc::new(ServiceTable::simulate(disk, stroke, TABLE_SEED));
        Arc::clone(self.known.entry(key).or_insert_with(make))
    }
}

/// Whether the target's software is part of the prediction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum Software {
    /// There is none between the host and the controller.
    None,
    /// Its cost is in the array file.
    Known,
    /// There is some, of unknown cost: predictions are upper bounds of the hardware.
    Unknown,
}

/// The medium of one member.
#[derive(Debug, Clone)]
pub enum Media {
    /// A rotating disk and its service table on this span.
    Disk(Disk, Arc<ServiceTable>),
    /// A solid-state drive.
    Flash(ResolvedFlash),
}

/// A solid-state drive at one corner.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ResolvedFlash {
    /// Dies that work at once.
    pub dies: f64,
    /// Time of a 4 KiB read or write at one outstanding, ns.
    pub alone_ns: [f64; 2],
    /// Controller limit, I/Os per second.
    pub iops_max: [f64; 2],
    /// Interface limit, bytes/s; writes while the SLC cache takes them.
    pub bytes_s: [f64; 2],
    /// SLC write cache left to fill, bytes; 0 = none.
    pub slc_bytes: f64,
    /// Write limit after it, bytes/s.
    pub slc_full_bytes_s: f64,
}

const fn by(kind: Kind) -> usize {
    match kind {
        Kind::Read => 0,
        Kind::Write => 1,
    }
}

impl ResolvedFlash {
    /// Time the controller and the interface spend on one I/O, ns; nothing of the drive is faster.
    #[must_use]
    pub fn controller_ns(&self, kind: Kind, bytes: f64) -> f64 {
        (1e9 / self.iops_max[by(kind)]).max(bytes / self.bytes_s[by(kind)] * 1e9)
    }

    /// Time a die is busy with one I/O, ns: the latency alone without the controller's share.
    #[must_use]
    pub fn die_ns(&self, kind: Kind) -> f64 {
        (self.alone_ns[by(kind)] - self.controller_ns(kind, 4096.0)).max(0.0)
    }

    /// I/Os per second with `n` outstanding: `min(D/t (1 - (1 - 1/D)^n), controller, interface/size)`.
    ///
    /// n requests over D dies at random keep `D (1 - (1 - 1/D)^n)` of them busy; t is the latency alone: the die, and
    /// then the controller and the interface for the bytes of this I/O.
    #[must_use]
    pub fn rate(&self, kind: Kind, bytes: f64, n: f64) -> f64 {
        let busy = self.dies * (1.0 - (1.0 - 1.0 / self.dies).powf(n));
        let controller_ns = self.controller_ns(kind, bytes);
        (busy / (self.die_ns(kind) + controller_ns) * 1e9).min(1e9 / controller_ns)
    }
}

/// An array at one corner on one span.
#[derive(Debug, Clone)]
pub struct ResolvedArray {
    /// The medium of each member.
    pub media: Media,
    /// RAID geometry.
    pub shape: Shape,
    /// Sequential bandwidth of all members together: \[read, write\], bytes/s of user data.
    pub stream_bytes_s: [f64; 2],
    /// Read cache, bytes; 0 = none.
    pub read_cache_bytes: f64,
    /// Write-back cache, bytes; 0 = write-through.
    pub write_back_bytes: f64,
    /// CPUs that pay the software cost at once.
    pub cores: f64,
    /// I/Os the target works on at once; infinite = no limit.
    pub workers: f64,
    /// Payload ceiling of one path is computed per size; this is how many paths a session uses.
    pub paths: f64,
    /// LUN queue depth; infinite = no limit.
    pub queue_depth: f64,
    /// Whether the software cost is known.
    pub software: Software,
    /// The span, bytes.
    pub span_bytes: f64,
    /// What a write waits for its commit to stable storage, ns; 0 = nothing to wait for.
    pub commit_ns: f64,
    array: Array,
    corner: Corner,
}

/// Everything one class of I/O costs, in ns of the resource named.
#[derive(Debug, Clone, PartialEq)]
pub struct IoCost {
    /// Read or write.
    pub kind: Kind,
    /// Whether the position is random.
    pub random: bool,
    /// Bytes of user data.
    pub bytes: f64,
    /// CPU of the host, as if all workers were one.
    pub host_ns: f64,
    /// Target CPU.
    pub cpu_ns: f64,
    /// One path's wire, in the direction of the data.
    pub wire_ns: f64,
    /// Time that no resource is busy: host, round trips, R2T.
    pub delay_ns: f64,
    /// The single random-write queue of the target.
    pub serial_ns: f64,
    /// Controller or bus.
    pub controller_ns: f64,
    /// Members streaming, as if they were one device.
    pub stream_ns: f64,
    /// Part of the transfer on the link that passes while the members transfer too.
    pub overlap_ns: f64,
    /// Visits of single members.
    pub phases: [Phase; 2],
    /// Probability that the read cache answers.
    pub hit: f64,
    /// Whether a write is answered when it is in the write-back cache.
    pub buffered: bool,
    /// I/Os sent over one path before the next.
    pub ios_per_turn: f64,
}

/// A class of I/O and its share of all.
#[derive(Debug, Clone, PartialEq)]
pub struct Class {
    /// Share of all I/Os, in (0, 1\].
    pub share: f64,
    /// Its cost.
    pub io_cost: IoCost,
}

impl ResolvedArray {
    /// Resolves an array at a corner, for positions within a region of its data.
    #[must_use]
    pub fn new(array: &Array, corner: Corner, region: Region, tables: &mut Tables) -> Self {
        let shape = Shape::of(&array.raid);
        let member = match &array.device {
            Device::Hdd(hdd) => hdd.capacity.value,
            Device::Ssd(ssd) => ssd.capacity.value,
        };
        let usable = member * f64::from(shape.members) * shape.data_fraction();
        let fraction = share(region.reach_bytes, usable).max(1e-6);
        let from = share(region.start_bytes, usable).min(1.0 - fraction);
        let (media, member_bytes_s) = match &array.device {
            Device::Hdd(hdd) => {
                let disk = resolve_disk(hdd, corner);
                let stroke = disk.stroke_between(from, fraction);
                let rate = in_pieces(&disk, disk.mean_rate(from, fraction), stroke, region, &shape);
                let table = tables.get(&disk, stroke);
                (Media::Disk(disk, table), [rate, rate])
            }
            Device::Ssd(ssd) => {
                let flash = resolve_flash(ssd, corner);
                (Media::Flash(flash), flash.bytes_s)
            }
        };
        let optional = |q: &Option<Quantity>| q.as_ref().map_or(0.0, |q| q.rate_at(corner));
        let unlimited = |q: &Option<Quantity>| q.as_ref().map_or(f64::INFINITY, |q| q.rate_at(corner));
        let nfs_sync = array.protocol.nfs_sync && !array.controller.battery;
        let commit_ns = if nfs_sync { commit_time(&media) } else { 0.0 };
        Self {
            media,
            stream_bytes_s: [
                member_bytes_s[0] * shape.read_streams(),
                member_bytes_s[1] * shape.write_streams(),
            ],
            shape,
            read_cache_bytes: optional(&array.controller.read_cache),
            write_back_bytes: if nfs_sync { 0.0 } else { optional(&array.controller.write_back) },
            cores: array.target.cores.rate_at(corner),
            workers: unlimited(&array.target.workers),
            paths: wire::usable_paths(&array.paths),
            queue_depth: unlimited(&array.initiator.queue_depth),
            software: software_of(array),
            span_bytes: region.span_bytes,
            commit_ns,
            array: array.clone(),
            corner,
        }
    }

    /// The same array after every member's SLC cache is full; `None` when there is none.
    #[must_use]
    pub fn after_slc(&self) -> Option<Self> {
        let Media::Flash(flash) = self.media else { return None };
        if flash.slc_bytes <= 0.0 {
            return None;
        }
        let mut slow = self.clone();
        let bytes_s = [flash.bytes_s[0], flash.slc_full_bytes_s];
        slow.media = Media::Flash(ResolvedFlash { bytes_s, slc_bytes: 0.0, ..flash });
        slow.stream_bytes_s[1] = flash.slc_full_bytes_s * self.shape.write_streams();
        Some(slow)
    }

    /// The classes of a workload with their shares; shares sum to 1.
    #[must_use]
    pub fn classes(&self, workload: &Workload) -> Vec<Class> {
        let total: f64 = workload.mix.iter().map(|a| a.weight).sum();
        let mut classes = Vec::with_capacity(workload.mix.len() * 4);
        for access in &workload.mix {
            for (kind, kind_pct) in [(Kind::Read, access.read_pct), (Kind::Write, 100.0 - access.read_pct)] {
                for (random, random_pct) in [(true, access.random_pct), (false, 100.0 - access.random_pct)] {
                    let share = access.weight / total * kind_pct / 100.0 * random_pct / 100.0;
                    if share > 0.0 {
                        let hit = self.hit(access, workload, kind, random);
                        let mut io_cost = IoCost { hit, ..self.io_cost(kind, random, access.size.0 as f64) };
                        if !random {
                            io_cost.serial_ns *= access.random_pct / 100.0;
                        }
                        io_cost.host_ns /= f64::from(workload.workers.max(1));
                        classes.push(Class { share, io_cost });
                    }
                }
            }
        }
        classes
    }

    /// Probability of a read-cache hit after warm-up: `min(1, C / span)` for random reads; a sequential read
    /// hits only when its whole region stays cached, be it the span or the stretch between two rewinds.
    fn hit(&self, access: &Access, workload: &Workload, kind: Kind, random: bool) -> f64 {
        if kind == Kind::Write || self.read_cache_bytes <= 0.0 {
            return 0.0;
        }
        let ratio = (self.read_cache_bytes / self.span_bytes).min(1.0);
        if random {
            return ratio;
        }
        let rewound = workload.reconnect_every.filter(|_| access.random_pct == 0.0);
        let stretch = rewound.map_or(self.span_bytes, |n| f64::from(n) * access.size.0 as f64);
        if stretch.min(self.span_bytes) <= self.read_cache_bytes { 1.0 } else { 0.0 }
    }

    /// The cost of one I/O that misses the read cache; a sequential write is taken to follow a random I/O.
    #[must_use]
    pub fn io_cost(&self, kind: Kind, random: bool, bytes: f64) -> IoCost {
        let array = &self.array;
        let wire_mb_s = wire::ceiling_mb_s(&array.link, &array.protocol, bytes);
        let phases = match (random, kind) {
            (false, _) => [Phase::NONE; 2],
            (true, Kind::Read) => self.shape.random_read(bytes),
            (true, Kind::Write) => self.shape.random_write(bytes),
        };
        let streams = phases[0].visits == 0;
        let round_trip = array.protocol.round_trip_us.cost_at(self.corner) * 1e3;
        let r2t = if kind == Kind::Write { wire::r2t_round_trips(&array.protocol, bytes) } else { 0.0 };
        let wire_ns = bytes / (wire_mb_s * 1e6) * 1e9;
        IoCost {
            kind,
            random,
            bytes,
            host_ns: array.initiator.op_us.cost_at(self.corner) * 1e3,
            cpu_ns: self.software_ns(kind, bytes),
            wire_ns,
            delay_ns: round_trip * (1.0 + r2t) + if kind == Kind::Write { self.commit_ns } else { 0.0 },
            serial_ns: self.serial_ns(kind, random),
            controller_ns: self.controller_ns(kind, bytes),
            stream_ns: if streams { bytes / self.stream_bytes_s[by(kind)] * 1e9 } else { 0.0 },
            overlap_ns: self.overlap_ns(kind, bytes, wire_ns),
            phases,
            hit: 0.0,
            // Streams pass a write-back cache in front of disks: full stripes are flushed as they form.
            buffered: kind == Kind::Write
                && self.write_back_bytes > 0.0
                && (!streams || !self.streams_ahead()),
            ios_per_turn: wire::ios_per_turn(&array.paths, bytes),
        }
    }

    /// A drive on a local bus hands a large transfer on while it reads or writes the rest of it. Disks stream ahead
    /// anyway, and a target's software takes whole commands.
    fn overlap_ns(&self, kind: Kind, bytes: f64, wire_ns: f64) -> f64 {
        let array = &self.array;
        let passes_on =
            !matches!(array.protocol.kind, ProtocolKind::Iscsi | ProtocolKind::Nfs) && !self.streams_ahead();
        if !passes_on || bytes <= PIECE {
            return 0.0;
        }
        let members_ns = bytes / self.stream_bytes_s[by(kind)] * 1e9;
        wire_ns.min(members_ns) * (1.0 - PIECE / bytes)
    }

    /// T = a + b*size, with a paid once per command when the initiator splits large I/Os.
    fn software_ns(&self, kind: Kind, bytes: f64) -> f64 {
        let target = &self.array.target;
        let (a, b) = match kind {
            Kind::Read => (&target.read_op_us, &target.read_kib_us),
            Kind::Write => (&target.write_op_us, &target.write_kib_us),
        };
        let us = |q: &Option<Quantity>| q.as_ref().map_or(0.0, |q| q.cost_at(self.corner));
        let commands = self.array.initiator.split.as_ref().map_or(1.0, |s| (bytes / s.value).ceil().max(1.0));
        (us(a) * commands + us(b) * bytes / 1024.0) * 1e3
    }

    fn serial_ns(&self, kind: Kind, random: bool) -> f64 {
        let target = &self.array.target;
        let Some(serial) = target.serial_write_ms.as_ref().filter(|_| kind == Kind::Write) else {
            return 0.0;
        };
        let factor = if random { 1.0 } else { target.serial_sequential.cost_at(self.corner) };
        serial.cost_at(self.corner) * 1e6 * factor
    }

    fn controller_ns(&self, kind: Kind, bytes: f64) -> f64 {
        let c = &self.array.controller;
        let rate = match kind {
            Kind::Read => &c.read_mb_s,
            Kind::Write => &c.write_mb_s,
        };
        let by_rate = rate.as_ref().map_or(0.0, |r| bytes / (r.rate_at(self.corner) * 1e6) * 1e9);
        by_rate.max(c.iops_max.as_ref().map_or(0.0, |i| 1e9 / i.rate_at(self.corner)))
    }

    /// Mean time between departures of a member that has `n` requests of this kind to choose from, ns.
    #[must_use]
    pub fn visit_ns(&self, phase: &Phase, n: f64) -> f64 {
        match &self.media {
            Media::Disk(disk, table) => table.at(phase.kind, n) + phase.bytes / disk.outer_bytes_s * 1e9,
            Media::Flash(flash) => 1e9 / flash.rate(phase.kind, phase.bytes, n),
        }
    }

    /// As [`Self::visit_ns`], for writes destaged from a write-back cache that sorts a long queue.
    #[must_use]
    pub fn destage_ns(&self, phase: &Phase) -> f64 {
        let waiting = self.write_back_bytes / phase.bytes.max(512.0) / f64::from(self.shape.members);
        match &self.media {
            Media::Disk(disk, table) => {
                table.destage_at(waiting.min(DESTAGE_QUEUE)) + phase.bytes / disk.outer_bytes_s * 1e9
            }
            Media::Flash(flash) => 1e9 / flash.rate(phase.kind, phase.bytes, waiting),
        }
    }

    /// Whether streaming runs ahead of the host: disks read ahead and collect sequential writes, so that a
    /// stream limits the rate but adds no latency until it does.
    #[must_use]
    pub fn streams_ahead(&self) -> bool {
        matches!(self.media, Media::Disk(..))
    }

    /// I/Os of this size that stream over drives side by side: members over chunks of one I/O.
    #[must_use]
    pub fn stream_parallel(&self, bytes: f64) -> f64 {
        let members = f64::from(self.shape.members);
        members / (bytes / self.shape.chunk).ceil().clamp(1.0, members)
    }

    /// Mean of the slowest of `visits` that run side by side, over the mean of one.
    ///
    /// Exponential visits give the harmonic number H(w); positioning times vary about half as much, so half of
    /// the excess is taken (Varki's fork-join approximation has the same form). Drives take the same time each.
    #[must_use]
    pub fn fork_join(&self, visits: u32) -> f64 {
        match self.media {
            Media::Disk(..) => {
                let harmonic: f64 = (1..=visits.max(1)).map(|i| 1.0 / f64::from(i)).sum();
                1.0 + (harmonic - 1.0) * 0.5
            }
            Media::Flash(_) => 1.0,
        }
    }

    /// What the members are called in a sentence.
    #[must_use]
    pub fn members_name(&self) -> String {
        let what = if matches!(self.media, Media::Disk(..)) { "disk" } else { "SSD" };
        let n = self.shape.members;
        if n == 1 { format!("the {what}") } else { format!("{n} {what}s") }
    }

    /// The array this was made from.
    #[must_use]
    pub fn array(&self) -> &Array {
        &self.array
    }
}

/// Rate of a member that streams through a region in pieces: between two of them it seeks a third of the region's
/// stroke (the mean distance of two random places) and waits half a revolution.
/// ```text
///   rate' = b / (b / rate + (pieces - 1) / pieces * (seek(stroke / 3) + revolution / 2)),  b = bytes of a piece per
/// member
/// ```
fn in_pieces(disk: &Disk, rate: f64, stroke: f64, region: Region, shape: &Shape) -> f64 {
    let bytes = region.span_bytes / region.pieces / (f64::from(shape.members) * shape.data_fraction());
    let move_ns = disk.seek_ns(stroke / 3.0) + disk.revolution_ns / 2.0;
    let moves = (region.pieces - 1.0) / region.pieces;
    bytes / (bytes / rate + moves * move_ns / 1e9)
}

/// A flush: on a disk the platter comes round once more; on a drive one more program operation. Commits of
/// several writes share one flush, so this is a wait and not a load.
fn commit_time(media: &Media) -> f64 {
    match media {
        Media::Disk(disk, _) => disk.revolution_ns,
        Media::Flash(flash) => flash.alone_ns[1],
    }
}

/// Whether the target's software is absent, known or unknown.
#[must_use]
pub fn software_of(array: &Array) -> Software {
    let t = &array.target;
    let known = [&t.read_op_us, &t.read_kib_us, &t.write_op_us, &t.write_kib_us, &t.serial_write_ms];
    if known.iter().any(|q| q.is_some()) {
        Software::Known
    } else if matches!(array.protocol.kind, ProtocolKind::Iscsi | ProtocolKind::Nfs) {
        Software::Unknown
    } else {
        Software::None
    }
}

/// One of three values, at a corner.
const fn at_corner([slow, nominal, fast]: [f64; 3], corner: Corner) -> f64 {
    match corner {
        Corner::Slow => slow,
        Corner::Nominal => nominal,
        Corner::Fast => fast,
    }
}

fn resolve_disk(hdd: &Hdd, corner: Corner) -> Disk {
    let ms = |q: &Quantity| q.cost_at(corner) * 1e6;
    Disk {
        revolution_ns: 60e9 / hdd.rpm.rate_at(corner),
        overhead_ns: ms(&hdd.overhead_ms),
        seek: Disk::seek_curve(ms(&hdd.seek_track_ms), ms(&hdd.seek_avg_ms), ms(&hdd.seek_full_ms)),
        outer_bytes_s: hdd.outer_mb_s.rate_at(corner) * 1e6,
        inner_bytes_s: hdd.inner_mb_s.rate_at(corner) * 1e6,
        capacity_bytes: hdd.capacity.value,
        ncq: hdd.ncq.rate_at(corner),
        ncq_gain: hdd.ncq_gain.rate_at(corner),
        by_position: match hdd.sorting {
            Sorting::Position => 1.0,
            Sorting::Seek => 0.0,
            Sorting::Unknown => at_corner(UNKNOWN_SORTING, corner),
        },
        cached_writes: hdd.write_cache.as_ref().map_or(0.0, |cache| {
            (cache.rate_at(corner) / 1_048_576.0 * at_corner(CACHED_WRITES_PER_MIB, corner)).max(1.0)
        }),
    }
}

fn resolve_flash(ssd: &Flash, corner: Corner) -> ResolvedFlash {
    let rate = |q: &Quantity| q.rate_at(corner);
    let steady = ssd.state == FlashState::Steady;
    let write_mb_s = match &ssd.slc_full_mb_s {
        Some(q) if steady => rate(q),
        _ => rate(&ssd.write_mb_s),
    };
    let write_iops = match &ssd.steady_write_iops {
        Some(q) if steady => rate(q),
        None if steady => {
            let programmed = write_mb_s * 1e6 / 4096.0;
            rate(&ssd.write_iops_max).min(programmed / at_corner(WRITE_AMPLIFICATION, corner))
        }
        _ => rate(&ssd.write_iops_max),
    };
    ResolvedFlash {
        dies: rate(&ssd.dies),
        alone_ns: [1e9 / rate(&ssd.qd1_read_iops), 1e9 / rate(&ssd.qd1_write_iops)],
        iops_max: [rate(&ssd.read_iops_max), write_iops],
        bytes_s: [rate(&ssd.read_mb_s) * 1e6, write_mb_s * 1e6],
        slc_bytes: ssd.slc.as_ref().filter(|_| !steady).map_or(0.0, rate),
        slc_full_bytes_s: ssd.slc_full_mb_s.as_ref().map_or(write_mb_s, rate) * 1e6,
    }
}
