//! Diagnose: the diagnoses that are stored, and the odds of one as they move, experiment by experiment.

use std::sync::Arc;

use assay_analysis::RunStatus;
use assay_report::html::escape;
use assay_report::{diagnosis, minute};
use assay_results::Stored;
use assay_store::{ListedRun, Reader, RunFilter, RunSlice, StoreError};
use axum::extract::{Extension, Query, State};
use axum::response::Response;

use crate::answer::{Refusal, html};
use crate::app::App;
use crate::page::{Page, Place};
use crate::run_id::checked_id;
use crate::visitor::{Fields, Visitor};

/// What the plan of every diagnosis is called first.
const PLAN: &str = "Diagnosis of ";
/// Most runs of such a name that are looked through, and how many at once: any plan may have the name.
const RUNS_MAX: usize = 2000;
const RUNS_AT_ONCE: usize = 200;
/// Diagnoses on the page.
const LISTED_MAX: usize = 50;
/// Seconds after which a browser without script asks for a diagnosis that goes on again.
const RELOAD_S: u32 = 5;

pub(crate) async fn page(
    State(app): State<Arc<App>>,
    Extension(visitor): Extension<Visitor>,
    Query(query): Query<Vec<(String, String)>>,
) -> Result<Response, Refusal> {
    let run = Fields::new(query).get("run").to_owned();
    if !run.is_empty() {
        checked_id(&run)?;
    }
    let new = match app.options.runs {
        Some(_) => "<p class=\"tools\"><a class=\"button\" href=\"/new/diagnosis\">New diagnosis</a></p>\n",
        None => "",
    };
    app.with_store(move |store| {
        let listed = diagnoses(store)?;
        let shown =
            Some(run).filter(|run| !run.is_empty()).or_else(|| listed.first().map(|run| run.row.run.clone()));
        let one = shown.map(|run| of_run(store, &run)).transpose()?;
        let goes_on = one.as_ref().is_some_and(|one| one.goes_on);
        let body = format!(
            "<h1>Diagnose</h1>\n{new}{}{}",
            one.map_or_else(
                || "<p>No diagnosis is stored yet. To make one: <code>assay diagnose TARGET</code></p>\n"
                    .to_owned(),
                |one| one.html
            ),
            list(&listed)
        );
        let page = Page::of(&visitor, "Diagnose", Place::Diagnose, &body);
        Ok(html(if goes_on { page.reloaded_without_script(RELOAD_S) } else { page }.text()))
    })
    .await
}

/// The diagnosis of a run.
struct Shown {
    html: String,
    goes_on: bool,
}

fn of_run(store: &Reader, run: &str) -> Result<Shown, Refusal> {
    let stored = Stored::read_extract(store, run)?;
    let goes_on = stored.summary.status == RunStatus::Running;
    let drawn = diagnosis::html(&stored.header, &stored.summary);
    if drawn.is_empty() && !(goes_on && stored.header.diagnosis.is_some()) {
        return Err(Refusal::not_found("This run is not a diagnosis."));
    }
    let targets: Vec<&str> =
        stored.header.targets.iter().map(|target| target.address.as_str()).take(1).collect();
    let state = if goes_on { "<span class=\"state running\">in progress</span>" } else { "" };
    let about = format!(
        "<p>{} on {}, {}: run <a class=\"nowrap\" href=\"/runs/{3}\">{3}</a> {state}</p>\n",
        escape(&stored.header.plan.name),
        escape(&targets.join(", ")),
        minute(stored.header.started_unix_ms),
        escape(run),
    );
    // Its parts come with the events of running runs, as on the page Now.
    let follow = match goes_on {
        true => format!(" id=\"runs\" data-live=\"/live\" data-reload=\"{}\"", escape(run)),
        false => String::new(),
    };
    let part = |name: &str, html: &str| {
        format!("<div class=\"part live-{name}\" id=\"{name}-{}\">{html}</div>\n", escape(run))
    };
    let status = if goes_on { part("status", "") + &part("step", "") } else { String::new() };
    let odds = part("odds", &drawn).replacen("<div ", "<div aria-live=\"polite\" ", 1);
    let html = format!("<div class=\"diagnosis\"{follow}>\n{about}{status}{odds}</div>\n");
    Ok(Shown { html, goes_on })
}

/// Returns the newest diagnoses, those that go on among them.
fn diagnoses(store: &Reader) -> Result<Vec<ListedRun>, StoreError> {
    let filter = RunFilter { plan: Some(PLAN.to_owned()), ..RunFilter::default() };
    let mut found = Vec::new();
    for skip in (0..RUNS_MAX).step_by(RUNS_AT_ONCE) {
        let runs = store.list(&filter, RunSlice { skip, limit: RUNS_AT_ONCE })?.runs;
        let is_last = runs.len() < RUNS_AT_ONCE;
        for run in runs {
            let is_one = match &run.digest {
                Some(digest) => digest.is_diagnosis,
                // The first experiment has not ended.
                None => run.row.is_running && store.header(&run.row.run)?.diagnosis.is_some(),
            };
            if is_one {
                found.push(run);
            }
            if found.len() == LISTED_MAX {
                return Ok(found);
            }
        }
        if is_last {
            break;
        }
    }
    Ok(found)
}

fn list(listed: &[ListedRun]) -> String {
    if listed.is_empty() {
        return String::new();
    }
    let row = |run: &ListedRun| {
        let verdict = run.digest.as_ref().and_then(|digest| digest.verdict.clone()).unwrap_or_default();
        format!(
            "<tr><td><a href=\"/diagnose?run={0}\">{0}</a></td><td>{1}</td><td class=\"w\">{2}</td><td \
             class=\"w\">{3}</td></tr>\n",
            escape(&run.row.run),
            minute(run.row.started_unix_ms),
            escape(run.row.targets.first().map_or("", String::as_str)),
            escape(&verdict)
        )
    };
    format!(
        "<h2>All diagnoses</h2>\n<div class=\"scroll\" tabindex=\"0\"><table class=\"list\">\n\
         <thead><tr><th>Run</th><th>Started</th>\
         <th>Target</th><th>Outcome</th></tr></thead>\n<tbody>\n{}</tbody></table></div>\n",
        listed.iter().map(row).collect::<String>()
    )
}
