//! Lists of runs: what is searched for, filtered and returned a page at a time, without reading an event.
//!
//! A row's text for the search is kept by triggers (`schema.rs`): id, plan, label, note, host, targets, and the words
//! of the run's digest. Its index is of trigrams, so that any part of a word of three letters is found, as people type
//! it.

use assay_record::{Outcome, RunDigest, Severity};
use rusqlite::types::ToSqlOutput;
use rusqlite::{OptionalExtension as _, ToSql, params_from_iter};

use crate::connect::write_transaction;
use crate::digest::{Coverage, decode, put_digest};
use crate::error::StoreError;
use crate::reader::Reader;
use crate::row::{self, COLUMNS, RunRow};
use crate::store::Store;
use crate::{find, live};

/// Number of words of a search that are looked for.
const WORDS_MAX: usize = 64;
/// Letters below which the index of trigrams is of no use.
const TRIGRAM: usize = 3;

/// Which runs are wanted; by default all.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RunFilter {
    /// Words, each of which is somewhere in the run's id, plan, label, note, host, targets, tests or findings.
    pub text: String,
    /// Part of the address of a target, as typed.
    pub target: Option<String>,
    /// A target, by its name in the store ([`crate::target_key`]).
    pub on_target: Option<String>,
    /// Part of the plan's name.
    pub plan: Option<String>,
    /// Part of the label.
    pub label: Option<String>,
    /// Part of the host's name.
    pub host: Option<String>,
    /// Not started before this, ms since 1970 UTC.
    pub since_unix_ms: Option<u64>,
    /// Started before this, ms since 1970 UTC.
    pub until_unix_ms: Option<u64>,
    /// How it ended, or that it did not.
    pub state: Option<RunState>,
    /// A finding of at least this severity.
    pub severity: Option<Severity>,
    /// A finding of that rule.
    pub rule: Option<String>,
}

/// How a run ended, or that it did not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunState {
    /// It came to its end, in this way.
    Ended(Outcome),
    /// It is going on.
    Running,
    /// It was killed.
    Partial,
}

/// Which of the runs that pass are returned, the newest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RunSlice {
    /// Number of runs to pass over.
    pub skip: usize,
    /// Most runs to return.
    pub limit: usize,
}

/// In which order runs are listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum RunOrder {
    /// The newest first.
    #[default]
    Newest,
    /// The oldest first.
    Oldest,
    /// By target, the newest of each first.
    Target,
    /// By plan, the newest of each first.
    Plan,
    /// By the p99 of their first test, the longest first; those without one last.
    P99,
    /// By what limits them, the same beside each other; those of which nothing is known last.
    Limit,
}

impl RunOrder {
    /// The terms of `ORDER BY`, of runs joined with their digests.
    fn terms(self) -> &'static str {
        match self {
            Self::Newest => "started_unix_ms DESC, id DESC",
            Self::Oldest => "started_unix_ms, id",
            Self::Target => "targets, started_unix_ms DESC, id DESC",
            Self::Plan => "name, started_unix_ms DESC, id DESC",
            Self::P99 => {
                "CASE WHEN json_valid(digest.body) THEN json_extract(digest.body, '$.tests[0].p99_us.value') END DESC, \
                 started_unix_ms DESC, id DESC"
            }
            Self::Limit => {
                "CASE WHEN json_valid(digest.body) THEN json_extract(digest.body, '$.verdict') END NULLS LAST, \
                 started_unix_ms DESC, id DESC"
            }
        }
    }

    /// What the runs are joined with to be ordered.
    fn join(self) -> &'static str {
        match self {
            Self::P99 | Self::Limit => " LEFT JOIN digest ON digest.run_id = run.id",
            Self::Newest | Self::Oldest | Self::Target | Self::Plan => "",
        }
    }
}

impl RunSlice {
    /// Every run.
    pub const ALL: Self = Self { skip: 0, limit: usize::MAX };
}

/// Some of the runs that pass a filter.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct RunPage {
    /// The newest first.
    pub runs: Vec<ListedRun>,
    /// Number of runs that pass.
    pub matching: usize,
}

/// A run in a list, with what it measured.
#[derive(Debug, Clone, PartialEq)]
pub struct ListedRun {
    /// The run.
    pub row: RunRow,
    /// What it measured and found; `None` where nobody has made it yet.
    pub digest: Option<RunDigest>,
}

impl Reader {
    /// Returns a slice of the runs that pass a filter, the newest first.
    pub fn list(&self, filter: &RunFilter, slice: RunSlice) -> Result<RunPage, StoreError> {
        self.list_by(filter, slice, RunOrder::Newest)
    }

    /// The same in another order.
    pub fn list_by(
        &self,
        filter: &RunFilter,
        slice: RunSlice,
        order: RunOrder,
    ) -> Result<RunPage, StoreError> {
        let read = |source| StoreError::reading(self.path(), source);
        let passing = Passing::of(filter, &self.unended_of(filter.state)?);
        let matching = self.matching(filter)?;
        let terms = order.terms();
        // The runs of the slice first: sorting all that pass with their digests takes ten times as long.
        let text = format!(
            "SELECT {COLUMNS}, id, digest.body AS digest, digest.crc32c AS checksum FROM run \
             LEFT JOIN digest ON digest.run_id = run.id WHERE id IN \
             (SELECT id FROM run{}{} ORDER BY {terms} LIMIT {} OFFSET {}) ORDER BY {terms}",
            order.join(),
            passing.clause(),
            i64::try_from(slice.limit).unwrap_or(i64::MAX),
            i64::try_from(slice.skip).unwrap_or(i64::MAX),
        );
        let mut query = self.connection().prepare(&text).map_err(read)?;
        let found = query.query_map(params_from_iter(&passing.values), |of| {
            let digest = of.get::<_, Option<String>>("digest").ok().flatten().zip(of.get("checksum")?);
            let digest = digest.and_then(|(text, checksum)| decode(&text, checksum));
            Ok(((row::read(of)?, of.get::<_, i64>("id")?), digest))
        });
        let found: Vec<((RunRow, i64), Option<RunDigest>)> =
            found.and_then(Iterator::collect::<Result<_, _>>).map_err(read)?;
        let (rows, digests): (Vec<_>, Vec<_>) = found.into_iter().unzip();
        let rows = self.with_liveness(rows)?.into_iter().zip(digests);
        let runs = rows.map(|(row, digest)| ListedRun { row, digest }).collect();
        Ok(RunPage { runs, matching })
    }

    /// Passes the rows of a slice of the runs that pass a filter, the newest first, in parts of at most `part` rows, so
    /// that a list of any length needs the memory of one part. It ends early where `visit` returns false.
    pub fn visit_rows(
        &self,
        filter: &RunFilter,
        slice: RunSlice,
        part: usize,
        visit: &mut dyn FnMut(Vec<RunRow>) -> bool,
    ) -> Result<(), StoreError> {
        let read = |source| StoreError::reading(self.path(), source);
        let passing = Passing::of(filter, &self.unended_of(filter.state)?);
        let text = format!(
            "SELECT {COLUMNS}, id FROM run{} ORDER BY started_unix_ms DESC, id DESC LIMIT {} OFFSET {}",
            passing.clause(),
            i64::try_from(slice.limit).unwrap_or(i64::MAX),
            i64::try_from(slice.skip).unwrap_or(i64::MAX),
        );
        let mut query = self.connection().prepare(&text).map_err(read)?;
        let mut found = query.query(params_from_iter(&passing.values)).map_err(read)?;
        loop {
            let mut rows = Vec::new();
            while rows.len() < part
                && let Some(of) = found.next().map_err(read)?
            {
                rows.push((row::read(of).map_err(read)?, of.get::<_, i64>("id").map_err(read)?));
            }
            let is_last = rows.len() < part;
            if rows.is_empty() || !visit(self.with_liveness(rows)?) || is_last {
                return Ok(());
            }
        }
    }

    /// Returns the rows of a slice of the runs that pass a filter, the newest first.
    pub fn rows(&self, filter: &RunFilter, slice: RunSlice) -> Result<Vec<RunRow>, StoreError> {
        let mut all = Vec::new();
        self.visit_rows(filter, slice, usize::MAX, &mut |rows| {
            all = rows;
            true
        })?;
        Ok(all)
    }

    /// Returns every run, the newest first.
    pub fn runs(&self) -> Result<Vec<RunRow>, StoreError> {
        self.rows(&RunFilter::default(), RunSlice::ALL)
    }

    /// Returns the id of the run that `name` stands for: an id or a part of it, a label, `last` or `last~N`.
    pub fn find(&self, name: &str) -> Result<String, StoreError> {
        // The usual names need no list of all runs.
        if let Some(skip) = find::runs_back(name) {
            let found = self.rows(&RunFilter::default(), RunSlice { skip, limit: 1 })?;
            if let Some(row) = found.into_iter().next() {
                return Ok(row.run);
            }
        } else if self.has(name)? {
            return Ok(name.to_owned());
        }
        find::find(&self.runs()?, name)
            .map_err(|source| StoreError::Find { path: self.path().to_owned(), source })
    }

    fn has(&self, run: &str) -> Result<bool, StoreError> {
        let found = self.connection().prepare_cached("SELECT 1 FROM run WHERE run = ?1");
        found
            .and_then(|mut query| query.exists([run]))
            .map_err(|source| StoreError::reading(self.path(), source))
    }

    /// Returns the number of runs that pass a filter.
    pub fn matching(&self, filter: &RunFilter) -> Result<usize, StoreError> {
        let passing = Passing::of(filter, &self.unended_of(filter.state)?);
        let count = format!("SELECT count(*) FROM run{}", passing.clause());
        let found = self
            .connection()
            .query_row(&count, params_from_iter(&passing.values), |row| row.get::<_, i64>(0))
            .map_err(|source| StoreError::reading(self.path(), source))?;
        Ok(usize::try_from(found).unwrap_or(0))
    }

    /// Returns the number of runs.
    pub fn count(&self) -> Result<usize, StoreError> {
        self.matching(&RunFilter::default())
    }

    /// Returns the digest of the run with exactly that id, where one was made.
    pub fn digest(&self, run: &str) -> Result<Option<RunDigest>, StoreError> {
        let query = "SELECT body, crc32c FROM digest WHERE run_id = (SELECT id FROM run WHERE run = ?1)";
        let found = self
            .connection()
            .query_row(query, [run], |row| Ok((row.get::<_, String>(0)?, row.get::<_, u32>(1)?)));
        let found = found.optional().map_err(|source| StoreError::reading(self.path(), source))?;
        Ok(found.and_then(|(text, checksum)| decode(&text, checksum)))
    }

    /// Returns the runs that are not going on and have no digest of all their events: those of earlier versions of
    /// Assay, and those that were killed. The newest first.
    pub fn without_digest(&self) -> Result<Vec<String>, StoreError> {
        self.ended_of(
            "LEFT JOIN digest ON digest.run_id = run.id
             WHERE digest.run_id IS NULL OR NOT digest.is_whole OR digest.version < ?1",
            RunDigest::VERSION,
        )
    }

    /// Returns the runs that are not going on and have no extract of that version. The newest first.
    pub fn without_extract(&self, version: u32) -> Result<Vec<String>, StoreError> {
        self.ended_of(
            "LEFT JOIN extract ON extract.run_id = run.id
             WHERE extract.run_id IS NULL OR extract.version <> ?1",
            version,
        )
    }

    fn ended_of(&self, clause: &str, version: u32) -> Result<Vec<String>, StoreError> {
        let read = |source| StoreError::reading(self.path(), source);
        let text = format!("SELECT id, run FROM run {clause} ORDER BY id DESC");
        let mut query = self.connection().prepare(&text).map_err(read)?;
        let rows = query
            .query_map([version], |row| Ok((row.get(0)?, row.get(1)?)))
            .and_then(Iterator::collect::<Result<Vec<(i64, String)>, _>>)
            .map_err(read)?;
        let ids: Vec<i64> = rows.iter().map(|(id, _)| *id).collect();
        let is_live = live::are_live(self.path(), &ids);
        Ok(rows.into_iter().zip(is_live).filter(|(_, is_live)| !is_live).map(|((_, run), _)| run).collect())
    }

    /// Returns the numbers of the runs without an end that are in that state. There are few: those that go on, and
    /// those that were killed.
    fn unended_of(&self, state: Option<RunState>) -> Result<Vec<i64>, StoreError> {
        let wanted = match state {
            Some(RunState::Running) => true,
            Some(RunState::Partial) => false,
            Some(RunState::Ended(_)) | None => return Ok(Vec::new()),
        };
        let ids = self.unended()?;
        let is_live = live::are_live(self.path(), &ids);
        Ok(ids.into_iter().zip(is_live).filter(|(_, is_live)| *is_live == wanted).map(|(id, _)| id).collect())
    }

    /// Returns the numbers of the runs without an end.
    pub(crate) fn unended(&self) -> Result<Vec<i64>, StoreError> {
        let read = |source| StoreError::reading(self.path(), source);
        let mut query =
            self.connection().prepare_cached("SELECT id FROM run WHERE outcome IS NULL").map_err(read)?;
        query.query_map([], |row| row.get(0)).and_then(Iterator::collect).map_err(read)
    }
}

impl Store {
    /// Keeps the digest of a run that has ended or was killed, made from all of its events.
    pub fn set_digest(&self, run: &str, digest: &RunDigest) -> Result<(), StoreError> {
        let write = |source| StoreError::writing(self.path(), source);
        let query = "SELECT id FROM run WHERE run = ?1";
        let found = self.connection().query_row(query, [run], |row| row.get::<_, i64>(0));
        let Some(id) = found.optional().map_err(write)? else {
            // It was removed in the meantime.
            return Ok(());
        };
        let transaction = write_transaction(self.connection()).map_err(write)?;
        put_digest(&transaction, id, digest, Coverage::Whole)
            .and_then(|()| transaction.commit())
            .map_err(write)
    }
}

/// The conditions of a filter, as SQL.
#[derive(Default)]
struct Passing {
    conditions: Vec<String>,
    values: Vec<Value>,
}

/// A value of a condition.
#[derive(Debug, Clone)]
enum Value {
    Text(String),
    Number(i64),
}

impl ToSql for Value {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        match self {
            Self::Text(text) => text.to_sql(),
            Self::Number(number) => number.to_sql(),
        }
    }
}

impl Passing {
    /// The conditions of a filter; `unended` are the runs without an end that it wants.
    fn of(filter: &RunFilter, unended: &[i64]) -> Self {
        let mut passing = Self::default();
        passing.words(&filter.text);
        let number = |ms: u64| Value::Number(i64::try_from(ms).unwrap_or(i64::MAX));
        let mut add = |condition: &str, value: Option<Value>| {
            if let Some(value) = value {
                passing.conditions.push(condition.to_owned());
                passing.values.push(value);
            }
        };
        let part = |text: &Option<String>| text.as_ref().map(|text| Value::Text(like(text)));
        let whole = |text: &Option<String>| text.clone().map(Value::Text);
        add(
            "EXISTS (SELECT 1 FROM json_each(CASE WHEN json_valid(targets) THEN targets END) \
             WHERE value LIKE ? ESCAPE '\\')",
            part(&filter.target),
        );
        add("id IN (SELECT run_id FROM run_target WHERE address = ?)", whole(&filter.on_target));
        add("name LIKE ? ESCAPE '\\'", part(&filter.plan));
        add("label LIKE ? ESCAPE '\\'", part(&filter.label));
        add("host LIKE ? ESCAPE '\\'", part(&filter.host));
        add("started_unix_ms >= ?", filter.since_unix_ms.map(number));
        add("started_unix_ms < ?", filter.until_unix_ms.map(number));
        add("id IN (SELECT run_id FROM run_finding WHERE rule = ?)", whole(&filter.rule));
        let outcome = match filter.state {
            Some(RunState::Ended(outcome)) => serde_json::to_string(&outcome).ok().map(Value::Text),
            Some(RunState::Running | RunState::Partial) | None => None,
        };
        add("outcome = ?", outcome);
        if matches!(filter.state, Some(RunState::Running | RunState::Partial)) {
            let ids: Vec<String> = unended.iter().map(i64::to_string).collect();
            passing.conditions.push(format!("id IN ({})", ids.join(",")));
        }
        match filter.severity {
            Some(Severity::Critical) => passing.of_digest("critical > 0"),
            Some(Severity::Warning) => passing.of_digest("critical + warnings > 0"),
            Some(Severity::Info) => {
                passing.conditions.push("id IN (SELECT run_id FROM run_finding)".to_owned());
            }
            None => {}
        }
        passing
    }

    fn of_digest(&mut self, condition: &str) {
        self.conditions.push(format!("id IN (SELECT run_id FROM digest WHERE {condition})"));
    }

    /// Each word must be somewhere in the text. The `+` has SQLite walk the index of times, which a slice ends early,
    /// and not fetch each run that has the words.
    fn words(&mut self, text: &str) {
        // A text ends at a NUL for SQLite, and no stored one has any.
        let words = text.split(|c: char| c.is_whitespace() || c == '\0').filter(|word| !word.is_empty());
        // Each is a condition, and SQLite takes a thousand of them at most; nobody types that many.
        let words = words.take(WORDS_MAX);
        let (long, short): (Vec<&str>, Vec<&str>) = words.partition(|word| word.chars().count() >= TRIGRAM);
        if !long.is_empty() {
            let quoted: Vec<String> =
                long.iter().map(|word| format!("\"{}\"", word.replace('"', "\"\""))).collect();
            self.conditions.push("+id IN (SELECT rowid FROM run_text WHERE run_text MATCH ?)".to_owned());
            self.values.push(Value::Text(quoted.join(" AND ")));
        }
        for word in short {
            let condition = "+id IN (SELECT rowid FROM run_text WHERE text LIKE ? ESCAPE '\\')";
            self.conditions.push(condition.to_owned());
            self.values.push(Value::Text(like(word)));
        }
    }

    fn clause(&self) -> String {
        if self.conditions.is_empty() {
            return String::new();
        }
        format!(" WHERE {}", self.conditions.join(" AND "))
    }
}

/// Returns the pattern of `LIKE … ESCAPE '\'` for a text that contains `part`. It knows upper and lower case of ASCII.
fn like(part: &str) -> String {
    let mut pattern = String::from("%");
    for letter in part.chars() {
        if matches!(letter, '%' | '_' | '\\') {
            pattern.push('\\');
        }
        pattern.push(letter);
    }
    pattern + "%"
}
