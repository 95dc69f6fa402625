//! Labels and notes, edited where they stand.

use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use assay_report::html::escape;
use assay_results::complete;
use assay_store::{Baseline, BaselineOf, RunRow, Store};
use axum::extract::{Extension, Path, State};
use axum::response::Response;

use crate::answer::{Refusal, see_other};
use crate::app::App;
use crate::run_id::checked_id;
use crate::visitor::{Fields, Visitor};

/// Characters of a label, and of a note.
const LABEL_MAX: usize = 200;
const NOTE_MAX: usize = 4000;

/// Returns the forms of what belongs to a run and was not measured.
///
/// `keys` are the names in the store of its targets, in their order.
pub(crate) fn forms(row: &RunRow, keys: &[String], known: &[Baseline], visitor: &Visitor) -> String {
    let (run, label, note) = (escape(&row.run), row.label.as_deref(), row.note.as_deref());
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
    let baseline = baseline_forms(row, keys, known, visitor);
    format!(
        "<details class=\"edits\">\n<summary>Label, note, baseline, deletion</summary>\n<div>{label}{note}{baseline}\
         <a class=\"delete\" href=\"/runs/{run}/delete\">Delete this run…</a>\n</div></details>\n"
    )
}

/// Returns a button for each target of a run that makes the run its baseline, or the baseline no more.
fn baseline_forms(row: &RunRow, keys: &[String], known: &[Baseline], visitor: &Visitor) -> String {
    if row.is_running {
        return String::new();
    }
    let form = |(index, target): (usize, &String)| {
        let of = known.iter().find(|known| keys.get(index) == Some(&known.address) && known.plan == row.name);
        let is_it = of.is_some_and(|of| of.of == BaselineOf::Run(row.run.clone()));
        let now = match of.map(|of| &of.of) {
            _ if is_it => "This run is the baseline".to_owned(),
            Some(BaselineOf::Run(run)) => {
                format!("The baseline is <a href=\"/runs/{0}\">{0}</a>", escape(run))
            }
            Some(BaselineOf::Label(label)) => {
                format!("The baseline is the runs labelled “{}”", escape(label))
            }
            None => "There is no baseline".to_owned(),
        };
        let (wants, button) = match is_it {
            true => ("no", "Remove the baseline"),
            false => ("yes", "Make this run the baseline"),
        };
        format!(
            "<form class=\"edit\" method=\"post\" action=\"/runs/{}/baseline\">{}<input type=\"hidden\" \
             name=\"target\" value=\"{index}\"><input type=\"hidden\" name=\"is\" value=\"{wants}\"><span>{now} of {} \
             on {}.</span> <button>{button}</button></form>\n",
            escape(&row.run),
            visitor.hidden(),
            escape(&row.name),
            escape(target)
        )
    };
    row.targets.iter().enumerate().map(form).collect()
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

/// Makes a run what later runs of its plan on one of its targets are compared with, or what they are compared with no
/// more.
pub(crate) async fn baseline(
    State(app): State<Arc<App>>,
    Extension(fields): Extension<Fields>,
    Path(run): Path<String>,
) -> Result<Response, Refusal> {
    checked_id(&run)?;
    app.change_store(move |store| {
        let row = store.row(&run)?;
        let keys = store.target_keys(&run, row.targets.iter().map(String::as_str))?;
        let key = fields.get("target").parse::<usize>().ok().and_then(|index| keys.into_iter().nth(index));
        let address =
            key.ok_or_else(|| Refusal::bad("“target” must be the number of a target of the run."))?;
        match fields.get("is") {
            "yes" => set_baseline(store, &row, address)?,
            // Another tab may have made another run the baseline: that one stays.
            "no" => {
                let is_it = |known: &Baseline| {
                    known.address == address
                        && known.plan == row.name
                        && known.of == BaselineOf::Run(run.clone())
                };
                if store.baselines()?.iter().any(is_it) {
                    store.remove_baseline(&address, &row.name)?;
                }
            }
            _ => return Err(Refusal::bad("“is” must be yes or no.")),
        }
        Ok(see_other(&format!("/runs/{run}")))
    })
    .await
}

fn set_baseline(store: &Store, row: &RunRow, address: String) -> Result<(), Refusal> {
    if row.is_running {
        return Err(Refusal::bad("The run is still in progress; make it the baseline when it has ended."));
    }
    // The index is made in the background.
    if store.digest(&row.run)?.is_none() {
        complete(store, &row.run)?;
    }
    if !store.digest(&row.run)?.is_some_and(|digest| digest.tests.iter().any(|test| test.complete)) {
        return Err(Refusal::bad(
            "No step of this run is complete, so there is nothing to compare with; choose another run.",
        ));
    }
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let set_unix_ms = u64::try_from(now.as_millis()).unwrap_or(u64::MAX);
    let (plan, of) = (row.name.clone(), BaselineOf::Run(row.run.clone()));
    Ok(store.set_baseline(&Baseline { address, plan, of, set_unix_ms })?)
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
