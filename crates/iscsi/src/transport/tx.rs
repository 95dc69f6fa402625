//! Sending: PDUs become segments of one vectored write; payload is sent directly from the caller's buffer.

use std::collections::VecDeque;
use std::io::{self, IoSlice};
use std::net::TcpStream;

use assay_tcp::SLICES_MAX;

use super::Buffers;
use crate::pdu::{BHS_BYTES, DIGEST_BYTES, digest_bytes, padding};
use crate::session::{OutPdu, Payload};

/// Number of queued segments from which no more PDUs are accepted: enough for two full calls.
const SEGMENTS_MAX: usize = 128;
/// Number of queued header bytes from which no more PDUs are accepted.
const ARENA_BYTES_MAX: usize = 32 * 1024;

/// A piece of the byte stream.
#[derive(Debug)]
enum Segment {
    /// Bytes of the arena: headers, digests, padding.
    Arena { start: usize, end: usize },
    /// Bytes of a task's buffer.
    Task { user: u32, start: u32, end: u32 },
    /// Control data.
    Owned { bytes: Vec<u8>, start: usize },
}

/// The sending half of a connection.
#[derive(Debug)]
pub(crate) struct Tx {
    segments: VecDeque<Segment>,
    arena: Vec<u8>,
    header_digest: bool,
    data_digest: bool,
}

impl Tx {
    pub(crate) fn new() -> Self {
        Self {
            segments: VecDeque::with_capacity(SEGMENTS_MAX + 4),
            arena: Vec::with_capacity(ARENA_BYTES_MAX + 256),
            header_digest: false,
            data_digest: false,
        }
    }

    /// Digests apply to everything pushed from now on.
    pub(crate) fn set_digests(&mut self, header: bool, data: bool) {
        self.header_digest = header;
        self.data_digest = data;
    }

    pub(crate) fn has_room(&self) -> bool {
        self.segments.len() < SEGMENTS_MAX && self.arena.len() < ARENA_BYTES_MAX
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.segments.is_empty()
    }

    /// Appends a PDU to the stream.
    pub(crate) fn push<T: Buffers>(&mut self, pdu: OutPdu, buffers: &mut T) {
        let data_bytes = pdu.bhs.data_bytes();
        self.push_header(&pdu.bhs.0);
        let crc = match pdu.payload {
            Payload::None => return,
            Payload::Task { user, offset_bytes, data_bytes } => {
                let end = offset_bytes + data_bytes;
                let crc = self.data_digest.then(|| crc32c::crc32c(buffers.outgoing(user, offset_bytes, end)));
                buffers.hold(user);
                self.segments.push_back(Segment::Task { user, start: offset_bytes, end });
                crc
            }
            Payload::Owned(bytes) => {
                let crc = self.data_digest.then(|| crc32c::crc32c(&bytes));
                self.segments.push_back(Segment::Owned { bytes, start: 0 });
                crc
            }
        };
        self.push_trailer(padding(data_bytes), crc);
    }

    fn push_header(&mut self, bhs: &[u8; BHS_BYTES]) {
        let start = self.arena.len();
        self.arena.extend_from_slice(bhs);
        if self.header_digest {
            self.arena.extend_from_slice(&digest_bytes(crc32c::crc32c(bhs)));
        }
        self.push_arena(start);
    }

    fn push_trailer(&mut self, padding_bytes: usize, crc: Option<u32>) {
        let start = self.arena.len();
        let zeroes = [0; DIGEST_BYTES];
        self.arena.extend_from_slice(&zeroes[..padding_bytes]);
        if let Some(crc) = crc {
            // The digest covers the padding too (RFC 7143 §11.2.3).
            let crc = crc32c::crc32c_append(crc, &zeroes[..padding_bytes]);
            self.arena.extend_from_slice(&digest_bytes(crc));
        }
        self.push_arena(start);
    }

    /// Makes a segment of the end of the arena; adjacent arena bytes become one segment.
    fn push_arena(&mut self, start: usize) {
        let end = self.arena.len();
        match self.segments.back_mut() {
            _ if start == end => {}
            Some(Segment::Arena { end: previous, .. }) if *previous == start => *previous = end,
            _ => self.segments.push_back(Segment::Arena { start, end }),
        }
    }

    /// Sends as much as the socket accepts in one call. Returns true if nothing is left.
    pub(crate) fn flush<T: Buffers>(&mut self, stream: &TcpStream, buffers: &mut T) -> io::Result<bool> {
        if self.segments.is_empty() {
            return Ok(true);
        }
        let sent = {
            let mut slices = [IoSlice::new(&[]); SLICES_MAX];
            let mut count = 0;
            for (slice, segment) in slices.iter_mut().zip(&self.segments) {
                *slice = IoSlice::new(match segment {
                    Segment::Arena { start, end } => &self.arena[*start..*end],
                    Segment::Task { user, start, end } => buffers.outgoing(*user, *start, *end),
                    Segment::Owned { bytes, start } => &bytes[*start..],
                });
                count += 1;
            }
            let Some(sent) = assay_tcp::send(stream, &slices[..count])? else { return Ok(false) };
            sent
        };
        self.advance(sent, buffers);
        Ok(self.segments.is_empty())
    }

    fn advance<T: Buffers>(&mut self, mut sent: usize, buffers: &mut T) {
        while let Some(segment) = self.segments.front_mut() {
            let length = match segment {
                Segment::Arena { start, end } => *end - *start,
                Segment::Task { start, end, .. } => (*end - *start) as usize,
                Segment::Owned { bytes, start } => bytes.len() - *start,
            };
            if sent < length {
                match segment {
                    Segment::Arena { start, .. } | Segment::Owned { start, .. } => *start += sent,
                    Segment::Task { start, .. } => *start += assay_tcp::u32_of(sent),
                }
                return;
            }
            sent -= length;
            if let Some(Segment::Task { user, .. }) = self.segments.pop_front() {
                buffers.release(user);
            }
        }
        self.arena.clear();
    }
}
