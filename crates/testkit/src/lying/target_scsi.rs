//! The LUN of the lying target: its answers to SCSI commands.

use std::ops::Range;

/// Number of blocks of the LUN.
pub(super) const BLOCKS: u64 = 4096;
/// Size of a block, bytes.
pub(super) const BLOCK_BYTES: usize = 512;

/// Answer to a command.
pub(super) enum Answer {
    /// Data, and GOOD.
    Data(Vec<u8>),
    /// A status, with sense data or none.
    Status(u8, Vec<u8>),
}

/// Returns the serial number of the LUN of the target on that port: two LUNs with one name must not be written to.
#[must_use]
pub fn serial(port: u16) -> String {
    format!("LIAR-{port:05}")
}

/// Returns fixed-format sense data.
pub(super) fn sense(key: u8, asc: u8, ascq: u8) -> Vec<u8> {
    let mut sense = vec![0x70, 0, key, 0, 0, 0, 0, 10, 0, 0, 0, 0, asc, ascq, 0, 0, 0, 0];
    sense.truncate(18);
    sense
}

/// Returns the bytes of the LUN that a READ or WRITE names; `None` beyond its end.
pub(super) fn range(cdb: &[u8]) -> Option<Range<usize>> {
    let word = |at: usize| u64::from(u32::from_be_bytes(cdb[at..at + 4].try_into().unwrap()));
    let (lba, count) = match cdb[0] {
        0x28 | 0x2a => (word(2), u64::from(u16::from_be_bytes([cdb[7], cdb[8]]))),
        _ => (word(2) << 32 | word(6), word(10)),
    };
    let end = lba.checked_add(count).filter(|end| *end <= BLOCKS)?;
    Some(usize::try_from(lba).ok()? * BLOCK_BYTES..usize::try_from(end).ok()? * BLOCK_BYTES)
}

/// Answers commands that examine the LUN, whose names derive from the port.
pub(super) fn look(cdb: &[u8], disk: &[u8], port: u16) -> Answer {
    match (cdb[0], cdb[1], cdb[2]) {
        (0x00 | 0x35 | 0x91, ..) => Answer::Status(0, Vec::new()),
        (0x12, 0, _) => {
            let mut inquiry = vec![0, 0, 5, 2, 31, 0x10, 0, 2];
            inquiry.extend(b"ASSAY   LYING DISK      1   ");
            Answer::Data(inquiry)
        }
        (0x12, 1, 0x00) => Answer::Data(vec![0, 0, 0, 3, 0x00, 0x80, 0x83]),
        (0x12, 1, 0x80) => Answer::Data([&[0, 0x80, 0, 10][..], serial(port).as_bytes()].concat()),
        (0x12, 1, 0x83) => {
            let mut page = vec![0, 0x83, 0, 20, 1, 3, 0, 8, 0x60, 0, 0, 0, 0, 0];
            page.extend(port.to_be_bytes());
            page.extend([1, 0x15, 0, 4, 0, 0, 0, 1]);
            Answer::Data(page)
        }
        (0x25, ..) => {
            let mut capacity = vec![0; 8];
            capacity[..4].copy_from_slice(&(u32::try_from(BLOCKS).unwrap() - 1).to_be_bytes());
            capacity[6] = 2;
            Answer::Data(capacity)
        }
        (0x9e, 0x10, _) => {
            let mut capacity = vec![0; 32];
            capacity[..8].copy_from_slice(&(BLOCKS - 1).to_be_bytes());
            capacity[10] = 2;
            Answer::Data(capacity)
        }
        (0xa0, ..) => Answer::Data(vec![0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]),
        (0x1a, ..) => Answer::Data(vec![3, 0, 0, 0]),
        (0x5a, ..) => Answer::Data(vec![0, 6, 0, 0, 0, 0, 0, 0]),
        (0x5e, ..) => Answer::Data(vec![0; 8]),
        (0x28 | 0x88, ..) => match range(cdb) {
            Some(range) => Answer::Data(disk[range].to_vec()),
            None => Answer::Status(2, sense(5, 0x21, 0)),
        },
        _ => Answer::Status(2, sense(5, 0x20, 0)),
    }
}
