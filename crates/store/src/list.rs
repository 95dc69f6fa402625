//! Lists of runs: what is searched for, filtered and returned a page at a time, without reading an event.
//!
//! A row's text for the search is kept by the database (`schema.rs`, `postgres/schema.rs`): id, plan, label, note,
//! host, targets, and the words of the run's digest. How words are looked for in it is in `search.rs`.

use std::collections::HashMap;
use std::ops::RangeInclusive;

use assay_record::{Outcome, RunDigest, Severity};

use crate::condition::{Clause, Condition, one_of};
use crate::dialect::{Dialect, Reach, like};
use crate::digest::{Coverage, decode, put_digest};
use crate::error::StoreError;
use crate::find;
use crate::reader::Reader;
use crate::row::{self, COLUMN_COUNT, COLUMNS, RunRow};
use crate::sql::{Row, SqlError, Value, values};
use crate::store::Store;

/// Runs that are counted at least, and pages behind the present one: more would take the time of a whole store.
const COUNTED_MAX: usize = 10_000;
const PAGES_AHEAD: usize = 10;

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
    /// The whole label.
    pub on_label: Option<String>,
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
pub enum RunOrder<'r> {
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
    /// By what limits them, the newest of each first; those of which it is not known last.
    Limit,
    /// These, by their ids, in this order; then all others, the newest first.
    First(&'r [String]),
}

/// The order of runs in a slice of them.
const NEWEST_OF_SLICE: &str = "slice_started DESC, slice_id DESC";
const OLDEST_OF_SLICE: &str = "slice_started, slice_id";

impl RunOrder<'_> {
    /// What runs are sorted by before their time, and in which direction.
    fn key(self) -> Option<(&'static str, &'static str)> {
        match self {
            // Those that come first are a list of their own.
            Self::Newest | Self::Oldest | Self::First(_) => None,
            Self::Target => Some(("targets", "")),
            Self::Plan => Some(("name", "")),
            Self::P99 => Some(("p99_us", " DESC NULLS LAST")),
            Self::Limit => Some(("verdict", " NULLS LAST")),
        }
    }

    /// Returns a table of the runs in a slice of those that pass, and the terms of `ORDER BY` that sort it. It has the
    /// numbers of the runs and what they are sorted by, so that no digest is sorted.
    fn slice(self, passing: &Passing, slice: Walked) -> (String, String) {
        let newest = if matches!(self, Self::Oldest) { OLDEST_OF_SLICE } else { NEWEST_OF_SLICE };
        let (column, terms) = match self.key() {
            Some((key, direction)) => {
                (format!(", {key} AS slice_key"), format!("slice_key{direction}, {newest}"))
            }
            None => (String::new(), newest.to_owned()),
        };
        let walk = match (slice.is_from_end, self) {
            (false, _) => terms.as_str(),
            (true, Self::Oldest) => NEWEST_OF_SLICE,
            (true, _) => OLDEST_OF_SLICE,
        };
        let table = format!(
            "(SELECT id AS slice_id, started_unix_ms AS slice_started{column} FROM run{} ORDER BY {walk} \
             LIMIT {} OFFSET {}) AS slice",
            passing.clause(Reach::of(slice.limit)),
            sql_count(slice.limit),
            sql_count(slice.skip),
        );
        (table, terms)
    }
}

/// How a slice is walked to: over the runs before it, or those behind it.
#[derive(Debug, Clone, Copy)]
struct Walked {
    skip: usize,
    limit: usize,
    is_from_end: bool,
}

impl Walked {
    fn to(slice: RunSlice, order: RunOrder<'_>, all: Option<usize>) -> Self {
        let RunSlice { skip, limit } = slice;
        let has_key = !matches!(order, RunOrder::Newest | RunOrder::Oldest);
        match all.filter(|all| !has_key && skip > all / 2) {
            Some(all) => {
                let limit = limit.min(all.saturating_sub(skip));
                Self { skip: all.saturating_sub(skip + limit), limit, is_from_end: true }
            }
            None => Self { skip, limit, is_from_end: false },
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
    /// Number of runs that pass, as far as they were counted.
    pub matching: usize,
    /// Whether more pass: nobody counts a hundred thousand to show the first hundred.
    pub has_more: bool,
}

/// A run in a list, with what it measured.
#[derive(Debug, Clone, PartialEq)]
pub struct ListedRun {
    /// The run.
    pub row: RunRow,
    /// What it measured and found; `None` where nobody has made it yet.
    pub digest: Option<RunDigest>,
}

/// The first complete test of a run, in short.
#[derive(Debug, Clone, PartialEq)]
pub struct FirstTest {
    /// Id of the run.
    pub run: String,
    /// The same for equal tests, steps and loads, and for no others.
    pub load: i64,
    /// Successful operations per second.
    pub iops: f64,
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
        order: RunOrder<'_>,
    ) -> Result<RunPage, StoreError> {
        let passing = self.passing(filter)?;
        match order {
            RunOrder::First(first) => self.list_first(&passing, slice, first),
            _ => self.list_passing(&passing, slice, order),
        }
    }

    /// Returns a slice of the runs that pass: those of a list in its order, then the others, the newest first. Only the
    /// rows of the slice are read, and no run is sorted.
    fn list_first(
        &self,
        passing: &Passing,
        slice: RunSlice,
        first: &[String],
    ) -> Result<RunPage, StoreError> {
        let given = serde_json::json!(first).to_string();
        let is_given = format!("run IN ({})", self.database.dialect().given());
        let among = passing.and(&is_given, Some(Wanted::Text(given)));
        let found = self
            .database
            .rows(&format!("SELECT run, id FROM run{}", among.clause(Reach::All)), &among.values());
        let number = |row: &Row| Ok((row.text(0)?.to_owned(), row.integer(1)?));
        let numbers: Result<HashMap<String, i64>, SqlError> =
            found.and_then(|rows| rows.iter().map(number).collect());
        let numbers = numbers.map_err(|source| self.read_error(source))?;
        let first: Vec<(&String, i64)> =
            first.iter().filter_map(|run| Some((run, *numbers.get(run)?))).collect();
        let own = first.get(slice.skip..).unwrap_or_default();
        let own = &own[..own.len().min(slice.limit)];
        let all = |of: &[(&String, i64)]| one_of(&of.iter().map(|(_, id)| *id).collect::<Vec<_>>());
        let mut page = self.list_passing(&passing.and(&all(own), None), RunSlice::ALL, RunOrder::Newest)?;
        let places: HashMap<&String, usize> = own.iter().map(|(run, _)| *run).zip(0..).collect();
        page.runs.sort_by_key(|run| places.get(&run.row.run).copied());
        let limit = slice.limit.saturating_sub(own.len());
        if limit > 0 {
            // A list without a member has NULL, which no run is not.
            let others = match first.is_empty() {
                true => passing.clone(),
                false => passing.and(&format!("NOT ({})", all(&first)), None),
            };
            let slice = RunSlice { skip: slice.skip.saturating_sub(first.len()), limit };
            page.runs.extend(self.list_passing(&others, slice, RunOrder::Newest)?.runs);
        }
        (page.matching, page.has_more) = self.counted(passing, slice)?;
        Ok(page)
    }

    pub(crate) fn list_passing(
        &self,
        passing: &Passing,
        slice: RunSlice,
        order: RunOrder<'_>,
    ) -> Result<RunPage, StoreError> {
        // Where so many are passed over, to count all takes no longer, and then the shorter way is known.
        let all = (slice.skip >= COUNTED_MAX).then(|| self.count_passing(passing)).transpose()?;
        let (table, terms) = order.slice(passing, Walked::to(slice, order, all));
        let text = format!(
            "SELECT {COLUMNS}, id, digest.body, digest.crc32c FROM {table} JOIN run ON run.id = slice_id \
             LEFT JOIN digest ON digest.run_id = run.id ORDER BY {terms}"
        );
        let found = self.database.rows(&text, &passing.values()).map_err(|source| self.read_error(source))?;
        // A digest that cannot be read is made again, and is no reason to list nothing.
        let digest = |row: &Row| {
            let text = row.text_if_any(COLUMN_COUNT + 1).ok().flatten()?;
            decode(text, row.integer(COLUMN_COUNT + 2).ok()?)
        };
        let digests: Vec<Option<RunDigest>> = found.iter().map(digest).collect();
        let rows = self.with_liveness(numbered(&found).map_err(|source| self.read_error(source))?)?;
        let runs: Vec<ListedRun> =
            rows.into_iter().zip(digests).map(|(row, digest)| ListedRun { row, digest }).collect();
        let is_last = runs.len() < slice.limit && (slice.skip == 0 || !runs.is_empty());
        let (matching, has_more) = match all {
            Some(all) => (all, false),
            None if is_last => (slice.skip + runs.len(), false),
            None => self.counted(passing, slice)?,
        };
        Ok(RunPage { runs, matching, has_more })
    }

    /// Counts the runs that pass, as far as the pages behind a slice need it. Returns whether there are more.
    fn counted(&self, passing: &Passing, slice: RunSlice) -> Result<(usize, bool), StoreError> {
        let ahead = slice.limit.saturating_mul(PAGES_AHEAD);
        let most = slice.skip.saturating_add(ahead).max(COUNTED_MAX);
        let limit = sql_count(most.saturating_add(1));
        let count = format!("SELECT count(*) FROM ({} LIMIT {limit}) AS passing", passing.numbers());
        let found = self.count_of(&count, passing)?;
        Ok((found.min(most), found > most))
    }

    fn count_of(&self, count: &str, passing: &Passing) -> Result<usize, StoreError> {
        let found = self.database.rows(count, &passing.values());
        let found = found.and_then(|rows| rows.first().map_or(Ok(0), |row| row.integer(0)));
        Ok(usize::try_from(found.map_err(|source| self.read_error(source))?).unwrap_or(0))
    }

    /// Returns the first complete test of each run of a plan that passes a filter; no digest is read.
    pub fn first_tests(&self, filter: &RunFilter, plan: &str) -> Result<Vec<FirstTest>, StoreError> {
        let passing = self.passing(filter)?.and("name = ?", Some(Wanted::Text(plan.to_owned())));
        let passing = passing.and("first_load IS NOT NULL", None);
        let text = format!("SELECT run, first_load, first_iops FROM run{}", passing.clause(Reach::All));
        let rows = self.database.rows(&text, &passing.values());
        let of = |row: &Row| {
            Ok(FirstTest { run: row.text(0)?.to_owned(), load: row.integer(1)?, iops: row.real(2)? })
        };
        rows.and_then(|rows| rows.iter().map(of).collect()).map_err(|source| self.read_error(source))
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
        let mut passing = self.passing(filter)?;
        let (mut skip, mut left) = (slice.skip, slice.limit);
        let before = passing.conditions.len();
        loop {
            let limit = left.min(part);
            let text = format!(
                "SELECT {COLUMNS}, id FROM run{} ORDER BY started_unix_ms DESC, id DESC LIMIT {} OFFSET {}",
                passing.clause(Reach::of(limit)),
                sql_count(limit),
                sql_count(skip),
            );
            let found = self.database.rows(&text, &passing.values());
            let found = found.map_err(|source| self.read_error(source))?;
            let last = found.last().map(|row| row.integer(COLUMN_COUNT)).transpose();
            let last = last.map_err(|source| self.read_error(source))?;
            let is_last = found.len() < limit || found.len() == left;
            let rows = numbered(&found).map_err(|source| self.read_error(source))?;
            let Some(last) = last else { return Ok(()) };
            if !visit(self.with_liveness(rows)?) || is_last {
                return Ok(());
            }
            (skip, left) = (0, left - found.len());
            // The next part begins behind the last row of this one, which may be removed meanwhile; if its time is
            // damaged, behind what the database has.
            let place = match found.last().and_then(|row| row.integer(row::STARTED).ok()) {
                Some(started) => format!("({started}, {last})"),
                None => format!("(SELECT started_unix_ms, id FROM run WHERE id = {last})"),
            };
            passing.conditions.truncate(before);
            passing.conditions.push(format!("(started_unix_ms, id) < {place}").into());
        }
    }

    fn passing(&self, filter: &RunFilter) -> Result<Passing, StoreError> {
        let mut found = self.searched(&filter.text)?;
        found.extend(filter.target.as_deref().map(|part| self.has_target(part)).transpose()?);
        Ok(Passing::of(self.database.dialect(), filter, found, &self.unended_of(filter.state)?))
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

    /// Returns the ids of all runs in the order in which they were kept, whatever the clock of the host said: a clock
    /// that was set back between two runs makes the second one start before the first.
    pub fn as_kept(&self) -> Result<Vec<String>, StoreError> {
        let rows = self.database.rows("SELECT run FROM run ORDER BY id", &[]);
        let rows = rows.map_err(|source| self.read_error(source))?;
        // An id that is no text any more can be asked for by nobody.
        Ok(rows.iter().filter_map(|row| row.text(0).ok()).map(str::to_owned).collect())
    }

    /// Returns the id of the run that `name` stands for: an id or a part of it, a label, `last` or `last~N`. No list of
    /// all runs is read.
    pub fn find(&self, name: &str) -> Result<String, StoreError> {
        let newest = |skip, limit| self.rows(&RunFilter::default(), RunSlice { skip, limit });
        let found = match find::runs_back(name) {
            Some(back) => newest(back, 1)?.pop().map(|row| Ok(row.run)),
            None if self.has(name)? => Some(Ok(name.to_owned())),
            None => find::find(&self.called(name)?, name),
        };
        let found = match found {
            Some(found) => found,
            // An id that is no text any more goes by what a list shows of it.
            None if self.id_of_listed(name).is_ok() => Ok(name.to_owned()),
            None => Err(find::none(name, self.count()?, &newest(0, find::LISTED_MAX)?)),
        };
        found.map_err(|source| StoreError::Find { path: self.address().clone(), source })
    }

    /// Returns the runs of exactly that label, the newest first.
    pub fn labelled(&self, label: &str) -> Result<Vec<RunRow>, StoreError> {
        self.rows(&RunFilter { on_label: Some(label.to_owned()), ..RunFilter::default() }, RunSlice::ALL)
    }

    /// Returns the runs that `name` may stand for: those of that label, else those of which it is a part of the id.
    fn called(&self, name: &str) -> Result<Vec<RunRow>, StoreError> {
        let labelled = self.labelled(name)?;
        if !labelled.is_empty() {
            return Ok(labelled);
        }
        let text = format!(
            "SELECT {COLUMNS}, id FROM run WHERE run LIKE ?1 ESCAPE '\\' ORDER BY started_unix_ms DESC, id DESC"
        );
        let read = |source| self.read_error(source);
        let found = self.database.rows(&text, values![&like(name)]).map_err(read)?;
        let mut rows = self.with_liveness(numbered(&found).map_err(read)?)?;
        rows.retain(|row| find::is_part(&row.run, name));
        Ok(rows)
    }

    fn has(&self, run: &str) -> Result<bool, StoreError> {
        let found = self.database.row("SELECT 1 FROM run WHERE run = ?1", values![run]);
        found.map(|row| row.is_some()).map_err(|source| self.read_error(source))
    }

    /// Returns the number of runs that pass a filter.
    pub fn matching(&self, filter: &RunFilter) -> Result<usize, StoreError> {
        self.count_passing(&self.passing(filter)?)
    }

    fn count_passing(&self, passing: &Passing) -> Result<usize, StoreError> {
        self.count_of(&format!("SELECT count(*) FROM ({}) AS passing", passing.numbers()), passing)
    }

    /// Returns the number of runs.
    pub fn count(&self) -> Result<usize, StoreError> {
        self.matching(&RunFilter::default())
    }

    /// Returns the digest of the run with exactly that id, where one was made.
    pub fn digest(&self, run: &str) -> Result<Option<RunDigest>, StoreError> {
        let query = "SELECT body, crc32c FROM digest WHERE run_id = (SELECT id FROM run WHERE run = ?1)";
        let found = self.database.row(query, values![run]).map_err(|source| self.read_error(source))?;
        Ok(found.and_then(|row| decode(row.text(0).ok()?, row.integer(1).ok()?)))
    }

    /// Returns the runs that are not going on and have no digest of all their events: those of earlier versions of
    /// Assay, and those that were killed. The newest first.
    pub fn without_digest(&self) -> Result<Vec<String>, StoreError> {
        self.ended_of(
            "LEFT JOIN digest ON digest.run_id = run.id
             WHERE digest.run_id IS NULL OR digest.is_whole = 0 OR digest.version < ?1",
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
        let read = |source| self.read_error(source);
        let text = format!("SELECT id, run FROM run {clause} ORDER BY id DESC");
        let rows = self.database.rows(&text, values![version]).map_err(read)?;
        let ids = rows.iter().map(|row| row.integer(0)).collect::<Result<Vec<_>, _>>().map_err(read)?;
        let ended = rows.iter().zip(self.are_live(&ids)).filter(|(_, is_live)| !is_live);
        // An id that is no text any more can be asked for by nobody.
        Ok(ended.filter_map(|(row, _)| row.text(1).ok()).map(str::to_owned).collect())
    }

    /// Returns the numbers of the runs without an end that are in that state. There are few: those that go on, and
    /// those that were killed.
    pub(crate) fn unended_of(&self, state: Option<RunState>) -> Result<Vec<i64>, StoreError> {
        let wanted = match state {
            Some(RunState::Running) => true,
            Some(RunState::Partial) => false,
            Some(RunState::Ended(_)) | None => return Ok(Vec::new()),
        };
        let ids = self.unended()?;
        let is_live = self.are_live(&ids);
        Ok(ids.into_iter().zip(is_live).filter(|(_, is_live)| *is_live == wanted).map(|(id, _)| id).collect())
    }

    /// Returns the numbers of the runs without an end.
    pub(crate) fn unended(&self) -> Result<Vec<i64>, StoreError> {
        let rows = self.database.rows("SELECT id FROM run WHERE outcome IS NULL", &[]);
        let ids = rows.and_then(|rows| rows.iter().map(|row| row.integer(0)).collect());
        ids.map_err(|source| self.read_error(source))
    }
}

impl Store {
    /// Keeps the digest of a run that has ended or was killed, made from all of its events.
    pub fn set_digest(&self, run: &str, digest: &RunDigest) -> Result<(), StoreError> {
        let write = |source| StoreError::writing(self.address(), source);
        let Some((id, _)) = self.id_and_end(run)? else {
            // It was removed in the meantime.
            return Ok(());
        };
        self.database.write(write, || put_digest(&self.database, id, digest, Coverage::Whole).map_err(write))
    }
}

/// Returns rows of [`COLUMNS`] and the number, in a form that is checked.
fn numbered(rows: &[Row]) -> Result<Vec<(RunRow, i64)>, SqlError> {
    rows.iter().map(|row| Ok((row::read(row), row.integer(COLUMN_COUNT)?))).collect()
}

/// Returns a number of rows as SQL has it.
fn sql_count(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

impl Reach {
    fn of(limit: usize) -> Self {
        if limit <= COUNTED_MAX { Self::APage } else { Self::All }
    }
}

/// The conditions of a filter, as SQL.
#[derive(Debug, Clone)]
pub(crate) struct Passing {
    dialect: Dialect,
    conditions: Vec<Clause>,
    values: Vec<Wanted>,
}

/// The condition to be one of the runs that this table and its condition have.
fn among(runs: &str) -> Clause {
    Clause::Among(format!("SELECT run_id FROM {runs}"))
}

/// A value of a condition.
#[derive(Debug, Clone)]
enum Wanted {
    Text(String),
    Number(i64),
}

impl Passing {
    /// The conditions of a filter; `found` are those of its text and of the part of a target, and `unended` the runs
    /// without an end that it wants.
    fn of(dialect: Dialect, filter: &RunFilter, found: Vec<Condition>, unended: &[i64]) -> Self {
        let mut passing = Self { dialect, conditions: Vec::new(), values: Vec::new() };
        for Condition { sql, values } in found {
            passing.conditions.push(sql);
            passing.values.extend(values.into_iter().map(Wanted::Text));
        }
        let number = |ms: u64| Wanted::Number(i64::try_from(ms).unwrap_or(i64::MAX));
        let mut add_clause = |clause: Clause, value: Option<Wanted>| {
            if let Some(value) = value {
                passing.conditions.push(clause);
                passing.values.push(value);
            }
        };
        let is_like = |column| format!("{column} {} ? ESCAPE '\\'", dialect.like());
        let part = |text: &Option<String>| text.as_ref().map(|text| Wanted::Text(like(text)));
        let whole = |text: &Option<String>| text.clone().map(Wanted::Text);
        add_clause(among("run_target WHERE address = ?"), whole(&filter.on_target));
        add_clause(among("run_finding WHERE rule = ?"), whole(&filter.rule));
        let mut add = |condition: &str, value| add_clause(condition.into(), value);
        add(&is_like("name"), part(&filter.plan));
        add(&is_like("label"), part(&filter.label));
        add("label = ?", whole(&filter.on_label));
        add(&is_like("host"), part(&filter.host));
        add("started_unix_ms >= ?", filter.since_unix_ms.map(number));
        add("started_unix_ms < ?", filter.until_unix_ms.map(number));
        let outcome = match filter.state {
            Some(RunState::Ended(outcome)) => serde_json::to_string(&outcome).ok().map(Wanted::Text),
            Some(RunState::Running | RunState::Partial) | None => None,
        };
        add("outcome = ?", outcome);
        if matches!(filter.state, Some(RunState::Running | RunState::Partial)) {
            passing.conditions.push(one_of(unended).into());
        }
        match filter.severity {
            Some(Severity::Critical) => passing.conditions.push(among("digest WHERE critical > 0")),
            Some(Severity::Warning) => passing.conditions.push(among("digest WHERE critical + warnings > 0")),
            Some(Severity::Info) => {
                passing.conditions.push("id IN (SELECT run_id FROM run_finding)".into());
            }
            None => {}
        }
        passing
    }

    /// The condition to be a run on a target with one of these numbers.
    pub(crate) fn on_target(dialect: Dialect, address: &str, numbers: RangeInclusive<i64>) -> Self {
        let (first, last) = numbers.into_inner();
        Self {
            dialect,
            conditions: vec![among("run_target WHERE address = ? AND run_id >= ? AND run_id <= ?")],
            values: vec![Wanted::Text(address.to_owned()), Wanted::Number(first), Wanted::Number(last)],
        }
    }

    /// Returns the same with one condition more.
    fn and(&self, condition: &str, value: Option<Wanted>) -> Self {
        let mut passing = self.clone();
        passing.conditions.push(condition.into());
        passing.values.extend(value);
        passing
    }

    fn values(&self) -> Vec<Value<'_>> {
        let values = self.values.iter().map(|wanted| match wanted {
            Wanted::Text(text) => Value::Text(text),
            Wanted::Number(number) => Value::Integer(*number),
        });
        values.collect()
    }

    fn clause(&self, reach: Reach) -> String {
        if self.conditions.is_empty() {
            return String::new();
        }
        let conditions = self.conditions.iter().map(|clause| self.dialect.clause(clause, reach));
        format!(" WHERE {}", conditions.collect::<Vec<_>>().join(" AND "))
    }

    /// Returns a query of the numbers of the runs that pass: to count those of a target, or with words, no run is
    /// looked at.
    fn numbers(&self) -> String {
        match self.conditions.as_slice() {
            [Clause::Among(runs) | Clause::Found(runs)] => runs.clone(),
            _ => format!("SELECT id FROM run{}", self.clause(Reach::All)),
        }
    }
}
