//! From the answer to a call to the completion of its command.

use std::time::{Duration, Instant};

use assay_tcp::nanos;

use super::path::Answer;
use super::table::{CallState, Owner};
use super::{Completion, File, Kind};
use crate::error::IoError;
use crate::events::EventKind;
use crate::nfs3::{NfsStatus, Stable, Verifier, Written};

/// First and longest pause after NFS3ERR_JUKEBOX.
const JUKEBOX_PAUSE_MIN: Duration = Duration::from_millis(20);
const JUKEBOX_PAUSE_MAX: Duration = Duration::from_secs(1);
/// JUKEBOX answers further apart than this belong to separate series.
const JUKEBOX_STRETCH: Duration = Duration::from_secs(5);

/// Work left after an answer.
enum Rest {
    Nothing,
    /// This many bytes were transferred; the rest must be requested again.
    After(u32),
    Failed(IoError),
}

impl<B: AsRef<[u8]> + AsMut<[u8]>> File<B> {
    pub(super) fn settle(&mut self, at: usize, call: u32, answer: &Answer, now: Instant) {
        let owner = self.tables.call(call).owner;
        if owner != Owner::Ping {
            // Pings do not shorten the pauses: a server may answer them and close the connection at every other call.
            self.paths[at].backoff.reset();
        }
        match owner {
            Owner::Ping => self.settle_ping(at, call, now),
            _ if *answer == Answer::Status(NfsStatus::JUKEBOX) => self.pause(at, call, now),
            Owner::Commit => self.settle_commit(call, answer),
            Owner::Io { slot } => self.settle_io(at, call, slot, answer, now),
            Owner::Free => debug_assert!(false, "a call is answered once"),
        }
    }

    fn settle_io(&mut self, at: usize, call: u32, slot: u32, answer: &Answer, now: Instant) {
        let rest = match answer {
            Answer::Read { bytes, is_end } => self.judge_read(call, slot, *bytes, *is_end),
            Answer::Written(written) => self.judge_write(call, *written, now),
            other => Rest::Failed(
                other.error().unwrap_or(IoError::Broken("the reply belongs to a different call")),
            ),
        };
        match rest {
            Rest::Nothing => {}
            Rest::After(bytes) => {
                // The transferred part counts; the rest is another call.
                let path = self.paths[at].index;
                let again = self.tables.call(call);
                (again.start, again.bytes) = (again.start + bytes, again.bytes - bytes);
                self.write_call(call);
                return self.queue(call, path);
            }
            Rest::Failed(error) => drop(self.tables.slot(slot).error.get_or_insert(error)),
        }
        self.tables.put_call(call);
        self.end_call(at, slot, now);
    }

    fn judge_read(&mut self, call: u32, slot: u32, bytes: u32, is_end: bool) -> Rest {
        let (start, asked) = (self.tables.call(call).start, self.tables.call(call).bytes);
        match bytes {
            bytes if bytes == asked => Rest::Nothing,
            bytes if is_end => {
                let slot = self.tables.slot(slot);
                slot.end_bytes = slot.end_bytes.min(start + bytes);
                Rest::Nothing
            }
            0 => Rest::Failed(IoError::Broken("the server returned no data before the end of the file")),
            bytes => Rest::After(bytes),
        }
    }

    fn judge_write(&mut self, call: u32, written: Written, now: Instant) -> Rest {
        let asked = self.tables.call(call).bytes;
        if written.bytes == 0 || written.bytes > asked {
            return Rest::Failed(IoError::Broken(
                "the server reported that it wrote nothing, or more than it was sent",
            ));
        }
        self.writes.count(written.stable);
        self.compare_verifier(written.verifier, now);
        if written.stable == Stable::Unstable {
            self.uncommitted.0 += 1;
            self.uncommitted.1 += u64::from(written.bytes);
        }
        if written.stable < self.wants() {
            return Rest::Failed(IoError::Broken("the server made a write less durable than requested"));
        }
        if written.bytes == asked { Rest::Nothing } else { Rest::After(written.bytes) }
    }

    /// Compares the verifier. A change means that the server may have lost every earlier unstable write.
    pub(super) fn compare_verifier(&mut self, verifier: Verifier, now: Instant) {
        if self.verifier.is_some_and(|known| known != verifier) {
            let (writes, bytes) = std::mem::take(&mut self.uncommitted);
            self.writes.restarts += 1;
            self.writes.uncertain += writes;
            self.writes.uncertain_bytes += bytes;
            self.log.push(now, None, EventKind::Restarted { writes, bytes });
        }
        self.verifier = Some(verifier);
    }

    /// Ends a call; the command completes with its last call.
    pub(super) fn end_call(&mut self, at: usize, index: u32, now: Instant) {
        let slot = self.tables.slot(index);
        slot.call_count -= 1;
        let is_all_handed = slot.handed_bytes == slot.data_bytes || slot.error.is_some();
        if slot.call_count > 0 || !is_all_handed {
            return;
        }
        let (bytes, kind, sent_at) = (slot.end_bytes, slot.kind, slot.sent_at);
        // A command that failed before all its calls were made is still in the queue.
        let is_waiting = slot.handed_bytes < slot.data_bytes;
        let stats = &mut self.paths[at].stats;
        match self.tables.slot(index).error.take() {
            Some(error) => {
                stats.errors += 1;
                if is_waiting {
                    self.waiting.remove(index);
                }
                return self.finish(index, Err(error));
            }
            None if kind == Kind::Read => {
                (stats.reads, stats.read_bytes) = (stats.reads + 1, stats.read_bytes + u64::from(bytes));
            }
            None => {
                (stats.writes, stats.write_bytes) = (stats.writes + 1, stats.write_bytes + u64::from(bytes));
            }
        }
        let sent_at = sent_at.unwrap_or(now);
        stats.latency_ns.saturating_record(nanos(now.saturating_duration_since(sent_at)));
        self.finish(index, Ok(bytes));
    }

    /// Completes a command and releases its buffer. Every command ends here.
    pub(super) fn finish(&mut self, index: u32, result: Result<u32, IoError>) {
        let slot = self.tables.slot(index);
        let (tag, path, is_moved) = (slot.tag, slot.path, slot.is_moved);
        self.writes.moved += u64::from(is_moved);
        let buf = self.tables.put_slot(index);
        self.completions.ended(Completion { tag, buf, result, path, is_moved });
    }

    fn settle_ping(&mut self, at: usize, call: u32, now: Instant) {
        let round_trip = now.saturating_duration_since(self.tables.call(call).sent_at);
        self.tables.put_call(call);
        let path = &mut self.paths[at];
        path.stats.ping_ns.saturating_record(nanos(round_trip));
        if let super::State::Up(wire) = &mut path.state {
            wire.ping = None;
        }
    }

    /// Handles NFS3ERR_JUKEBOX: the call is sent again after a pause as a new one, or fails.
    fn pause(&mut self, at: usize, call: u32, now: Instant) {
        self.paths[at].stats.retries += 1;
        if self.jukebox_at.is_none_or(|last| now.duration_since(last) > JUKEBOX_STRETCH) {
            self.log.push(now, Some(self.paths[at].index), EventKind::Jukebox);
        }
        self.jukebox_at = Some(now);
        let busy = self.config.timeouts.busy;
        let asked = self.tables.call(call);
        let first_at = asked.first_at.unwrap_or(now);
        if now.duration_since(first_at) > busy {
            return self.give_up_call(at, call, IoError::Status(NfsStatus::JUKEBOX), now);
        }
        let waited = now.duration_since(first_at);
        asked.place = CallState::Paused { until: now + waited.clamp(JUKEBOX_PAUSE_MIN, JUKEBOX_PAUSE_MAX) };
        asked.attempts = 0;
        self.paused_count += 1;
    }

    /// Ends a call without a usable answer.
    pub(super) fn give_up_call(&mut self, at: usize, call: u32, error: IoError, now: Instant) {
        let owner = self.tables.call(call).owner;
        self.tables.put_call(call);
        match owner {
            Owner::Io { slot } => {
                self.tables.slot(slot).error.get_or_insert(error);
                self.end_call(at, slot, now);
            }
            Owner::Commit => self.commit_answer = Some(Err(error)),
            Owner::Ping | Owner::Free => {}
        }
    }
}
