//! The simulated array: resources in virtual time, advanced event by event.
//!
//! ```text
//!  submit -> [delay] -> link out (writes) -> worker pool -> CPU -> controller -+-> read cache hit ----------+
//!                                                                             +-> stream (sequential) ------+
//!                                                                             +-> serial write queue -------+
//!                                                                             +-> write-back cache ---------+
//!                                                                             +-> members, 1 or 2 phases ---+
//!  complete <- link in (reads) <- worker freed <----------------------------------------------------------- +
//! ```
//! A first-come-first-served resource with known service needs no event of its own: the departure is
//! `max(now, free at) + service` the moment an I/O arrives, provided arrivals come in order of time, which
//! every branch above keeps. Only disks that choose from their queue need arrival and departure events.
//!
//! Subtleness ahead: state is flat vectors indexed by slot and member; nothing is allocated per event.

use std::collections::VecDeque;

use super::disks::{Destage, Disks, NO_SLOT, Visit};
use super::heap::{EventHeap, INDEX_LIMIT, Key};
use crate::num::{index, small, whole};
use crate::raid::{Kind, Phase, Shape};
use crate::resolved::front::Front;
use crate::resolved::{IoCost, Media, ResolvedArray};
use crate::rng::Rng;

const ARRIVE: u8 = 0;
const AFTER_CPU: u8 = 1;
const MEMBER_DONE: u8 = 2;
const STORED: u8 = 3;
const DRAINED: u8 = 4;
const COMPLETE: u8 = 5;
/// Writes that a full cache holds at most when a simulation begins: of a cache of a TiB there is no end, and one that a
/// lasting load has filled drains no faster for its size.
const PREFILL_MAX: usize = 1 << 18;
/// A timer of the driver; the core only hands it back.
const TIMER: u8 = 6;

/// A destage to drives ended.
const FLASH_DRAINED: u8 = 7;
/// One, in fixed point: how much longer a write takes once the SLC cache is full.
const SLC_UNIT: u64 = 1024;
/// Destages in flight per drive.
const DESTAGES_PER_DRIVE: usize = 8;

/// Read-ahead and write collection of a stream over disks, bytes.
const READ_AHEAD: u64 = 4 << 20;

/// An I/O in flight.
#[derive(Debug, Clone, Copy, Default)]
struct Slot {
    issued_ns: u64,
    /// When the controller lets a write that waits for cache space go on.
    ready_ns: u64,
    tag: u64,
    io_cost: u32,
    pending: u32,
    path: u32,
    phase: u8,
}

/// The cost of an I/O in whole nanoseconds.
#[derive(Debug, Clone, Copy)]
struct Cost {
    kind: Kind,
    host_ns: u64,
    cpu_ns: u64,
    wire_ns: u64,
    /// Which direction of the wire: 0 = towards the host.
    direction: usize,
    overlap_ns: u64,
    delay_ns: u64,
    serial_ns: u64,
    controller_ns: u64,
    stream_ns: u64,
    /// Over disks: with what a rebuild takes, and what they stream ahead.
    disk_stream_ns: u64,
    ahead_ns: u64,
    stream_visits: u32,
    /// Members that streams of drives lie on; what a lost one would hold is not written.
    stream_members: usize,
    bytes: u64,
    phases: [Visits; 2],
    /// First of the members that the visits go to, and how many.
    among: (u64, u64),
    /// Of 2^32.
    hit: u64,
    hit_ns: u64,
    buffered: bool,
    ios_per_turn: u64,
    front: Front,
    front_ns: u64,
}

/// The visits of a phase in whole nanoseconds: worked out once, not with each I/O.
#[derive(Debug, Clone, Copy)]
struct Visits {
    count: u32,
    kind: Kind,
    /// Of disks; its slot is that of the I/O.
    on_disk: Visit,
    on_flash: FlashVisit,
}

/// A visit of a drive.
#[derive(Debug, Clone, Copy, Default)]
struct FlashVisit {
    bytes: u64,
    /// Time of the drive's controller and interface.
    controller_ns: u64,
    /// Time of the interface alone, for a write while the SLC cache takes it.
    transfer_ns: u64,
    die_ns: u64,
}

/// What [`Core::step`] came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    /// An I/O completed.
    Completed {
        /// The tag it was submitted with.
        tag: u64,
        /// When it was submitted, ns.
        issued_ns: u64,
        /// The index of its io_cost.
        io_cost: u32,
    },
    /// A timer of the driver fired.
    Timer(usize),
    /// An event inside the array that no client sees.
    Internal,
    /// Nothing is left to happen.
    Idle,
}

/// The simulated array.
#[derive(Debug, Clone)]
pub(crate) struct Core {
    costs: Vec<Cost>,
    shape: Shape,
    cores: usize,
    write_back_bytes: u64,
    queue_depth: usize,

    pub(crate) now_ns: u64,
    rng: Rng,
    heap: EventHeap,
    slots: Vec<Slot>,
    free: Vec<u32>,
    in_array: usize,
    host_queue: VecDeque<u32>,
    workers_free: usize,
    worker_queue: VecDeque<u32>,
    host_free_ns: u64,
    cpu_free_ns: Vec<u64>,
    controller_free_ns: u64,
    /// Of the tier and of the log.
    front_free_ns: [u64; 2],
    serial_free_ns: u64,
    stream_free_ns: u64,
    /// Per path: when each direction is free, \[read, write\]; of a link that carries one at a time, the first.
    wire_free_ns: Vec<[u64; 2]>,
    turn_left: u64,
    path: u32,
    disks: Option<Disks>,
    /// How much longer a stream over disks takes for a rebuild: they stream together, at the rate of the slowest.
    stream_slowed: f64,
    flash: Option<FlashMembers>,
    dirty_bytes: u64,
    cache_queue: VecDeque<u32>,
    flash_backlog: VecDeque<u32>,
}

/// Solid-state members: when each die and each member's controller is free.
#[derive(Debug, Clone)]
struct FlashMembers {
    resolved: crate::resolved::ResolvedFlash,
    dies: usize,
    die_free_ns: Vec<u64>,
    controller_free_ns: Vec<u64>,
    /// SLC cache left on each member, bytes.
    slc_left: Vec<u64>,
    /// How much longer each member takes for a rebuild.
    slowed: Vec<f64>,
    /// Destages in flight.
    destaging: usize,
    /// Where the next streamed chunk goes.
    cursor: usize,
}

impl Core {
    /// An idle array; `outstanding` is the most I/Os that will be in flight at once.
    pub(crate) fn new(resolved: &ResolvedArray, outstanding: usize, seed: u64) -> Self {
        let outstanding = outstanding.clamp(1, INDEX_LIMIT - 1);
        let members = resolved.shape.alive() as usize;
        let bounded = |n: f64| if n.is_finite() { index(whole(n)) } else { usize::MAX };
        let (mut disks, mut flash) = match &resolved.media {
            Media::Disk(disk, table) => (Some(Disks::new(resolved, disk, table, outstanding)), None),
            Media::Flash(flash) => (None, Some(FlashMembers::new(*flash, members))),
        };
        let rebuilt = resolved.shape.survivors() as usize;
        if let Some(disks) = &mut disks {
            disks.slow_down(rebuilt, resolved.rebuild_factor);
        }
        if let Some(flash) = &mut flash {
            flash.slowed[..rebuilt].fill(resolved.rebuild_factor);
        }
        Self {
            costs: Vec::new(),
            shape: resolved.shape,
            cores: bounded(resolved.cores).max(1),
            write_back_bytes: match resolved.rewrites_in_cache() {
                true => u64::MAX / 20,
                false => whole(resolved.write_back_bytes),
            },
            queue_depth: bounded(resolved.queue_depth),
            now_ns: 0,
            rng: Rng::new(seed),
            heap: EventHeap::with_capacity(outstanding * 2 + members + 16),
            slots: vec![Slot::default(); outstanding],
            free: (0..small(outstanding as u64)).rev().collect(),
            in_array: 0,
            host_queue: VecDeque::with_capacity(outstanding),
            workers_free: bounded(resolved.workers),
            worker_queue: VecDeque::with_capacity(outstanding),
            host_free_ns: 0,
            cpu_free_ns: vec![0; bounded(resolved.cores).max(1)],
            controller_free_ns: 0,
            front_free_ns: [0; 2],
            serial_free_ns: 0,
            stream_free_ns: 0,
            wire_free_ns: vec![[0; 2]; bounded(resolved.paths).max(1)],
            turn_left: 0,
            path: 0,
            disks,
            stream_slowed: resolved.rebuild_factor,
            flash,
            dirty_bytes: 0,
            cache_queue: VecDeque::with_capacity(outstanding),
            flash_backlog: VecDeque::new(),
        }
    }

    /// Makes an I/O cost known and returns its index.
    pub(crate) fn add_recipe(&mut self, io_cost: &IoCost) -> u32 {
        let (first, count) = self.shape.range(io_cost.part);
        let disk_stream_ns = slowed(whole(io_cost.stream_ns), self.stream_slowed);
        let ahead_ns = disk_stream_ns.saturating_mul(READ_AHEAD) / whole(io_cost.bytes).max(1);
        self.costs.push(Cost {
            kind: io_cost.kind,
            host_ns: whole(io_cost.host_ns),
            cpu_ns: whole(io_cost.cpu_ns),
            wire_ns: whole(io_cost.wire_ns),
            direction: usize::from(io_cost.direction == Kind::Write),
            overlap_ns: if io_cost.buffered { 0 } else { whole(io_cost.overlap_ns) },
            delay_ns: whole(io_cost.delay_ns + (1.0 - io_cost.hit) * io_cost.start_ns),
            serial_ns: whole(io_cost.serial_ns),
            controller_ns: whole(io_cost.controller_ns + io_cost.passing_ns),
            stream_ns: whole(io_cost.stream_ns),
            disk_stream_ns,
            ahead_ns: ahead_ns.max(disk_stream_ns),
            stream_visits: self.shape.streams_over(io_cost.kind, io_cost.bytes).1,
            stream_members: self.shape.streams_over(io_cost.kind, io_cost.bytes).0 as usize,
            bytes: whole(io_cost.bytes),
            phases: io_cost.phases.map(|phase| self.visits(&phase)),
            among: (u64::from(first), u64::from(count)),
            hit: whole(io_cost.hit * (1_u64 << 32) as f64),
            hit_ns: whole(io_cost.hit_ns),
            buffered: io_cost.buffered,
            ios_per_turn: whole(io_cost.ios_per_turn).max(1),
            front: io_cost.front,
            front_ns: whole(io_cost.front_ns),
        });
        small(self.costs.len() as u64 - 1)
    }

    fn visits(&self, phase: &Phase) -> Visits {
        Visits {
            count: phase.visits,
            kind: phase.kind,
            on_disk: self.disks.as_ref().map_or_else(Visit::default, |disks| disks.visit_for(phase)),
            on_flash: self.flash.as_ref().map_or_else(FlashVisit::default, |flash| flash.visit_for(phase)),
        }
    }

    /// Fills the caches with writes of these I/O costs by their shares, as a long run before would have.
    pub(crate) fn prefill(&mut self, shares: &[(f64, u32)]) {
        if let Some(flash) = &mut self.flash {
            flash.slc_left.fill(0);
        }
        if let Some(disks) = &mut self.disks {
            disks.fill_media();
        }
        let buffered =
            shares.iter().filter(|(share, io_cost)| *share > 0.0 && self.costs[*io_cost as usize].buffered);
        // How often each was due, and what of that is left.
        let mut due: Vec<(f64, f64, u32)> =
            buffered.map(|(share, io_cost)| (*share, 0.0, *io_cost)).collect();
        let all: f64 = due.iter().map(|(share, ..)| share).sum();
        let mut filled = 0;
        loop {
            due.iter_mut().for_each(|(share, credit, _)| *credit += *share);
            let Some(next) = due.iter_mut().max_by(|a, b| a.1.total_cmp(&b.1)) else { return };
            next.1 -= all;
            let io_cost = next.2;
            let bytes = self.costs[io_cost as usize].bytes;
            if self.dirty_bytes + bytes > self.write_back_bytes {
                break;
            }
            if filled == PREFILL_MAX {
                self.write_back_bytes = self.dirty_bytes;
                break;
            }
            filled += 1;
            self.dirty_bytes += bytes;
            self.drain(io_cost, self.now_ns);
        }
        self.destage_flash();
    }

    /// Whether another I/O fits.
    pub(crate) fn has_room(&self) -> bool {
        !self.free.is_empty()
    }

    /// Issues an I/O now. The caller checked [`Self::has_room`].
    pub(crate) fn submit(&mut self, io_cost: u32, tag: u64) {
        let slot = self.free.pop().expect("the caller checked that there is room");
        self.slots[slot as usize] =
            Slot { issued_ns: self.now_ns, ready_ns: 0, tag, io_cost, pending: 0, phase: 0, path: 0 };
        if self.in_array >= self.queue_depth {
            self.host_queue.push_back(slot);
        } else {
            self.send(slot);
        }
    }

    /// Fires [`Step::Timer`] at a time.
    pub(crate) fn set_timer(&mut self, at_ns: u64, id: usize) {
        self.heap.push(Key::new(at_ns, TIMER, id));
    }

    /// When the next event is due.
    pub(crate) fn next_event_ns(&self) -> Option<u64> {
        self.heap.peek().map(Key::time_ns)
    }

    /// Advances by one event.
    pub(crate) fn step(&mut self) -> Step {
        let Some(event) = self.heap.peek() else { return Step::Idle };
        self.now_ns = event.time_ns();
        let at = event.index();
        if event.kind() == MEMBER_DONE {
            return self.member_done(at);
        }
        self.heap.pop();
        match event.kind() {
            ARRIVE => self.arrive(small(at as u64)),
            AFTER_CPU => self.store(small(at as u64), self.now_ns),
            STORED => return self.stored(small(at as u64)),
            DRAINED => self.drained(self.costs[at].bytes),
            FLASH_DRAINED => {
                if let Some(flash) = &mut self.flash {
                    flash.destaging -= 1;
                }
                self.drained(self.costs[at].bytes);
                self.destage_flash();
            }
            COMPLETE => return self.complete(small(at as u64)),
            _ => return Step::Timer(at),
        }
        Step::Internal
    }

    /// Callers take out what they need: a copy of the whole takes longer than most of what an event comes to.
    fn cost(&self, slot: u32) -> &Cost {
        &self.costs[self.slots[slot as usize].io_cost as usize]
    }

    fn at(&mut self, time_ns: u64, kind: u8, slot: u32) {
        self.heap.push(Key::new(time_ns, kind, slot as usize));
    }

    /// Puts an I/O on its path; writes take their data along.
    fn send(&mut self, slot: u32) {
        self.in_array += 1;
        let &Cost { kind, host_ns, delay_ns, wire_ns, direction, ios_per_turn, .. } = self.cost(slot);
        let path = self.choose_path(ios_per_turn);
        self.slots[slot as usize].path = path;
        let mut issued = self.now_ns;
        if host_ns > 0 {
            issued = self.host_free_ns.max(issued) + host_ns;
            self.host_free_ns = issued;
        }
        let mut arrives = issued + delay_ns;
        if kind == Kind::Write && wire_ns > 0 {
            let free = &mut self.wire_free_ns[path as usize][direction];
            *free = (*free).max(issued) + wire_ns;
            arrives = *free + delay_ns;
        }
        if arrives > self.now_ns { self.at(arrives, ARRIVE, slot) } else { self.arrive(slot) }
    }

    /// Round robin: the same path for `ios_per_turn` I/Os, then the next.
    fn choose_path(&mut self, ios_per_turn: u64) -> u32 {
        let paths = self.wire_free_ns.len();
        if paths > 1 {
            if self.turn_left == 0 {
                self.turn_left = ios_per_turn;
                self.path = (self.path + 1) % small(paths as u64);
            }
            self.turn_left -= 1;
        }
        self.path
    }

    fn arrive(&mut self, slot: u32) {
        if self.workers_free == 0 {
            self.worker_queue.push_back(slot);
            return;
        }
        self.workers_free -= 1;
        self.work(slot);
    }

    /// A worker takes the I/O: CPU, then storage.
    fn work(&mut self, slot: u32) {
        let cost = self.cost(slot);
        let cpu_ns = cost.cpu_ns;
        if cpu_ns == 0 {
            return self.store(slot, self.now_ns);
        }
        // One CPU hands over in order, so what follows may be computed at once, unless a disk chooses.
        let chooses = self.disks.is_some() && cost.phases[0].count > 0 && cost.serial_ns == 0;
        let hands_over = self.cores == 1 && !chooses && !cost.buffered;
        let core = if self.cores == 1 { 0 } else { earliest(&self.cpu_free_ns) };
        let free = &mut self.cpu_free_ns[core];
        *free = (*free).max(self.now_ns) + cpu_ns;
        let done = *free;
        if hands_over { self.store(slot, done) } else { self.at(done, AFTER_CPU, slot) }
    }

    /// Starts the storage part at `from_ns` (now, or the end of the CPU's part).
    fn store(&mut self, slot: u32, from_ns: u64) {
        let cost = self.cost(slot);
        let &Cost { controller_ns, hit, hit_ns, front, front_ns, serial_ns, buffered, bytes, .. } = cost;
        let is_stream = cost.phases[0].count == 0;
        let mut t = from_ns;
        if controller_ns > 0 {
            self.controller_free_ns = self.controller_free_ns.max(t) + controller_ns;
            t = self.controller_free_ns;
        }
        if hit > 0 && self.rng.bits() >> 32 < hit {
            return self.at(t + hit_ns, STORED, slot);
        }
        if front != Front::None {
            let free = &mut self.front_free_ns[usize::from(front == Front::Log)];
            *free = (*free).max(t) + front_ns;
            t = *free;
            if front == Front::Tier {
                return self.at(t, STORED, slot);
            }
        }
        if serial_ns > 0 {
            self.serial_free_ns = self.serial_free_ns.max(t) + serial_ns;
            return self.at(self.serial_free_ns, STORED, slot);
        }
        if buffered {
            if self.dirty_bytes + bytes > self.write_back_bytes.max(bytes) {
                self.slots[slot as usize].ready_ns = t;
                self.cache_queue.push_back(slot);
                return;
            }
            return self.buffer(slot, t);
        }
        if is_stream {
            let io_cost = self.slots[slot as usize].io_cost;
            let early_ns = early(self.cost(slot));
            let done = self.stream(io_cost, t.saturating_sub(early_ns)).max(t);
            return self.at(done, STORED, slot);
        }
        self.start_phase(slot, t);
    }

    /// Streams over the members from `t`: disks as one device, drives through their interfaces.
    fn stream(&mut self, io_cost: u32, t: u64) -> u64 {
        let cost = &self.costs[io_cost as usize];
        match &mut self.flash {
            Some(flash) => flash.stream(cost, t),
            None => {
                // What the disks could have streamed since the last I/O is already there, up to the window.
                let from = self.stream_free_ns.max(t.saturating_sub(cost.ahead_ns));
                self.stream_free_ns = from + cost.disk_stream_ns;
                self.stream_free_ns.max(t)
            }
        }
    }

    /// Disks have streamed nothing ahead of now: what comes next follows an I/O at another place.
    pub(crate) fn stream_begins(&mut self) {
        self.stream_free_ns = self.stream_free_ns.max(self.now_ns);
    }

    /// Takes a write into the write-back cache and starts its drain.
    fn buffer(&mut self, slot: u32, t: u64) {
        let io_cost = self.slots[slot as usize].io_cost;
        self.dirty_bytes += self.costs[io_cost as usize].bytes;
        self.press();
        self.at(t, STORED, slot);
        self.drain(io_cost, t);
        if self.flash.is_some() {
            self.destage_flash();
        }
    }

    /// Lets a write leave the write-back cache: drives take it with [`Self::destage_flash`].
    fn drain(&mut self, io_cost: u32, t: u64) {
        if self.flash.is_some() {
            self.flash_backlog.push_back(io_cost);
        } else if self.costs[io_cost as usize].phases[0].count == 0 {
            let done = self.stream(io_cost, t);
            self.heap.push(Key::new(done, DRAINED, io_cost as usize));
        } else {
            self.destage(io_cost);
        }
    }

    /// Lets the disks know whether the cache is nearly full (90 %).
    fn press(&mut self) {
        if let Some(disks) = &mut self.disks {
            disks.pressed = self.dirty_bytes > self.write_back_bytes / 10 * 9;
        }
    }

    /// Destages to drives, a bounded number at once: a drive must not queue reads behind a whole cache.
    fn destage_flash(&mut self) {
        let Some(flash) = &mut self.flash else { return };
        while flash.destaging < flash.controller_free_ns.len() * DESTAGES_PER_DRIVE {
            let Some(io_cost) = self.flash_backlog.pop_front() else { return };
            flash.destaging += 1;
            let cost = &self.costs[io_cost as usize];
            let mut done = self.now_ns;
            if cost.phases[0].count == 0 {
                done = flash.stream(cost, self.now_ns);
            }
            // Both phases are charged from now: work for the drives, but no I/O waits for their order.
            for phase in cost.phases.iter().filter(|p| p.count > 0) {
                done = done.max(flash.visit_all(phase, cost.among, self.now_ns, &mut self.rng));
            }
            self.heap.push(Key::new(done, FLASH_DRAINED, io_cost as usize));
        }
    }

    /// Queues a buffered write's visits behind its members' foreground work.
    fn destage(&mut self, io_cost: u32) {
        let Some(disks) = &mut self.disks else { return };
        let cost = &self.costs[io_cost as usize];
        let visits: u32 = cost.phases.iter().map(|p| p.count).sum();
        let (first, count) = cost.among;
        let start = self.rng.below(count);
        let width = cost.phases[1].count.max(cost.phases[0].count);
        let (each, more) = (cost.bytes / u64::from(visits), cost.bytes % u64::from(visits));
        for i in 0..visits {
            let member = index(first + (start + u64::from(i % width)) % count);
            let freed = each + u64::from(u64::from(i) < more);
            let phase = if i < cost.phases[0].count { &cost.phases[0] } else { &cost.phases[1] };
            let transfer_ns = phase.on_disk.transfer_ns;
            let destage = Destage { freed_bytes: small(freed), transfer_ns, kind: phase.kind };
            if let Some(done) = disks.destage(member, destage, self.now_ns, &mut self.rng) {
                self.heap.push(Key::new(done, MEMBER_DONE, member));
            }
        }
    }

    /// Starts the visits of the current phase at `t` (disks: `t` is now).
    fn start_phase(&mut self, slot: u32, t: u64) {
        let s = &mut self.slots[slot as usize];
        let cost = &self.costs[s.io_cost as usize];
        let phase = &cost.phases[usize::from(s.phase)];
        if let Some(flash) = &mut self.flash {
            let from = t.saturating_sub(early(cost));
            let done = flash.visit_all(phase, cost.among, from, &mut self.rng).max(t);
            s.phase += 1;
            if cost.phases.get(usize::from(s.phase)).is_some_and(|next| next.count > 0) {
                // The next phase may not reserve its members before it starts: others come in between.
                return self.at_disk_later(slot, done);
            }
            self.at(done, STORED, slot);
            return;
        }
        if t > self.now_ns {
            self.at_disk_later(slot, t);
            return;
        }
        let Some(disks) = &mut self.disks else { return };
        s.pending = phase.count;
        let visit = Visit { slot, ..phase.on_disk };
        let (first, count) = cost.among;
        let mut place = if count == 1 { 0 } else { self.rng.below(count) };
        for _ in 0..phase.count {
            let member = index(first + place);
            place = if place + 1 == count { 0 } else { place + 1 };
            if let Some(done) = disks.visit(member, visit, self.now_ns, &mut self.rng) {
                self.heap.push(Key::new(done, MEMBER_DONE, member));
            }
        }
    }

    /// A controller delayed the I/O: its disks see it at `t`. The cost was paid, so only the phase is left.
    fn at_disk_later(&mut self, slot: u32, t: u64) {
        self.slots[slot as usize].pending = NO_SLOT;
        self.at(t, STORED, slot);
    }

    /// The event is still on top of the heap: a busy member's next one takes its place.
    fn member_done(&mut self, member: usize) -> Step {
        let Some(disks) = &mut self.disks else { return Step::Internal };
        let (done, next) = disks.finish(member, self.now_ns, &mut self.rng);
        match next {
            Some(next) => self.heap.replace_top(Key::new(next, MEMBER_DONE, member)),
            None => drop(self.heap.pop()),
        }
        match done {
            Visit { slot: NO_SLOT, transfer_ns: drained, .. } => self.drained(u64::from(drained)),
            Visit { slot, .. } => return self.visit_done(slot),
        }
        Step::Internal
    }

    fn visit_done(&mut self, slot: u32) -> Step {
        let s = &mut self.slots[slot as usize];
        s.pending -= 1;
        if s.pending > 0 {
            return Step::Internal;
        }
        s.phase += 1;
        let phases = &self.costs[s.io_cost as usize].phases;
        if phases.get(usize::from(s.phase)).is_some_and(|next| next.count > 0) {
            self.start_phase(slot, self.now_ns);
            return Step::Internal;
        }
        let stored = Key::new(self.now_ns, STORED, slot as usize);
        if self.heap.peek().is_none_or(|next| stored < next) {
            // It would be the next event: it need not pass the heap.
            return self.stored(slot);
        }
        self.heap.push(stored);
        Step::Internal
    }

    /// Cache space came free; writes that waited for it go on.
    fn drained(&mut self, bytes: u64) {
        self.dirty_bytes = self.dirty_bytes.saturating_sub(bytes);
        self.press();
        while let Some(slot) = self.cache_queue.front().copied() {
            let need = self.cost(slot).bytes;
            if self.dirty_bytes + need > self.write_back_bytes.max(need) {
                break;
            }
            self.cache_queue.pop_front();
            self.buffer(slot, self.now_ns.max(self.slots[slot as usize].ready_ns));
        }
    }

    /// The data are read, or safe: the worker is free, and a read goes on the wire.
    fn stored(&mut self, slot: u32) -> Step {
        if self.slots[slot as usize].pending == NO_SLOT {
            self.slots[slot as usize].pending = 0;
            self.start_phase(slot, self.now_ns);
            return Step::Internal;
        }
        match self.worker_queue.pop_front() {
            Some(next) => self.work(next),
            None => self.workers_free = self.workers_free.saturating_add(1),
        }
        let &Cost { kind, wire_ns, direction, overlap_ns, .. } = self.cost(slot);
        if kind == Kind::Write || wire_ns == 0 {
            return self.complete(slot);
        }
        let free = &mut self.wire_free_ns[self.slots[slot as usize].path as usize][direction];
        *free = (*free).max(self.now_ns.saturating_sub(overlap_ns)) + wire_ns;
        let done = (*free).max(self.now_ns);
        self.at(done, COMPLETE, slot);
        Step::Internal
    }

    fn complete(&mut self, slot: u32) -> Step {
        self.in_array -= 1;
        self.free.push(slot);
        if let Some(next) = self.host_queue.pop_front() {
            self.send(next);
        }
        let s = self.slots[slot as usize];
        Step::Completed { tag: s.tag, issued_ns: s.issued_ns, io_cost: s.io_cost }
    }
}

/// How much earlier the members may start with a write than its last byte arrives.
fn early(cost: &Cost) -> u64 {
    if cost.kind == Kind::Write { cost.overlap_ns } else { 0 }
}

/// A time that a rebuild makes longer by a factor.
fn slowed(time_ns: u64, factor: f64) -> u64 {
    if factor > 1.0 { whole(time_ns as f64 * factor) } else { time_ns }
}

fn earliest(free_ns: &[u64]) -> usize {
    free_ns.iter().enumerate().min_by_key(|(_, t)| **t).map_or(0, |(i, _)| i)
}

impl FlashMembers {
    fn new(resolved: crate::resolved::ResolvedFlash, members: usize) -> Self {
        let dies = index(whole(resolved.dies)).max(1);
        Self {
            resolved,
            dies,
            die_free_ns: vec![0; dies * members],
            controller_free_ns: vec![0; members],
            slc_left: vec![whole(resolved.slc_bytes); members],
            slowed: vec![1.0; members],
            destaging: 0,
            cursor: 0,
        }
    }

    /// Streams an I/O as chunks on consecutive members; together they take `stream_ns` of all members' time.
    fn stream(&mut self, cost: &Cost, t: u64) -> u64 {
        let visits = u64::from(cost.stream_visits);
        let each = cost.stream_ns * cost.stream_members as u64 / visits;
        let mut last = t;
        for _ in 0..visits {
            self.cursor = (self.cursor + 1) % cost.stream_members;
            if self.cursor >= self.controller_free_ns.len() {
                // Of what a lost member would hold, a copy or parity is written, which takes as long.
                last = last.max(t + each);
                continue;
            }
            let factor = self.slc_factor(cost.kind, self.cursor, cost.bytes / visits);
            let busy = slowed(each * factor / SLC_UNIT, self.slowed[self.cursor]);
            let free = &mut self.controller_free_ns[self.cursor];
            *free = (*free).max(t) + busy;
            last = last.max(*free);
        }
        last
    }

    /// How much longer a write of `bytes` takes on a member than into its SLC cache, in [`SLC_UNIT`]ths.
    fn slc_factor(&mut self, kind: Kind, member: usize, bytes: u64) -> u64 {
        if kind == Kind::Read || self.resolved.slc_bytes <= 0.0 {
            return SLC_UNIT;
        }
        let left = &mut self.slc_left[member];
        if *left > 0 {
            *left = left.saturating_sub(bytes);
            return SLC_UNIT;
        }
        whole(self.resolved.bytes_s[1] / self.resolved.slc_full_bytes_s * SLC_UNIT as f64)
    }

    fn visit_for(&self, phase: &Phase) -> FlashVisit {
        FlashVisit {
            bytes: whole(phase.bytes),
            controller_ns: whole(self.resolved.controller_ns(phase.kind, phase.bytes)),
            transfer_ns: whole(phase.bytes / self.resolved.bytes_s[1] * 1e9),
            die_ns: whole(self.resolved.die_ns(phase.kind, phase.bytes)),
        }
    }

    /// Runs a phase's visits from `t`; returns when the last one is done.
    fn visit_all(&mut self, phase: &Visits, (first, count): (u64, u64), t: u64, rng: &mut Rng) -> u64 {
        let FlashVisit { bytes, controller_ns, transfer_ns, die_ns } = phase.on_flash;
        let mut place = if count == 1 { 0 } else { rng.below(count) };
        let mut last = t;
        for _ in 0..phase.count {
            let member = index(first + place);
            place = if place + 1 == count { 0 } else { place + 1 };
            let factor = self.slc_factor(phase.kind, member, bytes);
            let busy = match factor {
                SLC_UNIT => controller_ns,
                _ => controller_ns.max(transfer_ns * factor / SLC_UNIT),
            };
            let (busy, die) = (slowed(busy, self.slowed[member]), slowed(die_ns, self.slowed[member]));
            let passed = &mut self.controller_free_ns[member];
            *passed = (*passed).max(t) + busy;
            let place = member * self.dies + index(rng.below(self.dies as u64));
            let free = &mut self.die_free_ns[place];
            *free = (*free).max(*passed) + die;
            last = last.max(*free);
        }
        last
    }
}
