//! Lists of stored runs.

use serde_json::{Value, json};

use crate::layout::left;
use crate::number;

/// A run in a list.
#[derive(Debug, Clone, Copy)]
pub struct RunListing<'r> {
    /// Its id.
    pub run: &'r str,
    /// Name of its plan.
    pub name: &'r str,
    /// `done`, `failed`, `interrupted`, `running` or `partial`.
    pub status: &'r str,
    /// What somebody called it.
    pub label: Option<&'r str>,
    /// What somebody noted of it.
    pub note: Option<&'r str>,
    /// Start, ms since 1970 UTC.
    pub started_unix_ms: u64,
    /// Addresses of its targets.
    pub targets: &'r [String],
}

/// The widest a column of a list gets.
const CELL_MAX: usize = 36;

/// A line per run, in the order given.
#[must_use]
pub fn runs_table(runs: &[RunListing<'_>]) -> String {
    if runs.is_empty() {
        return "No run is stored yet; `assay run SUITE TARGET` makes one.\n".to_owned();
    }
    let titles = ["Run", "Started", "Status", "Plan", "Targets", "Label", "Note"];
    let mut rows = vec![titles.map(str::to_owned)];
    rows.extend(runs.iter().map(|r| {
        let text = |t: Option<&str>| t.unwrap_or_default().replace('\n', " ");
        let started = number::minute(r.started_unix_ms);
        let (run, status, name) = (r.run.to_owned(), r.status.to_owned(), r.name.to_owned());
        [run, started, status, name, r.targets.join(", "), text(r.label), text(r.note)]
    }));
    let widths: Vec<usize> = (0..titles.len())
        .map(|i| rows.iter().map(|r| r[i].chars().count()).max().unwrap_or(0).min(CELL_MAX))
        .collect();
    let line = |row: &[String; 7]| {
        let cells: Vec<String> = row.iter().zip(&widths).map(|(cell, w)| left(cell, *w)).collect();
        format!("{}\n", cells.join("  ").trim_end())
    };
    rows.iter().map(line).collect()
}

/// A list of objects with `run`, in the order given.
#[must_use]
pub fn runs_json(runs: &[RunListing<'_>]) -> Value {
    let object = |r: &RunListing<'_>| {
        json!({
            "run": r.run,
            "plan": r.name,
            "status": r.status,
            "label": r.label,
            "note": r.note,
            "started": number::iso(r.started_unix_ms),
            "targets": r.targets,
        })
    };
    Value::Array(runs.iter().map(object).collect())
}
