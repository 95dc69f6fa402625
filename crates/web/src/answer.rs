//! What is answered: pages, and refusals with a sentence each.

use assay_report::html::escape;
use assay_results::ReadError;
use assay_store::{StopError, StoreError};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};

use crate::page::{Page, Place};

/// Why a request got no page.
#[derive(Debug)]
pub(crate) struct Refusal {
    status: StatusCode,
    /// A sentence for people.
    says: String,
}

impl Refusal {
    pub(crate) fn new(status: StatusCode, says: impl Into<String>) -> Self {
        Self { status, says: says.into() }
    }

    /// The visitor asked for something that is not there.
    pub(crate) fn not_found(says: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, says)
    }

    /// The visitor asked for something that cannot be.
    pub(crate) fn bad(says: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, says)
    }

    /// The visitor may not do that.
    pub(crate) fn forbidden(says: impl Into<String>) -> Self {
        Self::new(StatusCode::FORBIDDEN, says)
    }

    /// Something failed here.
    pub(crate) fn internal(says: impl Into<String>) -> Self {
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, says)
    }

    /// Returns the status and the sentence, for a page that says it in its own place.
    pub(crate) fn into_parts(self) -> (StatusCode, String) {
        (self.status, self.says)
    }

    /// There is no store yet.
    pub(crate) fn no_store() -> Self {
        Self::not_found("No run is stored yet. To make one: assay run SUITE TARGET")
    }
}

impl From<StoreError> for Refusal {
    fn from(error: StoreError) -> Self {
        let status = match &error {
            StoreError::Find { .. } => StatusCode::NOT_FOUND,
            StoreError::Running { .. }
            | StoreError::Stop { source: StopError::Gone | StopError::Elsewhere { .. }, .. } => {
                StatusCode::CONFLICT
            }
            _ => StatusCode::INTERNAL_SERVER_ERROR,
        };
        Self::new(status, sentence(&error))
    }
}

impl From<ReadError> for Refusal {
    fn from(error: ReadError) -> Self {
        match error {
            ReadError::Store(error) => error.into(),
            ReadError::Array(_) => Self::internal(sentence(&error)),
        }
    }
}

/// Returns an error with its causes as a sentence.
fn sentence(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(error.source(), |cause| cause.source());
    let text = causes.map(ToString::to_string).fold(error.to_string(), |text, cause| {
        if text.contains(&cause) { text } else { format!("{text}: {cause}") }
    });
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let title = self.status.canonical_reason().unwrap_or("Error");
        let body = format!(
            "<h1>{title}</h1>\n<p>{}</p>\n<p><a href=\"/runs\">All runs</a></p>\n",
            escape(&self.says)
        );
        let mut response = html(Page::plain(title, Place::None, &body).text());
        *response.status_mut() = self.status;
        response.extensions_mut().insert(Says(self.says));
        response
    }
}

/// What a refusal says, beside its page.
#[derive(Clone)]
struct Says(String);

/// Gives programs a refusal as a document with its sentence, `error`, whoever refused: a route, the guard before it, or
/// the library that takes addresses apart, which has no sentence.
pub(crate) fn refused_as_json(mut response: Response) -> Response {
    let status = response.status();
    let kind = response.headers().get(header::CONTENT_TYPE);
    let is_document = kind.is_some_and(|kind| kind == "application/json");
    if is_document || !status.is_client_error() && !status.is_server_error() {
        return response;
    }
    let says = match response.extensions_mut().remove() {
        Some(Says(says)) => says,
        None if status == StatusCode::BAD_REQUEST => "The address cannot be read.".to_owned(),
        None if status == StatusCode::NOT_FOUND => "There is no such document.".to_owned(),
        None => format!("{}.", status.canonical_reason().unwrap_or("Refused")),
    };
    let mut answer = typed(format!("{:#}\n", serde_json::json!({ "error": says })), "application/json");
    *answer.status_mut() = status;
    let headers = answer.headers_mut();
    if status == StatusCode::METHOD_NOT_ALLOWED {
        headers.insert(header::ALLOW, HeaderValue::from_static("GET, HEAD"));
    }
    for name in [header::WWW_AUTHENTICATE, header::CONNECTION] {
        if let Some(value) = response.headers_mut().remove(&name) {
            headers.insert(name, value);
        }
    }
    answer
}

/// Returns an HTML document as an answer.
pub(crate) fn html(text: String) -> Response {
    typed(text, "text/html; charset=utf-8")
}

/// Returns a text of that type as an answer.
pub(crate) fn typed(text: String, kind: &'static str) -> Response {
    let mut response = text.into_response();
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    response
}

/// Sends the visitor to another page, which is then asked for with GET.
pub(crate) fn see_other(path: &str) -> Response {
    let mut response = StatusCode::SEE_OTHER.into_response();
    let location = HeaderValue::try_from(path).unwrap_or(HeaderValue::from_static("/"));
    response.headers_mut().insert(header::LOCATION, location);
    response
}
