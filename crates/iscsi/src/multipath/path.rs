//! One path: a portal, an ISID, and the state of the connection between them.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use assay_tcp::{Backoff, PathStats, nanos};

use super::connection::{Connection, Phase};
use super::pace::ResponseTimes;
use crate::config::Timeouts;
use crate::error::Missing;
use crate::scsi::AccessState;

/// First pause after a target refused a LUN reset; doubles up to [`RESET_PAUSE_MAX`].
pub(crate) const RESET_PAUSE_MIN: Duration = Duration::from_secs(1);
/// Longest pause after a refused LUN reset.
pub(crate) const RESET_PAUSE_MAX: Duration = Duration::from_secs(10);
/// Places beside those of the I/Os: a path has one check of the unit at a time. On a slow target checks follow one
/// another without a pause, and would take every other place of a path with two.
pub(crate) const CHECKS: u16 = 1;
/// Number of redirections followed in one attempt.
pub(crate) const REDIRECTS_MAX: u8 = 3;

/// Purpose of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// To carry I/O through the path's own portal.
    Serve,
    /// To end the path's old session through the portal of another path, in the same group.
    Fence { through: u8 },
}

/// An attempt to log in.
#[derive(Debug)]
pub(crate) struct Attempt {
    pub purpose: Purpose,
    pub redirects: u8,
    pub step: Step,
    pub deadline: Instant,
}

/// Step of an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    Connecting,
    LoggingIn,
}

/// State of a path.
#[derive(Debug)]
pub(crate) enum State {
    Down { retry_at: Instant },
    Opening(Attempt),
    Online(Box<Connection>),
}

/// Where a path failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FailedAt {
    /// On the way to the target: it did not answer.
    Way,
    /// At the target, which answered.
    Target,
}

/// Portal group of a session: a login there with the same name reinstates it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FenceGroup {
    /// This one.
    Of(u16),
    /// That of the path's own portal, which the target does not name.
    OfPortal,
    /// Several sessions in different groups, or one whose group is not known: it is behind a redirection of a target
    /// that names none. Only a LUN reset ends their tasks.
    Unknown,
}

impl FenceGroup {
    /// Returns the group of a session that was opened at the path's own portal, after so many redirections.
    pub(crate) fn of_login(named: Option<u16>, redirects: u8) -> Self {
        match (named, redirects) {
            (Some(group), _) => Self::Of(group),
            (None, 0) => Self::OfPortal,
            (None, _) => Self::Unknown,
        }
    }

    /// Returns true if a login in `group` reinstates the session.
    pub(crate) fn is_reinstated_in(self, group: Self) -> bool {
        match self {
            Self::Of(_) | Self::OfPortal => self == group,
            Self::Unknown => false,
        }
    }
}

/// One path.
#[derive(Debug)]
pub(crate) struct Path {
    pub index: u8,
    pub portal: String,
    pub isid: [u8; 6],

    pub state: State,
    /// Commands assigned to this path that its session has not accepted yet.
    pub pending: VecDeque<u32>,
    pub access: AccessState,
    /// Portal group of the session, by the last login.
    pub group: FenceGroup,
    /// Portal group of the portal, by the last login there: it may move while a session stays in the old group.
    pub portal_group: Option<u16>,
    /// ALUA group of the port, once known from the examination.
    pub port_group: Option<u16>,
    /// Number of I/Os that may be in flight.
    pub depth: u16,
    /// Limit of commands in flight, checks of the unit included; lowered by TASK SET FULL.
    pub depth_limit: u16,
    /// End of the pause after the last command was refused as BUSY or NOT READY, and the next pause; none after a
    /// command that was executed.
    pub busy_until: Instant,
    pub busy_pause: Duration,
    /// Number of such refusals since then.
    pub busy_count: u32,
    /// Time at which the path was last seen to take nothing.
    pub unable_at: Option<Instant>,
    /// Number of GOOD completions since the limit was lowered.
    pub good_since_full: u32,
    /// Number of fenced writes that have failed and that the target may still execute, each with the portal groups of
    /// its sessions.
    pub strays: Vec<(FenceGroup, u64)>,
    /// Number of writes that wait until this path is fenced.
    pub fenced_count: u32,
    /// Portal groups of the sessions that sent them.
    pub fence_group: FenceGroup,
    /// Time before which no LUN reset is requested through this path, and the next pause after a refusal.
    pub reset_at: Instant,
    pub reset_pause: Duration,
    /// Number of attempts since the path went down.
    pub attempts: u32,
    /// True if the last failure was silence: the path's own portal is probably unreachable.
    pub was_silent: bool,
    pub backoff: Backoff,
    /// End of the pause that the target requested.
    pub not_before: Instant,
    /// True if the login was refused permanently: only a changed setting can help.
    pub is_refused: bool,
    /// True if the path leads to another unit than before.
    pub is_changed: bool,
    /// Time from which the other paths are verified for that reason.
    pub doubted_at: Option<Instant>,
    /// Time of the next check of content and presence.
    pub check_at: Instant,
    /// Time at which the last check of the content was sent that could prove something, and the last one that did.
    pub checked_at: Option<Instant>,
    pub known_at: Option<Instant>,
    /// Number of checks in a row that proved nothing.
    pub vain_checks: u8,
    pub presence_at: Instant,
    pub last_error: Option<String>,
    /// What is missing according to the last error.
    pub missing: Option<Missing>,
    /// Where the last failure lay; `None` before one.
    pub failed_at: Option<FailedAt>,
    /// Response times of the path.
    pub pace: ResponseTimes,
    pub stats: PathStats,
}

impl Path {
    pub(crate) fn new(
        index: u8,
        portal: String,
        isid: [u8; 6],
        depth: u16,
        slots: usize,
        now: Instant,
    ) -> Self {
        Self {
            index,
            portal,
            isid,
            state: State::Down { retry_at: now },
            pending: VecDeque::with_capacity(slots),
            access: AccessState::Optimized,
            group: FenceGroup::Unknown,
            portal_group: None,
            port_group: None,
            depth,
            depth_limit: depth + CHECKS,
            busy_until: now,
            busy_pause: Duration::ZERO,
            busy_count: 0,
            unable_at: None,
            good_since_full: 0,
            strays: Vec::new(),
            fenced_count: 0,
            fence_group: FenceGroup::Unknown,
            reset_at: now,
            reset_pause: RESET_PAUSE_MIN,
            attempts: 0,
            was_silent: false,
            backoff: Backoff::default(),
            not_before: now,
            is_refused: false,
            is_changed: false,
            doubted_at: None,
            check_at: now,
            checked_at: None,
            known_at: None,
            vain_checks: 0,
            presence_at: now,
            last_error: None,
            missing: None,
            failed_at: None,
            pace: ResponseTimes::new(now),
            stats: PathStats::default(),
        }
    }

    /// Returns the connection, if the path is up.
    pub(crate) fn serving(&mut self) -> Option<&mut Connection> {
        match &mut self.state {
            State::Online(connection) if connection.phase == Phase::Serving => Some(connection),
            _ => None,
        }
    }

    /// Returns the LUN reset in flight.
    pub(crate) fn reset(&mut self) -> Option<&mut super::connection::Reset> {
        match &mut self.state {
            State::Online(connection) => connection.reset.as_mut(),
            _ => None,
        }
    }

    pub(crate) fn is_serving(&self) -> bool {
        matches!(&self.state, State::Online(connection) if connection.phase == Phase::Serving)
    }

    /// Returns true if its connection has carried I/O.
    pub(crate) fn has_served(&self) -> bool {
        matches!(&self.state, State::Online(connection) if connection.has_served)
    }

    /// Returns true if the path is up and not silent.
    pub(crate) fn is_trusted(&self) -> bool {
        matches!(&self.state, State::Online(c) if c.phase == Phase::Serving && c.suspect_since.is_none())
    }

    /// Returns the number of commands assigned to the path.
    pub(crate) fn outstanding(&self) -> u32 {
        let tasks = match &self.state {
            State::Online(connection) => u32::from(connection.session.task_count()),
            _ => 0,
        };
        tasks + u32::try_from(self.pending.len()).expect("bounded by the number of slots")
    }

    /// Returns the number of commands assigned to the path, without a check of the unit: on a slow target these follow
    /// one another without a pause.
    pub(crate) fn io_outstanding(&self) -> u32 {
        self.outstanding().saturating_sub(u32::from(self.is_checked()))
    }

    fn is_checked(&self) -> bool {
        matches!(&self.state, State::Online(connection) if connection.probe.is_some())
    }

    /// Returns the number of commands that may be in flight now. A check has a place of its own, unless the target has
    /// no room for it.
    pub(crate) fn task_limit(&self) -> u16 {
        self.depth_limit.min(self.depth + if self.is_checked() { CHECKS } else { 0 })
    }

    /// Returns true if a command would be sent at once: there is room in the window and below the limit, and the last
    /// commands were not refused as busy. After a pause one command shows whether that has changed.
    pub(crate) fn has_room(&self, now: Instant) -> bool {
        let State::Online(connection) = &self.state else { return false };
        if !self.busy_pause.is_zero() && (now < self.busy_until || self.io_outstanding() > 0) {
            return false;
        }
        let pending = u32::try_from(self.pending.len()).expect("bounded by the number of slots");
        let below_limit = u32::from(self.task_limit().saturating_sub(connection.session.task_count()));
        pending < connection.session.room().min(below_limit)
    }

    /// Records that the path refused a command as busy.
    pub(crate) fn refused_as_busy(&mut self, now: Instant, pauses: (Duration, Duration)) {
        self.busy_pause = (self.busy_pause * 2).clamp(pauses.0, pauses.1);
        self.busy_until = now + self.busy_pause;
        self.busy_count += 1;
        self.stats.refused += 1;
    }

    /// Counts the time for which the path is up and takes next to nothing. Called with every tick.
    pub(crate) fn count_unable(&mut self, now: Instant) {
        let is_unable = match &self.state {
            State::Online(connection) if connection.phase == Phase::Serving => {
                !self.busy_pause.is_zero() || connection.session.is_shut()
            }
            _ => false,
        };
        let before = std::mem::replace(&mut self.unable_at, is_unable.then_some(now));
        if let Some(before) = before.filter(|_| is_unable) {
            self.stats.unable_ns += nanos(now.saturating_duration_since(before));
        }
    }

    /// Starts an attempt.
    pub(crate) fn begin(&mut self, purpose: Purpose, redirects: u8, now: Instant, timeouts: &Timeouts) {
        let (step, deadline) = (Step::Connecting, now + timeouts.connect);
        self.state = State::Opening(Attempt { purpose, redirects, step, deadline });
    }

    /// Records that the TCP connection was established: the login has a limit of its own.
    pub(crate) fn connected(&mut self, now: Instant, timeouts: &Timeouts) {
        if let State::Opening(attempt) = &mut self.state {
            (attempt.step, attempt.deadline) = (Step::LoggingIn, now + timeouts.login);
        }
    }

    /// Keeps a path that is down from being tried again.
    pub(crate) fn stay_down(&mut self, now: Instant) {
        if let State::Down { retry_at } = &mut self.state {
            *retry_at = now + Duration::from_secs(3600);
        }
    }

    /// Shortens the pause of a path while no other path is up.
    pub(crate) fn hasten(&mut self, now: Instant, timeouts: &Timeouts) {
        if let State::Down { retry_at } = &mut self.state
            && !self.is_refused
        {
            *retry_at = (*retry_at).min(self.not_before.max(now + timeouts.retry_alone));
        }
    }

    /// Returns the pause before the next attempt, which grows with every failure.
    pub(crate) fn next_backoff(&mut self, timeouts: &Timeouts) -> Duration {
        self.backoff.next(timeouts.retry_min, timeouts.retry_max)
    }
}
