//! Connections to write to a store, wherever it is, and what holds them to it.

use crate::address::StoreAddress;
use crate::connect::{connect, connect_to_read};
use crate::database::Database;
use crate::dialect::{LIVE, TAKE_LIVE};
use crate::error::StoreError;
use crate::file::OpenFiles;
use crate::live::{self, LiveLock, live_path};
use crate::postgres::{Client, Missing, PostgresAddress, Rights, prepare};
use crate::sql::{SqlError, values};

/// Opens the tables in a server.
pub(crate) fn open(of: &PostgresAddress, missing: Missing) -> Result<(Database, Rights), StoreError> {
    let path = StoreAddress::Postgres(Box::new(of.clone()));
    let database = connected(of).map_err(|source| StoreError::opening(&path, source))?;
    let rights = prepare(&database, &path, of, missing)?;
    Ok((database, rights))
}

fn connected(of: &PostgresAddress) -> Result<Database, SqlError> {
    Client::connect(of).map(|client| Database::Postgres(client.into()))
}

/// A connection of its own to a store that exists, and what of the store must stay as it is.
#[derive(Debug)]
pub(crate) struct OpenStore {
    pub(crate) address: StoreAddress,
    pub(crate) database: Database,
    /// The files that are written to; `None` for a store in a server.
    files: Option<OpenFiles>,
}

/// Connects to a store that was opened before.
pub(crate) fn open_to_write(address: &StoreAddress) -> Result<OpenStore, StoreError> {
    let (database, files) = match address {
        StoreAddress::File(path) => {
            let (connection, id) = connect(path)?;
            (Database::Sqlite(connection), Some(OpenFiles::note(path, id)))
        }
        StoreAddress::Postgres(of) => {
            (connected(of).map_err(|source| StoreError::opening(address, source))?, None)
        }
    };
    Ok(OpenStore { address: address.clone(), database, files })
}

/// Opens the file of a store by its name, to be read once; `None` for a server, which has no other way to its tables.
pub(crate) fn open_by_name(address: &StoreAddress) -> Result<Option<Database>, StoreError> {
    address.file().map(|path| connect_to_read(path, "mode=ro").map(Database::Sqlite)).transpose()
}

impl OpenStore {
    /// Returns an error where what was committed went to files that have no name any more, which SQLite does not
    /// notice.
    pub(crate) fn check(&self) -> Result<(), StoreError> {
        self.files.as_ref().map_or(Ok(()), OpenFiles::check)
    }

    pub(crate) fn write_error(&self, source: SqlError) -> StoreError {
        StoreError::writing(&self.address, source)
    }

    /// Marks a run as going on, for as long as what is returned, and the session, live. Returns `None` where another
    /// session in the server has marked it.
    pub(crate) fn mark_live(&self, run_id: i64) -> Result<Option<Live>, StoreError> {
        if let StoreAddress::File(path) = &self.address {
            let lock = LiveLock::take(path, run_id);
            let lock = lock.map_err(|source| StoreError::Live { path: live_path(path), source })?;
            return Ok(Some(Live { _lock: Some(lock) }));
        }
        let taken = self.database.row(TAKE_LIVE, values![run_id]).and_then(|row| {
            let row = row.ok_or(SqlError::Column { column: 0, found: "nothing" })?;
            row.integer(0)
        });
        let is_taken = taken.map_err(|source| self.write_error(source))? == 1;
        Ok(is_taken.then_some(Live { _lock: None }))
    }
}

/// The mark of a run that goes on. In a server it belongs to the session.
#[derive(Debug)]
pub(crate) struct Live {
    _lock: Option<LiveLock>,
}

/// Returns whether each of these runs is going on. What cannot be found out counts as not.
pub(crate) fn are_live(address: &StoreAddress, database: &Database, run_ids: &[i64]) -> Vec<bool> {
    match address {
        StoreAddress::File(path) => live::are_live(path, run_ids),
        StoreAddress::Postgres(_) if run_ids.is_empty() => Vec::new(),
        StoreAddress::Postgres(_) => {
            let rows = database.rows(LIVE, &[]).unwrap_or_default();
            let live: Vec<i64> = rows.iter().filter_map(|row| row.integer(0).ok()).collect();
            run_ids.iter().map(|id| live.contains(id)).collect()
        }
    }
}
