//! What can go wrong with a store, always with its path.

use std::path::PathBuf;

use thiserror::Error;

use crate::find::FindError;

/// Why something could not be kept or read.
#[derive(Debug, Error)]
pub enum StoreError {
    /// Neither XDG_DATA_HOME nor HOME says where data goes.
    #[error(
        "no data folder: neither XDG_DATA_HOME nor HOME is set; name the store with --store PATH or ASSAY_STORE"
    )]
    NoDataFolder,
    /// The folder of the store could not be made.
    #[error(
        "cannot create the folder of the store {path}: {source}; choose another with --store PATH or ASSAY_STORE"
    )]
    Folder {
        /// Of the store.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// This user may not write where the store is.
    #[error("cannot use the store {path}: {why}; choose another with --store PATH or ASSAY_STORE")]
    NotAllowed {
        /// Of the store.
        path: PathBuf,
        /// What is not allowed.
        why: String,
    },
    /// The file could not be opened, or is no store.
    #[error("cannot open the store {path}; choose another with --store PATH or ASSAY_STORE")]
    Open {
        /// Of the store.
        path: PathBuf,
        /// Why.
        source: rusqlite::Error,
    },
    /// The file is a database of something else.
    #[error(
        "{path} is a database, but not a store of Assay; choose another with --store PATH or ASSAY_STORE"
    )]
    Foreign {
        /// Of the file.
        path: PathBuf,
    },
    /// The store was written by a later version.
    #[error(
        "the store {path} has format {found}, and this version knows up to {known}: use the newer assay that wrote it, or another --store"
    )]
    Newer {
        /// Of the store.
        path: PathBuf,
        /// Its format.
        found: i64,
        /// The latest format this version knows.
        known: i64,
    },
    /// A read failed.
    #[error("cannot read the store {path}")]
    Read {
        /// Of the store.
        path: PathBuf,
        /// Why.
        source: rusqlite::Error,
    },
    /// A write failed.
    #[error(
        "cannot write to the store {path}: {source}; see whether its disk is full, or choose another with --store PATH"
    )]
    Write {
        /// Of the store.
        path: PathBuf,
        /// Why.
        source: rusqlite::Error,
    },
    /// An event has no JSON form.
    #[error("cannot encode an event for the store {path}")]
    Encode {
        /// Of the store.
        path: PathBuf,
        /// Why.
        source: serde_json::Error,
    },
    /// A stored event does not read back.
    #[error("event {sequence} of run {run} in the store {path} does not read back")]
    Decode {
        /// Of the store.
        path: PathBuf,
        /// Which run.
        run: String,
        /// Which event of it, counted from 0.
        sequence: i64,
        /// Why.
        source: serde_json::Error,
    },
    /// A run of that id is there already.
    #[error("the store {path} already holds a run {run}")]
    RunExists {
        /// Of the store.
        path: PathBuf,
        /// Which run.
        run: String,
    },
    /// The run is going on.
    #[error(
        "run {run} is still going on; wait for its end or stop it (Ctrl-C where it runs), then remove it"
    )]
    Running {
        /// Which run.
        run: String,
    },
    /// The run cannot be marked as going on.
    #[error("cannot lock {path}, which tells running runs from killed ones")]
    Live {
        /// Of the file beside the store.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// No free run id was found.
    #[error("the store {path} has no free run id left for today")]
    NoFreeId {
        /// Of the store.
        path: PathBuf,
    },
    /// No run, or more than one, goes by that name.
    #[error("store {path}: {source}")]
    Find {
        /// Of the store.
        path: PathBuf,
        /// Why.
        source: FindError,
    },
}
