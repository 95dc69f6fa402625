//! Triggers and views in a store that Assay did not make.
//!
//! A store may come from somebody else. A trigger in it would be carried out with every run that is stored there, and
//! could delete the others; a view in the place of a table could never end.

use std::path::Path;
use std::sync::OnceLock;

use rusqlite::Connection;

use crate::error::StoreError;
use crate::schema::{FORMAT, apply_up_to, format_of, is_ours};

/// Type, name and text of each trigger and view.
type Made = Vec<(String, String, String)>;

/// Refuses a store with a trigger or view that is not part of its format.
pub(crate) fn check(connection: &Connection, path: &Path) -> Result<(), StoreError> {
    static PRESENT: OnceLock<Made> = OnceLock::new();
    let open = |source| StoreError::opening(path, source);
    let found = triggers_and_views(connection).map_err(open)?;
    if found.is_empty() || !is_ours(connection).map_err(open)? {
        return Ok(());
    }
    let format = format_of(connection).map_err(open)?;
    let own = match PRESENT.get() {
        Some(own) if format == FORMAT => own.clone(),
        _ => {
            let own = of_format(format).map_err(open)?;
            if format == FORMAT { PRESENT.get_or_init(|| own).clone() } else { own }
        }
    };
    match found.into_iter().find(|made| !own.contains(made)) {
        None => Ok(()),
        Some((kind, name, _)) => Err(StoreError::Stranger { path: path.into(), kind, name }),
    }
}

/// Returns what a new store of a format has.
fn of_format(format: i64) -> rusqlite::Result<Made> {
    let connection = Connection::open_in_memory()?;
    apply_up_to(&connection, format)?;
    triggers_and_views(&connection)
}

fn triggers_and_views(connection: &Connection) -> rusqlite::Result<Made> {
    let sql = "SELECT type, name, ifnull(sql, '') FROM sqlite_schema WHERE type IN ('trigger', 'view')";
    let mut query = connection.prepare(sql)?;
    query.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?.collect()
}
