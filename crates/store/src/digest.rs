//! The digest of a run, as the store keeps it for lists.

use assay_record::{RunDigest, Severity};

/// What of a run a digest was made from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Coverage {
    /// Its events so far.
    SoFar,
    /// All there will be.
    Whole,
}

/// Puts a digest beside a run, and its words into the text of the search.
pub(crate) fn put_digest(
    connection: &rusqlite::Connection,
    run_id: i64,
    digest: &RunDigest,
    coverage: Coverage,
) -> rusqlite::Result<()> {
    let body = serde_json::to_string(digest)
        .map_err(|source| rusqlite::Error::ToSqlConversionFailure(Box::new(source)))?;
    let count = |severity| digest.findings.iter().filter(|finding| finding.severity == severity).count();
    let count = |severity| i64::try_from(count(severity)).unwrap_or(i64::MAX);
    connection.execute(
        "INSERT OR REPLACE INTO digest (run_id, version, is_whole, critical, warnings, body, crc32c)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
        rusqlite::params![
            run_id,
            RunDigest::VERSION,
            coverage == Coverage::Whole,
            count(Severity::Critical),
            count(Severity::Warning),
            body,
            crc32c::crc32c(body.as_bytes()),
        ],
    )?;
    connection.execute("DELETE FROM run_finding WHERE run_id = ?1", [run_id])?;
    for finding in &digest.findings {
        connection.execute(
            "INSERT OR IGNORE INTO run_finding (rule, run_id) VALUES (?1, ?2)",
            rusqlite::params![finding.rule, run_id],
        )?;
    }
    connection
        .execute("UPDATE run SET words = ?2 WHERE id = ?1", rusqlite::params![run_id, words(digest)])
        .map(drop)
}

/// Returns what a search finds a run by beside its row: its tests, its findings and its verdict.
fn words(digest: &RunDigest) -> String {
    let tests = digest.tests.iter().flat_map(|test| [test.test.as_str(), test.step.as_str()]);
    let rules = digest.findings.iter().map(|finding| finding.rule.as_str());
    let mut words: Vec<&str> = tests.chain(rules).chain(digest.verdict.as_deref()).collect();
    words.retain(|word| !word.is_empty());
    words.dedup();
    words.join("\n")
}
