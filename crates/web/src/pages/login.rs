//! Signing in with the token, and out.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Instant;

use assay_report::html::escape;
use axum::extract::{Extension, State};
use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::Response;

use crate::answer::{Refusal, html, see_other};
use crate::app::App;
use crate::guard::{check_token, cookie, cookie_name};
use crate::page::{Page, Place};
use crate::visitor::{Fields, Peer, Visitor};

pub(crate) async fn page(State(app): State<Arc<App>>, Extension(visitor): Extension<Visitor>) -> Response {
    form(&app, &visitor, "")
}

/// Returns the form, under what was wrong with the last attempt.
fn form(app: &App, visitor: &Visitor, wrong: &str) -> Response {
    let wrong = match wrong {
        "" => String::new(),
        says => format!("<p class=\"banner\" role=\"alert\">{}</p>\n", escape(says)),
    };
    let why = match app.is_local() {
        true => "Changes need the token: labels and notes, starting, stopping and deleting runs.",
        false => "Every page needs the token.",
    };
    let body = format!(
        "<h1>Sign in</h1>\n{wrong}<p>{why} It is in the file that <code>assay serve</code> names when it \
         starts.</p>\n<form \
         class=\"stack\" method=\"post\" action=\"/login\">\n<label for=\"token\">Token</label>\n<input \
         type=\"password\" id=\"token\" name=\"token\" required autocomplete=\"current-password\" \
         autofocus>\n<button>Sign in</button>\n</form>\n"
    );
    html(Page::of(visitor, "Sign in", Place::None, &body).text())
}

pub(crate) async fn sign_in(
    State(app): State<Arc<App>>,
    peer: Option<Extension<Peer>>,
    Extension(visitor): Extension<Visitor>,
    Extension(fields): Extension<Fields>,
) -> Result<Response, Refusal> {
    let from = peer.map_or(IpAddr::from([0, 0, 0, 0]), |Extension(Peer(address))| address.ip());
    if let Err(refused) = check_token(&app, fields.get("token").trim(), from) {
        let (status, says) = refused.into_parts();
        let mut again = form(&app, &visitor, &format!("{says} Try again below."));
        *again.status_mut() = status;
        return Ok(again);
    }
    let begun = app.sessions().begin(Instant::now());
    let cookie = begun.map_err(|error| Refusal::internal(error.to_string()))?;
    Ok(with_cookie(&app, see_other("/"), &cookie, "43200"))
}

pub(crate) async fn sign_out(State(app): State<Arc<App>>, headers: HeaderMap) -> Response {
    if let Some(cookie) = cookie(&app, &headers) {
        app.sessions().end(cookie);
    }
    with_cookie(&app, see_other("/login"), "", "0")
}

/// Sets the session's cookie: no script reads it, no other site sends it.
fn with_cookie(app: &App, mut response: Response, value: &str, age_s: &str) -> Response {
    let secure = if app.has_tls() { "; Secure" } else { "" };
    let name = cookie_name(app);
    let text = format!("{name}={value}; Path=/; Max-Age={age_s}; HttpOnly; SameSite=Strict{secure}");
    if let Ok(value) = HeaderValue::try_from(text) {
        response.headers_mut().insert(header::SET_COOKIE, value);
    }
    response
}
