//! Following runs that are going on, also those of other processes: what is new since the last look.
//!
//! A look at a store in which nothing was written since the last one costs one read of a counter
//! ([`Reader::writes`]); otherwise one search in an index for each run that is followed. Readers are never in the way
//! of the writer: a file is in write-ahead mode, and a server keeps versions of rows.

use assay_record::Event;

use crate::error::StoreError;
use crate::process::Process;
use crate::reader::Reader;
use crate::sql::{SqlError, values};
use crate::store::Store;

impl Reader {
    /// Returns a number that changes when another connection has written to the store. It means something only
    /// against numbers of the same handle.
    pub fn writes(&self) -> Result<i64, StoreError> {
        let found = self.database.row(self.database.dialect().writes(), &[]);
        let found = found.and_then(|row| row.map_or(Ok(0), |row| row.integer(0)));
        found.map_err(|source| self.read_error(source))
    }

    /// Returns the ids of the runs that are going on, the newest first.
    pub fn running(&self) -> Result<Vec<String>, StoreError> {
        let mut ids = self.unended()?;
        ids.sort_unstable_by_key(|id| std::cmp::Reverse(*id));
        let is_live = self.are_live(&ids);
        let live = ids.into_iter().zip(is_live).filter(|(_, is_live)| *is_live);
        let runs = live.filter_map(|(id, _)| {
            let row = self.database.row("SELECT run FROM run WHERE id = ?1", values![id]);
            row.and_then(|row| row.map(|row| Ok(row.text(0)?.to_owned())).transpose()).transpose()
        });
        runs.collect::<Result<_, SqlError>>().map_err(|source| self.read_error(source))
    }

    /// Returns the events of the run with exactly that id from the one with that number on (the first is 0), at most
    /// `limit`. An event is never changed, so that whoever has the first N needs only those from N on.
    pub fn events_from(&self, run: &str, first: u64, limit: usize) -> Result<Vec<Event>, StoreError> {
        let (id, _) = self.id_and_end(run)?.ok_or_else(|| self.unknown(run))?;
        let first = usize::try_from(first).unwrap_or(usize::MAX);
        let rows = self.some_events(id, first, limit)?;
        let events = (first..).zip(&rows).map(|(expected, row)| {
            self.check_place(run, row, expected)?;
            self.decode(run, row)
        });
        events.collect()
    }

    /// Returns the process that writes, or wrote, the run with exactly that id; `None` in runs of earlier versions.
    pub fn process(&self, run: &str) -> Result<Option<Process>, StoreError> {
        let found = self.database.row("SELECT process FROM run WHERE run = ?1", values![run]);
        let row = found.map_err(|source| self.read_error(source))?.ok_or_else(|| self.unknown(run))?;
        let text = row.text_if_any(0).map_err(|source| self.read_error(source))?;
        Ok(text.and_then(|text| serde_json::from_str(text).ok()))
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
