//! How a member on another machine is reached: a LUN or a file, its paths, and what the TCP connection of each agreed
//! on.

use serde::{Deserialize, Serialize};

use crate::path::NetPathFacts;

/// A logical unit of an iSCSI target, and the paths to it. Never holds a secret.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct LunFacts {
    /// Name of the target.
    pub target: String,
    /// Number of the unit.
    pub lun: u16,
    /// Our name.
    pub initiator: String,
    /// From INQUIRY.
    pub vendor: String,
    /// From INQUIRY.
    pub product: String,
    /// From INQUIRY.
    pub revision: String,
    /// Unit serial number, where it has one.
    pub serial: Option<String>,
    /// World-wide name, where it has one.
    pub wwid: Option<String>,
    /// Whether blocks get their place only when they are written.
    pub thin: bool,
    /// Whether the write cache is on; `None` where the target does not say.
    pub write_cache: Option<bool>,
    /// Largest I/O the target takes, bytes.
    pub transfer_bytes_max: u64,
    /// How I/O is spread over the paths.
    pub policy: String,
    /// Every path.
    pub paths: Vec<PathFacts>,
}

/// One path to a LUN, or the way to an NFS server, as it was when the run was prepared.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct PathFacts {
    /// Portal as given; of an NFS server the address and port.
    pub portal: String,
    /// Whether it served I/O.
    pub is_up: bool,
    /// Our address, while connected.
    pub local: Option<String>,
    /// The target's address, while connected.
    pub remote: Option<String>,
    /// Access state (ALUA): `optimized`, `non-optimized`, …; empty for NFS, which knows none.
    pub access: String,
    /// What an iSCSI login agreed on, while connected.
    pub agreed: Option<Agreed>,
    /// What the kernel says of the connection, where it does.
    pub tcp: Option<TcpPathFacts>,
    /// Round trips of empty iSCSI commands (NOP), where some were timed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ping: Option<PingFacts>,
    /// The network on the way there; `None` where nobody looked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub net: Option<Box<NetPathFacts>>,
}

/// Round trips without any load.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct PingFacts {
    /// How many were timed, at least 1.
    pub count: u64,
    /// The fastest, µs.
    pub min_us: u64,
    /// Half of them were faster, µs.
    pub median_us: u64,
    /// The slowest, µs.
    pub max_us: u64,
}

/// What an iSCSI login agreed on (RFC 7143, section 13).
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[expect(clippy::struct_excessive_bools, reason = "each is one key of the standard that says Yes or No")]
pub struct Agreed {
    /// `None`, or `CHAP` with its digest number.
    pub authentication: String,
    /// CRC32C over headers.
    pub header_digest: bool,
    /// CRC32C over data.
    pub data_digest: bool,
    /// Write data waits for the target's word.
    pub initial_r2t: bool,
    /// Write data may ride in the command.
    pub immediate_data: bool,
    /// Largest data segment we may send, bytes.
    pub max_send_segment_bytes: u32,
    /// Largest data segment we take, bytes.
    pub max_recv_segment_bytes: u32,
    /// Largest solicited burst, bytes.
    pub max_burst_bytes: u32,
    /// Largest unsolicited burst, bytes.
    pub first_burst_bytes: u32,
    /// R2Ts open per command.
    pub max_outstanding_r2t: u32,
    /// Commands the target lets us have in flight over this path.
    pub command_window: u32,
}

/// What the kernel says of a TCP connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct TcpPathFacts {
    /// Smoothed round trip, µs.
    pub rtt_us: u32,
    /// Segments sent again since the connection was made.
    pub retransmits: u32,
    /// Largest segment we send, bytes.
    pub send_mss_bytes: u32,
    /// Largest segment we receive, bytes.
    pub receive_mss_bytes: u32,
    /// Path MTU, bytes.
    pub path_mtu_bytes: u32,
    /// Congestion window, segments.
    pub congestion_window_segments: u32,
    /// Whether every segment carries a time stamp, which takes 12 bytes of it.
    #[serde(default)]
    pub timestamps: bool,
}
