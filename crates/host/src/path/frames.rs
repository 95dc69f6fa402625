//! Which frames pass: ICMP echoes (RFC 792, RFC 4443) that must not be fragmented.
//!
//! A frame that is too large for a switch vanishes without a word; so silence at a size where smaller ones are
//! answered is the finding. Sizes are those of IP packets, which is what an MTU counts.

use std::net::{IpAddr, SocketAddr};
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use assay_record::{FrameFacts, FrameOutcome, FrameProbe, FrameTry};
use rustix::io::Errno;
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, ipproto, sockopt};

/// Sizes people set networks to.
const USUAL_BYTES: [u32; 2] = [1500, 9000];
/// Small enough for every network (RFC 791), to learn whether echoes are answered at all.
const SMALL_BYTES: u32 = 576;
/// Echoes of one size before it counts as lost: one may be lost for another reason.
const TRIES: u32 = 2;
/// How long an echo may take. A storage network answers in a millisecond; a machine that idles may wake late.
const PATIENCE: Duration = Duration::from_millis(250);
/// The first echo also waits for ARP.
const PATIENCE_FIRST: Duration = Duration::from_millis(500);
/// Halvings between the largest that passes and the smallest that does not: 2^16 sizes, and two guesses.
const HALVINGS_MAX: u32 = 18;
const VLAN_TAG_BYTES: u32 = 4;

const ECHO_BYTES: usize = 8;
const ECHO_REQUEST_V4: u8 = 8;
const ECHO_REQUEST_V6: u8 = 128;

/// Finds out which frames pass to `to`, up to `mtu_bytes` of the interface that leads there.
pub(super) fn probe(to: IpAddr, mtu_bytes: u32) -> FrameFacts {
    match Echo::open(to) {
        Ok(mut echo) => probe_with(mtu_bytes, &mut |bytes, patience| echo.send(bytes, patience)),
        Err(_) => FrameFacts { how: FrameProbe::NotAllowed, ..FrameFacts::default() },
    }
}

/// The outcome of a size, and how long it took, µs.
type Send<'s> = dyn FnMut(u32, Duration) -> (FrameOutcome, u32) + 's;

/// The order of sizes as a function of what becomes of each.
fn probe_with(mtu_bytes: u32, send: &mut Send<'_>) -> FrameFacts {
    let mut facts = FrameFacts { how: FrameProbe::Echo, ..FrameFacts::default() };
    if try_size(&mut facts, SMALL_BYTES.min(mtu_bytes), PATIENCE_FIRST, send) != FrameOutcome::Passes {
        return FrameFacts { how: FrameProbe::Unanswered, ..FrameFacts::default() };
    }
    let mut sizes = Vec::from(USUAL_BYTES);
    if mtu_bytes < 65_536 {
        sizes.push(mtu_bytes);
    }
    sizes.sort_unstable();
    sizes.dedup();
    for size in sizes {
        if size > mtu_bytes {
            facts.tried.push(FrameTry { bytes: size, outcome: FrameOutcome::TooLargeHere });
        } else {
            try_size(&mut facts, size, PATIENCE, send);
        }
    }
    narrow(&mut facts, mtu_bytes, send);
    facts.tried.sort_by_key(|one| one.bytes);
    facts
}

fn try_size(facts: &mut FrameFacts, bytes: u32, patience: Duration, send: &mut Send<'_>) -> FrameOutcome {
    let mut outcome = FrameOutcome::Lost;
    for _ in 0..TRIES {
        let (one, took_us) = send(bytes, patience);
        outcome = one;
        if outcome == FrameOutcome::Passes {
            facts.echo_us = Some(facts.echo_us.map_or(took_us, |best| best.min(took_us)));
            facts.largest_bytes = facts.largest_bytes.max(Some(bytes));
        }
        if outcome != FrameOutcome::Lost {
            break;
        }
    }
    facts.tried.push(FrameTry { bytes, outcome });
    outcome
}

/// Between the largest that passes and the smallest that does not.
fn narrow(facts: &mut FrameFacts, mtu_bytes: u32, send: &mut Send<'_>) {
    let fails = |one: &&FrameTry| one.outcome != FrameOutcome::Passes && one.bytes <= mtu_bytes;
    let (Some(mut low), Some(mut high)) =
        (facts.largest_bytes, facts.tried.iter().filter(fails).map(|one| one.bytes).min())
    else {
        return;
    };
    // Nearly always the limit is one of the usual sizes, or lets a VLAN tag pass beside it: two echoes show it.
    let mut guesses = vec![low + 1, low + 1 + VLAN_TAG_BYTES];
    guesses.reverse();
    for _ in 0..HALVINGS_MAX {
        if high <= low + 1 {
            return;
        }
        let guess = guesses.pop().filter(|guess| (low + 1..high).contains(guess));
        let next = guess.unwrap_or(low + (high - low) / 2);
        match try_size(facts, next, PATIENCE, send) {
            FrameOutcome::Passes => low = next,
            _ => high = next,
        }
    }
}

/// A socket for echoes to one address.
struct Echo {
    socket: OwnedFd,
    is_v4: bool,
    /// An unprivileged socket is given its identifier by the kernel, and sees only its own answers.
    is_raw: bool,
    id: u16,
    sequence: u16,
    buffer: Vec<u8>,
}

impl Echo {
    fn open(to: IpAddr) -> std::io::Result<Self> {
        let is_v4 = to.is_ipv4();
        let (family, protocol) = match to {
            IpAddr::V4(_) => (AddressFamily::INET, ipproto::ICMP),
            IpAddr::V6(_) => (AddressFamily::INET6, ipproto::ICMPV6),
        };
        let open = |kind| rustix::net::socket_with(family, kind, SocketFlags::CLOEXEC, Some(protocol));
        let (socket, is_raw) = match open(SocketType::DGRAM) {
            Ok(socket) => (socket, false),
            Err(_) => (open(SocketType::RAW)?, true),
        };
        // PROBE: never fragment, and do not believe what was learnt of the path before.
        if is_v4 {
            sockopt::set_ip_mtu_discover(&socket, sockopt::Ipv4PathMtuDiscovery::PROBE)?;
        } else {
            sockopt::set_ipv6_mtu_discover(&socket, sockopt::Ipv6PathMtuDiscovery::PROBE)?;
        }
        rustix::net::connect(&socket, &SocketAddr::new(to, 0))?;
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

    /// One echo as an IP packet of so many bytes.
    fn send(&mut self, bytes: u32, patience: Duration) -> (FrameOutcome, u32) {
        self.sequence = self.sequence.wrapping_add(1);
        let packet = self.request(bytes as usize);
        let began = Instant::now();
        match rustix::net::send(&self.socket, &packet, SendFlags::empty()) {
            Ok(_) => {}
            Err(Errno::MSGSIZE) => return (FrameOutcome::TooLargeHere, 0),
            // An answer to an earlier echo, or an interface that went down: as good as lost.
            Err(_) => return (FrameOutcome::Lost, 0),
        }
        loop {
            let left = patience.saturating_sub(began.elapsed());
            if left.is_zero()
                || sockopt::set_socket_timeout(&self.socket, sockopt::Timeout::Recv, Some(left)).is_err()
            {
                return (FrameOutcome::Lost, 0);
            }
            match rustix::net::recv(&self.socket, &mut self.buffer[..], RecvFlags::empty()) {
                Ok((length, _)) if self.is_answer(length) => {
                    return (
                        FrameOutcome::Passes,
                        u32::try_from(began.elapsed().as_micros()).unwrap_or(u32::MAX),
                    );
                }
                Ok(_) | Err(Errno::INTR) => {}
                Err(Errno::MSGSIZE) => return (FrameOutcome::RefusedOnTheWay, 0),
                Err(_) => return (FrameOutcome::Lost, 0),
            }
        }
    }

    /// Type, code, checksum, identifier, sequence number, and zeros up to the size.
    fn request(&self, ip_bytes: usize) -> Vec<u8> {
        let header_bytes = if self.is_v4 { 20 } else { 40 };
        let mut packet = vec![0; ip_bytes.saturating_sub(header_bytes).max(ECHO_BYTES)];
        packet[0] = if self.is_v4 { ECHO_REQUEST_V4 } else { ECHO_REQUEST_V6 };
        packet[4..6].copy_from_slice(&self.id.to_be_bytes());
        packet[6..8].copy_from_slice(&self.sequence.to_be_bytes());
        // For IPv6 the kernel sums up, as the addresses belong into it.
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

/// RFC 1071.
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

    /// A path that lets packets up to `limit` pass.
    fn probed(mtu: u32, limit: u32, beyond: FrameOutcome) -> (FrameFacts, u32) {
        let mut echoes = 0;
        let facts = probe_with(mtu, &mut |bytes, _| {
            echoes += 1;
            (if bytes <= limit { FrameOutcome::Passes } else { beyond }, 100)
        });
        (facts, echoes)
    }

    fn outcome(facts: &FrameFacts, bytes: u32) -> Option<FrameOutcome> {
        facts.tried.iter().find(|one| one.bytes == bytes).map(|one| one.outcome)
    }

    #[test]
    fn full_frames_pass_with_four_echoes() {
        let (facts, echoes) = probed(9000, 9000, FrameOutcome::Lost);
        assert_eq!((facts.largest_bytes, echoes), (Some(9000), 3));
        assert_eq!(outcome(&facts, 1500), Some(FrameOutcome::Passes));
        let (facts, _) = probed(1500, 9000, FrameOutcome::Lost);
        assert_eq!(outcome(&facts, 9000), Some(FrameOutcome::TooLargeHere));
        assert_eq!(facts.largest_bytes, Some(1500));
    }

    #[test]
    fn the_limit_of_a_switch_is_found_to_the_byte() {
        for (limit, echoes_max) in [(1500, 8), (1504, 12), (1400, 40), (8996, 40), (8999, 40), (1501, 40)] {
            let (facts, echoes) = probed(9000, limit, FrameOutcome::Lost);
            assert_eq!(facts.largest_bytes, Some(limit), "{limit}");
            assert!(echoes <= echoes_max, "{limit}: {echoes} echoes");
        }
        let (facts, echoes) = probed(9000, 1500, FrameOutcome::RefusedOnTheWay);
        assert_eq!((facts.largest_bytes, echoes), (Some(1500), 4), "a refusal is not asked twice");
    }

    #[test]
    fn silence_at_every_size_says_nothing_about_frames() {
        let (facts, echoes) = probed(9000, 0, FrameOutcome::Lost);
        assert_eq!((facts.how, facts.largest_bytes, echoes), (FrameProbe::Unanswered, None, TRIES));
    }

    #[test]
    fn loopback_answers_where_it_may_be_asked() {
        let facts = probe("127.0.0.1".parse().unwrap(), 65_536);
        match facts.how {
            FrameProbe::NotAllowed => {}
            how => {
                assert_eq!(how, FrameProbe::Echo);
                assert_eq!(facts.largest_bytes, Some(9000), "{facts:?}");
            }
        }
    }

    #[test]
    fn the_checksum_is_the_one_of_rfc_1071() {
        assert_eq!(checksum(&[0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7]), !0xddf2);
        assert_eq!(checksum(&[0xff]), 0x00ff);
    }
}
