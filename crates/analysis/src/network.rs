//! What the network facts of a path allow, by arithmetic that is shown, and what is wrong with them.
//!
//! Interfaces stand on each other: [`carrier`] finds the links that carry in the end, so that two VLANs of one card are one
//! link; [`ceilings`] reckons what they carry, and [`faults`] says what is wrong with them.

mod carrier;
mod ceilings;
mod faults;

use assay_record::{NetPathFacts, PathFacts, TcpPathFacts};
use serde::Serialize;

pub use ceilings::{CEILING_IO_BYTES, ceiling, ceiling_together, nfs_ceiling, step_ceiling};
pub use faults::{lossy_frames, path_faults, unreachable};

/// Headers of IPv4 and TCP, and what those of IPv6 are longer, bytes.
const HEADERS_BYTES: u32 = 40;
const IPV6_MORE_BYTES: u32 = 20;
const TIMESTAMP_BYTES: u32 = 12;

/// The most payload a path can carry in one direction, and how that is reckoned.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Ceiling {
    /// 10^6 bytes per second; `None` where nobody knows the rate of the link.
    pub mb_per_s: Option<f64>,
    /// The reckoning, in words and numbers.
    pub arithmetic: String,
    /// Where the rate of the link comes from, and what that leaves open.
    pub rate_from: String,
}

/// What is wrong with a path, or with how paths lie to each other.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PathFault {
    /// What is the matter, full sentences.
    pub says: String,
    /// What to do about it.
    pub next: String,
}

impl PathFault {
    fn new(says: String, next: impl Into<String>) -> Self {
        Self { says, next: next.into() }
    }
}

/// The IP packet that TCP's full segments travel in, bytes.
fn packet_bytes(net: &NetPathFacts, tcp: &TcpPathFacts) -> u32 {
    let time_stamp = if tcp.timestamps { TIMESTAMP_BYTES } else { 0 };
    tcp.send_mss_bytes + HEADERS_BYTES + more_bytes(net) + time_stamp
}

/// What the headers of a packet are longer than those of IPv4, bytes.
fn more_bytes(net: &NetPathFacts) -> u32 {
    let source = net.route.as_ref().and_then(|route| route.source.as_deref());
    if source.is_some_and(|address| address.contains(':')) { IPV6_MORE_BYTES } else { 0 }
}

fn device(path: &PathFacts) -> Option<&str> {
    path.net.as_ref()?.route.as_ref().map(|route| route.device.as_str())
}
