//! Portals as text.

use std::io;
use std::net::{SocketAddr, ToSocketAddrs};

/// The port of iSCSI (RFC 7143).
const PORT: u16 = 3260;

/// The address of a portal `host:port`, `host` (port 3260), `[v6]:port`, with an optional `,group` at the end.
pub fn resolve(portal: &str) -> io::Result<SocketAddr> {
    let host = portal.rsplit_once(',').map_or(portal, |(host, _group)| host);
    let has_port = match host.rfind(']') {
        Some(bracket) => host[bracket..].contains(':'),
        None => host.matches(':').count() == 1,
    };
    if !has_port {
        return assay_tcp::resolve(host, PORT);
    }
    let mut found = host.to_socket_addrs()?;
    found.next().ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, "the name has no address"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn portals_in_all_spellings() {
        for (portal, address) in [
            ("127.0.0.1:3261", "127.0.0.1:3261"),
            ("127.0.0.1", "127.0.0.1:3260"),
            ("10.0.0.1:3260,1", "10.0.0.1:3260"),
            ("[::1]:3262,7", "[::1]:3262"),
            ("[::1]", "[::1]:3260"),
            ("::1", "[::1]:3260"),
        ] {
            assert_eq!(resolve(portal).unwrap(), address.parse().unwrap(), "{portal}");
        }
    }
}
