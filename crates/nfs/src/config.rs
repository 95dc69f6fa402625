//! Configuration of a client: server, credentials, durability of writes, time limits.

use std::net::SocketAddr;
use std::time::Duration;

use crate::nfs3::{Handle, Stable};
use crate::rpc::Credentials;

/// Address of a server, and credentials.
#[derive(Debug, Clone)]
pub struct ServerConfig {
    /// Name or address.
    pub host: String,
    /// Port of NFS; `None` to ask the port mapper, or to use 2049 if there is none.
    pub port: Option<u16>,
    /// Port of MOUNT; `None` to ask the port mapper, or to use the port of NFS if there is none.
    pub mount_port: Option<u16>,
    /// Port of the port mapper: [`portmap::PORT`](crate::portmap::PORT) on every real server.
    pub mapper_port: u16,
    /// Credentials of the client.
    pub credentials: Credentials,
    /// Longest wait for a connection, and for each answer.
    pub patience: Duration,
}

/// One file, and how to access it.
#[derive(Debug, Clone)]
pub struct FileConfig {
    /// Address on which NFS listens.
    pub address: SocketAddr,
    /// Handle of the file.
    pub handle: Handle,
    /// Credentials of the client.
    pub credentials: Credentials,
    /// Number of TCP connections, in [1, 64].
    pub connections: u8,
    /// Number of commands that can be outstanding, in [1, 4096].
    pub depth: u16,
    /// Largest READ, bytes, at least 1; larger commands are split.
    pub read_bytes_max: u32,
    /// Largest WRITE, bytes, at least 1; larger commands are split.
    pub write_bytes_max: u32,
    /// Required durability of an answered write.
    pub stable: Stable,
    /// Time limits.
    pub timeouts: Timeouts,
}

/// Time limits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Timeouts {
    /// Time from submission after which a command fails, regardless of retries and of other answers from the server.
    pub io: Duration,
    /// Limit for opening a TCP connection.
    pub connect: Duration,
    /// Time without an answer to a call after which its connection is ended and the call is sent again on a new one.
    pub call: Duration,
    /// Time after which a COMMIT fails; it may have to write everything in the server's memory. After half of it
    /// without an answer the connection is ended and the COMMIT is sent again.
    pub commit: Duration,
    /// Interval between pings of a connection.
    pub ping_interval: Duration,
    /// Time without an answer to a ping and without any other received byte after which the connection is ended. It is
    /// not short, because servers whose threads all wait for disks answer pings late.
    pub ping: Duration,
    /// Time that commands wait while the server is silent on all connections; then they fail and the file is lost. A
    /// call whose connections fail although the server answers on others fails after the same time, once it was sent at
    /// least twice.
    pub no_server: Duration,
    /// Time for which a call answered with NFS3ERR_JUKEBOX is retried before the command fails.
    pub busy: Duration,
    /// First pause before a failed connection is retried; doubles up to `retry_max`.
    pub retry_min: Duration,
    /// Longest pause between two attempts.
    pub retry_max: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            io: Duration::from_secs(60),
            connect: Duration::from_secs(5),
            call: Duration::from_secs(60),
            commit: Duration::from_secs(600),
            ping_interval: Duration::from_secs(1),
            ping: Duration::from_secs(15),
            no_server: Duration::from_secs(60),
            busy: Duration::from_secs(30),
            retry_min: Duration::from_millis(100),
            retry_max: Duration::from_secs(2),
        }
    }
}
