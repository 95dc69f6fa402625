//! Storage for commands, their buffers and their calls while the file owns them.
//!
//! A command is one I/O of the caller; a call is one READ or WRITE of the protocol. A command larger than the server's
//! limit has several calls. Nothing here is allocated after the start.

use std::time::Instant;

use assay_tcp::{Table, Timed};

use super::Kind;
use crate::error::IoError;
use crate::nfs3::{CALL_BYTES_MAX, Template};
use crate::transport::Outgoing;

/// Calls are found by the low bits of their xid; the other bits distinguish a call from the previous one with the same
/// index.
const INDEX_BITS: u32 = 13;

/// One I/O of the caller.
#[derive(Debug)]
pub(crate) struct Slot<B> {
    pub tag: u64,
    pub kind: Kind,
    pub offset_bytes: u64,
    pub data_bytes: u32,
    pub buf: Option<B>,
    /// Number of bytes assigned to calls.
    pub handed_bytes: u32,
    /// Number of outstanding calls.
    pub call_count: u32,
    /// End of the file as found by a short read, bytes from the start of the I/O.
    pub end_bytes: u32,
    pub error: Option<IoError>,
    /// Connection of its calls.
    pub path: Option<u8>,
    /// True for a write with a call that was sent over a connection which was lost before its answer.
    pub is_moved: bool,
    /// Time of submission.
    pub submitted_at: Instant,
    pub sent_at: Option<Instant>,
}

impl<B> Timed for Slot<B> {
    fn submitted_at(&self) -> Option<Instant> {
        Some(self.submitted_at)
    }

    /// Its calls are paused.
    fn paused_until(&self) -> Option<Instant> {
        None
    }
}

/// Owner of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Owner {
    Free,
    Io { slot: u32 },
    Ping,
    Commit,
}

/// State of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CallState {
    /// Not assigned to a connection.
    Waiting,
    /// Assigned to this connection, to be sent when it is up again.
    Bound { path: u8 },
    /// In the send queue of a connection.
    Queued { path: u8 },
    /// Completely passed to the socket.
    Sent { path: u8 },
    /// Waiting until a time that the server requested.
    Paused { until: Instant },
    /// Answered.
    Answered,
}

/// One call.
#[derive(Debug)]
pub(crate) struct Call {
    pub owner: Owner,
    pub place: CallState,
    pub kind: Kind,
    /// Range of its command, bytes.
    pub start: u32,
    pub bytes: u32,
    pub xid: u32,
    pub sent_at: Instant,
    /// Time of the first attempt.
    pub first_at: Option<Instant>,
    pub attempts: u32,
    /// Announced by the head of its answer: number of bytes, and whether the file ends.
    pub announced: (u32, bool),

    head: [u8; CALL_BYTES_MAX],
    head_bytes: usize,
}

impl Timed for Call {
    /// The limits are those of its command.
    fn submitted_at(&self) -> Option<Instant> {
        None
    }

    fn paused_until(&self) -> Option<Instant> {
        match self.place {
            CallState::Paused { until } => Some(until),
            _ => None,
        }
    }
}

/// Commands and calls together, so that a call finds the bytes of its command.
#[derive(Debug)]
pub(crate) struct Tables<B> {
    slots: Table<Slot<B>>,
    calls: Table<Call>,
    next_xid: u32,
    /// Time of sending for calls in this turn.
    pub now: Instant,
}

impl<B: AsRef<[u8]> + AsMut<[u8]>> Tables<B> {
    pub(crate) fn new(slots: u32, calls: u32, first_xid: u32, now: Instant) -> Self {
        assert!(calls <= 1 << INDEX_BITS, "a call is named by its xid");
        let slot = || Slot {
            tag: 0,
            kind: Kind::Read,
            offset_bytes: 0,
            data_bytes: 0,
            buf: None,
            handed_bytes: 0,
            call_count: 0,
            end_bytes: 0,
            error: None,
            path: None,
            is_moved: false,
            submitted_at: now,
            sent_at: None,
        };
        let call = || Call {
            owner: Owner::Free,
            place: CallState::Answered,
            kind: Kind::Read,
            start: 0,
            bytes: 0,
            xid: 0,
            sent_at: now,
            first_at: None,
            attempts: 0,
            announced: (0, false),
            head: [0; CALL_BYTES_MAX],
            head_bytes: 0,
        };
        Self { slots: Table::new(slots, slot), calls: Table::new(calls, call), next_xid: first_xid, now }
    }

    pub(crate) fn slot(&mut self, slot: u32) -> &mut Slot<B> {
        self.slots.get_mut(slot)
    }

    pub(crate) fn call(&mut self, call: u32) -> &mut Call {
        self.calls.get_mut(call)
    }

    pub(crate) fn take_slot(&mut self) -> Option<u32> {
        self.slots.take()
    }

    /// Frees a slot and returns its buffer.
    pub(crate) fn put_slot(&mut self, slot: u32) -> B {
        self.slots.put(slot);
        self.slot(slot).buf.take().expect("a slot that is taken holds a buffer")
    }

    /// Returns a call for `owner`, to be encoded by the caller.
    pub(crate) fn take_call(&mut self, owner: Owner, kind: Kind) -> Option<u32> {
        let index = self.calls.take()?;
        let call = self.call(index);
        (call.owner, call.kind, call.place) = (owner, kind, CallState::Waiting);
        (call.attempts, call.first_at, call.start, call.bytes) = (0, None, 0, 0);
        Some(index)
    }

    pub(crate) fn put_call(&mut self, call: u32) {
        self.call(call).owner = Owner::Free;
        self.call(call).place = CallState::Answered;
        self.calls.put(call);
    }

    /// Encodes a call with an xid that no call in flight has.
    pub(crate) fn write_call(&mut self, index: u32, template: &Template) {
        let xid = self.next_xid << INDEX_BITS | index;
        self.next_xid = self.next_xid.wrapping_add(1);
        let call = self.calls.get(index);
        let offset_bytes = match call.owner {
            Owner::Io { slot } => self.slots.get(slot).offset_bytes + u64::from(call.start),
            _ => 0,
        };
        let call = self.calls.get_mut(index);
        call.xid = xid;
        call.head_bytes = template.fill(&mut call.head, xid, offset_bytes, call.bytes);
    }

    /// Returns the number of calls in the table.
    pub(crate) fn call_count(&self) -> usize {
        self.calls.capacity()
    }

    /// Returns the time at which a call was last sent.
    pub(crate) fn sent_at(&self, call: u32) -> Instant {
        self.calls.get(call).sent_at
    }

    /// Returns the call with that xid if it was sent or is being sent over `path`.
    pub(crate) fn find(&self, xid: u32, path: u8) -> Option<u32> {
        let index = xid & ((1 << INDEX_BITS) - 1);
        let call = self.calls.is_taken(index).then(|| self.calls.get(index))?;
        let is_here =
            matches!(call.place, CallState::Sent { path: p } | CallState::Queued { path: p } if p == path);
        (call.xid == xid && is_here).then_some(index)
    }

    /// Returns all outstanding calls.
    pub(crate) fn live(&self) -> impl Iterator<Item = (u32, &Call)> {
        self.calls.taken()
    }

    /// Returns the table of commands, for what concerns all of them alike.
    pub(crate) fn slots(&self) -> &Table<Slot<B>> {
        &self.slots
    }

    /// Returns the calls whose pause is over.
    pub(crate) fn resumable(&self, now: Instant) -> impl Iterator<Item = u32> {
        self.calls.resumable(now)
    }

    /// Returns the part of the caller's buffer into which a call reads.
    pub(crate) fn place_of(&mut self, call: u32, start: u32, end: u32) -> &mut [u8] {
        let call = self.calls.get(call);
        let Owner::Io { slot } = call.owner else { return &mut [] };
        let from = call.start as usize;
        let buf = self.slots.get_mut(slot).buf.as_mut().expect("a command in flight has its buffer");
        &mut buf.as_mut()[from + start as usize..from + end as usize]
    }
}

impl<B: AsRef<[u8]> + AsMut<[u8]>> Outgoing for Tables<B> {
    fn parts(&self, index: u32) -> [&[u8]; 3] {
        let call = self.calls.get(index);
        let head = &call.head[..call.head_bytes];
        match (call.kind, call.owner) {
            (Kind::Write, Owner::Io { slot }) => {
                let buf = self.slots.get(slot).buf.as_ref().expect("a command in flight has its buffer");
                let (from, to) = (call.start as usize, (call.start + call.bytes) as usize);
                let padding = crate::xdr::padding(call.bytes) as usize;
                [head, &buf.as_ref()[from..to], &[0; 3][..padding]]
            }
            _ => [head, &[], &[]],
        }
    }

    fn sent(&mut self, index: u32) {
        let now = self.now;
        let call = self.call(index);
        if let CallState::Queued { path } = call.place {
            call.place = CallState::Sent { path };
        }
        call.sent_at = now;
        call.first_at.get_or_insert(now);
        call.attempts += 1;
        if let Owner::Io { slot } = call.owner {
            self.slot(slot).sent_at.get_or_insert(now);
        }
    }
}
