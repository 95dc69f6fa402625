//! Bytes between a socket and the sans-I/O core.

mod connect;
mod rx;
mod tx;

pub(crate) use connect::{Connecting, READ_LIMIT, connect, resolve};
pub(crate) use rx::{Head, Patience, Rx, Sink};
pub(crate) use tx::{Outgoing, Tx};

use std::io;

use thiserror::Error;

use crate::xdr::XdrError;

/// Why a connection ended.
#[derive(Debug, Error)]
pub(crate) enum WireError {
    #[error("the server closed the connection")]
    Closed,
    #[error("the connection broke: {0}")]
    Io(#[from] io::Error),
    #[error("the server announces a record of {bytes} bytes, which is beyond reason")]
    RecordTooLong { bytes: u32 },
    #[error("the server broke the protocol: {0}")]
    Protocol(#[from] XdrError),
    #[error("the server answered a call that had not left yet")]
    TooEarly,
    #[error("the server sent {bytes} bytes where at most {most} were asked for")]
    TooMuchData { bytes: u32, most: u32 },
}

/// Lengths inside one record fit into 32 bits.
pub(crate) fn u32_of(length: usize) -> u32 {
    u32::try_from(length).expect("bounded by the 31-bit length of a fragment")
}
