//! Whole runs that come from elsewhere.

use assay_record::{Event, Outcome, RunDigest, RunEvent, RunHeader};

use crate::database::Database;
use crate::digest::{Coverage, put_digest};
use crate::error::StoreError;
use crate::extract::{PackedExtract, put_packed};
use crate::row;
use crate::server::{OpenStore, open_to_write};
use crate::sql::values;
use crate::store::Store;
use crate::writer::{CHECKPOINT_PAGES, insert_event, insert_lines, insert_run, set_outcome};

/// A run to be added whole.
#[derive(Debug)]
pub struct WholeRun<'r> {
    /// Its header.
    pub header: &'r RunHeader,
    /// Its label.
    pub label: Option<&'r str>,
    /// Its note.
    pub note: Option<&'r str>,
    /// Why events are missing at its end; `None` if none is.
    pub lost: Option<&'r str>,
    /// Its events.
    pub events: WholeEvents<'r>,
}

/// The events of a run that comes from elsewhere.
#[derive(Debug)]
pub enum WholeEvents<'r> {
    /// As they are; a [`RunEvent::Started`] among them is passed over.
    Decoded(&'r [Event]),
    /// As they stand in a file: they are stored to the letter.
    Lines {
        /// JSON of each event after the first, which is made from the header.
        after_first: EventLines<'r>,
        /// That of the last event, if it is the end of the run.
        outcome: Option<Outcome>,
    },
}

/// Lines of JSON that are read while they are stored: those of a day together take hundreds of megabytes. An error
/// among them leaves nothing stored.
pub struct EventLines<'r>(pub &'r mut dyn Iterator<Item = std::io::Result<String>>);

impl std::fmt::Debug for EventLines<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("EventLines")
    }
}

/// What is kept beside a run so that lists and pages need not read its events.
#[derive(Debug, Clone)]
pub struct Completed {
    /// Its digest.
    pub digest: RunDigest,
    /// Its extract.
    pub extract: PackedExtract,
}

/// What becomes of a run that the store has under the same id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Namesake {
    /// It stays, and the other one is refused.
    Keep,
    /// The other one takes its place.
    Replace,
}

impl Store {
    /// Adds a run with all its events in one transaction: whenever this process is killed, the store has all of the run
    /// or nothing of it, and a run that is replaced until then.
    pub fn add_run(&self, whole: WholeRun<'_>, namesake: Namesake) -> Result<(), StoreError> {
        self.importer()?.add(whole, namesake, None)
    }

    /// Returns what adds any number of runs.
    pub fn importer(&self) -> Result<Importer, StoreError> {
        let to = open_to_write(self.address())?;
        if let Database::Sqlite(connection) = &to.database {
            let set = connection.pragma_update(None, "wal_autocheckpoint", CHECKPOINT_PAGES);
            set.map_err(|source| to.write_error(source.into()))?;
        }
        Ok(Importer { to })
    }
}

/// Adds runs over a connection of its own.
#[derive(Debug)]
pub struct Importer {
    to: OpenStore,
}

impl Importer {
    /// Adds a run as [`Store::add_run`] does, with what is kept beside it where that is known.
    pub fn add(
        &self,
        whole: WholeRun<'_>,
        namesake: Namesake,
        completed: Option<&Completed>,
    ) -> Result<(), StoreError> {
        let to = &self.to;
        let write = |source| to.write_error(source);
        to.database.write(write, || {
            if namesake == Namesake::Replace {
                let run = &whole.header.run;
                to.database.execute("DELETE FROM run WHERE run = ?1", values![run]).map_err(write)?;
            }
            let id = insert_run(to, whole.header, (whole.label, whole.note))?;
            let last = insert_events(to, id, whole.events)?;
            if let Some(why) = whole.lost {
                let update = "UPDATE run SET lost = ?2 WHERE id = ?1";
                to.database.execute(update, values![id, why]).map_err(write)?;
                row::seal(&to.database, id).map_err(write)?;
            }
            let Some(Completed { digest, extract }) = completed else { return Ok(()) };
            put_packed(&to.database, id, last, extract).map_err(write)?;
            put_digest(&to.database, id, digest, Coverage::Whole).map_err(write)
        })?;
        to.check()
    }
}

/// Lines that are in memory at once.
const LINES: usize = 256;

/// Inserts all events but the first. Returns the number of all.
fn insert_events(to: &OpenStore, id: i64, events: WholeEvents<'_>) -> Result<i64, StoreError> {
    let mut count = 1;
    match events {
        WholeEvents::Decoded(events) => {
            for event in events.iter().filter(|event| !matches!(event.what, RunEvent::Started(_))) {
                insert_event(to, (id, count), event)?;
                count += 1;
            }
        }
        WholeEvents::Lines { after_first, outcome } => {
            loop {
                let lines: Result<Vec<String>, _> = after_first.0.take(LINES).collect();
                let lines =
                    lines.map_err(|source| StoreError::Source { path: to.address.clone(), source })?;
                insert_lines(to, (id, count), &lines)?;
                count += i64::try_from(lines.len()).unwrap_or(0);
                if lines.len() < LINES {
                    break;
                }
            }
            outcome.map_or(Ok(()), |outcome| set_outcome(to, id, outcome))?;
        }
    }
    Ok(count)
}
