//! Facts from an interface's driver over ethtool's netlink: speed, duplex, pause frames, rings, interrupts, offloads.

use std::io;
use std::path::Path;

use assay_record::{CoalescingFacts, InterfaceFacts, PauseFacts, RingFacts};

use super::netlink::{Attributes, Message, Netlink};

/// linux/genetlink.h, linux/ethtool_netlink.h.
const GENL_ID_CTRL: u16 = 16;
const CTRL_CMD_GETFAMILY: u8 = 3;
const CTRL_ATTR_FAMILY_ID: u16 = 1;
const CTRL_ATTR_FAMILY_NAME: u16 = 2;
const ETHTOOL_MSG_LINKMODES_GET: u8 = 4;
const ETHTOOL_MSG_FEATURES_GET: u8 = 11;
const ETHTOOL_MSG_RINGS_GET: u8 = 15;
const ETHTOOL_MSG_COALESCE_GET: u8 = 19;
const ETHTOOL_MSG_PAUSE_GET: u8 = 21;
const HEADER: u16 = 1;
const HEADER_DEV_NAME: u16 = 2;
const MODES_SPEED: u16 = 5;
const MODES_DUPLEX: u16 = 6;
const RINGS_RX_MAX: u16 = 2;
const RINGS_TX_MAX: u16 = 5;
const RINGS_RX: u16 = 6;
const RINGS_TX: u16 = 9;
const COALESCE_RX_US: u16 = 2;
const COALESCE_RX_PACKETS: u16 = 3;
const COALESCE_ADAPTIVE_RX: u16 = 11;
const PAUSE_RX: u16 = 3;
const PAUSE_TX: u16 = 4;
const FEATURES_ACTIVE: u16 = 4;
const BITSET_BITS: u16 = 3;
const BIT_NAME: u16 = 2;
/// Set if an attribute contains others; not part of its number.
const NESTED: u16 = 0x8000;

/// Features that determine the cost of a byte, of the sixty that drivers list.
const TELLING: [&str; 8] = [
    "tx-tcp-segmentation",
    "tx-generic-segmentation",
    "rx-gro",
    "rx-lro",
    "rx-checksum",
    "tx-checksum-ip-generic",
    "tx-checksum-ipv4",
    "tx-scatter-gather",
];

/// Adds the driver's facts; those that it does not report stay empty.
pub(super) fn add_to(facts: &mut InterfaceFacts) {
    let Ok((mut kernel, family)) = family() else { return from_sysfs(facts) };
    let name = facts.name.clone();
    let mut ask = |command| {
        let answer = ask(&mut kernel, family, command, &name).ok()?;
        Some(all(&answer))
    };
    match ask(ETHTOOL_MSG_LINKMODES_GET) {
        Some(modes) => {
            facts.speed_mbit_s = modes.word(MODES_SPEED).filter(|speed| is_known(*speed));
            facts.duplex = modes.byte(MODES_DUPLEX).and_then(|duplex| match duplex {
                0 => Some("half".into()),
                1 => Some("full".into()),
                _ => None,
            });
        }
        None => from_sysfs(facts),
    }
    facts.pause = ask(ETHTOOL_MSG_PAUSE_GET).and_then(|reported| pause(&reported));
    facts.rings = ask(ETHTOOL_MSG_RINGS_GET).and_then(|reported| rings(&reported));
    facts.coalescing = ask(ETHTOOL_MSG_COALESCE_GET).and_then(|reported| coalescing(&reported));
    facts.offloads = ask(ETHTOOL_MSG_FEATURES_GET).map(|reported| offloads(&reported));
}

/// For kernels without ethtool's netlink. Not the first choice: /sys may be mounted from another network namespace.
fn from_sysfs(facts: &mut InterfaceFacts) {
    let attribute = |name: &str| {
        let text = std::fs::read_to_string(Path::new("/sys/class/net").join(&facts.name).join(name)).ok()?;
        Some(text.trim().to_owned())
    };
    // -1: unknown, as with an unplugged cable.
    let speed = attribute("speed").and_then(|speed| speed.parse::<i64>().ok());
    let duplex = attribute("duplex").filter(|duplex| duplex == "full" || duplex == "half");
    facts.speed_mbit_s = speed.and_then(|speed| u32::try_from(speed).ok()).filter(|speed| is_known(*speed));
    facts.duplex = duplex;
}

/// Returns false for all ones, which means unknown, as with an unplugged cable.
fn is_known(speed: u32) -> bool {
    speed > 0 && speed < u32::MAX
}

/// Bytes of the structure of a generic netlink message: command, version, two reserved bytes.
const STRUCTURE_BYTES: usize = 4;

/// Returns the attributes of all messages of an answer.
fn all(answer: &[Message]) -> Attributes {
    Attributes(answer.iter().flat_map(|one| one.attributes(STRUCTURE_BYTES).0).collect())
}

/// Parses messages as the answers to every request.
pub(super) fn read_all(messages: &[Message]) {
    let reported = all(messages);
    let _ = (pause(&reported), rings(&reported), coalescing(&reported), offloads(&reported));
}

fn family() -> io::Result<(Netlink, u16)> {
    let mut kernel = Netlink::open(Some(rustix::net::netlink::GENERIC))?;
    let mut question = Message::new(GENL_ID_CTRL, &[CTRL_CMD_GETFAMILY, 1, 0, 0]);
    question.put(CTRL_ATTR_FAMILY_NAME, b"ethtool\0");
    let answer = all(&kernel.ask(question, 0)?);
    let id = answer.value(CTRL_ATTR_FAMILY_ID).and_then(<[u8]>::first_chunk);
    let id = id.map(|id| u16::from_ne_bytes(*id));
    id.map(|id| (kernel, id)).ok_or_else(|| io::ErrorKind::Unsupported.into())
}

fn ask(kernel: &mut Netlink, family: u16, command: u8, interface: &str) -> io::Result<Vec<Message>> {
    let mut device = Message::new(family, &[]);
    device.put(HEADER_DEV_NAME, &[interface.as_bytes(), b"\0"].concat());
    let mut question = Message::new(family, &[command, 1, 0, 0]);
    question.put(HEADER | NESTED, device.bytes());
    kernel.ask(question, 0)
}

fn pause(reported: &Attributes) -> Option<PauseFacts> {
    let flag = |kind| reported.byte(kind).map(|byte| byte > 0);
    Some(PauseFacts { rx: flag(PAUSE_RX)?, tx: flag(PAUSE_TX)? })
}

fn rings(reported: &Attributes) -> Option<RingFacts> {
    Some(RingFacts {
        rx: reported.word(RINGS_RX)?,
        rx_max: reported.word(RINGS_RX_MAX)?,
        tx: reported.word(RINGS_TX)?,
        tx_max: reported.word(RINGS_TX_MAX)?,
    })
}

fn coalescing(reported: &Attributes) -> Option<CoalescingFacts> {
    let (rx_us, rx_packets) = (reported.word(COALESCE_RX_US), reported.word(COALESCE_RX_PACKETS));
    let adaptive_rx = reported.byte(COALESCE_ADAPTIVE_RX).is_some_and(|byte| byte > 0);
    let is_reported = rx_us.is_some() || rx_packets.is_some() || adaptive_rx;
    is_reported.then_some(CoalescingFacts { rx_us, rx_packets, adaptive_rx })
}

fn offloads(reported: &Attributes) -> Vec<String> {
    let active = reported.0.iter().filter(|(kind, _)| *kind == FEATURES_ACTIVE);
    let nested = |bytes: &[u8]| Attributes::parse(bytes).0;
    let bits = active.flat_map(|(_, set)| nested(set)).filter(|(kind, _)| *kind == BITSET_BITS);
    let names = bits
        .flat_map(|(_, bits)| nested(&bits))
        .filter_map(|(_, bit)| Attributes::parse(&bit).text(BIT_NAME));
    names.filter(|name| TELLING.contains(&name.as_str())).collect()
}
