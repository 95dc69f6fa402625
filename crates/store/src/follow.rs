//! Following runs that are going on, also those of other processes: what is new since the last look.
//!
//! A look at a store in which nothing was written since the last one costs one read of a counter
//! ([`Reader::writes`]); otherwise one search in an index for each run that is followed. Readers of a store in
//! write-ahead mode are never in the way of the writer.

use assay_record::Event;
use rusqlite::OptionalExtension as _;

use crate::error::StoreError;
use crate::live;
use crate::process::Process;
use crate::reader::Reader;
use crate::store::Store;

impl Reader {
    /// Returns a number that changes when another connection has written to the store. It means something only
    /// against numbers of the same handle.
    pub fn writes(&self) -> Result<i64, StoreError> {
        let found = self.connection().pragma_query_value(None, "data_version", |row| row.get(0));
        found.map_err(|source| StoreError::reading(self.path(), source))
    }

    /// Returns the ids of the runs that are going on, the newest first.
    pub fn running(&self) -> Result<Vec<String>, StoreError> {
        let read = |source| StoreError::reading(self.path(), source);
        let mut ids = self.unended()?;
        ids.sort_unstable_by_key(|id| std::cmp::Reverse(*id));
        let is_live = live::are_live(self.path(), &ids);
        let mut query =
            self.connection().prepare_cached("SELECT run FROM run WHERE id = ?1").map_err(read)?;
        let live = ids.into_iter().zip(is_live).filter(|(_, is_live)| *is_live);
        live.map(|(id, _)| query.query_row([id], |row| row.get(0)).map_err(read)).collect()
    }

    /// Returns the events of the run with exactly that id from the one with that number on (the first is 0), at most
    /// `limit`. An event is never changed, so that whoever has the first N needs only those from N on.
    pub fn events_from(&self, run: &str, first: u64, limit: usize) -> Result<Vec<Event>, StoreError> {
        let read = |source| StoreError::reading(self.path(), source);
        let (id, _) = self.id_and_end(run)?.ok_or_else(|| self.unknown(run))?;
        let text = "SELECT sequence, body, crc32c FROM event WHERE run_id = ?1 AND sequence >= ?2
                    ORDER BY sequence LIMIT ?3";
        let mut query = self.connection().prepare_cached(text).map_err(read)?;
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let mut rows = query.query((id, i64::try_from(first).unwrap_or(i64::MAX), limit)).map_err(read)?;
        let mut events = Vec::new();
        while let Some(row) = rows.next().map_err(read)? {
            let sequence: i64 = row.get(0).map_err(read)?;
            let expected = first + events.len() as u64;
            if u64::try_from(sequence) != Ok(expected) {
                let why = format!("event {expected} is missing before event {sequence}");
                return Err(self.damaged(run, &why));
            }
            events.push(self.decode(run, row)?);
        }
        Ok(events)
    }

    /// Returns the process that writes, or wrote, the run with exactly that id; `None` in runs of earlier versions.
    pub fn process(&self, run: &str) -> Result<Option<Process>, StoreError> {
        let read = |source| StoreError::reading(self.path(), source);
        let query = "SELECT process FROM run WHERE run = ?1";
        let found = self.connection().query_row(query, [run], |row| row.get::<_, Option<String>>(0));
        let text = found.optional().map_err(read)?;
        Ok(text.ok_or_else(|| self.unknown(run))?.and_then(|text| serde_json::from_str(&text).ok()))
    }
}

impl Store {
    /// Asks the process that writes a run to stop, as Ctrl-C does.
    ///
    /// # Errors
    /// If the run is not going on, on this machine.
    pub fn stop(&self, run: &str) -> Result<(), StoreError> {
        let stop = |source| StoreError::Stop { run: run.to_owned(), source };
        let gone = || stop(crate::process::StopError::Gone);
        if !self.row(run)?.is_running {
            return Err(gone());
        }
        self.process(run)?.ok_or_else(gone)?.interrupt().map_err(stop)
    }
}
