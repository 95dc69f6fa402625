//! One turn of the event loop: commands to calls, calls to connections, wait, answers from connections.

use std::net::TcpStream;
use std::time::Instant;

use assay_tcp::{Blocking, Client, Completions};

use super::path::{Path, State};
use super::table::{CallState, Owner};
use super::{Completion, File, Kind};
use crate::error::Lost;
use crate::transport::WireError;

impl<B: AsRef<[u8]> + AsMut<[u8]>> Client for File<B> {
    type Completion = Completion<B>;
    type Lost = Lost;

    fn completions(&mut self) -> &mut Completions<Completion<B>> {
        &mut self.completions
    }

    fn lost(&self) -> Option<&Lost> {
        self.lost.as_ref()
    }

    fn has_ended(&self) -> bool {
        if self.is_committing { self.commit_answer.is_some() } else { self.completions.has_ready() }
    }

    fn tick(&mut self, now: Instant) {
        self.look_at_timers(now);
    }

    fn send(&mut self, now: Instant) {
        self.stamp_submitted(now);
        self.dispatch();
        self.send_all(now);
    }

    fn connections(&self) -> usize {
        self.paths.len()
    }

    fn interest(&self, connection: usize) -> Option<(&TcpStream, bool)> {
        self.paths[connection].interest()
    }

    fn is_established(&self, connection: usize) -> bool {
        self.paths[connection].is_up()
    }

    fn receive(&mut self, connection: usize, blocking: Blocking, now: Instant) {
        match &self.paths[connection].state {
            State::Up(_) => self.receive_up(connection, blocking, now),
            State::Connecting { .. } => self.connected(connection, now),
            State::Down { .. } => {}
        }
    }
}

impl<B: AsRef<[u8]> + AsMut<[u8]>> File<B> {
    /// Assigns calls to waiting commands, and waiting calls to connections that are up.
    fn dispatch(&mut self) {
        while let Some(&call) = self.homeless.front() {
            let Some(path) = self.choose_proven().or_else(|| self.choose()) else { return };
            self.homeless.pop_front();
            self.queue(call, path);
        }
        while let Some(slot) = self.waiting.front() {
            let bound = self.tables.slot(slot).path.filter(|path| self.paths[usize::from(*path)].is_up());
            let Some(path) = bound.or_else(|| self.choose()) else { return };
            self.tables.slot(slot).path = Some(path);
            if !self.give_calls(slot, path) {
                return;
            }
            self.waiting.pop_front();
        }
    }

    /// Returns the next connection that is up, in round-robin order.
    fn choose(&mut self) -> Option<u8> {
        self.choose_where(Path::is_up)
    }

    /// Returns the next connection that is up and has answered a call since it last failed: calls that lost a
    /// connection go there first.
    fn choose_proven(&mut self) -> Option<u8> {
        self.choose_where(|path| path.is_up() && path.backoff.is_zero())
    }

    fn choose_where(&mut self, fits: impl Fn(&Path) -> bool) -> Option<u8> {
        let count = self.paths.len();
        let at = (0..count).map(|step| (self.next_path + step) % count).find(|at| fits(&self.paths[*at]))?;
        self.next_path = (at + 1) % count;
        Some(self.paths[at].index)
    }

    /// Splits a command into calls; returns false if no call is free.
    fn give_calls(&mut self, slot: u32, path: u8) -> bool {
        let kind = self.tables.slot(slot).kind;
        let most = self.call_bytes_max(kind);
        loop {
            let command = self.tables.slot(slot);
            let (start, left) = (command.handed_bytes, command.data_bytes - command.handed_bytes);
            if left == 0 || command.error.is_some() {
                return true;
            }
            let Some(call) = self.tables.take_call(Owner::Io { slot }, kind) else { return false };
            let bytes = left.min(most);
            (self.tables.call(call).start, self.tables.call(call).bytes) = (start, bytes);
            let command = self.tables.slot(slot);
            command.handed_bytes += bytes;
            command.call_count += 1;
            self.write_call(call);
            self.queue(call, path);
        }
    }

    /// Encodes a call with a new xid.
    pub(super) fn write_call(&mut self, call: u32) {
        let template = match (self.tables.call(call).owner, self.tables.call(call).kind) {
            (Owner::Ping, _) => &self.templates.null,
            (Owner::Commit, _) => &self.templates.commit,
            (_, Kind::Read) => &self.templates.read,
            (_, Kind::Write) => &self.templates.write,
        };
        self.tables.write_call(call, template);
    }

    /// Puts a call into the send queue of a connection that is up.
    pub(super) fn queue(&mut self, call: u32, path: u8) {
        let State::Up(wire) = &mut self.paths[usize::from(path)].state else {
            self.tables.call(call).place = CallState::Bound { path };
            return;
        };
        wire.tx.push(call);
        self.tables.call(call).place = CallState::Queued { path };
    }

    fn send_all(&mut self, now: Instant) {
        self.tables.now = now;
        for at in 0..self.paths.len() {
            let State::Up(wire) = &mut self.paths[at].state else { continue };
            if wire.tx.is_empty() {
                continue;
            }
            if let Err(error) = wire.tx.flush(&wire.stream, &mut self.tables) {
                self.fail_path(at, &format!("the connection failed: {error}"), now);
            }
        }
    }

    fn receive_up(&mut self, at: usize, blocking: Blocking, now: Instant) {
        let index = self.paths[at].index;
        let State::Up(wire) = &mut self.paths[at].state else { return };
        // Taken out and put back, so that its memory is kept and `self` can be borrowed.
        let mut answers = std::mem::take(&mut self.answers);
        let result = wire.receive(index, blocking, &mut self.tables, &mut answers);
        // After a blocking read the clock must be read again.
        let now = if blocking == Blocking::Sleep { Instant::now() } else { now };
        if let Ok(bytes) = result {
            wire.heard(bytes, answers.len(), now);
        }
        // An invalid answer proves a live server as well; the end of a connection does not.
        let is_silent = matches!(result, Ok(0) | Err(WireError::Closed | WireError::Io(_)));
        if !is_silent || !answers.is_empty() {
            self.heard(now);
        }
        // Answers received before an error still count.
        for (call, answer) in answers.drain(..) {
            self.settle(at, call, &answer, now);
        }
        self.answers = answers;
        if let Err(error) = result {
            self.fail_path(at, &error.to_string(), now);
        }
    }
}
