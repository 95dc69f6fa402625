//! The SCSI layer: command descriptor blocks out, parameter data and sense data in (SPC-4, SBC-3). No I/O.

pub mod cdb;
mod inquiry;
mod parameters;
mod sense;
mod sense_words;

pub use inquiry::*;
pub use parameters::*;
pub use sense::*;

/// SCSI status bytes (SAM-5 §5.3.1).
pub mod status {
    /// The command succeeded.
    pub const GOOD: u8 = 0x00;
    /// The sense data contains the reason.
    pub(crate) const CHECK_CONDITION: u8 = 0x02;
    /// A condition was met.
    pub(crate) const CONDITION_MET: u8 = 0x04;
    /// The unit cannot accept the command at the moment.
    pub const BUSY: u8 = 0x08;
    /// Another initiator holds a reservation.
    pub const RESERVATION_CONFLICT: u8 = 0x18;
    /// The task set has no room for the command.
    pub const TASK_SET_FULL: u8 = 0x28;
    /// An auto contingent allegiance is in force.
    pub(crate) const ACA_ACTIVE: u8 = 0x30;
    /// Aborted by another initiator.
    pub const TASK_ABORTED: u8 = 0x40;

    /// Returns the status in words.
    pub fn words(status: u8) -> &'static str {
        match status {
            GOOD => "good",
            CHECK_CONDITION => "check condition",
            CONDITION_MET => "condition met",
            BUSY => "busy",
            RESERVATION_CONFLICT => "reservation conflict: another initiator has reserved the LUN",
            TASK_SET_FULL => "task set full: the target has no free slot for another command",
            ACA_ACTIVE => "ACA active",
            TASK_ABORTED => "task aborted by another initiator",
            _ => "unknown status",
        }
    }
}

/// An error in parameter data.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the message of a variant says what its fields are")]
pub enum ScsiDataError {
    /// The data is shorter than its format requires.
    #[error("{what} is {got_bytes} bytes long, at least {need_bytes} are needed")]
    TooShort {
        /// Name of the data.
        what: &'static str,
        got_bytes: usize,
        need_bytes: usize,
    },
    /// A field has an invalid value.
    #[error("{what} holds {value:#x}, which makes no sense")]
    BadField {
        /// Name of the data and field.
        what: &'static str,
        value: u64,
    },
}

/// Returns the wire form of a logical unit number: peripheral addressing below 256, flat space above (SAM-5 §4.7).
pub(crate) fn lun_to_wire(lun: u16) -> u64 {
    let flat = if lun < 256 { 0 } else { 0x4000 };
    u64::from(lun | flat) << 48
}

/// Returns the number of a single-level logical unit; `None` for addressing methods this initiator does not use.
pub fn lun_from_wire(wire: u64) -> Option<u16> {
    let [high, low, rest @ ..] = wire.to_be_bytes();
    let single_level = rest == [0; 6];
    match high >> 6 {
        0 if single_level && high == 0 => Some(u16::from(low)),
        1 if single_level => Some(u16::from(high & 0x3f) << 8 | u16::from(low)),
        _ => None,
    }
}

fn need(what: &'static str, data: &[u8], need_bytes: usize) -> Result<(), ScsiDataError> {
    if data.len() < need_bytes {
        return Err(ScsiDataError::TooShort { what, got_bytes: data.len(), need_bytes });
    }
    Ok(())
}

fn be16(data: &[u8], at: usize) -> u16 {
    u16::from_be_bytes([data[at], data[at + 1]])
}

fn be32(data: &[u8], at: usize) -> u32 {
    u32::from_be_bytes([data[at], data[at + 1], data[at + 2], data[at + 3]])
}

fn be64(data: &[u8], at: usize) -> u64 {
    u64::from(be32(data, at)) << 32 | u64::from(be32(data, at + 4))
}

#[cfg(test)]
mod tests;
