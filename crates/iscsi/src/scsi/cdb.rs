//! Command descriptor blocks, zero padded to the 16 bytes of the iSCSI header.

/// A command descriptor block.
pub type Cdb = [u8; 16];

/// Force unit access: data moves to or from the medium.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fua {
    /// A volatile cache may serve the command.
    Off,
    /// The medium must serve the command.
    On,
}

fn cdb(bytes: &[u8]) -> Cdb {
    let mut cdb = [0; 16];
    cdb[..bytes.len()].copy_from_slice(bytes);
    cdb
}

/// TEST UNIT READY.
pub fn test_unit_ready() -> Cdb {
    [0; 16]
}

/// INQUIRY, standard data.
pub fn inquiry(allocation_bytes: u16) -> Cdb {
    let [a, b] = allocation_bytes.to_be_bytes();
    cdb(&[0x12, 0, 0, a, b])
}

/// INQUIRY, vital product data page.
pub(crate) fn inquiry_page(page: u8, allocation_bytes: u16) -> Cdb {
    let [a, b] = allocation_bytes.to_be_bytes();
    cdb(&[0x12, 1, page, a, b])
}

/// REPORT LUNS, all.
pub fn report_luns(allocation_bytes: u32) -> Cdb {
    let [a, b, c, d] = allocation_bytes.to_be_bytes();
    cdb(&[0xa0, 0, 0, 0, 0, 0, a, b, c, d])
}

/// READ CAPACITY (10).
pub fn read_capacity_10() -> Cdb {
    cdb(&[0x25])
}

/// READ CAPACITY (16).
pub fn read_capacity_16() -> Cdb {
    cdb(&[0x9e, 0x10, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 32])
}

/// MODE SENSE (6) of one page; block descriptors are left out.
pub(crate) fn mode_sense_6(page: u8) -> Cdb {
    cdb(&[0x1a, 8, page, 0, 255])
}

/// MODE SENSE (10) of one page; block descriptors are left out.
pub(crate) fn mode_sense_10(page: u8) -> Cdb {
    cdb(&[0x5a, 8, page, 0, 0, 0, 0, 2, 0])
}

/// READ: the 10-byte form if it suffices, else the 16-byte form. `blocks` in [1, 2^32 - 1].
pub fn read(lba: u64, blocks: u32, fua: Fua) -> Cdb {
    block_command(0x28, 0x88, lba, blocks, fua)
}

/// WRITE: the 10-byte form if it suffices, else the 16-byte form. `blocks` in [1, 2^32 - 1].
pub fn write(lba: u64, blocks: u32, fua: Fua) -> Cdb {
    block_command(0x2a, 0x8a, lba, blocks, fua)
}

fn block_command(opcode_10: u8, opcode_16: u8, lba: u64, blocks: u32, fua: Fua) -> Cdb {
    let flags = if fua == Fua::On { 0x08 } else { 0 };
    let mut cdb = [0; 16];
    cdb[1] = flags;
    match (u32::try_from(lba), u16::try_from(blocks)) {
        (Ok(lba), Ok(blocks)) => {
            cdb[0] = opcode_10;
            cdb[2..6].copy_from_slice(&lba.to_be_bytes());
            cdb[7..9].copy_from_slice(&blocks.to_be_bytes());
        }
        _ => {
            cdb[0] = opcode_16;
            cdb[2..10].copy_from_slice(&lba.to_be_bytes());
            cdb[10..14].copy_from_slice(&blocks.to_be_bytes());
        }
    }
    cdb
}

/// SYNCHRONIZE CACHE (10) of the whole logical unit.
pub(crate) fn synchronize_cache_10() -> Cdb {
    cdb(&[0x35])
}

/// SYNCHRONIZE CACHE (16); `blocks` 0 means up to the end.
pub fn synchronize_cache_16(lba: u64, blocks: u32) -> Cdb {
    let mut cdb = cdb(&[0x91]);
    cdb[2..10].copy_from_slice(&lba.to_be_bytes());
    cdb[10..14].copy_from_slice(&blocks.to_be_bytes());
    cdb
}

/// Length of the parameter list of UNMAP for two ranges, bytes.
pub(crate) const UNMAP_LIST_BYTES: usize = 40;

/// UNMAP; `parameter_bytes` is the length of its [parameter list](unmap_list).
pub fn unmap(parameter_bytes: u16) -> Cdb {
    let [a, b] = parameter_bytes.to_be_bytes();
    cdb(&[0x42, 0, 0, 0, 0, 0, 0, a, b])
}

/// Returns the parameter list of UNMAP for these ranges, each a first block and a number of blocks, and its length.
/// Ranges without blocks are left out.
pub(crate) fn unmap_list(ranges: &[(u64, u32); 2]) -> ([u8; UNMAP_LIST_BYTES], u16) {
    let (mut list, mut bytes) = ([0; UNMAP_LIST_BYTES], 8_u16);
    for (lba, blocks) in ranges.iter().filter(|(_, blocks)| *blocks > 0) {
        let range = &mut list[usize::from(bytes)..];
        range[..8].copy_from_slice(&lba.to_be_bytes());
        range[8..12].copy_from_slice(&blocks.to_be_bytes());
        bytes += 16;
    }
    // The length of what follows the field, then that of the ranges alone.
    list[..2].copy_from_slice(&(bytes - 2).to_be_bytes());
    list[2..4].copy_from_slice(&(bytes - 8).to_be_bytes());
    (list, bytes)
}

/// GET LBA STATUS from `lba` on.
pub(crate) fn get_lba_status(lba: u64, allocation_bytes: u32) -> Cdb {
    let mut cdb = cdb(&[0x9e, 0x12]);
    cdb[2..10].copy_from_slice(&lba.to_be_bytes());
    cdb[10..14].copy_from_slice(&allocation_bytes.to_be_bytes());
    cdb
}

/// Whether a command asks for facts that a target may not have: PERSISTENT RESERVE IN, REPORT TARGET PORT GROUPS, GET
/// LBA STATUS. Not those that say which unit it is: what they say must not be missed.
pub(crate) fn is_optional(cdb: &Cdb) -> bool {
    const SERVICE_ACTION: u8 = 0x1f;
    match cdb[0] {
        0x5e | 0xa3 => true,
        0x9e => cdb[1] & SERVICE_ACTION == 0x12,
        _ => false,
    }
}

/// PERSISTENT RESERVE IN, READ KEYS.
pub(crate) fn read_reservation_keys(allocation_bytes: u16) -> Cdb {
    let [a, b] = allocation_bytes.to_be_bytes();
    cdb(&[0x5e, 0, 0, 0, 0, 0, 0, a, b])
}

/// PERSISTENT RESERVE IN, READ RESERVATION.
pub(crate) fn read_reservation(allocation_bytes: u16) -> Cdb {
    let [a, b] = allocation_bytes.to_be_bytes();
    cdb(&[0x5e, 1, 0, 0, 0, 0, 0, a, b])
}

/// REPORT TARGET PORT GROUPS.
pub(crate) fn report_target_port_groups(allocation_bytes: u32) -> Cdb {
    let [a, b, c, d] = allocation_bytes.to_be_bytes();
    cdb(&[0xa3, 0x0a, 0, 0, 0, 0, a, b, c, d])
}
