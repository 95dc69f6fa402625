//! Which address leads to which page.

use std::sync::Arc;

use axum::Router;
use axum::routing::{get, post};

use crate::answer::Refusal;
use crate::app::App;
use crate::guard::guard;
use crate::packed::packed;
use crate::pages::{
    api, asset, compare, delete, diagnose, download, edit, login, map, metrics, new_run, now, predict, run,
    runs, targets,
};
use crate::texts::once_a_second;

/// Returns all routes behind the guard.
pub(crate) fn router(app: Arc<App>) -> Router {
    Router::new()
        .route("/", get(now::page))
        .route("/own", get(now::own))
        .route("/now/list", get(now::list))
        .route("/live", get(now::live))
        .route("/runs", get(runs::page))
        .route("/runs/{run}", get(run::page))
        .route("/runs/{run}/over-time", get(run::over_time))
        .route("/runs/{run}/values", get(run::values))
        .route("/runs/{run}/stop", post(run::stop))
        .route("/runs/{run}/label", post(edit::label))
        .route("/runs/{run}/note", post(edit::note))
        .route("/runs/{run}/baseline", post(edit::baseline))
        .route("/runs/{run}/delete", get(delete::ask).post(delete::delete))
        .route("/runs/{run}/file", get(download::run))
        .route("/compare", get(compare::page))
        .route("/compare/file", get(download::comparison))
        .route("/targets/file", get(download::of_trends))
        .nest("/api/v1", api::router())
        .route("/new", get(new_run::page).post(new_run::start))
        .route("/new/diagnosis", get(new_run::diagnosis::page).post(new_run::diagnosis::start))
        .route("/started/{number}", get(new_run::started))
        .route("/targets", get(targets::page))
        .route("/predict", get(predict::page))
        .route("/predict/part", get(predict::part))
        .route("/diagnose", get(diagnose::page))
        .route("/map", get(map::page))
        .route("/metrics", get(metrics::page))
        .route("/methods", get(run::methods))
        .route("/login", get(login::page).post(login::sign_in))
        .route("/logout", post(login::sign_out))
        .route("/assets/{digest}/{name}", get(asset::asset))
        .fallback(async || Refusal::not_found("There is no such page."))
        .layer(axum::middleware::from_fn(packed))
        .layer(axum::middleware::from_fn_with_state(Arc::clone(&app.texts), once_a_second))
        .layer(axum::middleware::from_fn_with_state(Arc::clone(&app), guard))
        .with_state(app)
}
