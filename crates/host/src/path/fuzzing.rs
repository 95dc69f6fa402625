//! Access to the parsers of netlink messages for the fuzz targets.

use super::{driver, link, netlink, shaper, tcp};

/// Parses one datagram as an answer of the routing family, of socket diagnosis or of ethtool, by `kind`.
pub fn netlink(kind: u8, datagram: &[u8]) {
    let is_single = kind & 4 != 0;
    let mut messages = Vec::new();
    let _ = netlink::take(datagram, 0, is_single, &mut messages);
    match kind % 4 {
        0 | 1 => {
            for message in &messages {
                let _ = (link::read(message), shaper::htb(message));
            }
            let _ = shaper::parse_htb(datagram);
        }
        2 => {
            for message in &messages {
                let _ = tcp::connection(message);
            }
        }
        _ => driver::read_all(&messages),
    }
}
