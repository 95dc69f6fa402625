//! What answers an I/O first, and what that takes: the controller's cache, a drive or disk that streams.

use super::{IoCost, Media, ResolvedArray, at_corner, by, software, software_is_measured};
use crate::array::{Controller, Initiator, LinkRate, SoftwareName};
use crate::quantity::Corner;
use crate::raid::Kind;

/// I/Os per second of a controller with a cache of which the file says nothing, slow, nominal and fast. A disk
/// array of 1997 to 2003 handles some 25,000 to 50,000, an adapter of 2009 about 150,000, one of 2014 a million.
const CACHED_IOPS: [f64; 3] = [25_000.0, 150_000.0, 1_000_000.0];
/// Bytes per second between the memory of a controller and its host where the file says nothing of a bus or a slot,
/// slow, nominal and fast: PCI of 64 bits at 66 MHz, eight lanes of PCI Express 2.0, and eight of 4.0.
const CACHE_BYTES_S: [f64; 3] = [0.5e9, 3.5e9, 14.9e9];
/// Time of a command that the cache of a disk answers, as a part of the overhead of one that does not: slow,
/// nominal and fast. The rest of the overhead is the servo's.
const DISK_HIT: [f64; 3] = [1.0, 0.6, 0.3];
/// How far from a random read to a write into the buffer of a drive the latency of a sequential read is, as a
/// power: slow, nominal and fast. Drives that do not read ahead take the one, those that do the other.
const READ_AHEAD: [f64; 3] = [0.0, 0.5, 1.0];

/// CPU time of one thread for one I/O of a drive of its own host, where the file does not say, us: slow, nominal and
/// fast. One thread of fio with libaio on 13 hosts.
const HOST_US: [f64; 3] = [6.0, 3.3, 1.3];

/// Size of the I/O that `hit_us` is the time of, bytes.
const HIT_BYTES: f64 = 4096.0;

impl ResolvedArray {
    /// Time of a thread for an I/O of so many bytes, ns: its own, and that of the software which it runs.
    pub(super) fn thread_ns(&self, kind: Kind, bytes: f64) -> f64 {
        let (target, host) = (&self.array.target, &self.array.initiator);
        let is_given = host.op_us != Initiator::default().op_us;
        let is_fast = matches!(self.media, Media::Flash(_)) && !self.array.protocol.kind.has_server();
        let own = match is_fast && !is_given {
            true => at_corner(HOST_US, self.corner),
            false => host.op_us.cost_at(self.corner),
        };
        // The threads of a target are not those that issue.
        let calls = match software_is_measured(target) || self.array.protocol.kind.has_server() {
            true => 0.0,
            false => software::caller_ns(target.software, &self.shape, kind, self.corner),
        };
        (own * 1e3 + calls).max(software::thread_ns(target.software, bytes, self.corner))
    }

    /// Time of a thread of the target for an I/O of so many bytes, ns: that of the software of a server, which no host
    /// runs. Otherwise 0.
    pub(crate) fn target_thread_ns(&self, bytes: f64) -> f64 {
        match self.array.protocol.kind.has_server() {
            true => software::thread_ns(self.array.target.software, bytes, self.corner),
            false => 0.0,
        }
    }

    /// What a stream keeps all members together busy for, ns. A drive takes so many commands, whatever their
    /// place; ZFS and disks collect a stream into large ones.
    pub(super) fn stream_ns(&self, kind: Kind, bytes: f64) -> f64 {
        let moved = bytes / self.stream_bytes_s[by(kind)] * 1e9;
        let Media::Flash(flash) = &self.media else { return moved };
        if self.gathers() {
            return moved;
        }
        let streams = match kind {
            Kind::Read => self.shape.read_streams(),
            Kind::Write => self.shape.write_streams(),
        };
        let commands = (bytes / self.shape.chunk).max(1.0);
        moved.max(commands / (flash.iops_max[by(kind)] * streams) * 1e9)
    }

    /// Whether the software collects writes into whole stripes of its own, wherever they belong.
    pub(super) fn gathers(&self) -> bool {
        matches!(self.array.target.software, SoftwareName::Zfs | SoftwareName::Wafl)
            || self.shape.spreads_records()
    }

    /// Whether the controller's write-back cache holds all that is written: what is written again takes no more
    /// of it. A cache that is full of other writes has no place for the first time either.
    #[must_use]
    pub(crate) fn rewrites_in_cache(&self) -> bool {
        let is_full = self.array.controller.starts_full;
        let fits = self.span_bytes <= self.write_back_bytes;
        self.buffers && fits && !is_full && self.corner != Corner::Slow
    }

    /// What an I/O of a stream takes beside its transfer: the command to a drive, the hit in the cache of a
    /// disk, or, where nothing collects writes, the revolution until the next place comes by.
    pub(super) fn start_stream(&self, io_cost: &mut IoCost) {
        let by_name = matches!(self.array.target.software, SoftwareName::Zfs | SoftwareName::Wafl);
        if io_cost.buffered || by_name || (self.gathers() && self.streams_ahead()) {
            return;
        }
        let kind = io_cost.kind;
        match &self.media {
            Media::Flash(flash) => {
                let bytes = io_cost.bytes * super::software::stored(&self.array, self.corner);
                let piece = self.shape.stream_piece(bytes);
                let parallel = self.stream_parallel(kind, bytes);
                let [read, write] = [Kind::Read, Kind::Write].map(|kind| flash.command_ns(kind));
                let command = match kind {
                    Kind::Write => write,
                    Kind::Read => read * (write.min(read) / read).powf(at_corner(READ_AHEAD, self.corner)),
                };
                let alone = command + flash.transfer_ns(kind, (piece - 4096.0).max(0.0));
                io_cost.start_ns = (alone - io_cost.stream_ns * parallel).max(0.0);
            }
            Media::Disk(..) if self.collects() => {}
            Media::Disk(..) if kind == Kind::Write && self.buffers => {
                io_cost.start_ns = (self.hit_ns(kind, io_cost.bytes).1 - io_cost.controller_ns).max(0.0);
            }
            Media::Disk(disk, _) if kind == Kind::Write && disk.cached_writes < 1.0 => {
                io_cost.phases = self.shape.durable_write(io_cost.bytes);
                io_cost.stream_ns = 0.0;
            }
            Media::Disk(disk, _) => {
                io_cost.start_ns = disk.overhead_ns * at_corner(DISK_HIT, self.corner);
            }
        }
    }

    /// Whether the memory of a server reads ahead, and collects sequential writes, before its disks see them.
    fn collects(&self) -> bool {
        let array = &self.array;
        array.protocol.kind.has_server()
    }

    /// What an I/O takes that the controller's cache answers: the time the controller is busy with it, and all
    /// of its time there, ns. Where nobody says, a controller is of the generation of its drives: no
    /// slower than they are.
    pub(super) fn hit_ns(&self, kind: Kind, bytes: f64) -> (f64, f64) {
        let c = &self.array.controller;
        let given = c.hit_us.cost_at(self.corner) * 1e3;
        // What a tier answers passes the controller too.
        let of_tier = self.tier.as_ref().map_or(0.0, |tier| tier.device.iops_max);
        let class = at_corner(CACHED_IOPS, self.corner).max(of_tier);
        let (latency, iops) = match &self.media {
            Media::Flash(flash) if c.hit_us == Controller::default().hit_us => {
                let of_drives = flash.iops_max[0].max(flash.iops_max[1]) * f64::from(self.shape.members);
                let command = flash.command_ns(Kind::Read).min(flash.command_ns(Kind::Write));
                (given.min(command), class.max(of_drives + of_tier))
            }
            _ => (given, class),
        };
        let command = if c.iops_max.is_some() { 0.0 } else { (1e9 / iops).min(latency) };
        let byte_ns = 1e9 / self.cache_bytes_s(kind);
        (command.max(bytes * byte_ns), latency + (bytes - HIT_BYTES).max(0.0) * byte_ns)
    }

    /// Time that a read keeps the memory of the controller busy for, ns.
    pub(super) fn cache_passes_ns(&self, bytes: f64) -> f64 {
        bytes * 1e9 / self.cache_bytes_s(Kind::Read)
    }

    /// Rate at which the controller's cache and the host exchange data, bytes/s. What the members, a tier or a log move
    /// passes the same controller, so that a cache is no slower than they are; a bus or a slot that the file names is
    /// in the time of the controller.
    fn cache_bytes_s(&self, kind: Kind) -> f64 {
        let c = &self.array.controller;
        let bus = if kind == Kind::Read { &c.read_mb_s } else { &c.write_mb_s };
        if bus.is_some() || c.slot != LinkRate::Unlimited {
            return f64::INFINITY;
        }
        let front = [self.tier.as_ref().map(|tier| tier.device.bytes_s), self.log.map(|log| log.bytes_s)];
        let member_bytes_s = match &self.media {
            Media::Disk(disk, _) => disk.outer_bytes_s,
            Media::Flash(flash) => flash.bytes_s[by(kind)],
        };
        // Of data that software compresses, the members move a part.
        let members =
            f64::from(self.shape.members) * member_bytes_s / software::stored(&self.array, self.corner);
        let others = front.into_iter().flatten().fold(members, f64::max);
        at_corner(CACHE_BYTES_S, self.corner).max(others)
    }
}
