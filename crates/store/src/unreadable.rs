//! Lists of runs in a server of which some rows are no JSON any more: one of them must not fail all.

use crate::dialect::{Dialect, NO_TARGETS};
use crate::reader::Reader;
use crate::sql::{Row, SqlError, Value};

/// Rows of damaged texts that are looked for at once.
const PART: i64 = 1000;

impl Reader {
    /// Returns the rows of a query of runs. Where a server cannot read the JSON of some, they are looked for, and the
    /// query is made again as if they had none: in SQLite each text is asked first.
    pub(crate) fn rows_of_runs(&self, sql: &str, values: &[Value<'_>]) -> Result<Vec<Row>, SqlError> {
        let found = self.database.rows(sql, values);
        if !sql.contains(NO_TARGETS)
            || self.database.dialect() != Dialect::Postgres
            || !matches!(found, Err(SqlError::Server { .. }))
        {
            return found;
        }
        let unreadable = self.without_targets()?;
        if unreadable.is_empty() {
            return found;
        }
        let numbers: Vec<String> = std::iter::once(&0).chain(&unreadable).map(i64::to_string).collect();
        self.database.rows(&sql.replace(NO_TARGETS, &numbers.join(",")), values)
    }

    /// Returns the numbers of the runs whose targets are no list, a part of the table at a time.
    fn without_targets(&self) -> Result<Vec<i64>, SqlError> {
        let (mut unreadable, mut last) = (Vec::new(), i64::MIN);
        loop {
            let text = format!("SELECT id, targets FROM run WHERE id > ?1 ORDER BY id LIMIT {PART}");
            let rows = self.database.rows(&text, &[Value::Integer(last)])?;
            for row in &rows {
                last = row.integer(0)?;
                if !is_list(row) {
                    unreadable.push(last);
                }
            }
            if rows.is_empty() {
                return Ok(unreadable);
            }
        }
    }
}

/// Whether the targets of a run are a list of texts that a server can read: it takes no NUL.
fn is_list(row: &Row) -> bool {
    let is_list = |text: &str| serde_json::from_str::<Vec<String>>(text).is_ok();
    row.text(1).is_ok_and(|text| is_list(text) && !text.contains("\\u0000"))
}
