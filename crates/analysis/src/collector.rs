//! Goes through a run's events and keeps what a summary needs. Memory: two distributions per job and step
//! (72 KiB), and the last seconds of the running step.

use std::collections::BTreeMap;

use assay_record::{
    AccessStats, Event, HostSample, Interval, LinkSample, OpStats, Outcome, Phase, RunEvent, RunHeader,
    StepCpu, StepEnd, StepId, StepReason, TurnStats, Warning,
};
use assay_spec::{Goal, Job, Semantics, Step};
use serde::{Deserialize, Serialize};

use crate::goal::{Round, SteadyState, Tracks};
use crate::series::Series;
use crate::stop;
use crate::summary::{
    Cpu, DiskUse, HostView, JobSummary, Load, OpSummary, RunStatus, RunSummary, StepSummary, TcpSummary,
    WINDOW_MIN_S,
};
use crate::timeline::{HeatMap, Timeline, TimelineSample};

mod common;
mod extract;
mod span;

use common::Slice;
pub use extract::RunExtract;
use span::Span;

/// Samples that leave out more than this share of the time between the first and the last have gaps.
const GAP_SHARE: f64 = 0.05;

/// An interval may end so much before the second that it is of.
const GRACE_NS: u64 = 100_000_000;

/// Below this nothing was measured: a stop during warm-up opens the window only to close it. In s.
const WINDOW_NONE_S: f64 = 0.02;

/// Goes through the events of a run; gives a summary at any time.
#[derive(Debug, Clone)]
pub struct Collector {
    header: RunHeader,

    steps: BTreeMap<StepId, StepState>,
    /// Steps in the order in which they began.
    order: Vec<StepId>,
    /// The step whose measured window began last.
    current: Option<StepId>,
    /// The step that began last.
    latest: Option<StepId>,
    warnings: Vec<Warning>,
    outcome: Option<Outcome>,
    /// Time of the last event, ns since the run began.
    last_ns: u64,
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct StepState {
    /// Start and end of the measured window, ns since the run began.
    measure_ns: Option<u64>,
    drain_ns: Option<u64>,
    warmup_ns: Option<u64>,
    end_ns: Option<u64>,
    /// Host samples from its start to its end, with times since the run began.
    samples: Vec<TimelineSample>,
    jobs: BTreeMap<usize, JobState>,
    /// The jobs by round, where the step is measured until it is steady.
    rounds: BTreeMap<u64, BTreeMap<usize, JobState>>,
    series: Series,
    /// The intervals of each job in short, where several hosts ran them: their rates are over the window of all.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    slices: BTreeMap<usize, Vec<Slice>>,
    host: HostState,
    end: Option<StepEnd>,
    skipped: Option<String>,
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct JobState {
    stats: AccessStats,
    /// Where its first interval begins and its last one ends, ns since the window began.
    start_ns: Option<u64>,
    end_ns: u64,
    reconnects: u64,
    turns: TurnStats,
}

/// Sums over the host samples that lie wholly in the measured window.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct HostState {
    /// From the first sample's start to the last one's end, ns since the run began.
    range_ns: Option<(u64, u64)>,
    length_ns: u64,
    busy_ns: f64,
    steal_ns: f64,
    busy_max: f64,
    tester_ns: u64,
    late_ns: f64,
    late_max_ns: u64,
    #[serde(default)]
    swap_bytes: u64,
    disks: BTreeMap<String, DiskState>,
    /// Bytes of each interface in both directions, of the samples that lie wholly in the measured window.
    link_bytes: BTreeMap<String, u64>,
    tcp: Vec<TcpSummary>,
    /// Of the samples that touch the measured window: an error in its first or last second must not be lost.
    links: Vec<LinkSample>,
}

/// Sums over the samples of a block device.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct DiskState {
    bytes: u64,
    /// Of all requests added up, ms; `None` as soon as a sample does not say.
    queued_ms: Option<u64>,
    samples: u64,
}

impl Collector {
    /// Nothing seen yet of the run that `header` begins.
    pub fn new(header: &RunHeader) -> Self {
        Self {
            header: header.clone(),
            steps: BTreeMap::new(),
            order: Vec::new(),
            current: None,
            latest: None,
            warnings: Vec::new(),
            outcome: None,
            last_ns: 0,
        }
    }

    /// Takes in the next event.
    pub fn add(&mut self, event: &Event) {
        self.last_ns = self.last_ns.max(event.at_ns);
        match &event.what {
            RunEvent::Started(_) => {}
            RunEvent::StepStarted(step) => {
                self.step(*step);
                self.order.push(*step);
                self.latest = Some(*step);
            }
            RunEvent::StepSkipped { step, why } => self.step(*step).skipped = Some(why.clone()),
            RunEvent::PhaseStarted { step, phase } => self.phase(*step, *phase, event.at_ns),
            RunEvent::Interval(interval) => self.interval(interval),
            RunEvent::Host(sample) => self.sample(sample),
            RunEvent::Warning(warning) => self.warnings.push(warning.clone()),
            RunEvent::StepEnded(end) => {
                let state = self.step(end.step);
                state.drain_ns.get_or_insert(event.at_ns);
                state.end_ns = Some(event.at_ns);
                state.end = Some((**end).clone());
            }
            RunEvent::Ended(outcome) => self.outcome = Some(*outcome),
        }
    }

    /// Everything so far.
    pub fn summary(&self) -> RunSummary {
        let mut steps: Vec<StepSummary> =
            self.steps.iter().filter_map(|(id, state)| self.step_summary(*id, state)).collect();
        let mut left_out = 0;
        for test in 0..u32::try_from(self.header.plan.tests.len()).unwrap_or(0) {
            let Some((last, steady)) = self.steady_sweep(test) else { continue };
            if steady.is_reached {
                let planned = self.header.plan.tests[test as usize].steps.len();
                left_out += planned - steps.iter().filter(|step| step.id.test == test).count().min(planned);
            }
            if let Some(step) = steps.iter_mut().find(|step| step.id == last) {
                step.steady = Some(steady);
            }
        }
        RunSummary {
            run: self.header.run.clone(),
            status: RunStatus::from(self.outcome),
            steps,
            order: self.order.clone(),
            steps_planned: self.header.plan.step_count() - left_out,
            warnings: self.warnings.clone(),
            length_s: self.last_ns as f64 / 1e9,
        }
    }

    /// Returns the rounds of a test that repeats its sweep until one load point is steady, with the last step of that
    /// load point; `None` for other tests, and before five rounds.
    pub fn steady_sweep(&self, test: u32) -> Option<(StepId, SteadyState)> {
        let plan = self.header.plan.tests.get(test as usize)?;
        let tracked = (0..).zip(&plan.steps).filter(|(_, step)| step.stop.goal == Some(Goal::SteadySweep));
        let summaries: Vec<StepSummary> = tracked
            .filter_map(|(step, _)| self.step_so_far(StepId { test, step }))
            .filter(|step| step.complete && step.unmeasured.is_none())
            .collect();
        let last = summaries.last()?;
        let of = |step: &StepSummary| Round {
            iops: step.total.iops,
            mean_us: step.total.waited().mean_ns().unwrap_or(0.0) / 1e3,
        };
        let tracks = if last.load == Load::Closed { Tracks::Iops } else { Tracks::Latency };
        let stop = &plan.steps.get(last.id.step as usize)?.stop;
        // A load point that so many bytes or I/Os end takes the time that it takes.
        let is_timed = stop.bytes.is_none() && stop.ops.is_none();
        let round_s =
            if is_timed { stop.time.0 as f64 / 1e9 } else { (last.seconds * 10.0).round().max(1.0) / 10.0 };
        let state = SteadyState::of(summaries.iter().map(of).collect(), round_s, tracks)?;
        Some((last.id, state))
    }

    /// One step so far; `None` before it began.
    pub fn step_so_far(&self, id: StepId) -> Option<StepSummary> {
        self.step_summary(id, self.steps.get(&id)?)
    }

    fn step(&mut self, id: StepId) -> &mut StepState {
        self.steps.entry(id).or_default()
    }

    fn phase(&mut self, step: StepId, phase: Phase, at_ns: u64) {
        let state = self.step(step);
        match phase {
            Phase::Prepare => {}
            Phase::Warmup => state.warmup_ns = Some(at_ns),
            Phase::Measure => {
                state.measure_ns = Some(at_ns);
                self.current = Some(step);
            }
            Phase::Drain => state.drain_ns = Some(at_ns),
        }
    }

    fn interval(&mut self, interval: &Interval) {
        let is_one_sum = self.header.imported.as_ref().is_some_and(|imported| !imported.has_series);
        let is_fleet = !self.header.setting.hosts.is_empty();
        let id = StepId { test: interval.test, step: interval.step };
        let round = self.plan(id).and_then(|step| round_ns(step.stop.goal));
        let state = self.step(id);
        let sum = interval.sum();
        // Another tool's sum over a window says nothing of its seconds.
        if !is_one_sum {
            state.series.add(interval, &sum.total());
        }
        state.jobs.entry(interval.job as usize).or_default().add(interval, &sum);
        if is_fleet {
            state.slices.entry(interval.job as usize).or_default().push(Slice::of(interval, &sum));
        }
        if let Some(round_ns) = round {
            let middle_ns = interval.start_ns.midpoint(interval.end_ns);
            let jobs = state.rounds.entry(middle_ns / round_ns).or_default();
            jobs.entry(interval.job as usize).or_default().add(interval, &sum);
        }
    }

    /// Whether the measured window of a step may end: what its plan wants to know is known.
    pub fn is_enough(&self, id: StepId) -> bool {
        let Some((plan, state)) = self.plan(id).zip(self.steps.get(&id)) else { return false };
        match plan.stop.goal {
            None | Some(Goal::SteadySweep) => false,
            Some(Goal::Steady { .. }) => steady(plan, state).is_some_and(|steady| steady.is_reached),
            Some(Goal::Within(tolerance)) => {
                let points = state.series.points();
                let complete = points.iter().take_while(|p| p.t_s <= complete_s(plan, state)).count();
                self.step_so_far(id)
                    .is_some_and(|step| stop::is_within(tolerance, &points[..complete], &step.total))
            }
        }
    }

    fn plan(&self, id: StepId) -> Option<&Step> {
        self.header.plan.tests.get(id.test as usize)?.steps.get(id.step as usize)
    }

    /// A sample counts for the step in whose measured window all of it lies; the others are of no step.
    fn sample(&mut self, sample: &HostSample) {
        // Of one of several hosts: their disks and links have the same names, and are not one another.
        if sample.host.is_some() {
            return;
        }
        if let Some(latest) = self.latest.and_then(|id| self.steps.get_mut(&id)) {
            let before = latest.samples.last();
            latest.samples.extend(TimelineSample::of(sample, before));
        }
        let Some(state) = self.current.and_then(|id| self.steps.get_mut(&id)) else { return };
        let Some(measure_ns) = state.measure_ns else { return };
        let start_ns = sample.at_ns.saturating_sub(sample.length_ns);
        if sample.at_ns > measure_ns && state.drain_ns.is_none_or(|drain| start_ns < drain) {
            state.host.add_links(sample);
        }
        if start_ns >= measure_ns && state.drain_ns.is_none_or(|drain| sample.at_ns <= drain) {
            state.host.add(sample, start_ns);
            state.host.add_tcp(sample, measure_ns);
        }
    }

    fn step_summary(&self, id: StepId, state: &StepState) -> Option<StepSummary> {
        let test = self.header.plan.tests.get(id.test as usize)?;
        let step = test.steps.get(id.step as usize)?;
        let steady = steady(step, state);
        let window = steady.as_ref().map(|steady| last_rounds(state, steady));
        let mut jobs: Vec<JobSummary> = (step.jobs.iter().enumerate())
            .map(|(index, job)| self.job_summary(index, job, state, window.as_ref()))
            .collect();
        let has_common = window.is_none() && common::window(state.end.as_ref(), &state.slices, &mut jobs);
        let span = if has_common { Span::in_common(&jobs) } else { span(state, window.as_ref(), &jobs) };
        let unmeasured = unmeasured(state, span.seconds);
        if unmeasured.is_some() {
            jobs.iter_mut().for_each(|job| forget_rates(job, state));
        }
        let total = span.sum(jobs.iter().map(|j| &j.total));
        let mut turns = TurnStats::default();
        state.jobs.values().for_each(|j| turns.merge(j.turns));
        let end = state.end.as_ref();
        Some(StepSummary {
            id,
            test: test.name.clone(),
            step: step.label(),
            load: common_load(&jobs),
            seconds: span.seconds,
            whole_seconds: whole_seconds(state),
            read: span.sum(jobs.iter().map(|j| &j.read)),
            write: span.sum(jobs.iter().map(|j| &j.write)),
            outstanding_effective: span.mean(jobs.iter().map(|j| j.outstanding_effective)),
            outstanding_asked: asked(&span, &jobs),
            cpu: cpu(state),
            errors: errors(&total, &jobs, end),
            outside_errors: end.map_or(0, |e| e.outside_errors),
            total,
            jobs,
            failures: end.map(|e| e.failures.clone()).unwrap_or_default(),
            mismatches: end.map(|e| e.mismatches.clone()).unwrap_or_default(),
            mismatch_count: end.map_or(0, |e| e.mismatch_count),
            moved_writes: end.map_or(0, |e| e.moved_writes),
            late_blocks: end.map_or(0, |e| e.late_blocks),
            members: end.map(|e| e.members.clone()).unwrap_or_default(),
            paths: end.map(|e| e.paths.clone()).unwrap_or_default(),
            path_moments: end.map(|e| e.path_moments.clone()).unwrap_or_default(),
            tcp: state.host.settled_tcp(),
            links: state.host.links.clone(),
            writes: end.map(|e| e.writes.clone()).unwrap_or_default(),
            workers: end.map(|e| e.workers.clone()).unwrap_or_default(),
            gaps: end.map(|e| e.gaps.clone()).unwrap_or_default(),
            places: end.map(|e| e.places.clone()).unwrap_or_default(),
            hosts: end.map(|e| e.hosts.clone()).unwrap_or_default(),
            series: if unmeasured.is_none() { points(state, steady.as_ref()) } else { Vec::new() },
            steady,
            heat: if unmeasured.is_none() { state.series.heat() } else { HeatMap::default() },
            timeline: timeline(state),
            host: host_view(state),
            turns,
            skipped: state.skipped.clone(),
            unmeasured,
            reason: end.map(|e| e.reason.clone()),
            complete: end.is_some_and(|e| e.reason == StepReason::Done),
        })
    }

    fn job_summary(
        &self,
        index: usize,
        job: &Job,
        state: &StepState,
        window: Option<&BTreeMap<usize, JobState>>,
    ) -> JobSummary {
        let none = JobState::default();
        let counted = window.unwrap_or(&state.jobs).get(&index).unwrap_or(&none);
        let end = state.end.as_ref().and_then(|e| e.jobs.get(index));
        // A killed step has no end: its window is as long as what is there of it.
        let whole_ns = state.jobs.values().map(|j| j.end_ns).max().unwrap_or(0);
        let measured_ns = match window {
            Some(_) => counted.end_ns - counted.start_ns.unwrap_or(0),
            None => end.map_or(whole_ns, |e| e.measured_ns),
        };
        let seconds = measured_ns as f64 / 1e9;
        let total = OpSummary::over(&counted.stats.total(), seconds);
        let in_flight_s = total.service.sum_ns() as f64 / 1e9;
        let flushes = state.end.as_ref().and_then(|e| e.flushes.iter().find(|f| f.job as usize == index));
        JobSummary {
            name: job.name.clone(),
            load: Load::from(job.pacing),
            seconds,
            read: OpSummary::over(&counted.stats.read, seconds),
            write: OpSummary::over(&counted.stats.write, seconds),
            outstanding_effective: if seconds > 0.0 { in_flight_s / seconds } else { 0.0 },
            outstanding_asked: self.outstanding_asked(job),
            // What was due in a part of the window is not counted.
            due: end.and_then(|e| e.due).filter(|_| window.is_none()),
            full: end.and_then(|e| Some(e.full_ns? as f64 / e.measured_ns.max(1) as f64)),
            reconnects: counted.reconnects,
            flush: flushes.map(|flushes| OpSummary::over(&flushes.stats, seconds)),
            rates: state.slices.get(&index).map(|of| common::rates(of)).unwrap_or_default(),
            total,
        }
    }

    /// Assay keeps `outstanding` per worker; Iometer keeps it per worker and target.
    fn outstanding_asked(&self, job: &Job) -> u64 {
        let members = match self.header.plan.semantics {
            Semantics::Assay | Semantics::Fio => 1,
            Semantics::Iometer if job.targets.is_empty() => self.header.targets.len().max(1) as u64,
            Semantics::Iometer => job.targets.len() as u64,
        };
        u64::from(job.workers) * u64::from(job.outstanding) * members
    }
}

impl HostState {
    fn add(&mut self, sample: &HostSample, start_ns: u64) {
        let length = sample.length_ns as f64;
        let (first, last) = self.range_ns.unwrap_or((start_ns, sample.at_ns));
        self.range_ns = Some((first.min(start_ns), last.max(sample.at_ns)));
        self.length_ns += sample.length_ns;
        self.busy_ns += sample.cpu_busy * length;
        self.steal_ns += sample.cpu_steal * length;
        self.busy_max = self.busy_max.max(sample.cpu_busy_max);
        self.tester_ns += sample.tester_cpu_ns;
        self.late_ns += sample.timer_late_mean_ns as f64 * length;
        self.late_max_ns = self.late_max_ns.max(sample.timer_late_max_ns);
        self.swap_bytes += sample.swap_bytes.unwrap_or(0);
        for disk in &sample.disks {
            let sum = self.disks.entry(disk.device.clone()).or_default();
            sum.bytes += disk.read_bytes + disk.write_bytes;
            let before = if sum.samples == 0 { Some(0) } else { sum.queued_ms };
            sum.queued_ms = before.zip(disk.queued_ms).map(|(before, now)| before + now);
            sum.samples += 1;
        }
        for link in &sample.links {
            let bytes = link.counters.rx_bytes + link.counters.tx_bytes;
            *self.link_bytes.entry(link.interface.clone()).or_default() += bytes;
        }
    }

    fn add_links(&mut self, sample: &HostSample) {
        for one in &sample.links {
            match self.links.iter_mut().find(|link| link.interface == one.interface) {
                Some(sum) => sum.counters = sum.counters.plus(&one.counters),
                None => self.links.push(one.clone()),
            }
        }
    }

    fn settled_tcp(&self) -> Vec<TcpSummary> {
        let mut tcp = self.tcp.clone();
        tcp.iter_mut().for_each(TcpSummary::settle);
        tcp
    }

    fn add_tcp(&mut self, sample: &HostSample, measure_ns: u64) {
        let t_s = sample.at_ns.saturating_sub(measure_ns) as f64 / 1e9;
        for one in &sample.tcp {
            let known = self.tcp.iter().position(|tcp| tcp.remote == one.remote);
            let index = known.unwrap_or_else(|| {
                self.tcp.push(TcpSummary { remote: one.remote.clone(), ..TcpSummary::default() });
                self.tcp.len() - 1
            });
            self.tcp[index].add(t_s, one);
        }
    }
}

impl JobState {
    fn add(&mut self, interval: &Interval, sum: &AccessStats) {
        self.stats.merge(sum);
        self.start_ns = Some(self.start_ns.map_or(interval.start_ns, |start| start.min(interval.start_ns)));
        self.end_ns = self.end_ns.max(interval.end_ns);
        self.reconnects += interval.reconnects;
        self.turns.merge(interval.turns);
    }

    fn merge(&mut self, other: &Self) {
        self.stats.merge(&other.stats);
        self.start_ns = [self.start_ns, other.start_ns].into_iter().flatten().min();
        self.end_ns = self.end_ns.max(other.end_ns);
        self.reconnects += other.reconnects;
        self.turns.merge(other.turns);
    }
}

fn round_ns(goal: Option<Goal>) -> Option<u64> {
    match goal {
        Some(Goal::Steady { round }) => Some(round.0.max(1)),
        Some(Goal::Within(_) | Goal::SteadySweep) | None => None,
    }
}

/// How far all jobs have reported, s since the window began; a second that ends a moment late counts.
fn complete_s(plan: &Step, state: &StepState) -> f64 {
    let reported = |index: usize| state.jobs.get(&index).map_or(0, |job| job.end_ns);
    let least = (0..plan.jobs.len()).map(reported).min().unwrap_or(0);
    (least + GRACE_NS) as f64 / 1e9
}

/// The complete rounds of a step, judged; `None` unless it is measured until it is steady, and before five rounds.
fn steady(plan: &Step, state: &StepState) -> Option<SteadyState> {
    let round_s = round_ns(plan.stop.goal)? as f64 / 1e9;
    let complete = complete_s(plan, state);
    let is_complete = |index: u64| (index + 1) as f64 * round_s <= complete;
    let rounds = state.rounds.iter().filter(|(index, _)| is_complete(**index)).map(|(_, jobs)| {
        let mut sum = OpStats::default();
        jobs.values().for_each(|job| sum.merge(&job.stats.total()));
        Round { iops: sum.ops() as f64 / round_s, mean_us: sum.waited().mean_ns().unwrap_or(0.0) / 1e3 }
    });
    let is_paced = plan.jobs.iter().all(|job| job.pacing.rate().is_some());
    SteadyState::of(rounds.collect(), round_s, if is_paced { Tracks::Latency } else { Tracks::Iops })
}

/// The jobs over the rounds that are the result.
fn last_rounds(state: &StepState, steady: &SteadyState) -> BTreeMap<usize, JobState> {
    let mut window: BTreeMap<usize, JobState> = BTreeMap::new();
    for jobs in state.rounds.values().take(steady.rounds.len()).skip(steady.first) {
        jobs.iter().for_each(|(index, job)| window.entry(*index).or_default().merge(job));
    }
    window
}

/// The time of all jobs. Of a step that was killed no end is known, so all ran until the last interval.
fn span(state: &StepState, window: Option<&BTreeMap<usize, JobState>>, jobs: &[JobSummary]) -> Span {
    if state.end.is_none() {
        return Span::in_common(jobs);
    }
    let of = window.unwrap_or(&state.jobs);
    let start_s = |index| of.get(&index).and_then(|job| job.start_ns).unwrap_or(0) as f64 / 1e9;
    Span::of(jobs, &(0..jobs.len()).map(start_s).collect::<Vec<_>>())
}

/// I/Os in flight that the plan asks for, in the mean over the time of all jobs.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a mean of counts")]
fn asked(span: &Span, jobs: &[JobSummary]) -> u64 {
    span.mean(jobs.iter().map(|job| job.outstanding_asked as f64)).round() as u64
}

/// The measured window of all rounds, s.
fn whole_seconds(state: &StepState) -> f64 {
    let ended = state.end.iter().flat_map(|end| &end.jobs).map(|job| job.measured_ns).max();
    let reported = state.jobs.values().map(|job| job.end_ns).max();
    ended.or(reported).unwrap_or(0) as f64 / 1e9
}

/// The seconds of the result.
fn points(state: &StepState, steady: Option<&SteadyState>) -> Vec<crate::series::Point> {
    let mut points = state.series.points();
    if let Some(steady) = steady {
        let (from, to) = (steady.first as f64 * steady.round_s, steady.rounds.len() as f64 * steady.round_s);
        points.retain(|point| point.t_s > from + 1e-6 && point.t_s <= to + 1e-6);
    }
    points
}

/// Every I/O and flush of the step that failed, in the measured window or not. Records of earlier versions have the
/// first ones outside the window, and not their number.
fn errors(total: &OpSummary, jobs: &[JobSummary], end: Option<&StepEnd>) -> u64 {
    let flushes: u64 = jobs.iter().filter_map(|job| job.flush.as_ref()).map(|flush| flush.errors).sum();
    let (outside, kept) = end.map_or((0, 0), |end| (end.outside_errors, end.failures.len() as u64));
    (total.errors + flushes + outside).max(kept)
}

/// Why a step that began has no result. What ended by itself, however fast, is one.
fn unmeasured(state: &StepState, seconds: f64) -> Option<String> {
    let reason = state.end.as_ref().map(|end| &end.reason);
    if seconds >= WINDOW_MIN_S || state.skipped.is_some() || reason == Some(&StepReason::Done) {
        return None;
    }
    let how = match reason {
        None => return Some("no second measured yet".to_owned()),
        Some(StepReason::Interrupted) => "interrupted",
        Some(StepReason::ErrorLimit) => "stopped by errors",
        Some(StepReason::TargetLost(_)) if seconds < WINDOW_NONE_S => "ended by an error",
        Some(StepReason::TargetLost(_)) => "target lost",
        Some(StepReason::Done) => return None,
    };
    Some(match seconds {
        none if none < WINDOW_NONE_S => format!("{how} before measuring"),
        short => format!("{how} after {short:.1} s, too short to be a result"),
    })
}

/// Takes away what a window of less than a second would pass off as a result.
fn forget_rates(job: &mut JobSummary, state: &StepState) {
    let is_fault = matches!(
        state.end.as_ref().map(|e| &e.reason),
        Some(StepReason::ErrorLimit | StepReason::TargetLost(_))
    );
    for part in [&mut job.total, &mut job.read, &mut job.write] {
        *part = if is_fault { part.without_rates() } else { part.errors_only() };
    }
    job.outstanding_effective = 0.0;
}

/// Times since the run began as times since the window began.
fn timeline(state: &StepState) -> Timeline {
    let Some(window_ns) = state.measure_ns else { return Timeline::default() };
    let since = |ns: u64| (ns as f64 - window_ns as f64) / 1e9;
    let shifted = |sample: &TimelineSample| TimelineSample {
        t_s: sample.t_s - window_ns as f64 / 1e9,
        ..sample.clone()
    };
    Timeline {
        warmup_s: state.warmup_ns.map(since).filter(|s| *s < 0.0),
        drain_s: state.drain_ns.map(since),
        end_s: state.end_ns.map(since),
        samples: state.samples.iter().map(shifted).collect(),
    }
}

fn common_load(jobs: &[JobSummary]) -> Load {
    let mut loads = jobs.iter().map(|j| j.load);
    let first = loads.next().unwrap_or(Load::Closed);
    if loads.all(|l| l == first) { first } else { Load::Mixed }
}

/// From the step's end where there is one: it covers the window exactly. Else from the samples so far.
fn cpu(state: &StepState) -> Cpu {
    let ops: u64 = state.jobs.values().map(|job| job.stats.total().ops()).sum();
    let host = &state.host;
    let length = host.length_ns as f64;
    let sampled = (host.length_ns > 0).then(|| StepCpu {
        host_busy: host.busy_ns / length,
        host_busy_max: host.busy_max,
        steal: host.steal_ns / length,
        tester_ns: host.tester_ns,
        ..StepCpu::default()
    });
    // Another tool's file that does not say it has all zeros, which no measurement has.
    let ended = state.end.as_ref().map(|e| e.cpu).filter(|cpu| *cpu != StepCpu::default());
    let used = ended.or(sampled);
    // The samples do not cover the whole window, so their CPU time does not belong to all its I/Os.
    let exact = state.end.as_ref().map(|e| e.cpu.tester_ns).filter(|_| ops > 0);
    Cpu { used, tester_us_per_io: exact.map(|ns| ns as f64 / 1e3 / ops as f64) }
}

fn host_view(state: &StepState) -> HostView {
    let host = &state.host;
    let (Some((first, last)), Some(measure)) = (host.range_ns, state.measure_ns) else {
        return HostView::default();
    };
    // Damaged records may have samples of another time.
    let range = last.saturating_sub(first) as f64;
    let has_gaps = (host.length_ns as f64) < range * (1.0 - GAP_SHARE);
    let length_ms = host.length_ns as f64 / 1e6;
    let disks = host.disks.iter().map(|(device, disk)| DiskUse {
        device: device.clone(),
        bytes: disk.bytes,
        queue_mean: disk.queued_ms.filter(|_| length_ms > 0.0).map(|queued| queued as f64 / length_ms),
    });
    HostView {
        seconds: host.length_ns as f64 / 1e9,
        timer_late_mean_ns: host.late_ns / (host.length_ns as f64).max(1.0),
        timer_late_max_ns: host.late_max_ns,
        swap_bytes: host.swap_bytes,
        disks: disks.collect(),
        link_bytes: host.link_bytes.clone(),
        tester_bytes: (!has_gaps)
            .then(|| state.series.bytes_between(first.saturating_sub(measure), last.saturating_sub(measure))),
    }
}
