//! One turn: commands to paths, PDUs to sockets, wait, PDUs from sockets.

use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec};

use super::{Initiator, PATHS_MAX};
use crate::multipath::{Candidate, State};
use crate::slots::Place;
use crate::transport::{Patience, READ_LIMIT};

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
            return self.receive(0, Patience::Wait, now);
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
            let candidates = self.paths.iter().filter(|path| path.is_serving()).map(|path| Candidate {
                path: path.index,
                access: path.access,
                outstanding: path.outstanding(),
            });
            let Some(path) = self.spread.choose(candidates, self.slots.get(index).transfer_bytes) else {
                break;
            };
            self.waiting.pop_front();
            let slot = self.slots.get_mut(index);
            slot.place = Place::Bound { path };
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
                self.slots.get_mut(user).place = Place::Started { path: index };
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
    fn wait(&mut self, wait: Duration) -> u64 {
        // The array is on the stack, and filling it costs; few paths are the rule.
        match self.paths.len() {
            0..=4 => self.wait_for::<4>(wait),
            5..=16 => self.wait_for::<16>(wait),
            _ => self.wait_for::<PATHS_MAX>(wait),
        }
    }

    fn wait_for<const N: usize>(&self, wait: Duration) -> u64 {
        let mut interested = self.paths.iter().filter_map(|path| Some((path.index, path.interest()?)));
        let Some(first) = interested.next() else {
            std::thread::sleep(wait);
            return 0;
        };
        let mut indexes = [first.0; N];
        let mut fds: [PollFd<'_>; N] = std::array::from_fn(|_| poll_fd(first.1));
        let mut count = 1;
        for (index, interest) in interested {
            fds[count] = poll_fd(interest);
            indexes[count] = index;
            count += 1;
        }
        let wait = Timespec {
            tv_sec: i64::try_from(wait.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: wait.subsec_nanos().into(),
        };
        // An interrupted or refused poll is an empty one; the next turn asks again.
        if rustix::event::poll(&mut fds[..count], Some(&wait)).unwrap_or(0) == 0 {
            return 0;
        }
        let ready = fds[..count].iter().zip(&indexes).filter(|(fd, _)| !fd.revents().is_empty());
        ready.fold(0, |mask, (_, index)| mask | 1 << index)
    }

    pub(super) fn receive_all(&mut self, ready: u64, now: Instant) {
        for at in 0..self.paths.len() {
            if ready & 1 << at == 0 {
                continue;
            }
            match &mut self.paths[at].state {
                State::Online(_) => self.receive(at, Patience::Now, now),
                _ => self.advance_login(at, now),
            }
        }
        if !self.ending.is_empty() {
            self.settle_released(now);
        }
    }

    fn receive(&mut self, at: usize, patience: Patience, now: Instant) {
        let mut events = std::mem::take(&mut self.session_events);
        let State::Online(connection) = &mut self.paths[at].state else { return };
        let result = connection.receive(patience, &mut self.slots, &mut events);
        // After a sleep the time is another one.
        let now = if patience == Patience::Wait { Instant::now() } else { now };
        if let Ok(true) = result {
            connection.received_at = now;
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

fn poll_fd((stream, writes): (&std::net::TcpStream, bool)) -> PollFd<'_> {
    let writable = if writes { PollFlags::OUT } else { PollFlags::empty() };
    PollFd::from_borrowed_fd(stream.as_fd(), PollFlags::IN | writable)
}
