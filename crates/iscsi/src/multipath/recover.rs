//! Failure and recovery of paths, and the fence that keeps old writes from being executed late.
//!
//! A write that was passed to a connection may still be in the target when the connection fails. If it were sent again
//! on another path at once, the target could execute the new copy, then a newer write to the same block, and then the
//! old copy: silent corruption. Such writes therefore wait ([`CommandState::Fenced`]) until the target is known to have
//! dropped the old task: a login with the same ISID reinstates the session, and the target ends its old tasks before it
//! answers (RFC 7143 §6.3.5); a LUN reset ends them too. Assay closes its own socket with a reset, so that no buffered
//! data can be sent. Reads change nothing and are sent over another path at once.

use std::time::{Duration, Instant};

use super::core::Core;
use crate::error::PathError;
use crate::events::{EventKind, FencedBy};
use crate::login::Negotiated;
use crate::multipath::{
    Action, CHECKS, Connection, FailedAt, FenceGroup, Phase, ProbeStep, Purpose, REDIRECTS_MAX, State,
};
use crate::pdu::Direction;
use crate::scsi::AccessState;
use crate::slots::{CommandState, Owner};

/// Time limit for the logout of a connection that only ended an old session.
const LEAVE_LIMIT: Duration = Duration::from_secs(2);

impl<B: AsRef<[u8]> + AsMut<[u8]>> Core<B> {
    pub(super) fn drop_connection(&mut self, at: usize, why: String, now: Instant) {
        let portal = self.paths[at].portal.clone();
        self.fail_path(at, &PathError::Connection { portal, why }, now);
    }

    /// Marks a path as down: its commands are sent again, and the path is retried after a pause.
    pub(super) fn fail_path(&mut self, at: usize, error: &PathError, now: Instant) {
        let path = &mut self.paths[at];
        let was_serving = path.has_served();
        if was_serving {
            path.backoff.reset();
        }
        let mut retry_at = now + path.next_backoff(&self.config.timeouts);
        // Fenced writes wait for the end of the old session, which another portal may be able to end.
        if error.is_permanent() && path.fenced_count == 0 {
            retry_at = now + self.config.timeouts.retry_max;
        }
        path.missing = error.missing();
        path.failed_at = Some(if error.is_answer() { FailedAt::Target } else { FailedAt::Way });
        path.is_changed = matches!(error, PathError::Changed { .. });
        // A target that was reached before and now does not exist is being set up again, as after a restart.
        path.is_refused = error.is_permanent() && !(path.missing.is_some() && self.capacity.is_some());
        let old = std::mem::replace(&mut path.state, State::Down { retry_at });
        path.not_before = now;
        path.was_silent = matches!(error, PathError::TimedOut { .. } | PathError::Silent { .. });
        if let State::Online(connection) = &old {
            let silent = now.saturating_duration_since(connection.received_at);
            path.was_silent |=
                matches!(error, PathError::Overdue { .. }) && silent > self.config.timeouts.silence;
            // After an unexpected end of a connection the target may request a pause before its session is reinstated.
            // A connection that Assay ends because of silence is not subject to the pause, although RFC 7143 counts
            // that reset as well: its writes are fenced until the session is reinstated, and the other paths would be
            // idle meanwhile. Nor is one that it ends for an I/O whose time is over: in a pause the time of the next
            // ones would be over too, and each would end the connection again.
            if was_serving && !matches!(error, PathError::Silent { .. } | PathError::Overdue { .. }) {
                let time2wait_s = connection.session.agreed().default_time2wait_s;
                path.not_before = now + Duration::from_secs(time2wait_s.into());
            }
        }
        path.state = State::Down { retry_at: retry_at.max(path.not_before) };
        self.close(at);
        let path = &mut self.paths[at];
        path.attempts = if was_serving { 0 } else { path.attempts + 1 };
        let (index, cause) = (path.index, error.to_string());
        let is_news = path.last_error.as_ref() != Some(&cause);
        path.last_error = Some(cause.clone());
        let (commands, fenced_writes) = self.take_back(at, now);
        if was_serving {
            self.paths[at].stats.failures += 1;
            self.log.push(now, Some(index), EventKind::PathDown { cause, commands, fenced_writes });
        } else if is_news {
            // An error that repeats twice a second is reported once, or it would fill the log.
            self.log.push(now, Some(index), EventKind::RetryFailed { cause });
        }
    }

    /// Has the connection of a path closed. Nothing of a buffer is sent any more: the driver closes it before it sends
    /// anything else.
    fn close(&mut self, at: usize) {
        let path = self.paths[at].index;
        self.slots.release_all(path);
        self.actions.push_back(Action::Close { path });
    }

    /// Removes the commands of a failed path. Returns their number, and the number of fenced writes among them.
    fn take_back(&mut self, at: usize, now: Instant) -> (u32, u32) {
        let index = self.paths[at].index;
        self.paths[at].pending.clear();
        let is_here = |place| {
            matches!(
                place,
                CommandState::Bound { path } | CommandState::Started { path } | CommandState::Sent { path }
                    if path == index
            )
        };
        let mut users: Vec<(Instant, u32)> = Vec::new();
        for (user, slot) in self.slots.live() {
            if is_here(slot.place) {
                users.push((slot.submitted_at, user));
            }
        }
        users.sort_unstable();
        let (mut commands, mut fenced_writes) = (0, 0);
        for (_, user) in users {
            let slot = self.slots.get_mut(user);
            if let Owner::Probe { .. } = slot.owner {
                self.slots.put(user);
                continue;
            }
            commands += 1;
            if matches!(slot.place, CommandState::Started { .. }) {
                // Bounds the attempts of a command that the target never accepts.
                slot.attempts += 1;
            }
            if matches!(slot.place, CommandState::Sent { .. }) && slot.direction == Direction::Write {
                slot.place = CommandState::Fenced { path: index };
                fenced_writes += 1;
            } else {
                self.requeue(user, now, "its path failed");
            }
        }
        self.paths[at].stats.retries += u64::from(commands);
        self.fence(at, fenced_writes);
        (commands, fenced_writes)
    }

    /// Starts the next attempt of a path that is down.
    pub(super) fn retry(&mut self, at: usize, now: Instant) {
        let elsewhere = self.fence_through(at).map(|other| (other.index, other.portal.clone()));
        let path = &self.paths[at];
        // While writes are fenced, attempts alternate between the path's own portal and another one.
        let turn_of_own = path.attempts.is_multiple_of(2) != path.was_silent;
        let (purpose, portal) = match elsewhere {
            Some((through, portal)) if !turn_of_own => (Purpose::Fence { through }, portal),
            _ => (Purpose::Serve, path.portal.clone()),
        };
        self.open(at, purpose, portal, 0, now);
        self.reset_instead(at, now);
    }

    pub(super) fn redirected(&mut self, at: usize, address: String, now: Instant) {
        let State::Opening(attempt) = &self.paths[at].state else { return };
        let (purpose, redirects) = (attempt.purpose, attempt.redirects + 1);
        self.open(at, purpose, address, redirects, now);
    }

    pub(super) fn open(&mut self, at: usize, purpose: Purpose, portal: String, redirects: u8, now: Instant) {
        let path = &mut self.paths[at];
        self.actions.push_back(Action::Close { path: path.index });
        if redirects > REDIRECTS_MAX {
            return self.fail_path(at, &PathError::RedirectLoop { portal }, now);
        }
        path.begin(purpose, redirects, now, &self.config.timeouts);
        self.actions.push_back(Action::Connect { path: path.index, portal, isid: path.isid });
    }

    /// Handles a completed login.
    pub(super) fn up(&mut self, at: usize, agreed: Negotiated, now: Instant) {
        let path = &mut self.paths[at];
        let State::Opening(attempt) = &path.state else { return };
        let (purpose, redirects) = (attempt.purpose, attempt.redirects);
        for words in &agreed.deviations {
            self.log.push(now, Some(path.index), EventKind::Deviation(words.clone()));
        }
        let by = match purpose {
            Purpose::Serve => FencedBy::Reinstatement,
            Purpose::Fence { .. } => FencedBy::ReinstatementElsewhere,
        };
        // The portal group determines which sessions a login can reinstate.
        let named = agreed.target_portal_group;
        let group = match purpose {
            Purpose::Serve => FenceGroup::of_login(named, redirects),
            Purpose::Fence { .. } => named.map_or(FenceGroup::Unknown, FenceGroup::Of),
        };
        let is_reinstated = path.fence_group.is_reinstated_in(group);
        match purpose {
            Purpose::Serve => (path.group, path.portal_group, path.reset_at) = (group, named, now),
            Purpose::Fence { through } => self.paths[usize::from(through)].portal_group = named,
        }
        let path = &mut self.paths[at];
        let phase = match purpose {
            Purpose::Serve => {
                let deadline = now + self.config.timeouts.login;
                Phase::Probing { step: ProbeStep::Ready { tries: 0 }, deadline }
            }
            Purpose::Fence { .. } => Phase::Leaving { deadline: now + LEAVE_LIMIT },
        };
        path.depth_limit = path.depth + CHECKS;
        let mut connection = Connection::new(agreed, self.lun, path.depth_limit, phase, now);
        connection.next_ping_at = now + self.config.timeouts.ping_interval;
        let index = path.index;
        if purpose != Purpose::Serve {
            connection.session.logout();
        }
        path.state = State::Online(Box::new(connection));
        self.end_strays(at, group);
        if is_reinstated {
            self.release_fenced(index, by, now);
        } else if let Some(portal) = self.fence_through(at).map(|other| other.portal.clone()) {
            let why = format!("the old session is in the portal group of {portal}, and must be ended there");
            return self.drop_connection(at, why, now);
        }
        if purpose == Purpose::Serve {
            self.begin_probe(at, now);
        }
    }

    /// Ends a connection whose logout was answered or timed out; this is no failure.
    pub(super) fn left(&mut self, at: usize, now: Instant) {
        let path = &mut self.paths[at];
        let pause = path.next_backoff(&self.config.timeouts).max(self.config.timeouts.retry_min);
        let was_serving = path.has_served();
        path.state = State::Down { retry_at: now + pause };
        self.close(at);
        let path = &mut self.paths[at];
        path.attempts += 1;
        let index = path.index;
        let (commands, fenced_writes) = self.take_back(at, now);
        if was_serving {
            let cause = "logged out, as the target asked".to_owned();
            self.log.push(now, Some(index), EventKind::PathDown { cause, commands, fenced_writes });
        }
    }

    pub(super) fn set_access(&mut self, at: usize, access: AccessState, now: Instant) {
        let path = &mut self.paths[at];
        if path.access != access {
            path.access = access;
            self.log.push(now, Some(path.index), EventKind::AccessState(access));
        }
    }
}
