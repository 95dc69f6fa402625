//! INQUIRY: standard data and the vital product data pages 00, 80, 83, B0, B1, B2.

use super::{ScsiDataError, be16, be32, need};

/// Support for asymmetric access (ALUA) according to the standard data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AluaSupport {
    /// None: all paths are equal.
    None,
    /// Access states can be read (implicit, explicit, or both).
    Reported,
}

/// Standard INQUIRY data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Inquiry {
    /// Peripheral qualifier: 0 connected, 1 not connected, 3 no such LUN.
    pub qualifier: u8,
    /// Device type: 0 is a disk.
    pub device_type: u8,
    /// Vendor, trimmed.
    pub vendor: String,
    /// Product, trimmed.
    pub product: String,
    /// Revision, trimmed.
    pub revision: String,
    /// Asymmetric access.
    pub alua: AluaSupport,
}

impl Inquiry {
    /// Parses standard data.
    pub fn parse(data: &[u8]) -> Result<Self, ScsiDataError> {
        need("INQUIRY data", data, 36)?;
        Ok(Self {
            qualifier: data[0] >> 5,
            device_type: data[0] & 0x1f,
            vendor: ascii(&data[8..16]),
            product: ascii(&data[16..32]),
            revision: ascii(&data[32..36]),
            alua: if data[5] & 0x30 == 0 { AluaSupport::None } else { AluaSupport::Reported },
        })
    }
}

fn ascii(bytes: &[u8]) -> String {
    let text: String =
        bytes.iter().map(|&b| if (0x20..0x7f).contains(&b) { char::from(b) } else { ' ' }).collect();
    text.trim().to_owned()
}

/// Returns the payload of a vital product data page after checking its header.
fn page(data: &[u8], number: u8) -> Result<&[u8], ScsiDataError> {
    need("VPD page", data, 4)?;
    if data[1] != number {
        return Err(ScsiDataError::BadField { what: "page code of VPD page", value: data[1].into() });
    }
    let end = (4 + usize::from(be16(data, 2))).min(data.len());
    Ok(&data[4..end])
}

/// Parses page 00: the supported pages.
pub fn parse_supported_pages(data: &[u8]) -> Result<Vec<u8>, ScsiDataError> {
    Ok(page(data, 0x00)?.to_vec())
}

/// Parses page 80, the unit serial number; `None` if the page is empty or holds a filler that many units share.
pub fn parse_serial(data: &[u8]) -> Result<Option<String>, ScsiDataError> {
    Ok(Some(ascii(page(data, 0x80)?)).filter(|serial| is_identity(serial)))
}

/// Returns true if `text` distinguishes one unit from another. Targets fill fields for which they have no value with
/// blanks, zeros, one repeated letter, or a word such as "none".
fn is_identity(text: &str) -> bool {
    let mut characters = text.bytes().filter(u8::is_ascii_alphanumeric);
    let is_filler = match characters.next() {
        // A short serial number other than zero may be the number of the unit.
        Some(first) => characters.all(|next| next == first) && (first == b'0' || text.len() >= FILLER_BYTES),
        None => true,
    };
    let words = ["none", "unknown", "default", "n/a", "not available", "0123456789", "1234567890"];
    !is_filler && !words.iter().any(|word| text.eq_ignore_ascii_case(word))
}

/// Length from which one repeated character counts as a filler, bytes.
const FILLER_BYTES: usize = 8;

/// Returns true if a binary designator distinguishes one unit from another: any byte after the first, which holds the
/// type of an NAA name, is set.
fn names_something(bytes: &[u8]) -> bool {
    bytes.iter().skip(1).any(|&byte| byte != 0) && bytes.iter().any(|&byte| byte != 0xff)
}

/// One designator of page 83.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Designator {
    /// Association: 0 logical unit, 1 target port, 2 target device.
    pub association: u8,
    /// Designator type: 1 T10 vendor, 2 EUI-64, 3 NAA, 4 relative port, 5 port group, 8 SCSI name.
    pub kind: u8,
    /// True if the bytes are text.
    pub is_text: bool,
    /// The designator.
    pub bytes: Vec<u8>,
}

/// Page 83: device identification.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DeviceIds {
    /// All designators in the order of the page.
    pub designators: Vec<Designator>,
}

impl DeviceIds {
    /// Parses page 83.
    pub fn parse(data: &[u8]) -> Result<Self, ScsiDataError> {
        let mut rest = page(data, 0x83)?;
        let mut designators = Vec::new();
        // The loop is bounded: a page has at most 64 KiB and a designator at least four bytes.
        while let [code, kind, _, length, ..] = *rest {
            let end = 4 + usize::from(length);
            if rest.len() < end {
                break; // Cut off by the allocation length.
            }
            designators.push(Designator {
                association: kind >> 4 & 3,
                kind: kind & 0x0f,
                is_text: code & 0x0f >= 2,
                bytes: rest[4..end].to_vec(),
            });
            rest = &rest[end..];
        }
        Ok(Self { designators })
    }

    /// Returns the world-wide name of the logical unit: NAA, else EUI-64, else SCSI name, else T10 vendor
    /// identification.
    pub fn wwid(&self) -> Option<String> {
        let of_kind = |kind| {
            self.designators.iter().filter(move |d| d.association == 0 && d.kind == kind).map(|d| &*d.bytes)
        };
        let binary = |kind| of_kind(kind).find(|bytes| names_something(bytes)).map(hex);
        let text = |kind| of_kind(kind).map(ascii).find(|name| is_identity(name));
        // A T10 name is the vendor, padded to eight bytes, and a vendor-specific part.
        let t10 =
            || of_kind(1).find(|bytes| is_identity(&ascii(bytes.get(8..).unwrap_or_default()))).map(ascii);
        binary(3)
            .map(|name| format!("naa.{name}"))
            .or_else(|| binary(2).map(|name| format!("eui.{name}")))
            .or_else(|| text(8))
            .or_else(|| t10().map(|name| format!("t10.{name}")))
    }

    /// Returns the target port group of the port that answered, for ALUA.
    pub fn target_port_group(&self) -> Option<u16> {
        let group = self.designators.iter().find(|d| d.association == 1 && d.kind == 5)?;
        (group.bytes.len() >= 4).then(|| be16(&group.bytes, 2))
    }
}

fn hex(bytes: &[u8]) -> String {
    crate::text::encode_binary(bytes).split_off(2)
}

/// Page B0: block limits. Zero means that the target reports no limit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct BlockLimits {
    /// Preferred granularity of a transfer, blocks.
    pub optimal_granularity_blocks: u16,
    /// Largest transfer, blocks.
    pub transfer_blocks_max: u32,
    /// Optimal transfer, blocks.
    pub optimal_transfer_blocks: u32,
    /// Largest number of blocks in one UNMAP.
    pub unmap_blocks_max: u32,
    /// Largest number of ranges in one UNMAP.
    pub unmap_ranges_max: u32,
    /// Granularity of UNMAP, blocks.
    pub unmap_granularity_blocks: u32,
    /// First block at which a unit of that granularity begins; 0 if it is not reported.
    pub unmap_alignment_blocks: u32,
}

impl BlockLimits {
    /// Parses page B0.
    pub fn parse(data: &[u8]) -> Result<Self, ScsiDataError> {
        page(data, 0xb0)?;
        need("VPD page B0", data, 16)?;
        // The short form of SBC-2 ends before the UNMAP fields.
        let long = |at| if data.len() >= at + 4 { be32(data, at) } else { 0 };
        // The highest bit says that the other ones are valid (UGAVALID).
        let alignment = long(32);
        Ok(Self {
            optimal_granularity_blocks: be16(data, 6),
            transfer_blocks_max: be32(data, 8),
            optimal_transfer_blocks: be32(data, 12),
            unmap_blocks_max: long(20),
            unmap_ranges_max: long(24),
            unmap_granularity_blocks: long(28),
            unmap_alignment_blocks: if alignment >> 31 == 1 { alignment & 0x7fff_ffff } else { 0 },
        })
    }
}

/// Medium rotation of page B1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rotation {
    /// Not reported.
    Unknown,
    /// Solid state.
    None,
    /// Revolutions per minute.
    Rpm(u16),
}

/// Parses page B1: block device characteristics.
pub fn parse_rotation(data: &[u8]) -> Result<Rotation, ScsiDataError> {
    page(data, 0xb1)?;
    need("VPD page B1", data, 6)?;
    Ok(match be16(data, 4) {
        1 => Rotation::None,
        rpm @ 0x0401..=0xfffe => Rotation::Rpm(rpm),
        _ => Rotation::Unknown,
    })
}

/// Provisioning of page B2.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Provisioning {
    /// Fully provisioned, or not reported.
    Full,
    /// Resource provisioned.
    Resource,
    /// Thin provisioned.
    Thin,
}

/// Page B2: logical block provisioning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BlockProvisioning {
    /// Provisioning type.
    pub provisioning: Provisioning,
    /// UNMAP is supported.
    pub unmap: bool,
}

impl BlockProvisioning {
    /// Parses page B2.
    pub fn parse(data: &[u8]) -> Result<Self, ScsiDataError> {
        page(data, 0xb2)?;
        need("VPD page B2", data, 7)?;
        let provisioning = match data[6] & 7 {
            1 => Provisioning::Resource,
            2 => Provisioning::Thin,
            _ => Provisioning::Full,
        };
        Ok(Self { provisioning, unmap: data[5] & 0x80 != 0 })
    }
}
