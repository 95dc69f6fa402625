//! Issuing: what is due goes into free slots, in turns over the targets.

use assay_target::{Op, OpKind, Target};

use super::{FirstIo, Submission, Worker};
use crate::flights::{Counting, Flight, Role};
use crate::planner::Draw;

impl<T: Target> Worker<'_, T> {
    /// Fills every slot that may be filled now, and stamps the issued I/Os with one clock read. Returns that time, or 0
    /// if nothing was issued.
    #[inline]
    pub(super) fn issue(&mut self, now_ns: u64) -> u64 {
        // Tries each once: a reply that has to wait is retried in the next turn.
        for _ in 0..self.waiting.replies.len() {
            if let Some((tag, drawn)) = self.waiting.replies.pop_front() {
                self.issue_reply(tag, drawn);
            }
        }
        while self.flights.has_replies_queued() && self.issue_queued_reply(now_ns) || self.issue_one(now_ns) {
        }
        if self.issued.is_empty() {
            return 0;
        }
        let issued_ns = self.setup.control.clock.now_ns();
        self.first_io.get_or_insert(FirstIo { issued_ns, due_ns: self.first_due_ns });
        for tag in self.issued.drain(..) {
            self.flights.issued(tag, issued_ns);
        }
        issued_ns
    }

    /// Issues the next I/O; returns `false` if there is none to issue now.
    #[inline]
    fn issue_one(&mut self, now_ns: u64) -> bool {
        if self.budget.is_used_up() || now_ns < self.phase.paused_until_ns || self.is_ahead() {
            return false;
        }
        let Some(intended_ns) = self.due(now_ns) else { return false };
        let Some((tag, member)) = self.flights.take() else { return false };
        if let Some(held) = self.waiting.held {
            return self.issue_held(tag, held, intended_ns, now_ns);
        }
        if self.has_flushes && self.flushing.is_due(member) {
            return self.issue_flush(tag, member);
        }
        if self.awaits_pause() {
            self.flights.put_back(tag);
            return false;
        }
        // The pause before a burst starts when there is room for its first I/O, as in Iometer.
        let pause_ns = self.supply.planner.begin_burst();
        if pause_ns > 0 {
            self.phase.paused_until_ns = now_ns + pause_ns;
            self.flights.put_back(tag);
            return false;
        }
        let draw = self.supply.planner.draw(member as usize);
        self.issue_request(tag, (member, draw), intended_ns, now_ns)
    }

    /// Issues the I/O that had to wait in an earlier turn.
    #[cold]
    fn issue_held(&mut self, tag: u32, held: (u32, Draw), intended_ns: u64, now_ns: u64) -> bool {
        self.waiting.held = None;
        self.issue_request(tag, held, intended_ns, now_ns)
    }

    /// Issues a drawn I/O on a member in a taken slot; keeps it for the next turn and returns `false` if it must wait.
    #[inline(always)]
    fn issue_request(
        &mut self,
        tag: u32,
        (member, draw): (u32, Draw),
        intended_ns: u64,
        now_ns: u64,
    ) -> bool {
        let flight = Flight::new(&draw, member, intended_ns, self.phase.counting, Role::Request);
        if self.must_wait(member, &draw) || self.submit(tag, flight) == Submission::Refused {
            self.waiting.held = Some((member, draw));
            self.flights.put_back(tag);
            return false;
        }
        if self.is_paced {
            self.supply.pacer.take(now_ns);
            self.budget.due += 1;
        }
        if let Some(flow) = &mut self.setup.flow {
            flow.count();
        }
        self.budget.take(draw.size_bytes);
        if self.has_replies {
            // Counted with its request, so that a limit never splits a transaction.
            match self.supply.planner.reply_bytes(&draw) {
                0 => {}
                reply_bytes => self.budget.take(reply_bytes),
            }
        }
        true
    }

    /// Returns the intended start of an I/O that is issued now, 0 if it has none; `None` if no I/O is due.
    #[inline]
    fn due(&self, now_ns: u64) -> Option<u64> {
        let Some(due_ns) = self.supply.pacer.due_ns() else { return Some(0) };
        let intended_ns = if self.setup.job.pacing.is_open() { due_ns } else { 0 };
        (due_ns <= now_ns).then_some(intended_ns)
    }

    /// Issues the due flush; returns `false` if the target has no room.
    #[cold]
    fn issue_flush(&mut self, tag: u32, member: u32) -> bool {
        let flight = Flight::new(&self.flushing.draw(), member, 0, self.phase.counting, Role::Flush);
        let is_issued = self.submit(tag, flight) == Submission::Accepted;
        if !is_issued {
            self.flights.put_back(tag);
        }
        is_issued
    }

    /// Issues the reply whose turn it is under Iometer semantics; returns `false` if there is none.
    #[cold]
    fn issue_queued_reply(&mut self, now_ns: u64) -> bool {
        // During the pause before a burst, nothing is issued.
        if now_ns < self.phase.paused_until_ns {
            return false;
        }
        let is_request_due = self.supply.pacer.due_ns().is_none_or(|due_ns| due_ns <= now_ns);
        let taken = match self.budget.is_used_up() || !is_request_due {
            true => self.flights.take_any_reply(),
            false => self.flights.take_reply(),
        };
        let Some(tag) = taken else { return false };
        self.issue_reply(tag, None);
        true
    }

    #[cold]
    fn issue_reply(&mut self, tag: u32, drawn: Option<Draw>) {
        let request = self.flights.landed(tag);
        let member = request.member;
        let planner = &mut self.supply.planner;
        let draw = drawn
            .or_else(|| planner.rewrite(&request.draw()))
            .or_else(|| planner.reply(request.access, request.kind, member as usize));
        let Some(draw) = draw else { return self.flights.forgive(tag) };
        if self.must_wait(member, &draw) {
            return self.waiting.replies.push_back((tag, Some(draw)));
        }
        let flight = Flight::new(&draw, member, 0, self.phase.counting, Role::Reply);
        if self.submit(tag, flight) == Submission::Refused {
            return self.waiting.replies.push_back((tag, Some(draw)));
        }
        if request.counting == Counting::Off && !self.counts_warm_up() {
            // Its request was issued before the window began, so the two were not counted together.
            self.budget.take(draw.size_bytes);
        }
    }

    /// Returns true if an I/O must wait in verify mode, because blocks must not change while they are read or written.
    #[inline]
    fn must_wait(&self, member: u32, draw: &Draw) -> bool {
        !self.setup.stamps.is_empty()
            && self.flights.conflicts(member, draw.kind, draw.offset_bytes, draw.size_bytes)
    }

    /// Submits an I/O to the target, which refuses it if it has no room.
    // Requests, replies and flushes are submitted, so the compiler would call it, and keep each I/O in memory for that.
    #[inline(always)]
    fn submit(&mut self, tag: u32, flight: Flight) -> Submission {
        let Flight { member, kind, size_bytes, offset_bytes, .. } = flight;
        // One comparison is cheap insurance against a write beyond the end of the permitted range.
        let span_bytes = self.spans[member as usize];
        assert!(offset_bytes + u64::from(size_bytes) <= span_bytes, "an I/O must stay within the span");
        let mut buf = self.flights.buffer(tag);
        if kind == OpKind::Write {
            self.supply.spares.provide(&mut buf, size_bytes as usize, &mut self.supply.filler);
            if let Some(stamps) = self.setup.stamps.get(member as usize) {
                stamps.stamp(&mut buf[..size_bytes as usize], offset_bytes);
            }
        }
        if let Err(op) = self.target.submit(Op { tag, member, kind, size_bytes, offset_bytes, buf }) {
            self.flights.keep(tag, op.buf);
            return Submission::Refused;
        }
        if self.has_flushes {
            self.flushing.submitted(member, kind);
        }
        self.flights.begin(tag, flight);
        self.issued.push(tag);
        Submission::Accepted
    }
}
