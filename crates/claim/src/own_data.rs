//! Recognition of data written by Assay on a device that has no place for a mark.
//!
//! All random data consists of lines of 64 bytes, and the last eight bytes of a line are a checksum of the others, its
//! *seal*:
//!
//! ```text
//! byte 0    8    16   24   32   40   48   56           64
//!      w0   w1   w2   w3   w4   w5   w6   w0 ^ f(w1 ^ w2, w3 ^ w4, w5 ^ w6)
//! ```
//! A seal compresses no better than random bytes and repeats no more often. It survives the mask that the engine
//! applies to unique data (one number, XORed with every word: each XOR above contains two of them) and any shift
//! (Iometer's full-random data starts at any multiple of four bytes). A line that Assay did not write has a valid seal
//! once in 2^64 cases.

use assay_target::rng::seal;
use assay_target::stamp::{UNIT_BYTES, read_stamp};

/// Unit of recognition, bytes: no device writes less.
pub const SECTOR_BYTES: usize = UNIT_BYTES;
/// Length of a sealed line, bytes.
const LINE_BYTES: usize = 64;

/// Origin of a sector according to its bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Author {
    /// One byte, repeated: never written, erased, or Iometer's repeating data. Nothing is lost by overwriting it.
    Nobody,
    /// It carries a seal or a stamp of Assay.
    Assay,
    /// Anything else.
    Foreign,
}

/// Returns the origin of a sector, determined by its bytes alone.
pub fn author(sector: &[u8]) -> Author {
    // A comparison of the sector with itself, shifted by one byte, is one fast pass of memcmp.
    if sector.is_empty() || sector[1..] == sector[..sector.len() - 1] {
        return Author::Nobody;
    }
    if has_sealed_line(sector) || has_valid_stamp(sector) { Author::Assay } else { Author::Foreign }
}

/// Checks every alignment of a line; that of fresh and unique data comes first.
fn has_sealed_line(sector: &[u8]) -> bool {
    (0..LINE_BYTES).any(|shift| sector[shift.min(sector.len())..].chunks_exact(LINE_BYTES).any(is_sealed))
}

fn is_sealed(line: &[u8]) -> bool {
    let mut words = [0; 8];
    for (word, bytes) in words.iter_mut().zip(line.as_chunks::<8>().0) {
        *word = u64::from_le_bytes(*bytes);
    }
    words[7] == seal(&words)
}

/// Returns true if the sector carries a valid stamp. Its offset is ignored: a misplaced write is still Assay's data.
fn has_valid_stamp(sector: &[u8]) -> bool {
    let Ok(mut unit) = <[u8; UNIT_BYTES]>::try_from(sector) else { return false };
    read_stamp(&mut unit).is_some_and(|stamp| stamp.checksum == stamp.checksum_right)
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_spec::random::split_mix;
    use assay_target::rng::BulkRng;
    use assay_target::stamp::{Header, write_stamp};

    fn filled(bytes: usize) -> Vec<u8> {
        let mut data = vec![0; bytes];
        BulkRng::new(17).fill(&mut data);
        data
    }

    fn authors(data: &[u8]) -> Vec<Author> {
        data.chunks_exact(SECTOR_BYTES).map(author).collect()
    }

    #[test]
    fn a_fill_is_recognised_under_every_mask_and_shift() {
        let data = filled(64 << 10);
        assert!(authors(&data).iter().all(|by| *by == Author::Assay));
        let mask = 0x0123_4567_89AB_CDEF_u64.to_le_bytes();
        let masked: Vec<u8> = data.iter().zip(mask.iter().cycle()).map(|(byte, mask)| byte ^ mask).collect();
        assert!(authors(&masked).iter().all(|by| *by == Author::Assay));
        for shift in 0..LINE_BYTES {
            assert!(authors(&data[shift..]).iter().all(|by| *by == Author::Assay), "{shift}");
        }
    }

    #[test]
    fn stamped_and_compressible_data_is_recognised() {
        let mut unit = vec![0; UNIT_BYTES];
        write_stamp(&mut unit, &Header { offset_bytes: 512, run: 1, sequence: 2 });
        assert_eq!(author(&unit), Author::Assay);
        unit[100] ^= 1;
        assert_eq!(author(&unit), Author::Foreign, "a stamp with a wrong checksum proves nothing");
        let mut compressible = filled(100);
        compressible.resize(SECTOR_BYTES, 0);
        assert_eq!(author(&compressible), Author::Assay);
    }

    #[test]
    fn foreign_data_is_foreign_and_a_repeated_byte_has_no_author() {
        let mut at = 5;
        let random: Vec<u8> = (0..1 << 17).flat_map(|_| split_mix(&mut at).to_le_bytes()).collect();
        assert!(authors(&random).iter().all(|by| *by == Author::Foreign));
        for byte in [0, 0x5A, 0xFF] {
            let mut sector = [byte; SECTOR_BYTES];
            assert_eq!(author(&sector), Author::Nobody);
            sector[SECTOR_BYTES - 1] ^= 1;
            assert_eq!(author(&sector), Author::Foreign);
        }
        assert_eq!(author(&[]), Author::Nobody);
    }
}
