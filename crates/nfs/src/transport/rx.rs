//! Receiving: heads of replies through a modest buffer, the data of reads straight into the caller's buffer.
//!
//! A record in one fragment, as every server sends it, is never gathered; one in several is, up to a bound.

use std::io::{self, IoSliceMut};
use std::net::TcpStream;

use rustix::net::{RecvAncillaryBuffer, RecvFlags};

use super::{WireError, u32_of};
use crate::rpc::LAST_FRAGMENT;
use crate::xdr::padding;

/// Receive buffer: at 4 KiB per reply it takes some 30 in one call.
const BUFFER_BYTES: usize = 128 * 1024;
/// From this many missing bytes on, data are read directly into their place. Below, copying them out of the buffer
/// costs less than the system call that would be saved by reading on.
const DIRECT_BYTES_MIN: u32 = 8 * 1024;
/// What is read beyond the data into the buffer: the next head and a little more, which is copied.
const AHEAD_BYTES: usize = 512;
/// What a record has besides data: heads with the longest verifier, attributes. Far more than any has.
const OVERHEAD_BYTES: u32 = 4096;
/// Reads per call, so that one busy connection does not starve the others.
const READS_MAX: usize = 8;

/// Whether a read may sleep.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Patience {
    Now,
    Wait,
}

impl Patience {
    fn flags(self) -> RecvFlags {
        match self {
            Self::Now => RecvFlags::DONTWAIT,
            Self::Wait => RecvFlags::empty(),
        }
    }
}

/// What the head of a record says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Head {
    /// More of it must come.
    More,
    /// Data of a call begin at `at`.
    Data { call: u32, at: u32, bytes: u32 },
    /// The record is short, and wanted as a whole.
    Whole,
}

/// What receives records.
pub(crate) trait Sink {
    /// The beginning of a record, as much as there is. `is_all`: no more will come.
    fn head(&mut self, beginning: &[u8], is_all: bool) -> Result<Head, WireError>;
    /// Space for data of a call; the range was given out by `head`.
    fn place(&mut self, call: u32, start: u32, end: u32) -> &mut [u8];
    /// All data of a call are in their place.
    fn filled(&mut self, call: u32);
    /// A record as a whole.
    fn whole(&mut self, record: &[u8]) -> Result<(), WireError>;
}

/// Where in the stream we are.
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
    /// The record is being gathered.
    Gather {
        is_last: bool,
    },
}

/// The receiving half of a connection.
#[derive(Debug)]
pub(crate) struct Rx {
    /// Most data of one record, bytes.
    data_bytes_max: u32,

    buffer: Box<[u8]>,
    start: usize,
    end: usize,
    state: State,
    /// Bytes of the fragment that were not parsed yet.
    left: u32,
    /// A record that came in pieces.
    gathered: Vec<u8>,
    /// The last data were so large that reading ahead would only be copied.
    expect_large: bool,
}

impl Rx {
    pub(crate) fn new(data_bytes_max: u32) -> Self {
        Self {
            data_bytes_max,
            buffer: vec![0; BUFFER_BYTES].into_boxed_slice(),
            start: 0,
            end: 0,
            state: State::Mark,
            left: 0,
            gathered: Vec::with_capacity(1024),
            expect_large: false,
        }
    }

    /// Takes what the socket has and hands whole records to `sink`; says how many bytes came.
    ///
    /// With [`Patience::Wait`] the first read sleeps until something comes, as long as the socket's own time limit.
    pub(crate) fn receive<S: Sink>(
        &mut self,
        stream: &TcpStream,
        patience: Patience,
        sink: &mut S,
    ) -> Result<usize, WireError> {
        let (mut bytes, mut patience) = (0, patience);
        for _ in 0..READS_MAX {
            let (got, wanted) = match self.read(stream, patience, sink) {
                Ok((0, _)) => return Err(WireError::Closed),
                Ok(counts) => counts,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(WireError::Io(error)),
            };
            bytes += got;
            patience = Patience::Now;
            while self.step(sink)? {}
            // A short read has emptied the socket: asking again would only cost a call.
            if got < wanted {
                break;
            }
        }
        Ok(bytes)
    }

    fn read<S: Sink>(
        &mut self,
        stream: &TcpStream,
        patience: Patience,
        sink: &mut S,
    ) -> io::Result<(usize, usize)> {
        if let State::Data { call, done, missing } = self.state
            && missing >= DIRECT_BYTES_MIN
        {
            return self.read_direct(stream, patience, sink.place(call, done, done + missing));
        }
        if self.start == self.end {
            (self.start, self.end) = (0, 0);
        } else if self.start > BUFFER_BYTES / 2 {
            self.buffer.copy_within(self.start..self.end, 0);
            (self.start, self.end) = (0, self.end - self.start);
        }
        let limit = if self.expect_large { (self.end + AHEAD_BYTES).min(BUFFER_BYTES) } else { BUFFER_BYTES };
        let space = &mut self.buffer[self.end..limit];
        let wanted = space.len();
        let (got, _) = rustix::net::recv(stream, space, patience.flags())?;
        self.end += got;
        Ok((got, wanted))
    }

    fn read_direct(
        &mut self,
        stream: &TcpStream,
        patience: Patience,
        place: &mut [u8],
    ) -> io::Result<(usize, usize)> {
        debug_assert_eq!(self.start, self.end, "buffered data were placed before");
        let State::Data { call, done, missing } = self.state else { return Ok((0, 0)) };
        let wanted = place.len() + AHEAD_BYTES;
        let slices = &mut [IoSliceMut::new(place), IoSliceMut::new(&mut self.buffer[..AHEAD_BYTES])];
        let control = &mut RecvAncillaryBuffer::default();
        let got = rustix::net::recvmsg(stream, slices, control, patience.flags())?.bytes;
        let direct = u32_of(got).min(missing);
        self.left -= direct;
        self.state = State::Data { call, done: done + direct, missing: missing - direct };
        (self.start, self.end) = (0, got - direct as usize);
        Ok((got, wanted))
    }

    /// One step of parsing; false when more must come first.
    fn step<S: Sink>(&mut self, sink: &mut S) -> Result<bool, WireError> {
        match self.state {
            State::Mark => self.step_mark(),
            State::Head => self.step_head(sink),
            State::Data { call, done, missing } => Ok(self.step_data(sink, call, done, missing)),
            State::Padding { call } => Ok(self.step_padding(sink, call)),
            State::Gather { is_last } => self.step_gather(sink, is_last),
        }
    }

    fn available(&self) -> &[u8] {
        let bytes = self.end - self.start;
        &self.buffer[self.start..self.start + bytes.min(self.left as usize)]
    }

    fn consume(&mut self, bytes: u32) {
        self.start += bytes as usize;
        self.left -= bytes;
    }

    fn step_mark(&mut self) -> Result<bool, WireError> {
        let Some((mark, _)) = self.buffer[self.start..self.end].split_first_chunk() else { return Ok(false) };
        let mark = u32::from_be_bytes(*mark);
        self.start += 4;
        self.left = mark & !LAST_FRAGMENT;
        let is_last = mark & LAST_FRAGMENT != 0;
        let bytes = u32_of(self.gathered.len()).saturating_add(self.left);
        if bytes > self.data_bytes_max.saturating_add(OVERHEAD_BYTES) {
            return Err(WireError::RecordTooLong { bytes });
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
                    let wrong = "length of a record with these data";
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
        let take = missing.min(u32_of(self.end - self.start));
        if take > 0 {
            let bytes = &self.buffer[self.start..self.start + take as usize];
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
        if u32_of(self.end - self.start) < self.left {
            return false;
        }
        self.consume(self.left);
        sink.filled(call);
        self.state = State::Mark;
        true
    }

    fn step_gather<S: Sink>(&mut self, sink: &mut S, is_last: bool) -> Result<bool, WireError> {
        let take = u32_of(self.available().len());
        let bytes = &self.buffer[self.start..self.start + take as usize];
        self.gathered.extend_from_slice(bytes);
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
