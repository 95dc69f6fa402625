//! Labels and notes, edited where they stand.

use std::sync::Arc;

use assay_report::html::escape;
use axum::extract::{Extension, Path, State};
use axum::response::Response;

use crate::answer::{Refusal, see_other};
use crate::app::App;
use crate::run_id::checked_id;
use crate::visitor::{Fields, Visitor};

/// Characters of a label, and of a note.
const LABEL_MAX: usize = 200;
const NOTE_MAX: usize = 4000;

/// Returns the forms of a run's label and note.
pub(crate) fn forms(run: &str, label: Option<&str>, note: Option<&str>, visitor: &Visitor) -> String {
    let form = |what: &str, title: &str, value: Option<&str>, most: usize| {
        let value = escape(value.unwrap_or_default());
        format!(
            "<form class=\"edit\" method=\"post\" action=\"/runs/{run}/{what}\" data-edit>{}<label>{title} <input \
             name=\"text\" value=\"{value}\" maxlength=\"{most}\"></label> <button>Save</button></form>\n",
            visitor.hidden()
        )
    };
    let label = form("label", "Label", label, LABEL_MAX);
    let note = form("note", "Note", note, NOTE_MAX);
    format!(
        "<details class=\"edits\">\n<summary>Label, note, deletion</summary>\n<div>{label}{note}<a class=\"delete\" \
         href=\"/runs/{run}/delete\">Delete this run…</a>\n</div></details>\n"
    )
}

pub(crate) async fn label(
    State(app): State<Arc<App>>,
    Extension(fields): Extension<Fields>,
    Path(run): Path<String>,
) -> Result<Response, Refusal> {
    checked_id(&run)?;
    let label = text(&fields, LABEL_MAX)?;
    // `last` and `last~1` mean runs by their age.
    if label
        .as_deref()
        .is_some_and(|l| l.strip_prefix("last").is_some_and(|r| r.is_empty() || r.starts_with('~')))
    {
        return Err(Refusal::bad("“last” and “last~1” mean the newest runs; choose another label."));
    }
    app.change_store(move |store| {
        store.set_label(&run, label.as_deref())?;
        Ok(see_other(&back(&fields, &run)))
    })
    .await
}

pub(crate) async fn note(
    State(app): State<Arc<App>>,
    Extension(fields): Extension<Fields>,
    Path(run): Path<String>,
) -> Result<Response, Refusal> {
    checked_id(&run)?;
    let note = text(&fields, NOTE_MAX)?;
    app.change_store(move |store| {
        store.set_note(&run, note.as_deref())?;
        Ok(see_other(&back(&fields, &run)))
    })
    .await
}

/// Returns the page that the form was on: the list, or the run.
fn back(fields: &Fields, run: &str) -> String {
    if fields.get("from") == "list" { "/runs".to_owned() } else { format!("/runs/{run}") }
}

/// Returns what was typed; `None` where it is empty.
fn text(fields: &Fields, most: usize) -> Result<Option<String>, Refusal> {
    let text = fields.get("text").trim();
    if text.chars().count() > most {
        return Err(Refusal::bad(format!("At most {most} characters are allowed.")));
    }
    Ok(Some(text.to_owned()).filter(|text| !text.is_empty()))
}
