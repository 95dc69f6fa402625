//! Examines the LUN behind a new path: whether it is ready, is the same unit, and can be used.

use std::time::Instant;

use super::core::{Core, LastBlock, SessionUse};
use crate::error::PathError;
use crate::events::EventKind;
use crate::multipath::{Connection, Phase, ProbeStep, State};
use crate::pdu::Direction;
use crate::proof::Difference;
use crate::scsi::{
    AccessState, Capacity, DeviceIds, Inquiry, Sense, cdb, key, parse_port_groups, parse_serial, status,
};
use crate::session::TaskOutcome;
use crate::slots::{CommandState, Data, Owner};

/// Number of consecutive unit attentions accepted; a target sends a few after a restart.
const READY_TRIES_MAX: u8 = 16;
/// Allocation length for page 83, bytes.
const PAGE_BYTES: u16 = 1024;
/// Allocation length for page 80, bytes.
const SERIAL_BYTES: u16 = 255;
const TOO_LARGE: &str = "the LUN is too large for READ CAPACITY(10) and does not support READ CAPACITY(16)";
/// Allocation length for the target port groups, bytes.
const ANSWER_BYTES: u32 = 1024;

impl<B: AsRef<[u8]> + AsMut<[u8]>> Core<B> {
    pub(super) fn begin_probe(&mut self, at: usize, now: Instant) {
        match self.session_use {
            SessionUse::Io => self.send_probe(at, ProbeStep::Ready { tries: 0 }, now),
            SessionUse::Queries => self.serve(at, now),
        }
    }

    fn send_probe(&mut self, at: usize, step: ProbeStep, now: Instant) {
        if let State::Online(connection) = &mut self.paths[at].state
            && let Phase::Probing { step: current, .. } = &mut connection.phase
        {
            *current = step;
        }
        let (cdb, bytes) = match step {
            ProbeStep::Ready { .. } => (cdb::test_unit_ready(), 0),
            ProbeStep::Inquiry => (cdb::inquiry(96), 96),
            ProbeStep::Serial => (cdb::inquiry_page(0x80, SERIAL_BYTES), SERIAL_BYTES.into()),
            ProbeStep::Ids => (cdb::inquiry_page(0x83, PAGE_BYTES), PAGE_BYTES.into()),
            ProbeStep::Capacity16 => (cdb::read_capacity_16(), 32),
            ProbeStep::Capacity10 => (cdb::read_capacity_10(), 8),
            ProbeStep::LastBlock => self.read_from_end(1),
            ProbeStep::BlockBefore => self.read_from_end(2),
            ProbeStep::Witness { at: witness, .. } => self.read_witness(at, witness),
            ProbeStep::Groups => (cdb::report_target_port_groups(ANSWER_BYTES), ANSWER_BYTES),
        };
        let Some(user) = self.slots.take() else {
            return self.lun_unusable(at, "no free slot for another command".into(), now);
        };
        let path = self.paths[at].index;
        let slot = self.slots.get_mut(user);
        slot.owner = Owner::Probe { path };
        slot.data = Data::Control(vec![0; bytes as usize]);
        slot.cdb = cdb;
        slot.direction = if bytes == 0 { Direction::None } else { Direction::Read };
        slot.transfer_bytes = bytes;
        slot.attempts = 0;
        slot.submitted_at = now;
        slot.place = CommandState::Bound { path };
        self.paths[at].pending.push_front(user);
        if let State::Online(connection) = &mut self.paths[at].state {
            (connection.probe, connection.check) = (Some(user), None);
        }
    }

    /// Reads the access state again, unless that command is already in flight.
    pub(super) fn read_access_state(&mut self, at: usize, now: Instant) {
        let path = self.paths[at].index;
        let is_probe = |owner| matches!(owner, Owner::Probe { path: of } if of == path);
        // A check is abandoned; it will be repeated.
        let is_checking =
            matches!(&self.paths[at].state, State::Online(connection) if connection.check.is_some());
        let is_free = is_checking || !self.slots.live().any(|(_, slot)| is_probe(slot.owner));
        if self.paths[at].is_serving() && is_free {
            self.send_probe(at, ProbeStep::Groups, now);
        }
    }

    /// Handles a command of the examination, or a check, that was aborted: it is sent again.
    pub(super) fn probe_lost(&mut self, at: usize, user: u32, now: Instant) {
        let State::Online(connection) = &mut self.paths[at].state else { return };
        let is_present = connection.probe.take_if(|probe| *probe == user).is_some();
        if !is_present || connection.check.take().is_some() || connection.phase == Phase::Serving {
            return;
        }
        if connection.attentions >= READY_TRIES_MAX {
            let why = "a command that reads the identity of the LUN was aborted again and again".into();
            return self.lun_unusable(at, why, now);
        }
        connection.attentions += 1;
        let tries = connection.attentions;
        self.send_probe(at, ProbeStep::Ready { tries }, now);
    }

    fn lun_unusable(&mut self, at: usize, why: String, now: Instant) {
        let portal = self.paths[at].portal.clone();
        self.fail_path(at, &PathError::Lun { portal, why }, now);
    }

    fn no_unit(&mut self, at: usize, why: String, now: Instant) {
        let portal = self.paths[at].portal.clone();
        self.fail_path(at, &PathError::NoUnit { portal, why }, now);
    }

    pub(super) fn probe_done(&mut self, at: usize, user: u32, outcome: &TaskOutcome, now: Instant) {
        let Data::Control(mut data) = self.slots.put(user) else {
            unreachable!("a probe has a buffer of its own");
        };
        data.truncate(outcome.transferred_bytes as usize);
        let State::Online(connection) = &mut self.paths[at].state else { return };
        // Of the answer to a command from before this examination began, only news of the unit count.
        if connection.probe.take_if(|probe| *probe == user).is_none() {
            return self.doubt_attention(at, outcome, now);
        }
        if let Some(check) = connection.check.take() {
            return self.checked(at, check, outcome, data, now);
        }
        let was_serving = connection.phase == Phase::Serving;
        self.doubt_attention(at, outcome, now);
        if was_serving && !self.paths[at].is_serving() {
            return;
        }
        let State::Online(connection) = &mut self.paths[at].state else { return };
        let step = match connection.phase {
            Phase::Probing { step, .. } => step,
            _ => ProbeStep::Groups,
        };
        match again(connection, step, outcome) {
            Again::No => {}
            Again::Yes => {
                let tries = connection.attentions;
                connection.look_until(now + self.config.timeouts.login);
                return self.send_probe(at, ProbeStep::Ready { tries }, now);
            }
            Again::TooOften => {
                let why = "it reports a change again and again".into();
                return self.lun_unusable(at, why, now);
            }
        }
        let is_good = outcome.response == 0 && outcome.status == status::GOOD;
        let next = match step {
            ProbeStep::Ready { tries } => self.ready_answer(tries, outcome),
            ProbeStep::Inquiry => {
                let failed = || Some(format!("INQUIRY failed: {}", words(outcome)));
                match if is_good { no_disk(&data) } else { failed() } {
                    Some(why) => return self.no_unit(at, why, now),
                    None => {
                        self.note_product(at, &data);
                        Ok(Some(ProbeStep::Serial))
                    }
                }
            }
            ProbeStep::Serial => {
                self.note_serial(at, is_good, &data);
                Ok(Some(ProbeStep::Ids))
            }
            ProbeStep::Ids => Ok(Some(self.ids_answer(at, is_good, &data))),
            ProbeStep::Capacity16 | ProbeStep::Capacity10 => {
                self.capacity_answer(at, step, is_good, &data, outcome)
            }
            ProbeStep::LastBlock | ProbeStep::BlockBefore => self.last_block_answer(at, step, outcome, now),
            ProbeStep::Witness { at: witness, mismatches } => {
                let answer = self.witness_answer(at, (witness, mismatches), &data, outcome);
                answer.map(Some).map_err(Refusal::Changed)
            }
            ProbeStep::Groups => self.groups_answer(at, is_good, &data, now),
        };
        match next {
            Ok(Some(step)) => self.send_probe(at, step, now),
            Ok(None) => self.serve(at, now),
            Err(Refusal::Unusable(why)) => self.lun_unusable(at, why, now),
            Err(Refusal::Changed(difference)) => self.unit_changed(at, difference, now),
        }
    }

    fn ready_answer(&self, tries: u8, outcome: &TaskOutcome) -> Result<Option<ProbeStep>, Refusal> {
        let sense = Sense::parse(&outcome.sense);
        let attention = sense.is_some_and(|sense| sense.key == key::UNIT_ATTENTION);
        match outcome.status {
            status::CHECK_CONDITION if attention && tries < READY_TRIES_MAX => {
                Ok(Some(ProbeStep::Ready { tries: tries + 1 }))
            }
            status::BUSY | status::TASK_SET_FULL => Err(words(outcome).into()),
            // Standby ports and reserved units are examined as well; later steps show what they allow.
            _ => Ok(Some(ProbeStep::Inquiry)),
        }
    }

    fn note_product(&mut self, at: usize, data: &[u8]) {
        if let (State::Online(connection), Ok(inquiry)) = (&mut self.paths[at].state, Inquiry::parse(data)) {
            connection.identity.product = format!("{} {}", inquiry.vendor, inquiry.product);
        }
    }

    fn note_serial(&mut self, at: usize, is_good: bool, data: &[u8]) {
        if let State::Online(connection) = &mut self.paths[at].state {
            let serial = if is_good { parse_serial(data).ok().flatten() } else { None };
            connection.identity.serial = serial;
        }
    }

    fn ids_answer(&mut self, at: usize, is_good: bool, data: &[u8]) -> ProbeStep {
        // A unit without page 83 has no name; two paths cannot be distinguished then, and none is refused.
        let ids = if is_good { DeviceIds::parse(data).unwrap_or_default() } else { DeviceIds::default() };
        self.paths[at].port_group = ids.target_port_group();
        let wwid = ids.wwid();
        if let State::Online(connection) = &mut self.paths[at].state {
            connection.identity.wwid.clone_from(&wwid);
        }
        if self.wwid.is_none() {
            self.wwid = wwid;
        }
        ProbeStep::Capacity16
    }

    fn capacity_answer(
        &mut self,
        at: usize,
        step: ProbeStep,
        is_good: bool,
        data: &[u8],
        outcome: &TaskOutcome,
    ) -> Result<Option<ProbeStep>, Refusal> {
        let mut capacity = match step {
            ProbeStep::Capacity16 if !is_good => return Ok(Some(ProbeStep::Capacity10)),
            ProbeStep::Capacity16 => Capacity::parse_16(data).map_err(|error| error.to_string())?,
            // A standby port may refuse; that is acceptable if another path has reported the size.
            _ if !is_good && self.capacity.is_some() => return self.compared(at),
            _ if !is_good => return Err(format!("READ CAPACITY failed: {}", words(outcome)).into()),
            _ => Capacity::parse_10(data)
                .map_err(|error| error.to_string())?
                .ok_or_else(|| TOO_LARGE.to_owned())?,
        };
        if self.last_block == LastBlock::Missing {
            capacity.blocks = capacity.blocks.saturating_sub(1);
        }
        match self.capacity {
            Some(known) if (known.blocks, known.block_bytes) != (capacity.blocks, capacity.block_bytes) => {
                let (before, now) = (known.bytes(), capacity.bytes());
                Err(Refusal::Changed(Difference::Size { before, now }))
            }
            _ => {
                self.capacity = Some(capacity);
                let is_open = self.last_block == LastBlock::Unread && capacity.blocks > 1;
                if is_open { Ok(Some(ProbeStep::LastBlock)) } else { self.compared(at) }
            }
        }
    }

    fn compared(&mut self, at: usize) -> Result<Option<ProbeStep>, Refusal> {
        self.compare_unit(at).map(Some).map_err(Refusal::Changed)
    }

    /// Returns a READ of one block: the last reported one (`back` 1), or the one before it (2).
    fn read_from_end(&self, back: u64) -> (cdb::Cdb, u32) {
        let capacity = self.capacity();
        (cdb::read(capacity.blocks.saturating_sub(back), 1, cdb::Fua::Off), capacity.block_bytes)
    }

    /// Evaluates the READ of the last block. A target that reports the number of blocks as the address of the last one
    /// (as jSCSI does) refuses that address and accepts the one before. Any other answer leaves the size as reported.
    fn last_block_answer(
        &mut self,
        at: usize,
        step: ProbeStep,
        outcome: &TaskOutcome,
        now: Instant,
    ) -> Result<Option<ProbeStep>, Refusal> {
        let is_good = outcome.response == 0 && outcome.status == status::GOOD;
        // The sense key suffices: jSCSI sends no additional sense code.
        let is_refused = Sense::parse(&outcome.sense).is_some_and(|sense| sense.key == key::ILLEGAL_REQUEST);
        // Several paths may be in this step at the same time: the first answer counts.
        match (self.last_block, step) {
            (LastBlock::Unread, ProbeStep::LastBlock) if is_refused => {
                return Ok(Some(ProbeStep::BlockBefore));
            }
            (LastBlock::Unread, ProbeStep::LastBlock) if is_good => self.last_block = LastBlock::Exists,
            (LastBlock::Unread, ProbeStep::BlockBefore) if is_good => {
                self.last_block = LastBlock::Missing;
                if let Some(capacity) = &mut self.capacity {
                    capacity.blocks -= 1;
                    let words = format!(
                        "READ CAPACITY reports {} blocks, but block {} does not exist; Assay uses {} blocks",
                        capacity.blocks + 1,
                        capacity.blocks,
                        capacity.blocks
                    );
                    let index = self.paths[at].index;
                    self.log.push(now, Some(index), EventKind::Deviation(words));
                }
            }
            _ => {}
        }
        self.compared(at)
    }

    fn groups_answer(
        &mut self,
        at: usize,
        is_good: bool,
        data: &[u8],
        now: Instant,
    ) -> Result<Option<ProbeStep>, Refusal> {
        let groups = if is_good { parse_port_groups(data).unwrap_or_default() } else { Vec::new() };
        let own = self.paths[at].port_group;
        let group = groups.iter().find(|group| own == Some(group.group));
        // Without asymmetric access all paths are equal.
        let access = group.map_or(AccessState::Optimized, |group| group.state);
        self.set_access(at, access, now);
        Ok(None)
    }

    fn serve(&mut self, at: usize, now: Instant) {
        let path = &mut self.paths[at];
        let State::Online(connection) = &mut path.state else { return };
        if connection.phase == Phase::Serving {
            return;
        }
        connection.phase = Phase::Serving;
        connection.session.release_data();
        self.has_served = true;
        if std::mem::replace(&mut connection.has_served, true) {
            return self.say_same_unit(at, now);
        }
        let is_serial = connection.session.is_serial() && self.session_use == SessionUse::Io;
        (path.is_changed, path.doubted_at) = (false, None);
        path.attempts = 0;
        path.was_silent = false;
        path.backoff.reset();
        path.last_error = None;
        path.missing = None;
        let (index, portal) = (path.index, path.portal.clone());
        self.all_down_since = None;
        self.log.push(now, Some(index), EventKind::PathUp { portal });
        if is_serial {
            let words =
                "the target's command window holds one command; Assay sends one command at a time".to_owned();
            self.log.push(now, Some(index), EventKind::Deviation(words));
        }
    }
}

/// Whether an examination starts again.
enum Again {
    No,
    Yes,
    /// It did so too often.
    TooOften,
}

/// Returns whether the examination must start again because something may have changed meanwhile. Doubts of other paths
/// do not count as attempts: each path may have one at the same time, and the time limit applies.
fn again(connection: &mut Connection, step: ProbeStep, outcome: &TaskOutcome) -> Again {
    let is_looking = matches!(connection.phase, Phase::Probing { .. });
    let is_attention = check_condition(outcome).is_some_and(|sense| sense.key == key::UNIT_ATTENTION);
    let is_first = matches!(step, ProbeStep::Ready { .. });
    let must_look_again = std::mem::take(&mut connection.must_look_again);
    match (is_looking, is_attention && !is_first) {
        (true, true) if connection.attentions >= READY_TRIES_MAX => Again::TooOften,
        (true, true) => {
            connection.attentions += 1;
            Again::Yes
        }
        (true, false) if must_look_again => Again::Yes,
        _ => Again::No,
    }
}

/// Returns the sense data of a command that ended with CHECK CONDITION.
fn check_condition(outcome: &TaskOutcome) -> Option<Sense> {
    Sense::parse(&outcome.sense).filter(|_| outcome.status == status::CHECK_CONDITION)
}

/// Why a unit is not used.
enum Refusal {
    /// The reason, in words.
    Unusable(String),
    /// It is another unit, or its size differs.
    Changed(Difference),
}

impl From<String> for Refusal {
    fn from(why: String) -> Self {
        Self::Unusable(why)
    }
}

/// Returns why the unit that INQUIRY describes cannot be used for I/O.
fn no_disk(data: &[u8]) -> Option<String> {
    match Inquiry::parse(data) {
        Err(error) => Some(error.to_string()),
        Ok(inquiry) if inquiry.qualifier != 0 => Some("the target has no such LUN".into()),
        Ok(inquiry) if inquiry.device_type != 0 => {
            Some(format!("it is not a disk (device type {:#04x})", inquiry.device_type))
        }
        // A unit without ALUA may still answer page 83; the port groups are read last and may be refused.
        Ok(_) => None,
    }
}

fn words(outcome: &TaskOutcome) -> String {
    Sense::parse(&outcome.sense).map_or_else(|| status::words(outcome.status).to_owned(), |s| s.to_string())
}
