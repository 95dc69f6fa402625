//! Closed and paced loops of one or several clients on a simulated array.

use std::collections::VecDeque;

use hdrhistogram::Histogram;

use super::core::{Core, Step};
use super::heap::{INDEX_LIMIT, TIME_LIMIT_NS};
use crate::demand::fullest_part;
use crate::num::{index, whole};
use crate::raid::Part;
use crate::resolved::{Class, ResolvedArray};
use crate::rng::Rng;
use crate::workload::{Arrivals, LoadModel, Workload};

/// Longest response time a histogram holds: one hour. Longer ones count as one hour.
const LONGEST_NS: u64 = 3_600_000_000_000;
/// The wait of a paced I/O before its issue shares the tag with the client's number.
const CLIENT_BITS: u32 = 8;

/// How far a simulation goes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SimOptions {
    /// Seed; the same seed gives the same run.
    pub seed: u64,
    /// Stops after this many I/Os, even if the workload's duration is not over.
    pub max_ios: u64,
    /// Starts with full write caches (write-back, SLC): the steady state, without simulating the way to it.
    pub cache_full: bool,
}

impl Default for SimOptions {
    fn default() -> Self {
        Self { seed: 1, max_ios: 300_000, cache_full: false }
    }
}

/// What one client saw.
#[derive(Debug, Clone)]
pub struct ClientOutcome {
    /// Completed I/Os per second.
    pub iops: f64,
    /// Bytes per second.
    pub bytes_s: f64,
    /// Mean I/Os in flight.
    pub in_flight: f64,
    /// Response times from the intended start, ns.
    pub latency_ns: Histogram<u64>,
    /// I/Os counted.
    pub ios: u64,
    /// Whether the I/O limit ended the run before its duration did.
    pub cut_short: bool,
}

impl ClientOutcome {
    /// Mean response time, ms.
    #[must_use]
    pub fn mean_ms(&self) -> f64 {
        self.latency_ns.mean() / 1e6
    }

    /// A percentile of the response time, ms; `p` in \[0, 100\].
    #[must_use]
    pub fn percentile_ms(&self, p: f64) -> f64 {
        self.latency_ns.value_at_percentile(p) as f64 / 1e6
    }
}

/// A client's state.
struct Client {
    /// Cumulative shares of 2^32, and the io_cost of each.
    thresholds: Vec<(u64, u32)>,
    outstanding: u64,
    reconnect_every: Option<u64>,
    gap_ns: Option<(f64, Arrivals)>,
    end_ns: u64,

    in_flight: u64,
    started: u64,
    draining: bool,
    /// Intended start of paced I/Os that found no free place.
    backlog: VecDeque<u64>,
    bytes_of: Vec<u64>,
    latency_ns: Histogram<u64>,
    ios: u64,
    bytes: u64,
    latency_sum_ns: u128,
}

/// Runs the workloads side by side on one array, each with its own closed or paced loop.
///
/// At most 256 workloads; outstanding beyond 32767 in all are cut.
#[must_use]
pub fn simulate(resolved: &ResolvedArray, workloads: &[Workload], options: SimOptions) -> Vec<ClientOutcome> {
    let total: f64 = workloads.iter().map(Workload::total_outstanding).sum();
    let mut core = Core::new(resolved, index(whole(total)).min(INDEX_LIMIT - 1), options.seed);
    let mut rng = Rng::new(options.seed ^ 0xC1_1E57);
    let mut clients: Vec<Client> = workloads
        .iter()
        .enumerate()
        .map(|(i, w)| Client::new(w, &resolved.classes(w), &mut core, i))
        .collect();
    if options.cache_full {
        let shares: Vec<(f64, u32)> =
            clients.iter().zip(workloads).flat_map(|(client, w)| client.backlog_of(resolved, w)).collect();
        core.prefill(&shares);
    }
    for (i, client) in clients.iter_mut().enumerate() {
        client.fill(&mut core, &mut rng, i);
    }
    let (end_ns, cut_short) = run(&mut core, &mut clients, &mut rng, options.max_ios);
    clients.into_iter().map(|c| c.outcome(end_ns, cut_short)).collect()
}

/// Runs until the duration is over or enough I/Os completed; returns when that was.
fn run(core: &mut Core, clients: &mut [Client], rng: &mut Rng, max_ios: u64) -> (u64, bool) {
    let end_ns = clients.iter().map(|c| c.end_ns).max().unwrap_or(0);
    let mut completed = 0;
    loop {
        if core.next_event_ns().is_none_or(|t| t >= end_ns) {
            return (end_ns, false);
        }
        match core.step() {
            Step::Completed { tag, issued_ns, io_cost } => {
                let who = index(tag & ((1 << CLIENT_BITS) - 1));
                let client = &mut clients[who];
                client.complete(core.now_ns, issued_ns, tag >> CLIENT_BITS, io_cost);
                client.next(core, rng, who);
                completed += 1;
                if completed >= max_ios {
                    return (core.now_ns, true);
                }
            }
            Step::Timer(who) => clients[who].due(core, rng, who),
            Step::Internal => {}
            Step::Idle => return (end_ns, false),
        }
    }
}

impl Client {
    fn new(workload: &Workload, classes: &[Class], core: &mut Core, number: usize) -> Self {
        let mut below = 0.0;
        let mut bytes_of = Vec::new();
        let thresholds = classes
            .iter()
            .map(|class| {
                below += class.share;
                let io_cost = core.add_recipe(&class.io_cost);
                bytes_of.resize(io_cost as usize + 1, 0);
                bytes_of[io_cost as usize] = whole(class.io_cost.bytes);
                (whole(below * (1_u64 << 32) as f64), io_cost)
            })
            .collect();
        let gap_ns = match workload.pace {
            LoadModel::Closed => None,
            LoadModel::Rate { per_s, arrivals } => Some((1e9 / per_s, arrivals)),
        };
        if gap_ns.is_some() {
            core.set_timer(0, number);
        }
        Self {
            thresholds,
            outstanding: whole(workload.total_outstanding()),
            reconnect_every: workload.reconnect_every.map(u64::from),
            gap_ns,
            end_ns: workload.duration.0.clamp(1, TIME_LIMIT_NS - 1),
            in_flight: 0,
            started: 0,
            draining: false,
            backlog: VecDeque::new(),
            bytes_of,
            latency_ns: Histogram::new_with_bounds(1, LONGEST_NS, 3).expect("constant bounds are valid"),
            ios: 0,
            bytes: 0,
            latency_sum_ns: 0,
        }
    }

    /// Shares of the writes that a full cache holds: to the members that are full first, as the others drain theirs.
    fn backlog_of(&self, resolved: &ResolvedArray, workload: &Workload) -> Vec<(f64, u32)> {
        let classes = resolved.classes(workload);
        let full = fullest_part(resolved, &classes);
        let waits = |class: &Class| full == Part::All || [full, Part::All].contains(&class.io_cost.part);
        let known = classes.iter().zip(&self.thresholds).filter(|(class, _)| waits(class));
        known.map(|(class, (_, io_cost))| (class.share, *io_cost)).collect()
    }

    /// Starts the closed loop with everything in flight at once.
    fn fill(&mut self, core: &mut Core, rng: &mut Rng, number: usize) {
        while self.gap_ns.is_none() && !self.draining && self.in_flight < self.outstanding && core.has_room()
        {
            self.issue(core, rng, number, 0);
        }
    }

    fn issue(&mut self, core: &mut Core, rng: &mut Rng, number: usize, waited_ns: u64) {
        let draw = if self.thresholds.len() == 1 { 0 } else { rng.bits() >> 32 };
        let io_cost = self
            .thresholds
            .iter()
            .find(|(below, _)| draw < *below)
            .or(self.thresholds.last())
            .map_or(0, |c| c.1);
        core.submit(io_cost, waited_ns << CLIENT_BITS | number as u64);
        self.in_flight += 1;
        self.started += 1;
        self.draining = self.reconnect_every.is_some_and(|every| self.started >= every);
    }

    fn complete(&mut self, now_ns: u64, issued_ns: u64, waited_ns: u64, io_cost: u32) {
        let response_ns = now_ns - issued_ns + waited_ns;
        self.latency_ns.saturating_record(response_ns.max(1));
        self.ios += 1;
        self.bytes += self.bytes_of[io_cost as usize];
        self.latency_sum_ns += u128::from(now_ns - issued_ns);
        self.in_flight -= 1;
    }

    /// Keeps the loop going after a completion; a drained connection reopens and refills.
    fn next(&mut self, core: &mut Core, rng: &mut Rng, number: usize) {
        if self.draining {
            if self.in_flight == 0 {
                self.started = 0;
                self.draining = false;
                self.fill(core, rng, number);
            }
        } else if self.gap_ns.is_none() {
            self.issue(core, rng, number, 0);
        } else if let Some(intended) = self.backlog.pop_front() {
            self.issue(core, rng, number, core.now_ns - intended);
        }
    }

    /// A paced I/O is due; the next one is scheduled.
    fn due(&mut self, core: &mut Core, rng: &mut Rng, number: usize) {
        let Some((gap_ns, arrivals)) = self.gap_ns else { return };
        let factor = match arrivals {
            Arrivals::Even => 1.0,
            Arrivals::Poisson => rng.exponential(),
        };
        core.set_timer((core.now_ns + whole(gap_ns * factor).max(1)).min(TIME_LIMIT_NS - 1), number);
        if self.in_flight < self.outstanding && !self.draining {
            self.issue(core, rng, number, 0);
        } else {
            self.backlog.push_back(core.now_ns);
        }
    }

    fn outcome(self, end_ns: u64, cut_short: bool) -> ClientOutcome {
        let seconds = end_ns as f64 / 1e9;
        ClientOutcome {
            iops: self.ios as f64 / seconds,
            bytes_s: self.bytes as f64 / seconds,
            in_flight: self.latency_sum_ns as f64 / end_ns.max(1) as f64,
            latency_ns: self.latency_ns,
            ios: self.ios,
            cut_short,
        }
    }
}
