//! What stands between this host and an address: route, interface, frames that pass, and what TCP does each second.
//!
//! Everything comes from the kernel over netlink (and sysfs, for what drivers put there), in the network namespace
//! this process is in; frames are tried out by echoes. Nothing here loads the network: some packets per address.

mod driver;
mod echo;
mod frames;
mod link;
mod netlink;
mod route;
mod shaper;
mod tcp;

use std::net::{IpAddr, SocketAddr};

use assay_record::{FrameFacts, InterfaceFacts, NetPathFacts};

use link::Link;
use netlink::Netlink;

pub(crate) use link::LinkWatch;
pub(crate) use tcp::TcpWatch;
pub use tcp::{tcp_facts, tcp_path};

/// The network to each address, looked at side by side. Takes some milliseconds; seconds where frames get lost.
#[must_use]
pub fn net_paths(to: &[IpAddr]) -> Vec<NetPathFacts> {
    std::thread::scope(|scope| {
        let looks: Vec<_> = to.iter().map(|address| scope.spawn(|| net_path(*address))).collect();
        looks.into_iter().map(|look| look.join().unwrap_or_default()).collect()
    })
}

fn net_path(to: IpAddr) -> NetPathFacts {
    let mut facts = NetPathFacts::default();
    let Ok(mut kernel) = Netlink::open(None) else { return facts };
    let Ok((mut route, index)) = route::route_to(&mut kernel, to) else { return facts };
    let links = link::all(&mut kernel).unwrap_or_default();
    if let Some(here) = links.iter().find(|link| link.index == index) {
        route.device.clone_from(&here.facts.name);
        facts.frames = match here.facts.mtu_bytes {
            0 => FrameFacts::default(),
            mtu_bytes => frames::probe(SocketAddr::new(to, 0), None, mtu_bytes, route.gateway.is_some()),
        };
        // After the echoes: only now the kernel has learnt where the next hop is.
        let next_hop = route.gateway.as_ref().and_then(|gateway| gateway.parse().ok()).unwrap_or(to);
        facts.interface = interface(&mut kernel, &links, index, next_hop);
    }
    facts.route = Some(route);
    facts
}

/// The interface and everything below it.
fn interface(kernel: &mut Netlink, links: &[Link], index: u32, next_hop: IpAddr) -> Option<InterfaceFacts> {
    let ports = link::port_towards(kernel, index, next_hop);
    let port = |bridge| ports.iter().find(|(known, _)| *known == bridge).map(|(_, port)| *port);
    let mut top = link::stack(links, index, &port)?;
    let index_of = |name: &str| links.iter().find(|link| link.facts.name == name).map(|link| link.index);
    add_drivers(kernel, &mut top, &index_of);
    Some(top)
}

/// What drivers and shapers say of an interface and of those below it.
fn add_drivers(kernel: &mut Netlink, of: &mut InterfaceFacts, index_of: &dyn Fn(&str) -> Option<u32>) {
    // Of what lies in another namespace only the number is known.
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
        let all = net_paths(&["127.0.0.1".parse().unwrap(), "127.0.0.2".parse().unwrap()]);
        for facts in &all {
            let (route, interface) = (facts.route.as_ref().unwrap(), facts.interface.as_ref().unwrap());
            assert_eq!((route.device.as_str(), interface.kind.as_str()), ("lo", "loopback"), "{facts:?}");
            assert!(route.gateway.is_none() && route.subnet.is_empty(), "{facts:?}");
            assert!(interface.mtu_bytes >= 1500 && interface.counters.rx_packets > 0, "{facts:?}");
        }
    }

    #[test]
    fn an_address_without_a_way_says_so() {
        // Class E: no host has it, and Linux has no route to its limited broadcast.
        let facts = &net_paths(&["255.255.255.255".parse().unwrap()])[0];
        assert_eq!(*facts, NetPathFacts::default());
    }
}
