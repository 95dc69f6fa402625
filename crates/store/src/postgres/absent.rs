//! In the place of the client, where a build leaves it out.

use super::PostgresAddress;
use crate::dialect::Indexes;
use crate::sql::{Row, SqlError, Value};

/// A session in a server, of which there is none.
#[derive(Debug)]
pub(crate) struct Client {
    pub(crate) indexes: Indexes,
    none: std::convert::Infallible,
}

impl Client {
    pub(crate) fn connect(_: &PostgresAddress) -> Result<Self, SqlError> {
        Err(SqlError::Unreachable { says: assay_spec::left_out("PostgreSQL") })
    }

    pub(crate) fn batch(&mut self, _: &str) -> Result<(), SqlError> {
        match self.none {}
    }

    pub(crate) fn execute(&mut self, _: &str, _: &[Value<'_>]) -> Result<usize, SqlError> {
        match self.none {}
    }

    pub(crate) fn execute_each(&mut self, _: &str, _: &[Vec<Value<'_>>]) -> Result<(), SqlError> {
        match self.none {}
    }

    pub(crate) fn rows(&mut self, _: &str, _: &[Value<'_>]) -> Result<Vec<Row>, SqlError> {
        match self.none {}
    }

    pub(crate) fn abandon(&mut self) {
        match self.none {}
    }
}
