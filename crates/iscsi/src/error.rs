//! Errors of the initiator as a whole; those of the protocol layers are in their modules.

use std::io;

use crate::login::LoginError;
use crate::scsi::{ScsiDataError, Sense, status};
use crate::text::TextError;

/// Why an I/O failed. Its buffer is returned with the error.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the message of a variant says what its fields are")]
pub enum IoError {
    /// The target reported an error.
    #[error("{}", sense.as_ref().map_or_else(|| status::words(*status).to_owned(), ToString::to_string))]
    Scsi {
        status: u8,
        /// Sense data, if any was received.
        sense: Option<Sense>,
    },
    /// The target failed an optional command without a SCSI status.
    #[error("target failure (iSCSI response {response:#04x})")]
    TargetFailure { response: u8 },
    /// Fewer bytes were transferred than requested.
    #[error("short transfer: {transferred_bytes} of {expected_bytes} bytes")]
    Short { transferred_bytes: u32, expected_bytes: u32 },
    /// Every attempt failed.
    #[error("failed in each of {attempts} attempts; last error: {last}")]
    GivenUp {
        attempts: u32,
        /// Result of the last attempt.
        last: String,
    },
    /// The I/O exceeded its time limit.
    #[error("timed out after {waited_s} s and {attempts} attempts; last error: {last}")]
    Expired {
        waited_s: u64,
        attempts: u32,
        /// Last error of a path.
        last: String,
    },
    /// No path came up again in time.
    #[error("no path to the target was up for {waited_s} s")]
    NoPath { waited_s: u64 },
    /// The path leads to another unit than before.
    #[error("{why}")]
    Changed { why: String },
    /// The command is invalid.
    #[error("{0}")]
    Invalid(&'static str),
}

/// Why a path could not be brought up, or went down.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the message of a variant says what its fields are")]
pub enum PathError {
    /// The portal's host name could not be resolved.
    #[error("cannot resolve the address of portal {portal}: {source}")]
    Resolve { portal: String, source: io::Error },
    /// The TCP connection failed.
    #[error("cannot connect to {portal}: {source}")]
    Connect { portal: String, source: io::Error },
    /// A time limit was exceeded.
    #[error("{what} to {portal} took longer than {limit_ms} ms")]
    TimedOut {
        /// The step that timed out.
        what: &'static str,
        portal: String,
        limit_ms: u128,
    },
    /// The connection had an I/O whose time was over, and was closed because the I/O's buffer is given back.
    #[error(
        "connection to {portal} closed because an I/O on it was not completed {limit_ms} ms after its submission"
    )]
    Overdue {
        portal: String,
        /// The limit of an I/O from its submission, wherever it spent the time, ms.
        limit_ms: u128,
    },
    /// The path was silent while others answered.
    #[error("{portal} answered nothing for {silent_ms} ms while another path answered")]
    Silent { portal: String, silent_ms: u128 },
    /// Login failed.
    #[error("login at {portal} failed: {source}")]
    Login { portal: String, source: LoginError },
    /// The target closed the connection during the login without an answer.
    #[error("{portal} closed the connection during login without a response: {hint}")]
    HungUp { portal: String, hint: &'static str },
    /// The connection failed, or the target violated the protocol.
    #[error("connection to {portal} ended: {why}")]
    Connection { portal: String, why: String },
    /// The LUN does not exist, or is not a disk.
    #[error("LUN behind {portal} cannot be used: {why}")]
    NoUnit { portal: String, why: String },
    /// The LUN behind this path cannot be used.
    #[error("LUN behind {portal} cannot be used: {why}")]
    Lun { portal: String, why: String },
    /// The LUN behind this path differs from the earlier one, or from the one behind the other paths.
    #[error("LUN behind {portal} cannot be used: it is a different unit: {why}; nothing is written to it")]
    Changed { portal: String, why: String },
    /// The size of the LUN has changed.
    #[error("LUN behind {portal} cannot be used: its size differs: {now} bytes, not {before}")]
    Resized { portal: String, before: u64, now: u64 },
    /// Too many redirections.
    #[error("{portal} redirects the login too often; check the target's portal settings")]
    RedirectLoop { portal: String },
}

impl PathError {
    /// Returns true if a retry cannot succeed until a setting is changed.
    pub(crate) fn is_permanent(&self) -> bool {
        match self {
            Self::Login { source, .. } => source.is_permanent(),
            Self::Changed { .. } | Self::Resized { .. } => true,
            _ => false,
        }
    }

    /// Returns true if the target answered: what failed is not the way to it.
    pub fn is_answer(&self) -> bool {
        match self {
            Self::Login { .. }
            | Self::HungUp { .. }
            | Self::NoUnit { .. }
            | Self::Lun { .. }
            | Self::Changed { .. }
            | Self::Resized { .. }
            | Self::RedirectLoop { .. } => true,
            Self::Resolve { .. }
            | Self::Connect { .. }
            | Self::TimedOut { .. }
            | Self::Overdue { .. }
            | Self::Silent { .. }
            | Self::Connection { .. } => false,
        }
    }

    /// Returns what is missing: a wrong name, no permission, or not set up yet.
    pub fn missing(&self) -> Option<Missing> {
        match self {
            Self::Login { source: LoginError::Refused { class: 2, detail: 2..=4 }, .. } => {
                Some(Missing::Target)
            }
            // Linux LIO's status for a target that it does not have.
            Self::Login { source: LoginError::Refused { class: 3, detail: 1 }, .. } => Some(Missing::Target),
            Self::NoUnit { .. } => Some(Missing::Unit),
            _ => None,
        }
    }
}

/// Why an initiator could not be created.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the message of a variant says what its fields are")]
pub enum ConnectError {
    /// The configuration is invalid.
    #[error("{field} is {value}; it must be {expected}")]
    Config {
        /// Field of [`crate::Config`].
        field: &'static str,
        value: String,
        expected: &'static str,
    },
    /// No path came up.
    #[error("cannot connect to the target over any path: {errors}")]
    NoPath {
        /// Error of each path.
        errors: PathErrors,
        /// What the target or its portal lacks, if that is why a path failed.
        missing: Option<Missing>,
        /// Whether the target answered on a path.
        is_answered: bool,
    },
    /// A basic system call failed.
    #[error("the operating system refused {what}: {source}")]
    System {
        /// The operation.
        what: &'static str,
        source: io::Error,
    },
}

/// A target or unit that does not exist.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Missing {
    /// The portal answers, but does not offer this target to this initiator. [`crate::discover`] lists what it offers.
    Target,
    /// The target has no such unit, or the unit is not a disk. [`crate::units`] lists the units.
    Unit,
}

/// One error per path.
#[derive(Debug)]
pub struct PathErrors(pub Vec<String>);

impl std::fmt::Display for PathErrors {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0.join("; "))
    }
}

/// Why a discovery failed.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the message of a variant says what its fields are")]
pub enum DiscoveryError {
    /// Connection or login.
    #[error(transparent)]
    Path(#[from] PathError),
    /// The answer is malformed.
    #[error("the SendTargets response of {portal} is malformed: {source}")]
    Text { portal: String, source: TextError },
    /// The answer is too long or contradicts itself.
    #[error("the SendTargets response of {portal} {fault}")]
    Answer { portal: String, fault: &'static str },
}

/// Why a control command (inquiry, capacity, …) failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the message of a variant says what its fields are")]
pub enum CommandError {
    /// The command failed.
    #[error("{what} failed: {source}")]
    Failed {
        /// Which command.
        what: &'static str,
        source: IoError,
    },
    /// The answer is malformed.
    #[error("the response to {what} is malformed: {source}")]
    Answer {
        /// Which command.
        what: &'static str,
        source: ScsiDataError,
    },
    /// No command can be submitted at the moment.
    #[error("{what} cannot be sent: {why}")]
    NotSent {
        /// Which command.
        what: &'static str,
        why: &'static str,
    },
}

/// Why no further command can be executed; all later calls return the same reason.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the message of a variant says what its fields are")]
pub enum Lost {
    /// No path came up again in time.
    #[error("the target is lost: no path for {waited_s} s, last error: {last}")]
    NoPath {
        waited_s: u64,
        /// Last error of a path.
        last: String,
    },
    /// The path leads to another unit than before.
    #[error("the target is lost: {why}")]
    Changed { why: String },
}

impl Lost {
    /// Returns the error for a waiting command.
    pub(crate) fn of_command(&self) -> IoError {
        match self {
            Self::NoPath { waited_s, .. } => IoError::NoPath { waited_s: *waited_s },
            Self::Changed { why } => IoError::Changed { why: why.clone() },
        }
    }
}
