//! Answers to visitors who are not signed in: made once a second at most, and together of a limited weight.
//!
//! Whoever asks for the same page on many connections, and reads none of the answers, makes the server neither work
//! more than for one nor keep more than [`WEIGHT_KIB_MAX`]. Whoever is signed in is answered afresh and without limits.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use axum::body::{Body, Bytes};
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::answer::Refusal;
use crate::packed::is_accepted;
use crate::visitor::Visitor;

/// An answer is sent again for so long.
const FRESH: Duration = Duration::from_secs(1);
/// Addresses whose answers are kept.
const KEPT_MAX: usize = 64;
/// What all answers weigh that are kept or under way, KiB.
const WEIGHT_KIB_MAX: u32 = 96 << 10;
/// The largest answer; a report of a day has some ten MiB.
const ANSWER_BYTES_MAX: usize = 64 << 20;
/// Answers that are made at once: some threads are left for whoever is signed in.
const MADE_AT_ONCE: usize = 3;
/// A connection gets an answer in pieces of so many bytes, so that it has no more than one of them of its own.
const PIECE_BYTES: usize = 32 << 10;

/// The answers of the last second.
pub(crate) struct Texts {
    by_address: Mutex<HashMap<String, Slot>>,
    weight: Arc<Semaphore>,
    making: Semaphore,
}

/// Held while an answer is made: whoever asks for the same waits and gets the same.
type Slot = Arc<tokio::sync::Mutex<Option<Text>>>;

struct Text {
    made: Instant,
    headers: HeaderMap,
    body: Bytes,
}

/// Bytes that count for the weight of all answers until the last connection has sent them.
struct Weighed {
    bytes: Bytes,
    _weight: OwnedSemaphorePermit,
}

impl AsRef<[u8]> for Weighed {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Default for Texts {
    fn default() -> Self {
        Self {
            by_address: Mutex::default(),
            weight: Arc::new(Semaphore::new(WEIGHT_KIB_MAX as usize)),
            making: Semaphore::new(MADE_AT_ONCE),
        }
    }
}

impl Texts {
    fn slot(&self, address: String) -> Slot {
        let mut all = self.by_address.lock().unwrap_or_else(PoisonError::into_inner);
        // What is no longer sent must not weigh. One that is being made is locked.
        let is_used =
            |slot: &Slot| slot.try_lock().map_or(true, |text| text.as_ref().is_some_and(Text::is_fresh));
        all.retain(|_, slot| is_used(slot));
        if all.len() >= KEPT_MAX && !all.contains_key(&address) {
            return Slot::default();
        }
        Arc::clone(all.entry(address).or_default())
    }

    /// Forgets all: something was changed.
    pub(crate) fn forget(&self) {
        self.by_address.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    fn weigh(&self, bytes: Bytes) -> Result<Bytes, Refusal> {
        let kib = u32::try_from(bytes.len().div_ceil(1024)).unwrap_or(u32::MAX);
        let weight = Arc::clone(&self.weight).try_acquire_many_owned(kib);
        let says = "Answers that nobody reads use up the memory that there is for answers; try again in some seconds, \
                    or sign in.";
        let weight = weight.map_err(|_| Refusal::new(StatusCode::SERVICE_UNAVAILABLE, says))?;
        Ok(Bytes::from_owner(Weighed { bytes, _weight: weight }))
    }
}

impl Text {
    fn is_fresh(&self) -> bool {
        self.made.elapsed() < FRESH
    }

    fn response(&self) -> Response {
        let body = self.body.clone();
        let pieces = (0..body.len()).step_by(PIECE_BYTES);
        let pieces = pieces.map(move |from| body.slice(from..body.len().min(from + PIECE_BYTES)));
        let pieces = futures_util::stream::iter(pieces.map(Ok::<_, std::convert::Infallible>));
        let mut response = Response::new(Body::from_stream(pieces));
        *response.headers_mut() = self.headers.clone();
        response.headers_mut().insert(header::CONTENT_LENGTH, HeaderValue::from(self.body.len()));
        response
    }
}

/// Answers from what was made within the last second.
pub(crate) async fn once_a_second(
    State(texts): State<Arc<Texts>>,
    mut request: Request,
    next: Next,
) -> Response {
    let is_reader = matches!(request.extensions().get(), Some(Visitor::Reader));
    let path = request.uri().path();
    if *request.method() == Method::POST {
        let response = next.run(request).await;
        // Whoever is not signed in changes nothing.
        if !is_reader {
            texts.forget();
        }
        return response;
    }
    // An asset has its own rules for how long it is fresh, and a live page does not end.
    let is_head = *request.method() == Method::HEAD;
    let is_text = !path.starts_with("/assets/") && path != "/live";
    if !is_reader || !is_text {
        return next.run(request).await;
    }
    // Both get the same answer, one of them without its text.
    *request.method_mut() = Method::GET;
    let mut response = answered(&texts, request, next).await.unwrap_or_else(Refusal::into_response);
    if is_head {
        *response.body_mut() = Body::empty();
    }
    response
}

async fn answered(texts: &Texts, request: Request, next: Next) -> Result<Response, Refusal> {
    let packed = if is_accepted(request.headers()) { " packed" } else { "" };
    let slot = texts.slot(format!("{}{packed}", request.uri()));
    let mut slot = slot.lock().await;
    if let Some(text) = slot.as_ref().filter(|text| text.is_fresh()) {
        return Ok(text.response());
    }
    *slot = None;
    let turn = texts.making.acquire().await.map_err(|_| Refusal::internal("the server is being stopped"))?;
    let (head, body) = next.run(request).await.into_parts();
    let body = axum::body::to_bytes(body, ANSWER_BYTES_MAX).await;
    drop(turn);
    let body = body.map_err(|_| Refusal::internal("the answer is larger than 64 MiB"))?;
    let text = Text { made: Instant::now(), headers: head.headers, body: texts.weigh(body)? };
    let mut response = text.response();
    *response.status_mut() = head.status;
    if head.status == StatusCode::OK && !text.headers.contains_key(header::SET_COOKIE) {
        *slot = Some(text);
    }
    Ok(response)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Answers of some large reports, kept long after their second, left no room for any other.
    #[test]
    fn what_is_no_longer_sent_does_not_weigh() {
        let texts = Texts::default();
        let bytes = |mib: usize| Bytes::from(vec![0; mib << 20]);
        let text = |made, mib| Text {
            made,
            headers: HeaderMap::new(),
            body: texts.weigh(bytes(mib)).expect("room"),
        };
        let now = Instant::now();
        let keep = |address: &str, text| {
            *texts.slot(address.to_owned()).try_lock().expect("nobody else") = Some(text)
        };
        keep("fresh", text(now, 40));
        let stale = now.checked_sub(2 * FRESH).expect("the machine runs for some seconds");
        keep("stale", text(stale, 40));
        assert!(texts.weigh(bytes(40)).is_err(), "both are kept");
        drop(texts.slot("another".to_owned()));
        assert!(texts.weigh(bytes(40)).is_ok(), "the stale one is gone");
        assert!(texts.weigh(bytes(70)).is_err(), "the fresh one is not");
    }
}
