//! The store: one file that holds runs, their labels and notes, and the arrays of targets.

use std::path::{Path, PathBuf};

use assay_record::{Event, RunEvent, RunHeader};
use nix::errno::Errno;
use nix::unistd::{AccessFlags, access};
use rusqlite::types::ValueRef;
use rusqlite::{Connection, OptionalExtension, params};

use crate::connect::{connect, connect_to_read, not_allowed, write_transaction};
use crate::error::StoreError;
use crate::file::{self, OpenFiles};
use crate::find::FindError;
use crate::neighbours::{self, beside};
use crate::row::{self, COLUMNS, RunRow};
use crate::writer::RunWriter;
use crate::{id, live};

/// Ids tried before giving up; a day has about a million.
const ID_ATTEMPTS: u64 = 64;

/// Where runs are kept. Several processes may use one at once.
#[derive(Debug)]
pub struct Store {
    path: PathBuf,
    /// Why it can only be read; `None` where it can be written to.
    read_only: Option<String>,
    /// The rights that its file had when others could read it; they were taken away.
    tightened_from: Option<u32>,

    connection: Connection,
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
    /// Opens the store at `path`; creates it, and its folder, where there is none.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, StoreError> {
        let path = path.as_ref().to_owned();
        if let Some(folder) = path.parent().filter(|f| !f.as_os_str().is_empty()) {
            std::fs::create_dir_all(folder)
                .map_err(|source| StoreError::Folder { path: path.clone(), source })?;
        }
        let opened = connect(&path).and_then(|(connection, _)| {
            // SQLite opens a file that it cannot write to without a word.
            let write = |source| StoreError::writing(&path, source);
            connection.execute_batch("BEGIN IMMEDIATE; ROLLBACK").map_err(write)?;
            Ok(connection)
        });
        let connection = opened.map_err(|error| not_allowed(&path).unwrap_or(error))?;
        let tightened_from = file::tighten(&path);
        Ok(Self { path, read_only: None, tightened_from, connection })
    }

    /// Opens the store at `path`; returns `None` where there is no file. A store that cannot be written to, as on a
    /// full or read-only file system, can still be read.
    pub fn open_existing(path: impl AsRef<Path>) -> Result<Option<Self>, StoreError> {
        let path = path.as_ref();
        if std::fs::symlink_metadata(path).is_err() {
            return Ok(None);
        }
        match Self::open(path) {
            // Its file system failed before the first run was in it.
            Err(error) if is_empty_for_good(path, &error) => Ok(None),
            opened => opened.or_else(|error| Self::open_to_read(path, error)).map(Some),
        }
    }

    /// Opens a store that could not be opened for writing, for that reason.
    fn open_to_read(path: &Path, error: StoreError) -> Result<Self, StoreError> {
        let is_certain = matches!(
            error,
            StoreError::Foreign { .. } | StoreError::Newer { .. } | StoreError::Corrupt { .. }
        );
        // A log holds runs that a file read as immutable lacks; where it is, there is an index of it too.
        let has_log = std::fs::metadata(beside(path, "-wal")).is_ok_and(|log| log.len() > 0);
        if is_certain || !path.is_file() {
            return Err(error);
        }
        match connect_to_read(path, if has_log { "mode=ro" } else { "immutable=1" }) {
            Ok(connection) => {
                let why = error.to_string();
                Ok(Self { path: path.to_owned(), read_only: Some(why), tightened_from: None, connection })
            }
            Err(older @ StoreError::Older { .. }) => Err(older),
            Err(_) => Err(error),
        }
    }

    /// Returns why the store can only be read; `None` where it can be written to.
    #[must_use]
    pub fn read_only(&self) -> Option<&str> {
        self.read_only.as_deref()
    }

    /// Returns the rights (the lower bits of its mode) that the file had, if others had some when it was opened; since
    /// then they have none.
    #[must_use]
    pub fn tightened_from(&self) -> Option<u32> {
        self.tightened_from
    }

    /// Returns the connection that this handle reads and writes by.
    pub(crate) fn connection(&self) -> &Connection {
        &self.connection
    }

    /// Returns its path.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns an id like `261121-k7f2` that no run in this store has yet.
    pub fn new_run_id(&self, now_unix_ms: u64, random: u64) -> Result<String, StoreError> {
        for attempt in 0..ID_ATTEMPTS {
            // An odd step visits every id, and far ones first.
            let run = id::new_run_id(now_unix_ms, random.wrapping_add(attempt.wrapping_mul(0x9_E379)));
            if self.id_and_end(&run)?.is_none() {
                return Ok(run);
            }
        }
        Err(StoreError::NoFreeId { path: self.path.clone() })
    }

    /// Begins the run of that header: it is in the store, with its first event, when this returns.
    pub fn begin_run(
        &self,
        header: &RunHeader,
        label: Option<&str>,
        note: Option<&str>,
    ) -> Result<RunWriter, StoreError> {
        let (connection, id) = connect(&self.path)?;
        RunWriter::begin(OpenFiles::note(&self.path, id), self.path.clone(), connection, header, label, note)
    }

    /// Finds out which of these rows are of runs that go on. A run may have ended after its row was read and before its
    /// lock is looked at: it wrote its end before it gave up its lock, so its row is read once more.
    pub(crate) fn with_liveness(&self, rows: Vec<(RunRow, i64)>) -> Result<Vec<RunRow>, StoreError> {
        let unended: Vec<i64> =
            rows.iter().filter(|(row, _)| row.status.is_none()).map(|(_, id)| *id).collect();
        let mut is_live = live::are_live(&self.path, &unended).into_iter();
        let settled = rows.into_iter().map(|(mut row, id)| {
            if row.status.is_some() {
                return Ok(row);
            }
            row.is_running = is_live.next().unwrap_or(false);
            if row.is_running {
                return Ok(row);
            }
            let text = format!("SELECT {COLUMNS} FROM run WHERE id = ?1");
            let mut query = self.connection.prepare_cached(&text)?;
            Ok(query.query_row([id], row::read).optional()?.unwrap_or(row))
        });
        settled.collect::<rusqlite::Result<_>>().map_err(|source| self.read_error(source))
    }

    /// Returns the row of the run with exactly that id.
    pub fn row(&self, run: &str) -> Result<RunRow, StoreError> {
        let read = |source| self.read_error(source);
        let text = format!("SELECT {COLUMNS}, id FROM run WHERE run = ?1");
        let mut query = self.connection.prepare_cached(&text).map_err(read)?;
        let found = query.query_row([run], |of| Ok((row::read(of)?, of.get::<_, i64>("id")?))).optional();
        let found = found.map_err(read)?.ok_or_else(|| self.unknown(run))?;
        let row = self.with_liveness(vec![found])?.pop().ok_or_else(|| self.unknown(run))?;
        row.error().map_or(Ok(row), Err)
    }

    /// Returns every event of the run with exactly that id, in order. The first is [`RunEvent::Started`]; the last is
    /// [`RunEvent::Ended`] where the run came to its end.
    ///
    /// # Errors
    /// Where an event is missing between others, or is not what was written: results of a part of a run never look
    /// like those of a whole one.
    pub fn load(&self, run: &str) -> Result<Vec<Event>, StoreError> {
        let read = |source| self.read_error(source);
        // One look at both tables: a run may end between two.
        let _snapshot = self.connection.unchecked_transaction().map_err(read)?;
        let (id, has_ended) = self.id_and_end(run)?.ok_or_else(|| self.unknown(run))?;
        let mut query = self
            .connection
            .prepare("SELECT sequence, body, crc32c FROM event WHERE run_id = ?1 ORDER BY sequence")
            .map_err(read)?;
        let mut rows = query.query([id]).map_err(read)?;
        let mut events: Vec<Event> = Vec::new();
        while let Some(row) = rows.next().map_err(read)? {
            let (sequence, expected) = (row.get::<_, i64>(0).map_err(read)?, events.len());
            if usize::try_from(sequence) != Ok(expected) {
                return Err(
                    self.damaged(run, &format!("event {expected} is missing before event {sequence}"))
                );
            }
            events.push(self.decode(run, row)?);
        }
        let is_ended = matches!(events.last(), Some(Event { what: RunEvent::Ended(_), .. }));
        match (events.first(), has_ended == is_ended) {
            (Some(Event { what: RunEvent::Started(_), .. }), true) => Ok(events),
            (Some(Event { what: RunEvent::Started(_), .. }), false) => {
                Err(self
                    .damaged(run, &format!("its last events, after event {}, are missing", events.len() - 1)))
            }
            _ => Err(self.damaged(run, "its first event is missing")),
        }
    }

    /// Returns the header of the run with exactly that id.
    pub fn header(&self, run: &str) -> Result<RunHeader, StoreError> {
        let (id, _) = self.id_and_end(run)?.ok_or_else(|| self.unknown(run))?;
        let query = "SELECT sequence, body, crc32c FROM event WHERE run_id = ?1 AND sequence = 0";
        let mut query = self.connection.prepare(query).map_err(|source| self.read_error(source))?;
        let mut rows = query.query([id]).map_err(|source| self.read_error(source))?;
        let first = rows.next().map_err(|source| self.read_error(source))?;
        match first.map(|row| self.decode(run, row)).transpose()? {
            Some(Event { what: RunEvent::Started(header), .. }) => Ok(*header),
            _ => Err(self.damaged(run, "its first event is missing")),
        }
    }

    /// Sets the label of a run; `None` removes it.
    pub fn set_label(&self, run: &str, label: Option<&str>) -> Result<(), StoreError> {
        self.change(run, "UPDATE run SET label = ?2 WHERE run = ?1", params![run, label])
    }

    /// Sets the note of a run; `None` removes it.
    pub fn set_note(&self, run: &str, note: Option<&str>) -> Result<(), StoreError> {
        self.change(run, "UPDATE run SET note = ?2 WHERE run = ?1", params![run, note])
    }

    /// Sets why events of a run are missing from some moment on; `None`: none is.
    pub fn set_lost(&self, run: &str, why: Option<&str>) -> Result<(), StoreError> {
        self.change(run, "UPDATE run SET lost = ?2 WHERE run = ?1", params![run, why])
    }

    /// Removes the run and all its events; refused while it is in progress.
    pub fn remove(&self, run: &str) -> Result<(), StoreError> {
        let write = |source| StoreError::writing(&self.path, source);
        let id = self.id_of_listed(run)?;
        if self.is_going_on(run)? {
            return Err(StoreError::Running { run: run.to_owned() });
        }
        let transaction = write_transaction(&self.connection).map_err(write)?;
        transaction.execute("DELETE FROM run WHERE id = ?1", [id]).map_err(write)?;
        transaction.commit().map_err(write)
    }

    /// Returns whether the run with exactly that id is going on, also where its row cannot be read.
    pub fn is_going_on(&self, run: &str) -> Result<bool, StoreError> {
        let id = self.id_of_listed(run)?;
        let query = "SELECT outcome IS NULL FROM run WHERE id = ?1";
        let unended = self.connection.query_row(query, [id], |row| row.get(0));
        Ok(unended.map_err(|source| self.read_error(source))? && live::are_live(&self.path, &[id]) == [true])
    }

    /// Returns the number of the row of the run with that id, also where the id in the row is no text any more and
    /// `run` is how a list shows it.
    fn id_of_listed(&self, run: &str) -> Result<i64, StoreError> {
        if let Some((id, _)) = self.id_and_end(run)? {
            return Ok(id);
        }
        let query = "SELECT id, CAST(run AS BLOB) FROM run WHERE typeof(run) = 'text'";
        let mut query = self.connection.prepare(query).map_err(|source| self.read_error(source))?;
        let rows = query.query_map([], |row| Ok((row.get::<_, i64>(0)?, row.get::<_, Vec<u8>>(1)?)));
        let rows = rows
            .and_then(Iterator::collect::<Result<Vec<_>, _>>)
            .map_err(|source| self.read_error(source))?;
        let found = rows.into_iter().find(|(_, bytes)| String::from_utf8_lossy(bytes) == run);
        found.map(|(id, _)| id).ok_or_else(|| self.unknown(run))
    }

    /// Gives all that the store holds of a run, as it is stored, to `take`: its row, then each event. Nothing is
    /// decoded or checked, so this works on what nothing else reads. Each piece has a name and its bytes.
    ///
    /// # Errors
    /// Where no run has that id, or the file itself cannot be read.
    pub fn each_raw(&self, run: &str, mut take: impl FnMut(&str, &[u8])) -> Result<(), StoreError> {
        let id = self.id_of_listed(run)?;
        let read = |source| self.read_error(source);
        let mut query = self.connection.prepare("SELECT * FROM run WHERE id = ?1").map_err(read)?;
        let names: Vec<String> = query.column_names().map(|name| format!("run.{name}")).collect();
        let mut rows = query.query([id]).map_err(read)?;
        if let Some(row) = rows.next().map_err(read)? {
            for (column, name) in names.iter().enumerate() {
                raw(row.get_ref(column).map_err(read)?, |bytes| take(name, bytes));
            }
        }
        let query = "SELECT sequence, body FROM event WHERE run_id = ?1 ORDER BY sequence";
        let mut query = self.connection.prepare(query).map_err(read)?;
        let mut rows = query.query([id]).map_err(read)?;
        while let Some(row) = rows.next().map_err(read)? {
            let name = format!("event.{}", row.get::<_, i64>(0).map_err(read)?);
            raw(row.get_ref(1).map_err(read)?, |bytes| take(&name, bytes));
        }
        Ok(())
    }

    /// Sets the array that a target is on, as the text of an array file; `None` removes it.
    pub fn set_target_array(&self, address: &str, array: Option<&str>) -> Result<(), StoreError> {
        let write = |source| StoreError::writing(&self.path, source);
        let result = match array {
            Some(text) => self.connection.execute(
                "INSERT INTO target (address, array) VALUES (?1, ?2)
                 ON CONFLICT (address) DO UPDATE SET array = excluded.array",
                params![address, text],
            ),
            None => self.connection.execute("DELETE FROM target WHERE address = ?1", [address]),
        };
        result.map(drop).map_err(write)
    }

    /// Returns the text of the array that a target is on, where one is set.
    pub fn target_array(&self, address: &str) -> Result<Option<String>, StoreError> {
        let query = "SELECT array FROM target WHERE address = ?1";
        let found = self.connection.query_row(query, [address], |row| row.get(0)).optional();
        found.map_err(|source| self.read_error(source))
    }

    /// Returns every target with an array: address and text, sorted by address.
    pub fn target_arrays(&self) -> Result<Vec<(String, String)>, StoreError> {
        let read = |source| self.read_error(source);
        let mut query =
            self.connection.prepare("SELECT address, array FROM target ORDER BY address").map_err(read)?;
        let rows = query.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).map_err(read)?;
        rows.collect::<Result<_, _>>().map_err(read)
    }

    fn change(&self, run: &str, sql: &str, parameters: impl rusqlite::Params) -> Result<(), StoreError> {
        let write = |source| StoreError::writing(&self.path, source);
        let transaction = write_transaction(&self.connection).map_err(write)?;
        // A new checksum over a damaged row would hide the damage.
        self.row(run)?;
        let (id, _) = self.id_and_end(run)?.ok_or_else(|| self.unknown(run))?;
        transaction.execute(sql, parameters).and_then(|_| row::seal(&transaction, id)).map_err(write)?;
        transaction.commit().map_err(write)
    }

    /// Returns the number of the run's row, and whether the run came to its end.
    pub(crate) fn id_and_end(&self, run: &str) -> Result<Option<(i64, bool)>, StoreError> {
        let found = self.connection.query_row(
            "SELECT id, outcome IS NOT NULL FROM run WHERE run = ?1",
            [run],
            |row| Ok((row.get(0)?, row.get(1)?)),
        );
        found.optional().map_err(|source| self.read_error(source))
    }

    /// Reads the columns sequence, body and crc32c.
    pub(crate) fn decode(&self, run: &str, row: &rusqlite::Row<'_>) -> Result<Event, StoreError> {
        let read = |source| self.read_error(source);
        let sequence = row.get(0).map_err(read)?;
        let body: String = row.get(1).map_err(read)?;
        let checksum: Option<u32> = row.get(2).map_err(read)?;
        if checksum.is_some_and(|checksum| checksum != crc32c::crc32c(body.as_bytes())) {
            return Err(self.damaged(run, &format!("event {sequence} does not match its checksum")));
        }
        serde_json::from_str(&body).map_err(|source| StoreError::Decode {
            path: self.path.clone(),
            run: run.to_owned(),
            sequence,
            source,
        })
    }

    pub(crate) fn damaged(&self, run: &str, why: &str) -> StoreError {
        StoreError::Damaged { path: self.path.clone(), run: run.to_owned(), why: why.to_owned() }
    }

    pub(crate) fn read_error(&self, source: rusqlite::Error) -> StoreError {
        StoreError::reading(&self.path, source)
    }

    pub(crate) fn unknown(&self, run: &str) -> StoreError {
        let source = FindError::None { name: run.to_owned(), hint: String::new() };
        StoreError::Find { path: self.path.clone(), source }
    }
}

/// Gives a value as bytes: text and blobs as they are, numbers as people write them, and nothing for NULL.
fn raw(value: ValueRef<'_>, take: impl FnOnce(&[u8])) {
    match value {
        ValueRef::Null => {}
        ValueRef::Integer(number) => take(number.to_string().as_bytes()),
        ValueRef::Real(number) => take(number.to_string().as_bytes()),
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => take(bytes),
    }
}
