//! What a unit must be to be the same unit as before: its identity, and data that were written to it.
//!
//! A target may put another disk behind a LUN number at any time. Whoever drives a unit from several initiators gives
//! them one [`UnitProof`]: the first that comes up records what the unit is, and every path of each proves itself
//! against that before it carries I/O. As some targets give every disk behind a number one serial and one name, a few
//! blocks that were written lately are remembered, too, as witnesses: no other disk holds them. Until the first write
//! has ended, whose data are the first witness, a unit must hold what it held when it was inspected.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock};
use std::time::Instant;

use crate::scsi::Capacity;

/// Blocks that are remembered. A path proves itself with any of them.
pub(crate) const WITNESSES: usize = 8;
/// All of them together reach back further than the pause between two looks.
const REMEMBER_EVERY_MS: u64 = 250;
/// No block.
const NONE: u64 = u64::MAX;

/// What a unit says of itself.
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
    /// The first difference from `known` in words; `None` where there is none.
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

/// Blocks that are known, and the sum of their data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Witness {
    pub source: Source,
    pub lba: u64,
    pub blocks: u32,
    pub crc: u32,
}

/// How the data of a witness are known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Source {
    /// They were written: one witness of several is proof, as another initiator may write beside this one.
    Written { slot: usize },
    /// They were there when the unit was inspected: every one must be as it was, as many disks hold zeros.
    Inspected { index: usize },
}

/// Blocks that were read when the unit was inspected.
#[derive(Debug)]
struct Inspected {
    lba: u64,
    blocks: u32,
    crc: u32,
    /// This run has written to them since.
    is_written: AtomicBool,
}

/// What a unit must be to be the same unit as before, shared by the initiators that drive it.
#[derive(Debug)]
pub struct UnitProof {
    known: Mutex<Option<(UnitIdentity, Capacity)>>,
    /// Block numbers; `NONE` where nothing is remembered.
    blocks: [AtomicU64; WITNESSES],
    sums: [AtomicU64; WITNESSES],
    /// What the unit held when it was inspected; nothing where it is only read.
    inspected: OnceLock<Vec<Inspected>>,
    /// Of those, the ones that were not written since.
    unwritten: AtomicUsize,
    /// A write has ended.
    is_written: AtomicBool,
    began: Instant,
    /// When each block was remembered, ms since then.
    remembered_ms: [AtomicU64; WITNESSES],
    /// How often a target reported that the unit may be another one.
    doubts: AtomicU64,
}

impl Default for UnitProof {
    fn default() -> Self {
        Self {
            known: Mutex::new(None),
            blocks: [const { AtomicU64::new(NONE) }; WITNESSES],
            sums: [const { AtomicU64::new(0) }; WITNESSES],
            inspected: OnceLock::new(),
            unwritten: AtomicUsize::new(0),
            is_written: AtomicBool::new(false),
            began: Instant::now(),
            remembered_ms: [const { AtomicU64::new(0) }; WITNESSES],
            doubts: AtomicU64::new(0),
        }
    }
}

impl UnitProof {
    /// Notes what the unit held when it was inspected: pieces of whole blocks, each with its first block. Only the
    /// first call counts.
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

    /// True once a write has ended: there is something that no other disk holds.
    #[inline]
    pub(crate) fn is_written(&self) -> bool {
        self.is_written.load(Ordering::Acquire)
    }

    /// Notes that a write has ended.
    pub(crate) fn written(&self) {
        self.is_written.store(true, Ordering::Release);
    }

    /// Notes that the unit may be another one: every path of every initiator proves itself.
    pub(crate) fn doubt(&self) {
        self.doubts.fetch_add(1, Ordering::AcqRel);
    }

    /// Returns how often the unit was doubted.
    #[inline]
    pub(crate) fn doubts(&self) -> u64 {
        self.doubts.load(Ordering::Acquire)
    }

    /// Compares a unit with what is known; the first one is recorded. An error says what differs.
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

    /// Forgets witnesses among blocks that are about to be written. Called for every write.
    #[inline]
    pub(crate) fn forget(&self, lba: u64, blocks: u32) {
        for block in &self.blocks {
            // Another thread may replace it at this moment: then it is one that is written by nobody.
            if block.load(Ordering::Relaxed).wrapping_sub(lba) < u64::from(blocks) {
                block.store(NONE, Ordering::Release);
            }
        }
        if self.unwritten.load(Ordering::Acquire) > 0 {
            self.forget_inspected(lba, blocks);
        }
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

    /// Remembers a block that was written.
    pub(crate) fn remember(&self, lba: u64, data: &[u8]) {
        // Zeros are on every other disk as well.
        if data.iter().all(|byte| *byte == 0) {
            return;
        }
        let free = (0..WITNESSES).find(|slot| self.witness(*slot).is_none());
        let oldest = || (0..WITNESSES).min_by_key(|slot| self.age(*slot));
        let Some(slot) = free.or_else(oldest) else { return };
        self.blocks[slot].store(NONE, Ordering::Release);
        self.remembered_ms[slot].store(self.now_ms(), Ordering::Release);
        self.sums[slot].store(crc32c::crc32c(data).into(), Ordering::Release);
        self.blocks[slot].store(lba, Ordering::Release);
    }

    /// Returns by what a path proves itself: every block that is remembered, the oldest first, else what the unit held
    /// when it was inspected and was not written since.
    pub(crate) fn witnesses(&self) -> Vec<Witness> {
        let mut slots: Vec<usize> = (0..WITNESSES).collect();
        slots.sort_by_key(|slot| self.age(*slot));
        let written: Vec<Witness> = slots.into_iter().filter_map(|slot| self.witness(slot)).collect();
        if !written.is_empty() {
            return written;
        }
        (0..self.inspected.get().map_or(0, Vec::len)).filter_map(|index| self.as_inspected(index)).collect()
    }

    /// Returns what to look at beside the I/O: the block that was remembered first, as one that was written lately
    /// may have gone to another disk already, else a piece of what was inspected.
    pub(crate) fn oldest(&self) -> Option<Witness> {
        let oldest =
            (0..WITNESSES).filter(|slot| self.witness(*slot).is_some()).min_by_key(|slot| self.age(*slot));
        let pieces = self.inspected.get().map_or(0, Vec::len);
        let written = oldest.and_then(|slot| self.witness(slot));
        written.or_else(|| (0..pieces).find_map(|index| self.as_inspected(index)))
    }

    /// Returns true if the next write is to be remembered: there is room, or the last one was remembered a while ago.
    pub(crate) fn wants_witness(&self) -> bool {
        let last = (0..WITNESSES).map(|slot| self.age(slot)).max().unwrap_or(0);
        self.now_ms() >= last + REMEMBER_EVERY_MS || (0..WITNESSES).any(|slot| self.witness(slot).is_none())
    }

    /// When a block was remembered, ms since the proof began.
    fn age(&self, slot: usize) -> u64 {
        self.remembered_ms[slot].load(Ordering::Acquire)
    }

    fn now_ms(&self) -> u64 {
        u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    /// True if the blocks are still known to hold these data.
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

/// How a unit differs from the known one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Difference {
    /// It is another unit, in words.
    Identity(String),
    /// It has another size, bytes.
    Size { before: u64, now: u64 },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn witnesses_are_forgotten_when_their_block_is_written_and_replaced_in_turn() {
        let proof = UnitProof::default();
        for lba in 0..10 {
            proof.remember(lba, &[1; 512]);
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
        proof.remember(20, &[0; 512]);
        assert_eq!(blocks(), [5, 6, 7, 8, 9], "zeros prove nothing");
    }

    #[test]
    fn until_something_is_written_a_unit_must_hold_what_it_held_when_it_was_inspected() {
        let proof = UnitProof::default();
        proof.inspected(512, &[(0, vec![0; 1024]), (8, vec![7; 512]), (20, vec![7; 100])]);
        let seen = || proof.witnesses().iter().map(|w| (w.lba, w.blocks)).collect::<Vec<_>>();
        assert_eq!(seen(), [(0, 2), (8, 1)], "a part of a block is none");
        let first = proof.witnesses()[0];
        proof.forget(1, 7);
        assert_eq!(seen(), [(8, 1)]);
        assert!(!proof.still_holds(first));
        proof.remember(1, &[3; 512]);
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
