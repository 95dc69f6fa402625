//! Why an agent cannot work, or hosts cannot be listed.

use std::path::PathBuf;

use thiserror::Error;

/// Why an agent cannot work, or hosts cannot be listed.
#[derive(Debug, Error)]
pub enum FleetError {
    /// The program was built without NATS.
    #[error("{}", assay_spec::left_out("NATS, so no hosts besides this one"))]
    Absent,
    /// The runtime could not be started.
    #[error("cannot start the network: {0}")]
    Runtime(#[source] std::io::Error),
    /// A file of the connection could not be read.
    #[error("cannot read {}: {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// Cause.
        source: std::io::Error,
    },
    /// The address of the bus has a user or a password in it.
    #[error(
        "the address of the NATS server must not contain a user or a password, as every user of the machine can read \
         command lines; put the key into a file and give --nkey FILE"
    )]
    SecretInUrl,
    /// The server could not be reached, or refused.
    #[error(
        "cannot connect to the NATS server {url}: {why}; start one with nats-server -js, or check the address, the key \
         (--nkey) and the certificate (--ca)"
    )]
    Connect {
        /// Address of the server.
        url: String,
        /// Cause.
        why: String,
    },
    /// The server has no JetStream, or refuses its use.
    #[error(
        "the NATS server cannot keep the list of hosts: {why}; start it with JetStream (nats-server -js), and let this \
         user read and write the bucket assay_hosts"
    )]
    JetStream {
        /// Cause.
        why: String,
    },
    /// The server has JetStream, and no place for the list of hosts.
    #[error("the NATS server has no room for the list of hosts: {why}")]
    NoRoom {
        /// Cause, and what to look at.
        why: String,
    },
    /// The stream of a run failed.
    #[error("the NATS server does not keep the messages of run {run}: {why}")]
    Stream {
        /// Id of the run.
        run: String,
        /// Cause.
        why: String,
    },
    /// No agent is there.
    #[error(
        "no agent is connected to {0}: start one on each host with assay agent --nats {0} (assay hosts lists them)"
    )]
    NoHosts(String),
    /// Hosts that were asked for cannot take part.
    #[error("{0}")]
    NotReady(String),
    /// The plan cannot run on these hosts.
    #[error(transparent)]
    Placement(#[from] assay_spec::PlacementError),
    /// Hosts refused the run; none has begun.
    #[error("the run did not begin: {0}")]
    Refused(String),
    /// Hosts failed between inspection and measurement.
    #[error("nothing was measured: {0}")]
    Failed(String),
    /// Somebody stopped it before anything was measured.
    #[error("stopped before anything was measured")]
    Interrupted,
    /// The same, with what that means for what hosts did until then.
    #[error("stopped before anything was measured: {0}")]
    InterruptedBy(String),
    /// The system's clock cannot be right.
    #[error("the clock of this host is far off: set it, as the store sorts runs by their start")]
    Clock,
    /// There is neither an id for the run nor a store that gives it one.
    #[error("the run has no id: name one in its order, or keep it in a store")]
    NoId,
    /// The store has no id for the run, or no room for it.
    #[error(transparent)]
    Store(#[from] assay_store::StoreError),
    /// Nothing is known of a run.
    #[error(
        "the NATS server keeps nothing of run {0}: it is over and stored, or was never begun (assay runs lists runs)"
    )]
    NotOnBus(String),
    /// Another process follows the run.
    #[error("run {run} is followed by {by} already; wait for its end, or stop that process first")]
    Followed {
        /// Id of the run.
        run: String,
        /// Which process, and where.
        by: String,
    },
    /// Another version has begun the run.
    #[error("{}", begun_by_other(run, theirs, ours))]
    BegunByOther {
        /// Id of the run.
        run: String,
        /// Version that began it; may be empty.
        theirs: String,
        /// This one.
        ours: String,
    },
    /// Another process has taken the run over before anything was measured.
    #[error("{}", taken_over(run, by))]
    TakenOver {
        /// Id of the run.
        run: String,
        /// Which process, and where.
        by: String,
    },
    /// A file could not be written.
    #[error("cannot write {}: {source}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// Cause.
        source: std::io::Error,
    },
    /// A file has no seed of an `NKey` in its first line.
    #[error("the first line of {} is not the seed of an NKey; remove the file, and a new one is made", .0.display())]
    BadKey(PathBuf),
    /// The certificate could not be made.
    #[error("cannot make a certificate for the server: {0}")]
    Certificate(String),
    /// A name cannot be one.
    #[error("`{0}` is not a name for a host; use at most 40 letters, digits, - and _: --name NAME")]
    BadName(String),
    /// Another agent answers to the name.
    #[error(
        "an agent named {0} is connected to the NATS server already; stop it, or give this one another name: --name \
         NAME (assay hosts lists the names)"
    )]
    NameTaken(String),
    /// The server does not let the key of an agent do what an agent does.
    #[error(
        "the NATS server does not allow what agent {name} has to do ({why}): give --nkey the key that was made for \
         this name; if it is that one, run assay hosts once with the coordinator's key, which makes the list of hosts"
    )]
    Forbidden {
        /// Name of the agent.
        name: String,
        /// What the server says.
        why: String,
    },
    /// The connection was closed for good.
    #[error("the NATS server closed the connection and refuses another; restart the agent")]
    Closed,
}

fn begun_by_other(run: &str, theirs: &str, ours: &str) -> String {
    let theirs = if theirs.is_empty() { "an earlier version of Assay" } else { theirs };
    format!(
        "run {run} was begun by {theirs}, and this is {ours}: attach with that version, which its agents have too"
    )
}

/// Says who has a run in place of this process.
pub(crate) fn taken_over(run: &str, by: &str) -> String {
    format!(
        "run {run} is followed by {by} since this process did not answer; all of the run is in the store of that one: \
         assay show {run} prints it there"
    )
}
