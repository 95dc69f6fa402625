//! Why a run failed, by the step that failed.

use std::path::PathBuf;

use assay_engine::{Misfit, RunError};
use assay_host::AwakeError;
use assay_prepare::PrepareError;
use assay_store::StoreError;
use assay_target::{OpenError, TargetLost};
use thiserror::Error;

/// What closing a target too late or not at all leads to.
const UNCLOSED: &str = "the run is over, but the next one refuses the file or fills it again";

/// Why a run did not begin, ended early, or left something undone.
#[derive(Debug, Error)]
#[expect(missing_docs, reason = "the message of a variant says what its fields are")]
pub enum RunnerError {
    /// A target could not be used.
    #[error("{source}")]
    Prepare {
        #[from]
        source: PrepareError,
    },
    /// The plan cannot run on the targets; they are as they were.
    #[error("{source}")]
    Misfit {
        #[from]
        source: Misfit,
    },
    /// The same, and a change could not be undone.
    #[error("{source}; earlier changes could not be undone: {left}")]
    MisfitNotUndone {
        source: Misfit,
        /// Remaining changes, a clause each.
        left: String,
    },
    /// A target could not be filled.
    #[error("{source}")]
    Fill { source: PrepareError },
    /// The CPUs could not be kept from idling.
    #[error("{source}")]
    Awake {
        #[from]
        source: AwakeError,
    },
    /// The system's clock cannot be right.
    #[error("the clock of this host is far off: set it, as the store sorts runs by their start")]
    Clock,
    /// The plan says which hosts run what.
    #[error("the plan names hosts: run it over several with --hosts all, or --hosts NAME,NAME")]
    NeedsHosts,
    /// There is neither an id for the run nor a store that gives it one.
    #[error("the run has no id: name one in its order, or keep it in a store")]
    NoId,
    /// The store has no id for the run.
    #[error("{source}")]
    Store {
        #[from]
        source: StoreError,
    },
    /// A target that passed inspection could not be opened.
    #[error("{source}")]
    Open { source: OpenError },
    /// A target was lost between two reads.
    #[error("{source}")]
    Lost { source: TargetLost },
    /// The load ended early.
    #[error("{source}")]
    Run {
        #[from]
        source: RunError,
    },
    /// The store does not hold the run.
    #[error("{0}")]
    NotStored(#[from] NotStored),
    /// A target could not be closed.
    #[error("{UNCLOSED}")]
    Close { source: PrepareError },
    /// The thread that closes targets could not be started.
    #[error("cannot start a thread to close the targets: {UNCLOSED}")]
    CloseThread { source: std::io::Error },
    /// A file that Assay created could not be removed.
    #[error("{source}")]
    Remove { source: PrepareError },
}

/// What an error means for who asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Consequence {
    /// Nothing was begun, and nothing was written.
    Refused,
    /// It was begun, and something failed.
    Failed,
    /// Somebody stopped it before anything was measured.
    Interrupted,
}

impl RunnerError {
    /// Returns what the error means for who asked.
    pub fn consequence(&self) -> Consequence {
        match self {
            Self::Fill { source: PrepareError::Interrupted { .. } } => Consequence::Interrupted,
            Self::Prepare { source: PrepareError::NotUndone { .. } } => Consequence::Failed,
            Self::Prepare { .. } | Self::Misfit { .. } | Self::NeedsHosts => Consequence::Refused,
            _ => Consequence::Failed,
        }
    }
}

/// A run that its store does not hold.
#[derive(Debug, Error)]
#[error("run {run} is not stored: {why}; {}", place_words(.file.as_ref(), *.is_whole))]
pub struct NotStored {
    /// Id of the run.
    pub run: String,
    /// What happened to the store.
    pub why: String,
    /// File that has its events instead; `None` if no place could keep it.
    pub file: Option<PathBuf>,
    /// Whether that file has all of them.
    pub is_whole: bool,
}

fn place_words(file: Option<&PathBuf>, is_whole: bool) -> String {
    match file.map(|path| path.display()) {
        Some(path) if is_whole => format!("all of it is in {path}: assay import {path} stores it"),
        Some(path) => format!("a part of it is in {path}, and the rest is lost"),
        None => "no other place could keep it, so it is only printed here".to_owned(),
    }
}
