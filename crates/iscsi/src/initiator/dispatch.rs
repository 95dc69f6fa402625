//! One turn: commands to paths, PDUs to sockets, wait, PDUs from sockets.

use std::time::{Duration, Instant};

use assay_tcp::{Blocking, READ_LIMIT};

use super::Initiator;
use crate::multipath::{Candidate, State};
use crate::slots::CommandState;

impl<B: AsRef<[u8]> + AsMut<[u8]>> Initiator<B> {
    /// Sends what can be sent, waits up to `wait` for something to come, takes it, and reacts.
    pub(super) fn turn(&mut self, wait: Duration) {
        let now = Instant::now();
        if now >= self.next_tick_at {
            self.tick(now);
        }
        self.dispatch(now);
        self.pump_all(now);
        if !self.ready.is_empty() || self.control_result.is_some() {
            return;
        }
        if wait >= READ_LIMIT && self.is_alone_and_quiet() {
            return self.receive(0, Blocking::Sleep, now);
        }
        let until_tick = self.next_tick_at.saturating_duration_since(now);
        let ready = self.wait(wait.min(until_tick));
        if ready != 0 {
            self.receive_all(ready, Instant::now());
        }
    }

    /// True if nothing can happen but that the only path receives: then it may sleep in the read itself, which saves
    /// the call that would wait for readiness.
    fn is_alone_and_quiet(&self) -> bool {
        match &self.paths[..] {
            [path] => path.is_serving() && path.interest().is_some_and(|(_, writes)| !writes),
            _ => false,
        }
    }

    /// Binds waiting commands to paths, and hands bound ones to sessions.
    fn dispatch(&mut self, now: Instant) {
        while let Some(&index) = self.waiting.front() {
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
            let slot = self.slots.get_mut(index);
            slot.place = CommandState::Bound { path };
            if slot.attempts == 0 {
                slot.submitted_at = now;
            }
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

    /// Waits for sockets; bit n of the answer stands for path n.
    fn wait(&self, wait: Duration) -> u64 {
        assay_tcp::wait(self.paths.len(), |at| self.paths[at].interest(), wait)
    }

    pub(super) fn receive_all(&mut self, ready: u64, now: Instant) {
        for at in 0..self.paths.len() {
            if ready & 1 << at == 0 {
                continue;
            }
            match &mut self.paths[at].state {
                State::Online(_) => self.receive(at, Blocking::Never, now),
                _ => self.advance_login(at, now),
            }
        }
        if !self.ending.is_empty() {
            self.settle_released(now);
        }
    }

    fn receive(&mut self, at: usize, blocking: Blocking, now: Instant) {
        let mut events = std::mem::take(&mut self.session_events);
        let State::Online(connection) = &mut self.paths[at].state else { return };
        let result = connection.receive(blocking, &mut self.slots, &mut events);
        // After a sleep the time is another one.
        let now = if blocking == Blocking::Sleep { Instant::now() } else { now };
        if let Ok(true) = result {
            connection.received_at = now;
            if connection.suspect_since.is_some() {
                self.trust_again(at, now);
            }
        }
        // What came before an error still counts.
        for event in events.drain(..) {
            self.on_event(at, event, now);
        }
        self.session_events = events;
        if let Err(error) = result {
            self.connection_failed(at, &error, now);
        }
    }
}
