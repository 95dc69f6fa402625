//! What a unit must be to be the same unit as before: its identity, and data that were written to it.
//!
//! A target may put another disk behind a LUN number at any time. Whoever drives a unit from several initiators gives
//! them one [`UnitProof`]: the first that comes up records what the unit is, and every path of each proves itself
//! against that before it carries I/O. As some targets give every disk behind a number one serial and one name, a few
//! blocks that were written lately are remembered, too, as witnesses: no other disk holds them.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use crate::scsi::Capacity;

/// Blocks that are remembered. A path proves itself with any of them.
pub(crate) const WITNESSES: usize = 8;
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

/// A block that was written, and the sum of its data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Witness {
    pub slot: usize,
    pub lba: u64,
    pub crc: u32,
}

/// What a unit must be to be the same unit as before, shared by the initiators that drive it.
#[derive(Debug)]
pub struct UnitProof {
    known: Mutex<Option<(UnitIdentity, Capacity)>>,
    /// Block numbers; `NONE` where nothing is remembered.
    blocks: [AtomicU64; WITNESSES],
    sums: [AtomicU64; WITNESSES],
    next: AtomicUsize,
}

impl Default for UnitProof {
    fn default() -> Self {
        Self {
            known: Mutex::new(None),
            blocks: [const { AtomicU64::new(NONE) }; WITNESSES],
            sums: [const { AtomicU64::new(0) }; WITNESSES],
            next: AtomicUsize::new(0),
        }
    }
}

impl UnitProof {
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
    }

    /// Remembers a block that was written.
    pub(crate) fn remember(&self, lba: u64, data: &[u8]) {
        // Zeros are on every other disk as well.
        if data.iter().all(|byte| *byte == 0) {
            return;
        }
        let slot = self.next.fetch_add(1, Ordering::Relaxed) % WITNESSES;
        self.blocks[slot].store(NONE, Ordering::Release);
        self.sums[slot].store(crc32c::crc32c(data).into(), Ordering::Release);
        self.blocks[slot].store(lba, Ordering::Release);
    }

    /// Every block that is remembered.
    pub(crate) fn witnesses(&self) -> Vec<Witness> {
        (0..WITNESSES).filter_map(|slot| self.witness(slot)).collect()
    }

    /// True if the block is still remembered as it was.
    pub(crate) fn still_holds(&self, witness: Witness) -> bool {
        self.witness(witness.slot) == Some(witness)
    }

    fn witness(&self, slot: usize) -> Option<Witness> {
        let lba = self.blocks[slot].load(Ordering::Acquire);
        let crc = u32::try_from(self.sums[slot].load(Ordering::Acquire)).expect("it was made from 32 bits");
        (lba != NONE).then_some(Witness { slot, lba, crc })
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
        }
        let blocks = || proof.witnesses().iter().map(|witness| witness.lba).collect::<Vec<_>>();
        assert_eq!(blocks(), [8, 9, 2, 3, 4, 5, 6, 7]);
        let third = proof.witnesses()[2];
        assert!(proof.still_holds(third));
        proof.forget(1, 4);
        assert_eq!(blocks(), [8, 9, 5, 6, 7]);
        assert!(!proof.still_holds(third));
        proof.forget(10, 100);
        proof.remember(20, &[0; 512]);
        assert_eq!(blocks(), [8, 9, 5, 6, 7], "zeros prove nothing");
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
