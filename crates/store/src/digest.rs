//! The digest of a run as it is stored, with its checksum, the words that a search finds it by, and what lists are
//! sorted by.

use assay_record::{RunDigest, Severity, TestDigest};

use crate::database::Database;
use crate::sql::{SqlError, Value, values};

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

/// What the row of a run has of its digest: the words that a search finds it by, and what lists are sorted by.
pub(crate) struct OfDigest<'d> {
    words: String,
    p99_us: Option<f64>,
    verdict: Option<&'d str>,
    first_load: Option<i64>,
    first_iops: Option<f64>,
}

impl<'d> OfDigest<'d> {
    /// Its columns.
    pub(crate) const COLUMNS: &'static str = "words, p99_us, verdict, first_load, first_iops";

    pub(crate) fn of(digest: &'d RunDigest) -> Self {
        let first = digest.tests.iter().find(|test| test.complete);
        Self {
            words: words(digest),
            p99_us: digest.tests.first().and_then(|test| test.p99_us).map(|p99| p99.value),
            verdict: digest.verdict.as_deref(),
            first_load: first.map(load_key),
            first_iops: first.map(|test| test.iops.value),
        }
    }

    /// The values of its columns.
    pub(crate) fn values(&self) -> [Value<'_>; 5] {
        let (words, p99_us, verdict) = ((&self.words).into(), self.p99_us.into(), self.verdict.into());
        [words, p99_us, verdict, self.first_load.into(), self.first_iops.into()]
    }
}

/// Puts a digest beside a run, and what lists need of it into the run's row. A row that has it already is not written:
/// that would write the text of its search anew.
pub(crate) fn put_digest(
    database: &Database,
    run_id: i64,
    digest: &RunDigest,
    coverage: Coverage,
) -> Result<(), SqlError> {
    put_beside(database, run_id, digest, coverage)?;
    let of_digest = OfDigest::of(digest);
    let columns = OfDigest::COLUMNS;
    let update = format!(
        "UPDATE run SET ({columns}) = (?2, ?3, ?4, ?5, ?6)
         WHERE id = ?1 AND ({columns}) IS DISTINCT FROM (?2, ?3, ?4, ?5, ?6)"
    );
    let values: Vec<Value<'_>> = std::iter::once(run_id.into()).chain(of_digest.values()).collect();
    database.execute(&update, &values).map(drop)
}

/// Puts a digest beside a run whose row has all of it already.
pub(crate) fn put_beside(
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
    let insert = "INSERT INTO run_finding (rule, run_id) VALUES (?1, ?2) ON CONFLICT DO NOTHING";
    let rules = digest.findings.iter().map(|finding| values![&finding.rule, run_id].to_vec());
    let rules: Vec<Vec<Value<'_>>> = rules.collect();
    database.execute_each(insert, &rules)
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
