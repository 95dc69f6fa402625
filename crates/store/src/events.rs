//! The events of a run as they are read: checked, in order, one at a time.

use assay_record::{Event, RunEvent};

use crate::error::StoreError;
use crate::reader::{PART, Reader};
use crate::sql::{Row, values};

/// What an event says of the place where it may be.
#[derive(Default)]
struct Ends {
    is_begun: bool,
    is_ended: bool,
}

impl Ends {
    fn see(&mut self, sequence: i64, event: &Event) {
        self.is_begun |= sequence == 0 && matches!(event.what, RunEvent::Started(_));
        self.is_ended = matches!(event.what, RunEvent::Ended(_));
    }
}

impl Reader {
    /// Returns every event of the run with exactly that id, in order. The first is [`RunEvent::Started`]; the last is
    /// [`RunEvent::Ended`] where the run came to its end.
    ///
    /// # Errors
    /// Where an event is missing between others, or is not what was written: results of a part of a run never look
    /// like those of a whole one.
    pub fn load(&self, run: &str) -> Result<Vec<Event>, StoreError> {
        let mut events = Vec::new();
        self.each_event(run, |event| events.push(event))?;
        Ok(events)
    }

    /// Gives each of the events that [`Self::load`] returns to `take`: those of a day together take gigabytes of
    /// memory. Returns their number.
    ///
    /// # Errors
    /// As [`Self::load`], after `take` got the events before the fault.
    pub fn each_event(&self, run: &str, mut take: impl FnMut(Event)) -> Result<usize, StoreError> {
        self.walk(run, |row, ends| {
            let (sequence, event) = (row.integer(0).map_err(|e| self.read_error(e))?, self.decode(run, row)?);
            ends.see(sequence, &event);
            take(event);
            Ok(())
        })
    }

    /// Checks that the run has every event, and that each is what was written, as [`Self::load`] does. Events with a
    /// checksum are not decoded but the first and the last, which takes a small part of the time.
    ///
    /// # Errors
    /// As [`Self::load`].
    pub fn check_events(&self, run: &str) -> Result<(), StoreError> {
        let last = self.last_sequence(run)?;
        let count = self.walk(run, |row, ends| {
            let (sequence, body, is_sealed) = self.sealed(run, row)?;
            if sequence == 0 || sequence == last || !is_sealed {
                ends.see(sequence, &self.parse(run, sequence, body)?);
            }
            Ok(())
        });
        count.map(drop)
    }

    /// Gives each row (sequence, body and crc32c) of the events to `look`. Returns their number.
    fn walk(
        &self,
        run: &str,
        mut look: impl FnMut(&Row, &mut Ends) -> Result<(), StoreError>,
    ) -> Result<usize, StoreError> {
        let read = |source| self.read_error(source);
        // One look at both tables: a run may end between two.
        self.database.snapshot(read, || {
            let (id, has_ended) = self.id_and_end(run)?.ok_or_else(|| self.unknown(run))?;
            let (mut count, mut ends) = (0, Ends::default());
            loop {
                let rows = self.some_events(id, count, PART)?;
                for row in &rows {
                    self.check_place(run, row, count)?;
                    look(row, &mut ends)?;
                    count += 1;
                }
                if rows.len() < PART {
                    break;
                }
            }
            match ends {
                Ends { is_begun: false, .. } => Err(self.damaged(run, "its first event is missing")),
                Ends { is_ended, .. } if is_ended == has_ended => Ok(count),
                _ => {
                    Err(self
                        .damaged(run, &format!("its last events, after event {}, are missing", count - 1)))
                }
            }
        })
    }

    /// Returns sequence, body and crc32c of at most `limit` events of a run, from one on.
    pub(crate) fn some_events(&self, id: i64, first: usize, limit: usize) -> Result<Vec<Row>, StoreError> {
        let text = "SELECT sequence, body, crc32c FROM event WHERE run_id = ?1 AND sequence >= ?2
                    ORDER BY sequence LIMIT ?3";
        let [first, limit] = [first, limit].map(|number| i64::try_from(number).unwrap_or(i64::MAX));
        // One before the first is the first one that is found, and out of its place.
        let first = if first == 0 { i64::MIN } else { first };
        self.database.rows(text, values![id, first, limit]).map_err(|source| self.read_error(source))
    }

    /// Checks that a row is the event with that number.
    pub(crate) fn check_place(&self, run: &str, row: &Row, expected: usize) -> Result<(), StoreError> {
        let sequence = row.integer(0).map_err(|source| self.read_error(source))?;
        if usize::try_from(sequence) == Ok(expected) {
            return Ok(());
        }
        Err(self.damaged(run, &format!("event {expected} is missing before event {sequence}")))
    }

    fn last_sequence(&self, run: &str) -> Result<i64, StoreError> {
        let query = "SELECT coalesce(max(sequence), 0) FROM event JOIN run ON run.id = run_id WHERE run = ?1";
        let last = self.database.row(query, values![run]);
        let last = last.and_then(|row| row.map_or(Ok(0), |row| row.integer(0)));
        last.map_err(|source| self.read_error(source))
    }

    /// Reads the columns sequence, body and crc32c.
    pub(crate) fn decode(&self, run: &str, row: &Row) -> Result<Event, StoreError> {
        let (sequence, body, _) = self.sealed(run, row)?;
        self.parse(run, sequence, body)
    }

    /// Reads the columns sequence, body and crc32c; returns whether there is a checksum, which then matches.
    fn sealed<'r>(&self, run: &str, row: &'r Row) -> Result<(i64, &'r str, bool), StoreError> {
        let read = |source| self.read_error(source);
        let (sequence, body) = (row.integer(0).map_err(read)?, row.text(1).map_err(read)?);
        let checksum = row.integer_if_any(2).map_err(read)?;
        if checksum.is_some_and(|checksum| checksum != i64::from(crc32c::crc32c(body.as_bytes()))) {
            return Err(self.damaged(run, &format!("event {sequence} does not match its checksum")));
        }
        Ok((sequence, body, checksum.is_some()))
    }

    fn parse(&self, run: &str, sequence: i64, body: &str) -> Result<Event, StoreError> {
        serde_json::from_str(body).map_err(|source| StoreError::Decode {
            path: self.address().clone(),
            run: run.to_owned(),
            sequence,
            source,
        })
    }
}
