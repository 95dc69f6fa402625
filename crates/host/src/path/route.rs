//! Route and interface of an address, from the kernel's own tables.

use std::io;
use std::net::{IpAddr, SocketAddr};

use assay_record::RouteFacts;
use netlink_packet_core::NLM_F_DUMP;
use netlink_packet_route::route::{
    RouteAddress, RouteAttribute, RouteFlags, RouteMessage, RouteType, RouteVia,
};
use netlink_packet_route::{AddressFamily, RouteNetlinkMessage};

use super::Flow;
use super::netlink::Netlink;

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
    if kind == RouteType::Unicast {
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

fn look_up(kernel: &mut Netlink, choice: &Choice) -> io::Result<(RouteFacts, u32, RouteType)> {
    let none = || io::Error::new(io::ErrorKind::NetworkUnreachable, "no route to the address");
    let message = ask(kernel, choice, RouteFlags::LookupTable)?.ok_or_else(none)?;
    if !matches!(message.header.kind, RouteType::Unicast | RouteType::Local) {
        return Err(none());
    }
    // The kernel returns no source address if the request contained one.
    let mut facts = RouteFacts { source: choice.from.map(|from| from.to_string()), ..RouteFacts::default() };
    let mut index = None;
    for attribute in &message.attributes {
        match attribute {
            RouteAttribute::Oif(number) => index = Some(*number),
            RouteAttribute::Gateway(address) => facts.gateway = words(address),
            RouteAttribute::Via(RouteVia::Inet6(address)) => facts.gateway = Some(address.to_string()),
            // The source of an existing connection is known; the route only contains the preferred source of new ones.
            RouteAttribute::PrefSource(address) if choice.from.is_none() => facts.source = words(address),
            RouteAttribute::Table(table) if !USUAL_TABLES.contains(table) => facts.table = Some(*table),
            _ => {}
        }
    }
    Ok((facts, index.ok_or_else(none)?, message.header.kind))
}

fn ask(kernel: &mut Netlink, choice: &Choice, flags: RouteFlags) -> io::Result<Option<RouteMessage>> {
    let mut question = RouteMessage::default();
    let bits = if choice.to.is_ipv4() { 32 } else { 128 };
    let family = if choice.to.is_ipv4() { AddressFamily::Inet } else { AddressFamily::Inet6 };
    question.header.address_family = family;
    question.header.destination_prefix_length = bits;
    question.header.flags = flags;
    question.attributes.push(RouteAttribute::Destination(choice.to.ip().into()));
    if let Some(from) = choice.from {
        question.header.source_prefix_length = bits;
        question.attributes.push(RouteAttribute::Source(from.into()));
    }
    question.attributes.extend(choice.through.map(RouteAttribute::Oif));
    question.attributes.push(RouteAttribute::IpProto(choice.protocol));
    if choice.protocol == TCP {
        question.attributes.push(RouteAttribute::Dport(choice.to.port()));
        question.attributes.extend(choice.port.map(RouteAttribute::Sport));
    }
    let answer = kernel.ask(RouteNetlinkMessage::GetRoute(question), 0)?;
    Ok(answer.into_iter().find_map(|message| match message {
        RouteNetlinkMessage::NewRoute(route) => Some(route),
        _ => None,
    }))
}

/// Returns the entry of the routing table that matched; the lookup itself returns the route of one address only.
fn subnet(kernel: &mut Netlink, choice: &Choice) -> Option<String> {
    let entry = ask(kernel, choice, RouteFlags::FibMatch).ok()??;
    let destination = entry.attributes.iter().find_map(|attribute| match attribute {
        RouteAttribute::Destination(address) => words(address),
        _ => None,
    })?;
    Some(format!("{destination}/{}", entry.header.destination_prefix_length))
}

fn words(address: &RouteAddress) -> Option<String> {
    match address {
        RouteAddress::Inet(v4) => Some(v4.to_string()),
        RouteAddress::Inet6(v6) => Some(v6.to_string()),
        _ => None,
    }
}

/// Returns every class of the shapers on an interface.
pub(super) fn classes(
    kernel: &mut Netlink,
    index: u32,
) -> io::Result<Vec<netlink_packet_route::tc::TcMessage>> {
    let question = netlink_packet_route::tc::TcMessage::with_index(i32::try_from(index).unwrap_or_default());
    let answer = kernel.ask(RouteNetlinkMessage::GetTrafficClass(question), NLM_F_DUMP)?;
    let class = |message| match message {
        RouteNetlinkMessage::NewTrafficClass(class) => Some(class),
        _ => None,
    };
    Ok(answer.into_iter().filter_map(class).collect())
}
