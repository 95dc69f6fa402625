//! What an interface's driver says: speed and duplex from sysfs, pause frames and offloads over ethtool's netlink.

use std::io;
use std::path::Path;

use assay_record::{InterfaceFacts, PauseFacts};
use netlink_packet_core::{
    DecodeError, NetlinkDeserializable, NetlinkHeader, NetlinkSerializable, NlaBuffer, NlasIterator,
};

use super::netlink::Netlink;

/// linux/genetlink.h, linux/ethtool_netlink.h.
const GENL_ID_CTRL: u16 = 16;
const CTRL_CMD_GETFAMILY: u8 = 3;
const CTRL_ATTR_FAMILY_ID: u16 = 1;
const CTRL_ATTR_FAMILY_NAME: u16 = 2;
const ETHTOOL_MSG_FEATURES_GET: u8 = 11;
const ETHTOOL_MSG_PAUSE_GET: u8 = 21;
const HEADER: u16 = 1;
const HEADER_DEV_NAME: u16 = 2;
const PAUSE_RX: u16 = 3;
const PAUSE_TX: u16 = 4;
const FEATURES_ACTIVE: u16 = 4;
const BITSET_BITS: u16 = 3;
const BIT_NAME: u16 = 2;
/// Set where an attribute holds others; no part of its number.
const NESTED: u16 = 0x8000;

/// Features that decide what a byte costs, of the sixty that drivers list.
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

/// Adds what the driver says; what it does not say stays empty.
pub(super) fn add_to(facts: &mut InterfaceFacts) {
    let attribute = |name: &str| {
        let text = std::fs::read_to_string(Path::new("/sys/class/net").join(&facts.name).join(name)).ok()?;
        Some(text.trim().to_owned())
    };
    // -1: unknown, as with a cable that is pulled.
    facts.speed_mbit_s = attribute("speed").and_then(|speed| speed.parse().ok()).filter(|speed| *speed > 0);
    facts.duplex = attribute("duplex").filter(|duplex| duplex == "full" || duplex == "half");
    if let Ok((mut kernel, family)) = family() {
        facts.pause = pause(&mut kernel, family, &facts.name).ok().flatten();
        facts.offloads = offloads(&mut kernel, family, &facts.name).ok();
    }
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

fn pause(kernel: &mut Netlink, family: u16, interface: &str) -> io::Result<Option<PauseFacts>> {
    let answer = ask(kernel, family, ETHTOOL_MSG_PAUSE_GET, interface)?;
    let attributes: Vec<(u16, Vec<u8>)> = answer.iter().flat_map(Generic::attributes).collect();
    let flag = |wanted| {
        let found = attributes.iter().find(|(kind, _)| *kind == wanted);
        found.and_then(|(_, value)| value.first().map(|byte| *byte > 0))
    };
    Ok(flag(PAUSE_RX).zip(flag(PAUSE_TX)).map(|(rx, tx)| PauseFacts { rx, tx }))
}

fn offloads(kernel: &mut Netlink, family: u16, interface: &str) -> io::Result<Vec<String>> {
    let answer = ask(kernel, family, ETHTOOL_MSG_FEATURES_GET, interface)?;
    let active = answer.iter().flat_map(Generic::attributes).filter(|(kind, _)| *kind == FEATURES_ACTIVE);
    let bits = active.flat_map(|(_, set)| nested(&set)).filter(|(kind, _)| *kind == BITSET_BITS);
    let names = bits
        .flat_map(|(_, bits)| nested(&bits))
        .flat_map(|(_, bit)| nested(&bit))
        .filter(|(kind, _)| *kind == BIT_NAME)
        .filter_map(|(_, name)| String::from_utf8(name).ok());
    Ok(names
        .map(|name| name.trim_end_matches('\0').to_owned())
        .filter(|name| TELLING.contains(&name.as_str()))
        .collect())
}

/// A message of a generic netlink family: command, version, two bytes of nothing, attributes.
struct Generic {
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

/// Appends an attribute: length, number, value, zeros up to four bytes.
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
