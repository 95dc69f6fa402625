//! The simulated array as a thing to do I/O to: driven step by step by an outside loop with its own clock.

use std::collections::{HashMap, VecDeque};

use hdrhistogram::Histogram;
use thiserror::Error;

use super::arrival::Recent;
use super::cached::Cached;
use super::core::{Core, Step};
use super::heap::{INDEX_LIMIT, TIME_LIMIT_NS};
use super::op::VirtualOp;
use crate::array::Array;
use crate::facts::usable_bytes;
use crate::num::{index, share, whole};
use crate::quantity::Corner;
use crate::raid::{Kind, Phase};
use crate::resolved::classes::{Flushes, Others};
use crate::resolved::{Media, ResolvedArray, Tables};
use crate::rng::Rng;
use crate::workload::{Region, Skew};

/// Ends of recent I/Os per member: an I/O that starts at one of them is sequential.
const STREAMS: usize = 64;

/// Parts of the span, each with the transfer rate that disks have there.
const ZONES: u32 = 32;
/// Transfer times that differ by less are of one zone.
const ONE_ZONE: f64 = 0.01;

/// An I/O that completed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct VirtualCompletion {
    /// What [`Simulation::submit`] returned.
    pub id: u64,
    /// When it was submitted, ns of the caller's clock.
    pub issued_ns: u64,
    /// When it completed, ns of the caller's clock.
    pub at_ns: u64,
}

/// Where an I/O is, seen from the one before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Position {
    Random,
    /// Continues, but the member's last I/O was random.
    AfterRandom,
    Stream,
}

/// In which order the I/Os of a stream arrive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Arrival {
    /// As they were issued: one that does not start where a recent one ended is random.
    #[default]
    InOrder,
    /// In another order, as behind several paths or behind a target with several threads.
    Shuffled,
}

/// Whether the read cache holds the blocks of a read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Held {
    /// By chance: the size of the cache over that of the region.
    ByShare,
    Yes,
    No,
}

/// What the cost of an I/O depends on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct CostKey {
    kind: Kind,
    position: Position,
    held: Held,
    flushes: Option<Flushes>,
    size_bytes: u64,
    zone: usize,
}

/// A flush on its way.
#[derive(Debug, Clone, Copy)]
struct FlushInFlight {
    id: u64,
    issued_ns: u64,
}

/// What is remembered of a member.
#[derive(Debug, Clone, Default)]
struct MemberHistory {
    ends: VecDeque<u64>,
    recent: Recent,
    last_random: bool,
}

impl MemberHistory {
    /// Returns whether an I/O starts where the last one ended, and that one was random: the heads are there, and have
    /// read nothing ahead.
    fn follows_random(&self, op: VirtualOp) -> bool {
        self.last_random && self.ends.back() == Some(&op.offset_bytes)
    }

    /// Returns whether an I/O starts where a recent one ended, and remembers its own end in that one's place.
    fn continues(&mut self, op: VirtualOp) -> bool {
        let known = self.ends.iter().position(|end| *end == op.offset_bytes);
        if let Some(place) = known {
            self.ends.remove(place);
        } else if self.ends.len() == STREAMS {
            self.ends.pop_front();
        }
        self.ends.push_back(op.offset_bytes + op.size_bytes);
        known.is_some()
    }
}

/// Why an I/O was not taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum SubmitError {
    /// As many as fit are in flight; collect completions first.
    #[error("the simulated array already has its {0} I/Os in flight; collect completions first")]
    Full(usize),
    /// Virtual time is used up.
    #[error("a simulation lasts at most 19 hours of its own time; start a new one")]
    TooLate,
}

/// A simulated array driven from outside.
///
/// The caller owns the clock: every call carries `now_ns`, which must not go backwards. What the array really
/// did is in [`Simulation::truth`], to compare with what the caller measured.
#[derive(Debug, Clone)]
pub struct Simulation {
    resolved: ResolvedArray,
    outstanding: usize,
    arrival: Arrival,

    core: Core,
    workers: u32,
    in_flight: usize,
    /// Flushes on their way, at the index of their timer.
    flushes: Vec<Option<FlushInFlight>>,
    /// The costs of the cases that an I/O may meet, each with the cumulative share of 2^32.
    io_costs: HashMap<CostKey, Vec<(u64, u32)>>,
    /// How much longer disks transfer in each part of the span than on average; empty where all parts are alike.
    zone_times: Vec<f64>,
    /// What the read cache holds, where that is followed block by block.
    cached: Option<Cached>,
    rng: Rng,
    members: HashMap<u32, MemberHistory>,
    ready: VecDeque<VirtualCompletion>,
    next_id: u64,
    truth_ns: Histogram<u64>,
}

impl Simulation {
    /// An idle array. `span_bytes` is the region that random positions fall into: it sets seek distances and
    /// cache hits. `outstanding` is the most I/Os in flight, at most 32767.
    #[must_use]
    pub fn new(array: &Array, span_bytes: u64, outstanding: usize, seed: u64) -> Self {
        let resolved = ResolvedArray::new(
            array,
            Corner::Nominal,
            Region::outer(span_bytes as f64),
            &mut Tables::default(),
        );
        let outstanding = outstanding.clamp(1, INDEX_LIMIT - 1);
        let zone_times = zone_times(&resolved.media, share(span_bytes as f64, usable_bytes(array)));
        Self {
            core: Core::new(&resolved, outstanding, seed),
            zone_times,
            resolved,
            outstanding,
            arrival: Arrival::InOrder,
            workers: 1,
            in_flight: 0,
            flushes: Vec::new(),
            io_costs: HashMap::new(),
            cached: None,
            rng: Rng::new(seed ^ 0xCA_5E5),
            members: HashMap::new(),
            ready: VecDeque::with_capacity(outstanding),
            next_id: 0,
            truth_ns: Histogram::new_with_bounds(1, 3_600_000_000_000, 3).expect("constant bounds are valid"),
        }
    }

    /// The same array, to which the I/Os of a stream come in this order.
    #[must_use]
    pub fn with_arrival(self, arrival: Arrival) -> Self {
        Self { arrival, ..self }
    }

    /// The same array, whose read cache holds the blocks that were read last, instead of any block with the same
    /// probability: a short span then fits into it.
    #[must_use]
    pub fn with_cached_blocks(self) -> Self {
        let bytes = whole(self.resolved.read_cache_bytes);
        let cached = (bytes > 0).then(|| Cached::new(bytes));
        Self { cached, ..self }
    }

    /// Sets the number of workers that drive the array: so many batches of writes come together before a flush.
    pub fn set_workers(&mut self, workers: u32) {
        self.workers = workers.max(1);
    }

    fn start(&mut self, now_ns: u64) -> Result<(), SubmitError> {
        // An hour's margin: completions of accepted I/Os must still fit the clock.
        if now_ns >= TIME_LIMIT_NS - 3_600_000_000_000 {
            return Err(SubmitError::TooLate);
        }
        self.advance(now_ns);
        Ok(())
    }

    fn flushes(&self, every: u32) -> Flushes {
        let others = if self.in_flight > 0 { Others::InFlight } else { Others::None };
        Flushes { every, workers: self.workers, others }
    }

    /// Submits a flush at `now_ns` of a worker that flushes after so many writes; the id comes back with its
    /// completion. It takes no room. What the writes before it cost for their durability was part of them.
    ///
    /// # Errors
    /// After 19 hours of virtual time, or with more than 32766 flushes on their way.
    pub fn submit_flush(&mut self, now_ns: u64, every: u32) -> Result<u64, SubmitError> {
        self.start(now_ns)?;
        let takes_ns = whole(self.resolved.flush_wait_ns(self.flushes(every)));
        let id = self.next_id;
        if takes_ns == 0 {
            self.ready.push_back(VirtualCompletion { id, issued_ns: now_ns, at_ns: now_ns });
        } else {
            let free = self.flushes.iter().position(Option::is_none).unwrap_or(self.flushes.len());
            if free >= INDEX_LIMIT - 1 {
                return Err(SubmitError::Full(free));
            }
            if free == self.flushes.len() {
                self.flushes.push(None);
            }
            self.flushes[free] = Some(FlushInFlight { id, issued_ns: now_ns });
            self.core.set_timer(now_ns + takes_ns, free);
        }
        self.next_id += 1;
        Ok(id)
    }

    /// Submits an I/O at `now_ns`; the id comes back with its completion.
    ///
    /// # Errors
    /// When the array is full, or after 19 hours of virtual time.
    pub fn submit(&mut self, now_ns: u64, op: VirtualOp) -> Result<u64, SubmitError> {
        self.start(now_ns)?;
        if !self.core.has_room() {
            return Err(SubmitError::Full(self.outstanding));
        }
        let position = self.position(op);
        let held = match self.cached.as_mut().map(|cached| cached.touch(op)) {
            None => Held::ByShare,
            Some(true) if op.kind == Kind::Read => Held::Yes,
            Some(_) => Held::No,
        };
        let flushes = op.flush_every.filter(|_| op.kind == Kind::Write).map(|every| self.flushes(every));
        let zone = self.zone(op.offset_bytes);
        let key = CostKey { kind: op.kind, position, held, flushes, size_bytes: op.size_bytes, zone };
        let io_cost = self.io_cost(key);
        let id = self.next_id;
        self.next_id += 1;
        self.in_flight += 1;
        self.core.submit(io_cost, id);
        Ok(id)
    }

    /// The next completion at or before `now_ns`, in order of time.
    pub fn next_completion_before(&mut self, now_ns: u64) -> Option<VirtualCompletion> {
        if self.ready.is_empty() {
            self.advance(now_ns);
        }
        self.ready.pop_front()
    }

    /// When something will happen next: how long a caller with nothing to submit may sleep.
    #[must_use]
    pub fn next_event_ns(&self) -> Option<u64> {
        self.ready.front().map(|c| c.at_ns).or_else(|| self.core.next_event_ns())
    }

    /// Response times of all completions so far, ns, as the array itself saw them.
    #[must_use]
    pub fn truth(&self) -> &Histogram<u64> {
        &self.truth_ns
    }

    fn advance(&mut self, now_ns: u64) {
        while self.core.next_event_ns().is_some_and(|t| t <= now_ns) {
            match self.core.step() {
                Step::Completed { tag, issued_ns, .. } => {
                    let at_ns = self.core.now_ns;
                    self.in_flight -= 1;
                    self.truth_ns.saturating_record((at_ns - issued_ns).max(1));
                    self.ready.push_back(VirtualCompletion { id: tag, issued_ns, at_ns });
                }
                Step::Timer(index) => {
                    if let Some(FlushInFlight { id, issued_ns }) = self.flushes[index].take() {
                        let at_ns = self.core.now_ns;
                        self.ready.push_back(VirtualCompletion { id, issued_ns, at_ns });
                    }
                }
                Step::Internal | Step::Idle => {}
            }
        }
        self.core.now_ns = self.core.now_ns.max(now_ns);
    }

    /// The part of the span that an offset lies in; 0 where all are alike.
    fn zone(&self, offset_bytes: u64) -> usize {
        let part = share(offset_bytes as f64, self.resolved.span_bytes) * f64::from(ZONES);
        index(whole(part.floor())).min(self.zone_times.len().saturating_sub(1))
    }

    /// Sequential = starts where a recent I/O of its member ended, or at the member's start.
    fn position(&mut self, op: VirtualOp) -> Position {
        let member = self.members.entry(op.member).or_default();
        if member.follows_random(op) {
            self.core.stream_begins();
        }
        // A rewound cursor starts at the beginning, or one request after it (Iometer's reopen).
        let is_start = op.offset_bytes <= op.size_bytes;
        let continues = match self.arrival {
            Arrival::InOrder => member.continues(op),
            Arrival::Shuffled => member.recent.continues(op),
        };
        let random = !continues && !is_start;
        let after_random = std::mem::replace(&mut member.last_random, random);
        match (random, after_random) {
            (true, _) => Position::Random,
            (false, true) => Position::AfterRandom,
            (false, false) => Position::Stream,
        }
    }

    fn io_cost(&mut self, key: CostKey) -> u32 {
        if !self.io_costs.contains_key(&key) {
            let known = self.cases(key);
            self.io_costs.insert(key, known);
        }
        match self.io_costs[&key].as_slice() {
            [(_, only)] => *only,
            cases => {
                let draw = self.rng.bits() >> 32;
                cases.iter().find(|(below, _)| draw < *below).or(cases.last()).map_or(0, |case| case.1)
            }
        }
    }

    /// Makes the cases that an I/O may meet known: one, unless members have failed.
    fn cases(&mut self, key: CostKey) -> Vec<(u64, u32)> {
        let CostKey { kind, position, held, flushes, size_bytes, zone } = key;
        let mut io_cost = self.resolved.io_cost(kind, position == Position::Random, size_bytes as f64);
        if let Some(times) = self.zone_times.get(zone) {
            io_cost.stream_ns *= times;
            io_cost.phases = io_cost.phases.map(|phase| Phase { bytes: phase.bytes * times, ..phase });
        }
        if position == Position::Stream {
            io_cost.serial_ns = 0.0;
        }
        if kind == Kind::Read {
            let cached = share(self.resolved.read_cache_bytes, self.resolved.span_bytes);
            let hit = match held {
                Held::Yes => 1.0,
                Held::No => 0.0,
                Held::ByShare if position == Position::Random => cached,
                Held::ByShare => cached.floor(),
            };
            self.resolved.answer_hits(&mut io_cost, hit);
        }
        self.resolved.pass_guest(&mut io_cost);
        if let Some(flushes) = flushes {
            io_cost = self.resolved.with_flushes(&io_cost, flushes);
        }
        let mut below = 0.0;
        let mut known = Vec::new();
        let in_tier = self.resolved.in_tier(&io_cost, Skew::None);
        for case in self.resolved.tiered(1.0, &io_cost, in_tier) {
            below += case.share;
            known.push((whole(below * (1_u64 << 32) as f64), self.core.add_recipe(&case.io_cost)));
        }
        known
    }
}

/// How much longer a disk transfers the same bytes in each part of the first `fraction` of its capacity than it does
/// there on average; empty for drives, and where all of that is one zone.
fn zone_times(media: &Media, fraction: f64) -> Vec<f64> {
    let Media::Disk(disk, _) = media else { return Vec::new() };
    let part = fraction / f64::from(ZONES);
    let rate = |from: f64, fraction: f64| disk.mean_rate(from, fraction).min(disk.port_bytes_s);
    let of_all = rate(0.0, fraction);
    let times: Vec<f64> = (0..ZONES).map(|zone| of_all / rate(part * f64::from(zone), part)).collect();
    if times.iter().any(|times| (times - 1.0).abs() > ONE_ZONE) { times } else { Vec::new() }
}
