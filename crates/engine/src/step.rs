//! One step: starts the workers, drives them through the phases together, and collects their counts.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::ScopedJoinHandle;
use std::time::{Duration, Instant};

use assay_host::{CpuSnapshot, cpu_snapshot};
use assay_record::{
    FlushEnd, Interval, JobEnd, PathEnd, Phase, PlacementReason, RunEvent, StepCpu, StepEnd, StepId,
    StepMoments, StepReason, StepTimes, WorkerPlacement, WriteEnd,
};
use assay_spec::{Job, Pacing, Semantics, Step};
use assay_target::remote::PathEvent;
use assay_target::{IoBuf, OpenError, OpenRequest, Target};

use crate::control::{CommonStart, Control, EnoughSignal, Pulse, StopSignal, Ticket};
use crate::events::{Emitter, RunError};
use crate::fill::{Filler, Pool};
use crate::flights::depth;
use crate::flow::{Flow, FlowShare};
use crate::paths;
use crate::placement::{JobWorkers, place};
use crate::planner::{Planner, PlannerSetup, pass_bytes};
use crate::prefilled::{PrefilledBuffers, size_max, spare_buffers};
use crate::rng::derive;
use crate::shares;
use crate::stalls::{self, Stalls};
use crate::tally::{INTERVAL_NS, Tally, TallyDrain, add};
use crate::targets::JobTarget;
use crate::worker::{Worker, WorkerEnd, WorkerSetup};

/// Polling interval of the coordinator, at first and then: short enough for a live display and for steps of
/// milliseconds, too long to affect the load.
const LOOK_EVERY: Duration = Duration::from_millis(20);
const LOOK_LATER_EVERY: Duration = Duration::from_millis(100);
/// A step is looked at that often from then on.
const LATER: Duration = Duration::from_secs(2);
/// Derives the seed of the hot places from that of the plan; they are the same in all its tests.
const HOT_PLACES: u64 = 0x0048_6f74;
/// Time after the end of a second by which its intervals have arrived from all workers, ns.
const INTERVAL_GRACE_NS: u64 = 150_000_000;

/// Context of a step in its run.
pub(crate) struct StepContext<'r> {
    pub(crate) id: StepId,
    pub(crate) step: &'r Step,
    pub(crate) semantics: Semantics,
    pub(crate) seed: u64,
    pub(crate) stop: StopSignal,
    pub(crate) enough: EnoughSignal,
    /// In the order of the step's jobs.
    pub(crate) targets: &'r [JobTarget],
    /// CPUs given by the user for the workers; empty if none.
    pub(crate) cpus: &'r [usize],
    pub(crate) start: &'r CommonStart,
}

/// A worker thread and its output.
struct Running<'scope> {
    job: u32,
    /// Number of the worker in its job, from 0.
    worker: u32,
    thread: ScopedJoinHandle<'scope, ()>,
    /// Its end. Not the result of the thread: the kernel keeps a thread that has ended as long as a disk does not
    /// answer its I/O, and joining would wait for that.
    end: Receiver<(Bound, Option<WorkerEnd>)>,
    drain: TallyDrain,
}

/// Whether a worker is bound to its CPU.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Bound {
    AsPlaced,
    Refused,
}

/// Opens a target for a worker, in the worker's thread.
pub(crate) trait Opener<T>: Fn(&OpenRequest<'_>) -> Result<T, OpenError> + Sync {}
impl<T, F: Fn(&OpenRequest<'_>) -> Result<T, OpenError> + Sync> Opener<T> for F {}

/// Runs a step. An error ends the run without a result for this step.
pub(crate) fn run_step<T: Target>(
    context: &StepContext<'_>,
    opener: &impl Opener<T>,
    emitter: &mut Emitter<'_>,
) -> Result<StepEnd, RunError> {
    let jobs = &context.step.jobs;
    let workers: u32 = jobs.iter().map(|job| job.workers).sum();
    let control = {
        context.enough.clear();
        let signals = (context.stop.clone(), context.enough.clone());
        Control::new(emitter.clock(), signals, jobs, context.step.error_limit)
    };
    let flow = Flow::new(jobs);
    emitter.phase(context.id, Phase::Prepare, emitter.clock().now_ns())?;
    std::thread::scope(|scope| {
        let (ready, readiness) = channel();
        let mut places = places(context);
        let mut running = Vec::new();
        for (job_index, job) in (0..).zip(jobs) {
            let pool = pool_of(context, job_index);
            for worker in 0..job.workers {
                let (tally, drain) = Tally::new(context.id, job_index, job.mix.len(), job.pacing.is_open());
                let cpu = places[running.len()].cpu;
                let (ticket, ready, pool) = (Ticket::new(&control), ready.clone(), pool.clone());
                let (control, flow, pulse) = (&control, &flow, &control.pulses[running.len()]);
                let (ended, end) = channel();
                let refused = ready.clone();
                let thread = std::thread::Builder::new().spawn_scoped(scope, move || {
                    let bound = bind(cpu);
                    let seat = Seat { context, control, flow, pulse, job_index, worker };
                    // The coordinator waits for this message to the end.
                    let _ = ended.send((bound, work(&seat, opener, &pool, tally, ticket, ready)));
                });
                match thread {
                    Ok(thread) => running.push(Running { job: job_index, worker, thread, end, drain }),
                    // Its ticket is gone with it. The coordinator takes this for the answer of a worker.
                    Err(source) => drop(refused.send(Err(OpenError::Thread(source)))),
                }
            }
        }
        drop(ready);
        let opened = all_ready(&readiness, workers);
        match opened {
            Err(_) => control.abort(),
            Ok(()) => {
                let moment = context.start.of(context.id, control.clock.epoch());
                moment.into_iter().for_each(|moment| control.start.not_before(control.clock, moment));
            }
        }
        control.start.arrive(control.clock);
        let (sums, watched) = watch(context, &control, &mut running, emitter);
        let (jobs, mut ends) = collect(context, running, sums, &mut places, emitter)?;
        opened.map_err(|source| RunError::Open { source })?;
        let (writes, flushes) = (writes_of(context, &ends), flushes_of(&ends));
        let members = shares::sum(ends.iter().map(|end| end.shares.as_slice()));
        let (paths, events) = paths_of(context, &mut ends);
        paths::tell(&events, control.clock, emitter)?;
        stalls::tell_abandoned(context.targets, &ends, emitter)?;
        let mut end = step_end(context, &control, jobs, ends, watched?);
        (end.paths, end.writes, end.flushes, end.workers) = (paths, writes, flushes, places);
        end.members = members;
        // Comes last: by now a gap across the end of the window has ended, too.
        let times = times(&control, &end);
        let in_window = |window| paths::moments(&events, control.clock, window);
        end.path_moments = times.window_ns.map(in_window).unwrap_or_default();
        end.gaps = emitter.gaps().into_iter().map(|gap| gap.placed(times)).collect();
        Ok(end)
    })
}

/// Returns the CPU of each worker of the step.
fn places(context: &StepContext<'_>) -> Vec<WorkerPlacement> {
    let jobs: Vec<JobWorkers<'_>> = (context.step.jobs.iter().zip(context.targets))
        .map(|(job, target)| JobWorkers { workers: job.workers, interrupts: &target.interrupts })
        .collect();
    place(&jobs, &assay_host::allowed_cpus(), context.cpus)
}

/// Binds this worker to its CPU. A worker that cannot be bound still measures; the scheduler places it, and the record
/// says so.
fn bind(cpu: Option<u32>) -> Bound {
    match cpu.map(|cpu| assay_host::pin_current_thread(cpu as usize)) {
        Some(Err(_)) => Bound::Refused,
        Some(Ok(())) | None => Bound::AsPlaced,
    }
}

fn all_ready(readiness: &Receiver<Result<(), OpenError>>, workers: u32) -> Result<(), OpenError> {
    // Every answer is awaited: while one worker is still opening its target, no other may start or give up. A worker
    // that panicked never answers; when all others have, the channel is closed.
    let answers: Vec<_> = (0..workers).map(|_| readiness.recv().unwrap_or(Ok(()))).collect();
    answers.into_iter().collect()
}

/// Identifies a worker of a step.
struct Seat<'c> {
    context: &'c StepContext<'c>,
    control: &'c Control,
    flow: &'c Flow,
    pulse: &'c Pulse,
    job_index: u32,
    /// Number of the worker in its job, from 0.
    worker: u32,
}

impl Seat<'_> {
    fn job(&self) -> &Job {
        &self.context.step.jobs[self.job_index as usize]
    }

    fn target(&self) -> &JobTarget {
        &self.context.targets[self.job_index as usize]
    }

    /// Returns which of the job's targets the worker uses.
    fn own_targets(&self) -> std::ops::Range<usize> {
        let (all, each) = (self.target().members.len(), self.job().targets_each as usize);
        if each == 0 || each >= all {
            return 0..all;
        }
        // Where there are fewer targets than workers need, they begin anew.
        let first = self.worker as usize % (all / each) * each;
        first..first + each
    }

    /// Whether no other worker of the job uses its targets.
    fn is_alone(&self) -> bool {
        let (all, each) = (self.target().members.len(), self.job().targets_each as usize);
        self.job().workers == 1 || (each > 0 && self.job().workers as usize <= all / each)
    }

    /// Returns a separate seed for each part of each worker.
    fn seed(&self, part: u64) -> u64 {
        let StepId { test, step } = self.context.id;
        let parts = [test, step, self.job_index, self.worker].map(u64::from);
        derive(self.context.seed, &[parts[0], parts[1], parts[2], parts[3], part])
    }
}

/// Returns the random bytes shared by all workers of a job; none for a job that only reads.
fn pool_of(context: &StepContext<'_>, job_index: u32) -> Pool {
    let StepId { test, step } = context.id;
    let job = &context.step.jobs[job_index as usize];
    let seed = derive(context.seed, &[u64::from(test), u64::from(step), u64::from(job_index)]);
    if job.writes() { Pool::new(job.data, size_max(job) as usize, seed) } else { Pool::default() }
}

/// Runs a worker thread. Only a panic drops `ready` without a message.
fn work<T: Target>(
    seat: &Seat<'_>,
    opener: &impl Opener<T>,
    pool: &Pool,
    tally: Tally,
    ticket: Ticket<'_>,
    ready: Sender<Result<(), OpenError>>,
) -> Option<WorkerEnd> {
    let (job, target) = (seat.job(), seat.target());
    let own = seat.own_targets();
    let depth = depth(seat.context.semantics, job, own.len());
    let (size_max, spare) = (size_max(job), spare_buffers(job, depth));
    let mut buffers: Vec<IoBuf> = IoBuf::many(depth + spare, size_max);
    let request = OpenRequest {
        members: &target.members[own.clone()],
        depth,
        engine: target.engine,
        buffers: &buffers,
    };
    let opened = match opener(&request) {
        Ok(opened) => opened,
        Err(error) => {
            // The coordinator may have given up already, and then ignores this answer.
            let _ = ready.send(Err(error));
            return None;
        }
    };
    let stop = job.stop.unwrap_or(seat.context.step.stop);
    let planner = Planner::new(&PlannerSetup {
        job,
        semantics: seat.context.semantics,
        spans: &target.spans[own],
        block_bytes: target.block_bytes,
        worker: seat.worker,
        workers: job.workers,
        exclusive: !target.stamps.is_empty() && !seat.is_alone(),
        seed: seat.seed(1),
        repeats: stop.bytes.is_some() || stop.spans.is_some(),
        hot_seed: derive(seat.context.seed, &[HOT_PLACES]),
    });
    let filler = Filler::new(job.data, pool, size_max as usize, seat.seed(2));
    let spares = PrefilledBuffers::new(buffers.split_off(depth as usize), write_max(job));
    let worker = Worker::new(worker_setup(seat), opened, planner, filler, buffers, spares, tally);
    let _ = ready.send(Ok(()));
    drop(ready);
    Some(worker.run(ticket))
}

/// Returns the largest write of a job, bytes.
fn write_max(job: &Job) -> usize {
    let writes = job.mix.iter().flat_map(|a| {
        let request = if a.writes_data() { a.size.0 } else { 0 };
        let reply = if a.read > 0.0 { a.reply.0 } else { 0 };
        [request, reply]
    });
    usize::try_from(writes.max().unwrap_or(0)).expect("the plan keeps I/Os below 512 MiB")
}

fn worker_setup<'s>(seat: &'s Seat<'_>) -> WorkerSetup<'s> {
    let (job, target, step) = (seat.job(), seat.target(), seat.context.step);
    let own = seat.own_targets();
    let stop = job.stop.unwrap_or(step.stop);
    let times = stop.spans.map(u64::from);
    let once = || pass_bytes(job, seat.context.semantics, seat.worker, &target.spans[own.clone()]);
    let member_bytes_max: Vec<u64> =
        times.map_or(Vec::new(), |times| once().iter().map(|bytes| bytes.saturating_mul(times)).collect());
    let passes =
        times.map_or(u64::MAX, |_| member_bytes_max.iter().fold(0, |all, bytes| all.saturating_add(*bytes)));
    // Its own end is counted from its own start, which may lie in the warm-up.
    let begins_ns = job.start_delay.0.saturating_sub(step.warmup.0);
    let run_ns = job.stop.map_or(step.stop.time.0, |own| begins_ns.saturating_add(own.time.0));
    WorkerSetup {
        control: seat.control,
        pulse: seat.pulse,
        flow: FlowShare::new(seat.flow, job),
        job,
        job_index: seat.job_index,
        worker: seat.worker,
        semantics: seat.context.semantics,
        warmup_ns: step.warmup.0,
        run_ns,
        ops_max: share(stop.ops, seat.worker, job.workers),
        bytes_max: share(stop.bytes.map(|b| b.0), seat.worker, job.workers).min(passes),
        member_bytes_max,
        pacer_seed: seat.seed(3),
        stamps: target.stamps.get(own.clone()).map(<[_]>::to_vec).unwrap_or_default(),
        verify: step.verify,
        member_names: &target.names[own],
    }
}

/// Returns a worker's share of a limit; the first workers get the remainder.
fn share(limit: Option<u64>, worker: u32, workers: u32) -> u64 {
    let (worker, workers) = (u64::from(worker), u64::from(workers));
    limit.map_or(u64::MAX, |limit| limit / workers + u64::from(worker < limit % workers))
}

/// Follows the workers until all have ended; turns phases, intervals and host samples into events.
fn watch(
    context: &StepContext<'_>,
    control: &Control,
    running: &mut [Running<'_>],
    emitter: &mut Emitter<'_>,
) -> (Sums, Result<StepCpu, RunError>) {
    let mut phases = Phases::new(context);
    let mut stalls = Stalls::new(context.targets);
    let mut sums: Sums = context.step.jobs.iter().map(|_| None).collect();
    let mut result = Ok(());
    let began = Instant::now();
    while !running.iter().all(|r| r.thread.is_finished()) {
        // A thousand hosts of a rehearsal that look 50 times a second keep two CPUs from their first I/Os.
        let is_later = began.elapsed() >= LATER || context.start.is_common();
        std::thread::sleep(if is_later { LOOK_LATER_EVERY } else { LOOK_EVERY });
        for worker in running.iter_mut() {
            worker.drain.drain(&mut sums[worker.job as usize]);
        }
        let emitted = phases.follow(control, emitter).and_then(|()| emitter.host_samples()).and_then(|()| {
            if phases.second_is_over(control) { emit_intervals(&mut sums, emitter) } else { Ok(()) }
        });
        let emitted =
            emitted.and_then(|()| stalls.follow(control, running.iter().map(|worker| worker.job), emitter));
        if let Err(error) = emitted {
            // If results cannot be stored, no further load is needed; the workers end by themselves.
            control.abort();
            result = result.and(Err(error));
        }
    }
    (sums, result.map(|()| phases.cpu()))
}

/// Counts of each job since its last emitted interval.
type Sums = Vec<Option<Box<Interval>>>;

fn emit_intervals(sums: &mut Sums, emitter: &mut Emitter<'_>) -> Result<(), RunError> {
    sums.iter_mut()
        .filter_map(Option::take)
        .try_for_each(|interval| emitter.emit(RunEvent::Interval(interval)))
}

/// Phase of the workers as observed by the coordinator.
struct Phases<'c> {
    context: &'c StepContext<'c>,
    announced: Phase,
    next_second_ns: u64,
    at_measure: Option<CpuSnapshot>,
    at_end: Option<CpuSnapshot>,
}

impl<'c> Phases<'c> {
    fn new(context: &'c StepContext<'c>) -> Self {
        Self { context, announced: Phase::Prepare, next_second_ns: 0, at_measure: None, at_end: None }
    }

    fn follow(&mut self, control: &Control, emitter: &mut Emitter<'_>) -> Result<(), RunError> {
        let now_ns = control.clock.now_ns();
        let step = self.context.step;
        if let Some(began_ns) = control.start.opened_ns().filter(|at| *at <= now_ns)
            && self.announced == Phase::Prepare
            && step.warmup.0 > 0
        {
            self.tell(Phase::Warmup, began_ns, emitter)?;
        }
        let Some(zero_ns) = control.measure.opened_ns().filter(|at| *at <= now_ns) else { return Ok(()) };
        if matches!(self.announced, Phase::Prepare | Phase::Warmup) {
            self.at_measure = Some(cpu_snapshot());
            self.next_second_ns = zero_ns + INTERVAL_NS + INTERVAL_GRACE_NS;
            self.tell(Phase::Measure, zero_ns, emitter)?;
        }
        let has_ended = |now_ns| {
            now_ns >= zero_ns + step.stop.time.0 || control.is_enough_of_all() || control.must_stop()
        };
        if self.announced == Phase::Measure && has_ended(now_ns) {
            self.at_end = Some(cpu_snapshot());
            self.tell(Phase::Drain, now_ns, emitter)?;
        }
        Ok(())
    }

    fn tell(&mut self, phase: Phase, at_ns: u64, emitter: &mut Emitter<'_>) -> Result<(), RunError> {
        self.announced = phase;
        emitter.phase(self.context.id, phase, at_ns)
    }

    /// Returns true once for each second of the measured window; counts after its end belong to the last interval.
    fn second_is_over(&mut self, control: &Control) -> bool {
        let now_ns = control.clock.now_ns();
        let is_over = self.announced == Phase::Measure && now_ns >= self.next_second_ns;
        while is_over && self.next_second_ns <= now_ns {
            self.next_second_ns += INTERVAL_NS;
        }
        is_over
    }

    fn cpu(&self) -> StepCpu {
        let Some(start) = &self.at_measure else { return StepCpu::default() };
        match &self.at_end {
            Some(end) => CpuSnapshot::between(start, end),
            None => CpuSnapshot::between(start, &cpu_snapshot()),
        }
    }
}

/// Waits for the workers and emits the remaining events.
fn collect(
    context: &StepContext<'_>,
    running: Vec<Running<'_>>,
    mut sums: Sums,
    places: &mut [WorkerPlacement],
    emitter: &mut Emitter<'_>,
) -> Result<(Vec<JobEnd>, Vec<WorkerEnd>), RunError> {
    let mut job_ends: Vec<Vec<WorkerEnd>> = context.step.jobs.iter().map(|_| Vec::new()).collect();
    let mut panicked = None;
    for (mut worker, place) in running.into_iter().zip(places) {
        // A worker that panicked has sent nothing, and has no I/O that could block its thread.
        let end = worker.end.recv().or_else(|_| worker.thread.join().map(|()| (Bound::AsPlaced, None)));
        let sum = &mut sums[worker.job as usize];
        worker.drain.drain(sum);
        match end {
            Ok((bound, Some(end))) => {
                if bound == Bound::Refused {
                    (place.cpu, place.reason) = (None, PlacementReason::Refused);
                }
                end.last.iter().for_each(|last| add(sum, last));
                job_ends[worker.job as usize].push(end);
            }
            Ok((_, None)) => {}
            Err(panic) => panicked = panicked.or(Some((worker.job, worker.worker, panic))),
        }
    }
    emit_intervals(&mut sums, emitter)?;
    if let Some((job, worker, panic)) = panicked {
        let job = context.step.jobs[job as usize].name.clone();
        return Err(RunError::WorkerPanicked { worker: worker + 1, job, says: panic_words(panic.as_ref()) });
    }
    let jobs = context.step.jobs.iter().zip(&job_ends).map(|(job, ends)| job_end(job, ends)).collect();
    Ok((jobs, job_ends.into_iter().flatten().collect()))
}

fn panic_words(panic: &(dyn std::any::Any + Send)) -> String {
    let words = panic.downcast_ref::<&str>().map(ToString::to_string);
    words.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "no message".into())
}

/// Returns the traffic of the paths of each job, and their events in order.
fn paths_of(context: &StepContext<'_>, ends: &mut [WorkerEnd]) -> (Vec<PathEnd>, Vec<(String, PathEvent)>) {
    let (mut paths, mut events) = (Vec::new(), Vec::new());
    for end in ends {
        let member = context.targets[end.job as usize].names.first().map_or("", String::as_str);
        paths::add(&mut paths, end.job, member, &end.paths);
        events.extend(end.paths.take_events().into_iter().map(|event| (member.to_owned(), event)));
    }
    events.sort_by_key(|(_, event)| event.at);
    (paths, events)
}

/// Returns the durability of the writes of each job.
fn writes_of(context: &StepContext<'_>, ends: &[WorkerEnd]) -> Vec<WriteEnd> {
    let mut sums: Vec<WriteEnd> = Vec::new();
    for end in ends {
        let Some(report) = end.paths.writes() else { continue };
        let member = context.targets[end.job as usize].names.first().map_or("", String::as_str);
        let one = paths::write_end(end.job, member, report, end.paths.writes_before());
        match sums.iter_mut().find(|sum| sum.job == one.job) {
            None => sums.push(one),
            Some(sum) => sum.merge(&one),
        }
    }
    sums
}

/// Returns the flushes of each job that flushes.
fn flushes_of(ends: &[WorkerEnd]) -> Vec<FlushEnd> {
    let mut sums: Vec<FlushEnd> = Vec::new();
    for (job, stats) in ends.iter().filter_map(|end| Some((end.job, end.flushes.as_deref()?))) {
        match sums.iter_mut().find(|sum| sum.job == job) {
            None => sums.push(FlushEnd { job, stats: stats.clone() }),
            Some(sum) => sum.stats.merge(stats),
        }
    }
    sums
}

fn job_end(job: &Job, ends: &[WorkerEnd]) -> JobEnd {
    let measured_ns = ends.iter().map(|e| e.measured_ns).max().unwrap_or(0);
    let due = match job.pacing {
        Pacing::Closed => None,
        Pacing::Open { .. } => Some(ends.iter().map(|e| e.due).sum()),
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a count of I/Os")]
        Pacing::Throttled { rate } => Some((rate.0 * measured_ns as f64 / 1e9).round() as u64),
    };
    // A throttled load is a closed loop, which waits for its depth by design.
    let full_ns = matches!(job.pacing, Pacing::Open { .. })
        .then(|| ends.iter().map(|e| e.full_ns).sum::<u64>() / u64::from(job.workers));
    JobEnd { measured_ns, due, full_ns }
}

/// Returns the times at which the step loaded its targets.
fn times(control: &Control, end: &StepEnd) -> StepTimes {
    let longest_ns = end.jobs.iter().map(|job| job.measured_ns).max().unwrap_or(0);
    let zero_ns = control.measure.opened_ns().filter(|_| longest_ns > 0);
    StepTimes { load_ns: control.start.opened_ns(), window_ns: zero_ns.map(|zero| (zero, zero + longest_ns)) }
}

fn step_end(
    context: &StepContext<'_>,
    control: &Control,
    jobs: Vec<JobEnd>,
    ends: Vec<WorkerEnd>,
    cpu: StepCpu,
) -> StepEnd {
    let lost = ends.iter().find_map(|end| end.lost.clone());
    let reason = match lost {
        Some(lost) => StepReason::TargetLost(lost.to_string()),
        None if control.is_over_error_limit() => StepReason::ErrorLimit,
        None if context.stop.is_set() => StepReason::Interrupted,
        None => StepReason::Done,
    };
    let first_io = ends.iter().filter_map(|end| end.first_io).min_by_key(|first| first.issued_ns);
    let mut end = StepEnd::new(context.id, reason, jobs, cpu);
    let waited: Option<f64> = ends.iter().map(|end| end.waited).sum();
    end.cpu.workers_waited = waited.filter(|_| !ends.is_empty()).map(|sum| sum / ends.len() as f64);
    end.moments = control.start.opened_ns().map(|load_ns| StepMoments {
        load_ns,
        first_io_ns: first_io.map(|first| first.issued_ns),
        first_due_ns: first_io.map(|first| first.due_ns),
        window_ns: control.measure.opened_ns(),
    });
    for worker in ends {
        end.failures.extend(worker.failures);
        end.outside_errors += worker.outside_count;
        end.mismatches.extend(worker.mismatches);
        end.mismatch_count += worker.mismatch_count;
        end.moved_writes += worker.moved_count;
        end.late_blocks += worker.late_count;
        end.places.extend(worker.places);
    }
    end.failures.truncate(StepEnd::KEPT);
    end.mismatches.truncate(StepEnd::KEPT);
    end
}
