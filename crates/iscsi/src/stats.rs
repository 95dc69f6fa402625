//! Present state of the paths.

use assay_tcp::{PathStats, TcpFacts};

use crate::login::Negotiated;
use crate::scsi::AccessState;

/// Present state of a path.
#[derive(Debug, Clone)]
pub struct PathStatus {
    /// Number of the path, from 0.
    pub path: u8,
    /// Portal as configured.
    pub portal: String,
    /// True if the path is up.
    pub is_up: bool,
    /// Access state.
    pub access: AccessState,
    /// Number of commands in flight on or assigned to this path.
    pub outstanding: u32,
    /// Negotiated values, while connected.
    pub agreed: Option<Negotiated>,
    /// Number of commands that the target allows in flight over this path, while connected.
    pub command_window: Option<u32>,
    /// Local and remote address, while connected.
    pub addresses: Option<(std::net::SocketAddr, std::net::SocketAddr)>,
    /// TCP facts, while connected and if the kernel reports them.
    pub tcp: Option<TcpFacts>,
    /// Counters and distributions.
    pub stats: PathStats,
}
