//! The run before a run: the highest rates that the plan takes shares of (`rate = "max"`).

use anyhow::Context as _;
use assay_analysis::RunSummary;
use assay_record::RunHeader;
use assay_spec::units::PerSecond;
use assay_spec::{Maxima, Plan, Role};

/// Note of the run that searches.
pub(crate) const SEARCH_NOTE: &str = "search for the maximum of the plan that ran next";

/// What the search found.
pub(crate) struct Found {
    pub(crate) maxima: Maxima,
    /// For the notes of the plan.
    pub(crate) says: String,
}

/// Returns what a search found.
///
/// # Errors
/// When a load point completed no I/O.
pub(crate) fn found(header: &RunHeader, summary: &RunSummary) -> anyhow::Result<Found> {
    let mut maxima = Vec::new();
    let mut says = Vec::new();
    for (test, step, rate) in rates(&header.plan, summary) {
        let name = format!("{test} {step}");
        let rate = rate.with_context(|| {
            format!("{}: no I/O completed in the search for the maximum", name.trim_end())
        })?;
        says.push(format!("{}: {rate:.0} IOPS", name.trim_end()));
        maxima.push((test, step, PerSecond(rate)));
    }
    let says = format!("Maximum found in run {}: {}.", header.run, says.join("; "));
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
