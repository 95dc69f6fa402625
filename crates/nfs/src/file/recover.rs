//! Work triggered by timers or failed connections: retries, time limits, pings, pauses.

use std::time::{Duration, Instant};

use super::path::{State, Wire};
use super::table::{CallState, Owner};
use super::{File, Kind};
use crate::error::{IoError, Lost};
use crate::events::EventKind;
use crate::transport::{Rx, Tx};

/// Number of attempts before an overdue call fails: the fault may have been in the first connection only.
const ATTEMPTS_MIN: u32 = 2;

/// Work that the timers of a connection require.
enum Due {
    Nothing,
    Retry,
    TimedOut(String),
    Ping,
}

impl<B: AsRef<[u8]> + AsMut<[u8]>> File<B> {
    pub(super) fn look_at_timers(&mut self, now: Instant) {
        self.stamp_submitted(now);
        self.resume_paused(now);
        for at in 0..self.paths.len() {
            match self.due(at, now) {
                Due::Nothing => {}
                Due::Retry => self.retry(at, now),
                Due::TimedOut(cause) => self.fail_path(at, &cause, now),
                Due::Ping => self.ping(at, now),
            }
        }
        self.watch_paths(now);
        self.watch_stalls(now);
        self.expire(now);
    }

    fn due(&self, at: usize, now: Instant) -> Due {
        let (timeouts, path) = (&self.config.timeouts, &self.paths[at]);
        match &path.state {
            State::Down { retry_at } if now >= *retry_at => Due::Retry,
            State::Connecting { deadline, .. } if now >= *deadline => {
                Due::TimedOut(format!("no connection within {} s", timeouts.connect.as_secs_f64()))
            }
            State::Up(wire) => {
                // A server that sends any data is alive, even if its answer waits behind that data.
                let silence = now.duration_since(wire.received_at);
                let pinged_at = wire.ping.map(|call| self.tables.sent_at(call));
                if pinged_at.is_some_and(|sent| now.saturating_duration_since(sent) > timeouts.ping)
                    && silence > timeouts.ping
                {
                    return Due::TimedOut(format!(
                        "the server sent nothing for {} s",
                        timeouts.ping.as_secs_f64()
                    ));
                }
                if let Some(limit) = self.overdue_limit(path.index, now) {
                    return Due::TimedOut(format!(
                        "a call was not answered within {} s",
                        limit.as_secs_f64()
                    ));
                }
                if wire.ping.is_none() && now >= wire.next_ping_at { Due::Ping } else { Due::Nothing }
            }
            _ => Due::Nothing,
        }
    }

    /// Returns the limit that a call on this connection exceeded, if one did.
    fn overdue_limit(&self, index: u8, now: Instant) -> Option<Duration> {
        let timeouts = &self.config.timeouts;
        let sent = self.tables.live().filter(|(_, call)| call.place == CallState::Sent { path: index });
        let mut exceeded = sent.filter_map(|(_, call)| {
            let limit = match call.owner {
                Owner::Commit => timeouts.commit / 2,
                Owner::Io { .. } => timeouts.call,
                Owner::Ping | Owner::Free => return None,
            };
            (now.saturating_duration_since(call.sent_at) > limit).then_some(limit)
        });
        exceeded.next()
    }

    fn ping(&mut self, at: usize, now: Instant) {
        let Some(call) = self.tables.take_call(Owner::Ping, Kind::Read) else { return };
        self.write_call(call);
        self.tables.call(call).sent_at = now;
        let path = self.paths[at].index;
        self.queue(call, path);
        if let State::Up(wire) = &mut self.paths[at].state {
            wire.ping = Some(call);
            wire.next_ping_at = now + self.config.timeouts.ping_interval;
        }
    }

    fn resume_paused(&mut self, now: Instant) {
        if self.paused_count == 0 {
            return;
        }
        for call in self.tables.resumable(now).collect::<Vec<_>>() {
            self.paused_count -= 1;
            // With the old xid a server with a duplicate request cache would repeat JUKEBOX for ever.
            self.write_call(call);
            self.tables.call(call).place = CallState::Waiting;
            self.homeless.push_back(call);
        }
    }

    fn retry(&mut self, at: usize, now: Instant) {
        let path = &mut self.paths[at];
        match assay_tcp::Connecting::begin_privileged(self.config.address, path.port) {
            Ok(connecting) => {
                path.port = connecting.port().or(path.port);
                let deadline = now + self.config.timeouts.connect;
                path.state = State::Connecting { connecting, deadline };
            }
            Err(error) => self.fail_path(at, &format!("cannot connect: {error}"), now),
        }
    }

    /// Handles a finished connection attempt. Calls bound to the connection are sent again, byte for byte.
    pub(super) fn connected(&mut self, at: usize, now: Instant) {
        let down = State::Down { retry_at: now };
        let State::Connecting { connecting, .. } = std::mem::replace(&mut self.paths[at].state, down) else {
            return;
        };
        let stream = match connecting.finish() {
            Ok(stream) => stream,
            Err(error) => return self.fail_path(at, &format!("cannot connect: {error}"), now),
        };
        let data_bytes_max = self.config.read_bytes_max;
        let path = &mut self.paths[at];
        path.state = State::Up(Box::new(Wire {
            stream,
            tx: Tx::new(self.tables.call_count()),
            rx: Rx::new(data_bytes_max),
            received_at: now,
            trickled_bytes: 0,
            stray_count: 0,
            ping: None,
            next_ping_at: now,
        }));
        // An accepted connection proves nothing about the server behind the port: only an answer ends the pauses.
        (path.was_up, path.last_error) = (true, None);
        let index = path.index;
        self.log.push(now, Some(index), EventKind::Up);
        self.move_bound(index, Some(index));
    }

    /// Moves the calls bound to a connection to it (`to`), or to any other.
    fn move_bound(&mut self, from: u8, to: Option<u8>) {
        let is_bound = |place| place == CallState::Bound { path: from };
        let bound: Vec<u32> =
            self.tables.live().filter(|(_, call)| is_bound(call.place)).map(|(index, _)| index).collect();
        for call in bound {
            match to {
                Some(path) => self.queue(call, path),
                None => {
                    self.tables.call(call).place = CallState::Waiting;
                    self.homeless.push_back(call);
                }
            }
        }
    }

    /// Handles a failed connection or attempt. Its calls stay bound to it, because a duplicate request cache recognises
    /// them only from the same port; they move if it does not recover at once, or fails again without an answer.
    pub(super) fn fail_path(&mut self, at: usize, cause: &str, now: Instant) {
        let path = &mut self.paths[at];
        path.attempts += 1;
        // Only an answer to a call ends the pauses.
        let is_repeated = !path.backoff.is_zero();
        let is_news = path.last_error.as_deref() != Some(cause);
        path.last_error = Some(cause.to_owned());
        let timeouts = &self.config.timeouts;
        let retry_at = now + path.backoff.next(timeouts.retry_min, timeouts.retry_max);
        let index = path.index;
        match std::mem::replace(&mut path.state, State::Down { retry_at }) {
            State::Up(wire) => {
                path.stats.failures += 1;
                wire.abandon();
                let calls = self.bind(at, now);
                self.log.push(now, Some(index), EventKind::Down { cause: cause.to_owned(), calls });
                // A port that accepts and resets every connection must not keep its calls for ever.
                if is_repeated && self.paths.iter().any(super::Path::is_up) {
                    self.move_bound(index, None);
                }
            }
            State::Connecting { .. } | State::Down { .. } => {
                // An error that repeats with every attempt is reported once, or it would fill the log.
                if path.was_up && is_news {
                    self.log.push(now, Some(index), EventKind::RetryFailed { cause: cause.to_owned() });
                }
                if self.paths.iter().any(super::Path::is_up) {
                    self.move_bound(index, None);
                }
            }
        }
    }

    /// Removes the calls of a failed connection; returns their number.
    fn bind(&mut self, at: usize, now: Instant) -> u32 {
        let index = self.paths[at].index;
        let is_here =
            |place| matches!(place, CallState::Queued { path } | CallState::Sent { path } if path == index);
        let here: Vec<u32> =
            self.tables.live().filter(|(_, call)| is_here(call.place)).map(|(index, _)| index).collect();
        let mut count = 0;
        for index_of_call in here {
            if self.tables.call(index_of_call).owner == Owner::Ping {
                self.tables.put_call(index_of_call);
                continue;
            }
            count += 1;
            self.note_copy(index_of_call);
            let call = self.tables.call(index_of_call);
            let attempts = call.attempts;
            let first_at = call.first_at.unwrap_or(now);
            let is_late = now.saturating_duration_since(first_at) >= self.config.timeouts.no_server;
            // A server that was silent since then is given up as a whole.
            let is_over = is_late && attempts >= ATTEMPTS_MIN && self.heard_at > first_at;
            call.place = CallState::Bound { path: index };
            self.paths[at].stats.retries += 1;
            if is_over || self.lost.is_some() {
                let last = self.paths[at].last_error.clone().unwrap_or_default();
                self.give_up_call(at, index_of_call, IoError::GivenUp { attempts, last }, now);
            }
        }
        count
    }

    /// Marks the command of a WRITE that was sent and is not answered: the server may execute that copy at any time.
    fn note_copy(&mut self, call: u32) {
        let of = self.tables.call(call);
        if let (Kind::Write, Owner::Io { slot }, CallState::Sent { .. }) = (of.kind, of.owner, of.place) {
            self.tables.slot(slot).is_moved = true;
        }
    }

    /// Records when the last connection went down, and gives up after the limit on a silent server, even if its port
    /// accepts connections.
    fn watch_paths(&mut self, now: Instant) {
        let is_up = self.paths.iter().any(super::Path::is_up);
        if !is_up && !self.is_down_reported {
            self.is_down_reported = true;
            self.log.push(now, None, EventKind::AllDown);
        }
        // A call that the server asked to retry later awaits no answer now.
        let awaits = |place| !matches!(place, CallState::Paused { .. } | CallState::Answered);
        if is_up && !self.tables.live().any(|(_, call)| awaits(call.place)) {
            self.silent_since = None;
            return;
        }
        let waited = now.duration_since(*self.silent_since.get_or_insert(now));
        // Until the first connection is up, the limit of `open` applies.
        let was_up = self.paths.iter().any(|path| path.was_up);
        let is_lost = assay_tcp::is_lost(waited, self.config.timeouts.no_server, || self.has_overdue(now));
        if was_up && self.lost.is_none() && is_lost {
            self.give_up(waited.as_secs(), now);
        }
    }

    /// Records that data arrived from the server.
    pub(super) fn heard(&mut self, now: Instant) {
        (self.heard_at, self.silent_since, self.is_down_reported) = (now, None, false);
    }

    /// Gives up: every command fails, and the file stays lost.
    fn give_up(&mut self, waited_s: u64, now: Instant) {
        let last = self.paths.iter().find_map(|path| path.last_error.clone());
        let last = last.unwrap_or_else(|| "none; the server accepts connections but does not respond".into());
        self.lost = Some(Lost { waited_s, last });
        let calls: Vec<u32> = self.tables.live().map(|(index, _)| index).collect();
        for call in calls {
            self.note_copy(call);
            self.give_up_call(0, call, IoError::NoServer { waited_s }, now);
        }
        // Commands without a call.
        let slots: Vec<u32> = self.tables.slots().taken().map(|(slot, _)| slot).collect();
        for slot in slots {
            self.finish(slot, Err(IoError::NoServer { waited_s }));
        }
        self.waiting.clear();
        self.homeless.clear();
        self.paused_count = 0;
        // They still hold the beginning of calls that no longer exist.
        for at in 0..self.paths.len() {
            if self.paths[at].is_up() {
                self.fail_path(at, "the server is silent", now);
            }
        }
    }
}
