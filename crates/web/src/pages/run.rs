//! A run: its report, and parts of its time drawn again.

use std::sync::Arc;

use assay_analysis::{RunStatus, RunSummary};
use assay_report::html::{self as report, TimeRange, escape};
use assay_results::{Stored, read_held, summary_of};
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
) -> Result<Response, Refusal> {
    checked_id(&run)?;
    let range = part.range()?;
    let shown = Arc::clone(&app);
    app.with_store(move |store| {
        let stored = read_held(store, &run)?;
        let is_running = stored.summary.status == RunStatus::Running;
        let live = match is_running {
            true => {
                let frame = shown.live.frame(store)?;
                frame.runs.iter().find(|shown| shown.run == run).map_or_else(String::new, |shown| {
                    format!(
                        "<div id=\"runs\" data-live=\"/live\" data-reload=\"{}\">\n{}</div>\n",
                        escape(&run),
                        super::now::article(shown, &visitor)
                    )
                })
            }
            false => String::new(),
        };
        let body = format!("{live}{}", body(&stored, &visitor, part.test, range));
        let title = format!("{} · {run}", stored.header.plan.name);
        let page = Page::of(&visitor, &title, Place::Runs, &body);
        Ok(html(if is_running { page.reloaded_without_script(5) } else { page }.text()))
    })
    .await
}

fn body(stored: &Stored, visitor: &Visitor, test: u32, range: Option<TimeRange>) -> String {
    let run = escape(&stored.header.run);
    let status = match stored.summary.status {
        RunStatus::Partial => {
            "<p class=\"banner\">This run was killed: its process ended before the run did. The results up to then \
             are kept.</p>\n"
        }
        RunStatus::Interrupted => {
            "<p class=\"banner\">This run was stopped. The results up to then are kept.</p>\n"
        }
        _ => "",
    };
    let lost = stored.lost.as_ref().map_or_else(String::new, |why| {
        format!("<p class=\"banner\">Its last events could not be stored: {}</p>\n", escape(why))
    });
    let change = match visitor.csrf() {
        Some(_) => super::edit::forms(&run, stored.label.as_deref(), stored.note.as_deref(), visitor),
        None => String::new(),
    };
    let tools = format!(
        "<p class=\"tools\"><a href=\"/compare?r={run}\">Compare with…</a> <a href=\"/runs\">All runs</a></p>\n"
    );
    let zoomed = range.and_then(|range| {
        let drawn = report::over_time(&stored.summary, test, Some(range))?;
        Some(format!(
            "<section aria-label=\"Selected period\"><h2>From {} to {} s</h2>\n{drawn}<p><a href=\"/runs/{run}\">The \
             whole run</a></p></section>\n",
            range.from_s, range.to_s
        ))
    });
    let report = report::body(&stored.header, &stored.summary, &stored.findings, stored.meta());
    format!(
        "{status}{lost}{tools}{change}{}<div class=\"report\" data-run=\"{run}\">\n{}</div>\n",
        zoomed.unwrap_or_default(),
        report::folded(&report)
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
        answer(&summary(&shown, store, &run)?, part.test, range).ok_or_else(nothing_there)
    })
    .await
}

fn nothing_there() -> Refusal {
    Refusal::not_found("Nothing was measured in that period.")
}

/// Returns what a run measured; of one that goes on without reading all of it again.
fn summary(app: &App, store: &assay_store::Store, run: &str) -> Result<RunSummary, Refusal> {
    if let Some(summary) = app.live.summary(run) {
        return Ok(summary);
    }
    Ok(summary_of(&store.header(run)?, &store.load(run)?))
}

/// Asks the process of a run to stop.
pub(crate) async fn stop(State(app): State<Arc<App>>, Path(run): Path<String>) -> Result<Response, Refusal> {
    checked_id(&run)?;
    app.with_store(move |store| {
        store.stop(&run)?;
        Ok(see_other("/"))
    })
    .await
}

/// Answers with how each number is made.
pub(crate) async fn methods(Extension(visitor): Extension<Visitor>) -> Response {
    html(Page::of(&visitor, "Methods", Place::None, &report::methods()).text())
}
