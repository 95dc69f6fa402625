//! Code shared by the clients of storage protocols over TCP: `assay-iscsi` and `assay-nfs`.
//!
//! Connections are opened without blocking ([`Connecting`]), polled together ([`wait`]), written ([`send`]) and read
//! ([`Inbox`]: headers through a small buffer, payload directly into its destination). [`PathStats`] counts what a path
//! transfers, [`TcpFacts`] are the kernel's facts about a connection, and an [`EventLog`] keeps the events of paths.
//! Both clients implement [`Client`], which [`turn`] and [`poll`] drive; a [`StallWatch`] reports when the storage
//! stops answering. Both keep their commands in a [`Table`], queue them in [`Waiting`] and space the attempts of a path
//! by [`Backoff`]. Nothing here depends on a protocol.
#![forbid(unsafe_code)]

mod client;
mod connect;
mod events;
mod facts;
mod inbox;
mod ready;
mod stall;
mod stats;
mod table;

use std::io::{self, IoSlice};
use std::net::TcpStream;
use std::time::Duration;

use rustix::net::{SendAncillaryBuffer, SendFlags};

pub use client::{Client, Completions, TICK, poll, receive_all, turn};
pub use connect::{ADDRESSES_MAX, Connecting, connect_first, resolve, resolve_all};
pub use events::{Event, EventLog};
pub use facts::{TcpFacts, TcpFactsReader};
pub use inbox::{Blocking, DIRECT_BYTES_MIN, Flow, Inbox, Read, receive};
pub use ready::{PATHS_MAX, wait};
pub use stall::{StallNews, StallWatch, is_lost};
pub use stats::{PathStats, nanos};
pub use table::{Backoff, Table, Timed, Waiting};

/// How long a blocking read may block. This is well below the longest wait of callers (50 ms, less the time since they
/// asked): a caller with less time than this polls for readiness first, which costs a call in each turn.
pub(crate) const READ_LIMIT: Duration = Duration::from_millis(20);
/// Number of slices in one [`send`]; with more, the cost of the call itself is no longer noticeable.
pub const SLICES_MAX: usize = 64;

/// Sends as much as the socket accepts in one call, without waiting. Returns the number of bytes accepted, or `None` if
/// the socket accepts nothing now.
pub fn send(stream: &TcpStream, slices: &[IoSlice<'_>]) -> io::Result<Option<usize>> {
    let flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
    match rustix::net::sendmsg(stream, slices, &mut SendAncillaryBuffer::default(), flags) {
        Ok(sent) => Ok(Some(sent)),
        Err(rustix::io::Errno::AGAIN | rustix::io::Errno::INTR) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Resets a connection, so that none of its data can arrive later: the kernel discards unsent data and sends a reset. A
/// write that is still in the socket buffer must not reach the peer after it was sent again over another connection.
pub fn abandon(stream: TcpStream) {
    // If the option cannot be set, the socket is broken already and closing it is all that remains.
    let _ = rustix::net::sockopt::set_socket_linger(&stream, Some(Duration::ZERO));
    drop(stream);
}

/// Fills `bytes` with random bytes from the kernel. Fails if the kernel has none.
pub fn random_bytes(bytes: &mut [u8]) -> io::Result<()> {
    let mut filled = 0;
    while filled < bytes.len() {
        filled += rustix::rand::getrandom(&mut bytes[filled..], rustix::rand::GetRandomFlags::empty())?;
    }
    Ok(())
}

/// Returns the length of a message or read as a `u32`.
///
/// # Panics
/// If `length` is 4 GiB or more, which no protocol here allows.
pub fn u32_of(length: usize) -> u32 {
    u32::try_from(length).expect("bounded by the length of a message")
}
