//! Who follows a run while it goes on.

use assay_engine::RunTargets;
use assay_prepare::PrepareProgress;
use assay_record::{DiagnosisFacts, Event, Gap, RunHeader, StepId, Warning};
use assay_spec::Plan;

use crate::keep::{Keeper, StoreNews};

/// What a run is at; it decides what a stop waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// Examining targets. Nothing has changed.
    Inspecting,
    /// Creating, locking and marking targets, which have passed inspection.
    Opening,
    /// Filling targets.
    Filling,
    /// Measuring.
    Measuring,
    /// Closing targets, and removing files where that was asked for.
    Closing,
    /// No target is waited for any more.
    Over,
}

/// The experiments of a diagnosis.
#[derive(Debug)]
pub struct Experiments {
    /// The plan whose steps are the experiments.
    pub plan: Plan,
    /// For the header of the run.
    pub facts: DiagnosisFacts,
    /// The targets of that plan: those of the order, and behind them other ways to the first.
    pub targets: RunTargets,
}

/// Hears what happens in a run, and answers what the runner does not judge. All methods are called by the thread that
/// called [`run`](crate::run); none does anything unless it is given. A slow one delays the next event, and no I/O.
pub trait Follower {
    /// A stage begins.
    fn stage(&mut self, _stage: Stage) {}

    /// Every target has passed inspection, and nothing has changed. False calls the run off. May take its time.
    fn may_open(&mut self) -> bool {
        true
    }

    /// A target is being filled; called several times a second.
    fn filling(&mut self, _progress: &PrepareProgress) {}

    /// All targets are filled, or filling failed. Returns what the record shall say of times at which this process
    /// stood still.
    fn filled(&mut self, _gaps: &[Gap]) -> Option<Warning> {
        None
    }

    /// Returns the experiments of a diagnosis on the plan's first step. Called once, on filled targets and before there
    /// is a header. `None` runs the plan as it is.
    fn experiments(&mut self, _plan: &Plan, _targets: &RunTargets) -> Option<Experiments> {
        None
    }

    /// The header is whole; the first event follows.
    fn begins(&mut self, _header: &RunHeader) {}

    /// Takes an event, before it is stored. Returns true if the present step knows what its plan wants to know.
    fn event(&mut self, _event: &Event) -> bool {
        false
    }

    /// An event is stored, or in the file in the store's place. What is kept beside the events is kept now.
    fn kept(&mut self, _event: &Event, _keeper: &Keeper) {}

    /// Returns true if the sweep of a test is steady, so that its other rounds are left out.
    fn is_steady(&self, _test: u32) -> bool {
        false
    }

    /// Another step follows; no load runs. May take its time.
    fn between(&mut self) {}

    /// Returns the next experiment of a diagnosis; `None` ends it. May take its time: no load runs.
    fn next(&mut self) -> Option<StepId> {
        None
    }

    /// The run is about to end. Returns what the record shall say of that.
    fn ends(&mut self) -> Option<Warning> {
        None
    }

    /// A run over several hosts waits for some of them, or for its server, for long: a line for who looks on.
    fn waits(&mut self, _says: &str) {}

    /// The store no longer takes the run, which goes on, or takes it again.
    fn store_changed(&mut self, _news: &StoreNews) {}
}
