//! The tables, and how older ones become newer ones.

use std::path::Path;

use rusqlite::{Connection, Transaction, TransactionBehavior};

use crate::error::StoreError;
use crate::live::are_live;

/// Marks the file as Assay's in SQLite's own header: "Asay".
pub(crate) const APPLICATION_ID: i64 = 0x4173_6179;

/// Each entry takes the store from the format of its index to the next one. Never change an entry that was released:
/// add one.
const MIGRATIONS: [&str; 9] = [
    "
    CREATE TABLE run (
        id              INTEGER PRIMARY KEY,
        run             TEXT NOT NULL UNIQUE,
        name            TEXT NOT NULL,            -- of the plan
        label           TEXT,
        note            TEXT,
        started_unix_ms INTEGER NOT NULL,
        targets         TEXT NOT NULL,            -- JSON array of addresses
        outcome         TEXT                      -- JSON of the last event; NULL until the run ended
    ) STRICT;
    CREATE INDEX run_started ON run (started_unix_ms, id);
    CREATE TABLE event (
        run_id   INTEGER NOT NULL REFERENCES run (id) ON DELETE CASCADE,
        sequence INTEGER NOT NULL,                -- from 0, without gaps
        body     TEXT NOT NULL,                   -- JSON of assay_record::Event
        PRIMARY KEY (run_id, sequence)
    ) STRICT;
",
    "
    CREATE TABLE target (
        address TEXT PRIMARY KEY,                 -- an absolute path, or another address as typed
        array   TEXT NOT NULL                     -- text of the array file
    ) STRICT;
",
    "
    ALTER TABLE event ADD COLUMN crc32c INTEGER;  -- of the body; NULL in events from before there was one
    ALTER TABLE run ADD COLUMN lost TEXT;         -- why events from some moment on are missing; NULL: none is
",
    "
    CREATE TABLE price (
        address TEXT PRIMARY KEY,                 -- as in target
        price   TEXT NOT NULL                     -- amount and currency: 5500 EUR
    ) STRICT;
    CREATE TABLE null_ceiling (
        load TEXT PRIMARY KEY,                    -- the load, the host and the version that reached it
        iops REAL NOT NULL                        -- on a target that costs nothing
    ) STRICT;
    CREATE TABLE journal (
        name TEXT PRIMARY KEY,
        body TEXT NOT NULL                        -- JSON: targets, plan, memory of the storage
    ) STRICT;
",
    "
    ALTER TABLE run ADD COLUMN host TEXT;         -- name of the machine that issued the I/O
    ALTER TABLE run ADD COLUMN process TEXT;      -- JSON of the process that writes it
    ALTER TABLE run ADD COLUMN words TEXT;        -- of its digest, for the search
    CREATE INDEX run_unended ON run (id) WHERE outcome IS NULL;
    CREATE INDEX run_label ON run (label) WHERE label IS NOT NULL;
    UPDATE run SET host = (
        SELECT CASE WHEN json_valid(body) THEN body ->> '$.what.body.host.name' END
        FROM event WHERE run_id = run.id AND sequence = 0
    );
    CREATE TABLE run_target (
        address TEXT NOT NULL,                    -- as in target
        run_id  INTEGER NOT NULL REFERENCES run (id) ON DELETE CASCADE,
        PRIMARY KEY (address, run_id)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX run_target_run ON run_target (run_id);
    CREATE TABLE digest (
        run_id   INTEGER PRIMARY KEY REFERENCES run (id) ON DELETE CASCADE,
        version  INTEGER NOT NULL,                -- of its form
        is_whole INTEGER NOT NULL,                -- 1: made from all events of the run
        critical INTEGER NOT NULL,                -- findings of that severity
        warnings INTEGER NOT NULL,
        body     TEXT NOT NULL,                   -- JSON of assay_record::RunDigest
        crc32c   INTEGER NOT NULL                 -- of the body
    ) STRICT;
    CREATE TABLE run_finding (
        rule   TEXT NOT NULL,
        run_id INTEGER NOT NULL REFERENCES run (id) ON DELETE CASCADE,
        PRIMARY KEY (rule, run_id)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX run_finding_run ON run_finding (run_id);
    CREATE VIRTUAL TABLE run_text USING fts5 (text, tokenize = 'trigram');
    CREATE VIEW run_searched AS SELECT id, concat_ws(char(10), run, name, label, note, host, targets, words) AS text
        FROM run;
    INSERT INTO run_text (rowid, text) SELECT id, text FROM run_searched;
    INSERT OR IGNORE INTO run_target (address, run_id)
        SELECT value, run.id FROM run, json_each(CASE WHEN json_valid(targets) THEN targets ELSE '[]' END)
        WHERE type = 'text';
    CREATE TRIGGER run_text_insert AFTER INSERT ON run BEGIN
        INSERT INTO run_text (rowid, text) SELECT id, text FROM run_searched WHERE id = new.id;
    END;
    CREATE TRIGGER run_text_update AFTER UPDATE OF label, note, host, words ON run BEGIN
        UPDATE run_text SET text = (SELECT text FROM run_searched WHERE id = new.id) WHERE rowid = new.id;
    END;
    CREATE TRIGGER run_text_delete AFTER DELETE ON run BEGIN
        DELETE FROM run_text WHERE rowid = old.id;
    END;
    CREATE TABLE baseline (
        address     TEXT NOT NULL,                -- of a target
        plan        TEXT NOT NULL,
        run         TEXT REFERENCES run (run) ON DELETE CASCADE,  -- its id, or
        label       TEXT,                         -- of its repetitions
        set_unix_ms INTEGER NOT NULL,
        PRIMARY KEY (address, plan),
        CHECK ((run IS NULL) <> (label IS NULL))
    ) STRICT;
    CREATE INDEX baseline_run ON baseline (run);
    CREATE TABLE checked (
        address         TEXT PRIMARY KEY,         -- of a target
        checked_unix_ms INTEGER NOT NULL,
        body            TEXT NOT NULL             -- JSON of the last check
    ) STRICT;
",
    "
    CREATE TABLE extract (
        run_id  INTEGER PRIMARY KEY REFERENCES run (id) ON DELETE CASCADE,
        version INTEGER NOT NULL,                 -- of its form
        events  INTEGER NOT NULL,                 -- that it covers, from the first
        body    BLOB NOT NULL,                    -- compressed JSON of assay_analysis::RunExtract
        crc32c  INTEGER NOT NULL                  -- of the body
    ) STRICT;
",
    "
    ALTER TABLE run ADD COLUMN row_crc32c INTEGER; -- of the columns of a list; NULL in rows from before there was one
",
    // What lists are sorted by, of the digest. SQLite takes four times as long to parse a digest as to find the figure
    // in it: `complete` ends what is said of each test, and no text has the words, as its quotes are escaped.
    r#"
    ALTER TABLE run ADD COLUMN p99_us REAL;        -- of its first test
    ALTER TABLE run ADD COLUMN verdict TEXT;       -- what limits it
    ALTER TABLE run ADD COLUMN first_load INTEGER; -- stands for its first complete test, step and load
    ALTER TABLE run ADD COLUMN first_iops REAL;    -- of that test
    UPDATE run SET
        p99_us = CASE WHEN instr(body, '"p99_us":{"value":') BETWEEN 1 AND instr(body, '"complete":')
            THEN CAST(substr(body, instr(body, '"p99_us":{"value":') + 18, 32) AS REAL) END,
        verdict = CASE WHEN json_valid(body) THEN body ->> '$.verdict' END
        FROM digest WHERE run_id = run.id;
    CREATE INDEX run_p99 ON run (p99_us DESC, started_unix_ms DESC, id DESC);
    CREATE INDEX run_verdict ON run (verdict, started_unix_ms DESC, id DESC);
"#,
    "
    CREATE TABLE map (
        address      TEXT NOT NULL,               -- of a target
        made_unix_ms INTEGER NOT NULL,
        body         TEXT NOT NULL,               -- JSON of assay_surface::SurfaceMap
        PRIMARY KEY (address, made_unix_ms)
    ) STRICT;
",
];

/// What makes lists fast, and may be missing: it changes no format. SQLite and PostgreSQL have the same.
pub(crate) const INDEXES_OF_LISTS: &str =
    "CREATE INDEX IF NOT EXISTS digest_critical ON digest (run_id) WHERE critical > 0;\n";

/// The same for a file alone: in PostgreSQL a line of an index has 2,704 bytes at most, and a run over hosts has more.
/// The parts are those of `overview.rs`, whose sums SQLite then takes in the order of the index.
const INDEXES_OF_FILES: &str =
    "CREATE INDEX IF NOT EXISTS run_targets ON run (targets, started_unix_ms DESC, id DESC);
     CREATE INDEX IF NOT EXISTS run_part ON run (id >> 10, row_crc32c);
     CREATE INDEX IF NOT EXISTS digest_part ON digest (run_id >> 10, crc32c);";

/// The format of stores that this version writes; older ones are brought to it when they are opened for writing.
pub const FORMAT: i64 = MIGRATIONS.len() as i64;

/// Checks that the store at `path` can be read as it is.
pub(crate) fn check(connection: &Connection, path: &Path) -> Result<(), StoreError> {
    let open = |source| StoreError::opening(path, source);
    let found = format_of(connection).map_err(open)?;
    match found {
        _ if !is_ours(connection).map_err(open)? => Err(StoreError::Foreign { path: path.into() }),
        FORMAT => Ok(()),
        newer if newer > FORMAT => Err(StoreError::Newer { path: path.into(), found, known: FORMAT }),
        _ => Err(StoreError::Older { path: path.into(), found, known: FORMAT }),
    }
}

/// Brings the store at `path` to [`FORMAT`]. Two processes may do so at once: the second finds it done.
pub(crate) fn migrate(connection: &mut Connection, path: &Path) -> Result<(), StoreError> {
    let open = |source| StoreError::opening(path, source);
    let found = format_of(connection).map_err(open)?;
    if found > FORMAT {
        return Err(StoreError::Newer { path: path.into(), found, known: FORMAT });
    }
    if found == FORMAT && is_ours(connection).map_err(open)? {
        // Where somebody else writes for long, or the disk is full, lists are slow until the next time: as beside a run
        // that goes on, whose writer would wait until a large store is read.
        if is_written(connection, path).map_err(open)? {
            return Ok(());
        }
        let _ = [INDEXES_OF_LISTS, INDEXES_OF_FILES].map(|indexes| connection.execute_batch(indexes));
        return Ok(());
    }
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(open)?;
    if !is_ours(&transaction).map_err(open)? && !is_empty(&transaction).map_err(open)? {
        return Err(StoreError::Foreign { path: path.into() });
    }
    apply(&transaction).map_err(open)?;
    transaction.commit().map_err(open)
}

/// Whether a run goes on in the store.
fn is_written(connection: &Connection, path: &Path) -> rusqlite::Result<bool> {
    let mut unended = connection.prepare("SELECT id FROM run WHERE outcome IS NULL")?;
    let unended: Vec<i64> = unended.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?;
    Ok(are_live(path, &unended).contains(&true))
}

/// Makes the tables of a format in an empty database.
pub(crate) fn apply_up_to(connection: &Connection, format: i64) -> rusqlite::Result<()> {
    let count = usize::try_from(format).unwrap_or(0).min(MIGRATIONS.len());
    MIGRATIONS[..count].iter().try_for_each(|migration| connection.execute_batch(migration))
}

fn apply(transaction: &Transaction<'_>) -> rusqlite::Result<()> {
    let found = usize::try_from(format_of(transaction)?).unwrap_or(0);
    for migration in &MIGRATIONS[found..] {
        transaction.execute_batch(migration)?;
    }
    transaction.execute_batch(INDEXES_OF_LISTS)?;
    transaction.execute_batch(INDEXES_OF_FILES)?;
    transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
    transaction.pragma_update(None, "user_version", FORMAT)
}

pub(crate) fn format_of(connection: &Connection) -> rusqlite::Result<i64> {
    connection.pragma_query_value(None, "user_version", |row| row.get(0))
}

pub(crate) fn is_ours(connection: &Connection) -> rusqlite::Result<bool> {
    connection
        .pragma_query_value(None, "application_id", |row| row.get::<_, i64>(0))
        .map(|id| id == APPLICATION_ID)
}

/// Whether a database has no table.
pub(crate) fn is_empty(connection: &Connection) -> rusqlite::Result<bool> {
    connection
        .query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get::<_, i64>(0))
        .map(|tables| tables == 0)
}
