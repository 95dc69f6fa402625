//! Whole runs that come from elsewhere.

use assay_record::{Event, RunEvent, RunHeader};

use crate::error::StoreError;
use crate::row;
use crate::server::open_to_write;
use crate::sql::values;
use crate::store::Store;
use crate::writer::{insert_event, insert_run};

/// A run to be added whole.
#[derive(Debug, Clone, Copy)]
pub struct WholeRun<'r> {
    /// Its header.
    pub header: &'r RunHeader,
    /// Its label.
    pub label: Option<&'r str>,
    /// Its note.
    pub note: Option<&'r str>,
    /// Why events are missing at its end; `None` if none is.
    pub lost: Option<&'r str>,
    /// Its events; a [`RunEvent::Started`] among them is passed over.
    pub events: &'r [Event],
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
    pub fn add_run(&self, whole: &WholeRun<'_>, namesake: Namesake) -> Result<(), StoreError> {
        let to = open_to_write(self.address())?;
        let write = |source| to.write_error(source);
        to.database.write(write, || {
            if namesake == Namesake::Replace {
                let run = &whole.header.run;
                to.database.execute("DELETE FROM run WHERE run = ?1", values![run]).map_err(write)?;
            }
            let id = insert_run(&to, whole.header, (whole.label, whole.note))?;
            let events = whole.events.iter().filter(|event| !matches!(event.what, RunEvent::Started(_)));
            for (sequence, event) in (1..).zip(events) {
                insert_event(&to, (id, sequence), event)?;
            }
            let Some(why) = whole.lost else { return Ok(()) };
            let update = "UPDATE run SET lost = ?2 WHERE id = ?1";
            to.database.execute(update, values![id, why]).map_err(write)?;
            row::seal(&to.database, id).map_err(write)
        })?;
        to.check()
    }
}
