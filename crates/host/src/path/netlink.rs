//! Requests to the kernel over netlink: one message out, all messages of its answer back.

use std::io;
use std::os::fd::OwnedFd;
use std::time::Duration;

use netlink_packet_core::{
    NLM_F_REQUEST, NetlinkDeserializable, NetlinkMessage, NetlinkPayload, NetlinkSerializable,
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
    pub(super) fn ask<M>(&mut self, question: M, flags: u16) -> io::Result<Vec<M>>
    where
        M: NetlinkSerializable + NetlinkDeserializable,
    {
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
pub(super) fn take<M: NetlinkDeserializable>(
    datagram: &[u8],
    sequence: u32,
    is_single: bool,
    answer: &mut Vec<M>,
) -> io::Result<bool> {
    let mut rest = datagram;
    while let Some(size) = rest.first_chunk().map(|size| u32::from_ne_bytes(*size) as usize) {
        let broken = || io::Error::new(io::ErrorKind::InvalidData, "a netlink message is cut off");
        let bytes = rest.get(..size).filter(|bytes| !bytes.is_empty()).ok_or_else(broken)?;
        rest = rest.get(size.next_multiple_of(4)..).unwrap_or_default();
        let Ok(message) = NetlinkMessage::<M>::deserialize(bytes) else {
            // With a kernel newer than the library, one message that cannot be parsed must not discard the others.
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
