//! The network between this host and an address: route, interface, largest frames, and TCP statistics each second.
//!
//! All facts come from the kernel over netlink (and sysfs, for drivers), in the network namespace of this process;
//! frame sizes are tested by echoes. Nothing here loads the network: some packets per address.

mod driver;
mod echo;
mod frames;
pub(crate) mod fuzzing;
mod link;
mod netlink;
mod route;
mod shaper;
mod tcp;

use std::net::{IpAddr, SocketAddr};
use std::thread::{self, ScopedJoinHandle};

use assay_record::{FrameFacts, FrameProbe, InterfaceFacts, NetPathFacts, RouteFacts};

use echo::Echo;
use link::Link;
use netlink::Netlink;

pub(crate) use link::LinkWatch;
pub(crate) use tcp::TcpWatch;
pub use tcp::{tcp_facts, tcp_path};

/// A TCP connection whose path is examined; without a local address it is not established yet.
///
/// The path of a connection may depend on the local address, on the port and on the protocol (`ip rule`), and among
/// several next hops on a hash of all of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Flow {
    /// Remote address; with its zone if it is link-local.
    pub remote: SocketAddr,
    /// Local address.
    pub local: Option<SocketAddr>,
}

/// The paths examined so far, so that a path shared by two connections is tested once.
#[derive(Debug, Default)]
pub struct NetProbe(Vec<(EchoRoute, NetPathFacts)>);

/// The properties that determine the path of echoes.
#[derive(Debug, Clone, PartialEq, Eq)]
struct EchoRoute {
    /// Destination without a port.
    to: SocketAddr,
    route: RouteFacts,
    index: u32,
}

impl NetProbe {
    /// Returns the network to each address, examined in parallel. Takes some milliseconds, or seconds if frames are
    /// lost.
    pub fn look(&mut self, flows: &[Flow]) -> Vec<NetPathFacts> {
        let ways: Vec<Option<EchoRoute>> = flows.iter().map(|flow| way(*flow)).collect();
        let mut new: Vec<&EchoRoute> = Vec::new();
        for way in ways.iter().flatten() {
            if self.known(way).is_none() && !new.contains(&way) {
                new.push(way);
            }
        }
        let looked: Vec<(EchoRoute, NetPathFacts)> = thread::scope(|scope| {
            let start = |way| thread::Builder::new().spawn_scoped(scope, move || net_path(way)).ok();
            let looks: Vec<_> = new.iter().map(|way| (*way, start(way))).collect();
            // Where no thread can be started (ulimit -u, pids.max), they are examined one after the other.
            let facts = |(way, look): (&EchoRoute, Option<ScopedJoinHandle<'_, NetPathFacts>>)| {
                let facts = look.map_or_else(|| Some(net_path(way)), |look| look.join().ok())?;
                Some((way.clone(), facts))
            };
            looks.into_iter().filter_map(facts).collect()
        });
        self.0.extend(looked);
        let facts = |way: &Option<EchoRoute>| way.as_ref().and_then(|way| self.known(way)).cloned();
        ways.iter().map(|way| facts(way).unwrap_or_default()).collect()
    }

    fn known(&self, way: &EchoRoute) -> Option<&NetPathFacts> {
        self.0.iter().find(|(known, _)| known == way).map(|(_, facts)| facts)
    }
}

fn way(flow: Flow) -> Option<EchoRoute> {
    let mut kernel = Netlink::open(None).ok()?;
    let (route, index) = route::route_of(&mut kernel, flow).ok()?;
    let mut to = flow.remote;
    to.set_port(0);
    Some(EchoRoute { to, route, index })
}

fn net_path(way: &EchoRoute) -> NetPathFacts {
    let mut facts = NetPathFacts { route: Some(way.route.clone()), ..NetPathFacts::default() };
    let Ok(mut kernel) = Netlink::open(None) else { return facts };
    let links = link::all(&mut kernel).unwrap_or_default();
    let Some(here) = links.iter().find(|link| link.index == way.index) else { return facts };
    let device = &here.facts.name;
    if let Some(route) = &mut facts.route {
        route.device.clone_from(device);
    }
    facts.frames = match here.facts.mtu_bytes {
        0 => FrameFacts::default(),
        mtu_bytes => probe(&mut kernel, way, device, mtu_bytes),
    };
    // After the echoes, because only then does the kernel know the next hop.
    let gateway = way.route.gateway.as_ref().and_then(|gateway| gateway.parse().ok());
    facts.interface = interface(&mut kernel, &links, way.index, gateway.unwrap_or(way.to.ip()));
    facts
}

/// Tests the frame sizes. Echoes describe the path of a connection only if they take the same one.
fn probe(kernel: &mut Netlink, way: &EchoRoute, device: &str, mtu_bytes: u32) -> FrameFacts {
    let from = way.route.source.as_ref().and_then(|source| source.parse().ok());
    let mut goes_there = |through| {
        let echo = route::route_of_echo(kernel, way.to, from, through);
        echo.is_ok_and(|(route, index)| (route.gateway, index) == (way.route.gateway.clone(), way.index))
    };
    let through = if goes_there(None) {
        None
    } else if goes_there(Some(way.index)) {
        Some(device)
    } else {
        return FrameFacts { how: FrameProbe::OtherWay, ..FrameFacts::default() };
    };
    match Echo::open(way.to, from, through) {
        Ok(echo) => frames::probe(echo, mtu_bytes, way.route.gateway.is_some()),
        Err(_) => FrameFacts { how: FrameProbe::NotAllowed, ..FrameFacts::default() },
    }
}

/// Returns the interface and everything below it.
fn interface(kernel: &mut Netlink, links: &[Link], index: u32, next_hop: IpAddr) -> Option<InterfaceFacts> {
    let ports = link::port_towards(kernel, index, next_hop);
    let port = |bridge| ports.iter().find(|(known, _)| *known == bridge).map(|(_, port)| *port);
    let mut top = link::stack(links, index, &port)?;
    let index_of = |name: &str| links.iter().find(|link| link.facts.name == name).map(|link| link.index);
    add_drivers(kernel, &mut top, &index_of);
    Some(top)
}

/// Adds the facts of drivers and shapers to an interface and those below it.
fn add_drivers(kernel: &mut Netlink, of: &mut InterfaceFacts, index_of: &dyn Fn(&str) -> Option<u32>) {
    // Only the number of an interface in another namespace is known.
    let Some(index) = index_of(&of.name) else { return };
    driver::add_to(of);
    of.shaper = shaper::of(kernel, index);
    of.lower.iter_mut().for_each(|lower| add_drivers(kernel, lower, index_of));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_host_is_reached_through_its_loopback_interface() {
        let flow = |to: &str| Flow { remote: to.parse().unwrap(), local: None };
        let all = NetProbe::default().look(&[flow("127.0.0.1:1"), flow("127.0.0.2:1")]);
        for facts in &all {
            let (route, interface) = (facts.route.as_ref().unwrap(), facts.interface.as_ref().unwrap());
            assert_eq!((route.device.as_str(), interface.kind.as_str()), ("lo", "loopback"), "{facts:?}");
            assert!(route.gateway.is_none() && route.subnet.is_empty(), "{facts:?}");
            assert!(interface.mtu_bytes >= 1500 && interface.counters.rx_packets > 0, "{facts:?}");
        }
    }

    #[test]
    fn an_address_without_a_route_is_reported() {
        // Class E: no host has it, and Linux has no route to its limited broadcast address.
        let flow = Flow { remote: "255.255.255.255:1".parse().unwrap(), local: None };
        let facts = &NetProbe::default().look(&[flow])[0];
        assert_eq!(*facts, NetPathFacts::default());
    }
}
