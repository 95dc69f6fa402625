//! UNMAP (SBC-4 §5.35): the blocks hold no data afterwards.
//!
//! The blocks by which the unit is verified must keep their data, or another disk that took its number could not be
//! detected. A trim of all of them leaves one out ([`UnitProof::begin_trim`](crate::proof::UnitProof::begin_trim)).

use super::core::Core;
use crate::scsi::cdb::{self, Cdb, UNMAP_LIST_BYTES};

/// A trim that is ready to be sent.
pub(super) struct ReadyTrim {
    pub cdb: Cdb,
    /// Parameter list of UNMAP; the bytes after `list_bytes` are not sent.
    pub list: [u8; UNMAP_LIST_BYTES],
    pub list_bytes: u32,
}

impl<B: AsRef<[u8]> + AsMut<[u8]>> Core<B> {
    /// Returns the command of a trim that is listed as being in flight.
    pub(super) fn ready_trim(&self, lba: u64, blocks: u32) -> ReadyTrim {
        let kept = self.config.proof.begin_trim(lba, blocks);
        let ranges = ranges(lba, blocks, kept, self.config.unmap_ranges_max);
        let (list, list_bytes) = cdb::unmap_list(&ranges);
        ReadyTrim { cdb: cdb::unmap(list_bytes), list, list_bytes: list_bytes.into() }
    }
}

/// Returns the ranges to unmap, each as its first block and number of blocks; 0 blocks for an unused one. `kept` is the
/// block to leave out. If the target accepts one range in a command, only the longer side of it is unmapped.
fn ranges(lba: u64, blocks: u32, kept: Option<u64>, ranges_max: u32) -> [(u64, u32); 2] {
    let Some(before) = kept.and_then(|kept| u32::try_from(kept.checked_sub(lba)?).ok()) else {
        return [(lba, blocks), (0, 0)];
    };
    let after = blocks.saturating_sub(before).saturating_sub(1);
    let sides = [(lba, before), (lba + u64::from(before) + 1, after)];
    match ranges_max {
        0 | 1 if before >= after => [sides[0], (0, 0)],
        0 | 1 => [sides[1], (0, 0)],
        _ => sides,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trim_leaves_out_the_block_that_identifies_the_unit() {
        assert_eq!(ranges(100, 8, None, 1), [(100, 8), (0, 0)]);
        assert_eq!(ranges(100, 8, Some(102), 2), [(100, 2), (103, 5)]);
        assert_eq!(ranges(100, 8, Some(102), 1), [(103, 5), (0, 0)]);
        assert_eq!(ranges(100, 8, Some(106), 1), [(100, 6), (0, 0)]);
        assert_eq!(ranges(100, 8, Some(100), 2), [(100, 0), (101, 7)]);
        assert_eq!(ranges(100, 8, Some(107), 2), [(100, 7), (108, 0)]);
        assert_eq!(ranges(100, 1, Some(100), 2), [(100, 0), (101, 0)]);
    }
}
