//! The run before a run: the highest rates that the plan takes shares of (`rate = "max"`).

use anyhow::Context as _;
use assay_analysis::RunSummary;
use assay_engine::StopSignal;
use assay_spec::units::PerSecond;
use assay_spec::{Maxima, Plan, Role};
use assay_store::Store;

use crate::args::IoArgs;
use crate::exit::{Exit, Failed};
use crate::run::{Done, Order, execute};
use crate::terminal::note;

/// Note of the run that searches.
pub(crate) const SEARCH_NOTE: &str = "search for the maximum of the plan that ran next";

/// What the search found.
pub(crate) struct Found {
    pub(crate) maxima: Maxima,
    /// For the notes of the plan.
    pub(crate) says: String,
}

/// Runs the search; `None` if somebody stopped it.
pub(crate) fn find(
    order: Order<'_>,
    io: &IoArgs,
    store: &Store,
    stop: &StopSignal,
) -> anyhow::Result<Option<Found>> {
    note!("searching for the highest rate: a closed loop first, then the load points as shares of it");
    let mut done = execute(order, io, store, stop)?;
    if let Some(error) = done.failures.pop() {
        return Err(error);
    }
    if stop.is_set() {
        return Ok(None);
    }
    let found = found(&done).map_err(|error| Failed::new(Exit::Errors, error))?;
    note!("{}", found.says);
    Ok(Some(found))
}

fn found(done: &Done) -> anyhow::Result<Found> {
    let summary = done.collector.summary();
    let mut maxima = Vec::new();
    let mut says = Vec::new();
    for (test, step, rate) in rates(&done.header.plan, &summary) {
        let name = format!("{test} {step}");
        let rate = rate.with_context(|| {
            format!("{}: no I/O completed in the search for the maximum", name.trim_end())
        })?;
        says.push(format!("{}: {rate:.0} IOPS", name.trim_end()));
        maxima.push((test, step, PerSecond(rate)));
    }
    let says = format!("Maximum found in run {}: {}.", done.header.run, says.join("; "));
    Ok(Found { maxima: Maxima::Found(maxima), says })
}

/// Test, label and rate of each load point that was sought; no rate where nothing completed.
fn rates(plan: &Plan, summary: &RunSummary) -> Vec<(String, String, Option<f64>)> {
    let mut rates = Vec::new();
    for (test, of) in (0..).zip(&plan.tests).filter(|(_, test)| test.role == Role::Measured) {
        for (step, planned) in (0..).zip(&of.steps) {
            let found = summary.steps.iter().find(|s| (s.id.test, s.id.step) == (test, step));
            let rate = found.map(|s| s.total.iops).filter(|iops| *iops > 0.0);
            rates.push((of.name.clone(), planned.label(), rate));
        }
    }
    rates
}
