//! A run being written. It has a connection of its own, so it may live on the thread that hears the events.

use assay_record::{Event, Outcome, RunDigest, RunEvent, RunHeader};

use crate::database::Database;
use crate::digest::{Coverage, OfDigest, put_digest};
use crate::error::StoreError;
use crate::key::key_of_run;
use crate::process::Process;
use crate::reader::PART;
use crate::row;
use crate::server::{Live, OpenStore, open_by_name, open_to_write};
use crate::sql::{Kind, SqlError, Value, values};

/// Pages (of 16 KiB) after which SQLite moves the log into the file while a step still runs: 128 MiB, an hour of
/// intervals or more. Sooner would put flushes into measured windows.
pub(crate) const CHECKPOINT_PAGES: i64 = 8_192;

/// What the connection of a run keeps of the file, KiB: it only appends, and reads no page again. With the 24 MiB of a
/// reader, a run grows for hours.
const CACHE_KIB: i64 = 512;

/// An event and its JSON.
type Line<'e> = (&'e Event, &'e str);

/// Why events are missing from some moment on.
#[derive(Debug)]
struct Lost {
    why: String,
    /// Whether the run's row says so.
    is_marked: bool,
}

/// Appends the events of one run.
///
/// The first event that cannot be stored is the last one that is tried: a run with a gap in it would look whole. The
/// run's row is marked as soon as the store takes a mark, and the run has no end. A server that is away is no such end:
/// whoever has the events since may go on with [`RunWriter::resume`].
#[derive(Debug)]
pub struct RunWriter {
    run: String,
    pub(crate) run_id: i64,

    pub(crate) to: OpenStore,
    /// Number of events that are stored.
    pub(crate) sequence: i64,
    /// Whether its last event is stored.
    has_ended: bool,
    /// Why the server is away.
    away: Option<String>,
    /// Set by the first event that could not be stored; nothing is stored after it.
    lost: Option<Lost>,
    /// Says that the run is going on.
    _live: Option<Live>,
}

impl RunWriter {
    pub(crate) fn begin(
        to: OpenStore,
        header: &RunHeader,
        (label, note): (Option<&str>, Option<&str>),
    ) -> Result<Self, StoreError> {
        let known = Known { label, note, ..Known::default() };
        let write = |source| to.write_error(source);
        if let Database::Sqlite(connection) = &to.database {
            let set = connection
                .pragma_update(None, "wal_autocheckpoint", CHECKPOINT_PAGES)
                .and_then(|()| connection.pragma_update(None, "cache_size", -CACHE_KIB));
            set.map_err(|source| write(source.into()))?;
        }
        let (run_id, live) = to.database.write(write, || {
            let run_id = insert_run(&to, header, &known)?;
            // Before anybody can see the run: it must never look like one that was killed.
            Ok((run_id, to.mark_live(run_id)?))
        })?;
        Ok(Self {
            run: header.run.clone(),
            run_id,
            to,
            sequence: 1,
            has_ended: false,
            away: None,
            lost: None,
            _live: live,
        })
    }

    /// The id of the run.
    #[must_use]
    pub fn run(&self) -> &str {
        &self.run
    }

    /// Appends an event. When this returns the event is committed: no signal to this process can lose it.
    ///
    /// [`RunEvent::Started`] was stored when the run began, so a second one is passed over.
    ///
    /// # Errors
    /// Where the event cannot be stored; from then on always [`StoreError::AlreadyLost`], but where the server is away
    /// ([`StoreError::is_away`]) until [`RunWriter::resume`].
    pub fn append(&mut self, event: &Event) -> Result<(), StoreError> {
        self.append_all(std::slice::from_ref(event))
    }

    /// Appends events in one transaction, which costs hardly more than one event. When this returns all are committed.
    ///
    /// # Errors
    /// As [`RunWriter::append`]; of events that cannot be stored together, those before the first one that cannot be
    /// stored are.
    pub fn append_all(&mut self, events: &[Event]) -> Result<(), StoreError> {
        let mut lines = Vec::with_capacity(events.len());
        let mut unwritten = None;
        for event in events {
            match serde_json::to_string(event) {
                Ok(line) => lines.push((event, line)),
                Err(source) => {
                    unwritten = Some(StoreError::Encode { path: self.to.address.clone(), source });
                    break;
                }
            }
        }
        self.append_lines(&lines)?;
        unwritten.map_or(Ok(()), |error| Err(self.fail(error)))
    }

    /// The same of events whose JSON is there already.
    ///
    /// # Errors
    /// As [`RunWriter::append_all`].
    pub fn append_lines(&mut self, events: &[(&Event, String)]) -> Result<(), StoreError> {
        let events: Vec<Line<'_>> = events
            .iter()
            .filter(|(event, _)| !matches!(event.what, RunEvent::Started(_)))
            .map(|(event, line)| (*event, line.as_str()))
            .collect();
        if events.is_empty() {
            return Ok(());
        }
        self.mark();
        self.check_open()?;
        let before = self.sequence;
        match self.append_together(&events) {
            Err(error) if events.len() > 1 && self.sequence == before && !error.is_away() => {
                // Nothing of them is there. As many as can be are stored, as if they had come one by one.
                let mut one_by_one = events.iter().map(|event| self.append_together(&[*event]));
                let stored = one_by_one.try_for_each(|stored| stored);
                stored.map_err(|error| self.fail(error))
            }
            stored => stored.map_err(|error| self.fail(error)),
        }
    }

    /// Notes that nothing more can be stored.
    fn fail(&mut self, error: StoreError) -> StoreError {
        let why = with_causes(&error);
        if error.is_away() {
            self.to.database.abandon();
            self.away = Some(why);
        } else {
            self.lost = Some(Lost { why, is_marked: false });
        }
        self.mark();
        error
    }

    fn append_together(&mut self, events: &[Line<'_>]) -> Result<(), StoreError> {
        insert_events(&self.to, (self.run_id, self.sequence), events)?;
        self.sequence += i64::try_from(events.len()).unwrap_or(0);
        self.has_ended |= events.iter().any(|(event, _)| matches!(event.what, RunEvent::Ended(_)));
        self.to.check()?;
        let is_quiet =
            |(event, _): &Line<'_>| matches!(event.what, RunEvent::StepEnded(_) | RunEvent::Ended(_));
        if events.iter().any(is_quiet) { self.flush() } else { Ok(()) }
    }

    /// Connects anew to a server that was away. Returns the number of events of the run that it has: the last one that
    /// was tried may be among them. The next event to append is the one after those.
    ///
    /// # Errors
    /// Where it is still away, or the run is no longer there.
    pub fn resume(&mut self) -> Result<usize, StoreError> {
        if self.away.is_none() {
            self.check_open()?;
        }
        let to = open_to_write(&self.to.address).map_err(|error| match error {
            // It is going to answer again.
            StoreError::Open { path, source } => StoreError::Away { path, source },
            error => error,
        })?;
        let write = |source| to.write_error(source);
        // A session that the server has not given up yet may still commit its last statement.
        let live = to.mark_live(self.run_id)?;
        if live.is_none() {
            let says = "it has not given up the session before".to_owned();
            return Err(write(SqlError::Lost { says }));
        }
        let query = "SELECT count(*), max(sequence), max(outcome) FROM event JOIN run ON run.id = run_id
                     WHERE run = ?1 AND run.id = ?2";
        let row = to.database.row(query, values![&self.run, self.run_id]).map_err(write)?;
        let row = row.ok_or_else(|| self.unkept("it is no longer there".to_owned()))?;
        let (stored, last) = (row.integer(0).map_err(write)?, row.integer_if_any(1).map_err(write)?);
        if last != Some(stored - 1) {
            let error = self.unkept(format!("it has {stored} events, and not the first ones"));
            self.lost = Some(Lost { why: with_causes(&error), is_marked: false });
            return Err(error);
        }
        self.has_ended = row.text_if_any(2).map_err(write)?.is_some();
        // Without its session the run looked killed, and whoever lists runs may have made these for good.
        for forget in
            ["UPDATE digest SET is_whole = 0 WHERE run_id = ?1", "DELETE FROM extract WHERE run_id = ?1"]
        {
            to.database.execute(forget, values![self.run_id]).map_err(write)?;
        }
        (self.sequence, self.away) = (stored, None);
        (self.to, self._live) = (to, live);
        Ok(usize::try_from(stored).unwrap_or(0))
    }

    /// Returns an error where an event could not be stored.
    fn check_open(&self) -> Result<(), StoreError> {
        let why = self.lost.as_ref().map(|lost| &lost.why).or(self.away.as_ref());
        why.map_or(Ok(()), |why| {
            let (path, run) = (self.to.address.clone(), self.run.clone());
            Err(StoreError::AlreadyLost { path, run, why: why.clone() })
        })
    }

    fn unkept(&self, why: String) -> StoreError {
        StoreError::Unkept { path: self.to.address.clone(), run: self.run.clone(), why }
    }

    /// Keeps the digest of the events so far, for lists. Called at the ends of steps and of the run, when no load is
    /// measured. A digest that cannot be kept is no loss: whoever lists runs makes it again.
    ///
    /// # Errors
    /// Where the digest cannot be stored.
    pub fn keep_digest(&self, digest: &RunDigest) -> Result<(), StoreError> {
        let write = |source| self.to.write_error(source);
        let coverage = if self.has_ended { Coverage::Whole } else { Coverage::SoFar };
        let database = &self.to.database;
        database.write(write, || put_digest(database, self.run_id, digest, coverage).map_err(write))
    }

    /// Gives every event that was stored, as a line of JSON without its end, to `take`. A store that was deleted can
    /// still be read through the descriptors of this process.
    ///
    /// # Errors
    /// Where not all of them can be read.
    pub fn each_stored(&self, mut take: impl FnMut(&str)) -> Result<(), StoreError> {
        let read = |source| StoreError::reading(&self.to.address, source);
        let query = "SELECT body FROM event WHERE run_id = ?1 AND sequence >= ?2 ORDER BY sequence LIMIT ?3";
        for first in (0..).step_by(PART) {
            let values: [i64; 3] = [self.run_id, first, PART as i64];
            let rows = self.to.database.rows(query, &values.map(Into::into)).map_err(read)?;
            for row in &rows {
                take(row.text(0).map_err(read)?);
            }
            if rows.len() < PART {
                break;
            }
        }
        Ok(())
    }

    /// Ends the writing, and reads the run back by the store's name: whoever looks for it must find it there.
    ///
    /// # Errors
    /// Where an event could not be stored, the store has lost some, or its server is away
    /// ([`StoreError::is_away`]): then [`RunWriter::resume`] may bring it back.
    pub fn finish(&mut self) -> Result<(), StoreError> {
        self.check_open()?;
        self.to.check()?;
        let by_name = open_by_name(&self.to.address)?;
        let database = by_name.as_ref().unwrap_or(&self.to.database);
        let read = |source| StoreError::reading(&self.to.address, source);
        let query = "SELECT count(*) FROM event JOIN run ON run.id = run_id WHERE run = ?1";
        let found =
            database.row(query, values![&self.run]).and_then(|row| row.map_or(Ok(0), |row| row.integer(0)));
        let found = found.map_err(read);
        if let Err(error) = &found
            && error.is_away()
        {
            self.to.database.abandon();
            self.away = Some(with_causes(error));
        }
        match found? {
            found if found == self.sequence => Ok(()),
            found => Err(self.unkept(format!("it has {found} of {} events", self.sequence))),
        }
    }

    /// Says in the run's row that events are missing, where that is so. What keeps the store from taking an event may
    /// keep it from taking this too, so it is tried again with each later event and at the end.
    fn mark(&mut self) {
        let Some(lost) = self.lost.as_mut().filter(|lost| !lost.is_marked) else { return };
        let (database, id) = (&self.to.database, self.run_id);
        let marked = database.write(|error| error, || row::set(database, id, "lost", (&lost.why).into()));
        lost.is_marked = marked.is_ok();
    }

    /// Moves the log of a file into it, flushed, while no load is measured. Where a reader is in the way, or the file
    /// cannot grow, the log keeps everything and the next flush, or the next process, does it.
    ///
    /// # Errors
    /// Where the disk fails a flush: the kernel may have dropped what was written, and a later flush that succeeds
    /// says nothing about it.
    fn flush(&self) -> Result<(), StoreError> {
        let Database::Sqlite(connection) = &self.to.database else { return Ok(()) };
        let moved = connection.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(()));
        match moved.map_err(SqlError::from) {
            Err(source) if source.is_failed_flush() => Err(self.to.write_error(source)),
            _ => Ok(()),
        }
    }
}

/// What is known of a run beside its header when its row is made.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Known<'r> {
    pub(crate) label: Option<&'r str>,
    pub(crate) note: Option<&'r str>,
    pub(crate) lost: Option<&'r str>,
    pub(crate) outcome: Option<Outcome>,
    pub(crate) digest: Option<&'r RunDigest>,
}

/// Inserts the run of a header with all that is known of it, sealed, and its first event. Returns its number.
pub(crate) fn insert_run(to: &OpenStore, header: &RunHeader, known: &Known<'_>) -> Result<i64, StoreError> {
    let encode = |source| StoreError::Encode { path: to.address.clone(), source };
    let write = |source| to.write_error(source);
    let addresses: Vec<&str> = header.targets.iter().map(|t| t.address.as_str()).collect();
    let targets = serde_json::to_string(&addresses).map_err(encode)?;
    let first = Event { at_ns: 0, what: RunEvent::Started(Box::new(header.clone())) };
    let first = serde_json::to_string(&first).map_err(encode)?;
    let started = i64::try_from(header.started_unix_ms).unwrap_or(i64::MAX);
    let process = Process::this().map(|process| serde_json::to_string(&process)).transpose();
    let process = process.map_err(encode)?;
    let outcome = known.outcome.map(|outcome| serde_json::to_string(&outcome)).transpose().map_err(encode)?;
    let (run, name, host) = (&header.run, &header.plan.name, &header.host.name);
    let Known { label, note, lost, .. } = *known;
    let row: &[Value<'_>; row::COVERED] =
        values![run, name, outcome.as_ref(), label, note, started, &targets, lost, host];
    let of_digest = known.digest.map(OfDigest::of);
    let of_digest = of_digest.as_ref().map_or([Value::Null; 5], OfDigest::values);
    let mut all: Vec<Value<'_>> = row.to_vec();
    all.extend(values![row::checksum_of(row), process.as_ref()]);
    all.extend(of_digest);
    let insert = format!(
        "INSERT INTO run ({}, process, {}) VALUES (?{}) RETURNING id",
        row::COLUMNS,
        OfDigest::COLUMNS,
        ", ?".repeat(all.len() - 1),
    );
    let inserted = to.database.row(&insert, &all).and_then(|row| row.map_or(Ok(0), |row| row.integer(0)));
    let run_id = inserted.map_err(|source| match source.kind() {
        Kind::Duplicate => StoreError::RunExists { path: to.address.clone(), run: run.clone() },
        _ => write(source),
    })?;
    insert_lines(to, (run_id, 0), &[first])?;
    let keys: Vec<String> = header.targets.iter().map(key_of_run).collect();
    let keys: Vec<Vec<Value<'_>>> = keys.iter().map(|key| values![key, run_id].to_vec()).collect();
    let insert = "INSERT INTO run_target (address, run_id) VALUES (?1, ?2) ON CONFLICT DO NOTHING";
    to.database.execute_each(insert, &keys).map_err(write)?;
    Ok(run_id)
}

/// Inserts events of a run, the first with that number and all in one transaction; the last one of a run has the
/// outcome for its row.
fn insert_events(to: &OpenStore, (run_id, first): (i64, i64), events: &[Line<'_>]) -> Result<(), StoreError> {
    let bodies: Vec<&str> = events.iter().map(|(_, line)| *line).collect();
    let outcome = events.iter().find_map(|(event, _)| match event.what {
        RunEvent::Ended(outcome) => Some(outcome),
        _ => None,
    });
    let insert = || {
        insert_lines(to, (run_id, first), &bodies)?;
        outcome.map_or(Ok(()), |outcome| set_outcome(to, run_id, outcome))
    };
    match bodies.len() {
        // One statement is a transaction of its own.
        1 if outcome.is_none() => insert(),
        _ => to.database.write(|source| to.write_error(source), insert),
    }
}

/// Inserts the JSON of events, the first with that number.
pub(crate) fn insert_lines(
    to: &OpenStore,
    (run_id, first): (i64, i64),
    bodies: &[impl AsRef<str>],
) -> Result<(), StoreError> {
    let insert = "INSERT INTO event (run_id, sequence, body, crc32c) VALUES (?1, ?2, ?3, ?4)";
    let rows = (first..)
        .zip(bodies)
        .map(|(sequence, body)| (sequence, body.as_ref()))
        .map(|(sequence, body)| values![run_id, sequence, body, crc32c::crc32c(body.as_bytes())].to_vec());
    let rows: Vec<Vec<Value<'_>>> = rows.collect();
    to.database.execute_each(insert, &rows).map_err(|source| to.write_error(source))
}

/// Sets the outcome of a run that has ended.
fn set_outcome(to: &OpenStore, run_id: i64, outcome: Outcome) -> Result<(), StoreError> {
    let outcome = serde_json::to_string(&outcome);
    let outcome = outcome.map_err(|source| StoreError::Encode { path: to.address.clone(), source })?;
    let set = row::set(&to.database, run_id, "outcome", (&outcome).into());
    set.map_err(|source| to.write_error(source))
}

impl Drop for RunWriter {
    fn drop(&mut self) {
        self.mark();
    }
}

/// Returns a message with those of its causes.
fn with_causes(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(error.source(), |cause| cause.source());
    causes.map(ToString::to_string).fold(error.to_string(), |text, cause| {
        if text.contains(&cause) { text } else { format!("{text}: {cause}") }
    })
}
