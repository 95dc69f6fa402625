//! What the clients of storage protocols over TCP share: `assay-iscsi` and `assay-nfs`.
//!
//! Connections are opened without blocking ([`Connecting`]), waited for together ([`wait`]), sent to ([`send`]) and
//! received from ([`Inbox`]: headers through a modest buffer, payload straight into its place). What went over a path
//! is counted in [`PathStats`]; the kernel reports [`TcpFacts`]; an [`EventLog`] keeps what happened to a path. Both
//! clients are a [`Client`], which [`turn`] and [`poll`] drive; a [`StallWatch`] says when the storage stops answering.
//! Nothing here knows a protocol.
#![forbid(unsafe_code)]

mod client;
mod connect;
mod events;
mod facts;
mod inbox;
mod ready;
mod stall;
mod stats;

use std::io::{self, IoSlice};
use std::net::TcpStream;
use std::time::Duration;

use rustix::net::{SendAncillaryBuffer, SendFlags};

pub use client::{Client, Completions, TICK, poll, receive_all, turn};
pub use connect::{ADDRESSES_MAX, Connecting, HEAD_START, connect_first, resolve, resolve_all};
pub use events::{Event, EventLog};
pub use facts::{TcpFacts, TcpFactsReader};
pub use inbox::{Blocking, DIRECT_BYTES_MIN, Flow, Inbox, Read, receive};
pub use ready::{PATHS_MAX, wait};
pub use stall::{STALL, StallNews, StallWatch, is_lost};
pub use stats::{PathStats, nanos};

/// How long a read that may sleep does so. Well below what callers wait at most (50 ms, less what has gone by since
/// they said so): who has less time than this waits for readiness first, which costs a call for each turn.
pub const READ_LIMIT: Duration = Duration::from_millis(20);
/// Slices of one [`send`]; beyond this the call's own cost no longer shows.
pub const SLICES_MAX: usize = 64;

/// Sends what the socket takes with one call, without waiting: the bytes taken, `None` where it takes nothing now.
pub fn send(stream: &TcpStream, slices: &[IoSlice<'_>]) -> io::Result<Option<usize>> {
    let flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
    match rustix::net::sendmsg(stream, slices, &mut SendAncillaryBuffer::default(), flags) {
        Ok(sent) => Ok(Some(sent)),
        Err(rustix::io::Errno::AGAIN | rustix::io::Errno::INTR) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Ends a connection so that nothing of it can arrive later: the kernel drops what it has not sent, and sends a reset.
/// A write that still sat in the socket must not reach the other end after it was sent again elsewhere.
pub fn abandon(stream: TcpStream) {
    // If the option cannot be set the socket is broken already, and closing it is all that is left.
    let _ = rustix::net::sockopt::set_socket_linger(&stream, Some(Duration::ZERO));
    drop(stream);
}

/// Fills `bytes` with random bytes of the kernel; an error where it has none.
pub fn random_bytes(bytes: &mut [u8]) -> io::Result<()> {
    let mut filled = 0;
    while filled < bytes.len() {
        filled += rustix::rand::getrandom(&mut bytes[filled..], rustix::rand::GetRandomFlags::empty())?;
    }
    Ok(())
}

/// Lengths inside one message or one read fit into 32 bits.
///
/// # Panics
/// On 4 GiB or more, which no protocol here announces.
#[must_use]
pub fn u32_of(length: usize) -> u32 {
    u32::try_from(length).expect("bounded by the length of a message")
}
