//! The simulated array's own counts of a step, beside the measurement.

use assay_analysis::{RunSummary, StepSummary};
use assay_record::RunHeader;
use assay_sim::{Truth, TruthStats};
use serde_json::{Value, json};

/// Steps that measured something with the truth of each; `None` where arrays and steps are not one to one.
fn pairs<'t>(
    header: &RunHeader,
    summary: &'t RunSummary,
    truths: &'t [Truth],
) -> Option<Vec<(&'t StepSummary, &'t Truth, TruthStats)>> {
    let measured: Vec<&StepSummary> = summary.steps.iter().filter(|s| s.total.ops > 0).collect();
    if truths.len() != measured.len() {
        return None;
    }
    let seen = |(step, truth): (&'t StepSummary, &'t Truth)| {
        let plan = header.plan.tests.get(step.id.test as usize)?.steps.get(step.id.step as usize)?;
        Some((step, truth, truth.counted(header.plan.semantics, plan, step.seconds)))
    };
    measured.into_iter().zip(truths).map(seen).collect()
}

/// Returns truth beside measurement, a line for each step.
pub(crate) fn text(header: &RunHeader, summary: &RunSummary, truths: &[Truth]) -> String {
    let Some(pairs) = pairs(header, summary, truths) else {
        return truths.iter().map(|t| format!("sim:{} saw {}\n", t.array, t.all().says())).collect();
    };
    let ratio = |got: f64, truth: f64| if truth > 0.0 { got / truth } else { 0.0 };
    let line = |(step, truth, seen): &(&StepSummary, &Truth, TruthStats)| {
        let p99_ms = step.total.service.quantile_ns(0.99).unwrap_or(0.0) / 1e6;
        format!(
            "sim:{} saw {} in {}: measured / truth = {:.4} in IOPS, {:.4} in p99\n",
            truth.array,
            seen.says(),
            step.test,
            ratio(step.total.iops, seen.iops()),
            ratio(p99_ms, seen.p99_ms)
        )
    };
    pairs.iter().map(line).collect()
}

/// The same for the JSON document.
pub(crate) fn json(header: &RunHeader, summary: &RunSummary, truths: &[Truth]) -> Value {
    let value = |array: &str, seen: &TruthStats| {
        json!({
            "array": array,
            "ops": seen.ios,
            "seconds": seen.seconds,
            "iops": seen.iops(),
            "mean_us": seen.mean_ms * 1e3,
            "p99_us": seen.p99_ms * 1e3,
        })
    };
    match pairs(header, summary, truths) {
        Some(pairs) => pairs.iter().map(|(_, truth, seen)| value(&truth.array, seen)).collect(),
        None => truths.iter().map(|t| value(&t.array, &t.all())).collect(),
    }
}
