//! The logical unit behind the scripted iSCSI targets: its answers to SCSI commands that move no blocks.

use std::ops::Range;

/// Size of a block, bytes.
pub(crate) const BLOCK_BYTES: usize = 512;

/// A logical unit.
#[derive(Debug)]
pub(crate) struct Unit {
    /// Number of blocks.
    pub blocks: u64,
    /// Name of the product.
    pub product: &'static str,
    /// Number that is part of its world-wide name.
    pub number: u16,
    /// Serial number.
    pub serial: String,
}

/// Answer to a command.
pub(crate) enum Answer {
    /// Data, and GOOD.
    Data(Vec<u8>),
    /// A status, with sense data or none.
    Status(u8, Vec<u8>),
}

/// Returns fixed-format sense data.
pub(crate) fn sense(key: u8, asc: u8, ascq: u8) -> Vec<u8> {
    let mut sense = vec![0x70, 0, key, 0, 0, 0, 0, 10, 0, 0, 0, 0, asc, ascq, 0, 0, 0, 0];
    sense.truncate(18);
    sense
}

/// Returns the bytes of a unit of so many blocks that a READ or WRITE names; `None` beyond its end.
pub(crate) fn range(cdb: &[u8], blocks: u64) -> Option<Range<usize>> {
    let word = |at: usize| u64::from(u32::from_be_bytes(cdb[at..at + 4].try_into().unwrap()));
    let (lba, count) = match cdb[0] {
        0x28 | 0x2a => (word(2), u64::from(u16::from_be_bytes([cdb[7], cdb[8]]))),
        _ => (word(2) << 32 | word(6), word(10)),
    };
    let end = lba.checked_add(count).filter(|end| *end <= blocks)?;
    Some(usize::try_from(lba).ok()? * BLOCK_BYTES..usize::try_from(end).ok()? * BLOCK_BYTES)
}

impl Unit {
    /// Answers commands that examine the unit.
    pub(crate) fn look(&self, cdb: &[u8]) -> Answer {
        match (cdb[0], cdb[1], cdb[2]) {
            (0x00 | 0x35 | 0x91, ..) => Answer::Status(0, Vec::new()),
            (0x12, 0, _) => {
                let mut inquiry = vec![0, 0, 5, 2, 31, 0x10, 0, 2];
                inquiry.extend(format!("ASSAY   {:<16}1   ", self.product).as_bytes());
                Answer::Data(inquiry)
            }
            (0x12, 1, 0x00) => Answer::Data(vec![0, 0, 0, 3, 0x00, 0x80, 0x83]),
            (0x12, 1, 0x80) => {
                let length = u8::try_from(self.serial.len()).unwrap();
                Answer::Data([&[0, 0x80, 0, length][..], self.serial.as_bytes()].concat())
            }
            (0x12, 1, 0x83) => {
                let mut page = vec![0, 0x83, 0, 20, 1, 3, 0, 8, 0x60, 0, 0, 0, 0, 0];
                page.extend(self.number.to_be_bytes());
                page.extend([1, 0x15, 0, 4, 0, 0, 0, 1]);
                Answer::Data(page)
            }
            (0x25, ..) => {
                let mut capacity = vec![0; 8];
                let last = u32::try_from(self.blocks - 1).unwrap_or(u32::MAX);
                capacity[..4].copy_from_slice(&last.to_be_bytes());
                capacity[6] = 2;
                Answer::Data(capacity)
            }
            (0x9e, 0x10, _) => {
                let mut capacity = vec![0; 32];
                capacity[..8].copy_from_slice(&(self.blocks - 1).to_be_bytes());
                capacity[10] = 2;
                Answer::Data(capacity)
            }
            (0xa0, ..) => Answer::Data(vec![0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]),
            (0x1a, ..) => Answer::Data(vec![3, 0, 0, 0]),
            (0x5a, ..) => Answer::Data(vec![0, 6, 0, 0, 0, 0, 0, 0]),
            (0x5e, ..) => Answer::Data(vec![0; 8]),
            _ => Answer::Status(2, sense(5, 0x20, 0)),
        }
    }
}
