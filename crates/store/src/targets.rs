//! Runs by a part of the address of a target, as it was typed. Many runs share few lists of addresses, so the lists are
//! searched, each once, and not the runs.

use crate::condition::Condition;
use crate::error::StoreError;
use crate::reader::Reader;
use crate::sql::{Row, SqlError};

/// Lists of addresses that a server looks up one behind the other; of more, it reads the lists of all runs.
const LOOKED_UP_MAX: usize = 2_000;

impl Reader {
    /// Returns the condition that one of the addresses of a run has that part. Upper and lower case of ASCII are one;
    /// what is no list of texts any more has no part.
    pub(crate) fn has_target(&self, part: &str) -> Result<Condition, StoreError> {
        let part = part.to_ascii_lowercase();
        let has_part = |targets: &&Row| {
            let addresses: Vec<String> =
                targets.text(0).ok().and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default();
            addresses.iter().any(|address| address.to_ascii_lowercase().contains(&part))
        };
        let lists = self.lists_of_targets().map_err(|source| self.read_error(source))?;
        let wanted: Vec<&Row> = lists.iter().filter(has_part).collect();
        self.database.dialect().one_of_targets(&wanted).map_err(|source| self.read_error(source))
    }

    /// Returns each list of addresses that a run has, once, with its number where the server has one.
    fn lists_of_targets(&self) -> Result<Vec<Row>, SqlError> {
        let dialect = self.database.dialect();
        if self.database.indexes().lists {
            let found = self.database.rows(&dialect.each_list(LOOKED_UP_MAX), &[])?;
            if found.len() < LOOKED_UP_MAX {
                return Ok(found);
            }
        }
        self.database.rows(dialect.lists_of_targets(), &[])
    }
}
