//! Requests to the kernel over netlink: one message out, all messages of its answer back.
//!
//! The frame around a message is the rust-netlink project's. What is in it is read here, by the numbers of the
//! kernel's own headers: forty numbers, for which the codecs of all of rtnetlink and of socket diagnosis would be a
//! fifteenth of the time that a build takes.

use std::io;
use std::os::fd::OwnedFd;
use std::time::Duration;

use netlink_packet_core::{
    DecodeError, NLM_F_REQUEST, NetlinkDeserializable, NetlinkHeader, NetlinkMessage, NetlinkPayload,
    NetlinkSerializable, NlaBuffer, NlasIterator,
};
use rustix::net::netlink::SocketAddrNetlink;
use rustix::net::{AddressFamily, Protocol, RecvFlags, SendFlags, SocketFlags, SocketType, sockopt};

/// Time limit; the kernel answers at once, so this only bounds the cost of a broken one.
const PATIENCE: Duration = Duration::from_secs(1);
/// Largest datagram of the kernel, bytes.
const DATAGRAM_BYTES: usize = 64 << 10;
/// Number of datagrams of one answer: a dump of some hundred thousand sockets.
const DATAGRAMS_MAX: usize = 4096;

/// A netlink socket. It sees the network namespace in which it was opened.
#[derive(Debug)]
pub(super) struct Netlink {
    socket: OwnedFd,
    sequence: u32,
    buffer: Vec<u8>,
}

impl Netlink {
    pub(super) fn open(protocol: Option<Protocol>) -> io::Result<Self> {
        let socket = rustix::net::socket_with(
            AddressFamily::NETLINK,
            SocketType::DGRAM,
            SocketFlags::CLOEXEC,
            protocol,
        )?;
        sockopt::set_socket_timeout(&socket, sockopt::Timeout::Recv, Some(PATIENCE))?;
        Ok(Self { socket, sequence: 0, buffer: vec![0; DATAGRAM_BYTES] })
    }

    /// Returns every message of the answer. `flags` are flags such as `NLM_F_DUMP`, without which the answer is one
    /// message.
    pub(super) fn ask(&mut self, question: Message, flags: u16) -> io::Result<Vec<Message>> {
        self.sequence = self.sequence.wrapping_add(1);
        let mut message = NetlinkMessage::new(Default::default(), NetlinkPayload::InnerMessage(question));
        message.header.flags = NLM_F_REQUEST | flags;
        message.header.sequence_number = self.sequence;
        message.finalize();
        let mut bytes = vec![0; message.buffer_len()];
        message.serialize(&mut bytes);
        rustix::net::sendto(&self.socket, &bytes, SendFlags::empty(), &SocketAddrNetlink::new(0, 0))?;
        let mut answer = Vec::new();
        for _ in 0..DATAGRAMS_MAX {
            let (length, _) = rustix::net::recv(&self.socket, &mut self.buffer[..], RecvFlags::empty())?;
            if take(&self.buffer[..length], self.sequence, flags == 0, &mut answer)? {
                return Ok(answer);
            }
        }
        Err(io::Error::new(io::ErrorKind::InvalidData, "the kernel's reply does not end"))
    }
}

/// Parses one datagram; returns true if the answer is complete.
pub(super) fn take(
    datagram: &[u8],
    sequence: u32,
    is_single: bool,
    answer: &mut Vec<Message>,
) -> io::Result<bool> {
    let mut rest = datagram;
    while let Some(size) = rest.first_chunk().map(|size| u32::from_ne_bytes(*size) as usize) {
        let broken = || io::Error::new(io::ErrorKind::InvalidData, "a netlink message is cut off");
        let bytes = rest.get(..size).filter(|bytes| !bytes.is_empty()).ok_or_else(broken)?;
        rest = rest.get(size.next_multiple_of(4)..).unwrap_or_default();
        let Ok(message) = NetlinkMessage::<Message>::deserialize(bytes) else {
            // One message that cannot be parsed must not discard the others.
            if is_single {
                return Err(broken());
            }
            continue;
        };
        if message.header.sequence_number != sequence {
            continue;
        }
        match message.payload {
            NetlinkPayload::InnerMessage(inner) => answer.push(inner),
            NetlinkPayload::Error(error) => match error.code {
                // Negated here, because the library's conversion overflows at the smallest number.
                Some(code) => return Err(io::Error::from_raw_os_error(code.get().saturating_neg())),
                None => return Ok(true),
            },
            NetlinkPayload::Done(_) => return Ok(true),
            _ => {}
        }
        if is_single {
            return Ok(true);
        }
    }
    Ok(false)
}

/// A message: its type, the fixed structure of that type, and attributes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Message {
    /// Its type, such as `RTM_NEWLINK`; for a generic netlink family, the number of the family.
    pub(super) kind: u16,
    body: Vec<u8>,
}

impl Message {
    pub(super) fn new(kind: u16, structure: &[u8]) -> Self {
        Self { kind, body: structure.to_vec() }
    }

    /// Appends an attribute: length, number, value, padding to four bytes.
    pub(super) fn put(&mut self, number: u16, value: &[u8]) {
        let length = u16::try_from(value.len() + 4).expect("attributes of questions are short");
        self.body.extend_from_slice(&length.to_ne_bytes());
        self.body.extend_from_slice(&number.to_ne_bytes());
        self.body.extend_from_slice(value);
        self.body.resize(self.body.len().next_multiple_of(4), 0);
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.body
    }

    /// Returns the byte of the structure at this offset.
    pub(super) fn byte(&self, at: usize) -> Option<u8> {
        self.body.get(at).copied()
    }

    /// Returns the word of 32 bits of the structure at this offset, in the byte order of this machine.
    pub(super) fn word(&self, at: usize) -> Option<u32> {
        word(self.body.get(at..)?)
    }

    /// Returns the attributes behind a structure of this length.
    pub(super) fn attributes(&self, structure_bytes: usize) -> Attributes {
        Attributes::parse(self.body.get(structure_bytes..).unwrap_or_default())
    }
}

/// The attributes of a message, or of an attribute that contains others, with their numbers.
#[derive(Debug, Default)]
pub(super) struct Attributes(pub(super) Vec<(u16, Vec<u8>)>);

impl Attributes {
    /// Parses attributes up to the first that is cut off.
    pub(super) fn parse(bytes: &[u8]) -> Self {
        let readable = NlasIterator::new(bytes).map_while(Result::ok);
        Self(readable.map(|one: NlaBuffer<&[u8]>| (one.kind(), one.value().to_vec())).collect())
    }

    pub(super) fn value(&self, wanted: u16) -> Option<&[u8]> {
        self.0.iter().find(|(number, _)| *number == wanted).map(|(_, value)| value.as_slice())
    }

    pub(super) fn byte(&self, wanted: u16) -> Option<u8> {
        self.value(wanted)?.first().copied()
    }

    pub(super) fn word(&self, wanted: u16) -> Option<u32> {
        word(self.value(wanted)?)
    }

    /// Returns a text, which ends at its zero byte.
    pub(super) fn text(&self, wanted: u16) -> Option<String> {
        let text = self.value(wanted)?.split(|byte| *byte == 0).next()?;
        String::from_utf8(text.to_vec()).ok()
    }

    /// Returns the attributes that an attribute contains.
    pub(super) fn nested(&self, wanted: u16) -> Option<Self> {
        self.value(wanted).map(Self::parse)
    }
}

/// Returns the first word of 32 bits, in the byte order of this machine.
pub(super) fn word(bytes: &[u8]) -> Option<u32> {
    bytes.first_chunk().map(|word| u32::from_ne_bytes(*word))
}

impl NetlinkSerializable for Message {
    fn message_type(&self) -> u16 {
        self.kind
    }

    fn buffer_len(&self) -> usize {
        self.body.len()
    }

    fn serialize(&self, buffer: &mut [u8]) {
        buffer.copy_from_slice(&self.body);
    }
}

impl NetlinkDeserializable for Message {
    type Error = DecodeError;

    fn deserialize(header: &NetlinkHeader, payload: &[u8]) -> Result<Self, DecodeError> {
        Ok(Self { kind: header.message_type, body: payload.to_vec() })
    }
}
