//! A store copied to another one, of the same or the other kind, and compared with it.
//!
//! Rows are copied as they are, checksums included, a run in one transaction; then both sides are read back and
//! compared cell by cell. What the other store has already stays as it is, and must be the same.

use crate::error::StoreError;
use crate::reader::{PART, Reader};
use crate::sql::{Row, SqlError, Value, values};
use crate::store::Store;

/// Columns of a run's row but its number, which each store gives itself.
const RUN: &str = "run, name, outcome, label, note, started_unix_ms, targets, lost, host, row_crc32c, process, words, \
                   p99_us, verdict, first_load, first_iops";
/// Values that one statement takes at most: SQLite of 2020 takes 32,766, PostgreSQL 65,535.
const VALUES_MAX: usize = 1024;

/// A table whose rows belong to a run: its columns behind the number of the run, in an order that sorts them.
const OF_RUN: [(&str, &str); 5] = [
    ("event", "sequence, body, crc32c"),
    ("run_target", "address"),
    ("digest", "version, is_whole, critical, warnings, body, crc32c"),
    ("run_finding", "rule"),
    ("extract", "version, events, body, crc32c"),
];
/// A table beside runs: its columns, and how many of them are its key.
const BESIDE: [(&str, &str, usize); 7] = [
    ("target", "address, \"array\"", 1),
    ("price", "address, price", 1),
    ("null_ceiling", "load, iops", 1),
    ("journal", "name, body", 1),
    ("baseline", "address, plan, run, label, set_unix_ms", 2),
    ("checked", "address, checked_unix_ms, body", 1),
    ("map", "address, made_unix_ms, body", 2),
];

/// The result of a copy.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Copied {
    /// Runs that were copied, and are the same in both.
    pub copied: usize,
    /// Runs that were the same in both already.
    pub same: usize,
    /// Rows beside runs that are the same in both: arrays and prices of targets, baselines, checks, maps, journals.
    pub beside: usize,
    /// What is not the same in both, a sentence each.
    pub different: Vec<String>,
}

/// Copies all that a store has to another one. `tell` hears of each run: how many were looked at, of how many.
///
/// # Errors
/// Where one of them cannot be read or written to as a whole. What is wrong with single runs is part of what is
/// returned.
pub fn copy(from: &Reader, to: &Store, tell: &mut dyn FnMut(usize, usize)) -> Result<Copied, StoreError> {
    let read = |source| from.read_error(source);
    let rows = from.database.rows("SELECT id, run FROM run ORDER BY id", &[]).map_err(read)?;
    let mut copied = Copied::default();
    for (number, row) in (1..).zip(&rows) {
        let (id, run) = (row.integer(0).map_err(read)?, row.text(1));
        let Ok(run) = run else {
            copied.different.push(format!("the row numbered {id} in {} cannot be read", from.address()));
            continue;
        };
        match copy_run(from, to, (id, run)) {
            Ok(Became::Copied) => copied.copied += 1,
            Ok(Became::Same) => copied.same += 1,
            Ok(Became::Different(what)) => copied.different.push(format!("run {run}: {what}")),
            Err(error) if error.is_away() => return Err(error),
            Err(error) => copied.different.push(format!("run {run}: {}", chain(&error))),
        }
        tell(number, rows.len());
    }
    for (table, columns, keys) in BESIDE {
        copy_beside(from, to, (table, columns, keys), &mut copied)?;
    }
    Ok(copied)
}

/// The result of a run's copy.
enum Became {
    Copied,
    Same,
    Different(String),
}

fn copy_run(from: &Reader, to: &Store, (id, run): (i64, &str)) -> Result<Became, StoreError> {
    if from.are_live(&[id]) == [true] {
        return Ok(Became::Different("it is still in progress; copy it when it has ended".to_owned()));
    }
    let known = to.id_and_end(run)?;
    let there = match known {
        Some((there, _)) => there,
        None => insert(from, to, id)?,
    };
    Ok(match (difference(from, to, (id, there))?, known) {
        (Some(what), Some(_)) => Became::Different(format!("{} has another one: {what}", to.address())),
        (Some(what), None) => Became::Different(format!("{} did not keep it: {what}", to.address())),
        (None, Some(_)) => Became::Same,
        (None, None) => Became::Copied,
    })
}

/// Inserts a run with all that belongs to it. Returns its number there.
fn insert(from: &Reader, to: &Store, id: i64) -> Result<i64, StoreError> {
    let read = |source| from.read_error(source);
    let write = |source| StoreError::writing(to.address(), source);
    to.database.write(write, || {
        let row = from.database.row(&format!("SELECT {RUN} FROM run WHERE id = ?1"), values![id]);
        let row = row.map_err(read)?.unwrap_or_else(|| Row::new(Vec::new()));
        let text = format!("INSERT INTO run ({RUN}) VALUES {} RETURNING id", places(row.cells().len(), 1));
        let there =
            to.database.row(&text, &cells(std::slice::from_ref(&row)).map_err(read)?).map_err(write)?;
        let there = there.map_or(Ok(0), |row| row.integer(0)).map_err(write)?;
        for (table, columns) in OF_RUN {
            for first in (0..).step_by(PART) {
                let rows = part(from, (table, columns), id, first)?;
                insert_rows(to, &format!("{table} (run_id, {columns})"), Some(there), &rows)?;
                if rows.len() < PART {
                    break;
                }
            }
        }
        Ok(there)
    })
}

/// Returns some rows of a table that belong to a run.
fn part(of: &Reader, (table, columns): (&str, &str), id: i64, first: i64) -> Result<Vec<Row>, StoreError> {
    let order = columns.split(',').next().unwrap_or_default();
    let text = format!(
        "SELECT {columns} FROM {table} WHERE run_id = ?1 ORDER BY {order} LIMIT {PART} OFFSET {first}"
    );
    of.database.rows(&text, values![id]).map_err(|source| of.read_error(source))
}

/// Inserts rows, several with one statement, each behind the number of its run where it has one.
fn insert_rows(to: &Store, into: &str, run: Option<i64>, rows: &[Row]) -> Result<(), StoreError> {
    let write = |source| StoreError::writing(to.address(), source);
    let width = rows.first().map_or(1, |row| row.cells().len()) + usize::from(run.is_some());
    for rows in rows.chunks(VALUES_MAX / width) {
        let text = format!("INSERT INTO {into} VALUES {}", places(width, rows.len()));
        let mut values = Vec::with_capacity(width * rows.len());
        for row in rows {
            values.extend(run.map(Value::Integer));
            values.extend(cells(std::slice::from_ref(row)).map_err(write)?);
        }
        to.database.execute(&text, &values).map_err(write)?;
    }
    Ok(())
}

/// Returns the places of values: `(?, ?), (?, ?)`.
fn places(width: usize, rows: usize) -> String {
    let row = format!("({})", vec!["?"; width].join(", "));
    vec![row; rows].join(", ")
}

fn cells(rows: &[Row]) -> Result<Vec<Value<'_>>, SqlError> {
    rows.iter().flat_map(Row::cells).map(crate::sql::Cell::value).collect()
}

/// Returns what of a run is not the same in two stores.
fn difference(from: &Reader, to: &Reader, (id, there): (i64, i64)) -> Result<Option<String>, StoreError> {
    let run = |of: &Reader, id| {
        let row = of.database.row(&format!("SELECT {RUN} FROM run WHERE id = ?1"), values![id]);
        row.map_err(|source| of.read_error(source))
    };
    if run(from, id)? != run(to, there)? {
        return Ok(Some("its row differs".to_owned()));
    }
    for (table, columns) in OF_RUN {
        for first in (0..).step_by(PART) {
            let rows = part(from, (table, columns), id, first)?;
            if rows != part(to, (table, columns), there, first)? {
                return Ok(Some(format!("its rows of the table {table} differ")));
            }
            if rows.len() < PART {
                break;
            }
        }
    }
    Ok(None)
}

fn copy_beside(
    from: &Reader,
    to: &Store,
    (table, columns, keys): (&str, &str, usize),
    copied: &mut Copied,
) -> Result<(), StoreError> {
    // Journals are listed in the order in which they were added.
    let order = if table == "journal" { "rowid" } else { columns.split(',').next().unwrap_or_default() };
    let rows = from.database.rows(&format!("SELECT {columns} FROM {table} ORDER BY {order}"), &[]);
    let rows = rows.map_err(|source| from.read_error(source))?;
    let names = columns.split(", ").take(keys).zip(1..);
    let condition: Vec<String> = names.map(|(name, number)| format!("{name} = ?{number}")).collect();
    let look = format!("SELECT {columns} FROM {table} WHERE {}", condition.join(" AND "));
    let write = |source| StoreError::writing(to.address(), source);
    for row in &rows {
        let Ok(all) = cells(std::slice::from_ref(row)) else {
            copied.different.push(format!("a row of the table {table} in {} cannot be read", from.address()));
            continue;
        };
        let there = || to.database.row(&look, &all[..keys]).map_err(write);
        let inserted = match there()? {
            Some(_) => Ok(()),
            None => insert_rows(to, &format!("{table} ({columns})"), None, std::slice::from_ref(row)),
        };
        let key: Vec<&str> = (0..keys).filter_map(|column| row.text(column).ok()).collect();
        match inserted {
            Ok(()) if there()?.as_ref() == Some(row) => copied.beside += 1,
            Ok(()) => {
                copied.different.push(format!("{table} {}: both have one, and they differ", key.join(" ")))
            }
            Err(error) if error.is_away() => return Err(error),
            Err(error) => copied.different.push(format!("{table} {}: {}", key.join(" "), chain(&error))),
        }
    }
    Ok(())
}

/// Returns an error with its causes.
fn chain(error: &StoreError) -> String {
    let causes = std::iter::successors(std::error::Error::source(error), |cause| cause.source());
    causes.map(ToString::to_string).fold(error.to_string(), |text, cause| {
        if text.contains(&cause) { text } else { format!("{text}: {cause}") }
    })
}
