//! Checks regularly, along with the I/O, that the unit still exists and is still the same. Without these checks a run
//! would keep writing to another disk that a target put behind the LUN number without reporting it.
//!
//! A [`Check`] is one command among the path's I/O. A mismatch starts the full verification (`reprove`), which decides;
//! a check itself never does, because other initiators may be writing to the same block.

use std::time::{Duration, Instant};

use super::core::{Core, SessionUse};
use crate::config::UnitWatch;
use crate::multipath::{CHECKS, Path, State};
use crate::pdu::Direction;
use crate::proof::Check;
use crate::scsi::{Sense, cdb, status};
use crate::session::TaskOutcome;
use crate::slots::{CommandState, Data, Owner};

/// Interval of block reads outside of measurements …
const CLOSELY: Duration = Duration::from_millis(10);
/// … and during a measurement: one small read per second.
const REGULARLY: Duration = Duration::from_secs(1);
/// Pause after a check that proved nothing …
const AGAIN: Duration = Duration::from_millis(100);
/// … and number of them in a row after which the next one comes at its time.
const VAIN_MAX: u8 = 3;
/// Interval of presence checks. Another disk can take over a number within some milliseconds.
const PRESENCE_EVERY: Duration = Duration::from_millis(1);

impl<B: AsRef<[u8]> + AsMut<[u8]>> Core<B> {
    /// Reads a block on each path that is due for a check. Called with every tick.
    pub(super) fn check_content(&mut self, now: Instant) {
        let every = match self.config.watch {
            UnitWatch::Closely => CLOSELY,
            UnitWatch::Regularly => REGULARLY,
            UnitWatch::OnNews => return,
        };
        if self.session_use == SessionUse::Queries || !self.config.proof.is_written() {
            return;
        }
        for at in 0..self.paths.len() {
            let path = &mut self.paths[at];
            if !may_check(path) || now < path.check_at {
                continue;
            }
            path.check_at = now + every;
            if let Some((witness, is_proof)) = self.config.proof.to_check(path.known_at, now) {
                path.checked_at = is_proof.then_some(now);
                self.check(at, Check::Content(witness), now);
            }
        }
    }

    /// Checks on each path that the unit exists. Called with every turn; does nothing during a measurement.
    #[inline]
    pub(super) fn check_presence(&mut self, now: Instant) {
        if self.config.watch != UnitWatch::Closely || self.session_use == SessionUse::Queries {
            return;
        }
        // First: on a slow target presence checks follow one another without a pause, and a path has one check at a
        // time.
        self.check_content(now);
        for at in 0..self.paths.len() {
            let path = &mut self.paths[at];
            if may_check(path) && now >= path.presence_at {
                path.presence_at = now + PRESENCE_EVERY;
                self.check(at, Check::Presence, now);
            }
        }
    }

    fn check(&mut self, at: usize, check: Check, now: Instant) {
        let Some(user) = self.slots.take() else { return };
        let (cdb, bytes) = match check {
            Check::Presence => (cdb::test_unit_ready(), 0),
            Check::Content(witness) => {
                let bytes = self.capacity().block_bytes * witness.blocks;
                (cdb::read(witness.lba, witness.blocks, cdb::Fua::Off), bytes)
            }
        };
        let mut data = std::mem::take(&mut self.check_data);
        data.resize(bytes as usize, 0);
        let path = self.paths[at].index;
        let slot = self.slots.get_mut(user);
        slot.owner = Owner::Probe { path };
        slot.data = Data::Control(data);
        slot.cdb = cdb;
        slot.direction = if bytes == 0 { Direction::None } else { Direction::Read };
        slot.transfer_bytes = bytes;
        slot.attempts = 0;
        slot.submitted_at = now;
        slot.place = CommandState::Bound { path };
        // With room for one command, checks and I/O take turns: a check that always came first would leave no turn.
        let target = &mut self.paths[at];
        if target.depth_limit > CHECKS {
            target.pending.push_front(user)
        } else {
            target.pending.push_back(user)
        }
        if let State::Online(connection) = &mut self.paths[at].state {
            (connection.probe, connection.check) = (Some(user), Some(check));
        }
    }

    /// Repeats a check that proved nothing, a few times: it was refused, or its block was written meanwhile.
    fn check_soon(&mut self, at: usize, now: Instant) {
        let path = &mut self.paths[at];
        let is_vain = path.checked_at.is_some() && path.known_at < path.checked_at;
        if is_vain && path.vain_checks < VAIN_MAX {
            path.vain_checks += 1;
            path.check_at = path.check_at.min(now + AGAIN);
        }
    }

    /// Evaluates a completed check; `data` are the bytes read.
    pub(super) fn checked(
        &mut self,
        at: usize,
        check: Check,
        outcome: &TaskOutcome,
        data: Vec<u8>,
        now: Instant,
    ) {
        let is_good = outcome.response == 0 && outcome.status == status::GOOD;
        let sense = Sense::parse(&outcome.sense).filter(|_| outcome.status == status::CHECK_CONDITION);
        let is_doubtful = match check {
            Check::Content(known) if is_good && crc32c::crc32c(&data) == known.crc => {
                let path = &mut self.paths[at];
                (path.known_at, path.vain_checks) = (path.checked_at.or(path.known_at), 0);
                false
            }
            Check::Content(known) if is_good && self.config.proof.still_holds(known) => true,
            _ => sense.is_some_and(|sense| sense.tells_of_another_unit()),
        };
        if let Check::Content(known) = check {
            self.config.proof.was_read(known);
            self.check_soon(at, now);
        }
        self.check_data = data;
        if is_doubtful {
            self.doubt(at, now);
        }
    }
}

/// Returns true for a path that is up, is not being verified, and accepts several commands at a time.
fn may_check(path: &Path) -> bool {
    match &path.state {
        State::Online(connection) => {
            path.is_trusted() && connection.probe.is_none() && !connection.session.is_serial()
        }
        _ => false,
    }
}
