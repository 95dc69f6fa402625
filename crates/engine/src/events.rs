//! The way out of a run: events, stamped with their time, to whoever listens; and why there are none any more.

use assay_host::Sampler;
use assay_record::{Event, Gap, Phase, RunEvent, StepId};
use assay_target::OpenError;
use thiserror::Error;

use crate::clock::Clock;

/// Listens to a run's events; an error (results that cannot be stored, say) ends the run.
pub type Sink<'s> = dyn FnMut(Event) -> Result<(), String> + 's;

/// Why a run ended without its results.
#[derive(Debug, Error)]
pub enum RunError {
    /// A target could not be opened.
    #[error("{source}")]
    Open {
        /// Why.
        #[source]
        source: OpenError,
    },
    /// Whoever listens could not go on.
    #[error("cannot store the results: {0}")]
    Sink(String),
    /// A bug: a worker's thread ended before its time.
    #[error(
        "worker {worker} of {job} broke down: {says}; what was measured before is kept. This is a fault of Assay: \
         please report it with these words"
    )]
    WorkerPanicked {
        /// Of the job, from 1.
        worker: u32,
        /// The job, as the plan calls it.
        job: String,
        /// The words of the panic.
        says: String,
    },
}

impl RunError {
    /// Returns true if the run ends here although its results can still be kept.
    pub(crate) fn leaves_a_record(&self) -> bool {
        !matches!(self, Self::Sink(_))
    }
}

/// Stamps events with their time and hands them on.
pub(crate) struct Emitter<'e> {
    clock: Clock,
    sink: &'e mut Sink<'e>,
    sampler: Sampler,
}

impl<'e> Emitter<'e> {
    pub(crate) fn new(clock: Clock, sink: &'e mut Sink<'e>, sampler: Sampler) -> Self {
        Self { clock, sink, sampler }
    }

    pub(crate) fn clock(&self) -> Clock {
        self.clock
    }

    pub(crate) fn emit(&mut self, what: RunEvent) -> Result<(), RunError> {
        (self.sink)(Event { at_ns: self.clock.now_ns(), what }).map_err(RunError::Sink)
    }

    /// Returns the times since the last call in which nothing ran.
    pub(crate) fn gaps(&self) -> Vec<Gap> {
        self.sampler.gaps()
    }

    pub(crate) fn phase(&mut self, step: StepId, phase: Phase) -> Result<(), RunError> {
        self.emit(RunEvent::PhaseStarted { step, phase })
    }

    pub(crate) fn host_samples(&mut self) -> Result<(), RunError> {
        self.sampler.take().into_iter().try_for_each(|sample| self.emit(RunEvent::Host(Box::new(sample))))
    }
}
