//! A path proves again that it leads to the unit it led to before, ahead of the next write.
//!
//! The target reports that something changed (a unit attention, or that there is no such unit any more), or the path
//! logged in anew. Until serial number, name, size and a block that was written lately are those of before, the path
//! gets no I/O, and write data that the target has asked for are held back.

use std::time::Instant;

use super::{Initiator, SessionUse};
use crate::error::{Lost, PathError};
use crate::events::EventKind;
use crate::multipath::{Phase, ProbeStep, State};
use crate::pdu::Direction;
use crate::proof::{Difference, Source};
use crate::scsi::{cdb, status};
use crate::session::TaskOutcome;
use crate::slots::{CommandState, Owner};

/// The oldest blocks that must be wrong for a unit to be another one although newer ones are right. A single one may
/// be wrong because another initiator had a write to it in flight when it was remembered.
const LOST_MIN: usize = 2;

impl<B: AsRef<[u8]> + AsMut<[u8]>> Initiator<B> {
    /// A target reports that the unit may be another one: this path looks at it before it serves on, and every other
    /// path to the unit, also those of other initiators, before its next command.
    pub(super) fn doubt(&mut self, at: usize, now: Instant) {
        self.config.proof.doubt();
        self.reprove(at, now);
    }

    /// Looks at the unit on every path where it was doubted since the last look.
    pub(super) fn reprove_where_doubted(&mut self, now: Instant) {
        let doubts = self.config.proof.doubts();
        if std::mem::replace(&mut self.doubts, doubts) == doubts {
            return;
        }
        for at in 0..self.paths.len() {
            if self.paths[at].is_serving() {
                self.reprove(at, now);
            }
        }
    }

    /// Until one write has ended, whose data prove which unit it is, writes go one by one: a second one may reach
    /// another disk before this host hears that the first was refused.
    pub(super) fn waits_for_first_write(&self, user: u32) -> bool {
        let is_write = |slot: &crate::slots::Slot<B>| {
            slot.direction == Direction::Write && matches!(slot.owner, Owner::Caller { .. })
        };
        let is_idle = |place| matches!(place, CommandState::Waiting | CommandState::Paused { .. });
        !self.config.proof.is_written()
            && is_write(self.slots.get(user))
            && self.slots.live().any(|(_, slot)| is_write(slot) && !is_idle(slot.place))
    }

    /// Looks at the unit again before the path serves on.
    pub(super) fn reprove(&mut self, at: usize, now: Instant) {
        let deadline = now + self.config.timeouts.login;
        let State::Online(connection) = &mut self.paths[at].state else { return };
        match connection.phase {
            _ if self.session_use == SessionUse::Queries => return,
            Phase::Leaving { .. } => return,
            Phase::Probing { .. } => return connection.must_look_again = true,
            Phase::Serving => {}
        }
        connection.phase = Phase::Probing { step: ProbeStep::Ready { tries: 0 }, deadline };
        connection.attentions = 0;
        connection.session.hold_data();
        self.take_back_unsent(at);
        self.begin_probe(at, now);
    }

    /// Commands that the target has not seen yet go to any path that serves.
    fn take_back_unsent(&mut self, at: usize) {
        let index = self.paths[at].index;
        let is_unsent = |place| match place {
            CommandState::Bound { path } | CommandState::Started { path } => path == index,
            _ => false,
        };
        let live = self.slots.live().filter(|(_, slot)| is_unsent(slot.place));
        let mut unsent: Vec<(Instant, u32)> = live.map(|(user, slot)| (slot.submitted_at, user)).collect();
        unsent.sort_unstable();
        let path = &mut self.paths[at];
        path.pending.clear();
        for (_, user) in unsent.into_iter().rev() {
            if let State::Online(connection) = &mut path.state {
                connection.session.withdraw(user);
            }
            let slot = self.slots.get_mut(user);
            if let Owner::Probe { .. } = slot.owner {
                self.slots.put(user);
            } else {
                slot.place = CommandState::Waiting;
                self.waiting.push_front(user);
            }
        }
    }

    /// Compares what the unit says of itself with what is known, then what it holds.
    pub(super) fn compare_unit(&mut self, at: usize) -> Result<ProbeStep, Difference> {
        let capacity = self.capacity();
        let State::Online(connection) = &mut self.paths[at].state else { return Ok(ProbeStep::Groups) };
        self.config.proof.compare(&connection.identity, capacity)?;
        connection.witnesses = self.config.proof.witnesses();
        let is_known = !connection.witnesses.is_empty();
        Ok(if is_known { ProbeStep::Witness { at: 0, mismatches: 0 } } else { ProbeStep::Groups })
    }

    /// The READ of a witness.
    pub(super) fn read_witness(&self, at: usize, witness: usize) -> (cdb::Cdb, u32) {
        let known = match &self.paths[at].state {
            State::Online(connection) => {
                connection.witnesses.get(witness).map(|known| (known.lba, known.blocks))
            }
            _ => None,
        };
        let (lba, blocks) = known.unwrap_or((0, 1));
        (cdb::read(lba, blocks, cdb::Fua::Off), self.capacity().block_bytes * blocks)
    }

    /// One block that holds what was written there is proof, the oldest first; of what was inspected, each piece must
    /// be as it was. Blocks that were written meanwhile, or cannot be read, say nothing.
    pub(super) fn witness_answer(
        &self,
        at: usize,
        (witness, mut mismatches): (usize, usize),
        data: &[u8],
        outcome: &TaskOutcome,
    ) -> Result<ProbeStep, Difference> {
        let State::Online(connection) = &self.paths[at].state else { return Ok(ProbeStep::Groups) };
        let is_good = outcome.response == 0 && outcome.status == status::GOOD;
        let Some(known) = connection.witnesses.get(witness).copied() else { return Ok(ProbeStep::Groups) };
        let is_same = is_good && crc32c::crc32c(data) == known.crc;
        let is_other = is_good && !is_same && self.config.proof.still_holds(known);
        match known.source {
            Source::Written { .. } if is_same && mismatches < LOST_MIN => return Ok(ProbeStep::Groups),
            Source::Written { .. } if is_same => {
                return Err(Difference::Identity(format!(
                    "{mismatches} blocks do not hold what was written to them, and block {}, written later, does: \
                     another disk took its place in between, or the target lost writes that it had acknowledged",
                    known.lba
                )));
            }
            Source::Inspected { .. } if is_other => {
                return Err(Difference::Identity(format!(
                    "block {} and those after it do not hold what they held when Assay inspected it",
                    known.lba
                )));
            }
            _ => mismatches += usize::from(is_other),
        }
        let next = witness + 1;
        match next < connection.witnesses.len() {
            true => Ok(ProbeStep::Witness { at: next, mismatches }),
            false if mismatches == 0 => Ok(ProbeStep::Groups),
            false => Err(Difference::Identity(format!(
                "none of {mismatches} blocks holds what was written to it, block {} among them: it is another disk, or \
                 the target lost writes that it had acknowledged",
                known.lba
            ))),
        }
    }

    /// The path leads to another unit: it is fenced. Where no path leads to the known one, or the unit has another
    /// size, nothing can go on.
    pub(super) fn unit_changed(&mut self, at: usize, difference: Difference, now: Instant) {
        let portal = self.paths[at].portal.clone();
        let error = match difference {
            Difference::Identity(why) => PathError::Changed { portal, why },
            Difference::Size { before, now } => PathError::Resized { portal, before, now },
        };
        self.fail_path(at, &error, now);
        let is_over = match error {
            PathError::Resized { .. } => true,
            _ => self.paths.iter().all(|path| path.is_changed && matches!(path.state, State::Down { .. })),
        };
        if self.has_served && is_over && self.lost.is_none() {
            self.give_up(Lost::Changed { why: error.to_string() });
        }
    }

    /// The path serves again after it was looked at anew.
    pub(super) fn say_same_unit(&mut self, at: usize, now: Instant) {
        self.log.push(now, Some(self.paths[at].index), EventKind::SameUnit);
    }

    /// Remembers the first block of a write that has ended, by which a path can prove itself.
    #[cold]
    pub(super) fn remember(&mut self, user: u32) {
        let block_bytes = self.capacity().block_bytes;
        let lba = self.slots.get(user).lba;
        // A later write to the same block may be in flight already.
        let overlaps = |(other, slot): (u32, &crate::slots::Slot<B>)| {
            other != user
                && slot.direction == Direction::Write
                && matches!(slot.owner, Owner::Caller { .. })
                && lba.wrapping_sub(slot.lba) < u64::from(slot.transfer_bytes / block_bytes)
        };
        if self.slots.live().any(overlaps) {
            return;
        }
        self.is_sampling = false;
        if let Some(data) = self.slots.get(user).data.bytes().get(..block_bytes as usize) {
            self.config.proof.remember(lba, data);
        }
    }
}
