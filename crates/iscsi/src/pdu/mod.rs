//! Protocol data units, byte by byte (RFC 7143 §11), without I/O.
//!
//! A [`Bhs`] is the 48-byte basic header segment every PDU starts with. The `request` module builds the headers an
//! initiator sends, the `response` module reads the ones it receives; data segments never pass through here, so that
//! payload moves between the socket and the caller's buffer without a copy.
//!
//! ```text
//!  0        1        2        3        4         5..8       8..16   16..20   20..48
//! +--------+--------+--------+--------+---------+----------+-------+--------+----------------+
//! |I opcode|F flags | opcode specific | AHS len | data len |  LUN  |  ITT   | opcode specific|
//! +--------+--------+--------+--------+---------+----------+-------+--------+----------------+
//! ```

mod request;
mod response;

pub use request::*;
pub use response::*;

/// Length of the basic header segment, bytes.
pub(crate) const BHS_BYTES: usize = 48;
/// Length of one digest, bytes.
pub const DIGEST_BYTES: usize = 4;
/// The task tag that means "none" in every PDU.
pub const NO_TAG: u32 = 0xffff_ffff;
/// Largest data segment that the 24-bit length field can express, bytes.
pub(crate) const DATA_SEGMENT_BYTES_MAX: u32 = 0x00ff_ffff;

/// Opcodes, with the immediate bit and reserved bit removed.
pub mod opcode {
    /// Initiator to target: ping, or answer to a ping.
    pub const NOP_OUT: u8 = 0x00;
    /// Initiator to target: a SCSI command.
    pub const SCSI_COMMAND: u8 = 0x01;
    /// Initiator to target: abort or reset.
    pub const TASK_MANAGEMENT: u8 = 0x02;
    /// Initiator to target: login negotiation.
    pub const LOGIN: u8 = 0x03;
    /// Initiator to target: text negotiation, `SendTargets`.
    pub const TEXT: u8 = 0x04;
    /// Initiator to target: write data.
    pub const DATA_OUT: u8 = 0x05;
    /// Initiator to target: end of a session or connection.
    pub const LOGOUT: u8 = 0x06;
    /// Target to initiator: ping, or answer to a ping.
    pub const NOP_IN: u8 = 0x20;
    /// Target to initiator: status of a command.
    pub const SCSI_RESPONSE: u8 = 0x21;
    /// Target to initiator: outcome of an abort or reset.
    pub const TASK_MANAGEMENT_RESPONSE: u8 = 0x22;
    /// Target to initiator: login negotiation.
    pub const LOGIN_RESPONSE: u8 = 0x23;
    /// Target to initiator: text negotiation.
    pub const TEXT_RESPONSE: u8 = 0x24;
    /// Target to initiator: read data, possibly with status.
    pub const DATA_IN: u8 = 0x25;
    /// Target to initiator: answer to a logout.
    pub const LOGOUT_RESPONSE: u8 = 0x26;
    /// Target to initiator: ready to transfer, requests write data.
    pub const R2T: u8 = 0x31;
    /// Target to initiator: asynchronous message.
    pub const ASYNC_MESSAGE: u8 = 0x32;
    /// Target to initiator: a PDU was refused.
    pub const REJECT: u8 = 0x3f;
}

/// The final bit (also: transit) in byte 1.
pub(crate) const FLAG_FINAL: u8 = 0x80;
/// The continue bit of login and text PDUs in byte 1.
pub(crate) const FLAG_CONTINUE: u8 = 0x40;

/// An error in a header.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the message of a variant says what its fields are")]
pub enum PduError {
    /// A target must not send this opcode.
    #[error("opcode {0:#04x} is not valid from a target")]
    UnknownOpcode(u8),
    /// A field holds a value the standard does not allow.
    #[error("field {field} of opcode {opcode:#04x} holds {value:#x}, which RFC 7143 does not allow")]
    BadField {
        /// Name of the field as in RFC 7143.
        field: &'static str,
        opcode: u8,
        value: u32,
    },
    /// The data segment is longer than what was declared at login.
    #[error("data segment of {got_bytes} bytes exceeds the declared MaxRecvDataSegmentLength of {max_bytes}")]
    SegmentTooLong { got_bytes: u32, max_bytes: u32 },
}

/// Basic header segment: 48 bytes in wire format.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Bhs(pub [u8; BHS_BYTES]);

impl Default for Bhs {
    fn default() -> Self {
        Self([0; BHS_BYTES])
    }
}

impl std::fmt::Debug for Bhs {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Bhs(")?;
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))?;
        write!(f, ")")
    }
}

impl Bhs {
    /// Returns the opcode without the immediate bit.
    pub fn opcode(&self) -> u8 {
        self.0[0] & 0x3f
    }

    /// Returns the flags: byte 1.
    pub fn flags(&self) -> u8 {
        self.0[1]
    }

    /// Returns true if the final (transit) bit is set.
    pub(crate) fn is_final(&self) -> bool {
        self.0[1] & FLAG_FINAL != 0
    }

    /// Returns the length of all additional header segments, bytes, in [0, 1020].
    pub fn ahs_bytes(&self) -> usize {
        usize::from(self.0[4]) * 4
    }

    /// Returns the length of the data segment without padding, bytes, in [0, 2^24 - 1].
    pub fn data_bytes(&self) -> u32 {
        u32::from_be_bytes([0, self.0[5], self.0[6], self.0[7]])
    }

    /// Returns the big-endian 32-bit word at byte `offset`, in [0, 44].
    pub fn word(&self, offset: usize) -> u32 {
        u32::from_be_bytes([self.0[offset], self.0[offset + 1], self.0[offset + 2], self.0[offset + 3]])
    }

    /// Returns the logical unit number field in wire format.
    pub fn lun(&self) -> u64 {
        u64::from(self.word(8)) << 32 | u64::from(self.word(12))
    }

    /// Returns the initiator task tag.
    pub fn itt(&self) -> u32 {
        self.word(16)
    }

    /// Returns the target transfer tag (NOP, R2T, Data-In, text).
    pub(crate) fn ttt(&self) -> u32 {
        self.word(20)
    }

    /// Writes a big-endian 32-bit word at byte `offset`.
    pub fn set_word(&mut self, offset: usize, value: u32) -> &mut Self {
        self.0[offset..offset + 4].copy_from_slice(&value.to_be_bytes());
        self
    }

    /// Writes the logical unit number field.
    pub(crate) fn set_lun(&mut self, lun: u64) -> &mut Self {
        self.0[8..16].copy_from_slice(&lun.to_be_bytes());
        self
    }

    /// Writes the data segment length; the caller bounds it to [`DATA_SEGMENT_BYTES_MAX`].
    pub fn set_data_bytes(&mut self, bytes: u32) -> &mut Self {
        debug_assert!(bytes <= DATA_SEGMENT_BYTES_MAX, "a segment is cut before its header is made");
        self.0[5..8].copy_from_slice(&bytes.to_be_bytes()[1..]);
        self
    }
}

/// Returns the number of padding bytes after a segment of `bytes`: segments end on a multiple of four.
pub fn padding(bytes: u32) -> usize {
    (bytes.wrapping_neg() & 3) as usize
}

/// Returns a digest in wire format: CRC32C, least significant byte first (RFC 7143 §13.1).
pub(crate) fn digest_bytes(crc: u32) -> [u8; DIGEST_BYTES] {
    crc.to_le_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_24_bits_big_endian() {
        let mut bhs = Bhs::default();
        bhs.set_data_bytes(0x01_0203);
        assert_eq!(bhs.0[4..8], [0, 1, 2, 3]);
        assert_eq!(bhs.data_bytes(), 0x01_0203);
        bhs.0[4] = 255;
        assert_eq!(bhs.ahs_bytes(), 1020);
    }

    #[test]
    fn padding_completes_a_word() {
        assert_eq!([0, 1, 2, 3, 4, 5].map(padding), [0, 3, 2, 1, 0, 3]);
    }

    #[test]
    fn the_digest_of_32_zero_bytes_matches_the_standard() {
        // RFC 7143 appendix (and RFC 3720 B.4): 32 bytes of zeroes give aa 36 91 8a.
        assert_eq!(digest_bytes(crc32c::crc32c(&[0; 32])), [0xaa, 0x36, 0x91, 0x8a]);
        assert_eq!(digest_bytes(crc32c::crc32c(&[0xff; 32])), [0x43, 0xab, 0xa8, 0x62]);
    }
}
