//! A thread that issues I/O to one target.
//!
//! A turn of the loop: wait for completions (one system call), read the clock, settle each completion, fill the free
//! slots, read the clock again and stamp the issued I/Os. Between measure and drain a turn neither allocates nor locks
//! nor logs. Only this file, [`issue`] and [`crate::tally`] handle time stamps; targets never do.

mod issue;

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use assay_host::thread_waited_ns;
use assay_record::{Failure, Interval, MemberEnd, Mismatch, OpStats, PlaceSample, StepEnd};
use assay_spec::{Engine, Job, Semantics};
use assay_target::remote::{Moment, PathChange};
use assay_target::{BATCH_MAX, Completion, IoBuf, OpKind, StopPatience, Target, TargetLost, Wait};

use crate::budget::Budget;
use crate::control::{Control, Pulse, Ticket};
use crate::fill::Filler;
use crate::flights::{Binding, Counting, Flight, Flights, Role};
use crate::flow::FlowShare;
use crate::flushing::Flushing;
use crate::full::FullTime;
use crate::gate::Gate;
use crate::pacer::{Pacer, Turn};
use crate::paths::WorkerPaths;
use crate::places::Places;
use crate::planner::{Draw, Planner};
use crate::prefilled::PrefilledBuffers;
use crate::shares::Shares;
use crate::stamp::{Cause, StampTable};
use crate::tally::Tally;
use crate::trouble::Trouble;

/// Longest wait of a turn, ns: within this time a worker notices a stop, whatever the target does. Clients over TCP
/// block in a read for less than this (`assay_tcp::READ_LIMIT`).
const WAIT_NS_MAX: u64 = 50_000_000;
/// Interval at which a worker reports the age of its oldest I/O, ns.
const PULSE_NS: u64 = 1_000_000_000;
/// Time before a due I/O during which the worker polls, ns: a sleep would end late.
const SPIN_NS: u64 = 60_000;

/// Configuration of a worker besides its target.
pub(crate) struct WorkerSetup<'s> {
    pub(crate) control: &'s Control,
    /// Where it reports the age of its oldest I/O.
    pub(crate) pulse: &'s Pulse,
    /// Its part in a proportion that jobs keep.
    pub(crate) flow: Option<FlowShare<'s>>,
    pub(crate) job: &'s Job,
    pub(crate) job_index: u32,
    pub(crate) worker: u32,
    pub(crate) semantics: Semantics,
    pub(crate) warmup_ns: u64,
    pub(crate) run_ns: u64,
    /// This worker's share of the step's limit, if it has one.
    pub(crate) ops_max: u64,
    pub(crate) bytes_max: u64,
    /// Of each member; empty where only the sum is limited.
    pub(crate) member_bytes_max: Vec<u64>,
    pub(crate) pacer_seed: u64,
    /// One for each member in a plan that verifies.
    pub(crate) stamps: Vec<Arc<StampTable>>,
    /// True if this step checks what it reads.
    pub(crate) verify: bool,
    /// Names of the members for messages.
    pub(crate) member_names: &'s [String],
}

/// Results of a worker.
pub(crate) struct WorkerEnd {
    /// The current interval at its end; `None` if counting never began.
    pub(crate) last: Option<Box<Interval>>,
    /// Its first I/O; `None` without one.
    pub(crate) first_io: Option<FirstIo>,
    /// Its measured window, ns.
    pub(crate) measured_ns: u64,
    /// Share of it in which this thread was ready to run and had no CPU; `None` where the kernel does not count it.
    pub(crate) waited: Option<f64>,
    /// Number of I/Os that were due in the window, if the load has a rate.
    pub(crate) due: u64,
    /// Time in which I/Os with a rate were due and had no slot, ns.
    pub(crate) full_ns: u64,
    pub(crate) failures: Vec<Failure>,
    pub(crate) outside_count: u64,
    pub(crate) mismatches: Vec<Mismatch>,
    pub(crate) mismatch_count: u64,
    pub(crate) moved_count: u64,
    pub(crate) late_count: u64,
    pub(crate) lost: Option<TargetLost>,
    /// Number of I/Os that were outstanding when a stop could not wait any longer.
    pub(crate) abandoned: u32,
    /// Index of its job.
    pub(crate) job: u32,
    /// Traffic of the target's paths.
    pub(crate) paths: WorkerPaths,
    /// Flushes of the measured window, if the job makes any.
    pub(crate) flushes: Option<Box<OpStats>>,
    /// I/Os of the measured window on each target, if there are several.
    pub(crate) shares: Vec<MemberEnd>,
    /// Some of them with their places.
    pub(crate) places: Option<PlaceSample>,
}

pub(crate) struct Worker<'s, T> {
    setup: WorkerSetup<'s>,
    has_replies: bool,
    is_paced: bool,
    has_flushes: bool,
    /// Usable bytes of each member.
    spans: Vec<u64>,

    target: T,
    supply: Supply,
    flights: Flights,
    tally: Tally,
    shares: Shares,
    places: Places,
    flushing: Flushing,

    phase: Phase,
    budget: Budget,
    full: FullTime,
    window: Window,
    waiting: Waiting,
    done: Vec<Completion>,
    /// Tags issued in this turn.
    issued: Vec<u32>,
    order: Order,
    /// Time at which each of `done` completed, if they are executed one by one, ns.
    ended_ns: Vec<u64>,
    trouble: Trouble,
    patience: StopPatience,
    next_pulse_ns: u64,
    paths: WorkerPaths,
    /// Time that this thread had waited for a CPU before its measured window, ns.
    waited_before_ns: Option<u64>,
    first_io: Option<FirstIo>,
    /// When it is due, ns.
    first_due_ns: u64,
}

/// The first I/O of a worker, ns on the run's clock.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FirstIo {
    pub(crate) issued_ns: u64,
    /// When its schedule had it: hosts that share a rate take turns, and random arrivals come when they come.
    pub(crate) due_ns: u64,
}

/// When a target starts to execute submitted I/Os.
#[derive(Clone, Copy)]
enum Order {
    /// At once: an I/O is in flight from its submission.
    Together,
    /// Each poll executes one I/O, which starts when the previous one has completed, ns; 0 until the clock is read.
    OneByOne { begins_ns: u64 },
}

/// Sources of the next I/O.
struct Supply {
    planner: Planner,
    pacer: Pacer,
    filler: Filler,
    spares: PrefilledBuffers,
}

/// Present phase of a worker.
struct Phase {
    counting: Counting,
    is_issuing: bool,
    /// When the phase ends, ns.
    deadline_ns: u64,
    /// Time before which no I/O is issued (the delay of a burst, or of the job's start), ns.
    paused_until_ns: u64,
    /// Start of the job, ns: before it no phase issues anything.
    begins_ns: u64,
}

/// The target's answer to an I/O.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Submission {
    Accepted,
    /// It has no room; the buffer is in its slot again.
    Refused,
}

/// The measured window, ns on the run's clock.
#[derive(Default)]
struct Window {
    /// First completion that could be counted, and last one that was, ns.
    first_ns: u64,
    last_ns: u64,
    /// End of issuing: the window is at least that long, however few I/Os completed.
    closed_ns: u64,
}

/// I/Os that were drawn or are pending and have to wait.
struct Waiting {
    /// In conflict with one in flight (verify mode): retried in the next turn.
    held: Option<(u32, Draw)>,
    /// Slots whose reply is due; drawn already if it had to wait for an I/O on the same blocks (verify mode).
    replies: VecDeque<(u32, Option<Draw>)>,
}

impl<'s, T: Target> Worker<'s, T> {
    pub(crate) fn new(
        setup: WorkerSetup<'s>,
        target: T,
        planner: Planner,
        filler: Filler,
        buffers: Vec<IoBuf>,
        spares: PrefilledBuffers,
        tally: Tally,
    ) -> Self {
        let depth = buffers.len();
        let binding = match setup.semantics {
            Semantics::Assay | Semantics::Fio => Binding::Shared,
            Semantics::Iometer => Binding::PerMember,
        };
        let spans = target.geometry().members.clone();
        let order = match target.geometry().engine {
            Engine::Inline => Order::OneByOne { begins_ns: 0 },
            _ => Order::Together,
        };
        Self {
            has_replies: planner.has_replies(),
            is_paced: setup.job.pacing.rate().is_some(),
            has_flushes: setup.job.flush.is_some(),
            target,
            supply: Supply { planner, pacer: Pacer::Closed, filler, spares },
            flights: Flights::new(buffers, spans.len(), binding, setup.job.reconnect_every),
            flushing: Flushing::new(setup.job, spans.len()),
            shares: Shares::new(setup.job_index, setup.member_names),
            places: Places::new(setup.job_index, setup.job.workers),
            spans,
            tally,
            phase: Phase {
                counting: Counting::Off,
                is_issuing: false,
                deadline_ns: 0,
                paused_until_ns: 0,
                begins_ns: 0,
            },
            budget: Budget::UNLIMITED,
            full: FullTime::default(),
            window: Window::default(),
            waiting: Waiting { held: None, replies: VecDeque::with_capacity(depth) },
            done: Vec::with_capacity(BATCH_MAX),
            issued: Vec::with_capacity(depth),
            order,
            ended_ns: Vec::with_capacity(BATCH_MAX),
            trouble: Trouble::new(),
            patience: StopPatience::default(),
            next_pulse_ns: 0,
            paths: WorkerPaths::default(),
            waited_before_ns: None,
            first_io: None,
            first_due_ns: 0,
            setup,
        }
    }

    /// Runs the phases of a step, from the common start to the last completion.
    pub(crate) fn run(mut self, mut ticket: Ticket<'_>) -> WorkerEnd {
        let control = self.setup.control;
        let warms_up = self.setup.warmup_ns > 0;
        if !warms_up {
            self.look_at_paths();
        }
        let started_ns = ticket.start();
        if control.must_stop() {
            return self.end(started_ns, None);
        }
        self.phase.begins_ns = started_ns + self.setup.job.start_delay.0;
        // Where nothing warms up the first I/O is not late for the question.
        self.waited_before_ns = thread_waited_ns();
        // Who keeps a schedule sleeps until its first I/O is due: a thousand workers that all wake at the common moment
        // would be late for those that are due then.
        if !self.is_paced {
            Gate::wait(control.clock, started_ns);
        }
        let (warmed_up, zero_ns) = if warms_up {
            let warmed_up = self.warm_up(started_ns);
            self.look_at_paths();
            self.waited_before_ns = thread_waited_ns();
            let zero_ns = if warmed_up.is_ok() { ticket.measure() } else { control.clock.now_ns() };
            (warmed_up, zero_ns)
        } else {
            ticket.measure_from(started_ns);
            (Ok(()), started_ns)
        };
        // After a stop during the warm-up there is nothing to measure: the completion of one full queue is no window.
        let result = warmed_up.and_then(|()| match control.must_stop() {
            true => Ok(()),
            false => self.measure(zero_ns),
        });
        if result.is_err() {
            control.abort();
        }
        self.end(zero_ns, result.err())
    }

    /// Records the counters of the paths: traffic before the measured window does not count.
    fn look_at_paths(&mut self) {
        self.paths.before = self.target.remote_report(Moment::Begin);
        if let Some(before) = &mut self.paths.before {
            before.events.retain(|event| event.change == PathChange::Other);
        }
    }

    /// Returns true if the I/Os of the warm-up count towards the limits, as in fio.
    fn counts_warm_up(&self) -> bool {
        self.setup.semantics == Semantics::Fio && self.setup.warmup_ns > 0
    }

    fn warm_up(&mut self, started_ns: u64) -> Result<(), TargetLost> {
        if self.counts_warm_up() {
            self.limit();
        }
        self.load(started_ns, started_ns + self.setup.warmup_ns)?;
        match self.setup.semantics {
            // No I/O of the warm-up may complete in the measured window.
            Semantics::Assay | Semantics::Fio => self.drain(),
            // Iometer keeps issuing, and counts from the completion of the last warm-up I/O.
            Semantics::Iometer => Ok(()),
        }
    }

    /// Sets the limits of the load: they count from now on.
    fn limit(&mut self) {
        self.budget = Budget { ops_left: self.setup.ops_max, bytes_left: self.setup.bytes_max, due: 0 };
        self.flights.limit(&self.setup.member_bytes_max);
    }

    fn measure(&mut self, zero_ns: u64) -> Result<(), TargetLost> {
        // The window of a job with a start delay begins with the job.
        let first_ns = zero_ns.max(self.phase.begins_ns);
        self.tally.begin(zero_ns, first_ns);
        (self.window.first_ns, self.window.last_ns) = (first_ns, first_ns);
        match self.counts_warm_up() {
            // fio counts bytes through its ramp, and I/Os anew behind it.
            true if self.budget.ops_left > 0 => {
                self.budget = Budget { due: 0, ops_left: self.setup.ops_max, ..self.budget };
            }
            true => self.budget.due = 0,
            false => self.limit(),
        }
        self.phase.counting = Counting::On;
        self.load(zero_ns, zero_ns + self.setup.run_ns)?;
        // The others no longer wait for it.
        self.setup.flow = None;
        // I/Os that a limit on bytes or operations prevented were not due.
        if !self.budget.is_used_up() {
            self.budget.due += self.supply.pacer.owed_before(self.window.closed_ns);
        }
        self.drain()
    }

    /// Issues I/O from `from_ns` until `deadline_ns`, a limit, or a stop.
    fn load(&mut self, from_ns: u64, deadline_ns: u64) -> Result<(), TargetLost> {
        let setup = &self.setup;
        let from_ns = from_ns.max(self.phase.begins_ns);
        self.phase.paused_until_ns = self.phase.paused_until_ns.max(self.phase.begins_ns);
        let turn = Turn { worker: setup.worker, workers: setup.job.workers, shift: setup.job.shift };
        self.supply.pacer = Pacer::new(setup.job.pacing, turn, from_ns, setup.pacer_seed);
        self.phase.deadline_ns = deadline_ns;
        self.phase.is_issuing = true;
        let mut now_ns = setup.control.clock.now_ns();
        self.first_due_ns = self.supply.pacer.due_ns().unwrap_or(from_ns);
        self.issue(now_ns);
        while self.phase.is_issuing {
            now_ns = match self.turn(now_ns) {
                Ok(now_ns) => now_ns,
                Err(lost) => {
                    // All work up to now was done in this time.
                    self.window.closed_ns = self.setup.control.clock.now_ns().min(deadline_ns);
                    return Err(lost);
                }
            };
            let is_used_up = self.budget.is_used_up() && self.is_idle();
            let (control, is_measuring) = (self.setup.control, self.phase.counting == Counting::On);
            let is_enough = is_measuring && control.is_enough(self.setup.job_index);
            if now_ns >= deadline_ns || is_used_up || is_enough || control.must_stop() {
                if let Some(whom) = self.setup.job.ends.filter(|_| is_measuring) {
                    control.end(self.setup.job_index, whom);
                }
                self.phase.is_issuing = false;
                self.window.closed_ns =
                    if is_used_up { self.window.last_ns } else { now_ns.min(deadline_ns) };
                // Later completions do not count under Iometer's rules, even if the phase ended early.
                self.phase.deadline_ns = self.window.closed_ns;
            }
        }
        Ok(())
    }

    /// Returns true if nothing is in flight and no reply is pending.
    fn is_idle(&self) -> bool {
        self.flights.in_flight() == 0 && self.waiting.replies.is_empty() && !self.flights.has_replies_queued()
    }

    /// Waits for everything in flight.
    fn drain(&mut self) -> Result<(), TargetLost> {
        self.phase.is_issuing = false;
        let mut now_ns = self.setup.control.clock.now_ns();
        while self.flights.in_flight() > 0 {
            now_ns = self.turn(now_ns)?;
            if self.patience.is_over(self.setup.control.stop.is_set()) {
                // Storage that does not answer must not block the program; the result reports what is outstanding.
                return Ok(());
            }
        }
        // Held I/Os and pending replies belong to the phase that is over.
        self.waiting.held = None;
        while let Some((tag, _)) = self.waiting.replies.pop_front() {
            self.flights.forgive(tag);
        }
        self.flights.forgive_queued();
        // A member with only such a reply pending has no I/O left whose completion could reopen it.
        for member in 0..self.setup.member_names.len() {
            let member = u32::try_from(member).expect("members are few");
            if self.flights.wants_reopen(member) {
                self.reopen(member)?;
            }
        }
        Ok(())
    }

    #[inline]
    fn turn(&mut self, before_ns: u64) -> Result<u64, TargetLost> {
        let now_ns = match self.order {
            Order::Together => {
                if self.done.is_empty() {
                    let wait = self.wait(before_ns);
                    self.target.poll(wait, &mut self.done)?;
                }
                self.setup.control.clock.now_ns()
            }
            Order::OneByOne { .. } => self.reap_one_by_one(before_ns)?,
        };
        if self.is_paced {
            self.full.end(now_ns);
        }
        let settled = self.done.len();
        if settled > 0 {
            // Taken out and put back, so that its memory is kept and `self` can be borrowed.
            let mut done = std::mem::take(&mut self.done);
            match self.order {
                Order::Together => {
                    done.drain(..).try_for_each(|completion| self.settle(completion, 0, now_ns))?
                }
                Order::OneByOne { begins_ns } => self.settle_one_by_one(&mut done, begins_ns, now_ns)?,
            }
            self.done = done;
        }
        let mut issued_ns = 0;
        if self.phase.is_issuing && now_ns < self.phase.deadline_ns {
            issued_ns = self.issue(now_ns);
            if settled > 0 && issued_ns > 0 {
                // Time spent in the tester itself; a finding is raised if it matters.
                self.tally.turned(issued_ns - now_ns);
            }
        }
        if self.is_paced {
            self.look_for_room(now_ns);
        }
        if now_ns >= self.tally.next_cut_ns() {
            self.tally.cut(now_ns);
            issued_ns = 0;
        }
        if now_ns >= self.next_pulse_ns {
            self.next_pulse_ns = now_ns + PULSE_NS;
            let oldest_ns = self.flights.oldest_ns().map_or(0, |oldest_ns| now_ns.saturating_sub(oldest_ns));
            self.setup.pulse.beat(oldest_ns, self.flights.in_flight());
        }
        if self.supply.spares.wants_data() {
            self.fill_ahead()?;
            issued_ns = 0;
        }
        if let Order::OneByOne { begins_ns } = &mut self.order {
            // The first of the next batch starts when issuing ended, if nothing came between.
            *begins_ns = issued_ns;
        }
        Ok(now_ns)
    }

    /// Begins to count the time in which the next I/O is due and has no slot, if that is so.
    fn look_for_room(&mut self, now_ns: u64) {
        let counts =
            self.phase.is_issuing && self.phase.counting == Counting::On && !self.budget.is_used_up();
        if counts && let Some(due_ns) = self.supply.pacer.due_ns().filter(|_| !self.flights.has_free()) {
            self.full.begin(now_ns, due_ns);
        }
    }

    /// Executes a batch, one I/O per poll, and records when each completed. Returns the time after the last. A clock
    /// read costs as much as a tenth of such an I/O, so the clock is never read twice for one.
    fn reap_one_by_one(&mut self, before_ns: u64) -> Result<u64, TargetLost> {
        let clock = self.setup.control.clock;
        self.ended_ns.clear();
        if let Order::OneByOne { begins_ns: begins_ns @ 0 } = &mut self.order {
            *begins_ns = clock.now_ns();
        }
        let batch = (self.flights.in_flight() as usize).min(BATCH_MAX);
        loop {
            let wait = if self.done.is_empty() { self.wait(before_ns) } else { Wait::No };
            self.target.poll(wait, &mut self.done)?;
            let now_ns = clock.now_ns();
            if self.done.len() > self.ended_ns.len() {
                self.ended_ns.push(now_ns);
                if self.done.len() < batch {
                    continue;
                }
            }
            return Ok(now_ns);
        }
    }

    /// Settles a batch in which each I/O started when the previous one completed, the first at `begins_ns`.
    fn settle_one_by_one(
        &mut self,
        done: &mut Vec<Completion>,
        mut begins_ns: u64,
        now_ns: u64,
    ) -> Result<(), TargetLost> {
        for (index, completion) in done.drain(..).enumerate() {
            let ended_ns = self.ended_ns.get(index).copied().unwrap_or(now_ns);
            self.settle(completion, begins_ns, ended_ns)?;
            begins_ns = ended_ns;
        }
        Ok(())
    }

    /// Starts the issued I/Os, and fills spare buffers meanwhile, unless a completion is ready, which must not wait for
    /// that.
    fn fill_ahead(&mut self) -> Result<(), TargetLost> {
        if let Order::OneByOne { .. } = self.order {
            // Nothing is in flight between polls; the data costs the same now as later.
            self.supply.spares.refill(&mut self.supply.filler);
            return Ok(());
        }
        self.target.poll(Wait::No, &mut self.done)?;
        if self.done.is_empty() {
            self.supply.spares.refill(&mut self.supply.filler);
        }
        Ok(())
    }

    /// Returns the longest wait of the next poll.
    #[inline]
    fn wait(&mut self, now_ns: u64) -> Wait {
        if self.phase.is_issuing
            && let Some(pause) = self.setup.flow.as_mut().and_then(FlowShare::pause)
        {
            // The I/Os of others let it go on, and say nothing; they may need this CPU.
            if pause.is_zero() {
                std::thread::yield_now();
                return Wait::No;
            }
            return Wait::AtMost(pause);
        }
        let mut until_ns = (now_ns + WAIT_NS_MAX).min(self.tally.next_cut_ns());
        if self.phase.is_issuing {
            until_ns = until_ns.min(self.phase.deadline_ns);
            let paused_ns = self.phase.paused_until_ns;
            if paused_ns > now_ns && self.supply.pacer.due_ns() < Some(paused_ns) {
                until_ns = until_ns.min(paused_ns);
            } else if self.is_paced && self.flights.has_free() && !self.awaits_pause() {
                let due_ns = self.supply.pacer.due_ns().unwrap_or(until_ns);
                if due_ns < now_ns + SPIN_NS {
                    return Wait::No;
                }
                // Whole waits before it is due, not after now: a thousand workers that wait together would otherwise
                // wake at one moment, and those whose I/O is due then come late.
                let left_ns = (due_ns - SPIN_NS - now_ns) % WAIT_NS_MAX;
                until_ns = until_ns.min(if left_ns > 0 { now_ns + left_ns } else { until_ns });
            }
        }
        match until_ns.saturating_sub(now_ns) {
            0 if self.flights.in_flight() == 0 => Wait::No,
            ns => Wait::AtMost(Duration::from_nanos(ns.max(1_000))),
        }
    }

    /// Whether the next pause begins when nothing is in flight any more.
    #[inline]
    fn awaits_pause(&self) -> bool {
        self.supply.planner.pauses_when_idle() && !self.is_idle()
    }

    /// Whether it has to wait for other jobs, with which it keeps a proportion.
    #[inline]
    fn is_ahead(&self) -> bool {
        self.setup.flow.as_ref().is_some_and(FlowShare::is_ahead)
    }

    /// Settles a completion. Its I/O started when it was issued, but not before `begins_ns`.
    #[inline(always)]
    fn settle(&mut self, completion: Completion, begins_ns: u64, now_ns: u64) -> Result<(), TargetLost> {
        let Completion { tag, outcome, buf, is_moved } = completion;
        let flight = self.flights.end(tag, buf);
        let counts = self.counts(&flight, now_ns);
        if is_moved {
            self.distrust(&flight);
        }
        if outcome != Ok(flight.size_bytes) {
            self.settle_failure(flight, counts, outcome.err().map(|f| f.errno), outcome.unwrap_or(0));
        } else if counts {
            let began_ns = flight.issued_ns.max(begins_ns);
            match flight.role {
                Role::Flush => self.flushing.completed(now_ns.saturating_sub(began_ns)),
                Role::Request | Role::Reply => {
                    self.tally.completed(&flight, began_ns, now_ns);
                    self.shares.completed(&flight, began_ns, now_ns);
                    self.places.completed(&flight, began_ns, now_ns);
                }
            }
            self.window.last_ns = now_ns;
        }
        if self.setup.verify && flight.kind == OpKind::Read && outcome == Ok(flight.size_bytes) {
            self.check(tag, flight);
        }
        if self.owes_reply(&flight) {
            self.await_reply(tag);
        } else {
            self.flights.release(tag);
        }
        if self.flights.wants_reopen(flight.member) {
            self.reopen(flight.member)?;
        }
        Ok(())
    }

    #[inline]
    fn owes_reply(&self, flight: &Flight) -> bool {
        self.has_replies
            && self.phase.is_issuing
            && flight.role == Role::Request
            && self.supply.planner.reply_bytes(&flight.draw()) > 0
    }

    /// Keeps a completed request until its reply is issued.
    #[cold]
    fn await_reply(&mut self, tag: u32) {
        match self.setup.semantics {
            Semantics::Assay | Semantics::Fio => {
                self.flights.owe(tag);
                self.waiting.replies.push_back((tag, None));
            }
            Semantics::Iometer => self.flights.queue_reply(tag),
        }
    }

    /// Returns true if a completion belongs to the measured window.
    #[inline]
    fn counts(&mut self, flight: &Flight, now_ns: u64) -> bool {
        if self.phase.counting == Counting::Off {
            return false;
        }
        match self.setup.semantics {
            Semantics::Assay | Semantics::Fio => flight.counting == Counting::On,
            Semantics::Iometer => self.counts_in_iometer(*flight, now_ns),
        }
    }

    #[inline(never)]
    fn counts_in_iometer(&mut self, flight: Flight, now_ns: u64) -> bool {
        if flight.counting == Counting::Off {
            // Iometer starts recording when the last I/O of the ramp-up has completed.
            self.window.first_ns = now_ns;
            return false;
        }
        if self.flights.uncounted_in_flight() > 0 {
            // It was issued before recording started, so it is not among those that the plan requests.
            if flight.role != Role::Flush {
                self.budget.give_back(flight.size_bytes);
                self.flights.give_back(&flight);
            }
            return false;
        }
        now_ns <= self.phase.deadline_ns
    }

    #[cold]
    fn settle_failure(&mut self, flight: Flight, counts: bool, errno: Option<i32>, moved: u32) {
        if counts {
            match flight.role {
                Role::Flush => self.flushing.failed(),
                Role::Request | Role::Reply => {
                    self.tally.failed(&flight);
                    self.shares.failed(&flight);
                }
            }
            self.window.last_ns = self.setup.control.clock.now_ns();
        } else {
            self.trouble.outside_count += 1;
        }
        self.setup.control.count_error();
        if flight.kind == OpKind::Write
            && let Some(stamps) = self.setup.stamps.get(flight.member as usize)
        {
            stamps.failed(flight.size_bytes, flight.offset_bytes);
        }
        let member = &self.setup.member_names[flight.member as usize];
        self.trouble.failed(self.setup.job_index, member, &flight, errno, moved);
    }

    /// Notes that an older copy of a write may replace newer data later.
    #[cold]
    fn distrust(&mut self, flight: &Flight) {
        self.trouble.moved_count += 1;
        if let Some(stamps) = self.setup.stamps.get(flight.member as usize) {
            stamps.moved(flight.offset_bytes..flight.offset_bytes + u64::from(flight.size_bytes));
        }
    }

    #[cold]
    fn check(&mut self, tag: u32, flight: Flight) {
        let stamps = Arc::clone(&self.setup.stamps[flight.member as usize]);
        let bytes = &mut self.flights.buffer_mut(tag)[..flight.size_bytes as usize];
        let (mismatches, count) = (&mut self.trouble.mismatches, &mut self.trouble.mismatch_count);
        let late_count = &mut self.trouble.late_count;
        let (job, names) = (self.setup.job_index, self.setup.member_names);
        stamps.check(bytes, flight.offset_bytes, |wrong| {
            if wrong.cause == Cause::LateCopy {
                *late_count += 1;
                return;
            }
            *count += 1;
            if mismatches.len() < StepEnd::KEPT {
                mismatches.push(Mismatch {
                    job,
                    member: names[flight.member as usize].clone(),
                    offset_bytes: wrong.expected.offset_bytes,
                    expected: wrong.expected,
                    found: wrong.found,
                    says: wrong.says.to_owned(),
                });
            }
        });
    }

    fn reopen(&mut self, member: u32) -> Result<(), TargetLost> {
        self.target.reopen(member)?;
        self.flights.reopened(member);
        self.supply.planner.rewind(member as usize);
        if self.phase.counting == Counting::On {
            self.tally.reconnected();
        }
        Ok(())
    }

    fn end(mut self, zero_ns: u64, lost: Option<TargetLost>) -> WorkerEnd {
        let control = self.setup.control;
        let now_ns = control.clock.now_ns();
        let waited_ns = thread_waited_ns().zip(self.waited_before_ns);
        let waited = waited_ns
            .filter(|_| now_ns > zero_ns)
            .map(|(now, before)| (now.saturating_sub(before) as f64 / (now_ns - zero_ns) as f64).min(1.0));
        // After the window: its duration is reported in addition to the results and is part of none.
        let give_up = || self.patience.is_over(control.stop.is_set());
        self.paths.after = self.target.remote_report(Moment::End { give_up: &give_up });
        let abandoned = if give_up() { self.flights.in_flight() } else { 0 };
        self.paths.quote(&mut self.trouble.failures);
        let end_ns = match self.setup.semantics {
            Semantics::Assay | Semantics::Fio => self.window.last_ns.max(self.window.closed_ns),
            Semantics::Iometer => self.window.closed_ns.min(now_ns),
        };
        WorkerEnd {
            first_io: self.first_io,
            measured_ns: end_ns.saturating_sub(self.window.first_ns.max(zero_ns)),
            waited,
            due: self.budget.due,
            full_ns: self.full.sum_ns(),
            last: self.tally.finish(end_ns.max(zero_ns)),
            failures: self.trouble.failures,
            outside_count: self.trouble.outside_count,
            mismatches: self.trouble.mismatches,
            mismatch_count: self.trouble.mismatch_count,
            moved_count: self.trouble.moved_count,
            late_count: self.trouble.late_count,
            lost,
            abandoned,
            job: self.setup.job_index,
            paths: self.paths,
            flushes: self.flushing.finish(),
            shares: self.shares.finish(),
            places: self.places.finish(),
        }
    }
}
