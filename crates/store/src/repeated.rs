//! Runs that share a label, a plan and their targets: repetitions, of which a target may have thousands.

use std::collections::HashMap;

use assay_record::Outcome;

use crate::error::StoreError;
use crate::reader::Reader;
use crate::sql::{Row, SqlError, values};

/// A run that has a label, in short.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LabelledRun {
    /// Its id.
    pub run: String,
    /// Its label.
    pub label: String,
    /// Name of its plan.
    pub plan: String,
}

impl Reader {
    /// Returns the newest runs on a target (its name in the store) that came to their ends and have exactly that list
    /// of targets, as typed, the newest first: of each label and plan at most so many. Rows that cannot be read are
    /// passed over.
    pub fn repeated_on(
        &self,
        target: &str,
        targets: &[String],
        most: usize,
    ) -> Result<Vec<LabelledRun>, StoreError> {
        // In the order of the index of lists nothing is sorted, and no run of another list is looked at.
        let query = format!(
            "SELECT run, label, name FROM run WHERE {} AND +id IN (SELECT run_id FROM run_target WHERE address = ?2)
             AND label IS NOT NULL AND outcome = ?3 ORDER BY started_unix_ms DESC, id DESC",
            self.database.dialect().has_targets()
        );
        let done = serde_json::json!(Outcome::Done).to_string();
        let targets = serde_json::json!(targets).to_string();
        let rows = self.database.rows(&query, values![&targets, target, &done]);
        let rows = rows.map_err(|source| self.read_error(source))?;
        let mut seen: HashMap<(&str, &str), usize> = HashMap::new();
        let newest = rows.iter().filter_map(|row| texts(row).ok()).filter(|[_, label, plan]| {
            let count = seen.entry((*label, *plan)).or_default();
            *count += 1;
            *count <= most
        });
        Ok(newest
            .map(|[run, label, plan]| LabelledRun { run: run.into(), label: label.into(), plan: plan.into() })
            .collect())
    }
}

fn texts(row: &Row) -> Result<[&str; 3], SqlError> {
    Ok([row.text(0)?, row.text(1)?, row.text(2)?])
}
