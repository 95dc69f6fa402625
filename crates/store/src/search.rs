//! Words that are looked for in the texts of runs: any part of a word is found, as people type it.
//!
//! In SQLite the texts have an index of trigrams, which finds what has three letters or more; of fewer, all texts are
//! read. In PostgreSQL they have one of trigrams, where there is pg_trgm, and one of single letters and pairs. An index
//! is of use for a word that few runs have, and these are looked for first. What many have is found soonest by walking
//! the runs, the newest first, which a page ends early.

use crate::condition::{Condition, joined};
use crate::dialect::{Dialect, Reach};
use crate::error::StoreError;
use crate::reader::Reader;
use crate::sql::Value;

/// Number of words of a search that are looked for.
const WORDS_MAX: usize = 64;
/// Letters below which an index of trigrams is of no use.
const TRIGRAM: usize = 3;
/// A word that more runs have than this is found sooner without an index.
const RARE_MAX: usize = 5_000;
/// Words of a search of which it is found out whether they are rare.
const PROBED_MAX: usize = 4;
/// Newest runs in which it is looked whether nearly every run has a word.
const SEEN: i64 = 200;

impl Reader {
    /// Returns the conditions of a search: each word must be somewhere in the text.
    pub(crate) fn searched(&self, text: &str) -> Result<Vec<Condition>, StoreError> {
        let dialect = self.database.dialect();
        // A text ends at a NUL for SQLite, and no stored one has any.
        let words = text.split(|c: char| c.is_whitespace() || c == '\0').filter(|word| !word.is_empty());
        // Each is a condition, and SQLite takes a thousand of them at most; nobody types that many.
        let words: Vec<&str> = words.take(WORDS_MAX).collect();
        let (long, short): (Vec<&str>, Vec<&str>) =
            words.iter().partition(|word| word.chars().count() >= TRIGRAM);
        let mut conditions = dialect.has_words(&long);
        conditions.extend(short.iter().map(|word| dialect.has_short_word(word)));
        if self.database.indexes().pairs {
            // The rarest word would do; the first rare one leaves little to look at.
            for word in self.not_usual(dialect, &words)?.into_iter().take(PROBED_MAX) {
                if let Some(runs) = self.rare(dialect, word)? {
                    // In one value: the server reads it once, and not as thousands of words of a statement.
                    let runs = format!("{{{}}}", joined(&runs));
                    let sql = "id = ANY (CAST(?::text AS bigint[]))".to_owned();
                    conditions.push(Condition { sql: sql.into(), values: vec![runs] });
                    break;
                }
            }
        }
        Ok(conditions)
    }

    /// Returns the words that fewer than half of the newest runs have: which runs have one of the others need not be
    /// looked up, as a page of them is found at once.
    fn not_usual<'w>(&self, dialect: Dialect, words: &[&'w str]) -> Result<Vec<&'w str>, StoreError> {
        if words.is_empty() {
            return Ok(Vec::new());
        }
        let has = words.iter().map(|word| dialect.has_short_word(word)).collect::<Vec<_>>();
        let is = |has: &Condition| dialect.clause(&has.sql, Reach::APage);
        let counts = has.iter().map(|has| format!("count(CASE WHEN {} THEN 1 END)", is(has)));
        let sql = format!(
            "SELECT count(*), {} FROM (SELECT text FROM run ORDER BY started_unix_ms DESC, id DESC LIMIT {SEEN}) \
             AS newest",
            counts.collect::<Vec<_>>().join(", ")
        );
        let values: Vec<Value<'_>> = has.iter().flat_map(|has| &has.values).map(Value::from).collect();
        let read = |source| self.read_error(source);
        let Some(row) = self.database.row(&sql, &values).map_err(read)? else { return Ok(words.to_vec()) };
        let seen = row.integer(0).map_err(read)?;
        let is_usual =
            |place: usize| row.integer(place + 1).is_ok_and(|count| 2 * count >= seen && seen == SEEN);
        Ok((0..).zip(words).filter(|(place, _)| !is_usual(*place)).map(|(_, word)| *word).collect())
    }

    /// Returns the numbers of the runs that may have a word, as they have all its pairs of letters; `None` where they
    /// are many.
    fn rare(&self, dialect: Dialect, word: &str) -> Result<Option<Vec<i64>>, StoreError> {
        let read = |source| self.read_error(source);
        let rows = self.database.within(BY_PAIRS, read, || {
            let sql = format!("{} LIMIT {}", dialect.runs_with_pairs(), RARE_MAX + 1);
            self.database.rows(&sql, &[Value::Text(word)]).map_err(read)
        })?;
        let runs = rows.iter().map(|row| row.integer(0)).collect::<Result<Vec<i64>, _>>().map_err(read)?;
        Ok((runs.len() <= RARE_MAX).then_some(runs))
    }
}

/// Begins a transaction in which the server uses the index of pairs. Without it the text of each run would be taken to
/// pieces, which takes minutes, and a server that has not counted the rows of a table yet chooses anything.
const BY_PAIRS: &str = "BEGIN READ ONLY; SET LOCAL jit = off; SET LOCAL enable_seqscan = off; \
                        SET LOCAL enable_indexscan = off; SET LOCAL enable_indexonlyscan = off";
