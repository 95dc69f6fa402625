//! Receiving: headers through a small buffer, payload directly into its destination.

use std::io::{self, IoSliceMut};
use std::net::TcpStream;

use rustix::net::{RecvAncillaryBuffer, RecvFlags};

/// Size of the receive buffer, bytes: about 30 answers of 4 KiB per call.
const BUFFER_BYTES: usize = 128 * 1024;
/// Payload of which at least this many bytes are missing is read directly into its destination. For less, copying it
/// out of the buffer costs less than a further system call.
pub const DIRECT_BYTES_MIN: u32 = 8 * 1024;
/// Number of bytes read beyond the payload into the buffer: the next header and a little more, which is copied.
const AHEAD_BYTES: usize = 512;
/// Number of consecutive reads of one connection, so that a busy one does not starve the others.
const READS_MAX: usize = 8;

/// Whether a read may block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Blocking {
    /// The read returns what is available.
    Never,
    /// The read blocks until data arrives, at most for [`crate::READ_LIMIT`].
    Sleep,
}

impl Blocking {
    fn flags(self) -> RecvFlags {
        match self {
            Self::Never => RecvFlags::DONTWAIT,
            Self::Sleep => RecvFlags::empty(),
        }
    }
}

/// Result of one read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Read {
    /// Data arrived.
    Bytes {
        /// Number of bytes, in the destination and in the buffer.
        count: usize,
        /// Number of these bytes that went directly into the destination.
        placed: u32,
        /// The socket is empty; reading again would only cost a call.
        is_last: bool,
    },
    /// No data is available.
    Nothing,
    /// A signal interrupted the read.
    Interrupted,
    /// The peer has closed the connection.
    Closed,
}

/// Result of one turn of [`receive`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flow {
    /// Continue with the next data.
    Continue,
    /// Leave the rest in the buffer: its format changes, as after a login.
    Stop,
}

/// Receives from a socket until it is empty or `turn` returns [`Flow::Stop`]; `turn` reads once and parses all that
/// arrived. Returns the number of bytes, or `None` if the peer has closed the connection.
///
/// With [`Blocking::Sleep`] the first read blocks until data arrives.
pub fn receive<E>(
    mut blocking: Blocking,
    mut turn: impl FnMut(Blocking) -> Result<(Read, Flow), E>,
) -> Result<Option<usize>, E> {
    let mut bytes = 0;
    for _ in 0..READS_MAX {
        match turn(blocking)? {
            (Read::Bytes { count, is_last, .. }, flow) => {
                bytes += count;
                blocking = Blocking::Never;
                if is_last || flow == Flow::Stop {
                    break;
                }
            }
            (Read::Nothing, _) => break,
            (Read::Interrupted, _) => {}
            (Read::Closed, _) => return Ok(None),
        }
    }
    Ok(Some(bytes))
}

/// Bytes that were received and not yet parsed.
#[derive(Debug)]
pub struct Inbox {
    buffer: Box<[u8]>,
    start: usize,
    end: usize,
}

impl Default for Inbox {
    fn default() -> Self {
        Self { buffer: vec![0; BUFFER_BYTES].into_boxed_slice(), start: 0, end: 0 }
    }
}

impl Inbox {
    /// Returns the bytes that were received and not consumed.
    pub fn available(&self) -> &[u8] {
        &self.buffer[self.start..self.end]
    }

    /// Discards the first `bytes` of the available bytes.
    pub fn consume(&mut self, bytes: usize) {
        debug_assert!(bytes <= self.end - self.start, "only what is there can be consumed");
        self.start += bytes;
    }

    /// Reads into the buffer. `expect_large`: the next payload will be read directly into its destination, so that data
    /// read far ahead would only be copied.
    pub fn fill(&mut self, stream: &TcpStream, blocking: Blocking, expect_large: bool) -> io::Result<Read> {
        if self.start == self.end {
            (self.start, self.end) = (0, 0);
        } else if self.start > BUFFER_BYTES / 2 {
            self.buffer.copy_within(self.start..self.end, 0);
            (self.start, self.end) = (0, self.end - self.start);
        }
        let limit = if expect_large { (self.end + AHEAD_BYTES).min(BUFFER_BYTES) } else { BUFFER_BYTES };
        let space = &mut self.buffer[self.end..limit];
        let wanted = space.len();
        let read = rustix::net::recv(stream, space, blocking.flags()).map(|(count, _)| count);
        let read = outcome(read, 0, wanted)?;
        if let Read::Bytes { count, .. } = read {
            self.end += count;
        }
        Ok(read)
    }

    /// Reads into `place`, and a little of the following data into the buffer, which must be empty.
    pub fn fill_place(
        &mut self,
        stream: &TcpStream,
        blocking: Blocking,
        place: &mut [u8],
    ) -> io::Result<Read> {
        debug_assert_eq!(self.start, self.end, "buffered payload was placed before");
        let missing = place.len();
        let slices = &mut [IoSliceMut::new(place), IoSliceMut::new(&mut self.buffer[..AHEAD_BYTES])];
        let read =
            rustix::net::recvmsg(stream, slices, &mut RecvAncillaryBuffer::default(), blocking.flags());
        let read = outcome(read.map(|message| message.bytes), missing, missing + AHEAD_BYTES)?;
        if let Read::Bytes { count, placed, .. } = read {
            (self.start, self.end) = (0, count - placed as usize);
        }
        Ok(read)
    }
}

fn outcome(read: rustix::io::Result<usize>, place_bytes: usize, wanted: usize) -> io::Result<Read> {
    match read {
        Ok(0) => Ok(Read::Closed),
        Ok(count) => {
            Ok(Read::Bytes { count, placed: crate::u32_of(count.min(place_bytes)), is_last: count < wanted })
        }
        Err(rustix::io::Errno::AGAIN) => Ok(Read::Nothing),
        Err(rustix::io::Errno::INTR) => Ok(Read::Interrupted),
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::net::TcpListener;

    use super::*;

    #[test]
    fn a_receive_ends_at_an_empty_socket_a_stop_a_close_or_the_read_limit() {
        let bytes = |is_last| Read::Bytes { count: 3, placed: 0, is_last };
        let take = |reads: &[(Read, Flow)]| {
            let mut blocking_seen = Vec::new();
            let mut left = reads.iter().copied();
            let taken = receive::<()>(Blocking::Sleep, |blocking| {
                blocking_seen.push(blocking);
                Ok(left.next().unwrap_or((bytes(false), Flow::Continue)))
            });
            (taken.unwrap(), blocking_seen)
        };
        let (taken, blocking) = take(&[]);
        assert_eq!((taken, blocking.len()), (Some(3 * READS_MAX), READS_MAX), "the others have their turn");
        assert!(blocking[0] == Blocking::Sleep && blocking[1..].iter().all(|p| *p == Blocking::Never));
        let go = Flow::Continue;
        assert_eq!(take(&[(bytes(false), go), (bytes(true), go)]).0, Some(6));
        assert_eq!(take(&[(bytes(false), Flow::Stop)]).0, Some(3));
        assert_eq!(take(&[(Read::Interrupted, go), (bytes(false), go), (Read::Nothing, go)]).0, Some(3));
        assert_eq!(take(&[(bytes(false), go), (Read::Closed, go)]).0, None);
    }

    #[test]
    fn bytes_arrive_in_order_in_the_buffer_and_in_their_destinations() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (mut peer, _) = listener.accept().unwrap();
        let mut inbox = Inbox::default();
        assert_eq!(inbox.fill(&stream, Blocking::Never, false).unwrap(), Read::Nothing);
        // Header, payload, header: the first through the buffer, the second into its destination, the third read ahead.
        let payload: Vec<u8> = (0..40_000u32).map(|n| n.to_le_bytes()[1]).collect();
        peer.write_all(b"head").unwrap();
        let read = inbox.fill(&stream, Blocking::Sleep, true).unwrap();
        assert_eq!(read, Read::Bytes { count: 4, placed: 0, is_last: true });
        assert_eq!(inbox.available(), b"head");
        inbox.consume(4);
        let mut place = vec![0; payload.len()];
        let expected = payload.clone();
        let writer = std::thread::spawn(move || {
            peer.write_all(&payload).unwrap();
            peer.write_all(b"next").unwrap();
        });
        let mut done = 0;
        while done < place.len() {
            match inbox.fill_place(&stream, Blocking::Sleep, &mut place[done..]).unwrap() {
                Read::Bytes { placed, .. } => done += placed as usize,
                other => panic!("{other:?}"),
            }
        }
        assert!(place == expected);
        writer.join().unwrap();
        while inbox.available().len() < 4 {
            inbox.fill(&stream, Blocking::Sleep, true).unwrap();
        }
        assert_eq!(inbox.available(), b"next");
        inbox.consume(4);
        assert_eq!(inbox.fill(&stream, Blocking::Sleep, false).unwrap(), Read::Closed);
    }
}
