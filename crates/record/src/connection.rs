//! How a remote member is accessed: a LUN or a file, its paths, and the TCP parameters of each connection.

use serde::{Deserialize, Serialize};

use crate::path::NetPathFacts;

/// A logical unit of an iSCSI target, and the paths to it. Never holds a secret.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct LunFacts {
    /// Name of the target.
    pub target: String,
    /// Logical unit number.
    pub lun: u16,
    /// Name of the initiator.
    pub initiator: String,
    /// From INQUIRY.
    pub vendor: String,
    /// From INQUIRY.
    pub product: String,
    /// From INQUIRY.
    pub revision: String,
    /// Unit serial number, if any.
    pub serial: Option<String>,
    /// World-wide name, if any.
    pub wwid: Option<String>,
    /// True if blocks are allocated only when they are written.
    pub thin: bool,
    /// True if the write cache is enabled; `None` if the target does not report it.
    pub write_cache: Option<bool>,
    /// Largest I/O that the target accepts, bytes.
    pub transfer_bytes_max: u64,
    /// Path policy.
    pub policy: String,
    /// Every path.
    pub paths: Vec<PathFacts>,
}

/// A path to a LUN or to an NFS server, as found when the run was prepared.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct PathFacts {
    /// Portal as given; for an NFS server, its address and port.
    pub portal: String,
    /// True if it was up.
    pub is_up: bool,
    /// Local address, while connected.
    pub local: Option<String>,
    /// The target's address, while connected.
    pub remote: Option<String>,
    /// Access state (ALUA): `optimized`, `non-optimized`, …; empty for NFS, which has none.
    pub access: String,
    /// Parameters negotiated at the iSCSI login, while connected.
    pub agreed: Option<Agreed>,
    /// Facts about the connection, if the kernel reports them.
    pub tcp: Option<TcpPathFacts>,
    /// Round-trip times of empty iSCSI commands (NOP), if any were measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ping: Option<PingFacts>,
    /// The network on the way there; `None` if it was not examined.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub net: Option<Box<NetPathFacts>>,
}

/// Round-trip times without load.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct PingFacts {
    /// Number of measurements, at least 1.
    pub count: u64,
    /// Minimum, µs.
    pub min_us: u64,
    /// Median, µs.
    pub median_us: u64,
    /// Maximum, µs.
    pub max_us: u64,
}

/// Parameters negotiated at an iSCSI login (RFC 7143, section 13).
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[expect(clippy::struct_excessive_bools, reason = "each is one key of the standard that says Yes or No")]
pub struct Agreed {
    /// `None`, or `CHAP` with its digest number.
    pub authentication: String,
    /// CRC32C over headers.
    pub header_digest: bool,
    /// CRC32C over data.
    pub data_digest: bool,
    /// Write data waits for an R2T.
    pub initial_r2t: bool,
    /// The command PDU may carry write data.
    pub immediate_data: bool,
    /// Largest data segment that the initiator may send, bytes.
    pub max_send_segment_bytes: u32,
    /// Largest data segment that the initiator accepts, bytes.
    pub max_recv_segment_bytes: u32,
    /// Largest solicited burst, bytes.
    pub max_burst_bytes: u32,
    /// Largest unsolicited burst, bytes.
    pub first_burst_bytes: u32,
    /// Number of R2Ts open per command.
    pub max_outstanding_r2t: u32,
    /// Number of commands that the target allows in flight over this path.
    pub command_window: u32,
}

/// Facts that the kernel reports about a TCP connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct TcpPathFacts {
    /// Smoothed round-trip time, µs.
    pub rtt_us: u32,
    /// Number of segments retransmitted since the connection was established.
    pub retransmits: u32,
    /// Largest segment sent, bytes.
    pub send_mss_bytes: u32,
    /// Largest segment received, bytes.
    pub receive_mss_bytes: u32,
    /// Path MTU, bytes.
    pub path_mtu_bytes: u32,
    /// Congestion window, segments.
    pub congestion_window_segments: u32,
    /// True if every segment carries a timestamp, which takes 12 bytes of it.
    #[serde(default)]
    pub timestamps: bool,
}
