//! The core itself: its state, its inputs, and what it wants done.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Instant;

use assay_tcp::{Completions, EventLog, PATHS_MAX, StallWatch, Waiting};

use super::{Candidate, Path, PathSelector, State};
use crate::changes::Changes;
use crate::config::Config;
use crate::error::{ConnectError, IoError, Lost, PathError};
use crate::events::{Event, EventKind};
use crate::login::Negotiated;
use crate::pdu::{Bhs, Direction};
use crate::scsi::Capacity;
use crate::scsi::cdb::{self, Cdb, Fua};
use crate::session::{OutPdu, Placement, Session, SessionError, SessionEvent};
use crate::slots::{CommandState, Data, Owner, Slots};

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
pub(super) enum LastBlock {
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
    /// True for a write of which the target may execute another copy at any time, even after newer ones: its session
    /// was not known to have ended, or only a LUN reset had ended its task.
    pub is_moved: bool,
}

/// What happened to a path, or that time has passed.
#[derive(Debug)]
pub enum Input {
    /// The TCP connection that [`Action::Connect`] asked for is established; the login begins.
    Connected {
        /// The path.
        path: u8,
    },
    /// The login is to be repeated at another portal.
    Redirected {
        /// The path.
        path: u8,
        /// That portal.
        portal: String,
    },
    /// The login is complete.
    Up {
        /// The path.
        path: u8,
        /// The negotiated values.
        agreed: Box<Negotiated>,
    },
    /// The connection, or the attempt to open one, has failed.
    Lost {
        /// The path.
        path: u8,
        /// Cause.
        error: PathError,
    },
    /// Data arrived.
    Heard {
        /// The path.
        path: u8,
        /// How much, bytes.
        bytes: u32,
        /// Number of PDUs that are complete now.
        pdus: u32,
    },
    /// The session of a path reports something.
    Session {
        /// The path.
        path: u8,
        /// What.
        event: SessionEvent,
    },
    /// [`assay_tcp::TICK`] has passed.
    Tick,
}

/// What the driver is to do with the connection of a path, before anything else is sent.
#[derive(Debug, PartialEq, Eq)]
pub enum Action {
    /// Connect to a portal, and log in.
    Connect {
        /// The path.
        path: u8,
        /// The portal.
        portal: String,
        /// Initiator part of the session's identifier.
        isid: [u8; 6],
    },
    /// Close the connection, or end the attempt; nothing that was not sent yet may be sent.
    Close {
        /// The path.
        path: u8,
    },
}

/// The multipath core of an initiator for one logical unit.
#[derive(Debug)]
pub struct Core<B> {
    pub(crate) config: Config,
    pub(crate) lun: u64,
    pub(crate) session_use: SessionUse,

    pub(crate) slots: Slots<B>,
    pub(crate) paths: Vec<Path>,
    pub(crate) path_selector: PathSelector,
    /// Commands not yet assigned to a path, oldest first.
    pub(crate) waiting: Waiting,
    /// Completed commands some of whose bytes are still in a send queue.
    pub(crate) ending: Vec<u32>,
    pub(crate) paused_count: u32,
    pub(crate) completions: Completions<Completion<B>>,
    pub(crate) control_result: Option<(u32, Result<u32, IoError>)>,
    pub(crate) log: EventLog<EventKind>,

    /// Value of the proof's doubt counter when the paths were last verified.
    pub(crate) doubts: u64,
    /// Buffer of the next check.
    pub(crate) check_data: Vec<u8>,
    /// This initiator's list of the writes and trims that it has in flight.
    pub(super) changes: Arc<Changes>,
    /// True if the next write is to give a witness.
    pub(crate) is_sampling: bool,
    /// True once a path was up.
    pub(crate) has_served: bool,
    pub(crate) wwid: Option<String>,
    /// Size of the unit, once known.
    pub(crate) capacity: Option<Capacity>,
    pub(super) last_block: LastBlock,
    pub(crate) stall: StallWatch,
    pub(crate) all_down_since: Option<Instant>,
    pub(crate) lost: Option<Lost>,
    pub(super) actions: VecDeque<Action>,
}

impl<B: AsRef<[u8]> + AsMut<[u8]>> Core<B> {
    /// Returns a core whose paths are all down. `isid_random` distinguishes its sessions from those of others.
    pub fn new(config: Config, isid_random: [u8; 3], now: Instant) -> Result<Self, ConnectError> {
        Self::with_use(config, SessionUse::Io, isid_random, now)
    }

    pub(crate) fn with_use(
        config: Config,
        session_use: SessionUse,
        isid_random: [u8; 3],
        now: Instant,
    ) -> Result<Self, ConnectError> {
        check(&config)?;
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
            control_result: None,
            log: EventLog::default(),
            doubts: config.proof.doubts(),
            check_data: Vec::new(),
            changes: config.proof.join(u32::try_from(slot_count).expect("a few thousand")),
            is_sampling: false,
            has_served: false,
            wwid: None,
            capacity: None,
            last_block: LastBlock::Unread,
            stall: StallWatch::default(),
            all_down_since: Some(now),
            lost: None,
            actions: VecDeque::with_capacity(2 * PATHS_MAX),
            config,
        })
    }

    /// Handles an input.
    pub fn on(&mut self, input: Input, now: Instant) {
        match input {
            Input::Connected { path } => self.paths[usize::from(path)].connected(now, &self.config.timeouts),
            Input::Redirected { path, portal } => self.redirected(path.into(), portal, now),
            Input::Up { path, agreed } => self.up(path.into(), *agreed, now),
            Input::Lost { path, error } => self.fail_path(path.into(), &error, now),
            Input::Heard { path, bytes, pdus } => self.heard(path.into(), bytes, pdus, now),
            Input::Session { path, event } => self.on_event(path.into(), event, now),
            Input::Tick => self.look_at_timers(now),
        }
    }

    /// Returns the next action. All are to be taken after each input, before anything is sent.
    #[inline]
    pub fn next_action(&mut self) -> Option<Action> {
        self.actions.pop_front()
    }

    #[inline]
    fn heard(&mut self, at: usize, bytes: u32, pdus: u32, now: Instant) {
        let State::Online(connection) = &mut self.paths[at].state else { return };
        if !connection.has_heard(bytes, pdus, now) {
            return;
        }
        if connection.suspect_since.is_some() {
            self.trust_again(at, now);
        }
    }

    /// Assigns waiting commands to paths, and passes assigned commands to their sessions. Called in every turn, before
    /// PDUs are sent.
    pub fn assign(&mut self, now: Instant) {
        self.check_presence(now);
        self.stamp_submitted(now);
        self.reprove_where_doubted(now);
        while let Some(index) = self.waiting.front() {
            if self.waits_for_first_write(index) {
                break;
            }
            let candidates = self.paths.iter().filter(|path| path.is_trusted()).map(|path| Candidate {
                path: path.index,
                access: path.access,
                outstanding: path.io_outstanding(),
                has_room: path.has_room(now),
            });
            let Some(path) = self.path_selector.choose(candidates, self.slots.get(index).transfer_bytes)
            else {
                break;
            };
            self.waiting.pop_front();
            self.slots.get_mut(index).place = CommandState::Bound { path };
            self.paths[usize::from(path)].pending.push_back(index);
        }
        for path in &mut self.paths {
            let (index, limit) = (path.index, path.task_limit());
            let State::Online(connection) = &mut path.state else { continue };
            if connection.is_leaving {
                continue;
            }
            while connection.session.task_count() < limit
                && let Some(user) = path.pending.pop_front()
            {
                if !connection.session.start(self.slots.request(user)) {
                    path.pending.push_front(user);
                    break;
                }
                self.slots.get_mut(user).place = CommandState::Started { path: index };
            }
        }
    }

    /// Returns true if a path has a PDU to send now.
    #[inline]
    pub(crate) fn wants_to_send(&self, path: u8) -> bool {
        match &self.paths[usize::from(path)].state {
            State::Online(connection) => connection.session.wants_to_send(),
            _ => false,
        }
    }

    /// Returns the next PDU to send on a path. A command counts as sent from now on: the target may have it.
    #[inline]
    pub fn next_pdu(&mut self, path: u8, now: Instant) -> Option<OutPdu> {
        let State::Online(connection) = &mut self.paths[usize::from(path)].state else { return None };
        let pdu = connection.session.next_pdu()?;
        if let Some(user) = pdu.started {
            let slot = self.slots.get_mut(user);
            slot.place = CommandState::Sent { path };
            slot.sent_at = now;
            slot.last_path = Some(path);
            slot.attempts += 1;
            connection.shut_since = None;
        }
        Some(pdu)
    }

    /// Returns bytes of a command's buffer, to be sent.
    pub fn outgoing(&self, user: u32, offset_bytes: u32, data_bytes: u32) -> &[u8] {
        let (start, end) = (offset_bytes as usize, (offset_bytes + data_bytes) as usize);
        &self.slots.get(user).data.bytes()[start..end]
    }

    /// Handles whole PDUs that arrived on a path together, for a driver that does not receive data into their place.
    /// Fails if the target violates the protocol; the driver then closes the connection.
    pub fn deliver<'a>(
        &mut self,
        path: u8,
        pdus: impl IntoIterator<Item = (&'a Bhs, &'a [u8])>,
        now: Instant,
    ) -> Result<(), SessionError> {
        let Some((session, slots)) = self.session(path) else { return Ok(()) };
        let (mut events, mut bytes, mut count) = (Vec::new(), 0, 0);
        let result = pdus.into_iter().try_for_each(|(bhs, data)| {
            (bytes, count) = (bytes + bhs.data_bytes(), count + 1);
            let incoming = session.on_header(bhs)?;
            if let Placement::Task { user, offset_bytes } = incoming.placement {
                let end = offset_bytes + bhs.data_bytes();
                slots.incoming(user, offset_bytes, end).copy_from_slice(data);
            }
            session.on_pdu(&incoming.response, data, &mut events)
        });
        self.on(Input::Heard { path, bytes, pdus: count }, now);
        for event in events {
            self.on(Input::Session { path, event }, now);
        }
        result
    }

    /// Returns the session of a path that is connected, and the buffers.
    #[inline]
    pub(crate) fn session(&mut self, path: u8) -> Option<(&mut Session, &mut Slots<B>)> {
        match &mut self.paths[usize::from(path)].state {
            State::Online(connection) => Some((&mut connection.session, &mut self.slots)),
            _ => None,
        }
    }

    /// Records that a piece of a command's buffer is in a send queue: the command completes when it has left.
    pub fn hold(&mut self, user: u32) {
        crate::transport::Buffers::hold(&mut self.slots, user);
    }

    /// Records that a piece of a command's buffer has left its send queue.
    pub fn release(&mut self, user: u32) {
        crate::transport::Buffers::release(&mut self.slots, user);
    }

    /// Returns true once a path was up, so that commands can be submitted.
    pub fn is_known(&self) -> bool {
        self.has_served
    }

    /// Takes the commands that have completed since the last call.
    pub fn completed(&mut self, done: &mut Vec<Completion<B>>) {
        self.completions.hand_out(done);
    }

    /// Returns the events of the paths since the last call.
    pub fn events(&mut self) -> Vec<Event> {
        self.log.take(|count| EventKind::Dropped { count })
    }

    /// Returns why no further command can be executed, once that is so.
    pub fn lost(&self) -> Option<&Lost> {
        self.lost.as_ref()
    }

    /// Returns the portal of a path, as configured.
    pub fn portal(&self, path: u8) -> &str {
        &self.paths[usize::from(path)].portal
    }

    /// Returns true if a path carries I/O.
    pub fn is_up(&self, path: u8) -> bool {
        self.paths[usize::from(path)].is_serving()
    }

    /// Returns the size and block size of the unit.
    pub fn capacity(&self) -> Capacity {
        self.capacity.expect("the first path that came up has read it")
    }

    /// Returns the world-wide name of the unit, if it has one.
    pub fn wwid(&self) -> Option<&str> {
        self.wwid.as_deref()
    }

    /// Returns the number of commands submitted and not yet returned to the caller.
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
                    is_moved: false,
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
        if blocks > 0 {
            self.changes.begin(index, lba, blocks);
        }
        if kind == Kind::Write {
            self.config.proof.forget(lba, blocks);
        }
        let trim = (kind == Kind::Trim).then(|| self.ready_trim(lba, blocks));
        let slot = self.slots.get_mut(index);
        slot.owner = Owner::Caller { tag };
        (slot.lba, slot.blocks) = (lba, blocks);
        (slot.direction, slot.transfer_bytes) = match kind {
            Kind::Read => (Direction::Read, data_bytes),
            Kind::Write | Kind::Trim => (Direction::Write, data_bytes),
            Kind::Flush => (Direction::None, 0),
        };
        (slot.candidate, slot.is_moved) = (None, false);
        slot.cdb = cdb;
        slot.data = match trim {
            None => Data::User(buf),
            Some(trim) => {
                (slot.cdb, slot.transfer_bytes) = (trim.cdb, trim.list_bytes);
                Data::Trim { list: trim.list, buf }
            }
        };
        if kind == Kind::Write && (self.is_sampling || !self.config.proof.is_written()) {
            self.choose_witness(index);
        }
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

    /// Queues a control command; its result appears in `control_result`. Returns its slot, or `None` if none is free.
    pub(crate) fn submit_control(
        &mut self,
        cdb: Cdb,
        direction: Direction,
        data: Vec<u8>,
        now: Instant,
    ) -> Option<u32> {
        let transfer_bytes = u32::try_from(data.len()).ok()?;
        let user = self.slots.take()?;
        let slot = self.slots.get_mut(user);
        slot.owner = Owner::Control;
        // It changes no block, and a caller's command may have had the slot before.
        (slot.lba, slot.blocks) = (0, 0);
        slot.transfer_bytes = transfer_bytes;
        slot.data = Data::Control(data);
        slot.cdb = cdb;
        slot.direction = direction;
        slot.attempts = 0;
        slot.last_path = None;
        slot.submitted_at = now;
        slot.place = CommandState::Waiting;
        self.waiting.submit(user);
        Some(user)
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
