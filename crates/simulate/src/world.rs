//! One run: the core, its simulated driver and network, the storage, the faults, and virtual time.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};
use std::time::{Duration, Instant};

use assay_iscsi::login::{LoginError, Negotiated};
use assay_iscsi::multipath::{Action, Core, Input};
use assay_iscsi::session::{OutPdu, Payload};
use assay_iscsi::{Completion, EventKind, PathError, UnitWatch};

use crate::disk::{CHUNK_BYTES, CHUNKS};
use crate::draw::{BATCHES, RESETS, config, enabled, special, together};
use crate::event::{Event, Timed};
use crate::fault::{Fault, FaultCounts};
use crate::oracle::Load;
use crate::random::Random;
use crate::resets::Resets;
use crate::storage::{Effect, Pdu, Storage};
use crate::time::{MS, Nanos, SECOND, US};

mod justified;

/// Interval of ticks.
const TICK: Nanos = 50 * MS;
/// PDUs that a connection's own queue holds.
const QUEUE_MAX: usize = 8;
/// Time after which a request to connect is sent again; it doubles each time (RFC 6298).
const SYN_AGAIN: Nanos = SECOND;
/// Time after an unreported swap in which the checks of each second must have found it.
const NOTICED: Nanos = 2 * SECOND;
/// The same for a disk that takes up to two seconds for each command.
const NOTICED_SLOWLY: Nanos = 8 * SECOND;
/// Steps after which a run counts as endless.
const STEPS_MAX: u64 = 2_000_000;

/// The client's side of a connection.
#[derive(Debug, Default)]
struct Link {
    /// Counts the connections of the path: what belongs to an earlier one is dropped.
    epoch: u32,
    conn: Option<(u32, usize)>,
    /// PDUs that the core has handed out, which it cannot take back, with the time.
    queue: VecDeque<(OutPdu, Nanos)>,
    on_the_way: usize,
    last_arrival: Nanos,
    since: Nanos,
    /// Time of the last PDU that arrived.
    heard_at: Nanos,
}

/// How a run ended.
#[derive(Debug, Clone, Default)]
pub struct Outcome {
    /// Number of events.
    pub steps: u64,
    /// Number of commands that completed with an error.
    pub failed: u64,
    /// Number of writes that landed after a newer one was acknowledged, as the core had said they might.
    pub late: u64,
    /// Faults injected.
    pub faults: FaultCounts,
    /// The oracle that was violated, with the virtual time.
    pub violation: Option<String>,
}

struct World {
    /// The initiators of one process, which share the proof of the unit's identity.
    cores: Vec<Core<Vec<u8>>>,
    /// Paths of each; events and links count the paths of all.
    paths: u8,
    storage: Storage,
    load: Load,
    links: Vec<Link>,
    heap: BinaryHeap<Reverse<Timed>>,
    number: u64,
    base: Instant,
    now: Nanos,
    random: Random,
    enabled: Vec<Fault>,
    latency: Nanos,
    depth: usize,
    /// PDUs on the way to the target after which a socket accepts no more.
    socket_max: usize,
    io_limit: Nanos,
    faults_end: Nanos,
    /// Time from which no fault applies any more, as far as is known.
    quiet_from: Nanos,
    next_tick: Nanos,
    /// End of the last pause of the client's process, and all its pauses.
    paused_until: Nanos,
    paused: Nanos,
    /// Last arrival at the client, per portal, so that a connection keeps its order.
    arrivals: Vec<Nanos>,
    /// Time in which PDUs of a connection arrive together, if nothing else happens meanwhile.
    together: Nanos,
    /// The LUN resets of each initiator.
    resets: Vec<Resets>,
    /// Time at which the client learned that another unit has the number.
    told_at: Option<Nanos>,
    /// True once a write was executed on another unit: the known one lacks it, whatever was acknowledged.
    has_strayed: bool,
    /// Time at which another unit took the number without a word.
    replaced_at: Option<Nanos>,
    /// Time after it in which it must have been found.
    noticed: Nanos,
    names: Vec<String>,
    /// What arrived on a connection before the response to its login.
    logging_in: BTreeMap<u32, Vec<Pdu>>,
    done: Vec<Completion<Vec<u8>>>,
    outcome: Outcome,
    trace: bool,
}

/// Runs one seed. The result depends on nothing else.
pub fn run(seed: u64, trace: bool) -> Outcome {
    let mut world = World::new(seed, trace);
    if let Err(why) = world.run() {
        world.outcome.violation = Some(format!("{:.6} s: {why}", world.now as f64 / SECOND as f64));
    }
    world.outcome.faults = world.storage.counts.clone();
    (world.outcome.failed, world.outcome.late) = (world.load.failed, world.load.late);
    world.outcome
}

impl World {
    fn new(seed: u64, trace: bool) -> Self {
        let mut random = Random::new(seed);
        let portals = usize::try_from(random.between(1, 4)).expect("a few");
        let names: Vec<String> = (0..portals).map(|at| format!("10.0.{at}.1:3260")).collect();
        let base = Instant::now();
        let mut config = config(&mut random, &names, base);
        let io_limit = u64::try_from(config.timeouts.io.as_nanos()).expect("seconds");
        let paths = portals * usize::from(config.sessions_per_portal);
        let mut storage = Storage::new(portals, Random::new(seed ^ 0xabcd_ef01));
        // Seeds of the others find what they found when there was one initiator.
        let mut others = Random::new(seed ^ 0x5eed_0002);
        let clients = if seed % 8 == 6 { 2 } else { 1 };
        let (is_replaced, mut noticed) = (seed % 16 == 7 && seed < BATCHES, NOTICED);
        if is_replaced {
            storage.habits.one_serial = others.chance(50);
            config.watch = *others.pick(&[UnitWatch::Regularly, UnitWatch::Closely]);
            if others.chance(30) {
                (storage.habits.service, noticed) = ((500 * MS, 2 * SECOND), NOTICED_SLOWLY);
            }
        }
        let contested = if clients == 2 && others.chance(60) { 4 } else { 0 };
        let core =
            |of: u8| Core::new(config.clone(), [1, 2, 3 + of], base).expect("the configuration is valid");
        let (mut enabled, mut commands) = (enabled(&mut random, is_replaced), random.between(100, 500));
        // Nothing proves which disk it is once all that was known to be on the first was written again on the second.
        let mut used = if is_replaced { CHUNKS } else { *random.pick(&[4, 10, 40]) };
        if let Some(drawn) = special(seed, &mut storage.habits, &mut others) {
            (enabled, commands, used) = drawn;
        }
        let resets_are_late = (RESETS..BATCHES).contains(&seed) && others.chance(50);
        let mut world = Self {
            cores: (0..clients).map(core).collect(),
            paths: u8::try_from(paths).expect("a few"),
            storage,
            load: Load::new(commands, used, contested),
            links: (0..paths * usize::from(clients)).map(|_| Link::default()).collect(),
            heap: BinaryHeap::new(),
            number: 0,
            base,
            now: 0,
            latency: *random.pick(&[50 * US, 200 * US, 5 * MS]),
            enabled,
            depth: usize::from(config.depth),
            socket_max: *random.pick(&[2, 6, 24]),
            io_limit,
            faults_end: random.between(5, 20) * SECOND,
            quiet_from: 0,
            next_tick: 0,
            paused_until: 0,
            paused: 0,
            arrivals: vec![0; portals],
            together: together(seed),
            resets: (0..clients).map(|_| Resets::new(u8::try_from(paths).expect("a few"))).collect(),
            told_at: None,
            has_strayed: false,
            replaced_at: None,
            noticed,
            names,
            done: Vec::new(),
            logging_in: BTreeMap::new(),
            outcome: Outcome::default(),
            trace,
            random,
        };
        let always = [(resets_are_late, Fault::ManagementLate), (seed >= BATCHES, Fault::LateAnswer)];
        always.into_iter().filter(|(is_on, _)| *is_on).for_each(|(_, fault)| world.always(fault));
        world
    }

    /// Lets a fault that delays answers apply everywhere until the faults end.
    fn always(&mut self, fault: Fault) {
        (0..self.names.len()).for_each(|port| self.storage.begin(fault, port, Nanos::MAX));
        self.quiet_from = self.faults_end + 4 * SECOND;
    }

    /// Prints a line of the trace, if there is one.
    fn say(&self, words: impl FnOnce() -> String) {
        if self.trace {
            println!("{:>12} us: {}", self.now / US, words());
        }
    }

    fn at(&self) -> Instant {
        self.base + Duration::from_nanos(self.now)
    }

    fn schedule(&mut self, at: Nanos, event: Event) {
        self.number += 1;
        self.heap.push(Reverse(Timed { at, number: self.number, event }));
    }

    fn run(&mut self) -> Result<(), String> {
        self.schedule(0, Event::Tick);
        self.schedule(SECOND / 2, Event::Fault);
        self.schedule(0, Event::Think);
        while let Some(Reverse(Timed { at, event, .. })) = self.heap.pop() {
            self.now = self.now.max(at);
            self.outcome.steps += 1;
            if self.outcome.steps > STEPS_MAX {
                return Err("the run does not end".into());
            }
            if self.is_for_client(&event) && self.now < self.paused_until {
                self.schedule(self.paused_until, event);
                continue;
            }
            self.handle(event)?;
            self.effects()?;
            self.turn()?;
            let is_calm = self.now > self.faults_end;
            if is_calm && self.load.left == 0 && self.load.outstanding() == 0 {
                break;
            }
            if self.cores.iter().all(|core| core.lost().is_some()) && self.load.outstanding() == 0 {
                break;
            }
        }
        Ok(())
    }

    fn is_for_client(&self, event: &Event) -> bool {
        !matches!(
            event,
            Event::Fault
                | Event::Syn { .. }
                | Event::LogIn { .. }
                | Event::ToTarget { .. }
                | Event::HungUpByClient { .. }
                | Event::Storage(_)
                | Event::WindowOpens { .. }
        )
    }

    /// Returns the end of a cut, if there is one now.
    fn cut(&self, port: usize) -> Option<Nanos> {
        self.storage.is_on(Fault::Cut, port, self.now).then(|| self.storage.until(Fault::Cut, port))
    }

    /// Returns the initiator of a path, and the path as it counts them.
    fn core(&mut self, path: u8) -> (&mut Core<Vec<u8>>, u8) {
        (&mut self.cores[usize::from(path / self.paths)], path % self.paths)
    }

    /// Tells the initiator of a path what happened to it.
    fn tell(&mut self, path: u8, input: impl FnOnce(u8) -> Input) {
        let now = self.at();
        let (core, own) = self.core(path);
        core.on(input(own), now);
    }

    /// Tells the initiator of a path that it is lost.
    fn lose(&mut self, path: u8, error: impl FnOnce(String) -> PathError) {
        let (core, own) = self.core(path);
        let error = error(core.portal(own).to_owned());
        self.tell(path, |path| Input::Lost { path, error });
    }

    fn is_current(&self, path: u8, epoch: u32) -> bool {
        self.links[usize::from(path)].epoch == epoch
    }

    fn handle(&mut self, event: Event) -> Result<(), String> {
        let soon = self.now + self.latency;
        match event {
            Event::Tick => {
                self.next_tick = self.now + TICK;
                self.schedule(self.next_tick, Event::Tick);
                let now = self.at();
                self.cores.iter_mut().for_each(|core| core.on(Input::Tick, now));
                self.check_all()?;
            }
            Event::Fault => self.inject(),
            Event::Think => {
                let pause = self.random.between(MS, 100 * MS);
                self.submit();
                self.schedule(self.now + pause, Event::Think);
            }
            Event::Syn { path, epoch, port, isid, again } => {
                if self.cut(port).is_some() {
                    if self.is_current(path, epoch) {
                        let syn = Event::Syn { path, epoch, port, isid, again: 2 * again };
                        self.schedule(self.now + again, syn);
                    }
                } else if self.storage.is_on(Fault::PortalClosed, port, self.now) {
                    self.schedule(soon, Event::Refused { path, epoch });
                } else {
                    self.schedule(soon, Event::Connected { path, epoch, port, isid });
                }
            }
            Event::Refused { path, epoch } => {
                if self.is_current(path, epoch) {
                    let source = std::io::ErrorKind::ConnectionRefused.into();
                    self.lose(path, |portal| PathError::Connect { portal, source });
                }
            }
            Event::Connected { path, epoch, port, isid } => {
                if self.is_current(path, epoch) {
                    self.tell(path, |path| Input::Connected { path });
                    self.schedule(soon, Event::LogIn { path, epoch, port, isid });
                }
            }
            Event::LogIn { path, epoch, port, isid } => self.log_in(path, epoch, port, isid),
            Event::LoggedIn { path, epoch, port, conn, agreed } => {
                self.logged_in(path, epoch, (port, conn), agreed)?;
            }
            Event::LoginRefused { path, epoch } => {
                if self.is_current(path, epoch) {
                    let (class, detail) = (2, 3);
                    let source = LoginError::Refused { class, detail };
                    self.lose(path, |portal| PathError::Login { portal, source });
                }
            }
            Event::Redirected { path, epoch, port } => {
                if self.is_current(path, epoch) {
                    let portal = self.names[port].clone();
                    self.tell(path, |path| Input::Redirected { path, portal });
                }
            }
            event @ Event::ToTarget { .. } => self.reaches_target(event),
            Event::ToClient { conn, port, pdu } => self.arrived(conn, port, pdu)?,
            Event::HungUpByClient { conn } => self.storage.hung_up(conn),
            Event::HungUpByTarget { conn, port } => self.closed_by_target(conn, port),
            Event::Storage(what) => self.storage.wake(what, self.now),
            Event::WindowOpens { port } => self.storage.tell_windows(port, self.now),
        }
        Ok(())
    }

    fn reaches_target(&mut self, event: Event) {
        let Event::ToTarget { path, epoch, conn, port, pdu, is_lost } = event else { return };
        let is_current = self.is_current(path, epoch);
        match self.cut(port) {
            _ if is_lost && !is_current => {}
            Some(until) => {
                self.schedule(until, Event::ToTarget { path, epoch, conn, port, pdu, is_lost: true });
            }
            None => {
                if is_current {
                    self.links[usize::from(path)].on_the_way -= 1;
                }
                self.say(|| format!("path {path}: at the target {pdu}"));
                self.storage.on_pdu(conn, pdu, self.now);
            }
        }
    }

    fn log_in(&mut self, path: u8, epoch: u32, port: usize, isid: [u8; 6]) {
        let soon = self.now + self.latency;
        if let Some(until) = self.cut(port) {
            if self.is_current(path, epoch) {
                self.schedule(until, Event::LogIn { path, epoch, port, isid });
            }
            return;
        }
        if self.storage.is_on(Fault::LoginRefused, port, self.now) {
            self.storage.counts.count(Fault::LoginRefused);
            return self.schedule(soon, Event::LoginRefused { path, epoch });
        }
        if self.storage.is_on(Fault::Redirected, port, self.now) && self.random.chance(50) {
            self.storage.counts.count(Fault::Redirected);
            let port = usize::try_from(self.random.below(self.names.len() as u64)).expect("a few");
            return self.schedule(soon, Event::Redirected { path, epoch, port });
        }
        let (conn, agreed) = self.storage.log_in(port, isid);
        self.logging_in.insert(conn, Vec::new());
        self.schedule(soon, Event::LoggedIn { path, epoch, port, conn, agreed: Box::new(agreed) });
    }

    fn logged_in(
        &mut self,
        path: u8,
        epoch: u32,
        (port, conn): (usize, u32),
        agreed: Box<Negotiated>,
    ) -> Result<(), String> {
        if let Some(until) = self.cut(port) {
            self.schedule(until, Event::LoggedIn { path, epoch, port, conn, agreed });
            return Ok(());
        }
        let early = self.logging_in.remove(&conn).unwrap_or_default();
        if !self.is_current(path, epoch) {
            self.schedule(self.now + self.latency, Event::HungUpByClient { conn });
            return Ok(());
        }
        let link = &mut self.links[usize::from(path)];
        (link.conn, link.since, link.heard_at) = (Some((conn, port)), self.now, self.now);
        self.say(|| format!("path {path}: logged in, group {:?}", agreed.target_portal_group));
        self.tell(path, |path| Input::Up { path, agreed });
        early.into_iter().try_for_each(|pdu| self.arrived(conn, port, pdu))
    }

    fn path_of(&self, conn: u32) -> Option<u8> {
        let at = self.links.iter().position(|link| link.conn.is_some_and(|(of, _)| of == conn))?;
        u8::try_from(at).ok()
    }

    fn arrived(&mut self, conn: u32, port: usize, pdu: Pdu) -> Result<(), String> {
        if let Some(until) = self.cut(port) {
            self.schedule(until, Event::ToClient { conn, port, pdu });
            return Ok(());
        }
        // A connection keeps its order: nothing overtakes the response to its login.
        if let Some(early) = self.logging_in.get_mut(&conn) {
            early.push(pdu);
            return Ok(());
        }
        let Some(path) = self.path_of(conn) else { return Ok(()) };
        let mut pdus = vec![pdu];
        while let Some(pdu) = self.next_together(conn) {
            pdus.push(pdu);
        }
        self.links[usize::from(path)].heard_at = self.now;
        for pdu in &pdus {
            self.say(|| format!("path {path}: at the client {pdu}"));
            if pdu.bhs.opcode() == 0x21 && pdu.data.get(4) == Some(&6) && pdu.data.get(14) == Some(&0x3f) {
                self.told_at.get_or_insert(self.now);
            }
            self.resets[usize::from(path / self.paths)].receives(path % self.paths, pdu);
        }
        let now = self.at();
        let (core, own) = self.core(path);
        if let Err(error) = core.deliver(own, pdus.iter().map(|pdu| (&pdu.bhs, &pdu.data[..])), now) {
            return Err(format!("path {path} takes the target's answer for a violation: {error}"));
        }
        Ok(())
    }

    /// Takes the next event if it is the arrival of a PDU on this connection, soon enough to be received together with
    /// the one before.
    fn next_together(&mut self, conn: u32) -> Option<Pdu> {
        let Reverse(Timed { at, event: Event::ToClient { conn: next, port, .. }, .. }) = self.heap.peek()?
        else {
            return None;
        };
        if *next != conn || *at > self.now + self.together || self.together == 0 || self.cut(*port).is_some()
        {
            return None;
        }
        let Reverse(Timed { at, event: Event::ToClient { pdu, .. }, .. }) = self.heap.pop()? else {
            unreachable!("it was looked at");
        };
        self.now = self.now.max(at);
        Some(pdu)
    }

    fn closed_by_target(&mut self, conn: u32, port: usize) {
        if let Some(until) = self.cut(port) {
            return self.schedule(until, Event::HungUpByTarget { conn, port });
        }
        let Some(path) = self.path_of(conn) else { return };
        let why = "the target closed the connection".into();
        self.lose(path, |portal| PathError::Connection { portal, why });
    }

    /// Begins a fault, and plans the next one.
    fn inject(&mut self) {
        if self.now >= self.faults_end {
            return self.storage.calm();
        }
        let pause = self.random.between(20 * MS, 2 * SECOND);
        self.schedule(self.now + pause, Event::Fault);
        if self.enabled.is_empty() {
            return;
        }
        let fault = *self.random.pick(&self.enabled);
        // Before a path was up, no unit is known that another one could replace.
        if fault == Fault::UnitSwapped && !self.cores.iter().any(Core::is_known) {
            return;
        }
        if fault == Fault::UnitReplaced && (self.replaced_at.is_some() || !self.load.has_written()) {
            return;
        }
        let port = usize::try_from(self.random.below(self.names.len() as u64)).expect("a few");
        let long = *self.random.pick(&[300 * MS, 2 * SECOND, 6 * SECOND]);
        let until = self.now + self.random.between(10 * MS, long);
        let until = until.min(self.faults_end);
        self.storage.begin(fault, port, until);
        let is_late = matches!(fault, Fault::LateAnswer | Fault::ManagementLate);
        self.quiet_from = self.quiet_from.max(until + if is_late { 4 * SECOND } else { 0 });
        self.say(|| format!("{fault:?} at portal {port} until {} us", until / US));
        self.at_once(fault, port, until);
        if self.random.chance(20) {
            (0..self.names.len()).for_each(|port| self.storage.begin(fault, port, until));
        }
        // What is aborted only now and then seldom meets a target that refuses it.
        let management: Vec<Fault> =
            self.enabled.iter().copied().filter(|fault| fault.is_management()).collect();
        if fault.is_delay() && !management.is_empty() {
            let other = *self.random.pick(&management);
            let until = self.faults_end.min(self.now + self.io_limit);
            self.storage.begin(other, port, until);
            self.quiet_from = self.quiet_from.max(until + 4 * SECOND);
        }
    }

    /// Does what a fault does at once, rather than to later commands.
    fn at_once(&mut self, fault: Fault, port: usize, until: Nanos) {
        match fault {
            Fault::HangUp => {
                for conn in self.storage.conns_of(port) {
                    self.storage.hung_up(conn);
                    self.schedule(self.now + self.latency, Event::HungUpByTarget { conn, port });
                }
            }
            Fault::WindowClosed => self.schedule(until, Event::WindowOpens { port }),
            Fault::GroupMoved => {
                // A target that names no groups has none whose portals could move.
                if !self.storage.habits.names_groups {
                    return;
                }
                self.storage.ports[port].group = u16::try_from(self.random.between(1, 5)).expect("a few");
            }
            Fault::LogoutRequested => self.storage.request_logout(port, self.now),
            Fault::AccessChanged => self.storage.change_access(),
            Fault::UnitSwapped => {
                self.storage.swap();
                self.load.doubt_all();
                self.told_at = None;
            }
            Fault::UnitReplaced => {
                self.storage.replace();
                (0..self.names.len()).for_each(|port| self.storage.begin(fault, port, Nanos::MAX));
                self.load.doubt_all();
                self.replaced_at = Some(self.now);
            }
            Fault::ClockPaused => {
                let until = until.min(self.now + 3 * SECOND);
                self.paused += until.saturating_sub(self.paused_until.max(self.now));
                self.paused_until = self.paused_until.max(until);
                self.quiet_from = self.quiet_from.max(until);
            }
            Fault::Cut | Fault::PortalClosed | Fault::ThreadStall | Fault::DiskStall => {}
            _ => return,
        }
        // Only a reset ends what a portal has that stalls and was in a group of its own.
        if fault == Fault::ThreadStall && self.storage.habits.reads_after_reset {
            self.at_once(Fault::GroupMoved, port, until);
        }
        self.storage.counts.count(fault);
    }

    /// Carries out what the storage wants.
    fn effects(&mut self) -> Result<(), String> {
        for effect in std::mem::take(&mut self.storage.effects) {
            match effect {
                Effect::Send { conn, port, pdu } => {
                    let jitter = self.random.below(self.latency);
                    let at = (self.now + self.latency + jitter).max(self.arrivals[port]);
                    self.arrivals[port] = at;
                    self.schedule(at, Event::ToClient { conn, port, pdu });
                }
                Effect::Wake { at, what } => self.schedule(at, Event::Storage(what)),
                Effect::Close { conn, port } => {
                    let at = (self.now + self.latency).max(self.arrivals[port]);
                    self.schedule(at, Event::HungUpByTarget { conn, port });
                }
                Effect::Landed { chunk, version } => {
                    self.say(|| format!("version {version} lands in chunk {chunk}"));
                    self.load.landed(chunk, version)?;
                }
                Effect::Foreign { sent_at } => {
                    self.has_strayed = true;
                    if let Some(told_at) = self.told_at.filter(|told_at| sent_at > *told_at) {
                        let late_us = (sent_at - told_at) / US;
                        return Err(format!(
                            "a write was sent to another unit, {late_us} us after the target had said so"
                        ));
                    }
                    if let Some(late) = self.replaced_at.and_then(|at| sent_at.checked_sub(at + self.noticed))
                    {
                        return Err(format!(
                            "a write was sent to another unit, {} us after it should have been noticed",
                            late / US
                        ));
                    }
                }
                Effect::Torn { chunk } => {
                    return Err(format!("bytes of no version were written to chunk {chunk}"));
                }
            }
        }
        Ok(())
    }

    /// One turn of the client, as `assay_tcp::turn` does it.
    fn turn(&mut self) -> Result<(), String> {
        if self.now < self.paused_until {
            return Ok(());
        }
        for of in 0..self.cores.len() {
            self.turn_of(of)?;
        }
        Ok(())
    }

    fn turn_of(&mut self, of: usize) -> Result<(), String> {
        let (now, first) = (self.at(), u8::try_from(of).expect("a few") * self.paths);
        self.act(of);
        self.cores[of].assign(now);
        self.act(of);
        (0..self.paths).for_each(|path| self.pump(first + path));
        self.cores[of].released(now);
        self.act(of);
        let mut done = std::mem::take(&mut self.done);
        self.cores[of].completed(&mut done);
        for completion in done.drain(..) {
            self.say(|| format!("command {} ends: {:?}", completion.tag, completion.result));
            self.load.completed(&completion)?;
            self.is_excused(of, &completion)?;
        }
        self.done = done;
        for event in self.cores[of].events() {
            self.say(|| format!("path {:?}: {:?}", event.path.map(|path| first + path), event.kind));
            if let Some(path) = event.path {
                self.resets[of].check(path, &event.kind, self.now)?;
            }
            if let (Some(path), EventKind::PathDown { cause, .. }) = (event.path, event.kind) {
                self.is_justified(first + path, &cause)?;
            }
        }
        Ok(())
    }

    fn act(&mut self, of: usize) {
        let first = u8::try_from(of).expect("a few") * self.paths;
        while let Some(action) = self.cores[of].next_action() {
            self.say(|| format!("{action:?}"));
            match action {
                Action::Close { path } => self.close(first + path),
                Action::Connect { path, portal, isid } => {
                    let path = first + path;
                    let Some(port) = self.names.iter().position(|name| *name == portal) else { continue };
                    let epoch = self.links[usize::from(path)].epoch;
                    let syn = Event::Syn { path, epoch, port, isid, again: SYN_AGAIN };
                    self.schedule(self.now + self.latency, syn);
                }
            }
        }
    }

    /// Resets a connection. The reset reaches the target after what was sent, or is lost.
    fn close(&mut self, path: u8) {
        let link = &mut self.links[usize::from(path)];
        let at = link.last_arrival.max(self.now + self.latency);
        let (epoch, conn) = (link.epoch + 1, link.conn);
        *link = Link { epoch, since: link.since, heard_at: link.heard_at, ..Link::default() };
        if let Some((conn, port)) = conn
            && self.cut(port).is_none()
        {
            self.schedule(at, Event::HungUpByClient { conn });
        }
    }

    /// Returns the next PDU of a path, whose data the core keeps until they are sent.
    fn next_pdu(&mut self, path: u8) -> Option<OutPdu> {
        let now = self.at();
        let (core, own) = self.core(path);
        let pdu = core.next_pdu(own, now)?;
        self.resets[usize::from(path / self.paths)].sends(own, &pdu, self.now);
        if let Payload::Task { user, .. } = pdu.payload {
            self.core(path).0.hold(user);
        }
        Some(pdu)
    }

    /// Fills the queue of a connection, and the socket as far as it accepts.
    fn pump(&mut self, path: u8) {
        let at = usize::from(path);
        let Some((conn, port)) = self.links[at].conn else { return };
        loop {
            while self.links[at].queue.len() < QUEUE_MAX
                && let Some(pdu) = self.next_pdu(path)
            {
                self.links[at].queue.push_back((pdu, self.now));
            }
            if self.links[at].on_the_way >= self.socket_max {
                return;
            }
            let Some((pdu, sent_at)) = self.links[at].queue.pop_front() else { return };
            let data = match pdu.payload {
                Payload::None => Vec::new(),
                Payload::Owned(bytes) => bytes,
                Payload::Task { user, offset_bytes, data_bytes } => {
                    let (core, _) = self.core(path);
                    let data = core.outgoing(user, offset_bytes, data_bytes).to_vec();
                    core.release(user);
                    data
                }
            };
            let jitter = self.random.below(self.latency);
            let arrival = (self.now + self.latency + jitter).max(self.links[at].last_arrival);
            let link = &mut self.links[at];
            (link.last_arrival, link.on_the_way) = (arrival, link.on_the_way + 1);
            let (epoch, pdu) = (link.epoch, Pdu { bhs: pdu.bhs, data, sent_at });
            self.schedule(arrival, Event::ToTarget { path, epoch, conn, port, pdu, is_lost: false });
        }
    }

    fn submit(&mut self) {
        for of in 0..self.cores.len() {
            while (self.cores[of].outstanding() as usize) < self.depth && self.cores[of].is_known() {
                let Some(command) = self.load.next(&mut self.random, self.now) else { return };
                self.say(|| {
                    let chunk = command.offset_bytes / CHUNK_BYTES as u64;
                    format!("command {}: {:?} of chunk {chunk}", command.tag, command.kind)
                });
                if let Err(command) = self.cores[of].submit(command) {
                    self.load.refused(command.tag);
                    break;
                }
            }
        }
    }

    fn check_all(&mut self) -> Result<(), String> {
        let slack = 2 * SECOND + self.paused;
        self.load.in_time(self.io_limit + slack, self.now)?;
        self.cores.iter().try_for_each(Core::audit)
    }
}
