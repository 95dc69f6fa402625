//! Opening connections without blocking, from a privileged port where that is asked for.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream, ToSocketAddrs};
use std::os::fd::OwnedFd;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType, ipproto, sockopt};

use crate::READ_LIMIT;

/// Ports that only root may use, from where bindresvport(3) begins.
const PRIVILEGED: std::ops::Range<u16> = 600..1024;

/// A connection that is being opened.
#[derive(Debug)]
pub struct Connecting {
    stream: TcpStream,
    port: Option<u16>,
}

impl Connecting {
    /// Starts to connect, from any port.
    pub fn begin(address: SocketAddr) -> io::Result<Self> {
        Self::from_port(address, None)
    }

    /// Starts to connect, from `port` if that is given and free, else from any privileged port, else from any:
    /// servers take root's word only from there.
    ///
    /// A server that keeps answers to tell repeated calls knows a client by its port, among others.
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
        // Commands are small and must leave at once; Nagle's algorithm would hold them back.
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

    /// The socket, to be waited for until it is writable.
    #[must_use]
    pub fn stream(&self) -> &TcpStream {
        &self.stream
    }

    /// The privileged port it comes from, if any.
    #[must_use]
    pub fn port(&self) -> Option<u16> {
        self.port
    }

    /// To be called when the socket has become writable.
    pub fn finish(self) -> io::Result<TcpStream> {
        sockopt::socket_error(&self.stream)??;
        // Linux reports a connection to oneself (same port on both ends) as success.
        if self.stream.peer_addr()? == self.stream.local_addr()? {
            return Err(io::ErrorKind::ConnectionRefused.into());
        }
        // Whether a call may sleep is said with each call; one that may sleeps at most this long, so that timers run.
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
    // Where there is no randomness yet, starting at the lowest port only costs a few more tries.
    let _ = rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::NONBLOCK);
    let span = PRIVILEGED.end - PRIVILEGED.start;
    PRIVILEGED.start + u16::from_ne_bytes(bytes) % span
}

/// Connects, from a privileged port where the process may, and waits for it up to `patience`.
pub fn connect(address: SocketAddr, patience: Duration) -> io::Result<TcpStream> {
    let connecting = Connecting::begin_privileged(address, None)?;
    let wait = Timespec {
        tv_sec: i64::try_from(patience.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: patience.subsec_nanos().into(),
    };
    let mut fds = [PollFd::new(connecting.stream(), PollFlags::OUT)];
    if rustix::event::poll(&mut fds, Some(&wait))? == 0 {
        return Err(io::ErrorKind::TimedOut.into());
    }
    connecting.finish()
}

/// The first address of a host: a name, an IPv4 address, an IPv6 address with or without brackets.
pub fn resolve(host: &str, port: u16) -> io::Result<SocketAddr> {
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    let mut found = (bare, port).to_socket_addrs()?;
    found.next().ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, "the name has no address"))
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
    fn root_comes_from_a_privileged_port_and_comes_again_from_the_same() {
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
