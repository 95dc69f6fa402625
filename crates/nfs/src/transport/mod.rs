//! Bytes between a socket and the sans-I/O core.

mod rx;
mod tx;

pub(crate) use rx::{Head, Rx, Sink};
pub(crate) use tx::{Outgoing, Tx};

use std::io;

use thiserror::Error;

use crate::xdr::XdrError;

/// Why a connection ended.
#[derive(Debug, Error)]
pub(crate) enum WireError {
    #[error("the server closed the connection")]
    Closed,
    #[error("the connection failed: {0}")]
    Io(#[from] io::Error),
    #[error("the server announces a record of {bytes} bytes, which is implausibly large")]
    RecordTooLong { bytes: u32 },
    #[error("the server violated the protocol: {0}")]
    Protocol(#[from] XdrError),
    #[error("the server answered a call before it was sent")]
    TooEarly,
    #[error("the server sent {count} records in a row that belong to no call")]
    Strays { count: u32 },
    #[error("the server sent {count} empty fragments of a record")]
    EmptyFragments { count: u32 },
    #[error("the server sent {bytes} bytes where at most {most} were requested")]
    TooMuchData { bytes: u32, most: u32 },
}
