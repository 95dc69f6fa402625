//! A run while it goes on: what the hosts say becomes events, and every step begins everywhere at one moment.

mod kept;
mod open;

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use assay_engine::StopSignal;
use assay_record::{Event, RunEvent, StepId, StepReason, Warning};
use assay_runner::{Sinks, Stage};
use async_nats::jetstream::Message;
use futures_util::future::join_all;
use tokio::runtime::Runtime;

use crate::error::{FleetError, taken_over};
use crate::nats::bus::Bus;
use crate::nats::clock::CoordinatorClock;
use crate::nats::conduct::kept::Kept;
use crate::nats::follow::Claim;
use crate::nats::merge::{Merge, Standing};
use crate::nats::probe::{ASK_LIMIT, Probes, Round, limit_of, offsets, probes};
use crate::nats::reading::Reading;
use crate::nats::waiting::Patience;
use crate::nats::watch::{STOP_LIMIT, Watch};
use crate::nats::wire::{Ask, Noted, Placed, Said, parsed};
use crate::order::{FleetDone, LEASE};

/// A step begins so long after every host is ready: the word has to reach all of them before.
const LEAD: Duration = Duration::from_millis(300);
/// And so much longer for each host, at least.
const LEAD_OF_EACH: Duration = Duration::from_micros(200);
/// Each host is asked to begin within this many times what a request has taken on average just before.
const LEAD_ROOM: u32 = 3;
/// Requests by which a clock is measured anew before each step, where they are quick.
const PROBES: u32 = 8;
/// How often the run is looked at while nobody says anything.
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// How often it is looked whether hosts are gone.
const LOOK_AT_HOSTS_EVERY: Duration = Duration::from_millis(200);
/// A host that has not begun so long after it was to is asked again.
const TELL_AGAIN: Duration = Duration::from_secs(1);
/// When nothing has come through the stream for so long, once a stop was asked for, it is looked whether it takes
/// messages; otherwise after a lease.
const SILENT_STOPPING: Duration = Duration::from_secs(1);
/// After its own time a run waits for so long for a stream that takes messages again. Agents wait no longer either.
const AWAY_LIMIT: Duration = Duration::from_secs(60);
/// Once a stop was asked for, a host that is silent for so long is given up.
const STOPPING_LIMIT: Duration = Duration::from_secs(5);

/// A run and those who do it.
pub(crate) struct Conductor {
    bus: Bus,
    clock: CoordinatorClock,
    reading: Reading,
    merge: Merge,
    watch: Watch,
    stop: StopSignal,
    is_open: bool,
    is_stopping: bool,
    /// Whether it stops although nobody has asked for it.
    has_ended_early: bool,
    /// The step that was noted last.
    begun: Option<StepId>,
    /// Steps that know what their plan wants to know.
    enough: Option<StepId>,
    asked: Instant,
    /// Hosts that have heard that they may open their targets.
    opening: BTreeSet<String>,
    patience: Patience,
    /// How long this process had not run when it was looked last.
    paused: Duration,
    /// Number of notes that this coordinator has written.
    notes: u64,
    /// When it was looked whether hosts are gone.
    looked: Instant,
    /// When a message came, or it was looked whether one can.
    came: Instant,
    /// Since when the server keeps no message, and why.
    unkept: Option<(Instant, String)>,
    /// The claim of this process, and who has claimed the run later.
    claim: Claim,
    taken_over: Option<String>,
    /// Tells its notes apart from those of an earlier coordinator of the run.
    since: i64,
    // Last: what is above lives in it.
    runtime: Runtime,
}

impl Conductor {
    pub(crate) fn new(
        runtime: Runtime,
        (bus, clock, claim): (Bus, CoordinatorClock, Claim),
        placed: Placed,
        reading: Reading,
        stop: StopSignal,
    ) -> Result<Self, FleetError> {
        let watch = {
            let _inside = runtime.enter();
            Watch::begin((bus.clone(), clock), placed.run.clone(), &placed.hosts)
        };
        let mut merge = Merge::new(placed)?;
        // Nobody has begun as far as it knows: it is informed with the header.
        claim.warning().map(|warning| merge.note(Noted::Warning(warning)));
        Ok(Self {
            bus,
            clock,
            reading,
            merge,
            watch,
            stop,
            is_open: false,
            is_stopping: false,
            has_ended_early: false,
            begun: None,
            enough: None,
            asked: Instant::now(),
            opening: BTreeSet::new(),
            patience: Patience::new(Instant::now()),
            paused: Duration::ZERO,
            notes: 0,
            since: clock.unix_ns(),
            looked: Instant::now(),
            came: Instant::now(),
            unkept: None,
            claim,
            taken_over: None,
            runtime,
        })
    }

    /// Conducts the run to its end.
    pub(crate) fn conduct(mut self, sinks: &mut Sinks<'_>) -> Result<FleetDone, FleetError> {
        let mut kept = Kept::new(sinks);
        while !self.merge.is_over() && !self.is_cut() && !self.reading.is_gone() {
            for event in self.listen() {
                let is_enough = kept.take(&event, self.merge.placed());
                self.follow(&event, is_enough);
                kept.hold(event);
            }
            kept.store();
            self.taken_over = self.taken_over.take().or_else(|| self.claim.later());
            if self.taken_over.is_some() {
                break;
            }
            self.look_at_stop();
            if self.can_judge() {
                self.look_at_hosts();
                self.look_at_stream(&mut kept);
                self.look_at_waits(kept.follower());
            }
            match self.is_open {
                false => self.open(kept.follower())?,
                true => self.begin_due(),
            }
        }
        self.finish(kept)
    }

    /// Takes the next messages, and returns the events that follow from them.
    fn listen(&mut self) -> Vec<Event> {
        let messages = self.runtime.block_on(self.reading.next(LOOK_EVERY));
        if !messages.is_empty() {
            (self.came, self.unkept) = (Instant::now(), None);
        }
        let of_hosts = format!("assay.run.{}.", self.run());
        messages.iter().flat_map(|message| self.take(message, &of_hosts)).collect()
    }

    fn take(&mut self, message: &Message, of_hosts: &str) -> Vec<Event> {
        match message.subject.strip_prefix(of_hosts) {
            Some(host) => {
                self.watch.heard(host);
                self.patience.heard(host, Instant::now());
                parsed::<Said>(&message.payload).map(|said| self.merge.take(host, said)).unwrap_or_default()
            }
            None => match parsed::<Noted>(&message.payload) {
                Some(Noted::Follows { by }) => {
                    let is_later =
                        message.info().is_ok_and(|info| info.stream_sequence > self.claim.sequence);
                    self.taken_over = self.taken_over.take().or_else(|| is_later.then_some(by));
                    Vec::new()
                }
                Some(noted) => self.merge.note(noted),
                None => Vec::new(),
            },
        }
    }

    fn run(&self) -> String {
        self.merge.placed().run.clone()
    }

    /// Does what an event asks for.
    fn follow(&mut self, event: &Event, is_enough: bool) {
        match &event.what {
            RunEvent::StepStarted(_) => {
                self.asked = Instant::now();
                self.tell_to_begin();
            }
            // Its other steps would be measured without what failed here.
            RunEvent::StepEnded(end) if end.reason != StepReason::Done => self.end_early(),
            RunEvent::Interval(interval) => {
                let step = StepId { test: interval.test, step: interval.step };
                if is_enough && self.enough != Some(step) {
                    self.enough = Some(step);
                    let (bus, run, parts) = (&self.bus, self.run(), self.merge.parts_of(step));
                    self.runtime.block_on(join_all(parts.into_iter().map(|(host, step)| {
                        let run = run.clone();
                        async move { bus.ask(&host, &Ask::Enough { run, step }, STOP_LIMIT).await }
                    })));
                }
            }
            _ => {}
        }
    }

    /// Whether silence is that of the hosts: this process has run, and has read all that they have said.
    fn can_judge(&mut self) -> bool {
        if !self.watch.is_awake() {
            return false;
        }
        let paused = self.watch.paused();
        if let Some(more) = paused.checked_sub(self.paused).filter(|more| !more.is_zero()) {
            let now = Instant::now();
            self.patience.paused(more, now);
            (self.paused, self.came) = (paused, (self.came + more).min(now));
        }
        true
    }

    /// Stops the run because of what a host has said; nobody has asked for it.
    fn end_early(&mut self) {
        self.has_ended_early |= !self.stop.is_set();
        self.stop.stop();
    }

    /// Passes a stop on, once.
    fn look_at_stop(&mut self) {
        if !self.stop.is_set() || self.is_stopping {
            return;
        }
        self.is_stopping = true;
        let unreached = self.runtime.block_on(self.watch.stop(&self.bus, &self.run()));
        let unreached: Vec<String> = unreached.into_iter().filter(|host| !self.is_final(host)).collect();
        if !unreached.is_empty() {
            self.note(&Noted::Warning(Warning {
                rule: "stop-not-reached".to_owned(),
                says: format!("No confirmation of the stop came from {} within a second.", unreached.join(", ")),
                next: "Assay repeats the request until the run is over; an agent without a connection ends its run \
                       when the time of the plan is over."
                    .to_owned(),
            }));
        }
    }

    fn is_final(&self, host: &str) -> bool {
        self.merge.standings().any(|(name, standing)| name == host && standing.is_final())
    }

    /// Gives up hosts from which nothing comes.
    fn look_at_hosts(&mut self) {
        if self.looked.elapsed() < LOOK_AT_HOSTS_EVERY {
            return;
        }
        self.looked = Instant::now();
        // A host that cannot begin, although it has passed inspection: the others would measure without it, or do.
        if self.is_open && self.merge.standings().any(|standing| refusal(standing).is_some()) {
            self.end_early();
        }
        if self.unkept.is_none()
            && self.bus.is_connected()
            && let Some(drifts) = self.watch.new_drifts()
        {
            self.note(&Noted::Drift(drifts));
        }
        if self.reading.is_behind() {
            return;
        }
        let limit = if self.is_stopping { STOPPING_LIMIT } else { LEASE };
        let waited_for = self.merge.standings().filter(|(_, standing)| !standing.is_final());
        let gone = waited_for.filter_map(|(host, _)| Some((host.to_owned(), self.watch.gone(host, limit)?)));
        for (host, why) in gone.collect::<Vec<_>>() {
            // Where the server does not answer, each would be waited for, and a stop with them.
            if !self.note(&Noted::Lost { host, why, at_unix_ns: self.clock.unix_ns() }) {
                break;
            }
        }
    }

    /// Looks whether a stream from which nothing comes takes messages. The disk of the server may be full, or the
    /// server gone: the hosts may be well all the same.
    fn look_at_stream(&mut self, kept: &mut Kept<'_, '_>) {
        let limit = if self.is_stopping { SILENT_STOPPING } else { LEASE };
        if self.came.elapsed() < limit {
            return;
        }
        let (run, id) = (self.run(), format!("{}.{}", self.since, self.notes));
        self.notes += 1;
        let note = async { tokio::time::timeout(ASK_LIMIT, self.bus.note(&run, &id, &Noted::Here)).await };
        let why = match self.runtime.block_on(note) {
            Ok(Ok(())) => None,
            Ok(Err(error)) => Some(error.to_string()),
            Err(_) => {
                Some(format!("the NATS server does not keep the messages of run {run}: it does not answer"))
            }
        };
        self.came = Instant::now();
        let Some(why) = why else { return };
        if self.merge.header().is_none() {
            kept.follower().waits(&format!("waiting for the NATS server: {why}"));
        } else if self.unkept.is_none() {
            let warning = Warning {
                rule: "messages-not-kept".to_owned(),
                says: format!("No host has sent anything for {} s: {why}.", limit.as_secs()),
                next: "The loads go on, and the agents keep their messages. Check that the NATS server runs and has \
                       free space; restart it if its disk was full."
                    .to_owned(),
            };
            kept.add(Event { at_ns: self.merge.last_ns(), what: RunEvent::Warning(warning) });
        }
        self.unkept.get_or_insert((Instant::now(), why));
    }

    /// Whether the end of the run cannot be waited for.
    fn is_cut(&self) -> bool {
        let planned = || Duration::from_nanos(self.merge.placed().plan.time().0);
        // Where nothing has been opened no plan's time has to go by.
        let limit = || if self.is_open { planned() + AWAY_LIMIT } else { AWAY_LIMIT };
        self.unkept.as_ref().is_some_and(|(since, _)| self.is_stopping || since.elapsed() > limit())
    }

    /// Writes a note into the stream, from which it is read like what the hosts say. Returns whether it is there; where
    /// the bus is away, the next look notes it again.
    fn note(&mut self, noted: &Noted) -> bool {
        if self.unkept.is_some() {
            return false;
        }
        // A host is lost once, and a step begins once, whoever notes it and however often.
        let id = match noted {
            Noted::Lost { host, .. } => format!("lost.{host}"),
            Noted::Begin { step, .. } => format!("begin.{}.{}", step.test, step.step),
            _ => format!("{}.{}", self.since, self.notes),
        };
        self.notes += 1;
        let run = self.run();
        let note = async { tokio::time::timeout(ASK_LIMIT, self.bus.note(&run, &id, noted)).await };
        matches!(self.runtime.block_on(note), Ok(Ok(())))
    }

    /// Begins the step for which every host is ready: by a note, from which the hosts are asked when it is read.
    fn begin_due(&mut self) {
        if self.merge.header().is_none() {
            self.tell_to_open();
        } else if let Some((step, hosts)) = self.merge.due().filter(|(step, _)| self.begun != Some(*step)) {
            let names = hosts.iter().map(|(host, _)| host.clone()).collect();
            let round = self.runtime.block_on(offsets(&self.bus, self.clock, names, of_a_step(hosts.len())));
            self.watch.add_clocks(&round.offsets);
            let lead = lead(hosts.len(), &round);
            let clocks_unix_ns = round.offsets.values().map(|(at_unix_ns, _)| *at_unix_ns).min();
            let clocks = round.offsets.into_iter().map(|(host, (_, offset))| (host, offset.into())).collect();
            let at_unix_ns = self.clock.unix_ns().saturating_add(i64::try_from(lead.as_nanos()).unwrap_or(0));
            if self.note(&Noted::Begin { step, at_unix_ns, clocks, clocks_unix_ns }) {
                self.begun = Some(step);
            }
        } else if self.asked.elapsed() > TELL_AGAIN {
            self.asked = Instant::now();
            self.tell_to_begin();
        }
    }

    fn tell_to_begin(&self) {
        let (bus, run) = (&self.bus, self.run());
        self.runtime.block_on(join_all(self.merge.not_begun().into_iter().map(
            |(host, step, at_unix_ns)| {
                let ask = Ask::Begin { run: run.clone(), step, at_unix_ns };
                async move { bus.ask(&host, &ask, STOP_LIMIT).await }
            },
        )));
    }

    /// Returns why the run has no end.
    fn cut(&self) -> Option<String> {
        let (_, why) = self.unkept.as_ref().filter(|_| self.is_cut())?;
        if self.merge.header().is_none() {
            return Some(why.clone());
        }
        Some(format!(
            "{why}; the run is stored as far as its messages came, and assay attach {} follows the rest when the \
             server keeps messages again",
            self.run()
        ))
    }

    /// Why nothing more of a run can be read that has no end.
    fn gone(&self) -> Option<String> {
        let is_gone = self.reading.is_gone() && self.taken_over.is_none();
        is_gone.then(|| {
            let run = self.run();
            format!(
                "the NATS server has removed the messages of run {run}, as it does when another coordinator has stored \
                 all of it; assay show {run} prints it where that one ran"
            )
        })
    }

    fn finish(self, mut kept: Kept<'_, '_>) -> Result<FleetDone, FleetError> {
        kept.follower().stage(Stage::Over);
        let mut failures = self.merge.failures.clone();
        failures.extend(self.merge.standings().filter_map(refusal));
        failures.extend(self.cut());
        failures.extend(self.taken_over.as_ref().map(|by| taken_over(&self.run(), by)));
        failures.extend(self.gone());
        let Some(header) = self.merge.header().cloned() else {
            if let Some(by) = self.taken_over.clone() {
                return Err(FleetError::TakenOver { run: self.run(), by });
            }
            // Nothing of it is stored, and nothing will be.
            let _ = self.runtime.block_on(self.bus.delete_stream(&self.run()));
            let why = failures.join("; ");
            return Err(match self.stop.is_set() && !self.has_ended_early {
                true if why.is_empty() => FleetError::Interrupted,
                true => FleetError::InterruptedBy(why),
                false => FleetError::Failed(why),
            });
        };
        let (mut is_stored, is_cut) = (false, self.is_cut());
        let is_all = self.taken_over.is_none() && self.gone().is_none();
        match kept.finish() {
            Some(Ok(())) => is_stored = is_all,
            Some(Err(lost)) => failures.push(lost.to_string()),
            None => {}
        }
        if is_stored && !is_cut {
            // It stays where the run is not stored: assay attach stores it.
            let _ = self.runtime.block_on(self.bus.delete_stream(&self.run()));
        }
        Ok(FleetDone { header, label: self.merge.placed().label.clone(), failures, is_stored })
    }
}

/// Has every host give up a run that has opened nothing, and forgets it.
pub(crate) async fn call_off(bus: &Bus, placed: &Placed) {
    let hosts = &placed.hosts;
    let limit = limit_of(hosts.len());
    let asks =
        hosts.iter().map(|host| async { bus.ask(host, &Ask::CallOff(placed.run.clone()), limit).await });
    join_all(asks).await;
    // A stream that stays costs the server a few kilobytes.
    let _ = bus.delete_stream(&placed.run).await;
}

/// Why a host did not take part.
fn refusal((host, standing): (&str, &Standing)) -> Option<String> {
    match standing {
        Standing::Refused { why, .. } => Some(format!("{host}: {why}")),
        _ => None,
    }
}

/// Returns by how many requests the clock of each of so many hosts is measured before a step.
pub(super) fn of_a_step(hosts: usize) -> Probes {
    let each = probes(hosts);
    Probes { least: each.least.min(PROBES), ..each }
}

/// Returns how much later than now a step begins on so many hosts.
pub(super) fn lead(hosts: usize, round: &Round) -> Duration {
    let of_each = (round.of_a_request() * LEAD_ROOM).max(LEAD_OF_EACH);
    LEAD + of_each * u32::try_from(hosts).unwrap_or(u32::MAX)
}
