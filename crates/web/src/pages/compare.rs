//! Compare: runs, published tables and arrays side by side.

use std::sync::Arc;

use assay_analysis::compare::{Comparison, ResultSet, Side, compare_with};
use assay_analysis::judge_published;
use assay_model::array::{Array, parse, shipped};
use assay_model::published;
use assay_report::html::{self as report, escape};
use assay_report::minute;
use assay_results::{baseline_side, labelled, repetitions, with_distinct_names};
use assay_store::{Reader, RunFilter, RunRow, RunSlice};
use axum::extract::{Extension, Query, State};
use axum::response::Response;

use super::targets::encoded;
use crate::answer::{Refusal, html};
use crate::app::App;
use crate::page::{Page, Place};
use crate::run_id::checked_id;
use crate::visitor::{Fields, Visitor};

/// Most sides: a table of more is wider than a wall.
const SIDES_MAX: usize = 8;
/// What the name of the array of a target begins with; its address follows.
const OF_TARGET: &str = "array-of:";
/// What the name of all repetitions of a label begins with.
const LABEL: &str = "label:";
/// What the name of the baseline of a run's plan and target begins with; the run follows.
const BASELINE_OF: &str = "baseline-of:";
/// Newest runs that the page offers; the others can be ticked on the list of runs.
const OFFERED: usize = 40;

pub(crate) async fn page(
    State(app): State<Arc<App>>,
    Extension(visitor): Extension<Visitor>,
    Query(query): Query<Vec<(String, String)>>,
) -> Result<Response, Refusal> {
    let asked = Fields::new(query);
    let shared = Arc::clone(&app);
    app.with_store(move |store| {
        let names: Vec<&str> = chosen(&asked)?;
        let compared = match names.len() {
            0 => "<h1>Compare</h1>\n".to_owned(),
            1 => "<h1>Compare</h1>\n<p>Choose at least one more result.</p>\n".to_owned(),
            _ => {
                let body = report::comparison_body(&compared(&shared, store, &names)?, report::Links::Runs);
                format!("{}<div class=\"compared\">\n{}</div>\n", tools(&names), report::folded(&body))
            }
        };
        let body = format!("{compared}{}", chooser(store, &asked, &names)?);
        Ok(html(Page::of(&visitor, "Compare", Place::Compare, &body).text()))
    })
    .await
}

/// Returns the results that are to be compared.
pub(crate) fn sides_of(asked: &Fields) -> Result<Vec<&str>, Refusal> {
    let names = chosen(asked)?;
    match names.len() {
        0 | 1 => Err(Refusal::bad("A comparison needs two results: r=RUN&r=RUN.")),
        _ => Ok(names),
    }
}

fn chosen(asked: &Fields) -> Result<Vec<&str>, Refusal> {
    let names: Vec<&str> = asked.all("r").filter(|name| !name.is_empty()).collect();
    if names.len() > SIDES_MAX {
        return Err(Refusal::bad(format!("At most {SIDES_MAX} results can be compared at once.")));
    }
    match (1..names.len()).any(|at| names[..at].contains(&names[at])) {
        true => Err(Refusal::bad("Each result can be chosen once.")),
        false => Ok(names),
    }
}

/// Returns links to the comparison as a file, and to it with a side less or with another one as what the others are
/// compared with.
fn tools(names: &[&str]) -> String {
    let query = |names: &[&str]| -> String {
        names.iter().map(|name| format!("r={}&amp;", escape(&encoded(name)))).collect()
    };
    let of = |(index, name): (usize, &&str)| {
        let mut first = names.to_vec();
        first.remove(index);
        let without = query(&first);
        first.insert(0, *name);
        let lead = match index {
            0 => "what the others are compared with".to_owned(),
            _ => format!("<a href=\"/compare?{}\">compare the others with it</a>", query(&first)),
        };
        let remove = match names.len() {
            2 => String::new(),
            _ => format!(", <a href=\"/compare?{without}\">remove</a>"),
        };
        format!("<li>{}: {lead}{remove}</li>\n", escape(name))
    };
    let all: String = names.iter().enumerate().map(of).collect();
    format!(
        "<p class=\"tools\">{}</p>\n<details class=\"tools\"><summary>Change the comparison</summary><ul>\n{all}</ul>\
         </details>\n",
        super::files::links(&format!("/compare/file?{}", query(names)))
    )
}

pub(crate) fn compared(app: &App, store: &Reader, names: &[&str]) -> Result<Comparison, Refusal> {
    let is_run = |name: &str| !name.contains(':');
    let first = names.iter().copied().find(|name| is_run(name));
    let side = |name: &&str| -> Result<Side, Refusal> {
        if !is_run(name) {
            return other_side(app, store, name, first);
        }
        checked_id(name)?;
        let label = store.row(name)?.label;
        Ok(Side {
            name: label.unwrap_or_else(|| (*name).to_owned()),
            readings: vec![app.readings.read(store, name)?],
        })
    };
    let sides = names.iter().map(side).collect::<Result<Vec<_>, _>>()?;
    let sides = with_distinct_names(sides);
    let history = repetitions(store, &sides)?;
    Ok(compare_with(&sides, &history))
}

/// Returns the side that is no run.
fn other_side(app: &App, store: &Reader, name: &str, first: Option<&str>) -> Result<Side, Refusal> {
    if let Some(label) = name.strip_prefix(LABEL) {
        let side = labelled(store, &app.readings, label)?;
        return side.ok_or_else(|| Refusal::not_found("No run that has ended has that label."));
    }
    if let Some(run) = name.strip_prefix(BASELINE_OF) {
        checked_id(run)?;
        let side = baseline_side(store, &app.readings, &store.row(run)?)?;
        return side.ok_or_else(|| Refusal::not_found("The plan and target of that run have no baseline."));
    }
    if let Some(table) = name.strip_prefix("published:") {
        let tables = published::all().map_err(|error| Refusal::internal(error.to_string()))?;
        let table = tables.into_iter().find(|known| known.name == table);
        let table = table.ok_or_else(|| Refusal::not_found("There is no published table of that name."))?;
        let readings = vec![ResultSet::of_published(&table, &judge_published(&table))];
        return Ok(Side { name: table.name, readings });
    }
    if let Some(array) = array_named(store, name)? {
        let Some(first) = first else {
            return Err(Refusal::bad(
                "An array is compared with a run: choose a run too. The array is predicted for its plan.",
            ));
        };
        checked_id(first)?;
        let readings = vec![ResultSet::of_array(&array, &store.header(first)?)];
        return Ok(Side { name: array.name, readings });
    }
    Err(Refusal::not_found("There is no result of that name."))
}

/// Returns the array that a name means: one that ships, or that of a target; `None` for the name of something else.
fn array_named(store: &Reader, name: &str) -> Result<Option<Array>, Refusal> {
    if let Some(array) = name.strip_prefix("array:") {
        let found = shipped::named(array).transpose();
        let found = found.map_err(|error| Refusal::internal(error.to_string()))?;
        return Ok(Some(found.ok_or_else(|| Refusal::not_found("There is no array of that name."))?));
    }
    let Some(target) = name.strip_prefix(OF_TARGET) else { return Ok(None) };
    let text = store.target_array(target)?;
    let text = text.ok_or_else(|| Refusal::not_found("No array is attached to that target."))?;
    let array = parse("the target's array", &text).map_err(|error| Refusal::bad(error.to_string()))?;
    Ok(Some(array))
}

/// Returns the form of everything that can be compared.
fn chooser(store: &Reader, asked: &Fields, chosen: &[&str]) -> Result<String, Refusal> {
    let tick = |value: &str, text: &str| tick(value, text, chosen.contains(&value));
    let tables = published::all().map_err(|error| Refusal::internal(error.to_string()))?;
    let tables: String =
        tables.iter().map(|table| tick(&format!("published:{}", table.name), &table.system)).collect();
    let own = |(address, text): &(String, String)| {
        let title = parse("store", text).map_or_else(|_| "cannot be read".to_owned(), |array| array.title);
        tick(&format!("{OF_TARGET}{address}"), &format!("{title}, attached to {address}"))
    };
    let own: String = store.target_arrays()?.iter().map(own).collect();
    let arrays = shipped::all().map_err(|error| Refusal::internal(error.to_string()))?;
    let arrays: String =
        arrays.iter().map(|array| tick(&format!("array:{}", array.name), &array.title)).collect();
    let runs = runs(store, asked, chosen)?;
    Ok(format!(
        "<form class=\"chooser\" method=\"get\" action=\"/compare\">\n<fieldset><legend>Runs</legend>\n{runs}\
         </fieldset>\n<fieldset><legend>Published tables</legend>{tables}</fieldset>\n<fieldset><legend>Arrays, as \
         predicted for the plan of the first run</legend>{own}{arrays}</fieldset>\n<button>Compare</button>\n</form>\n"
    ))
}

fn tick(value: &str, text: &str, is_chosen: bool) -> String {
    let checked = if is_chosen { " checked" } else { "" };
    format!(
        "<label class=\"tick\"><input type=\"checkbox\" name=\"r\" value=\"{}\"{checked}> {}</label>\n",
        escape(value),
        escape(text)
    )
}

/// Returns the search and the runs that it found. Runs that were chosen elsewhere stay chosen.
fn runs(store: &Reader, asked: &Fields, chosen: &[&str]) -> Result<String, Refusal> {
    let is_same = asked.get("same") == "yes";
    let first = chosen.iter().find(|name| !name.contains(':')).filter(|_| is_same);
    let alike = first.map(|run| store.row(run)).transpose()?;
    let of_first = |row: &RunRow| store.target_keys(&row.run, row.targets.first().map(String::as_str));
    let on_target = alike.as_ref().map(of_first).transpose()?.and_then(|mut keys| keys.pop());
    let filter = RunFilter {
        text: asked.get("find").trim().to_owned(),
        plan: alike.as_ref().map(|row| row.name.clone()),
        on_target,
        ..RunFilter::default()
    };
    let mut found = store.list(&filter, RunSlice { skip: 0, limit: OFFERED })?.runs;
    found.retain(|run| !run.row.is_running);
    let listed = |run: &assay_store::ListedRun| {
        let row = &run.row;
        let label = row.label.as_ref().map_or_else(String::new, |label| format!(" “{label}”"));
        let says = format!(
            "{}{label}: {} on {}, {}",
            row.run,
            row.name,
            row.targets.join(", "),
            minute(row.started_unix_ms)
        );
        tick(&row.run, &says, chosen.contains(&row.run.as_str()))
    };
    let runs: String = match found.is_empty() {
        true => "<p>No run matches.</p>\n".to_owned(),
        false => found.iter().map(listed).collect(),
    };
    let older: String = chosen
        .iter()
        .filter(|name| !name.contains(':') && found.iter().all(|run| run.row.run != **name))
        .map(|name| tick(name, name, true))
        .collect();
    Ok(format!(
        "<p><input type=\"search\" name=\"find\" value=\"{}\" aria-label=\"Search runs\" placeholder=\"Search: plan, \
         target, label, note, test\"> <label><input type=\"checkbox\" name=\"same\" value=\"yes\"{}> same plan and \
         target as the first chosen run</label> <button>Search</button></p>\n{older}{runs}",
        escape(asked.get("find")),
        if is_same { " checked" } else { "" },
    ))
}
