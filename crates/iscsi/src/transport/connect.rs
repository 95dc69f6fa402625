//! Opening a connection without blocking.

use std::io;
use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::time::Duration;

use rustix::net::{AddressFamily, SocketFlags, SocketType, ipproto, sockopt};

/// How long a read that may sleep does so.
pub(crate) const READ_LIMIT: Duration = Duration::from_millis(50);

/// A connection that is being opened.
#[derive(Debug)]
pub(crate) struct Connecting {
    stream: TcpStream,
}

impl Connecting {
    /// Starts to connect.
    pub(crate) fn begin(address: SocketAddr) -> io::Result<Self> {
        let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        let socket = rustix::net::socket_with(family, SocketType::STREAM, flags, Some(ipproto::TCP))?;
        // Commands are small and must leave at once; Nagle's algorithm would hold them back.
        sockopt::set_tcp_nodelay(&socket, true)?;
        match rustix::net::connect(&socket, &address) {
            Ok(()) | Err(rustix::io::Errno::INPROGRESS) => Ok(Self { stream: TcpStream::from(socket) }),
            Err(error) => Err(error.into()),
        }
    }

    pub(crate) fn stream(&self) -> &TcpStream {
        &self.stream
    }

    /// To be called when the socket has become writable.
    pub(crate) fn finish(self) -> io::Result<TcpStream> {
        sockopt::socket_error(&self.stream)??;
        // Linux reports a connection to oneself (same port on both ends) as success.
        if self.stream.peer_addr()? == self.stream.local_addr()? {
            return Err(io::ErrorKind::ConnectionRefused.into());
        }
        // Whether a call may sleep is said with each call. A read that may sleeps at most this long, so that the
        // timers of the initiator keep running.
        self.stream.set_nonblocking(false)?;
        self.stream.set_read_timeout(Some(READ_LIMIT))?;
        Ok(self.stream)
    }
}

/// The address of a portal `host:port`, `host` (port 3260), `[v6]:port`, with an optional `,group` at the end.
pub fn resolve(portal: &str) -> io::Result<SocketAddr> {
    let host = portal.rsplit_once(',').map_or(portal, |(host, _group)| host);
    let has_port = match host.rfind(']') {
        Some(bracket) => host[bracket..].contains(':'),
        None => host.matches(':').count() == 1,
    };
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    let mut found = if has_port { host.to_socket_addrs()? } else { (bare, 3260).to_socket_addrs()? };
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
