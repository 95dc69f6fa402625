//! From what hosts say to the events of one run. A function of the messages in the order in which the stream has them,
//! so that whoever reads the stream again gets the same events.

#[cfg(test)]
mod tests;
mod waits;

use std::collections::{BTreeMap, BTreeSet};

use assay_record::{
    ClockDrift, ClockOffset, Event, FleetHost, HostFacts, Outcome, Phase, RunEvent, RunHeader, RunSetting,
    StepEnd, StepId, TargetFacts, Warning,
};

use assay_spec::{PlacedStep, Placement, PlacementError};

use crate::nats::step_end::{HostStep, merged_end};
use crate::nats::wire::{Noted, Placed, Said, What};

/// Two clocks that only the kernel steers come apart, or together, no faster than this, in parts of a million: each is
/// slewed by up to 500. A daemon that sets the length of ticks is faster.
const MOVES_PPM_MAX: u64 = 1000;

/// A run of several hosts so far.
#[derive(Debug)]
pub(crate) struct Merge {
    placed: Placed,
    placement: Placement,
    hosts: Vec<HostState>,
    /// Where each of them is.
    by_name: BTreeMap<String, usize>,
    /// How fast the clock of each runs away.
    drifts: BTreeMap<String, ClockDrift>,
    steps: BTreeMap<StepId, StepState>,
    header: Option<RunHeader>,
    /// Events before the header.
    held: Vec<Event>,
    /// What failed, a sentence each.
    pub(crate) failures: Vec<String>,
    /// Time of the newest event, ns since the run began.
    last_ns: u64,
    is_over: bool,
}

/// What a host is at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Standing {
    /// It examines its targets.
    Inspecting,
    /// All of them have passed.
    Inspected,
    /// It opens, fills, measures.
    Running,
    /// It did not begin.
    Refused {
        /// Reason.
        why: String,
        /// Whether targets may have been written to.
        has_begun: bool,
    },
    /// It has said its last word.
    Over,
    /// Nothing comes from it any more.
    Lost(String),
}

impl Standing {
    /// Whether nothing more is expected of the host.
    pub(crate) fn is_final(&self) -> bool {
        matches!(self, Self::Refused { .. } | Self::Over | Self::Lost(_))
    }
}

#[derive(Debug)]
struct HostState {
    name: String,
    standing: Standing,
    /// Number of the next message.
    next: u64,
    /// When its events' clock showed 0, by the coordinator's clock, ns since 1970.
    epoch_ns: i64,
    clock: ClockOffset,
    /// It was not measured before this moment, by the coordinator's clock, ns since 1970.
    clock_at_ns: i64,
    header: Option<RunHeader>,
    /// The step at whose gate it waits.
    ready: Option<StepId>,
    outcome: Option<Outcome>,
}

#[derive(Debug, Default)]
struct StepState {
    /// Hosts that take part, as indices; with their step and its jobs.
    parts: BTreeMap<usize, Part>,
    /// When it is to begin, by the coordinator's clock, ns since 1970.
    at_unix_ns: Option<i64>,
    is_started: bool,
    phases: Vec<Phase>,
    is_ended: bool,
}

#[derive(Debug)]
struct Part {
    local: StepId,
    jobs: Vec<u32>,
    clock: ClockOffset,
    /// How much later than stated its measured window began, ns.
    shift_ns: u64,
    has_begun: bool,
    end: Option<StepEnd>,
    skipped: Option<String>,
}

impl Part {
    fn new(local: StepId, jobs: Vec<u32>) -> Self {
        let (clock, shift_ns, has_begun) = (ClockOffset::default(), 0, false);
        Self { local, jobs, clock, shift_ns, has_begun, end: None, skipped: None }
    }
}

impl Merge {
    /// Begins a run.
    ///
    /// # Errors
    /// Where its plan cannot be placed on its hosts.
    pub(crate) fn new(placed: Placed) -> Result<Self, PlacementError> {
        let placement = placed.plan.placed(&placed.hosts, placed.targets)?;
        let mut steps: BTreeMap<StepId, StepState> = BTreeMap::new();
        let mut hosts = Vec::new();
        for (index, host) in placement.hosts.iter().enumerate() {
            for (test, of_test) in (0..).zip(&host.steps) {
                for (step, at) in (0..).zip(of_test) {
                    let local = StepId { test, step };
                    let state = steps.entry(StepId { test: at.test, step: at.step }).or_default();
                    state.parts.insert(index, Part::new(local, at.jobs.clone()));
                }
            }
            hosts.push(HostState {
                name: host.host.clone(),
                standing: Standing::Inspecting,
                next: 1,
                epoch_ns: 0,
                clock: placed.clocks.get(&host.host).copied().unwrap_or_default(),
                clock_at_ns: placed.clocks_unix_ns.unwrap_or_else(|| started_ns(&placed)),
                header: None,
                ready: None,
                outcome: None,
            });
        }
        let by_name = (0..).zip(&hosts).map(|(index, host)| (host.name.clone(), index)).collect();
        Ok(Self {
            placed,
            placement,
            hosts,
            by_name,
            drifts: BTreeMap::new(),
            steps,
            header: None,
            held: Vec::new(),
            failures: Vec::new(),
            last_ns: 0,
            is_over: false,
        })
    }

    pub(crate) fn placed(&self) -> &Placed {
        &self.placed
    }

    /// Returns the header, once every host has begun.
    pub(crate) fn header(&self) -> Option<&RunHeader> {
        self.header.as_ref()
    }

    /// Whether the last event of the run was returned, or none will be.
    pub(crate) fn is_over(&self) -> bool {
        self.is_over
    }

    /// Returns the time of the newest event, ns since the run began.
    pub(crate) fn last_ns(&self) -> u64 {
        self.last_ns
    }

    pub(crate) fn standings(&self) -> impl Iterator<Item = (&str, &Standing)> {
        self.hosts.iter().map(|host| (host.name.as_str(), &host.standing))
    }

    /// Returns the next step, if every host that runs it waits at its gate, with these hosts and their own numbers of
    /// it. Steps follow one another, also those of different hosts.
    pub(crate) fn due(&self) -> Option<(StepId, Vec<(String, StepId)>)> {
        let (id, step) = self.steps.iter().find(|(_, step)| !step.is_ended)?;
        let is_missing = |(host, part): (&usize, &Part)| {
            let host = &self.hosts[*host];
            !host.standing.is_final() && part.skipped.is_none() && host.ready != Some(*id)
        };
        if step.at_unix_ns.is_some() || step.parts.iter().any(is_missing) {
            return None;
        }
        let ready = step.parts.iter().filter(|(host, _)| self.hosts[**host].ready == Some(*id));
        let ready: Vec<_> = ready.map(|(host, part)| (self.hosts[*host].name.clone(), part.local)).collect();
        (!ready.is_empty()).then_some((*id, ready))
    }

    /// Returns the hosts that have been asked to begin a step and have not yet, with their own number of it and when it
    /// was to begin by their own clock, ns since 1970.
    pub(crate) fn not_begun(&self) -> Vec<(String, StepId, i64)> {
        let mut waiting = Vec::new();
        for (id, step) in &self.steps {
            let Some(at_unix_ns) = step.at_unix_ns else { continue };
            for (host, part) in &step.parts {
                let state = &self.hosts[*host];
                if state.ready == Some(*id) && !part.has_begun && !state.standing.is_final() {
                    let at = at_unix_ns.saturating_add(part.clock.ahead_ns);
                    waiting.push((state.name.clone(), part.local, at));
                }
            }
        }
        waiting
    }

    /// Returns the hosts that run a step, with their own number of it.
    pub(crate) fn parts_of(&self, step: StepId) -> Vec<(String, StepId)> {
        let parts = self.steps.get(&step).into_iter().flat_map(|step| &step.parts);
        parts.map(|(host, part)| (self.hosts[*host].name.clone(), part.local)).collect()
    }

    /// Takes a message of a host, and returns the events that follow from it.
    pub(crate) fn take(&mut self, host: &str, said: Said) -> Vec<Event> {
        let Some(index) = self.by_name.get(host).copied() else { return Vec::new() };
        let state = &mut self.hosts[index];
        // Sent twice, or by a host that was given up.
        if said.number < state.next || state.standing.is_final() {
            return Vec::new();
        }
        if said.number > state.next {
            let missing = said.number - state.next;
            self.failures.push(format!(
                "host {host}: {missing} of its messages are missing, so its counts are too low"
            ));
        }
        state.next = said.number + 1;
        // At a gate a host states its epoch anew, and its clock is measured anew only when the step begins: until then
        // the epoch of before holds, as the clock may have drifted.
        let is_at_gate =
            state.ready.and_then(|id| self.steps.get(&id)).is_some_and(|of| of.at_unix_ns.is_none());
        if !is_at_gate && !said.what.iter().any(|what| matches!(what, What::Ready(_))) {
            state.epoch_ns = said.epoch_unix_ns.saturating_sub(state.clock.ahead_ns);
        }
        said.what.into_iter().flat_map(|what| self.say(index, what)).collect()
    }

    fn say(&mut self, index: usize, what: What) -> Vec<Event> {
        let state = &mut self.hosts[index];
        match what {
            What::Inspected => {
                state.standing = Standing::Inspected;
                Vec::new()
            }
            What::Refused { why, has_begun } => {
                let warning = absent(&state.name, &why);
                state.standing = Standing::Refused { why, has_begun };
                let mut events = self.held_until_begun(self.last_ns, RunEvent::Warning(warning));
                events.extend(self.settled());
                events
            }
            // That it was said is all that there is to it.
            What::Filling => Vec::new(),
            What::Ready(local) => {
                self.hosts[index].ready = self.global(index, local);
                Vec::new()
            }
            What::Event(event) => self.event(index, *event),
            What::Over { failures } => {
                state.standing = Standing::Over;
                let of = |failure| format!("{}: {failure}", state.name);
                self.failures.extend(failures.into_iter().map(of));
                self.settled()
            }
        }
    }

    /// Takes a message of a coordinator.
    pub(crate) fn note(&mut self, noted: Noted) -> Vec<Event> {
        match noted {
            Noted::Placed(_) | Noted::Follows { .. } | Noted::Here => Vec::new(),
            Noted::Begin { step, at_unix_ns, clocks, clocks_unix_ns } => {
                self.begin(step, at_unix_ns, (&clocks, clocks_unix_ns.unwrap_or(at_unix_ns)))
            }
            Noted::Lost { host, why, at_unix_ns } => {
                let at_ns = self.since_start(at_unix_ns);
                let Some(state) = self.hosts.iter_mut().find(|known| known.name == host) else {
                    return Vec::new();
                };
                if state.standing.is_final() {
                    return Vec::new();
                }
                state.standing = Standing::Lost(why.clone());
                let warning = lost(&host, &why, at_ns);
                self.failures.push(warning.says.clone());
                let mut events = self.held_until_begun(at_ns, RunEvent::Warning(warning));
                events.extend(self.settled());
                events
            }
            Noted::Drift(drifts) => {
                self.drifts = drifts;
                Vec::new()
            }
            Noted::Warning(warning) => self.held_until_begun(self.last_ns, RunEvent::Warning(warning)),
        }
    }

    /// Begins a step everywhere, by the clocks as they are now. Of a host whose clock could not be measured the last
    /// offset is taken, and it is known less well than it was then.
    fn begin(
        &mut self,
        id: StepId,
        at_unix_ns: i64,
        (clocks, clocks_unix_ns): (&BTreeMap<String, ClockOffset>, i64),
    ) -> Vec<Event> {
        let known = self.steps.get_mut(&id).filter(|state| state.at_unix_ns.is_none());
        let Some(state) = known else { return Vec::new() };
        (state.at_unix_ns, state.is_started) = (Some(at_unix_ns), true);
        let mut unmeasured = Vec::new();
        for (host, part) in &mut state.parts {
            let of = &mut self.hosts[*host];
            part.clock = match clocks.get(&of.name) {
                Some(clock) => {
                    (of.clock, of.clock_at_ns) = (*clock, clocks_unix_ns);
                    of.clock
                }
                None => {
                    let aged = aged(of.clock, at_unix_ns.saturating_sub(of.clock_at_ns));
                    if !of.standing.is_final() && part.skipped.is_none() {
                        unmeasured.push((of.name.clone(), aged));
                    }
                    aged
                }
            };
        }
        let mut events = self.held_until_begun(self.last_ns, RunEvent::StepStarted(id));
        if let Some(warning) = clock_not_measured(&unmeasured) {
            events.extend(self.held_until_begun(self.last_ns, RunEvent::Warning(warning)));
        }
        events
    }

    /// The place of a host's step in the record.
    fn global(&self, host: usize, local: StepId) -> Option<StepId> {
        self.placed_step(host, local).map(|at| StepId { test: at.test, step: at.step })
    }

    fn placed_step(&self, host: usize, local: StepId) -> Option<&PlacedStep> {
        let steps = self.placement.hosts.get(host)?.steps.get(local.test as usize)?;
        steps.get(local.step as usize)
    }

    fn since_start(&self, unix_ns: i64) -> u64 {
        u64::try_from(unix_ns.saturating_sub(started_ns(&self.placed))).unwrap_or(0)
    }

    fn held_until_begun(&mut self, at_ns: u64, what: RunEvent) -> Vec<Event> {
        self.last_ns = self.last_ns.max(at_ns);
        let event = Event { at_ns, what };
        match self.header {
            Some(_) => vec![event],
            None => {
                self.held.push(event);
                Vec::new()
            }
        }
    }

    fn event(&mut self, index: usize, event: Event) -> Vec<Event> {
        let host = &self.hosts[index];
        let name = host.name.clone();
        let at_unix_ns = host.epoch_ns.saturating_add(i64::try_from(event.at_ns).unwrap_or(i64::MAX));
        let at_ns = self.since_start(at_unix_ns);
        match event.what {
            RunEvent::Started(header) => {
                let state = &mut self.hosts[index];
                (state.header, state.standing) = (Some(*header), Standing::Running);
                self.settled()
            }
            // It begins for all hosts when the coordinator says so.
            RunEvent::StepStarted(_) => Vec::new(),
            RunEvent::StepSkipped { step: local, why } => {
                let Some(id) = self.global(index, local) else { return Vec::new() };
                if let Some(part) = self.part(id, index) {
                    part.skipped = Some(why);
                }
                self.settle(id, at_ns)
            }
            RunEvent::PhaseStarted { step: local, phase } => {
                self.phase(index, local, phase, (at_unix_ns, at_ns))
            }
            RunEvent::Interval(mut interval) => {
                let local = StepId { test: interval.test, step: interval.step };
                let Some(at) = self.placed_step(index, local) else { return Vec::new() };
                let Some(job) = at.jobs.get(interval.job as usize) else { return Vec::new() };
                let id = StepId { test: at.test, step: at.step };
                (interval.test, interval.step, interval.job) = (id.test, id.step, *job);
                let shift_ns = self.part(id, index).map_or(0, |part| part.shift_ns);
                interval.start_ns = interval.start_ns.saturating_add(shift_ns);
                interval.end_ns = interval.end_ns.saturating_add(shift_ns);
                self.held_until_begun(at_ns, RunEvent::Interval(interval))
            }
            RunEvent::Host(mut sample) => {
                (sample.at_ns, sample.host) = (at_ns, Some(name));
                self.held_until_begun(at_ns, RunEvent::Host(sample))
            }
            RunEvent::Warning(warning) => {
                let says = format!("{name}: {}", warning.says);
                self.held_until_begun(at_ns, RunEvent::Warning(Warning { says, ..warning }))
            }
            RunEvent::StepEnded(end) => {
                let Some(id) = self.global(index, end.step) else { return Vec::new() };
                if let Some(part) = self.part(id, index) {
                    part.end = Some(*end);
                }
                self.settle(id, at_ns)
            }
            RunEvent::Ended(outcome) => {
                self.hosts[index].outcome = Some(outcome);
                self.last_ns = self.last_ns.max(at_ns);
                Vec::new()
            }
        }
    }

    fn part(&mut self, step: StepId, host: usize) -> Option<&mut Part> {
        self.steps.get_mut(&step)?.parts.get_mut(&host)
    }

    fn phase(
        &mut self,
        host: usize,
        local: StepId,
        phase: Phase,
        (unix_ns, at_ns): (i64, u64),
    ) -> Vec<Event> {
        let Some(id) = self.global(host, local) else { return Vec::new() };
        let plan = &self.placement.plan;
        let planned = plan.tests.get(id.test as usize).and_then(|test| test.steps.get(id.step as usize));
        let warmup_ns = planned.map_or(0, |step| step.warmup.0);
        let Some(step) = self.steps.get_mut(&id) else { return Vec::new() };
        let stated = step.at_unix_ns.map(|at| at.saturating_add(i64::try_from(warmup_ns).unwrap_or(0)));
        if let Some(part) = step.parts.get_mut(&host) {
            part.has_begun |= phase != Phase::Prepare;
            if phase == Phase::Measure {
                let late_ns = stated.map_or(0, |stated| unix_ns.saturating_sub(stated));
                part.shift_ns = u64::try_from(late_ns).unwrap_or(0);
            }
        }
        if phase == Phase::Prepare || step.phases.contains(&phase) {
            return Vec::new();
        }
        step.phases.push(phase);
        // Every interval counts from the stated moment, whichever host was first.
        let at_ns = match stated.filter(|_| phase == Phase::Measure) {
            Some(stated) => self.since_start(stated),
            None => at_ns,
        };
        self.held_until_begun(at_ns, RunEvent::PhaseStarted { step: id, phase })
    }

    /// Ends a step that every host has ended, or will not end.
    fn settle(&mut self, id: StepId, at_ns: u64) -> Vec<Event> {
        let Some(step) = self.steps.get(&id) else { return Vec::new() };
        let is_done = |(host, part): (&usize, &Part)| {
            part.end.is_some() || part.skipped.is_some() || self.hosts[*host].standing.is_final()
        };
        let has_begun = step.is_started || step.parts.values().any(|part| part.skipped.is_some());
        if step.is_ended || !has_begun || !step.parts.iter().all(is_done) {
            return Vec::new();
        }
        let what = match step.parts.values().any(|part| part.end.is_some()) {
            true => Some(RunEvent::StepEnded(Box::new(self.merged(id, step)))),
            // Where every host was lost in it, it has no end, like the step of a run that was killed.
            false => {
                let why = step.parts.values().find_map(|part| part.skipped.clone());
                why.map(|why| RunEvent::StepSkipped { step: id, why })
            }
        };
        if let Some(step) = self.steps.get_mut(&id) {
            step.is_ended = true;
        }
        what.map(|what| self.held_until_begun(at_ns, what)).unwrap_or_default()
    }

    fn merged(&self, id: StepId, step: &StepState) -> StepEnd {
        let parts = step.parts.iter().map(|(host, part)| {
            let host = &self.hosts[*host];
            HostStep {
                name: &host.name,
                cpus: host.header.as_ref().map_or(1, |header| header.host.cpus_online),
                epoch_ns: host.epoch_ns,
                at_unix_ns: step.at_unix_ns,
                since_start_ns: self.since_start(host.epoch_ns),
                clock: part.clock,
                drift: self.drifts.get(&host.name).copied(),
                shift_ns: part.shift_ns,
                jobs: &part.jobs,
                end: part.end.as_ref(),
                missing: part.skipped.clone().or_else(|| self.missing(host)),
            }
        });
        merged_end(id, &parts.collect::<Vec<_>>())
    }

    /// Why a host has not ended a step that it runs.
    fn missing(&self, host: &HostState) -> Option<String> {
        match &host.standing {
            Standing::Lost(why) | Standing::Refused { why, .. } => Some(why.clone()),
            Standing::Over => Some("its run ended before".to_owned()),
            _ => None,
        }
    }

    /// Returns what follows from a host that has begun, or from which nothing more comes.
    fn settled(&mut self) -> Vec<Event> {
        let mut events = Vec::new();
        if self.header.is_none()
            && self.hosts.iter().all(|host| host.header.is_some() || host.standing.is_final())
            && self.hosts.iter().any(|host| host.header.is_some())
        {
            let header = self.merged_header();
            events.push(Event { at_ns: 0, what: RunEvent::Started(Box::new(header.clone())) });
            self.header = Some(header);
            events.append(&mut self.held);
        }
        let ids: BTreeSet<StepId> = self.steps.keys().copied().collect();
        for id in ids {
            events.extend(self.settle(id, self.last_ns));
        }
        if !self.is_over && self.hosts.iter().all(|host| host.standing.is_final()) {
            self.is_over = true;
            if self.header.is_some() {
                events.push(Event { at_ns: self.last_ns, what: RunEvent::Ended(self.outcome()) });
            }
        }
        events
    }

    /// The outcome of the whole: the worst of the hosts'.
    fn outcome(&self) -> Outcome {
        let of = |host: &HostState| match host.standing {
            Standing::Over => host.outcome.unwrap_or(Outcome::Failed),
            _ => Outcome::Failed,
        };
        let all: Vec<Outcome> = self.hosts.iter().map(of).collect();
        let worst = [Outcome::Failed, Outcome::Interrupted].into_iter().find(|worst| all.contains(worst));
        worst.unwrap_or(Outcome::Done)
    }

    fn merged_header(&self) -> RunHeader {
        let Placed { run, started_unix_ms, array, stated, setting, .. } = &self.placed;
        let headers = || self.hosts.iter().filter_map(|host| Some((host, host.header.as_ref()?)));
        let targets_each = headers().map(|(_, header)| header.targets.len()).max().unwrap_or(0);
        let targets = self.hosts.iter().flat_map(|host| targets_of(host, targets_each));
        let hosts =
            headers().map(|(host, header)| FleetHost { name: host.name.clone(), facts: header.host.clone() });
        let hosts: Vec<FleetHost> = hosts.collect();
        RunHeader {
            run: run.clone(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            started_unix_ms: *started_unix_ms,
            plan: self.placement.plan.clone(),
            targets: targets.collect(),
            host: together(&hosts),
            array: array.clone(),
            stated: *stated,
            imported: None,
            diagnosis: None,
            setting: RunSetting { hosts, ..setting.clone() },
        }
    }
}

/// When a run began, by the coordinator's clock, ns since 1970.
fn started_ns(placed: &Placed) -> i64 {
    i64::try_from(placed.started_unix_ms).unwrap_or(0).saturating_mul(1_000_000)
}

/// An offset so much later, as well as it is still known.
fn aged(clock: ClockOffset, age_ns: i64) -> ClockOffset {
    let moved_ns = age_ns.unsigned_abs() / 1_000_000 * MOVES_PPM_MAX;
    ClockOffset { error_ns: clock.error_ns.saturating_add(moved_ns), ..clock }
}

/// What is kept of hosts that begin a step by an old offset.
fn clock_not_measured(hosts: &[(String, ClockOffset)]) -> Option<Warning> {
    let names: Vec<&str> = hosts.iter().map(|(name, _)| name.as_str()).collect();
    let error_ns = hosts.iter().map(|(_, clock)| clock.error_ns).max()?;
    Some(Warning {
        rule: "clock-not-measured".to_owned(),
        says: format!(
            "The {} of {} {} not measured before a step: the last offset counts, within {:.1} ms if only the kernel \
             has steered the clocks since.",
            if names.len() == 1 { "clock" } else { "clocks" },
            named(&names),
            if names.len() == 1 { "was" } else { "were" },
            error_ns as f64 / 1e6
        ),
        next: if names.len() == 1 {
            "Look at the way from that host to the NATS server. Its rates stand; when its I/Os happened beside those \
             of the others is known to that only."
        } else {
            "Look at the way from those hosts to the NATS server, which may also have been too busy for all of them. \
             Their rates stand; when their I/Os happened beside those of the others is known to that only."
        }
        .to_owned(),
    })
}

/// The targets of a host, under names that tell hosts apart. Jobs count targets over all hosts, so one that never began
/// has places too, of which nothing is known.
fn targets_of(host: &HostState, count: usize) -> Vec<TargetFacts> {
    let named = |target: &TargetFacts| TargetFacts {
        address: format!("{}:{}", host.name, target.address),
        member: target.member.clone(),
    };
    let known = host.header.iter().flat_map(|header| &header.targets).map(named);
    let absent = || TargetFacts { address: format!("{}:", host.name), member: Default::default() };
    known.chain(std::iter::repeat_with(absent)).take(count).collect()
}

/// A few names, and how many more there are.
fn named(names: &[&str]) -> String {
    match names {
        [a, b, c, rest @ ..] if !rest.is_empty() => format!("{a}, {b}, {c} and {} more", rest.len()),
        few => few.join(", "),
    }
}

/// The hosts as one machine: what can be added is added, and what differs is of the first.
fn together(hosts: &[FleetHost]) -> HostFacts {
    let first = hosts.first().map(|host| host.facts.clone()).unwrap_or_default();
    let names: Vec<&str> = hosts.iter().map(|host| host.name.as_str()).collect();
    let name = named(&names);
    let sum = |of: fn(&HostFacts) -> u64| hosts.iter().map(|host| of(&host.facts)).sum::<u64>();
    HostFacts {
        name,
        cpus: u32::try_from(sum(|facts| facts.cpus.into())).unwrap_or(u32::MAX),
        cpus_online: u32::try_from(sum(|facts| facts.cpus_online.into())).unwrap_or(u32::MAX),
        memory_bytes: sum(|facts| facts.memory_bytes),
        cgroup_cpus: None,
        cgroup_memory_bytes: None,
        notes: Vec::new(),
        ..first
    }
}

/// What is kept of a host that refused after others had begun; where none has, there is no run to keep it with.
fn absent(host: &str, why: &str) -> Warning {
    Warning {
        rule: "host-lost".to_owned(),
        says: format!("Host {host} did not begin: {why}."),
        next: "The figures are those of the other hosts alone. Mend it, then run again.".to_owned(),
    }
}

fn lost(host: &str, why: &str, at_ns: u64) -> Warning {
    Warning {
        rule: "host-lost".to_owned(),
        says: format!("Host {host} was lost {:.1} s after the run began: {why}.", at_ns as f64 / 1e9),
        next: "The I/Os that it reported until then count, and its rate is their mean over the whole window. Repeat \
               the run before you compare it."
            .to_owned(),
    }
}
