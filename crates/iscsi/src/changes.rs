//! The writes and trims that an initiator has in flight, for the other initiators of its unit.
//!
//! Two writes to a block that are in flight at the same time may be executed in any order, so neither says what the
//! block holds. Workers are threads of their own with an initiator each; therefore each lists what it changes, and a
//! block identifies the unit only if no listed command changes it (see [`proof`](crate::proof)).

use std::ops::Range;

use crate::sync::{AtomicU64, Ordering};

/// Number of strays that are listed one by one: all that 16 initiators can have in flight.
const STRAYS_MAX: usize = 65_536;

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

    /// Removes a command that has completed. One that failed stays listed while its slot is free; if the target may
    /// still execute it, it is a stray as well.
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

/// Writes and trims that have failed and that the target may execute at any time: their connection had ended, and their
/// time was over before their session was known to have ended.
#[derive(Debug, Default)]
pub(crate) struct Strays {
    next: u64,
    /// Number of each, and its blocks.
    all: Vec<(u64, Range<u64>)>,
    /// What includes the blocks of those for which there was no room; they count for ever.
    others: Range<u64>,
}

impl Strays {
    /// Lists a command, and returns its number, which is greater than those before.
    pub(crate) fn add(&mut self, lba: u64, blocks: u32) -> u64 {
        let number = self.next;
        self.next += 1;
        let range = lba..lba.saturating_add(blocks.into());
        if self.all.len() < STRAYS_MAX {
            self.all.push((number, range));
        } else if self.others.is_empty() {
            self.others = range;
        } else {
            self.others = self.others.start.min(range.start)..self.others.end.max(range.end);
        }
        number
    }

    /// Removes those that the target has dropped.
    pub(crate) fn remove(&mut self, is_gone: impl Fn(u64) -> bool) {
        self.all.retain(|(number, _)| !is_gone(*number));
    }

    /// Returns true if one of them changes the block.
    pub(crate) fn cover(&self, block: u64) -> bool {
        self.others.contains(&block) || self.all.iter().any(|(_, range)| range.contains(&block))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strays_cover_their_blocks_until_they_are_gone_and_those_without_room_for_ever() {
        let mut strays = Strays::default();
        let first = strays.add(10, 3);
        assert_eq!([9, 10, 12, 13].map(|block| strays.cover(block)), [false, true, true, false]);
        assert_eq!(first, 0);
        strays.remove(|number| number < 1);
        assert!(!strays.cover(10));
        (0..STRAYS_MAX as u64).for_each(|at| _ = strays.add(1000 + at, 1));
        strays.add(5, 2);
        strays.add(20, 1);
        strays.remove(|_| true);
        assert_eq!([4, 5, 15, 20, 21].map(|block| strays.cover(block)), [false, true, true, true, false]);
    }
}
