//! The initiator: commands in, completions out, over all paths, driven by the caller's thread alone.
//!
//! ```text
//! submit -> waiting -> (policy) -> path.pending -> session -> wire        poll drives everything:
//!              ^                       |              |                   dispatch, send, wait, receive,
//!              |--- path fails --------+--------------+ reads             settle, and once in a while tick
//!              |                                      | writes
//!              |---------- fence <--------------------+
//! ```

mod control;
mod dispatch;
mod expire;
mod fence;
mod probe;
mod recover;
mod reprove;
mod settle;
mod silence;
mod tick;
mod trim;
mod watch;

use std::time::{Duration, Instant};

use assay_tcp::{Completions, EventLog, PATHS_MAX, StallWatch, TICK, TcpFactsReader, Waiting};

use crate::config::Config;
use crate::error::{ConnectError, IoError, Lost, PathErrors};
use crate::events::{Event, EventKind};
use crate::multipath::{FailedAt, Path, PathSelector, State};
use crate::pdu::Direction;
use crate::scsi::Capacity;
use crate::scsi::cdb::{self, Fua};
use crate::session::SessionEvent;
use crate::slots::{CommandState, Data, Owner, Slots};
use crate::stats::PathStatus;

pub use control::Transfer;
pub(crate) use recover::login_error;

/// Number of slots for control commands, beyond the caller's depth.
const CONTROL_SLOTS: u32 = 4;

/// What the sessions of an initiator are used for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SessionUse {
    /// I/O on a disk. Every path is probed before it carries I/O.
    Io,
    /// Queries only, to units of any type.
    Queries,
}

/// Whether the last block that READ CAPACITY reports exists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LastBlock {
    /// Not read yet.
    Unread,
    /// It exists, or reading it gave no information.
    Exists,
    /// It does not exist: the target reports the number of blocks instead of the last block address.
    Missing,
}

/// Operation of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Read into the buffer.
    Read,
    /// Write from the buffer.
    Write,
    /// Trim (UNMAP): the blocks hold no data afterwards. The buffer is only returned, and may be shorter than the
    /// range. Blocks by which the unit is verified may keep their data.
    Trim,
    /// Make all completed writes durable (SYNCHRONIZE CACHE); offset and length are ignored.
    Flush,
}

/// One I/O with its buffer.
#[derive(Debug)]
pub struct Command<B> {
    /// Tag chosen by the caller, returned with the completion.
    pub tag: u64,
    /// Operation.
    pub kind: Kind,
    /// Offset, bytes; a multiple of the logical block.
    pub offset_bytes: u64,
    /// Length, bytes; a multiple of the logical block, at most the buffer's length.
    pub data_bytes: u32,
    /// Force unit access.
    pub fua: Fua,
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
    /// Number of bytes transferred, always all of them, or the error.
    pub result: Result<u32, IoError>,
    /// Path of the last attempt.
    pub path: Option<u8>,
}

/// A user-space iSCSI initiator for one logical unit over one or several paths.
///
/// It has no threads: all work happens in `submit`, `poll` and the control calls. Dropping it logs out and closes the
/// connections.
#[derive(Debug)]
pub struct Initiator<B: AsRef<[u8]> + AsMut<[u8]>> {
    config: Config,
    lun: u64,
    session_use: SessionUse,

    slots: Slots<B>,
    paths: Vec<Path>,
    path_selector: PathSelector,
    /// Commands not yet assigned to a path, oldest first.
    waiting: Waiting,
    /// Completed commands some of whose bytes are still in a send queue.
    ending: Vec<u32>,
    paused_count: u32,
    completions: Completions<Completion<B>>,
    /// True while a control command is awaited, but not I/O.
    is_controlling: bool,
    control_result: Option<(u32, Result<u32, IoError>)>,
    session_events: Vec<SessionEvent>,
    log: EventLog<EventKind>,
    tcp_facts: Option<TcpFactsReader>,

    /// Value of the proof's doubt counter when the paths were last verified.
    doubts: u64,
    /// Buffer of the next check.
    check_data: Vec<u8>,
    /// True if the next completed write is remembered as a witness.
    is_sampling: bool,
    /// True once a path was up.
    has_served: bool,
    wwid: Option<String>,
    /// Size of the unit, once known.
    capacity: Option<Capacity>,
    last_block: LastBlock,
    stall: StallWatch,
    all_down_since: Option<Instant>,
    lost: Option<Lost>,
}

impl<B: AsRef<[u8]> + AsMut<[u8]>> Initiator<B> {
    /// Brings up all paths. At least one must come up; the others are retried during the initiator's lifetime.
    pub fn connect(config: Config) -> Result<Self, ConnectError> {
        Self::connect_to(config, SessionUse::Io)
    }

    pub(crate) fn connect_to(config: Config, session_use: SessionUse) -> Result<Self, ConnectError> {
        check(&config)?;
        let mut initiator = Self::new(config, session_use)?;
        initiator.bring_up()?;
        Ok(initiator)
    }

    fn new(config: Config, session_use: SessionUse) -> Result<Self, ConnectError> {
        let now = Instant::now();
        let mut isid_random = [0; 3];
        assay_tcp::random_bytes(&mut isid_random)
            .map_err(|source| ConnectError::System { what: "random bytes", source })?;
        let portals =
            config.portals.iter().flat_map(|p| std::iter::repeat_n(p, config.sessions_per_portal.into()));
        let slot_count = usize::from(config.depth) + CONTROL_SLOTS as usize + PATHS_MAX;
        let paths: Vec<Path> = (0u8..)
            .zip(portals)
            .map(|(index, portal)| {
                // Type "random" (RFC 7143 §11.12.5): 0x80, 24 random bits, and the path as qualifier. A path keeps its
                // ISID, so that a new login reinstates the old session.
                let [a, b, c] = isid_random;
                Path::new(
                    index,
                    portal.clone(),
                    [0x80, a, b, c, 0, index],
                    config.path_depth,
                    slot_count,
                    now,
                )
            })
            .collect();
        Ok(Self {
            lun: crate::scsi::lun_to_wire(config.lun),
            session_use,
            slots: Slots::new(u32::try_from(slot_count).expect("a few thousand"), now),
            paths,
            path_selector: PathSelector::new(config.policy),
            waiting: Waiting::new(slot_count),
            ending: Vec::with_capacity(slot_count),
            paused_count: 0,
            completions: Completions::new(slot_count, now),
            is_controlling: false,
            control_result: None,
            session_events: Vec::with_capacity(256),
            log: EventLog::default(),
            tcp_facts: TcpFactsReader::open().ok(),
            doubts: config.proof.doubts(),
            check_data: Vec::new(),
            is_sampling: false,
            has_served: false,
            wwid: None,
            capacity: None,
            last_block: LastBlock::Unread,
            stall: StallWatch::default(),
            all_down_since: Some(now),
            lost: None,
            config,
        })
    }

    /// Waits until every path is up or has failed once. Fails if none is up.
    fn bring_up(&mut self) -> Result<(), ConnectError> {
        let limit = self.config.timeouts.connect + self.config.timeouts.login * 2;
        let deadline = Instant::now() + limit;
        while Instant::now() < deadline {
            assay_tcp::turn(self, TICK);
            let settled = |path: &Path| path.is_serving() || path.attempts > 0;
            if self.paths.iter().all(settled) {
                break;
            }
        }
        if self.paths.iter().any(Path::is_serving) {
            return Ok(());
        }
        let error = |path: &Path| {
            path.last_error.clone().unwrap_or_else(|| format!("{} did not answer in time", path.portal))
        };
        let mut errors: Vec<String> = self.paths.iter().map(error).collect();
        errors.dedup();
        let missing = self.paths.iter().find_map(|path| path.missing);
        let is_answered = self.paths.iter().any(|path| path.failed_at == Some(FailedAt::Target));
        Err(ConnectError::NoPath { errors: PathErrors(errors), missing, is_answered })
    }

    /// Returns the size and block size of the unit.
    #[must_use]
    pub fn capacity(&self) -> Capacity {
        self.capacity.expect("the first path that came up has read it")
    }

    /// Returns the world-wide name of the unit, if it has one.
    #[must_use]
    pub fn wwid(&self) -> Option<&str> {
        self.wwid.as_deref()
    }

    /// Returns the number of commands submitted and not yet returned to the caller.
    #[must_use]
    pub fn outstanding(&self) -> u32 {
        self.completions.outstanding()
    }

    /// Accepts a command, or returns it if `depth` commands are outstanding or the target is lost. Nothing is sent
    /// before the next `poll`, so that commands submitted together are sent together.
    pub fn submit(&mut self, command: Command<B>) -> Result<(), Command<B>> {
        if self.completions.outstanding() >= u32::from(self.config.depth) || self.lost.is_some() {
            return Err(command);
        }
        let cdb = match self.translate(&command) {
            Ok(cdb) => cdb,
            Err(why) => {
                let Command { tag, buf, .. } = command;
                self.completions.taken();
                self.completions.ended(Completion {
                    tag,
                    buf,
                    result: Err(IoError::Invalid(why)),
                    path: None,
                });
                return Ok(());
            }
        };
        let Some(index) = self.slots.take() else { return Err(command) };
        self.fill_slot(index, command, cdb);
        let slot = self.slots.get_mut(index);
        slot.attempts = 0;
        slot.last_path = None;
        slot.place = CommandState::Waiting;
        // The next turn sets `submitted_at`, so that the clock is read once per batch.
        self.completions.taken();
        self.waiting.submit(index);
        Ok(())
    }

    /// Moves a command into its slot. The blocks that it changes no longer identify the unit.
    #[inline]
    fn fill_slot(&mut self, index: u32, command: Command<B>, cdb: cdb::Cdb) {
        let Command { tag, kind, offset_bytes, data_bytes, buf, .. } = command;
        let block_bytes = self.capacity().block_bytes;
        let (lba, blocks) = match kind {
            Kind::Write | Kind::Trim => (offset_bytes / u64::from(block_bytes), data_bytes / block_bytes),
            Kind::Read | Kind::Flush => (0, 0),
        };
        let trim = (kind == Kind::Trim).then(|| self.ready_trim(lba, blocks));
        if kind == Kind::Write {
            self.config.proof.forget(lba, blocks);
        }
        let slot = self.slots.get_mut(index);
        slot.owner = Owner::Caller { tag };
        (slot.lba, slot.blocks) = (lba, blocks);
        (slot.direction, slot.transfer_bytes) = match kind {
            Kind::Read => (Direction::Read, data_bytes),
            Kind::Write | Kind::Trim => (Direction::Write, data_bytes),
            Kind::Flush => (Direction::None, 0),
        };
        slot.listing = None;
        slot.cdb = cdb;
        slot.data = match trim {
            None => Data::User(buf),
            Some(trim) => {
                (slot.cdb, slot.transfer_bytes) = (trim.cdb, trim.list_bytes);
                slot.listing = Some(trim.listing);
                Data::Trim { list: trim.list, buf }
            }
        };
    }

    /// Checks a command, and returns its descriptor block; that of a trim depends on what is in flight.
    fn translate(&self, command: &Command<B>) -> Result<cdb::Cdb, &'static str> {
        if command.kind == Kind::Flush {
            return Ok(cdb::synchronize_cache_10());
        }
        let capacity = self.capacity();
        let block_bytes = u64::from(capacity.block_bytes);
        let data_bytes = u64::from(command.data_bytes);
        if command.kind != Kind::Trim && command.buf.as_ref().len() < command.data_bytes as usize {
            return Err("the buffer is shorter than the I/O");
        }
        if data_bytes == 0
            || !command.offset_bytes.is_multiple_of(block_bytes)
            || !data_bytes.is_multiple_of(block_bytes)
        {
            return Err("offset and length must be multiples of the logical block, and the length not zero");
        }
        if command.offset_bytes.checked_add(data_bytes).is_none_or(|end| end > capacity.bytes()) {
            return Err("the I/O extends beyond the end of the LUN");
        }
        let lba = command.offset_bytes / block_bytes;
        let blocks = command.data_bytes / capacity.block_bytes;
        Ok(match command.kind {
            Kind::Read => cdb::read(lba, blocks, command.fua),
            Kind::Trim => cdb::Cdb::default(),
            _ => cdb::write(lba, blocks, command.fua),
        })
    }

    /// Sends submitted commands and collects completions. Returns when at least one command has completed, or after
    /// `timeout` (`None`: while commands are outstanding). Must be called at least every few seconds, because it
    /// answers the target's pings.
    pub fn poll(&mut self, timeout: Option<Duration>, done: &mut Vec<Completion<B>>) -> Result<(), Lost> {
        assay_tcp::poll(self, timeout, done)
    }

    /// Returns the events of the paths since the last call.
    pub fn events(&mut self) -> Vec<Event> {
        self.log.take(|count| EventKind::Dropped { count })
    }

    /// Returns the present state of every path, with its TCP facts. Call it about once a second.
    pub fn stats(&mut self) -> Vec<PathStatus> {
        let mut reports = Vec::with_capacity(self.paths.len());
        for path in &self.paths {
            let connection = match &path.state {
                State::Online(connection) => Some(connection),
                _ => None,
            };
            let stream = connection.map(|connection| connection.wire.stream());
            let tcp = stream.and_then(|stream| self.tcp_facts.as_mut()?.read(stream).ok());
            reports.push(PathStatus {
                path: path.index,
                portal: path.portal.clone(),
                is_up: path.is_serving(),
                access: path.access,
                outstanding: path.outstanding(),
                agreed: connection.map(|connection| connection.session.agreed().clone()),
                command_window: connection.map(|connection| connection.session.command_window()),
                addresses: stream.and_then(|s| Some((s.local_addr().ok()?, s.peer_addr().ok()?))),
                tcp,
                stats: path.stats.clone(),
            });
        }
        reports
    }
}

fn check(config: &Config) -> Result<(), ConnectError> {
    let wrong = |field, value: String, expected| Err(ConnectError::Config { field, value, expected });
    let path_count = config.portals.len() * usize::from(config.sessions_per_portal);
    if path_count == 0 || path_count > PATHS_MAX {
        return wrong("portals × sessions_per_portal", path_count.to_string(), "1 to 64");
    }
    if !(1..=4096).contains(&config.depth) {
        return wrong("depth", config.depth.to_string(), "1 to 4096");
    }
    if !(1..=1024).contains(&config.path_depth) {
        return wrong("path_depth", config.path_depth.to_string(), "1 to 1024");
    }
    if config.lun >= 0x4000 {
        return wrong("lun", config.lun.to_string(), "below 16384");
    }
    for name in [&config.target_name, &config.initiator_name] {
        if name.is_empty() || name.len() > 223 || name.contains(|c: char| c.is_control() || c == ' ') {
            return wrong("name", crate::text::shorten(name), "an iSCSI name of 1 to 223 characters");
        }
    }
    let segment = config.offer.max_recv_segment_bytes;
    if !(512..=0x00ff_ffff).contains(&segment) {
        return wrong("offer.max_recv_segment_bytes", segment.to_string(), "512 to 16777215");
    }
    Ok(())
}

impl<B: AsRef<[u8]> + AsMut<[u8]>> Drop for Initiator<B> {
    /// Logs out of every session, with a short time limit.
    fn drop(&mut self) {
        let deadline = Instant::now() + Duration::from_millis(200);
        let busy = self.slots.live().count() > 0;
        for path in &mut self.paths {
            let State::Online(connection) = &mut path.state else { continue };
            connection.session.logout();
            // Commands still in flight must not be executed later: reset such a connection instead of closing it.
            if busy || connection.pump(path.index, &mut self.slots, deadline).is_err() {
                path.state = abandon(
                    std::mem::replace(&mut path.state, State::Down { retry_at: deadline }),
                    &mut self.slots,
                );
            }
        }
        while Instant::now() < deadline
            && self.paths.iter().any(|path| matches!(path.state, State::Online(_)))
        {
            assay_tcp::turn(self, Duration::from_millis(20));
            self.paths.iter_mut().for_each(Path::stay_down);
        }
    }
}

fn abandon<B: AsRef<[u8]> + AsMut<[u8]>>(state: State, slots: &mut Slots<B>) -> State {
    if let State::Online(connection) = state {
        connection.wire.abandon(slots);
    }
    State::Down { retry_at: Instant::now() + Duration::from_secs(3600) }
}
