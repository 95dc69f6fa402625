//! An array made ready for computing: at one corner of its ranges, on one span, in ns and bytes.
//!
//! Both the closed form and the simulation start from a [`ResolvedArray`] and from the [`IoCost`] of each class of
//! I/O, so that they differ in queueing only, never in what an I/O costs.

mod answers;
pub mod classes;
mod devices;
pub mod front;
mod guest;
mod links;
pub mod rebuild;
mod records;
mod software;

use serde::Serialize;
use std::collections::BTreeMap;
use std::sync::Arc;

use crate::array::{Array, Device, SoftwareName, Submission, Target};
use crate::disk::{Disk, ServiceTable};
use crate::num::{share, small, whole};
use crate::quantity::{Corner, Quantity, at_corner};
use crate::raid::{Kind, Part, Phase, Place, Shape};
use crate::shingled::{Fill, Shingled};
use crate::wire;
use crate::workload::{Region, Workload};
use front::{Front, FrontDevice, Tier};

pub(crate) use records::of_software;

use devices::{cores_of, flush_time, member_queue, resolve_disk, resolve_flash};

/// Fixed seed of the service tables: they are part of the model, not of a simulation run.
const TABLE_SEED: u64 = 0xA55A;
/// The elevator of a write-back cache sorts at most this many writes per member.
const DESTAGE_QUEUE: f64 = 256.0;
/// Share of the stripes with a lost chunk that sequential reads read twice: slow, nominal and fast.
const READ_TWICE: [f64; 3] = [1.0, 0.5, 0.0];
/// Span from which on random writes hardly meet a region that md still has marked as written, bytes: some 500
/// writes in the five seconds that a mark stays, of 64 MiB each.
const BITMAP_SPAN: f64 = 34_359_738_368.0;
/// Page of flash, bytes: larger writes are no longer a matter of IOPS once a drive has no erased blocks left.
const FLASH_PAGE: f64 = 16_384.0;
/// Copying an I/O out of the memory of its client: ns, and ns per byte. Nothing is faster.
const COPY_NS: (f64, f64) = (1000.0, 0.1);
/// A transfer goes through in pieces of this size, bytes: the next stage starts when the first piece is there.
const PIECE: f64 = 262_144.0;

/// Service tables already simulated. Keep one for a series of predictions; each table takes milliseconds.
#[derive(Debug, Default)]
pub struct Tables {
    known: BTreeMap<[u64; 14], Arc<ServiceTable>>,
    is_rough: bool,
}

/// Steps of the stroke in a factor of two that rough tables have: service times within 2 %.
const STROKES: f64 = 4.0;

impl Tables {
    /// Tables for a search: disks on strokes of about the same length share one, so that hundreds of arrays need few.
    #[must_use]
    pub fn rough() -> Self {
        Self { is_rough: true, ..Self::default() }
    }

    fn get(&mut self, disk: &Disk, stroke: f64) -> Arc<ServiceTable> {
        let about = |stroke: f64| ((stroke.log2() * STROKES).round() / STROKES).exp2().min(1.0);
        let stroke = if self.is_rough { about(stroke) } else { stroke };
        let (c, a, b) = disk.seek;
        let key = [
            disk.revolution_ns, disk.overhead_ns, c, a, b, disk.outer_bytes_s, disk.inner_bytes_s,
            disk.ncq_gain, disk.queue_gain, disk.ncq, disk.by_position, disk.cached_writes, disk.track,
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
    /// Whether random writes meet no erased blocks: the rate of IOPS is then one of pages.
    pub is_steady: bool,
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
    pub(crate) fn controller_ns(&self, kind: Kind, bytes: f64) -> f64 {
        let pages = match kind {
            // A write of less than a page of the flash is collected with others into one.
            Kind::Write if self.is_steady => bytes.clamp(4096.0, FLASH_PAGE) / 4096.0,
            _ => 1.0,
        };
        (pages * 1e9 / self.iops_max[by(kind)]).max(bytes / self.bytes_s[by(kind)] * 1e9)
    }

    /// Time the interface moves so many bytes, ns.
    #[must_use]
    pub(crate) fn transfer_ns(&self, kind: Kind, bytes: f64) -> f64 {
        bytes / self.bytes_s[by(kind)] * 1e9
    }

    /// Time of a 4 KiB command at one outstanding, ns.
    #[must_use]
    pub(crate) fn command_ns(&self, kind: Kind) -> f64 {
        self.alone_ns[by(kind)].max(self.controller_ns(kind, 4096.0))
    }

    /// Time a die is busy with one I/O of this size, ns: the latency alone, with the transfer of what is more
    /// than 4 KiB, without the controller's share.
    #[must_use]
    pub(crate) fn die_ns(&self, kind: Kind, bytes: f64) -> f64 {
        let more = self.transfer_ns(kind, (bytes - 4096.0).max(0.0));
        (self.alone_ns[by(kind)] + more - self.controller_ns(kind, bytes)).max(0.0)
    }

    /// I/Os per second with `n` outstanding: `min(n/R, controller, interface/size)`.
    ///
    /// Each request goes to one of D dies at random and waits for those that are there before it, A = (n - 1)/D, of
    /// which the one in service is half done, if there is one: `R = t (1 + A - U (1 - 1/D) / 2)` with U = A t/R as the
    /// others keep a die busy, of which R is the larger root. t is the latency alone: the die, and then the controller
    /// and the interface for the bytes of this I/O. The simulation, which has the dies one by one, agrees within 3 %.
    #[must_use]
    pub fn rate(&self, kind: Kind, bytes: f64, n: f64) -> f64 {
        let (dies, others) = (self.dies.max(1.0), (n - 1.0).max(0.0));
        let ahead = others / dies;
        let half_done = 2.0 * ahead * (1.0 - 1.0 / dies);
        let waits = f64::midpoint(1.0 + ahead, ((1.0 + ahead).powi(2) - half_done).sqrt());
        let keeps_busy = if n.is_finite() { n / waits } else { dies };
        let controller_ns = self.controller_ns(kind, bytes);
        (keeps_busy / (self.die_ns(kind, bytes) + controller_ns) * 1e9).min(1e9 / controller_ns)
    }
}

/// An array at one corner on one span.
#[derive(Debug, Clone)]
pub struct ResolvedArray {
    /// The medium of each member.
    pub media: Media,
    /// Rate at which a disk transfers an I/O on the region, mean over its zones, bytes/s; infinite for drives.
    pub platter_bytes_s: f64,
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
    /// How much longer a visit of the group that is rebuilt takes; 1 = there is none.
    pub rebuild_factor: f64,
    /// Faster devices in front of the members.
    pub tier: Option<Tier>,
    /// A log device for durable writes.
    pub log: Option<FrontDevice>,
    /// A shingled disk; random writes clean its bands once its media cache is full.
    pub shingled: Option<Shingled>,
    /// Whether plain writes are answered by a write-back cache.
    buffers: bool,
    /// What a flush takes that finds its data in the caches of drives, ns.
    flush_ns: f64,
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
    /// Whether that is the time on the links of the hosts, which takes longer than their CPU.
    pub is_host_link: bool,
    /// Target CPU.
    pub cpu_ns: f64,
    /// One path's wire.
    pub wire_ns: f64,
    /// Direction of the wire: that of the data, or the same for all where a link carries one at a time.
    pub direction: Kind,
    /// Time that no resource is busy: host, round trips, R2T.
    pub delay_ns: f64,
    /// What the one that answers takes beside all that: the command to a drive that streams, a write in a cache.
    pub start_ns: f64,
    /// The single random-write queue of the target.
    pub serial_ns: f64,
    /// Controller or bus.
    pub controller_ns: f64,
    /// What the controller is busy longer with what its cache does not have, while the members still transfer it.
    pub passing_ns: f64,
    /// Members streaming, as if they were one device.
    pub stream_ns: f64,
    /// Part of the transfer on the link that passes while the members transfer too.
    pub overlap_ns: f64,
    /// Visits of single members.
    pub phases: [Phase; 2],
    /// Which members they go to.
    pub part: Part,
    /// Probability that the read cache answers.
    pub hit: f64,
    /// What an I/O waits then, beside the controller.
    pub hit_ns: f64,
    /// Whether a write is answered when it is in the write-back cache.
    pub buffered: bool,
    /// I/Os sent over one path before the next.
    pub ios_per_turn: f64,
    /// The device in front of the members that it passes.
    pub front: Front,
    /// Time that this device is busy with it.
    pub front_ns: f64,
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
        let array = &*of_software(array);
        let array = &*links::of_drives(array, corner);
        let skips = matches!(array.device, Device::Ssd(_));
        let shape = Shape { chunk: records::chunk_at(array, corner), skips, ..Shape::of(&array.raid) };
        let member = match &array.device {
            Device::Hdd(hdd) => hdd.capacity.value,
            Device::Ssd(ssd) => ssd.capacity.value,
        };
        let usable = member * f64::from(shape.members) * shape.data_fraction();
        let fraction = share(region.reach_bytes, usable).max(1e-6);
        let from = share(region.start_bytes, usable).min(1.0 - fraction);
        let member_span = region.span_bytes / (f64::from(shape.members) * shape.data_fraction());
        let pool_left = software::pool_left(array, corner);
        let (media, member_bytes_s, platter_bytes_s) = match &array.device {
            Device::Hdd(hdd) => {
                let disk = resolve_disk(hdd, corner, member_queue(array, corner));
                let stroke = disk.stroke_between(from, fraction);
                let of_zones = disk.mean_rate(from, fraction).min(disk.port_bytes_s);
                let rate = in_pieces(&disk, of_zones, stroke, region, &shape);
                let table = tables.get(&disk, stroke);
                (Media::Disk(disk, table), [rate, rate], of_zones * pool_left)
            }
            Device::Ssd(ssd) => {
                let flash = resolve_flash(array, ssd, corner, member_span);
                (Media::Flash(flash), flash.bytes_s, f64::INFINITY)
            }
        };
        let optional = |q: &Option<Quantity>| q.as_ref().map_or(0.0, |q| q.rate_at(corner));
        let unlimited = |q: &Option<Quantity>| q.as_ref().map_or(f64::INFINITY, |q| q.rate_at(corner));
        let controller_back = optional(&array.controller.write_back);
        let log = FrontDevice::log(&array.log, corner);
        let write_back_bytes = log.map_or(controller_back, |log| controller_back.max(log.capacity_bytes));
        // Memory may or may not hold what is read: only the fast end counts it.
        let may_hold = array.server.ram.as_ref().filter(|_| corner == Corner::Fast).map_or(0.0, |ram| ram.hi);
        let read_cache = optional(&array.controller.read_cache).max(may_hold);
        let shingled = match &array.device {
            Device::Hdd(hdd) if hdd.shingled => Some(Shingled::new(hdd, corner, member_span)),
            _ => None,
        };
        let clients = array.initiator.clients.value;
        Self {
            flush_ns: flush_time(array, &media, corner),
            media,
            platter_bytes_s,
            stream_bytes_s: [
                member_bytes_s[0] * shape.read_streams() * stream_left(&shape, corner) * pool_left,
                member_bytes_s[1] * shape.write_streams() * pool_left,
            ],
            shape,
            read_cache_bytes: read_cache,
            write_back_bytes,
            cores: cores_of(array, corner),
            workers: unlimited(&array.target.workers),
            paths: wire::usable_paths(&array.paths),
            queue_depth: unlimited(&array.initiator.queue_depth) * clients,
            software: software_of(array),
            span_bytes: region.span_bytes,
            // The rebuild has the member for that part of the time, and an I/O waits for it.
            rebuild_factor: 100.0
                / (100.0 - array.raid.rebuild_pct.as_ref().map_or(0.0, |q| q.cost_at(corner))),
            tier: Tier::of(&array.tier, corner),
            log,
            shingled,
            buffers: controller_back > 0.0,
            array: array.clone(),
            corner,
        }
    }

    /// The same array once what its members write fast is full: SLC caches of drives, media caches of shingled
    /// disks; with what each member takes until then. `None` when there is no such cache.
    #[must_use]
    pub(crate) fn after_fill(&self) -> Option<(Self, Fill)> {
        match (&self.media, self.shingled) {
            (Media::Flash(flash), _) => {
                Some((self.after_slc()?, Fill { bytes: flash.slc_bytes, writes: f64::INFINITY }))
            }
            (Media::Disk(..), Some(shingled)) if !shingled.is_full => {
                Some((Self { shingled: Some(shingled.full()), ..self.clone() }, shingled.takes()))
            }
            (Media::Disk(..), _) => None,
        }
    }

    fn after_slc(&self) -> Option<Self> {
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

    /// The same array with no write answered by the controller's cache.
    #[must_use]
    pub(crate) fn written_through(self) -> Self {
        Self { buffers: false, ..self }
    }

    /// How much longer a visit of that part takes for a rebuild.
    #[must_use]
    pub fn slowed(&self, part: Part) -> f64 {
        match part {
            Part::Sound => 1.0,
            Part::All | Part::Degraded => self.rebuild_factor,
        }
    }

    /// The cost of one I/O that misses the read cache; a sequential write is taken to follow a random I/O.
    #[must_use]
    pub fn io_cost(&self, kind: Kind, random: bool, bytes: f64) -> IoCost {
        let array = &self.array;
        let wire_mb_s = wire::ceiling_at(&array.link, &array.protocol, bytes, self.corner);
        let phases = match (random, kind) {
            (false, _) => [Phase::NONE; 2],
            (true, Kind::Read) => self.shape.random_read(self.touched(bytes)),
            (true, Kind::Write) if self.gathers() => [Phase::NONE; 2],
            (true, Kind::Write) => self.shape.random_write(bytes),
        };
        let stored = software::stored(array, self.corner);
        let phases = phases.map(|phase| Phase { bytes: phase.bytes * stored, ..phase });
        let streams = phases[0].visits == 0;
        let rewrites = random && kind == Kind::Write && self.has_records();
        let streamed =
            if rewrites { software::rewritten(bytes, self.shape.chunk, self.corner) } else { bytes };
        let round_trip = array.protocol.round_trip_us.cost_at(self.corner) * 1e3;
        let r2t = if kind == Kind::Write { wire::r2t_round_trips(&array.protocol, bytes) } else { 0.0 };
        let wire_ns = bytes / (wire_mb_s * 1e6) * 1e9;
        let mut io_cost = IoCost {
            kind,
            random,
            bytes,
            host_ns: self.thread_ns(kind, bytes),
            is_host_link: false,
            cpu_ns: self.software_ns(kind, bytes),
            wire_ns,
            direction: if array.link.rate.is_half_duplex() { Kind::Read } else { kind },
            delay_ns: round_trip * (1.0 + r2t),
            start_ns: 0.0,
            serial_ns: self.serial_ns(kind, random),
            controller_ns: self.passing_ns(kind, &phases, self.passed(kind, random, bytes)),
            passing_ns: 0.0,
            stream_ns: if streams { self.stream_ns(kind, streamed * stored) } else { 0.0 },
            overlap_ns: self.overlap_ns(kind, bytes, wire_ns),
            phases,
            part: Part::All,
            hit: 0.0,
            hit_ns: 0.0,
            // A stream passes a cache in front of disks: full stripes are flushed as they form, unless it is
            // written again before.
            buffered: kind == Kind::Write
                && self.buffers
                && (!streams || !self.streams_ahead() || self.rewrites_in_cache()),
            ios_per_turn: wire::ios_per_turn(&array.paths, bytes, self.corner),
            front: Front::None,
            front_ns: 0.0,
        };
        if kind == Kind::Write && random {
            io_cost.delay_ns += self.bitmap_ns();
            self.read_record_first(&mut io_cost);
        }
        if streams {
            self.start_stream(&mut io_cost);
        }
        if io_cost.buffered {
            let (busy, latency) = self.hit_ns(kind, bytes);
            io_cost.controller_ns = io_cost.controller_ns.max(busy);
            io_cost.start_ns = (latency - io_cost.controller_ns).max(0.0);
        }
        if kind == Kind::Write && array.protocol.nfs_sync && !array.controller.battery {
            // The server syncs the file: the data, and with the time of the last change its journal; a commit
            // of the journal is shared by all writes that wait for it.
            self.make_durable(&mut io_cost, 1.0);
            if self.log.is_none() {
                io_cost.delay_ns += self.journal_ns();
            }
        }
        io_cost
    }

    /// What a random write waits for the write-intent bitmap of md: the bit of a region that nobody has written
    /// to for some seconds is on the disks before the data are. All writes that wait share an update. The fast
    /// end has none.
    fn bitmap_ns(&self) -> f64 {
        let redundant = self.shape.parity > 0 || self.shape.copies > 1;
        let named = self.array.target.software == SoftwareName::Md;
        if !named || !redundant || self.corner == Corner::Fast || matches!(self.media, Media::Flash(_)) {
            return 0.0;
        }
        self.journal_ns() * (self.span_bytes / BITMAP_SPAN).min(1.0)
    }

    /// What a commit of a journal takes: a place elsewhere, and the record that ends it a revolution later.
    fn journal_ns(&self) -> f64 {
        match &self.media {
            Media::Disk(disk, table) => table.at(Kind::Read, 1.0) + disk.revolution_ns,
            Media::Flash(_) => self.flush_ns,
        }
    }

    /// Time of the controller and of the port to the members, ns.
    fn passing_ns(&self, kind: Kind, phases: &[Phase; 2], bytes: f64) -> f64 {
        self.controller_ns(kind, bytes).max(self.expander_ns(kind, phases, bytes))
    }

    /// The port between the controller and the members carries copies and parity too, but none of what is lost; each
    /// visit is a command of its own.
    fn expander_ns(&self, kind: Kind, phases: &[Phase; 2], bytes: f64) -> f64 {
        let port = |piece: f64| wire::port_mb_s(self.array.controller.expander, piece) * 1e6;
        let stored = bytes * software::stored(&self.array, self.corner);
        let written = f64::from(self.shape.alive()) / f64::from(self.shape.members);
        let time_s: f64 = match (phases[0].visits, kind) {
            (0, Kind::Read) => stored / port(bytes),
            (0, Kind::Write) => stored / self.shape.data_fraction() * written / port(bytes),
            _ => {
                let visited = phases.iter().filter(|p| p.visits > 0);
                visited.map(|p| f64::from(p.visits) * p.bytes / port(p.bytes)).sum()
            }
        };
        time_s * 1e9
    }

    /// Whether the port to the members holds the controller up more than what the controller can do by itself.
    #[must_use]
    pub(crate) fn expander_limits(&self, classes: &[Class]) -> bool {
        let own: f64 =
            classes.iter().map(|c| c.share * self.controller_ns(c.io_cost.kind, c.io_cost.bytes)).sum();
        let both: f64 = classes.iter().map(|c| c.share * c.io_cost.controller_ns).sum();
        self.array.controller.expander != crate::array::LinkRate::Unlimited && both > own * 1.000_1
    }

    /// The least that a host needs for an I/O that its own memory answers, ns.
    #[must_use]
    pub(crate) fn copy_ns(bytes: f64) -> f64 {
        COPY_NS.0 + COPY_NS.1 * bytes
    }

    /// A drive on a local bus hands a large transfer on while it reads or writes the rest of it, and so does the
    /// controller: what the slowest of the three does not take longer. Disks stream ahead anyway, and a target's
    /// software takes whole commands.
    fn overlap_ns(&self, kind: Kind, bytes: f64, wire_ns: f64) -> f64 {
        let array = &self.array;
        let passes_on = !array.protocol.kind.has_server() && !self.streams_ahead();
        if !passes_on || bytes <= PIECE {
            return 0.0;
        }
        let stages = [wire_ns, self.bus_ns(kind, bytes), bytes / self.stream_bytes_s[by(kind)] * 1e9];
        let slowest = stages.iter().copied().fold(0.0, f64::max);
        (stages.iter().sum::<f64>() - slowest) * (1.0 - PIECE / bytes)
    }

    /// T = a + b*size, with a paid once per command when the initiator splits large I/Os.
    fn software_ns(&self, kind: Kind, bytes: f64) -> f64 {
        let target = &self.array.target;
        let (a, b) = match kind {
            Kind::Read => (&target.read_op_us, &target.read_kib_us),
            Kind::Write => (&target.write_op_us, &target.write_kib_us),
        };
        if !software_is_measured(target) {
            let calls = match self.array.protocol.kind.has_server() {
                true => software::caller_ns(target.software, &self.shape, kind, self.corner),
                false => 0.0,
            };
            return calls
                + software::cost_ns(target.software, &self.shape, kind, bytes, self.corner)
                + software::compression_ns(&self.array, kind, bytes, self.corner);
        }
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

    /// Transfer through the controller or its bus, ns.
    fn bus_ns(&self, kind: Kind, bytes: f64) -> f64 {
        let rate = match kind {
            Kind::Read => &self.array.controller.read_mb_s,
            Kind::Write => &self.array.controller.write_mb_s,
        };
        rate.as_ref().map_or(0.0, |r| bytes / (r.rate_at(self.corner) * 1e6) * 1e9)
    }

    fn controller_ns(&self, kind: Kind, bytes: f64) -> f64 {
        let c = &self.array.controller;
        let iops = c.iops_max.as_ref().map_or(f64::INFINITY, |i| i.rate_at(self.corner));
        let slot = bytes / (wire::port_mb_s(c.slot, bytes) * 1e6) * 1e9;
        self.bus_ns(kind, bytes).max(1e9 / iops).max(slot)
    }

    /// Mean time between departures of a member that has `n` requests of this kind to choose from, ns.
    #[must_use]
    pub fn visit_ns(&self, phase: &Phase, n: f64) -> f64 {
        match &self.media {
            Media::Disk(disk, table) => {
                let to_place = match phase.place {
                    Place::Cached => table.at(phase.kind, n),
                    Place::Platter(together) => table.at(Kind::Read, n.max(f64::from(together))),
                    Place::Behind => disk.behind_ns(n),
                };
                to_place + self.transfer_ns(phase) + self.cleaning_ns(phase)
            }
            Media::Flash(flash) => 1e9 / flash.rate(phase.kind, phase.bytes, n),
        }
    }

    /// What of a visit that finds its disk idle is drawn: the mean positioning time, ns. A write behind the last one
    /// knows its place.
    pub(crate) fn to_place_ns(&self, phase: &Phase) -> f64 {
        match phase.place {
            Place::Behind => 0.0,
            _ => self.visit_ns(phase, 1.0) - self.transfer_ns(phase) - self.cleaning_ns(phase),
        }
    }

    /// What a disk takes to transfer the data of a visit, ns.
    fn transfer_ns(&self, phase: &Phase) -> f64 {
        phase.bytes / self.platter_bytes_s * 1e9
    }

    /// As [`Self::visit_ns`], for writes destaged from a write-back cache that sorts a long queue.
    #[must_use]
    pub(crate) fn destage_ns(&self, phase: &Phase) -> f64 {
        let waiting = self.write_back_bytes / phase.bytes.max(512.0) / f64::from(self.shape.members);
        match &self.media {
            Media::Disk(_, table) => {
                table.destage_at(waiting.min(DESTAGE_QUEUE))
                    + self.transfer_ns(phase)
                    + self.cleaning_ns(phase)
            }
            Media::Flash(flash) => 1e9 / flash.rate(phase.kind, phase.bytes, waiting),
        }
    }

    /// What a write to a shingled disk adds by the bands that are cleaned for it, ns.
    fn cleaning_ns(&self, phase: &Phase) -> f64 {
        match self.shingled {
            Some(shingled)
                if shingled.is_full && phase.kind == Kind::Write && phase.place != Place::Behind =>
            {
                shingled.clean_ns(phase.bytes)
            }
            _ => 0.0,
        }
    }

    /// Whether streaming runs ahead of the host: disks read ahead and collect sequential writes, so that a
    /// stream limits the rate but adds no latency until it does.
    #[must_use]
    pub(crate) fn streams_ahead(&self) -> bool {
        matches!(self.media, Media::Disk(..))
    }

    /// I/Os of this size that stream over drives side by side: members that work over chunks of one I/O. What a lost
    /// member would hold is not written, and takes those that are left no longer.
    #[must_use]
    pub(crate) fn stream_parallel(&self, kind: Kind, bytes: f64) -> f64 {
        let (members, visits) = self.shape.streams_over(kind, bytes);
        f64::from(members) / f64::from(visits)
    }

    /// How much longer a stream's I/O of this size takes for a rebuild: one of the consecutive members that it has
    /// chunks on is in the group that is rebuilt, with the probability of a place at random.
    #[must_use]
    pub(crate) fn stream_slowed(&self, bytes: f64) -> f64 {
        let alive = f64::from(self.shape.alive());
        let chunks = (bytes / self.shape.chunk).ceil().clamp(1.0, alive);
        let met = ((chunks + f64::from(self.shape.survivors()) - 1.0) / alive).clamp(0.0, 1.0);
        1.0 + (self.rebuild_factor - 1.0) * met
    }

    /// Mean of the longest wait of visits that run side by side, over the mean of one.
    ///
    /// Exponential visits give the harmonic number H(w); positioning times vary about half as much, so half of
    /// the excess is taken (Varki's fork-join approximation has the same form). Drives take the same time each.
    #[must_use]
    pub(crate) fn fork_join(&self, phase: &Phase) -> f64 {
        match self.media {
            Media::Disk(..) => {
                let harmonic: f64 = (1..=phase.visits.max(1)).map(|i| 1.0 / f64::from(i)).sum();
                1.0 + (harmonic - 1.0) * 0.5
            }
            Media::Flash(_) => 1.0,
        }
    }

    /// A visit in two parts, ns: what differs from member to member, as the longest of those side by side takes
    /// it, and what is the same on all: the transfer, bands that are cleaned, a revolution that all of them
    /// wait for.
    pub(crate) fn side_by_side_ns(&self, phase: &Phase, n: f64) -> (f64, f64) {
        let whole = self.visit_ns(phase, n);
        match &self.media {
            Media::Disk(..) if phase.place == Place::Behind => (0.0, whole),
            Media::Disk(_, table) => {
                let even = self.transfer_ns(phase) + self.cleaning_ns(phase);
                ((whole - even) * table.longest_of(phase.visits), even)
            }
            Media::Flash(_) => (0.0, whole),
        }
    }

    /// Variance of the time of a visit that takes `each` ns on average, over the square of that. Drives, which
    /// work on many requests at once, are as if it were 1.
    pub(crate) fn visit_variance(&self, phase: &Phase, each: f64) -> f64 {
        match &self.media {
            Media::Disk(..) if phase.place == Place::Behind => 0.0,
            Media::Disk(_, table) => {
                let to_place = each - self.transfer_ns(phase) - self.cleaning_ns(phase);
                table.variance() * (to_place / each) * (to_place / each)
            }
            Media::Flash(_) => 1.0,
        }
    }

    /// What the members are called in a sentence.
    #[must_use]
    pub(crate) fn members_name(&self) -> String {
        let what = if matches!(self.media, Media::Disk(..)) { "disk" } else { "SSD" };
        let (n, alive) = (self.shape.members, self.shape.alive());
        match n {
            1 => format!("the {what}"),
            _ if alive < n => format!("{alive} of {n} {what}s"),
            _ => format!("{n} {what}s"),
        }
    }

    /// The array this was made from.
    #[must_use]
    pub fn array(&self) -> &Array {
        &self.array
    }
}

/// What is left of the rate of sequential reads with failed members.
///
/// A stripe that lost a data chunk is read whole. Who keeps what was read needs nothing more; who does not
/// reads the other chunks a second time: of n members with d data chunks in a stripe, d f / n of the stripes.
/// Linux md did that.
fn stream_left(shape: &Shape, corner: Corner) -> f64 {
    if shape.failed == 0 || shape.parity == 0 || shape.spreads_records() {
        return 1.0;
    }
    let data = f64::from(shape.group - shape.parity);
    let lost = (data * f64::from(shape.failed) / f64::from(shape.group)).min(1.0);
    1.0 / (1.0 + lost * at_corner(READ_TWICE, corner))
}

/// Rate of a member that streams through a region in pieces: between two of them it seeks a third of the region's
/// stroke (the mean distance of two random places) and waits half a revolution.
/// ```text
///   rate' = b / (b / rate + (pieces - 1) / pieces * (seek(stroke / 3) + revolution / 2)),  b = bytes of a
/// piece per member
/// ```
fn in_pieces(disk: &Disk, rate: f64, stroke: f64, region: Region, shape: &Shape) -> f64 {
    let bytes = region.span_bytes / region.pieces / (f64::from(shape.members) * shape.data_fraction());
    let move_ns = disk.seek_ns(stroke / 3.0) + disk.revolution_ns / 2.0;
    let moves = (region.pieces - 1.0) / region.pieces;
    bytes / (bytes / rate + moves * move_ns / 1e9)
}

/// The load as the hosts of an array issue it: every host all of it, and one I/O at a time where a worker waits for
/// each. A rate is that of all hosts together.
#[must_use]
pub fn issued(array: &Array, workload: &Workload) -> Workload {
    let host = &array.initiator;
    let outstanding = match host.submission {
        Submission::Asynchronous => workload.outstanding,
        Submission::Synchronous => 1,
    };
    let clients = small(whole(host.clients.value)).max(1);
    Workload { outstanding, workers: workload.workers.max(1).saturating_mul(clients), ..workload.clone() }
}

/// Whether the costs of the target's software are in the array file.
fn software_is_measured(target: &Target) -> bool {
    let known = [&target.read_op_us, &target.read_kib_us, &target.write_op_us, &target.write_kib_us];
    known.iter().any(|q| q.is_some())
}

/// Whether the target's software is absent, known or unknown.
#[must_use]
pub fn software_of(array: &Array) -> Software {
    let t = &array.target;
    let known = [&t.read_op_us, &t.read_kib_us, &t.write_op_us, &t.write_kib_us, &t.serial_write_ms];
    let remote = array.protocol.kind.has_server();
    match array.software() {
        _ if known.iter().any(|q| q.is_some()) => Software::Known,
        SoftwareName::None => Software::None,
        // What manages the disks of a server is not what answers its clients.
        _ if remote => Software::Unknown,
        SoftwareName::Unknown => Software::None,
        SoftwareName::Lvm | SoftwareName::Md | SoftwareName::Zfs | SoftwareName::Wafl => Software::Known,
    }
}
