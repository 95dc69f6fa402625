//! Verify mode: every 512 bytes written carry a [stamp](assay_target::stamp), and reads check it.
//!
//! A block must carry its own offset and a correct checksum; if this run wrote it, also the run number and the sequence
//! number of the last acknowledged write. This detects flipped bytes, misplaced writes and lost writes.

use std::ops::Range;
use std::sync::atomic::{AtomicU32, Ordering};

use assay_record::Stamp;
use assay_target::stamp::{Header, SEQUENCE_BYTES, UNIT_BYTES, read_stamp, write_stamp};

const _: () =
    assert!(size_of::<AtomicU32>() == SEQUENCE_BYTES, "memory is reckoned with so much for each unit");

/// Sequence of a unit with unknown content: not written by this run.
const UNKNOWN: u32 = 0;
/// Bit of a unit of which a write was sent twice: the older copy may replace newer data at any time until the end of
/// the run.
const MOVED: u32 = 1 << 31;
/// Sequence of a unit whose last write failed: its content is undefined.
const FAILED: u32 = !MOVED;
/// Sequence after a failed write, which used an unknown number: far above it.
const AFTER_FAILED: u32 = 1 << 30;

/// The last write of this run to each unit of a member.
///
/// In verify mode each worker has its own slices and never has two overlapping I/Os in flight, so relaxed atomics
/// suffice. Four bytes per unit: 8 MiB per GiB of span.
pub(crate) struct StampTable {
    run: u64,
    sequences: Vec<AtomicU32>,
}

/// A unit with wrong content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Wrong {
    pub(crate) expected: Stamp,
    pub(crate) found: Option<Stamp>,
    pub(crate) says: &'static str,
    pub(crate) cause: Cause,
}

/// Where wrong content comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cause {
    Storage,
    /// An older write of this run, to a unit of which a write was sent twice: its first copy may have been executed
    /// late.
    LateCopy,
}

impl StampTable {
    pub(crate) fn new(run: u64, span_bytes: u64) -> Self {
        let units =
            usize::try_from(span_bytes / UNIT_BYTES as u64).expect("spans in verify mode fit the memory");
        Self { run, sequences: (0..units).map(|_| AtomicU32::new(UNKNOWN)).collect() }
    }

    /// Stamps a buffer that is about to be written at `offset_bytes`.
    pub(crate) fn stamp(&self, bytes: &mut [u8], offset_bytes: u64) {
        for (offset, unit, sequence) in self.units(bytes, offset_bytes) {
            let known = sequence.load(Ordering::Relaxed);
            let next = match known & !MOVED {
                FAILED => AFTER_FAILED,
                last => last + 1,
            };
            sequence.store(known & MOVED | next, Ordering::Relaxed);
            write_stamp(unit, &Header { offset_bytes: offset, run: self.run, sequence: u64::from(next) });
        }
    }

    /// Records a failed write: the content of its units is undefined.
    pub(crate) fn failed(&self, size_bytes: u32, offset_bytes: u64) {
        let first = index(offset_bytes);
        for sequence in &self.sequences[first..first + size_bytes as usize / UNIT_BYTES] {
            sequence.fetch_or(FAILED, Ordering::Relaxed);
        }
    }

    /// Records a write to this range of which the target may execute another copy: from now on an older write of this
    /// run, or of its fill, in its units says nothing about the storage.
    pub(crate) fn moved(&self, bytes: Range<u64>) {
        let units = self.sequences.iter().take(index(bytes.end)).skip(index(bytes.start));
        units.for_each(|sequence| _ = sequence.fetch_or(MOVED, Ordering::Relaxed));
    }

    /// Checks a buffer read at `offset_bytes`; calls `report` for each wrong unit.
    pub(crate) fn check(&self, bytes: &mut [u8], offset_bytes: u64, mut report: impl FnMut(Wrong)) {
        for (offset, unit, sequence) in self.units(bytes, offset_bytes) {
            let known = sequence.load(Ordering::Relaxed);
            let last = known & !MOVED;
            if last == FAILED {
                continue;
            }
            let expected = match last {
                UNKNOWN => None,
                last => Some((self.run, u64::from(last))),
            };
            if let Err(wrong) = check_unit(unit, offset, expected) {
                let is_late = known & MOVED != 0 && wrong.is_older_write();
                let cause = if is_late { Cause::LateCopy } else { Cause::Storage };
                report(Wrong { cause, ..wrong });
            }
        }
    }

    fn units<'s>(
        &'s self,
        bytes: &'s mut [u8],
        offset_bytes: u64,
    ) -> impl Iterator<Item = (u64, &'s mut [u8], &'s AtomicU32)> {
        let offsets = (offset_bytes..).step_by(UNIT_BYTES);
        let sequences = self.sequences[index(offset_bytes)..].iter();
        offsets.zip(bytes.chunks_exact_mut(UNIT_BYTES)).zip(sequences).map(|((o, u), s)| (o, u, s))
    }
}

fn index(offset_bytes: u64) -> usize {
    usize::try_from(offset_bytes / UNIT_BYTES as u64).expect("offsets lie in the span")
}

impl Wrong {
    /// Returns true for the intact stamp of an earlier write of this run, or of a fill, to the same place.
    fn is_older_write(&self) -> bool {
        self.found.is_some_and(|found| {
            found.checksum == self.expected.checksum
                && found.offset_bytes == self.expected.offset_bytes
                && (found.sequence == Stamp::FILL
                    || found.run == self.expected.run
                        // Behind a failure the numbers begin anew, and are no order.
                        && (found.sequence < self.expected.sequence
                            || self.expected.sequence >= u64::from(AFTER_FAILED)))
        })
    }
}

/// Checks one unit. `expected` is the run and sequence of the last acknowledged write; `None` accepts any valid stamp
/// for this position.
fn check_unit(unit: &mut [u8], offset: u64, expected: Option<(u64, u64)>) -> Result<(), Wrong> {
    let found = read_stamp(unit).map(|found| {
        let Header { offset_bytes, run, sequence } = found.header;
        (Stamp { offset_bytes, run, sequence, checksum: found.checksum }, found.checksum_right)
    });
    let (run, sequence) = expected.unwrap_or(match found {
        Some((stamp, _)) => (stamp.run, stamp.sequence),
        None => (0, 0),
    });
    let checksum = found.map_or(0, |(_, right)| right);
    let wrong = |says| {
        let expected = Stamp { offset_bytes: offset, run, sequence, checksum };
        Err(Wrong { expected, found: found.map(|(stamp, _)| stamp), says, cause: Cause::Storage })
    };
    match found {
        None if unit.iter().all(|byte| *byte == 0) => wrong(
            "zeros: the write was lost, or something else freed or cleared the block (a trim, a hole, a shortened \
             file)",
        ),
        None => wrong("no stamp: something else overwrote the block, or its first bytes are damaged"),
        Some((stamp, right)) if stamp.checksum != right => {
            wrong("wrong checksum: bytes in the block have changed")
        }
        Some((stamp, _)) if stamp.offset_bytes != offset => {
            wrong("stamp of another offset: a misplaced write or read")
        }
        // A fill was before this run's writes; any other write may be later.
        Some((stamp, _)) if stamp.run != run && stamp.sequence != Stamp::FILL => wrong(
            "stamp of another run: the last acknowledged write is lost, or another run has written here since",
        ),
        Some((stamp, _)) if stamp.run != run => {
            wrong("stamp of another run: the last acknowledged write is lost")
        }
        Some((stamp, _)) if stamp.sequence != sequence => {
            wrong("older stamp: the last acknowledged write is lost")
        }
        Some(_) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn wrongs(table: &StampTable, bytes: &[u8], offset: u64) -> Vec<Wrong> {
        let mut found = Vec::new();
        table.check(&mut bytes.to_vec(), offset, |wrong| found.push(wrong));
        found
    }

    fn written(table: &StampTable, offset: u64) -> Vec<u8> {
        let mut bytes = vec![0x5A; 2048];
        table.stamp(&mut bytes, offset);
        bytes
    }

    #[test]
    fn a_written_block_is_correct() {
        let table = StampTable::new(7, 1 << 20);
        assert_eq!(wrongs(&table, &written(&table, 4096), 4096), []);
    }

    #[test]
    fn a_lost_write_is_detected() {
        let table = StampTable::new(7, 1 << 20);
        let old = written(&table, 4096);
        written(&table, 4096);
        let found = wrongs(&table, &old, 4096);
        assert_eq!(found.len(), 4);
        assert!(found[0].says.contains("older"));
        assert_eq!((found[0].expected.sequence, found[0].found.unwrap().sequence), (2, 1));
    }

    #[test]
    fn a_misplaced_block_is_detected() {
        let (table, other) = (StampTable::new(7, 1 << 20), StampTable::new(7, 1 << 20));
        assert!(wrongs(&other, &written(&table, 4096), 8192)[0].says.contains("another offset"));
    }

    #[test]
    fn a_block_of_another_run_is_accepted_only_where_this_run_did_not_write() {
        let (mine, theirs) = (StampTable::new(7, 1 << 20), StampTable::new(8, 1 << 20));
        let bytes = written(&theirs, 0);
        assert_eq!(wrongs(&mine, &bytes, 0), []);
        written(&mine, 0);
        assert!(wrongs(&mine, &bytes, 0)[0].says.contains("another run"));
    }

    #[test]
    fn zeros_and_a_later_write_of_another_run_may_have_other_causes_than_the_storage() {
        let (mine, theirs) = (StampTable::new(7, 1 << 20), StampTable::new(8, 1 << 20));
        assert!(wrongs(&mine, &[0; 512], 0)[0].says.contains("a trim, a hole"));
        assert!(wrongs(&mine, &[9; 512], 0)[0].says.contains("something else overwrote"));
        written(&mine, 0);
        assert!(
            wrongs(&mine, &written(&theirs, 0), 0)[0].says.contains("or another run has written here since")
        );
    }

    #[test]
    fn after_a_failed_write_any_content_is_accepted_until_the_next() {
        let table = StampTable::new(7, 1 << 20);
        table.failed(2048, 0);
        assert_eq!(wrongs(&table, &[0; 2048], 0), []);
        let bytes = written(&table, 0);
        assert_eq!(wrongs(&table, &bytes, 0), []);
    }

    #[test]
    fn an_older_write_where_one_was_sent_twice_is_not_the_storage() {
        let table = StampTable::new(7, 1 << 20);
        let first = written(&table, 4096);
        table.moved(4096..6144);
        assert_eq!(wrongs(&table, &first, 4096), [], "the copy is equal to it");
        let newer = written(&table, 4096);
        assert_eq!(wrongs(&table, &newer, 4096), []);
        let causes = |bytes: &[u8]| wrongs(&table, bytes, 4096).iter().map(|w| w.cause).collect::<Vec<_>>();
        assert_eq!(causes(&first), [Cause::LateCopy; 4]);
        let mut damaged = first.clone();
        damaged[100] ^= 1;
        assert_eq!(causes(&damaged)[0], Cause::Storage, "no write of this run left this");
        assert_eq!(causes(&[0; 2048]), [Cause::Storage; 4]);
        table.failed(2048, 4096);
        assert_eq!(wrongs(&table, &[0; 2048], 4096), []);
        written(&table, 4096);
        assert_eq!(causes(&newer), [Cause::LateCopy; 4], "known until the end of the run");
        written(&table, 4096);
        let given_up = written(&table, 4096);
        table.failed(2048, 4096);
        written(&table, 4096);
        assert_eq!(causes(&given_up), [Cause::LateCopy; 4], "its number is above that of the newer one");
    }

    #[test]
    fn a_write_of_the_fill_that_lands_late_is_not_the_storage() {
        let fill = |sequence| {
            let mut bytes = vec![0x5A; UNIT_BYTES];
            write_stamp(&mut bytes, &Header { offset_bytes: 4096, run: 3, sequence });
            bytes
        };
        let table = StampTable::new(7, 1 << 20);
        table.moved(4096..1 << 30);
        assert_eq!(wrongs(&table, &fill(0), 4096), [], "nothing newer is there");
        written(&table, 4096);
        let causes = |bytes: &[u8]| wrongs(&table, bytes, 4096).iter().map(|w| w.cause).collect::<Vec<_>>();
        assert_eq!(causes(&fill(0)), [Cause::LateCopy]);
        assert_eq!(causes(&fill(1)), [Cause::Storage], "another run wrote this");
        let elsewhere = StampTable::new(7, 1 << 20);
        elsewhere.moved(0..4096);
        written(&elsewhere, 4096);
        assert_eq!(wrongs(&elsewhere, &fill(0), 4096)[0].cause, Cause::Storage);
    }

    proptest! {
        #[test]
        fn one_flipped_bit_anywhere_is_found(at in 0_usize..2048, bit in 0_u8..8) {
            let table = StampTable::new(7, 1 << 20);
            let mut bytes = written(&table, 512);
            bytes[at] ^= 1 << bit;
            let found = wrongs(&table, &bytes, 512);
            prop_assert_eq!(found.len(), 1);
            prop_assert_eq!(found[0].expected.offset_bytes, 512 + (at / 512 * 512) as u64);
        }
    }
}
