//! Where SQLite and PostgreSQL need two forms of one statement. All others are the same for both.

use crate::condition::{Clause, Condition, cases, joined};
use crate::sql::{Row, SqlError};

/// Which SQL a database speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dialect {
    Sqlite,
    Postgres,
}

/// Indexes that only a server has, and a store in one from before there were any may lack.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Indexes {
    /// Of single letters and pairs in the texts of runs.
    pub(crate) pairs: bool,
    /// Of lists of addresses.
    pub(crate) lists: bool,
}

/// Lists of addresses whose numbers stand in a statement.
const WRITTEN_OUT_MAX: usize = 500;

/// How many of the runs that pass are wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reach {
    APage,
    All,
}

impl Dialect {
    /// Begins a transaction that has the right to write from the start. In SQLite a statement that fires a trigger on
    /// the text of the search reads before it writes; where another process writes in between, it fails at once
    /// instead of waiting. PostgreSQL locks rows.
    pub(crate) fn begin_to_write(self) -> &'static str {
        match self {
            Self::Sqlite => "BEGIN IMMEDIATE",
            Self::Postgres => "BEGIN",
        }
    }

    /// Begins a transaction in which all queries see the state of one moment.
    pub(crate) fn begin_to_read(self) -> &'static str {
        match self {
            Self::Sqlite => "BEGIN",
            Self::Postgres => "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY",
        }
    }

    /// Ends a query of a row that is to be changed by what it says: nobody else changes it before this transaction
    /// ends, and events of its run, which refer to it, go on. In SQLite nobody else writes meanwhile.
    pub(crate) fn for_update(self) -> &'static str {
        match self {
            Self::Sqlite => "",
            Self::Postgres => " FOR NO KEY UPDATE",
        }
    }

    /// Compares a text with a pattern, in which upper and lower case of ASCII are one. All columns of PostgreSQL have
    /// the collation "C", by which its own operator knows no other letters either.
    pub(crate) fn like(self) -> &'static str {
        match self {
            Self::Sqlite => "LIKE",
            Self::Postgres => "ILIKE",
        }
    }

    /// Returns each list of addresses that a run has, with its number in PostgreSQL ([`Self::one_of_targets`]).
    pub(crate) fn lists_of_targets(self) -> &'static str {
        match self {
            Self::Sqlite => "SELECT DISTINCT targets FROM run",
            Self::Postgres => {
                "SELECT targets, hashtextextended(targets, 0) FROM (SELECT DISTINCT targets FROM run) AS lists"
            }
        }
    }

    /// The same by an index that only PostgreSQL has: each list is looked up behind the one before.
    pub(crate) fn each_list(self, most: usize) -> String {
        let first = "SELECT targets, hashtextextended(targets, 0) AS number FROM run";
        format!(
            "WITH RECURSIVE list (targets, number) AS (({first} ORDER BY 2 LIMIT 1) UNION ALL \
             SELECT behind.* FROM list CROSS JOIN LATERAL ({first} WHERE hashtextextended(targets, 0) > list.number \
             ORDER BY 2 LIMIT 1) AS behind) SELECT targets, number FROM list LIMIT {most}"
        )
    }

    /// Whether a run has one of these lists of addresses. SQLite has an index of them. A line of an index of
    /// PostgreSQL has 2,704 bytes at most, and a run over hosts has more: there it is of a number of 64 bits that
    /// stands for a list.
    pub(crate) fn one_of_targets(self, lists: &[&Row]) -> Result<Condition, SqlError> {
        Ok(match self {
            Self::Sqlite => {
                let texts: Vec<&str> = lists.iter().map(|row| row.text(0)).collect::<Result<_, _>>()?;
                let sql = format!("targets IN ({})", self.given());
                Condition { sql: sql.into(), values: vec![serde_json::json!(texts).to_string()] }
            }
            Self::Postgres => {
                let numbers: Vec<i64> = lists.iter().map(|row| row.integer(1)).collect::<Result<_, _>>()?;
                let all = format!("{{{}}}", joined(&numbers));
                let is_one_of =
                    |all: &str| format!("hashtextextended(targets, 0) = ANY (CAST({all} AS bigint[]))");
                match numbers.len() <= WRITTEN_OUT_MAX {
                    // The server knows how many runs have these, and chooses by that.
                    true => Condition { sql: is_one_of(&format!("'{all}'")).into(), values: Vec::new() },
                    // Each statement is kept.
                    false => Condition { sql: is_one_of("?::text").into(), values: vec![all] },
                }
            }
        })
    }

    /// Whether a run has exactly that list of addresses, by the same indexes.
    pub(crate) fn has_targets(self) -> &'static str {
        match self {
            Self::Sqlite => "targets = ?1",
            Self::Postgres => {
                "hashtextextended(targets, 0) = hashtextextended(?1::text COLLATE \"C\", 0) AND targets = ?1"
            }
        }
    }

    /// Whether a run is one of those whose numbers a query has. Of many runs a page has few: PostgreSQL finds it
    /// soonest by walking them in their order, and would, for what it expects of the disk, first look up and sort all.
    fn is_among(self, runs: &str, reach: Reach) -> String {
        match (self, reach) {
            (Self::Postgres, Reach::APage) => format!("(id IN ({runs})) IS TRUE"),
            _ => format!("id IN ({runs})"),
        }
    }

    /// Returns a condition as SQL.
    pub(crate) fn clause(self, clause: &Clause, reach: Reach) -> String {
        match clause {
            Clause::Is(condition) => condition.clone(),
            Clause::Among(runs) => self.is_among(runs, reach),
            Clause::Found(runs) => format!("+id IN ({runs})"),
        }
    }

    /// Whether words of three letters or more stand somewhere in the text of a run. SQLite has a table for it, whose
    /// index is of trigrams and knows the cases of all letters; the `+` has it walk the index of times, which a slice
    /// ends early, and not fetch each run that has the words. PostgreSQL has a column, with an index of trigrams where
    /// it has pg_trgm.
    pub(crate) fn has_words(self, words: &[&str]) -> Vec<Condition> {
        match self {
            Self::Sqlite if words.is_empty() => Vec::new(),
            Self::Sqlite => {
                let quoted = words.iter().map(|word| format!("\"{}\"", word.replace('"', "\"\"")));
                let quoted = quoted.collect::<Vec<_>>().join(" AND ");
                let sql = "SELECT rowid FROM run_text WHERE run_text MATCH ?".to_owned();
                vec![Condition { sql: Clause::Found(sql), values: vec![quoted] }]
            }
            Self::Postgres => words.iter().map(|word| self.has_short_word(word)).collect(),
        }
    }

    /// The same for one word, which may be shorter than what the index is made of.
    pub(crate) fn has_short_word(self, word: &str) -> Condition {
        match self {
            Self::Sqlite => {
                let values: Vec<String> = cases(word).iter().map(|word| like(word)).collect();
                let any = vec!["text LIKE ? ESCAPE '\\'"; values.len()].join(" OR ");
                let sql = format!("SELECT rowid FROM run_text WHERE {any}");
                Condition { sql: Clause::Found(sql), values }
            }
            // The text is in small letters, as the server knows them: which they are depends on its locale ("C" has
            // those of ASCII), and others than its own would miss a word that was typed as it is stored.
            Self::Postgres => {
                let sql = "text LIKE lower(?::text COLLATE \"default\") ESCAPE '\\'".to_owned();
                Condition { sql: sql.into(), values: vec![like(word)] }
            }
        }
    }

    /// Returns the numbers of the runs whose text has all pairs of letters of a word, by the index that only PostgreSQL
    /// has. Of a word with pairs its single letters are not looked for: nearly every text has them.
    pub(crate) fn runs_with_pairs(self) -> &'static str {
        "SELECT id FROM run WHERE run_pairs(text) COLLATE \"C\" @> ARRAY(SELECT part COLLATE \"C\" \
         FROM unnest(run_pairs(lower(?1::text COLLATE \"default\"))) AS parts (part) \
         WHERE length(part) > 1 OR length(?1::text) = 1)"
    }

    /// Returns the texts of a JSON array.
    pub(crate) fn given(self) -> &'static str {
        match self {
            Self::Sqlite => "SELECT value FROM json_each(?)",
            Self::Postgres => "SELECT value FROM json_array_elements_text(?::text::json) AS given (value)",
        }
    }

    /// Returns a number that changes when somebody has written; in PostgreSQL also when that was in another schema.
    pub(crate) fn writes(self) -> &'static str {
        match self {
            Self::Sqlite => "PRAGMA data_version",
            Self::Postgres => "SELECT hashtextextended(pg_current_snapshot()::text, 0)",
        }
    }

    /// Returns the numbers of the runs whose row is text and is to be compared as bytes; PostgreSQL has no other.
    pub(crate) fn runs_as_bytes(self) -> Option<&'static str> {
        match self {
            Self::Sqlite => Some("SELECT id, CAST(run AS BLOB) FROM run WHERE typeof(run) = 'text'"),
            Self::Postgres => None,
        }
    }
}

/// Marks a run as going on in a server: the session that writes it holds this lock, which the server drops with it. The
/// number of the table tells stores in one database apart.
pub(crate) const TAKE_LIVE: &str =
    "SELECT pg_try_advisory_lock('run'::regclass::oid::int4, (?1::int8)::int4)";

/// Returns the numbers of the runs that go on in a server.
pub(crate) const LIVE: &str = "SELECT objid::int8 FROM pg_locks WHERE locktype = 'advisory' AND objsubid = 2 \
     AND granted AND classid = 'run'::regclass::oid \
     AND database = (SELECT oid FROM pg_database WHERE datname = current_database())";

/// Has all who would create or convert the tables of a server take turns. The number stands for nothing else.
pub(crate) const TAKE_TURNS: &str = "SELECT pg_advisory_xact_lock(7091421374816258425)";

/// Returns the pattern of `LIKE … ESCAPE '\'` for a text that contains `part`. It knows upper and lower case of ASCII.
pub(crate) fn like(part: &str) -> String {
    let mut pattern = String::from("%");
    for letter in part.chars() {
        if matches!(letter, '%' | '_' | '\\') {
            pattern.push('\\');
        }
        pattern.push(letter);
    }
    pattern + "%"
}
