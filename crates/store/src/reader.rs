//! A store to be read: whoever has no more than a [`Reader`] changes nothing.

use std::path::{Path, PathBuf};

use assay_record::{Event, RunEvent, RunHeader};
use rusqlite::types::ValueRef;
use rusqlite::{Connection, OptionalExtension as _};

use crate::error::StoreError;
use crate::find::FindError;
use crate::row::{self, COLUMNS, RunRow};
use crate::{id, live};

/// Ids tried before giving up; a day has about a million.
const ID_ATTEMPTS: u64 = 64;

/// What can be read of a [`Store`](crate::Store). It has no method that writes, so that a room which takes one instead
/// of the store cannot change it.
#[derive(Debug)]
pub struct Reader {
    pub(crate) path: PathBuf,
    /// Why it can only be read; `None` where it can be written to.
    pub(crate) read_only: Option<String>,

    pub(crate) connection: Connection,
}

impl Reader {
    /// Returns why the store can only be read; `None` where it can be written to.
    #[must_use]
    pub fn read_only(&self) -> Option<&str> {
        self.read_only.as_deref()
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

    /// Returns whether the run with exactly that id is going on, also where its row cannot be read.
    pub fn is_going_on(&self, run: &str) -> Result<bool, StoreError> {
        let id = self.id_of_listed(run)?;
        let query = "SELECT outcome IS NULL FROM run WHERE id = ?1";
        let unended = self.connection.query_row(query, [id], |row| row.get(0));
        Ok(unended.map_err(|source| self.read_error(source))? && live::are_live(&self.path, &[id]) == [true])
    }

    /// Returns the number of the row of the run with that id, also where the id in the row is no text any more and
    /// `run` is how a list shows it.
    pub(crate) fn id_of_listed(&self, run: &str) -> Result<i64, StoreError> {
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

    fn read_error(&self, source: rusqlite::Error) -> StoreError {
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
