//! `/metrics`: the last values, what runs now, faults and baselines, for Prometheus.

use std::sync::Arc;

use assay_analysis::Estimate;
use assay_analysis::compare::Change;
use assay_interop::results::openmetrics::{
    BaselineFigure, CheckedTarget, LastValue, LiveStep, Served, StoredRuns, served,
};
use assay_record::{FigureDigest, Outcome};
use assay_report::held::Held;
use assay_results::TargetRuns;
use assay_store::{Checked, Reader, RunFilter, RunState, StoreError};
use axum::extract::State;
use axum::response::Response;

use super::targets::{Found, RUNS_OF_MANY, plans_held};
use crate::answer::{Refusal, typed};
use crate::app::App;
use crate::live::LiveSummary;

/// Media type of OpenMetrics 1.0.
const OPENMETRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// A run against its baseline.
struct HeldPlan {
    target: String,
    plan: String,
    held: Arc<Held>,
}

pub(crate) async fn page(State(app): State<Arc<App>>) -> Result<Response, Refusal> {
    let shared = Arc::clone(&app);
    app.with_store(move |store| Ok(typed(text(&shared, store)?, OPENMETRICS))).await
}

fn text(app: &App, store: &Reader) -> Result<String, Refusal> {
    let addresses = store.target_addresses()?;
    let targets: Vec<TargetRuns> = addresses
        .iter()
        .map(|address| TargetRuns::read(store, address, RUNS_OF_MANY))
        .collect::<Result<_, _>>()?;
    let checks = store.checks()?;
    let found: Vec<(&Checked, Found)> = checks.iter().map(|check| (check, Found::of(check))).collect();
    let live = app.live.steps(store)?;
    let mut helds: Vec<HeldPlan> = Vec::new();
    for target in &targets {
        for (baseline, held) in plans_held(app, store, target)? {
            let (target, plan) = (baseline.address, baseline.plan);
            helds.extend(held.map(|held| HeldPlan { target, plan, held }));
        }
    }
    let stored = stored(store)?;
    Ok(served(&Served {
        last: targets.iter().flat_map(last).collect(),
        live: live.iter().map(live_step).collect(),
        checked: found.iter().map(|(check, found)| checked(check, found)).collect(),
        baselines: helds.iter().flat_map(figures).collect(),
        stored: stored.iter().map(|(status, count)| StoredRuns { status, count: *count }).collect(),
    }))
}

fn last(target: &TargetRuns) -> impl Iterator<Item = LastValue<'_>> {
    target.last().into_iter().map(move |last| LastValue {
        target: &target.address,
        targets: last.run.row.targets.len(),
        plan: &last.run.row.name,
        changed: last.run.digest.as_ref().map_or("", |digest| digest.changed.as_str()),
        is_quick: last.run.digest.as_ref().is_some_and(|digest| digest.changed.starts_with("--quick")),
        depth: last.effective.depth,
        cached: last.effective.cached,
        path: last.effective.path.clone(),
        started_unix_ms: last.run.row.started_unix_ms,
        test: last.test,
    })
}

fn live_step(live: &LiveSummary) -> LiveStep<'_> {
    let second = live.step.series.last();
    LiveStep {
        run: &live.header.run,
        target: live.header.targets.first().map_or("", |target| target.address.as_str()),
        plan: &live.header.plan.name,
        test: &live.step.test,
        step: &live.step.step,
        iops: second.map_or(0.0, |second| second.iops),
        mib_per_s: second.map_or(0.0, |second| second.mib_per_s),
        p50_us: second.and_then(|second| second.p50_us),
        p99_us: second.and_then(|second| second.p99_us),
        errors: second.map_or(0, |second| second.errors),
    }
}

fn checked<'s>(check: &'s Checked, found: &Found) -> CheckedTarget<'s> {
    CheckedTarget {
        target: &check.address,
        checked_unix_ms: check.checked_unix_ms,
        faults: found.faults.len(),
        size_bytes: found.size_bytes,
        free_bytes: found.free_bytes,
    }
}

fn figures(held: &HeldPlan) -> Vec<BaselineFigure<'_>> {
    let mut figures = Vec::new();
    for test in &held.held.comparison.tests {
        let cell = test.cells.get(1).and_then(Option::as_ref);
        let Some(against) = cell.and_then(|cell| cell.against.as_ref()) else { continue };
        let mut add = |figure, ratio: Estimate, change| {
            figures.push(BaselineFigure {
                target: &held.target,
                plan: &held.plan,
                test: &test.test,
                step: &test.step,
                figure,
                ratio: FigureDigest { value: ratio.value, lo: ratio.lo, hi: ratio.hi },
                is_worse: change == Change::Slower,
            });
        };
        add("iops", against.iops, against.change);
        for (figure, judged) in [("p50", against.p50), ("p99", against.p99)] {
            if let Some(judged) = judged {
                add(figure, judged.ratio, judged.change);
            }
        }
    }
    figures
}

/// Returns the number of runs by how they ended.
fn stored(store: &Reader) -> Result<Vec<(&'static str, usize)>, StoreError> {
    use Outcome::{Done, Failed, Interrupted};
    [
        ("done", RunState::Ended(Done)),
        ("failed", RunState::Ended(Failed)),
        ("interrupted", RunState::Ended(Interrupted)),
        ("running", RunState::Running),
        ("partial", RunState::Partial),
    ]
    .into_iter()
    .map(|(status, state)| {
        let filter = RunFilter { state: Some(state), ..RunFilter::default() };
        Ok((status, store.matching(&filter)?))
    })
    .collect()
}
