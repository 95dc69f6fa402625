//! The classes of I/O of a load: what the hosts add, what flushes make of writes, who answers.

use super::front::{Front, mean_warmth};
use super::{Class, IoCost, Media, ResolvedArray};
use crate::array::{Link, LinkRate};
use crate::num::{small, whole};
use crate::raid::{Kind, Phase, Place};
use crate::wire;
use crate::workload::{Access, Skew, Workload};

/// How a load flushes its writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Flushes {
    /// A worker flushes after so many writes; 1 = each is durable before it is answered.
    pub every: u32,
    /// Number of workers that do.
    pub workers: u32,
    /// Whether other I/Os are in flight meanwhile.
    pub others: Others,
}

/// Whether an I/O is alone in the array.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Others {
    /// It is.
    None,
    /// Others are in flight.
    InFlight,
}

impl Others {
    /// With that many I/Os in flight, itself included.
    #[must_use]
    pub fn of(outstanding: f64) -> Self {
        if outstanding > 1.0 { Self::InFlight } else { Self::None }
    }

    /// How many flushes an I/O waits for: one that finds another on its way joins the next, and waits for half of
    /// the one before.
    fn waits(self) -> f64 {
        match self {
            Self::None => 1.0,
            Self::InFlight => 1.5,
        }
    }
}

impl ResolvedArray {
    /// The classes of a workload with their shares; shares sum to 1.
    #[must_use]
    pub fn classes(&self, workload: &Workload) -> Vec<Class> {
        let total: f64 = workload.mix.iter().map(|a| a.weight).sum();
        let warmth = self.warmth(workload);
        let mut classes = Vec::with_capacity(workload.mix.len() * 4);
        for access in &workload.mix {
            for (kind, kind_pct) in [(Kind::Read, access.read_pct), (Kind::Write, 100.0 - access.read_pct)] {
                for (random, random_pct) in [(true, access.random_pct), (false, 100.0 - access.random_pct)] {
                    let share = access.weight / total * kind_pct / 100.0 * random_pct / 100.0;
                    if share > 0.0 {
                        let hit = self.hit(access, workload, kind, random);
                        let mut io_cost = self.io_cost(kind, random, access.size.0 as f64);
                        self.answer_hits(&mut io_cost, hit);
                        if !random {
                            io_cost.serial_ns *= access.random_pct / 100.0;
                        }
                        self.issue_by_workers(&mut io_cost, workload);
                        self.pass_guest(&mut io_cost);
                        let in_tier = self.in_tier(&io_cost, workload.skew) * warmth;
                        for (share, io_cost) in self.flushed(share, &io_cost, workload) {
                            classes.extend(self.tiered(share, &io_cost, in_tier));
                        }
                    }
                }
            }
        }
        classes
    }

    /// Sets how often the controller's cache answers a read, and what that takes.
    pub(crate) fn answer_hits(&self, io_cost: &mut IoCost, hit: f64) {
        let (busy, latency) = self.hit_ns(io_cost.kind, io_cost.bytes);
        let answered = self.controller_ns(io_cost.kind, io_cost.bytes).max(busy);
        io_cost.cpu_ns += (1.0 - hit) * self.rest_of_record_ns(io_cost);
        io_cost.hit = hit;
        io_cost.hit_ns = (latency - answered).max(0.0);
        if self.read_cache_bytes > 0.0 && io_cost.kind == Kind::Read {
            // What the cache does not have passes it as data, and what it looks for as a command.
            let passes = if io_cost.random { busy } else { self.cache_passes_ns(io_cost.bytes) };
            let passes = (passes - io_cost.controller_ns).max(0.0);
            io_cost.passing_ns = (1.0 - hit) * passes;
        }
        io_cost.controller_ns += hit * (answered - io_cost.controller_ns);
    }

    /// Sets the CPU of the hosts, as if all workers were one, and the links of the hosts, as if they were one.
    /// A worker takes its own time for an I/O however many others there are: the rest of it is a delay.
    fn issue_by_workers(&self, io_cost: &mut IoCost, workload: &Workload) {
        let host = &self.array.initiator;
        let link = Link { rate: host.link, ..self.array.link.clone() };
        let mb_s = match host.link {
            LinkRate::Unlimited => f64::INFINITY,
            _ => wire::ceiling_at(&link, &self.array.protocol, io_cost.bytes, self.corner),
        };
        let links = io_cost.bytes / (mb_s * host.clients.value * 1e6) * 1e9;
        let together = io_cost.host_ns / f64::from(workload.workers.max(1));
        io_cost.delay_ns += io_cost.host_ns - together;
        // A link carries both directions at once: the one with less to carry holds nothing up.
        if host.link.is_half_duplex() || io_cost.kind == busier_direction(workload) {
            io_cost.host_ns = together.max(links);
            io_cost.is_host_link = links > together;
        } else {
            io_cost.host_ns = together;
            io_cost.delay_ns += (links - together).max(0.0);
        }
    }

    /// A write and what the flushes of the load make of it, with their shares.
    fn flushed(&self, share: f64, io_cost: &IoCost, workload: &Workload) -> Vec<(f64, IoCost)> {
        let Some(every) = workload.flush_every else { return vec![(share, io_cost.clone())] };
        let outstanding = workload.total_outstanding().min(self.queue_depth);
        let flushes = Flushes { every, workers: workload.workers, others: Others::of(outstanding) };
        let first = self.with_flushes(io_cost, flushes);
        let flush_ns = self.flush_wait_ns(flushes);
        if io_cost.kind == Kind::Read || flush_ns <= 0.0 {
            return vec![(share, first)];
        }
        let each = 1.0 / f64::from(every);
        let last = IoCost { delay_ns: first.delay_ns + flush_ns, ..first.clone() };
        vec![(share * (1.0 - each), first), (share * each, last)]
    }

    /// Whether writes are as durable as they get without a flush: every write of such an export is durable as
    /// it is, and a cache that survives a power cut has nothing to flush.
    fn needs_no_flush(&self) -> bool {
        self.array.protocol.nfs_sync || self.array.controller.battery
    }

    /// Returns what flushes make of an I/O; what the flush itself takes is in [`Self::flush_wait_ns`].
    #[must_use]
    pub(crate) fn with_flushes(&self, io_cost: &IoCost, flushes: Flushes) -> IoCost {
        let mut first = io_cost.clone();
        if io_cost.kind == Kind::Read || self.needs_no_flush() {
            return first;
        }
        if flushes.every <= 1 || self.log.is_some() {
            self.make_durable(&mut first, flushes.others.waits());
        } else if let Media::Disk(..) = self.media {
            // The writes between two flushes are answered by the caches of the drives.
            let waiting = f64::from(flushes.every) * f64::from(flushes.workers.max(1));
            let batch = (waiting / f64::from(self.shape.alive())).max(1.0);
            first.buffered = false;
            first.phases = first.phases.map(|p| p.placed(Place::Platter(small(whole(batch)))));
        }
        first
    }

    /// Returns the time of a flush after several writes, ns; 0 where the writes are durable without one.
    #[must_use]
    pub(crate) fn flush_wait_ns(&self, flushes: Flushes) -> f64 {
        if flushes.every <= 1 || self.log.is_some() || self.needs_no_flush() {
            return 0.0;
        }
        self.flush_ns * flushes.others.waits()
    }

    /// Makes a write durable before it is answered.
    pub(super) fn make_durable(&self, io_cost: &mut IoCost, waits: f64) {
        if self.array.controller.battery {
            return;
        }
        self.unbuffer(io_cost);
        io_cost.delay_ns += super::software::intent_log_ns(self.array.target.software, self.corner);
        if let Some(log) = &self.log {
            (io_cost.front, io_cost.front_ns) = (Front::Log, log.busy_ns(io_cost.bytes));
            io_cost.start_ns = log.wait_ns(io_cost.bytes);
            io_cost.buffered = !matches!(self.media, Media::Disk(..)) || io_cost.phases[0].visits > 0;
            return;
        }
        match &self.media {
            Media::Flash(_) => io_cost.delay_ns += self.flush_ns * waits,
            Media::Disk(..) if io_cost.phases[0].visits == 0 => {
                io_cost.start_ns = 0.0;
                io_cost.phases = self.shape.durable_write(io_cost.bytes);
                io_cost.stream_ns = if io_cost.random { self.reads_records_ns(io_cost.bytes) } else { 0.0 };
            }
            Media::Disk(..) => {
                io_cost.phases = io_cost.phases.map(|phase| phase.placed(Place::Platter(1)));
            }
        }
    }

    /// Makes a write that the controller's cache would answer pass it.
    fn unbuffer(&self, io_cost: &mut IoCost) {
        if !io_cost.buffered {
            return;
        }
        io_cost.controller_ns = self.passing_ns(io_cost.kind, &io_cost.phases, io_cost.bytes);
        io_cost.start_ns = 0.0;
        io_cost.buffered = false;
        if io_cost.phases[0].visits == 0 {
            self.clone().written_through().start_stream(io_cost);
        }
    }

    /// Share of the I/Os of a class that the tier answers once it is warm.
    #[must_use]
    pub(crate) fn in_tier(&self, io_cost: &IoCost, skew: Skew) -> f64 {
        let Some(tier) = self.tier.as_ref().filter(|tier| tier.takes(io_cost.kind)) else { return 0.0 };
        tier.hit(self.span_bytes, io_cost, skew)
    }

    /// How warm a tier is over the run, \[0, 1\]. One that starts cold fills with what is read from the members.
    fn warmth(&self, workload: &Workload) -> f64 {
        match self.warm_up_s(workload) {
            Some(time_s) => mean_warmth(workload.duration.as_secs_f64(), time_s),
            None => 1.0,
        }
    }

    /// Time constant of a tier that starts cold, s: the data it will hold over the rate at which they are read.
    #[must_use]
    pub fn warm_up_s(&self, workload: &Workload) -> Option<f64> {
        let tier = self.tier.as_ref().filter(|tier| !tier.is_warm)?;
        let without = Self { tier: None, ..self.clone() };
        let classes = without.classes(workload);
        let rate = without.rate_of_members(&classes, workload.total_outstanding());
        let taken = |c: &&Class| tier.takes(c.io_cost.kind);
        let bytes: f64 = classes.iter().filter(taken).map(|c| c.share * c.io_cost.bytes).sum();
        Some(tier.device.capacity_bytes.min(self.span_bytes) / (rate * bytes).max(1e-9))
    }

    /// About the rate at which the members alone would be read, I/Os per second: as the I/Os in flight allow,
    /// or full.
    fn rate_of_members(&self, classes: &[Class], outstanding: f64) -> f64 {
        let members = f64::from(self.shape.alive());
        let n = (outstanding / members).max(1.0);
        let visits = |c: &Class, n: f64| -> f64 {
            c.io_cost.phases.iter().filter(|p| p.visits > 0).map(|p| self.visit_ns(p, n)).sum()
        };
        let work = |c: &Class| -> f64 {
            let each = |p: &Phase| f64::from(p.visits) * self.visit_ns(p, n);
            c.io_cost.phases.iter().filter(|p| p.visits > 0).map(each).sum::<f64>()
                + c.io_cost.stream_ns * members
        };
        let busy: f64 = classes.iter().map(|c| c.share * work(c)).sum();
        let alone: f64 = classes
            .iter()
            .map(|c| c.share * (visits(c, 1.0) + c.io_cost.stream_ns + c.io_cost.delay_ns))
            .sum();
        (members / busy.max(1.0)).min(outstanding / alone.max(1.0)) * 1e9
    }

    /// An I/O that a tier answers with this probability, as classes: answered there, and the cases of the others.
    #[must_use]
    pub(crate) fn tiered(&self, share: f64, io_cost: &IoCost, in_tier: f64) -> Vec<Class> {
        let Some(tier) = self.tier.as_ref().filter(|_| in_tier > 0.0) else {
            return self.cases(share, io_cost);
        };
        let mut passed = io_cost.clone();
        self.unbuffer(&mut passed);
        let answered = IoCost {
            front: Front::Tier,
            front_ns: tier.device.busy_ns(io_cost.bytes),
            phases: [Phase::NONE; 2],
            stream_ns: 0.0,
            overlap_ns: 0.0,
            serial_ns: 0.0,
            start_ns: tier.device.wait_ns(io_cost.bytes),
            ..passed
        };
        let mut classes = vec![Class { share: share * in_tier, io_cost: answered }];
        if in_tier < 1.0 {
            classes.extend(self.cases(share * (1.0 - in_tier), io_cost));
        }
        classes
    }

    /// The cases that I/Os of a class meet, as classes of their own: one, unless members have failed.
    #[must_use]
    pub fn cases(&self, share: f64, io_cost: &IoCost) -> Vec<Class> {
        if self.shape.failed == 0 || io_cost.phases[0].visits == 0 {
            return vec![Class { share, io_cost: io_cost.clone() }];
        }
        let bytes = match io_cost.kind {
            Kind::Read => self.touched(io_cost.bytes),
            Kind::Write => io_cost.bytes,
        };
        let cases = self.shape.cases(io_cost.kind, bytes);
        if cases[0].phases[0].visits == 0 {
            return vec![Class { share, io_cost: io_cost.clone() }];
        }
        let place = io_cost.phases.iter().find(|p| p.kind == Kind::Write).map_or(Place::Cached, |p| p.place);
        let stored = super::software::stored(&self.array, self.corner);
        let of = |case: &crate::raid::Case| {
            let phases = case.phases.map(|p| Phase { bytes: p.bytes * stored, ..p }.placed(place));
            let phases = if place == Place::Behind { written_only(phases) } else { phases };
            IoCost { phases, part: case.part, ..io_cost.clone() }
        };
        cases.iter().map(|case| Class { share: share * case.share, io_cost: of(case) }).collect()
    }

    /// Probability of a read-cache hit after warm-up: `min(1, C / span)` for random reads; a sequential read
    /// hits only when its whole region stays cached, be it the span or the stretch between two rewinds.
    fn hit(&self, access: &Access, workload: &Workload, kind: Kind, random: bool) -> f64 {
        if kind == Kind::Write || self.read_cache_bytes <= 0.0 {
            return 0.0;
        }
        let ratio = (self.read_cache_bytes / self.span_bytes).min(1.0);
        if random {
            return workload.skew.on_hottest(ratio, self.span_bytes / access.size.0 as f64);
        }
        let rewound = workload.reconnect_every.filter(|_| access.random_pct == 0.0);
        let stretch = rewound.map_or(self.span_bytes, |n| f64::from(n) * access.size.0 as f64);
        if stretch.min(self.span_bytes) <= self.read_cache_bytes { 1.0 } else { 0.0 }
    }
}

/// The direction in which a load moves more bytes.
fn busier_direction(workload: &Workload) -> Kind {
    let ahead = |access: &Access| access.weight * access.size.0 as f64 * (access.read_pct - 50.0);
    if workload.mix.iter().map(ahead).sum::<f64>() >= 0.0 { Kind::Read } else { Kind::Write }
}

/// The visits of a write that continues the last one: what the rest of its stripe would tell was written just now, and
/// is in memory, with or without a failed member.
fn written_only(phases: [Phase; 2]) -> [Phase; 2] {
    match phases {
        [Phase { kind: Kind::Read, .. }, written] if written.visits > 0 => [written, Phase::NONE],
        phases => phases,
    }
}
