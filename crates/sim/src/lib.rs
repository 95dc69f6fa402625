//! `sim:ARRAY`: a simulated array as a target in real time.
//!
//! The model's [`Simulation`] computes when each I/O completes; a [`SimTarget`] returns it when the wall clock reaches
//! that time. All workers of a step share one simulated array ([`Shared`]), which starts idle and with empty caches,
//! like the prediction of the step. [`Truth`] keeps the array's own counts for comparison with the measurement.
//!
//! The same array stands behind files that real servers can serve ([`fuse`]): that is the lab.
//!
//! Unlike targets of files and devices this one takes a lock for each call: it demonstrates and checks the tool, and an
//! array of the simulated sizes completes thousands of I/Os per second, not millions.

#![forbid(unsafe_code)]

#[cfg(feature = "fuse")]
pub mod fuse;
mod truth;

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use assay_model::array::Array;
use assay_model::des::{Simulation, SubmitError, VirtualOp};
use assay_model::raid::Kind;
use assay_spec::Engine;
use assay_target::{
    AnyTarget, BATCH_MAX, Completion, Geometry, Member, Op, OpKind, OpenError, OpenRequest, SimulatedMember,
    Target, TargetLost, Wait,
};

use truth::KEPT_MAX;
pub use truth::{Truth, TruthStats};

/// Number of I/Os that a simulated array accepts at once, for all workers together; a full one returns the next.
const IN_FLIGHT_MAX: usize = 8192;
/// Time before a completion during which the clock is polled, because sleeping is late by tens of microseconds.
const SPIN: Duration = Duration::from_micros(150);
/// Interval at which a worker checks for completions produced by another worker's call.
const GLANCE: Duration = Duration::from_millis(1);
/// Seed of the simulations: the same plan gets the same array.
const SEED: u64 = 1;

/// The simulated arrays of a run.
#[derive(Default)]
pub struct SimulatedArrays {
    arrays: HashMap<String, Array>,

    live: Mutex<HashMap<String, Weak<Shared>>>,
    truths: Arc<Mutex<Vec<Truth>>>,
}

/// One array during one step.
struct Shared {
    name: String,
    epoch: Instant,
    truths: Arc<Mutex<Vec<Truth>>>,
    state: Mutex<State>,
}

struct State {
    simulation: Simulation,
    /// Owner of each I/O in flight.
    flights: HashMap<u64, Flight>,
    /// Completions that wait for their worker, by worker.
    landed: Vec<VecDeque<Completion>>,
    /// Times of issue and completion of each I/O, ns since the epoch.
    log: Vec<(u64, u64)>,
}

struct Flight {
    worker: usize,
    completion: Completion,
    role: Role,
}

/// What an operation in flight is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    /// A read or a write, which the array counts.
    Io,
    /// A flush between writes.
    Flush,
}

/// Locks even after a worker panicked: the remaining state is then only counted, never relied on.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl SimulatedArrays {
    /// Returns the given arrays, each under the name in its address.
    pub fn new(arrays: HashMap<String, Array>) -> Self {
        Self { arrays, ..Self::default() }
    }

    /// Opens a worker's target: simulated members here, all others as usual.
    pub fn open(&self, request: &OpenRequest<'_>) -> Result<AnyTarget, OpenError> {
        let simulated: Option<Vec<&SimulatedMember>> = request.members.iter().map(simulated).collect();
        let Some(members) = simulated.filter(|members| !members.is_empty()) else {
            return assay_target::open(request);
        };
        let arrays = members.iter().map(|member| self.shared(member)).collect::<Result<Vec<_>, _>>()?;
        Ok(AnyTarget::Other(Box::new(SimTarget::new(arrays, &members, request))))
    }

    /// Returns the step's instance of an array: created by the first worker, dropped with the last.
    fn shared(&self, member: &SimulatedMember) -> Result<Arc<Shared>, OpenError> {
        let mut live = lock(&self.live);
        if let Some(shared) = live.get(&member.array).and_then(Weak::upgrade) {
            return Ok(shared);
        }
        let unknown = || OpenError::Simulated {
            array: member.array.clone(),
            why: "its description was not read".to_owned(),
        };
        let array = self.arrays.get(&member.array).ok_or_else(unknown)?;
        let shared = Arc::new(Shared {
            name: member.array.clone(),
            epoch: Instant::now(),
            truths: Arc::clone(&self.truths),
            state: Mutex::new(State {
                simulation: Simulation::new(array, member.span_bytes, IN_FLIGHT_MAX, SEED),
                flights: HashMap::with_capacity(IN_FLIGHT_MAX),
                landed: Vec::new(),
                log: Vec::new(),
            }),
        });
        live.insert(member.array.clone(), Arc::downgrade(&shared));
        Ok(shared)
    }

    /// Returns the arrays' own records, in the order of the steps.
    pub fn truths(&self) -> Vec<Truth> {
        lock(&self.truths).clone()
    }
}

fn simulated(member: &Member) -> Option<&SimulatedMember> {
    match member {
        Member::Simulated(member) => Some(member),
        _ => None,
    }
}

impl Shared {
    fn now_ns(&self) -> u64 {
        u64::try_from(self.epoch.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }
}

impl State {
    /// Passes completed I/Os to their workers.
    fn advance(&mut self, now_ns: u64) {
        while let Some(done) = self.simulation.next_completion_before(now_ns) {
            if let Some(flight) = self.flights.remove(&done.id) {
                if flight.role == Role::Io && self.log.len() < KEPT_MAX {
                    self.log.push((done.issued_ns, done.at_ns));
                }
                self.landed[flight.worker].push_back(flight.completion);
            }
        }
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        let state = self.state.get_mut().unwrap_or_else(PoisonError::into_inner);
        if !state.log.is_empty() {
            let log = std::mem::take(&mut state.log);
            lock(&self.truths).push(Truth { array: self.name.clone(), log });
        }
    }
}

/// A worker's view of the simulated arrays of its job.
pub struct SimTarget {
    geometry: Geometry,
    /// For each member: its array, and which of its LUNs with what durability.
    members: Vec<(Arc<Shared>, SimulatedMember)>,
    /// The distinct arrays, with this worker's index in each.
    arrays: Vec<(Arc<Shared>, usize)>,

    lost: Option<TargetLost>,
}

impl SimTarget {
    fn new(shared: Vec<Arc<Shared>>, simulated: &[&SimulatedMember], request: &OpenRequest<'_>) -> Self {
        let mut arrays: Vec<(Arc<Shared>, usize)> = Vec::new();
        for one in &shared {
            if !arrays.iter().any(|(known, _)| Arc::ptr_eq(known, one)) {
                let mut state = lock(&one.state);
                state.landed.push(VecDeque::with_capacity(request.depth as usize));
                let worker = state.landed.len() - 1;
                let workers = u32::try_from(state.landed.len()).unwrap_or(u32::MAX);
                state.simulation.set_workers(workers);
                drop(state);
                arrays.push((Arc::clone(one), worker));
            }
        }
        let geometry = Geometry {
            members: request.spans(),
            block_bytes: 512,
            depth: request.depth,
            engine: Engine::Sim,
        };
        let members = shared.into_iter().zip(simulated.iter().map(|member| (*member).clone())).collect();
        Self { geometry, members, arrays, lost: None }
    }

    /// Takes this worker's completions; if there are none, returns the time until there may be one.
    fn collect(&mut self, done: &mut Vec<Completion>) -> Option<Duration> {
        let mut soonest: Option<u64> = None;
        for (shared, worker) in &self.arrays {
            let mut state = lock(&shared.state);
            let now_ns = shared.now_ns();
            state.advance(now_ns);
            let room = BATCH_MAX - done.len();
            let landed = &mut state.landed[*worker];
            let count = landed.len().min(room);
            done.extend(landed.drain(..count));
            let next = state.simulation.next_event_ns().map(|at| at.saturating_sub(now_ns));
            soonest = [soonest, next].into_iter().flatten().min();
        }
        soonest.map(Duration::from_nanos)
    }
}

impl Target for SimTarget {
    fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    fn submit(&mut self, op: Op) -> Result<(), Op> {
        let (shared, member) = &self.members[op.member as usize];
        let place = self.arrays.iter().find(|(known, _)| Arc::ptr_eq(known, shared));
        let (_, worker) = place.expect("every member's array is listed");
        let mut state = lock(&shared.state);
        let now_ns = shared.now_ns();
        state.advance(now_ns);
        let virtual_op = |kind| VirtualOp {
            member: member.lun,
            kind,
            offset_bytes: op.offset_bytes,
            size_bytes: u64::from(op.size_bytes),
            flush_every: member.flush_every,
        };
        let (role, taken) = match op.kind {
            OpKind::Read => (Role::Io, state.simulation.submit(now_ns, virtual_op(Kind::Read))),
            OpKind::Write => (Role::Io, state.simulation.submit(now_ns, virtual_op(Kind::Write))),
            OpKind::Flush(_) => {
                let every = member.flush_every.unwrap_or(1);
                (Role::Flush, state.simulation.submit_flush(now_ns, every))
            }
            OpKind::Trim => {
                let completion = Completion::new(op.tag, Ok(op.size_bytes), op.buf);
                state.landed[*worker].push_back(completion);
                return Ok(());
            }
        };
        match taken {
            Ok(id) => {
                let completion = Completion::new(op.tag, Ok(op.size_bytes), op.buf);
                state.flights.insert(id, Flight { worker: *worker, completion, role });
                Ok(())
            }
            Err(error) => {
                if let SubmitError::TooLate = error {
                    self.lost = Some(TargetLost::Simulated(error.to_string()));
                }
                Err(op)
            }
        }
    }

    fn poll(&mut self, wait: Wait, done: &mut Vec<Completion>) -> Result<(), TargetLost> {
        if let Some(lost) = &self.lost {
            return Err(lost.clone());
        }
        let deadline = match wait {
            Wait::No => Some(Instant::now()),
            Wait::One => None,
            Wait::AtMost(time) => Some(Instant::now() + time),
        };
        loop {
            let next = self.collect(done);
            let left = deadline.map(|d| d.saturating_duration_since(Instant::now()));
            if !done.is_empty() || left == Some(Duration::ZERO) {
                return Ok(());
            }
            let pause = [Some(GLANCE), next, left].into_iter().flatten().min().unwrap_or(GLANCE);
            match pause.checked_sub(SPIN) {
                Some(sleep) if !sleep.is_zero() => std::thread::sleep(sleep),
                _ => std::hint::spin_loop(),
            }
        }
    }

    fn reopen(&mut self, _member: u32) -> Result<(), TargetLost> {
        Ok(())
    }
}
