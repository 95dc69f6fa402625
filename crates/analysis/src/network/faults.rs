//! Faults of a path, and of several paths together.

use assay_record::{
    BondFacts, FrameOutcome, FrameProbe, FrameRefusal, InterfaceFacts, LinkState, NetPathFacts, PathFacts,
    TcpPathFacts,
};

use super::carrier::{Shared, rate, shared_links};
use super::{PathFault, packet_bytes};

/// Drops up to this count and this share of all packets come from broadcasts and probes.
const DROPPED_MIN: u64 = 100;
const DROPPED_SHARE: f64 = 1e-3;
/// A link below this share of the fastest one's rate is slower.
const SLOWER_SHARE: f64 = 0.8;
/// Speed up to which a link is slow for storage, Mbit/s.
const SLOW_MBIT: u32 = 100;
/// Sizes that switches for standard frames let pass: some count VLAN tags.
const STANDARD_BYTES: std::ops::RangeInclusive<u32> = 1500..=1530;

/// Returns all faults, the gravest first.
pub fn path_faults(paths: &[PathFacts]) -> Vec<PathFault> {
    let mut faults: Vec<PathFault> = Vec::new();
    for (index, path) in paths.iter().enumerate() {
        let name = format!("path {index} ({})", path.portal);
        let of_path = [down(&name, path), frames(&name, path), without_echo(&name, path)];
        faults.extend(of_path.into_iter().flatten());
    }
    faults.extend(of_interfaces(paths));
    faults.extend(different_mtu(paths));
    faults.extend(different_speed(paths));
    faults.extend(shared(paths));
    faults
}

/// Why a path is down, as far as this host can see.
fn down(name: &str, path: &PathFacts) -> Option<PathFault> {
    // Lost full frames are the reason then, and a fault of their own.
    if path.is_up || path.net.as_ref().is_some_and(|net| net.frames.is_lossy()) {
        return None;
    }
    Some(unreachable(name, path.net.as_deref()))
}

/// Returns why a portal cannot be used, as far as this host can see.
pub fn unreachable(name: &str, net: Option<&NetPathFacts>) -> PathFault {
    let Some(net) = net else {
        return PathFault::new(
            format!("{name} is down: its name does not resolve to an address."),
            "Correct the name, or the DNS entry.",
        );
    };
    let (Some(route), Some(interface)) = (&net.route, &net.interface) else {
        return PathFault::new(
            format!("{name} is down: this host has no route to it."),
            "Give an interface an address in its subnet, or add a route.",
        );
    };
    let device = &route.device;
    match (interface.state, net.frames.how) {
        (LinkState::Down, _) => PathFault::new(
            format!("{name} is down: the interface {device} is switched off."),
            format!("ip link set {device} up"),
        ),
        (LinkState::NoCarrier, _) => PathFault::new(
            format!("{name} is down: {device} has no link."),
            "Check the cable, the switch port and the other end.",
        ),
        (LinkState::Up, FrameProbe::Echo) => PathFault::new(
            format!(
                "{name} is down, but its host answers ping: no iSCSI target listens there, or it refuses this \
                 initiator."
            ),
            "Check that the target is running, has this portal, and that no firewall blocks it.",
        ),
        (LinkState::Up, _) => PathFault::new(
            format!("{name} is down: {device} has a link, but the portal does not answer."),
            "Check the target's address, interface and switch port, and firewalls.",
        ),
    }
}

fn frames(name: &str, path: &PathFacts) -> Option<PathFault> {
    lossy_frames(name, path.net.as_deref()?, path.tcp.as_ref())
}

/// Whether frames are lost that TCP sends on a path: it agrees on smaller ones where an end has a smaller MTU, and has
/// sent some again where it found out by itself.
pub fn loses_segments(path: &PathFacts) -> bool {
    let Some(net) = path.net.as_deref().filter(|net| net.frames.is_lossy()) else { return false };
    let is_within = |tcp: &TcpPathFacts| {
        net.frames.largest_bytes.is_some_and(|largest| packet_bytes(net, tcp) <= largest)
    };
    path.tcp.as_ref().is_none_or(|tcp| !is_within(tcp) || tcp.retransmits > 0)
}

/// The classic fault: full frames do not arrive. `tcp` is what a connection agreed on, where there is one.
pub fn lossy_frames(name: &str, net: &NetPathFacts, tcp: Option<&TcpPathFacts>) -> Option<PathFault> {
    let interface = net.interface.as_ref()?;
    let (device, mtu, largest) = (&interface.name, interface.mtu_bytes, net.frames.largest_bytes?);
    if !net.frames.is_lossy() {
        return None;
    }
    let fitting = if STANDARD_BYTES.contains(&largest) { *STANDARD_BYTES.start() } else { largest };
    let packet = tcp.map(|tcp| packet_bytes(net, tcp));
    if let Some(fault) = routed(name, net, packet, largest) {
        return Some(fault);
    }
    Some(match packet {
        Some(packet) if packet > largest => PathFault::new(
            format!(
                "{name}: {device} and the target both use frames of {packet} bytes, but nothing larger than {largest} \
                 arrives: something between them, usually a switch, does not pass jumbo frames. Small I/O works, \
                 large I/O \
                 hangs or is very slow."
            ),
            format!(
                "Set every switch port on the way to at least {packet} bytes, or {device} to MTU {fitting}."
            ),
        ),
        Some(packet) => PathFault::new(
            format!(
                "{name}: {device} is set to MTU {mtu}, but nothing larger than {largest} bytes arrives: the target \
                 uses \
                 {packet}, and TCP negotiated that. I/O works, at the efficiency of the smaller frames."
            ),
            format!(
                "Set the target's interface and every switch port on the way to {mtu} too, or {device} to {packet}."
            ),
        ),
        None => PathFault::new(
            format!(
                "{name} cannot be used: {device} is set to MTU {mtu}, but nothing larger than {largest} bytes \
                 arrives: the \
                 target or a switch on the way does not pass jumbo frames. If it is a switch, logins work and large \
                 I/O \
                 hangs until the path fails."
            ),
            format!("Set both ends and every switch port on the way to {mtu}, or {device} to {fitting}."),
        ),
    })
}

/// The same over routers, where the one that drops full frames is known. `packet` is TCP's largest.
fn routed(name: &str, net: &NetPathFacts, packet: Option<u32>, largest: u32) -> Option<PathFault> {
    let interface = net.interface.as_ref()?;
    let (device, mtu) = (&interface.name, interface.mtu_bytes);
    // Where even less arrives than that router says, another link behind it swallows without a word.
    let says_it_all = |refusal: &&FrameRefusal| refusal.mtu_bytes == 0 || refusal.mtu_bytes <= largest;
    if let Some(FrameRefusal { by, mtu_bytes }) = net.frames.refusal.as_ref().filter(says_it_all) {
        let by = if by.is_empty() { "a router".to_owned() } else { format!("the router {by}") };
        let next = if *mtu_bytes == 0 { largest } else { *mtu_bytes };
        return Some(PathFault::new(
            format!(
                "{name}: {device} is set to MTU {mtu}, but {by} reports that its next link has MTU {next}: TCP adapts \
                 and \
                 sends smaller packets, after a pause at the first large I/O. I/O works, at the efficiency of the \
                 smaller \
                 frames."
            ),
            format!("Set the link behind {by} to {mtu} too, or {device} to {next}."),
        ));
    }
    let (lost, reached) = net.frames.hops.split_last().filter(|(last, _)| last.full == FrameOutcome::Lost)?;
    let from = reached.last().map_or_else(
        || "this host".to_owned(),
        |hop| format!("router {} ({})", hop.number, hop.address.as_deref().unwrap_or("unnamed")),
    );
    let (to, or_back) = match &lost.address {
        Some(address) => (format!("router {} ({address})", lost.number), ""),
        None => ("the target".to_owned(), ", or on the way back"),
    };
    let silent = match usize::from(lost.number) - reached.len() {
        0 | 1 => "",
        _ => " A router between them does not answer.",
    };
    let works = match packet {
        Some(packet) if packet <= largest => {
            format!("TCP negotiated packets of {packet} bytes, so I/O works, at their efficiency.")
        }
        _ => "No router reports it, so TCP does not adapt: small I/O works, large I/O hangs.".to_owned(),
    };
    Some(PathFault::new(
        format!(
            "{name}: {device} is set to MTU {mtu}, but nothing larger than {largest} bytes arrives: full frames get \
             lost \
             between {from} and {to}{or_back}.{silent} {works}"
        ),
        format!(
            "Set every link between {from} and {to} to {mtu}, or {device} to {largest}; and let routers send ICMP \
             \"fragmentation needed\" (of IPv6 \"packet too big\")."
        ),
    ))
}

/// Where no echo returns, the negotiated segment size still shows a smaller MTU at the target.
fn without_echo(name: &str, path: &PathFacts) -> Option<PathFault> {
    let net = path.net.as_ref()?;
    let (mtu, tcp) = (net.interface.as_ref()?.mtu_bytes, path.tcp.as_ref()?);
    let packet = packet_bytes(net, tcp);
    let is_unknown =
        matches!(net.frames.how, FrameProbe::Unanswered | FrameProbe::NotAllowed | FrameProbe::OtherWay);
    // Loopback's MTU is larger than any segment.
    if !is_unknown || packet >= mtu || mtu >= 65_535 {
        return None;
    }
    Some(PathFault::new(
        format!(
            "{name}: this host uses MTU {mtu}, but TCP negotiated packets of {packet} bytes: the target uses MTU \
             {packet}. \
             No echo returns, so it is unknown whether larger frames pass."
        ),
        format!("Set the target's interface and every switch port on the way to {mtu} too."),
    ))
}

/// Faults of interfaces, each once for all paths above it.
fn of_interfaces(paths: &[PathFacts]) -> Vec<PathFault> {
    let mut seen: Vec<(&InterfaceFacts, Vec<usize>)> = Vec::new();
    for (index, path) in paths.iter().enumerate() {
        let Some(top) = path.net.as_ref().and_then(|net| net.interface.as_ref()) else { continue };
        let mut waiting = vec![top];
        while let Some(one) = waiting.pop() {
            waiting.extend(&one.lower);
            match seen.iter_mut().find(|(known, _)| known.name == one.name) {
                Some((_, above)) if above.contains(&index) => {}
                Some((_, above)) => above.push(index),
                None => seen.push((one, vec![index])),
            }
        }
    }
    let faults = seen.iter().flat_map(|(of, above)| {
        let name = match above.as_slice() {
            [one] => format!("path {one} ({})", paths[*one].portal),
            several => format!("paths {}", numbers(several)),
        };
        [members_down(&name, of), slow_link(&name, of), duplex(&name, of), counters(&name, of)]
    });
    faults.flatten().collect()
}

fn numbers(paths: &[usize]) -> String {
    paths.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

fn members_down(name: &str, bond: &InterfaceFacts) -> Option<PathFault> {
    let is_bond = matches!(bond.kind.as_str(), "bond" | "team");
    let down: Vec<&str> = bond
        .lower
        .iter()
        .filter(|member| is_bond && member.state != LinkState::Up)
        .map(|member| member.name.as_str())
        .collect();
    // A bond that is down as a whole is a fault of its own.
    if down.is_empty() || down.len() == bond.lower.len() {
        return None;
    }
    Some(PathFault::new(
        format!(
            "{name}: {} has {} members, and {} has no link: its throughput is lower, and one more failure \
             may cut the path.",
            bond.name,
            bond.lower.len(),
            down.join(" and ")
        ),
        "Check the cable and the switch port of that member.",
    ))
}

/// Links of 10 and 100 Mbit/s are seldom chosen: a broken pair of wires in a cable makes one of a faster link.
fn slow_link(name: &str, interface: &InterfaceFacts) -> Option<PathFault> {
    let mbit = interface.speed_mbit_s.filter(|mbit| (1..=SLOW_MBIT).contains(mbit))?;
    // Virtual interfaces state some speed or other.
    let is_hardware = interface.lower.is_empty() && interface.kind.is_empty();
    (is_hardware && interface.state == LinkState::Up).then(|| {
        PathFault::new(
            format!(
                "{name}: {} has negotiated {mbit} Mbit/s: at most {:.1} MB/s.",
                interface.name,
                f64::from(mbit) / 8.0
            ),
            "Use a cable with all four pairs and a faster port; ethtool shows what each end offers.",
        )
    })
}

fn duplex(name: &str, interface: &InterfaceFacts) -> Option<PathFault> {
    // Interfaces above others repeat their settings.
    (interface.lower.is_empty() && interface.duplex.as_deref() == Some("half")).then(|| {
        PathFault::new(
            format!("{name}: {} runs half duplex: it cannot send while it receives.", interface.name),
            "Let both ends negotiate, or set both to full duplex; replace the cable.",
        )
    })
}

fn counters(name: &str, interface: &InterfaceFacts) -> Option<PathFault> {
    // A bond counts what its members count.
    if interface.bond.is_some() && !interface.lower.is_empty() {
        return None;
    }
    let of = &interface.counters;
    let packets = (of.rx_packets + of.tx_packets).max(1) as f64;
    let (errors, dropped) = (of.rx_errors + of.tx_errors, of.rx_dropped + of.tx_dropped);
    if errors == 0 && (dropped < DROPPED_MIN || dropped as f64 / packets <= DROPPED_SHARE) {
        return None;
    }
    Some(PathFault::new(
        format!(
            "{name}: {} has counted {errors} errors and {dropped} dropped packets among {packets} since it was \
             created.",
            interface.name
        ),
        "Check them again after a run; if they grow, check cable, transceiver, ring buffers (ethtool -G) and queues.",
    ))
}

/// One path that is not like the others.
fn different_mtu(paths: &[PathFacts]) -> Option<PathFault> {
    let mtu = |path: &PathFacts| Some(path.net.as_ref()?.interface.as_ref()?.mtu_bytes);
    let mtus: Vec<(usize, u32)> =
        paths.iter().enumerate().filter_map(|(index, path)| Some((index, mtu(path)?))).collect();
    let most = mtus.iter().map(|(_, mtu)| *mtu).max()?;
    let smaller: Vec<String> = mtus
        .iter()
        .filter(|(_, mtu)| *mtu < most)
        .map(|(index, mtu)| format!("path {index} ({}) has MTU {mtu}", paths[*index].portal))
        .collect();
    (!smaller.is_empty()).then(|| {
        PathFault::new(
            format!("{}, while the largest of the others is {most}.", smaller.join(" and ")),
            format!("Set both ends of every path, and the switch, to {most}."),
        )
    })
}

/// A path whose link is slower than those of the others. A policy that gives each as many I/Os makes all of them wait.
fn different_speed(paths: &[PathFacts]) -> Option<PathFault> {
    let link = |path: &PathFacts| rate(path.net.as_ref()?.interface.as_ref()?).one_bit_s;
    let up = paths.iter().enumerate().filter(|(_, path)| path.is_up);
    let links: Vec<(usize, f64)> = up.filter_map(|(index, path)| Some((index, link(path)?))).collect();
    let most = links.iter().map(|(_, bit_s)| *bit_s).reduce(f64::max)?;
    let is_slower = |(_, bit_s): &&(usize, f64)| *bit_s < most * SLOWER_SHARE;
    let mbit = |bit_s: f64| (bit_s / 1e6).round();
    let slower: Vec<String> = links
        .iter()
        .filter(is_slower)
        .map(|(index, bit_s)| {
            format!("path {index} ({}) runs at {} Mbit/s", paths[*index].portal, mbit(*bit_s))
        })
        .collect();
    let least = links.iter().map(|(_, bit_s)| *bit_s).reduce(f64::min)?;
    (!slower.is_empty()).then(|| {
        PathFault::new(
            format!(
                "{}, while the fastest of the others has {} Mbit/s: where I/Os are spread evenly, all paths wait for \
                 it, and together they give {} times its rate, {:.0} MB/s at most.",
                slower.join(" and "),
                mbit(most),
                links.len(),
                least * links.len() as f64 / 8e6
            ),
            "Repair that link (cable, port, duplex, shaper), leave the path out, or use a policy that counts \
             outstanding I/Os.",
        )
    })
}

/// Paths that are one cable, whatever their interfaces are called, or that a bond spreads as it likes.
fn shared(paths: &[PathFacts]) -> Vec<PathFault> {
    let shares = shared_links(paths).into_iter().filter(|group| group.paths.len() > 1);
    shares.filter_map(|group| one_link(paths, &group)).collect()
}

fn one_link(paths: &[PathFacts], group: &Shared<'_>) -> Option<PathFault> {
    let who = format!("paths {} leave through", numbers(&group.paths));
    let devices = group.devices.join(" and ");
    let bond = group.interface.and_then(bond_of);
    if let (Some((name, bond)), [_, _, ..]) = (bond, group.links.as_slice()) {
        if bond.mode == "balance-rr" {
            return None;
        }
        return Some(PathFault::new(
            format!(
                "{who} {devices}, and so through {name}, a bond of {} ({}): {} decides which of them a path uses, so \
                 two \
                 paths may share one link while another is idle.",
                group.links.join(" and "),
                bond.mode,
                hash_words(&bond.hash)
            ),
            "Give each path an interface of its own: multipathing distributes I/O better than a hash, and survives \
             failures as well.",
        ));
    }
    if let [device] = group.devices.as_slice() {
        let subnet = paths[group.paths[0]].net.as_ref().and_then(|net| net.route.as_ref());
        let subnet = subnet.map_or("", |route| &route.subnet);
        let why = if subnet.is_empty() { String::new() } else { format!(" (subnet {subnet})") };
        return Some(PathFault::new(
            format!(
                "{who} the same interface, {device}{why}: together they sustain no more than one link, and they fail \
                 together."
            ),
            "Give each path an interface and a subnet of its own.",
        ));
    }
    Some(PathFault::new(
        format!(
            "{who} {devices}, which share one NIC, {}: together they sustain no more than that one link, and they fail \
             together.",
            group.links.join(" and ")
        ),
        "Give each path a port of its own: VLANs and other virtual interfaces add no bandwidth.",
    ))
}

/// The bond among an interface and those below it.
fn bond_of(interface: &InterfaceFacts) -> Option<(&str, &BondFacts)> {
    let own = interface.bond.as_ref().map(|bond| (interface.name.as_str(), bond));
    own.or_else(|| interface.lower.iter().find_map(bond_of))
}

fn hash_words(hash: &str) -> String {
    match hash {
        "" => "its mode".into(),
        "layer2" => {
            "a hash of the Ethernet addresses (layer2), equal for everything behind one gateway or target port,"
                .into()
        }
        other => format!("a hash ({other})"),
    }
}
