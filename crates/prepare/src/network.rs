//! The networks between this host and the servers of a run, examined before it begins: facts for its record.

use std::net::SocketAddr;

use assay_claim::lun::access_words;
use assay_host::{Flow, NetProbe};
use assay_record::{Agreed, NetPathFacts, PathFacts, PingFacts};
use assay_target::lun::{self, Negotiated};
use assay_target::remote::PathReport;

/// The networks to the portals of a target, each probed once.
pub(crate) struct Networks {
    ways: NetProbe,
    portals: Vec<(SocketAddr, NetPathFacts)>,
}

impl Networks {
    /// Returns the networks to portals; a name without an address has none.
    pub(crate) fn of(portals: &[String]) -> Self {
        let mut remotes: Vec<SocketAddr> =
            portals.iter().filter_map(|portal| lun::resolve(portal).ok()).collect();
        remotes.sort_unstable();
        remotes.dedup();
        let flows: Vec<Flow> = remotes.iter().map(|remote| Flow { remote: *remote, local: None }).collect();
        let mut ways = NetProbe::default();
        let portals = remotes.into_iter().zip(ways.look(&flows)).collect();
        Self { ways, portals }
    }

    fn to(&self, portal: &str) -> Option<&NetPathFacts> {
        let at = lun::resolve(portal).ok()?;
        self.portals.iter().find(|(known, _)| *known == at).map(|(_, net)| net)
    }

    /// Returns the first network on which full frames are lost, in words: large I/O hangs there.
    pub(crate) fn lossy(&self) -> Option<String> {
        let (at, net) = self.portals.iter().find(|(_, net)| net.frames.is_lossy())?;
        let mtu_bytes = net.interface.as_ref()?.mtu_bytes;
        let largest = net.frames.largest_bytes?;
        Some(format!(
            "this host sends frames of {mtu_bytes} bytes to {}, and none larger than {largest} bytes arrives; run \
             assay check for details",
            at.ip()
        ))
    }

    /// Returns true if full frames arrive on none of the networks.
    pub(crate) fn all_lossy(&self) -> bool {
        self.portals.iter().all(|(_, net)| net.frames.is_lossy())
    }

    /// Returns every path for the record, with the route of its connection. A target may redirect a login to other
    /// addresses than those given.
    pub(crate) fn facts(&mut self, paths: &[PathReport]) -> Vec<PathFacts> {
        let flows: Vec<Option<Flow>> = paths.iter().map(flow).collect();
        let mut looked = self.ways.look(&flows.iter().flatten().copied().collect::<Vec<_>>()).into_iter();
        let mut net = |flow: &Option<Flow>| flow.and_then(|_| looked.next()).map(Box::new);
        paths.iter().zip(&flows).map(|(path, flow)| PathFacts { net: net(flow), ..facts(path) }).collect()
    }
}

/// Returns the connection of a path; for a path that is down, the one that it would use.
fn flow(path: &PathReport) -> Option<Flow> {
    match path.addresses {
        Some((local, remote)) => Some(Flow { remote, local: Some(local) }),
        None => lun::resolve(&path.portal).ok().map(|remote| Flow { remote, local: None }),
    }
}

/// Returns the network path to an NFS server over an open connection.
pub(crate) fn way(local: Option<SocketAddr>, remote: SocketAddr) -> PathFacts {
    PathFacts {
        portal: remote.to_string(),
        is_up: true,
        local: local.map(|local| local.to_string()),
        remote: Some(remote.to_string()),
        tcp: local.and_then(|local| assay_host::tcp_path(local, remote)),
        net: NetProbe::default().look(&[Flow { remote, local }]).pop().map(Box::new),
        ..PathFacts::default()
    }
}

/// Returns the network to each portal, for portals where the login failed; a name without an address has none.
pub fn portal_networks(portals: &[String]) -> Vec<(String, Option<NetPathFacts>)> {
    let networks = Networks::of(portals);
    portals.iter().map(|portal| (portal.clone(), networks.to(portal).cloned())).collect()
}

fn facts(path: &PathReport) -> PathFacts {
    PathFacts {
        portal: path.portal.clone(),
        is_up: path.is_up,
        local: path.addresses.map(|(local, _)| local.to_string()),
        remote: path.addresses.map(|(_, remote)| remote.to_string()),
        access: path.access.map(access_words).unwrap_or_default().to_owned(),
        agreed: path.agreed.as_ref().map(|of| agreed(of, path.command_window.unwrap_or(0))),
        tcp: path.tcp.map(assay_host::tcp_facts),
        ping: ping(path),
        net: None,
    }
}

fn ping(path: &PathReport) -> Option<PingFacts> {
    let pings = &path.stats.ping_ns;
    (!pings.is_empty()).then(|| PingFacts {
        count: pings.len(),
        min_us: pings.min() / 1000,
        median_us: pings.value_at_quantile(0.5) / 1000,
        max_us: pings.max() / 1000,
    })
}

fn agreed(of: &Negotiated, command_window: u32) -> Agreed {
    Agreed {
        authentication: of.authentication.clone(),
        header_digest: of.header_digest,
        data_digest: of.data_digest,
        initial_r2t: of.initial_r2t,
        immediate_data: of.immediate_data,
        max_send_segment_bytes: of.max_send_segment_bytes,
        max_recv_segment_bytes: of.max_recv_segment_bytes,
        max_burst_bytes: of.max_burst_bytes,
        first_burst_bytes: of.first_burst_bytes,
        max_outstanding_r2t: of.max_outstanding_r2t,
        command_window,
    }
}
