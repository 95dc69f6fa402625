//! Trims in flight, of all initiators of a unit.
//!
//! A block that is being trimmed identifies no unit: its data is about to disappear. Workers are threads of their own,
//! so one may complete a write to a block while the trim of another one is under way. Therefore every trim is listed
//! here before it is sent, and a block is remembered only if no listed trim covers it.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

/// Number of trims that are listed with their ranges. While there are more, no block is remembered.
const LISTED_MAX: usize = 64;
/// First block of an entry without a trim.
const NONE: u64 = u64::MAX;

/// Place of a trim in the list, from its submission to its completion.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Listing {
    /// It has an entry.
    Entry(usize),
    /// All entries were taken.
    Counted,
}

#[derive(Debug)]
struct Entry {
    is_taken: AtomicBool,
    /// First block; `NONE` while there is no trim.
    lba: AtomicU64,
    /// First block after it.
    end: AtomicU64,
}

/// The list. It needs no lock: an entry belongs to one trim at a time.
///
/// Subtleness ahead! A trim is listed before witnesses in its range are forgotten, and a witness is stored before the
/// list is read. In the single order of sequentially consistent accesses, either the trim finds the witness or the
/// witness finds the trim.
#[derive(Debug)]
pub(crate) struct TrimsInFlight {
    entries: [Entry; LISTED_MAX],
    /// Number of trims without an entry.
    counted: AtomicUsize,
}

impl Default for TrimsInFlight {
    fn default() -> Self {
        let empty = || Entry {
            is_taken: AtomicBool::new(false),
            lba: AtomicU64::new(NONE),
            end: AtomicU64::new(NONE),
        };
        Self { entries: std::array::from_fn(|_| empty()), counted: AtomicUsize::new(0) }
    }
}

impl TrimsInFlight {
    /// Lists a trim of the blocks from `lba` to before `end`.
    pub(crate) fn begin(&self, lba: u64, end: u64) -> Listing {
        let is_free = |entry: &Entry| {
            entry.is_taken.compare_exchange(false, true, Ordering::SeqCst, Ordering::SeqCst).is_ok()
        };
        let Some(index) = self.entries.iter().position(is_free) else {
            self.counted.fetch_add(1, Ordering::SeqCst);
            return Listing::Counted;
        };
        self.entries[index].end.store(end, Ordering::SeqCst);
        self.entries[index].lba.store(lba, Ordering::SeqCst);
        Listing::Entry(index)
    }

    /// Removes a trim that has ended.
    pub(crate) fn end(&self, listing: Listing) {
        match listing {
            Listing::Counted => {
                self.counted.fetch_sub(1, Ordering::SeqCst);
            }
            Listing::Entry(index) => {
                self.entries[index].lba.store(NONE, Ordering::SeqCst);
                self.entries[index].is_taken.store(false, Ordering::SeqCst);
            }
        }
    }

    /// Returns true if a trim of this block may be in flight.
    pub(crate) fn may_cover(&self, block: u64) -> bool {
        let covers = |entry: &Entry| {
            let lba = entry.lba.load(Ordering::SeqCst);
            lba != NONE && lba <= block && block < entry.end.load(Ordering::SeqCst)
        };
        self.counted.load(Ordering::SeqCst) > 0 || self.entries.iter().any(covers)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_is_covered_from_the_begin_of_a_trim_to_its_end() {
        let trims = TrimsInFlight::default();
        let (one, other) = (trims.begin(10, 20), trims.begin(15, 30));
        let covered = || [9, 10, 19, 20, 29, 30].map(|block| trims.may_cover(block));
        assert_eq!(covered(), [false, true, true, true, true, false]);
        trims.end(one);
        assert_eq!(covered(), [false, false, true, true, true, false]);
        trims.end(other);
        assert_eq!(covered(), [false; 6]);
    }

    #[test]
    fn while_there_are_more_trims_than_entries_every_block_counts_as_covered() {
        let trims = TrimsInFlight::default();
        let listed: Vec<Listing> = (0..65).map(|at| trims.begin(at, at + 1)).collect();
        assert_eq!(listed[64], Listing::Counted);
        assert!(trims.may_cover(1000));
        trims.end(listed[64]);
        assert!(!trims.may_cover(1000) && trims.may_cover(63));
        listed[..64].iter().for_each(|listing| trims.end(*listing));
        assert!(!trims.may_cover(63));
    }
}
