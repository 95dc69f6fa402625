//! A run of the program: the order goes to the room `runner`, its events to the summary and to the display.

use std::collections::HashMap;

use assay_analysis::Collector;
use assay_record::RunHeader;
use assay_runner::{Consequence, Left, Order, RunnerError, Sinks};
use assay_sim::{SimulatedArrays, Truth};
use assay_spec::Address;
use assay_store::Store;
use assay_target::STOP_LIMIT;

use crate::exit::{Exit, Failed};
use crate::output::terminal::note;
use crate::signals::terminal_is_closed;

mod experiments;
pub(crate) mod fleet;
mod following;
pub(crate) mod tell;
mod truth;
mod ways;

pub(crate) use experiments::Budget;
use following::Following;

/// A run that has ended.
pub(crate) struct Done {
    pub(crate) header: RunHeader,
    /// As it is stored.
    pub(crate) label: Option<String>,
    pub(crate) collector: Collector,
    /// What simulated arrays saw, by step.
    pub(crate) truths: Vec<Truth>,
    /// Failures of the run itself, of the store, and of closing the targets. The collector has what was measured all
    /// the same.
    pub(crate) failures: Vec<anyhow::Error>,
    /// Whether all of it is in the store.
    pub(crate) is_stored: bool,
}

impl Done {
    /// Reports the failures, and returns the exit code of the run: that of `printed` where the result could be printed.
    pub(crate) fn end(mut self, printed: anyhow::Result<Exit>) -> anyhow::Result<Exit> {
        let exit = match printed {
            Ok(exit) => exit,
            // Nobody is there to read the result; it is stored, and so is the reason.
            Err(_) if terminal_is_closed() => Exit::Interrupted,
            Err(error) => {
                self.failures.push(error);
                Exit::Errors
            }
        };
        let Some(last) = self.failures.pop() else { return Ok(exit) };
        self.failures.iter().for_each(|error| note!("error: {}", crate::message(error)));
        Err(last)
    }
}

/// Runs an order.
pub(crate) fn execute(order: Order, store: &Store) -> anyhow::Result<Done> {
    follow(order, store, None)
}

/// Runs the experiments of a diagnosis.
pub(crate) fn experiment(order: Order, store: &Store, budget: Budget) -> anyhow::Result<Done> {
    follow(order, store, Some(budget))
}

fn follow(order: Order, store: &Store, budget: Option<Budget>) -> anyhow::Result<Done> {
    let simulated = simulated_arrays(&order.targets)?;
    let mut follower = Following::new(&order, budget);
    let sinks = Sinks { store: Some(store), follower: &mut follower };
    let done = assay_runner::run(order, &|request| simulated.open(request), sinks).map_err(meant)?;
    say_left(&done.left);
    Ok(Done {
        collector: follower.into_collector().unwrap_or_else(|| Collector::new(&done.header)),
        header: done.header,
        label: done.label,
        truths: simulated.truths(),
        failures: done.failures.into_iter().map(meant).collect(),
        is_stored: done.is_stored,
    })
}

/// Returns an error of the runner with the exit code that it leads to.
pub(crate) fn meant(error: RunnerError) -> anyhow::Error {
    match error.consequence() {
        Consequence::Refused => error.into(),
        Consequence::Failed => Failed::new(Exit::Errors, error).into(),
        Consequence::Interrupted => Failed::new(Exit::Interrupted, error).into(),
    }
}

/// Says what closing the targets found.
pub(crate) fn say_left(left: &Left) {
    if left.is_unanswered {
        note!(
            "warning: a target did not answer within {} s when it was to be closed: the run is over, but the next one \
             refuses the file or fills it again",
            STOP_LIMIT.as_secs()
        );
    }
    for warning in &left.warnings {
        note!("{}", format!("{} {}", warning.says, warning.next).trim_end());
    }
    for kept in &left.kept {
        note!("kept {}: {}", kept.name, kept.why);
    }
}

/// Reads the arrays of all simulated targets, so that a mistake in a file is reported before anything runs.
pub(crate) fn simulated_arrays(addresses: &[Address]) -> anyhow::Result<SimulatedArrays> {
    let mut arrays = HashMap::new();
    for address in addresses {
        if let Address::Sim { array } = address {
            arrays.insert(array.clone(), crate::words::array::array(array)?);
        }
    }
    Ok(SimulatedArrays::new(arrays))
}
