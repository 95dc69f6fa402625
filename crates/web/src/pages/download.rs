//! Runs, comparisons and trends as files.

use std::sync::Arc;

use assay_analysis::compare::Comparison;
use assay_report::trends::Layout;
use assay_report::{compare, html, json, text, trends};
use assay_results::{Stored, TargetHistory, read_extract_held};
use assay_store::Reader;
use axum::extract::{Path, Query, State};
use axum::response::Response;

use super::compare::{compared, sides_of};
use super::files::{Form, file, form, table_format};
use crate::answer::Refusal;
use crate::app::App;
use crate::run_id::checked_id;
use crate::visitor::Fields;

/// Answers with a run.
pub(crate) async fn run(
    State(app): State<Arc<App>>,
    Path(run): Path<String>,
    Query(query): Query<Vec<(String, String)>>,
) -> Result<Response, Refusal> {
    checked_id(&run)?;
    let form = form(&Fields::new(query))?;
    app.with_store(move |store| {
        let stored = read_extract_held(store, &run)?;
        let name = format!("assay-{run}");
        Ok(file(form, &name, of_run(&stored, form)))
    })
    .await
}

fn of_run(stored: &Stored, form: &Form) -> String {
    let Stored { header, summary, findings, .. } = stored;
    match table_format(form) {
        Some(format) => text::rendered(header, summary, findings, stored.judgement.as_ref(), format),
        None if form.name == "json" => {
            format!("{:#}\n", json::document(header, summary, findings, stored.meta()))
        }
        None => html::report(header, summary, findings, stored.meta()),
    }
}

/// Answers with a comparison.
pub(crate) async fn comparison(
    State(app): State<Arc<App>>,
    Query(query): Query<Vec<(String, String)>>,
) -> Result<Response, Refusal> {
    let asked = Fields::new(query);
    let form = form(&asked)?;
    let shared = Arc::clone(&app);
    app.with_store(move |store| {
        let comparison = compared(&shared, store, &sides_of(&asked)?)?;
        Ok(file(form, "assay-comparison", of_comparison(&comparison, form)))
    })
    .await
}

fn of_comparison(comparison: &Comparison, form: &Form) -> String {
    match table_format(form) {
        Some(format) => compare::rendered(comparison, format),
        None if form.name == "json" => format!("{:#}\n", compare::document(comparison)),
        None => html::comparison(comparison),
    }
}

/// Answers with the trends of a target.
pub(crate) async fn of_trends(
    State(app): State<Arc<App>>,
    Query(query): Query<Vec<(String, String)>>,
) -> Result<Response, Refusal> {
    let asked = Fields::new(query);
    let form = form(&asked)?;
    let shared = Arc::clone(&app);
    app.with_store(move |store| {
        let of = known_target(&shared, store, asked.get("target"))?;
        let address = &of.target.address;
        let text = match table_format(form) {
            Some(format) => trends::table(&of.trends).render(format),
            None if form.name == "json" => {
                format!("{}\n", trends::document(address, &of.trends, &of.events, Layout::Indented))
            }
            None => trends::page(address, &of.trends, &of.events),
        };
        Ok(file(form, "assay-trends", text))
    })
    .await
}

/// Reads a target with all its runs.
pub(crate) fn known_target(app: &App, store: &Reader, address: &str) -> Result<Arc<TargetHistory>, Refusal> {
    match store.target_addresses()?.iter().any(|known| known == address) {
        true => Ok(app.known.read_whole(store, &*app.known.look(store)?, address)?),
        false => Err(Refusal::not_found("No run of this store used that target.")),
    }
}
