//! What the command line says about targets.

use assay_record::Warning;
use assay_target::lun::Secret;
use assay_target::{Caching, Durability, IoEngine};

use crate::error::PrepareError;

/// How I/O is to be issued.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IoChoice {
    /// io_uring, or psync with a warning where it is refused.
    Auto,
    /// io_uring or nothing.
    Uring,
    /// psync.
    Psync,
}

/// What happens when a device, or a file that Assay may not enlarge, holds less than the plan's size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TooSmall {
    /// It is refused: somebody asked for this size.
    Refuse,
    /// All of it is used: the size is the plan's default.
    UseAll,
}

/// Whether targets are written before they are measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FillChoice {
    /// Devices and LUNs that may be written, and whatever a file lacks.
    WhereNeeded,
    /// Nothing: what was never written is measured as it is, and the result says so.
    Never,
}

/// Whether a device or LUN that is to be overwritten must be blank.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BlankChoice {
    /// Data that Assay did not write refuse it.
    Required,
    /// They may be lost: somebody typed `--not-blank`. What has a known signature is refused all the same.
    NotRequired,
}

/// What the command line says about targets.
#[derive(Debug, Clone)]
pub struct PrepareOptions {
    /// How I/O is issued.
    pub io: IoChoice,
    /// Past the page cache or through it.
    pub caching: Caching,
    /// When a write counts as done.
    pub durability: Durability,
    /// What may be overwritten: identities of devices and LUNs, paths and addresses of files.
    pub overwrite: Vec<String>,
    /// Whether the devices and LUNs among these must be blank.
    pub blank: BlankChoice,
    /// Whether targets are written before they are measured.
    pub fill: FillChoice,
    /// What a device or foreign file smaller than the plan's size means.
    pub too_small: TooSmall,
    /// A CHAP secret that somebody typed, for LUNs with a user name and no other secret.
    pub chap_secret: Option<Secret>,
}

impl PrepareOptions {
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
