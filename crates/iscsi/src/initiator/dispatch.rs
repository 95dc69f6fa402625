//! One turn of the event loop: commands to paths, PDUs to sockets, wait, PDUs from sockets.

use std::net::TcpStream;
use std::time::Instant;

use assay_tcp::{Blocking, Client, Completions};

use super::{Completion, Initiator};
use crate::error::Lost;
use crate::multipath::{Candidate, State};
use crate::slots::CommandState;

impl<B: AsRef<[u8]> + AsMut<[u8]>> Client for Initiator<B> {
    type Completion = Completion<B>;
    type Lost = Lost;

    fn completions(&mut self) -> &mut Completions<Completion<B>> {
        &mut self.completions
    }

    fn lost(&self) -> Option<&Lost> {
        self.lost.as_ref()
    }

    fn has_ended(&self) -> bool {
        if self.is_controlling { self.control_result.is_some() } else { self.completions.has_ready() }
    }

    fn tick(&mut self, now: Instant) {
        self.look_at_timers(now);
    }

    fn send(&mut self, now: Instant) {
        self.check_presence(now);
        self.dispatch(now);
        self.pump_all(now);
    }

    fn connections(&self) -> usize {
        self.paths.len()
    }

    fn interest(&self, connection: usize) -> Option<(&TcpStream, bool)> {
        self.paths[connection].interest()
    }

    fn is_established(&self, connection: usize) -> bool {
        matches!(self.paths[connection].state, State::Online(_))
    }

    fn receive(&mut self, connection: usize, blocking: Blocking, now: Instant) {
        match &self.paths[connection].state {
            State::Online(_) => self.receive_online(connection, blocking, now),
            _ => self.advance_login(connection, now),
        }
    }

    fn received(&mut self, now: Instant) {
        if !self.ending.is_empty() {
            self.settle_released(now);
        }
    }
}

impl<B: AsRef<[u8]> + AsMut<[u8]>> Initiator<B> {
    /// Assigns waiting commands to paths, and passes assigned commands to their sessions.
    fn dispatch(&mut self, now: Instant) {
        self.stamp_submitted(now);
        self.reprove_where_doubted(now);
        while let Some(index) = self.waiting.front() {
            if self.waits_for_first_write(index) {
                break;
            }
            let candidates = self.paths.iter().filter(|path| path.is_trusted()).map(|path| Candidate {
                path: path.index,
                access: path.access,
                outstanding: path.outstanding(),
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
            let (index, limit) = (path.index, path.depth_limit);
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

    fn pump_all(&mut self, now: Instant) {
        for at in 0..self.paths.len() {
            let path = &mut self.paths[at];
            let State::Online(connection) = &mut path.state else { continue };
            if !connection.wire.wants_to_send() && !connection.session.wants_to_send() {
                continue;
            }
            if let Err(error) = connection.pump(path.index, &mut self.slots, now) {
                self.connection_failed(at, &error, now);
            }
        }
        if !self.ending.is_empty() {
            self.settle_released(now);
        }
    }

    fn receive_online(&mut self, at: usize, blocking: Blocking, now: Instant) {
        let mut events = std::mem::take(&mut self.session_events);
        let State::Online(connection) = &mut self.paths[at].state else { return };
        let result = connection.receive(blocking, &mut self.slots, &mut events);
        // After a blocking read the clock must be read again.
        let now = if blocking == Blocking::Sleep { Instant::now() } else { now };
        if let Ok(true) = result {
            connection.received_at = now;
            if connection.suspect_since.is_some() {
                self.trust_again(at, now);
            }
        }
        // Events received before an error still count.
        for event in events.drain(..) {
            self.on_event(at, event, now);
        }
        self.session_events = events;
        if let Err(error) = result {
            self.connection_failed(at, &error, now);
        }
    }
}
