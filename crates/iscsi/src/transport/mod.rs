//! Bytes between a socket and the sans-I/O core: one non-blocking TCP stream per connection.
//!
//! A [`Wire`] is the stream with its [`Tx`] and [`Rx`] halves. It knows neither login nor session: a [`Sink`] handles
//! received PDUs, and payload lives in [`Buffers`].

mod login;
mod portal;
mod rx;
mod tx;

pub(crate) use assay_tcp::Flow;
pub(crate) use login::{LoggingIn, LoginFailure, LoginOutcome, NoBuffers, OnePdu};
pub use portal::resolve;

use std::io;
use std::net::TcpStream;

use assay_tcp::Blocking;

use crate::pdu::Bhs;
use crate::session::{OutPdu, Placement, SessionError};
use rx::Rx;
use tx::Tx;

/// The payload buffers of tasks. A task with unsent bytes is held, so that its buffer stays.
pub(crate) trait Buffers {
    /// Returns the bytes to send.
    fn outgoing(&self, user: u32, start: u32, end: u32) -> &[u8];
    /// Adds a hold: a piece of the buffer is in the send queue.
    fn hold(&mut self, user: u32);
    /// Removes a hold.
    fn release(&mut self, user: u32);
}

/// What receives PDUs.
pub(crate) trait Sink {
    /// Handles a header and returns the destination of its data.
    fn header(&mut self, bhs: &Bhs) -> Result<Placement, WireError>;
    /// Returns the space for payload of a task; `header` returned this range.
    fn incoming(&mut self, user: u32, start: u32, end: u32) -> &mut [u8];
    /// Handles a complete PDU whose digests are correct. `control` is its data if that was its destination.
    fn complete(&mut self, bhs: &Bhs, control: &[u8]) -> Result<Flow, WireError>;
}

/// Why a connection ended.
#[derive(Debug, thiserror::Error)]
pub(crate) enum WireError {
    #[error("the target closed the connection")]
    Closed,
    #[error("the connection failed: {0}")]
    Io(#[source] io::Error),
    #[error("header digest mismatch: data was corrupted in transit")]
    HeaderDigest,
    #[error("data digest mismatch: data was corrupted in transit")]
    DataDigest,
    #[error("a control PDU announces {data_bytes} bytes of data, which is implausibly large")]
    ControlTooLong { data_bytes: u32 },
    #[error("the target violated the protocol: {0}")]
    Protocol(#[from] SessionError),
}

/// A connected stream.
#[derive(Debug)]
pub(crate) struct Wire {
    stream: TcpStream,
    tx: Tx,
    rx: Rx,
}

impl Wire {
    pub(crate) fn new(stream: TcpStream) -> Self {
        Self { stream, tx: Tx::new(), rx: Rx::new() }
    }

    pub(crate) fn stream(&self) -> &TcpStream {
        &self.stream
    }

    pub(crate) fn set_digests(&mut self, header: bool, data: bool) {
        self.tx.set_digests(header, data);
        self.rx.set_digests(header, data);
    }

    pub(crate) fn has_room(&self) -> bool {
        self.tx.has_room()
    }

    pub(crate) fn wants_to_send(&self) -> bool {
        !self.tx.is_empty()
    }

    pub(crate) fn push<T: Buffers>(&mut self, pdu: OutPdu, buffers: &mut T) {
        self.tx.push(pdu, buffers);
    }

    pub(crate) fn flush<T: Buffers>(&mut self, buffers: &mut T) -> Result<bool, WireError> {
        self.tx.flush(&self.stream, buffers).map_err(WireError::Io)
    }

    /// Receives what has arrived. Returns the number of bytes.
    pub(crate) fn receive<S: Sink>(&mut self, blocking: Blocking, sink: &mut S) -> Result<usize, WireError> {
        self.rx.receive(&self.stream, blocking, sink)
    }

    /// Resets the connection, so that none of its data can arrive later.
    pub(crate) fn abandon(self) {
        assay_tcp::abandon(self.stream);
    }
}
