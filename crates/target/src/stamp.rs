//! The stamp in each block written in verify mode.
//!
//! ```text
//! byte 0        8        16       24          32         36                 512
//!      "ASSAY\0\0\1"  offset   run     sequence   CRC-32C   random bytes …
//! ```
//! All numbers are little-endian; the checksum covers the 512 bytes with its own field zero.

use std::ops::Range;

/// Length of a stamped unit, bytes.
pub const UNIT_BYTES: usize = 512;
/// Memory for checking one unit, bytes: the sequence of its last write.
pub const SEQUENCE_BYTES: usize = 4;
const MAGIC: [u8; 8] = *b"ASSAY\0\0\x01";
const CHECKSUM: Range<usize> = 32..36;

/// Content of a stamp.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    /// Offset of the unit from the start of the member, bytes.
    pub offset_bytes: u64,
    /// Number of the run that wrote it.
    pub run: u64,
    /// Number of the write in that run, from 1; 0 is preparation.
    pub sequence: u64,
}

/// A stamp read from a unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReadStamp {
    /// Its content.
    pub header: Header,
    /// Stored checksum.
    pub checksum: u32,
    /// Checksum computed from the unit.
    pub checksum_right: u32,
}

/// Returns the memory needed to check a span, bytes.
pub fn memory_for_span(span_bytes: u64) -> u64 {
    span_bytes / UNIT_BYTES as u64 * SEQUENCE_BYTES as u64
}

/// Returns the span that can be checked with this memory, bytes.
pub fn span_for_memory(memory_bytes: u64) -> u64 {
    memory_bytes / SEQUENCE_BYTES as u64 * UNIT_BYTES as u64
}

/// Writes a stamp over the first bytes of a unit, whose other bytes must be final.
pub fn write_stamp(unit: &mut [u8], header: &Header) {
    unit[..8].copy_from_slice(&MAGIC);
    unit[8..16].copy_from_slice(&header.offset_bytes.to_le_bytes());
    unit[16..24].copy_from_slice(&header.run.to_le_bytes());
    unit[24..32].copy_from_slice(&header.sequence.to_le_bytes());
    unit[CHECKSUM].fill(0);
    let checksum = crc32c::crc32c(unit);
    unit[CHECKSUM].copy_from_slice(&checksum.to_le_bytes());
}

/// Returns true if a unit carries a stamp.
pub fn has_stamp(unit: &[u8]) -> bool {
    unit[..8] == MAGIC
}

/// Returns the stamp of a unit, `None` without the magic. Leaves the checksum field zero.
pub fn read_stamp(unit: &mut [u8]) -> Option<ReadStamp> {
    if !has_stamp(unit) {
        return None;
    }
    let number = |range: Range<usize>| {
        u64::from_le_bytes(unit[range].try_into().expect("the ranges are eight bytes long"))
    };
    let header = Header { offset_bytes: number(8..16), run: number(16..24), sequence: number(24..32) };
    let checksum = u32::from_le_bytes(unit[CHECKSUM].try_into().expect("the range is four bytes long"));
    unit[CHECKSUM].fill(0);
    Some(ReadStamp { header, checksum, checksum_right: crc32c::crc32c(unit) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stamp_is_read_as_it_was_written() {
        let mut unit = [0x5A; UNIT_BYTES];
        assert!(!has_stamp(&unit) && read_stamp(&mut unit).is_none());
        let header = Header { offset_bytes: 4096, run: 7, sequence: 3 };
        write_stamp(&mut unit, &header);
        let found = read_stamp(&mut unit).unwrap();
        assert_eq!((found.header, found.checksum), (header, found.checksum_right));
    }
}
