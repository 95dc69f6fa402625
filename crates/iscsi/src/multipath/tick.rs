//! Timer-driven work: retries, time limits, pings, pauses.

use std::time::Instant;

use super::core::Core;
use crate::error::{Lost, PathError};
use crate::events::EventKind;
use crate::multipath::{Path, Phase, State, Step};
use crate::slots::{CommandState, Owner};

/// Time that a target gets to report commands of other sessions that a LUN reset ended. It may end them without a
/// report (SAM-5 §5.3, TAS=0), so they are aborted then: either the target has them or it does not.
const SWEEP_AFTER: std::time::Duration = std::time::Duration::from_secs(1);

/// Work that the timers of a path require.
enum Due {
    Nothing,
    Retry,
    TimedOut(&'static str, std::time::Duration),
    Left,
}

impl<B: AsRef<[u8]> + AsMut<[u8]>> Core<B> {
    pub(super) fn look_at_timers(&mut self, now: Instant) {
        self.stamp_submitted(now);
        self.is_sampling |= self.config.proof.wants_witness(now);
        self.resume_paused(now);
        for at in 0..self.paths.len() {
            match self.due(at, now) {
                Due::Nothing => {}
                Due::Retry => self.retry(at, now),
                Due::TimedOut(what, limit) => self.time_out(at, what, limit, now),
                Due::Left => self.left(at, now),
            }
        }
        self.paths.iter_mut().for_each(|path| path.count_unable(now));
        self.check_content(now);
        self.watch_silence(now);
        self.watch_fences(now);
        self.abort_overdue(now);
        self.leave_closed_windows(now);
        self.drop_closed_windows(now);
        self.watch_paths(now);
        self.watch_stalls(now);
        self.expire(now);
    }

    fn resume_paused(&mut self, now: Instant) {
        if self.paused_count == 0 {
            return;
        }
        let over: Vec<u32> = self.slots.table().resumable(now).collect();
        for user in over {
            self.paused_count -= 1;
            self.slots.get_mut(user).place = CommandState::Waiting;
            self.waiting.push_back(user);
        }
    }

    fn due(&mut self, at: usize, now: Instant) -> Due {
        let timeouts = &self.config.timeouts;
        match &mut self.paths[at].state {
            State::Down { retry_at } if now >= *retry_at => Due::Retry,
            State::Opening(attempt) if now >= attempt.deadline => match attempt.step {
                Step::Connecting => Due::TimedOut("connecting", timeouts.connect),
                Step::LoggingIn => Due::TimedOut("the login", timeouts.login),
            },
            State::Online(connection) => {
                if connection.abort.is_some_and(|(_, deadline)| now >= deadline) {
                    return Due::TimedOut("an abort", timeouts.management());
                }
                match connection.phase {
                    Phase::Probing { deadline, .. } if now >= deadline => {
                        return Due::TimedOut("reading the identity of the LUN", timeouts.login);
                    }
                    Phase::Leaving { deadline } if now >= deadline => return Due::Left,
                    _ => {}
                }
                if connection.is_leaving && connection.session.task_count() == 0 {
                    let deadline = now + timeouts.management();
                    connection.session.logout();
                    connection.phase = Phase::Leaving { deadline };
                }
                match connection.keep_alive(now, timeouts.ping_interval, timeouts.ping) {
                    Ok(()) => Due::Nothing,
                    Err(()) => Due::TimedOut("the answer to a ping", timeouts.ping),
                }
            }
            _ => Due::Nothing,
        }
    }

    fn time_out(&mut self, at: usize, what: &'static str, limit: std::time::Duration, now: Instant) {
        let portal = self.paths[at].portal.clone();
        self.fail_path(at, &PathError::TimedOut { what, portal, limit_ms: limit.as_millis() }, now);
    }

    /// Aborts commands that exceeded the command limit, one at a time per path.
    fn abort_overdue(&mut self, now: Instant) {
        let timeouts = &self.config.timeouts;
        let limit = timeouts.abort_after();
        for path in &mut self.paths {
            let index = path.index;
            let State::Online(connection) = &mut path.state else { continue };
            if connection.abort.is_some() {
                continue;
            }
            let swept_at = connection.swept_at.filter(|at| now.saturating_duration_since(*at) > SWEEP_AFTER);
            let is_overdue = |place: CommandState, sent_at: Instant| {
                matches!(place, CommandState::Sent { path } if path == index)
                    && (now.saturating_duration_since(sent_at) > limit
                        || swept_at.is_some_and(|at| sent_at < at))
            };
            let overdue = self.slots.live().find(|(_, slot)| is_overdue(slot.place, slot.sent_at));
            if let Some((user, _)) = overdue
                && connection.session.abort(user)
            {
                connection.abort = Some((user, now + timeouts.management()));
            }
        }
    }

    /// Moves commands that wait for the window of a path to open to paths that would send them at once.
    fn leave_closed_windows(&mut self, now: Instant) {
        for at in 0..self.paths.len() {
            let path = &self.paths[at];
            let is_stuck = path.is_serving()
                && !path.has_room(now)
                && self.slots.live().any(|(_, slot)| {
                    let is_here = slot.place == CommandState::Started { path: path.index };
                    is_here && now.saturating_duration_since(slot.submitted_at) > self.config.timeouts.suspect
                });
            let mut others = self.paths.iter().filter(|other| other.index != path.index);
            if is_stuck && others.any(|o| o.is_trusted() && o.access.serves_io() && o.has_room(now)) {
                let taken = self.take_back_unsent(at);
                self.paths[at].stats.moved += taken;
            }
        }
    }

    /// Ends connections whose target has no outstanding command of this initiator and accepts none: its command window
    /// stays closed, because no answer will ever open it.
    fn drop_closed_windows(&mut self, now: Instant) {
        let limit = self.config.timeouts.command;
        for at in 0..self.paths.len() {
            let index = self.paths[at].index;
            let Some(connection) = self.paths[at].serving() else { continue };
            let shut_since = connection.session.is_shut().then(|| *connection.shut_since.get_or_insert(now));
            connection.shut_since = shut_since;
            let is_overdue = shut_since.is_some_and(|since| now.duration_since(since) > limit);
            let is_started = |place| place == CommandState::Started { path: index };
            if is_overdue && self.slots.live().any(|(_, slot)| is_started(slot.place)) {
                self.drop_connection(at, "the target keeps its command window closed".into(), now);
            }
        }
    }

    /// Records when the last path went down, reads access states that may have improved, and gives up after the limit.
    fn watch_paths(&mut self, now: Instant) {
        let serves_io = |path: &Path| path.is_serving() && path.access.serves_io();
        if self.paths.iter().any(serves_io) {
            self.all_down_since = None;
            return;
        }
        for at in 0..self.paths.len() {
            self.read_access_state(at, now);
        }
        if self.lost.is_none() {
            self.paths.iter_mut().for_each(|path| path.hasten(now, &self.config.timeouts));
        }
        let Some(since) = self.all_down_since else {
            self.all_down_since = Some(now);
            return self.log.push(now, None, EventKind::AllPathsDown);
        };
        // Until the first path is up, the limit of `connect` applies.
        let away = now.duration_since(since);
        let is_lost =
            assay_tcp::is_lost(away, self.config.timeouts.no_path, || !self.overdue(now).is_empty());
        if is_lost && self.capacity.is_some() && self.lost.is_none() {
            let last = self.paths.iter().find_map(|path| path.last_error.clone());
            let waited_s = away.as_secs();
            self.give_up(Lost::NoPath { waited_s, last: last.unwrap_or_else(|| "none".into()) });
        }
    }

    /// Fails every waiting command; the initiator stays lost.
    pub(super) fn give_up(&mut self, lost: Lost) {
        let error = lost.of_command();
        self.lost = Some(lost);
        let waits = |place| {
            matches!(place, CommandState::Waiting | CommandState::Paused { .. } | CommandState::Fenced { .. })
        };
        let users: Vec<u32> = self
            .slots
            .live()
            .filter(|(_, slot)| waits(slot.place) && !matches!(slot.owner, Owner::Probe { .. }))
            .map(|(user, _)| user)
            .collect();
        for user in users {
            self.finish(user, Err(error.clone()));
        }
        self.waiting.clear();
        self.paused_count = 0;
        self.paths.iter_mut().for_each(|path| path.fenced_count = 0);
    }
}
