//! Extracts of runs: what their pages need of the events, so that a run of hours is shown without reading them.
//!
//! An extract is JSON of whoever reads runs, compressed, with a version, a checksum, and the number of events that it
//! covers. It can always be made again from the events, so that one that does not fit is passed over: of another
//! version, damaged, or of another number of events than the run has.

use std::io::{Read as _, Write as _};

use flate2::Compression;
use flate2::read::DeflateDecoder;
use flate2::write::DeflateEncoder;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::address::StoreAddress;
use crate::database::Database;
use crate::error::StoreError;
use crate::reader::Reader;
use crate::sql::values;
use crate::store::Store;
use crate::writer::RunWriter;

/// Longest extract that is read, bytes: that of some days.
const BYTES_MAX: u64 = 1 << 30;

impl Reader {
    /// Returns the extract of the run with exactly that id; `None` where none of that version was made of all its
    /// events.
    pub fn extract<T: DeserializeOwned>(&self, run: &str, version: u32) -> Result<Option<T>, StoreError> {
        let read = |source| self.read_error(source);
        let query = "SELECT body, crc32c FROM extract JOIN run ON run.id = run_id
                     WHERE run = ?1 AND version = ?2
                     AND events = (SELECT max(sequence) + 1 FROM event WHERE event.run_id = run.id)";
        let Some(row) = self.database.row(query, values![run, version]).map_err(read)? else { return Ok(None) };
        let (body, checksum) = (row.blob(0).map_err(read)?, row.integer(1).map_err(read)?);
        if i64::from(crc32c::crc32c(body)) != checksum {
            return Ok(None);
        }
        let mut text = Vec::new();
        let inflated = DeflateDecoder::new(body).take(BYTES_MAX).read_to_end(&mut text);
        Ok(inflated.ok().and_then(|_| serde_json::from_slice(&text).ok()))
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
        put(&self.database, self.address(), &Extract { run_id: id, version, events, of: extract })
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
        put(&self.to.database, &self.to.address, &Extract { run_id, version, events, of: extract })
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
    database: &Database,
    path: &StoreAddress,
    extract: &Extract<'_, T>,
) -> Result<(), StoreError> {
    let encode = |source| StoreError::Encode { path: path.clone(), source };
    let text = serde_json::to_vec(extract.of).map_err(encode)?;
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::fast());
    let body = encoder.write_all(&text).and_then(|()| encoder.finish());
    let body = body.map_err(|source| encode(serde_json::Error::io(source)))?;
    let write = |source| StoreError::writing(path, source);
    database.write(write, || {
        let sql = "INSERT INTO extract (run_id, version, events, body, crc32c) VALUES (?1, ?2, ?3, ?4, ?5)
                   ON CONFLICT (run_id) DO UPDATE SET version = excluded.version, events = excluded.events,
                   body = excluded.body, crc32c = excluded.crc32c";
        let checksum = crc32c::crc32c(&body);
        let values = values![extract.run_id, extract.version, extract.events, &body, checksum];
        database.execute(sql, values).map(drop).map_err(write)
    })
}
