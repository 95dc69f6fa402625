//! Errors of the store. Each names its path.

use std::path::PathBuf;

use thiserror::Error;

use crate::address::StoreAddress;
use crate::find::FindError;
use crate::process::StopError;
use crate::row::RunRow;
use crate::sql::{Kind, SqlError};

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
        path: StoreAddress,
        /// Why.
        source: std::io::Error,
    },
    /// This user may not write where the store is.
    #[error("cannot use the store {path}: {why}; choose another with --store PATH or ASSAY_STORE")]
    NotAllowed {
        /// Of the store.
        path: StoreAddress,
        /// What is not allowed.
        why: String,
    },
    /// The file could not be opened, or is no store.
    #[error("cannot open the store {path}; choose another with --store PATH or ASSAY_STORE")]
    Open {
        /// Of the store.
        path: StoreAddress,
        /// Why.
        source: SqlError,
    },
    /// What a run is added from could not be read to its end.
    #[error("nothing was added to the store {path}: {source}")]
    Source {
        /// Of the store.
        path: StoreAddress,
        /// Why.
        source: std::io::Error,
    },
    /// The file has a trigger or a view that Assay did not make.
    #[error(
        "the store {path} has a {kind} {name:?} that Assay did not make and that could change or hide runs; choose \
         another with --store PATH, or remove it with sqlite3"
    )]
    Stranger {
        /// Of the file.
        path: StoreAddress,
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
        path: StoreAddress,
    },
    /// The store was written by a later version.
    #[error(
        "the store {path} has format {found}, but this version of Assay reads formats up to {known}; use the newer \
         version that wrote it, or another store with --store PATH"
    )]
    Newer {
        /// Of the store.
        path: StoreAddress,
        /// Its format.
        found: i64,
        /// The latest format this version knows.
        known: i64,
    },
    /// The file itself could not be opened or read.
    #[error("cannot open the store {path}: {source}; choose another with --store PATH or ASSAY_STORE")]
    File {
        /// Of the store.
        path: StoreAddress,
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
        path: StoreAddress,
        /// Its format.
        found: i64,
        /// The format of this version.
        known: i64,
    },
    /// The server of the store does not answer any more.
    #[error("the server of the store {path} does not answer: {source}")]
    Away {
        /// Of the store.
        path: StoreAddress,
        /// What happened.
        source: SqlError,
    },
    /// A database has no tables of a store, and they cannot be made.
    #[error(
        "there is no store {path} yet, and this user cannot make its tables: {source}; have the owner of the database \
         run: assay store init-sql | psql DATABASE"
    )]
    NoTables {
        /// Of the store.
        path: StoreAddress,
        /// Why.
        source: SqlError,
    },
    /// A database has an encoding without all letters.
    #[error(
        "the database of the store {path} has the encoding {encoding}, which lacks letters that runs use; make another \
         one for the store: CREATE DATABASE assay ENCODING 'UTF8' TEMPLATE template0"
    )]
    Encoding {
        /// Of the store.
        path: StoreAddress,
        /// Its name in PostgreSQL.
        encoding: String,
    },
    /// A database has tables of an earlier format, which cannot be converted.
    #[error(
        "the store {path} has format {found}, and converting it to format {known} failed: {source}; have the owner of \
         its tables run: assay store init-sql | psql DATABASE"
    )]
    OlderTables {
        /// Of the store.
        path: StoreAddress,
        /// Its format.
        found: i64,
        /// The format of this version.
        known: i64,
        /// Why.
        source: SqlError,
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
        path: StoreAddress,
        /// Which run.
        run: String,
        /// What was found.
        why: String,
    },
    /// A read failed.
    #[error("cannot read the store {path}")]
    Read {
        /// Of the store.
        path: StoreAddress,
        /// Why.
        source: SqlError,
    },
    /// A write failed.
    #[error(
        "cannot write to the store {path}: {source}; check its file system, or choose another store with --store PATH"
    )]
    Write {
        /// Of the store.
        path: StoreAddress,
        /// Why.
        source: SqlError,
    },
    /// The file system of the store is full.
    #[error(
        "no space left on the file system of the store {path}; make room, or choose another store with --store PATH"
    )]
    Full {
        /// Of the store.
        path: StoreAddress,
        /// What SQLite said.
        source: SqlError,
    },
    /// The file is not a sound database any more.
    #[error(
        "the store {path} is damaged, or its disk cannot read it (dmesg names I/O errors); restore it from a backup, \
         or save what can be read: sqlite3 {path} .recover"
    )]
    Corrupt {
        /// Of the store.
        path: StoreAddress,
        /// What SQLite found.
        source: SqlError,
    },
    /// Events of a run are missing, or are not what was written.
    #[error(
        "run {run} in the store {path} is damaged: {why}; restore the store from a backup, or remove the run: \
         assay rm {run}"
    )]
    Damaged {
        /// Of the store.
        path: StoreAddress,
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
        path: StoreAddress,
        /// Which run.
        run: String,
        /// Why the first one was lost.
        why: String,
    },
    /// An event has no JSON form.
    #[error("cannot encode an event for the store {path}")]
    Encode {
        /// Of the store.
        path: StoreAddress,
        /// Why.
        source: serde_json::Error,
    },
    /// A stored event does not read back.
    #[error("cannot read event {sequence} of run {run} in the store {path}")]
    Decode {
        /// Of the store.
        path: StoreAddress,
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
        path: StoreAddress,
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
        path: StoreAddress,
    },
    /// No run, or more than one, goes by that name.
    #[error("store {path}: {source}")]
    Find {
        /// Of the store.
        path: StoreAddress,
        /// Why.
        source: FindError,
    },
}

impl StoreError {
    pub(crate) fn opening(path: impl Into<StoreAddress>, source: impl Into<SqlError>) -> Self {
        let path = path.into();
        Self::special(&path, source.into()).unwrap_or_else(|source| Self::Open { path, source })
    }

    pub(crate) fn reading(path: impl Into<StoreAddress>, source: impl Into<SqlError>) -> Self {
        let path = path.into();
        Self::special(&path, source.into()).unwrap_or_else(|source| Self::Read { path, source })
    }

    pub(crate) fn writing(path: impl Into<StoreAddress>, source: impl Into<SqlError>) -> Self {
        let path = path.into();
        Self::special(&path, source.into()).unwrap_or_else(|source| Self::Write { path, source })
    }

    /// What has its own remedy, whatever was being done.
    fn special(path: &StoreAddress, source: SqlError) -> Result<Self, SqlError> {
        let path = path.clone();
        match source.kind() {
            Kind::ReadOnly => Ok(Self::NotAllowed { path, why: "it can only be read here".to_owned() }),
            Kind::Full => Ok(Self::Full { path, source }),
            Kind::Corrupt => Ok(Self::Corrupt { path, source }),
            Kind::Lost => Ok(Self::Away { path, source }),
            Kind::Duplicate | Kind::Other => Err(source),
        }
    }

    /// Returns whether the server of the store may answer again later: nothing of what was committed is lost.
    #[must_use]
    pub fn is_away(&self) -> bool {
        matches!(self, Self::Away { .. })
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
