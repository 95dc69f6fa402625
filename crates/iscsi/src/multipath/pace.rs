//! Judges a silent path, as a pure function of the times at which it and the other paths were last heard.
//!
//! A cut path accepts commands and answers none. Round robin would assign it command after command until every
//! outstanding command hangs there, and the working paths would be idle until its connection is ended. Silence alone
//! does not prove a failure: a stalled disk silences all paths, a slow write some. A silent path is therefore pinged,
//! which needs no disk, and is suspected only if another path answers meanwhile and this one does not.

use std::time::{Duration, Instant};

use crate::config::Timeouts;

/// The slowest answer is remembered for one to two of these periods.
const MEMORY: Duration = Duration::from_secs(10);
/// Silence is suspicious from this multiple of the slowest answer on …
const SLOWEST_TIMES: u32 = 4;
/// … but at the latest after this multiple of the limit.
const LIMIT_TIMES_MAX: u32 = 4;
/// Number of doublings after which the limit exceeds that of every ping.
const DOUBLINGS_MAX: u32 = 8;

/// Response times of a path.
#[derive(Debug)]
pub(crate) struct ResponseTimes {
    slowest: Duration,
    slowest_before: Duration,
    turned_at: Instant,
    /// Number of connections ended because of silence since the last answer.
    given_up_count: u32,
}

impl ResponseTimes {
    pub(crate) fn new(now: Instant) -> Self {
        Self { slowest: Duration::ZERO, slowest_before: Duration::ZERO, turned_at: now, given_up_count: 0 }
    }

    /// Records an answer. Called for every command.
    #[inline]
    pub(crate) fn answered(&mut self, took: Duration) {
        self.slowest = self.slowest.max(took);
        self.given_up_count = 0;
    }

    /// Records that the connection was ended because of silence. A path that never answers within the limit needs more
    /// time.
    pub(crate) fn given_up(&mut self) {
        self.given_up_count = (self.given_up_count + 1).min(DOUBLINGS_MAX);
    }

    /// Forgets old response times. Called with every tick.
    pub(crate) fn turn(&mut self, now: Instant) {
        if now.duration_since(self.turned_at) >= MEMORY {
            self.slowest_before = std::mem::take(&mut self.slowest);
            self.turned_at = now;
        }
    }

    /// Returns the duration of silence after which the path is suspected.
    fn suspect_after(&self, timeouts: &Timeouts) -> Duration {
        let slow = self.slowest.max(self.slowest_before) * SLOWEST_TIMES;
        slow.clamp(timeouts.suspect, timeouts.suspect * LIMIT_TIMES_MAX)
    }

    /// Returns the duration of silence after which the connection is ended.
    fn give_up_after(&self, timeouts: &Timeouts) -> Duration {
        let limit = timeouts.silence.max(self.suspect_after(timeouts) * 2);
        (limit * (1 << self.given_up_count)).min(timeouts.ping)
    }

    /// Action on a silent path.
    pub(crate) fn action(&self, quiet: Silence, timeouts: &Timeouts, now: Instant) -> SilenceAction {
        let silent = now.saturating_duration_since(quiet.since);
        let limit = self.suspect_after(timeouts);
        if silent < limit / 2 {
            return SilenceAction::None;
        }
        let Some(asked_at) = quiet.asked_at else { return SilenceAction::Ping };
        // A ping sent before the silence began may have been delayed by earlier load; its time counts from the start of
        // the silence.
        let asked_at = asked_at.max(quiet.since);
        // Another path that was last heard just after this one has fallen silent as well.
        let heard_after = asked_at.max(quiet.since + limit / 2);
        let others_answer = quiet.others_heard_at.is_some_and(|at| at > heard_after);
        let has_had_time = now.saturating_duration_since(asked_at) >= limit / 2;
        if !others_answer || !has_had_time || silent < limit {
            return SilenceAction::None;
        }
        if silent >= self.give_up_after(timeouts) { SilenceAction::GiveUp } else { SilenceAction::Suspect }
    }
}

/// Silence of a path that has commands outstanding.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Silence {
    /// Time of the last received byte, or of sending the oldest unanswered command if that was later.
    pub since: Instant,
    /// Time at which the ping in flight was sent.
    pub asked_at: Option<Instant>,
    /// Time at which another path that could take its commands was last heard.
    pub others_heard_at: Option<Instant>,
}

/// Action on a silent path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SilenceAction {
    /// Nothing.
    None,
    /// Ping it and the others.
    Ping,
    /// Give it no new commands.
    Suspect,
    /// End its connection.
    GiveUp,
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    /// Times in ms since the silence began: now, sending of the ping, last data on another path; and the slowest
    /// answer.
    #[track_caller]
    fn check(now: u32, asked: Option<u32>, heard: Option<u32>, slowest: u32, expected: SilenceAction) {
        let start = Instant::now();
        let mut pace = ResponseTimes::new(start);
        pace.answered(MS * slowest);
        let quiet = Silence {
            since: start,
            asked_at: asked.map(|ms| start + MS * ms),
            others_heard_at: heard.map(|ms| start + MS * ms),
        };
        assert_eq!(pace.action(quiet, &Timeouts::default(), start + MS * now), expected);
    }

    #[test]
    fn a_silent_path_is_pinged_then_suspected_then_ended_if_another_answers() {
        check(100, None, Some(99), 1, SilenceAction::None);
        check(125, None, Some(99), 1, SilenceAction::Ping);
        check(200, Some(125), Some(199), 1, SilenceAction::None);
        check(250, Some(125), Some(249), 1, SilenceAction::Suspect);
        check(999, Some(125), Some(998), 1, SilenceAction::Suspect);
        check(1000, Some(125), Some(999), 1, SilenceAction::GiveUp);
    }

    #[test]
    fn silence_of_all_paths_does_not_blame_one() {
        check(4000, Some(125), None, 1, SilenceAction::None);
        // The others fell silent soon after this one, before any ping.
        check(4000, Some(125), Some(124), 1, SilenceAction::None);
    }

    #[test]
    fn a_slow_path_gets_more_time_within_a_limit() {
        check(350, Some(175), Some(349), 100, SilenceAction::None);
        check(400, Some(200), Some(399), 100, SilenceAction::Suspect);
        check(999, Some(500), Some(998), 10_000, SilenceAction::None);
        check(1000, Some(500), Some(999), 10_000, SilenceAction::Suspect);
        check(2000, Some(500), Some(1999), 10_000, SilenceAction::GiveUp);
    }

    #[test]
    fn a_ping_sent_before_the_silence_gets_its_full_time() {
        let start = Instant::now();
        let pace = ResponseTimes::new(start);
        let heard = Some(start + MS * 2000);
        let quiet = Silence { since: start + MS * 1000, asked_at: Some(start), others_heard_at: heard };
        assert_eq!(pace.action(quiet, &Timeouts::default(), start + MS * 1120), SilenceAction::None);
        assert_eq!(pace.action(quiet, &Timeouts::default(), start + MS * 1250), SilenceAction::Suspect);
    }

    #[test]
    fn a_repeatedly_ended_path_gets_at_most_the_limit_of_a_ping() {
        let timeouts = Timeouts::default();
        let start = Instant::now();
        let mut pace = ResponseTimes::new(start);
        let mut limits = Vec::new();
        for _ in 0..20 {
            limits.push(pace.give_up_after(&timeouts).as_millis());
            pace.given_up();
        }
        assert_eq!(limits[..4], [1000, 2000, 4000, 5000]);
        assert_eq!(limits[19], 5000);
        pace.answered(MS);
        assert_eq!(pace.give_up_after(&timeouts), timeouts.silence);
    }

    #[test]
    fn slow_answers_are_forgotten() {
        let (start, timeouts) = (Instant::now(), Timeouts::default());
        let mut pace = ResponseTimes::new(start);
        pace.answered(MS * 200);
        pace.turn(start + MEMORY);
        assert_eq!(pace.suspect_after(&timeouts), MS * 800);
        pace.turn(start + MEMORY * 2);
        assert_eq!(pace.suspect_after(&timeouts), timeouts.suspect);
    }
}
