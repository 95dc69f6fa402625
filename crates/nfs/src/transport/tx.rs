//! Sending: calls wait in a queue and are sent together in one vectored write, payload directly from the caller's
//! buffer.
//!
//! The head of a call is kept, so that the same bytes, with the same xid, can be sent again on another connection.

use std::collections::VecDeque;
use std::io::{self, IoSlice};
use std::net::TcpStream;

use assay_tcp::SLICES_MAX;

/// Access to the bytes of calls.
pub(crate) trait Outgoing {
    /// Returns the parts of a call: head, data, padding.
    fn parts(&self, call: u32) -> [&[u8]; 3];
    /// The last byte of a call was passed to the socket.
    fn sent(&mut self, call: u32);
}

/// The sending half of a connection.
#[derive(Debug)]
pub(crate) struct Tx {
    queue: VecDeque<u32>,
    /// Number of bytes of the first call that were sent.
    gone_bytes: usize,
}

impl Tx {
    /// Returns a queue for up to `calls` calls.
    pub(crate) fn new(calls: usize) -> Self {
        Self { queue: VecDeque::with_capacity(calls), gone_bytes: 0 }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    pub(crate) fn push(&mut self, call: u32) {
        self.queue.push_back(call);
    }

    /// Sends until everything is sent or the socket accepts no more.
    pub(crate) fn flush<T: Outgoing>(&mut self, stream: &TcpStream, calls: &mut T) -> io::Result<()> {
        while !self.queue.is_empty() {
            let Some((sent, offered)) = self.send_once(stream, calls)? else { return Ok(()) };
            self.advance(sent, calls);
            if sent < offered {
                return Ok(());
            }
        }
        Ok(())
    }

    /// Makes one system call; returns the number of bytes accepted and offered, or `None` if the socket accepts nothing
    /// now.
    fn send_once<T: Outgoing>(&self, stream: &TcpStream, calls: &T) -> io::Result<Option<(usize, usize)>> {
        let mut slices = [IoSlice::new(&[]); SLICES_MAX];
        let (mut count, mut offered, mut skip) = (0, 0, self.gone_bytes);
        'calls: for call in &self.queue {
            for part in calls.parts(*call) {
                let skipped = skip.min(part.len());
                skip -= skipped;
                let part = &part[skipped..];
                if part.is_empty() {
                    continue;
                }
                if count == SLICES_MAX {
                    break 'calls;
                }
                slices[count] = IoSlice::new(part);
                (count, offered) = (count + 1, offered + part.len());
            }
        }
        Ok(assay_tcp::send(stream, &slices[..count])?.map(|sent| (sent, offered)))
    }

    fn advance<T: Outgoing>(&mut self, sent: usize, calls: &mut T) {
        self.gone_bytes += sent;
        while let Some(call) = self.queue.front() {
            let length: usize = calls.parts(*call).iter().map(|part| part.len()).sum();
            if self.gone_bytes < length {
                return;
            }
            self.gone_bytes -= length;
            calls.sent(*call);
            self.queue.pop_front();
        }
        debug_assert_eq!(self.gone_bytes, 0, "nothing is sent beyond the last call");
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;
    use std::net::TcpListener;

    use super::*;

    struct Calls {
        parts: Vec<[Vec<u8>; 3]>,
        sent: Vec<u32>,
    }

    impl Outgoing for Calls {
        fn parts(&self, call: u32) -> [&[u8]; 3] {
            self.parts[call as usize].each_ref().map(Vec::as_slice)
        }

        fn sent(&mut self, call: u32) {
            self.sent.push(call);
        }
    }

    #[test]
    fn every_byte_is_sent_once_and_in_order_however_little_the_socket_accepts() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (mut peer, _) = listener.accept().unwrap();
        let parts: Vec<[Vec<u8>; 3]> = (0..200u32)
            .map(|call| {
                let data = vec![call.to_le_bytes()[0]; (call as usize % 7) * 30_000 + (call as usize % 3)];
                [call.to_be_bytes().to_vec(), data, vec![0; call as usize % 4]]
            })
            .collect();
        let expected: Vec<u8> = parts.iter().flatten().flatten().copied().collect();
        let (mut calls, mut tx) = (Calls { parts, sent: vec![] }, Tx::new(200));
        (0..200).for_each(|call| tx.push(call));
        let reader = std::thread::spawn(move || {
            let mut all = Vec::new();
            peer.read_to_end(&mut all).unwrap();
            all
        });
        while !tx.is_empty() {
            tx.flush(&stream, &mut calls).unwrap();
        }
        drop(stream);
        assert!(reader.join().unwrap() == expected);
        assert_eq!(calls.sent, (0..200).collect::<Vec<_>>());
    }
}
