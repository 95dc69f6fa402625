//! Paths as they are.

use assay_tcp::{PathStats, TcpFacts};

use crate::login::Negotiated;
use crate::scsi::AccessState;

/// A path as it is now.
#[derive(Debug, Clone)]
pub struct PathStatus {
    /// Number of the path, from 0.
    pub path: u8,
    /// Portal as configured.
    pub portal: String,
    /// True if it serves I/O.
    pub is_up: bool,
    /// Access state.
    pub access: AccessState,
    /// Commands in flight or bound to this path.
    pub outstanding: u32,
    /// What login agreed on, while connected.
    pub agreed: Option<Negotiated>,
    /// Commands the target lets us have in flight over this path, while connected.
    pub command_window: Option<u32>,
    /// Our and the target's address, while connected.
    pub addresses: Option<(std::net::SocketAddr, std::net::SocketAddr)>,
    /// TCP facts, while connected and where the kernel reports them.
    pub tcp: Option<TcpFacts>,
    /// Counters and distributions.
    pub stats: PathStats,
}
