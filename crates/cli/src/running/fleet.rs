//! Runs over several hosts: on the coordinator, and the part of an agent.

use std::sync::Arc;

use assay_analysis::Collector;
use assay_engine::StopSignal;
use assay_fleet::{FleetDone, FleetError, FleetOrder, RunHere};
use assay_runner::{Consequence, Follower, Order, Sinks};
use assay_store::Store;

use super::Done;
use super::following::Following;
use crate::exit::{Exit, Failed};
use crate::words::fleet::Fleet;

/// Runs an order here, or over the hosts of a fleet. `targets` are those of the command line.
pub(crate) fn execute_on(
    fleet: Option<&Fleet>,
    targets: &[String],
    order: Order,
    store: &Store,
) -> anyhow::Result<Done> {
    let Some(fleet) = fleet else { return super::execute(order, store) };
    let mut follower = Following::new(&order, None);
    let sinks = Sinks { store: Some(store), follower: &mut follower };
    let (bus, hosts) = (fleet.bus.clone(), fleet.hosts.clone());
    let order = FleetOrder { bus, hosts, targets: targets.to_vec(), order };
    let done = assay_fleet::run(&order, sinks);
    done.map(|done| of(done, follower)).map_err(meant)
}

/// Follows a run over several hosts whose coordinator has ended.
pub(crate) fn attach(run: &str, fleet: &Fleet, stop: &StopSignal, store: &Store) -> anyhow::Result<Done> {
    let mut follower = Following::attached(stop);
    let sinks = Sinks { store: Some(store), follower: &mut follower };
    let done = assay_fleet::attach(run, &fleet.bus, stop.clone(), sinks);
    done.map(|done| of(done, follower)).map_err(meant)
}

fn of(done: FleetDone, follower: Following) -> Done {
    let failed = |says: String| Failed::says(Exit::Errors, says).into();
    Done {
        collector: follower.into_collector().unwrap_or_else(|| Collector::new(&done.header)),
        header: done.header,
        label: done.label,
        truths: Vec::new(),
        failures: done.failures.into_iter().map(failed).collect(),
        is_stored: done.is_stored,
    }
}

/// Returns an error of a fleet with the exit code that it leads to.
fn meant(error: FleetError) -> anyhow::Error {
    match error {
        FleetError::Failed(_) => Failed::new(Exit::Errors, error).into(),
        FleetError::Interrupted | FleetError::InterruptedBy(_) => {
            Failed::new(Exit::Interrupted, error).into()
        }
        _ => error.into(),
    }
}

/// Returns how an agent runs what it is given: as this program runs what is typed.
pub(crate) fn part_of_agent() -> Arc<RunHere> {
    Arc::new(|order: Order, follower: &mut dyn Follower| {
        let refused = |error: &anyhow::Error| (Consequence::Refused, crate::message(error));
        let simulated = super::simulated_arrays(&order.targets).map_err(|error| refused(&error))?;
        let sinks = Sinks { store: None, follower };
        let done = assay_runner::run(order, &|request| simulated.open(request), sinks);
        done.map_err(|error| (error.consequence(), crate::message(&error.into())))
    })
}
