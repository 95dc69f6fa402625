//! Why an agent cannot work, or hosts cannot be listed.

use std::path::PathBuf;

use thiserror::Error;

/// Why an agent cannot work, or hosts cannot be listed.
#[derive(Debug, Error)]
pub enum FleetError {
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
    /// A name cannot be one.
    #[error("`{0}` is not a name for a host; use at most 40 letters, digits, - and _: --name NAME")]
    BadName(String),
    /// Another agent answers to the name.
    #[error(
        "an agent named {0} is on the bus already; stop it, or give this one another name: --name NAME (assay hosts \
         lists the names)"
    )]
    NameTaken(String),
    /// The connection was closed for good.
    #[error("the NATS server closed the connection for good; start the agent again")]
    Closed,
}
