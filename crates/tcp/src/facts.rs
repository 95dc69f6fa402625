//! Facts that the kernel reports about a TCP connection, read over netlink (`NETLINK_SOCK_DIAG`).
//!
//! `getsockopt(TCP_INFO)` has no safe interface in the crates that Assay uses. `INET_DIAG` returns the same structure
//! as plain bytes for one connection, identified by its addresses.

use std::io;
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::os::fd::OwnedFd;

use rustix::net::netlink::{SOCK_DIAG, SocketAddrNetlink};
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType};

/// Facts about one connection at one moment.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TcpFacts {
    /// Smoothed round trip time, µs.
    pub rtt_us: u32,
    /// Mean deviation of the round trip time, µs.
    pub rtt_deviation_us: u32,
    /// Number of segments retransmitted since the connection was opened.
    pub retransmits_total: u32,
    /// Number of segments received out of order since the connection was opened: one before them was lost, or
    /// overtaken. `None` before Linux 5.4.
    pub out_of_order_total: Option<u32>,
    /// Number of segments sent and not acknowledged.
    pub unacknowledged_segments: u32,
    /// Largest segment sent, bytes.
    pub send_mss_bytes: u32,
    /// Largest segment received, bytes.
    pub receive_mss_bytes: u32,
    /// Path MTU, bytes.
    pub path_mtu_bytes: u32,
    /// Congestion window, segments.
    pub congestion_window_segments: u32,
    /// Slow start threshold, segments.
    pub slow_start_threshold_segments: u32,
    /// True if every segment carries a timestamp (RFC 7323), 12 bytes.
    pub timestamps: bool,
}

/// A netlink socket that queries the kernel. It sees the network namespace in which it was opened.
#[derive(Debug)]
pub struct TcpFactsReader {
    socket: OwnedFd,
    sequence: u32,
}

const SOCK_DIAG_BY_FAMILY: u16 = 20;
const NLM_F_REQUEST: u16 = 1;
const NLMSG_ERROR: u16 = 2;
const INET_DIAG_INFO: u16 = 2;
const IPPROTO_TCP: u8 = 6;
/// Bit of the sixth byte of `struct tcp_info`.
const TCPI_OPT_TIMESTAMPS: u8 = 1;
const HEADER_BYTES: usize = 16;
const REQUEST_BYTES: usize = HEADER_BYTES + 56;
/// Length of `struct inet_diag_msg`, which the attributes follow.
const MESSAGE_BYTES: usize = 72;

impl TcpFactsReader {
    /// Opens the socket.
    pub fn open() -> io::Result<Self> {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let socket =
            rustix::net::socket_with(AddressFamily::NETLINK, SocketType::DGRAM, flags, Some(SOCK_DIAG))?;
        Ok(Self { socket, sequence: 0 })
    }

    /// Returns facts about `stream`. It takes some microseconds, so call it once a second, not per I/O.
    pub fn read(&mut self, stream: &TcpStream) -> io::Result<TcpFacts> {
        self.between(stream.local_addr()?, stream.peer_addr()?)
    }

    /// Returns facts about the connection of this host from `local` to `remote`, whichever process owns it.
    pub fn between(&mut self, local: SocketAddr, remote: SocketAddr) -> io::Result<TcpFacts> {
        self.sequence = self.sequence.wrapping_add(1);
        let request = request(local, remote, self.sequence);
        rustix::net::sendto(&self.socket, &request, SendFlags::empty(), &SocketAddrNetlink::new(0, 0))?;
        let mut answer = [0u8; 8192];
        // The kernel answers before sendto returns; the loop skips answers to earlier, interrupted requests.
        for _ in 0..4 {
            let (bytes, _) = rustix::net::recv(&self.socket, &mut answer[..], RecvFlags::empty())?;
            let answer = &answer[..bytes];
            if bytes >= HEADER_BYTES && u32_at(answer, 8) == Some(self.sequence) {
                return parse_answer(answer);
            }
        }
        Err(io::Error::new(io::ErrorKind::InvalidData, "netlink did not answer the request"))
    }
}

/// Encodes `struct nlmsghdr` and `struct inet_diag_req_v2`: integers in host byte order, addresses and ports in network
/// byte order.
fn request(local: SocketAddr, peer: SocketAddr, sequence: u32) -> [u8; REQUEST_BYTES] {
    let mut bytes = [0; REQUEST_BYTES];
    bytes[..4].copy_from_slice(&crate::u32_of(REQUEST_BYTES).to_ne_bytes());
    bytes[4..6].copy_from_slice(&SOCK_DIAG_BY_FAMILY.to_ne_bytes());
    bytes[6..8].copy_from_slice(&NLM_F_REQUEST.to_ne_bytes());
    bytes[8..12].copy_from_slice(&sequence.to_ne_bytes());
    let family = if local.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    bytes[16] = u8::try_from(family.as_raw()).expect("both families have small numbers");
    bytes[17] = IPPROTO_TCP;
    bytes[18] = 1 << (INET_DIAG_INFO - 1);
    bytes[20..24].copy_from_slice(&u32::MAX.to_ne_bytes()); // Any state.
    bytes[24..26].copy_from_slice(&local.port().to_be_bytes());
    bytes[26..28].copy_from_slice(&peer.port().to_be_bytes());
    if let SocketAddr::V6(v6) = peer {
        // A socket to a link-local address is bound to its zone, and is found only with it.
        bytes[60..64].copy_from_slice(&v6.scope_id().to_ne_bytes());
    }
    put_address(&mut bytes[28..44], local.ip());
    put_address(&mut bytes[44..60], peer.ip());
    bytes[64..72].copy_from_slice(&[0xff; 8]); // No cookie: any socket with these addresses.
    bytes
}

fn put_address(place: &mut [u8], address: IpAddr) {
    match address {
        IpAddr::V4(v4) => place[..4].copy_from_slice(&v4.octets()),
        IpAddr::V6(v6) => place.copy_from_slice(&v6.octets()),
    }
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..)?.first_chunk().map(|word| u32::from_ne_bytes(*word))
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    bytes.get(at..)?.first_chunk().map(|half| u16::from_ne_bytes(*half))
}

fn parse_answer(answer: &[u8]) -> io::Result<TcpFacts> {
    let missing =
        || io::Error::new(io::ErrorKind::InvalidData, "the kernel did not report TCP facts over netlink");
    if u16_at(answer, 4) == Some(NLMSG_ERROR) {
        let code = u32_at(answer, HEADER_BYTES).ok_or_else(missing)?;
        return Err(io::Error::from_raw_os_error(code.wrapping_neg().cast_signed()));
    }
    let mut rest = answer.get(HEADER_BYTES + MESSAGE_BYTES..).ok_or_else(missing)?;
    while let (Some(length), Some(kind)) = (u16_at(rest, 0), u16_at(rest, 2)) {
        let length = usize::from(length);
        let value = rest.get(4..length).ok_or_else(missing)?;
        if kind == INET_DIAG_INFO {
            return TcpFacts::parse(value).ok_or_else(missing);
        }
        rest = rest.get(length.next_multiple_of(4)..).unwrap_or_default();
    }
    Err(missing())
}

impl TcpFacts {
    /// Parses `struct tcp_info` of linux/tcp.h: eight bytes, then 32-bit words, the first of which is `tcpi_rto`.
    /// Returns `None` if the structure lacks words that every kernel since 2.6.13 provides.
    pub fn parse(info: &[u8]) -> Option<Self> {
        let word = |index: usize| u32_at(info, 8 + index * 4);
        Some(Self {
            send_mss_bytes: word(2)?,
            receive_mss_bytes: word(3)?,
            unacknowledged_segments: word(4)?,
            path_mtu_bytes: word(13)?,
            rtt_us: word(15)?,
            rtt_deviation_us: word(16)?,
            slow_start_threshold_segments: word(17)?,
            congestion_window_segments: word(18)?,
            retransmits_total: word(23)?,
            // Behind eleven 64-bit words and others, at byte 224.
            out_of_order_total: word(54),
            timestamps: info.get(5)? & TCPI_OPT_TIMESTAMPS != 0,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernel_reports_facts_about_a_loopback_connection() {
        for address in ["127.0.0.1:0", "[::1]:0"] {
            let bound = std::net::TcpListener::bind(address);
            let Some(listener) = assay_testkit::need::or_skip(address, bound) else { continue };
            let stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
            let facts = TcpFactsReader::open().unwrap().read(&stream).unwrap();
            assert!(facts.send_mss_bytes >= 512 && facts.congestion_window_segments > 0, "{facts:?}");
            assert!(facts.path_mtu_bytes > facts.send_mss_bytes && facts.retransmits_total == 0, "{facts:?}");
        }
    }
}
