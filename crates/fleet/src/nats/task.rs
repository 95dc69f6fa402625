//! How the targets of a task are treated, as it is asked for on the bus.

use assay_prepare::{BlankChoice, Changes, FillChoice, IoChoice, PrepareOptions, TooSmall};
use assay_target::{Caching, Durability};
use serde::{Deserialize, Serialize};

/// [`PrepareOptions`] without what only the agent's own host may say: secrets, and whether anything may change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[expect(clippy::struct_excessive_bools, reason = "each is a choice of its own on the command line")]
pub(crate) struct TaskOptions {
    /// `None` chooses by itself.
    pub(crate) uring: Option<bool>,
    pub(crate) cached: bool,
    pub(crate) sync: bool,
    /// Identities of targets that may be overwritten, if the agent's configuration names them too.
    pub(crate) overwrite: Vec<String>,
    pub(crate) not_blank: bool,
    pub(crate) no_fill: bool,
    pub(crate) too_small_is_refused: bool,
    pub(crate) remove: bool,
    pub(crate) keep_awake: bool,
}

impl TaskOptions {
    pub(crate) fn of(options: &PrepareOptions, remove: bool, keep_awake: bool) -> Self {
        Self {
            uring: match options.io {
                IoChoice::Auto => None,
                IoChoice::Uring => Some(true),
                IoChoice::Psync => Some(false),
            },
            cached: options.caching == Caching::Cached,
            sync: options.durability == Durability::Sync,
            overwrite: options.overwrite.clone(),
            not_blank: options.blank == BlankChoice::NotRequired,
            no_fill: options.fill == FillChoice::Never,
            too_small_is_refused: options.too_small == TooSmall::Refuse,
            remove,
            keep_awake,
        }
    }

    /// Returns the options of a run that may write where it was asked to.
    pub(crate) fn for_writing(&self, overwrite: Vec<String>) -> PrepareOptions {
        PrepareOptions {
            overwrite,
            blank: if self.not_blank { BlankChoice::NotRequired } else { BlankChoice::Required },
            changes: Changes::AsNeeded,
            fill: if self.no_fill { FillChoice::Never } else { FillChoice::WhereNeeded },
            ..self.for_reading()
        }
    }

    /// Returns the options of a run that changes nothing.
    pub(crate) fn for_reading(&self) -> PrepareOptions {
        PrepareOptions {
            io: match self.uring {
                None => IoChoice::Auto,
                Some(true) => IoChoice::Uring,
                Some(false) => IoChoice::Psync,
            },
            caching: if self.cached { Caching::Cached } else { Caching::Direct },
            durability: if self.sync { Durability::Sync } else { Durability::Device },
            overwrite: Vec::new(),
            blank: BlankChoice::Required,
            changes: Changes::Refused,
            fill: FillChoice::Never,
            too_small: if self.too_small_is_refused { TooSmall::Refuse } else { TooSmall::UseAll },
            chap_secret: None,
        }
    }
}
