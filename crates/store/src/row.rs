//! A run in a list, and how it is read.

use assay_record::Outcome;

/// What [`read`] reads, in its order.
pub(crate) const COLUMNS: &str = "run, name, outcome, label, note, started_unix_ms, targets, lost, host";

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
}

/// Reads how a run ended from the first column.
pub(crate) fn outcome(row: &rusqlite::Row<'_>) -> rusqlite::Result<Option<Outcome>> {
    row.get::<_, Option<String>>(0)?.map(|text| json(0, &text)).transpose()
}

/// Reads the columns of [`COLUMNS`].
pub(crate) fn read(row: &rusqlite::Row<'_>) -> rusqlite::Result<RunRow> {
    let started: i64 = row.get(5)?;
    let outcome: Option<String> = row.get(2)?;
    let targets: String = row.get(6)?;
    Ok(RunRow {
        run: row.get(0)?,
        name: row.get(1)?,
        status: outcome.map(|text| json(2, &text)).transpose()?,
        is_running: false,
        label: row.get(3)?,
        note: row.get(4)?,
        started_unix_ms: u64::try_from(started).unwrap_or(0),
        targets: json(6, &targets)?,
        lost: row.get(7)?,
        host: row.get(8)?,
    })
}

fn json<T: serde::de::DeserializeOwned>(column: usize, text: &str) -> rusqlite::Result<T> {
    serde_json::from_str(text).map_err(|source| {
        rusqlite::Error::FromSqlConversionFailure(column, rusqlite::types::Type::Text, Box::new(source))
    })
}
