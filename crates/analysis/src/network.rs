//! What the network facts of a path allow, by arithmetic that is shown, and what is wrong with them.

use assay_model::wire::{ETHERNET_OVERHEAD, Frames, VLAN_TAG, nfs_read_header_bytes, pdu_header_bytes};
use assay_record::{
    FrameProbe, InterfaceFacts, LinkState, LunPathFacts, NetPathFacts, NfsFacts, RunHeader, StepId,
    TcpPathFacts,
};
use serde::Serialize;

/// The I/O that ceilings are told for, bytes: what the forum suites stream with.
pub const CEILING_IO_BYTES: u32 = 32 << 10;
/// Headers of IPv4 and TCP, and what those of IPv6 are longer, bytes.
const HEADERS_BYTES: u32 = 40;
const IPV6_MORE_BYTES: u32 = 20;
const TIMESTAMP_BYTES: u32 = 12;
/// What every NFS server takes in one call, where it does not say more, bytes.
const NFS_CALL_BYTES: u32 = 8 << 10;
/// More than this many packets dropped, and than this share of all, is more than strangers' broadcasts and our probes.
const DROPPED_MIN: u64 = 100;
const DROPPED_SHARE: f64 = 1e-3;
/// What switches let pass beside a packet of the standard size: tags.
const STANDARD_BYTES: std::ops::RangeInclusive<u32> = 1500..=1530;

/// The most payload a path can carry in one direction, and how that is reckoned.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Ceiling {
    /// 10^6 bytes per second; `None` where nobody knows the rate of the link.
    pub mb_per_s: Option<f64>,
    /// The reckoning, in words and numbers.
    pub arithmetic: String,
    /// Where the rate of the link comes from, and what that leaves open.
    pub rate_from: String,
}

/// What is wrong with a path, or with how paths lie to each other.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PathFault {
    /// What is the matter, full sentences.
    pub says: String,
    /// What to do about it.
    pub next: String,
}

impl PathFault {
    fn new(says: String, next: impl Into<String>) -> Self {
        Self { says, next: next.into() }
    }
}

/// The ceiling of a path to a LUN for reads of 32 KiB; `None` while it is down, or where nobody looked at the network.
#[must_use]
pub fn ceiling(path: &LunPathFacts) -> Option<Ceiling> {
    let agreed = path.agreed.as_ref()?;
    let segment_bytes = f64::from(agreed.max_recv_segment_bytes);
    let headers = pdu_header_bytes(f64::from(CEILING_IO_BYTES), segment_bytes, agreed.data_digest);
    reckoned(path, headers, "iSCSI headers")
}

/// The ceiling of the way to an NFS server for reads of 32 KiB. All connections share it: it counts once, however many
/// they are. `None` where nobody looked at the network.
#[must_use]
pub fn nfs_ceiling(nfs: &NfsFacts) -> Option<Ceiling> {
    let call_bytes = if nfs.read_bytes_max == 0 { NFS_CALL_BYTES } else { nfs.read_bytes_max };
    let headers = nfs_read_header_bytes(f64::from(CEILING_IO_BYTES), f64::from(call_bytes));
    reckoned(nfs.paths.first()?, headers, "RPC and NFS headers")
}

/// `headers_bytes` go with each I/O of [`CEILING_IO_BYTES`]; `headers_of` names them.
fn reckoned(path: &LunPathFacts, headers_bytes: f64, headers_of: &str) -> Option<Ceiling> {
    let net = path.net.as_ref()?;
    let (interface, tcp) = (net.interface.as_ref()?, path.tcp.as_ref()?);
    let rate = rate(interface);
    let packet = packet_bytes(net, tcp);
    // The model knows the headers of IPv4; what those of IPv6 are longer is no payload either.
    let more = more_bytes(net);
    let frames = Frames {
        mtu_bytes: f64::from(packet - more),
        timestamps: tcp.timestamps,
        around_bytes: rate.around_bytes + f64::from(more),
    };
    let size = f64::from(CEILING_IO_BYTES);
    let of_frames = frames.payload_bytes() / frames.wire_bytes();
    let mb_per_s = rate.bit_s.map(|bit_s| bit_s / 8e6 * of_frames * size / (size + headers_bytes));
    let factors = format!(
        "{}/{} (payload of a full frame: IP packet {}, {} around it) x {}/{} (data, {headers_of})",
        frames.payload_bytes(),
        frames.wire_bytes(),
        packet,
        rate.around_bytes,
        CEILING_IO_BYTES,
        size + headers_bytes,
    );
    let arithmetic = match (rate.bit_s, mb_per_s) {
        (Some(bit_s), Some(mb_per_s)) => {
            format!("{} Mbit/s / 8 x {factors} = {mb_per_s:.1} MB/s", bit_s / 1e6)
        }
        _ => format!("unknown rate x {factors}"),
    };
    Some(Ceiling { mb_per_s, arithmetic, rate_from: rate.says })
}

/// What all paths carry together: paths that leave through one interface share it.
#[must_use]
pub fn ceiling_together(paths: &[LunPathFacts]) -> Ceiling {
    sum_of_links(paths.iter().filter_map(|path| Some((device(path)?, ceiling(path)?))))
}

/// What the links carry that the targets of a step are on, each link once; `None` where one of the targets is not on the
/// network, or nobody looked at it.
#[must_use]
pub fn step_ceiling(header: &RunHeader, step: StepId) -> Option<Ceiling> {
    let jobs = &header.plan.tests.get(step.test as usize)?.steps.get(step.step as usize)?.jobs;
    let is_used = |index: u32| jobs.iter().any(|job| job.targets.is_empty() || job.targets.contains(&index));
    let mut links: Vec<(&str, Ceiling)> = Vec::new();
    for (_, target) in (0..).zip(&header.targets).filter(|(index, _)| is_used(*index)) {
        let member = &target.member;
        match (&member.lun, &member.nfs) {
            (Some(lun), _) => {
                links.extend(lun.paths.iter().filter_map(|path| Some((device(path)?, ceiling(path)?))));
            }
            (None, Some(nfs)) => links.push((device(nfs.paths.first()?)?, nfs_ceiling(nfs)?)),
            (None, None) => return None,
        }
    }
    (!links.is_empty()).then(|| sum_of_links(links.into_iter()))
}

/// `links` are names of interfaces with what a path through them carries.
fn sum_of_links<'l>(links: impl Iterator<Item = (&'l str, Ceiling)>) -> Ceiling {
    let mut interfaces: Vec<(&str, Option<f64>)> = Vec::new();
    for (name, ceiling) in links {
        if !interfaces.iter().any(|(known, _)| *known == name) {
            interfaces.push((name, ceiling.mb_per_s));
        }
    }
    let mb_per_s: Option<f64> = interfaces.iter().map(|(_, mb_per_s)| *mb_per_s).sum();
    let parts: Vec<String> = interfaces
        .iter()
        .map(|(name, one)| one.map_or(format!("{name} unknown"), |mb| format!("{name} {mb:.1}")))
        .collect();
    let sum = match mb_per_s {
        _ if parts.is_empty() => "no path is up".into(),
        Some(mb_per_s) => format!("{} = {mb_per_s:.1} MB/s", parts.join(" + ")),
        None => parts.join(" + "),
    };
    Ceiling {
        mb_per_s: mb_per_s.filter(|_| !parts.is_empty()),
        arithmetic: sum,
        rate_from: "each interface once, however many paths leave through it".into(),
    }
}

/// The rate of a link, and what counts against it beside IP packets.
struct Rate {
    bit_s: Option<f64>,
    around_bytes: f64,
    says: String,
}

fn rate(interface: &InterfaceFacts) -> Rate {
    let InterfaceFacts { name, kind, speed_mbit_s, shaper, .. } = interface;
    if let Some(shaper) = shaper {
        return Rate {
            bit_s: Some(shaper.bit_s as f64),
            around_bytes: f64::from(shaper.counted_bytes),
            says: format!(
                "the rate of a link is that of a shaper ({}) on this side, which counts {} bytes around each IP packet, not \
                 the {ETHERNET_OVERHEAD} of a cable; it limits what is sent from here, and the other side's is taken to be \
                 equal",
                shaper.kind, shaper.counted_bytes
            ),
        };
    }
    let vlan_bytes = if kind == "vlan" { VLAN_TAG } else { 0.0 };
    let around_bytes = ETHERNET_OVERHEAD + vlan_bytes;
    match (kind.as_str(), speed_mbit_s) {
        ("" | "vlan", Some(mbit_s)) => Rate {
            bit_s: Some(f64::from(*mbit_s) * 1e6),
            around_bytes,
            says: "the rate of a link is what its driver says".into(),
        },
        ("bond" | "team", Some(mbit_s)) => Rate {
            bit_s: Some(f64::from(*mbit_s) * 1e6),
            around_bytes,
            says: format!(
                "the rate is that of all members of the {kind} together; one TCP connection uses one of them"
            ),
        },
        ("" | "vlan" | "bond" | "team", None) => {
            Rate { bit_s: None, around_bytes, says: format!("{name} does not say its speed") }
        }
        (kind, _) => Rate {
            bit_s: None,
            around_bytes,
            says: format!(
                "{name} is a {kind} interface, which has no rate of its own, and no shaper is on it"
            ),
        },
    }
}

/// The IP packet that TCP's full segments travel in, bytes.
fn packet_bytes(net: &NetPathFacts, tcp: &TcpPathFacts) -> u32 {
    let time_stamp = if tcp.timestamps { TIMESTAMP_BYTES } else { 0 };
    tcp.send_mss_bytes + HEADERS_BYTES + more_bytes(net) + time_stamp
}

/// What the headers of a packet are longer than those of IPv4, bytes.
fn more_bytes(net: &NetPathFacts) -> u32 {
    let source = net.route.as_ref().and_then(|route| route.source.as_deref());
    if source.is_some_and(|address| address.contains(':')) { IPV6_MORE_BYTES } else { 0 }
}

fn device(path: &LunPathFacts) -> Option<&str> {
    path.net.as_ref()?.route.as_ref().map(|route| route.device.as_str())
}

/// Everything that is wrong, the gravest first.
#[must_use]
pub fn path_faults(paths: &[LunPathFacts]) -> Vec<PathFault> {
    let mut faults: Vec<PathFault> = Vec::new();
    for (index, path) in paths.iter().enumerate() {
        let name = format!("path {index} ({})", path.portal);
        let of_path =
            [down(&name, path), frames(&name, path), without_echo(&name, path), duplex(&name, path)];
        faults.extend(of_path.into_iter().flatten());
        faults.extend(path.net.as_ref().and_then(|net| counters(&name, net)));
    }
    faults.extend(different_mtu(paths));
    faults.extend(shared(paths));
    faults
}

/// Why a path is down, as far as this side can see.
fn down(name: &str, path: &LunPathFacts) -> Option<PathFault> {
    // Where full frames get lost, that is the reason, and told as such.
    if path.is_up || path.net.as_ref().is_some_and(|net| net.frames.is_lossy()) {
        return None;
    }
    Some(unreachable(name, path.net.as_deref()))
}

/// What this side can see of the reason why a portal cannot be used.
#[must_use]
pub fn unreachable(name: &str, net: Option<&NetPathFacts>) -> PathFault {
    let Some(net) = net else {
        return PathFault::new(format!("{name} is down: its name has no address."), "Mend the name.");
    };
    let (Some(route), Some(interface)) = (&net.route, &net.interface) else {
        return PathFault::new(
            format!("{name} is down: this host has no route there."),
            "Give an interface an address in its subnet, or add the route.",
        );
    };
    let device = &route.device;
    match (interface.state, net.frames.how) {
        (LinkState::Down, _) => PathFault::new(
            format!("{name} is down: the interface {device} is switched off."),
            format!("ip link set {device} up"),
        ),
        (LinkState::NoCarrier, _) => PathFault::new(
            format!("{name} is down: {device} has no link: nothing is at the other end of its cable."),
            "Look at the cable, the port of the switch and the other side.",
        ),
        (LinkState::Up, FrameProbe::Echo) => PathFault::new(
            format!(
                "{name} is down, but the host there answers echoes: no iSCSI target listens, or it refuses us."
            ),
            "See that the target runs, has this portal, and no firewall is between.",
        ),
        (LinkState::Up, _) => PathFault::new(
            format!("{name} is down: {device} has a link, and nothing there answers."),
            "Look at the other side: its address, its interface, its switch port, a firewall.",
        ),
    }
}

fn frames(name: &str, path: &LunPathFacts) -> Option<PathFault> {
    lossy_frames(name, path.net.as_deref()?, path.tcp.as_ref())
}

/// The classic fault: full frames do not arrive. `tcp` is what a connection agreed on, where there is one.
#[must_use]
pub fn lossy_frames(name: &str, net: &NetPathFacts, tcp: Option<&TcpPathFacts>) -> Option<PathFault> {
    let interface = net.interface.as_ref()?;
    let (device, mtu, largest) = (&interface.name, interface.mtu_bytes, net.frames.largest_bytes?);
    if !net.frames.is_lossy() {
        return None;
    }
    let fitting = if STANDARD_BYTES.contains(&largest) { *STANDARD_BYTES.start() } else { largest };
    Some(match tcp.map(|tcp| packet_bytes(net, tcp)) {
        Some(packet) if packet > largest => PathFault::new(
            format!(
                "{name}: {device} and the target both use frames of {packet} bytes, but nothing larger than {largest} \
                 arrives: what is between them, a switch as a rule, is not set to jumbo frames. Small I/O works, large I/O \
                 hangs or crawls."
            ),
            format!(
                "Set every switch port on the way to at least {packet} bytes, or {device} to MTU {fitting}."
            ),
        ),
        Some(packet) => PathFault::new(
            format!(
                "{name}: {device} is set to MTU {mtu}, but nothing larger than {largest} bytes arrives: the target's side is \
                 set to {packet}, and TCP agreed on that. I/O works at the efficiency of the smaller frames."
            ),
            format!(
                "Set the target's interface and every switch port between to {mtu} too, or {device} to {fitting}."
            ),
        ),
        None => PathFault::new(
            format!(
                "{name} cannot be used: {device} is set to MTU {mtu}, but nothing larger than {largest} bytes arrives: the \
                 other side, or a switch between, is not set to jumbo frames. If it is a switch, logins work, and large I/O \
                 hangs until the path is given up."
            ),
            format!("Set both ends and every switch port between to {mtu}, or {device} to {fitting}."),
        ),
    })
}

/// Where no echo can be had, TCP's own agreement still tells of a smaller other side.
fn without_echo(name: &str, path: &LunPathFacts) -> Option<PathFault> {
    let net = path.net.as_ref()?;
    let (mtu, tcp) = (net.interface.as_ref()?.mtu_bytes, path.tcp.as_ref()?);
    let packet = packet_bytes(net, tcp);
    let is_unknown = matches!(net.frames.how, FrameProbe::Unanswered | FrameProbe::NotAllowed);
    // Loopback's MTU is larger than any segment.
    if !is_unknown || packet >= mtu || mtu >= 65_535 {
        return None;
    }
    Some(PathFault::new(
        format!(
            "{name}: our side is set to MTU {mtu}, and TCP agreed on packets of {packet} bytes: the target's side is set \
             to {packet}. Whether larger frames would pass cannot be tried, as no echo comes back."
        ),
        format!("Set the target's interface and every switch port between to {mtu} too."),
    ))
}

fn duplex(name: &str, path: &LunPathFacts) -> Option<PathFault> {
    let interface = path.net.as_ref()?.interface.as_ref()?;
    (interface.duplex.as_deref() == Some("half")).then(|| {
        PathFault::new(
            format!("{name}: {} runs half duplex: it cannot send while it receives.", interface.name),
            "Let both ends negotiate, or fix both to full duplex; replace the cable.",
        )
    })
}

fn counters(name: &str, net: &NetPathFacts) -> Option<PathFault> {
    let interface = net.interface.as_ref()?;
    let of = &interface.counters;
    let packets = (of.rx_packets + of.tx_packets).max(1) as f64;
    let (errors, dropped) = (of.rx_errors + of.tx_errors, of.rx_dropped + of.tx_dropped);
    if errors == 0 && (dropped < DROPPED_MIN || dropped as f64 / packets <= DROPPED_SHARE) {
        return None;
    }
    Some(PathFault::new(
        format!(
            "{name}: {} has counted {errors} errors and {dropped} dropped packets among {packets} since it was made.",
            interface.name
        ),
        "Compare again after a run: when they grow, look at cable, transceiver, ring buffers (ethtool -G) and queues.",
    ))
}

/// One path that is not like the others.
fn different_mtu(paths: &[LunPathFacts]) -> Option<PathFault> {
    let mtu = |path: &LunPathFacts| Some(path.net.as_ref()?.interface.as_ref()?.mtu_bytes);
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
            format!("Set both ends of every path, and the switch between, to {most}."),
        )
    })
}

/// Paths that are one cable, or lie in one subnet.
fn shared(paths: &[LunPathFacts]) -> Vec<PathFault> {
    let mut faults = Vec::new();
    let mut told: Vec<&str> = Vec::new();
    for path in paths {
        let Some(name) = device(path).filter(|name| !told.contains(name)) else { continue };
        told.push(name);
        let same: Vec<String> = (0..)
            .zip(paths)
            .filter(|(_, other)| device(other) == Some(name))
            .map(|(index, _): (u32, _)| index.to_string())
            .collect();
        if same.len() < 2 {
            continue;
        }
        let subnet = path.net.as_ref().and_then(|net| net.route.as_ref()).map_or("", |route| &route.subnet);
        let why = if subnet.is_empty() { String::new() } else { format!(" (subnet {subnet})") };
        faults.push(PathFault::new(
            format!(
                "paths {} leave through the same interface, {name}{why}: together they carry no more than one link, and \
                 they fail together.",
                same.join(", ")
            ),
            "Give each path an interface and a subnet of its own.",
        ));
    }
    faults
}
