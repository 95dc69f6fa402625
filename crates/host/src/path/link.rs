//! Interfaces as listed by the kernel, and the interfaces below each: a VLAN on its device, a bond on its members, a
//! bridge on the port that leads to the address. Several of them may share one cable.

use std::io;
use std::net::IpAddr;

use assay_record::{BondFacts, InterfaceCounters, InterfaceFacts, LinkSample, LinkState};
use netlink_packet_core::NLM_F_DUMP;
use netlink_packet_route::link::{
    InfoBond, InfoData, LinkAttribute, LinkFlags, LinkInfo, LinkMessage, Stats64,
};
use netlink_packet_route::neighbour::{NeighbourAddress, NeighbourAttribute, NeighbourMessage};
use netlink_packet_route::{AddressFamily, RouteNetlinkMessage};

use super::netlink::Netlink;

/// Largest number of layers; it only bounds the cost of a loop in the kernel's data.
const LAYERS_MAX: usize = 8;

/// An interface and its relations to others.
#[derive(Debug, Clone, Default)]
pub(super) struct Link {
    pub(super) index: u32,
    pub(super) facts: InterfaceFacts,
    /// The interface below it; for a veth, its peer.
    made_on: Option<u32>,
    /// The namespace of that interface, if it is not ours.
    made_on_elsewhere: Option<i32>,
    /// The bond, team or bridge it is a member of.
    member_of: Option<u32>,
    /// For a bond with backup members, the active member.
    active: Option<u32>,
}

/// Returns every interface of the namespace.
pub(super) fn all(kernel: &mut Netlink) -> io::Result<Vec<Link>> {
    let answer = kernel.ask(RouteNetlinkMessage::GetLink(LinkMessage::default()), NLM_F_DUMP)?;
    let link = |message| match message {
        RouteNetlinkMessage::NewLink(link) => Some(read(&link)),
        _ => None,
    };
    Ok(answer.into_iter().filter_map(link).collect())
}

pub(super) fn read(link: &LinkMessage) -> Link {
    let flags = link.header.flags;
    let state = match (flags.contains(LinkFlags::Up), flags.contains(LinkFlags::LowerUp)) {
        (false, _) => LinkState::Down,
        (true, false) => LinkState::NoCarrier,
        (true, true) => LinkState::Up,
    };
    let facts = InterfaceFacts { state, ..InterfaceFacts::default() };
    let mut read = Link { index: link.header.index, facts, ..Link::default() };
    if flags.contains(LinkFlags::Loopback) {
        "loopback".clone_into(&mut read.facts.kind);
    }
    for attribute in &link.attributes {
        match attribute {
            LinkAttribute::IfName(name) => read.facts.name.clone_from(name),
            LinkAttribute::Mtu(bytes) => read.facts.mtu_bytes = *bytes,
            LinkAttribute::Link(index) => read.made_on = Some(*index),
            LinkAttribute::LinkNetNsId(id) => read.made_on_elsewhere = Some(*id),
            LinkAttribute::Controller(index) => read.member_of = Some(*index),
            LinkAttribute::LinkInfo(infos) => add_info(&mut read, infos),
            LinkAttribute::Stats64(of) => {
                read.facts.counters = counters(of);
            }
            _ => {}
        }
    }
    read
}

fn counters(of: &Stats64) -> InterfaceCounters {
    InterfaceCounters {
        rx_packets: of.rx_packets,
        tx_packets: of.tx_packets,
        rx_errors: of.rx_errors,
        tx_errors: of.tx_errors,
        rx_dropped: of.rx_dropped,
        tx_dropped: of.tx_dropped,
        rx_bytes: of.rx_bytes,
        tx_bytes: of.tx_bytes,
        rx_crc_errors: of.rx_crc_errors,
        // Drivers put the same number into one, two or all three of these counters.
        rx_overruns: of.rx_missed_errors.max(of.rx_over_errors).max(of.rx_fifo_errors),
    }
}

/// Follows the counters of some interfaces from sample to sample.
#[derive(Debug)]
pub(crate) struct LinkWatch {
    kernel: Netlink,
    /// Number, name, and the counters at the last sample.
    links: Vec<(u32, String, InterfaceCounters)>,
}

impl LinkWatch {
    /// Starts following interfaces; `None` if there is none, or if the kernel reports no counters.
    pub(crate) fn open(names: &[String]) -> Option<Self> {
        if names.is_empty() {
            return None;
        }
        let mut kernel = Netlink::open(None).ok()?;
        let known = all(&mut kernel).ok()?.into_iter().filter(|link| names.contains(&link.facts.name));
        let links = known.map(|link| (link.index, link.facts.name, link.facts.counters)).collect();
        Some(Self { kernel, links })
    }

    /// Returns the counts of each interface since the last call. An interface that no longer exists is left out.
    pub(crate) fn sample(&mut self) -> Vec<LinkSample> {
        let Self { kernel, links } = self;
        let sample = |(index, name, before): &mut (u32, String, InterfaceCounters)| {
            let now = one(kernel, *index)?.facts.counters;
            let counters = now.since(before);
            *before = now;
            Some(LinkSample { interface: name.clone(), counters })
        };
        links.iter_mut().filter_map(sample).collect()
    }
}

fn one(kernel: &mut Netlink, index: u32) -> Option<Link> {
    let mut question = LinkMessage::default();
    question.header.index = index;
    let answer = kernel.ask(RouteNetlinkMessage::GetLink(question), 0).ok()?;
    answer.into_iter().find_map(|message| match message {
        RouteNetlinkMessage::NewLink(link) => Some(read(&link)),
        _ => None,
    })
}

fn add_info(link: &mut Link, infos: &[LinkInfo]) {
    for info in infos {
        match info {
            LinkInfo::Kind(kind) => link.facts.kind = kind.to_string(),
            LinkInfo::Data(InfoData::Bond(bond)) => {
                let mut facts = BondFacts::default();
                for one in bond {
                    match one {
                        InfoBond::Mode(mode) => facts.mode = mode.to_string(),
                        InfoBond::XmitHashPolicy(hash) => facts.hash = hash.to_string(),
                        InfoBond::ActivePort(index) => link.active = Some(*index),
                        _ => {}
                    }
                }
                link.facts.bond = Some(facts);
            }
            _ => {}
        }
    }
}

/// Returns the interfaces below an interface, layer by layer. `port` returns the port of a bridge through which the
/// address is reached.
pub(super) fn stack(links: &[Link], index: u32, port: &dyn Fn(u32) -> Option<u32>) -> Option<InterfaceFacts> {
    links.iter().find(|link| link.index == index).map(|top| facts_of(links, top, port, LAYERS_MAX))
}

fn facts_of(links: &[Link], link: &Link, port: &dyn Fn(u32) -> Option<u32>, layers: usize) -> InterfaceFacts {
    let mut facts = link.facts.clone();
    let name = |index: u32| links.iter().find(|one| one.index == index).map(|one| one.facts.name.clone());
    if let Some(bond) = &mut facts.bond {
        bond.active = link.active.and_then(name);
    }
    if layers == 0 {
        return facts;
    }
    let below = below(links, link, port);
    facts.lower = below.into_iter().map(|one| facts_of(links, one, port, layers - 1)).collect();
    if let (true, Some(index), Some(namespace)) =
        (is_made_on_another(&facts.kind), link.made_on, link.made_on_elsewhere)
    {
        facts.lower.push(InterfaceFacts {
            name: format!("interface {index} of namespace {namespace}"),
            kind: InterfaceFacts::ELSEWHERE.into(),
            ..InterfaceFacts::default()
        });
    }
    facts
}

/// Returns true for kinds whose packets go through the interface below.
fn is_made_on_another(kind: &str) -> bool {
    matches!(kind, "vlan" | "macvlan" | "macvtap" | "ipvlan" | "ipvtap" | "macsec" | "hsr" | "rmnet")
}

fn below<'l>(links: &'l [Link], link: &Link, port: &dyn Fn(u32) -> Option<u32>) -> Vec<&'l Link> {
    let by_index = |index: u32| links.iter().find(|one| one.index == index);
    let members = || links.iter().filter(|one| one.member_of == Some(link.index));
    let in_sight = link.made_on.filter(|_| link.made_on_elsewhere.is_none());
    match link.facts.kind.as_str() {
        "bond" | "team" => members().collect(),
        "bridge" => match port(link.index).and_then(by_index) {
            Some(found) => vec![found],
            None => members().collect(),
        },
        // The peer of a veth leads no further, unless it is a port of a bridge.
        "veth" => {
            let other = in_sight.and_then(by_index);
            let bridge = other.and_then(|other| other.member_of).and_then(by_index);
            bridge.into_iter().filter(|bridge| bridge.facts.kind == "bridge").collect()
        }
        kind if is_made_on_another(kind) => in_sight.and_then(by_index).into_iter().collect(),
        _ => Vec::new(),
    }
}

/// Returns the port of a bridge behind which a neighbour is, according to the bridge's forwarding table; `next_hop` is
/// on interface `index`.
pub(super) fn port_towards(kernel: &mut Netlink, index: u32, next_hop: IpAddr) -> Vec<(u32, u32)> {
    let family = if next_hop.is_ipv4() { AddressFamily::Inet } else { AddressFamily::Inet6 };
    let wanted = match next_hop {
        IpAddr::V4(v4) => NeighbourAddress::Inet(v4),
        IpAddr::V6(v6) => NeighbourAddress::Inet6(v6),
    };
    let is_it = |one: &NeighbourMessage| {
        let is_wanted =
            |a: &NeighbourAttribute| matches!(a, NeighbourAttribute::Destination(at) if *at == wanted);
        one.header.ifindex == index && one.attributes.iter().any(is_wanted)
    };
    let known = neighbours(kernel, family).unwrap_or_default();
    let Some(station) = known.iter().find(|one| is_it(one)).and_then(station) else { return Vec::new() };
    let learnt = neighbours(kernel, AddressFamily::Bridge).unwrap_or_default();
    let here = learnt.iter().filter(|one| self::station(one).as_deref() == Some(&station));
    let bridge = |one: &NeighbourMessage| {
        one.attributes.iter().find_map(|attribute| match attribute {
            NeighbourAttribute::Controller(bridge) => Some((*bridge, one.header.ifindex)),
            _ => None,
        })
    };
    here.filter_map(bridge).collect()
}

fn station(one: &NeighbourMessage) -> Option<Vec<u8>> {
    one.attributes.iter().find_map(|attribute| match attribute {
        NeighbourAttribute::LinkLayerAddress(station) => Some(station.clone()),
        _ => None,
    })
}

fn neighbours(kernel: &mut Netlink, family: AddressFamily) -> io::Result<Vec<NeighbourMessage>> {
    let mut question = NeighbourMessage::default();
    question.header.family = family;
    let answer = kernel.ask(RouteNetlinkMessage::GetNeighbour(question), NLM_F_DUMP)?;
    let neighbour = |message| match message {
        RouteNetlinkMessage::NewNeighbour(neighbour) => Some(neighbour),
        _ => None,
    };
    Ok(answer.into_iter().filter_map(neighbour).collect())
}
