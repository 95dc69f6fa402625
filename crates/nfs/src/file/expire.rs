//! Ends overdue commands, wherever their calls are, and reports stalls.

use std::time::Instant;

use assay_tcp::StallNews;

use super::File;
use super::table::{CallState, Owner};
use crate::error::IoError;
use crate::events::EventKind;
use crate::nfs3::NfsStatus;

impl<B: AsRef<[u8]> + AsMut<[u8]>> File<B> {
    /// Starts the time limit of commands that were submitted since the last turn.
    pub(super) fn stamp_submitted(&mut self, now: Instant) {
        for slot in self.waiting.unstamped() {
            self.tables.slot(slot).submitted_at = now;
        }
    }

    /// Reports a stall once when it begins and once when it ends.
    pub(super) fn watch_stalls(&mut self, now: Instant) {
        let limit_s = self.config.timeouts.io.as_secs();
        let kind = match self.stall.look(self.tables.slots().submissions(), now) {
            None => return,
            Some(StallNews::Began { waited, ios }) => {
                EventKind::Stalled { waited_ms: waited.as_millis(), commands: ios, limit_s }
            }
            Some(StallNews::Ended { waited }) => EventKind::Resumed { waited_ms: waited.as_millis() },
        };
        self.log.push(now, None, kind);
    }

    /// Returns true if the time of a command is over.
    pub(super) fn has_overdue(&self, now: Instant) -> bool {
        self.overdue(now).next().is_some()
    }

    /// Returns the commands that exceeded their time limit.
    fn overdue(&self, now: Instant) -> impl Iterator<Item = u32> {
        self.tables.slots().overdue(self.config.timeouts.io, now)
    }

    /// Fails every overdue command.
    pub(super) fn expire(&mut self, now: Instant) {
        for slot in self.overdue(now).collect::<Vec<_>>() {
            self.expire_one(slot, now);
        }
    }

    fn expire_one(&mut self, slot: u32, now: Instant) {
        let is_its = |owner| matches!(owner, Owner::Io { slot: of } if of == slot);
        let first =
            |file: &Self| file.tables.live().find(|(_, call)| is_its(call.owner)).map(|(call, _)| call);
        while let Some(call) = first(self) {
            let error = self.expired(Some(call));
            self.end_overdue(call, error, now);
        }
        // A command without calls was not given any yet; the others completed with their last call.
        if self.tables.slots().is_taken(slot) {
            self.waiting.remove(slot);
            let error = self.expired(None);
            self.finish(slot, Err(error));
        }
    }

    fn expired(&mut self, call: Option<u32>) -> IoError {
        IoError::Expired { waited_s: self.config.timeouts.io.as_secs(), last: self.last_words(call) }
    }

    /// Returns why a call, or any call, has no answer.
    pub(super) fn last_words(&mut self, call: Option<u32>) -> String {
        let is_paused = |place| matches!(place, CallState::Paused { .. });
        if call.is_some_and(|call| is_paused(self.tables.call(call).place)) {
            return NfsStatus::JUKEBOX.to_string();
        }
        let last = self.paths.iter().find_map(|path| path.last_error.clone());
        last.unwrap_or_else(|| "the server keeps the connection open but does not respond".into())
    }

    /// Ends a call that nobody waits for any more. Its answer may still arrive, and half of the call may have been
    /// sent, so its connection is ended first.
    pub(super) fn end_overdue(&mut self, call: u32, error: IoError, now: Instant) {
        let (owner, xid) = (self.tables.call(call).owner, self.tables.call(call).xid);
        if let CallState::Queued { path } | CallState::Sent { path } = self.tables.call(call).place {
            self.fail_path(path.into(), "an I/O was not answered in its time", now);
            let same = self.tables.call(call);
            if (same.owner, same.xid) != (owner, xid) {
                return;
            }
        }
        match self.tables.call(call).place {
            CallState::Waiting => self.homeless.retain(|waiting| *waiting != call),
            CallState::Paused { .. } => self.paused_count -= 1,
            _ => {}
        }
        self.give_up_call(0, call, error, now);
    }
}
