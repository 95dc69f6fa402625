//! A map of a target, what changed since the one before it, and the others of the target.

use std::sync::Arc;

use assay_report::html::{escape, stored_map};
use assay_report::minute;
use assay_store::Reader;
use axum::extract::{Extension, Query, State};
use axum::response::Response;

use super::targets::{link, link_to_map};
use crate::answer::{Refusal, html};
use crate::app::App;
use crate::page::{Page, Place};
use crate::visitor::{Fields, Visitor};

pub(crate) async fn page(
    State(app): State<Arc<App>>,
    Extension(visitor): Extension<Visitor>,
    Query(query): Query<Vec<(String, String)>>,
) -> Result<Response, Refusal> {
    let asked = Fields::new(query);
    app.with_store(move |store| {
        let target = asked.get("target");
        let body = of_target(store, target, asked.get("made"))?;
        Ok(html(Page::of(&visitor, &format!("Map of {target}"), Place::Targets, &body).text()))
    })
    .await
}

/// The map of that time; the newest where no time is asked for.
fn of_target(store: &Reader, target: &str, made: &str) -> Result<String, Refusal> {
    let all = store.maps(target)?;
    let none = || Refusal::not_found("There is no such map. To make one: assay map TARGET");
    let made_unix_ms = match made {
        "" => *all.first().ok_or_else(none)?,
        text => text.parse().map_err(|_| none())?,
    };
    let map = store.map(target, made_unix_ms)?.ok_or_else(none)?;
    let before =
        all.iter().find(|one| **one < made_unix_ms).map(|one| store.map(target, *one)).transpose()?;
    let drawn = stored_map(&map, before.flatten().as_deref())
        .ok_or_else(|| Refusal::internal("This map was made by a later version of Assay."))?;
    let other = |one: &u64| match *one == made_unix_ms {
        true => format!("<li>{}</li>\n", minute(*one)),
        false => format!("<li><a href=\"{}\">{}</a></li>\n", link_to_map(target, *one), minute(*one)),
    };
    let others = match all.as_slice() {
        [] | [_] => String::new(),
        all => format!(
            "<h2>All maps of this target</h2>\n<ul>\n{}</ul>\n",
            all.iter().map(other).collect::<String>()
        ),
    };
    Ok(format!(
        "<p class=\"tools\"><a href=\"{0}\">{1}</a></p>\n<h1>Map of {1}</h1>\n<p class=\"soft\">Made {2}.</p>\n\
         {drawn}{others}",
        link(target),
        escape(target),
        minute(made_unix_ms)
    ))
}
