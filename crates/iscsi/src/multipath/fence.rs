//! Writes that may not be sent again before the target is known to have dropped the old task, and the LUN reset that
//! makes it drop them where no session can be reinstated.

use std::time::Instant;

use super::core::Core;
use crate::config::Fence;
use crate::events::{EventKind, FencedBy};
use crate::multipath::{
    FenceGroup, Path, Phase, Purpose, RESET_PAUSE_MAX, RESET_PAUSE_MIN, Reset, State, Step,
};
use crate::slots::CommandState;

/// Response to a task management request: the target does not support the function (RFC 7143 §11.6.1).
const NOT_SUPPORTED: u8 = 5;
/// Time for which fenced writes wait for the path's own portal to accept a connection while another one could end the
/// old session: a first lost packet is sent again after 1 s.
const CONNECT_PATIENCE: std::time::Duration = std::time::Duration::from_millis(1500);
/// Longer than any run.
const NEVER: std::time::Duration = std::time::Duration::from_secs(365 * 86_400);

impl<B: AsRef<[u8]> + AsMut<[u8]>> Core<B> {
    /// Counts writes that were fenced when their path failed.
    pub(super) fn fence(&mut self, at: usize, writes: u32) {
        let path = &mut self.paths[at];
        if writes > 0 {
            let is_mixed = path.fenced_count > 0 && path.fence_group != path.group;
            path.fence_group = if is_mixed { FenceGroup::Unknown } else { path.group };
            path.fenced_count += writes;
            let index = path.index;
            // A reset in flight covers only writes that were fenced before it was sent.
            for reset in self.paths.iter_mut().filter_map(Path::reset) {
                reset.covered &= !(1 << index);
            }
        }
    }

    /// Releases the fenced writes of a path whose old tasks are known to be gone.
    pub(super) fn release_fenced(&mut self, index: u8, by: FencedBy, now: Instant) {
        let path = &mut self.paths[usize::from(index)];
        let writes = std::mem::take(&mut path.fenced_count);
        if writes == 0 {
            return;
        }
        self.log.push(now, Some(index), EventKind::Fenced { by, writes });
        let is_fenced = |place| matches!(place, CommandState::Fenced { path } if path == index);
        let live = self.slots.live().filter(|(_, slot)| is_fenced(slot.place));
        let mut users: Vec<(Instant, u32)> = live.map(|(user, slot)| (slot.submitted_at, user)).collect();
        users.sort_unstable();
        for (_, user) in users {
            // A reset ends the tasks that the target knows of. One of its threads may have this write still to read.
            if by == FencedBy::LogicalUnitReset {
                self.leave_copy(usize::from(index), user);
            }
            self.requeue(user, now, "its path failed");
        }
    }

    /// Records that the target may still execute a fenced write, although it has failed or is sent again.
    pub(super) fn leave_copy(&mut self, at: usize, user: u32) {
        let slot = self.slots.get_mut(user);
        slot.is_moved = true;
        let number = self.config.proof.stray(slot.lba, slot.blocks);
        let path = &mut self.paths[at];
        path.strays.push((path.fence_group, number));
    }

    /// Forgets the strays of the sessions that a login in this portal group has reinstated.
    pub(super) fn end_strays(&mut self, at: usize, group: FenceGroup) {
        let strays = std::mem::take(&mut self.paths[at].strays);
        let (gone, left) = strays.into_iter().partition(|(of, _)| of.is_reinstated_in(group));
        self.paths[at].strays = left;
        let gone: Vec<(FenceGroup, u64)> = gone;
        if !gone.is_empty() {
            let is_gone = |stray| gone.binary_search_by_key(&stray, |(_, number)| *number).is_ok();
            self.config.proof.strays_gone(is_gone);
        }
    }

    /// Returns the path, which is up, through whose portal the old session can be reinstated: it is in the same group.
    pub(super) fn fence_through(&self, at: usize) -> Option<&Path> {
        let path = &self.paths[at];
        let FenceGroup::Of(group) = path.fence_group else { return None };
        let fits = |other: &&Path| {
            other.index != path.index
                && other.is_serving()
                && other.portal_group == Some(group)
                && other.portal != path.portal
        };
        let others = || self.paths.iter().filter(fits);
        // Prefer a path that is not silent itself.
        let other = others().find(|other| other.is_trusted()).or_else(|| others().next())?;
        (path.fenced_count > 0).then_some(other)
    }

    /// Looks at every path with fenced writes. Called with every tick.
    pub(super) fn watch_fences(&mut self, now: Instant) {
        for at in 0..self.paths.len() {
            self.report_late_reset(at, now);
            self.fence_elsewhere(at, now);
            self.reset_instead(at, now);
        }
    }

    /// Ends the old session through another portal that has come up while the path's own one does not answer.
    fn fence_elsewhere(&mut self, at: usize, now: Instant) {
        let State::Opening(attempt) = &self.paths[at].state else { return };
        let is_slow = now + self.config.timeouts.connect >= attempt.deadline + CONNECT_PATIENCE;
        if attempt.purpose != Purpose::Serve || attempt.step != Step::Connecting || !is_slow {
            return;
        }
        if let Some(other) = self.fence_through(at) {
            let (through, portal) = (other.index, other.portal.clone());
            self.open(at, Purpose::Fence { through }, portal, 0, now);
        }
    }

    /// If the session can be reinstated through no portal, resets the LUN through any path that is up, which ends the
    /// old tasks.
    pub(super) fn reset_instead(&mut self, at: usize, now: Instant) {
        let path = &self.paths[at];
        // A path that has logged in and still has fenced writes came back in another portal group.
        let is_elsewhere =
            matches!(&path.state, State::Online(c) if !matches!(c.phase, Phase::Leaving { .. }));
        let is_needed = path.fenced_count > 0 && (path.attempts > 0 || is_elsewhere);
        // A path that is up opens no connection that would end the old session elsewhere.
        let is_ended_elsewhere = !is_elsewhere && self.fence_through(at).is_some();
        if self.config.fence != Fence::ReinstatementOrReset || !is_needed || is_ended_elsewhere {
            return;
        }
        let mut in_flight = self.paths.iter_mut().filter_map(Path::reset);
        if in_flight.any(|reset| now < reset.deadline) {
            return;
        }
        let Some(other) = self.path_for_reset(at, now) else { return };
        let has_fenced = |path: &&Path| path.fenced_count > 0;
        let covered = self.paths.iter().filter(has_fenced).fold(0, |mask, path| mask | 1 << path.index);
        let deadline = now + self.config.timeouts.management();
        if let Some(connection) = self.paths[other].serving()
            && connection.session.reset_logical_unit()
        {
            connection.reset = Some(Reset { covered, deadline, is_reported: false });
        }
    }

    /// Returns the path through which to reset the LUN. Prefers one that is not silent itself.
    fn path_for_reset(&mut self, at: usize, now: Instant) -> Option<usize> {
        let is_up = self.paths[at].is_serving();
        let own_portal = self.paths[at].portal.clone();
        let may_reset = |path: &mut Path| {
            let is_due = now >= path.reset_at && (is_up || path.portal != own_portal);
            is_due && path.serving().is_some_and(|connection| connection.reset.is_none())
        };
        let mut able: Vec<usize> =
            (0..self.paths.len()).filter(|at| may_reset(&mut self.paths[*at])).collect();
        able.sort_by_key(|at| !self.paths[*at].is_trusted());
        able.first().copied()
    }

    /// Handles an executed LUN reset. Commands of the other paths may have been ended by it without a report.
    pub(super) fn reset_done(&mut self, at: usize, now: Instant) {
        self.paths[at].reset_pause = RESET_PAUSE_MIN;
        let State::Online(connection) = &mut self.paths[at].state else { return };
        let Some(Reset { covered, .. }) = connection.reset.take() else { return };
        for other in 0..self.paths.len() {
            if let State::Online(connection) = &mut self.paths[other].state
                && other != at
            {
                connection.swept_at = Some(now);
            }
            if covered & 1 << other != 0 {
                self.release_fenced(self.paths[other].index, FencedBy::LogicalUnitReset, now);
            }
        }
    }

    /// Handles a refused LUN reset: the path serves as before, and is not asked again soon.
    pub(super) fn reset_refused(&mut self, at: usize, response: u8, now: Instant) {
        let path = &mut self.paths[at];
        // A target that does not support resets is asked again after the next login.
        path.reset_at = now + if response == NOT_SUPPORTED { NEVER } else { path.reset_pause };
        path.reset_pause = (path.reset_pause * 2).min(RESET_PAUSE_MAX);
        if let State::Online(connection) = &mut path.state {
            connection.reset = None;
        }
        let words = format!("the target refused a logical unit reset (response {response})");
        self.log.push(now, Some(path.index), EventKind::TargetSays(words));
    }

    fn report_late_reset(&mut self, at: usize, now: Instant) {
        let path = &mut self.paths[at];
        let Some(reset) = path.reset().filter(|reset| now >= reset.deadline && !reset.is_reported) else {
            return;
        };
        reset.is_reported = true;
        let limit_ms = self.config.timeouts.management().as_millis();
        let words = format!("the target has not answered a logical unit reset for {limit_ms} ms");
        self.log.push(now, Some(path.index), EventKind::TargetSays(words));
    }
}
