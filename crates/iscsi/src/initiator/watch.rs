//! Looks now and then, beside the I/O, whether the unit is still there and still the same: a target that puts another
//! disk behind a number and reports nothing would be written on to the end of the run.
//!
//! A [`Check`] is one command in the path's flow. One that finds something begins the whole look (`reprove`), which
//! decides; a check itself never does, as other initiators may write to the same block at that moment.

use std::time::{Duration, Instant};

use super::{Initiator, SessionUse};
use crate::config::UnitWatch;
use crate::multipath::{Path, State};
use crate::pdu::Direction;
use crate::proof::Witness;
use crate::scsi::{Sense, cdb, status};
use crate::session::TaskOutcome;
use crate::slots::{CommandState, Data, Owner};

/// A block is read so often where nothing is measured …
const CLOSELY: Duration = Duration::from_millis(50);
/// … and so often beside a measurement: one small read among those of a second.
const REGULARLY: Duration = Duration::from_secs(1);
/// Pause between two questions whether the unit is there. Other disks take its number within some milliseconds.
const PRESENCE_EVERY: Duration = Duration::from_millis(1);

/// A look beside the I/O.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Check {
    /// TEST UNIT READY: is there a unit at all?
    Presence,
    /// READ of a block that was written: does it hold that?
    Content(Witness),
}

impl<B: AsRef<[u8]> + AsMut<[u8]>> Initiator<B> {
    /// Reads a block on each path that has not proved itself for a while. Called with every tick.
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
            if let Some(witness) = self.config.proof.oldest() {
                self.check(at, Check::Content(witness), now);
            }
        }
    }

    /// Asks on each path whether the unit is there. Called with every turn, and does nothing beside a measurement.
    #[inline]
    pub(super) fn check_presence(&mut self, now: Instant) {
        if self.config.watch != UnitWatch::Closely || self.session_use == SessionUse::Queries {
            return;
        }
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
        self.paths[at].pending.push_front(user);
        if let State::Online(connection) = &mut self.paths[at].state {
            (connection.probe, connection.check) = (Some(user), Some(check));
        }
    }

    /// A check has ended; `data` is what it read.
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
            Check::Content(known) if is_good => {
                crc32c::crc32c(&data) != known.crc && self.config.proof.still_holds(known)
            }
            _ => sense.is_some_and(|sense| sense.tells_of_another_unit()),
        };
        self.check_data = data;
        if is_doubtful {
            self.doubt(at, now);
        }
    }
}

/// True for a path that serves, looks at nothing else, and takes several commands at a time.
fn may_check(path: &Path) -> bool {
    match &path.state {
        State::Online(connection) => {
            path.is_trusted() && connection.probe.is_none() && !connection.session.is_serial()
        }
        _ => false,
    }
}
