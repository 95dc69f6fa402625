//! The store: runs, their labels and notes, and the arrays of targets, in one file or one schema of a server.

use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::time::Duration;

use assay_record::RunHeader;
use nix::errno::Errno;
use nix::unistd::{AccessFlags, access};

use crate::address::StoreAddress;
use crate::connect::{BUSY_TIMEOUT, connect, connect_to_read, not_allowed};
use crate::database::Database;
use crate::error::StoreError;
use crate::file;
use crate::neighbours::{self, beside};
use crate::postgres::{Missing, Rights};
use crate::reader::Reader;
use crate::row;
use crate::server::{self, open_to_write};
use crate::sql::{Value, values};
use crate::writer::RunWriter;

/// How long another program may take to let a log be emptied.
const EMPTY_LOG_WAIT: Duration = Duration::from_secs(1);

/// Where runs are kept. Several processes may use one at once.
#[derive(Debug)]
pub struct Store {
    reader: Reader,
    /// The rights that its file had when others could read it; they were taken away.
    tightened_from: Option<u32>,
}

/// Whoever may write may read.
impl Deref for Store {
    type Target = Reader;

    fn deref(&self) -> &Reader {
        &self.reader
    }
}

/// `$XDG_DATA_HOME/assay/runs.sqlite`, by default under `~/.local/share`.
pub fn default_path() -> Result<PathBuf, StoreError> {
    let absolute = |name| std::env::var_os(name).map(PathBuf::from).filter(|p| p.is_absolute());
    // The XDG specification wants relative paths ignored.
    let data = absolute("XDG_DATA_HOME").or_else(|| absolute("HOME").map(|home| home.join(".local/share")));
    data.map(|d| d.join("assay/runs.sqlite")).ok_or(StoreError::NoDataFolder)
}

/// Returns true for a store without a committed byte, and without a log beside it, on a file system that is read-only.
///
/// `error` is that of opening it to write: a file system that failed may say so only then.
fn is_empty_for_good(path: &Path, error: &StoreError) -> bool {
    let has_log = std::fs::metadata(beside(path, "-wal")).is_ok_and(|log| log.len() > 0);
    let is_empty = neighbours::is_empty_or_missing(path) || neighbours::is_being_created(path);
    let errno = |source: &std::io::Error| source.raw_os_error();
    let is_refused =
        matches!(error, StoreError::File { source, .. } if errno(source) == Some(Errno::EROFS as i32));
    is_empty && !has_log && (is_refused || access(path, AccessFlags::W_OK) == Err(Errno::EROFS))
}

impl Store {
    /// Opens the store at `address`; creates it, and the folder of a file, where there is none.
    pub fn open(address: impl Into<StoreAddress>) -> Result<Self, StoreError> {
        match address.into() {
            StoreAddress::File(path) => Self::open_file(&path),
            StoreAddress::Postgres(of) => {
                let (database, rights) = server::open(&of, Missing::Create)?;
                let path = StoreAddress::Postgres(of);
                match rights {
                    Rights::Read(why) => Err(StoreError::NotAllowed { path, why }),
                    Rights::Write | Rights::NoStore => Ok(Self::of_server(path, None, database)),
                }
            }
        }
    }

    fn of_server(address: StoreAddress, read_only: Option<String>, database: Database) -> Self {
        Self { reader: Reader::new(address, read_only, database), tightened_from: None }
    }

    fn open_file(path: &Path) -> Result<Self, StoreError> {
        if let Some(folder) = path.parent().filter(|f| !f.as_os_str().is_empty()) {
            std::fs::create_dir_all(folder)
                .map_err(|source| StoreError::Folder { path: path.into(), source })?;
        }
        let opened = connect(path).and_then(|(connection, _)| {
            // SQLite opens a file that it cannot write to without a word.
            let write = |source| StoreError::writing(path, source);
            connection.execute_batch("BEGIN IMMEDIATE; ROLLBACK").map_err(write)?;
            Ok(connection)
        });
        let connection = opened.map_err(|error| not_allowed(path).unwrap_or(error))?;
        let tightened_from = file::tighten(path);
        Ok(Self { reader: Reader::new(path.into(), None, Database::Sqlite(connection)), tightened_from })
    }

    /// Opens the store at `address`; returns `None` where there is none. A store that cannot be written to, as on a
    /// full or read-only file system, or by a user who may only read, can still be read.
    pub fn open_existing(address: impl Into<StoreAddress>) -> Result<Option<Self>, StoreError> {
        match address.into() {
            StoreAddress::File(path) => Self::open_existing_file(&path),
            StoreAddress::Postgres(of) => {
                let (database, rights) = server::open(&of, Missing::Leave)?;
                let read_only = match rights {
                    Rights::NoStore => return Ok(None),
                    Rights::Read(why) => Some(why),
                    Rights::Write => None,
                };
                Ok(Some(Self::of_server(StoreAddress::Postgres(of), read_only, database)))
            }
        }
    }

    fn open_existing_file(path: &Path) -> Result<Option<Self>, StoreError> {
        if std::fs::symlink_metadata(path).is_err() {
            return Ok(None);
        }
        match Self::open_file(path) {
            // Its file system failed before the first run was in it.
            Err(error) if is_empty_for_good(path, &error) => Ok(None),
            opened => opened.or_else(|error| Self::open_to_read(path, error)).map(Some),
        }
    }

    /// Opens a store that could not be opened for writing, for that reason.
    fn open_to_read(path: &Path, error: StoreError) -> Result<Self, StoreError> {
        let is_certain = matches!(
            error,
            StoreError::Foreign { .. }
                | StoreError::Stranger { .. }
                | StoreError::Newer { .. }
                | StoreError::Corrupt { .. }
        );
        // A log holds runs that a file read as immutable lacks; where it is, there is an index of it too.
        let has_log = std::fs::metadata(beside(path, "-wal")).is_ok_and(|log| log.len() > 0);
        if is_certain || !path.is_file() {
            return Err(error);
        }
        match connect_to_read(path, if has_log { "mode=ro" } else { "immutable=1" }) {
            Ok(connection) => {
                let why = error.to_string();
                let reader = Reader::new(path.into(), Some(why), Database::Sqlite(connection));
                Ok(Self { reader, tightened_from: None })
            }
            Err(older @ StoreError::Older { .. }) => Err(older),
            Err(_) => Err(error),
        }
    }

    /// Returns the rights (the lower bits of its mode) that the file had, if others had some when it was opened; since
    /// then they have none.
    #[must_use]
    pub fn tightened_from(&self) -> Option<u32> {
        self.tightened_from
    }

    /// Moves the log into the file that is open, and empties it, unless another program uses it. Called where another
    /// file has the name of this one by now: SQLite finds a log by its name, and would take it for that of the other.
    /// Whether it is empty now says [`FileId::log`].
    pub fn empty_log(&self) {
        let (Database::Sqlite(connection), StoreAddress::File(path)) = (&self.database, self.address())
        else {
            return;
        };
        if self.read_only().is_some() || file::is_used_elsewhere(path) {
            return;
        }
        let empty = || {
            connection.busy_timeout(EMPTY_LOG_WAIT)?;
            connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))
        };
        // Where that fails the log stays, which whoever asked looks at.
        let _ = empty();
        let _ = connection.busy_timeout(BUSY_TIMEOUT);
    }

    /// Begins the run of that header: it is in the store, with its first event, when this returns.
    pub fn begin_run(
        &self,
        header: &RunHeader,
        label: Option<&str>,
        note: Option<&str>,
    ) -> Result<RunWriter, StoreError> {
        RunWriter::begin(open_to_write(self.address())?, header, (label, note))
    }

    /// Sets the label of a run; `None` removes it.
    pub fn set_label(&self, run: &str, label: Option<&str>) -> Result<(), StoreError> {
        self.change(run, "label", label)
    }

    /// Sets the note of a run; `None` removes it.
    pub fn set_note(&self, run: &str, note: Option<&str>) -> Result<(), StoreError> {
        self.change(run, "note", note)
    }

    /// Sets why events of a run are missing from some moment on; `None`: none is.
    pub fn set_lost(&self, run: &str, why: Option<&str>) -> Result<(), StoreError> {
        self.change(run, "lost", why)
    }

    /// Removes the run and all its events; refused while it is in progress.
    pub fn remove(&self, run: &str) -> Result<(), StoreError> {
        let id = self.id_of_listed(run)?;
        if self.is_going_on(run)? {
            return Err(StoreError::Running { run: run.to_owned() });
        }
        self.execute("DELETE FROM run WHERE id = ?1", values![id]).map(drop)
    }

    /// Sets the array that a target is on, as the text of an array file; `None` removes it.
    pub fn set_target_array(&self, address: &str, array: Option<&str>) -> Result<(), StoreError> {
        let changed = match array {
            Some(text) => self.execute(
                "INSERT INTO target (address, \"array\") VALUES (?1, ?2)
                 ON CONFLICT (address) DO UPDATE SET \"array\" = excluded.\"array\"",
                values![address, text],
            ),
            None => self.execute("DELETE FROM target WHERE address = ?1", values![address]),
        };
        changed.map(drop)
    }

    fn change(&self, run: &str, column: &str, value: Option<&str>) -> Result<(), StoreError> {
        let write = |source| StoreError::writing(self.address(), source);
        self.database.write(write, || {
            // A new checksum over a damaged row would hide the damage.
            self.row(run)?;
            let (id, _) = self.id_and_end(run)?.ok_or_else(|| self.unknown(run))?;
            row::set(&self.database, id, column, value.into()).map_err(write)
        })
    }

    /// Runs one statement in a transaction that waits for other writers. Returns the number of rows that it changed.
    pub(crate) fn execute(&self, sql: &str, values: &[Value<'_>]) -> Result<usize, StoreError> {
        let write = |source| StoreError::writing(self.address(), source);
        self.database.write(write, || self.database.execute(sql, values).map_err(write))
    }
}
