//! Route and interface of an address, from the kernel's own tables.

use std::io;
use std::net::IpAddr;

use assay_record::RouteFacts;
use netlink_packet_core::NLM_F_DUMP;
use netlink_packet_route::route::{RouteAddress, RouteAttribute, RouteFlags, RouteMessage, RouteType};
use netlink_packet_route::{AddressFamily, RouteNetlinkMessage};

use super::netlink::Netlink;

/// The way to an address: its facts, and the number of the interface.
pub(super) fn route_to(kernel: &mut Netlink, to: IpAddr) -> io::Result<(RouteFacts, u32)> {
    let none = || io::Error::new(io::ErrorKind::NetworkUnreachable, "there is no route");
    let message = look_up(kernel, to, RouteFlags::empty())?.ok_or_else(none)?;
    if !matches!(message.header.kind, RouteType::Unicast | RouteType::Local) {
        return Err(none());
    }
    let mut facts = RouteFacts::default();
    let mut index = None;
    for attribute in &message.attributes {
        match attribute {
            RouteAttribute::Oif(number) => index = Some(*number),
            RouteAttribute::Gateway(address) => facts.gateway = words(address),
            RouteAttribute::PrefSource(address) => facts.source = words(address),
            _ => {}
        }
    }
    if message.header.kind == RouteType::Unicast {
        facts.subnet = subnet(kernel, to).unwrap_or_default();
    }
    Ok((facts, index.ok_or_else(none)?))
}

fn look_up(kernel: &mut Netlink, to: IpAddr, flags: RouteFlags) -> io::Result<Option<RouteMessage>> {
    let mut question = RouteMessage::default();
    (question.header.address_family, question.header.destination_prefix_length) = match to {
        IpAddr::V4(_) => (AddressFamily::Inet, 32),
        IpAddr::V6(_) => (AddressFamily::Inet6, 128),
    };
    question.header.flags = flags;
    question.attributes.push(RouteAttribute::Destination(to.into()));
    let answer = kernel.ask(RouteNetlinkMessage::GetRoute(question), 0)?;
    Ok(answer.into_iter().find_map(|message| match message {
        RouteNetlinkMessage::NewRoute(route) => Some(route),
        _ => None,
    }))
}

/// The entry of the routing table that matched; the look-up itself answers for one address only.
fn subnet(kernel: &mut Netlink, to: IpAddr) -> Option<String> {
    let entry = look_up(kernel, to, RouteFlags::FibMatch).ok()??;
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

/// Every class of the shapers on an interface.
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
