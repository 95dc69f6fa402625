//! What a collector keeps of a run that has ended, as data: its summary without reading its events again.
//!
//! An extract is stored beside the events when the run ends. It is the state of the [`Collector`] and not the summary,
//! so that rates, findings and charts are computed by the same functions as from the events, to the last digit.

use assay_record::{Outcome, RunHeader, StepId, Warning};
use serde::{Deserialize, Serialize};

use super::{Collector, StepState};

/// The state of a [`Collector`] after the last event of a run. A day of intervals takes some ten MiB as JSON.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct RunExtract {
    steps: Vec<(StepId, StepState)>,
    order: Vec<StepId>,
    current: Option<StepId>,
    latest: Option<StepId>,
    warnings: Vec<Warning>,
    outcome: Option<Outcome>,
    last_ns: u64,
}

impl RunExtract {
    /// The form that this version writes. It changes with what a [`Collector`] keeps, and with how it counts; an
    /// extract of another form is made again from the run's events.
    pub const VERSION: u32 = 4;

    /// Returns the collector of the run that `header` begins, as it was after the last event.
    pub fn collector(self, header: &RunHeader) -> Collector {
        Collector {
            header: header.clone(),
            steps: self.steps.into_iter().collect(),
            order: self.order,
            current: self.current,
            latest: self.latest,
            warnings: self.warnings,
            outcome: self.outcome,
            last_ns: self.last_ns,
        }
    }
}

impl Collector {
    /// Returns what is kept of a run that has ended: no event comes after it.
    pub fn extract(&self) -> RunExtract {
        let settled = |(id, state): (&StepId, &StepState)| {
            (*id, StepState { series: state.series.settled(), ..state.clone() })
        };
        RunExtract {
            steps: self.steps.iter().map(settled).collect(),
            order: self.order.clone(),
            current: self.current,
            latest: self.latest,
            warnings: self.warnings.clone(),
            outcome: self.outcome,
            last_ns: self.last_ns,
        }
    }
}
