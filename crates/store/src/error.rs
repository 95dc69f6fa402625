//! Errors of the store. Each names its path.

use std::path::{Path, PathBuf};

use rusqlite::ErrorCode;
use thiserror::Error;

use crate::find::FindError;
use crate::process::StopError;
use crate::row::RunRow;

/// Why a run could not be stored or read.
#[derive(Debug, Error)]
pub enum StoreError {
    /// Neither XDG_DATA_HOME nor HOME says where data goes.
    #[error(
        "cannot choose a folder for the store: neither XDG_DATA_HOME nor HOME is set; set --store PATH or ASSAY_STORE"
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
    /// The file has a trigger or a view that Assay did not make.
    #[error(
        "the store {path} has a {kind} {name:?} that Assay did not make and that could change or hide runs; choose \
         another with --store PATH, or remove it with sqlite3"
    )]
    Stranger {
        /// Of the file.
        path: PathBuf,
        /// "trigger" or "view".
        kind: String,
        /// Its name.
        name: String,
    },
    /// The file is a database of something else.
    #[error(
        "{path} is an SQLite database of another program, not a store of Assay; choose another with --store PATH or \
         ASSAY_STORE"
    )]
    Foreign {
        /// Of the file.
        path: PathBuf,
    },
    /// The store was written by a later version.
    #[error(
        "the store {path} has format {found}, but this version of Assay reads formats up to {known}; use the newer \
         version that wrote it, or another store with --store PATH"
    )]
    Newer {
        /// Of the store.
        path: PathBuf,
        /// Its format.
        found: i64,
        /// The latest format this version knows.
        known: i64,
    },
    /// The file itself could not be opened or read.
    #[error("cannot open the store {path}: {source}; choose another with --store PATH or ASSAY_STORE")]
    File {
        /// Of the store.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The store has an earlier format, and cannot be brought to the present one where it is.
    #[error(
        "the store {path} has format {found}, and converting it to format {known} needs write permission; copy it to \
         another place, and name the copy with --store PATH"
    )]
    Older {
        /// Of the store.
        path: PathBuf,
        /// Its format.
        found: i64,
        /// The format of this version.
        known: i64,
    },
    /// A file of the store is no longer the one that was opened.
    #[error("{path} {why} while it was in use, so that nothing more can be stored in it")]
    Gone {
        /// Of the file.
        path: PathBuf,
        /// What happened to it.
        why: &'static str,
    },
    /// The store does not hold what was written to it.
    #[error("the store {path} does not hold all of run {run}: {why}")]
    Unkept {
        /// Of the store.
        path: PathBuf,
        /// Which run.
        run: String,
        /// What was found.
        why: String,
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
        "cannot write to the store {path}: {source}; check its file system, or choose another store with --store PATH"
    )]
    Write {
        /// Of the store.
        path: PathBuf,
        /// Why.
        source: rusqlite::Error,
    },
    /// The file system of the store is full.
    #[error(
        "no space left on the file system of the store {path}; make room, or choose another store with --store PATH"
    )]
    Full {
        /// Of the store.
        path: PathBuf,
        /// What SQLite said.
        source: rusqlite::Error,
    },
    /// The file is not a sound database any more.
    #[error(
        "the store {path} is damaged; restore it from a backup, or save what can be read: sqlite3 {path} .recover"
    )]
    Corrupt {
        /// Of the store.
        path: PathBuf,
        /// What SQLite found.
        source: rusqlite::Error,
    },
    /// Events of a run are missing, or are not what was written.
    #[error(
        "run {run} in the store {path} is damaged: {why}; restore the store from a backup, or remove the run: \
         assay rm {run}"
    )]
    Damaged {
        /// Of the store.
        path: PathBuf,
        /// Which run.
        run: String,
        /// What is wrong with it.
        why: String,
    },
    /// The row of a run in the list of all runs is not what was written.
    #[error(
        "run {run}: cannot be read: {why}; assay rm {run} removes it, and assay export {run} --format raw -o FILE \
         saves what is stored of it"
    )]
    Unreadable {
        /// Which run.
        run: String,
        /// What is wrong with its row.
        why: String,
    },
    /// An earlier event of the run could not be stored, so that no later one is.
    #[error("events of run {run} are already lost, as the store {path} could not keep one before: {why}")]
    AlreadyLost {
        /// Of the store.
        path: PathBuf,
        /// Which run.
        run: String,
        /// Why the first one was lost.
        why: String,
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
    #[error("cannot read event {sequence} of run {run} in the store {path}")]
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
    #[error("the store {path} already contains run {run}")]
    RunExists {
        /// Of the store.
        path: PathBuf,
        /// Which run.
        run: String,
    },
    /// The run is going on.
    #[error("run {run} is still in progress; wait until it ends, or stop it with Ctrl-C, then remove it")]
    Running {
        /// Which run.
        run: String,
    },
    /// The run cannot be asked to stop.
    #[error("cannot stop run {run}: {source}")]
    Stop {
        /// Which run.
        run: String,
        /// Why.
        source: StopError,
    },
    /// The run cannot be marked as going on.
    #[error("cannot lock {path}, by which runs in progress are distinguished from killed ones")]
    Live {
        /// Of the file beside the store.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// No free run id was found.
    #[error("the store {path} has no free run id left for today; use another with --store PATH")]
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

impl StoreError {
    pub(crate) fn opening(path: &Path, source: rusqlite::Error) -> Self {
        Self::special(path, source).unwrap_or_else(|source| Self::Open { path: path.to_owned(), source })
    }

    pub(crate) fn reading(path: &Path, source: rusqlite::Error) -> Self {
        Self::special(path, source).unwrap_or_else(|source| Self::Read { path: path.to_owned(), source })
    }

    pub(crate) fn writing(path: &Path, source: rusqlite::Error) -> Self {
        Self::special(path, source).unwrap_or_else(|source| Self::Write { path: path.to_owned(), source })
    }

    /// What has its own remedy, whatever was being done.
    fn special(path: &Path, source: rusqlite::Error) -> Result<Self, rusqlite::Error> {
        match source.sqlite_error_code() {
            Some(ErrorCode::ReadOnly) => {
                Ok(Self::NotAllowed { path: path.to_owned(), why: "it can only be read here".to_owned() })
            }
            Some(ErrorCode::DiskFull) => Ok(Self::Full { path: path.to_owned(), source }),
            Some(ErrorCode::DatabaseCorrupt) => Ok(Self::Corrupt { path: path.to_owned(), source }),
            _ => Err(source),
        }
    }
}

impl RunRow {
    /// Returns the error of a row that cannot be read: what is wrong with it, and what to do.
    #[must_use]
    pub fn error(&self) -> Option<StoreError> {
        let why = self.unreadable.clone()?;
        Some(StoreError::Unreadable { run: self.run.clone(), why })
    }
}
