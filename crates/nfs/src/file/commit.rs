//! COMMIT: unstable writes become durable, or the server reports that it lost them.

use std::time::Instant;

use assay_tcp::{TICK, nanos};

use super::path::Answer;
use super::table::Owner;
use super::{File, Kind};
use crate::error::IoError;

impl<B: AsRef<[u8]> + AsMut<[u8]>> File<B> {
    /// Makes every completed write durable and waits for that; sends nothing if nothing is uncommitted. I/Os that
    /// complete meanwhile are kept for the next `poll`.
    ///
    /// The COMMIT covers the whole file. If the server restarted meanwhile, [`crate::WriteStats::uncertain`] counts the
    /// writes that may be lost. Ends after the limit of a COMMIT, or soon after `give_up` returns true.
    pub fn commit(&mut self, give_up: &dyn Fn() -> bool) -> Result<(), IoError> {
        let (writes, bytes) = self.uncommitted;
        if writes == 0 {
            return Ok(());
        }
        if let Some(lost) = &self.lost {
            return Err(IoError::NoServer { waited_s: lost.waited_s });
        }
        let Some(call) = self.tables.take_call(Owner::Commit, Kind::Read) else {
            return Err(IoError::Invalid("too many calls are in flight to send a COMMIT"));
        };
        self.write_call(call);
        self.homeless.push_back(call);
        let began = Instant::now();
        // The wait is bounded, because every call ends: with an answer, by its time limits, or when the server is
        // silent for too long.
        self.is_committing = true;
        let answer = loop {
            if let Some(answer) = self.commit_answer.take() {
                break answer;
            }
            let waited_s = began.elapsed().as_secs();
            if give_up() {
                self.end_overdue(call, IoError::Abandoned { waited_s }, Instant::now());
            } else if began.elapsed() > self.config.timeouts.commit {
                let last = self.last_words(Some(call));
                self.end_overdue(call, IoError::Expired { waited_s, last }, Instant::now());
            } else {
                assay_tcp::turn(self, TICK);
            }
        };
        self.is_committing = false;
        let verifier = answer?;
        self.writes.commits += 1;
        self.writes.commit_ns += nanos(began.elapsed());
        self.compare_verifier(verifier, Instant::now());
        // A changed verifier has removed them already.
        if self.uncommitted.0 >= writes {
            self.uncommitted.0 -= writes;
            self.uncommitted.1 -= bytes;
            self.writes.committed_bytes += bytes;
        }
        Ok(())
    }

    pub(super) fn settle_commit(&mut self, call: u32, answer: &Answer) {
        self.tables.put_call(call);
        self.commit_answer = Some(match answer {
            Answer::Committed(verifier) => Ok(*verifier),
            other => Err(other.error().unwrap_or(IoError::Broken("the reply belongs to a different call"))),
        });
    }
}
