//! Answers in fewer bytes, for visitors who accept gzip.
//!
//! Pages carry the value of their session's forms beside what a visitor searched for. Nobody else can have a browser
//! ask for them with the session's cookie (SameSite=Strict), so that their packed length tells nothing.

use std::io::Write as _;

use axum::body::{Body, Bytes};
use axum::extract::Request;
use axum::http::{HeaderMap, HeaderValue, header};
use axum::middleware::Next;
use axum::response::Response;
use flate2::write::GzEncoder;
use flate2::{Compress, Compression, FlushCompress};

/// What a stream of [`segment`]s begins with: a gzip header without a name and a time.
pub(crate) const STREAM_HEAD: [u8; 10] = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255];
/// A shorter answer fits into a packet as it is.
const PACKED_MIN: usize = 1024;
/// The largest answer that is packed; a report of a day has some ten MiB.
const PACKED_MAX: usize = 64 << 20;
/// Room for what is packed, beyond what is there.
const ROOM: usize = 16 << 10;

/// Returns true if a visitor accepts gzip.
pub(crate) fn is_accepted(headers: &HeaderMap) -> bool {
    let accepted =
        headers.get(header::ACCEPT_ENCODING).and_then(|value| value.to_str().ok()).unwrap_or_default();
    accepted.split(',').any(|coding| {
        let mut parts = coding.split(';').map(str::trim);
        parts.next() == Some("gzip") && parts.next().is_none_or(|weight| !matches!(weight, "q=0" | "q=0.0"))
    })
}

/// Packs the text of an answer.
pub(crate) async fn packed(request: Request, next: Next) -> Response {
    // A stream packs its own parts.
    let is_packed = is_accepted(request.headers()) && request.uri().path() != "/live";
    let response = next.run(request).await;
    if !is_packed || !is_text(response.headers()) {
        return response;
    }
    let (mut head, body) = response.into_parts();
    let Ok(bytes) = axum::body::to_bytes(body, PACKED_MAX).await else {
        return Response::from_parts(head, Body::empty());
    };
    head.headers.insert(header::VARY, HeaderValue::from_static("accept-encoding"));
    if bytes.len() < PACKED_MIN {
        return Response::from_parts(head, Body::from(bytes));
    }
    let mut encoder = GzEncoder::new(Vec::with_capacity(bytes.len() / 4), Compression::fast());
    let made = encoder.write_all(&bytes).and_then(|()| encoder.finish());
    let Ok(made) = made else { return Response::from_parts(head, Body::from(bytes)) };
    head.headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    head.headers.remove(header::CONTENT_LENGTH);
    Response::from_parts(head, Body::from(made))
}

fn is_text(headers: &HeaderMap) -> bool {
    let kind = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let kind = kind.split(';').next().unwrap_or_default();
    kind.starts_with("text/") || kind.starts_with("application/") || kind == "image/svg+xml"
}

/// Packs a part of a stream by itself: it does not depend on what any viewer has got before, so that all are sent the
/// same bytes.
pub(crate) fn segment(bytes: &[u8]) -> Bytes {
    let mut compress = Compress::new(Compression::fast(), false);
    let mut packed = Vec::with_capacity(bytes.len() / 4 + ROOM);
    loop {
        let taken = usize::try_from(compress.total_in()).unwrap_or(usize::MAX).min(bytes.len());
        let made = compress.compress_vec(&bytes[taken..], &mut packed, FlushCompress::Full);
        let is_whole = compress.total_in() == bytes.len() as u64 && packed.len() < packed.capacity();
        if made.is_err() || is_whole {
            return packed.into();
        }
        packed.reserve(ROOM);
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use super::*;

    #[test]
    fn segments_that_were_packed_apart_are_one_gzip_stream() {
        let parts = ["data: one\n\n".to_owned(), "data: ".to_owned() + &"svg".repeat(50_000) + "\n\n"];
        let mut stream = STREAM_HEAD.to_vec();
        parts.iter().for_each(|part| stream.extend_from_slice(&segment(part.as_bytes())));
        assert!(stream.len() < 2000, "{} bytes", stream.len());
        let mut text = vec![0; parts.concat().len()];
        flate2::read::GzDecoder::new(&stream[..]).read_exact(&mut text).expect("whole parts");
        assert_eq!(String::from_utf8(text).expect("text"), parts.concat());
    }

    #[test]
    fn gzip_is_accepted_where_it_is_named_and_not_refused() {
        for (value, accepted) in [
            ("gzip, deflate, br", true),
            ("br;q=1, gzip;q=0.8", true),
            ("gzip;q=0", false),
            ("identity", false),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(header::ACCEPT_ENCODING, HeaderValue::from_static(value));
            assert_eq!(is_accepted(&headers), accepted, "{value}");
        }
    }
}
