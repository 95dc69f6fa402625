//! Proof that a unit is the same unit as before: its identity, and data written to it.
//!
//! A target may put another disk behind a LUN number at any time. Several initiators of one unit share one
//! [`UnitProof`]: the first login records the unit's identity, and every path of each initiator is verified against it
//! before it carries I/O. Because some targets report one serial number and one name for every disk behind a number, a
//! few recently written blocks are remembered as witnesses too: no other disk holds them. Until the first write has
//! completed, whose data are the first witness, a unit must hold the same data as when it was inspected.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock};
use std::time::Instant;

use crate::scsi::Capacity;
use crate::trims::{Listing, TrimsInFlight};

/// Number of blocks that are remembered. Any one of them verifies a path.
pub(crate) const WITNESSES: usize = 8;
/// Interval between two remembered blocks; together they cover more time than the pause between two checks.
const REMEMBER_EVERY_MS: u64 = 250;
/// Marks an empty slot.
const NONE: u64 = u64::MAX;
/// No slot at all.
const NO_SLOT: usize = usize::MAX;

/// A check during I/O.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Check {
    /// TEST UNIT READY: does the unit exist?
    Presence,
    /// READ of a written block: does it hold the written data?
    Content(Witness),
}

/// Identity that a unit reports.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct UnitIdentity {
    /// Vendor and product, from INQUIRY.
    pub product: String,
    /// Unit serial number (VPD page 80).
    pub serial: Option<String>,
    /// World-wide name (VPD page 83).
    pub wwid: Option<String>,
}

impl UnitIdentity {
    /// Returns the first difference from `known` in words; `None` if there is none.
    pub(crate) fn difference(&self, known: &Self) -> Option<String> {
        let words = |value: &Option<String>| value.clone().unwrap_or_else(|| "none".into());
        let pairs = [
            ("serial number", words(&known.serial), words(&self.serial)),
            ("WWID", words(&known.wwid), words(&self.wwid)),
            ("product", known.product.clone(), self.product.clone()),
        ];
        let (what, before, now) = pairs.into_iter().find(|(_, before, now)| before != now)?;
        Some(format!("its {what} is {now}, not {before}"))
    }
}

/// Blocks with known content, and the checksum of their data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Witness {
    pub source: Source,
    pub lba: u64,
    pub blocks: u32,
    pub crc: u32,
}

/// Why the data of a witness is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Source {
    /// The blocks were written: one matching witness is proof, because another initiator may write to the others.
    Written { slot: usize },
    /// The blocks were read during the inspection: every one must be unchanged, because many disks hold zeros.
    Inspected { index: usize },
}

/// Blocks that were read during the inspection.
#[derive(Debug)]
struct Inspected {
    lba: u64,
    blocks: u32,
    crc: u32,
    /// True once this run has written to them.
    is_written: AtomicBool,
}

/// Proof of a unit's identity, shared by the initiators that use it.
#[derive(Debug)]
pub struct UnitProof {
    known: Mutex<Option<(UnitIdentity, Capacity)>>,
    /// Block numbers; `NONE` in an empty slot.
    blocks: [AtomicU64; WITNESSES],
    sums: [AtomicU64; WITNESSES],
    /// Content of the unit at its inspection; empty for a unit that is only read.
    inspected: OnceLock<Vec<Inspected>>,
    /// Number of these blocks that were not written since.
    unwritten: AtomicUsize,
    /// True once a write has completed.
    is_written: AtomicBool,
    began: Instant,
    /// Times at which the blocks were remembered, ms since the proof began.
    remembered_ms: [AtomicU64; WITNESSES],
    /// Number of reports that the unit may be another one.
    doubts: AtomicU64,
    /// Trims whose blocks identify nothing.
    trims: TrimsInFlight,
    /// Slot of the witness that trims leave out; `NO_SLOT` before the first trim.
    kept: AtomicUsize,
}

impl Default for UnitProof {
    fn default() -> Self {
        Self::begun_at(Instant::now())
    }
}

impl UnitProof {
    /// Returns an empty proof that began at this time.
    #[must_use]
    pub fn begun_at(began: Instant) -> Self {
        Self {
            known: Mutex::new(None),
            blocks: [const { AtomicU64::new(NONE) }; WITNESSES],
            sums: [const { AtomicU64::new(0) }; WITNESSES],
            inspected: OnceLock::new(),
            unwritten: AtomicUsize::new(0),
            is_written: AtomicBool::new(false),
            began,
            remembered_ms: [const { AtomicU64::new(0) }; WITNESSES],
            doubts: AtomicU64::new(0),
            trims: TrimsInFlight::default(),
            kept: AtomicUsize::new(NO_SLOT),
        }
    }
}

impl UnitProof {
    /// Records the content of the unit at its inspection: pieces of whole blocks, each with its first block. Only the
    /// first call has an effect.
    pub fn inspected(&self, block_bytes: u32, pieces: &[(u64, Vec<u8>)]) {
        let of_piece = |(lba, data): &(u64, Vec<u8>)| {
            let blocks = u32::try_from(data.len()).ok()?.checked_div(block_bytes)?;
            let is_whole = blocks > 0 && data.len() == blocks as usize * block_bytes as usize;
            let crc = crc32c::crc32c(data);
            is_whole.then(|| Inspected { lba: *lba, blocks, crc, is_written: AtomicBool::new(false) })
        };
        let pieces: Vec<Inspected> = pieces.iter().filter_map(of_piece).collect();
        let count = pieces.len();
        if self.inspected.set(pieces).is_ok() {
            self.unwritten.store(count, Ordering::Release);
        }
    }

    /// Returns true once a write has completed, so that the unit holds data that no other disk holds.
    #[inline]
    pub(crate) fn is_written(&self) -> bool {
        self.is_written.load(Ordering::Acquire)
    }

    /// Records that a write has completed.
    pub(crate) fn written(&self) {
        self.is_written.store(true, Ordering::Release);
    }

    /// Records that the unit may be another one: every path of every initiator is verified again.
    pub(crate) fn doubt(&self) {
        self.doubts.fetch_add(1, Ordering::AcqRel);
    }

    /// Returns the number of times that the unit was doubted.
    #[inline]
    pub(crate) fn doubts(&self) -> u64 {
        self.doubts.load(Ordering::Acquire)
    }

    /// Compares a unit with the known one; records the first one. The error names the difference.
    pub(crate) fn compare(&self, identity: &UnitIdentity, capacity: Capacity) -> Result<(), Difference> {
        let mut known = self.known.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let Some((before, size)) = known.as_ref() else {
            *known = Some((identity.clone(), capacity));
            return Ok(());
        };
        if let Some(why) = identity.difference(before) {
            return Err(Difference::Identity(why));
        }
        match (size.blocks, size.block_bytes) == (capacity.blocks, capacity.block_bytes) {
            true => Ok(()),
            false => Err(Difference::Size { before: size.bytes(), now: capacity.bytes() }),
        }
    }

    /// Forgets witnesses in blocks that are about to be written. Called for every write.
    #[inline]
    pub(crate) fn forget(&self, lba: u64, blocks: u32) {
        for block in &self.blocks {
            // Another thread may replace it at this moment: the new block is not being written then.
            if block.load(Ordering::Relaxed).wrapping_sub(lba) < u64::from(blocks) {
                block.store(NONE, Ordering::Release);
            }
        }
        if self.unwritten.load(Ordering::Acquire) > 0 {
            self.forget_inspected(lba, blocks);
        }
    }

    /// Forgets witnesses in blocks that are about to be trimmed, and lists the trim as being in flight. Returns the
    /// block that it must leave out, if it is one of them: without a witness, another disk that takes over the number
    /// of the unit could not be detected.
    pub(crate) fn begin_trim(&self, lba: u64, blocks: u32) -> (Listing, Option<u64>) {
        let end = lba.saturating_add(blocks.into());
        // Listed first, or a block could be remembered unnoticed (see `TrimsInFlight`).
        let listing = self.trims.begin(lba, end);
        let is_hit = |block: u64| block != NONE && lba <= block && block < end;
        let kept = self.kept_block(is_hit);
        for block in &self.blocks {
            let known = block.load(Ordering::SeqCst);
            if is_hit(known) && Some(known) != kept {
                // It may have been replaced since: then the new block stays.
                let _ = block.compare_exchange(known, NONE, Ordering::SeqCst, Ordering::SeqCst);
            }
        }
        if self.unwritten.load(Ordering::Acquire) > 0 {
            self.forget_inspected(lba, blocks);
        }
        (listing, kept.filter(|block| is_hit(*block)))
    }

    /// Ends a trim.
    pub(crate) fn end_trim(&self, listing: Listing) {
        self.trims.end(listing);
    }

    /// Returns the block that trims leave out, which is the same for all threads until it is written or replaced. A new
    /// one is preferably not `hit` by the trim at hand.
    fn kept_block(&self, hit: impl Fn(u64) -> bool) -> Option<u64> {
        let block_of = |slot: usize| {
            let block = self.blocks.get(slot)?.load(Ordering::SeqCst);
            (block != NONE).then_some(block)
        };
        let before = self.kept.load(Ordering::SeqCst);
        if let Some(block) = block_of(before) {
            return Some(block);
        }
        let known = || (0..WITNESSES).filter_map(|slot| Some((slot, block_of(slot)?)));
        let (slot, _) = known().find(|(_, block)| !hit(*block)).or_else(|| known().next())?;
        let chosen = self.kept.compare_exchange(before, slot, Ordering::SeqCst, Ordering::SeqCst);
        block_of(chosen.map_or_else(|by_another| by_another, |_| slot))
    }

    fn forget_inspected(&self, lba: u64, blocks: u32) {
        let end = lba.saturating_add(blocks.into());
        for piece in self.inspected.get().into_iter().flatten() {
            let is_hit = piece.lba < end && lba < piece.lba + u64::from(piece.blocks);
            if is_hit && !piece.is_written.swap(true, Ordering::AcqRel) {
                self.unwritten.fetch_sub(1, Ordering::AcqRel);
            }
        }
    }

    /// Remembers a written block.
    pub(crate) fn remember(&self, lba: u64, data: &[u8], now: Instant) {
        // Other disks hold zeros as well.
        if data.iter().all(|byte| *byte == 0) || self.trims.may_cover(lba) {
            return;
        }
        let free = (0..WITNESSES).find(|slot| self.witness(*slot).is_none());
        let oldest = || (0..WITNESSES).min_by_key(|slot| self.age(*slot));
        let Some(slot) = free.or_else(oldest) else { return };
        self.blocks[slot].store(NONE, Ordering::Release);
        self.remembered_ms[slot].store(self.ms_at(now), Ordering::Release);
        self.sums[slot].store(crc32c::crc32c(data).into(), Ordering::Release);
        // Stored before the trims are read again (see `TrimsInFlight`).
        self.blocks[slot].store(lba, Ordering::SeqCst);
        if self.trims.may_cover(lba) {
            self.blocks[slot].store(NONE, Ordering::SeqCst);
        }
    }

    /// Returns the witnesses that verify a path: all remembered blocks, oldest first, or else the inspected content
    /// that was not written since.
    pub(crate) fn witnesses(&self) -> Vec<Witness> {
        let mut slots: Vec<usize> = (0..WITNESSES).collect();
        slots.sort_by_key(|slot| self.age(*slot));
        let written: Vec<Witness> = slots.into_iter().filter_map(|slot| self.witness(slot)).collect();
        if !written.is_empty() {
            return written;
        }
        (0..self.inspected.get().map_or(0, Vec::len)).filter_map(|index| self.as_inspected(index)).collect()
    }

    /// Returns the block to check during I/O: the one remembered first, because a recently written one may already have
    /// gone to another disk, or else a piece of the inspected content.
    pub(crate) fn oldest(&self) -> Option<Witness> {
        let oldest =
            (0..WITNESSES).filter(|slot| self.witness(*slot).is_some()).min_by_key(|slot| self.age(*slot));
        let pieces = self.inspected.get().map_or(0, Vec::len);
        let written = oldest.and_then(|slot| self.witness(slot));
        written.or_else(|| (0..pieces).find_map(|index| self.as_inspected(index)))
    }

    /// Returns true if the next write is to be remembered: a slot is empty, or the last block was remembered a while
    /// ago.
    pub(crate) fn wants_witness(&self, now: Instant) -> bool {
        let last = (0..WITNESSES).map(|slot| self.age(slot)).max().unwrap_or(0);
        self.ms_at(now) >= last + REMEMBER_EVERY_MS || (0..WITNESSES).any(|slot| self.witness(slot).is_none())
    }

    /// Returns the time at which a block was remembered, ms since the proof began.
    fn age(&self, slot: usize) -> u64 {
        self.remembered_ms[slot].load(Ordering::Acquire)
    }

    fn ms_at(&self, now: Instant) -> u64 {
        u64::try_from(now.saturating_duration_since(self.began).as_millis()).unwrap_or(u64::MAX)
    }

    /// Returns true if the blocks are still known to hold these data.
    pub(crate) fn still_holds(&self, witness: Witness) -> bool {
        let known = match witness.source {
            Source::Written { slot } => self.witness(slot),
            Source::Inspected { index } => self.as_inspected(index),
        };
        known == Some(witness)
    }

    fn witness(&self, slot: usize) -> Option<Witness> {
        let lba = self.blocks[slot].load(Ordering::Acquire);
        let crc = u32::try_from(self.sums[slot].load(Ordering::Acquire)).expect("it was made from 32 bits");
        (lba != NONE).then_some(Witness { source: Source::Written { slot }, lba, blocks: 1, crc })
    }

    fn as_inspected(&self, index: usize) -> Option<Witness> {
        let Inspected { lba, blocks, crc, is_written } = self.inspected.get()?.get(index)?;
        let witness = Witness { source: Source::Inspected { index }, lba: *lba, blocks: *blocks, crc: *crc };
        (!is_written.load(Ordering::Acquire)).then_some(witness)
    }
}

/// Difference between a unit and the known one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Difference {
    /// It is another unit, in words.
    Identity(String),
    /// Its size differs, bytes.
    Size { before: u64, now: u64 },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn witnesses_are_forgotten_when_their_block_is_written_and_replaced_in_turn() {
        let proof = UnitProof::default();
        for lba in 0..10 {
            proof.remember(lba, &[1; 512], Instant::now());
            std::thread::sleep(std::time::Duration::from_millis(2));
        }
        let blocks = || proof.witnesses().iter().map(|witness| witness.lba).collect::<Vec<_>>();
        assert_eq!(blocks(), [2, 3, 4, 5, 6, 7, 8, 9], "the oldest first");
        let first = proof.witnesses()[0];
        assert_eq!(proof.oldest(), Some(first));
        assert!(proof.still_holds(first));
        proof.forget(1, 4);
        assert_eq!(blocks(), [5, 6, 7, 8, 9]);
        assert!(!proof.still_holds(first));
        proof.forget(10, 100);
        proof.remember(20, &[0; 512], Instant::now());
        assert_eq!(blocks(), [5, 6, 7, 8, 9], "zeros prove nothing");
    }

    #[test]
    fn trims_leave_out_one_witness_and_what_is_in_flight_becomes_none() {
        let proof = UnitProof::default();
        assert_eq!(proof.begin_trim(0, 100).1, None, "nothing is known yet");
        proof.remember(7, &[1; 512], Instant::now());
        assert_eq!(proof.witnesses(), [], "the trim may come after the write");
        proof.end_trim(Listing::Entry(0));
        for lba in [7, 20, 30] {
            proof.remember(lba, &[1; 512], Instant::now());
        }
        let blocks = || proof.witnesses().iter().map(|witness| witness.lba).collect::<Vec<_>>();
        let (first, kept) = proof.begin_trim(0, 25);
        assert_eq!((kept, blocks()), (None, vec![30]), "another one remains");
        let (second, kept) = proof.begin_trim(30, 1);
        assert_eq!((kept, blocks()), (Some(30), vec![30]), "the last one");
        proof.end_trim(first);
        proof.end_trim(second);
        // Every trim leaves out the same block: two that cover one witness each would otherwise remove both.
        proof.remember(8, &[1; 512], Instant::now());
        assert_eq!(proof.begin_trim(0, 100).1, Some(30));
        proof.forget(30, 1);
        assert_eq!((proof.begin_trim(40, 1).1, blocks()), (None, vec![]));
    }

    #[test]
    fn before_the_first_write_a_unit_must_hold_its_inspected_content() {
        let proof = UnitProof::default();
        proof.inspected(512, &[(0, vec![0; 1024]), (8, vec![7; 512]), (20, vec![7; 100])]);
        let seen = || proof.witnesses().iter().map(|w| (w.lba, w.blocks)).collect::<Vec<_>>();
        assert_eq!(seen(), [(0, 2), (8, 1)], "a part of a block is none");
        let first = proof.witnesses()[0];
        proof.forget(1, 7);
        assert_eq!(seen(), [(8, 1)]);
        assert!(!proof.still_holds(first));
        proof.remember(1, &[3; 512], Instant::now());
        assert_eq!(seen(), [(1, 1)], "what was written proves more");
        proof.forget(1, 1);
        assert_eq!(seen(), [(8, 1)]);
    }

    #[test]
    fn the_first_unit_is_recorded_and_every_other_is_compared_with_it() {
        let proof = UnitProof::default();
        let capacity = |blocks| Capacity { blocks, block_bytes: 512, ..Capacity::default() };
        let one = UnitIdentity { product: "A B".into(), serial: Some("1".into()), wwid: None };
        assert_eq!(proof.compare(&one, capacity(10)), Ok(()));
        assert_eq!(proof.compare(&one, capacity(10)), Ok(()));
        let size = Difference::Size { before: 5120, now: 5632 };
        assert_eq!(proof.compare(&one, capacity(11)), Err(size));
        let other = UnitIdentity { serial: Some("2".into()), ..one.clone() };
        let words = "its serial number is 2, not 1".to_owned();
        assert_eq!(proof.compare(&other, capacity(10)), Err(Difference::Identity(words)));
        let named = UnitIdentity { wwid: Some("naa.5".into()), ..one };
        assert!(proof.compare(&named, capacity(10)).is_err(), "one that got a name is another one");
    }
}
