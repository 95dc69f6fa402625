//! Receiving: headers through a modest buffer, payload straight into the caller's buffer.

use std::io::{self, IoSliceMut};
use std::net::TcpStream;

use rustix::net::{RecvAncillaryBuffer, RecvFlags};

use super::{Sink, WireError};
use crate::pdu::{BHS_BYTES, Bhs, DIGEST_BYTES, padding};
use crate::session::Placement;

/// Receive buffer: at 4 KiB per response it takes some 30 in one call.
const BUFFER_BYTES: usize = 128 * 1024;
/// From this many missing bytes on, payload is read directly into its place. Below, copying it out of the buffer
/// costs less than the system call that would be saved by reading on.
const DIRECT_BYTES_MIN: u32 = 8 * 1024;
/// What is read beyond the payload into the buffer: the next header and a little more, which is copied.
const AHEAD_BYTES: usize = 512;
/// Data segments that are not placed in a task's buffer: text, sense, ping data.
const CONTROL_BYTES_MAX: u32 = 64 * 1024;
/// Reads per call, so that one busy connection does not starve the others.
const READS_MAX: usize = 8;

/// Where in a PDU the stream is.
#[derive(Debug)]
enum State {
    Header,
    Data,
    Trailer,
}

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

/// What a call of [`Rx::receive`] did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Received {
    /// Bytes taken from the socket.
    pub bytes: usize,
}

/// The receiving half of a connection.
#[derive(Debug)]
pub(crate) struct Rx {
    buffer: Box<[u8]>,
    start: usize,
    end: usize,
    control: Vec<u8>,
    header_digest: bool,
    data_digest: bool,

    state: State,
    bhs: Bhs,
    placement: Placement,
    /// Bytes of the data segment that arrived, and that are missing.
    done_bytes: u32,
    missing_bytes: u32,
    crc: u32,
    /// The last data segment was so large that reading ahead would only be copied.
    expect_large: bool,
}

impl Rx {
    pub(crate) fn new() -> Self {
        Self {
            buffer: vec![0; BUFFER_BYTES].into_boxed_slice(),
            start: 0,
            end: 0,
            control: Vec::with_capacity(1024),
            header_digest: false,
            data_digest: false,
            state: State::Header,
            bhs: Bhs::default(),
            placement: Placement::Control,
            done_bytes: 0,
            missing_bytes: 0,
            crc: 0,
            expect_large: false,
        }
    }

    /// Digests apply to everything parsed from now on.
    pub(crate) fn set_digests(&mut self, header: bool, data: bool) {
        self.header_digest = header;
        self.data_digest = data;
    }

    /// Takes what the socket has and hands whole PDUs to `sink`, until the socket is empty or the sink says stop.
    ///
    /// With [`Patience::Wait`] the first read sleeps until something comes, as long as the socket's own time limit.
    pub(crate) fn receive<S: Sink>(
        &mut self,
        stream: &TcpStream,
        patience: Patience,
        sink: &mut S,
    ) -> Result<Received, WireError> {
        let mut bytes = 0;
        let mut patience = patience;
        for _ in 0..READS_MAX {
            if self.parse(sink)? == Flow::Stop {
                break;
            }
            let (got, wanted) = match self.read(stream, patience, sink) {
                Ok((0, _)) => return Err(WireError::Closed),
                Ok(counts) => counts,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(WireError::Io(error)),
            };
            bytes += got;
            patience = Patience::Now;
            // A short read has emptied the socket: asking again would only cost a call.
            if got < wanted {
                self.parse(sink)?;
                break;
            }
        }
        Ok(Received { bytes })
    }

    fn read<S: Sink>(
        &mut self,
        stream: &TcpStream,
        patience: Patience,
        sink: &mut S,
    ) -> io::Result<(usize, usize)> {
        if let (State::Data, Placement::Task { user, offset_bytes }) = (&self.state, self.placement)
            && self.missing_bytes >= DIRECT_BYTES_MIN
        {
            return self.read_direct(stream, patience, sink, user, offset_bytes + self.done_bytes);
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

    fn read_direct<S: Sink>(
        &mut self,
        stream: &TcpStream,
        patience: Patience,
        sink: &mut S,
        user: u32,
        offset: u32,
    ) -> io::Result<(usize, usize)> {
        debug_assert_eq!(self.start, self.end, "buffered payload was placed before");
        let place = sink.incoming(user, offset, offset + self.missing_bytes);
        let wanted = place.len() + AHEAD_BYTES;
        let ahead = &mut self.buffer[..AHEAD_BYTES];
        let slices = &mut [IoSliceMut::new(place), IoSliceMut::new(ahead)];
        let got =
            rustix::net::recvmsg(stream, slices, &mut RecvAncillaryBuffer::default(), patience.flags())?
                .bytes;
        let direct = got.min(self.missing_bytes as usize);
        if self.data_digest {
            let place = sink.incoming(user, offset, offset + super::u32_of(direct));
            self.crc = crc32c::crc32c_append(self.crc, place);
        }
        self.done_bytes += super::u32_of(direct);
        self.missing_bytes -= super::u32_of(direct);
        (self.start, self.end) = (0, got - direct);
        Ok((got, wanted))
    }

    fn parse<S: Sink>(&mut self, sink: &mut S) -> Result<Flow, WireError> {
        loop {
            let enough = match self.state {
                State::Header => self.parse_header(sink)?,
                State::Data => self.parse_data(sink),
                State::Trailer => match self.parse_trailer(sink)? {
                    Some(Flow::Stop) => return Ok(Flow::Stop),
                    Some(Flow::Continue) => true,
                    None => false,
                },
            };
            if !enough {
                return Ok(Flow::Continue);
            }
        }
    }

    fn available(&self) -> &[u8] {
        &self.buffer[self.start..self.end]
    }

    fn parse_header<S: Sink>(&mut self, sink: &mut S) -> Result<bool, WireError> {
        let Some((bhs, _)) = self.available().split_first_chunk::<BHS_BYTES>() else { return Ok(false) };
        let bhs = Bhs(*bhs);
        let covered = BHS_BYTES + bhs.ahs_bytes();
        let total = covered + if self.header_digest { DIGEST_BYTES } else { 0 };
        if self.available().len() < total {
            return Ok(false);
        }
        if self.header_digest {
            let (header, digest) = self.available()[..total].split_at(covered);
            if crc32c::crc32c(header).to_le_bytes() != digest {
                return Err(WireError::HeaderDigest);
            }
        }
        self.start += total;
        self.placement = sink.header(&bhs)?;
        if self.placement == Placement::Control && bhs.data_bytes() > CONTROL_BYTES_MAX {
            return Err(WireError::ControlTooLong { data_bytes: bhs.data_bytes() });
        }
        self.control.clear();
        self.bhs = bhs;
        self.done_bytes = 0;
        self.missing_bytes = bhs.data_bytes();
        self.crc = 0;
        self.state = State::Data;
        self.expect_large = self.missing_bytes >= DIRECT_BYTES_MIN;
        Ok(true)
    }

    fn parse_data<S: Sink>(&mut self, sink: &mut S) -> bool {
        let take = (self.missing_bytes as usize).min(self.end - self.start);
        let bytes = &self.buffer[self.start..self.start + take];
        match self.placement {
            Placement::Task { user, offset_bytes } => {
                let offset = offset_bytes + self.done_bytes;
                sink.incoming(user, offset, offset + super::u32_of(take)).copy_from_slice(bytes);
            }
            Placement::Control => self.control.extend_from_slice(bytes),
        }
        if self.data_digest {
            self.crc = crc32c::crc32c_append(self.crc, bytes);
        }
        self.start += take;
        self.done_bytes += super::u32_of(take);
        self.missing_bytes -= super::u32_of(take);
        if self.missing_bytes == 0 {
            self.state = State::Trailer;
        }
        self.missing_bytes == 0
    }

    fn parse_trailer<S: Sink>(&mut self, sink: &mut S) -> Result<Option<Flow>, WireError> {
        let padding_bytes = padding(self.done_bytes);
        let has_digest = self.data_digest && self.done_bytes > 0;
        let total = padding_bytes + if has_digest { DIGEST_BYTES } else { 0 };
        if self.available().len() < total {
            return Ok(None);
        }
        let (pad, digest) = self.available()[..total].split_at(padding_bytes);
        if has_digest && crc32c::crc32c_append(self.crc, pad).to_le_bytes() != digest {
            return Err(WireError::DataDigest);
        }
        self.start += total;
        self.state = State::Header;
        Ok(Some(sink.complete(&self.bhs, &self.control)?))
    }
}

/// Whether parsing goes on after a PDU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Flow {
    /// Parse the next PDU.
    Continue,
    /// Leave the rest in the buffer: the rules change, as after a login.
    Stop,
}
