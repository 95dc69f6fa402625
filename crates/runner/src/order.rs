//! What is to be run.

use assay_engine::{CommonStart, StopSignal};
use assay_prepare::PrepareOptions;
use assay_record::{Event, Repetition, RunSetting, StatedMemory};
use assay_spec::{Address, Plan};

/// A plan, its targets, and what the store keeps with the run.
#[derive(Debug)]
pub struct Order {
    /// Id of the run; `None`: a new one of the store.
    pub run: Option<String>,
    /// What to do. Of a diagnosis: the load, and behind it what else the targets are prepared for.
    pub plan: Plan,
    /// Where I/O goes; a plan counts its targets in this order.
    pub targets: Vec<Address>,
    /// How steps follow each other.
    pub steps: Steps,
    /// Events of steps that an earlier run completed, in their order: this run begins with them, and does not measure
    /// those steps again.
    pub kept: Vec<Event>,
    /// How the targets are treated.
    pub options: PrepareOptions,
    /// Whether the files that Assay created are removed after the run.
    pub remove: bool,
    /// Whether the CPUs are kept from idling.
    pub keep_awake: bool,
    /// CPUs to which workers are bound, in turn; if empty, each worker is placed by its target.
    pub cpus: Vec<usize>,
    /// Requests the stop of the run.
    pub stop: StopSignal,
    /// When the load of each step begins.
    pub start: CommonStart,
    /// Label of the run.
    pub label: Option<String>,
    /// Note of the run.
    pub note: Option<String>,
    /// Text of the array file of the targets.
    pub array: Option<String>,
    /// Memory that may answer in place of the disks.
    pub stated: StatedMemory,
    /// What surrounds the run, as far as it is known before the run.
    pub setting: RunSetting,
    /// Its turn, where several runs belong together.
    pub turn: Option<Turn>,
}

/// How the steps of a run follow each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Steps {
    /// As the plan lists them, without the rounds of a sweep after its steady state.
    Planned,
    /// Experiments on the plan's first step, as the [`Follower`](crate::Follower) chooses them.
    Diagnosis,
}

/// The turn of a run among several that belong together.
#[derive(Debug, Clone)]
pub struct Turn {
    /// Id of the first run; `None` for the first itself.
    pub group: Option<String>,
    /// Which side, from 0.
    pub side: u32,
    /// Number of sides.
    pub sides: usize,
    /// Which repetition, from 1.
    pub number: u32,
    /// Number of repetitions that were asked for.
    pub of: u32,
}

impl Turn {
    /// Its place in the record of the run of that id.
    pub fn repetition(&self, run: &str) -> Repetition {
        let group = self.group.clone().unwrap_or_else(|| run.to_owned());
        Repetition { group, side: self.side, number: self.number, of: self.of }
    }

    /// The label that its side's repetitions share; sides that take turns have one each.
    fn label(&self, given: Option<String>, group: &str) -> String {
        let name = given.unwrap_or_else(|| format!("repeat-{group}"));
        if self.sides > 1 { format!("{name}-{}", self.side + 1) } else { name }
    }
}

/// Returns the label of a run as it is stored.
pub fn label_of(given: Option<String>, turn: Option<&Turn>, run: &str) -> Option<String> {
    match turn {
        Some(turn) => {
            let group = turn.group.as_deref().unwrap_or(run);
            Some(turn.label(given, group))
        }
        None => given,
    }
}
