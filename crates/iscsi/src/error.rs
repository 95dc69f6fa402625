//! Errors of the initiator as a whole; those of the protocol layers are in their modules.

use std::io;

use crate::login::LoginError;
use crate::scsi::{ScsiDataError, Sense, status};
use crate::text::TextError;

/// Why an I/O failed. The buffer comes back with it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum IoError {
    /// The target reports an error.
    #[error("{}", sense.as_ref().map_or_else(|| status::words(*status).to_owned(), ToString::to_string))]
    Scsi {
        /// SCSI status byte.
        status: u8,
        /// Sense data, if it came.
        sense: Option<Sense>,
    },
    /// Fewer bytes were moved than asked for.
    #[error("short transfer: {transferred_bytes} of {expected_bytes} bytes")]
    Short {
        /// Bytes moved.
        transferred_bytes: u32,
        /// Bytes asked for.
        expected_bytes: u32,
    },
    /// Gave up after several attempts.
    #[error("gave up after {attempts} attempts; the last one failed: {last}")]
    GivenUp {
        /// How often it was sent.
        attempts: u32,
        /// How the last try ended.
        last: String,
    },
    /// It did not end in the time that an I/O has.
    #[error(
        "gave up because it did not complete within {waited_s} s, in {attempts} attempts; last error: {last}"
    )]
    Expired {
        /// The limit, seconds.
        waited_s: u64,
        /// How often it was sent.
        attempts: u32,
        /// Last error of a path.
        last: String,
    },
    /// No path came back in time.
    #[error("no path to the target was up for {waited_s} s")]
    NoPath {
        /// How long was waited, seconds.
        waited_s: u64,
    },
    /// The unit is not the one that it was.
    #[error("{why}")]
    Changed {
        /// What differs.
        why: String,
    },
    /// The command itself makes no sense.
    #[error("{0}")]
    Invalid(&'static str),
}

/// Why a path could not be brought up, or went down.
#[derive(Debug, thiserror::Error)]
pub enum PathError {
    /// The portal's name has no address.
    #[error("cannot resolve the address of portal {portal}: {source}")]
    Resolve {
        /// Portal as configured.
        portal: String,
        /// Cause.
        source: io::Error,
    },
    /// No TCP connection.
    #[error("cannot connect to {portal}: {source}")]
    Connect {
        /// Portal.
        portal: String,
        /// Cause.
        source: io::Error,
    },
    /// Nothing happened for too long.
    #[error("{what} to {portal} took longer than {limit_ms} ms")]
    TimedOut {
        /// What was waited for.
        what: &'static str,
        /// Portal.
        portal: String,
        /// The limit, ms.
        limit_ms: u128,
    },
    /// It said nothing while others did.
    #[error("{portal} sent nothing for {silent_ms} ms while another path answered")]
    Silent {
        /// Portal.
        portal: String,
        /// For how long, ms.
        silent_ms: u128,
    },
    /// Login failed.
    #[error("login at {portal} failed: {source}")]
    Login {
        /// Portal.
        portal: String,
        /// Cause.
        source: LoginError,
    },
    /// The target closed the connection while it was logged in to, and said nothing.
    #[error("{portal} closed the connection during login without a response: {hint}")]
    HungUp {
        /// Portal.
        portal: String,
        /// What it may have wanted.
        hint: &'static str,
    },
    /// The connection failed, or the target violated the protocol.
    #[error("connection to {portal} ended: {why}")]
    Connection {
        /// Portal.
        portal: String,
        /// Cause.
        why: String,
    },
    /// There is no such LUN, or it is no disk.
    #[error("LUN behind {portal} cannot be used: {why}")]
    NoUnit {
        /// Portal.
        portal: String,
        /// Cause.
        why: String,
    },
    /// The LUN behind this path cannot be used.
    #[error("LUN behind {portal} cannot be used: {why}")]
    Lun {
        /// Portal.
        portal: String,
        /// Cause.
        why: String,
    },
    /// The LUN behind this path is another one than before, or than behind the other paths.
    #[error("LUN behind {portal} cannot be used: it is a different unit: {why}; nothing is written to it")]
    Changed {
        /// Portal.
        portal: String,
        /// What differs.
        why: String,
    },
    /// The LUN has another size than before.
    #[error("LUN behind {portal} cannot be used: its size differs: {now} bytes, not {before}")]
    Resized {
        /// Portal.
        portal: String,
        /// Size before, bytes.
        before: u64,
        /// Size now, bytes.
        now: u64,
    },
    /// Too many redirections.
    #[error("{portal} redirects the login too often; check the target's portal settings")]
    RedirectLoop {
        /// Portal.
        portal: String,
    },
}

impl PathError {
    /// True if trying again cannot help as long as nobody changes a setting.
    #[must_use]
    pub fn is_permanent(&self) -> bool {
        match self {
            Self::Login { source, .. } => source.is_permanent(),
            Self::Changed { .. } | Self::Resized { .. } => true,
            _ => false,
        }
    }

    /// What is not there: wrong name, not allowed, or not set up yet.
    #[must_use]
    pub fn missing(&self) -> Option<Missing> {
        match self {
            Self::Login { source: LoginError::Refused { class: 2, detail: 2..=4 }, .. } => {
                Some(Missing::Target)
            }
            // What Linux LIO says of a target it does not have.
            Self::Login { source: LoginError::Refused { class: 3, detail: 1 }, .. } => Some(Missing::Target),
            Self::NoUnit { .. } => Some(Missing::Unit),
            _ => None,
        }
    }
}

/// Why an initiator could not be made.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// The configuration makes no sense.
    #[error("{field} is {value}; it must be {expected}")]
    Config {
        /// Field of [`crate::Config`].
        field: &'static str,
        /// Its value.
        value: String,
        /// What would be right.
        expected: &'static str,
    },
    /// No path came up.
    #[error("no path to the target came up: {errors}")]
    NoPath {
        /// Why, path by path.
        errors: PathErrors,
        /// What the target or its portal does not have, where that is the reason of a path.
        missing: Option<Missing>,
    },
    /// The system refuses something basic.
    #[error("the operating system refused {what}: {source}")]
    System {
        /// What was asked for.
        what: &'static str,
        /// Cause.
        source: io::Error,
    },
}

/// What was asked for and is not there.
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
pub enum DiscoveryError {
    /// Connection or login.
    #[error(transparent)]
    Path(#[from] PathError),
    /// Broken answer.
    #[error("the SendTargets response of {portal} is malformed: {source}")]
    Text {
        /// Portal.
        portal: String,
        /// Cause.
        source: TextError,
    },
    /// Endless answer, or nonsense.
    #[error("the SendTargets response of {portal} {fault}")]
    Answer {
        /// Portal.
        portal: String,
        /// What is wrong.
        fault: &'static str,
    },
}

/// Why a control command (inquiry, capacity, …) failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CommandError {
    /// It came back with an error.
    #[error("{what} failed: {source}")]
    Failed {
        /// Which command.
        what: &'static str,
        /// Cause.
        source: IoError,
    },
    /// The answer is broken.
    #[error("the response to {what} is malformed: {source}")]
    Answer {
        /// Which command.
        what: &'static str,
        /// Cause.
        source: ScsiDataError,
    },
    /// Nothing can be submitted at the moment.
    #[error("{what} cannot be sent: {why}")]
    NotSent {
        /// Which command.
        what: &'static str,
        /// Cause.
        why: &'static str,
    },
}

/// Why no command can be carried out any more; all later calls say the same.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Lost {
    /// No path came back in time.
    #[error("the target is lost: no path for {waited_s} s, last error: {last}")]
    NoPath {
        /// How long was waited, seconds.
        waited_s: u64,
        /// Last error of a path.
        last: String,
    },
    /// The unit is not the one that it was.
    #[error("the target is lost: {why}")]
    Changed {
        /// What differs.
        why: String,
    },
}

impl Lost {
    /// The error of a command that was waiting.
    pub(crate) fn of_command(&self) -> IoError {
        match self {
            Self::NoPath { waited_s, .. } => IoError::NoPath { waited_s: *waited_s },
            Self::Changed { why } => IoError::Changed { why: why.clone() },
        }
    }
}
