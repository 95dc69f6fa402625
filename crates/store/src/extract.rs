//! Extracts of runs: what their pages need of the events, so that a run of hours is shown without reading them.
//!
//! An extract is JSON of whoever reads runs, compressed, with a version, a checksum, and the number of events that it
//! covers. It can always be made again from the events, so that one that does not fit is passed over: of another
//! version, damaged, or of another number of events than the run has.

use std::io::{Read as _, Write as _};

use flate2::Compression;
use flate2::read::DeflateDecoder;
use flate2::write::DeflateEncoder;
use rusqlite::{Connection, OptionalExtension as _, params};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::connect::write_transaction;
use crate::error::StoreError;
use crate::reader::Reader;
use crate::store::Store;
use crate::writer::RunWriter;

/// Longest extract that is read, bytes: that of some days.
const BYTES_MAX: u64 = 1 << 30;

impl Reader {
    /// Returns the extract of the run with exactly that id; `None` where none of that version was made of all its
    /// events.
    pub fn extract<T: DeserializeOwned>(&self, run: &str, version: u32) -> Result<Option<T>, StoreError> {
        let read = |source| StoreError::reading(self.path(), source);
        let query = "SELECT body, crc32c FROM extract JOIN run ON run.id = run_id
                     WHERE run = ?1 AND version = ?2
                     AND events = (SELECT max(sequence) + 1 FROM event WHERE event.run_id = run.id)";
        let found = self
            .connection()
            .query_row(query, params![run, version], |row| {
                Ok((row.get::<_, Vec<u8>>(0)?, row.get::<_, u32>(1)?))
            })
            .optional()
            .map_err(read)?;
        Ok(found.filter(|(body, checksum)| crc32c::crc32c(body) == *checksum).and_then(|(body, _)| {
            let mut text = String::new();
            DeflateDecoder::new(body.as_slice()).take(BYTES_MAX).read_to_string(&mut text).ok()?;
            serde_json::from_str(&text).ok()
        }))
    }
}

impl Store {
    /// Keeps the extract of the first `events` events of a run that is not going on.
    pub fn set_extract<T: Serialize>(
        &self,
        run: &str,
        version: u32,
        (events, extract): (usize, &T),
    ) -> Result<(), StoreError> {
        let Some((id, _)) = self.id_and_end(run)? else {
            // It was removed in the meantime.
            return Ok(());
        };
        let events = i64::try_from(events).unwrap_or(i64::MAX);
        put(self.connection(), self.path(), &Extract { run_id: id, version, events, of: extract })
    }
}

impl RunWriter {
    /// Keeps the extract of the events so far. Called at the end of the run, when no load is measured. One that cannot
    /// be kept is no loss: whoever shows the run makes it again.
    ///
    /// # Errors
    /// Where the extract cannot be stored.
    pub fn keep_extract<T: Serialize>(&self, version: u32, extract: &T) -> Result<(), StoreError> {
        let (run_id, events) = (self.run_id, self.sequence);
        put(&self.connection, &self.path, &Extract { run_id, version, events, of: extract })
    }
}

struct Extract<'e, T> {
    run_id: i64,
    version: u32,
    /// Number of events that it covers.
    events: i64,
    of: &'e T,
}

fn put<T: Serialize>(
    connection: &Connection,
    path: &std::path::Path,
    extract: &Extract<'_, T>,
) -> Result<(), StoreError> {
    let encode = |source| StoreError::Encode { path: path.to_owned(), source };
    let text = serde_json::to_vec(extract.of).map_err(encode)?;
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::fast());
    let body = encoder.write_all(&text).and_then(|()| encoder.finish());
    let body = body.map_err(|source| encode(serde_json::Error::io(source)))?;
    let write = |source| StoreError::writing(path, source);
    let transaction = write_transaction(connection).map_err(write)?;
    transaction
        .execute(
            "INSERT OR REPLACE INTO extract (run_id, version, events, body, crc32c) VALUES (?1, ?2, ?3, ?4, ?5)",
            params![extract.run_id, extract.version, extract.events, body, crc32c::crc32c(&body)],
        )
        .and_then(|_| transaction.commit())
        .map_err(write)
}
