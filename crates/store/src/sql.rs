//! What goes into statements, what comes out of them, and what a database says where it fails.

use rusqlite::ErrorCode;
use rusqlite::ffi::SQLITE_IOERR_FSYNC;
use rusqlite::types::{ToSqlOutput, ValueRef};
use thiserror::Error;

/// A value that a statement takes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Value<'v> {
    Null,
    Integer(i64),
    Real(f64),
    Text(&'v str),
    Blob(&'v [u8]),
}

/// A value that a row has.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Cell {
    Null,
    Integer(i64),
    Real(f64),
    /// SQLite keeps bytes that are none under the name of text.
    Text(Vec<u8>),
    Blob(Vec<u8>),
}

/// A row of a query.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Row {
    cells: Vec<Cell>,
}

/// What a database said.
#[derive(Debug, Error)]
pub enum SqlError {
    /// SQLite.
    #[error(transparent)]
    Sqlite(#[from] rusqlite::Error),
    /// A server, of a statement.
    #[error("{says}")]
    Server {
        /// Its message.
        says: String,
        /// What kind it is (SQLSTATE); empty where the client says it.
        code: String,
    },
    /// The session with a server has ended, or one cannot be had now.
    #[error("{says}")]
    Lost {
        /// Why.
        says: String,
    },
    /// A server does not let this user in, or there is none.
    #[error("{says}")]
    Unreachable {
        /// Why.
        says: String,
    },
    /// A column holds something else than is kept there.
    #[error("column {column} holds {found}")]
    Column {
        /// Counted from 0.
        column: usize,
        /// What kind of value.
        found: &'static str,
    },
}

/// What an error means, whichever database says it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    ReadOnly,
    Full,
    Corrupt,
    Duplicate,
    Lost,
    Other,
}

impl SqlError {
    pub(crate) fn kind(&self) -> Kind {
        match self {
            Self::Sqlite(error) => match error.sqlite_error_code() {
                Some(ErrorCode::ReadOnly) => Kind::ReadOnly,
                Some(ErrorCode::DiskFull) => Kind::Full,
                Some(ErrorCode::DatabaseCorrupt) => Kind::Corrupt,
                Some(ErrorCode::ConstraintViolation) => Kind::Duplicate,
                _ => Kind::Other,
            },
            // Read-only transaction, insufficient privilege, disk full, data and index corrupted, unique violation.
            Self::Server { code, .. } => match code.as_str() {
                "25006" | "42501" => Kind::ReadOnly,
                "53100" => Kind::Full,
                "XX001" | "XX002" => Kind::Corrupt,
                "23505" => Kind::Duplicate,
                _ => Kind::Other,
            },
            Self::Lost { .. } => Kind::Lost,
            Self::Unreachable { .. } | Self::Column { .. } => Kind::Other,
        }
    }

    /// Returns whether the disk of a file failed to flush it or its log.
    pub(crate) fn is_failed_flush(&self) -> bool {
        let Self::Sqlite(error) = self else { return false };
        error.sqlite_error().is_some_and(|error| error.extended_code == SQLITE_IOERR_FSYNC)
    }

    /// Returns an error of a connection that was not made.
    #[cfg(feature = "postgres")]
    pub(crate) fn unreachable(self) -> Self {
        match self {
            Self::Lost { says } | Self::Server { says, .. } => Self::Unreachable { says },
            other => other,
        }
    }
}

impl Row {
    pub(crate) fn new(cells: Vec<Cell>) -> Self {
        Self { cells }
    }

    pub(crate) fn cells(&self) -> &[Cell] {
        &self.cells
    }

    /// Returns a cell; one that the query does not have is NULL.
    pub(crate) fn cell(&self, column: usize) -> &Cell {
        self.cells.get(column).unwrap_or(&Cell::Null)
    }

    pub(crate) fn integer(&self, column: usize) -> Result<i64, SqlError> {
        self.integer_if_any(column)?.ok_or(SqlError::Column { column, found: "NULL" })
    }

    pub(crate) fn integer_if_any(&self, column: usize) -> Result<Option<i64>, SqlError> {
        match self.cell(column) {
            Cell::Null => Ok(None),
            Cell::Integer(number) => Ok(Some(*number)),
            other => Err(SqlError::Column { column, found: other.kind() }),
        }
    }

    pub(crate) fn real(&self, column: usize) -> Result<f64, SqlError> {
        match self.cell(column) {
            Cell::Real(number) => Ok(*number),
            other => Err(SqlError::Column { column, found: other.kind() }),
        }
    }

    pub(crate) fn text(&self, column: usize) -> Result<&str, SqlError> {
        self.text_if_any(column)?.ok_or(SqlError::Column { column, found: "NULL" })
    }

    pub(crate) fn text_if_any(&self, column: usize) -> Result<Option<&str>, SqlError> {
        match self.cell(column) {
            Cell::Null => Ok(None),
            Cell::Text(bytes) => std::str::from_utf8(bytes)
                .map(Some)
                .map_err(|_| SqlError::Column { column, found: "bytes that are no text" }),
            other => Err(SqlError::Column { column, found: other.kind() }),
        }
    }

    pub(crate) fn blob(&self, column: usize) -> Result<&[u8], SqlError> {
        match self.cell(column) {
            Cell::Blob(bytes) => Ok(bytes),
            other => Err(SqlError::Column { column, found: other.kind() }),
        }
    }
}

impl Cell {
    fn kind(&self) -> &'static str {
        match self {
            Self::Null => "NULL",
            Self::Integer(_) => "an integer",
            Self::Real(_) => "a real number",
            Self::Text(_) => "text",
            Self::Blob(_) => "a blob",
        }
    }

    /// Returns the value that a statement takes for it. Bytes that are no text were none before.
    pub(crate) fn value(&self) -> Result<Value<'_>, SqlError> {
        Ok(match self {
            Self::Null => Value::Null,
            Self::Integer(number) => Value::Integer(*number),
            Self::Real(number) => Value::Real(*number),
            Self::Text(bytes) => Value::Text(
                std::str::from_utf8(bytes)
                    .map_err(|_| SqlError::Column { column: 0, found: "bytes that are no text" })?,
            ),
            Self::Blob(bytes) => Value::Blob(bytes),
        })
    }
}

impl From<Value<'_>> for Cell {
    fn from(value: Value<'_>) -> Self {
        match value {
            Value::Null => Self::Null,
            Value::Integer(number) => Self::Integer(number),
            Value::Real(number) => Self::Real(number),
            Value::Text(text) => Self::Text(text.as_bytes().to_vec()),
            Value::Blob(bytes) => Self::Blob(bytes.to_vec()),
        }
    }
}

impl From<ValueRef<'_>> for Cell {
    fn from(value: ValueRef<'_>) -> Self {
        match value {
            ValueRef::Null => Self::Null,
            ValueRef::Integer(number) => Self::Integer(number),
            ValueRef::Real(number) => Self::Real(number),
            ValueRef::Text(bytes) => Self::Text(bytes.to_vec()),
            ValueRef::Blob(bytes) => Self::Blob(bytes.to_vec()),
        }
    }
}

impl rusqlite::ToSql for Value<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match self {
            Self::Null => ValueRef::Null,
            Self::Integer(number) => ValueRef::Integer(*number),
            Self::Real(number) => ValueRef::Real(*number),
            Self::Text(text) => ValueRef::Text(text.as_bytes()),
            Self::Blob(bytes) => ValueRef::Blob(bytes),
        }))
    }
}

impl From<i64> for Value<'_> {
    fn from(number: i64) -> Self {
        Self::Integer(number)
    }
}

impl From<u32> for Value<'_> {
    fn from(number: u32) -> Self {
        Self::Integer(number.into())
    }
}

impl From<f64> for Value<'_> {
    fn from(number: f64) -> Self {
        Self::Real(number)
    }
}

impl<'v> From<&'v str> for Value<'v> {
    fn from(text: &'v str) -> Self {
        Self::Text(text)
    }
}

impl<'v> From<&'v String> for Value<'v> {
    fn from(text: &'v String) -> Self {
        Self::Text(text)
    }
}

impl<'v> From<&'v Vec<u8>> for Value<'v> {
    fn from(bytes: &'v Vec<u8>) -> Self {
        Self::Blob(bytes)
    }
}

impl<'v, T: Into<Value<'v>>> From<Option<T>> for Value<'v> {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}

/// The values of a statement, each of a kind of its own.
macro_rules! values {
    ($($value:expr),* $(,)?) => { &[$($crate::sql::Value::from($value)),*] };
}
pub(crate) use values;

#[cfg(test)]
mod tests {
    use rusqlite::ffi::{self, SQLITE_FULL, SQLITE_IOERR_WRITE};

    use super::{SQLITE_IOERR_FSYNC, SqlError};

    #[test]
    fn a_flush_that_failed_is_told_from_a_log_that_cannot_be_moved() {
        let failed = |code| SqlError::from(rusqlite::Error::SqliteFailure(ffi::Error::new(code), None));
        assert!(failed(SQLITE_IOERR_FSYNC).is_failed_flush());
        assert!(![SQLITE_FULL, SQLITE_IOERR_WRITE].into_iter().any(|code| failed(code).is_failed_flush()));
    }
}
