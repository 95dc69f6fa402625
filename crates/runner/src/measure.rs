//! The load, and what becomes of each of its events.

use std::cell::RefCell;
use std::sync::{Mutex, MutexGuard, PoisonError};

use assay_engine::{CommonStart, EnoughSignal, RunRequest, RunTargets, StopSignal};
use assay_prepare::PreparedTargets;
use assay_record::{Event, RunEvent, RunHeader, StepId, StepReason};
use assay_spec::Plan;
use assay_target::{OpenError, OpenRequest, Opener};

use crate::error::RunnerError;
use crate::follower::Follower;
use crate::keep::Keeper;
use crate::order::Steps;
use crate::rounds::Rounds;

/// A load that is ready to begin.
pub(crate) struct Measurement<'m> {
    pub(crate) header: &'m RunHeader,
    pub(crate) targets: &'m RunTargets,
    pub(crate) steps: Steps,
    pub(crate) kept: Vec<Event>,
    pub(crate) cpus: Vec<usize>,
    pub(crate) stop: StopSignal,
    pub(crate) start: CommonStart,
}

/// A load that has ended.
pub(crate) struct Measured {
    /// Why it ended early, or is not stored. The sinks have what was measured all the same.
    pub(crate) failures: Vec<RunnerError>,
    pub(crate) is_stored: bool,
}

/// Runs the plan; every event goes to the follower and to the store.
pub(crate) fn measure(
    measurement: Measurement<'_>,
    opener: &Opener<'_>,
    prepared: &mut PreparedTargets,
    mut keeper: Option<Keeper>,
    follower: &mut dyn Follower,
) -> Measured {
    let Measurement { header, targets, steps, kept, cpus, stop, start } = measurement;
    let enough = EnoughSignal::default();
    let warnings = std::mem::take(&mut prepared.warnings);
    // Why the step that begins must not write to its targets. Its workers find it where they open them.
    let refused: Mutex<Option<OpenError>> = Mutex::default();
    // The engine asks for the next step when no event is being taken.
    let follower = RefCell::new(follower);
    let mut take = |event: &Event, origin: Origin| {
        if origin == Origin::Now
            && let Err(changed) = follow_step(prepared, &header.plan, &event.what)
        {
            *lock(&refused) = Some(changed);
        }
        let mut follower = follower.borrow_mut();
        if follower.event(event) {
            enough.set();
        }
        let Some(keeper) = &mut keeper else { return };
        keeper.append(event);
        if let Some(news) = keeper.news() {
            follower.store_changed(&news);
        }
        follower.kept(event, keeper);
    };
    // What was measured before comes first; times of this run count on from there.
    let earlier_ns = kept.last().map_or(0, |event| event.at_ns);
    let mut sink = |mut event: Event| {
        if matches!(event.what, RunEvent::Started(_)) {
            take(&event, Origin::Now);
            kept.iter().for_each(|event| take(event, Origin::Earlier));
            return Ok(());
        }
        shift(&mut event, earlier_ns);
        if matches!(event.what, RunEvent::Ended(_)) {
            let warning = follower.borrow_mut().ends();
            if let Some(warning) = warning {
                take(&Event { at_ns: event.at_ns, what: RunEvent::Warning(warning) }, Origin::Now);
            }
        }
        take(&event, Origin::Now);
        Ok(())
    };
    let open = |request: &OpenRequest<'_>| match lock(&refused).take() {
        Some(changed) => Err(changed),
        None => opener(request),
    };
    let mut rounds = Rounds::new(&header.plan);
    let mut next = || next_step(steps, &mut rounds, &kept, &follower);
    let enough = enough.clone();
    let request = RunRequest { header: header.clone(), targets, warnings, stop, enough, cpus, start };
    let result = assay_engine::run_ordered(request, &open, &mut next, &mut sink);
    let is_kept = keeper.is_some();
    let unkept = keeper.as_mut().and_then(|keeper| keeper.finish().err());
    if let Some(news) = keeper.as_mut().and_then(Keeper::news) {
        follower.borrow_mut().store_changed(&news);
    }
    let is_stored = is_kept && unkept.is_none();
    let failed = result.err().map(RunnerError::from);
    Measured { failures: failed.into_iter().chain(unkept.map(RunnerError::from)).collect(), is_stored }
}

/// When an event happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Origin {
    /// In this run.
    Now,
    /// In the run that this one resumes: the targets are as that one left them.
    Earlier,
}

/// Moves an event to its time since the start of the run that this one resumes. Intervals count from their window.
fn shift(event: &mut Event, by_ns: u64) {
    event.at_ns = event.at_ns.saturating_add(by_ns);
    if let RunEvent::Host(sample) = &mut event.what {
        sample.at_ns = sample.at_ns.saturating_add(by_ns);
    }
}

/// Returns the next step, before which the follower may take its time.
fn next_step(
    steps: Steps,
    rounds: &mut Rounds<'_>,
    kept: &[Event],
    follower: &RefCell<&mut dyn Follower>,
) -> Option<StepId> {
    let next = match steps {
        Steps::Diagnosis => follower.borrow_mut().next(),
        Steps::Planned => next_planned(rounds, kept, &|test| follower.borrow().is_steady(test)),
    };
    next.inspect(|_| follower.borrow_mut().between())
}

/// Returns the next step of the plan that no earlier run completed.
fn next_planned(rounds: &mut Rounds<'_>, kept: &[Event], is_steady: &dyn Fn(u32) -> bool) -> Option<StepId> {
    loop {
        let next = rounds.next(is_steady);
        if next.is_none_or(|step| !is_kept(kept, step)) {
            return next;
        }
    }
}

/// Whether an earlier run completed a step.
fn is_kept(kept: &[Event], step: StepId) -> bool {
    kept.iter().any(|event| matches!(&event.what, RunEvent::StepEnded(end) if end.step == step))
}

/// Notes the steps that write to targets. Fails if a step must not begin, as another program has changed a target.
fn follow_step(prepared: &mut PreparedTargets, plan: &Plan, what: &RunEvent) -> Result<(), OpenError> {
    match what {
        RunEvent::StepStarted(step) => return prepared.step_started(plan, *step),
        // After any other end something may still be in flight.
        RunEvent::StepEnded(end) if end.reason == StepReason::Done => prepared.step_ended(plan, end.step),
        _ => {}
    }
    Ok(())
}

fn lock(refused: &Mutex<Option<OpenError>>) -> MutexGuard<'_, Option<OpenError>> {
    // Nothing panics while it is locked.
    refused.lock().unwrap_or_else(PoisonError::into_inner)
}
