//! A socket for ICMP echoes (RFC 792, RFC 4443) of chosen size and hop limit, and their results: the echo, or an error
//! of a router on the way, which the kernel puts into the socket's error queue.

use std::io::IoSliceMut;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::time::{Duration, Instant};

use nix::sys::socket::{ControlMessageOwned, MsgFlags, recvmsg, setsockopt, sockopt as option};
use rustix::io::Errno;
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, ipproto, sockopt};

const ECHO_BYTES: usize = 8;
const ECHO_REQUEST_V4: u8 = 8;
const ECHO_REQUEST_V6: u8 = 128;
/// linux/errqueue.h: origin of an entry in the error queue.
const ORIGIN_ICMP: u8 = 2;
const ORIGIN_ICMP6: u8 = 3;
/// RFC 792 and RFC 4443: type of a message, and its code where that matters.
const UNREACHABLE_V4: u8 = 3;
const FRAGMENTATION_NEEDED: u8 = 4;
const TIME_EXCEEDED_V4: u8 = 11;
const TOO_BIG_V6: u8 = 2;
const TIME_EXCEEDED_V6: u8 = 3;
/// Number of error queue entries read for one echo: some may be left from earlier ones.
const ENTRIES_MAX: usize = 64;

/// The result of an echo.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Answer {
    /// The reply arrived, after this long.
    Echo { took_us: u32 },
    /// It is larger than the MTU of the local interface.
    TooLargeHere,
    /// A router reported that it is too large, with the MTU (0: not reported).
    Refused { by: Option<IpAddr>, mtu_bytes: u32 },
    /// Its hop limit ended at this router.
    Expired { by: Option<IpAddr> },
    /// No answer arrived.
    Lost,
}

/// A socket for echoes to one address.
#[derive(Debug)]
pub(super) struct Echo {
    socket: OwnedFd,
    is_v4: bool,
    /// The kernel assigns an identifier to an unprivileged socket, which sees only its own answers.
    is_raw: bool,
    id: u16,
    sequence: u16,
    buffer: Vec<u8>,
}

impl Echo {
    /// Opens a socket with a source address and interface if they are given: routes may depend on both.
    pub(super) fn open(to: SocketAddr, from: Option<IpAddr>, through: Option<&str>) -> std::io::Result<Self> {
        let is_v4 = to.is_ipv4();
        let (family, protocol) = match to {
            SocketAddr::V4(_) => (AddressFamily::INET, ipproto::ICMP),
            SocketAddr::V6(_) => (AddressFamily::INET6, ipproto::ICMPV6),
        };
        let open = |kind| rustix::net::socket_with(family, kind, SocketFlags::CLOEXEC, Some(protocol));
        let (socket, is_raw) = match open(SocketType::DGRAM) {
            Ok(socket) => (socket, false),
            Err(_) => (open(SocketType::RAW)?, true),
        };
        // PROBE: never fragment, and ignore the path MTU learnt before.
        if is_v4 {
            sockopt::set_ip_mtu_discover(&socket, sockopt::Ipv4PathMtuDiscovery::PROBE)?;
            setsockopt(&socket, option::Ipv4RecvErr, &true)?;
        } else {
            sockopt::set_ipv6_mtu_discover(&socket, sockopt::Ipv6PathMtuDiscovery::PROBE)?;
            setsockopt(&socket, option::Ipv6RecvErr, &true)?;
        }
        if let Some(through) = through {
            setsockopt(&socket, option::BindToDevice, &through.into())?;
        }
        if let Some(from) = from {
            let mut ours = to;
            ours.set_ip(from);
            rustix::net::bind(&socket, &ours)?;
        }
        rustix::net::connect(&socket, &to)?;
        let [a, b, ..] = std::process::id().to_be_bytes();
        Ok(Self {
            socket,
            is_v4,
            is_raw,
            id: u16::from_be_bytes([b, a]) ^ 0x5a5a,
            sequence: 0,
            buffer: vec![0; 1 << 16],
        })
    }

    /// Returns true for IPv4.
    pub(super) fn is_v4(&self) -> bool {
        self.is_v4
    }

    /// Sends one echo as an IP packet of `bytes` with a limit of `hops` routers, and returns its result.
    pub(super) fn send(&mut self, bytes: u32, hops: u8, patience: Duration) -> Answer {
        self.sequence = self.sequence.wrapping_add(1);
        let packet = self.request(bytes as usize);
        let reach = match self.is_v4 {
            true => sockopt::set_ip_ttl(&self.socket, hops.into()),
            false => sockopt::set_ipv6_unicast_hops(&self.socket, Some(hops)),
        };
        // An error of an earlier echo must not be taken for one of this echo.
        let _ = sockopt::socket_error(&self.socket);
        let began = Instant::now();
        match reach.and_then(|()| rustix::net::send(&self.socket, &packet, SendFlags::empty())) {
            Ok(_) => {}
            Err(Errno::MSGSIZE) => return Answer::TooLargeHere,
            // An interface that is down counts as a lost echo.
            Err(_) => return Answer::Lost,
        }
        loop {
            let left = patience.saturating_sub(began.elapsed());
            if left.is_zero()
                || sockopt::set_socket_timeout(&self.socket, sockopt::Timeout::Recv, Some(left)).is_err()
            {
                return Answer::Lost;
            }
            match rustix::net::recv(&self.socket, &mut self.buffer[..], RecvFlags::empty()) {
                Ok((length, _)) if self.is_answer(length) => {
                    let took_us = u32::try_from(began.elapsed().as_micros()).unwrap_or(u32::MAX);
                    return Answer::Echo { took_us };
                }
                Ok(_) | Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return self.said_by_a_router().unwrap_or(Answer::Lost),
                Err(_) => {
                    if let Some(said) = self.said_by_a_router() {
                        return said;
                    }
                }
            }
        }
    }

    /// Returns what the error queue reports about the last echo.
    fn said_by_a_router(&self) -> Option<Answer> {
        for _ in 0..ENTRIES_MAX {
            // The start of the echo that the entry is about.
            let mut about = [0; ECHO_BYTES];
            let mut control = nix::cmsg_space!([u8; 64]);
            let mut parts = [IoSliceMut::new(&mut about)];
            let flags = MsgFlags::MSG_ERRQUEUE | MsgFlags::MSG_DONTWAIT;
            let entry = recvmsg::<()>(self.socket.as_raw_fd(), &mut parts, Some(&mut control), flags).ok()?;
            let said = entry.cmsgs().ok()?.find_map(|one| said(&one));
            if about[6..8] == self.sequence.to_be_bytes() && said.is_some() {
                return said;
            }
        }
        None
    }

    /// Returns the echo request: type, code, checksum, identifier, sequence number, and zeros up to the size.
    fn request(&self, ip_bytes: usize) -> Vec<u8> {
        let header_bytes = if self.is_v4 { 20 } else { 40 };
        let mut packet = vec![0; ip_bytes.saturating_sub(header_bytes).max(ECHO_BYTES)];
        packet[0] = if self.is_v4 { ECHO_REQUEST_V4 } else { ECHO_REQUEST_V6 };
        packet[4..6].copy_from_slice(&self.id.to_be_bytes());
        packet[6..8].copy_from_slice(&self.sequence.to_be_bytes());
        // For IPv6 the kernel computes the checksum, as it includes the addresses.
        if self.is_v4 {
            let sum = checksum(&packet);
            packet[2..4].copy_from_slice(&sum.to_be_bytes());
        }
        packet
    }

    fn is_answer(&self, length: usize) -> bool {
        let mut packet = &self.buffer[..length];
        if self.is_raw && self.is_v4 {
            // A raw socket shows the IP header, whose length is in 32-bit words.
            let words = packet.first().map_or(0, |first| usize::from(first & 0x0f));
            packet = packet.get(words * 4..).unwrap_or_default();
        }
        let Some(header) = packet.first_chunk::<ECHO_BYTES>() else { return false };
        let is_reply = header[0] == if self.is_v4 { 0 } else { 129 };
        let is_ours = !self.is_raw || header[4..6] == self.id.to_be_bytes();
        is_reply && is_ours && header[6..8] == self.sequence.to_be_bytes()
    }
}

/// Returns an entry of the error queue if a router caused it.
fn said(entry: &ControlMessageOwned) -> Option<Answer> {
    match entry {
        ControlMessageOwned::Ipv4RecvErr(error, by) if error.ee_origin == ORIGIN_ICMP => {
            let by = by.map(|by| IpAddr::V4(Ipv4Addr::from(u32::from_be(by.sin_addr.s_addr))));
            match (error.ee_type, error.ee_code) {
                (UNREACHABLE_V4, FRAGMENTATION_NEEDED) => {
                    Some(Answer::Refused { by, mtu_bytes: error.ee_info })
                }
                (TIME_EXCEEDED_V4, _) => Some(Answer::Expired { by }),
                _ => None,
            }
        }
        ControlMessageOwned::Ipv6RecvErr(error, by) if error.ee_origin == ORIGIN_ICMP6 => {
            let by = by.map(|by| IpAddr::V6(Ipv6Addr::from(by.sin6_addr.s6_addr)));
            match error.ee_type {
                TOO_BIG_V6 => Some(Answer::Refused { by, mtu_bytes: error.ee_info }),
                TIME_EXCEEDED_V6 => Some(Answer::Expired { by }),
                _ => None,
            }
        }
        _ => None,
    }
}

/// Returns the Internet checksum (RFC 1071).
fn checksum(bytes: &[u8]) -> u16 {
    let mut sum: u32 =
        bytes.chunks(2).map(|two| u32::from(two[0]) << 8 | u32::from(*two.get(1).unwrap_or(&0))).sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !u16::try_from(sum).expect("folded to 16 bits above")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checksum_matches_rfc_1071() {
        assert_eq!(checksum(&[0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7]), !0xddf2);
        assert_eq!(checksum(&[0xff]), 0x00ff);
    }
}
