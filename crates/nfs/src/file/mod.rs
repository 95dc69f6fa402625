//! One file, accessed in parallel over several connections; all work happens in the caller's thread.
//!
//! ```text
//! submit -> waiting -> calls -> connection.tx -> wire -> connection.rx -> settle -> ready -> poll
//!                        ^                        |
//!                        |--- connection fails ---+   the same bytes, with the same xid, go out again
//! ```

mod commit;
mod dispatch;
mod expire;
mod path;
mod recover;
mod settle;
mod table;

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use assay_tcp::{Completions, EventLog, StallWatch, TICK, TcpFactsReader, Waiting};

use crate::config::FileConfig;
use crate::error::{FileError, IoError, Lost};
use crate::events::{Event, EventKind};
use crate::nfs3::{Stable, Template, Verifier};
use crate::stats::{ConnectionStatus, WriteStats};
use path::{Answer, Path, State};
use table::{CallState, Owner, Tables};

/// Number of calls beyond the caller's depth: split I/O, a ping for each connection, a COMMIT.
const CALLS_MORE: u32 = 256;

/// Operation of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Read into the buffer.
    Read,
    /// Write from the buffer.
    Write,
}

/// One I/O with its buffer.
#[derive(Debug)]
pub struct Command<B> {
    /// Tag chosen by the caller, returned with the completion.
    pub tag: u64,
    /// Operation.
    pub kind: Kind,
    /// Offset, bytes.
    pub offset_bytes: u64,
    /// Length, bytes; at least 1, at most the buffer's length.
    pub data_bytes: u32,
    /// Buffer; it moves in and is returned with the completion.
    pub buf: B,
}

/// Completion of one I/O.
#[derive(Debug)]
pub struct Completion<B> {
    /// Tag chosen by the caller.
    pub tag: u64,
    /// The buffer.
    pub buf: B,
    /// Number of bytes transferred (fewer than requested only at the end of the file), or the error.
    pub result: Result<u32, IoError>,
    /// Connection of the last call.
    pub path: Option<u8>,
    /// True for a write whose data were sent over a connection that was lost before the answer: the server may still
    /// execute that copy, even after newer writes. NFSv3 has no means to recall it.
    pub is_moved: bool,
}

/// Templates of the calls, complete except for the fields that change with each.
#[derive(Debug)]
struct Templates {
    read: Template,
    write: Template,
    commit: Template,
    null: Template,
}

/// One file on an NFSv3 server. It has no threads: all work happens in `submit`, `poll` and `commit`.
#[derive(Debug)]
pub struct File<B: AsRef<[u8]> + AsMut<[u8]>> {
    config: FileConfig,
    templates: Templates,

    tables: Tables<B>,
    paths: Vec<Path>,
    /// Connection that gets the next command.
    next_path: usize,
    /// Commands without all their calls, oldest first.
    waiting: Waiting,
    /// Calls not assigned to a connection.
    homeless: VecDeque<u32>,
    paused_count: u32,
    completions: Completions<Completion<B>>,
    answers: Vec<(u32, Answer)>,
    log: EventLog<EventKind>,
    tcp_facts: Option<TcpFactsReader>,

    writes: WriteStats,
    verifier: Option<Verifier>,
    /// Number of writes answered UNSTABLE and not committed, and their bytes.
    uncommitted: (u64, u64),
    commit_answer: Option<Result<Verifier, IoError>>,
    /// True while a COMMIT is awaited, but not I/O.
    is_committing: bool,

    stall: StallWatch,
    /// Time of the last data from the server.
    heard_at: Instant,
    /// Start of the silence, while an answer is outstanding.
    silent_since: Option<Instant>,
    /// True if `AllDown` was reported and no data has arrived since.
    is_down_reported: bool,
    /// Time of the last JUKEBOX report.
    jukebox_at: Option<Instant>,
    lost: Option<Lost>,
}

impl<B: AsRef<[u8]> + AsMut<[u8]>> File<B> {
    /// Opens all connections. At least one must come up; the others are retried during the lifetime of the file.
    pub fn open(config: FileConfig) -> Result<Self, FileError> {
        check(&config)?;
        let mut file = Self::new(config);
        let deadline = Instant::now() + file.config.timeouts.connect + TICK;
        while Instant::now() < deadline {
            assay_tcp::turn(&mut file, TICK);
            if file.paths.iter().all(|path| path.is_up() || path.attempts > 0) {
                break;
            }
        }
        if file.paths.iter().any(Path::is_up) {
            return Ok(file);
        }
        let last = file.paths.iter().find_map(|path| path.last_error.clone());
        Err(FileError::NoConnection {
            address: file.config.address.to_string(),
            last: last.unwrap_or_else(|| "no answer in time".into()),
        })
    }

    fn new(config: FileConfig) -> Self {
        let now = Instant::now();
        let (slots, calls) = (u32::from(config.depth), u32::from(config.depth) + CALLS_MORE);
        let (credentials, handle) = (&config.credentials, &config.handle);
        let templates = Templates {
            read: Template::read(credentials, handle),
            write: Template::write(credentials, handle, config.stable),
            commit: Template::commit(credentials, handle),
            null: Template::null(),
        };
        let (slot_count, call_count) = (usize::from(config.depth), calls as usize);
        Self {
            templates,
            tables: Tables::new(slots, calls, first_xid(), now),
            paths: (0..config.connections).map(|index| Path::new(index, now)).collect(),
            next_path: 0,
            waiting: Waiting::new(slot_count),
            homeless: VecDeque::with_capacity(call_count),
            paused_count: 0,
            completions: Completions::new(slot_count, now),
            answers: Vec::with_capacity(call_count),
            log: EventLog::default(),
            tcp_facts: TcpFactsReader::open().ok(),
            writes: WriteStats::default(),
            verifier: None,
            uncommitted: (0, 0),
            commit_answer: None,
            is_committing: false,
            stall: StallWatch::default(),
            heard_at: now,
            silent_since: None,
            is_down_reported: true,
            jukebox_at: None,
            lost: None,
            config,
        }
    }

    /// Accepts a command, or returns it if `depth` commands are outstanding or the server is lost. Nothing is sent
    /// before the next `poll`, so that commands submitted together are sent together.
    pub fn submit(&mut self, command: Command<B>) -> Result<(), Command<B>> {
        if self.lost.is_some() {
            return Err(command);
        }
        let Some(index) = self.tables.take_slot() else { return Err(command) };
        let slot = self.tables.slot(index);
        let fits = command.data_bytes > 0 && command.buf.as_ref().len() >= command.data_bytes as usize;
        (slot.tag, slot.kind, slot.offset_bytes) = (command.tag, command.kind, command.offset_bytes);
        (slot.data_bytes, slot.end_bytes) = (command.data_bytes, command.data_bytes);
        (slot.buf, slot.handed_bytes, slot.call_count) = (Some(command.buf), 0, 0);
        (slot.error, slot.path, slot.sent_at, slot.is_moved) = (None, None, None, false);
        self.completions.taken();
        if fits {
            // The next turn sets `submitted_at`, so that the clock is read once per batch.
            self.waiting.submit(index);
        } else {
            self.finish(
                index,
                Err(IoError::Invalid("the buffer is shorter than the I/O, or the I/O is empty")),
            );
        }
        Ok(())
    }

    /// Sends submitted commands and collects completions. Returns when at least one command has completed, or after
    /// `timeout` (`None`: while commands are outstanding).
    pub fn poll(&mut self, timeout: Option<Duration>, done: &mut Vec<Completion<B>>) -> Result<(), Lost> {
        assay_tcp::poll(self, timeout, done)
    }

    /// Returns the number of commands submitted and not yet returned to the caller.
    pub fn outstanding(&self) -> u32 {
        self.completions.outstanding()
    }

    /// Returns the events since the last call.
    pub fn events(&mut self) -> Vec<Event> {
        self.log.take(|count| EventKind::Dropped { count })
    }

    /// Returns the counts of writes so far, by the durability that the server promised.
    pub fn writes(&self) -> WriteStats {
        WriteStats { uncommitted_bytes: self.uncommitted.1, ..self.writes }
    }

    /// Returns the present state of every connection, with its TCP facts. Call it about once a second.
    pub fn stats(&mut self) -> Vec<ConnectionStatus> {
        let mut reports = Vec::with_capacity(self.paths.len());
        for path in &self.paths {
            let stream = match &path.state {
                State::Up(wire) => Some(&wire.stream),
                _ => None,
            };
            reports.push(ConnectionStatus {
                path: path.index,
                is_up: path.is_up(),
                outstanding: self.outstanding_on(path.index),
                addresses: stream.and_then(|s| Some((s.local_addr().ok()?, s.peer_addr().ok()?))),
                tcp: stream.and_then(|stream| self.tcp_facts.as_mut()?.read(stream).ok()),
                stats: path.stats.clone(),
            });
        }
        reports
    }

    fn outstanding_on(&self, index: u8) -> u32 {
        let is_here = |place| {
            matches!(
                place,
                CallState::Bound { path } | CallState::Queued { path } | CallState::Sent { path } if path == index
            )
        };
        let here = self.tables.live().filter(|(_, call)| is_here(call.place) && call.owner != Owner::Ping);
        u32::try_from(here.count()).expect("bounded by the number of calls")
    }

    fn call_bytes_max(&self, kind: Kind) -> u32 {
        match kind {
            Kind::Read => self.config.read_bytes_max,
            Kind::Write => self.config.write_bytes_max,
        }
    }

    fn wants(&self) -> Stable {
        self.config.stable
    }
}

/// Returns a random xid, so that a server's duplicate request cache does not take a new call for an old one.
fn first_xid() -> u32 {
    let mut bytes = [0; 4];
    // Without random bytes the process id distinguishes the clients of one host.
    match assay_tcp::random_bytes(&mut bytes) {
        Ok(()) => u32::from_ne_bytes(bytes),
        Err(_) => std::process::id(),
    }
}

fn check(config: &FileConfig) -> Result<(), FileError> {
    let wrong =
        |field, value: u32, expected| Err(FileError::Config { field, value: value.to_string(), expected });
    if !(1..=assay_tcp::PATHS_MAX).contains(&usize::from(config.connections)) {
        return wrong("connections", config.connections.into(), "1 to 64");
    }
    if !(1..=4096).contains(&config.depth) {
        return wrong("depth", config.depth.into(), "1 to 4096");
    }
    for (field, bytes) in
        [("read_bytes_max", config.read_bytes_max), ("write_bytes_max", config.write_bytes_max)]
    {
        if !(1..=64 << 20).contains(&bytes) {
            return wrong(field, bytes, "1 byte to 64 MiB");
        }
    }
    Ok(())
}

impl<B: AsRef<[u8]> + AsMut<[u8]>> Drop for File<B> {
    /// Commands still in flight must not be executed later: such a connection is reset, not closed.
    fn drop(&mut self) {
        let is_busy = self.tables.live().any(|(_, call)| call.owner != Owner::Ping);
        for path in &mut self.paths {
            let state = std::mem::replace(&mut path.state, State::Down { retry_at: Instant::now() });
            if let (State::Up(wire), true) = (state, is_busy) {
                wire.abandon();
            }
        }
    }
}
