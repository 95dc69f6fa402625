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
mod probe;
mod recover;
mod reprove;
mod settle;
mod silence;
mod tick;
mod watch;

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use assay_tcp::{Completions, EventLog, PATHS_MAX, StallWatch, TICK, TcpFactsReader};

use crate::config::Config;
use crate::error::{ConnectError, IoError, Lost, PathErrors};
use crate::events::{Event, EventKind};
use crate::multipath::{Path, PathSelector, State};
use crate::pdu::Direction;
use crate::scsi::Capacity;
use crate::scsi::cdb::{self, Fua};
use crate::session::SessionEvent;
use crate::slots::{CommandState, Data, Owner, Slots};
use crate::stats::PathStatus;

pub use control::Transfer;
pub(crate) use recover::login_error;
pub(crate) use watch::Check;

/// Slots beyond the caller's depth, for control commands.
const CONTROL_SLOTS: u32 = 4;

/// Use of the sessions of an initiator.
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
    /// It was not read yet.
    Unread,
    /// It exists, or its read says nothing about it.
    Exists,
    /// It does not: the target reports the number of blocks in place of the address of the last one.
    Missing,
}

/// What a command does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Read into the buffer.
    Read,
    /// Write from the buffer.
    Write,
    /// Make all completed writes durable (SYNCHRONIZE CACHE); offset and length mean nothing.
    Flush,
}

/// One I/O with its buffer.
#[derive(Debug)]
pub struct Command<B> {
    /// The caller's number, which comes back.
    pub tag: u64,
    /// What to do.
    pub kind: Kind,
    /// Where, bytes; a multiple of the logical block.
    pub offset_bytes: u64,
    /// How much, bytes; a multiple of the logical block, at most the buffer's length.
    pub data_bytes: u32,
    /// Force unit access.
    pub fua: Fua,
    /// The buffer; it moves in and comes back.
    pub buf: B,
}

/// The end of one I/O.
#[derive(Debug)]
pub struct Completion<B> {
    /// The caller's number.
    pub tag: u64,
    /// The buffer.
    pub buf: B,
    /// Bytes moved, always all of them, or why not.
    pub result: Result<u32, IoError>,
    /// Path the last attempt took.
    pub path: Option<u8>,
}

/// A user-space iSCSI initiator for one logical unit over one or several paths.
///
/// It has no threads: everything happens in `submit`, `poll` and the control calls. Dropping it logs out and closes.
#[derive(Debug)]
pub struct Initiator<B: AsRef<[u8]> + AsMut<[u8]>> {
    config: Config,
    lun: u64,
    session_use: SessionUse,

    slots: Slots<B>,
    paths: Vec<Path>,
    path_selector: PathSelector,
    /// Commands for any path, oldest first.
    waiting: VecDeque<u32>,
    /// Commands that ended and wait for their last bytes to leave.
    ending: Vec<u32>,
    paused_count: u32,
    /// Commands at the end of `waiting` that were submitted since the last turn: it stamps them.
    unstamped_count: usize,
    completions: Completions<Completion<B>>,
    /// A control command is waited for; I/O that ends is not.
    is_controlling: bool,
    control_result: Option<(u32, Result<u32, IoError>)>,
    session_events: Vec<SessionEvent>,
    log: EventLog<EventKind>,
    tcp_facts: Option<TcpFactsReader>,

    /// How often the unit was doubted when the paths looked at it last.
    doubts: u64,
    /// The buffer of the next check.
    check_data: Vec<u8>,
    /// The next write that ends is remembered as a witness.
    is_sampling: bool,
    /// A path served I/O at any time.
    has_served: bool,
    wwid: Option<String>,
    /// Size of the unit, as far as it can be read.
    capacity: Option<Capacity>,
    last_block: LastBlock,
    stall: StallWatch,
    all_down_since: Option<Instant>,
    /// Paths whose fenced writes the LUN reset in flight covers, and the path it was sent on.
    reset_in_air: Option<(u8, u64)>,
    lost: Option<Lost>,
}

impl<B: AsRef<[u8]> + AsMut<[u8]>> Initiator<B> {
    /// Brings up all paths. At least one must come up; the others are tried again while the initiator lives.
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
                // Type "random" (RFC 7143 §11.12.5): 0x80, 24 random bits, and the path as qualifier. The same path
                // keeps its ISID for life, which is what lets a new login reinstate the old session.
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
            waiting: VecDeque::with_capacity(slot_count),
            ending: Vec::with_capacity(slot_count),
            paused_count: 0,
            unstamped_count: 0,
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
            reset_in_air: None,
            lost: None,
            config,
        })
    }

    /// Waits until every path is up or has failed once; needs one that is up.
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
        Err(ConnectError::NoPath { errors: PathErrors(errors), missing })
    }

    /// Size and block size of the unit.
    #[must_use]
    pub fn capacity(&self) -> Capacity {
        self.capacity.expect("the first path that came up has read it")
    }

    /// World-wide name of the unit, if it has one.
    #[must_use]
    pub fn wwid(&self) -> Option<&str> {
        self.wwid.as_deref()
    }

    /// Commands submitted and not yet given back.
    #[must_use]
    pub fn outstanding(&self) -> u32 {
        self.completions.outstanding()
    }

    /// Takes a command, or gives it back when `depth` commands are outstanding or the target is lost. Nothing is sent
    /// before the next `poll`, so that commands submitted together leave together.
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
        let (direction, transfer_bytes) = match command.kind {
            Kind::Read => (Direction::Read, command.data_bytes),
            Kind::Write => (Direction::Write, command.data_bytes),
            Kind::Flush => (Direction::None, 0),
        };
        let lba = if direction == Direction::Write {
            let block_bytes = self.capacity().block_bytes;
            let lba = command.offset_bytes / u64::from(block_bytes);
            self.config.proof.forget(lba, transfer_bytes / block_bytes);
            lba
        } else {
            0
        };
        let slot = self.slots.get_mut(index);
        slot.owner = Owner::Caller { tag: command.tag };
        slot.lba = lba;
        slot.data = Data::User(command.buf);
        slot.cdb = cdb;
        slot.direction = direction;
        slot.transfer_bytes = transfer_bytes;
        slot.attempts = 0;
        slot.last_path = None;
        slot.place = CommandState::Waiting;
        // The next turn stamps `submitted_at`: the clock is read once per batch.
        self.completions.taken();
        self.unstamped_count += 1;
        self.waiting.push_back(index);
        Ok(())
    }

    fn translate(&self, command: &Command<B>) -> Result<cdb::Cdb, &'static str> {
        if command.kind == Kind::Flush {
            return Ok(cdb::synchronize_cache_10());
        }
        let capacity = self.capacity();
        let block_bytes = u64::from(capacity.block_bytes);
        let data_bytes = u64::from(command.data_bytes);
        if command.buf.as_ref().len() < command.data_bytes as usize {
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
            _ => cdb::write(lba, blocks, command.fua),
        })
    }

    /// Sends what was submitted and collects what has ended. Returns when at least one command ended, or after
    /// `timeout` (`None`: as long as it takes while commands are outstanding). Must be called at least every few
    /// seconds, for the target's pings are answered here.
    pub fn poll(&mut self, timeout: Option<Duration>, done: &mut Vec<Completion<B>>) -> Result<(), Lost> {
        assay_tcp::poll(self, timeout, done)
    }

    /// What happened to the paths since the last call.
    pub fn events(&mut self) -> Vec<Event> {
        self.log.take(|count| EventKind::Dropped { count })
    }

    /// Every path as it is now, with its TCP facts. To be called about once a second.
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
    /// Logs out of every session, briefly and without waiting for an answer that does not come.
    fn drop(&mut self) {
        let deadline = Instant::now() + Duration::from_millis(200);
        let busy = self.slots.live().count() > 0;
        for path in &mut self.paths {
            let State::Online(connection) = &mut path.state else { continue };
            connection.session.logout();
            // What is still in flight may not be carried out later: such a connection is reset, not closed.
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
