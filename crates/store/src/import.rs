//! Whole runs that come from elsewhere.

use std::cell::Cell;

use assay_record::{Event, Outcome, RunDigest, RunEvent, RunHeader};

use crate::database::Database;
use crate::digest::{Coverage, put_beside};
use crate::error::StoreError;
use crate::extract::{PackedExtract, put_packed};
use crate::server::{OpenStore, open_to_write};
use crate::sql::values;
use crate::store::Store;
use crate::writer::{CHECKPOINT_PAGES, Known, insert_lines, insert_run};

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
        Ok(Importer { to, is_together: Cell::new(false) })
    }
}

/// Adds runs over a connection of its own.
#[derive(Debug)]
pub struct Importer {
    to: OpenStore,
    /// Whether a transaction of several runs has begun.
    is_together: Cell<bool>,
}

impl Importer {
    /// Has `work` add several runs in one transaction: all of them are added, or none where one cannot be. A commit
    /// of each run writes the same pages again, and waits for the disk of a server.
    ///
    /// # Errors
    /// That of `work`, or of the transaction.
    pub fn together<E: From<StoreError>>(&self, work: impl FnOnce() -> Result<(), E>) -> Result<(), E> {
        let write = |source| E::from(self.to.write_error(source));
        self.is_together.set(true);
        let added = self.to.database.write(write, work);
        self.is_together.set(false);
        added.and_then(|()| Ok(self.to.check()?))
    }

    /// Adds a run as [`Store::add_run`] does, with what is kept beside it where that is known.
    pub fn add(
        &self,
        whole: WholeRun<'_>,
        namesake: Namesake,
        completed: Option<&Completed>,
    ) -> Result<(), StoreError> {
        let to = &self.to;
        let write = |source| to.write_error(source);
        let WholeRun { header, label, note, lost, events } = whole;
        let digest = completed.map(|completed| &completed.digest);
        let known = Known { label, note, lost, outcome: events.outcome(), digest };
        let add = || {
            if namesake == Namesake::Replace {
                to.database.execute("DELETE FROM run WHERE run = ?1", values![&header.run]).map_err(write)?;
            }
            let id = insert_run(to, header, &known)?;
            let last = insert_events(to, id, events)?;
            let Some(Completed { digest, extract }) = completed else { return Ok(()) };
            put_packed(&to.database, id, last, extract).map_err(write)?;
            put_beside(&to.database, id, digest, Coverage::Whole).map_err(write)
        };
        if self.is_together.get() {
            return add();
        }
        to.database.write(write, add)?;
        to.check()
    }
}

impl WholeEvents<'_> {
    /// How the run ended, if its last event is its end.
    fn outcome(&self) -> Option<Outcome> {
        match self {
            Self::Decoded(events) => events.iter().rev().find_map(|event| match event.what {
                RunEvent::Ended(outcome) => Some(outcome),
                _ => None,
            }),
            Self::Lines { outcome, .. } => *outcome,
        }
    }
}

/// Lines that are in memory at once.
const LINES: usize = 256;

/// Inserts all events but the first. Returns the number of all.
fn insert_events(to: &OpenStore, id: i64, events: WholeEvents<'_>) -> Result<i64, StoreError> {
    let encode = |source| StoreError::Encode { path: to.address.clone(), source };
    let unread = |source| StoreError::Source { path: to.address.clone(), source };
    match events {
        WholeEvents::Decoded(events) => {
            let after_first = events.iter().filter(|event| !matches!(event.what, RunEvent::Started(_)));
            insert_parts(to, id, after_first.map(|event| serde_json::to_string(event).map_err(encode)))
        }
        WholeEvents::Lines { after_first, .. } => {
            insert_parts(to, id, after_first.0.map(|line| line.map_err(unread)))
        }
    }
}

fn insert_parts(
    to: &OpenStore,
    id: i64,
    mut lines: impl Iterator<Item = Result<String, StoreError>>,
) -> Result<i64, StoreError> {
    let mut count = 1;
    loop {
        let part: Vec<String> = lines.by_ref().take(LINES).collect::<Result<_, _>>()?;
        insert_lines(to, (id, count), &part)?;
        count += i64::try_from(part.len()).unwrap_or(0);
        if part.len() < LINES {
            return Ok(count);
        }
    }
}
