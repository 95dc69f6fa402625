//! A run in a list, and how it is read.
//!
//! A row has a checksum, as events have, and reading one never fails: what is wrong with a row is part of what was
//! read, so that one damaged row costs that row and no other.

use assay_record::Outcome;

use crate::database::Database;
use crate::sql::{Cell, Row, SqlError, Value, values};

/// What [`read`] reads, in its order. The checksum covers what stands in front of it.
pub(crate) const COLUMNS: &str =
    "run, name, outcome, label, note, started_unix_ms, targets, lost, host, row_crc32c";
/// Place of the time of the start among them.
pub(crate) const STARTED: usize = 5;
/// Number of columns that the checksum covers.
pub(crate) const COVERED: usize = 9;
/// Number of those columns, with the checksum.
pub(crate) const COLUMN_COUNT: usize = COVERED + 1;

/// A stored run in a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunRow {
    /// Its id.
    pub run: String,
    /// Name of its plan.
    pub name: String,
    /// How it ended; `None`: it is still running, or it was killed.
    pub status: Option<Outcome>,
    /// Whether it is going on now.
    pub is_running: bool,
    /// What somebody called it.
    pub label: Option<String>,
    /// What somebody noted of it.
    pub note: Option<String>,
    /// Start, ms since 1970 UTC.
    pub started_unix_ms: u64,
    /// Addresses of its targets.
    pub targets: Vec<String>,
    /// Why the store could not keep its events from some moment on; `None`: it kept all.
    pub lost: Option<String>,
    /// Name of the machine that issued the I/O.
    pub host: Option<String>,
    /// Why the row cannot be read; the fields above have what is left of it. `None`: it is what was written.
    pub unreadable: Option<String>,
}

/// Reads the columns of [`COLUMNS`].
pub(crate) fn read(row: &Row) -> RunRow {
    let mut wrong = Vec::new();
    let outcome = text(row, 2, &mut wrong).map(|text| json(&text, "its outcome", &mut wrong));
    let targets = text(row, 6, &mut wrong).map(|text| json(&text, "its list of targets", &mut wrong));
    let mut row_read = RunRow {
        run: text(row, 0, &mut wrong).unwrap_or_default(),
        name: text(row, 1, &mut wrong).unwrap_or_default(),
        status: outcome.flatten(),
        is_running: false,
        label: text(row, 3, &mut wrong),
        note: text(row, 4, &mut wrong),
        started_unix_ms: row.integer(5).ok().and_then(|ms| u64::try_from(ms).ok()).unwrap_or(0),
        targets: targets.flatten().unwrap_or_default(),
        lost: text(row, 7, &mut wrong),
        host: text(row, 8, &mut wrong),
        unreadable: None,
    };
    // Rows of earlier versions have no checksum.
    let expected = row.integer(COVERED).ok();
    if wrong.is_empty() && expected.is_some_and(|expected| expected != i64::from(checksum(row))) {
        wrong.push("it does not match its checksum".to_owned());
    }
    row_read.unreadable = (!wrong.is_empty()).then(|| wrong.join(", "));
    row_read
}

/// Sets a column that the checksum covers, and the checksum, in one statement: each writes the row anew, and in a
/// server its lines in most indexes. Called in the transaction that changes the row, which nobody else changes
/// meanwhile.
pub(crate) fn set(database: &Database, id: i64, column: &str, value: Value<'_>) -> Result<(), SqlError> {
    let query = format!("SELECT {COLUMNS} FROM run WHERE id = ?1{}", database.dialect().for_update());
    let Some(row) = database.row(&query, values![id])? else { return Ok(()) };
    let columns = COLUMNS.split(", ").zip(row.cells());
    let cells = columns.map(|(name, cell)| if name == column { value.into() } else { cell.clone() });
    let checksum = checksum(&Row::new(cells.collect()));
    let update = format!("UPDATE run SET {column} = ?2, row_crc32c = ?3 WHERE id = ?1");
    database.execute(&update, &[id.into(), value, checksum.into()]).map(drop)
}

/// Returns the checksum of a row that is to have these values in the covered columns, in their order.
pub(crate) fn checksum_of(values: &[Value<'_>; COVERED]) -> u32 {
    checksum(&Row::new(values.iter().map(|value| Cell::from(*value)).collect()))
}

/// CRC-32C of the covered columns: the type of each, its length and its bytes.
fn checksum(row: &Row) -> u32 {
    let add = |sum, kind: u8, bytes: &[u8]| {
        let sum = crc32c::crc32c_append(sum, &[kind]);
        let sum = crc32c::crc32c_append(sum, &bytes.len().to_le_bytes());
        crc32c::crc32c_append(sum, bytes)
    };
    (0..COVERED).fold(0, |sum, column| match row.cell(column) {
        Cell::Null => add(sum, 0, &[]),
        Cell::Integer(number) => add(sum, 1, &number.to_le_bytes()),
        Cell::Real(number) => add(sum, 2, &number.to_le_bytes()),
        Cell::Text(text) => add(sum, 3, text),
        Cell::Blob(bytes) => add(sum, 4, bytes),
    })
}

/// Reads a column of text. Bytes that are no text are replaced, and noted.
fn text(row: &Row, column: usize, wrong: &mut Vec<String>) -> Option<String> {
    let mut not_text = || {
        let name = COLUMNS.split(", ").nth(column).unwrap_or("?");
        wrong.push(format!("`{name}` is not text"));
    };
    match row.cell(column) {
        Cell::Null => None,
        Cell::Text(bytes) => Some(String::from_utf8(bytes.clone()).unwrap_or_else(|error| {
            not_text();
            String::from_utf8_lossy(error.as_bytes()).into_owned()
        })),
        _ => {
            not_text();
            None
        }
    }
}

fn json<T: serde::de::DeserializeOwned>(text: &str, what: &str, wrong: &mut Vec<String>) -> Option<T> {
    serde_json::from_str(text).map_err(|error| wrong.push(format!("{what} cannot be decoded: {error}"))).ok()
}
