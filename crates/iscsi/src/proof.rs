//! Proof that a unit is the same unit as before: its identity, and data written to it.
//!
//! A target may put another disk behind a LUN number at any time. Several initiators of one unit share one
//! [`UnitProof`]: the first login records the unit's identity, and every path of each initiator is verified against it
//! before it carries I/O. Because some targets report one serial number and one name for every disk behind a number, a
//! few recently written blocks are remembered as witnesses too: no other disk holds them. Until the first write has
//! completed, whose data are the first witness, a unit must hold the same data as when it was inspected.

//! A block is a [`Candidate`] from the submission of its write to its completion, and a witness only if nothing else
//! that any initiator had in flight meanwhile changes it.

use std::sync::{Arc, OnceLock, PoisonError, Weak};
use std::time::Instant;

use crate::changes::{Changes, Strays};
use crate::scsi::Capacity;
use crate::sync::{AtomicBool, AtomicU64, AtomicUsize, Mutex, MutexGuard, Ordering};

/// Number of blocks that are remembered. Any one of them verifies a path.
pub(crate) const WITNESSES: usize = 8;
/// Interval between two remembered blocks. The one that is checked is a second old, and stays for three.
const REMEMBER_EVERY_MS: u64 = 500;
/// Time after which a read of a block counts as given up.
const READ_MAX_MS: u64 = 30_000;
/// Marks an empty slot.
const NONE: u64 = u64::MAX;
/// Bit of the block number of a candidate.
const PENDING: u64 = 1 << 63;
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
    /// Number of blocks that were remembered in its place before.
    turn: u32,
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

/// A block whose write is in flight and that may become a witness.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Candidate {
    slot: usize,
    lba: u64,
}

/// What the initiators of a unit have in flight.
#[derive(Debug, Default)]
struct InFlight {
    /// The list of each.
    initiators: Vec<Weak<Changes>>,
    /// What failed, and may be executed all the same.
    strays: Strays,
}

/// Proof of a unit's identity, shared by the initiators that use it.
#[derive(Debug)]
pub struct UnitProof {
    known: Mutex<Option<(UnitIdentity, Capacity)>>,
    /// What is in flight. Locked by whoever chooses a candidate.
    changes: Mutex<InFlight>,
    /// Block numbers; with `PENDING` those of candidates, `NONE` in an empty slot.
    blocks: [AtomicU64; WITNESSES],
    /// Checksums of their data, and above these how often each place was taken.
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
    /// Times until which a check reads the blocks at most, ms since the proof began.
    read_ms: [AtomicU64; WITNESSES],
    /// Number of reports that the unit may be another one.
    doubts: AtomicU64,
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
    pub fn begun_at(began: Instant) -> Self {
        Self {
            known: Mutex::new(None),
            changes: Mutex::default(),
            blocks: std::array::from_fn(|_| AtomicU64::new(NONE)),
            sums: std::array::from_fn(|_| AtomicU64::new(0)),
            inspected: OnceLock::new(),
            unwritten: AtomicUsize::new(0),
            is_written: AtomicBool::new(false),
            began,
            remembered_ms: std::array::from_fn(|_| AtomicU64::new(0)),
            read_ms: std::array::from_fn(|_| AtomicU64::new(0)),
            doubts: AtomicU64::new(0),
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

    /// Returns the list for what an initiator with so many slots has in flight.
    pub(crate) fn join(&self, slots: u32) -> Arc<Changes> {
        let own = Arc::new(Changes::new(slots));
        let all = &mut self.in_flight().initiators;
        all.retain(|other| other.strong_count() > 0);
        all.push(Arc::downgrade(&own));
        own
    }

    fn in_flight(&self) -> MutexGuard<'_, InFlight> {
        self.changes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records that a listed write or trim has failed and that the target may still execute it. Returns its number.
    pub(crate) fn stray(&self, lba: u64, blocks: u32) -> u64 {
        self.in_flight().strays.add(lba, blocks)
    }

    /// Records that the target has dropped strays.
    pub(crate) fn strays_gone(&self, is_gone: impl Fn(u64) -> bool) {
        self.in_flight().strays.remove(is_gone);
    }

    /// Forgets witnesses in blocks that are about to be written. Called for every write, once it is listed.
    #[inline]
    pub(crate) fn forget(&self, lba: u64, blocks: u32) {
        for block in &self.blocks {
            // Another thread may replace it at this moment, and that one is forgotten: a witness less.
            let known = block.load(Ordering::SeqCst);
            if known != NONE && (known & !PENDING).wrapping_sub(lba) < u64::from(blocks) {
                block.store(NONE, Ordering::SeqCst);
            }
        }
        if self.unwritten.load(Ordering::Acquire) > 0 {
            self.forget_inspected(lba, blocks);
        }
    }

    /// Forgets witnesses in blocks that are about to be trimmed; the trim is listed. Returns the block that it must
    /// leave out, if it is one of them: without a witness, another disk that takes over the number of the unit could
    /// not be detected.
    pub(crate) fn begin_trim(&self, lba: u64, blocks: u32) -> Option<u64> {
        let end = lba.saturating_add(blocks.into());
        let is_hit = |block: u64| block != NONE && lba <= block & !PENDING && block & !PENDING < end;
        let kept = self.kept_block(is_hit);
        for block in &self.blocks {
            // A candidate may become a witness meanwhile: it is looked at again.
            let mut known = block.load(Ordering::SeqCst);
            while is_hit(known)
                && Some(known) != kept
                && let Err(now) = block.compare_exchange(known, NONE, Ordering::SeqCst, Ordering::SeqCst)
            {
                known = now;
            }
        }
        if self.unwritten.load(Ordering::Acquire) > 0 {
            self.forget_inspected(lba, blocks);
        }
        kept.filter(|block| is_hit(*block))
    }

    /// Returns the block that trims leave out, which is the same for all threads until it is written or replaced. A new
    /// one is preferably not `hit` by the trim at hand.
    fn kept_block(&self, hit: impl Fn(u64) -> bool) -> Option<u64> {
        let block_of = |slot: usize| {
            let block = self.blocks.get(slot)?.load(Ordering::SeqCst);
            (block & PENDING == 0).then_some(block)
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

    /// Chooses a block as a candidate, whose write is listed in slot `slot` of `own` and about to be submitted; `data`
    /// is what it writes to the block. `None` if the block would prove nothing, or no place is left.
    pub(crate) fn choose(
        &self,
        lba: u64,
        data: &[u8],
        own: &Changes,
        (slot, now): (u32, Instant),
    ) -> Option<Candidate> {
        let all = self.in_flight();
        let is_changed = || {
            let of_other = |other: Arc<Changes>| {
                let is_own = std::ptr::eq(Arc::as_ptr(&other), own);
                other.cover(lba, is_own.then_some(slot))
            };
            all.strays.cover(lba) || all.initiators.iter().filter_map(Weak::upgrade).any(of_other)
        };
        // Other disks hold zeros as well.
        if data.iter().all(|byte| *byte == 0) || is_changed() {
            return None;
        }
        let free = (0..WITNESSES).find(|at| self.blocks[*at].load(Ordering::SeqCst) == NONE);
        let now_ms = self.ms_at(now);
        let is_idle = |at: &usize| self.read_ms[*at].load(Ordering::Acquire) <= now_ms;
        let written = (0..WITNESSES).filter(|at| self.witness(*at).is_some()).filter(is_idle);
        let at = free.or_else(|| written.min_by_key(|at| self.age(*at)))?;
        self.blocks[at].store(NONE, Ordering::SeqCst);
        let turn = (self.sums[at].load(Ordering::SeqCst) >> 32).wrapping_add(1) & u64::from(u32::MAX);
        self.sums[at].store(turn << 32 | u64::from(crc32c::crc32c(data)), Ordering::SeqCst);
        self.blocks[at].store(lba | PENDING, Ordering::SeqCst);
        let candidate = Candidate { slot: at, lba };
        // Stored before the lists are read again (see `Changes`).
        if is_changed() {
            self.dismiss(candidate);
            return None;
        }
        Some(candidate)
    }

    /// Makes a candidate whose write has completed a witness, unless its block was forgotten.
    pub(crate) fn remember(&self, Candidate { slot, lba }: Candidate, now: Instant) {
        self.remembered_ms[slot].store(self.ms_at(now), Ordering::Release);
        let _ = self.blocks[slot].compare_exchange(lba | PENDING, lba, Ordering::SeqCst, Ordering::SeqCst);
    }

    /// Gives up a candidate whose write has failed.
    pub(crate) fn dismiss(&self, Candidate { slot, lba }: Candidate) {
        let _ = self.blocks[slot].compare_exchange(lba | PENDING, NONE, Ordering::SeqCst, Ordering::SeqCst);
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

    /// Returns the block to check during I/O, and whether it is proof: the newest of those remembered before
    /// `known_at`, when the unit was the known one, as a later one may have gone to another disk. Or else the oldest,
    /// or a piece of the inspected content, which is proof where the unit was not looked at before. It is not replaced
    /// while it is read.
    pub(crate) fn to_check(&self, known_at: Option<Instant>, now: Instant) -> Option<(Witness, bool)> {
        let known_ms = known_at.map(|at| self.ms_at(at));
        let taken = || (0..WITNESSES).filter(|slot| self.witness(*slot).is_some());
        let before = taken().filter(|slot| known_ms.is_some_and(|known_ms| self.age(*slot) < known_ms));
        let newest = before.max_by_key(|slot| self.age(*slot));
        let slot = newest.or_else(|| taken().min_by_key(|slot| self.age(*slot)));
        let is_proof = newest.is_some() || known_at.is_none();
        if let Some(slot) = slot {
            self.read_ms[slot].store(self.ms_at(now) + READ_MAX_MS, Ordering::Release);
            return self.witness(slot).map(|witness| (witness, is_proof));
        }
        let pieces = self.inspected.get().map_or(0, Vec::len);
        (0..pieces).find_map(|index| self.as_inspected(index)).map(|witness| (witness, true))
    }

    /// Records that the read of a block has ended.
    pub(crate) fn was_read(&self, witness: Witness) {
        if let Source::Written { slot } = witness.source {
            self.read_ms[slot].store(0, Ordering::Release);
        }
    }

    /// Returns true if the next write is to be remembered: a slot is empty, or the last block was remembered a while
    /// ago.
    pub(crate) fn wants_witness(&self, now: Instant) -> bool {
        let last = (0..WITNESSES).map(|slot| self.age(slot)).max().unwrap_or(0);
        let block = |slot: usize| self.blocks[slot].load(Ordering::Acquire);
        // One candidate at a time: on a slow disk each would take the place of a block that is known.
        if (0..WITNESSES).any(|slot| block(slot) != NONE && block(slot) & PENDING != 0) {
            return false;
        }
        self.ms_at(now) >= last + REMEMBER_EVERY_MS || (0..WITNESSES).any(|slot| block(slot) == NONE)
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
        let lba = self.blocks[slot].load(Ordering::SeqCst);
        let sum = self.sums[slot].load(Ordering::SeqCst);
        let half = |bits: u64| u32::try_from(bits).expect("half of 64 bits");
        let (turn, crc) = (half(sum >> 32), half(sum & u64::from(u32::MAX)));
        (lba & PENDING == 0).then_some(Witness {
            source: Source::Written { slot },
            lba,
            blocks: 1,
            crc,
            turn,
        })
    }

    fn as_inspected(&self, index: usize) -> Option<Witness> {
        let Inspected { lba, blocks, crc, is_written } = self.inspected.get()?.get(index)?;
        let (lba, blocks, crc) = (*lba, *blocks, *crc);
        let witness = Witness { source: Source::Inspected { index }, lba, blocks, crc, turn: 0 };
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
    use std::time::Duration;

    use super::*;

    /// An initiator, as far as witnesses concern it.
    struct Writer {
        proof: Arc<UnitProof>,
        own: Arc<Changes>,
    }

    impl Writer {
        fn new(proof: &Arc<UnitProof>) -> Self {
            Self { proof: Arc::clone(proof), own: proof.join(4) }
        }

        /// Submits a write of a block in a slot.
        fn begin(&self, slot: u32, lba: u64, data: &[u8]) -> Option<Candidate> {
            self.own.begin(slot, lba, 1);
            self.proof.forget(lba, 1);
            self.proof.choose(lba, data, &self.own, (slot, self.proof.began))
        }

        fn end(&self, slot: u32, candidate: Option<Candidate>, at_ms: u64) {
            let now = self.proof.began + Duration::from_millis(at_ms);
            candidate.into_iter().for_each(|candidate| self.proof.remember(candidate, now));
            self.own.end(slot);
        }

        fn write(&self, lba: u64, data: &[u8], at_ms: u64) {
            let candidate = self.begin(0, lba, data);
            self.end(0, candidate, at_ms);
        }

        fn trim(&self, slot: u32, lba: u64, blocks: u32) -> Option<u64> {
            self.own.begin(slot, lba, blocks);
            self.proof.begin_trim(lba, blocks)
        }
    }

    /// Runs a test that is no matter of threads.
    fn alone(test: impl Fn(&Writer, &Arc<UnitProof>) + Send + Sync + 'static) {
        let whole = move || {
            let proof = Arc::new(UnitProof::default());
            test(&Writer::new(&proof), &proof);
        };
        shuttle::check_random(whole, 1);
    }

    fn lbas(proof: &UnitProof) -> Vec<u64> {
        proof.witnesses().iter().map(|witness| witness.lba).collect()
    }

    #[test]
    fn witnesses_are_forgotten_when_their_block_is_written_and_replaced_in_turn() {
        alone(|writer, proof| {
            (0..10).for_each(|lba| writer.write(lba, &[1; 512], lba * 2));
            assert_eq!(lbas(proof), [2, 3, 4, 5, 6, 7, 8, 9], "the oldest first");
            let first = proof.witnesses()[0];
            let at = |at_ms| proof.began + Duration::from_millis(at_ms);
            let checked =
                |at_ms| proof.to_check(Some(at(at_ms)), at(99)).map(|(w, is_proof)| (w.lba, is_proof));
            // Blocks 2 to 9, of 4 to 18 ms.
            assert_eq!(checked(4), Some((2, false)), "none is older than the last look");
            assert_eq!([checked(13), checked(99)], [Some((6, true)), Some((9, true))]);
            assert_eq!(
                proof.to_check(None, at(99)),
                Some((first, true)),
                "the unit was not looked at before"
            );
            assert!(proof.still_holds(first));
            proof.forget(1, 4);
            assert_eq!(lbas(proof), [5, 6, 7, 8, 9]);
            assert!(!proof.still_holds(first));
            proof.forget(10, 100);
            writer.write(20, &[0; 512], 30);
            assert_eq!(lbas(proof), [5, 6, 7, 8, 9], "zeros prove nothing");
        });
    }

    #[test]
    fn a_block_is_not_replaced_while_it_is_read_and_none_is_while_a_write_is_in_flight() {
        alone(|writer, proof| {
            (0..8).for_each(|lba| writer.write(lba, &[1; 512], lba * 2));
            let at = |at_ms| proof.began + Duration::from_millis(at_ms);
            let (read, _) = proof.to_check(Some(at(1)), at(20)).unwrap();
            assert_eq!(read.lba, 0);
            assert!(!proof.wants_witness(at(400)) && proof.wants_witness(at(600)));
            let candidate = writer.begin(0, 20, &[1; 512]);
            assert_eq!(lbas(proof), [0, 2, 3, 4, 5, 6, 7], "the next one is replaced");
            assert!(!proof.wants_witness(at(9_000)), "a slow write replaces one block, not all");
            writer.end(0, candidate, 600);
            proof.was_read(read);
            writer.write(21, &[1; 512], 1200);
            assert_eq!(lbas(proof), [2, 3, 4, 5, 6, 7, 20, 21]);
        });
    }

    /// Two workers wrote to the same block at the same time: the disk held what the one had written, and the other's
    /// data were the witness. Enough of these, and the storage was said to have lost acknowledged writes.
    #[test]
    fn a_block_that_two_commands_write_at_the_same_time_proves_nothing() {
        alone(|writer, proof| {
            let other = Writer::new(proof);
            // The other one began before, in between, and ends last.
            other.own.begin(1, 7, 1);
            writer.write(7, &[1; 512], 1);
            let candidate = writer.begin(0, 8, &[1; 512]);
            other.own.begin(2, 8, 1);
            proof.forget(8, 1);
            writer.end(0, candidate, 2);
            other.end(1, None, 3);
            other.end(2, None, 3);
            assert_eq!(lbas(proof), [] as [u64; 0]);
            // So does an earlier command of the same initiator.
            writer.own.begin(3, 9, 1);
            assert_eq!(writer.begin(0, 9, &[1; 512]), None);
            writer.end(0, None, 4);
            writer.end(3, None, 4);
            writer.write(9, &[1; 512], 5);
            assert_eq!(lbas(proof), [9]);
            // A write that failed may still be executed …
            writer.begin(2, 10, &[1; 512]).into_iter().for_each(|candidate| proof.dismiss(candidate));
            writer.write(10, &[1; 512], 6);
            assert_eq!(lbas(proof), [9]);
            // … also when its slot has the next command.
            let stray = proof.stray(10, 1);
            writer.own.end(2);
            writer.write(10, &[1; 512], 7);
            assert_eq!(lbas(proof), [9]);
            proof.strays_gone(|number| number == stray);
            writer.write(10, &[1; 512], 8);
            assert_eq!(lbas(proof), [9, 10]);
            drop(other);
            assert_eq!(
                (proof.join(1), proof.in_flight().initiators.len()).1,
                2,
                "who has gone changes nothing"
            );
        });
    }

    /// Writes to few blocks, in every order in which the disk may execute them, and trims; meanwhile a block is read,
    /// as a path that verifies the unit does. Shuttle tries orders of the threads.
    fn race(is_trimming: bool) {
        let proof = Arc::new(UnitProof::default());
        let disk: Arc<[AtomicU64; 2]> = Arc::new(std::array::from_fn(|_| AtomicU64::new(0)));
        let writers = (1..=2_u64).map(|own| {
            let (writer, disk) = (Writer::new(&proof), Arc::clone(&disk));
            shuttle::thread::spawn(move || {
                for turn in 1..=2_u64 {
                    let (lba, data) = (turn % 2, own * 10 + turn);
                    let candidate = writer.begin(0, lba, &data.to_le_bytes());
                    disk[usize::try_from(lba).expect("0 or 1")].store(data, Ordering::SeqCst);
                    writer.end(0, candidate, turn);
                }
                if is_trimming {
                    let kept = writer.trim(1, 0, 2);
                    let freed = (0..2).filter(|lba| Some(*lba as u64) != kept);
                    freed.for_each(|lba| disk[lba].store(0, Ordering::SeqCst));
                    writer.own.end(1);
                }
            })
        });
        let threads: Vec<_> = writers.collect();
        let look = || {
            for known in proof.witnesses() {
                let found = disk[usize::try_from(known.lba).expect("0 or 1")].load(Ordering::SeqCst);
                let is_other = crc32c::crc32c(&found.to_le_bytes()) != known.crc;
                assert!(!(is_other && proof.still_holds(known)), "{known:?} is {found}");
            }
        };
        look();
        look();
        threads.into_iter().for_each(|thread| thread.join().expect("it does not panic"));
        look();
    }

    #[test]
    fn in_every_order_of_threads_a_witness_is_what_the_disk_holds() {
        shuttle::check_random(|| race(false), 600);
        shuttle::check_pct(|| race(false), 600, 4);
    }

    #[test]
    fn in_every_order_of_threads_a_trim_leaves_no_witness_that_it_frees() {
        shuttle::check_random(|| race(true), 600);
        shuttle::check_pct(|| race(true), 600, 4);
    }

    #[test]
    fn trims_leave_out_one_witness_and_what_is_in_flight_becomes_none() {
        alone(|writer, proof| {
            assert_eq!(writer.trim(1, 0, 100), None, "nothing is known yet");
            writer.write(7, &[1; 512], 1);
            assert_eq!(proof.witnesses(), [], "the trim may come after the write");
            writer.own.end(1);
            [7, 20, 30].into_iter().for_each(|lba| writer.write(lba, &[1; 512], lba));
            assert_eq!((writer.trim(1, 0, 25), lbas(proof)), (None, vec![30]), "another one remains");
            assert_eq!((writer.trim(2, 30, 1), lbas(proof)), (Some(30), vec![30]), "the last one");
            writer.own.end(1);
            writer.own.end(2);
            // Every trim leaves out the same block: two that cover one witness each would otherwise remove both.
            writer.write(8, &[1; 512], 40);
            assert_eq!(writer.trim(1, 0, 100), Some(30));
            proof.forget(30, 1);
            assert_eq!((writer.trim(1, 40, 1), lbas(proof)), (None, vec![]));
        });
    }

    #[test]
    fn before_the_first_write_a_unit_must_hold_its_inspected_content() {
        alone(|writer, proof| {
            proof.inspected(512, &[(0, vec![0; 1024]), (8, vec![7; 512]), (20, vec![7; 100])]);
            let seen = || proof.witnesses().iter().map(|w| (w.lba, w.blocks)).collect::<Vec<_>>();
            assert_eq!(seen(), [(0, 2), (8, 1)], "a part of a block is none");
            let first = proof.witnesses()[0];
            proof.forget(1, 7);
            assert_eq!(seen(), [(8, 1)]);
            assert!(!proof.still_holds(first));
            writer.write(1, &[3; 512], 1);
            assert_eq!(seen(), [(1, 1)], "what was written proves more");
            proof.forget(1, 1);
            assert_eq!(seen(), [(8, 1)]);
        });
    }

    #[test]
    fn the_first_unit_is_recorded_and_every_other_is_compared_with_it() {
        alone(|_, proof| compare_units(proof));
    }

    fn compare_units(proof: &UnitProof) {
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
