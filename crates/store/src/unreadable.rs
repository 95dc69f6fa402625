//! Lists of runs in a server of which some rows are no JSON any more: one of them must not fail all.

use crate::dialect::{Dialect, NO_DIGEST, NO_TARGETS};
use crate::reader::Reader;
use crate::sql::{Row, SqlError, Value};

/// Rows of damaged texts that are looked for at once.
const PART: i64 = 1000;

impl Reader {
    /// Returns the rows of a query of runs. Where a server cannot read the JSON of some, they are looked for, and the
    /// query is made again as if they had none: in SQLite each text is asked first.
    pub(crate) fn rows_of_runs(&self, sql: &str, values: &[Value<'_>]) -> Result<Vec<Row>, SqlError> {
        let found = self.database.rows(sql, values);
        let reads_json = sql.contains(NO_DIGEST) || sql.contains(NO_TARGETS);
        if !reads_json
            || self.database.dialect() != Dialect::Postgres
            || !matches!(found, Err(SqlError::Server { .. }))
        {
            return found;
        }
        let digests = self.unreadable("SELECT run_id, body, crc32c FROM digest", "run_id", is_digest)?;
        let targets = self.unreadable("SELECT id, targets FROM run", "id", is_list)?;
        if digests.is_empty() && targets.is_empty() {
            return found;
        }
        self.database.rows(&without(&without(sql, NO_DIGEST, &digests), NO_TARGETS, &targets), values)
    }

    /// Returns the numbers of the rows that are not as they should be, a part of the table at a time.
    fn unreadable(&self, select: &str, id: &str, is_right: fn(&Row) -> bool) -> Result<Vec<i64>, SqlError> {
        let (mut unreadable, mut last) = (Vec::new(), i64::MIN);
        loop {
            let text = format!("{select} WHERE {id} > ?1 ORDER BY {id} LIMIT {PART}");
            let rows = self.database.rows(&text, &[Value::Integer(last)])?;
            for row in &rows {
                last = row.integer(0)?;
                if !is_right(row) {
                    unreadable.push(last);
                }
            }
            if rows.is_empty() {
                return Ok(unreadable);
            }
        }
    }
}

fn without(sql: &str, place: &str, numbers: &[i64]) -> String {
    let numbers: Vec<String> = std::iter::once(&0).chain(numbers).map(i64::to_string).collect();
    sql.replace(place, &numbers.join(","))
}

/// Whether a digest is what was written, and a server can read it: it takes no NUL.
fn is_digest(row: &Row) -> bool {
    let is_whole =
        |text: &str| row.integer(2).is_ok_and(|sum| i64::from(crc32c::crc32c(text.as_bytes())) == sum);
    let is_json = |text: &str| serde_json::from_str::<serde_json::Value>(text).is_ok();
    row.text(1).is_ok_and(|text| is_whole(text) && is_json(text) && !text.contains("\\u0000"))
}

/// Whether the targets of a run are a list of texts that a server can read.
fn is_list(row: &Row) -> bool {
    let is_list = |text: &str| serde_json::from_str::<Vec<String>>(text).is_ok();
    row.text(1).is_ok_and(|text| is_list(text) && !text.contains("\\u0000"))
}
