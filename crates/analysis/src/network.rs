//! The ceiling of a path by its network facts, with the arithmetic, and the faults of a path.
//!
//! Interfaces are stacked: [`carrier`] finds the physical links below, so that two VLANs of one card are one link;
//! [`ceilings`] computes what the links carry, and [`faults`] names what is wrong with them.

mod carrier;
mod ceilings;
mod faults;
mod sharing;

use assay_record::{InterfaceFacts, NetPathFacts, PathFacts, TcpPathFacts};
use serde::Serialize;

pub use ceilings::{CEILING_IO_BYTES, ceiling, ceiling_together, nfs_ceiling, step_ceiling};
pub use faults::{loses_segments, lossy_frames, path_faults, unreachable};
pub(crate) use sharing::other_traffic_ratio;

/// Headers of IPv4 and TCP, and what those of IPv6 are longer, bytes.
const HEADERS_BYTES: u32 = 40;
const IPV6_MORE_BYTES: u32 = 20;
const TIMESTAMP_BYTES: u32 = 12;

/// The highest payload rate of a path in one direction, with its arithmetic.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Ceiling {
    /// 10^6 bytes per second; `None` where the link speed is unknown.
    pub mb_per_s: Option<f64>,
    /// The arithmetic, in words and numbers.
    pub arithmetic: String,
    /// The source of the link speed, and what it leaves open.
    pub rate_from: String,
}

/// A fault of a path, or of several paths together.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PathFault {
    /// The fault, in full sentences.
    pub says: String,
    /// The next step.
    pub next: String,
}

impl PathFault {
    fn new(says: String, next: impl Into<String>) -> Self {
        Self { says, next: next.into() }
    }
}

/// Returns what an interface sends at most, bits per second, by its shaper or the physical links below it; `None` where
/// that is not known.
pub(crate) fn link_bit_s(interface: &InterfaceFacts) -> Option<f64> {
    carrier::rate(interface).all_bit_s
}

/// The IP packet that TCP's full segments travel in, bytes.
fn packet_bytes(net: &NetPathFacts, tcp: &TcpPathFacts) -> u32 {
    let time_stamp = if tcp.timestamps { TIMESTAMP_BYTES } else { 0 };
    tcp.send_mss_bytes + HEADERS_BYTES + more_bytes(net) + time_stamp
}

/// Bytes by which the headers of a packet exceed those of IPv4.
fn more_bytes(net: &NetPathFacts) -> u32 {
    let source = net.route.as_ref().and_then(|route| route.source.as_deref());
    if source.is_some_and(|address| address.contains(':')) { IPV6_MORE_BYTES } else { 0 }
}

fn device(path: &PathFacts) -> Option<&str> {
    path.net.as_ref()?.route.as_ref().map(|route| route.device.as_str())
}
