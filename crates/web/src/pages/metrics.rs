//! `/metrics`: the last values, what runs now, faults and baselines, for Prometheus.

use std::sync::Arc;

use assay_analysis::Estimate;
use assay_analysis::compare::{Change, Effective, effective};
use assay_interop::results::openmetrics::{
    BaselineFigure, CheckedTarget, LastValue, LiveStep, Served, Settings, StoredRuns, served,
};
use assay_record::{FigureDigest, Outcome};
use assay_report::held::Held;
use assay_results::{TargetHistory, TargetRuns};
use assay_store::{Checked, ListedRun, Look, Reader, RunFilter, RunState, StoreError};
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
    /// The run, with its digest.
    run: Option<Arc<ListedRun>>,
    held: Arc<Held>,
}

pub(crate) async fn page(State(app): State<Arc<App>>) -> Result<Response, Refusal> {
    let shared = Arc::clone(&app);
    app.with_store(move |store| Ok(typed(text(&shared, store)?, OPENMETRICS))).await
}

fn text(app: &App, store: &Reader) -> Result<String, Refusal> {
    let addresses = store.target_addresses()?;
    let look = app.known.look(store)?;
    let targets: Vec<Arc<TargetHistory>> = addresses
        .iter()
        .map(|address| app.known.read(store, &look, address, RUNS_OF_MANY))
        .collect::<Result<_, _>>()?;
    let checks = store.checks()?;
    let found: Vec<(&Checked, Found)> = checks.iter().map(|check| (check, Found::of(check))).collect();
    let live = app.live.steps(store)?;
    let mut helds: Vec<HeldPlan> = Vec::new();
    for of in &targets {
        for (baseline, held) in plans_held(app, store, &of.target)? {
            let (target, plan) = (baseline.address, baseline.plan);
            let Some(held) = held else { continue };
            // The baseline is the first side, the run the second.
            let id = held.comparison.sides.get(1).and_then(|side| side.runs.first());
            let mut run = of.target.runs.iter().find(|run| Some(&run.row.run) == id).cloned();
            if let Some(run) = run.as_mut().filter(|run| run.digest.is_none()) {
                let digest = store.digest(&run.row.run)?;
                *run = Arc::new(ListedRun { digest, ..ListedRun::clone(run) });
            }
            helds.push(HeldPlan { target, plan, run, held });
        }
    }
    let stored = stored(store, &look)?;
    Ok(served(&Served {
        last: targets.iter().flat_map(|of| last(&of.target)).collect(),
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
        settings: settings(last.run, last.effective),
        started_unix_ms: last.run.row.started_unix_ms,
        test: last.test,
    })
}

/// How a test of a run was measured.
fn settings(run: &ListedRun, Effective { depth, cached, path }: Effective) -> Settings<'_> {
    let changed = run.digest.as_ref().map_or("", |digest| digest.changed.as_str());
    Settings { changed, is_quick: changed.starts_with("--quick"), depth, cached, path }
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
        let settings = held.run.as_ref().and_then(|run| {
            let digest = run.digest.as_ref()?;
            let of = digest.tests.iter().find(|of| of.test == test.test && of.step == test.step)?;
            Some(settings(run, effective(digest, of)))
        });
        let settings = settings.unwrap_or_default();
        let mut add = |figure, ratio: Estimate, change| {
            figures.push(BaselineFigure {
                target: &held.target,
                plan: &held.plan,
                test: &test.test,
                step: &test.step,
                settings: settings.clone(),
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
fn stored(store: &Reader, look: &Look) -> Result<[(&'static str, usize); 5], StoreError> {
    let unended = |state| {
        let filter = RunFilter { state: Some(state), ..RunFilter::default() };
        store.matching(&filter)
    };
    Ok([
        ("done", look.ended(Outcome::Done)),
        ("failed", look.ended(Outcome::Failed)),
        ("interrupted", look.ended(Outcome::Interrupted)),
        ("running", unended(RunState::Running)?),
        ("partial", unended(RunState::Partial)?),
    ])
}
