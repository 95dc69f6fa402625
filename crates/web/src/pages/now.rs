//! Now: the runs that are going on.

use std::convert::Infallible;
use std::sync::Arc;

use assay_report::html::{Span, escape};
use assay_store::Process;
use axum::body::{Body, Bytes};
use axum::extract::{Extension, Query, State};
use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::Response;
use serde::Deserialize;
use tokio::sync::watch;

use crate::answer::{Refusal, html, see_other};
use crate::app::App;
use crate::frame::{CHARTS, Frame, Shown, Wanted};
use crate::launch::run_of;
use crate::live::WholeWatcher;
use crate::packed::{STREAM_HEAD, is_accepted};
use crate::page::{Page, Place};
use crate::run_id::checked_id;
use crate::visitor::Visitor;

/// Seconds after which a browser without script looks again.
const RELOAD_S: u32 = 5;
/// Parts of a run on the page, in their order; those of an ended run may lack some.
const PARTS: [&str; 7] = ["status", "step", "figures", "links", "finding", CHARTS, "table"];
const TILE_PARTS: [&str; 4] = ["status", "step", "figures", "finding"];

pub(crate) async fn page(
    State(app): State<Arc<App>>,
    Extension(visitor): Extension<Visitor>,
    Query(of): Query<Of>,
) -> Result<Response, Refusal> {
    let frame = frame(&app).await?;
    let span = of.span();
    let query = if span == Span::Whole { "?span=whole" } else { "" };
    let switch = match frame.is_tiled() || !frame.runs.iter().any(|shown| shown.is_running) {
        true => String::new(),
        false => span_switch("/", span),
    };
    let body = format!(
        "<h1>Now</h1>\n{switch}<div id=\"runs\" data-live=\"/live{query}\" data-list=\"/now/list{query}\" \
         data-shown=\"{}\">\n{}</div>\n",
        frame.list().join(" "),
        articles(&app, &frame, &visitor, span)
    );
    let title = match frame.runs.iter().filter(|shown| shown.is_running).count() {
        0 => "No run".to_owned(),
        1 => "1 run".to_owned(),
        several => format!("{several} runs"),
    };
    Ok(html(Page::of(&visitor, &title, Place::Now, &body).reloaded_without_script(RELOAD_S).text()))
}

/// Leads to the run that this server was started for.
pub(crate) async fn own(
    State(app): State<Arc<App>>,
    Extension(visitor): Extension<Visitor>,
) -> Result<Response, Refusal> {
    let Some(process) = app.options.own_process else { return Ok(see_other("/")) };
    let run =
        app.with_store(move |store| Ok(Process::of(process).and_then(|own| run_of(store, &own)))).await?;
    let body =
        "<h1>Now</h1>\n<p>The target is being prepared; the run appears here as soon as that is done.</p>\n";
    Ok(match run {
        Some(run) => see_other(&format!("/runs/{run}")),
        None => html(Page::of(&visitor, "Preparing", Place::Now, body).reloaded(1).text()),
    })
}

/// Answers with the runs alone, for a page whose list has changed.
pub(crate) async fn list(
    State(app): State<Arc<App>>,
    Extension(visitor): Extension<Visitor>,
    Query(of): Query<Of>,
) -> Result<Response, Refusal> {
    let frame = frame(&app).await?;
    Ok(html(articles(&app, &frame, &visitor, of.span())))
}

/// Which run a stream is of, and how much of the time its charts show.
#[derive(Debug, Deserialize)]
pub(crate) struct Of {
    run: Option<String>,
    span: Option<String>,
}

impl Of {
    fn span(&self) -> Span {
        span_named(self.span.as_deref())
    }
}

/// Returns how much of the time the charts show that an address asks for.
pub(crate) fn span_named(name: Option<&str>) -> Span {
    if name == Some("whole") { Span::Whole } else { Span::Last }
}

/// Returns the links to the other span of the charts of a page.
pub(crate) fn span_switch(path: &str, span: Span) -> String {
    let link = |is_now: bool, query: &str, says: &str| match is_now {
        true => format!("<strong aria-current=\"true\">{says}</strong>"),
        false => format!("<a href=\"{path}{query}\">{says}</a>"),
    };
    format!(
        "<p class=\"tools\">Charts: {} {}</p>\n",
        link(span == Span::Last, "", "last 5 minutes"),
        link(span == Span::Whole, "?span=whole", "whole test")
    )
}

/// Answers with a stream of frames: of one run, or of all.
pub(crate) async fn live(
    State(app): State<Arc<App>>,
    Query(of): Query<Of>,
    headers: HeaderMap,
) -> Result<Response, Refusal> {
    of.run.as_deref().map_or(Ok(()), checked_id)?;
    // Before the first frame is drawn, so that the next one is drawn too.
    let receiver = app.live.frames();
    let first = frame(&app).await?;
    let is_packed = is_accepted(&headers);
    let span = of.span();
    let whole = (span == Span::Whole).then(|| app.live.watch_whole());
    let following =
        Following { receiver, first: Some(first), sent: None, run: of.run, span, is_packed, _whole: whole };
    let body = Body::from_stream(futures_util::stream::unfold(following, next_frame));
    let mut response = Response::new(body);
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    if is_packed {
        headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    }
    Ok(response)
}

/// A viewer.
struct Following {
    receiver: watch::Receiver<Arc<Frame>>,
    first: Option<Arc<Frame>>,
    /// The last frame that was sent.
    sent: Option<u64>,
    run: Option<String>,
    span: Span,
    is_packed: bool,
    _whole: Option<WholeWatcher>,
}

async fn next_frame(mut of: Following) -> Option<(Result<Bytes, Infallible>, Following)> {
    let frame = match of.first.take() {
        Some(first) => {
            of.receiver.mark_unchanged();
            first
        }
        None => {
            of.receiver.changed().await.ok()?;
            Arc::clone(&of.receiver.borrow_and_update())
        }
    };
    let extent = frame.extent_after(of.sent);
    let event = frame.event(&Wanted { run: of.run.clone(), extent, span: of.span, is_packed: of.is_packed });
    let bytes = match (of.sent, of.is_packed) {
        (None, true) => [&STREAM_HEAD[..], &event[..]].concat().into(),
        _ => event,
    };
    of.sent = Some(frame.number);
    Some((Ok(bytes), of))
}

async fn frame(app: &Arc<App>) -> Result<Arc<Frame>, Refusal> {
    // Without a store nothing runs.
    if !app.options.store.exists() {
        return Ok(Arc::default());
    }
    let following = Arc::clone(app);
    app.with_store(move |store| Ok(following.live.frame(store)?)).await
}

fn articles(app: &App, frame: &Frame, visitor: &Visitor, span: Span) -> String {
    if frame.runs.is_empty() {
        return "<p>No run is in progress. A run that is started here or in a terminal appears within two seconds: \
                <code>assay run vmware ./t.dat --quick</code></p>\n<p><a href=\"/runs\">All stored runs</a></p>\n"
            .to_owned();
    }
    if !frame.is_tiled() {
        return frame.runs.iter().map(|shown| article(app, shown, visitor, span)).collect();
    }
    let tiles: String = frame.runs.iter().map(|shown| tile(shown, visitor)).collect();
    format!("<div class=\"tiles\">\n{tiles}</div>\n")
}

/// Returns a run in small: where it stands, its last second, its gravest finding. Its name opens it.
fn tile(shown: &Shown, visitor: &Visitor) -> String {
    drawn(shown, visitor, &TILE_PARTS, "live tile")
}

/// Returns a run with all its parts.
pub(crate) fn article(app: &App, shown: &Shown, visitor: &Visitor, span: Span) -> String {
    let whole = (span == Span::Whole).then(|| app.live.whole(&shown.run)).flatten();
    let Some(whole) = whole else { return drawn(shown, visitor, &PARTS, "live") };
    let mut shown = shown.clone();
    shown.parts.retain(|(part, _)| *part != CHARTS);
    shown.parts.push((CHARTS, whole));
    drawn(&shown, visitor, &PARTS, "live")
}

fn drawn(shown: &Shown, visitor: &Visitor, names: &[&str], class: &str) -> String {
    let run = escape(&shown.run);
    let part = |name: &str| {
        let html = shown.parts.iter().find(|(known, _)| *known == name).map_or("", |(_, html)| html);
        // What changes each second is not read out each second.
        format!("<div class=\"part live-{name}\" id=\"{name}-{run}\">{html}</div>\n")
    };
    let parts: String = names.iter().map(|name| part(name)).collect();
    let stop = match (shown.is_running, visitor.csrf()) {
        (true, Some(_)) => format!(
            "<form method=\"post\" action=\"/runs/{run}/stop\">{}<button class=\"stop\">Stop</button></form>",
            visitor.hidden()
        ),
        (true, None) => "<a class=\"button\" href=\"/login\">Sign in to stop it</a>".to_owned(),
        (false, _) => String::new(),
    };
    format!(
        "<article class=\"{class}\" data-run=\"{run}\" aria-label=\"Run {run}\">\n<div class=\"head\"><h2><a \
         href=\"/runs/{run}\">{}</a></h2>\n{stop}</div>\n<p class=\"soft\">Run {run} {}</p>\n{parts}</article>\n",
        shown.name, shown.about
    )
}
