//! The writes and trims that an initiator has in flight, for the other initiators of its unit.
//!
//! Two writes to a block that are in flight at the same time may be executed in any order, so neither says what the
//! block holds. Workers are threads of their own with an initiator each; therefore each lists what it changes, and a
//! block identifies the unit only if no listed command changes it (see [`proof`](crate::proof)).

use crate::sync::{AtomicU64, Ordering};

/// First block of an entry without a command.
const NONE: u64 = u64::MAX;

#[derive(Debug)]
struct Entry {
    /// First block; `NONE` while there is no command.
    lba: AtomicU64,
    /// First block after it.
    end: AtomicU64,
}

/// The list of one initiator, with an entry for each of its slots. Only the initiator changes it, so it needs no lock.
///
/// Subtleness ahead! A command is listed before the blocks that it changes are forgotten, and a candidate is stored
/// before the lists are read. In the single order of sequentially consistent accesses, either the command finds the
/// candidate or the candidate finds the command.
#[derive(Debug)]
pub(crate) struct Changes(Box<[Entry]>);

impl Changes {
    pub(crate) fn new(slots: u32) -> Self {
        let empty = || Entry { lba: AtomicU64::new(NONE), end: AtomicU64::new(NONE) };
        Self(std::iter::repeat_with(empty).take(slots as usize).collect())
    }

    /// Lists a write or trim that is about to be submitted.
    #[inline]
    pub(crate) fn begin(&self, slot: u32, lba: u64, blocks: u32) {
        let entry = &self.0[slot as usize];
        entry.end.store(lba.saturating_add(blocks.into()), Ordering::Release);
        entry.lba.store(lba, Ordering::SeqCst);
    }

    /// Removes a command that has completed. One that failed stays listed while its slot is free: the target may
    /// still execute it.
    #[inline]
    pub(crate) fn end(&self, slot: u32) {
        self.0[slot as usize].lba.store(NONE, Ordering::SeqCst);
    }

    /// Returns true if a command other than that of slot `but` changes the block.
    pub(crate) fn cover(&self, block: u64, but: Option<u32>) -> bool {
        let covers = |entry: &Entry| {
            let lba = entry.lba.load(Ordering::SeqCst);
            lba <= block && block < entry.end.load(Ordering::SeqCst)
        };
        (0_u32..).zip(&self.0).any(|(slot, entry)| Some(slot) != but && covers(entry))
    }
}
