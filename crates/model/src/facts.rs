//! Physical facts of an array under a load: the numbers that verdict rules compare measurements with.
//!
//! Everything here is hardware at nominal values unless a name says otherwise: no caches, no software, so that
//! a measurement above a bound means a cache, and one far below it means software.

use crate::array::{Array, PathPolicy};
use crate::calibrate::strip_software;
use crate::closed::closed_form;
use crate::quantity::Corner;
use crate::raid::{Kind, Phase};
use crate::resolved::{Media, ResolvedArray, Tables};
use crate::wire;
use crate::workload::{LoadModel, Region, Workload};
use serde::Serialize;

/// What a rule may want to know.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Facts {
    /// Members that hold data or parity.
    pub members: f64,
    /// Whether the members rotate.
    pub rotating: bool,
    /// One revolution, ms; 0 for solid state.
    pub revolution_ms: f64,
    /// One random 4 KiB access of a member alone, ms, on the span.
    pub single_access_ms: f64,
    /// Member I/Os per small random write.
    pub write_penalty: f64,
    /// Member I/Os per I/O of this load.
    pub member_ios_per_io: f64,
    /// Highest I/Os per second of the hardware without any cache, fastest end of all ranges.
    pub uncached_bound_iops: f64,
    /// The same over the whole array instead of the span.
    pub full_span_iops: f64,
    /// From the first byte used to the last, over usable capacity, \[0, 1\].
    pub span_fraction: f64,
    /// Where the first byte used lies in the usable capacity, from the outer edge, \[0, 1\].
    pub start_fraction: f64,
    /// Fastest sequential rate of the members together where the region lies: \[read, write\], MB/s (10^6).
    pub stream_mb_s: [f64; 2],
    /// I/Os per second at which the write-back cache drains, when there is one.
    pub drain_iops: Option<f64>,
    /// Write-back cache, bytes.
    pub write_back_bytes: f64,
    /// Read cache, bytes.
    pub read_cache_bytes: f64,
    /// Payload ceiling of one path for this load's mean size, MB/s (10^6); infinite without a link.
    pub path_mb_s: f64,
    /// Number of paths.
    pub paths: f64,
    /// How many paths' worth round robin can deliver at this load's outstanding.
    pub paths_spread: f64,
    /// Time of a KiB on the wire of one path, us.
    pub wire_us_per_kib: f64,
    /// Random writes per I/O of this load, \[0, 1\].
    pub random_write_share: f64,
}

impl Facts {
    /// Members that are kept as busy as one member alone would be by `iops`: X * member I/Os * S(1).
    ///
    /// 0.9 of 4 disks means that the array works like one disk at a time.
    #[must_use]
    pub fn effective_members(&self, iops: f64) -> f64 {
        iops * self.member_ios_per_io * self.single_access_ms / 1e3
    }

    /// Smallest share of reads that a cache must have answered for `iops` to be possible: `1 - bound / X`.
    #[must_use]
    pub fn least_hit_ratio(&self, iops: f64) -> f64 {
        (1.0 - self.uncached_bound_iops / iops).max(0.0)
    }

    /// How long the write-back cache absorbs `iops` of this load, s: `C / ((in - drain) * bytes)`; `None` when it
    /// drains as fast, or there is none. `written_bytes` = mean bytes written per I/O.
    #[must_use]
    pub fn absorbs_s(&self, iops: f64, written_bytes: f64) -> Option<f64> {
        let surplus = iops - self.drain_iops?;
        (surplus > 0.0).then(|| self.write_back_bytes / (surplus * written_bytes))
    }
}

/// The facts of an array under a load.
#[must_use]
pub fn facts(array: &Array, workload: &Workload, tables: &mut Tables) -> Facts {
    let mut bare = array.clone();
    strip_software(&mut bare);
    bare.controller.read_cache = None;
    let mut uncached = bare.clone();
    uncached.controller.write_back = None;
    let load = Workload { pace: LoadModel::Closed, reconnect_every: None, ..workload.clone() };
    let span = workload.region();
    let resolved = ResolvedArray::new(&uncached, Corner::Nominal, span, tables);
    let classes = resolved.classes(&load);
    let (revolution_ms, single_access_ms) = access_ms(&resolved);
    let usable = usable_bytes(array);
    let size = workload.mean_size();
    let path_mb_s = wire::ceiling_mb_s(&array.link, &array.protocol, size);
    let outstanding = workload.total_outstanding();
    let bound = |array: &Array, corner, region, tables: &mut Tables| {
        let resolved = ResolvedArray::new(array, corner, region, tables);
        closed_form(&resolved, &resolved.classes(&load), &load).iops
    };
    let drained = array.controller.write_back.is_some().then(|| {
        let resolved = ResolvedArray::new(&bare, Corner::Nominal, span, tables);
        let (demand, members) = crate::demand::member_demand(&resolved, &resolved.classes(&load), 1.5);
        members / demand * 1e9
    });
    Facts {
        members: f64::from(resolved.shape.members),
        rotating: matches!(resolved.media, Media::Disk(..)),
        revolution_ms,
        single_access_ms,
        write_penalty: resolved.shape.write_penalty(),
        member_ios_per_io: classes
            .iter()
            .map(|c| c.share * c.io_cost.phases.iter().map(|p| f64::from(p.visits)).sum::<f64>())
            .sum(),
        uncached_bound_iops: bound(&uncached, Corner::Fast, span, tables),
        full_span_iops: bound(&uncached, Corner::Nominal, Region::outer(usable), tables),
        span_fraction: crate::num::share(span.reach_bytes, usable),
        start_fraction: crate::num::share(span.start_bytes, usable),
        stream_mb_s: streams(&uncached, span, tables).map(|bytes_s| bytes_s / 1e6),
        drain_iops: drained,
        write_back_bytes: array.controller.write_back.as_ref().map_or(0.0, |q| q.value),
        read_cache_bytes: array.controller.read_cache.as_ref().map_or(0.0, |q| q.value),
        path_mb_s,
        paths: array.paths.count.value,
        paths_spread: spread(array, size, outstanding),
        wire_us_per_kib: 1024.0 / path_mb_s,
        random_write_share: classes
            .iter()
            .filter(|c| c.io_cost.random && c.io_cost.kind == Kind::Write)
            .map(|c| c.share)
            .sum(),
    }
}

/// At the fastest end of all ranges.
fn streams(array: &Array, region: Region, tables: &mut Tables) -> [f64; 2] {
    ResolvedArray::new(array, Corner::Fast, region, tables).stream_bytes_s
}

/// Bytes of user data an array holds.
#[must_use]
pub fn usable_bytes(array: &Array) -> f64 {
    let array = &*crate::resolved::of_software(array);
    let shape = crate::raid::Shape::of(&array.raid);
    member_capacity(array) * f64::from(shape.members) * shape.data_fraction()
}

fn spread(array: &Array, size: f64, outstanding: f64) -> f64 {
    match array.paths.policy {
        PathPolicy::Fixed | PathPolicy::Hash => wire::usable_paths(&array.paths),
        PathPolicy::RoundRobin | PathPolicy::LeastQueue => {
            let turn = wire::ios_per_turn(&array.paths, size, Corner::Nominal);
            wire::round_robin_speedup(wire::usable_paths(&array.paths), turn, outstanding)
        }
    }
}

fn access_ms(resolved: &ResolvedArray) -> (f64, f64) {
    let probe = Phase::new(1, 4096.0, Kind::Read);
    let revolution = match &resolved.media {
        Media::Disk(disk, _) => disk.revolution_ns / 1e6,
        Media::Flash(_) => 0.0,
    };
    (revolution, resolved.visit_ns(&probe, 1.0) / 1e6)
}

/// Bytes of one member.
pub(crate) fn member_capacity(array: &Array) -> f64 {
    match &array.device {
        crate::array::Device::Hdd(hdd) => hdd.capacity.value,
        crate::array::Device::Ssd(ssd) => ssd.capacity.value,
    }
}
