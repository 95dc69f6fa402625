//! What is asked of hosts, and what comes of it: what callers say, with or without a bus.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use assay_record::RunHeader;
use assay_runner::{Consequence, Done, Follower, Order};

use crate::{Allowed, FleetError};

/// The server drops an announcement that was not renewed for so long.
pub const LEASE: Duration = Duration::from_secs(15);

/// How the bus is reached.
#[derive(Debug, Clone, Default)]
pub struct BusOptions {
    /// Address: `nats://host:4222`, `tls://host:4222`.
    pub url: String,
    /// File with the seed of an `NKey`, on its first line.
    pub nkey: Option<PathBuf>,
    /// File with the certificate of the authority that signed the server's, PEM. With it only TLS is accepted.
    pub ca: Option<PathBuf>,
}

impl BusOptions {
    /// Refuses an address with a user or a password in it.
    ///
    /// # Errors
    /// [`FleetError::SecretInUrl`].
    pub fn check_url(url: &str) -> Result<(), FleetError> {
        if url.contains('@') { Err(FleetError::SecretInUrl) } else { Ok(()) }
    }
}

/// Which hosts take part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HostChoice {
    /// All that are on the bus.
    All,
    /// These, in this order.
    Named(Vec<String>),
}

/// A plan for several hosts.
#[derive(Debug)]
pub struct FleetOrder {
    /// How the bus is reached.
    pub bus: BusOptions,
    /// Which hosts take part.
    pub hosts: HostChoice,
    /// Where I/O goes; `{host}` stands for the name of the host.
    pub targets: Vec<String>,
    /// The rest. Its targets and its start are those of no host.
    pub order: Order,
}

/// A run over several hosts that has ended.
#[derive(Debug)]
pub struct FleetDone {
    /// What ran, on what, and where.
    pub header: RunHeader,
    /// Its label, as it is stored.
    pub label: Option<String>,
    /// What failed, a sentence each. The sinks have what was measured all the same.
    pub failures: Vec<String>,
    /// Whether all of it is in the store.
    pub is_stored: bool,
}

/// Runs an order on this host, with nothing stored. An error says what it means and why.
pub type RunHere =
    dyn Fn(Order, &mut dyn Follower) -> Result<Done, (Consequence, String)> + Send + Sync + 'static;

/// Which agent it is, where, and what it does.
#[derive(Clone)]
pub struct AgentOptions {
    /// Its name on the bus.
    pub name: String,
    /// How the bus is reached.
    pub bus: BusOptions,
    /// Targets that it uses.
    pub allowed: Allowed,
    /// How it runs what it is given.
    pub run_here: Arc<RunHere>,
    /// Its wall clock.
    pub wall: WallClock,
}

/// A wall clock: that of this host, unless a test plants an offset or sets it.
#[derive(Debug, Clone, Default)]
pub struct WallClock(pub(crate) Arc<AtomicI64>);

impl WallClock {
    /// Sets it so much ahead of that of this host, ns.
    pub fn set_ahead(&self, ahead_ns: i64) {
        self.0.store(ahead_ns, Ordering::Release);
    }
}

impl std::fmt::Debug for AgentOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AgentOptions")
            .field("name", &self.name)
            .field("bus", &self.bus)
            .finish_non_exhaustive()
    }
}

/// What is to be set up.
#[derive(Debug, Clone)]
pub struct InitOptions {
    /// Folder for the configuration and the keys; created if absent.
    pub folder: PathBuf,
    /// Names of the agents.
    pub hosts: Vec<String>,
    /// Names and addresses by which the server is reached, for its certificate. If empty, connections are not
    /// encrypted.
    pub server: Vec<String>,
    /// Address and port on which the server listens.
    pub listen: String,
}

/// What was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InitDone {
    /// The configuration of the server.
    pub config: PathBuf,
    /// Key of the coordinator.
    pub coordinator: PathBuf,
    /// Key of each agent, in the order of the names.
    pub agents: Vec<PathBuf>,
    /// Certificate that agents and the coordinator trust; `None` without TLS.
    pub ca: Option<PathBuf>,
}
