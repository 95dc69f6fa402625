//! Facts from an interface's driver over ethtool's netlink: speed, duplex, pause frames, rings, interrupts, offloads.

use std::io;
use std::path::Path;

use assay_record::{CoalescingFacts, InterfaceFacts, PauseFacts, RingFacts};
use netlink_packet_core::{
    DecodeError, NetlinkDeserializable, NetlinkHeader, NetlinkSerializable, NlaBuffer, NlasIterator,
};

use super::netlink::Netlink;

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
        Some(Answer(answer.iter().flat_map(Generic::attributes).collect()))
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

/// The attributes of an answer, by number.
struct Answer(Vec<(u16, Vec<u8>)>);

impl Answer {
    fn value(&self, wanted: u16) -> Option<&[u8]> {
        self.0.iter().find(|(kind, _)| *kind == wanted).map(|(_, value)| value.as_slice())
    }

    fn byte(&self, wanted: u16) -> Option<u8> {
        self.value(wanted)?.first().copied()
    }

    fn word(&self, wanted: u16) -> Option<u32> {
        self.value(wanted)?.first_chunk().map(|word| u32::from_ne_bytes(*word))
    }
}

/// Parses messages as the answers to every request.
pub(super) fn read_all(messages: &[Generic]) {
    let reported = Answer(messages.iter().flat_map(Generic::attributes).collect());
    let _ = (pause(&reported), rings(&reported), coalescing(&reported), offloads(&reported));
}

fn family() -> io::Result<(Netlink, u16)> {
    let mut kernel = Netlink::open(Some(rustix::net::netlink::GENERIC))?;
    let mut body = vec![CTRL_CMD_GETFAMILY, 1, 0, 0];
    put(&mut body, CTRL_ATTR_FAMILY_NAME, b"ethtool\0");
    let answer = kernel.ask(Generic { family: GENL_ID_CTRL, body }, 0)?;
    let attributes = answer.iter().flat_map(Generic::attributes);
    let id = attributes
        .filter(|(kind, _)| *kind == CTRL_ATTR_FAMILY_ID)
        .find_map(|(_, value)| value.first_chunk().map(|id| u16::from_ne_bytes(*id)));
    id.map(|id| (kernel, id)).ok_or_else(|| io::ErrorKind::Unsupported.into())
}

fn ask(kernel: &mut Netlink, family: u16, command: u8, interface: &str) -> io::Result<Vec<Generic>> {
    let mut device = Vec::new();
    put(&mut device, HEADER_DEV_NAME, &[interface.as_bytes(), b"\0"].concat());
    let mut body = vec![command, 1, 0, 0];
    put(&mut body, HEADER | NESTED, &device);
    kernel.ask(Generic { family, body }, 0)
}

fn pause(reported: &Answer) -> Option<PauseFacts> {
    let flag = |kind| reported.byte(kind).map(|byte| byte > 0);
    Some(PauseFacts { rx: flag(PAUSE_RX)?, tx: flag(PAUSE_TX)? })
}

fn rings(reported: &Answer) -> Option<RingFacts> {
    Some(RingFacts {
        rx: reported.word(RINGS_RX)?,
        rx_max: reported.word(RINGS_RX_MAX)?,
        tx: reported.word(RINGS_TX)?,
        tx_max: reported.word(RINGS_TX_MAX)?,
    })
}

fn coalescing(reported: &Answer) -> Option<CoalescingFacts> {
    let (rx_us, rx_packets) = (reported.word(COALESCE_RX_US), reported.word(COALESCE_RX_PACKETS));
    let adaptive_rx = reported.byte(COALESCE_ADAPTIVE_RX).is_some_and(|byte| byte > 0);
    let is_reported = rx_us.is_some() || rx_packets.is_some() || adaptive_rx;
    is_reported.then_some(CoalescingFacts { rx_us, rx_packets, adaptive_rx })
}

fn offloads(reported: &Answer) -> Vec<String> {
    let active = reported.0.iter().filter(|(kind, _)| *kind == FEATURES_ACTIVE);
    let bits = active.flat_map(|(_, set)| nested(set)).filter(|(kind, _)| *kind == BITSET_BITS);
    let names = bits
        .flat_map(|(_, bits)| nested(&bits))
        .flat_map(|(_, bit)| nested(&bit))
        .filter(|(kind, _)| *kind == BIT_NAME)
        .filter_map(|(_, name)| String::from_utf8(name).ok());
    names
        .map(|name| name.trim_end_matches('\0').to_owned())
        .filter(|name| TELLING.contains(&name.as_str()))
        .collect()
}

/// A message of a generic netlink family: command, version, two reserved bytes, attributes.
pub(super) struct Generic {
    family: u16,
    body: Vec<u8>,
}

impl Generic {
    fn attributes(&self) -> Vec<(u16, Vec<u8>)> {
        nested(self.body.get(4..).unwrap_or_default())
    }
}

fn nested(bytes: &[u8]) -> Vec<(u16, Vec<u8>)> {
    let readable = NlasIterator::new(bytes).map_while(Result::ok);
    readable.map(|nla: NlaBuffer<&[u8]>| (nla.kind(), nla.value().to_vec())).collect()
}

/// Appends an attribute: length, number, value, padding to four bytes.
fn put(body: &mut Vec<u8>, kind: u16, value: &[u8]) {
    let length = u16::try_from(value.len() + 4).expect("attributes of questions are short");
    body.extend_from_slice(&length.to_ne_bytes());
    body.extend_from_slice(&kind.to_ne_bytes());
    body.extend_from_slice(value);
    body.resize(body.len().next_multiple_of(4), 0);
}

impl NetlinkSerializable for Generic {
    fn message_type(&self) -> u16 {
        self.family
    }

    fn buffer_len(&self) -> usize {
        self.body.len()
    }

    fn serialize(&self, buffer: &mut [u8]) {
        buffer.copy_from_slice(&self.body);
    }
}

impl NetlinkDeserializable for Generic {
    type Error = DecodeError;

    fn deserialize(header: &NetlinkHeader, payload: &[u8]) -> Result<Self, DecodeError> {
        Ok(Self { family: header.message_type, body: payload.to_vec() })
    }
}
