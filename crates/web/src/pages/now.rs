//! Now: the runs that are going on.

use std::convert::Infallible;
use std::sync::Arc;

use assay_report::html::escape;
use assay_store::Process;
use axum::body::{Body, Bytes};
use axum::extract::{Extension, State};
use axum::http::{HeaderValue, header};
use axum::response::Response;
use tokio::sync::watch;

use crate::answer::{Refusal, html, see_other};
use crate::app::App;
use crate::launch::run_of;
use crate::live::{Frame, Shown};
use crate::page::{Page, Place};
use crate::visitor::Visitor;

/// Seconds after which a browser without script looks again.
const RELOAD_S: u32 = 5;
/// Parts of a run on the page, in their order; those of an ended run may lack some.
const PARTS: [&str; 7] = ["status", "step", "figures", "links", "finding", "charts", "table"];

pub(crate) async fn page(
    State(app): State<Arc<App>>,
    Extension(visitor): Extension<Visitor>,
) -> Result<Response, Refusal> {
    let frame = frame(&app).await?;
    let body = format!(
        "<h1>Now</h1>\n<div id=\"runs\" data-live=\"/live\" data-list=\"/now/list\" data-shown=\"{}\">\n{}</div>\n",
        frame.list().join(" "),
        articles(&frame, &visitor)
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
) -> Result<Response, Refusal> {
    Ok(html(articles(&*frame(&app).await?, &visitor)))
}

/// Answers with a stream of frames.
pub(crate) async fn live(State(app): State<Arc<App>>) -> Result<Response, Refusal> {
    // Before the first frame is drawn, so that the next one is drawn too.
    let receiver = app.live.frames();
    let first = frame(&app).await?;
    let body = Body::from_stream(futures_util::stream::unfold((receiver, Some(first)), next_frame));
    let mut response = Response::new(body);
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    Ok(response)
}

type Following = (watch::Receiver<Arc<Frame>>, Option<Arc<Frame>>);

async fn next_frame((mut receiver, first): Following) -> Option<(Result<Bytes, Infallible>, Following)> {
    let frame = match first {
        Some(first) => {
            receiver.mark_unchanged();
            first
        }
        None => {
            receiver.changed().await.ok()?;
            Arc::clone(&receiver.borrow_and_update())
        }
    };
    Some((Ok(frame.event.clone()), (receiver, None)))
}

async fn frame(app: &Arc<App>) -> Result<Arc<Frame>, Refusal> {
    // Without a store nothing runs.
    if !app.options.store.exists() {
        return Ok(Arc::default());
    }
    let following = Arc::clone(app);
    app.with_store(move |store| Ok(following.live.frame(store)?)).await
}

fn articles(frame: &Frame, visitor: &Visitor) -> String {
    if frame.runs.is_empty() {
        return "<p>No run is in progress. A run that is started here or in a terminal appears within two seconds: \
                <code>assay run vmware ./t.dat --quick</code></p>\n<p><a href=\"/runs\">All stored runs</a></p>\n"
            .to_owned();
    }
    frame.runs.iter().map(|shown| article(shown, visitor)).collect()
}

/// Returns a run with all its parts.
pub(crate) fn article(shown: &Shown, visitor: &Visitor) -> String {
    let run = escape(&shown.run);
    let part = |name: &str| {
        let html = shown.parts.iter().find(|(known, _)| *known == name).map_or("", |(_, html)| html);
        // What changes each second is not read out each second.
        format!("<div class=\"part live-{name}\" id=\"{name}-{run}\">{html}</div>\n")
    };
    let parts: String = PARTS.iter().map(|name| part(name)).collect();
    let stop = match (shown.is_running, visitor.csrf()) {
        (true, Some(_)) => format!(
            "<form method=\"post\" action=\"/runs/{run}/stop\">{}<button class=\"stop\">Stop</button></form>",
            visitor.hidden()
        ),
        (true, None) => "<a class=\"button\" href=\"/login\">Sign in to stop it</a>".to_owned(),
        (false, _) => String::new(),
    };
    format!(
        "<article class=\"live\" data-run=\"{run}\" aria-label=\"Run {run}\">\n<div class=\"head\"><h2><a \
         href=\"/runs/{run}\">{}</a></h2>\n{stop}</div>\n<p class=\"soft\">Run {run} {}</p>\n{parts}</article>\n",
        shown.name, shown.about
    )
}
