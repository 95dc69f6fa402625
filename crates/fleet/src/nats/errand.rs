//! A run on an agent: the very same runner as of a local one, with the coordinator at its gates.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use assay_engine::{CommonStart, StopSignal};
use assay_prepare::PrepareProgress;
use assay_record::{Event, RunEvent, RunSetting, StatedMemory, StepId, Warning};
use assay_runner::{Consequence, Follower, Order, Steps};

use crate::nats::allow::Permission;
use crate::nats::clock::Steady;
use crate::nats::outbox::{Outbox, event};
use crate::nats::wire::{Task, What};
use crate::order::{LEASE, RunHere};

/// How often a gate looks whether it is still waited for. What the coordinator says wakes it at once; 1,000 agents of
/// one process that looked every 20 ms took more than a CPU while they waited.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// How often it is said that a fill goes on.
const SAY_FILLING_EVERY: Duration = Duration::from_secs(5);
/// After the plan's own time a run waits for so long for a coordinator that is started again.
const PATIENCE: Duration = Duration::from_secs(60);

/// A run on this agent.
#[derive(Debug)]
pub(crate) struct Errand {
    pub(crate) run: String,
    /// The clock of all that it says of the run.
    pub(crate) clock: Steady,
    pub(crate) outbox: Arc<Outbox>,
    gate: Arc<Gate>,
    is_over: Arc<AtomicBool>,
    /// Whether it was called off, so that nobody waits for what it has to say.
    is_called_off: AtomicBool,
    /// Whether the bus keeps nothing of the run any more.
    is_unkept: Arc<AtomicBool>,
    /// Whether its agent ends.
    has_left: Arc<AtomicBool>,
}

/// What the coordinator has said, and what the run waits for.
#[derive(Debug)]
struct Gate {
    stop: StopSignal,
    said: Mutex<HeardOf>,
    news: Condvar,
    /// Length of the plan.
    plan_time: Duration,
    clock: Steady,
}

#[derive(Debug)]
struct HeardOf {
    open: Option<bool>,
    begin: Option<(StepId, i64)>,
    enough: Option<StepId>,
    /// Time of the newest event, ns since the run began here.
    last_ns: u64,
    /// When anything was heard of the coordinator.
    heard: Instant,
    /// When the first step began.
    began: Option<Instant>,
    /// Whether its load is over, complete or not; it still closes its targets.
    has_ended: bool,
}

impl Errand {
    /// Begins to inspect the targets of a task.
    pub(crate) fn begin(task: Task, allowed: Permission, run_here: Arc<RunHere>, clock: Steady) -> Self {
        let gate = Arc::new(Gate {
            stop: StopSignal::default(),
            said: Mutex::new(HeardOf {
                open: None,
                begin: None,
                enough: None,
                last_ns: 0,
                heard: Instant::now(),
                began: None,
                has_ended: false,
            }),
            news: Condvar::new(),
            plan_time: Duration::from_nanos(task.plan.time().0),
            clock,
        });
        let errand = Self {
            run: task.run.clone(),
            clock,
            outbox: Arc::default(),
            gate: Arc::clone(&gate),
            is_over: Arc::default(),
            is_called_off: AtomicBool::default(),
            is_unkept: Arc::default(),
            has_left: Arc::default(),
        };
        let (outbox, is_over) = (Arc::clone(&errand.outbox), Arc::clone(&errand.is_over));
        let has_left = Arc::clone(&errand.has_left);
        let work = move || {
            let done = catch_unwind(AssertUnwindSafe(|| {
                work(task, allowed, &*run_here, (&outbox, &gate), &has_left)
            }));
            if done.is_err() {
                // The coordinator would wait for what nobody says any more.
                let why = "its run ended by a fault of Assay, which the log of the agent has".to_owned();
                outbox.push(&What::Refused { why, has_begun: true });
            }
            is_over.store(true, Ordering::Release);
        };
        if std::thread::Builder::new().name("run".into()).spawn(work).is_err() {
            let why = "cannot start a thread for the run".to_owned();
            errand.outbox.push(&What::Refused { why, has_begun: false });
            errand.is_over.store(true, Ordering::Release);
        }
        errand
    }

    /// Whether the run is over; its messages may still wait for the bus.
    pub(crate) fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Acquire)
    }

    /// The coordinator is there.
    pub(crate) fn heard(&self) {
        self.gate.lock().heard = Instant::now();
    }

    /// Whether everything that it had to say is said, or nobody waits for it.
    pub(crate) fn is_said(&self) -> bool {
        self.is_over() && (self.outbox.is_empty() || self.is_called_off.load(Ordering::Acquire))
    }

    /// Whether it is over, and what it has to say can be said to nobody.
    pub(crate) fn is_useless(&self) -> bool {
        self.is_over() && self.is_unkept.load(Ordering::Acquire)
    }

    /// Returns what notes whether the bus keeps what the run says, and ends the run if it has not for long.
    pub(crate) fn kept(&self) -> impl FnMut(bool) + Send + use<> {
        let (is_unkept, stop) = (Arc::clone(&self.is_unkept), self.gate.stop.clone());
        let mut since: Option<Instant> = None;
        move |is_kept| {
            is_unkept.store(!is_kept, Ordering::Release);
            since = if is_kept { None } else { since.or_else(|| Some(Instant::now())) };
            if since.is_some_and(|since| since.elapsed() > LEASE) {
                stop.stop();
            }
        }
    }

    pub(crate) fn open(&self, may_open: bool) {
        self.is_called_off.fetch_or(!may_open, Ordering::AcqRel);
        self.gate.say(|said| said.open = said.open.or(Some(may_open)));
    }

    pub(crate) fn begin_step(&self, step: StepId, at_unix_ns: i64) {
        self.gate.say(|said| said.begin = Some((step, at_unix_ns)));
    }

    pub(crate) fn enough(&self, step: StepId) {
        self.gate.say(|said| said.enough = Some(step));
    }

    /// Stops the run because its agent ends: who reads the results must know why they are partial.
    pub(crate) fn leave(&self) {
        let said = self.gate.lock();
        if said.began.is_some() && !said.has_ended && !self.is_over() {
            let warning = Warning {
                rule: "agent-ended".to_owned(),
                says: "The agent was ended while the run went on, by a signal or by its service manager, and its load \
                       with it."
                    .to_owned(),
                next: "What it reported until then counts. Repeat the run before you compare it.".to_owned(),
            };
            let what = RunEvent::Warning(warning);
            self.outbox.push(&event(&Event { at_ns: said.last_ns, what }));
            self.has_left.store(true, Ordering::Release);
        }
        drop(said);
        self.stop();
    }

    pub(crate) fn stop(&self) {
        self.gate.stop.stop();
        self.gate.say(|said| said.open = said.open.or(Some(false)));
    }
}

fn work(
    task: Task,
    allowed: Permission,
    run_here: &RunHere,
    (outbox, gate): (&Arc<Outbox>, &Arc<Gate>),
    has_left: &AtomicBool,
) {
    let to = (Arc::clone(outbox), Arc::clone(gate));
    let mut follower = Telling { outbox: to.0, gate: to.1, has_opened: false, filled: None };
    let result = run_here(order(task, allowed, outbox, gate), &mut follower);
    let left_out = outbox.samples_left_out();
    let said = match result {
        Ok(done) => {
            let mut failures: Vec<String> = done.failures.iter().map(ToString::to_string).collect();
            failures.extend(done.left.warnings.iter().map(|left| format!("{} {}", left.says, left.next)));
            if done.left.is_unanswered {
                failures.push("a target did not answer while it was being closed".to_owned());
            }
            if has_left.load(Ordering::Acquire) {
                failures.push("its agent was ended while the run went on".to_owned());
            }
            if left_out > 0 {
                failures.push(format!(
                    "{left_out} samples of this host are missing, because the NATS server could not be reached"
                ));
            }
            What::Over { failures }
        }
        Err((consequence, why)) => {
            What::Refused { why, has_begun: follower.has_opened && consequence != Consequence::Refused }
        }
    };
    outbox.push(&said);
}

fn order(task: Task, allowed: Permission, outbox: &Arc<Outbox>, gate: &Arc<Gate>) -> Order {
    let (at_gate, to_say) = (Arc::clone(gate), Arc::clone(outbox));
    let start = CommonStart::new(move |step, epoch| {
        to_say.epoch(at_gate.clock.unix_ns_at(epoch));
        to_say.push(&What::Ready(step));
        at_gate.begin(step)
    });
    Order {
        run: Some(task.run),
        plan: task.plan,
        targets: allowed.targets,
        steps: Steps::Planned,
        kept: Vec::new(),
        options: allowed.options,
        remove: allowed.may_remove,
        keep_awake: task.options.keep_awake,
        cpus: Vec::new(),
        stop: gate.stop.clone(),
        start,
        label: None,
        note: None,
        array: None,
        stated: StatedMemory::default(),
        setting: RunSetting::default(),
        turn: None,
    }
}

impl Gate {
    fn say(&self, what: impl FnOnce(&mut HeardOf)) {
        let mut said = self.lock();
        said.heard = Instant::now();
        what(&mut said);
        drop(said);
        self.news.notify_all();
    }

    /// Waits until every host has passed inspection. False calls the run off.
    fn may_open(&self) -> bool {
        self.wait(|said| said.open).unwrap_or(false)
    }

    /// Waits for the moment at which a step begins; `None` where the run was stopped or forgotten.
    fn begin(&self, step: StepId) -> Option<Instant> {
        let at = self.wait(|said| said.begin.filter(|(of, _)| *of == step).map(|(_, at)| at));
        let mut said = self.lock();
        let Some(at_unix_ns) = at else {
            drop(said);
            self.stop.stop();
            return None;
        };
        said.began.get_or_insert_with(Instant::now);
        Some(self.clock.moment(at_unix_ns))
    }

    fn wait<T>(&self, mut wanted: impl FnMut(&HeardOf) -> Option<T>) -> Option<T> {
        let (mut said, since) = (self.lock(), Instant::now());
        loop {
            if let Some(found) = wanted(&said) {
                return Some(found);
            }
            if self.stop.is_set() || self.is_forgotten(&said, since) {
                return None;
            }
            said = self.news.wait_timeout(said, LOOK_EVERY).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Whether the coordinator is gone for longer than a lease, and the time of the plan is over. Silence counts from
    /// when this host began to wait: as long as it says something each second, the coordinator has nothing to ask.
    fn is_forgotten(&self, said: &HeardOf, since: Instant) -> bool {
        let is_over = said.began.is_none_or(|began| began.elapsed() > self.plan_time + PATIENCE);
        said.heard.max(since).elapsed() > LEASE && is_over
    }

    fn lock(&self) -> MutexGuard<'_, HeardOf> {
        self.said.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Passes what happens in the run to the bus.
struct Telling {
    outbox: Arc<Outbox>,
    gate: Arc<Gate>,
    has_opened: bool,
    /// How far the fill was when it was said last, bytes, and when.
    filled: Option<(u64, Instant)>,
}

impl Follower for Telling {
    fn may_open(&mut self) -> bool {
        self.outbox.push(&What::Inspected);
        self.has_opened = self.gate.may_open();
        self.has_opened
    }

    /// The coordinator waits for who says something: a fill may take hours.
    fn filling(&mut self, progress: &PrepareProgress) {
        let is_news = self
            .filled
            .is_none_or(|(bytes, said)| bytes != progress.done_bytes && said.elapsed() >= SAY_FILLING_EVERY);
        if is_news {
            self.filled = Some((progress.done_bytes, Instant::now()));
            self.outbox.push(&What::Filling);
        }
    }

    fn event(&mut self, happened: &Event) -> bool {
        if let RunEvent::Started(_) | RunEvent::StepStarted(_) = happened.what
            && self.gate.lock().began.is_none()
        {
            // As far as it is known before the first gate: the event was made a moment ago.
            let made_ns = i64::try_from(happened.at_ns).unwrap_or(i64::MAX);
            self.outbox.epoch(self.gate.clock.unix_ns().saturating_sub(made_ns));
        }
        // An agent that is ended from here on costs the run nothing.
        self.gate.lock().has_ended |= matches!(happened.what, RunEvent::Ended(_));
        self.outbox.push(&event(happened));
        self.gate.lock().last_ns = happened.at_ns;
        let RunEvent::Interval(interval) = &happened.what else { return false };
        self.gate.lock().enough == Some(StepId { test: interval.test, step: interval.step })
    }
}
