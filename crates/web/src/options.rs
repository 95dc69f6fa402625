//! What a server is to serve, and to whom.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use assay_store::StoreAddress;

/// What a server is to serve, and to whom.
#[derive(Debug, Clone)]
pub struct Options {
    /// Where it listens.
    pub listen: SocketAddr,
    /// The store of runs.
    pub store: StoreAddress,
    /// The file of the token; made where there is none.
    pub token_file: PathBuf,
    /// How what is sent is protected.
    pub tls: Tls,
    /// What may be started from a page; `None`: nothing.
    pub runs: Option<RunPermission>,
    /// Storage of this host that runs may not be started on: a page says how to allow it.
    pub found: Vec<RunTarget>,
    /// The process whose run `/own` leads to; `None`: there is none.
    pub own_process: Option<u32>,
    /// What a visitor may use up.
    pub limits: Limits,
    /// Tells whoever started the server what becomes of its store.
    pub tell: fn(&str),
}

/// What a visitor may use up.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Connections at once.
    pub connections: usize,
    /// A TLS handshake, and a request's head, must be there within this; so must the next one on a connection that is
    /// kept open.
    pub head_time: Duration,
    /// Requests of an address.
    pub requests: RequestRate,
    /// A request must be read and answered within this. A stream of events has begun by then.
    pub request_time: Duration,
    /// A connection that takes nothing of its answer for this long is closed.
    pub stall_time: Duration,
}

/// Requests that an address may send.
#[derive(Debug, Clone, Copy)]
pub struct RequestRate {
    /// Each second, over some time.
    pub per_s: f64,
    /// At once, after a silence.
    pub at_once: f64,
}

impl Default for Limits {
    /// Ten viewers of a live page have ten connections; a browser opens at most six. Some pages with all that they load
    /// are forty requests, and sliders that are being moved twenty a second.
    fn default() -> Self {
        Self {
            connections: 256,
            requests: RequestRate { per_s: 100.0, at_once: 300.0 },
            head_time: Duration::from_secs(10),
            request_time: Duration::from_secs(30),
            stall_time: Duration::from_secs(20),
        }
    }
}

/// How what is sent is protected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Tls {
    /// Not at all; only for loopback.
    Off,
    /// By a certificate and its key, in PEM files.
    Files {
        /// The certificate, and those that signed it.
        cert: PathBuf,
        /// Its private key.
        key: PathBuf,
    },
    /// By a certificate that is made here once and kept.
    SelfSigned {
        /// Where it is kept: `serve-cert.pem`, `serve-key.pem`.
        folder: PathBuf,
    },
}

/// What may be started from a page.
#[derive(Debug, Clone)]
pub struct RunPermission {
    /// The program that runs plans: `assay` itself.
    pub program: PathBuf,
    /// The targets that may be chosen.
    pub targets: Vec<RunTarget>,
    /// The plan files that may be chosen beside the suites.
    pub plans: Vec<PathBuf>,
}

/// A target that runs may be started on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunTarget {
    /// What pages call it.
    pub name: String,
    /// Its address, as `assay run` takes it.
    pub address: String,
}
