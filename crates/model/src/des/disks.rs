//! Disks that choose from their queue.
//!
//! The choice itself was simulated in [`crate::disk::ServiceTable`]; here a disk serves a random one of the
//! requests it may choose from, for a time drawn around the table's mean at that queue. Random order gives
//! the near-exponential response times measured on saturated disks (p50/mean 0.69, p99/mean 4.6).
//! Destaging from a write-back cache yields to foreground work, unless the cache is nearly full.

use std::sync::Arc;

use crate::disk::{DRAWS, Disk, ServiceTable};
use crate::num::{index, small, whole};
use crate::raid::{Kind, Phase, Place};
use crate::resolved::ResolvedArray;
use crate::rng::Rng;
use crate::shingled::Shingled;

/// A slot that nothing is in.
pub(super) const NO_SLOT: u32 = u32::MAX;

/// A visit waiting for, or being served by, a disk.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Visit {
    /// Whose; [`NO_SLOT`] = destaging.
    pub slot: u32,
    /// Transfer time, ns; for destaging the bytes of cache it frees.
    pub transfer_ns: u32,
    /// Queue that it is sorted in at least.
    pub together: u16,
    /// Which positioning time it takes: [`READ`] and so on.
    pub table: u8,
    /// Whether a shingled disk cleans bands for it.
    pub cleans: bool,
}

/// Positioning times: of a read or a write past the cache, a write, a destage, a write behind the last one.
const READ: u8 = 0;
const WRITE: u8 = 1;
const DESTAGE: u8 = 2;
const BEHIND: u8 = 3;
const TABLES: usize = 4;

/// Queue lengths whose times are kept: longer ones count as the longest.
const QUEUES: usize = 257;

/// A write that waits in the write-back cache for its disk.
#[derive(Debug, Clone, Copy)]
pub(super) struct Destage {
    /// Bytes of cache it frees.
    pub freed_bytes: u32,
    /// Transfer time, ns.
    pub transfer_ns: u32,
    /// Reading what a parity write needs, or writing.
    pub kind: Kind,
}

/// One destage in this many services goes first even when foreground work waits, so that a full cache drains.
const DESTAGE_SHARE: u32 = 2;

#[derive(Debug, Clone)]
struct DiskQueue {
    waiting: Vec<Visit>,
    destaging: std::collections::VecDeque<Destage>,
    serving: Option<Visit>,
    /// How much longer a visit takes for a rebuild.
    slowed: f64,
    /// Foreground services since the last destage.
    passed: u32,
    /// What the media cache of a shingled disk still takes: bytes, and writes that its map has room for.
    media_left: (u64, u64),
}

/// All disks of an array.
#[derive(Debug, Clone)]
pub(super) struct Disks {
    members: Vec<DiskQueue>,
    /// Where the positioning times are from.
    disk: Disk,
    table: Arc<ServiceTable>,
    /// Mean positioning times by queue length, ns: [`QUEUES`] of [`READ`] and so on; NaN until one is asked for.
    mean_ns: Vec<f32>,
    shingled: Option<Shingled>,
    draws: Vec<f32>,
    window: usize,
    ns_per_byte: f64,
    /// The write-back cache is nearly full: destaging takes turns with foreground work.
    pub(super) pressed: bool,
}

#[expect(clippy::cast_possible_truncation, reason = "a draw keeps 24 bits, far below the noise of a draw")]
const fn single(value: f64) -> f32 {
    value as f32
}

/// Mean positioning time with so many waiting, ns.
fn mean_ns(disk: &Disk, table: &ServiceTable, which: u8, queue: usize) -> f32 {
    let n = queue as f64;
    single(match which {
        READ => table.at(Kind::Read, n),
        WRITE => table.at(Kind::Write, n),
        DESTAGE => table.destage_at(n),
        _ => disk.behind_ns(n),
    })
}

impl Disks {
    pub(super) fn new(
        resolved: &ResolvedArray,
        disk: &Disk,
        table: &Arc<ServiceTable>,
        outstanding: usize,
    ) -> Self {
        let (members, shingled) = (resolved.shape.alive() as usize, resolved.shingled);
        let one = DiskQueue {
            waiting: Vec::with_capacity(outstanding.min(1024)),
            destaging: std::collections::VecDeque::new(),
            serving: None,
            slowed: 1.0,
            passed: 0,
            media_left: shingled.filter(|s| !s.is_full).map_or((0, 0), |s| {
                let takes = s.takes();
                (whole(takes.bytes), whole(takes.writes))
            }),
        };
        Self {
            members: vec![one; members],
            disk: *disk,
            table: Arc::clone(table),
            mean_ns: vec![f32::NAN; QUEUES * TABLES],
            shingled,
            draws: table.draws().iter().copied().map(single).collect(),
            window: index(whole(disk.ncq)).max(1),
            ns_per_byte: 1e9 / resolved.platter_bytes_s,
            pressed: false,
        }
    }

    /// Makes the first `count` members slower by a factor: a rebuild takes the rest of their time.
    pub(super) fn slow_down(&mut self, count: usize, factor: f64) {
        self.members.iter_mut().take(count).for_each(|m| m.slowed = factor);
    }

    /// Fills the media caches of shingled disks.
    pub(super) fn fill_media(&mut self) {
        self.members.iter_mut().for_each(|m| m.media_left = (0, 0));
    }

    /// A visit of a phase, of no slot yet.
    pub(super) fn visit_for(&self, phase: &Phase) -> Visit {
        let (table, together) = match (phase.kind, phase.place) {
            (Kind::Read, _) => (READ, 1),
            (Kind::Write, Place::Cached) => (WRITE, 1),
            (Kind::Write, Place::Platter(together)) => (READ, u16::try_from(together).unwrap_or(256)),
            (Kind::Write, Place::Behind) => (BEHIND, 1),
        };
        let cleans = self.shingled.is_some() && phase.kind == Kind::Write && table != BEHIND;
        let transfer_ns = small(whole(phase.bytes * self.ns_per_byte));
        Visit { slot: NO_SLOT, transfer_ns, together, table, cleans }
    }

    /// Queues a foreground visit; the end of its service if the disk was idle.
    pub(super) fn visit(&mut self, member: usize, visit: Visit, now_ns: u64, rng: &mut Rng) -> Option<u64> {
        self.members[member].waiting.push(visit);
        self.start(member, now_ns, rng)
    }

    /// Queues a destage.
    pub(super) fn destage(
        &mut self,
        member: usize,
        destage: Destage,
        now_ns: u64,
        rng: &mut Rng,
    ) -> Option<u64> {
        self.members[member].destaging.push_back(destage);
        self.start(member, now_ns, rng)
    }

    /// The visit that ends now, and the end of the next one.
    pub(super) fn finish(&mut self, member: usize, now_ns: u64, rng: &mut Rng) -> (Visit, Option<u64>) {
        let done = self.members[member].serving.take().expect("a member finishes what it serves");
        (done, self.start(member, now_ns, rng))
    }

    fn start(&mut self, member: usize, now_ns: u64, rng: &mut Rng) -> Option<u64> {
        let m = &mut self.members[member];
        if m.serving.is_some() {
            return None;
        }
        let random = rng.bits();
        let turn = self.pressed && !m.destaging.is_empty() && m.passed >= DESTAGE_SHARE;
        let (visit, queue, transfer_ns) = if m.waiting.is_empty() || turn {
            let destage = m.destaging.pop_front()?;
            m.passed = 0;
            let cleans = self.shingled.is_some() && destage.kind == Kind::Write;
            let freed = destage.freed_bytes;
            let visit = Visit { slot: NO_SLOT, transfer_ns: freed, together: 1, table: DESTAGE, cleans };
            (visit, m.destaging.len() + 1, destage.transfer_ns as f32)
        } else {
            let waiting = m.waiting.len();
            let window = waiting.min(self.window);
            let choice = if window == 1 { 0 } else { index(((random >> 32) * window as u64) >> 32) };
            let visit = m.waiting.remove(choice);
            m.passed += 1;
            (visit, waiting.max(usize::from(visit.together)), visit.transfer_ns as f32)
        };
        m.serving = Some(visit);
        // The place of the next write of a stream is known: only the revolution is waited for.
        let draw = if visit.table == BEHIND { 1.0 } else { self.draws[index(random) & (DRAWS - 1)] };
        let known = &mut self.mean_ns[usize::from(visit.table) * QUEUES + queue.min(QUEUES - 1)];
        if known.is_nan() {
            *known = mean_ns(&self.disk, &self.table, visit.table, queue.min(QUEUES - 1));
        }
        let mean_ns = *known;
        let mut service = mean_ns * draw + transfer_ns;
        if visit.cleans {
            let bytes = f64::from(transfer_ns) / self.ns_per_byte;
            let (left_bytes, left_writes) = m.media_left;
            if left_bytes == 0 || left_writes == 0 {
                service += self.shingled.map_or(0.0, |s| single(s.clean_ns(bytes)));
            }
            m.media_left = (left_bytes.saturating_sub(whole(bytes)), left_writes.saturating_sub(1));
        }
        Some(now_ns + whole(f64::from(service) * m.slowed))
    }
}
