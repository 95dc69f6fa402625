//! Route and interface of an address, from the kernel's own tables.

use std::io;
use std::net::{IpAddr, SocketAddr};

use assay_record::RouteFacts;

use super::Flow;
use super::netlink::{Attributes, Message, Netlink};

/// linux/rtnetlink.h: `struct rtmsg` has the family at byte 0, the lengths of the prefixes of destination and source
/// at bytes 1 and 2, the type at byte 7 and flags at byte 8.
const RTM_NEWROUTE: u16 = 24;
const RTM_GETROUTE: u16 = 26;
const RTMSG_BYTES: usize = 12;
const RTMSG_DESTINATION_BITS: usize = 1;
const RTMSG_TYPE: usize = 7;
const RTM_F_LOOKUP_TABLE: u32 = 0x1000;
const RTM_F_FIB_MATCH: u32 = 0x2000;
const RTN_UNICAST: u8 = 1;
const RTN_LOCAL: u8 = 2;
const RTA_DST: u16 = 1;
const RTA_SRC: u16 = 2;
const RTA_OIF: u16 = 4;
const RTA_GATEWAY: u16 = 5;
const RTA_PREFSRC: u16 = 7;
const RTA_TABLE: u16 = 15;
const RTA_VIA: u16 = 18;
const RTA_IP_PROTO: u16 = 27;
const RTA_SPORT: u16 = 28;
const RTA_DPORT: u16 = 29;

/// Protocol numbers of IP (RFC 792, RFC 4443, RFC 9293).
const ICMP: u8 = 1;
const TCP: u8 = 6;
const ICMPV6: u8 = 58;
/// Routing tables that every host has; others are chosen by rules (`ip rule`).
const USUAL_TABLES: [u32; 4] = [0, 253, 254, 255];

/// The properties by which the kernel chooses a route.
#[derive(Debug, Clone, Copy)]
struct Choice {
    to: SocketAddr,
    from: Option<IpAddr>,
    /// The interface that a socket is bound to.
    through: Option<u32>,
    protocol: u8,
    /// Local port, if known.
    port: Option<u16>,
}

/// Returns the route of a TCP connection: its facts, and the number of the interface.
pub(super) fn route_of(kernel: &mut Netlink, flow: Flow) -> io::Result<(RouteFacts, u32)> {
    let Flow { remote: to, local } = flow;
    let choice = Choice {
        to,
        from: local.map(|at| at.ip()),
        through: zone(to),
        protocol: TCP,
        port: local.map(|at| at.port()),
    };
    let (mut facts, index, kind) = look_up(kernel, &choice)?;
    if kind == RTN_UNICAST {
        facts.subnet = subnet(kernel, &choice).unwrap_or_default();
    }
    Ok((facts, index))
}

/// Returns the route of an echo from a local address, by a socket that is bound to an interface or to none.
pub(super) fn route_of_echo(
    kernel: &mut Netlink,
    to: SocketAddr,
    from: Option<IpAddr>,
    through: Option<u32>,
) -> io::Result<(RouteFacts, u32)> {
    let protocol = if to.is_ipv4() { ICMP } else { ICMPV6 };
    let choice = Choice { to, from, through: through.or(zone(to)), protocol, port: None };
    look_up(kernel, &choice).map(|(facts, index, _)| (facts, index))
}

/// Returns the interface of a link-local address.
fn zone(to: SocketAddr) -> Option<u32> {
    match to {
        SocketAddr::V6(v6) if v6.scope_id() > 0 => Some(v6.scope_id()),
        _ => None,
    }
}

fn look_up(kernel: &mut Netlink, choice: &Choice) -> io::Result<(RouteFacts, u32, u8)> {
    let none = || io::Error::new(io::ErrorKind::NetworkUnreachable, "no route to the address");
    let route = ask(kernel, choice, RTM_F_LOOKUP_TABLE)?.ok_or_else(none)?;
    let kind =
        route.byte(RTMSG_TYPE).filter(|kind| [RTN_UNICAST, RTN_LOCAL].contains(kind)).ok_or_else(none)?;
    let attributes = route.attributes(RTMSG_BYTES);
    let facts = RouteFacts {
        // The kernel returns no source address if the request contained one. The source of an existing connection is
        // known; the route only contains the preferred source of new ones.
        source: choice.from.map_or_else(|| words(&attributes, RTA_PREFSRC), |from| Some(from.to_string())),
        gateway: words(&attributes, RTA_GATEWAY).or_else(|| via(&attributes)),
        table: attributes.word(RTA_TABLE).filter(|table| !USUAL_TABLES.contains(table)),
        ..RouteFacts::default()
    };
    Ok((facts, attributes.word(RTA_OIF).ok_or_else(none)?, kind))
}

fn ask(kernel: &mut Netlink, choice: &Choice, flags: u32) -> io::Result<Option<Message>> {
    let bits = if choice.to.is_ipv4() { 32 } else { 128 };
    let source_bits = if choice.from.is_some() { bits } else { 0 };
    let mut structure = [0; RTMSG_BYTES];
    structure[..3].copy_from_slice(&[family(choice.to.ip()), bits, source_bits]);
    structure[8..].copy_from_slice(&flags.to_ne_bytes());
    let mut question = Message::new(RTM_GETROUTE, &structure);
    question.put(RTA_DST, &octets(choice.to.ip()));
    if let Some(from) = choice.from {
        question.put(RTA_SRC, &octets(from));
    }
    if let Some(through) = choice.through {
        question.put(RTA_OIF, &through.to_ne_bytes());
    }
    question.put(RTA_IP_PROTO, &[choice.protocol]);
    if choice.protocol == TCP {
        question.put(RTA_DPORT, &choice.to.port().to_be_bytes());
        if let Some(port) = choice.port {
            question.put(RTA_SPORT, &port.to_be_bytes());
        }
    }
    let answer = kernel.ask(question, 0)?;
    Ok(answer.into_iter().find(|message| message.kind == RTM_NEWROUTE))
}

/// Returns the entry of the routing table that matched; the lookup itself returns the route of one address only.
fn subnet(kernel: &mut Netlink, choice: &Choice) -> Option<String> {
    let entry = ask(kernel, choice, RTM_F_FIB_MATCH).ok()??;
    let destination = words(&entry.attributes(RTMSG_BYTES), RTA_DST)?;
    Some(format!("{destination}/{}", entry.byte(RTMSG_DESTINATION_BITS)?))
}

fn words(attributes: &Attributes, wanted: u16) -> Option<String> {
    address(attributes.value(wanted)?).map(|address| address.to_string())
}

/// Returns the gateway of an IPv4 route that has an IPv6 address: its family, then the address.
fn via(attributes: &Attributes) -> Option<String> {
    let address = attributes.value(RTA_VIA)?.get(2..)?;
    <[u8; 16]>::try_from(address).ok().map(|v6| IpAddr::from(v6).to_string())
}

/// Returns the number of an address's family (`AF_INET`, `AF_INET6`).
pub(super) fn family(address: IpAddr) -> u8 {
    if address.is_ipv4() { 2 } else { 10 }
}

/// Returns the bytes of an address in the order of the network.
pub(super) fn octets(address: IpAddr) -> Vec<u8> {
    match address {
        IpAddr::V4(v4) => v4.octets().to_vec(),
        IpAddr::V6(v6) => v6.octets().to_vec(),
    }
}

/// Returns the address of these bytes, by their number.
fn address(bytes: &[u8]) -> Option<IpAddr> {
    match bytes.len() {
        4 => bytes.first_chunk::<4>().map(|v4| IpAddr::from(*v4)),
        16 => bytes.first_chunk::<16>().map(|v6| IpAddr::from(*v6)),
        _ => None,
    }
}
