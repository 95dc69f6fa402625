//! Receiving: heads of replies through a small buffer, the data of reads directly into the caller's buffer.
//!
//! A record in one fragment, as every server sends it, is never assembled in memory; one in several fragments is, up to
//! a bound.

use std::io;
use std::net::TcpStream;

use assay_tcp::{Blocking, DIRECT_BYTES_MIN, Flow, Inbox, Read, u32_of};

use super::WireError;
use crate::rpc::LAST_FRAGMENT;
use crate::xdr::padding;

/// Allowance for the rest of a record, bytes: heads with the longest verifier, attributes. Far more than any record
/// has.
const OVERHEAD_BYTES: u32 = 4096;
/// Number of empty fragments in a record; no server has a reason to send any.
const EMPTY_FRAGMENTS_MAX: u32 = 256;
/// Meaning of the head of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Head {
    /// More bytes are needed.
    More,
    /// The data of a call starts at `at`.
    Data { call: u32, at: u32, bytes: u32 },
    /// The record is short, and needed as a whole.
    Whole,
}

/// What receives records.
pub(crate) trait Sink {
    /// Handles the beginning of a record, as far as received. `is_all`: no more will follow.
    fn head(&mut self, beginning: &[u8], is_all: bool) -> Result<Head, WireError>;
    /// Returns the space for data of a call; `head` returned this range.
    fn place(&mut self, call: u32, start: u32, end: u32) -> &mut [u8];
    /// All data of a call has been received.
    fn filled(&mut self, call: u32);
    /// Handles a complete record.
    fn whole(&mut self, record: &[u8]) -> Result<(), WireError>;
}

/// Position in the stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Mark,
    Head,
    Data {
        call: u32,
        done: u32,
        missing: u32,
    },
    /// Padding after data.
    Padding {
        call: u32,
    },
    /// The record is being assembled.
    Gather {
        is_last: bool,
    },
}

/// The receiving half of a connection.
#[derive(Debug)]
pub(crate) struct Rx {
    /// Largest amount of data in one record, bytes.
    data_bytes_max: u32,

    inbox: Inbox,
    state: State,
    /// Number of bytes of the fragment that were not parsed yet.
    left: u32,
    /// A record that arrived in several fragments.
    gathered: Vec<u8>,
    /// Number of empty fragments of the record.
    empty_count: u32,
    /// True if the last data was so large that data read ahead would only be copied.
    expect_large: bool,
}

impl Rx {
    pub(crate) fn new(data_bytes_max: u32) -> Self {
        Self {
            data_bytes_max,
            inbox: Inbox::default(),
            state: State::Mark,
            left: 0,
            gathered: Vec::with_capacity(1024),
            empty_count: 0,
            expect_large: false,
        }
    }

    /// Receives from the socket and passes complete records to `sink`; returns the number of bytes received.
    ///
    /// With [`Blocking::Sleep`] the first read blocks until data arrives or the socket's own time limit expires.
    pub(crate) fn receive<S: Sink>(
        &mut self,
        stream: &TcpStream,
        blocking: Blocking,
        sink: &mut S,
    ) -> Result<usize, WireError> {
        let turn = |blocking| {
            let read = self.read(stream, blocking, sink)?;
            while self.step(sink)? {}
            Ok::<_, WireError>((read, Flow::Continue))
        };
        assay_tcp::receive(blocking, turn)?.ok_or(WireError::Closed)
    }

    fn read<S: Sink>(&mut self, stream: &TcpStream, blocking: Blocking, sink: &mut S) -> io::Result<Read> {
        let State::Data { call, done, missing } = self.state else {
            return self.inbox.fill(stream, blocking, self.expect_large);
        };
        if missing < DIRECT_BYTES_MIN {
            return self.inbox.fill(stream, blocking, self.expect_large);
        }
        let read = self.inbox.fill_place(stream, blocking, sink.place(call, done, done + missing))?;
        if let Read::Bytes { placed, .. } = read {
            self.left -= placed;
            self.state = State::Data { call, done: done + placed, missing: missing - placed };
        }
        Ok(read)
    }

    /// Parses one element; returns false if more bytes are needed.
    fn step<S: Sink>(&mut self, sink: &mut S) -> Result<bool, WireError> {
        match self.state {
            State::Mark => self.step_mark(),
            State::Head => self.step_head(sink),
            State::Data { call, done, missing } => Ok(self.step_data(sink, call, done, missing)),
            State::Padding { call } => Ok(self.step_padding(sink, call)),
            State::Gather { is_last } => self.step_gather(sink, is_last),
        }
    }

    /// Returns the received part of the fragment.
    fn available(&self) -> &[u8] {
        let bytes = self.inbox.available();
        &bytes[..bytes.len().min(self.left as usize)]
    }

    fn consume(&mut self, bytes: u32) {
        self.inbox.consume(bytes as usize);
        self.left -= bytes;
    }

    fn step_mark(&mut self) -> Result<bool, WireError> {
        let Some((mark, _)) = self.inbox.available().split_first_chunk() else { return Ok(false) };
        let mark = u32::from_be_bytes(*mark);
        self.inbox.consume(4);
        self.left = mark & !LAST_FRAGMENT;
        let is_last = mark & LAST_FRAGMENT != 0;
        let bytes = u32_of(self.gathered.len()).saturating_add(self.left);
        if bytes > self.data_bytes_max.saturating_add(OVERHEAD_BYTES) {
            return Err(WireError::RecordTooLong { bytes });
        }
        let is_empty = self.left == 0 && !is_last;
        self.empty_count = if is_last { 0 } else { self.empty_count + u32::from(is_empty) };
        if self.empty_count > EMPTY_FRAGMENTS_MAX {
            return Err(WireError::EmptyFragments { count: self.empty_count });
        }
        let is_whole = is_last && self.gathered.is_empty();
        self.state = if is_whole { State::Head } else { State::Gather { is_last } };
        Ok(true)
    }

    fn step_head<S: Sink>(&mut self, sink: &mut S) -> Result<bool, WireError> {
        let available = self.available();
        let is_all = available.len() == self.left as usize;
        let head = sink.head(available, is_all)?;
        match head {
            Head::More => return Ok(false),
            Head::Whole if is_all => {
                sink.whole(available)?;
                self.consume(self.left);
                self.state = State::Mark;
            }
            Head::Whole => self.state = State::Gather { is_last: true },
            Head::Data { call, at, bytes } => {
                let expected = u64::from(at) + u64::from(bytes) + u64::from(padding(bytes));
                if expected != u64::from(self.left) {
                    let wrong = "record length for its data";
                    return Err(crate::xdr::XdrError::Value { what: wrong, value: self.left }.into());
                }
                self.consume(at);
                self.state = State::Data { call, done: 0, missing: bytes };
            }
        }
        self.expect_large = matches!(head, Head::Data { bytes, .. } if bytes >= DIRECT_BYTES_MIN);
        Ok(true)
    }

    fn step_data<S: Sink>(&mut self, sink: &mut S, call: u32, done: u32, missing: u32) -> bool {
        let available = self.inbox.available();
        let take = missing.min(u32_of(available.len()));
        if take > 0 {
            let bytes = &available[..take as usize];
            sink.place(call, done, done + take).copy_from_slice(bytes);
            self.consume(take);
        }
        let missing = missing - take;
        self.state = match missing {
            0 => State::Padding { call },
            _ => State::Data { call, done: done + take, missing },
        };
        missing == 0
    }

    fn step_padding<S: Sink>(&mut self, sink: &mut S, call: u32) -> bool {
        if self.inbox.available().len() < self.left as usize {
            return false;
        }
        self.consume(self.left);
        sink.filled(call);
        self.state = State::Mark;
        true
    }

    fn step_gather<S: Sink>(&mut self, sink: &mut S, is_last: bool) -> Result<bool, WireError> {
        let bytes = self.inbox.available();
        let take = self.left.min(u32_of(bytes.len()));
        self.gathered.extend_from_slice(&bytes[..take as usize]);
        self.consume(take);
        if self.left > 0 {
            return Ok(false);
        }
        self.state = State::Mark;
        if is_last {
            sink.whole(&self.gathered)?;
            self.gathered.clear();
        }
        Ok(true)
    }
}
