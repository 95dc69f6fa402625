//! The one list of fields of an array file: key, limits and place of each.
//!
//! Reading, writing, overriding and completing all walk this list with a visitor of their own.

use super::types::{
    Array, Controller, Device, Flash, Guest, Hdd, Initiator, Link, LinkRate, Log, Paths, Protocol, Raid,
    Target, Tier,
};
use super::words::Words;
use crate::quantity::Quantity;

/// What a number may be.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Limits {
    /// Smallest value that makes sense.
    pub min: f64,
    /// Largest value that makes sense.
    pub max: f64,
    /// How it is written.
    pub unit: Unit,
    /// Whether it may have a range.
    pub range: Range,
}

/// Whether a number may have a range.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Range {
    /// Predictions are made at both ends.
    Taken,
    /// It says what is there, or is a setting: another value is another array.
    Refused,
}

/// How a number is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unit {
    /// A real number in the unit of the field's name.
    Real,
    /// A whole number.
    Whole,
    /// A size in bytes: `64KiB`, `1TB`, or a whole number.
    Bytes,
}

const fn real(min: f64, max: f64) -> Limits {
    Limits { min, max, unit: Unit::Real, range: Range::Taken }
}
const fn whole(min: f64, max: f64) -> Limits {
    Limits { min, max, unit: Unit::Whole, range: Range::Taken }
}
const fn size(min: f64, max: f64) -> Limits {
    Limits { min, max, unit: Unit::Bytes, range: Range::Taken }
}
const fn fixed(limits: Limits) -> Limits {
    Limits { range: Range::Refused, ..limits }
}

const KIB: f64 = 1024.0;
const GIB: f64 = 1024.0 * 1024.0 * 1024.0;
const TIB: f64 = 1024.0 * 1024.0 * 1024.0 * 1024.0;
/// Rates: nothing storage-like is slower than 1 MB/s or faster than 1 TB/s.
const MB_S: Limits = real(1.0, 1e6);
/// Sustained rate of a disk: the fastest, with two actuators, stream about 550 MB/s.
const DISK_MB_S: Limits = real(1.0, 1000.0);
/// Rate of a drive: 16 lanes of PCI Express 5.0 carry 63 GB/s.
const DRIVE_MB_S: Limits = real(1.0, 64_000.0);
/// I/O rates of a device or controller.
const IOPS: Limits = real(1.0, 1e9);
const CAPACITY: Limits = fixed(size(1024.0 * KIB, 1024.0 * TIB));

/// Something that walks the fields.
pub(crate) trait Visitor {
    /// A table starts.
    fn table(&mut self, name: &'static str);
    /// A number that a file must give unless it has a default (is not NaN).
    fn number(&mut self, key: &'static str, limits: Limits, slot: &mut Quantity);
    /// A number that may be absent.
    fn maybe(&mut self, key: &'static str, limits: Limits, slot: &mut Option<Quantity>);
    /// Yes or no.
    fn flag(&mut self, key: &'static str, slot: &mut bool);
    /// Yes, no, or unknown where it is absent.
    fn maybe_flag(&mut self, key: &'static str, slot: &mut Option<bool>);
    /// Free text.
    fn text(&mut self, key: &'static str, slot: &mut String);
    /// One word of a set.
    fn word<W: Words>(&mut self, key: &'static str, slot: &mut W);
    /// The rate of a link, by the name it is sold under.
    fn link_rate(&mut self, key: &'static str, slot: &mut LinkRate);
    /// `kind = "hdd"` or `"ssd"`; puts a device of that kind in the slot.
    fn device_kind(&mut self, key: &'static str, slot: &mut Device);
}

/// Walks every field of an array.
pub(crate) fn walk<V: Visitor>(array: &mut Array, v: &mut V) {
    v.table("");
    v.text("name", &mut array.name);
    v.text("title", &mut array.title);
    v.text("source", &mut array.source);
    v.table("device");
    v.device_kind("kind", &mut array.device);
    match &mut array.device {
        Device::Hdd(hdd) => walk_hdd(hdd, v),
        Device::Ssd(ssd) => walk_flash(ssd, v),
    }
    walk_raid(&mut array.raid, v);
    walk_controller(&mut array.controller, v);
    walk_tier(&mut array.tier, v);
    walk_log(&mut array.log, v);
    v.table("server");
    v.maybe("ram", size(1024.0 * KIB, 64.0 * TIB), &mut array.server.ram);
    walk_target(&mut array.target, v);
    walk_protocol(&mut array.protocol, v);
    walk_transport(&mut array.link, &mut array.paths, &mut array.initiator, v);
    walk_guest(&mut array.guest, v);
}

fn walk_hdd<V: Visitor>(hdd: &mut Hdd, v: &mut V) {
    v.text("model", &mut hdd.model);
    v.number("rpm", real(1000.0, 30_000.0), &mut hdd.rpm);
    v.number("seek_track_ms", real(0.05, 20.0), &mut hdd.seek_track_ms);
    v.number("seek_avg_ms", real(0.5, 60.0), &mut hdd.seek_avg_ms);
    v.number("seek_full_ms", real(0.5, 120.0), &mut hdd.seek_full_ms);
    v.number("overhead_ms", real(0.0, 10.0), &mut hdd.overhead_ms);
    v.number("outer_mb_s", DISK_MB_S, &mut hdd.outer_mb_s);
    v.number("inner_mb_s", DISK_MB_S, &mut hdd.inner_mb_s);
    v.number("capacity", CAPACITY, &mut hdd.capacity);
    v.number("ncq", whole(1.0, 256.0), &mut hdd.ncq);
    v.number("ncq_gain", real(0.0, 2.0), &mut hdd.ncq_gain);
    v.word("sorting", &mut hdd.sorting);
    v.maybe("write_cache", size(64.0 * KIB, 64.0 * GIB), &mut hdd.write_cache);
    v.link_rate("link", &mut hdd.link);
    v.flag("shingled", &mut hdd.shingled);
    v.number("media_cache", size(16.0 * 1024.0 * KIB, TIB), &mut hdd.media_cache);
    v.number("band", size(1024.0 * KIB, GIB), &mut hdd.band);
}

fn walk_flash<V: Visitor>(ssd: &mut Flash, v: &mut V) {
    v.text("model", &mut ssd.model);
    v.number("capacity", CAPACITY, &mut ssd.capacity);
    v.number("qd1_read_iops", IOPS, &mut ssd.qd1_read_iops);
    v.number("qd1_write_iops", IOPS, &mut ssd.qd1_write_iops);
    v.number("dies", whole(1.0, 4096.0), &mut ssd.dies);
    v.number("read_iops_max", IOPS, &mut ssd.read_iops_max);
    v.number("write_iops_max", IOPS, &mut ssd.write_iops_max);
    v.number("read_mb_s", DRIVE_MB_S, &mut ssd.read_mb_s);
    v.number("write_mb_s", DRIVE_MB_S, &mut ssd.write_mb_s);
    v.maybe("slc", size(1024.0 * KIB, 64.0 * TIB), &mut ssd.slc);
    v.maybe("slc_full_mb_s", DRIVE_MB_S, &mut ssd.slc_full_mb_s);
    v.maybe("steady_write_iops", IOPS, &mut ssd.steady_write_iops);
    v.word("state", &mut ssd.state);
    v.maybe("flush_ms", real(0.0, 1000.0), &mut ssd.flush_ms);
    v.link_rate("link", &mut ssd.link);
}

fn walk_raid<V: Visitor>(raid: &mut Raid, v: &mut V) {
    v.table("raid");
    v.word("level", &mut raid.level);
    v.number("disks", fixed(whole(1.0, 8192.0)), &mut raid.disks);
    v.number("groups", fixed(whole(1.0, 2048.0)), &mut raid.groups);
    v.maybe("width", fixed(whole(2.0, 256.0)), &mut raid.width);
    v.number("chunk", size(512.0, 64.0 * 1024.0 * KIB), &mut raid.chunk);
    v.flag("read_both_mirrors", &mut raid.read_both_mirrors);
    v.maybe("failed", fixed(whole(1.0, 3.0)), &mut raid.failed);
    v.maybe("rebuild_pct", real(1.0, 95.0), &mut raid.rebuild_pct);
    v.maybe("member_queue", whole(1.0, 4096.0), &mut raid.member_queue);
    v.number("sector", fixed(size(512.0, 16.0 * KIB)), &mut raid.sector);
    v.maybe("full_pct", real(0.0, 100.0), &mut raid.full_pct);
}

fn walk_controller<V: Visitor>(c: &mut Controller, v: &mut V) {
    v.table("controller");
    v.maybe("read_cache", size(KIB, 64.0 * TIB), &mut c.read_cache);
    v.maybe("write_back", size(KIB, 64.0 * TIB), &mut c.write_back);
    v.flag("battery", &mut c.battery);
    v.flag("starts_full", &mut c.starts_full);
    v.maybe("read_mb_s", MB_S, &mut c.read_mb_s);
    v.maybe("write_mb_s", MB_S, &mut c.write_mb_s);
    v.maybe("iops_max", IOPS, &mut c.iops_max);
    v.maybe("burst_iops", IOPS, &mut c.burst_iops);
    v.maybe("burst_credits", real(0.0, 1e12), &mut c.burst_credits);
    v.number("hit_us", real(0.5, 1e5), &mut c.hit_us);
    v.link_rate("slot", &mut c.slot);
    v.link_rate("expander", &mut c.expander);
    v.flag("tunnels_sata", &mut c.tunnels_sata);
}

fn walk_tier<V: Visitor>(tier: &mut Tier, v: &mut V) {
    v.table("tier");
    v.maybe("capacity", size(1024.0 * KIB, 1024.0 * TIB), &mut tier.capacity);
    v.word("holds", &mut tier.holds);
    v.maybe("hit_pct", real(0.0, 100.0), &mut tier.hit_pct);
    v.number("skew", real(0.0, 5.0), &mut tier.skew);
    v.flag("warm", &mut tier.warm);
    v.number("latency_us", real(1.0, 1e5), &mut tier.latency_us);
    v.maybe("iops_max", IOPS, &mut tier.iops_max);
    v.maybe("mb_s", MB_S, &mut tier.mb_s);
}

fn walk_log<V: Visitor>(log: &mut Log, v: &mut V) {
    v.table("log");
    v.maybe("iops_max", IOPS, &mut log.iops_max);
    v.maybe("mb_s", MB_S, &mut log.mb_s);
    v.number("latency_us", real(1.0, 1e5), &mut log.latency_us);
    v.number("capacity", size(1024.0 * KIB, 64.0 * TIB), &mut log.capacity);
}

fn walk_target<V: Visitor>(t: &mut Target, v: &mut V) {
    v.table("target");
    v.word("software", &mut t.software);
    v.number("cores", whole(1.0, 1024.0), &mut t.cores);
    v.maybe("read_op_us", real(0.0, 1e6), &mut t.read_op_us);
    v.maybe("read_kib_us", real(0.0, 1e5), &mut t.read_kib_us);
    v.maybe("write_op_us", real(0.0, 1e6), &mut t.write_op_us);
    v.maybe("write_kib_us", real(0.0, 1e5), &mut t.write_kib_us);
    v.maybe("workers", whole(1.0, 65_536.0), &mut t.workers);
    v.maybe("serial_write_ms", real(0.001, 10_000.0), &mut t.serial_write_ms);
    v.number("serial_sequential", real(0.0, 1.0), &mut t.serial_sequential);
    v.maybe("compression", real(1.0, 100.0), &mut t.compression);
}

fn walk_protocol<V: Visitor>(p: &mut Protocol, v: &mut V) {
    v.table("protocol");
    v.word("kind", &mut p.kind);
    let pdu = size(512.0, 16_777_215.0);
    v.number("max_recv_data_segment", pdu, &mut p.max_recv_data_segment);
    v.flag("initial_r2t", &mut p.initial_r2t);
    v.flag("immediate_data", &mut p.immediate_data);
    v.number("first_burst", fixed(pdu), &mut p.first_burst);
    v.number("max_burst", fixed(pdu), &mut p.max_burst);
    v.flag("data_digest", &mut p.data_digest);
    v.flag("nfs_sync", &mut p.nfs_sync);
    v.number("round_trip_us", real(0.0, 1e6), &mut p.round_trip_us);
}

fn walk_transport<V: Visitor>(link: &mut Link, paths: &mut Paths, host: &mut Initiator, v: &mut V) {
    v.table("link");
    v.link_rate("rate", &mut link.rate);
    v.number("mtu", whole(576.0, 9216.0), &mut link.mtu);
    v.maybe_flag("timestamps", &mut link.timestamps);
    v.flag("vlan", &mut link.vlan);
    v.flag("slot_known", &mut link.slot_known);
    v.table("paths");
    v.number("count", fixed(whole(1.0, 64.0)), &mut paths.count);
    v.word("policy", &mut paths.policy);
    v.number("luns", fixed(whole(1.0, 4096.0)), &mut paths.luns);
    v.number("rr_ios", whole(1.0, 1e9), &mut paths.rr_ios);
    v.maybe("rr_bytes", fixed(size(512.0, TIB)), &mut paths.rr_bytes);
    v.table("initiator");
    v.maybe("queue_depth", whole(1.0, 65_536.0), &mut host.queue_depth);
    v.maybe("split", fixed(size(512.0, 1024.0 * 1024.0 * KIB)), &mut host.split);
    v.number("op_us", real(0.0, 1e6), &mut host.op_us);
    v.number("clients", fixed(whole(1.0, 1024.0)), &mut host.clients);
    v.link_rate("link", &mut host.link);
    v.word("submission", &mut host.submission);
    v.maybe("ram", size(1024.0 * KIB, 64.0 * TIB), &mut host.ram);
}

fn walk_guest<V: Visitor>(guest: &mut Guest, v: &mut V) {
    v.table("guest");
    v.word("disk", &mut guest.disk);
    v.maybe("latency_us", real(0.0, 1e5), &mut guest.latency_us);
    v.maybe("thread_us", real(0.01, 1e4), &mut guest.thread_us);
}
