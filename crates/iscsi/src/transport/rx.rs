//! Receiving: headers through a small buffer, payload directly into the caller's buffer.

use std::io;
use std::net::TcpStream;

use assay_tcp::{Blocking, DIRECT_BYTES_MIN, Flow, Inbox, Read, u32_of};

use super::{Sink, WireError};
use crate::pdu::{BHS_BYTES, Bhs, DIGEST_BYTES, padding};
use crate::session::Placement;

/// Largest data segment that is not placed in a task's buffer (text, sense, ping data), bytes.
const CONTROL_BYTES_MAX: u32 = 64 * 1024;
/// Position of the stream within a PDU.
#[derive(Debug)]
enum State {
    Header,
    Data,
    Trailer,
}

/// The receiving half of a connection.
#[derive(Debug)]
pub(crate) struct Rx {
    inbox: Inbox,
    control: Vec<u8>,
    header_digest: bool,
    data_digest: bool,

    state: State,
    bhs: Bhs,
    placement: Placement,
    /// Number of bytes of the data segment that have arrived, and that are missing.
    done_bytes: u32,
    missing_bytes: u32,
    crc: u32,
    /// True if the last data segment was so large that data read ahead would only be copied.
    expect_large: bool,
}

impl Rx {
    pub(crate) fn new() -> Self {
        Self {
            inbox: Inbox::default(),
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

    /// Receives from the socket and passes complete PDUs to `sink`, until the socket is empty or the sink returns
    /// [`Flow::Stop`].
    ///
    /// With [`Blocking::Sleep`] the first read blocks until data arrives or the socket's own time limit expires.
    pub(crate) fn receive<S: Sink>(
        &mut self,
        stream: &TcpStream,
        blocking: Blocking,
        sink: &mut S,
    ) -> Result<usize, WireError> {
        // Data that was left when the format changed comes first.
        if self.parse(sink)? == Flow::Stop {
            return Ok(0);
        }
        let turn = |blocking| {
            let read = self.read(stream, blocking, sink).map_err(WireError::Io)?;
            Ok::<_, WireError>((read, self.parse(sink)?))
        };
        assay_tcp::receive(blocking, turn)?.ok_or(WireError::Closed)
    }

    fn read<S: Sink>(&mut self, stream: &TcpStream, blocking: Blocking, sink: &mut S) -> io::Result<Read> {
        if let (State::Data, Placement::Task { user, offset_bytes }) = (&self.state, self.placement)
            && self.missing_bytes >= DIRECT_BYTES_MIN
        {
            return self.read_direct(stream, blocking, sink, user, offset_bytes + self.done_bytes);
        }
        self.inbox.fill(stream, blocking, self.expect_large)
    }

    fn read_direct<S: Sink>(
        &mut self,
        stream: &TcpStream,
        blocking: Blocking,
        sink: &mut S,
        user: u32,
        offset: u32,
    ) -> io::Result<Read> {
        let place = sink.incoming(user, offset, offset + self.missing_bytes);
        let read = self.inbox.fill_place(stream, blocking, place)?;
        if let Read::Bytes { placed, .. } = read {
            if self.data_digest {
                self.crc = crc32c::crc32c_append(self.crc, sink.incoming(user, offset, offset + placed));
            }
            self.done_bytes += placed;
            self.missing_bytes -= placed;
        }
        Ok(read)
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

    fn parse_header<S: Sink>(&mut self, sink: &mut S) -> Result<bool, WireError> {
        let Some((bhs, _)) = self.inbox.available().split_first_chunk::<BHS_BYTES>() else {
            return Ok(false);
        };
        let bhs = Bhs(*bhs);
        let covered = BHS_BYTES + bhs.ahs_bytes();
        let total = covered + if self.header_digest { DIGEST_BYTES } else { 0 };
        if self.inbox.available().len() < total {
            return Ok(false);
        }
        if self.header_digest {
            let (header, digest) = self.inbox.available()[..total].split_at(covered);
            if crc32c::crc32c(header).to_le_bytes() != digest {
                return Err(WireError::HeaderDigest);
            }
        }
        self.inbox.consume(total);
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
        let available = self.inbox.available();
        let take = available.len().min(self.missing_bytes as usize);
        let bytes = &available[..take];
        match self.placement {
            Placement::Task { user, offset_bytes } => {
                let offset = offset_bytes + self.done_bytes;
                sink.incoming(user, offset, offset + u32_of(take)).copy_from_slice(bytes);
            }
            Placement::Control => self.control.extend_from_slice(bytes),
        }
        if self.data_digest {
            self.crc = crc32c::crc32c_append(self.crc, bytes);
        }
        self.inbox.consume(take);
        self.done_bytes += u32_of(take);
        self.missing_bytes -= u32_of(take);
        if self.missing_bytes == 0 {
            self.state = State::Trailer;
        }
        self.missing_bytes == 0
    }

    fn parse_trailer<S: Sink>(&mut self, sink: &mut S) -> Result<Option<Flow>, WireError> {
        let padding_bytes = padding(self.done_bytes);
        let has_digest = self.data_digest && self.done_bytes > 0;
        let total = padding_bytes + if has_digest { DIGEST_BYTES } else { 0 };
        if self.inbox.available().len() < total {
            return Ok(None);
        }
        let (pad, digest) = self.inbox.available()[..total].split_at(padding_bytes);
        if has_digest && crc32c::crc32c_append(self.crc, pad).to_le_bytes() != digest {
            return Err(WireError::DataDigest);
        }
        self.inbox.consume(total);
        self.state = State::Header;
        Ok(Some(sink.complete(&self.bhs, &self.control)?))
    }
}
