//! The tables in a server, and who may do what with them.

use crate::address::StoreAddress;
use crate::database::Database;
use crate::dialect::{Indexes, TAKE_TURNS};
use crate::error::StoreError;
use crate::postgres::PostgresAddress;
use crate::schema::{FORMAT, INDEXES_OF_LISTS};
use crate::sql::{SqlError, values};

/// The format in which stores in servers began; a file of SQLite of that format has the same tables.
const FIRST: i64 = 7;

/// The first entry makes the tables of [`FIRST`]; each other one takes them to the next format. An entry may be run
/// twice: `init-sql` prints all of them. Never change one that was released: add one.
///
/// Text has the collation "C": it is sorted and compared as bytes, as in SQLite.
const MIGRATIONS: [&str; 3] = [
    r#"
CREATE TABLE IF NOT EXISTS run (
    id              BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    run             TEXT COLLATE "C" NOT NULL UNIQUE,
    name            TEXT COLLATE "C" NOT NULL,      -- of the plan
    outcome         TEXT COLLATE "C",               -- JSON of the last event; NULL until the run ended
    label           TEXT COLLATE "C",
    note            TEXT COLLATE "C",
    started_unix_ms BIGINT NOT NULL,
    targets         TEXT COLLATE "C" NOT NULL,      -- JSON array of addresses
    lost            TEXT COLLATE "C",               -- why events from some moment on are missing; NULL: none is
    host            TEXT COLLATE "C",               -- name of the machine that issued the I/O
    process         TEXT COLLATE "C",               -- JSON of the process that writes it
    words           TEXT COLLATE "C",               -- of its digest, for the search
    row_crc32c      BIGINT,                         -- of the columns of a list
    -- For the search, which is five times as fast on small letters that are compared as bytes.
    text            TEXT COLLATE "C" GENERATED ALWAYS AS (
        lower((run || E'\n' || name || E'\n' || coalesce(label, '') || E'\n' || coalesce(note, '') || E'\n'
        || coalesce(host, '') || E'\n' || targets || E'\n' || coalesce(words, '')) COLLATE "default")) STORED
);
CREATE INDEX IF NOT EXISTS run_started ON run (started_unix_ms, id);
CREATE INDEX IF NOT EXISTS run_unended ON run (id) WHERE outcome IS NULL;
CREATE INDEX IF NOT EXISTS run_label ON run (label) WHERE label IS NOT NULL;
CREATE TABLE IF NOT EXISTS event (
    run_id   BIGINT NOT NULL REFERENCES run (id) ON DELETE CASCADE,
    sequence BIGINT NOT NULL,                       -- from 0, without gaps
    body     TEXT COLLATE "C" NOT NULL,             -- JSON of assay_record::Event
    crc32c   BIGINT,                                -- of the body; NULL in events from before there was one
    PRIMARY KEY (run_id, sequence)
);
CREATE TABLE IF NOT EXISTS target (
    address TEXT COLLATE "C" PRIMARY KEY,           -- an absolute path, or another address as typed
    "array" TEXT COLLATE "C" NOT NULL               -- text of the array file
);
CREATE TABLE IF NOT EXISTS price (
    address TEXT COLLATE "C" PRIMARY KEY,
    price   TEXT COLLATE "C" NOT NULL               -- amount and currency: 5500 EUR
);
CREATE TABLE IF NOT EXISTS null_ceiling (
    load TEXT COLLATE "C" PRIMARY KEY,              -- the load, the host and the version that reached it
    iops DOUBLE PRECISION NOT NULL                  -- on a target that costs nothing
);
CREATE TABLE IF NOT EXISTS journal (
    rowid BIGINT GENERATED ALWAYS AS IDENTITY,      -- the order in which they were added
    name  TEXT COLLATE "C" PRIMARY KEY,
    body  TEXT COLLATE "C" NOT NULL                 -- JSON: targets, plan, memory of the storage
);
CREATE TABLE IF NOT EXISTS run_target (
    address TEXT COLLATE "C" NOT NULL,
    run_id  BIGINT NOT NULL REFERENCES run (id) ON DELETE CASCADE,
    PRIMARY KEY (address, run_id)
);
CREATE INDEX IF NOT EXISTS run_target_run ON run_target (run_id);
CREATE TABLE IF NOT EXISTS digest (
    run_id   BIGINT PRIMARY KEY REFERENCES run (id) ON DELETE CASCADE,
    version  BIGINT NOT NULL,                       -- of its form
    is_whole BIGINT NOT NULL,                       -- 1: made from all events of the run
    critical BIGINT NOT NULL,                       -- findings of that severity
    warnings BIGINT NOT NULL,
    body     TEXT COLLATE "C" NOT NULL,             -- JSON of assay_record::RunDigest
    crc32c   BIGINT NOT NULL                        -- of the body
);
CREATE INDEX IF NOT EXISTS digest_found ON digest (run_id) WHERE critical + warnings > 0;
CREATE TABLE IF NOT EXISTS run_finding (
    rule   TEXT COLLATE "C" NOT NULL,
    run_id BIGINT NOT NULL REFERENCES run (id) ON DELETE CASCADE,
    PRIMARY KEY (rule, run_id)
);
CREATE INDEX IF NOT EXISTS run_finding_run ON run_finding (run_id);
CREATE TABLE IF NOT EXISTS baseline (
    address     TEXT COLLATE "C" NOT NULL,          -- of a target
    plan        TEXT COLLATE "C" NOT NULL,
    run         TEXT COLLATE "C" REFERENCES run (run) ON DELETE CASCADE,  -- its id, or
    label       TEXT COLLATE "C",                   -- of its repetitions
    set_unix_ms BIGINT NOT NULL,
    PRIMARY KEY (address, plan),
    CHECK ((run IS NULL) <> (label IS NULL))
);
CREATE INDEX IF NOT EXISTS baseline_run ON baseline (run);
CREATE TABLE IF NOT EXISTS checked (
    address         TEXT COLLATE "C" PRIMARY KEY,   -- of a target
    checked_unix_ms BIGINT NOT NULL,
    body            TEXT COLLATE "C" NOT NULL       -- JSON of the last check
);
CREATE TABLE IF NOT EXISTS extract (
    run_id  BIGINT PRIMARY KEY REFERENCES run (id) ON DELETE CASCADE,
    version BIGINT NOT NULL,                        -- of its form
    events  BIGINT NOT NULL,                        -- that it covers, from the first
    body    BYTEA NOT NULL,                         -- compressed JSON of assay_analysis::RunExtract
    crc32c  BIGINT NOT NULL                         -- of the body
);
-- Without pg_trgm a search reads the text of all runs, which is slower and finds the same.
DO $$ BEGIN
    CREATE EXTENSION IF NOT EXISTS pg_trgm;
    EXECUTE format('CREATE INDEX IF NOT EXISTS run_text ON run USING gin (text %I.gin_trgm_ops)',
        (SELECT extnamespace::regnamespace::text FROM pg_extension WHERE extname = 'pg_trgm'));
EXCEPTION WHEN insufficient_privilege OR undefined_file OR feature_not_supported THEN
    RAISE NOTICE 'searches have no index: %', SQLERRM;
END $$;
"#,
    // What lists are sorted by, of the digest. Where one is no JSON, all come when digests are made again.
    r#"
ALTER TABLE run ADD COLUMN IF NOT EXISTS p99_us DOUBLE PRECISION;      -- of its first test
ALTER TABLE run ADD COLUMN IF NOT EXISTS verdict TEXT COLLATE "C";     -- what limits it
ALTER TABLE run ADD COLUMN IF NOT EXISTS first_load BIGINT;            -- stands for its first complete test and load
ALTER TABLE run ADD COLUMN IF NOT EXISTS first_iops DOUBLE PRECISION;  -- of that test
DO $$ BEGIN
    UPDATE run SET p99_us = (body::json #>> '{tests,0,p99_us,value}')::double precision,
        verdict = body::json ->> 'verdict'
        FROM digest WHERE run_id = run.id AND first_load IS NULL;
EXCEPTION WHEN data_exception THEN
    RAISE NOTICE 'lists are sorted when digests have been made again: %', SQLERRM;
END $$;
CREATE INDEX IF NOT EXISTS run_p99 ON run (p99_us DESC NULLS LAST, started_unix_ms DESC, id DESC);
CREATE INDEX IF NOT EXISTS run_verdict ON run (verdict, started_unix_ms DESC, id DESC);
"#,
    r#"
CREATE TABLE IF NOT EXISTS map (
    address      TEXT COLLATE "C" NOT NULL,         -- of a target
    made_unix_ms BIGINT NOT NULL,
    body         TEXT COLLATE "C" NOT NULL,         -- JSON of assay_surface::SurfaceMap
    PRIMARY KEY (address, made_unix_ms)
);
"#,
];

/// What makes searches for a letter or two as fast as those for words. It may be missing, and is made with the tables
/// or by `init-sql`: of a hundred thousand runs it takes minutes. The function is not for a row at a time, and the
/// price that it states keeps the server from that.
const PAIRS: &str = r#"
CREATE OR REPLACE FUNCTION run_pairs(searched text) RETURNS text[]
    LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE COST 100000 AS $$
    SELECT array_agg(DISTINCT part COLLATE "C") FROM (
        SELECT letter, letter || coalesce(lead(letter) OVER (ORDER BY place), '') AS pair
        FROM unnest(string_to_array(searched, NULL)) WITH ORDINALITY AS letters (letter, place)
    ) AS pairs, LATERAL (VALUES (letter), (pair)) AS parts (part)
$$;
CREATE INDEX IF NOT EXISTS run_pairs ON run USING gin ((run_pairs(text) COLLATE "C"));
-- Else the function would be called for thousands of rows whenever the server counts them.
ALTER INDEX run_pairs ALTER COLUMN 1 SET STATISTICS 0;
"#;

/// What finds runs by a part of the address of a target (`targets.rs`). It may be missing, and is made as [`PAIRS`] is.
const LISTS: &str = "CREATE INDEX IF NOT EXISTS run_lists
    ON run (hashtextextended(targets, 0), started_unix_ms DESC, id DESC);
";

/// What a look at all runs sums (`overview.rs`): without these it reads every row and every digest. They may be
/// missing, and are made as [`PAIRS`] is.
const SUMS: &str = "CREATE INDEX IF NOT EXISTS run_part ON run (id) INCLUDE (row_crc32c);
CREATE INDEX IF NOT EXISTS digest_part ON digest (run_id) INCLUDE (crc32c);
";

const _: () = assert!(FIRST + MIGRATIONS.len() as i64 - 1 == FORMAT, "each format needs an entry here too");

/// What this user may do with a store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Rights {
    Write,
    /// Read only, for this reason.
    Read(String),
    /// There are no tables, and they were not to be made.
    NoStore,
}

/// What becomes of tables that are missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Missing {
    Create,
    Leave,
}

/// Looks at the tables in a server: creates or converts them where this user may.
pub(crate) fn prepare(
    database: &Database,
    store: &StoreAddress,
    of: &PostgresAddress,
    missing: Missing,
) -> Result<Rights, StoreError> {
    let open = |source| StoreError::opening(store, source);
    match format_of(database, of).map_err(open)? {
        None if missing == Missing::Leave => return Ok(Rights::NoStore),
        None if let Some(encoding) = narrow_encoding(database).map_err(open)? => {
            return Err(StoreError::Encoding { path: store.clone(), encoding });
        }
        None => convert(database, of).map_err(|source| match source {
            source @ SqlError::Server { .. } => StoreError::NoTables { path: store.clone(), source },
            source => open(source),
        })?,
        Some(FORMAT) => {}
        Some(found) if found > FORMAT => {
            return Err(StoreError::Newer { path: store.clone(), found, known: FORMAT });
        }
        Some(found) => convert(database, of).map_err(|source| StoreError::OlderTables {
            path: store.clone(),
            found,
            known: FORMAT,
            source,
        })?,
    }
    if let Some(encoding) = narrow_encoding(database).map_err(open)? {
        return Ok(Rights::Read(StoreError::Encoding { path: store.clone(), encoding }.to_string()));
    }
    let sql = "SELECT to_regclass('run_pairs') IS NOT NULL, to_regclass('run_lists') IS NOT NULL";
    if let (Database::Postgres(client), Some(row)) = (database, database.row(sql, &[]).map_err(open)?) {
        let has = |column| row.integer(column).is_ok_and(|has| has == 1);
        client.borrow_mut().indexes = Indexes { pairs: has(0), lists: has(1) };
    }
    let sql = "SELECT CASE WHEN pg_is_in_recovery() THEN 'the server is a replica'
                      WHEN current_setting('default_transaction_read_only')::bool THEN 'sessions of this user only read'
                      WHEN NOT has_table_privilege('event', 'INSERT') THEN 'this user may only read' END";
    let row = database.row(sql, &[]).map_err(open)?;
    let why = row.as_ref().map(|row| row.text_if_any(0)).transpose().map_err(open)?.flatten();
    Ok(why.map_or(Rights::Write, |why| Rights::Read(format!("{store}: {why}"))))
}

/// Returns the encoding of a database that cannot keep every letter: a run in it would fail at the first `µ` or `≥`
/// that it has to say, which may be its end.
fn narrow_encoding(database: &Database) -> Result<Option<String>, SqlError> {
    // That of SQL_ASCII keeps any bytes as they are.
    let sql = "SELECT current_setting('server_encoding')
               WHERE current_setting('server_encoding') NOT IN ('UTF8', 'SQL_ASCII')";
    let row = database.row(sql, &[])?;
    row.map(|row| row.text(0).map(str::to_owned)).transpose()
}

/// Returns the format of the tables; `None` where there are none.
fn format_of(database: &Database, of: &PostgresAddress) -> Result<Option<i64>, SqlError> {
    let schema = "SELECT has_schema_privilege(oid, 'USAGE') FROM pg_namespace WHERE nspname::text = ?1";
    let is_allowed = database.row(schema, values![&of.schema])?.map(|row| row.integer(0)).transpose()?;
    match is_allowed {
        None => return Ok(None),
        Some(0) => {
            let says = format!("permission denied for schema {}", of.schema);
            return Err(SqlError::Unreachable { says });
        }
        Some(_) => {}
    }
    if database.row("SELECT 1 WHERE to_regclass('store_format') IS NOT NULL", &[])?.is_none() {
        return Ok(None);
    }
    database.row("SELECT format FROM store_format", &[])?.map(|row| row.integer(0)).transpose()
}

/// Creates the tables, or brings them to [`FORMAT`]. Two processes may do so at once: the second finds it done.
fn convert(database: &Database, of: &PostgresAddress) -> Result<(), SqlError> {
    database.write(
        |error| error,
        || {
            database.batch(TAKE_TURNS)?;
            let schema = "SELECT 1 FROM pg_namespace WHERE nspname::text = ?1";
            // Even where there is one, this needs the right to make another.
            if database.row(schema, values![&of.schema])?.is_none() {
                database.batch(&format!("CREATE SCHEMA {}", of.schema))?;
            }
            let found = format_of(database, of)?;
            database.batch(&tables(found))
        },
    )
}

/// Returns the statements that bring tables of a format, or none, to [`FORMAT`].
fn tables(found: Option<i64>) -> String {
    let done = found.map_or(0, |found| usize::try_from(found - FIRST + 1).unwrap_or(0));
    let migrations = MIGRATIONS.get(done..).unwrap_or_default().concat();
    // In tables with runs only the owner has the time for it.
    let indexes =
        if found.is_none() { [INDEXES_OF_LISTS, SUMS, LISTS, PAIRS].concat() } else { String::new() };
    format!(
        "CREATE TABLE IF NOT EXISTS store_format (
    one    BIGINT PRIMARY KEY DEFAULT 1 CHECK (one = 1),
    format BIGINT NOT NULL
);
{migrations}{indexes}INSERT INTO store_format (format) VALUES ({FORMAT})
    ON CONFLICT (one) DO UPDATE SET format = excluded.format;
"
    )
}

/// Returns the statements that make a store in a database, with a role that writes and one that reads.
#[must_use]
pub fn init_sql(of: &PostgresAddress) -> String {
    let schema = &of.schema;
    format!(
        "-- A store of Assay, format {FORMAT}, and its roles. Run it as the owner of the database; it may be run again:
--     assay store init-sql | psql -v ON_ERROR_STOP=1 DATABASE
-- Then, for each person or machine:
--     CREATE ROLE alice LOGIN IN ROLE {schema}_writer;    \\password alice
--     CREATE ROLE bob LOGIN IN ROLE {schema}_reader;      \\password bob
BEGIN;
{TAKE_TURNS};
CREATE SCHEMA IF NOT EXISTS {schema};
SET LOCAL search_path TO {schema};
{tables}
DO $$ BEGIN CREATE ROLE {schema}_writer NOLOGIN; EXCEPTION WHEN duplicate_object THEN NULL; END $$;
DO $$ BEGIN CREATE ROLE {schema}_reader NOLOGIN; EXCEPTION WHEN duplicate_object THEN NULL; END $$;
GRANT USAGE ON SCHEMA {schema} TO {schema}_writer, {schema}_reader;
GRANT SELECT ON ALL TABLES IN SCHEMA {schema} TO {schema}_writer, {schema}_reader;
GRANT INSERT, UPDATE, DELETE ON run, run_target, run_finding, digest, extract, target, price, null_ceiling, journal,
    baseline, checked, map TO {schema}_writer;
-- An event is never changed, and removed with its run only.
GRANT INSERT ON event TO {schema}_writer;
COMMIT;
",
        tables = tables(None),
    )
}
