//! Parameter data of the other commands: capacity, LUNs, mode pages, mapping, reservations, port groups.

use super::{ScsiDataError, be16, be32, be64, need};

/// Accepted block sizes, bytes.
const BLOCK_BYTES_RANGE: std::ops::RangeInclusive<u32> = 256..=65_536;

/// Data of READ CAPACITY.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Capacity {
    /// Number of logical blocks.
    pub blocks: u64,
    /// Size of a logical block, bytes.
    pub block_bytes: u32,
    /// Size of a physical block, bytes; equal to `block_bytes` if not reported.
    pub physical_block_bytes: u32,
    /// First logical block that is aligned to a physical block.
    pub aligned_lba: u16,
    /// Blocks may be unmapped (thin provisioning).
    pub thin: bool,
    /// Unmapped blocks read as zeroes.
    pub unmapped_reads_zero: bool,
}

impl Capacity {
    /// Parses READ CAPACITY (10); `None` if the unit is too large for this form.
    pub fn parse_10(data: &[u8]) -> Result<Option<Self>, ScsiDataError> {
        need("READ CAPACITY(10) data", data, 8)?;
        let last_lba = be32(data, 0);
        if last_lba == u32::MAX {
            return Ok(None);
        }
        let block_bytes = block_bytes(be32(data, 4))?;
        Ok(Some(Self {
            blocks: u64::from(last_lba) + 1,
            block_bytes,
            physical_block_bytes: block_bytes,
            aligned_lba: 0,
            thin: false,
            unmapped_reads_zero: false,
        }))
    }

    /// Parses READ CAPACITY (16).
    pub fn parse_16(data: &[u8]) -> Result<Self, ScsiDataError> {
        need("READ CAPACITY(16) data", data, 16)?;
        let last_lba = be64(data, 0);
        let block_bytes = block_bytes(be32(data, 8))?;
        let blocks =
            last_lba.checked_add(1).filter(|blocks| blocks.checked_mul(block_bytes.into()).is_some());
        let blocks = blocks.ok_or(ScsiDataError::BadField { what: "last LBA", value: last_lba })?;
        Ok(Self {
            blocks,
            block_bytes,
            physical_block_bytes: block_bytes << (data[13] & 0x0f).min(8),
            aligned_lba: be16(data, 14) & 0x3fff,
            thin: data[14] & 0x80 != 0,
            unmapped_reads_zero: data[14] & 0x40 != 0,
        })
    }

    /// Returns the size of the unit, bytes.
    pub fn bytes(&self) -> u64 {
        self.blocks * u64::from(self.block_bytes)
    }
}

fn block_bytes(value: u32) -> Result<u32, ScsiDataError> {
    if !value.is_power_of_two() || !BLOCK_BYTES_RANGE.contains(&value) {
        return Err(ScsiDataError::BadField { what: "logical block size", value: value.into() });
    }
    Ok(value)
}

/// Parses REPORT LUNS into the units, in wire form.
pub fn parse_luns(data: &[u8]) -> Result<Vec<u64>, ScsiDataError> {
    need("REPORT LUNS data", data, 8)?;
    let end = (8 + be32(data, 0) as usize).min(data.len());
    Ok(data[8..end].chunks_exact(8).map(|lun| be64(lun, 0)).collect())
}

/// Caching and write protection according to MODE SENSE.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ModeFacts {
    /// The medium is write protected.
    pub write_protected: bool,
    /// READ and WRITE honour FUA.
    pub fua_supported: bool,
    /// Write cache enabled; `None` without a caching page.
    pub write_cache: Option<bool>,
    /// Read cache enabled; `None` without a caching page.
    pub read_cache: Option<bool>,
}

impl ModeFacts {
    /// Parses MODE SENSE (6).
    pub fn parse_6(data: &[u8]) -> Result<Self, ScsiDataError> {
        need("MODE SENSE(6) data", data, 4)?;
        Self::parse(data, 1 + usize::from(data[0]), data[2], 4 + usize::from(data[3]))
    }

    /// Parses MODE SENSE (10).
    pub fn parse_10(data: &[u8]) -> Result<Self, ScsiDataError> {
        need("MODE SENSE(10) data", data, 8)?;
        Self::parse(data, 2 + usize::from(be16(data, 0)), data[3], 8 + usize::from(be16(data, 6)))
    }

    fn parse(data: &[u8], total_bytes: usize, device: u8, first_page: usize) -> Result<Self, ScsiDataError> {
        let data = &data[..total_bytes.min(data.len())];
        let mut facts = Self {
            write_protected: device & 0x80 != 0,
            fua_supported: device & 0x10 != 0,
            ..Self::default()
        };
        let mut rest = data.get(first_page..).unwrap_or_default();
        while let [code, length, ..] = *rest {
            if code & 0x7f == CACHING_PAGE && rest.len() > 2 {
                facts.write_cache = Some(rest[2] & 0x04 != 0);
                facts.read_cache = Some(rest[2] & 0x01 == 0);
            }
            rest = rest.get(2 + usize::from(length)..).unwrap_or_default();
        }
        Ok(facts)
    }
}

/// Mode page 08.
pub(crate) const CACHING_PAGE: u8 = 0x08;

/// Provisioning of a range of blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mapping {
    /// Mapped, or not reported.
    Mapped,
    /// Deallocated: reading it measures nothing.
    Deallocated,
    /// Anchored: space is reserved, but there is no data.
    Anchored,
}

/// One range of GET LBA STATUS.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LbaStatus {
    /// First block.
    pub lba: u64,
    /// Number of blocks, at least 1.
    pub blocks: u32,
    /// Provisioning.
    pub mapping: Mapping,
}

/// Parses GET LBA STATUS; ranges without blocks are left out.
pub fn parse_lba_status(data: &[u8]) -> Result<Vec<LbaStatus>, ScsiDataError> {
    need("GET LBA STATUS data", data, 8)?;
    let end = (4usize.saturating_add(be32(data, 0) as usize)).clamp(8, data.len());
    let range = |range: &[u8]| LbaStatus {
        lba: be64(range, 0),
        blocks: be32(range, 8),
        mapping: match range[12] & 0x0f {
            1 => Mapping::Deallocated,
            2 => Mapping::Anchored,
            _ => Mapping::Mapped,
        },
    };
    Ok(data[8..end].chunks_exact(16).map(range).filter(|range| range.blocks > 0).collect())
}

/// Parses PERSISTENT RESERVE IN, READ KEYS: the registered keys.
pub fn parse_reservation_keys(data: &[u8]) -> Result<Vec<u64>, ScsiDataError> {
    need("READ KEYS data", data, 8)?;
    let end = (8usize.saturating_add(be32(data, 4) as usize)).min(data.len());
    Ok(data[8..end].chunks_exact(8).map(|key| be64(key, 0)).collect())
}

/// A persistent reservation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reservation {
    /// Key of the holder.
    pub key: u64,
    /// Type: 1 write exclusive, 3 exclusive access, 5 to 8 the registrants' forms.
    pub kind: u8,
}

impl Reservation {
    /// Returns the type in words.
    pub fn kind_words(&self) -> &'static str {
        match self.kind {
            1 => "write exclusive",
            3 => "exclusive access",
            5 => "write exclusive, registrants only",
            6 => "exclusive access, registrants only",
            7 => "write exclusive, all registrants",
            8 => "exclusive access, all registrants",
            _ => "of unknown type",
        }
    }
}

/// Parses PERSISTENT RESERVE IN, READ RESERVATION: the reservation, if there is one.
pub fn parse_reservation(data: &[u8]) -> Result<Option<Reservation>, ScsiDataError> {
    need("READ RESERVATION data", data, 8)?;
    if be32(data, 4) == 0 {
        return Ok(None);
    }
    need("READ RESERVATION data", data, 22)?;
    Ok(Some(Reservation { key: be64(data, 8), kind: data[21] & 0x0f }))
}

/// Asymmetric access state of a target port group (SPC-4 §5.15.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AccessState {
    /// Full performance.
    Optimized,
    /// Carries I/O, with lower performance.
    NonOptimized,
    /// Answers few commands besides INQUIRY.
    Standby,
    /// Answers almost no command.
    Unavailable,
    /// Switched off.
    Offline,
    /// Changing to another state.
    Transitioning,
}

impl AccessState {
    /// Returns the state of a code; undefined codes count as unavailable.
    pub(crate) fn from_code(code: u8) -> Self {
        match code & 0x0f {
            0 => Self::Optimized,
            1 => Self::NonOptimized,
            2 => Self::Standby,
            0x0e => Self::Offline,
            0x0f => Self::Transitioning,
            _ => Self::Unavailable,
        }
    }

    /// Returns true if READ and WRITE work in this state.
    pub(crate) fn serves_io(self) -> bool {
        matches!(self, Self::Optimized | Self::NonOptimized)
    }
}

/// One group of REPORT TARGET PORT GROUPS.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PortGroup {
    /// Number of the group.
    pub group: u16,
    /// State.
    pub state: AccessState,
    /// The target prefers this group.
    pub preferred: bool,
    /// Relative port numbers in the group.
    pub ports: Vec<u16>,
}

/// Parses REPORT TARGET PORT GROUPS.
pub fn parse_port_groups(data: &[u8]) -> Result<Vec<PortGroup>, ScsiDataError> {
    need("REPORT TARGET PORT GROUPS data", data, 4)?;
    let end = (4usize.saturating_add(be32(data, 0) as usize)).min(data.len());
    let mut rest = &data[4..end];
    let mut groups = Vec::new();
    while rest.len() >= 8 {
        let ports_end = (8 + usize::from(rest[7]) * 4).min(rest.len());
        groups.push(PortGroup {
            group: be16(rest, 2),
            state: AccessState::from_code(rest[0]),
            preferred: rest[0] & 0x80 != 0,
            ports: rest[8..ports_end].chunks_exact(4).map(|port| be16(port, 2)).collect(),
        });
        rest = &rest[ports_end..];
    }
    Ok(groups)
}
