//! A run: the steps of a plan, one after another, as a stream of events.

use std::time::Duration;

use assay_host::Sampler;
use assay_record::{Outcome, RunEvent, RunHeader, StepId, StepReason, Warning};
use assay_spec::Plan;
use assay_target::{AnyTarget, OpenError, OpenRequest, Target};

use crate::clock::Clock;
use crate::control::{EnoughSignal, StopSignal};
use crate::events::{Emitter, RunError, Sink};
use crate::fit::{Fit, fit};
use crate::step::{StepContext, run_step};
use crate::targets::{JobTarget, RunTargets};

/// What a run needs.
pub struct RunRequest<'r> {
    /// The first event: plan, targets, host.
    pub header: RunHeader,
    /// Those of the header, ready to be opened.
    pub targets: &'r RunTargets,
    /// Found before the run began, for its record.
    pub warnings: Vec<Warning>,
    /// Asks the run to stop.
    pub stop: StopSignal,
    /// Ends the measured window of the step that runs.
    pub enough: EnoughSignal,
    /// CPUs that the workers are bound to, in turn; where none is named, each is placed by its target.
    pub cpus: Vec<usize>,
}

/// Runs a plan on the targets that were prepared for it.
pub fn run(request: RunRequest<'_>, sink: &mut Sink<'_>) -> Result<Outcome, RunError> {
    run_with::<AnyTarget>(request, &assay_target::open, sink)
}

/// Runs a plan on targets that `opener` opens, on each worker's own thread: for targets of other kinds.
pub fn run_with<T: Target>(
    request: RunRequest<'_>,
    opener: &(impl Fn(&OpenRequest<'_>) -> Result<T, OpenError> + Sync),
    sink: &mut Sink<'_>,
) -> Result<Outcome, RunError> {
    let clock = Clock::start();
    let plan = request.header.plan.clone();
    let sampler = Sampler::start(request.targets.watched(), clock.epoch(), Duration::from_secs(1));
    let mut emitter = Emitter::new(clock, sink, sampler);
    emitter.emit(RunEvent::Started(Box::new(request.header)))?;
    for warning in request.warnings {
        emitter.emit(RunEvent::Warning(warning))?;
    }
    let outcome = match run_steps(
        &plan,
        request.targets,
        (&request.stop, &request.enough),
        &request.cpus,
        opener,
        &mut emitter,
    ) {
        // A target that cannot be opened any more, say, ends the run; its record must say that it ended.
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

fn run_steps<T: Target>(
    plan: &Plan,
    targets: &RunTargets,
    (stop, enough): (&StopSignal, &EnoughSignal),
    cpus: &[usize],
    opener: &(impl Fn(&OpenRequest<'_>) -> Result<T, OpenError> + Sync),
    emitter: &mut Emitter<'_>,
) -> Result<Outcome, RunError> {
    let stamps = targets.stamps(plan);
    for (test_index, test) in (0..).zip(&plan.tests) {
        for (step_index, step) in (0..).zip(&test.steps) {
            if stop.is_set() {
                return Ok(Outcome::Interrupted);
            }
            let id = StepId { test: test_index, step: step_index };
            match fit(step, plan.semantics, &targets.job_targets(step)) {
                Fit::Fits => {}
                // One size of a sweep may be too small for a device; that must not cost the other results.
                Fit::Misfit(why) => {
                    emitter.emit(RunEvent::StepSkipped { step: id, why })?;
                    continue;
                }
            }
            emitter.emit(RunEvent::StepStarted(id))?;
            let job_targets: Vec<JobTarget> =
                step.jobs.iter().map(|job| targets.of_job(job, &stamps)).collect();
            let context = StepContext {
                id,
                step,
                semantics: plan.semantics,
                seed: plan.seed,
                stop: stop.clone(),
                enough: enough.clone(),
                targets: &job_targets,
                cpus,
            };
            let end = run_step(&context, opener, emitter)?;
            let reason = end.reason.clone();
            emitter.emit(RunEvent::StepEnded(Box::new(end)))?;
            match reason {
                StepReason::Done => {}
                StepReason::Interrupted => return Ok(Outcome::Interrupted),
                StepReason::ErrorLimit | StepReason::TargetLost(_) => return Ok(Outcome::Failed),
            }
        }
    }
    Ok(Outcome::Done)
}
