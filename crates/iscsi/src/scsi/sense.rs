//! Sense data in fixed and descriptor format (SPC-4 §4.5), and the action it requires.

use std::fmt;

use super::sense_words::{asc_words, key_words};

/// Sense key, additional sense code and its qualifier.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sense {
    /// Sense key, in [0, 15].
    pub key: u8,
    /// Additional sense code.
    pub asc: u8,
    /// Additional sense code qualifier.
    pub ascq: u8,
    /// Information field; for medium errors, the block.
    pub information: Option<u64>,
}

/// Sense keys that affect control flow.
pub mod key {
    /// The unit cannot be accessed.
    pub const NOT_READY: u8 = 0x2;
    /// The medium cannot read or write the data.
    pub const MEDIUM_ERROR: u8 = 0x3;
    /// The target does not support the command or one of its fields.
    pub const ILLEGAL_REQUEST: u8 = 0x5;
    /// Something changed since the last command.
    pub(crate) const UNIT_ATTENTION: u8 = 0x6;
    /// Writing is not allowed.
    pub const DATA_PROTECT: u8 = 0x7;
    /// The target aborted the command.
    pub(crate) const ABORTED_COMMAND: u8 = 0xb;
}

/// Action of the initiator on a CHECK CONDITION.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SenseAction {
    /// Send the command again at once.
    RetryNow,
    /// Send the command again after a pause.
    RetryLater,
    /// This path cannot serve it in its present access state; try another one.
    OtherPath,
    /// Report the error to the caller.
    Fail,
    /// Treat the command as successful.
    Succeed,
}

impl Sense {
    /// Parses sense data; `None` if it has neither format or is too short.
    pub fn parse(data: &[u8]) -> Option<Self> {
        match data.first()? & 0x7f {
            0x70 | 0x71 => Self::parse_fixed(data),
            0x72 | 0x73 => Self::parse_descriptor(data),
            _ => None,
        }
    }

    fn parse_fixed(data: &[u8]) -> Option<Self> {
        let key = data.get(2)? & 0x0f;
        let additional = data.get(7).copied().unwrap_or(0);
        let at =
            |at: usize| if usize::from(additional) + 8 > at { data.get(at).copied().unwrap_or(0) } else { 0 };
        let valid = data[0] & 0x80 != 0 && data.len() >= 7;
        let information = valid.then(|| u64::from(super::be32(data, 3)));
        Some(Self { key, asc: at(12), ascq: at(13), information })
    }

    fn parse_descriptor(data: &[u8]) -> Option<Self> {
        let [_, key, asc, ascq, ..] = *data else { return None };
        let end = (8 + usize::from(*data.get(7).unwrap_or(&0))).min(data.len());
        let mut rest = data.get(8..end).unwrap_or_default();
        let mut information = None;
        while let [kind, length, ..] = *rest {
            if kind == 0 && length >= 0x0a && rest.len() >= 12 {
                information = Some(super::be64(rest, 4));
            }
            rest = rest.get(2 + usize::from(length)..).unwrap_or_default();
        }
        Some(Self { key: key & 0x0f, asc, ascq, information })
    }

    /// Returns the action that the sense data requires.
    pub fn action(&self) -> SenseAction {
        match (self.key, self.asc, self.ascq) {
            (0 | 1, _, _) => SenseAction::Succeed,
            // No unit behind the number: before the path is used again, it is verified whether another one took its
            // place.
            (key::UNIT_ATTENTION, _, _) | (key::ILLEGAL_REQUEST, 0x25, _) => SenseAction::RetryNow,
            // Becoming ready, in progress, or changing its access state.
            (key::NOT_READY, 0x04, 0x01 | 0x04..=0x09 | 0x0a | 0x14) => SenseAction::RetryLater,
            // Standby, unavailable, offline.
            (key::NOT_READY, 0x04, 0x0b | 0x0c | 0x12) => SenseAction::OtherPath,
            (key::ABORTED_COMMAND, _, _) => SenseAction::RetryNow,
            _ => SenseAction::Fail,
        }
    }

    /// Returns true if the unit may be another one now, or have another size: on every unit attention except those
    /// known to concern something else, and if the number has no unit any more.
    pub(crate) fn tells_of_another_unit(&self) -> bool {
        match (self.key, self.asc, self.ascq) {
            // Mode parameters, reservations, access states, commands of others, thresholds.
            (key::UNIT_ATTENTION, 0x2a, 0x01..=0x08) | (key::UNIT_ATTENTION, 0x2f | 0x38 | 0x5d, _) => false,
            (key::UNIT_ATTENTION, _, _) | (key::ILLEGAL_REQUEST, 0x25, _) => true,
            _ => false,
        }
    }

    /// Returns true if asymmetric access states have changed, so that they must be read again.
    pub(crate) fn tells_of_access_state(&self) -> bool {
        matches!(
            (self.key, self.asc, self.ascq),
            (key::UNIT_ATTENTION, 0x2a, 0x06 | 0x07) | (key::NOT_READY, 0x04, 0x0a..=0x0c)
        )
    }
}

impl fmt::Display for Sense {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", key_words(self.key), asc_words(self.asc, self.ascq))?;
        write!(f, " (sense {:x}/{:02x}/{:02x})", self.key, self.asc, self.ascq)?;
        self.information.map_or(Ok(()), |lba| write!(f, " at block {lba}"))
    }
}
