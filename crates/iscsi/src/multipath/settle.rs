//! Decides what happens after a task has ended: completion, failure or retry.

use std::time::{Duration, Instant};

use assay_tcp::nanos;

use super::core::{Completion, Core};
use crate::error::IoError;
use crate::events::EventKind;
use crate::multipath::{CHECKS, Path, Phase, State};
use crate::pdu::Direction;
use crate::scsi::{AccessState, Sense, SenseAction, cdb, status};
use crate::session::{SessionEvent, TaskOutcome};
use crate::slots::{CommandState, Data, Owner};

/// Number of attempts before a command fails.
const ATTEMPTS_MAX: u32 = 16;
/// First pause after BUSY; doubles with every attempt.
const BUSY_PAUSE_MIN: Duration = Duration::from_millis(20);
/// Longest pause after BUSY.
const BUSY_PAUSE_MAX: Duration = Duration::from_secs(1);
/// Number of refusals in a row after which a path is reported as busy.
const BUSY_REPORTED: u32 = 8;
/// Number of GOOD completions after which a depth lowered by TASK SET FULL is raised by one.
const GOOD_TO_RAISE: u32 = 256;

/// Action on a command whose task failed.
enum Verdict {
    Good,
    RetryNow,
    RetryLater,
    Fail(IoError),
}

impl<B: AsRef<[u8]> + AsMut<[u8]>> Core<B> {
    pub(super) fn on_event(&mut self, at: usize, event: SessionEvent, now: Instant) {
        // Subtleness ahead! An earlier event of the same batch may have taken the path down and moved all its commands
        // to other paths. The end of such a command is obsolete then: settling it here as well would complete it twice.
        let index = self.paths[at].index;
        self.end_abort(at, &event);
        if let SessionEvent::Done { user, .. } | SessionEvent::Aborted { user } = event
            && self.slots.get(user).place != (CommandState::Sent { path: index })
        {
            if let SessionEvent::Done { outcome, .. } = event {
                self.doubt_attention(at, &outcome, now);
            }
            return;
        }
        match event {
            SessionEvent::Done { user, outcome } => {
                let slot = self.slots.get_mut(user);
                if slot.held_count > 0 {
                    // The target answered before it had received all data; the buffer is still in the send queue.
                    slot.place = CommandState::Ending;
                    slot.outcome = Some(outcome);
                    self.ending.push(user);
                } else {
                    self.settle(at, user, &outcome, now);
                }
            }
            SessionEvent::Aborted { user } => self.aborted(at, user, now),
            other => self.on_path_event(at, other, now),
        }
    }

    /// Forgets the abort of a command that has ended, by itself or by the abort: the target may leave it unanswered.
    fn end_abort(&mut self, at: usize, event: &SessionEvent) {
        if let SessionEvent::Done { user, .. } | SessionEvent::Aborted { user } = event
            && let State::Online(connection) = &mut self.paths[at].state
        {
            connection.abort.take_if(|(aborted, _)| aborted == user);
        }
    }

    /// Completes the commands whose buffers have left the send queues. Called after sending.
    #[inline]
    pub fn released(&mut self, now: Instant) {
        if !self.ending.is_empty() {
            self.settle_released(now);
        }
    }

    fn settle_released(&mut self, now: Instant) {
        let mut ending = std::mem::take(&mut self.ending);
        ending.retain(|&user| {
            let slot = self.slots.get_mut(user);
            if slot.held_count > 0 {
                return true;
            }
            let at = usize::from(slot.last_path.expect("only sent commands end"));
            match slot.outcome.take() {
                Some(outcome) => self.settle(at, user, &outcome, now),
                None => self.requeue(user, now, "aborted"),
            }
            false
        });
        self.ending.append(&mut ending);
    }

    fn settle(&mut self, at: usize, user: u32, outcome: &TaskOutcome, now: Instant) {
        if outcome.response == 0 && outcome.status == status::TASK_SET_FULL {
            // The number of commands now in flight, checks included, is what the target has room for.
            let path = &mut self.paths[at];
            if let State::Online(connection) = &path.state {
                path.depth_limit = connection.session.task_count().max(1);
                path.good_since_full = 0;
            }
        }
        if let Owner::Probe { .. } = self.slots.get(user).owner {
            return self.probe_done(at, user, outcome, now);
        }
        // Probes do not count: every new connection answers them, including one that repeatedly falls silent under
        // load.
        self.paths[at].pace.answered(now.saturating_duration_since(self.slots.get(user).sent_at));
        match self.judge(at, user, outcome, now) {
            Verdict::Good => self.finish_good(at, user, outcome.transferred_bytes, now),
            Verdict::Fail(error) => {
                self.paths[at].stats.errors += 1;
                self.finish(user, Err(error));
            }
            Verdict::RetryNow => {
                let last = words(outcome);
                self.paths[at].stats.retries += 1;
                self.requeue(user, now, &last);
            }
            Verdict::RetryLater => self.pause(at, user, outcome, now),
        }
    }

    fn judge(&mut self, at: usize, user: u32, outcome: &TaskOutcome, now: Instant) -> Verdict {
        if outcome.response != 0 {
            let slot = self.slots.get(user);
            // Some targets answer so to what they do not know. What every target has to know is tried again.
            return match matches!(slot.owner, Owner::Control) && cdb::is_optional(&slot.cdb) {
                true => Verdict::Fail(IoError::TargetFailure { response: outcome.response }),
                false => Verdict::RetryLater,
            };
        }
        match outcome.status {
            status::GOOD | status::CONDITION_MET => self.judge_length(user, outcome),
            status::CHECK_CONDITION => self.judge_sense(at, user, outcome, now),
            status::BUSY | status::TASK_SET_FULL => Verdict::RetryLater,
            status::TASK_ABORTED => Verdict::RetryNow,
            status => Verdict::Fail(IoError::Scsi { status, sense: None }),
        }
    }

    fn judge_length(&self, user: u32, outcome: &TaskOutcome) -> Verdict {
        let slot = self.slots.get(user);
        // Control commands request more than may exist; their callers check the length themselves.
        let is_exact = matches!(slot.owner, Owner::Caller { .. });
        // tgt reports that it took nothing of the parameter list of UNMAP; that the list was sent must suffice.
        let transferred_bytes = if slot.is_trim() { outcome.sent_bytes } else { outcome.transferred_bytes };
        if is_exact && slot.direction != Direction::None && transferred_bytes != slot.transfer_bytes {
            let expected_bytes = slot.transfer_bytes;
            return Verdict::Fail(IoError::Short { transferred_bytes, expected_bytes });
        }
        Verdict::Good
    }

    fn judge_sense(&mut self, at: usize, user: u32, outcome: &TaskOutcome, now: Instant) -> Verdict {
        let sense = Sense::parse(&outcome.sense);
        let Some(known) = sense else {
            return Verdict::Fail(IoError::Scsi { status: outcome.status, sense });
        };
        if known.tells_of_access_state() {
            self.read_access_state(at, now);
        }
        if known.tells_of_another_unit() {
            self.doubt(at, now);
        }
        match known.action() {
            SenseAction::Succeed => self.judge_length(user, outcome),
            SenseAction::RetryNow => {
                if known.key == crate::scsi::key::UNIT_ATTENTION || known.tells_of_another_unit() {
                    let path = self.paths[at].index;
                    self.log.push(now, Some(path), EventKind::UnitAttention(known.to_string()));
                }
                Verdict::RetryNow
            }
            SenseAction::RetryLater => Verdict::RetryLater,
            SenseAction::OtherPath => {
                self.set_access(at, AccessState::Standby, now);
                Verdict::RetryLater
            }
            SenseAction::Fail => Verdict::Fail(IoError::Scsi { status: outcome.status, sense }),
        }
    }

    fn finish_good(&mut self, at: usize, user: u32, bytes: u32, now: Instant) {
        let slot = self.slots.get(user);
        let path = &mut self.paths[at];
        let stats = &mut path.stats;
        if let Owner::Caller { .. } = slot.owner {
            match slot.direction {
                Direction::Read => {
                    (stats.reads, stats.read_bytes) = (stats.reads + 1, stats.read_bytes + u64::from(bytes))
                }
                Direction::Write => {
                    (stats.writes, stats.write_bytes) =
                        (stats.writes + 1, stats.write_bytes + u64::from(bytes));
                }
                Direction::None => {}
            }
            stats.latency_ns.saturating_record(nanos(now.saturating_duration_since(slot.sent_at)));
        }
        if !path.busy_pause.is_zero() {
            path.busy_pause = Duration::ZERO;
            let refusals = std::mem::take(&mut path.busy_count);
            if refusals >= BUSY_REPORTED {
                self.log.push(now, Some(path.index), EventKind::PathTakes { refusals });
            }
        }
        if path.depth_limit < path.depth + CHECKS {
            path.good_since_full += 1;
            if path.good_since_full >= GOOD_TO_RAISE {
                path.good_since_full = 0;
                path.depth_limit += 1;
            }
        }
        let slot = self.slots.get(user);
        let mut done_bytes = bytes;
        if slot.is_trim() {
            // Trimmed blocks prove nothing, so the first write is still to come.
            done_bytes = slot.blocks * self.capacity().block_bytes;
        } else if slot.direction == Direction::Write && matches!(slot.owner, Owner::Caller { .. }) {
            if let Some(candidate) = self.slots.get_mut(user).candidate.take() {
                self.config.proof.remember(candidate, now);
            }
            if !self.config.proof.is_written() {
                self.config.proof.written();
            }
        }
        self.finish(user, Ok(done_bytes));
    }

    /// Completes a command and releases its buffer. Every command ends here.
    pub(super) fn finish(&mut self, user: u32, result: Result<u32, IoError>) {
        self.end_change(user, result.is_ok());
        let slot = self.slots.get(user);
        let (path, is_moved) = (slot.last_path, slot.is_moved);
        match slot.owner {
            Owner::Caller { tag } => {
                let (Data::User(buf) | Data::Trim { buf, .. }) = self.slots.put(user) else {
                    unreachable!("a caller's command has the caller's buffer");
                };
                self.completions.ended(Completion { tag, buf, result, path, is_moved });
            }
            // The slot stays occupied until its sender has read the data.
            Owner::Control => {
                self.slots.get_mut(user).place = CommandState::Ended;
                self.control_result = Some((user, result));
            }
            Owner::Probe { .. } => drop(self.slots.put(user)),
            Owner::Free => debug_assert!(false, "a command ends once"),
        }
    }

    /// Queues a command again for any path, unless it had too many attempts.
    pub(super) fn requeue(&mut self, user: u32, now: Instant, last: &str) {
        let slot = self.slots.get_mut(user);
        if let Owner::Probe { path } = slot.owner {
            self.slots.put(user);
            return self.probe_lost(path.into(), user, now);
        }
        // The target does not have it any more.
        slot.place = CommandState::Waiting;
        if let Some(lost) = &self.lost {
            let error = lost.of_command();
            return self.finish(user, Err(error));
        }
        if slot.attempts >= ATTEMPTS_MAX {
            let error = IoError::GivenUp { attempts: slot.attempts, last: last.to_owned() };
            return self.finish(user, Err(error));
        }
        self.waiting.push_back(user);
    }

    /// Handles a command that the target is too busy for, or not ready for: it goes to another path that is not, or is
    /// sent again later.
    fn pause(&mut self, at: usize, user: u32, outcome: &TaskOutcome, now: Instant) {
        let path = &mut self.paths[at];
        path.stats.retries += 1;
        if outcome.status != status::TASK_SET_FULL {
            path.refused_as_busy(now, (BUSY_PAUSE_MIN, BUSY_PAUSE_MAX));
            if path.busy_count == BUSY_REPORTED {
                let (index, answer) = (path.index, words(outcome));
                self.log.push(now, Some(index), EventKind::PathBusy { answer });
            }
        }
        let is_able = |path: &&Path| path.is_trusted() && path.access.serves_io() && path.has_room(now);
        if self.lost.is_none() && self.paths.iter().any(|path| is_able(&path)) {
            self.paths[at].stats.moved += u64::from(outcome.status != status::TASK_SET_FULL);
            return self.requeue(user, now, &words(outcome));
        }
        let slot = self.slots.get_mut(user);
        if self.lost.is_some() || now.duration_since(slot.submitted_at) > self.config.timeouts.busy {
            let error = IoError::GivenUp { attempts: slot.attempts, last: words(outcome) };
            self.paths[at].stats.errors += 1;
            return self.finish(user, Err(error));
        }
        let doublings = slot.attempts.saturating_sub(1).min(10);
        let pause = (BUSY_PAUSE_MIN * (1 << doublings)).min(BUSY_PAUSE_MAX);
        slot.place = CommandState::Paused { until: now + pause };
        self.paused_count += 1;
    }

    fn aborted(&mut self, at: usize, user: u32, now: Instant) {
        self.paths[at].stats.retries += 1;
        let after_ms = now.duration_since(self.slots.get(user).sent_at).as_millis();
        let path = self.paths[at].index;
        self.log.push(now, Some(path), EventKind::CommandAborted { after_ms });
        let slot = self.slots.get_mut(user);
        if slot.held_count > 0 {
            slot.place = CommandState::Ending;
            slot.outcome = None;
            self.ending.push(user);
        } else {
            self.requeue(user, now, "aborted after its time limit");
        }
    }

    fn on_path_event(&mut self, at: usize, event: SessionEvent, now: Instant) {
        let path = self.paths[at].index;
        let State::Online(connection) = &mut self.paths[at].state else { return };
        match event {
            SessionEvent::Pong { itt } => {
                if let Some(round_trip) = connection.on_pong(itt, now) {
                    self.paths[at].stats.ping_ns.saturating_record(nanos(round_trip));
                }
            }
            SessionEvent::ResetDone => self.reset_done(at, now),
            SessionEvent::ResetRefused { response } => self.reset_refused(at, response, now),
            SessionEvent::AbortRefused { response } => {
                let why = format!("the target did not abort a command (response {response})");
                self.drop_connection(at, why, now);
            }
            SessionEvent::LogoutRequested { event, .. } => {
                self.log.push(now, Some(path), EventKind::TargetSays(message_words(event).to_owned()));
                connection.is_leaving = true;
            }
            SessionEvent::AsyncSense { sense } => {
                let known = Sense::parse(&sense);
                let words = known.map_or_else(|| "asynchronous event".to_owned(), |s| s.to_string());
                self.log.push(now, Some(path), EventKind::TargetSays(words));
                if known.is_some_and(|sense| sense.tells_of_another_unit()) {
                    self.doubt(at, now);
                }
            }
            SessionEvent::Rejected { reason, opcode } => {
                let words = format!("the target rejected PDU {opcode:#04x}, reason {reason:#04x}");
                self.log.push(now, Some(path), EventKind::TargetSays(words));
            }
            SessionEvent::LoggedOut => {
                if !matches!(connection.phase, Phase::Leaving { .. }) && !connection.is_leaving {
                    return self.drop_connection(
                        at,
                        "received a logout response, but no logout was sent".into(),
                        now,
                    );
                }
                self.left(at, now);
            }
            SessionEvent::Done { .. } | SessionEvent::Aborted { .. } => unreachable!("handled before"),
        }
    }
}

fn words(outcome: &TaskOutcome) -> String {
    if outcome.response != 0 {
        return format!("target failure (iSCSI response {:#04x})", outcome.response);
    }
    Sense::parse(&outcome.sense).map_or_else(|| status::words(outcome.status).to_owned(), |s| s.to_string())
}

fn message_words(event: u8) -> &'static str {
    match event {
        1 => "the target requests a logout",
        2 => "the target will drop the connection",
        3 => "the target will drop the session",
        _ => "the target requests a renegotiation",
    }
}
