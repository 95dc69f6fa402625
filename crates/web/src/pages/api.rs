//! `/api/v1`: the documents of the command line for programs, read-only. What each address answers is described in
//! `docs/assay.openapi.json`, which is served too; a test holds both against each other.

use std::sync::Arc;

use assay_analysis::judge_published;
use assay_model::published as tables;
use assay_report::expected::published_json;
use assay_report::trends::Layout;
use assay_report::{RunListing, compare, diagnosis, json, runs_json, trends};
use assay_results::{read_extract_held, status, summary_stored};
use assay_store::{ListedRun, RunSlice};
use axum::Router;
use axum::extract::{Path, Query, State};
use axum::response::Response;
use axum::routing::get;
use serde_json::{Value, json};

use super::compare::{compared, sides_of};
use super::download::known_target;
use super::runs::filter;
use crate::answer::{Refusal, refused_as_json, typed};
use crate::app::App;
use crate::run_id::checked_id;
use crate::visitor::Fields;

const OPENAPI: &str = include_str!("../../../../docs/assay.openapi.json");
/// Schemas of the documents, by the names that their addresses have.
const SCHEMAS: [(&str, &str); 17] = [
    ("assay.run-1", include_str!("../../../../docs/assay.run-1.schema.json")),
    ("assay.runs-1", include_str!("../../../../docs/assay.runs-1.schema.json")),
    ("assay.compare-1", include_str!("../../../../docs/assay.compare-1.schema.json")),
    ("assay.trends-1", include_str!("../../../../docs/assay.trends-1.schema.json")),
    ("assay.targets-1", include_str!("../../../../docs/assay.targets-1.schema.json")),
    ("assay.diagnosis-1", include_str!("../../../../docs/assay.diagnosis-1.schema.json")),
    ("assay.journal-1", include_str!("../../../../docs/assay.journal-1.schema.json")),
    ("assay.repeats-1", include_str!("../../../../docs/assay.repeats-1.schema.json")),
    ("assay.predict-1", include_str!("../../../../docs/assay.predict-1.schema.json")),
    ("assay.size-1", include_str!("../../../../docs/assay.size-1.schema.json")),
    ("assay.size-measured-1", include_str!("../../../../docs/assay.size-measured-1.schema.json")),
    ("assay.published-1", include_str!("../../../../docs/assay.published-1.schema.json")),
    ("assay.check-1", include_str!("../../../../docs/assay.check-1.schema.json")),
    ("assay.hosts-1", include_str!("../../../../docs/assay.hosts-1.schema.json")),
    ("assay.map-1", include_str!("../../../../docs/assay.map-1.schema.json")),
    ("assay.overhead-1", include_str!("../../../../docs/assay.overhead-1.schema.json")),
    ("assay.scale-1", include_str!("../../../../docs/assay.scale-1.schema.json")),
];
/// Runs of an answer, where nothing else is asked for, and at most.
const RUNS: usize = 100;
const RUNS_MAX: usize = 10_000;

/// Returns the routes below `/api/v1`.
pub(crate) fn router() -> Router<Arc<App>> {
    Router::new()
        .route("/openapi.json", get(async || answer(OPENAPI)))
        .route("/schemas/{name}", get(schema))
        .route("/runs", get(runs))
        .route("/runs/{run}", get(run))
        .route("/runs/{run}/diagnosis", get(diagnosis_of))
        .route("/check", get(check))
        .route("/published/{table}", get(published))
        .route("/predict", get(predicted))
        .route("/compare", get(comparison))
        .route("/targets", get(targets))
        .route("/trends", get(of_trends))
        .fallback(async || Refusal::not_found("There is no such document."))
        // Here, where it is still known what a refusal says.
        .layer(axum::middleware::map_response(async |refused: Response| refused_as_json(refused)))
}

fn answer(text: impl Into<String>) -> Response {
    typed(text.into(), "application/json")
}

async fn schema(Path(name): Path<String>) -> Result<Response, Refusal> {
    let found = SCHEMAS.iter().find(|(known, _)| *known == name);
    found.map(|(_, text)| answer(*text)).ok_or_else(|| Refusal::not_found("There is no schema of that name."))
}

async fn runs(
    State(app): State<Arc<App>>,
    Query(query): Query<Vec<(String, String)>>,
) -> Result<Response, Refusal> {
    let asked = Fields::new(query);
    let filter = filter(&asked)?;
    let number = |name: &str, default: usize| match asked.get(name) {
        "" => Ok(default),
        text => text.parse().map_err(|_| Refusal::bad(format!("“{name}” must be a whole number."))),
    };
    let slice = RunSlice { skip: number("skip", 0)?, limit: number("limit", RUNS)?.min(RUNS_MAX) };
    app.with_store(move |store| {
        let rows = store.rows(&filter, slice)?;
        let names: Vec<&str> = rows.iter().map(|row| status(row).name()).collect();
        let unreadable: Vec<Option<String>> =
            rows.iter().map(|row| row.error().map(|error| error.to_string())).collect();
        let listings: Vec<RunListing<'_>> = rows
            .iter()
            .zip(names)
            .zip(&unreadable)
            .map(|((row, status), unreadable)| RunListing {
                run: &row.run,
                name: &row.name,
                status,
                label: row.label.as_deref(),
                note: row.note.as_deref(),
                lost: row.lost.as_deref(),
                started_unix_ms: row.started_unix_ms,
                targets: &row.targets,
                unreadable: unreadable.as_deref(),
            })
            .collect();
        Ok(answer(runs_json(&listings).to_string()))
    })
    .await
}

async fn run(State(app): State<Arc<App>>, Path(run): Path<String>) -> Result<Response, Refusal> {
    checked_id(&run)?;
    app.with_store(move |store| {
        let stored = read_extract_held(store, &run)?;
        let document = json::document(&stored.header, &stored.summary, &stored.findings, stored.meta());
        Ok(answer(document.to_string()))
    })
    .await
}

async fn diagnosis_of(State(app): State<Arc<App>>, Path(run): Path<String>) -> Result<Response, Refusal> {
    checked_id(&run)?;
    app.with_store(move |store| {
        let header = store.header(&run)?;
        let document = diagnosis::document(&header, &summary_stored(store, &run, &header)?);
        document
            .map(|document| answer(document.to_string()))
            .ok_or_else(|| Refusal::not_found("That run is no diagnosis."))
    })
    .await
}

/// Answers the last check as it is stored.
async fn check(
    State(app): State<Arc<App>>,
    Query(query): Query<Vec<(String, String)>>,
) -> Result<Response, Refusal> {
    let asked = Fields::new(query);
    app.with_store(move |store| {
        let found = store.checks()?.into_iter().find(|check| check.address == asked.get("target"));
        found
            .map(|check| answer(check.body))
            .ok_or_else(|| Refusal::not_found("That target was not checked: assay check TARGET"))
    })
    .await
}

async fn published(Path(table): Path<String>) -> Result<Response, Refusal> {
    let tables = tables::all().map_err(|error| Refusal::internal(error.to_string()))?;
    let table = tables.into_iter().find(|known| known.name == table);
    let table = table.ok_or_else(|| Refusal::not_found("There is no published table of that name."))?;
    Ok(answer(published_json(&table, &judge_published(&table)).to_string()))
}

async fn predicted(Query(query): Query<Vec<(String, String)>>) -> Result<Response, Refusal> {
    let asked = Fields::new(query);
    super::predict::document(asked.get("array"), asked.get("plan"))
        .map(|document| answer(document.to_string()))
}

async fn comparison(
    State(app): State<Arc<App>>,
    Query(query): Query<Vec<(String, String)>>,
) -> Result<Response, Refusal> {
    let asked = Fields::new(query);
    let shared = Arc::clone(&app);
    app.with_store(move |store| {
        Ok(answer(compare::document(&compared(&shared, store, &sides_of(&asked)?)?).to_string()))
    })
    .await
}

async fn targets(State(app): State<Arc<App>>) -> Result<Response, Refusal> {
    let shared = Arc::clone(&app);
    app.with_store(move |store| {
        let look = shared.known.look(store)?;
        let last = |of: &Arc<ListedRun>| json!({ "run": of.row.run, "started_unix_ms": of.row.started_unix_ms });
        let target = |address: &String| -> Result<Value, Refusal> {
            let of = shared.known.read(store, &look, address, 1)?;
            Ok(json!({ "target": address, "runs": of.target.count, "last": of.target.runs.first().map(last) }))
        };
        let known = store.target_addresses()?;
        let all = known.iter().map(target).collect::<Result<Value, Refusal>>()?;
        Ok(answer(json!({ "schema": "assay.targets/1", "targets": all }).to_string()))
    })
    .await
}

async fn of_trends(
    State(app): State<Arc<App>>,
    Query(query): Query<Vec<(String, String)>>,
) -> Result<Response, Refusal> {
    let asked = Fields::new(query);
    let shared = Arc::clone(&app);
    app.with_store(move |store| {
        let made = || {
            let of = known_target(&shared, store, asked.get("target"))?;
            Ok(trends::document(&of.target.address, &of.trends, &of.events, Layout::OneLine))
        };
        let text = shared.unwritten(&format!("trends {}", asked.get("target")), made)?;
        Ok(answer(text.as_str()))
    })
    .await
}
