//! A run: its report, and parts of its time drawn again.

use std::sync::Arc;

use assay_analysis::{RunStatus, RunSummary};
use assay_report::html::{self as report, Span, TimeRange, escape};
use assay_results::{read_extract_held, status, summary_stored};
use assay_store::{Reader, RunRow};
use axum::extract::{Extension, Path, Query, State};
use axum::response::Response;
use serde::Deserialize;

use crate::answer::{Refusal, html, see_other, typed};
use crate::app::App;
use crate::page::{Page, Place};
use crate::run_id::checked_id;
use crate::visitor::Visitor;

/// A part of the time of a test, as a page asks for it.
#[derive(Debug, Clone, Copy, Deserialize)]
pub(crate) struct Part {
    #[serde(default)]
    test: u32,
    from: Option<f64>,
    to: Option<f64>,
}

/// How much of the time the charts of a run that goes on show.
#[derive(Debug, Deserialize)]
pub(crate) struct Spanned {
    span: Option<String>,
}

impl Part {
    fn range(self) -> Result<Option<TimeRange>, Refusal> {
        let (Some(from_s), Some(to_s)) = (self.from, self.to) else { return Ok(None) };
        // What is not a number is neither.
        if from_s.is_finite() && to_s.is_finite() && from_s < to_s {
            return Ok(Some(TimeRange { from_s, to_s }));
        }
        Err(Refusal::bad("The end of the period must be after its start."))
    }
}

pub(crate) async fn page(
    State(app): State<Arc<App>>,
    Extension(visitor): Extension<Visitor>,
    Path(run): Path<String>,
    Query(part): Query<Part>,
    Query(spanned): Query<Spanned>,
) -> Result<Response, Refusal> {
    checked_id(&run)?;
    let range = part.range()?;
    let span = super::now::span_named(spanned.span.as_deref());
    let shared = Arc::clone(&app);
    app.with_store(move |store| {
        let row = store.row(&run)?;
        let zoomed = range.map(|range| zoomed(&shared, store, &run, part.test, range)).transpose()?;
        let (report, live) = match row.is_running {
            true => (report_of(store, &run)?.into(), live(&shared, store, &run, (&visitor, span))?),
            // What the report says beside the run's own events may have changed.
            false => {
                let key = format!("{row:?} {:?}", store.baselines()?);
                (shared.report(&key, || report_of(store, &run))?, String::new())
            }
        };
        let changed = store.digest(&run)?.map(|digest| digest.changed).unwrap_or_default();
        let keys = store.target_keys(&row.run, row.targets.iter().map(String::as_str))?;
        let buttons = match row.is_running {
            true => String::new(),
            false => {
                let of = (row.name.as_str(), keys.as_slice(), changed.as_str());
                super::new_run::buttons(shared.options.runs.as_ref(), of)
            }
        };
        let baselines = store.baselines()?;
        let has_baseline = baselines.iter().any(|of| of.plan == row.name && keys.contains(&of.address));
        let change = match visitor.csrf() {
            Some(_) => super::edit::forms(&row, &keys, &baselines, &visitor),
            None => String::new(),
        };
        let report = report::with_buttons(&report, &buttons);
        let body =
            format!("{live}{}", body(&row, &report, &zoomed.unwrap_or_default(), &change, has_baseline));
        let title = format!("{} · {run}", row.name);
        let page = Page::of(&visitor, &title, Place::Runs, &body);
        Ok(html(if row.is_running { page.reloaded_without_script(5) } else { page }.text()))
    })
    .await
}

/// Returns the report of a run, whose parts can be folded.
fn report_of(store: &Reader, run: &str) -> Result<String, Refusal> {
    let stored = read_extract_held(store, run)?;
    let body = report::body(&stored.header, &stored.summary, &stored.findings, stored.meta());
    Ok(report::folded(&report::with_moments(&body)))
}

/// Returns what moves of a run that goes on.
fn live(app: &App, store: &Reader, run: &str, (visitor, span): (&Visitor, Span)) -> Result<String, Refusal> {
    let frame = app.live.frame(store)?;
    let query = if span == Span::Whole { "&amp;span=whole" } else { "" };
    Ok(frame.runs.iter().find(|shown| shown.run == run).map_or_else(String::new, |shown| {
        format!(
            "{1}<div id=\"runs\" data-live=\"/live?run={0}{query}\" data-reload=\"{0}\">\n{2}</div>\n",
            escape(run),
            super::now::span_switch(&format!("/runs/{run}"), span),
            super::now::article(app, shown, visitor, span)
        )
    }))
}

/// Returns a part of the time of a test, for a page without script.
fn zoomed(app: &App, store: &Reader, run: &str, test: u32, range: TimeRange) -> Result<String, Refusal> {
    let summary = summary(app, store, run)?;
    let drawn = report::over_time(&summary, test, Some(range));
    Ok(drawn.map_or_else(String::new, |drawn| {
        format!(
            "<section aria-label=\"Selected period\"><h2>From {} to {} s</h2>\n{drawn}<p><a href=\"/runs/{}\">The \
             whole run</a></p></section>\n",
            range.from_s,
            range.to_s,
            escape(run)
        )
    }))
}

fn body(row: &RunRow, report: &str, zoomed: &str, change: &str, has_baseline: bool) -> String {
    let run = escape(&row.run);
    let status = match status(row) {
        RunStatus::Partial => {
            "<p class=\"banner\">This run was killed: its process ended before the run did. The results up to then \
             are kept.</p>\n"
        }
        RunStatus::Interrupted => {
            "<p class=\"banner\">This run was stopped. The results up to then are kept.</p>\n"
        }
        _ => "",
    };
    let lost = row.lost.as_ref().map_or_else(String::new, |why| {
        format!("<p class=\"banner\">Its last events could not be stored: {}</p>\n", escape(why))
    });
    let baseline =
        format!("<a href=\"/compare?r=baseline-of:{run}&amp;r={run}\">Compare with the baseline</a> ");
    let baseline = if has_baseline { &baseline } else { "" };
    let tools = format!(
        "<p class=\"tools\"><a href=\"/compare?r={run}\">Compare with…</a> {baseline}<a href=\"/runs\">All \
         runs</a> <a href=\"/methods\">All methods</a> {}</p>\n",
        super::files::links(&format!("/runs/{run}/file?"))
    );
    format!(
        "{status}{lost}{tools}{change}{zoomed}<div class=\"report\" data-run=\"{run}\">\n{report}</div>\n"
    )
}

/// Answers with a part of the time of a test, drawn again.
pub(crate) async fn over_time(
    State(app): State<Arc<App>>,
    Path(run): Path<String>,
    Query(part): Query<Part>,
) -> Result<Response, Refusal> {
    of_part(app, run, part, |summary, test, range| report::over_time(summary, test, range).map(html)).await
}

/// Answers with the values of the same part.
pub(crate) async fn values(
    State(app): State<Arc<App>>,
    Path(run): Path<String>,
    Query(part): Query<Part>,
) -> Result<Response, Refusal> {
    of_part(app, run, part, |summary, test, range| {
        let values = report::values_over_time(summary, test, range)?;
        Some(typed(values.to_string(), "application/json"))
    })
    .await
}

/// Answers with what `answer` makes of a part of a run; it returns `None` where nothing was measured.
async fn of_part(
    app: Arc<App>,
    run: String,
    part: Part,
    answer: impl FnOnce(&RunSummary, u32, Option<TimeRange>) -> Option<Response> + Send + 'static,
) -> Result<Response, Refusal> {
    checked_id(&run)?;
    let range = part.range()?;
    let shown = Arc::clone(&app);
    app.with_store(move |store| {
        let summary = summary(&shown, store, &run)?;
        answer(&summary, part.test, range).ok_or_else(nothing_there)
    })
    .await
}

fn nothing_there() -> Refusal {
    Refusal::not_found("Nothing was measured in that period.")
}

/// Returns what a run measured; of one that goes on without reading all of it again.
fn summary(app: &App, store: &Reader, run: &str) -> Result<Arc<RunSummary>, Refusal> {
    if let Some(summary) = app.live.summary(run) {
        return Ok(Arc::new(summary));
    }
    let read = || Ok(summary_stored(store, run, &store.header(run)?)?);
    // A removed run is not shown from memory.
    if store.row(run)?.is_running { read().map(Arc::new) } else { app.summary(run, read) }
}

/// Asks the process of a run to stop.
pub(crate) async fn stop(State(app): State<Arc<App>>, Path(run): Path<String>) -> Result<Response, Refusal> {
    checked_id(&run)?;
    app.change_store(move |store| {
        store.stop(&run)?;
        Ok(see_other("/"))
    })
    .await
}

/// Answers with how each number is made.
pub(crate) async fn methods(Extension(visitor): Extension<Visitor>) -> Response {
    html(Page::of(&visitor, "Methods", Place::None, &report::methods()).text())
}
