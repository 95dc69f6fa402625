//! Runs that share a label, a plan and their targets: repetitions, of which a target may have thousands.

use assay_record::Outcome;

use crate::error::StoreError;
use crate::reader::Reader;
use crate::sql::{Row, values};

/// A run that has a label, in short.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LabelledRun {
    /// Its id.
    pub run: String,
    /// Its label.
    pub label: String,
    /// Name of its plan.
    pub plan: String,
    /// Addresses of its targets.
    pub targets: Vec<String>,
}

impl Reader {
    /// Returns the newest runs on a target (its name in the store) that came to their ends, the newest first: of each
    /// label, plan and list of targets at most so many. Rows that cannot be read are passed over.
    pub fn repeated_on(&self, target: &str, most: usize) -> Result<Vec<LabelledRun>, StoreError> {
        let query = "SELECT run, label, name, targets FROM (
                SELECT run, label, name, targets, started_unix_ms, id, row_number() OVER (
                    PARTITION BY label, name, targets ORDER BY started_unix_ms DESC, id DESC) AS place
                FROM run WHERE id IN (SELECT run_id FROM run_target WHERE address = ?1)
                AND label IS NOT NULL AND outcome = ?2) AS placed
            WHERE place <= ?3 ORDER BY started_unix_ms DESC, id DESC";
        let done = serde_json::json!(Outcome::Done).to_string();
        let most = i64::try_from(most).unwrap_or(i64::MAX);
        let rows = self.database.rows(query, values![target, &done, most]);
        let rows = rows.map_err(|source| self.read_error(source))?;
        Ok(rows.iter().filter_map(labelled).collect())
    }
}

fn labelled(row: &Row) -> Option<LabelledRun> {
    let text = |column| row.text(column).ok().map(str::to_owned);
    let targets = serde_json::from_str(row.text(3).ok()?).ok()?;
    Some(LabelledRun { run: text(0)?, label: text(1)?, plan: text(2)?, targets })
}
