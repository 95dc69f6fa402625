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
use crate::sql::{Row, SqlError, values};
use crate::store::Store;
use crate::writer::RunWriter;

/// Longest extract that is read, bytes: that of some days.
const BYTES_MAX: u64 = 1 << 30;

impl Reader {
    /// Returns the extract of the run with exactly that id; `None` where none of that version was made of all its
    /// events.
    pub fn extract<T: DeserializeOwned>(&self, run: &str, version: u32) -> Result<Option<T>, StoreError> {
        let read = |source| self.read_error(source);
        let Some(row) = self.row_of_extract("body, crc32c", run, version)? else { return Ok(None) };
        let (body, checksum) = (row.blob(0).map_err(read)?, row.integer(1).map_err(read)?);
        if i64::from(crc32c::crc32c(body)) != checksum {
            return Ok(None);
        }
        let mut text = String::new();
        let inflated = DeflateDecoder::new(body).take(BYTES_MAX).read_to_string(&mut text);
        Ok(inflated.ok().and_then(|_| serde_json::from_str(&text).ok()))
    }

    /// Returns the checksum of that extract, without reading it.
    pub fn extract_checksum(&self, run: &str, version: u32) -> Result<Option<i64>, StoreError> {
        let row = self.row_of_extract("crc32c", run, version)?;
        row.map(|row| row.integer(0)).transpose().map_err(|source| self.read_error(source))
    }

    fn row_of_extract(&self, columns: &str, run: &str, version: u32) -> Result<Option<Row>, StoreError> {
        let query = format!(
            "SELECT {columns} FROM extract JOIN run ON run.id = run_id WHERE run = ?1 AND version = ?2
             AND events = (SELECT max(sequence) + 1 FROM event WHERE event.run_id = run.id)"
        );
        self.database.row(&query, values![run, version]).map_err(|source| self.read_error(source))
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
        put((&self.database, self.address()), (id, events), version, extract)
    }
}

impl RunWriter {
    /// Keeps the extract of the events so far. Called at the end of the run, when no load is measured. One that cannot
    /// be kept is no loss: whoever shows the run makes it again.
    ///
    /// # Errors
    /// Where the extract cannot be stored.
    pub fn keep_extract<T: Serialize>(&self, version: u32, extract: &T) -> Result<(), StoreError> {
        put((&self.to.database, &self.to.address), (self.run_id, self.sequence), version, extract)
    }
}

/// An extract in the form in which it is stored.
#[derive(Debug, Clone)]
pub struct PackedExtract {
    version: u32,
    body: Vec<u8>,
}

impl PackedExtract {
    /// Packs an extract of that version.
    ///
    /// # Errors
    /// If it has no JSON form.
    pub fn of<T: Serialize>(version: u32, extract: &T) -> std::io::Result<Self> {
        let text = serde_json::to_vec(extract)?;
        let mut encoder = DeflateEncoder::new(Vec::new(), Compression::fast());
        let body = encoder.write_all(&text).and_then(|()| encoder.finish());
        Ok(Self { version, body: body? })
    }
}

fn put<T: Serialize>(
    (database, path): (&Database, &StoreAddress),
    (run_id, events): (i64, i64),
    version: u32,
    extract: &T,
) -> Result<(), StoreError> {
    let packed = PackedExtract::of(version, extract);
    let encode = |source| StoreError::Encode { path: path.clone(), source: serde_json::Error::io(source) };
    let packed = packed.map_err(encode)?;
    let write = |source| StoreError::writing(path, source);
    database.write(write, || put_packed(database, run_id, events, &packed).map_err(write))
}

/// Puts the extract of the first `events` events beside a run.
pub(crate) fn put_packed(
    database: &Database,
    run_id: i64,
    events: i64,
    PackedExtract { version, body }: &PackedExtract,
) -> Result<(), SqlError> {
    let sql = "INSERT INTO extract (run_id, version, events, body, crc32c) VALUES (?1, ?2, ?3, ?4, ?5)
               ON CONFLICT (run_id) DO UPDATE SET version = excluded.version, events = excluded.events,
               body = excluded.body, crc32c = excluded.crc32c";
    database.execute(sql, values![run_id, *version, events, body, crc32c::crc32c(body)]).map(drop)
}
