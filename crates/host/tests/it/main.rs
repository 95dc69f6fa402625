//! The room against real devices. Loop devices and namespaces need root; without them the tests are skipped.
#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "helpers of tests panic where a test fails")]

mod chosen;
mod probing;
mod routed;
mod same_file;
mod sampling;
mod stacked;

use std::net::SocketAddr;

use assay_host::{Flow, NetProbe};
use assay_record::NetPathFacts;

/// Examines the network to the iSCSI port of each address.
fn look(to: &[&str]) -> Vec<NetPathFacts> {
    let flow = |to: &&str| Flow { remote: SocketAddr::new(to.parse().unwrap(), 3260), local: None };
    NetProbe::default().look(&to.iter().map(flow).collect::<Vec<_>>())
}
