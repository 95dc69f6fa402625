//! What happened beside the figures of a trend: steps of journals, other versions, notes of people.

use serde::Serialize;

use super::TrendRun;

/// Something that happened before a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TrendEvent {
    /// Id of the run.
    pub run: String,
    /// Its start, ms since 1970 UTC.
    pub at_unix_ms: u64,
    /// What happened: `kernel 6.18.1 → 6.19.0`, `nas: jumbo frames`, a note.
    pub says: String,
}

/// Returns what happened over the runs on a target, the oldest first.
pub fn events(runs: &[TrendRun<'_>]) -> Vec<TrendEvent> {
    let mut runs: Vec<&TrendRun<'_>> = runs.iter().collect();
    runs.sort_by_key(|run| (run.started_unix_ms, run.run));
    let mut before: Option<&TrendRun<'_>> = None;
    let mut found = Vec::new();
    for run in runs {
        let mut says = before.map_or_else(Vec::new, |before| versions(before, run));
        let journal = |run: &TrendRun<'_>| run.digest.journal.clone();
        says.extend(journal(run).filter(|step| before.and_then(journal).as_ref() != Some(step)));
        says.extend(run.note.filter(|note| !note.is_empty()).map(str::to_owned));
        let event = |says| TrendEvent { at_unix_ms: run.started_unix_ms, run: run.run.to_owned(), says };
        found.extend(says.into_iter().map(event));
        // One without versions is from before they were kept.
        if !run.digest.versions.is_empty() {
            before = Some(run);
        }
    }
    found
}

/// Returns the versions that are others than before.
fn versions(before: &TrendRun<'_>, run: &TrendRun<'_>) -> Vec<String> {
    let old =
        |name: &str| before.digest.versions.iter().find(|(known, _)| known == name).map(|(_, value)| value);
    let changed = run.digest.versions.iter().filter_map(|(name, value)| {
        let old = old(name).filter(|old| *old != value)?;
        Some(format!("{name} {old} → {value}"))
    });
    changed.collect()
}
