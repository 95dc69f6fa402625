//! Portals as text.

use std::io;
use std::net::SocketAddr;

/// The port of iSCSI (RFC 7143).
const PORT: u16 = 3260;

/// Resolves a portal `host:port`, `host` (port 3260) or `[v6]:port`, with an optional `,group` at the end.
pub fn resolve(portal: &str) -> io::Result<SocketAddr> {
    let host = portal.rsplit_once(',').map_or(portal, |(host, _group)| host);
    let has_port = match host.rfind(']') {
        Some(bracket) => host[bracket..].contains(':'),
        None => host.matches(':').count() == 1,
    };
    if !has_port {
        return assay_tcp::resolve(host, PORT);
    }
    let no_port =
        |_| io::Error::new(io::ErrorKind::InvalidInput, format!("`{host}` does not end in a port number"));
    let (host, port) = host.rsplit_once(':').unwrap_or((host, ""));
    assay_tcp::resolve(host, port.parse().map_err(no_port)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn portals_are_resolved_in_every_notation() {
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
        // A link-local address: its zone is an interface, given by name or number.
        for portal in ["[fe80::1%lo]:3260", "[fe80::1%lo]", "[fe80::1%1]:3260,2"] {
            assert_eq!(resolve(portal).unwrap(), "[fe80::1%1]:3260".parse().unwrap(), "{portal}");
        }
        let why = resolve("[fe80::1%no-such-nic]:3260").unwrap_err().to_string();
        assert!(why.contains("no interface `no-such-nic`"), "{why}");
        let why = resolve("[::1]:x").unwrap_err().to_string();
        assert!(why.contains("does not end in a port number"), "{why}");
    }
}
