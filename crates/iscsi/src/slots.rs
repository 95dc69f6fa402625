//! Storage for commands and their buffers while the initiator owns them.
//!
//! A slot keeps its buffer through every state of the command: waiting, assigned to a path, requeued after a failure,
//! completed. Nothing here is allocated after the start.

use std::time::Instant;

use assay_tcp::{Table, Timed};

use crate::pdu::Direction;
use crate::proof::Candidate;
use crate::scsi::cdb::{Cdb, UNMAP_LIST_BYTES};
use crate::session::{Request, TaskOutcome};
use crate::transport::Buffers;

/// The payload of a slot.
#[derive(Debug)]
pub(crate) enum Data<B> {
    None,
    User(B),
    /// The parameter list of a trim, and the caller's buffer, which only returns with the completion.
    Trim {
        list: [u8; UNMAP_LIST_BYTES],
        buf: B,
    },
    Control(Vec<u8>),
}

impl<B: AsRef<[u8]> + AsMut<[u8]>> Data<B> {
    pub(crate) fn bytes(&self) -> &[u8] {
        match self {
            Self::None => &[],
            Self::User(buffer) => buffer.as_ref(),
            Self::Trim { list, .. } => list,
            Self::Control(bytes) => bytes,
        }
    }

    fn bytes_mut(&mut self) -> &mut [u8] {
        match self {
            // No data comes in with a trim.
            Self::None | Self::Trim { .. } => &mut [],
            Self::User(buffer) => buffer.as_mut(),
            Self::Control(bytes) => bytes,
        }
    }
}

/// Recipient of the result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Owner {
    /// Nobody: the slot is free.
    Free,
    /// The caller of `submit`.
    Caller { tag: u64 },
    /// A control command, awaited by its sender.
    Control,
    /// The examination of a path; it fails with the path.
    Probe { path: u8 },
}

/// State of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CommandState {
    /// Not assigned to a path.
    Waiting,
    /// Assigned to a path, not passed to its session yet.
    Bound { path: u8 },
    /// In the session of a path, not passed to the socket yet.
    Started { path: u8 },
    /// Passed to the connection of a path: the target may have it.
    Sent { path: u8 },
    /// Sent on a path that failed; must not be sent again until the old task is known to be gone.
    Fenced { path: u8 },
    /// Waiting until a time.
    Paused { until: Instant },
    /// Completed; its last bytes are still in the send queue.
    Ending,
    /// A completed control command; its sender reads it next.
    Ended,
}

/// One command.
#[derive(Debug)]
pub(crate) struct Slot<B> {
    pub owner: Owner,
    pub place: CommandState,
    pub data: Data<B>,
    pub cdb: Cdb,
    pub direction: Direction,
    pub transfer_bytes: u32,
    /// First block of a caller's write or trim.
    pub lba: u64,
    /// Number of blocks of it; 0 for any other command.
    pub blocks: u32,
    /// The block of a write that may become a witness of the unit.
    pub candidate: Option<Candidate>,
    /// Path of the last attempt.
    pub last_path: Option<u8>,
    /// True for a write of which the target may execute another copy at any time, even after newer ones.
    pub is_moved: bool,
    pub attempts: u32,
    pub submitted_at: Instant,
    pub sent_at: Instant,
    /// Outcome that is kept while `held_count` is not zero.
    pub outcome: Option<TaskOutcome>,
    /// Number of pieces of the buffer in the send queue of a connection.
    pub held_count: u32,
}

impl<B> Slot<B> {
    pub(crate) fn is_trim(&self) -> bool {
        matches!(self.data, Data::Trim { .. })
    }
}

impl<B> Timed for Slot<B> {
    /// The examination of a path has limits of its own.
    fn submitted_at(&self) -> Option<Instant> {
        (!matches!(self.owner, Owner::Probe { .. })).then_some(self.submitted_at)
    }

    fn paused_until(&self) -> Option<Instant> {
        match self.place {
            CommandState::Paused { until } => Some(until),
            _ => None,
        }
    }
}

/// All slots.
#[derive(Debug)]
pub(crate) struct Slots<B>(Table<Slot<B>>);

impl<B> Slots<B> {
    pub(crate) fn new(count: u32, now: Instant) -> Self {
        let empty = || Slot {
            owner: Owner::Free,
            place: CommandState::Waiting,
            data: Data::None,
            cdb: [0; 16],
            direction: Direction::None,
            transfer_bytes: 0,
            lba: 0,
            blocks: 0,
            candidate: None,
            last_path: None,
            is_moved: false,
            attempts: 0,
            submitted_at: now,
            sent_at: now,
            outcome: None,
            held_count: 0,
        };
        Self(Table::new(count, empty))
    }

    pub(crate) fn take(&mut self) -> Option<u32> {
        self.0.take()
    }

    /// Frees a slot and returns its data.
    pub(crate) fn put(&mut self, index: u32) -> Data<B> {
        self.0.put(index);
        let slot = self.0.get_mut(index);
        debug_assert!(slot.owner != Owner::Free, "a command ends once");
        debug_assert!(slot.held_count == 0, "a buffer must not leave while its bytes wait to be sent");
        slot.owner = Owner::Free;
        // A stale state would make a late completion of this command look like that of a live one.
        slot.place = CommandState::Waiting;
        slot.outcome = None;
        std::mem::replace(&mut slot.data, Data::None)
    }

    pub(crate) fn get(&self, index: u32) -> &Slot<B> {
        self.0.get(index)
    }

    pub(crate) fn get_mut(&mut self, index: u32) -> &mut Slot<B> {
        self.0.get_mut(index)
    }

    /// Releases every buffer in the send queue of a path's connection, which has ended.
    pub(crate) fn release_all(&mut self, path: u8) {
        for at in 0..self.0.capacity() {
            let slot = self.0.get_mut(u32::try_from(at).expect("a few thousand"));
            if slot.last_path == Some(path) {
                slot.held_count = 0;
            }
        }
    }

    /// Returns all commands, with their numbers.
    pub(crate) fn live(&self) -> impl Iterator<Item = (u32, &Slot<B>)> {
        self.0.taken()
    }

    /// Returns the table, for what concerns all commands alike.
    pub(crate) fn table(&self) -> &Table<Slot<B>> {
        &self.0
    }

    pub(crate) fn request(&self, index: u32) -> Request {
        let slot = self.get(index);
        Request { user: index, cdb: slot.cdb, direction: slot.direction, transfer_bytes: slot.transfer_bytes }
    }
}

impl<B: AsRef<[u8]> + AsMut<[u8]>> Slots<B> {
    pub(crate) fn incoming(&mut self, user: u32, start: u32, end: u32) -> &mut [u8] {
        &mut self.get_mut(user).data.bytes_mut()[start as usize..end as usize]
    }
}

impl<B: AsRef<[u8]> + AsMut<[u8]>> Buffers for Slots<B> {
    fn outgoing(&self, user: u32, start: u32, end: u32) -> &[u8] {
        &self.get(user).data.bytes()[start as usize..end as usize]
    }

    fn hold(&mut self, user: u32) {
        self.get_mut(user).held_count += 1;
    }

    fn release(&mut self, user: u32) {
        self.get_mut(user).held_count -= 1;
    }
}
