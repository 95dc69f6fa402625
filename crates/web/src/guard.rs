//! What every request passes before its route: the name it asks for, who sent it, whether it may change anything.
//!
//! A request that changes something ([`guard`] lets no other method than GET, HEAD and POST through) comes from a page
//! of this server, carries the value of its session's forms, and is read here: routes get its [`Fields`], so that none
//! can forget to check.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Instant;

use axum::Form;
use axum::extract::{DefaultBodyLimit, FromRequest as _, Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use crate::answer::{Refusal, refused_as_json, see_other};
use crate::app::App;
use crate::visitor::{CSRF, Fields, Peer, Visitor};

/// Bytes of a request's body; a note is the longest thing that is sent.
pub(crate) const BODY_BYTES_MAX: usize = 64 << 10;

/// Sent with every answer. The pages contain no inline script and no inline style; their own script draws a chart from
/// memory (blob:) where it is saved as PNG.
const HEADERS: [(&str, &str); 8] = [
    (
        "content-security-policy",
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; connect-src 'self'; \
         form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    ),
    ("x-content-type-options", "nosniff"),
    ("x-frame-options", "DENY"),
    ("referrer-policy", "same-origin"),
    ("cross-origin-opener-policy", "same-origin"),
    ("cross-origin-resource-policy", "same-origin"),
    ("permissions-policy", "camera=(), geolocation=(), microphone=()"),
    ("cache-control", "no-store"),
];

/// Checks a request, and passes it on with its [`Visitor`] and, where it changes something, its [`Fields`].
pub(crate) async fn guard(State(app): State<Arc<App>>, request: Request, next: Next) -> Response {
    let is_for_program = is_of_program(&request);
    let answered = tokio::time::timeout(app.options.limits.request_time, checked(&app, request, next)).await;
    let slow = || Refusal::new(StatusCode::REQUEST_TIMEOUT, "The request took too long.").into_response();
    let mut response = match answered {
        Ok(Ok(response)) => response,
        Ok(Err(refusal)) => closing_if_too_many(refusal.into_response()),
        Err(_) => slow(),
    };
    if is_for_program {
        response = refused_as_json(response);
    }
    let headers = response.headers_mut();
    for (name, value) in HEADERS {
        headers.entry(HeaderName::from_static(name)).or_insert(HeaderValue::from_static(value));
    }
    response
}

/// Returns true if a request asks for a document of `/api`, or for one that is not there: programs read no pages.
fn is_of_program(request: &Request) -> bool {
    let below = request.uri().path().strip_prefix("/api");
    below.is_some_and(|below| below.is_empty() || below.starts_with('/'))
}

/// Whoever sent more than they may has to connect again: thousands of requests that wait on a connection are not even
/// refused one by one.
fn closing_if_too_many(mut refused: Response) -> Response {
    if refused.status() == StatusCode::TOO_MANY_REQUESTS {
        refused.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
    }
    refused
}

async fn checked(app: &Arc<App>, mut request: Request, next: Next) -> Result<Response, Refusal> {
    // Whoever is signed in is not kept out by others who ask from the same address: on loopback all do.
    // Nor from signing in, which costs the server next to nothing.
    let is_login = *request.method() == Method::POST && request.uri().path() == "/login";
    let is_exempt = is_login || is_known(app, request.headers());
    if !is_exempt && !app.rates().allows(app.options.limits.requests, address_of(&request), Instant::now()) {
        let says = "Too many requests from this address; wait a second.";
        return Err(Refusal::new(StatusCode::TOO_MANY_REQUESTS, says));
    }
    if app.is_local() && !is_local(&request) {
        // A page of somebody else whose name leads here (DNS rebinding) must not read anything.
        let says = "This server only answers requests to localhost, 127.0.0.1 and [::1].";
        return Err(Refusal::new(StatusCode::MISDIRECTED_REQUEST, says));
    }
    if is_of_program(&request) && !matches!(*request.method(), Method::GET | Method::HEAD) {
        return Err(Refusal::new(StatusCode::METHOD_NOT_ALLOWED, "/api is read-only: GET and HEAD."));
    }
    let is_public = matches!(request.uri().path(), "/login") || request.uri().path().starts_with("/assets/");
    let visitor = visitor(app, &request)?;
    match *request.method() {
        Method::GET | Method::HEAD => {
            if visitor.is_none() && !is_public {
                return Ok(sent_to_login(&request));
            }
        }
        Method::POST => {
            if is_cross_site(app, request.headers()) {
                return Err(Refusal::forbidden("The request comes from a page of another site."));
            }
            let is_login = request.uri().path() == "/login";
            if !is_login && !matches!(visitor, Some(Visitor::SignedIn { .. } | Visitor::Program)) {
                return Err(Refusal::new(
                    StatusCode::UNAUTHORIZED,
                    "Sign in first: nothing can be changed, started or stopped without the token.",
                ));
            }
            request = with_fields(request, visitor.as_ref().filter(|_| !is_login)).await?;
        }
        _ => {
            return Err(Refusal::new(
                StatusCode::METHOD_NOT_ALLOWED,
                "Only GET, HEAD and POST are supported.",
            ));
        }
    }
    request.extensions_mut().insert(visitor.unwrap_or(Visitor::Reader));
    Ok(next.run(request).await)
}

/// Returns true if a request carries the token, or the cookie of a session.
fn is_known(app: &App, headers: &HeaderMap) -> bool {
    let session = cookie(app, headers).and_then(|cookie| app.sessions().of(cookie, Instant::now()));
    session.is_some() || bearer(headers).is_some_and(|typed| app.token.is(typed))
}

/// Returns who sent a request; `None` for somebody who may not even look.
fn visitor(app: &App, request: &Request) -> Result<Option<Visitor>, Refusal> {
    let headers = request.headers();
    if let Some(typed) = bearer(headers) {
        let from = address_of(request);
        check_token(app, typed, from)?;
        return Ok(Some(Visitor::Program));
    }
    let session = cookie(app, headers).and_then(|cookie| app.sessions().of(cookie, Instant::now()));
    Ok(match session {
        Some(session) => Some(Visitor::SignedIn { csrf: session.csrf }),
        None => app.is_local().then_some(Visitor::Reader),
    })
}

/// Refuses a wrong token. The right one is never refused, whoever guessed from the same address before: it has 256 bits
/// and cannot be guessed.
pub(crate) fn check_token(app: &App, typed: &str, from: IpAddr) -> Result<(), Refusal> {
    if app.token.is(typed) {
        return Ok(());
    }
    let (mut sessions, now) = (app.sessions(), Instant::now());
    if sessions.is_locked(from, now) {
        let says = "Too many wrong tokens; only the right one is answered for a minute.";
        return Err(Refusal::new(StatusCode::TOO_MANY_REQUESTS, says));
    }
    sessions.guessed(from, now);
    Err(Refusal::new(StatusCode::UNAUTHORIZED, "The token is wrong."))
}

/// Returns the address of whoever sent a request.
pub(crate) fn address_of(request: &Request) -> IpAddr {
    let unknown = IpAddr::from([0, 0, 0, 0]);
    request.extensions().get::<Peer>().map_or(unknown, |Peer(address)| address.ip())
}

fn bearer(headers: &HeaderMap) -> Option<&str> {
    headers.get(header::AUTHORIZATION)?.to_str().ok()?.strip_prefix("Bearer ").map(str::trim)
}

/// Returns the name of the session's cookie. Browsers do not tell ports apart, so two servers of a machine need two.
pub(crate) fn cookie_name(app: &App) -> String {
    format!("assay-{}", app.address.port())
}

/// Returns the value of the session's cookie, where one was sent.
pub(crate) fn cookie<'h>(app: &App, headers: &'h HeaderMap) -> Option<&'h str> {
    let name = cookie_name(app);
    let all = headers.get_all(header::COOKIE).into_iter().filter_map(|value| value.to_str().ok());
    all.flat_map(|value| value.split(';'))
        .filter_map(|pair| pair.trim().split_once('='))
        .find_map(|(known, value)| (known == name).then_some(value))
}

/// Returns true if a request names this machine, and nothing else, as whom it asks.
fn is_local(request: &Request) -> bool {
    let authority = request.uri().authority().map(|authority| authority.as_str());
    let mut hosts = request.headers().get_all(header::HOST).iter();
    // A second name would be the one that something else between here and the browser goes by.
    let (Some(host), None) = (hosts.next(), hosts.next()) else { return false };
    host.to_str().is_ok_and(is_local_name) && authority.is_none_or(is_local_name)
}

fn is_local_name(host: &str) -> bool {
    let name = match host.rsplit_once(':') {
        // The colons of an IPv6 address stand in brackets.
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    };
    let is_loopback = |name: &str| name.parse::<IpAddr>().is_ok_and(|address| address.is_loopback());
    name.eq_ignore_ascii_case("localhost")
        || is_loopback(name.strip_prefix('[').and_then(|n| n.strip_suffix(']')).unwrap_or(name))
}

/// Returns true if a browser says that another site's page sent the request.
fn is_cross_site(app: &App, headers: &HeaderMap) -> bool {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let scheme = if app.has_tls() { "https" } else { "http" };
    let own = text("host").map(|host| format!("{scheme}://{host}"));
    let is_foreign_origin = text("origin").is_some_and(|origin| Some(origin) != own.as_deref());
    let is_foreign_site = text("sec-fetch-site").is_some_and(|site| !matches!(site, "same-origin" | "none"));
    is_foreign_origin || is_foreign_site
}

/// Reads a form, and checks that a page of the visitor's session sent it.
async fn with_fields(request: Request, visitor: Option<&Visitor>) -> Result<Request, Refusal> {
    let (parts, body) = request.into_parts();
    let mut read = Request::from_parts(parts.clone(), body);
    DefaultBodyLimit::apply(DefaultBodyLimit::max(BODY_BYTES_MAX), &mut read);
    let form = Form::<Vec<(String, String)>>::from_request(read, &()).await;
    let Form(fields) = form.map_err(|rejected| {
        let says = match rejected.status() {
            StatusCode::PAYLOAD_TOO_LARGE => format!("A form may have at most {} KiB.", BODY_BYTES_MAX >> 10),
            _ => "The form cannot be read.".to_owned(),
        };
        Refusal::new(rejected.status(), says)
    })?;
    let fields = Fields::new(fields);
    if let Some(Visitor::SignedIn { csrf }) = visitor
        && !csrf.is(fields.get(CSRF))
    {
        return Err(Refusal::forbidden(
            "The form does not belong to this session; reload the page and send it again.",
        ));
    }
    let mut request = Request::from_parts(parts, axum::body::Body::empty());
    request.extensions_mut().insert(fields);
    Ok(request)
}

/// Sends a browser to the form, and a program away.
fn sent_to_login(request: &Request) -> Response {
    let wants_html = request.headers().get(header::ACCEPT).and_then(|value| value.to_str().ok());
    if !is_of_program(request) && wants_html.is_some_and(|accepted| accepted.contains("text/html")) {
        return see_other("/login");
    }
    let says = "Send the token: Authorization: Bearer TOKEN";
    let mut response = Refusal::new(StatusCode::UNAUTHORIZED, says).into_response();
    response.headers_mut().insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_of_this_machine_are_answered() {
        let with = |uri: &str, names: &[&str]| {
            let mut request = axum::http::Request::get(uri);
            for name in names {
                request = request.header(header::HOST, *name);
            }
            is_local(&request.body(axum::body::Body::empty()).expect("a request"))
        };
        let host = |name: &str| with("/runs", &[name]);
        for name in
            ["localhost", "localhost:8080", "LOCALHOST:1", "127.0.0.1:8080", "127.0.0.1", "[::1]:8080"]
        {
            assert!(host(name), "{name}");
        }
        for name in
            ["evil.example", "evil.example:8080", "127.0.0.1.evil.example", "10.0.0.1:8080", "localhost:x"]
        {
            assert!(!host(name), "{name}");
        }
        assert!(!with("/runs", &[]));
        assert!(!with("/runs", &["localhost", "evil.example"]), "two names");
        assert!(!with("http://evil.example/runs", &["localhost"]), "a name in the request line");
        assert!(with("http://localhost/runs", &["localhost"]));
    }
}
