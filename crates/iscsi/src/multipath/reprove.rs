//! Verifies before the next write that a path still leads to the same unit.
//!
//! The trigger is a report from the target (a unit attention, or that the unit no longer exists) or a new login. Until
//! serial number, name, size and a recently written block match the known ones, the path gets no I/O, and write data
//! that the target has requested is not sent.

use std::time::Instant;

use super::core::{Core, SessionUse};
use crate::error::{Lost, PathError};
use crate::events::EventKind;
use crate::multipath::{Phase, ProbeStep, State};
use crate::pdu::Direction;
use crate::proof::{Difference, Source};
use crate::scsi::{Sense, cdb, key, status};
use crate::session::TaskOutcome;
use crate::slots::{CommandState, Owner};

/// Additional sense code: power on, reset, or loss of the session.
const ASC_RESET: u8 = 0x29;

impl<B: AsRef<[u8]> + AsMut<[u8]>> Core<B> {
    /// Handles a report that the unit may be another one: this path verifies it before further I/O, and every other
    /// path to the unit, including those of other initiators, before its next command.
    pub(super) fn doubt(&mut self, at: usize, now: Instant) {
        self.config.proof.doubt();
        // A doubt of another initiator that is not handled yet remains one.
        self.doubts = self.doubts.wrapping_add(1);
        self.reprove(at, now);
        self.reprove_all(now);
    }

    /// Handles a unit attention in the answer to a command that is not I/O, or no longer this path's. The other paths
    /// carry I/O meanwhile, and may get their own report after their next write.
    pub(super) fn doubt_attention(&mut self, at: usize, outcome: &TaskOutcome, now: Instant) {
        let is_checked = outcome.status == status::CHECK_CONDITION;
        let Some(sense) = Sense::parse(&outcome.sense).filter(|_| is_checked) else { return };
        // Every new session begins with a report of its own beginning, which says nothing of the unit.
        let is_of_login = sense.asc == ASC_RESET
            && matches!(&self.paths[at].state, State::Online(c) if !c.has_served && c.is_before_look());
        if sense.key == key::UNIT_ATTENTION && sense.tells_of_another_unit() && !is_of_login {
            self.doubt(at, now);
        }
    }

    /// Verifies the unit on every path where it was doubted since the last check.
    pub(super) fn reprove_where_doubted(&mut self, now: Instant) {
        let doubts = self.config.proof.doubts();
        if std::mem::replace(&mut self.doubts, doubts) == doubts {
            return;
        }
        self.reprove_all(now);
    }

    /// Verifies the unit on every path that carries I/O, or has begun to read the unit's identity.
    fn reprove_all(&mut self, now: Instant) {
        for at in 0..self.paths.len() {
            if matches!(&self.paths[at].state, State::Online(connection) if !connection.is_before_look()) {
                self.reprove(at, now);
            }
        }
    }

    /// Until the first write has completed, whose data identifies the unit, writes are sent one by one: a second one
    /// could reach another disk before this host learns that the first was refused.
    pub(super) fn waits_for_first_write(&self, user: u32) -> bool {
        let is_write = |slot: &crate::slots::Slot<B>| {
            slot.direction == Direction::Write && matches!(slot.owner, Owner::Caller { .. })
        };
        let is_idle = |place| matches!(place, CommandState::Waiting | CommandState::Paused { .. });
        !self.config.proof.is_written()
            && is_write(self.slots.get(user))
            && self.slots.live().any(|(_, slot)| is_write(slot) && !is_idle(slot.place))
    }

    /// Verifies the unit before the path carries I/O again.
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

    /// Moves commands that the target has not seen yet to any path that is up. Returns how many of them are I/O.
    pub(super) fn take_back_unsent(&mut self, at: usize) -> u64 {
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
        let mut moved = 0;
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
                moved += 1;
            }
        }
        moved
    }

    /// Compares the unit's identity with the known one, then its content.
    pub(super) fn compare_unit(&mut self, at: usize) -> Result<ProbeStep, Difference> {
        let capacity = self.capacity();
        let State::Online(connection) = &mut self.paths[at].state else { return Ok(ProbeStep::Groups) };
        self.config.proof.compare(&connection.identity, capacity)?;
        connection.witnesses = self.config.proof.witnesses();
        let is_known = !connection.witnesses.is_empty();
        Ok(if is_known { ProbeStep::Witness { at: 0, mismatches: 0 } } else { ProbeStep::Groups })
    }

    /// Returns the READ of a witness.
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

    /// Evaluates the READ of a witness. The oldest block that holds the data written there is proof, unless an older
    /// one does not: the newer one may have been written to another disk. Of the inspected blocks each must be
    /// unchanged. Blocks that were written meanwhile or cannot be read prove nothing.
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
            Source::Written { .. } if is_same && mismatches == 0 => return Ok(ProbeStep::Groups),
            Source::Written { .. } if is_same => {
                return Err(Difference::Identity(format!(
                    "of the blocks written first, {mismatches} {} no longer what was written, and block {}, written \
                     later, does: another disk took its place in between, another host writes to it, or the target \
                     lost writes that it had acknowledged",
                    if mismatches == 1 { "holds" } else { "hold" },
                    known.lba
                )));
            }
            Source::Inspected { .. } if is_other => {
                return Err(Difference::Identity(format!(
                    "block {} and those after it do not hold what they held when Assay inspected it; another host may \
                     have written to it",
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

    /// Handles a path that leads to another unit: it is fenced. If no path leads to the known unit, or the size
    /// differs, the initiator is lost.
    pub(super) fn unit_changed(&mut self, at: usize, difference: Difference, now: Instant) {
        let portal = self.paths[at].portal.clone();
        let error = match difference {
            Difference::Identity(why) => PathError::Changed { portal, why },
            Difference::Size { before, now } => PathError::Resized { portal, before, now },
        };
        // The other paths may lead there too, as they do if the target has put another disk behind the number.
        if self.paths[at].doubted_at.replace(now).is_none() {
            self.config.proof.doubt();
        }
        self.fail_path(at, &error, now);
        let is_over = match error {
            PathError::Resized { .. } => true,
            _ => self.paths.iter().all(|path| path.is_changed && matches!(path.state, State::Down { .. })),
        };
        if self.has_served && is_over && self.lost.is_none() {
            self.give_up(Lost::Changed { why: error.to_string() });
        }
    }

    /// Reports that the path was verified and is up again.
    pub(super) fn say_same_unit(&mut self, at: usize, now: Instant) {
        self.log.push(now, Some(self.paths[at].index), EventKind::SameUnit);
    }

    /// Ends the listing of a command that has completed; what failed may still change its blocks, now or, if its old
    /// session was not known to have ended, at any time.
    #[inline]
    pub(super) fn end_change(&mut self, user: u32, is_good: bool) {
        let slot = self.slots.get_mut(user);
        if slot.blocks == 0 || !matches!(slot.owner, Owner::Caller { .. }) {
            return;
        }
        if let Some(candidate) = slot.candidate.take() {
            self.config.proof.dismiss(candidate);
        }
        if is_good {
            return self.changes.end(user);
        }
        if let CommandState::Fenced { path } = slot.place {
            self.leave_copy(path.into(), user);
        }
    }

    /// Chooses the first block of a write that is about to be sent as a candidate for a witness.
    #[cold]
    pub(super) fn choose_witness(&mut self, user: u32) {
        self.is_sampling = false;
        let block_bytes = self.capacity().block_bytes;
        let slot = self.slots.get(user);
        if let Some(data) = slot.data.bytes().get(..block_bytes as usize) {
            let candidate =
                self.config.proof.choose(slot.lba, data, &self.changes, (user, slot.submitted_at));
            self.slots.get_mut(user).candidate = candidate;
        }
    }
}
