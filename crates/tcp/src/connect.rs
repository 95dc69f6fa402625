//! Opening connections without blocking, from a privileged port if the caller asks for one.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream, ToSocketAddrs};
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType, ipproto, sockopt};

use crate::READ_LIMIT;

/// Privileged ports, starting where bindresvport(3) starts.
const PRIVILEGED: std::ops::Range<u16> = 600..1024;
/// Number of addresses of one host name that are tried.
pub const ADDRESSES_MAX: usize = 16;
/// Delay before the next address is tried in parallel (RFC 8305, section 8).
pub(crate) const HEAD_START: Duration = Duration::from_millis(250);

/// A TCP connection that is being opened.
#[derive(Debug)]
pub struct Connecting {
    stream: TcpStream,
    port: Option<u16>,
}

impl Connecting {
    /// Starts connecting from any local port.
    pub fn begin(address: SocketAddr) -> io::Result<Self> {
        Self::from_port(address, None)
    }

    /// Starts connecting from `port` if it is given and free, else from any privileged port, else from any port. NFS
    /// servers may trust a client's credentials only if it connects from a privileged port.
    ///
    /// Reusing the port matters because a server's duplicate request cache identifies a client by its port, among other
    /// things.
    pub fn begin_privileged(address: SocketAddr, port: Option<u16>) -> io::Result<Self> {
        if let Some(port) = port {
            match Self::from_port(address, Some(port)) {
                Err(error) if is_taken(&error) => {}
                result => return result,
            }
        }
        let first = random_port();
        let (low, high) = (PRIVILEGED.start, PRIVILEGED.end);
        for port in (first..high).chain(low..first) {
            match Self::from_port(address, Some(port)) {
                Err(error) if is_taken(&error) => {}
                Err(error) if error.kind() == io::ErrorKind::PermissionDenied => break,
                result => return result,
            }
        }
        Self::from_port(address, None)
    }

    fn from_port(address: SocketAddr, port: Option<u16>) -> io::Result<Self> {
        let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        let socket: OwnedFd =
            rustix::net::socket_with(family, SocketType::STREAM, flags, Some(ipproto::TCP))?;
        // Commands are small and must be sent at once; Nagle's algorithm would delay them.
        sockopt::set_tcp_nodelay(&socket, true)?;
        if let Some(port) = port {
            sockopt::set_socket_reuseaddr(&socket, true)?;
            let any: IpAddr = match address {
                SocketAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
                SocketAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
            };
            rustix::net::bind(&socket, &SocketAddr::new(any, port))?;
        }
        match rustix::net::connect(&socket, &address) {
            Ok(()) | Err(Errno::INPROGRESS) => Ok(Self { stream: TcpStream::from(socket), port }),
            Err(error) => Err(error.into()),
        }
    }

    /// Returns the socket, which becomes writable when the connection is established or has failed.
    pub fn stream(&self) -> &TcpStream {
        &self.stream
    }

    /// Returns the privileged local port, if one was used.
    pub fn port(&self) -> Option<u16> {
        self.port
    }

    /// Completes the connection. Called when the socket has become writable.
    pub fn finish(self) -> io::Result<TcpStream> {
        sockopt::socket_error(&self.stream)??;
        // Linux reports a self-connection (same port on both ends) as success.
        if self.stream.peer_addr()? == self.stream.local_addr()? {
            return Err(io::ErrorKind::ConnectionRefused.into());
        }
        // Each call states whether it may block; a blocking one is limited to this long, so that timers run.
        self.stream.set_nonblocking(false)?;
        self.stream.set_read_timeout(Some(READ_LIMIT))?;
        Ok(self.stream)
    }
}

fn is_taken(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::AddrInUse | io::ErrorKind::AddrNotAvailable)
}

fn random_port() -> u16 {
    let mut bytes = [0; 2];
    // Without random bytes the search starts at the lowest port, which costs a few more attempts.
    let _ = rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::NONBLOCK);
    let span = PRIVILEGED.end - PRIVILEGED.start;
    PRIVILEGED.start + u16::from_ne_bytes(bytes) % span
}

/// Connects to the first of several addresses of a host that accepts the connection, within `patience`, from a
/// privileged port if the process may use one. If none accepts, returns the error of each address in order.
///
/// An address that does not answer delays the next one by [`HEAD_START`] only: for a name with an IPv6 and an IPv4
/// address, often one of them is unreachable.
pub fn connect_first(
    addresses: &[SocketAddr],
    patience: Duration,
) -> Result<(SocketAddr, TcpStream), Vec<(SocketAddr, io::Error)>> {
    let deadline = Instant::now() + patience;
    let mut tries: Vec<Try> = Vec::with_capacity(addresses.len());
    let mut next_at = Instant::now();
    loop {
        let now = Instant::now();
        let is_pending = tries.iter().any(|one| matches!(one, Try::Pending(_)));
        let next = addresses.get(tries.len()).filter(|_| !is_pending || now >= next_at);
        if let Some(address) = next {
            tries.push(Connecting::begin_privileged(*address, None).map_or_else(Try::Failed, Try::Pending));
            next_at = now + HEAD_START;
            continue;
        }
        if !is_pending || now >= deadline {
            break;
        }
        let is_last = tries.len() == addresses.len();
        let until = if is_last { deadline } else { deadline.min(next_at) };
        let ready = crate::wait(tries.len(), |at| tries[at].interest(), until.saturating_duration_since(now));
        for at in (0..tries.len()).filter(|at| ready & 1 << at != 0) {
            match tries[at].finish() {
                Ok(stream) => return Ok((addresses[at], stream)),
                Err(error) => tries[at] = Try::Failed(error),
            }
        }
    }
    let said = tries.into_iter().map(|one| match one {
        Try::Pending(_) => io::ErrorKind::TimedOut.into(),
        Try::Failed(error) => error,
    });
    Err(addresses.iter().copied().zip(said).collect())
}

/// A connection attempt to one of several addresses.
enum Try {
    Pending(Connecting),
    Failed(io::Error),
}

impl Try {
    fn interest(&self) -> Option<(&TcpStream, bool)> {
        match self {
            Self::Pending(connecting) => Some((connecting.stream(), true)),
            Self::Failed(_) => None,
        }
    }

    fn finish(&mut self) -> io::Result<TcpStream> {
        match std::mem::replace(self, Self::Failed(io::ErrorKind::NotConnected.into())) {
            Self::Pending(connecting) => connecting.finish(),
            Self::Failed(error) => Err(error),
        }
    }
}

/// Returns all addresses of a host, at most [`ADDRESSES_MAX`]. The host is a name, an IPv4 address, or an IPv6 address
/// with or without brackets.
pub fn resolve_all(host: &str, port: u16) -> io::Result<Vec<SocketAddr>> {
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    let mut found: Vec<SocketAddr> = Vec::new();
    for address in (bare, port).to_socket_addrs().map_err(|error| of_zone(bare, error))? {
        if !found.contains(&address) && found.len() < ADDRESSES_MAX {
            found.push(address);
        }
    }
    if found.is_empty() {
        return Err(io::Error::new(io::ErrorKind::NotFound, "the name has no address"));
    }
    Ok(found)
}

/// The system reports an address with an unknown zone (interface) as an unknown name; this error names the zone.
fn of_zone(host: &str, error: io::Error) -> io::Error {
    let Some((address, zone)) = host.split_once('%') else { return error };
    let why = match address.parse::<Ipv6Addr>() {
        Ok(_) => format!("this host has no interface `{zone}`; ip link lists them"),
        Err(_) => format!("`{address}` is not an IPv6 address"),
    };
    io::Error::new(io::ErrorKind::NotFound, why)
}

/// Returns the first address of a host.
pub fn resolve(host: &str, port: u16) -> io::Result<SocketAddr> {
    resolve_all(host, port).map(|found| found[0])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_in_all_spellings() {
        for (host, address) in
            [("127.0.0.1", "127.0.0.1:2049"), ("[::1]", "[::1]:2049"), ("::1", "[::1]:2049")]
        {
            assert_eq!(resolve(host, 2049).unwrap(), address.parse().unwrap(), "{host}");
        }
    }

    #[test]
    fn the_first_address_that_accepts_is_used_and_otherwise_each_error_is_reported() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let (there, patience) = (listener.local_addr().unwrap(), Duration::from_secs(5));
        let closed: SocketAddr = ([127, 0, 0, 1], 1).into();
        let (address, stream) = connect_first(&[closed, there], patience).unwrap();
        assert_eq!((address, stream.peer_addr().unwrap()), (there, there));
        let said = connect_first(&[closed, closed], patience).unwrap_err();
        assert!(
            said.iter().all(|(at, why)| *at == closed && why.kind() == io::ErrorKind::ConnectionRefused),
            "{said:?}"
        );
        assert_eq!(said.len(), 2);
        assert!(connect_first(&[], patience).unwrap_err().is_empty());
    }

    #[test]
    fn root_connects_from_a_privileged_port_and_reuses_it() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let first = Connecting::begin_privileged(address, None).unwrap();
        let Some(port) = first.port() else {
            assert!(
                Connecting::from_port(address, Some(PRIVILEGED.start)).is_err(),
                "who may use privileged ports comes from one"
            );
            return;
        };
        assert!(PRIVILEGED.contains(&port));
        let stream = first.finish().unwrap();
        let second = Connecting::begin_privileged(address, Some(port)).unwrap();
        assert_ne!(second.port(), Some(port), "taken, so another one");
        crate::abandon(stream);
        assert_eq!(Connecting::begin_privileged(address, Some(port)).unwrap().port(), Some(port));
    }
}
