//! The database of a store, SQLite or PostgreSQL.
//!
//! Both speak the statements of this room as they stand; where they differ, `dialect.rs` has the two forms. Statements
//! have the parameters of SQLite.

use std::cell::RefCell;

use rusqlite::{Connection, params_from_iter};

use crate::dialect::{Dialect, Indexes};
use crate::postgres::Client;
use crate::sql::{Cell, Row, SqlError, Value};

/// A connection to the database of a store.
#[derive(Debug)]
pub(crate) enum Database {
    Sqlite(Connection),
    Postgres(RefCell<Client>),
}

impl Database {
    pub(crate) fn dialect(&self) -> Dialect {
        match self {
            Self::Sqlite(_) => Dialect::Sqlite,
            Self::Postgres(_) => Dialect::Postgres,
        }
    }

    /// Runs a statement. Returns the number of rows that it changed.
    pub(crate) fn execute(&self, sql: &str, values: &[Value<'_>]) -> Result<usize, SqlError> {
        match self {
            Self::Sqlite(connection) => {
                Ok(connection.prepare_cached(sql)?.execute(params_from_iter(values))?)
            }
            Self::Postgres(client) => client.borrow_mut().execute(sql, values),
        }
    }

    /// Runs a statement with each of several rows of values; a server gets all before it has answered the first.
    pub(crate) fn execute_each(&self, sql: &str, rows: &[Vec<Value<'_>>]) -> Result<(), SqlError> {
        match self {
            Self::Sqlite(connection) => {
                let mut statement = connection.prepare_cached(sql)?;
                rows.iter().try_for_each(|row| statement.execute(params_from_iter(row)).map(drop))?;
                Ok(())
            }
            Self::Postgres(client) => client.borrow_mut().execute_each(sql, rows),
        }
    }

    /// Returns all rows of a query.
    pub(crate) fn rows(&self, sql: &str, values: &[Value<'_>]) -> Result<Vec<Row>, SqlError> {
        let connection = match self {
            Self::Sqlite(connection) => connection,
            Self::Postgres(client) => return client.borrow_mut().rows(sql, values),
        };
        let mut query = connection.prepare_cached(sql)?;
        let columns = query.column_count();
        let mut found = query.query(params_from_iter(values))?;
        let mut rows = Vec::new();
        while let Some(row) = found.next()? {
            let cells = (0..columns).map(|column| row.get_ref(column).map(Cell::from));
            rows.push(Row::new(cells.collect::<Result<_, _>>()?));
        }
        Ok(rows)
    }

    /// Returns the first row of a query, where it has one.
    pub(crate) fn row(&self, sql: &str, values: &[Value<'_>]) -> Result<Option<Row>, SqlError> {
        Ok(self.rows(sql, values)?.into_iter().next())
    }

    /// Runs statements that have no parameter.
    pub(crate) fn batch(&self, sql: &str) -> Result<(), SqlError> {
        match self {
            Self::Sqlite(connection) => Ok(connection.execute_batch(sql)?),
            Self::Postgres(client) => client.borrow_mut().batch(sql),
        }
    }

    /// Runs `work` in a transaction that may write from the start: all of it is kept, or nothing where it fails.
    /// `fail` is what an error of the transaction itself becomes.
    pub(crate) fn write<T, E>(
        &self,
        fail: impl Fn(SqlError) -> E,
        work: impl FnOnce() -> Result<T, E>,
    ) -> Result<T, E> {
        self.within(self.dialect().begin_to_write(), fail, work)
    }

    /// Runs `work`, which only reads, on the state of one moment.
    pub(crate) fn snapshot<T, E>(
        &self,
        fail: impl Fn(SqlError) -> E,
        work: impl FnOnce() -> Result<T, E>,
    ) -> Result<T, E> {
        self.within(self.dialect().begin_to_read(), fail, work)
    }

    /// Runs `work` in a transaction that begins with that statement.
    pub(crate) fn within<T, E>(
        &self,
        begin: &str,
        fail: impl Fn(SqlError) -> E,
        work: impl FnOnce() -> Result<T, E>,
    ) -> Result<T, E> {
        self.batch(begin).map_err(&fail)?;
        let done = work().and_then(|done| self.batch("COMMIT").map(|()| done).map_err(fail));
        if done.is_err() {
            // What failed may have ended it already.
            let _ = self.batch("ROLLBACK");
        }
        done
    }

    /// Returns which indexes there are that queries must know of.
    pub(crate) fn indexes(&self) -> Indexes {
        match self {
            Self::Sqlite(_) => Indexes::default(),
            Self::Postgres(client) => client.borrow().indexes,
        }
    }

    /// Ends a session with a server that does not answer: what it may still do must not come between.
    pub(crate) fn abandon(&self) {
        if let Self::Postgres(client) = self {
            client.borrow_mut().abandon();
        }
    }
}
