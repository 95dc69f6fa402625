//! Files of the binary.

use axum::extract::Path;
use axum::http::{HeaderValue, header};
use axum::response::Response;

use crate::answer::{Refusal, typed};
use crate::assets;

/// Answers with a file; that of an earlier version of the program is not there any more.
pub(crate) async fn asset(Path((digest, name)): Path<(String, String)>) -> Result<Response, Refusal> {
    let found = assets::ALL.into_iter().find(|asset| asset.name == name && asset.digest == digest);
    let Some(asset) = found else { return Err(Refusal::not_found("There is no such file.")) };
    let mut response = typed(asset.text.clone(), asset.kind);
    let cached = HeaderValue::from_static("public, max-age=31536000, immutable");
    response.headers_mut().insert(header::CACHE_CONTROL, cached);
    Ok(response)
}
