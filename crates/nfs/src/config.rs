//! Configuration of a client: server, credentials, durability of writes, time limits.

use std::net::SocketAddr;
use std::time::Duration;

use crate::nfs3::{Handle, Stable};
use crate::rpc::Credentials;

/// Where a server is, and who we are.
#[derive(Debug, Clone)]
pub struct ServerConfig {
    /// Name or address.
    pub host: String,
    /// Port of NFS; `None`: the port mapper is asked, and 2049 tried where there is none.
    pub port: Option<u16>,
    /// Port of MOUNT; `None`: the port mapper is asked, and the port of NFS tried where there is none.
    pub mount_port: Option<u16>,
    /// Port of the port mapper: [`portmap::PORT`](crate::portmap::PORT) on every real server.
    pub mapper_port: u16,
    /// Who we are.
    pub credentials: Credentials,
    /// Longest wait for a connection, and for each answer.
    pub patience: Duration,
}

/// One file, and how it is to be driven.
#[derive(Debug, Clone)]
pub struct FileConfig {
    /// Where NFS listens.
    pub address: SocketAddr,
    /// The file.
    pub handle: Handle,
    /// Who we are.
    pub credentials: Credentials,
    /// TCP connections, in [1, 64].
    pub connections: u8,
    /// Commands that can be submitted and not completed, in [1, 4096].
    pub depth: u16,
    /// Largest READ, bytes, at least 1; larger commands are split.
    pub read_bytes_max: u32,
    /// Largest WRITE, bytes, at least 1; larger commands are split.
    pub write_bytes_max: u32,
    /// How durable a write must be when it is answered.
    pub stable: Stable,
    /// Times.
    pub timeouts: Timeouts,
}

/// All time limits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Timeouts {
    /// A command that has not ended so long after it was submitted fails, whatever was tried meanwhile and whatever
    /// else the server answered.
    pub io: Duration,
    /// For opening a TCP connection.
    pub connect: Duration,
    /// A call without an answer for this long ends its connection, and is sent again on a new one.
    pub call: Duration,
    /// A COMMIT fails after this long; it may have to write all that the server's memory holds. After half of it
    /// without an answer its connection ends, and it is sent again.
    pub commit: Duration,
    /// Time between two pings of a connection.
    pub ping_interval: Duration,
    /// A ping without an answer, and without any other byte received, for this long ends the connection. Servers whose
    /// threads all wait for disks answer pings late, so it is not short.
    pub ping: Duration,
    /// How long commands wait while the server says nothing, on no connection; then they fail and the file is lost. A
    /// call whose connections fail although the server speaks fails after the same time, sent twice at least.
    pub no_server: Duration,
    /// How long a server that says "later" is asked again before the command fails.
    pub busy: Duration,
    /// First pause before a failed connection is tried again; doubles up to `retry_max`.
    pub retry_min: Duration,
    /// Longest pause between two tries.
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
