//! The server: a port, a limit for each thing that a visitor could use up, and the routes.

use std::collections::{HashSet, VecDeque};
use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use assay_results::{complete, incomplete};
use axum::Router;
use axum::extract::Request;
use hyper::body::Incoming;
use hyper_util::rt::{TokioIo, TokioTimer};
use nix::sys::socket::setsockopt;
use nix::sys::socket::sockopt::SndBuf;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::AbortHandle;
use tokio_io_timeout::TimeoutStream;

use crate::app::{App, Writes};
use crate::error::ServeError;
use crate::options::{Limits, Options, Tls};
use crate::pages::targets;
use crate::tls::{Protection, protection};
use crate::visitor::Peer;
use crate::{routes, token};

/// What the kernel holds of an answer that is not read, bytes; by itself it takes several MiB of each connection, step
/// by step, and every step looks as if somebody read.
const SEND_BYTES: usize = 256 << 10;
/// Running runs are drawn this often while somebody looks.
const DRAW_EVERY: Duration = Duration::from_secs(1);
/// A run is complete for lists and pages within about this after it was killed.
const COMPLETE_EVERY: Duration = Duration::from_secs(5);
/// Bytes of a request's head; hyper answers longer ones with 431.
const HEAD_BYTES_MAX: usize = 32 << 10;

/// A server that listens.
pub struct Server {
    app: Arc<App>,
    listener: std::net::TcpListener,
    address: SocketAddr,
    protection: Option<Protection>,
    stopper: Stopper,
}

/// Stops a server.
#[derive(Debug, Clone)]
pub struct Stopper(Arc<watch::Sender<bool>>);

impl Stopper {
    /// Stops it: pages are no longer served; runs go on.
    pub fn stop(&self) {
        self.0.send_replace(true);
    }
}

impl Server {
    /// Opens the port. Nothing is answered before [`Server::run`].
    ///
    /// # Errors
    /// Where the port, the token or the certificate cannot be used, or anybody could read what is sent.
    pub fn bind(options: Options) -> Result<Self, ServeError> {
        let address = options.listen;
        if !address.ip().is_loopback() && options.tls == Tls::Off {
            return Err(ServeError::Unprotected { address });
        }
        let token = token::read_or_make(&options.token_file)?;
        let protection = protection(&options.tls, address.ip())?;
        let listen = |source| ServeError::Listen { address, source };
        let listener = std::net::TcpListener::bind(address).map_err(listen)?;
        listener.set_nonblocking(true).map_err(listen)?;
        // Connections inherit it.
        setsockopt(&listener, SndBuf, &SEND_BYTES).map_err(|errno| listen(errno.into()))?;
        let address = listener.local_addr().map_err(listen)?;
        let app = Arc::new(App::new(options, address, token));
        Ok(Self { app, listener, address, protection, stopper: Stopper(Arc::new(watch::channel(false).0)) })
    }

    /// Returns the address to type into a browser.
    #[must_use]
    pub fn url(&self) -> String {
        let scheme = if self.protection.is_some() { "https" } else { "http" };
        format!("{scheme}://{}", self.address)
    }

    /// Returns the SHA-256 fingerprint of the certificate; `None` without TLS.
    #[must_use]
    pub fn fingerprint(&self) -> Option<&str> {
        self.protection.as_ref().map(|protection| protection.fingerprint.as_str())
    }

    /// Returns what stops the server, from any thread.
    #[must_use]
    pub fn stopper(&self) -> Stopper {
        self.stopper.clone()
    }

    /// Serves until it is stopped.
    ///
    /// # Errors
    /// Where the server could not be started.
    pub fn run(self) -> Result<(), ServeError> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .max_blocking_threads(8)
            .thread_name("serve")
            .enable_all()
            .build()
            .map_err(|source| ServeError::Runtime { source })?;
        let result = runtime.block_on(self.serve());
        // Reads of the store that are under way are not waited for.
        runtime.shutdown_background();
        result
    }

    async fn serve(self) -> Result<(), ServeError> {
        let Self { app, listener, protection, stopper, .. } = self;
        let listener = TcpListener::from_std(listener).map_err(|source| ServeError::Runtime { source })?;
        let acceptor = protection.map(|protection| protection.acceptor);
        let router = routes::router(Arc::clone(&app));
        let limits = app.options.limits;
        let mut stopped = stopper.0.subscribe();
        let connections = Connections::default();
        let completing = tokio::spawn(complete_runs(Arc::clone(&app)));
        let drawing = tokio::spawn(draw_each_second(app));
        loop {
            let accepted = tokio::select! {
                accepted = listener.accept() => accepted,
                _ = stopped.wait_for(|stopped| *stopped) => break,
            };
            let Ok((stream, peer)) = accepted else {
                // Descriptors are used up; connections that end give some back.
                tokio::time::sleep(Duration::from_millis(50)).await;
                continue;
            };
            connections.make_room(limits.connections);
            let served = Arc::new(AtomicBool::new(false));
            let (router, acceptor) = (router.clone(), acceptor.clone());
            let mark = Arc::clone(&served);
            let mut stream = TimeoutStream::new(stream);
            stream.set_write_timeout(Some(limits.stall_time));
            let stream = Box::pin(stream);
            let task = tokio::spawn(async move {
                match acceptor {
                    None => connection(stream, peer, router, (mark, limits)).await,
                    Some(acceptor) => {
                        let shaken = tokio::time::timeout(limits.head_time, acceptor.accept(stream)).await;
                        if let Ok(Ok(stream)) = shaken {
                            connection(stream, peer, router, (mark, limits)).await;
                        }
                    }
                }
            });
            connections.add(peer.ip(), served, task.abort_handle());
        }
        drawing.abort();
        completing.abort();
        Ok(())
    }
}

/// Draws while somebody looks.
async fn draw_each_second(app: Arc<App>) {
    let mut ticks = tokio::time::interval(DRAW_EVERY);
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        if app.live.is_watched() {
            // A store that cannot be read now may be there again in a second.
            let drawing = Arc::clone(&app);
            let _ = app.with_store(move |store| Ok(drawing.live.frame(store)?)).await;
        }
    }
}

/// Completes what lists and pages read of runs of earlier versions, and of those that were killed: no request writes.
/// While a run goes on nothing is done, as it may be measured on this machine.
async fn complete_runs(app: Arc<App>) {
    // A run that cannot be read, or kept, is tried once.
    let mut tried: HashSet<String> = HashSet::new();
    // A look at all runs of a large store takes time: it is needed where something was written, or a run was killed.
    let mut seen: Option<(Writes, Vec<String>)> = None;
    let mut ticks = tokio::time::interval(COMPLETE_EVERY);
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        let asked = Arc::clone(&app);
        // Both may wait for a disk, or for a server, which no task of the runtime may.
        let now =
            app.with_store(move |store| Ok(asked.writes().zip(Some(store.running()?)))).await.ok().flatten();
        if now.is_some() && now == seen {
            continue;
        }
        let Ok(found) = app.with_store(|store| Ok(incomplete(store)?)).await else { continue };
        let both = now.as_ref().zip(seen.as_ref());
        if both.is_some_and(|((now, _), (seen, _))| now.before != seen.before) {
            // It is another store.
            tried.clear();
        }
        seen = now;
        let new = found.into_iter().filter(|run| !tried.contains(run)).collect::<Vec<_>>();
        app.set_lacking(new.len());
        for (done, run) in new.iter().enumerate() {
            let named = run.clone();
            let completed = app.change_store(move |store| {
                let is_idle = store.running()?.is_empty();
                if is_idle {
                    let _ = complete(store, &named);
                }
                Ok(is_idle)
            });
            if matches!(completed.await, Ok(false)) {
                break;
            }
            tried.insert(run.clone());
            app.set_lacking(new.len() - done - 1);
        }
        if seen.as_ref().is_some_and(|(_, running)| running.is_empty()) {
            // Whoever looks at all targets first shall not wait until each is read.
            let known = Arc::clone(&app);
            let _ = app
                .with_store(move |store| match store.running()?.is_empty() {
                    true => targets::read_all(&known, store),
                    false => Ok(()),
                })
                .await;
        }
    }
}

/// Answers the requests of a connection.
async fn connection<S>(
    stream: S,
    peer: SocketAddr,
    router: Router,
    (served, limits): (Arc<AtomicBool>, Limits),
) where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let service = hyper::service::service_fn(move |request: hyper::Request<Incoming>| {
        served.store(true, Ordering::Relaxed);
        let mut request: Request = request.map(axum::body::Body::new);
        request.extensions_mut().insert(Peer(peer));
        let mut router = router.clone();
        async move { tower_call(&mut router, request).await }
    });
    let served = hyper::server::conn::http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(limits.head_time)
        .max_buf_size(HEAD_BYTES_MAX)
        .serve_connection(TokioIo::new(stream), service)
        .await;
    // A visitor who leaves in the middle is not an error.
    drop(served);
}

async fn tower_call(
    router: &mut Router,
    request: Request,
) -> Result<axum::response::Response, std::convert::Infallible> {
    use tower_service::Service as _;
    router.call(request).await
}

/// The connections that are open.
#[derive(Default)]
struct Connections {
    /// The oldest first.
    open: Mutex<VecDeque<Open>>,
}

struct Open {
    from: IpAddr,
    /// Whether a request came.
    served: Arc<AtomicBool>,
    task: AbortHandle,
}

impl Connections {
    /// Ends a connection where there are too many: the oldest that never sent a request, else the oldest of the address
    /// that has the most. Whoever opens thousands keeps nobody out, silent or with streams that do not end; a browser
    /// whose stream ends asks for it again.
    fn make_room(&self, most: usize) {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.retain(|one| !one.task.is_finished());
        if open.len() < most {
            return;
        }
        let silent = open.iter().position(|one| !one.served.load(Ordering::Relaxed));
        let of = |from: IpAddr| open.iter().filter(|one| one.from == from).count();
        let crowd = || open.iter().map(|one| one.from).max_by_key(|from| of(*from));
        let place = silent.or_else(|| crowd().and_then(|from| open.iter().position(|one| one.from == from)));
        if let Some(gone) = place.and_then(|place| open.remove(place)) {
            gone.task.abort();
        }
    }

    fn add(&self, from: IpAddr, served: Arc<AtomicBool>, task: AbortHandle) {
        self.open.lock().unwrap_or_else(PoisonError::into_inner).push_back(Open { from, served, task });
    }
}
