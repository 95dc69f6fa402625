//! Physical links: their speed, and the paths that share them.

use assay_model::wire::{ETHERNET_OVERHEAD, VLAN_TAG};
use assay_record::{InterfaceFacts, PathFacts};

use super::device;

/// Interfaces are stacked at most this deep.
const STACK_MAX: usize = 8;

/// The rate of a link, and the overhead around each IP packet.
#[derive(Debug, Clone)]
pub(super) struct Rate {
    /// Of one TCP connection, which a bond keeps on one of its members.
    pub(super) one_bit_s: Option<f64>,
    /// Of everything that leaves through it.
    pub(super) all_bit_s: Option<f64>,
    /// Bytes.
    pub(super) around_bytes: f64,
    /// Its source.
    pub(super) says: String,
}

/// Returns the rate of an interface by the physical links below it.
pub(super) fn rate(interface: &InterfaceFacts) -> Rate {
    rate_within(interface, STACK_MAX)
}

fn rate_within(of: &InterfaceFacts, depth: usize) -> Rate {
    let below = below(of, depth);
    match &of.shaper {
        Some(shaper) if below.all_bit_s.is_none_or(|bit_s| bit_s >= shaper.bit_s as f64) => {
            let bit_s = shaper.bit_s as f64;
            Rate {
                one_bit_s: Some(below.one_bit_s.map_or(bit_s, |one| one.min(bit_s))),
                all_bit_s: Some(bit_s),
                around_bytes: f64::from(shaper.counted_bytes),
                says: format!(
                    "the rate is that of a shaper ({}) on this host, which counts {} bytes around each IP packet \
                     instead of the \
                     {ETHERNET_OVERHEAD} on a cable; it limits what this host sends, and the other direction is \
                     assumed to be \
                     equal",
                    shaper.kind, shaper.counted_bytes
                ),
            }
        }
        _ => below,
    }
}

/// The rate without a shaper of its own.
fn below(of: &InterfaceFacts, depth: usize) -> Rate {
    let InterfaceFacts { name, kind, speed_mbit_s, .. } = of;
    let lower = if depth == 0 { Vec::new() } else { of.serving() };
    let is_in_sight = lower.iter().all(|lower| lower.kind != InterfaceFacts::ELSEWHERE);
    let tag_bytes = if kind == "vlan" { VLAN_TAG } else { 0.0 };
    match (kind.as_str(), lower.as_slice()) {
        ("bond" | "team", members @ [_, ..]) => of_members(of, members, depth),
        ("bridge", [_, _, ..]) => {
            unknown(format!("the port of the bridge {name} that leads there is unknown"))
        }
        (_, [one]) if is_in_sight => {
            let mut rate = rate_within(one, depth - 1);
            rate.around_bytes += tag_bytes;
            rate
        }
        // Its driver asks that of the device below, wherever that is.
        ("" | "vlan" | "macvlan" | "macvtap" | "ipvlan" | "ipvtap" | "bond" | "team", _) => {
            let bit_s = speed_mbit_s.map(|mbit_s| f64::from(mbit_s) * 1e6);
            let says = match bit_s {
                Some(_) => "the link speed is as its driver reports it".into(),
                None => format!("{name} does not report its speed"),
            };
            let around_bytes = ETHERNET_OVERHEAD + tag_bytes;
            Rate { one_bit_s: bit_s, all_bit_s: bit_s, around_bytes, says }
        }
        _ => unknown(format!("{name} is a {kind} interface without a link speed or a shaper")),
    }
}

fn unknown(says: String) -> Rate {
    Rate { one_bit_s: None, all_bit_s: None, around_bytes: ETHERNET_OVERHEAD, says }
}

/// A bond carries what its members carry together, and one connection what one of them carries.
fn of_members(of: &InterfaceFacts, members: &[&InterfaceFacts], depth: usize) -> Rate {
    let InterfaceFacts { name, kind, bond, .. } = of;
    let rates: Vec<Rate> = members.iter().map(|member| rate_within(member, depth - 1)).collect();
    if let [only] = rates.as_slice() {
        return only.clone();
    }
    let all_bit_s: Option<f64> = rates.iter().map(|rate| rate.all_bit_s).sum();
    let fastest = rates.iter().filter_map(|rate| rate.one_bit_s).reduce(f64::max);
    let around_bytes = rates.iter().map(|rate| rate.around_bytes).fold(0.0, f64::max);
    let names: Vec<&str> = members.iter().map(|member| member.name.as_str()).collect();
    let names = names.join(" and ");
    let is_striped = bond.as_ref().is_some_and(|bond| bond.mode == "balance-rr");
    if is_striped {
        let says = format!(
            "{name} sends the packets of each connection in turn over {names}; TCP takes reordered packets for lost \
             ones \
             and slows down"
        );
        return Rate { one_bit_s: all_bit_s, all_bit_s, around_bytes, says };
    }
    let hash = match bond {
        Some(bond) if !bond.hash.is_empty() => format!(" ({}, hash {})", bond.mode, bond.hash),
        _ => String::new(),
    };
    let says = format!(
        "{name} is a {kind} of {names}{hash}: a TCP connection uses one of them, and several may share one; together \
         they sustain at most the sum"
    );
    Rate { one_bit_s: all_bit_s.and(fastest), all_bit_s, around_bytes, says }
}

/// Paths that leave through the same links.
#[derive(Debug)]
pub(super) struct Shared<'p> {
    /// Their places among all paths.
    pub(super) paths: Vec<usize>,
    /// The interfaces their routes name, each once.
    pub(super) devices: Vec<&'p str>,
    /// The links below, each once.
    pub(super) links: Vec<&'p str>,
    /// The interface of the first path, where it is known.
    pub(super) interface: Option<&'p InterfaceFacts>,
}

impl Shared<'_> {
    /// The links by their names, and what stands on them where that has another.
    pub(super) fn name(&self) -> String {
        if self.devices == self.links {
            return self.links.join(" + ");
        }
        format!("{} on {}", self.devices.join(", "), self.links.join(" + "))
    }
}

/// All paths that have a way, by the links they leave through.
pub(super) fn shared_links(paths: &[PathFacts]) -> Vec<Shared<'_>> {
    let mut groups: Vec<Shared<'_>> = Vec::new();
    for (index, path) in paths.iter().enumerate() {
        let Some(device) = device(path) else { continue };
        let interface = path.net.as_ref().and_then(|net| net.interface.as_ref());
        let links = match interface {
            Some(interface) if !interface.lower.is_empty() => {
                interface.carriers().into_iter().map(|carrier| carrier.name.as_str()).collect()
            }
            _ => vec![device],
        };
        match groups.iter_mut().find(|group| links.iter().any(|link| group.links.contains(link))) {
            Some(group) => {
                group.paths.push(index);
                add_once(&mut group.devices, [device]);
                add_once(&mut group.links, links);
            }
            None => groups.push(Shared { paths: vec![index], devices: vec![device], links, interface }),
        }
    }
    groups
}

fn add_once<'p>(to: &mut Vec<&'p str>, names: impl IntoIterator<Item = &'p str>) {
    for name in names {
        if !to.contains(&name) {
            to.push(name);
        }
    }
}
