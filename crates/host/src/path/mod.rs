//! What stands between this host and an address: route, interface, frames that pass, and what TCP does each second.
//!
//! Everything comes from the kernel over netlink (and sysfs, for what drivers put there), in the network namespace
//! this process is in; frames are tried out by echoes. Nothing here loads the network: some packets per address.

mod driver;
mod frames;
mod netlink;
mod route;
mod shaper;
mod tcp;

use std::net::IpAddr;

use assay_record::{FrameFacts, NetPathFacts};

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
    let Ok(mut kernel) = netlink::Netlink::open(None) else { return facts };
    let Ok((mut route, index)) = route::route_to(&mut kernel, to) else { return facts };
    if let Ok(mut interface) = route::interface(&mut kernel, index) {
        driver::add_to(&mut interface);
        interface.shaper = shaper::of(&mut kernel, index);
        route.device.clone_from(&interface.name);
        facts.frames = match interface.mtu_bytes {
            0 => FrameFacts::default(),
            mtu_bytes => frames::probe(to, mtu_bytes),
        };
        facts.interface = Some(interface);
    }
    facts.route = Some(route);
    facts
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
