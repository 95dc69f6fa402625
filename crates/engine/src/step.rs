//! One step: workers started, driven through the phases together, and their counts brought home.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::ScopedJoinHandle;
use std::time::Duration;

use assay_host::{CpuSnapshot, cpu_snapshot};
use assay_record::{
    Interval, JobEnd, PathEnd, Phase, RunEvent, StepCpu, StepEnd, StepId, StepReason, WriteEnd,
};
use assay_spec::{Job, Pacing, Semantics, Step};
use assay_target::lun::{LunMember, PathEvent};
use assay_target::nfs::NfsMember;
use assay_target::{IoBuf, IoEngine, Member, OpenError, OpenRequest, SimulatedMember, Target};

use crate::control::{Control, StopSignal};
use crate::fill::Filler;
use crate::paths;
use crate::planner::{Planner, PlannerSetup};
use crate::rng::derive;
use crate::run::{Emitter, RunError};
use crate::spares::{SPARES_MAX, Spares};
use crate::stamp::StampTable;
use crate::tally::{INTERVAL_NS, Tally, TallyDrain, add};
use crate::worker::{Worker, WorkerEnd, WorkerSetup};

/// How often the coordinator looks: often enough for a live display, too rarely to be felt.
const LOOK_EVERY: Duration = Duration::from_millis(20);
/// How long after a second's end its intervals have arrived from all workers, ns.
const INTERVAL_GRACE_NS: u64 = 150_000_000;

/// The members a job drives, all of one kind.
pub(crate) struct JobTarget {
    pub(crate) members: Vec<Member>,
    pub(crate) null_members: Vec<u64>,
    pub(crate) simulated: Vec<SimulatedMember>,
    pub(crate) luns: Vec<LunMember>,
    pub(crate) nfs: Vec<NfsMember>,
    pub(crate) names: Vec<String>,
    pub(crate) spans: Vec<u64>,
    pub(crate) block_bytes: u32,
    pub(crate) engine: IoEngine,
    /// One for each member in a plan that verifies.
    pub(crate) stamps: Vec<Arc<StampTable>>,
}

/// What a step needs from the run.
pub(crate) struct StepContext<'r> {
    pub(crate) id: StepId,
    pub(crate) step: &'r Step,
    pub(crate) semantics: Semantics,
    pub(crate) seed: u64,
    pub(crate) stop: StopSignal,
    /// In the order of the step's jobs.
    pub(crate) targets: &'r [JobTarget],
}

/// A worker thread and what comes from it.
struct Running<'scope> {
    job: u32,
    thread: ScopedJoinHandle<'scope, Option<WorkerEnd>>,
    drain: TallyDrain,
}

/// Opens a target for a worker, on the worker's thread.
pub(crate) trait Opener<T>: Fn(&OpenRequest<'_>) -> Result<T, OpenError> + Sync {}
impl<T, F: Fn(&OpenRequest<'_>) -> Result<T, OpenError> + Sync> Opener<T> for F {}

/// Runs a step; the error is one that ends the run without a result for this step.
pub(crate) fn run_step<T: Target>(
    context: &StepContext<'_>,
    opener: &impl Opener<T>,
    emitter: &mut Emitter<'_>,
) -> Result<StepEnd, RunError> {
    let jobs = &context.step.jobs;
    let workers: u32 = jobs.iter().map(|job| job.workers).sum();
    let control = Control::new(emitter.clock(), context.stop.clone(), workers, context.step.error_limit);
    emitter.phase(context.id, Phase::Prepare)?;
    std::thread::scope(|scope| {
        let (ready, readiness) = channel();
        let cpus = cpus_for(workers);
        let mut running = Vec::new();
        for (job_index, job) in (0..).zip(jobs) {
            for worker in 0..job.workers {
                let (tally, drain) = Tally::new(context.id, job_index, job.mix.len(), job.pacing.is_open());
                let cpu = cpus.get(running.len()).copied();
                let (control, ready) = (&control, ready.clone());
                let thread = scope.spawn(move || {
                    if let Some(cpu) = cpu {
                        // A worker that cannot be pinned still measures; the scheduler places it.
                        let _ = assay_host::pin_current_thread(cpu);
                    }
                    work(context, control, opener, job_index, worker, tally, &ready)
                });
                running.push(Running { job: job_index, thread, drain });
            }
        }
        drop(ready);
        let opened = all_ready(&readiness, workers);
        if opened.is_err() {
            control.abort();
        }
        control.start.arrive(control.clock);
        let (sums, watched) = watch(context, &control, &mut running, emitter);
        let (jobs, mut ends) = collect(context, running, sums, emitter)?;
        opened.map_err(|source| RunError::Open { source })?;
        let writes = writes_of(context, &ends);
        let (paths, events) = paths_of(context, &mut ends);
        paths::tell(events, control.clock, emitter)?;
        let mut end = step_end(context, &control, jobs, ends, watched?);
        (end.paths, end.writes) = (paths, writes);
        Ok(end)
    })
}

/// A CPU for each worker where there are enough, else none: the scheduler shares better than a fixed choice.
fn cpus_for(workers: u32) -> Vec<usize> {
    let cpus = assay_host::allowed_cpus();
    if workers as usize <= cpus.len() { cpus } else { Vec::new() }
}

fn all_ready(readiness: &Receiver<Result<(), OpenError>>, workers: u32) -> Result<(), OpenError> {
    // Every answer is awaited: while one still opens its target, nobody may be told to start or to give up.
    let answers: Vec<_> = (0..workers).map(|_| readiness.recv().unwrap_or(Ok(()))).collect();
    answers.into_iter().collect()
}

/// The life of a worker thread.
fn work<T: Target>(
    context: &StepContext<'_>,
    control: &Control,
    opener: &impl Opener<T>,
    job_index: u32,
    worker: u32,
    tally: Tally,
    ready: &Sender<Result<(), OpenError>>,
) -> Option<WorkerEnd> {
    let (job, target) = (&context.step.jobs[job_index as usize], &context.targets[job_index as usize]);
    let depth = depth(context.semantics, job, target.spans.len());
    let size_max = u32::try_from(job.size_max().0).expect("the plan keeps I/Os below 64 MiB");
    let spare = spare_buffers(job, depth);
    let mut buffers: Vec<IoBuf> = (0..depth + spare).map(|slot| IoBuf::new(slot, size_max)).collect();
    let request = OpenRequest {
        members: &target.members,
        null_members: &target.null_members,
        simulated: &target.simulated,
        luns: &target.luns,
        nfs: &target.nfs,
        depth,
        engine: target.engine,
        buffers: &buffers,
    };
    let opened = match opener(&request) {
        Ok(opened) => opened,
        Err(error) => {
            // The coordinator may have given up already; then nobody waits for this answer.
            let _ = ready.send(Err(error));
            control.start.arrive(control.clock);
            control.measure.arrive(control.clock);
            return None;
        }
    };
    let seed = |part| {
        derive(
            context.seed,
            &[
                u64::from(context.id.test),
                u64::from(context.id.step),
                u64::from(job_index),
                u64::from(worker),
                part,
            ],
        )
    };
    let planner = Planner::new(&PlannerSetup {
        job,
        semantics: context.semantics,
        spans: &target.spans,
        block_bytes: target.block_bytes,
        worker,
        workers: job.workers,
        exclusive: !target.stamps.is_empty(),
        seed: seed(1),
    });
    let filler = Filler::new(job.data, size_max as usize, seed(2));
    let spares = Spares::new(buffers.split_off(depth as usize), write_max(job));
    let setup = worker_setup(context, control, job_index, worker, seed(3));
    let worker = Worker::new(setup, opened, planner, filler, buffers, spares, tally);
    let _ = ready.send(Ok(()));
    Some(worker.run())
}

/// Slots of one worker: its outstanding I/Os, for each member under Iometer semantics.
pub(crate) fn depth(semantics: Semantics, job: &Job, members: usize) -> u32 {
    let members = u32::try_from(members).expect("members are few");
    match semantics {
        Semantics::Assay => job.outstanding,
        Semantics::Iometer => job.outstanding * members,
    }
}

/// The largest write of a job, bytes.
fn write_max(job: &Job) -> usize {
    let writes = job.mix.iter().flat_map(|a| {
        let request = if a.read < 100.0 { a.size.0 } else { 0 };
        let reply = if a.read > 0.0 { a.reply.0 } else { 0 };
        [request, reply]
    });
    usize::try_from(writes.max().unwrap_or(0)).expect("the plan keeps I/Os below 64 MiB")
}

/// Buffers beyond those of the slots, for data made ahead.
pub(crate) fn spare_buffers(job: &Job, depth: u32) -> u32 {
    if job.writes() { depth.min(SPARES_MAX) } else { 0 }
}

fn worker_setup<'s>(
    context: &'s StepContext<'_>,
    control: &'s Control,
    job_index: u32,
    worker: u32,
    pacer_seed: u64,
) -> WorkerSetup<'s> {
    let (job, target) = (&context.step.jobs[job_index as usize], &context.targets[job_index as usize]);
    let stop = context.step.stop;
    WorkerSetup {
        control,
        job,
        job_index,
        worker,
        semantics: context.semantics,
        warmup_ns: context.step.warmup.0,
        run_ns: stop.time.0,
        ops_max: share(stop.ops, worker, job.workers),
        bytes_max: share(stop.bytes.map(|b| b.0), worker, job.workers),
        pacer_seed,
        stamps: target.stamps.clone(),
        verify: context.step.verify,
        member_names: &target.names,
    }
}

/// A worker's share of a limit; the first workers take what does not divide.
fn share(limit: Option<u64>, worker: u32, workers: u32) -> u64 {
    let (worker, workers) = (u64::from(worker), u64::from(workers));
    limit.map_or(u64::MAX, |limit| limit / workers + u64::from(worker < limit % workers))
}

/// Follows the workers until all have ended: phases, intervals and host samples become events.
fn watch(
    context: &StepContext<'_>,
    control: &Control,
    running: &mut [Running<'_>],
    emitter: &mut Emitter<'_>,
) -> (Sums, Result<StepCpu, RunError>) {
    let mut phases = Phases::new(context);
    let mut sums: Sums = context.step.jobs.iter().map(|_| None).collect();
    let mut result = Ok(());
    while !running.iter().all(|r| r.thread.is_finished()) {
        std::thread::sleep(LOOK_EVERY);
        for worker in running.iter_mut() {
            worker.drain.drain(&mut sums[worker.job as usize]);
        }
        let told = phases.follow(control, emitter).and_then(|()| emitter.host_samples()).and_then(|()| {
            if phases.second_is_over(control) { emit_intervals(&mut sums, emitter) } else { Ok(()) }
        });
        if let Err(error) = told {
            // Results that cannot be kept are not worth more load; the workers end by themselves.
            control.abort();
            result = result.and(Err(error));
        }
    }
    (sums, result.map(|()| phases.cpu()))
}

/// What each job has counted since its last interval was told.
type Sums = Vec<Option<Box<Interval>>>;

fn emit_intervals(sums: &mut Sums, emitter: &mut Emitter<'_>) -> Result<(), RunError> {
    sums.iter_mut()
        .filter_map(Option::take)
        .try_for_each(|interval| emitter.emit(RunEvent::Interval(interval)))
}

/// Which phase the workers are in, as seen from outside.
struct Phases<'c> {
    context: &'c StepContext<'c>,
    told: Phase,
    next_second_ns: u64,
    at_measure: Option<CpuSnapshot>,
    at_end: Option<CpuSnapshot>,
}

impl<'c> Phases<'c> {
    fn new(context: &'c StepContext<'c>) -> Self {
        Self { context, told: Phase::Prepare, next_second_ns: 0, at_measure: None, at_end: None }
    }

    fn follow(&mut self, control: &Control, emitter: &mut Emitter<'_>) -> Result<(), RunError> {
        let now_ns = control.clock.now_ns();
        let step = self.context.step;
        if self.told == Phase::Prepare
            && control.start.opened_ns().is_some_and(|at| at <= now_ns)
            && step.warmup.0 > 0
        {
            self.tell(Phase::Warmup, emitter)?;
        }
        let Some(zero_ns) = control.measure.opened_ns().filter(|at| *at <= now_ns) else { return Ok(()) };
        if matches!(self.told, Phase::Prepare | Phase::Warmup) {
            self.at_measure = Some(cpu_snapshot());
            self.next_second_ns = zero_ns + INTERVAL_NS + INTERVAL_GRACE_NS;
            self.tell(Phase::Measure, emitter)?;
        }
        if self.told == Phase::Measure && (now_ns >= zero_ns + step.stop.time.0 || control.must_stop()) {
            self.at_end = Some(cpu_snapshot());
            self.tell(Phase::Drain, emitter)?;
        }
        Ok(())
    }

    fn tell(&mut self, phase: Phase, emitter: &mut Emitter<'_>) -> Result<(), RunError> {
        self.told = phase;
        emitter.phase(self.context.id, phase)
    }

    /// Once for each second of the measured window; what comes after its end belongs to the last interval.
    fn second_is_over(&mut self, control: &Control) -> bool {
        let now_ns = control.clock.now_ns();
        let is_over = self.told == Phase::Measure && now_ns >= self.next_second_ns;
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

/// Waits for the workers and emits what was still on its way.
fn collect(
    context: &StepContext<'_>,
    running: Vec<Running<'_>>,
    mut sums: Sums,
    emitter: &mut Emitter<'_>,
) -> Result<(Vec<JobEnd>, Vec<WorkerEnd>), RunError> {
    let mut job_ends: Vec<Vec<WorkerEnd>> = context.step.jobs.iter().map(|_| Vec::new()).collect();
    for mut worker in running {
        let end = worker.thread.join().expect("a worker does not panic");
        let sum = &mut sums[worker.job as usize];
        worker.drain.drain(sum);
        if let Some(end) = end {
            if let Some(last) = &end.last {
                add(sum, last);
            }
            job_ends[worker.job as usize].push(end);
        }
    }
    emit_intervals(&mut sums, emitter)?;
    let jobs = context.step.jobs.iter().zip(&job_ends).map(|(job, ends)| job_end(job, ends)).collect();
    Ok((jobs, job_ends.into_iter().flatten().collect()))
}

/// What went over the paths of each job, and what happened to them.
fn paths_of(context: &StepContext<'_>, ends: &mut [WorkerEnd]) -> (Vec<PathEnd>, Vec<(String, PathEvent)>) {
    let (mut paths, mut events) = (Vec::new(), Vec::new());
    for end in ends {
        let member = context.targets[end.job as usize].names.first().map_or("", String::as_str);
        paths::add(&mut paths, end.job, member, &end.paths);
        events.extend(end.paths.events.drain(..).map(|event| (member.to_owned(), event)));
    }
    (paths, events)
}

/// What became of the writes of each job.
fn writes_of(context: &StepContext<'_>, ends: &[WorkerEnd]) -> Vec<WriteEnd> {
    let mut sums: Vec<WriteEnd> = Vec::new();
    for end in ends {
        let Some(report) = &end.paths.writes else { continue };
        let member = context.targets[end.job as usize].names.first().map_or("", String::as_str);
        let one = paths::write_end(end.job, member, report);
        match sums.iter_mut().find(|sum| sum.job == one.job) {
            None => sums.push(one),
            Some(sum) => sum.merge(&one),
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
    JobEnd { measured_ns, due }
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
    let mut end = StepEnd {
        step: context.id,
        reason,
        jobs,
        cpu,
        failures: Vec::new(),
        mismatches: Vec::new(),
        mismatch_count: 0,
        paths: Vec::new(),
        writes: Vec::new(),
    };
    for worker in ends {
        end.failures.extend(worker.failures);
        end.mismatches.extend(worker.mismatches);
        end.mismatch_count += worker.mismatch_count;
    }
    end.failures.truncate(StepEnd::KEPT);
    end.mismatches.truncate(StepEnd::KEPT);
    end
}
