//! The digest of a run as it is stored, with its checksum, the words that a search finds it by, and what lists are
//! sorted by.

use assay_record::{RunDigest, Severity, TestDigest};

use crate::database::Database;
use crate::sql::{SqlError, values};

/// Returns a digest from its stored form; `None` for one of a later version or one that is damaged, which is made again
/// from the events.
pub(crate) fn decode(body: &str, checksum: i64) -> Option<RunDigest> {
    (i64::from(crc32c::crc32c(body.as_bytes())) == checksum)
        .then(|| serde_json::from_str(body).ok())
        .flatten()
}

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
    database: &Database,
    run_id: i64,
    digest: &RunDigest,
    coverage: Coverage,
) -> Result<(), SqlError> {
    let body = serde_json::to_string(digest)
        .map_err(|source| rusqlite::Error::ToSqlConversionFailure(Box::new(source)))?;
    let count = |severity| digest.findings.iter().filter(|finding| finding.severity == severity).count();
    let count = |severity| i64::try_from(count(severity)).unwrap_or(i64::MAX);
    database.execute(
        "INSERT INTO digest (run_id, version, is_whole, critical, warnings, body, crc32c)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) ON CONFLICT (run_id) DO UPDATE SET version = excluded.version,
         is_whole = excluded.is_whole, critical = excluded.critical, warnings = excluded.warnings,
         body = excluded.body, crc32c = excluded.crc32c",
        values![
            run_id,
            RunDigest::VERSION,
            i64::from(coverage == Coverage::Whole),
            count(Severity::Critical),
            count(Severity::Warning),
            &body,
            crc32c::crc32c(body.as_bytes()),
        ],
    )?;
    database.execute("DELETE FROM run_finding WHERE run_id = ?1", values![run_id])?;
    for finding in &digest.findings {
        let insert = "INSERT INTO run_finding (rule, run_id) VALUES (?1, ?2) ON CONFLICT DO NOTHING";
        database.execute(insert, values![&finding.rule, run_id])?;
    }
    let p99_us = digest.tests.first().and_then(|test| test.p99_us).map(|p99| p99.value);
    let first = digest.tests.iter().find(|test| test.complete);
    let set = "UPDATE run SET words = ?2, p99_us = ?3, verdict = ?4, first_load = ?5, first_iops = ?6 WHERE id = ?1";
    database
        .execute(
            set,
            values![
                run_id,
                &words(digest),
                p99_us,
                digest.verdict.as_deref(),
                first.map(load_key),
                first.map(|test| test.iops.value)
            ],
        )
        .map(drop)
}

/// Returns a number for a test, its step and its load: equal ones have the same, others have others. Stores keep it: it
/// is FNV-1a of their bytes, each behind a byte that no text has.
fn load_key(test: &TestDigest) -> i64 {
    let load = test.load.iter().flat_map(|(name, value)| [name, value]);
    let texts = [&test.test, &test.step].into_iter().chain(load);
    let bytes = texts.flat_map(|text| text.bytes().chain([0xff]));
    let hash = bytes.fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    hash.cast_signed()
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
