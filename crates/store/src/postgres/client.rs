//! A connection to a server, for a caller that waits for each answer, and not for ever.

use std::collections::HashMap;
use std::time::Duration;

use tokio::runtime::Runtime;
use tokio_postgres::config::SslMode;
use tokio_postgres::error::SqlState;
use tokio_postgres::types::{FromSql, IsNull, ToSql, Type, to_sql_checked};
use tokio_postgres::{Config, NoTls, Statement};

use super::address::{PostgresAddress, Tls};
use super::login::{Login, Surroundings, login};
use super::message::says;
use super::tls::connector;
use crate::dialect::Indexes;
use crate::sql::{Cell, Row, SqlError, Value};

/// How long a server may take to answer. One that was stopped, or is cut off, says nothing; a statement of the store
/// takes milliseconds, a list of all runs a second.
const ANSWER: Duration = Duration::from_secs(30);
/// How long it may take to accept a connection.
const CONNECT: Duration = Duration::from_secs(5);
/// Both sides look whether the other is there when they have heard nothing for so long. A host that has lost power ends
/// no session, and one of its runs would go on for the two hours of the system.
const SILENT: Duration = Duration::from_secs(60);
/// And so often again, until it is given up.
const LOOK_AGAIN: Duration = Duration::from_secs(10);
const LOOKS: u32 = 3;
/// How long a goodbye may take.
const GOODBYE: Duration = Duration::from_millis(200);
/// Statements that are kept prepared: those of the store are fewer, but each search is one of its own.
const STATEMENTS_MAX: usize = 128;

/// Memory for a sort: 20,000 digests.
const SORTED_IN_MEMORY: &str = "64MB";

/// What a page costs that is read out of turn, of one in turn. The server takes rows and digests to lie on a disk that
/// seeks, and would rather read all of them than those of a target, where they lie in memory.
const RANDOM_PAGE: &str = "1.1";

/// Statements that a server has at once, and has not answered.
const UNANSWERED_MAX: usize = 256;

/// A session in a server. Nothing of it goes on between two calls.
#[derive(Debug)]
pub(crate) struct Client {
    /// `None` once it was dropped.
    runtime: Option<Runtime>,
    client: Option<tokio_postgres::Client>,
    connection: Option<tokio::task::JoinHandle<()>>,
    statements: HashMap<String, Statement>,
    /// Indexes of the tables, as far as somebody has looked.
    pub(crate) indexes: Indexes,
}

impl Client {
    /// Connects to the server of an address, and looks at its schema from then on.
    pub(crate) fn connect(address: &PostgresAddress) -> Result<Self, SqlError> {
        let refused = |says: String| SqlError::Unreachable { says };
        let user = nix::unistd::User::from_uid(nix::unistd::geteuid()).ok().flatten();
        let variable = |name: &str| std::env::var(name).ok();
        let around = Surroundings { variable: &variable, user: user.map(|user| user.name) };
        let Login { mut config, tls, root_certificates } = login(address, &around).map_err(refused)?;
        if config.get_connect_timeout().is_none() {
            config.connect_timeout(CONNECT);
        }
        config.application_name("assay");
        config.keepalives_idle(SILENT).keepalives_interval(LOOK_AGAIN).keepalives_retries(LOOKS);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| refused(error.to_string()))?;
        let connected = match tls {
            Tls::Disable => runtime.block_on(plain(config)),
            Tls::VerifyFull => {
                let connector = connector(root_certificates.as_deref()).map_err(refused)?;
                runtime.block_on(encrypted(config, connector))
            }
        };
        let (client, connection) = connected?;
        let (client, connection) = (Some(client), Some(connection));
        let statements = HashMap::new();
        let mut client =
            Self { runtime: Some(runtime), client, connection, statements, indexes: Indexes::default() };
        // The digests of a target with thousands of runs are sorted in memory, and not on the disk of the server. To
        // compile a list of 100,000 runs takes longer than it saves.
        // Over a socket of the system the server leaves the keepalives as they are, without an error.
        client.batch(&format!(
            "SET search_path TO {}; SET work_mem TO '{SORTED_IN_MEMORY}'; SET random_page_cost = {RANDOM_PAGE}; \
             SET jit = off; SET tcp_keepalives_idle = {}; SET tcp_keepalives_interval = {}; \
             SET tcp_keepalives_count = {LOOKS}",
            address.schema,
            SILENT.as_secs(),
            LOOK_AGAIN.as_secs(),
        ))?;
        Ok(client)
    }

    /// Runs statements that have no parameter.
    pub(crate) fn batch(&mut self, sql: &str) -> Result<(), SqlError> {
        let (runtime, client) = self.parts()?;
        runtime.block_on(answered(client.batch_execute(sql)))
    }

    /// Runs a statement. Returns the number of rows that it changed.
    pub(crate) fn execute(&mut self, sql: &str, values: &[Value<'_>]) -> Result<usize, SqlError> {
        let statement = self.prepared(sql)?;
        let (runtime, client) = self.parts()?;
        let changed = runtime.block_on(answered(client.execute(&statement, &parameters(values))))?;
        Ok(usize::try_from(changed).unwrap_or(usize::MAX))
    }

    /// Runs a statement with each of several rows of values, without a wait for each answer.
    pub(crate) fn execute_each(&mut self, sql: &str, rows: &[Vec<Value<'_>>]) -> Result<(), SqlError> {
        let statement = self.prepared(sql)?;
        let (runtime, client) = self.parts()?;
        for part in rows.chunks(UNANSWERED_MAX) {
            runtime.block_on(async {
                let rows: Vec<_> = part.iter().map(|row| parameters(row)).collect();
                let asked = rows.iter().map(|row| client.execute(&statement, row));
                answered(futures_util::future::try_join_all(asked)).await.map(drop)
            })?;
        }
        Ok(())
    }

    /// Returns all rows of a query.
    pub(crate) fn rows(&mut self, sql: &str, values: &[Value<'_>]) -> Result<Vec<Row>, SqlError> {
        let statement = self.prepared(sql)?;
        let (runtime, client) = self.parts()?;
        let rows = runtime.block_on(answered(client.query(&statement, &parameters(values))))?;
        let rows = rows.iter().map(|row| (0..row.len()).map(|at| row.try_get::<_, Cell>(at)).collect());
        rows.map(|cells: Result<Vec<Cell>, _>| Ok(Row::new(cells.map_err(SqlError::from)?))).collect()
    }

    fn prepared(&mut self, sql: &str) -> Result<Statement, SqlError> {
        if let Some(statement) = self.statements.get(sql) {
            return Ok(statement.clone());
        }
        if self.statements.len() >= STATEMENTS_MAX {
            self.statements.clear();
        }
        let (runtime, client) = self.parts()?;
        let statement = runtime.block_on(answered(client.prepare(&numbered(sql))))?;
        self.statements.insert(sql.to_owned(), statement.clone());
        Ok(statement)
    }

    fn parts(&self) -> Result<(&Runtime, &tokio_postgres::Client), SqlError> {
        self.runtime
            .as_ref()
            .zip(self.client.as_ref())
            .ok_or_else(|| SqlError::Lost { says: CLOSED.to_owned() })
    }
}

const CLOSED: &str = "the connection is closed";

impl Client {
    /// Ends the session at once, without a word.
    pub(crate) fn abandon(&mut self) {
        self.statements.clear();
        (self.client, self.connection) = (None, None);
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        let (Some(runtime), connection) = (self.runtime.take(), self.connection.take()) else { return };
        self.statements.clear();
        self.client = None;
        // Whoever is called by another runtime cannot wait here; the server notices a closed connection too.
        if tokio::runtime::Handle::try_current().is_err()
            && let Some(connection) = connection
        {
            let _ = runtime.block_on(async { tokio::time::timeout(GOODBYE, connection).await });
        }
        runtime.shutdown_background();
    }
}

type Connected = (tokio_postgres::Client, tokio::task::JoinHandle<()>);

async fn plain(mut config: Config) -> Result<Connected, SqlError> {
    config.ssl_mode(SslMode::Disable);
    let (client, connection) = answered(config.connect(NoTls)).await.map_err(SqlError::unreachable)?;
    // What ends it is said by the next call.
    Ok((client, tokio::spawn(async { drop(connection.await) })))
}

async fn encrypted(
    mut config: Config,
    connector: tokio_postgres_rustls::MakeRustlsConnect,
) -> Result<Connected, SqlError> {
    config.ssl_mode(SslMode::Require);
    let (client, connection) = answered(config.connect(connector)).await.map_err(SqlError::unreachable)?;
    Ok((client, tokio::spawn(async { drop(connection.await) })))
}

/// Waits for an answer, as long as one may take.
async fn answered<T>(asked: impl Future<Output = Result<T, tokio_postgres::Error>>) -> Result<T, SqlError> {
    match tokio::time::timeout(ANSWER, asked).await {
        Ok(answer) => answer.map_err(SqlError::from),
        Err(_) => Err(SqlError::Lost { says: format!("it did not answer within {} s", ANSWER.as_secs()) }),
    }
}

fn parameters<'v>(values: &'v [Value<'v>]) -> Vec<&'v (dyn ToSql + Sync)> {
    values.iter().map(|value| value as &(dyn ToSql + Sync)).collect()
}

/// Returns a statement with the parameters `?1`, `?2` or `?` of SQLite as PostgreSQL has them. No text in a statement
/// of the store has a question mark.
fn numbered(sql: &str) -> String {
    let mut text = String::with_capacity(sql.len() + 8);
    let mut count = 0;
    let mut letters = sql.chars().peekable();
    while let Some(letter) = letters.next() {
        if letter != '?' {
            text.push(letter);
            continue;
        }
        text.push('$');
        if !letters.peek().is_some_and(char::is_ascii_digit) {
            count += 1;
            text.push_str(&count.to_string());
        }
    }
    text
}

impl ToSql for Value<'_> {
    fn to_sql(
        &self,
        kind: &Type,
        out: &mut bytes::BytesMut,
    ) -> Result<IsNull, Box<dyn std::error::Error + Sync + Send>> {
        match self {
            Self::Null => Ok(IsNull::Yes),
            Self::Integer(number) => number.to_sql(kind, out),
            Self::Real(number) => number.to_sql(kind, out),
            Self::Text(text) => text.to_sql(kind, out),
            Self::Blob(bytes) => bytes.to_sql(kind, out),
        }
    }

    fn accepts(kind: &Type) -> bool {
        [Type::INT8, Type::FLOAT8, Type::TEXT, Type::BYTEA].contains(kind)
    }

    to_sql_checked!();
}

impl<'r> FromSql<'r> for Cell {
    fn from_sql(kind: &Type, raw: &'r [u8]) -> Result<Self, Box<dyn std::error::Error + Sync + Send>> {
        match *kind {
            Type::INT8 => i64::from_sql(kind, raw).map(Self::Integer),
            Type::INT4 => i32::from_sql(kind, raw).map(|number| Self::Integer(number.into())),
            Type::BOOL => bool::from_sql(kind, raw).map(|is| Self::Integer(is.into())),
            Type::FLOAT8 => f64::from_sql(kind, raw).map(Self::Real),
            Type::BYTEA => Ok(Self::Blob(raw.to_vec())),
            _ => Ok(Self::Text(raw.to_vec())),
        }
    }

    fn from_sql_null(_: &Type) -> Result<Self, Box<dyn std::error::Error + Sync + Send>> {
        Ok(Self::Null)
    }

    fn accepts(kind: &Type) -> bool {
        [Type::INT8, Type::INT4, Type::BOOL, Type::FLOAT8, Type::BYTEA, Type::TEXT].contains(kind)
    }
}

/// Classes of errors of a server that ends the session, or cannot begin one now (PostgreSQL, appendix A).
fn is_passing(code: &SqlState) -> bool {
    ["08", "57P"].iter().any(|class| code.code().starts_with(class))
        || *code == SqlState::TOO_MANY_CONNECTIONS
}

impl From<tokio_postgres::Error> for SqlError {
    fn from(error: tokio_postgres::Error) -> Self {
        let says = says(&error);
        match error.code() {
            Some(code) if is_passing(code) => Self::Lost { says },
            Some(code) => Self::Server { says, code: code.code().to_owned() },
            // Without a word of the server the connection is at fault, or a value does not fit.
            None if error.is_closed() || is_io(&error) => Self::Lost { says },
            None => Self::Server { says, code: String::new() },
        }
    }
}

fn is_io(error: &tokio_postgres::Error) -> bool {
    let mut causes = std::iter::successors(std::error::Error::source(error), |cause| cause.source());
    causes.any(|cause| cause.is::<std::io::Error>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_numbered_as_the_server_counts_them() {
        assert_eq!(numbered("a = ?1 AND b = ?12"), "a = $1 AND b = $12");
        assert_eq!(numbered("a = ? AND b = ?"), "a = $1 AND b = $2");
    }
}
