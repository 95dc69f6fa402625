//! A run: the steps of a plan, one after another, as a stream of events.

use std::collections::{HashSet, VecDeque};
use std::time::Duration;

use assay_host::Sampler;
use assay_record::{JobEnd, Outcome, RunEvent, RunHeader, StepCpu, StepEnd, StepId, StepReason, Warning};
use assay_spec::Plan;
use assay_target::{OpenError, OpenRequest, Opener, Target};

use crate::clock::Clock;
use crate::control::{CommonStart, EnoughSignal, StopSignal};
use crate::events::{Emitter, RunError, Sink};
use crate::fit::{Fit, fit};
use crate::step::{StepContext, run_step};
use crate::targets::{JobTarget, RunTargets};

/// Configuration of a run.
pub struct RunRequest<'r> {
    /// The first event: plan, targets, host.
    pub header: RunHeader,
    /// The targets of the header, ready to be opened.
    pub targets: &'r RunTargets,
    /// Warnings raised before the run, for its record.
    pub warnings: Vec<Warning>,
    /// Requests the stop of the run.
    pub stop: StopSignal,
    /// Ends the measured window of the present step.
    pub enough: EnoughSignal,
    /// CPUs to which the workers are bound, in turn; if empty, each worker is placed by its target.
    pub cpus: Vec<usize>,
    /// When the load of each step begins.
    pub start: CommonStart,
}

/// Runs a plan on prepared targets.
pub fn run(request: RunRequest<'_>, sink: &mut Sink<'_>) -> Result<Outcome, RunError> {
    let mut steps = steps(&request.header.plan);
    run_ordered(request, &assay_target::open, &mut || steps.pop_front(), sink)
}

/// Runs a plan on targets that `opener` opens in each worker's thread: for other kinds of targets.
pub fn run_with<T: Target>(
    request: RunRequest<'_>,
    opener: &(impl Fn(&OpenRequest<'_>) -> Result<T, OpenError> + Sync),
    sink: &mut Sink<'_>,
) -> Result<Outcome, RunError> {
    let mut steps = steps(&request.header.plan);
    ordered(request, opener, &mut || steps.pop_front(), sink)
}

/// Returns the interval between two samples of the host: a second, or less if the shortest window would contain no
/// complete sample.
fn sample_period(plan: &Plan) -> Duration {
    const SAMPLES: u64 = 5;
    let windows = plan.tests.iter().flat_map(|test| &test.steps).map(|step| step.stop.time.0);
    let shortest = windows.filter(|ns| *ns > 0).min().unwrap_or(u64::MAX);
    Duration::from_nanos(shortest / SAMPLES).clamp(Duration::from_millis(200), Duration::from_secs(1))
}

/// Returns every step of a plan, in its order.
fn steps(plan: &Plan) -> VecDeque<StepId> {
    let mut ids = VecDeque::new();
    for (test, of) in (0..).zip(&plan.tests) {
        ids.extend((0..).zip(&of.steps).map(|(step, _)| StepId { test, step }));
    }
    ids
}

/// Runs the steps that `next` chooses until it returns `None`. It is called when the sink has received every event of
/// the previous steps; a step that is chosen twice, or that is not in the plan, ends the run. The loop of the workers
/// is compiled here, as this room is: where a caller chose the type of its targets, it was compiled as the caller is.
pub fn run_ordered(
    request: RunRequest<'_>,
    opener: &Opener<'_>,
    next: &mut dyn FnMut() -> Option<StepId>,
    sink: &mut Sink<'_>,
) -> Result<Outcome, RunError> {
    ordered(request, &|request: &OpenRequest<'_>| opener(request), next, sink)
}

fn ordered<T: Target>(
    request: RunRequest<'_>,
    opener: &(impl Fn(&OpenRequest<'_>) -> Result<T, OpenError> + Sync),
    next: &mut dyn FnMut() -> Option<StepId>,
    sink: &mut Sink<'_>,
) -> Result<Outcome, RunError> {
    let clock = Clock::start();
    let plan = request.header.plan.clone();
    let sampler = Sampler::start(request.targets.watched(), clock.epoch(), sample_period(&plan));
    let mut emitter = Emitter::new(clock, sink, sampler);
    emitter.emit(RunEvent::Started(Box::new(request.header)))?;
    for warning in request.warnings {
        emitter.emit(RunEvent::Warning(warning))?;
    }
    let with = Run {
        plan: &plan,
        targets: request.targets,
        stop: request.stop,
        enough: request.enough,
        cpus: request.cpus,
        start: request.start,
    };
    let outcome = match run_steps(&with, opener, next, &mut emitter) {
        // A failure such as a target that can no longer be opened ends the run; its record must state that it ended.
        Err(error) if error.leaves_a_record() => {
            emitter.emit(RunEvent::Ended(Outcome::Failed))?;
            return Err(error);
        }
        other => other?,
    };
    emitter.host_samples()?;
    emitter.emit(RunEvent::Ended(outcome))?;
    Ok(outcome)
}

/// State of a run.
struct Run<'r> {
    plan: &'r Plan,
    targets: &'r RunTargets,
    stop: StopSignal,
    enough: EnoughSignal,
    cpus: Vec<usize>,
    start: CommonStart,
}

/// Returns the end of a step whose targets could not be opened.
fn not_opened(context: &StepContext<'_>, error: &RunError) -> StepEnd {
    let jobs =
        context.step.jobs.iter().map(|_| JobEnd { measured_ns: 0, due: None, full_ns: None }).collect();
    StepEnd::new(context.id, StepReason::TargetLost(error.to_string()), jobs, StepCpu::default())
}

fn run_steps<T: Target>(
    run: &Run<'_>,
    opener: &(impl Fn(&OpenRequest<'_>) -> Result<T, OpenError> + Sync),
    next: &mut dyn FnMut() -> Option<StepId>,
    emitter: &mut Emitter<'_>,
) -> Result<Outcome, RunError> {
    let Run { plan, targets, stop, enough, cpus, start } = run;
    let stamps = targets.stamps(plan);
    let mut done = HashSet::new();
    while let Some(id) = next() {
        let test = plan.tests.get(id.test as usize);
        let Some(step) = test.and_then(|test| test.steps.get(id.step as usize)) else { break };
        if !done.insert(id) {
            break;
        }
        if stop.is_set() {
            return Ok(Outcome::Interrupted);
        }
        match fit(step, plan.semantics, &targets.job_targets(step)) {
            Fit::Fits => {}
            // One size of a sweep may be too small for a device; that must not discard the other results.
            Fit::Misfit(why) => {
                emitter.emit(RunEvent::StepSkipped { step: id, why })?;
                continue;
            }
        }
        emitter.emit(RunEvent::StepStarted(id))?;
        let job_targets: Vec<JobTarget> = step.jobs.iter().map(|job| targets.of_job(job, &stamps)).collect();
        let context = StepContext {
            id,
            step,
            semantics: plan.semantics,
            seed: plan.seed,
            stop: stop.clone(),
            enough: enough.clone(),
            targets: &job_targets,
            cpus,
            start,
        };
        let end = match run_step(&context, opener, emitter) {
            // The record has to say why the step has no result.
            Err(error @ RunError::Open { .. }) => {
                emitter.emit(RunEvent::StepEnded(Box::new(not_opened(&context, &error))))?;
                return Err(error);
            }
            end => end?,
        };
        let reason = end.reason.clone();
        emitter.emit(RunEvent::StepEnded(Box::new(end)))?;
        match reason {
            StepReason::Done => {}
            StepReason::Interrupted => return Ok(Outcome::Interrupted),
            StepReason::ErrorLimit | StepReason::TargetLost(_) => return Ok(Outcome::Failed),
        }
    }
    // A stop may have been requested while the next step was chosen.
    Ok(if stop.is_set() { Outcome::Interrupted } else { Outcome::Done })
}
