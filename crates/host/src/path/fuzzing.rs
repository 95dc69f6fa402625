//! Access to the parsers of netlink messages for the fuzz targets.

use netlink_packet_core::NetlinkDeserializable;
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_sock_diag::SockDiagMessage;

use super::{driver, link, netlink, shaper, tcp};

/// Parses one datagram as an answer of the routing family, of socket diagnosis or of ethtool, by `kind`.
pub fn netlink(kind: u8, datagram: &[u8]) {
    let is_single = kind & 4 != 0;
    match kind % 4 {
        0 | 1 => {
            for message in messages::<RouteNetlinkMessage>(datagram, is_single) {
                match message {
                    RouteNetlinkMessage::NewLink(message) => drop(link::read(&message)),
                    RouteNetlinkMessage::NewTrafficClass(class) => drop(shaper::htb(&class)),
                    _ => {}
                }
            }
            let _ = shaper::parse_htb(datagram);
        }
        2 => {
            for message in messages::<SockDiagMessage>(datagram, is_single) {
                if let SockDiagMessage::InetResponse(response) = message {
                    let _ = tcp::connection(&response);
                }
            }
        }
        _ => driver::read_all(&messages(datagram, is_single)),
    }
}

fn messages<M: NetlinkDeserializable>(datagram: &[u8], is_single: bool) -> Vec<M> {
    let mut answer = Vec::new();
    let _ = netlink::take(datagram, 0, is_single, &mut answer);
    answer
}
