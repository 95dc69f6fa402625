//! Ends overdue commands, wherever they are, and reports stalls.

use std::time::Instant;

use assay_tcp::StallNews;

use super::core::Core;
use crate::error::{IoError, PathError};
use crate::events::EventKind;
use crate::multipath::State;
use crate::slots::CommandState;

impl<B: AsRef<[u8]> + AsMut<[u8]>> Core<B> {
    /// Starts the time limit of commands that were submitted since the last turn.
    pub(super) fn stamp_submitted(&mut self, now: Instant) {
        for index in self.waiting.unstamped() {
            self.slots.get_mut(index).submitted_at = now;
        }
    }

    /// Reports a stall once when it begins and once when it ends.
    pub(super) fn watch_stalls(&mut self, now: Instant) {
        let limit_s = self.config.timeouts.io.as_secs();
        let kind = match self.stall.look(self.slots.table().submissions(), now) {
            None => return,
            Some(StallNews::Began { waited, ios }) => {
                EventKind::Stalled { waited_ms: waited.as_millis(), commands: ios, limit_s }
            }
            Some(StallNews::Ended { waited }) => EventKind::Resumed { waited_ms: waited.as_millis() },
        };
        self.log.push(now, None, kind);
    }

    /// Fails every command that exceeded its time limit.
    pub(super) fn expire(&mut self, now: Instant) {
        let overdue = self.overdue(now);
        if overdue.is_empty() {
            return;
        }
        // The target may still send data into, or fetch data from, a buffer that is about to be returned: end its
        // connection first.
        let limit = self.config.timeouts.io;
        let last = self.paths.iter().find_map(|path| path.last_error.clone());
        let last = last.unwrap_or_else(|| "the target keeps the connection open but does not respond".into());
        let mut holders = 0_u64;
        for user in &overdue {
            let slot = self.slots.get(*user);
            match (slot.place, slot.last_path) {
                (CommandState::Sent { path }, _) | (CommandState::Ending, Some(path)) => holders |= 1 << path,
                _ => {}
            }
        }
        for at in (0..self.paths.len()).filter(|at| holders & 1 << at != 0) {
            let portal = self.paths[at].portal.clone();
            self.fail_path(at, &PathError::Overdue { portal, limit_ms: limit.as_millis() }, now);
        }
        for user in self.overdue(now) {
            self.expire_one(user, &last);
        }
    }

    pub(super) fn overdue(&self, now: Instant) -> Vec<u32> {
        self.slots.table().overdue(self.config.timeouts.io, now).collect()
    }

    fn expire_one(&mut self, user: u32, last: &str) {
        let slot = self.slots.get(user);
        let attempts = slot.attempts;
        match slot.place {
            CommandState::Waiting => self.waiting.remove(user),
            CommandState::Bound { path } => {
                self.paths[usize::from(path)].pending.retain(|waiting| *waiting != user);
            }
            CommandState::Started { path } => {
                if let State::Online(connection) = &mut self.paths[usize::from(path)].state {
                    connection.session.withdraw(user);
                }
            }
            CommandState::Paused { .. } => self.paused_count -= 1,
            CommandState::Fenced { path } => self.paths[usize::from(path)].fenced_count -= 1,
            // Its bytes leave the queue of a connection that was just ended; the next tick settles it.
            CommandState::Sent { .. } | CommandState::Ending => return,
            // It has completed; its sender reads it next.
            CommandState::Ended => return,
        }
        let waited_s = self.config.timeouts.io.as_secs();
        self.finish(user, Err(IoError::Expired { waited_s, attempts, last: last.to_owned() }));
    }
}
