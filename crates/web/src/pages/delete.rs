//! Deleting a run: asked twice, because nothing brings it back.

use std::sync::Arc;

use assay_report::html::escape;
use assay_store::{Baseline, BaselineOf};
use axum::extract::{Extension, Path, State};
use axum::response::Response;

use crate::answer::{Refusal, html, see_other};
use crate::app::App;
use crate::page::{Page, Place};
use crate::run_id::checked_id;
use crate::visitor::{Fields, Visitor};

/// The field that says which question is answered.
const SURE: &str = "sure";

/// Asks for the first time.
pub(crate) async fn ask(
    State(app): State<Arc<App>>,
    Extension(visitor): Extension<Visitor>,
    Path(run): Path<String>,
) -> Result<Response, Refusal> {
    checked_id(&run)?;
    if visitor.csrf().is_none() {
        return Ok(see_other("/login"));
    }
    question(app, visitor, run, Question::First).await
}

/// Asks for the second time, then deletes.
pub(crate) async fn delete(
    State(app): State<Arc<App>>,
    Extension(visitor): Extension<Visitor>,
    Extension(fields): Extension<Fields>,
    Path(run): Path<String>,
) -> Result<Response, Refusal> {
    checked_id(&run)?;
    if fields.get(SURE) != Question::Second.answer() {
        return question(app, visitor, run, Question::Second).await;
    }
    app.change_store(move |store| {
        store.remove(&run)?;
        Ok(see_other("/runs"))
    })
    .await
}

#[derive(Debug, Clone, Copy)]
enum Question {
    First,
    Second,
}

impl Question {
    /// What a form sends that answers it with yes.
    fn answer(self) -> &'static str {
        match self {
            Self::First => "yes",
            Self::Second => "for good",
        }
    }
}

async fn question(
    app: Arc<App>,
    visitor: Visitor,
    run: String,
    question: Question,
) -> Result<Response, Refusal> {
    app.with_store(move |store| {
        let row = store.row(&run)?;
        let label = row.label.map_or_else(String::new, |label| format!(", labelled {label}"));
        let what = escape(&format!("{} on {}{label}", row.name, row.targets.join(", ")));
        let (asks, button) = match question {
            Question::First => (format!("<p>Delete run {run} ({what})?</p>"), "Delete"),
            Question::Second => (
                format!(
                    "<p>Run {run} ({what}) and all of its results will be deleted. This cannot be undone; to keep a \
                     copy, use <code>assay export {run}</code>.</p>"
                ),
                "Delete permanently",
            ),
        };
        let baseline = baseline_lost(&run, &store.baselines()?);
        let body = format!(
            "<h1>Delete a run</h1>\n{asks}\n{baseline}<form method=\"post\" action=\"/runs/{run}/delete\">{}<input \
             type=\"hidden\" name=\"{SURE}\" value=\"{}\"><button class=\"stop\">{button}</button> <a class=\"button\" \
             href=\"/runs/{run}\">Keep it</a></form>\n",
            visitor.hidden(),
            question.answer()
        );
        Ok(html(Page::of(&visitor, "Delete a run", Place::Runs, &body).text()))
    })
    .await
}

/// Says which baselines go with a run.
fn baseline_lost(run: &str, known: &[Baseline]) -> String {
    let of = known.iter().filter(|known| matches!(&known.of, BaselineOf::Run(of) if of == run));
    of.map(|of| {
        format!(
            "<p>It is the baseline of {} on {}; without it later runs are compared with the run before them.</p>\n",
            escape(&of.plan),
            escape(&of.address)
        )
    })
    .collect()
}
