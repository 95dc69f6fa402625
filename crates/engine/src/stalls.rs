//! Warnings while storage does not answer: during a step, and at its end if a stop could not wait for it.

use assay_record::{RunEvent, Warning};
use assay_target::{Member, STOP_LIMIT};

use crate::control::Control;
use crate::events::{Emitter, RunError};
use crate::targets::JobTarget;
use crate::worker::WorkerEnd;

/// Age from which an I/O in flight is reported as stalled, ms.
const STALL_MS: u32 = 2_000;

/// Jobs of a step that were reported, each once per step; the result contains the duration.
pub(crate) struct Stalls<'c> {
    /// In the order of the step's jobs.
    targets: &'c [JobTarget],
    is_reported: Vec<bool>,
}

impl<'c> Stalls<'c> {
    pub(crate) fn new(targets: &'c [JobTarget]) -> Self {
        Self { targets, is_reported: vec![false; targets.len()] }
    }

    /// Reports jobs with a stalled worker; `jobs` is the job of each worker, in the order of the pulses.
    pub(crate) fn follow(
        &mut self,
        control: &Control,
        jobs: impl Iterator<Item = u32>,
        emitter: &mut Emitter<'_>,
    ) -> Result<(), RunError> {
        for (job, pulse) in jobs.zip(&control.pulses) {
            let (oldest_ms, in_flight) = pulse.read();
            let is_reported = &mut self.is_reported[job as usize];
            if oldest_ms < STALL_MS || std::mem::replace(is_reported, true) {
                continue;
            }
            let target = &self.targets[job as usize];
            let (at_s, waited_s) = (control.clock.now_ns() as f64 / 1e9, f64::from(oldest_ms) / 1e3);
            let fails_after =
                |limit_s| format!("Each I/O fails after {limit_s} s (timeout= in the address).");
            let next = match target.members.first() {
                Some(Member::Lun(of)) => fails_after(of.address.timeout_s),
                Some(Member::Nfs(of)) => fails_after(of.address.timeout_s),
                Some(Member::Simulated(_)) => {
                    "The simulated array needs this long for the I/Os ahead of it: lower the outstanding I/Os.".into()
                }
                _ => "How long an I/O may take is up to the kernel and its driver; see dmesg.".into(),
            };
            let name = target.names.join(", ");
            emitter.emit(RunEvent::Warning(Warning {
                rule: "stalled-io".into(),
                says: format!(
                    "{at_s:.1} s into the run, {name}: the oldest of {in_flight} I/Os has waited {waited_s:.1} s \
                     for its answer."
                ),
                next,
            }))?;
        }
        Ok(())
    }
}

/// Reports I/Os that were outstanding when a stop could not wait any longer.
pub(crate) fn tell_abandoned(
    targets: &[JobTarget],
    ends: &[WorkerEnd],
    emitter: &mut Emitter<'_>,
) -> Result<(), RunError> {
    for (job, target) in (0..).zip(targets) {
        let abandoned: u32 = ends.iter().filter(|end| end.job == job).map(|end| end.abandoned).sum();
        if abandoned == 0 {
            continue;
        }
        let (name, limit_s) = (target.names.join(", "), STOP_LIMIT.as_secs());
        emitter.emit(RunEvent::Warning(Warning {
            rule: "abandoned-io".into(),
            says: format!(
                "{name}: {abandoned} I/Os had no answer {limit_s} s after the stop and were abandoned; writes among \
                 them may still reach the storage."
            ),
            next: "Check the storage before using it: it did not answer.".into(),
        }))?;
    }
    Ok(())
}
