//! Answers each I/O when the model says.
//!
//! One thread brings I/Os in ([`Clock::begin`]), another answers them ([`Clock::answer_in_time`]): it sleeps until the
//! next one is due or something has come in.

use std::collections::HashMap;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use assay_model::array::Array;
use assay_model::des::{Arrival, Simulation, VirtualOp};
use fuser::{Errno, ReplyData, ReplyWrite};

use super::served::{Counts, Served};
use crate::{IN_FLIGHT_MAX, SEED};

/// A simulation lasts at most 19 hours of its own time; a fresh one takes over well before.
const RENEW_AFTER: Duration = Duration::from_secs(12 * 3600);

/// An answer that is complete but for its time.
pub(super) enum Answer {
    /// Of a read.
    Data(ReplyData, Vec<u8>),
    /// Of a write.
    Written(ReplyWrite, u32),
}

impl Answer {
    fn give(self) {
        match self {
            Self::Data(reply, data) => reply.data(&data),
            Self::Written(reply, bytes) => reply.written(bytes),
        }
    }

    fn refuse(self, errno: Errno) {
        match self {
            Self::Data(reply, _) => reply.error(errno),
            Self::Written(reply, _) => reply.error(errno),
        }
    }
}

/// The simulated array in real time.
pub(super) struct Clock {
    span_bytes: u64,

    state: Mutex<State>,
    changed: Condvar,
}

struct State {
    array: Array,
    /// The last one takes I/Os; those before it answer what they have.
    running: Vec<Running>,
    counts: Counts,
    is_over: bool,
}

struct Running {
    epoch: Instant,
    simulation: Simulation,
    answers: HashMap<u64, Answer>,
}

/// An answer with the time at which it is due.
struct Due {
    at: Instant,
    answer: Answer,
}

impl Running {
    fn new(array: &Array, span_bytes: u64) -> Self {
        let simulation = Simulation::new(array, span_bytes, IN_FLIGHT_MAX, SEED)
            .with_arrival(Arrival::Shuffled)
            .with_cached_blocks();
        Self { epoch: Instant::now(), simulation, answers: HashMap::with_capacity(256) }
    }

    fn now_ns(&self) -> u64 {
        u64::try_from(self.epoch.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }

    /// Takes what is due, and returns when something will happen next.
    fn collect(&mut self, due: &mut Vec<Due>, served: &mut Served) -> Option<Instant> {
        let now_ns = self.now_ns();
        while let Some(done) = self.simulation.next_completion_before(now_ns) {
            served.model_ns += done.at_ns - done.issued_ns;
            if let Some(answer) = self.answers.remove(&done.id) {
                due.push(Due { at: self.epoch + Duration::from_nanos(done.at_ns), answer });
            }
        }
        self.simulation.next_event_ns().map(|at_ns| self.epoch + Duration::from_nanos(at_ns))
    }
}

impl Clock {
    /// An idle array over a region of that size.
    pub(super) fn new(array: &Array, span_bytes: u64) -> Self {
        let state = State {
            array: array.clone(),
            running: vec![Running::new(array, span_bytes)],
            counts: Counts::new(),
            is_over: false,
        };
        Self { span_bytes, state: Mutex::new(state), changed: Condvar::new() }
    }

    /// Locks even after a panic elsewhere: the kernel waits for its answers all the same.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes an I/O whose answer is ready, to give it when the model says.
    pub(super) fn begin(&self, op: VirtualOp, answer: Answer) {
        let mut state = self.lock();
        if state.is_over {
            drop(state);
            return answer.give();
        }
        if state.running.last().is_none_or(|running| running.epoch.elapsed() > RENEW_AFTER) {
            let fresh = Running::new(&state.array, self.span_bytes);
            state.running.push(fresh);
        }
        let Some(running) = state.running.last_mut() else { return answer.refuse(Errno::EIO) };
        let now_ns = running.now_ns();
        match running.simulation.submit(now_ns, op) {
            Ok(id) => {
                running.answers.insert(id, answer);
                drop(state);
                self.changed.notify_one();
            }
            // More than ever fit into the queues of the kernel.
            Err(_) => answer.refuse(Errno::EAGAIN),
        }
    }

    /// Gives answers until [`Self::end`]. This is the work of a thread.
    pub(super) fn answer_in_time(&self) {
        // The kernel may otherwise delay each wake-up by 50 us to save power; where it cannot be set it costs accuracy.
        let _ = nix::sys::prctl::set_timerslack(1);
        let mut due = Vec::new();
        while self.wait(&mut due) {
            let late: Vec<u64> = due.drain(..).map(give).collect();
            let mut state = self.lock();
            for late_ns in late {
                state.counts.count_late(late_ns);
            }
        }
    }

    /// Waits until something is due; false at the end, when everything was answered.
    fn wait(&self, due: &mut Vec<Due>) -> bool {
        let mut state = self.lock();
        loop {
            let State { running, counts, .. } = &mut *state;
            let next = running.iter_mut().filter_map(|one| one.collect(due, &mut counts.served)).min();
            // What a failed disk or a renewal has replaced is gone once it has answered everything.
            let live = running.pop();
            running.retain(|one| !one.answers.is_empty());
            running.extend(live);
            for one in due.iter() {
                counts.count(&one.answer);
            }
            if !due.is_empty() {
                return true;
            }
            if state.is_over {
                return false;
            }
            let pause = next.map(|at| at.saturating_duration_since(Instant::now()));
            state = match pause {
                Some(pause) => {
                    self.changed.wait_timeout(state, pause).unwrap_or_else(PoisonError::into_inner).0
                }
                None => self.changed.wait(state).unwrap_or_else(PoisonError::into_inner),
            };
        }
    }

    /// Lets another array answer from now on.
    pub(super) fn change_array(&self, array: &Array) {
        let mut state = self.lock();
        state.array = array.clone();
        let fresh = Running::new(array, self.span_bytes);
        state.running.push(fresh);
        drop(state);
        self.changed.notify_one();
    }

    /// Answers everything at once and ends the thread that answers.
    pub(super) fn end(&self) {
        let mut state = self.lock();
        state.is_over = true;
        let answers: Vec<Answer> =
            state.running.iter_mut().flat_map(|one| one.answers.drain()).map(|(_, answer)| answer).collect();
        drop(state);
        self.changed.notify_one();
        answers.into_iter().for_each(Answer::give);
    }

    /// Returns what has been served so far.
    pub(super) fn served(&self) -> Served {
        let state = self.lock();
        Served {
            in_flight: state.running.iter().map(|one| one.answers.len()).sum(),
            late: state.counts.late(),
            ..state.counts.served.clone()
        }
    }
}

/// Gives an answer and returns by how much it was late, ns.
fn give(due: Due) -> u64 {
    due.answer.give();
    u64::try_from(due.at.elapsed().as_nanos()).unwrap_or(u64::MAX)
}

impl Counts {
    fn count(&mut self, answer: &Answer) {
        let bytes = match answer {
            Answer::Data(_, data) => {
                self.served.reads += 1;
                data.len() as u64
            }
            Answer::Written(_, bytes) => {
                self.served.writes += 1;
                u64::from(*bytes)
            }
        };
        self.served.bytes += bytes;
    }
}
