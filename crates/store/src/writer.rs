//! A run being written. It has a connection of its own, so it may live on the thread that hears the events.

use std::path::{Path, PathBuf};

use assay_record::{Event, RunDigest, RunEvent, RunHeader};
use rusqlite::{Connection, ErrorCode, params};

use crate::connect::{connect_to_read, write_transaction};
use crate::digest::{Coverage, put_digest};
use crate::error::StoreError;
use crate::file::OpenFiles;
use crate::key::key_of_run;
use crate::live::{LiveLock, live_path};
use crate::process::Process;
use crate::row;

/// Pages (of 4 KiB) after which SQLite moves the log into the file while a step still runs: 64 MiB, several hours of
/// intervals. Sooner would put flushes into measured windows.
const CHECKPOINT_PAGES: i64 = 16_384;

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
/// run's row is marked as soon as the store takes a mark, and the run has no end.
#[derive(Debug)]
pub struct RunWriter {
    pub(crate) path: PathBuf,
    run: String,
    pub(crate) run_id: i64,
    /// The files that events go to.
    files: OpenFiles,

    pub(crate) connection: Connection,
    /// Number of events that are stored.
    pub(crate) sequence: i64,
    /// Whether its last event is stored.
    has_ended: bool,
    /// Set by the first event that could not be stored; nothing is stored after it.
    lost: Option<Lost>,
    /// Says that the run is going on.
    _live: LiveLock,
}

impl RunWriter {
    pub(crate) fn begin(
        files: OpenFiles,
        path: PathBuf,
        connection: Connection,
        header: &RunHeader,
        label: Option<&str>,
        note: Option<&str>,
    ) -> Result<Self, StoreError> {
        let write = |source| StoreError::writing(&path, source);
        connection.pragma_update(None, "wal_autocheckpoint", CHECKPOINT_PAGES).map_err(write)?;
        let transaction = write_transaction(&connection).map_err(write)?;
        let run_id = insert_run(&transaction, &path, header, (label, note))?;
        // Before anybody can see the run: it must never look like one that was killed.
        let live = LiveLock::take(&path, run_id)
            .map_err(|source| StoreError::Live { path: live_path(&path), source })?;
        transaction.commit().map_err(write)?;
        let run = header.run.clone();
        Ok(Self {
            path,
            run,
            run_id,
            files,
            connection,
            sequence: 1,
            has_ended: false,
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
    /// Where the event cannot be stored; from then on always [`StoreError::AlreadyLost`].
    pub fn append(&mut self, event: &Event) -> Result<(), StoreError> {
        if matches!(event.what, RunEvent::Started(_)) {
            return Ok(());
        }
        if let Some(lost) = &self.lost {
            let (path, run, why) = (self.path.clone(), self.run.clone(), lost.why.clone());
            self.mark();
            return Err(StoreError::AlreadyLost { path, run, why });
        }
        // SQLite also commits to files that have no name any more.
        let stored = self.store(event).and_then(|()| {
            self.sequence += 1;
            self.files.check()
        });
        if let Err(error) = stored {
            self.lost = Some(Lost { why: with_causes(&error), is_marked: false });
            self.mark();
            return Err(error);
        }
        self.has_ended |= matches!(event.what, RunEvent::Ended(_));
        if matches!(event.what, RunEvent::StepEnded(_) | RunEvent::Ended(_)) {
            self.flush();
        }
        Ok(())
    }

    /// Keeps the digest of the events so far, for lists. Called at the ends of steps and of the run, when no load is
    /// measured. A digest that cannot be kept is no loss: whoever lists runs makes it again.
    ///
    /// # Errors
    /// Where the digest cannot be stored.
    pub fn keep_digest(&self, digest: &RunDigest) -> Result<(), StoreError> {
        let write = |source| StoreError::writing(&self.path, source);
        let coverage = if self.has_ended { Coverage::Whole } else { Coverage::SoFar };
        let transaction = write_transaction(&self.connection).map_err(write)?;
        put_digest(&transaction, self.run_id, digest, coverage)
            .and_then(|()| transaction.commit())
            .map_err(write)
    }

    /// Gives every event that was stored, as a line of JSON without its end, to `take`. A store that was deleted can
    /// still be read through the descriptors of this process.
    ///
    /// # Errors
    /// Where not all of them can be read.
    pub fn each_stored(&self, mut take: impl FnMut(&str)) -> Result<(), StoreError> {
        let read = |source| StoreError::reading(&self.path, source);
        let mut query = self
            .connection
            .prepare("SELECT body FROM event WHERE run_id = ?1 ORDER BY sequence")
            .map_err(read)?;
        let mut rows = query.query([self.run_id]).map_err(read)?;
        while let Some(row) = rows.next().map_err(read)? {
            take(row.get_ref(0).map_err(read)?.as_str().map_err(|source| read(source.into()))?);
        }
        Ok(())
    }

    /// Ends the writing, and reads the run back by the store's name: whoever looks for it must find it there.
    ///
    /// # Errors
    /// Where an event could not be stored, or the store has lost some.
    pub fn finish(&self) -> Result<(), StoreError> {
        if let Some(lost) = &self.lost {
            let (path, run, why) = (self.path.clone(), self.run.clone(), lost.why.clone());
            return Err(StoreError::AlreadyLost { path, run, why });
        }
        self.files.check()?;
        let connection = connect_to_read(&self.path, "mode=ro")?;
        let query = "SELECT count(*) FROM event JOIN run ON run.id = run_id WHERE run = ?1";
        let found = connection.query_row(query, [&self.run], |row| row.get(0));
        let found: i64 = found.map_err(|source| StoreError::reading(&self.path, source))?;
        if found == self.sequence {
            return Ok(());
        }
        let why = format!("it has {found} of {} events", self.sequence);
        Err(StoreError::Unkept { path: self.path.clone(), run: self.run.clone(), why })
    }

    fn store(&self, event: &Event) -> Result<(), StoreError> {
        let write = |source| StoreError::writing(&self.path, source);
        let transaction = self.connection.unchecked_transaction().map_err(write)?;
        insert_event(&transaction, &self.path, (self.run_id, self.sequence), event)?;
        transaction.commit().map_err(write)
    }

    /// Says in the run's row that events are missing, where that is so. What keeps the store from taking an event may
    /// keep it from taking this too, so it is tried again with each later event and at the end.
    fn mark(&mut self) {
        let Some(lost) = self.lost.as_mut().filter(|lost| !lost.is_marked) else { return };
        let (connection, id) = (&self.connection, self.run_id);
        let marked = connection.unchecked_transaction().and_then(|transaction| {
            transaction.execute("UPDATE run SET lost = ?2 WHERE id = ?1", params![id, lost.why])?;
            row::seal(&transaction, id)?;
            transaction.commit()
        });
        lost.is_marked = marked.is_ok();
    }

    /// Moves the log into the file, flushed, while no load is measured. Where a reader is in the way, or the disk
    /// refuses, the log keeps everything and the next flush, or the next process, does it.
    fn flush(&self) {
        let moved = self.connection.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(()));
        drop(moved);
    }
}

/// Inserts the run of a header, with a label and a note, and its first event. Returns its number.
pub(crate) fn insert_run(
    transaction: &Connection,
    path: &Path,
    header: &RunHeader,
    (label, note): (Option<&str>, Option<&str>),
) -> Result<i64, StoreError> {
    let write = |source| StoreError::writing(path, source);
    let encode = |source| StoreError::Encode { path: path.to_owned(), source };
    let addresses: Vec<&str> = header.targets.iter().map(|t| t.address.as_str()).collect();
    let targets = serde_json::to_string(&addresses).map_err(encode)?;
    let first = Event { at_ns: 0, what: RunEvent::Started(Box::new(header.clone())) };
    let started = i64::try_from(header.started_unix_ms).unwrap_or(i64::MAX);
    let process = Process::this().map(|process| serde_json::to_string(&process)).transpose();
    let process = process.map_err(encode)?;
    let inserted = transaction.execute(
        "INSERT INTO run (run, name, label, note, started_unix_ms, targets, host, process)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
        params![header.run, header.plan.name, label, note, started, targets, header.host.name, process],
    );
    if let Err(source) = inserted {
        return Err(match source.sqlite_error_code() {
            Some(ErrorCode::ConstraintViolation) => {
                StoreError::RunExists { path: path.to_owned(), run: header.run.clone() }
            }
            _ => write(source),
        });
    }
    let run_id = transaction.last_insert_rowid();
    insert_event(transaction, path, (run_id, 0), &first)?;
    row::seal(transaction, run_id).map_err(write)?;
    for target in &header.targets {
        let insert = "INSERT OR IGNORE INTO run_target (address, run_id) VALUES (?1, ?2)";
        transaction.execute(insert, params![key_of_run(target), run_id]).map_err(write)?;
    }
    Ok(run_id)
}

/// Inserts an event of a run with its number; the last one has the outcome for the run's row.
pub(crate) fn insert_event(
    transaction: &Connection,
    path: &Path,
    (run_id, sequence): (i64, i64),
    event: &Event,
) -> Result<(), StoreError> {
    let write = |source| StoreError::writing(path, source);
    let encode = |source| StoreError::Encode { path: path.to_owned(), source };
    let body = serde_json::to_string(event).map_err(encode)?;
    insert(transaction, run_id, sequence, &body).map_err(write)?;
    if let RunEvent::Ended(outcome) = &event.what {
        let outcome = serde_json::to_string(outcome).map_err(encode)?;
        let update = "UPDATE run SET outcome = ?2 WHERE id = ?1";
        transaction.execute(update, params![run_id, outcome]).map_err(write)?;
        row::seal(transaction, run_id).map_err(write)?;
    }
    Ok(())
}

fn insert(connection: &Connection, run_id: i64, sequence: i64, body: &str) -> rusqlite::Result<()> {
    let mut statement = connection
        .prepare_cached("INSERT INTO event (run_id, sequence, body, crc32c) VALUES (?1, ?2, ?3, ?4)")?;
    statement.execute(params![run_id, sequence, body, crc32c::crc32c(body.as_bytes())]).map(drop)
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
