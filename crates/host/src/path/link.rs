//! Interfaces as listed by the kernel, and the interfaces below each: a VLAN on its device, a bond on its members, a
//! bridge on the port that leads to the address. Several of them may share one cable.

use std::io;
use std::net::IpAddr;

use assay_record::{BondFacts, InterfaceCounters, InterfaceFacts, LinkSample, LinkState};
use netlink_packet_core::NLM_F_DUMP;

use super::netlink::{Attributes, Message, Netlink};
use super::route::{family, octets};

/// linux/rtnetlink.h, linux/if_link.h: `struct ifinfomsg` has the index at byte 4 and flags at byte 8.
const RTM_NEWLINK: u16 = 16;
const RTM_GETLINK: u16 = 18;
const IFINFOMSG_BYTES: usize = 16;
const IFINFOMSG_INDEX: usize = 4;
const IFINFOMSG_FLAGS: usize = 8;
const IFLA_IFNAME: u16 = 3;
const IFLA_MTU: u16 = 4;
const IFLA_LINK: u16 = 5;
const IFLA_MASTER: u16 = 10;
const IFLA_LINKINFO: u16 = 18;
const IFLA_STATS64: u16 = 23;
const IFLA_LINK_NETNSID: u16 = 37;
const IFLA_INFO_KIND: u16 = 1;
const IFLA_INFO_DATA: u16 = 2;
const IFLA_BOND_MODE: u16 = 1;
const IFLA_BOND_ACTIVE_SLAVE: u16 = 2;
const IFLA_BOND_XMIT_HASH_POLICY: u16 = 14;
/// linux/if.h.
const IFF_UP: u32 = 1;
const IFF_LOOPBACK: u32 = 8;
const IFF_LOWER_UP: u32 = 1 << 16;
/// linux/neighbour.h: `struct ndmsg` has the family at byte 0 and the interface at byte 4.
const RTM_NEWNEIGH: u16 = 28;
const RTM_GETNEIGH: u16 = 30;
const NDMSG_BYTES: usize = 12;
const NDMSG_INTERFACE: usize = 4;
const NDA_DST: u16 = 1;
const NDA_LLADDR: u16 = 2;
const NDA_MASTER: u16 = 9;
const AF_BRIDGE: u8 = 7;
/// The kernel's names of a bond's modes and of its hashes, by their numbers.
const BOND_MODES: [&str; 7] =
    ["balance-rr", "active-backup", "balance-xor", "broadcast", "802.3ad", "balance-tlb", "balance-alb"];
const BOND_HASHES: [&str; 6] = ["layer2", "layer3+4", "layer2+3", "encap2+3", "encap3+4", "vlan+srcmac"];

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
    let answer = kernel.ask(Message::new(RTM_GETLINK, &[0; IFINFOMSG_BYTES]), NLM_F_DUMP)?;
    Ok(answer.iter().filter_map(read).collect())
}

/// Returns the interface that a message is about; `None` if it is about something else.
pub(super) fn read(message: &Message) -> Option<Link> {
    let flags = message.word(IFINFOMSG_FLAGS).filter(|_| message.kind == RTM_NEWLINK)?;
    let attributes = message.attributes(IFINFOMSG_BYTES);
    let info = attributes.nested(IFLA_LINKINFO).unwrap_or_default();
    let of_kind = || if flags & IFF_LOOPBACK > 0 { "loopback".into() } else { String::new() };
    let kind = info.text(IFLA_INFO_KIND).unwrap_or_else(of_kind);
    let bond = info.nested(IFLA_INFO_DATA).filter(|_| kind == "bond");
    Some(Link {
        index: message.word(IFINFOMSG_INDEX)?,
        made_on: attributes.word(IFLA_LINK),
        made_on_elsewhere: attributes.word(IFLA_LINK_NETNSID).map(u32::cast_signed),
        member_of: attributes.word(IFLA_MASTER),
        active: bond.as_ref().and_then(|bond| bond.word(IFLA_BOND_ACTIVE_SLAVE)),
        facts: InterfaceFacts {
            name: attributes.text(IFLA_IFNAME).unwrap_or_default(),
            mtu_bytes: attributes.word(IFLA_MTU).unwrap_or_default(),
            state: match (flags & IFF_UP > 0, flags & IFF_LOWER_UP > 0) {
                (false, _) => LinkState::Down,
                (true, false) => LinkState::NoCarrier,
                (true, true) => LinkState::Up,
            },
            bond: bond.map(|bond| bond_facts(&bond)),
            counters: attributes.value(IFLA_STATS64).map(counters).unwrap_or_default(),
            kind,
            ..InterfaceFacts::default()
        },
    })
}

fn bond_facts(bond: &Attributes) -> BondFacts {
    let name = |names: &[&str], number: u8| {
        names.get(usize::from(number)).map_or_else(|| format!("unknown ({number})"), |name| (*name).into())
    };
    BondFacts {
        mode: bond.byte(IFLA_BOND_MODE).map(|number| name(&BOND_MODES, number)).unwrap_or_default(),
        hash: bond
            .byte(IFLA_BOND_XMIT_HASH_POLICY)
            .map(|number| name(&BOND_HASHES, number))
            .unwrap_or_default(),
        ..BondFacts::default()
    }
}

/// Parses `struct rtnl_link_stats64`; a kernel that ends it earlier has no such counter.
fn counters(stats: &[u8]) -> InterfaceCounters {
    let at = |number: usize| {
        let bytes = stats.get(8 * number..).and_then(<[u8]>::first_chunk);
        bytes.map_or(0, |count| u64::from_ne_bytes(*count))
    };
    InterfaceCounters {
        rx_packets: at(0),
        tx_packets: at(1),
        rx_bytes: at(2),
        tx_bytes: at(3),
        rx_errors: at(4),
        tx_errors: at(5),
        rx_dropped: at(6),
        tx_dropped: at(7),
        rx_crc_errors: at(12),
        // Overruns, an overrun FIFO, missed packets: drivers put the same number into one, two or all three.
        rx_overruns: at(11).max(at(14)).max(at(15)),
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
    let mut structure = [0; IFINFOMSG_BYTES];
    structure[IFINFOMSG_INDEX..][..4].copy_from_slice(&index.to_ne_bytes());
    kernel.ask(Message::new(RTM_GETLINK, &structure), 0).ok()?.iter().find_map(read)
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
    let wanted = octets(next_hop);
    let known = neighbours(kernel, family(next_hop)).unwrap_or_default();
    let known = known.iter().find(|one| {
        one.interface == index && one.attributes.value(NDA_DST).is_some_and(|address| address == wanted)
    });
    let Some(station) = known.and_then(|one| one.attributes.value(NDA_LLADDR)) else { return Vec::new() };
    let learnt = neighbours(kernel, AF_BRIDGE).unwrap_or_default();
    let here = learnt.iter().filter(|one| one.attributes.value(NDA_LLADDR) == Some(station));
    here.filter_map(|one| Some((one.attributes.word(NDA_MASTER)?, one.interface))).collect()
}

/// An entry of the table of neighbours, or of a bridge's forwarding table.
struct Neighbour {
    interface: u32,
    attributes: Attributes,
}

fn neighbours(kernel: &mut Netlink, family: u8) -> io::Result<Vec<Neighbour>> {
    let mut structure = [0; NDMSG_BYTES];
    structure[0] = family;
    let answer = kernel.ask(Message::new(RTM_GETNEIGH, &structure), NLM_F_DUMP)?;
    let neighbour = |message: &Message| {
        let interface = message.word(NDMSG_INTERFACE).filter(|_| message.kind == RTM_NEWNEIGH)?;
        Some(Neighbour { interface, attributes: message.attributes(NDMSG_BYTES) })
    };
    Ok(answer.iter().filter_map(neighbour).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bond_its_mode_and_its_active_member_are_read() {
        let mut data = Message::new(0, &[]);
        data.put(IFLA_BOND_MODE, &[1]);
        data.put(IFLA_BOND_ACTIVE_SLAVE, &7_u32.to_ne_bytes());
        data.put(IFLA_BOND_XMIT_HASH_POLICY, &[9]);
        let mut info = Message::new(0, &[]);
        info.put(IFLA_INFO_KIND, b"bond\0");
        info.put(IFLA_INFO_DATA, data.bytes());
        let mut structure = [0; IFINFOMSG_BYTES];
        structure[IFINFOMSG_INDEX] = 3_u32.to_ne_bytes()[0];
        structure[IFINFOMSG_FLAGS..][..4].copy_from_slice(&IFF_UP.to_ne_bytes());
        let mut message = Message::new(RTM_NEWLINK, &structure);
        message.put(IFLA_IFNAME, b"bond0\0");
        message.put(IFLA_LINKINFO, info.bytes());
        let bond = read(&message).unwrap();
        let facts = bond.facts.bond.unwrap();
        assert_eq!(
            (bond.active, facts.mode.as_str(), facts.hash.as_str()),
            (Some(7), "active-backup", "unknown (9)")
        );
        assert_eq!((bond.facts.name.as_str(), bond.facts.state), ("bond0", LinkState::NoCarrier));
        assert!(read(&Message::new(RTM_NEWNEIGH, &structure)).is_none());
        assert!(read(&Message::new(RTM_NEWLINK, &structure[..6])).is_none(), "a structure that is cut off");
    }
}
