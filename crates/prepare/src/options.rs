//! Command line options about targets.

use assay_record::Warning;
use assay_target::lun::Secret;
use assay_target::{Caching, Durability, IoEngine};

use crate::error::PrepareError;

/// Requested I/O engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IoChoice {
    /// io_uring, or psync with a warning if it is refused.
    Auto,
    /// io_uring, or an error.
    Uring,
    /// psync.
    Psync,
}

/// Action if a device, or a file that Assay may not enlarge, is smaller than the plan's size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TooSmall {
    /// Refuse it, because the user requested this size.
    Refuse,
    /// Use all of it, because the size is the plan's default.
    UseAll,
}

/// Whether targets are written before they are measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FillChoice {
    /// Write all devices and LUNs that may be written, and the missing parts of files.
    WhereNeeded,
    /// Write nothing: unwritten parts are measured as they are, and the result says so.
    Never,
}

/// Whether anything about a target may change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Changes {
    /// New files are created, own files are marked and filled, as the plan needs it.
    AsNeeded,
    /// Nothing: files of Assay's own are read like foreign ones, and an absent file is an error.
    Refused,
}

/// Whether a device or LUN that is to be overwritten must be blank.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BlankChoice {
    /// Data that Assay did not write is an objection.
    Required,
    /// Such data may be lost, because the user typed `--not-blank`. Known signatures are refused all the same.
    NotRequired,
}

/// Command line options about targets.
#[derive(Debug, Clone)]
pub struct PrepareOptions {
    /// I/O engine.
    pub io: IoChoice,
    /// Whether I/O uses the page cache.
    pub caching: Caching,
    /// When a write counts as complete.
    pub durability: Durability,
    /// Targets that may be overwritten: identities of devices and LUNs, paths and addresses of files.
    pub overwrite: Vec<String>,
    /// Whether the devices and LUNs among these must be blank.
    pub blank: BlankChoice,
    /// Whether anything about the targets may change.
    pub changes: Changes,
    /// Whether targets are written before they are measured.
    pub fill: FillChoice,
    /// Action if a device or foreign file is smaller than the plan's size.
    pub too_small: TooSmall,
    /// A CHAP secret typed by the user, for LUNs with a user name and no other secret.
    pub chap_secret: Option<Secret>,
}

impl PrepareOptions {
    /// Returns the options of one who changes nothing and takes targets as large as they are.
    pub fn reading() -> Self {
        Self {
            io: IoChoice::Auto,
            caching: Caching::Direct,
            durability: Durability::Device,
            overwrite: Vec::new(),
            blank: BlankChoice::Required,
            changes: Changes::Refused,
            fill: FillChoice::Never,
            too_small: TooSmall::UseAll,
            chap_secret: None,
        }
    }

    /// Chooses the engine for files and devices; a fallback is a warning.
    pub(crate) fn engine(&self) -> Result<(IoEngine, Vec<Warning>), PrepareError> {
        match (self.io, assay_target::uring_refused()) {
            (IoChoice::Psync, _) => Ok((IoEngine::Psync, Vec::new())),
            (_, None) => Ok((IoEngine::Uring, Vec::new())),
            (IoChoice::Uring, Some(why)) => Err(PrepareError::UringRefused { why }),
            (IoChoice::Auto, Some(why)) => Ok((IoEngine::Psync, vec![psync_fallback(&why)])),
        }
    }
}

fn psync_fallback(why: &std::io::Error) -> Warning {
    Warning {
        rule: "psync-fallback".into(),
        says: format!(
            "This host refuses io_uring ({why}), so helper threads issue I/O by blocking calls: more CPU per I/O, and \
             latencies longer than the storage's own."
        ),
        next: "Allow io_uring (sysctl kernel.io_uring_disabled=0, or the container's seccomp profile), or use --io \
               psync to accept it."
            .into(),
    }
}
