//! The output of a run: events with their time, passed to a sink; and the reasons why they may stop.

use assay_host::Sampler;
use assay_record::{Event, Gap, Phase, RunEvent, StepId};
use assay_target::OpenError;
use thiserror::Error;

use crate::clock::Clock;

/// Receives the events of a run; an error (for example, results that cannot be stored) ends the run.
pub type Sink<'s> = dyn FnMut(Event) -> Result<(), String> + 's;

/// Why a run ended without its results.
#[derive(Debug, Error)]
#[expect(missing_docs, reason = "the message of a variant says what its fields are")]
pub enum RunError {
    /// A target could not be opened.
    #[error("{source}")]
    Open {
        #[source]
        source: OpenError,
    },
    /// The sink failed.
    #[error("cannot store the results: {0}")]
    Sink(String),
    /// A bug: a worker thread panicked.
    #[error(
        "worker {worker} of {job} broke down: {says}; what was measured before is kept. This is a fault of Assay: \
         please report it with these words"
    )]
    WorkerPanicked {
        /// Number of the worker in its job, from 1.
        worker: u32,
        /// Name of the job in the plan.
        job: String,
        /// Message of the panic.
        says: String,
    },
}

impl RunError {
    /// Returns true if the run ends here although its results can still be stored.
    pub(crate) fn leaves_a_record(&self) -> bool {
        !matches!(self, Self::Sink(_))
    }
}

/// Adds the time to events and passes them on.
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

    /// Returns the gaps since the last call.
    pub(crate) fn gaps(&self) -> Vec<Gap> {
        self.sampler.gaps()
    }

    /// Emits the start of a phase, which is noticed a moment after it.
    pub(crate) fn phase(&mut self, step: StepId, phase: Phase, at_ns: u64) -> Result<(), RunError> {
        (self.sink)(Event { at_ns, what: RunEvent::PhaseStarted { step, phase } }).map_err(RunError::Sink)
    }

    pub(crate) fn host_samples(&mut self) -> Result<(), RunError> {
        self.sampler.take().into_iter().try_for_each(|sample| self.emit(RunEvent::Host(Box::new(sample))))
    }
}
