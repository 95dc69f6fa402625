//! A set-up with one planted cause, simulated in virtual time: what a diagnosis is validated with.
//!
//! An array file describes storage; the causes that a diagnosis must tell apart also lie in the tester, the host, the
//! network and the limits around a target. A [`World`] has them all as stations in a row, of which each I/O passes one
//! after another:
//! ```text
//! tester CPU -> host -> limits -> link out -> target CPU -> lock -> cache -> media -> flush -> link back
//! ```
//! Every station serves in the order of arrival; events are handled in the order of time, so a closed loop of
//! outstanding I/Os is simulated exactly for these service times.

mod media;
mod stations;

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use assay_model::rng::Rng;

pub use media::{Medium, Serves};
use stations::{Links, Quota, Station};

/// The stages of an I/O at the media, and behind them.
const STORAGE: u8 = 5;
const AFTER_STORAGE: u8 = 6;
/// Most I/Os that one measurement simulates.
const IOS_MAX: usize = 2500;
/// The same on a stripe, whose queues remember for long: of most the whole window.
const IOS_OF_STRIPE: usize = 20_000;
/// Bytes of every target.
pub(crate) const TARGET_BYTES: u64 = 100 << 30;
/// I/Os begin at multiples of this.
const PLACE_BYTES: u64 = 4096;
/// Share of them that warms up.
const WARM_UP: f64 = 0.15;
/// I/Os for each outstanding one until nearly all of them wait for the slow member of a stripe.
const GATHERING: usize = 20;
/// How long TCP waits before it sends a segment again that nobody asked for, µs (RFC 6298, Linux).
const RETRANSMIT_US: f64 = 200_000.0;

/// How many I/Os a lock lets pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lock {
    /// There is none.
    None,
    /// One at a time.
    All,
    /// Writes one at a time.
    Writes,
}

/// What takes writes in before the media.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum WriteCache {
    /// Nothing.
    None,
    /// A cache with room.
    Absorbing {
        /// Whether what it holds survives a power loss.
        is_protected: bool,
    },
    /// A cache that is full; after a pause it has room for so many writes.
    Full {
        /// Writes that a pause makes room for.
        room: f64,
    },
}

/// How I/O is spread over paths.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Spread {
    /// Another path after so many I/Os.
    Every(u32),
    /// The first path.
    First,
}

/// A part of the addresses that is slower than the rest.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Region {
    /// Where it begins and ends, as shares of the target.
    pub ends: (f64, f64),
    /// Factor on the work of its medium.
    pub times: f64,
    /// Time that passes besides, for as many I/Os at once as there are, µs.
    pub delay_us: f64,
}

/// A set-up. Times in µs, rates in bytes per µs (MB/s).
#[derive(Debug, Clone, PartialEq)]
pub struct World {
    /// CPU time of the tester for each I/O.
    pub tester_us: f64,
    /// CPU time of the tester for each KiB.
    pub tester_us_per_kib: f64,
    /// Share of the host's CPU time that others take. In \[0, 1).
    pub others: f64,
    /// CPUs that the tester may use.
    pub cpus: usize,
    /// CPU time that a control group lets the tester have, in CPUs.
    pub quota: Option<f64>,
    /// Delay on the way, there and back.
    pub delay_us: f64,
    /// Whether I/O ends in the page cache of the host.
    pub page_cached: bool,
    /// I/Os per second that a limit lets through.
    pub iops_cap: Option<f64>,
    /// Bytes per µs that a limit lets through.
    pub bytes_cap: Option<f64>,
    /// Factor by which the rate is above the limit while there is credit, and the seconds that it lasts after a pause.
    pub burst: Option<(f64, f64)>,
    /// Paths over links of their own; 0 for a local target.
    pub paths: usize,
    /// Rate of each link.
    pub link_rate: f64,
    /// Rate of the last link over that of the others.
    pub slowest_link: f64,
    /// How paths take turns.
    pub spread: Spread,
    /// Share of I/Os of which a segment is lost.
    pub loss: f64,
    /// Threads of the target.
    pub target_threads: usize,
    /// CPU time of the target for each I/O.
    pub target_us: f64,
    /// CPU time of the target for each KiB.
    pub target_us_per_kib: f64,
    /// Whether I/Os wait for each other.
    pub lock: Lock,
    /// Share of the whole span that the target's memory holds.
    pub cached: f64,
    /// What takes writes in.
    pub write_cache: WriteCache,
    /// What the data lie on.
    pub medium: Medium,
    /// Rate of the interface of a local device.
    pub bus_rate: Option<f64>,
    /// Accesses of a write that is misaligned or small, as a factor.
    pub read_modify_write: f64,
    /// Writes of this many bytes and more are no longer small.
    pub stripe_bytes: f64,
    /// Time of a flush.
    pub flush_us: f64,
    /// Factor on the media's work for data that repeat.
    pub reduction: f64,
    /// Share of the span that was never written.
    pub unmapped: f64,
    /// Share of the target's time that somebody else takes, in its lowest and highest seconds.
    pub neighbour: (f64, f64),
    /// A slow part of the target.
    pub region: Option<Region>,
    /// Threads of the target that each wait for their I/O, and how long that takes, µs.
    pub served: Option<(usize, f64)>,
    /// Bytes that a connection has under way at most.
    pub window_bytes: Option<f64>,
    /// CPUs that encipher, and time for each KiB, µs.
    pub crypt: Option<(usize, f64)>,
    /// Time without I/O after which the device sleeps, and what waking takes, µs: a light sleep and a deep one.
    pub sleeps: [(f64, f64); 2],
    /// Share of the span in which a write has to allocate its block first, and how long that takes, µs.
    pub unallocated: (f64, f64),
    /// Factor on the work of the media while they are hot, once they are.
    pub throttle: f64,
    /// Share of sequential I/Os that begin another piece of the file.
    pub pieces: f64,
}

/// A load on it.
#[derive(Debug, Clone, PartialEq)]
#[expect(clippy::struct_excessive_bools, reason = "each is one thing that an experiment changes")]
pub struct PlantedLoad {
    /// I/Os outstanding in all.
    pub outstanding: usize,
    /// Threads of the tester.
    pub workers: usize,
    /// Bytes of an I/O.
    pub size: f64,
    /// Share of reads.
    pub reads: f64,
    /// Share of random I/O.
    pub random: f64,
    /// Share of the span that is used.
    pub span: f64,
    /// Whether writes are durable one by one.
    pub is_sync: bool,
    /// Whether the data repeat.
    pub repeats: bool,
    /// Whether offsets are off their alignment.
    pub misaligned: bool,
    /// Whether only one path is used.
    pub one_path: bool,
    /// Whether the path changes with every I/O.
    pub even_paths: bool,
    /// Whether there are four times the connections.
    pub more_connections: bool,
    /// Whether a pause came before.
    pub after_idle: bool,
    /// I/Os per second offered; `None`: as many as complete.
    pub rate: Option<f64>,
    /// How long it is measured, s.
    pub window_s: f64,
}

/// What the tester sees.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Seen {
    /// I/Os per second.
    pub iops: f64,
    /// Latency of each I/O, µs.
    pub times_us: Vec<f64>,
    /// CPU time of the tester over that of its workers.
    pub tester_busy: f64,
    /// Share of the time in which its workers wait for a CPU.
    pub tester_waits: f64,
    /// Share of the time in which a control group stops it.
    pub stopped: f64,
    /// Throughput over the rate of all links; 0 without any.
    pub link_share: f64,
    /// I/Os of the busiest path over the mean.
    pub path_share: f64,
    /// Time on the slowest link over that on the fastest, queues included.
    pub path_delays: f64,
    /// Mean time in the queues that a ping passes too: those of the tester, the links and the target's CPU, µs.
    pub ping_wait_us: f64,
    /// Segments sent again for each 1,000 I/Os.
    pub resent: f64,
    /// Rate of the last third over that of the first.
    pub trend: f64,
    /// Place in bytes and latency in ns of each random I/O, in the order of completion.
    pub places: Vec<(u64, u64)>,
    /// CPU time that encryption took, in CPUs.
    pub crypt_cpus: f64,
}

/// Where an I/O is on its way.
#[derive(Clone, Copy)]
struct Flight {
    issued_us: f64,
    is_read: bool,
    is_random: bool,
    path: usize,
    /// Where it goes, bytes.
    place: u64,
    stage: u8,
}

/// Simulates a load on a set-up; the same seed gives the same numbers.
pub fn measure(world: &World, load: &PlantedLoad, seed: u64) -> Seen {
    Run::new(world, load, seed).go()
}

/// Connections to the target.
fn connections(world: &World, load: &PlantedLoad) -> usize {
    world.paths.max(1) * if load.more_connections { 4 } else { 1 }
}

struct Run<'w> {
    world: &'w World,
    load: &'w PlantedLoad,
    rng: Rng,
    /// What somebody else takes of the target while this is measured.
    neighbour: f64,

    tester: Station,
    quota: Quota,
    links: Links,
    target: Station,
    /// Which slot holds the lock, and those that wait for it in the order of their arrival.
    lock: (Option<usize>, VecDeque<usize>),
    bus: Station,
    media: media::Media,
    flush: Station,
    threads: Station,
    windows: Vec<Station>,
    crypt: Station,
    allocator: Station,
    /// When the limits let the next I/O pass, µs.
    next_token: f64,
    /// When the media had their last I/O, µs.
    last_use: f64,
    crypt_us: f64,

    events: BinaryHeap<Reverse<(u64, usize)>>,
    flights: Vec<Flight>,
    started: usize,
    room: f64,
    resent: usize,
    /// Time in the queues that a ping passes too, all I/Os together, µs.
    ping_wait_us: f64,
    ended: Vec<(f64, f64, u64)>,
    tester_us: f64,
    /// Time in which a worker waits for its CPU, all together, µs.
    waited_us: f64,
    /// Time in which I/Os wait for the tester, all together, µs.
    queued_us: f64,
}

impl<'w> Run<'w> {
    fn new(world: &'w World, load: &'w PlantedLoad, seed: u64) -> Self {
        let mut rng = Rng::new(seed);
        let (lo, hi) = world.neighbour;
        let neighbour = lo + (hi - lo) * rng.unit();
        let room = match world.write_cache {
            WriteCache::Full { room } if load.after_idle => room,
            _ => 0.0,
        };
        Self {
            neighbour,
            // Where others take turns on a CPU, another worker has a turn of its own.
            tester: Station::new(if world.others > 0.0 {
                load.workers
            } else {
                load.workers.min(world.cpus)
            }),
            quota: Quota::new(world.quota),
            links: Links::new(world.paths, world.slowest_link, load),
            target: Station::new(world.target_threads),
            lock: (None, VecDeque::new()),
            bus: Station::new(1),
            media: media::Media::new(&world.medium),
            flush: Station::new(1),
            threads: Station::new(world.served.map_or(1, |(threads, _)| threads)),
            windows: (0..connections(world, load)).map(|_| Station::new(1)).collect(),
            crypt: Station::new(world.crypt.map_or(1, |(cpus, _)| cpus)),
            allocator: Station::new(1),
            next_token: 0.0,
            last_use: 0.0,
            crypt_us: 0.0,
            events: BinaryHeap::new(),
            flights: Vec::new(),
            started: 0,
            room,
            resent: 0,
            ping_wait_us: 0.0,
            ended: Vec::new(),
            tester_us: 0.0,
            waited_us: 0.0,
            queued_us: 0.0,
            rng,
            world,
            load,
        }
    }

    fn go(mut self) -> Seen {
        for slot in 0..self.load.outstanding {
            let at = self.load.rate.map_or(0.0, |rate| slot as f64 * 1e6 / rate);
            let flight = self.begin_at(at);
            self.flights.push(flight);
            self.push(at, slot);
        }
        let (is_stripe, gathering) = (self.is_stripe(), self.gathering());
        let most = gathering + if is_stripe { IOS_OF_STRIPE } else { IOS_MAX };
        let mut end_us = f64::INFINITY;
        while self.ended.len() < most {
            let Some(Reverse((at_ns, slot))) = self.events.pop() else { break };
            let now_us = at_ns as f64 / 1e3;
            if is_stripe && end_us.is_infinite() && self.ended.len() >= gathering {
                end_us = now_us + self.load.window_s * 1e6;
            }
            if now_us > end_us {
                break;
            }
            let flight = self.flights[slot];
            match flight.stage {
                STORAGE if self.is_locked(flight) && !self.takes_lock(slot) => continue,
                AFTER_STORAGE => self.release_lock(slot, now_us),
                _ => {}
            }
            match self.pass(flight, now_us) {
                Some(next_us) => {
                    self.flights[slot].stage += 1;
                    self.push(next_us, slot);
                }
                None => {
                    self.ended.push((now_us, now_us - flight.issued_us, flight.place));
                    let due = self.load.rate.map_or(now_us, |rate| self.started as f64 * 1e6 / rate);
                    let at = due.max(now_us);
                    self.flights[slot] = self.begin_at(at);
                    self.push(at, slot);
                }
            }
        }
        self.seen()
    }

    fn is_locked(&self, flight: Flight) -> bool {
        self.world.lock == Lock::All || (self.world.lock == Lock::Writes && !flight.is_read)
    }

    /// Whether an I/O has the lock; else it waits for it. What waits is not with the media yet: others pass it there.
    fn takes_lock(&mut self, slot: usize) -> bool {
        let (holder, waiting) = &mut self.lock;
        if *holder.get_or_insert(slot) != slot {
            waiting.push_back(slot);
            return false;
        }
        true
    }

    fn release_lock(&mut self, slot: usize, now_us: f64) {
        if self.lock.0 != Some(slot) {
            return;
        }
        self.lock.0 = self.lock.1.pop_front();
        if let Some(next) = self.lock.0 {
            self.push(now_us, next);
        }
    }

    fn is_stripe(&self) -> bool {
        matches!(self.world.medium, Medium::Stripe { .. })
    }

    fn gathering(&self) -> usize {
        if self.is_stripe() { self.load.outstanding * GATHERING } else { 0 }
    }

    fn begin_at(&mut self, at_us: f64) -> Flight {
        let is_read = self.rng.unit() < self.load.reads;
        let is_random = self.rng.unit() < self.load.random;
        let path = self.links.choose(self.started, self.world.spread);
        self.started += 1;
        let blocks = (self.load.span * TARGET_BYTES as f64 / PLACE_BYTES as f64) as u64;
        let place = self.rng.below(blocks.max(1)) * PLACE_BYTES;
        Flight { issued_us: at_us, is_read, is_random, path, place, stage: 0 }
    }

    fn push(&mut self, at_us: f64, slot: usize) {
        let at_ns = (at_us * 1e3) as u64;
        self.events.push(Reverse((at_ns, slot)));
    }

    /// When the I/O leaves its next station; `None` at the end of its way.
    fn pass(&mut self, flight: Flight, now: f64) -> Option<f64> {
        let (w, size) = (self.world, self.load.size);
        let kib = size / 1024.0;
        Some(match flight.stage {
            0 => {
                let busy = w.tester_us + w.tester_us_per_kib * kib;
                self.tester_us += busy;
                // Others take turns of the scheduler.
                let stretched = busy / (1.0 - w.others) * (0.7 + 0.6 * self.rng.unit());
                // Their turns alone are waits for a CPU, and not the scatter of what the work takes.
                self.waited_us += stretched * w.others;
                let begin = self.quota.passes(now.max(self.tester.free_us()), busy);
                let end = self.tester.serve(begin, stretched);
                self.queued_us += end - stretched - now;
                self.queued(now, end, stretched)
            }
            // A durable write goes on to the storage.
            1 if w.page_cached && (flight.is_read || !self.load.is_sync) => return None,
            1 => now + w.delay_us * (0.8 + 0.4 * self.rng.unit()),
            2 => {
                let passed = self.limit(now);
                self.enciphered(passed)
            }
            3 if flight.is_read || w.paths == 0 => now,
            3 => {
                let now = self.in_window(now);
                let end = self.links.send(flight.path, now, size / w.link_rate);
                self.queued(now, end, size / w.link_rate)
            }
            4 => {
                let cost = (w.target_us + w.target_us_per_kib * kib) / (1.0 - self.neighbour * 0.5);
                let cost = cost * (0.85 + 0.3 * self.rng.unit());
                let end = self.target.serve(now, cost);
                let end = self.queued(now, end, cost);
                match w.served {
                    Some((_, us)) => self.threads.serve(end, us * (0.9 + 0.2 * self.rng.unit())),
                    None => end,
                }
            }
            STORAGE => self.storage(flight, now),
            AFTER_STORAGE if !flight.is_read && self.load.is_sync => {
                self.flush.serve(now, w.flush_us * (0.8 + 0.4 * self.rng.unit()))
            }
            AFTER_STORAGE => now,
            7 if w.paths > 0 && flight.is_read => {
                let now = self.in_window(now);
                let end = self.links.receive(flight.path, now, size / w.link_rate);
                self.queued(now, end, size / w.link_rate)
            }
            7 => now,
            8 if self.rng.unit() < w.loss => {
                self.resent += 1;
                // Most are noticed by acknowledgements that repeat; the last segment of an answer is not.
                if self.rng.unit() < 0.5 { now + RETRANSMIT_US } else { now + 4.0 * w.delay_us + 500.0 }
            }
            8 => now,
            _ => return None,
        })
    }

    /// Counts the time in a queue that a ping would wait in too, and returns the end.
    fn queued(&mut self, now: f64, end: f64, service: f64) -> f64 {
        self.ping_wait_us += (end - now - service).max(0.0);
        end
    }

    fn limit(&mut self, now: f64) -> f64 {
        let w = self.world;
        let of_ops = w.iops_cap.map_or(0.0, |cap| 1e6 / cap);
        let of_bytes = w.bytes_cap.map_or(0.0, |cap| self.load.size / cap);
        // A bucket of tokens: what comes below its rate passes at once.
        let passes = now.max(self.next_token);
        self.next_token = passes + of_ops.max(of_bytes);
        passes
    }

    /// A connection carries a window in each round trip.
    fn in_window(&mut self, now: f64) -> f64 {
        let Some(window) = self.world.window_bytes else { return now };
        let connection = self.started % self.windows.len();
        let takes = self.load.size / window * self.world.delay_us;
        self.windows[connection].serve(now, takes) - takes.min(self.world.delay_us)
    }

    fn enciphered(&mut self, now: f64) -> f64 {
        let Some((_, us_per_kib)) = self.world.crypt else { return now };
        let takes = us_per_kib * self.load.size / 1024.0;
        self.crypt_us += takes;
        self.crypt.serve(now, takes * (0.95 + 0.1 * self.rng.unit()))
    }

    /// When the media are awake.
    fn awake(&mut self, now: f64) -> f64 {
        let idle = now - self.last_use;
        let wakes = self.world.sleeps.iter().filter(|(after, _)| idle > *after).map(|(_, takes)| *takes);
        let awake = now + wakes.fold(0.0, f64::max);
        self.last_use = self.last_use.max(awake);
        awake
    }

    /// When the block of a write is allocated.
    fn allocated(&mut self, flight: Flight, now: f64) -> f64 {
        let (share, takes) = self.world.unallocated;
        // A few MiB are allocated as soon as they were written once.
        let is_used = flight.is_read || self.load.span < 0.001;
        if is_used || self.rng.unit() >= share { now } else { self.allocator.serve(now, takes) }
    }

    fn in_region(&self, flight: Flight) -> Option<Region> {
        let share = flight.place as f64 / TARGET_BYTES as f64;
        self.world.region.filter(|region| flight.is_random && (region.ends.0..region.ends.1).contains(&share))
    }

    /// Cache and media.
    fn storage(&mut self, flight: Flight, now: f64) -> f64 {
        let (w, load) = (self.world, self.load);
        if self.rng.unit() < w.unmapped && flight.is_read {
            return now;
        }
        let fits = (w.cached / load.span.max(1e-6)).min(1.0);
        if flight.is_read && self.rng.unit() < fits {
            return now + 3.0;
        }
        let is_absorbed = match w.write_cache {
            WriteCache::Absorbing { is_protected } => is_protected || !load.is_sync,
            WriteCache::Full { .. } => self.room > 0.0,
            WriteCache::None => false,
        };
        if !flight.is_read && is_absorbed {
            self.room -= 1.0;
            return now + 5.0;
        }
        let region = self.in_region(flight);
        let mut work = w.throttle / (1.0 - self.neighbour).max(0.05);
        work *= region.map_or(1.0, |region| region.times);
        let now = self.awake(now);
        let now = self.allocated(flight, now);
        let is_partial = load.misaligned || load.size < w.stripe_bytes;
        if !flight.is_read && is_partial && flight.is_random {
            work *= w.read_modify_write;
        }
        if !flight.is_read && load.repeats {
            work /= w.reduction;
        }
        let place = media::Place {
            is_read: flight.is_read,
            is_random: flight.is_random || self.rng.unit() < w.pieces,
            at: flight.place,
            span: load.span,
            after_idle: load.after_idle,
        };
        let done = self.media.serve(now, load.size, work, place, &mut self.rng);
        self.last_use = self.last_use.max(done);
        let done = done + region.map_or(0.0, |region| region.delay_us);
        match w.bus_rate {
            Some(rate) => self.bus.serve(done, load.size / rate),
            None => done,
        }
    }

    /// Share of the time in which a worker waits for a CPU: while others have it, while its control group is stopped,
    /// and while as many workers as there are CPUs run.
    fn tester_waits(&self, length_us: f64) -> f64 {
        let workers = self.load.workers as f64;
        let all = length_us.max(1e-9);
        let for_each_other = if self.load.workers > self.world.cpus {
            // Most workers have an I/O that waits for them, and the others run or sleep.
            (self.queued_us / all).min(workers - self.tester_us / all)
        } else {
            0.0
        };
        (((self.waited_us + self.quota.stopped_us()) / all + for_each_other) / workers).min(1.0)
    }

    fn seen(self) -> Seen {
        let gathering = self.gathering();
        // While the I/Os gather a stripe warms up, too.
        let warm_up = if self.is_stripe() { 0.0 } else { WARM_UP };
        let skip = ((self.ended.len().saturating_sub(gathering)) as f64 * warm_up) as usize + gathering;
        let kept = &self.ended[skip.min(self.ended.len().saturating_sub(1))..];
        let (Some(first), Some(last)) = (kept.first(), kept.last()) else { return Seen::default() };
        let seconds = ((last.0 - first.0) / 1e6).max(1e-9);
        let iops = kept.len() as f64 / seconds;
        let third = kept.len() / 3;
        let span = |part: &[(f64, f64, u64)]| {
            part.last().zip(part.first()).map_or(1.0, |(l, f)| (l.0 - f.0).max(1e-9))
        };
        let trend = if third > 5 { span(&kept[..third]) / span(&kept[kept.len() - third..]) } else { 1.0 };
        let links = self.world.link_rate * self.world.paths as f64;
        Seen {
            iops,
            times_us: kept.iter().map(|(_, latency, _)| *latency).collect(),
            places: kept.iter().map(|(_, us, place)| (*place, (us * 1e3) as u64)).collect(),
            crypt_cpus: self.crypt_us / last.0.max(1e-9),
            tester_waits: self.tester_waits(last.0),
            stopped: self.quota.stopped_us() / last.0.max(1e-9),
            tester_busy: self.tester_us / (last.0.max(1e-9) * self.load.workers as f64),
            link_share: if links > 0.0 { iops * self.load.size / 1e6 / links } else { 0.0 },
            path_share: self.links.share(),
            path_delays: self.links.delays(),
            ping_wait_us: self.ping_wait_us / self.started as f64,
            resent: self.resent as f64 * 1000.0 / self.ended.len() as f64,
            trend,
        }
    }
}
