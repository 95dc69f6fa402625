//! A store to be read: whoever has no more than a [`Reader`] changes nothing.

use assay_record::{Event, RunEvent, RunHeader};
use assay_spec::random::split_mix;

use crate::address::StoreAddress;
use crate::database::Database;
use crate::error::StoreError;
use crate::find::FindError;
use crate::id;
use crate::row::{self, COLUMNS, RunRow};
use crate::server;
use crate::sql::{Cell, SqlError, values};

/// Ids tried before giving up; a day has about a million.
const ID_ATTEMPTS: u32 = 64;

/// Columns of a run's row, as they are saved.
const RAW: [&str; 13] = [
    "id", "run", "name", "label", "note", "started_unix_ms", "targets", "outcome", "lost", "host", "process",
    "words", "row_crc32c",
];
/// Events that are read at once: those of a day together take gigabytes of memory.
pub(crate) const PART: usize = 256;

/// What can be read of a [`Store`](crate::Store). It has no method that writes, so that a room which takes one instead
/// of the store cannot change it.
#[derive(Debug)]
pub struct Reader {
    address: StoreAddress,
    /// Why it can only be read; `None` where it can be written to.
    read_only: Option<String>,

    pub(crate) database: Database,
}

impl Reader {
    pub(crate) fn new(address: StoreAddress, read_only: Option<String>, database: Database) -> Self {
        Self { address, read_only, database }
    }

    /// Returns why the store can only be read; `None` where it can be written to.
    #[must_use]
    pub fn read_only(&self) -> Option<&str> {
        self.read_only.as_deref()
    }

    /// Returns where it is.
    #[must_use]
    pub fn address(&self) -> &StoreAddress {
        &self.address
    }

    /// Returns an id like `261121-k7f2` that no run in this store has yet. Processes on several hosts may ask at once,
    /// of which some have the same number.
    pub fn new_run_id(&self, now_unix_ms: u64, random: u64) -> Result<String, StoreError> {
        let mut random = random;
        for _ in 0..ID_ATTEMPTS {
            let run = id::new_run_id(now_unix_ms, split_mix(&mut random));
            if self.id_and_end(&run)?.is_none() {
                return Ok(run);
            }
        }
        Err(StoreError::NoFreeId { path: self.address.clone() })
    }

    /// Returns whether each of these runs is going on.
    pub(crate) fn are_live(&self, run_ids: &[i64]) -> Vec<bool> {
        server::are_live(&self.address, &self.database, run_ids)
    }

    /// Finds out which of these rows are of runs that go on. A run may have ended after its row was read and before its
    /// lock is looked at: it wrote its end before it gave up its lock, so its row is read once more.
    pub(crate) fn with_liveness(&self, rows: Vec<(RunRow, i64)>) -> Result<Vec<RunRow>, StoreError> {
        let unended: Vec<i64> =
            rows.iter().filter(|(row, _)| row.status.is_none()).map(|(_, id)| *id).collect();
        let mut is_live = self.are_live(&unended).into_iter();
        let settled = rows.into_iter().map(|(mut row, id)| {
            if row.status.is_some() {
                return Ok(row);
            }
            row.is_running = is_live.next().unwrap_or(false);
            if row.is_running {
                return Ok(row);
            }
            let text = format!("SELECT {COLUMNS} FROM run WHERE id = ?1");
            Ok(self.database.row(&text, values![id])?.map_or(row, |found| row::read(&found)))
        });
        settled.collect::<Result<_, _>>().map_err(|source| self.read_error(source))
    }

    /// Returns the row of the run with exactly that id.
    pub fn row(&self, run: &str) -> Result<RunRow, StoreError> {
        let text = format!("SELECT {COLUMNS}, id FROM run WHERE run = ?1");
        let found = self.database.row(&text, values![run]).and_then(|found| {
            found.map(|of| Ok((row::read(&of), of.integer(row::COLUMN_COUNT)?))).transpose()
        });
        let found = found.map_err(|source| self.read_error(source))?.ok_or_else(|| self.unknown(run))?;
        let row = self.with_liveness(vec![found])?.pop().ok_or_else(|| self.unknown(run))?;
        row.error().map_or(Ok(row), Err)
    }

    /// Returns the header of the run with exactly that id.
    pub fn header(&self, run: &str) -> Result<RunHeader, StoreError> {
        let (id, _) = self.id_and_end(run)?.ok_or_else(|| self.unknown(run))?;
        let query = "SELECT sequence, body, crc32c FROM event WHERE run_id = ?1 AND sequence = 0";
        let first = self.database.row(query, values![id]).map_err(|source| self.read_error(source))?;
        match first.map(|row| self.decode(run, &row)).transpose()? {
            Some(Event { what: RunEvent::Started(header), .. }) => Ok(*header),
            _ => Err(self.damaged(run, "its first event is missing")),
        }
    }

    /// Returns whether the run with exactly that id is going on, also where its row cannot be read.
    pub fn is_going_on(&self, run: &str) -> Result<bool, StoreError> {
        let id = self.id_of_listed(run)?;
        let query = "SELECT outcome IS NULL FROM run WHERE id = ?1";
        let unended =
            self.database.row(query, values![id]).and_then(|row| row.map(|row| row.integer(0)).transpose());
        let is_unended = unended.map_err(|source| self.read_error(source))? == Some(1);
        Ok(is_unended && self.are_live(&[id]) == [true])
    }

    /// Returns the number of the row of the run with that id, also where the id in the row is no text any more and
    /// `run` is how a list shows it.
    pub(crate) fn id_of_listed(&self, run: &str) -> Result<i64, StoreError> {
        if let Some((id, _)) = self.id_and_end(run)? {
            return Ok(id);
        }
        let Some(query) = self.database.dialect().runs_as_bytes() else { return Err(self.unknown(run)) };
        let rows = self.database.rows(query, &[]).map_err(|source| self.read_error(source))?;
        let found = rows.iter().find(|row| match row.cell(1) {
            Cell::Blob(bytes) => String::from_utf8_lossy(bytes) == run,
            _ => false,
        });
        let id = found.map(|row| row.integer(0)).transpose().map_err(|source| self.read_error(source))?;
        id.ok_or_else(|| self.unknown(run))
    }

    /// Gives all that the store holds of a run, as it is stored, to `take`: its row, then each event. Nothing is
    /// decoded or checked, so this works on what nothing else reads. Each piece has a name and its bytes.
    ///
    /// # Errors
    /// Where no run has that id, or the store itself cannot be read.
    pub fn each_raw(&self, run: &str, mut take: impl FnMut(&str, &[u8])) -> Result<(), StoreError> {
        let id = self.id_of_listed(run)?;
        let read = |source| self.read_error(source);
        let query = format!("SELECT {} FROM run WHERE id = ?1", RAW.join(", "));
        if let Some(row) = self.database.row(&query, values![id]).map_err(read)? {
            for (name, cell) in RAW.iter().zip(row.cells()) {
                raw(cell, |bytes| take(&format!("run.{name}"), bytes));
            }
        }
        let query =
            "SELECT sequence, body FROM event WHERE run_id = ?1 AND sequence > ?2 ORDER BY sequence LIMIT ?3";
        let mut last = i64::MIN;
        loop {
            let rows = self.database.rows(query, values![id, last, PART as i64]).map_err(read)?;
            for row in &rows {
                last = row.integer(0).map_err(read)?;
                raw(row.cell(1), |bytes| take(&format!("event.{last}"), bytes));
            }
            if rows.len() < PART {
                return Ok(());
            }
        }
    }

    /// Returns the text of the array that a target is on, where one is set.
    pub fn target_array(&self, address: &str) -> Result<Option<String>, StoreError> {
        self.one_text("SELECT \"array\" FROM target WHERE address = ?1", address)
    }

    /// Returns every target with an array: address and text, sorted by address.
    pub fn target_arrays(&self) -> Result<Vec<(String, String)>, StoreError> {
        self.pairs("SELECT address, \"array\" FROM target ORDER BY address")
    }

    /// Returns the number of the run's row, and whether the run came to its end.
    pub(crate) fn id_and_end(&self, run: &str) -> Result<Option<(i64, bool)>, StoreError> {
        let found = self.database.row("SELECT id, outcome IS NOT NULL FROM run WHERE run = ?1", values![run]);
        let found =
            found.and_then(|row| row.map(|row| Ok((row.integer(0)?, row.integer(1)? == 1))).transpose());
        found.map_err(|source: SqlError| self.read_error(source))
    }

    /// Returns the one text of a query with one parameter.
    pub(crate) fn one_text(&self, sql: &str, parameter: &str) -> Result<Option<String>, StoreError> {
        let found = self.database.row(sql, values![parameter]);
        let found = found.and_then(|row| row.map(|row| row.text(0).map(str::to_owned)).transpose());
        found.map_err(|source| self.read_error(source))
    }

    /// Returns the rows of a query of two texts.
    pub(crate) fn pairs(&self, sql: &str) -> Result<Vec<(String, String)>, StoreError> {
        let read = |source| self.read_error(source);
        let rows = self.database.rows(sql, &[]).map_err(read)?;
        let pairs = rows.iter().map(|row| Ok((row.text(0)?.to_owned(), row.text(1)?.to_owned())));
        pairs.collect::<Result<_, _>>().map_err(read)
    }

    pub(crate) fn damaged(&self, run: &str, why: &str) -> StoreError {
        StoreError::Damaged { path: self.address.clone(), run: run.to_owned(), why: why.to_owned() }
    }

    pub(crate) fn read_error(&self, source: SqlError) -> StoreError {
        StoreError::reading(&self.address, source)
    }

    pub(crate) fn unknown(&self, run: &str) -> StoreError {
        let source = FindError::None { name: run.to_owned(), hint: String::new() };
        StoreError::Find { path: self.address.clone(), source }
    }
}

/// Gives a value as bytes: text and blobs as they are, numbers as people write them, and nothing for NULL.
fn raw(value: &Cell, take: impl FnOnce(&[u8])) {
    match value {
        Cell::Null => {}
        Cell::Integer(number) => take(number.to_string().as_bytes()),
        Cell::Real(number) => take(number.to_string().as_bytes()),
        Cell::Text(bytes) | Cell::Blob(bytes) => take(bytes),
    }
}
